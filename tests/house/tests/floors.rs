//! The floors of each room: a module names only those below it, so that each can be read with what it stands on alone,
//! and no two of them import each other.

use house_tests::{Source, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Each room of more than one module, and its modules from the ground up. What a caller gets at the root of the crate
/// counts as its module's; what the root defines itself has no place.
const FLOORS: &[(&str, &str)] = &[
    ("agent", "message held socket client serve"),
    ("capi", "memory fields chosen process resources lists own segments call entry_points"),
    (
        "card",
        "lanes cost life limits roles turns pace work admit attached denials held samples control serve \
         keeper start program",
    ),
    ("cardkeys", "accelerators label"),
    (
        "cca",
        "ground counting wipe batch patterns pka prepared registers chaining search kernel wrap pass call \
         parity key chip pin verbs processor self_test",
    ),
    ("certificates", "error chain name signer check plain_lists clients write"),
    (
        "cli",
        "version kind args failure labels prompt encoded output describe session words watch signals messages keywords \
         parameters suggested commands gnupg undumpable",
    ),
    ("confine", "arena sandbox scheduling"),
    ("csulcca", "names refused"),
    (
        "daemon",
        "rows log bounded access rights store verbs audit audit_log unattended pin_failures backup storage \
         queue_refusals card_roles manager outbox poller quarantine supervise error labels serials tenants \
         health service serve command",
    ),
    ("deflate", "zlib inflated isal_ffi backend deflater inflater"),
    (
        "driver",
        "cache gnutls_ffi http signing library names outside target plan tally knee socket transaction \
         looped report conduct",
    ),
    ("engine", "low algorithm error secret mid high level engine"),
    ("esp", "folder messages observed worker supervisor commands program"),
    ("facility", "error reply local control labels cards request state keys"),
    ("home", "limits settings error trust started place manager autostart programs service"),
    (
        "ipsec",
        "address atomics checksum congestion suite esp frame reason inner time limits keys replay hash \
         selector parameters mtu outer sequence sa template sad tally policy event gathering remembered \
         worker batch fragment",
    ),
    ("keyfiles", "public private signature signing"),
    ("keyring", "who error files settings store"),
    (
        "lab",
        "kit load published experiment engine cards payments queues openpgp tls ipsec sweeps container \
         faults report promises commands",
    ),
    (
        "link",
        "world fork memory head clock address process protocol slots error accounts status doorbell queue card \
         channel client completion failures keys latch samples",
    ),
    ("measuring", "bench names report speed"),
    ("offload", "error work offload given handles ffi"),
    (
        "openpgp",
        "form passphrase compute numbers packet aead s2k signed key certificate private_key body \
         session_key signature generate",
    ),
    ("options", "cert ipsec tls"),
    ("pacing", "knee pace times usage"),
    (
        "payments",
        "digits format mask pin block scan cvv decimalisation dukpt ff1 emv ibm3624 interbank iso4 \
         key_block profile security_code visa",
    ),
    ("peers", "aws_lc_ffi core_ffi ff1 table_ffi ipsec_mb_ffi openssl_ffi rpgp"),
    (
        "pipeline",
        "summary candidates request error block run crew lines source entry times flow opening output_path \
         unnamed sink unwrap verdicts decrypt pieces exit gather sealing signing text encrypt sign verify",
    ),
    (
        "plane",
        "bounds lock error vnet split coalesce counters path shared core outbound inbound udp raw tun io \
         patience send thread",
    ),
    (
        "preload",
        "message paths said table connection ffi_real ffi_kernel ours ffi_border ike ffi ffi_transfer",
    ),
    ("python", "errors values calls keys"),
    (
        "sim",
        "plan said oracle memory stage tenants audits requests clear rights hostile outside officer programs client \
         world fate run",
    ),
    ("sop", "failure armor holders objects keys certify data dates detach signatures messages version words"),
    ("streams", "server socket"),
    (
        "terminator",
        "said backend networks sessions settings file_state cert labels log staples clients ticket_file \
         tickets material limits metrics report observe proxy sockets watch session workers serve status",
    ),
    ("timed", "settings lanes"),
    (
        "tls",
        "fields certificate hello alpn authorities ocsp ticket bound sessions ffi policy key clients \
         exchange chain acceptor error end connection initiator",
    ),
    (
        "token",
        "pattern holds control_vector error tvv unconfirmed aes key_type derivation des usage pka variable \
         tr31 describe transaction vector_keywords",
    ),
    ("traffic", "header plan namespaces failure pattern wake server client report drive command"),
    (
        "wire",
        "bounds card chain code level registers key uses parameters pin pattern tenant grant point role \
         control frame verb secret",
    ),
    (
        "xfrm",
        "client wire refusal view fields outbox asked algorithms replay state request names states policies \
         dump lost numbers xfrm sas aevents info keeper answers events journal listing policy migrate",
    ),
];

/// The modules of a room and who names whom.
struct Room {
    modules: BTreeSet<String>,
    /// The module that names, the one that is named, and the file where.
    names: BTreeSet<(String, String, String)>,
}

impl Room {
    fn read(room: &str) -> Self {
        let folder = format!("crates/{room}/src/");
        let files = sources(&folder, "rs");
        let within = |source: &Source| source.path.strip_prefix(&folder).map(str::to_owned);
        let is_root = |path: &str| path == "lib.rs" || path == "main.rs";
        let (mut modules, mut of_tests) = (BTreeSet::new(), Vec::new());
        for source in &files {
            let path = within(source).expect("below its folder");
            for (module, is_of_tests) in declared(&source.text) {
                if is_of_tests {
                    of_tests.push(format!("{}{module}", below(&path)));
                } else if is_root(&path) {
                    modules.insert(module);
                }
            }
        }
        let roots = files.iter().filter(|source| is_root(&source.path[folder.len()..]));
        let known: BTreeMap<_, _> = roots
            .flat_map(|source| imported(&code(source)))
            .filter(|(_, module)| modules.contains(module))
            .collect();
        let mut names = BTreeSet::new();
        for source in &files {
            let path = within(source).expect("below its folder");
            let own = path.split(['/', '.']).next().expect("a name").to_owned();
            let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
            let is_test = path.ends_with("tests.rs")
                || of_tests.iter().any(|test| stem == test || stem.starts_with(&format!("{test}/")));
            if is_test || !modules.contains(&own) {
                continue;
            }
            for name in at_the_root(&code(source), stem.split('/').count()) {
                let module = if modules.contains(&name) { Some(&name) } else { known.get(&name) };
                if let Some(module) = module.filter(|module| **module != own) {
                    names.insert((own.clone(), module.clone(), path.clone()));
                }
            }
        }
        Self { modules, names }
    }

    /// Those that name each other, over however many others.
    fn circles(&self) -> BTreeSet<&str> {
        let above = |module| {
            let mut found = BTreeSet::new();
            let mut next = vec![module];
            while let Some(module) = next.pop() {
                let named = self.names.iter().filter(|(own, ..)| own == module);
                next.extend(named.map(|(_, named, _)| named.as_str()).filter(|named| found.insert(*named)));
            }
            found
        };
        self.modules.iter().map(String::as_str).filter(|module| above(module).contains(module)).collect()
    }
}

fn code(source: &Source) -> String {
    source.code().map(|(_, line)| format!("{line}\n")).collect()
}

/// The folder of the modules that a file declares, as its paths begin.
fn below(path: &str) -> String {
    let stem = path.trim_end_matches(".rs");
    let (folder, name) = stem.rsplit_once('/').map_or(("", stem), |(folder, name)| (folder, name));
    match (folder, name) {
        ("", "lib" | "main") => String::new(),
        (folder, "mod") => format!("{folder}/"),
        _ => format!("{stem}/"),
    }
}

/// The modules that a file declares and that are files of their own, and which of them are of tests.
fn declared(text: &str) -> Vec<(String, bool)> {
    let (mut found, mut is_of_tests) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            is_of_tests |= line == "#[cfg(test)]";
            continue;
        }
        let words: Vec<_> = line.split(' ').collect();
        if let [.., "mod", name] = words[..]
            && let Some(name) = name.strip_suffix(';')
            && words.len() <= 3
        {
            found.push((name.to_owned(), is_of_tests));
        }
        is_of_tests = false;
    }
    found
}

/// What the root of a crate takes from its modules, as its callers and the modules themselves may name it: each name
/// with its module.
fn imported(root: &str) -> Vec<(String, String)> {
    let uses = root.split(";\n").filter_map(|text| {
        let text = text.lines().skip_while(|line| !line.contains("use ")).collect::<Vec<_>>().join(" ");
        let (before, path) = text.split_once("use ")?;
        (before.is_empty() || before.starts_with("pub")).then(|| path.to_owned())
    });
    let mut found = Vec::new();
    for path in uses {
        let Some((module, names)) = path.split_once("::") else { continue };
        let words = names.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        found.extend(words.filter(|word| !word.is_empty()).map(|word| (word.to_owned(), module.to_owned())));
    }
    found
}

/// What a file names at the root of its crate, by `crate::` or by as many `super::` as it stands deep.
fn at_the_root(code: &str, deep: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (start, word) in ["crate::", "super::"].iter().flat_map(|word| code.match_indices(word)) {
        let before = &code[..start];
        if before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
            || before.ends_with("super::")
        {
            continue;
        }
        let mut path = &code[start + word.len()..];
        if word == "super::" {
            let mut up = 1;
            while let Some(rest) = path.strip_prefix("super::") {
                (path, up) = (rest, up + 1);
            }
            // A module within the file is one deeper, and what it names besides is of no other module.
            if up < deep {
                continue;
            }
        }
        found.extend(first_words(path));
    }
    found
}

/// The first word of a path, or of each one where it begins with a list in braces.
fn first_words(path: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
    };
    let Some(list) = path.strip_prefix('{') else { return vec![word(path)] };
    let mut depth = 0;
    let end = list.find(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        depth < 0
    });
    let mut depth = 0;
    let parts = list[..end.unwrap_or(list.len())].split(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    parts.map(word).filter(|word| !word.is_empty()).collect()
}

fn rooms() -> Vec<(String, Room)> {
    let entries = fs::read_dir(house_tests::root().join("crates")).unwrap().flatten();
    let mut rooms: Vec<_> = entries
        .filter(|entry| entry.path().join("src").is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .map(|room| (room.clone(), Room::read(&room)))
        .filter(|(_, read)| read.modules.len() > 1)
        .collect();
    rooms.sort_by(|(one, _), (other, _)| one.cmp(other));
    rooms
}

#[test]
fn modules_name_only_those_below_them() {
    let mut wrong = Vec::new();
    for (room, read) in &rooms() {
        let Some((_, floors)) = FLOORS.iter().find(|(known, _)| known == room) else {
            wrong.push(format!("{room} has no row; its circles: {:?}", read.circles()));
            continue;
        };
        let floors: Vec<_> = floors.split_whitespace().collect();
        let place = |module: &str| floors.iter().position(|known| *known == module);
        let known: BTreeSet<_> = floors.iter().map(|module| (*module).to_owned()).collect();
        if known != read.modules || known.len() != floors.len() {
            let differ: Vec<_> = known.symmetric_difference(&read.modules).collect();
            wrong.push(format!(
                "{room}: each module has one place, and these have none or do not exist: {differ:?}"
            ));
        }
        for (own, named, file) in &read.names {
            if place(own) < place(named) {
                wrong.push(format!("crates/{room}/src/{file} names {named}, which stands above {own}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_row_is_of_one_room() {
    let rooms = rooms();
    let rows: Vec<_> = FLOORS.iter().map(|(room, _)| *room).collect();
    assert!(
        rows.is_sorted() && rows.windows(2).all(|pair| pair[0] != pair[1]),
        "rows in the order of the alphabet"
    );
    for room in rows {
        assert!(rooms.iter().any(|(found, _)| found == room), "{room} is no room of several modules");
    }
}

#[test]
fn names_are_found_in_lists_and_above() {
    let text = "use crate::a::b; use crate::{c, d::{e, f},\n g}; super::super::h(); super::i(); pub(crate) fn j() \
                { $crate::k(); other_crate::l(); super::super::{m::n, o} }";
    let found: BTreeSet<_> = at_the_root(text, 2).into_iter().collect();
    assert_eq!(found, ["a", "c", "d", "g", "h", "k", "m", "o"].map(str::to_owned).into());
    let root = "mod a;\npub use a::{B, c::D};\nuse a::E as F;\n#[cfg(unix)]\npub(crate) use a::g;\n";
    let found = imported(root).into_iter().map(|(name, module)| format!("{module} {name}"));
    assert_eq!(found.collect::<Vec<_>>(), ["a B", "a c", "a D", "a E", "a as", "a F", "a g"]);
    let text = "pub mod a;\n#[cfg(test)]\nmod b;\n#[cfg(test)]\n#[path = \"x\"]\nmod c;\nmod d;\nmod e {\n";
    let found = declared(text).into_iter().filter(|(_, is_of_tests)| !is_of_tests).map(|(module, _)| module);
    assert_eq!(found.collect::<Vec<_>>(), ["a", "d"]);
    assert_eq!(["lib.rs", "a.rs", "a/mod.rs", "a/b.rs"].map(below), ["", "a/", "a/", "a/b/"]);
}
