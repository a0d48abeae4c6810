//! Names of types: a word that fits everything says in one room whose it is, and in two it says nothing.

use house_tests::{Source, sources};
use std::collections::{BTreeMap, BTreeSet};

/// Words that alone do not say of what: a public type has one of them in one room at most.
const GENERIC: [&str; 10] =
    ["Entry", "Kind", "Outcome", "Place", "Row", "Side", "State", "Step", "Table", "Work"];

/// The name of the public type that a line defines.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let (what, rest) = rest.strip_prefix("unsafe ").unwrap_or(rest).split_once(' ')?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    ["enum", "struct", "trait", "type", "union"].contains(&what).then_some(&rest[..end])
}

/// Each generic word that public types of several rooms have as their name, with where they stand.
fn shared(files: &[Source]) -> Vec<String> {
    let mut found: BTreeMap<&str, BTreeMap<&str, Vec<String>>> = BTreeMap::new();
    for source in files {
        let mut parts = source.path.split('/');
        let (Some("crates"), Some(room), Some("src")) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        for (number, line) in source.code() {
            if let Some(name) = public_type(line).filter(|name| GENERIC.contains(name)) {
                let rooms = found.entry(name).or_default();
                rooms.entry(room).or_default().push(format!("{}:{number}", source.path));
            }
        }
    }
    let several = found.into_iter().filter(|(_, rooms)| rooms.len() > 1);
    several
        .map(|(name, rooms)| {
            let places: Vec<String> = rooms.into_values().flatten().collect();
            format!("{name}: {}", places.join(", "))
        })
        .collect()
}

#[test]
fn a_generic_word_names_a_public_type_in_one_room_at_most() {
    let wrong = shared(&sources("crates", "rs"));
    assert!(
        wrong.is_empty(),
        "public types of several rooms have the same generic name; name each by what it is, in the field's words \
         (`KeyTableEntry`, not `Entry`), or make it `pub(crate)` where no other room needs it:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn public_types_are_found_in_their_rooms() {
    let lines = [
        "pub enum Place {",
        "    pub struct Kind(usize);",
        "pub type Step<'s> = &'s str;",
        "pub trait Side {",
    ];
    let names: Vec<_> = lines.into_iter().filter_map(public_type).collect();
    assert_eq!(names, ["Place", "Kind", "Step", "Side"]);
    let others =
        ["enum Place {", "pub(crate) struct Place;", "pub fn place() -> Place {", "pub use a::Place;"];
    assert_eq!(others.map(public_type), [None; 4]);
    let file = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let files = [
        file("crates/a/src/one.rs", "// A word.\npub enum Place {}\n"),
        file("crates/a/src/two.rs", "pub struct Place;\npub struct Row;\n"),
        file(
            "crates/b/src/lib.rs",
            "pub struct Places;\n#[cfg(test)]\nmod tests {\n    pub struct Row;\n}\n",
        ),
        file("crates/b/tests/all.rs", "pub struct Place;\n"),
    ];
    assert_eq!(shared(&files), [""; 0]);
    let files = files.into_iter().chain([file("crates/c/src/lib.rs", "pub type Place = u8;\n")]);
    let wrong = shared(&files.collect::<Vec<_>>());
    assert_eq!(wrong, ["Place: crates/a/src/one.rs:2, crates/a/src/two.rs:1, crates/c/src/lib.rs:1"]);
    let repeated: BTreeSet<_> = GENERIC.into_iter().collect();
    assert!(repeated.len() == GENERIC.len() && GENERIC.is_sorted(), "each word once, by the alphabet");
}
