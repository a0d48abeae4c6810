//! What manifests say: dependencies that something uses, and one build for programs and tests.

use house_tests::{Source, root, sources};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Dependencies that are named for their features, with the reason in the manifest.
const FOR_FEATURES: &[(&str, &str)] = &[("crates/cli", "getrandom")];

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Whether this text has this word as a name.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

#[test]
fn every_dependency_is_used() {
    let manifests = ["crates", "tests"].map(|folder| sources(folder, "toml")).into_iter().flatten();
    let mut seen = 0;
    for manifest in manifests.filter(|source| source.path.ends_with("/Cargo.toml")) {
        let folder = manifest.path.trim_end_matches("/Cargo.toml");
        let table: toml::Table = toml::from_str(&manifest.text).unwrap();
        if !table.contains_key("package") {
            continue;
        }
        let mut files = sources(folder, "rs");
        // A file of another room that is a module here.
        let named = files.iter().flat_map(|source| {
            let beside = root().join(&source.path).parent().unwrap().to_owned();
            let paths = source.text.split("#[path = \"").skip(1).filter_map(|rest| rest.split('"').next());
            paths.map(move |path| Source { path: source.path.clone(), text: text_of(&beside.join(path)) })
        });
        let named: Vec<_> = named.collect();
        files.extend(named);
        let code = |is_part: &dyn Fn(&str) -> bool| -> String {
            let of = files.iter().filter(|source| is_part(&source.path[folder.len()..]));
            let lines = of.flat_map(|source| source.text.lines());
            lines.filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
        };
        let is_product = |path: &str| path.starts_with("/src/") || path == "/build.rs";
        // A package of tests is its tests.
        let product = code(&|path| folder.starts_with("tests/") || is_product(path));
        let all = code(&|_| true);
        for (kind, code) in
            [("dependencies", &product), ("build-dependencies", &product), ("dev-dependencies", &all)]
        {
            let Some(names) = table.get(kind).and_then(toml::Value::as_table) else { continue };
            for name in names.keys() {
                seen += 1;
                let is_used = has_word(code, &name.replace('-', "_"));
                let is_for_features = FOR_FEATURES.contains(&(folder, name));
                assert!(is_used || is_for_features, "{folder}: nothing uses {name} of {kind}");
            }
        }
    }
    assert!(seen > 500, "{seen}");
}

/// Every package that cargo builds for these, with its features.
fn packages(arguments: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["tree", "--locked", "--prefix", "none", "--format", "{p} {f}"]);
    let output = cargo.args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end_matches(" (*)").trim_end().to_owned()).collect()
}

/// A package that tests want with other features is built twice, and so is everything above it.
#[test]
fn programs_are_built_of_what_their_tests_are_built_of() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let named = makefile.lines().find_map(|line| line.strip_prefix("PROGRAMS := ")).unwrap();
    let of_programs: Vec<&str> = named.split_whitespace().flat_map(|package| ["-p", package]).collect();
    let programs = packages(&[&["--edges", "normal,build"][..], &of_programs].concat());
    let tests = packages(&["--edges", "all", "--workspace"]);
    assert!(programs.len() > 200);
    let twice: Vec<_> = programs.difference(&tests).collect();
    assert!(twice.is_empty(), "built with other features for the programs than for tests: {twice:?}");
}
