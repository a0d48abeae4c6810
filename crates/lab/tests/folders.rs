//! The order of the lab's folders: each names only those before it, so that no two import each other.

use std::fs;
use std::path::{Path, PathBuf};

/// From the ground floor up.
const FOLDERS: [&str; 16] = [
    "kit",
    "load",
    "published",
    "experiment",
    "engine",
    "cards",
    "payments",
    "queues",
    "openpgp",
    "tls",
    "ipsec",
    "sweeps",
    "container",
    "faults",
    "report",
    "promises",
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    files.chain(folders.iter().flat_map(|folder| self::files(folder))).collect()
}

/// The first names of all paths that begin at the crate: `crate::a::b` and `crate::{a, b::{c, d}}`.
fn named(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for rest in text.split("crate::").skip(1) {
        let word =
            |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        let Some(list) = rest.strip_prefix('{') else {
            names.push(word(rest));
            continue;
        };
        let (mut depth, mut is_first) = (0, true);
        for (at, letter) in list.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => is_first = true,
                letter if is_first && letter.is_alphabetic() => {
                    names.push(word(&list[at..]));
                    is_first = false;
                }
                _ => {}
            }
        }
    }
    names
}

#[test]
fn a_folder_names_only_those_before_it() {
    for (place, folder) in FOLDERS.iter().enumerate() {
        let files = files(&source().join(folder));
        assert!(!files.is_empty(), "{folder}");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for name in named(&text).iter().filter(|name| name != folder) {
                let before = FOLDERS[..place].contains(&name.as_str());
                assert!(before, "{} names crate::{name}, which is not before {folder}", file.display());
            }
        }
    }
}

#[test]
fn every_folder_has_its_place_and_is_left_by_the_crate_alone() {
    let entries = fs::read_dir(source()).unwrap().map(|entry| entry.unwrap());
    for entry in entries.filter(|entry| entry.path().is_dir()) {
        let name = entry.file_name().into_string().unwrap();
        assert!(name == "commands" || FOLDERS.contains(&name.as_str()), "{name} has no place in the order");
    }
    for folder in FOLDERS {
        for file in files(&source().join(folder)) {
            let inside = file.strip_prefix(source()).unwrap();
            let is_mod = file.ends_with("mod.rs");
            let depth = inside.components().count() - usize::from(is_mod);
            let text = fs::read_to_string(&file).unwrap();
            for line in text.lines().filter(|line| line.contains("super::")) {
                let up = line.matches("super::").count();
                // A module within the file is one deeper.
                let deep = depth + usize::from(line.starts_with(' '));
                assert!(up < deep || !line.trim_start().starts_with("use "), "{}: {line}", file.display());
            }
        }
    }
}

#[test]
fn names_are_found_in_lists() {
    assert_eq!(
        named("use crate::a::b; use crate::{c, d::{e, f}, g}; [`crate::h`]"),
        ["a", "c", "d", "g", "h"]
    );
}
