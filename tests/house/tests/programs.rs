//! Programs of tests: one a room, with the reason for each further one in its manifest.

use house_tests::{root, sources};
use std::collections::BTreeSet;

/// Rooms whose further programs have no entry in the manifest, with the reason.
const SEVERAL: &[(&str, &str)] = &[
    ("crates/cca", "large: both are compiled side by side"),
    ("crates/link/loom", "a workspace of its own"),
    ("crates/sim", "a workspace of its own"),
];

/// The manifest's entries of programs of tests, each with whether a comment stands before it.
fn entries(manifest: &str) -> Vec<(String, bool)> {
    let lines: Vec<_> = manifest.lines().collect();
    let at = lines.iter().enumerate().filter(|(_, line)| **line == "[[test]]");
    at.map(|(at, _)| {
        let name = lines[at + 1..].iter().find_map(|line| line.strip_prefix("name = \"")).unwrap();
        (name.trim_end_matches('"').to_owned(), at > 0 && lines[at - 1].starts_with('#'))
    })
    .collect()
}

#[test]
fn the_tests_of_a_room_are_one_program() {
    let mut all = 0;
    let manifests = ["crates", "tests", "fuzz"].map(|folder| sources(folder, "toml")).into_iter().flatten();
    for manifest in manifests.filter(|source| source.path.ends_with("/Cargo.toml")) {
        let room = manifest.path.trim_end_matches("/Cargo.toml");
        let folder = root().join(room).join("tests");
        let Ok(files) = std::fs::read_dir(&folder) else { continue };
        let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        let found = files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
        let found: BTreeSet<_> =
            found.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        let folders = files.iter().filter(|path| path.join("main.rs").exists()).count();
        let entries = entries(&manifest.text);
        if !manifest.text.lines().any(|line| line == "autotests = false") {
            let is_named = SEVERAL.iter().any(|(named, _)| *named == room);
            let count = found.len() + folders;
            assert!(count <= 1 || is_named, "{room}: {count} programs of tests");
            continue;
        }
        all += 1;
        let modules = std::fs::read_to_string(folder.join("all.rs")).unwrap();
        let modules: BTreeSet<_> = modules
            .lines()
            .filter_map(|line| Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned()))
            .collect();
        for file in found.iter().filter(|file| *file != "all") {
            let is_program = entries.iter().any(|(name, _)| name == file);
            assert!(modules.contains(file) != is_program, "{room}: nothing runs tests/{file}.rs, or two do");
        }
        let unexplained: Vec<_> =
            entries.iter().filter(|(name, is_explained)| name != "all" && !is_explained).collect();
        assert!(unexplained.is_empty(), "{room}: why programs of their own? {unexplained:?}");
    }
    assert!(all >= 15, "{all} rooms");
}

/// Of a library or program that has none, Cargo builds and links a program of tests that tests nothing.
#[test]
fn targets_without_tests_make_no_program_of_tests() {
    let mut targets = 0;
    for manifest in ["crates", "tests", "fuzz/targets"].into_iter().flat_map(|folder| sources(folder, "toml"))
    {
        let Some(room) = manifest.path.strip_suffix("/Cargo.toml").filter(|room| !room.contains("/loom"))
        else {
            continue;
        };
        let table: toml::Table = toml::from_str(&manifest.text).unwrap();
        let is_off = |target: Option<&toml::Value>| {
            target.and_then(|target| target.get("test")) == Some(&toml::Value::Boolean(false))
        };
        let folder = root().join(room).join("src");
        let has_tests = |text: &str| text.contains("#[test]") || text.contains("proptest!");
        if folder.join("lib.rs").exists() {
            targets += 1;
            let tests = sources(&format!("{room}/src"), "rs").iter().any(|source| has_tests(&source.text));
            assert!(tests != is_off(table.get("lib")), "{room}: a library with tests: {tests}");
        }
        let named = table.get("bin").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let found = std::fs::read_dir(folder.join("bin")).into_iter().flatten().flatten();
        let found =
            found.map(|file| file.path()).chain([folder.join("main.rs")]).filter(|path| path.exists());
        for path in found {
            targets += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            let is_whole = !text.lines().any(|line| line.starts_with("mod ")) && !has_tests(&text);
            let is_it = |bin: &&toml::Value| {
                let of = bin.get("path").and_then(toml::Value::as_str);
                of.is_some_and(|of| root().join(room).join(of) == path)
            };
            assert!(!is_whole || is_off(named.iter().find(is_it)), "{}: no tests", path.display());
        }
    }
    assert!(targets > 60, "{targets}");
}
