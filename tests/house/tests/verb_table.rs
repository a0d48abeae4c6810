//! docs/reference/verbs.md and the pages of families beside it are generated from the verb table; these tests compare
//! them.
//! `CRYPTAND_BLESS=1 cargo test --release -p house-tests --test all verb_table` regenerates it.

use house_tests::{keywords, root};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use wire::uses::Uses;
use wire::verb::{Audit, Class, Direction, Entry, Executor, Kind, Length, Null, Role, TABLE, Verb};

/// What writes the pages anew.
const BLESSED_BY: &str = "-p house-tests --test all verb_table";

/// Families of verbs in the order of the index: the file of `crates/wire/src/verb/rows` that has their rows, and what
/// they are about.
const FAMILIES: &[(&str, &str)] = &[
    ("cipher", "Ciphers"),
    ("mac", "Message authentication codes"),
    ("hash", "Hashes and conversions"),
    ("signature", "Signatures"),
    ("random", "Random numbers"),
    ("key", "Symmetric keys"),
    ("token", "Tokens of symmetric keys"),
    ("variable", "Tokens of variable length"),
    ("attribute", "Tests, restrictions and translations of keys"),
    ("pka", "RSA and elliptic-curve keys"),
    ("agreement", "Key agreement"),
    ("exchange", "Keys under key-encrypting keys"),
    ("transport", "Keys under RSA and AES keys"),
    ("key_block", "Key blocks"),
    ("pin", "PINs and card verification values"),
    ("pin2", "PINs under AES keys"),
    ("derived", "Keys of transactions"),
    ("chip", "Chip cards"),
    ("format_preserving", "Format-preserving encryption"),
    ("record", "Key records"),
    ("administration", "Queries"),
    ("clear", "Clear RSA keys, and the empty verb"),
];

/// The name of a family's page.
fn file_of(family: &str) -> String {
    format!("{}.md", family.replace('_', "-"))
}

/// The rows of each family, in the order of the table.
fn families() -> Vec<(&'static str, &'static str, Vec<&'static Entry>)> {
    let mut left: HashSet<&str> = TABLE.iter().map(|entry| entry.name).collect();
    let families = FAMILIES.iter().map(|&(family, title)| {
        let path = root().join(format!("crates/wire/src/verb/rows/{family}.rs"));
        let rows = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let is_here = |name: &str| rows.contains(&format!(" {} = 0x", name.replace('-', "_")));
        let entries: Vec<_> = TABLE.iter().filter(|entry| is_here(entry.name)).collect();
        assert!(!entries.is_empty(), "{family} has no verbs");
        for entry in &entries {
            assert!(left.remove(entry.name), "{} is in two families", entry.name);
        }
        (family, title, entries)
    });
    let families = families.collect();
    assert!(left.is_empty(), "in no family of FAMILIES: {left:?}");
    families
}

#[test]
fn the_page_of_verbs_is_that_of_the_table() {
    let path = root().join("docs/reference/verbs.md");
    needs::assert_committed(&path, &index(), BLESSED_BY);
}

#[test]
fn each_family_of_verbs_has_its_page() {
    let folder = root().join("docs/reference/verbs");
    if needs::is_blessed() {
        fs::create_dir_all(&folder).unwrap();
    }
    for (family, title, entries) in families() {
        needs::assert_committed(&folder.join(file_of(family)), &page(title, &entries), BLESSED_BY);
    }
    let named: HashSet<String> = FAMILIES.iter().map(|(family, _)| file_of(family)).collect();
    for found in fs::read_dir(&folder).unwrap() {
        let name = found.unwrap().file_name().into_string().unwrap();
        assert!(named.contains(&name), "docs/reference/verbs/{name} is of no family: delete it");
    }
}

const PURPOSES: &str = "\
## What a key is kept from

These rules keep verbs from doing more with a key, in a roundabout way, than its token allows.

**MACs.** The chaining vector of CSNBMGN and CSNBMVR is sealed. It may go to any card of the domain, but MIDDLE and LAST
continue only from a vector of the same verb, method and key; any other is refused with 8/2036. Its 18 bytes are 8 of value and a tag of
10: a forged one passes with a probability below 2^-78. Cards keep no state between calls, so one vector may be continued
twice, and equal vectors reveal that two texts have the same value so far.

That of CSNBHMG and CSNBHMV is sealed alike: 72 bytes of value, a tag of 32, and zeros. An HMAC has 8 bytes at least: a shorter one that may be
verified would lead whoever may only verify to a longer one, byte for byte. The same holds for CSNBMGN2 and CSNBMVR2, each of which
goes on with its own vectors alone; an AES MAC key that is for the PIN functions of one protocol (DKPINOP and the like) makes no MACs of texts (8/39).

**Ciphers.** CUSP and IPS run the cipher in both directions, so their key must be allowed to encipher and decipher (8/39). The chaining vectors of
CSNBENC, CSNBDEC, CSNBSAE and CSNBSAD are ciphertext, or with CUSP a value that the key enciphers, and that of CSNBOWH can be
computed by anyone, as can that of CSNBMDG: they are not sealed. CVARENC keys encipher by CSNBCVE alone, and CSNBCVE takes no other key.

**Translations.** In CSNBCTT2 keys that are kept for translations (CIPHERXI, CIPHERXO, CIPHERXL, C-XLATE) go with such keys alone (8/39): with a data key on one
side, whoever may use that would decipher or encipher under the other. Between data keys each must be for its side, and the role needs
cipher-text-translate-data-keys. No key may be clear. Under keys that are kept for translations a padded text keeps its padding, unread: CSNBCTT2 would otherwise
tell by its refusals what the text is. The chaining vector is sealed, since that of CUSP is the mask of a short block.

**Keys in CBC.** CSNBKET lets its caller choose the difference of two keys that he does not know, in both directions. It belongs to the group `legacy`, which no role
that every home has permits.

**Export.** CSNDSYX exports only DATA keys that allow every use. DATAC, DATAM and DATAMV are refused with 8/31, because a key that is imported again
by CSNDSYI allows every use. Keys of variable length go out with their attributes, but by CKM-RAKW, whose object has none: who imports it says what its key is for. CSNBKEX and the key forms of CSNBKGN export every type, since its control vector is part of how the key is wrapped.

By PKOAEP2 neither AES transport keys nor keys that derive keys leave or come in (8/39), unless the role has transport-keys-under-rsa: anyone can make an RSA key, and who knows a
transport key reads what it carries. How a key came to be, is unknown of one that comes by PKOAEP2. CKM-RAKW asks the bits for export under RSA keys, not XPRT-RAW.

**Key-encrypting keys.** Their tokens, and those of parts of keys, are authenticated in every home (8/49 otherwise). None has equal halves (8/442; CSNBKGN: 8/43), since many such keys are
searched for as fast as one; none leaves control vectors out (8/39), since the type of what it wraps would be the caller's choice; and none wraps a longer key (8/170) unless the role has
weak-transport-key. A key whose control vector forbids export is not translated either (8/39). Who enters the last part of an IMPORTER and also imports can add the difference of two control vectors, and so
change a key's type: give the points of these steps to different roles.

**Transport keys of private keys.** What numbers of RSA are enciphered to under a DES key could be brought in as DES keys, block by block. So an IMP-PKA key (an IMPORTER key whose one use is IMPORT, and that
may not be exported) imports, tests and translates no DES keys (8/39), and CSNDPKI takes IMPORTER keys only in a role with pka-importers-of-both. On the other side an EXPORTER key with the use EXPORT opens nothing but to test or narrow it, and tests no key without a control vector (8/39): a block of a private key would pass for one,
and its pattern tell in a search of 2^56 keys what the block holds.
Under AES keys each payload says what it is: an object protection key, a private value bound to its token, or a symmetric key bound to its attributes. None of them opens as another, and one IMPORTER key may carry all
(its usage says which: IMPORT with WR-RSA, WR-ECC, WR-AES and others; GEN-PUB for CSNDPKG).

**RSA keys under the master key.**

| usage | CSNDDSG signs | CSNDPKD deciphers | CSNDSYI imports | tls-premaster opens |
|---|---|---|---|---|
| SIG-ONLY | any data | - | - | - |
| KEY-MGMT | PKCS-PSS; X9.31 and, with PKCS-1.1, a DigestInfo, of a digest shorter than a third of the modulus | data | - | - |
| KM-ONLY | - | - | keys | - |
| TLS-ONLY | as KEY-MGMT | - | - | premaster secrets |

TLS-ONLY is this system's own, the bits B'101' of the usage byte, which other systems refuse. Its verb answers 48 bytes whatever it is sent, in one time: what does
not open gives bytes made of the private key and the ciphertext, the same each time, so that its own callers learn of unknown blocks nothing either. It serves one
purpose in every role, also in those of the group `legacy`.

Everything else is refused with 8/39. For a role with the group `legacy` of [points](roles.md), CCA's own limits apply: KEY-MGMT
signs any data (ZERO-PAD: 36 bytes), and KEY-MGMT and KM-ONLY both decipher data and import keys.

**Elliptic-curve keys.** SIG-ONLY and KEY-MGMT sign; KM-ONLY does not (8/39). The public key in a token with a private one is that of the private key: CSNDPKX
and CSNDDSV open such a token first, and one with another public key, curve, usage or derivation data is refused. Points off their
curve, the point at infinity and Ed25519 keys of small order are refused (8/770).
KEY-MGMT and KM-ONLY agree on keys (CSNDEDH). A key that a card made with derivation data derives keys of that algorithm, type and
length alone, and its secret is never shown; PASSTHRU, for roles that name its point, shows that of keys without.

";

/// What takes a key of any type and does nothing with it: shows its pattern, renews its token, or takes rights from it.
const KEEPS_A_KEY: &[Verb] = &[
    Verb::KeyTest,
    Verb::KeyTest2,
    Verb::KeyTokenChange,
    Verb::KeyTranslate2,
    Verb::ProhibitExport2,
    Verb::RestrictKeyAttribute,
];

/// DES key types that a verb makes and none works with, by what became of each in every key parameter
/// (`crates/cca/tests/verbs/uses.txt`, where keys are called by type, length and what narrows their use).
fn unused() -> Vec<String> {
    let uses = fs::read_to_string(root().join("crates/cca/tests/verbs/uses.txt")).unwrap();
    let (mut made, mut worked_with) = (Vec::new(), HashSet::new());
    for section in uses.split("\n\n").skip(1) {
        let (place, outcomes) = section.split_once('\n').unwrap();
        let (verb, parameter) = place.split_once('.').unwrap();
        let entry = TABLE.iter().find(|entry| entry.name == verb).unwrap();
        let parameter = entry.parameters.iter().find(|found| found.name == parameter).unwrap();
        let Kind::Key { role, .. } = parameter.kind else { panic!("{place} is no key") };
        let used = outcomes.lines().filter_map(|line| line.trim_start().strip_prefix("used "));
        let types = used.filter_map(|key| match key.split_whitespace().collect::<Vec<_>>()[..] {
            [key_type, "single" | "double" | "triple"] => Some(key_type.to_owned()),
            _ => None,
        });
        match role {
            Role::Makes if entry.verb == Verb::KeyGenerate => made.extend(types),
            Role::Uses | Role::Renews if !KEEPS_A_KEY.contains(&entry.verb) => worked_with.extend(types),
            _ => {}
        }
    }
    let mut seen = HashSet::new();
    made.retain(|key_type| !worked_with.contains(key_type) && seen.insert(key_type.clone()));
    made
}

/// Names of uses, as settings write them.
fn allowed(uses: Uses) -> String {
    let names: Vec<_> = uses.names().iter().map(|name| format!("`{name}`")).collect();
    names.join(" and ")
}

/// The page that all others are reached from.
fn index() -> String {
    let mut text = String::from(
        "# Verbs\n\nGenerated from the verb table (`crates/wire/src/verb/rows`), as are the pages of families. What a key is kept from stands\n\
         [below](#what-a-key-is-kept-from).\n\n| family | verbs |\n|---|---|\n",
    );
    for (family, title, entries) in families() {
        let file = file_of(family);
        let verbs: Vec<_> = entries
            .iter()
            .map(|entry| {
                let blank = if entry.entry_point.is_empty() { "" } else { " " };
                format!("[{name}](verbs/{file}#{name}){blank}{}", entry.entry_point, name = entry.name)
            })
            .collect();
        let _ = writeln!(text, "| [{title}](verbs/{file}) | {} |", verbs.join(", "));
    }
    text.push_str(
        "\n## How to read a page\n\n\
         Parameters follow `return_code`, `reason_code`, `exit_data_length` and `exit_data`; `in`, `out` and `in/out` are seen from the verb.\n\
         A *pure* verb may be sent again if the card that took it died; a *once* verb never is. *Audited* marks verbs whose calls belong in\n\
         an audit log.\n\n\
         A role needs the *point* of a verb to call it ([roles.md](roles.md)), and with a keyword the points in its row too. Keywords of one row\n\
         belong to one group, of which *one*, or *at most one*, is given; what stands before \"unless\" is meant where none is. Those that\n\
         are not served have the codes that they are refused with, and why.\n\n",
    );
    text.push_str(PURPOSES);
    let unused = unused();
    if !unused.is_empty() {
        let _ = writeln!(
            text,
            "**Key types that no verb uses.** CSNBKGN generates keys of these types, and records keep them, but no verb of this table works with\n\
         them: CSNBKYT shows their check value, and CSNBKTC puts them under a new master key. {}.",
            unused.join(", ")
        );
    }
    text
}

/// The page of one family.
fn page(title: &str, entries: &[&Entry]) -> String {
    let mut text = format!(
        "# {title}\n\nGenerated from the verb table. [verbs.md](../verbs.md#how-to-read-a-page) says how to read it, and lists the other families.\n\n"
    );
    for entry in entries {
        let class = if entry.class == Class::Pure { "pure" } else { "once" };
        let executor = match entry.executor {
            Executor::Coprocessor => "coprocessor",
            Executor::AnyCard => "any card",
            Executor::Daemon => "daemon",
        };
        let audited = match entry.audited {
            Audit::Nothing => "",
            Audit::Keys | Audit::Records => ", audited",
        };
        let entry_point = if entry.entry_point.is_empty() { "no CCA entry point" } else { entry.entry_point };
        let _ =
            writeln!(text, "## {}\n\n{entry_point}; {class}; served by: {executor}{audited}.\n", entry.name);
        let _ = writeln!(text, "Point: {}.\n", keywords::shown(entry.point));
        if entry.parameters.is_empty() {
            text.push_str("No parameters.\n\n");
            continue;
        }
        text.push_str("| parameter | | what |\n|---|---|---|\n");
        for parameter in entry.parameters {
            let direction = match parameter.direction {
                Direction::In => "in",
                Direction::InOut => "in/out",
                Direction::Out => "out",
            };
            let name_at = |position: usize| entry.parameters[position].name;
            let length = |length: Length| match length {
                Length::Fixed(bytes) => format!("{bytes} bytes"),
                Length::By(position) => format!("`{}` bytes", name_at(position)),
                Length::Padded { by, block, with } => {
                    format!("`{0}` bytes; with {with} the next multiple of {block} above", name_at(by))
                }
                Length::Bits(position) => format!("`{}` bits", name_at(position)),
                Length::Words(position) => format!("`{}` keywords of 8 bytes", name_at(position)),
                Length::Keyed(rows) => {
                    let row = |(words, bytes): &(&[&str], usize)| match words {
                        [] => format!("otherwise {bytes}"),
                        words => format!("{bytes} with {}", words.join(" and ")),
                    };
                    let rows: Vec<_> = rows.iter().map(row).collect();
                    format!("bytes: {}", rows.join(", "))
                }
                Length::Own => "as long as the token says".to_owned(),
            };
            let what = match parameter.kind {
                Kind::Integer => "integer".to_owned(),
                Kind::Bytes(of) if parameter.uses.is_none() => length(of),
                Kind::Bytes(of) => format!("a label that allows {}; {}", allowed(parameter.uses), length(of)),
                Kind::Key { length: of, role } => {
                    let role = match role {
                        Role::Uses => "used",
                        Role::Renews => {
                            "used, and renewed if it is under the old master key or in compatible form"
                        }
                        Role::Makes => "made",
                        Role::Skeleton => "a skeleton to be filled",
                    };
                    format!(
                        "key token, or a label that allows {}, {role}; {}",
                        allowed(parameter.uses),
                        length(of)
                    )
                }
                Kind::Keywords(count) => {
                    let given = format!("`{}` keywords of 8 bytes", name_at(count));
                    let row = |(words, elements): &(&[&str], usize)| match words {
                        [] => format!("else {elements}"),
                        words => format!("{elements} with {}", words.join(" and ")),
                    };
                    let returned: Vec<_> = entry.keywords.answers.iter().map(row).collect();
                    match parameter.direction {
                        Direction::In => given,
                        Direction::Out => format!("room for {given}; 4/16 if more are returned"),
                        Direction::InOut => {
                            let returned = returned.join(", ");
                            format!("{given}; has room for as many as are returned: {returned}")
                        }
                    }
                }
            };
            let secret = if parameter.secret { "; secret" } else { "" };
            let null = match (parameter.null, parameter.kind) {
                (Null::Refused, _) => "",
                (Null::Empty, Kind::Integer) => "; may be null, which is 0",
                (Null::Empty, Kind::Bytes(Length::Fixed(_))) => "; may be null where it is not needed",
                (Null::Empty, _) => "; may be null if it is empty",
                (Null::Ignored, _) => "; reserved, may be null",
            };
            let _ = writeln!(text, "| {} | {direction} | {what}{secret}{null} |", parameter.name);
        }
        text.push('\n');
        text.push_str(&keywords::section(entry));
    }
    text
}
