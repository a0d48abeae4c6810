//! Every kept input of every target, on stable Rust; and that each target has its entry and its seeds.

use fuzz_targets::{KEYWORDS, TARGETS, verb_answer};
use std::fs;
use std::path::{Path, PathBuf};
use wire::verb::{Place, TABLE, Verb};

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn kept_inputs_pass() {
    for (name, target) in TARGETS {
        let corpus = fuzz_folder().join("corpus").join(name);
        let mut inputs = 0;
        for entry in
            fs::read_dir(&corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display())).flatten()
        {
            target(&fs::read(entry.path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "{name} has no seed");
    }
}

#[test]
fn kept_requests_reach_inside_the_verbs() {
    let folder =
        std::env::var_os("FUZZ_VERB_FOLDER").map_or(fuzz_folder().join("corpus/verb"), PathBuf::from);
    let mut served = std::collections::BTreeMap::<_, Vec<_>>::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if let Some((verb, true)) = verb_answer(&fs::read(entry.path()).unwrap()) {
            served.entry(verb.entry().name).or_default().push(entry.file_name());
        }
    }
    println!("{served:?}");
    let missing: Vec<_> = TABLE
        .iter()
        .filter(|entry| entry.place != Place::Daemon && entry.verb != Verb::PkaKeyGenerate)
        .map(|entry| entry.name)
        .filter(|name| !served.contains_key(name))
        .collect();
    assert!(missing.is_empty(), "no kept request is served by {missing:?}");
}

#[test]
fn the_keywords_of_the_verb_table_are_among_those_that_are_tried() {
    for keyword in TABLE.iter().flat_map(|entry| entry.keywords.words()) {
        assert!(KEYWORDS.contains(&keyword.text), "{}", keyword.text);
    }
}

#[test]
fn dictionaries_hold_the_keywords() {
    for name in ["verb", "frame_request"] {
        let path = fuzz_folder().join("dictionaries").join(name).with_extension("dict");
        let text = fs::read_to_string(path).unwrap();
        let words: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        let expected: Vec<_> = KEYWORDS.iter().map(|keyword| format!("\"{keyword:<8}\"")).collect();
        assert_eq!(words, expected);
    }
}

#[test]
fn each_target_has_its_entry() {
    let mut entries: Vec<_> = fs::read_dir(fuzz_folder().join("fuzz_targets"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    entries.sort();
    let mut names: Vec<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    names.sort();
    assert_eq!(entries, names);
}
