//! docs/roles.md shows what the roles that every home has permit; this holds it to the table of points, so that a change
//! of either shows. `CRYPTAND_BLESS=1 cargo test --release -p house-tests` writes it anew.

use house_tests::root;
use std::fmt::Write as _;
use std::fs;
use wire::point::{Kind, POINTS};
use wire::role::BUILT_IN;
use wire::verb::TABLE;

#[test]
fn the_page_of_roles_is_that_of_the_points() {
    let path = root().join("docs/roles.md");
    let expected = page();
    if std::env::var_os("CRYPTAND_BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/roles.md is not what the table of points says; CRYPTAND_BLESS=1 writes it anew"
    );
}

#[test]
fn every_point_is_asked_by_a_verb_or_has_a_place_of_its_own() {
    // Of the card's admission, and of the daemon.
    const ELSEWHERE: [&str; 2] = ["token-bytes", "record-list"];
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
        let kind = if entry.kind == Kind::Permits { "permits" } else { "forbids" };
        let ours = if entry.is_ours() { " ours" } else { "" };
        let marks = BUILT_IN.map(|role| if role.points.permits(entry.point) { "yes" } else { "no" });
        let (name, number, group) = (entry.name, entry.number, entry.group.name());
        let _ = writeln!(
            text,
            "| {name} | {number:04X}{ours} | {group} | {kind} | {} | {} |",
            entry.text,
            marks.join(" | ")
        );
    }
    text
}

const INTRODUCTION: &str = "\
# Roles

A *role* is a set of access-control points. Each verb has a point, which is asked before it runs; keywords have points of
their own (a MAC method, a signature format, a hash), and so have some parameters. What a role does not permit is refused
with 8/90. The card asks, on every request.

| who | has the role |
|---|---|
| the home's owner and root, without a credential | `owner` |
| a tenant (`cryptand tenant set NAME --role ROLE`, or `role` in its table) | the one that is named, else `guest` |
| users and groups of `[access]` who belong to no tenant | `role` of `[access]`, else `guest` |

A role of your own begins with another one and permits or refuses points, groups of points, or `all` (but `legacy`):

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

`deny` is applied after `allow`. Settings that contradict themselves are refused with line and cause, and those in force
stay. A change holds as soon as `cryptand reload` is done: for labels at once, for points as soon as a card has ended the
pass that runs. Who has lost every right has no queue any more.

**Labels.** A tenant opens those labels that a pattern names: its own patterns where it has any, else those of its role,
else those of the role that this is based on. `uses` says what for: `use` is everything that leaves the record as it is
and the token where it is; `encipher`, `decipher`, `mac-generate`, `mac-verify`, `sign`, `verify`, `rsa-encipher`,
`rsa-decipher`, `export`, `import`, `generate` and `test` are its parts; `write`, `delete` and `read` are about the record. The
card holds each key of a request against it. All processes of a tenant share its labels.

**See what follows:** `cryptand role list`, `cryptand role show ROLE`, and `cryptand role check WHO LABEL VERB`, whose exit code
is 0 where it is allowed and 1 where it is refused. WHO is a tenant, `owner`, or a user of the machine, who is found as the daemon finds
users: as the owner or root, by name, by group.

**Dangers.** `token-bytes` lets wrapped keys be sent as bytes: labels then no longer say which keys are used. `export` and
`clear-import` let keys out and in; `rsa-decipher` shows what RSA keys decipher. `record-read` shows wrapped tokens.

**Legacy.** The points of this group are in no role that every home has, the owner's included: each lets an RSA key serve
two purposes, as CCA does, of which one breaks the other. `digital-signature-any-data`: whoever signs with a KEY-MGMT key
opens what is enciphered for it. `rsa-decipher-keys-and-data`: whoever deciphers data with a key opens the keys that travel
under it. An older program that needs one runs as a tenant in a role such as `base = \"owner\"`, `allow = [\"legacy\"]`.

## The roles that every home has

";

const TABLE_HEAD: &str = "
## Points

Numbers are CCA's where its documentation names them (\"Required commands\" of each verb); those from F000 on are ours and
mean nothing elsewhere. Most points permit when they are set; some forbid. `yes` and `no` say what may be done.

";
