//! docs/reference/roles.md shows what the built-in roles permit; this test compares it with the table of points.
//! `CRYPTAND_BLESS=1 cargo test --release -p house-tests --test all role_table` regenerates it.

use house_tests::root;
use std::fmt::Write as _;
use wire::point::{POINTS, PointEffect};
use wire::role::BUILT_IN;
use wire::verb::TABLE;

#[test]
fn the_page_of_roles_is_that_of_the_points() {
    let path = root().join("docs/reference/roles.md");
    needs::assert_committed(&path, &page(), "-p house-tests --test all role_table");
}

#[test]
fn every_point_is_asked_by_a_verb_or_has_a_place_of_its_own() {
    // Of the card's admission, of every verb that opens a token, of the daemon, and of what is counted, which refuses
    // nothing for want of it.
    const ELSEWHERE: [&str; 4] = ["token-bytes", "token-unchecked", "record-list", "pin-uncounted"];
    for entry in POINTS {
        let is_asked = TABLE.iter().any(|verb| verb.points().contains(&entry.point));
        assert_eq!(is_asked, !ELSEWHERE.contains(&entry.name), "{}", entry.name);
    }
}

fn page() -> String {
    let mut text = INTRODUCTION.to_owned();
    for role in BUILT_IN {
        let _ = writeln!(text, "- **{}**: {}. Labels: {}.", role.name, role.text, role.uses);
    }
    text.push_str(TABLE_HEAD);
    let names: Vec<&str> = BUILT_IN.iter().map(|role| role.name).collect();
    let rule = "|---".repeat(names.len() + 5);
    let _ = writeln!(text, "| point | number | group | set, it | what | {} |\n{rule}|", names.join(" | "));
    for entry in POINTS {
        let effect = if entry.effect == PointEffect::Permits { "permits" } else { "forbids" };
        let ours = if entry.is_ours() { " ours" } else { "" };
        let marks = BUILT_IN.map(|role| if role.points.permits(entry.point) { "yes" } else { "no" });
        let (name, number, group) = (entry.name, entry.number, entry.group.name());
        let _ = writeln!(
            text,
            "| {name} | {number:04X}{ours} | {group} | {effect} | {} | {} |",
            entry.text,
            marks.join(" | ")
        );
    }
    text
}

const INTRODUCTION: &str = "\
# Roles

A *role* is a set of access-control points. Every verb has a point, which is checked before the verb runs; some keywords have points of
their own (a MAC method, a signature format, a hash), and so have some parameters. What a role does not permit is refused
with 8/90. The card checks this on every request.

| who | has the role |
|---|---|
| the home's owner and root, without a credential | `owner` |
| a tenant (`cryptand tenant set NAME --role ROLE`, or `role` in its table) | the named one, else `guest` |
| users and groups of `[access]` who belong to no tenant | `role` of `[access]`, else `guest` |

Define a role of your own on the base of another role. It permits or refuses points, groups of points, or `all` (which leaves out `legacy`):

```toml
[[role]]
name = \"till\"
base = \"guest\"
allow = [\"rsa-decipher\"]
deny = [\"mac-x9.9\", \"sign\"]

[[role.labels]]
pattern = \"TILL.*\"
uses = [\"use\"]
```

`deny` is applied after `allow`. Contradictory settings are refused with line and cause, and the settings in force
stay. A change is in force when `cryptand reload` returns: for labels at once, for points after the pass that each card is
running. A tenant that has lost every right has no queues.

**Labels.** A tenant may open the labels that match a pattern: its own patterns if it has any, else those of its role,
else those of the role that its role is based on. `uses` limits what for: `use` is everything that neither changes the record nor
gives out its token; its parts are `encipher`, `decipher`, `mac-generate`, `mac-verify`, `sign`, `verify`, `rsa-encipher`,
`rsa-decipher`, `export`, `import`, `generate` and `test`. `write`, `delete` and `read` are about the record. The
card checks this for every key of a request. All processes of a tenant share its labels.

**To check the effect:** `cryptand role list`, `cryptand role show ROLE`, and `cryptand role check WHO LABEL VERB`, whose exit code
is 0 if the use is allowed and 3 if it is refused. WHO is a tenant, `owner`, or a user of the machine, for whom the daemon's own rules
apply: the owner or root, then tenants by user name, then by group.

**Dangers.** `token-bytes` lets wrapped keys be sent as bytes, so that rights on labels do not limit which keys are used. `export` and
`clear-import` let keys out and in; `rsa-decipher` reveals what RSA keys decipher. `record-read` reveals wrapped tokens.

**Legacy.** The points of this group are in no built-in role, not even the owner's: each lets an RSA key serve
two purposes, as CCA does, of which one breaks the other. With `digital-signature-any-data`, whoever signs with a KEY-MGMT key
can decipher what is enciphered for it. With `rsa-decipher-keys-and-data`, whoever deciphers data with a key can open the keys that are transported
under it. Objects of PKCS #11 (`symmetric-key-export-rakw`,
`symmetric-key-import2-rakw`) free an AES key of what its token says of its use. An older program that needs one of them can run as a tenant in a role such as `base = \"owner\"`, `allow = [\"legacy\"]`.

**Legacy of PINs.** Nor are those of `legacy-pin` in any: each gives PINs away in a few tries, as [pins.md](pins.md) says of each, but those of [card security codes](chip-cards.md#card-security-codes). `allow = [\"legacy\"]` does not permit them.

## The roles that every home has

";

const TABLE_HEAD: &str = "
## Points

Numbers are CCA's if its documentation names them (\"Required commands\" of each verb); those from F000 on are this system's own.
Most points permit something when they are set; some forbid it. `yes` and `no` say whether the role may do it.

";
