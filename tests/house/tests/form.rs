//! How sources are laid out, beyond what rustfmt decides: CONTRIBUTING.md, "Layout of a file".

use house_tests::sources;

/// Longest line of a comment, in characters.
const COMMENT_COLUMNS: usize = 120;

/// The lines of comments that are too long, with their numbers. Tables and what stands between fences is as wide as it
/// must be.
fn too_long(text: &str) -> Vec<usize> {
    let (mut found, mut is_fenced) = (Vec::new(), false);
    for (number, line) in (1..).zip(text.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_fenced = false;
            continue;
        };
        let said = comment.trim_start_matches(['/', '!']).trim_start();
        is_fenced ^= said.starts_with("```");
        if line.chars().count() > COMMENT_COLUMNS && !is_fenced && !said.starts_with('|') {
            found.push(number);
        }
    }
    found
}

/// The imports that only blank lines divide from the import before, with their numbers.
fn divided(text: &str) -> Vec<usize> {
    let (mut found, mut last, mut is_within) = (Vec::new(), None, false);
    let mut blank = false;
    for (number, line) in (1..).zip(text.lines()) {
        let indent = line.len() - line.trim_start().len();
        if is_within {
            is_within = !line.trim_end().ends_with(';');
        } else if line[indent..].starts_with("use ") {
            if blank && last == Some(indent) {
                found.push(number);
            }
            (last, blank) = (Some(indent), false);
            is_within = !line.trim_end().ends_with(';');
        } else if line.is_empty() {
            blank = true;
        } else {
            last = None;
        }
    }
    found
}

fn each(what: &str, find: fn(&str) -> Vec<usize>) {
    let files = sources("", "rs");
    let wrong: Vec<_> = files
        .iter()
        .flat_map(|source| find(&source.text).into_iter().map(|number| format!("{}:{number}", source.path)))
        .collect();
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

#[test]
fn comments_are_no_wider_than_a_page() {
    each("comments of more than 120 columns", too_long);
    let text = "//! |a table|\n/// ```text\n/// drawn\n/// ```\n".to_owned() + "// " + &"w ".repeat(60);
    assert_eq!(too_long(&text), [5]);
    assert_eq!(too_long(&text.replace("drawn", &"-".repeat(120))), [5]);
}

#[test]
fn imports_stand_in_one_block() {
    each("imports that stand apart from the one before", divided);
    let text = "use a::{\n    b,\n};\nuse c;\n\nuse d;\n\npub use e;\n\nuse f;\nmod g {\n    use h;\n\n    use i;\n}\n";
    assert_eq!(divided(text), [6, 14]);
}

/// Words in which a clause stands where a noun belongs: "the bytes of the text" says more than "so many".
const FOR_A_NOUN: [&str; 2] = ["so many", "of whom"];

/// The doc comments with such words, with their numbers.
fn for_a_noun(text: &str) -> Vec<usize> {
    let docs = (1..).zip(text.lines()).filter(|(_, line)| line.trim_start().starts_with("///"));
    docs.filter(|(_, line)| FOR_A_NOUN.iter().any(|words| line.contains(words))).map(|(at, _)| at).collect()
}

/// Product code: help texts of commands, which people read as sentences, and tests are left out.
#[test]
fn doc_comments_have_nouns() {
    let is_help = |path: &str| {
        ["crates/cli/src/args", "crates/options/", "crates/measuring/"].iter().any(|of| path.starts_with(of))
    };
    let files = sources("crates", "rs");
    let product = files.iter().filter(|source| source.path.contains("/src/") && !is_help(&source.path));
    let wrong: Vec<_> = product
        .flat_map(|source| {
            for_a_noun(&source.text).into_iter().map(|number| format!("{}:{number}", source.path))
        })
        .collect();
    assert!(wrong.is_empty(), "comments that say {FOR_A_NOUN:?}:\n{}", wrong.join("\n"));
    assert_eq!(for_a_noun("//! so many\n    /// Of so many bytes.\n// of whom\n/// The bytes.\n"), [2]);
}

/// A file has the name of its module, and its submodules lie in the folder of that name. Programs of tests share
/// modules in folders, where a file of its own would be one more program.
#[test]
fn no_module_is_named_mod() {
    let files = sources("", "rs");
    let paths = files.iter().map(|source| source.path.as_str());
    let of_tests = |path: &str| path.split('/').any(|part| part == "tests") && !path.contains("/src/");
    let named: Vec<_> = paths.filter(|path| path.ends_with("/mod.rs") && !of_tests(path)).collect();
    assert!(named.is_empty(), "{named:?}");
}

/// Files that have a module of another place, with the reason.
const FROM_ELSEWHERE: &[(&str, &str)] = &[
    ("crates/card/benches/serving.rs", "starts cards as the room's tests do"),
    ("crates/cardkeys/src/tests.rs", "keys as the tests of openpgp make them"),
    ("crates/daemon/tests/common/records.rs", "the store of another process is an example for users"),
    ("crates/daemon/tests/over_another_store.rs", "the same tests over another store"),
    ("crates/engine/examples/des_circuits/main.rs", "tables that the engine shows to nobody"),
    ("crates/esp/tests/processes/main.rs", "namespaces as the tests of plane make them"),
    ("crates/ipsec/loom/src/lib.rs", "compiled for loom"),
    ("crates/link/loom/src/lib.rs", "compiled for loom"),
    ("crates/sim/src/outside.rs", "the store is an example for users"),
    ("crates/terminator/tests/unit.rs", "reads units as the tests of the system do"),
    ("fuzz/targets/src/calls.rs", "the store is an example for users"),
    ("tests/system/src/bin/loop-server.rs", "the example for users is what runs"),
    ("tests/timing/src/main.rs", "what valgrind watches is private to the verbs of cards"),
];

#[test]
fn modules_lie_at_their_place() {
    let sources = ["crates", "fuzz", "tests"].map(|folder| sources(folder, "rs"));
    let has_path = |text: &str| text.lines().any(|line| line.trim_start().starts_with("#[path"));
    let found = sources.iter().flatten().filter(|source| has_path(&source.text));
    let found: Vec<&str> = found.map(|source| source.path.as_str()).collect();
    let named: Vec<&str> = FROM_ELSEWHERE.iter().map(|(path, _)| *path).collect();
    assert_eq!(
        found, named,
        "code that two programs need is a library; what cannot be one has its reason here"
    );
}
