//! Every kept input of every target, on stable Rust; and that each target has its entry and its seeds.

use fuzz_targets::dictionaries::{self, MADE};
use fuzz_targets::passes::Passes;
use fuzz_targets::{TARGETS, pin_verb_answer, verb_answer};
use std::fs;
use std::path::{Path, PathBuf};
use wire::verb::{Executor, TABLE, Verb};

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
        .filter(|entry| entry.executor != Executor::Daemon && entry.verb != Verb::PkaKeyGenerate)
        .map(|entry| entry.name)
        .filter(|name| !served.contains_key(name))
        .collect();
    assert!(missing.is_empty(), "no kept request is served by {missing:?}");
}

/// A request at its extremes calls for few kernels, each of which is bounded by its length and keys: no argument makes
/// a chain of them.
#[test]
fn no_request_calls_for_many_kernels() {
    const KERNELS_MAX: usize = 16;
    let mut passes = Passes::new(None);
    let found = passes.extremes(&fuzz_folder().join("corpus/verb"));
    let missing = fuzz_targets::passes::without_request(&found);
    assert!(missing.is_empty(), "no kept request is of {missing:?}");
    let (mut most, mut run) = (0, 0);
    for extreme in found.iter().filter(|extreme| extreme.is_short()) {
        let payloads = extreme.payloads();
        if payloads.is_empty() {
            continue;
        }
        let ran = passes.run(extreme.verb, &payloads, 1);
        assert!(ran.kernels <= KERNELS_MAX, "{:?}, {}: {} kernels", extreme.verb, extreme.name, ran.kernels);
        most = most.max(ran.kernels);
        run += 1;
    }
    assert!(most >= 3 && run > 1_000, "{most} kernels, {run} requests");
}

// libFuzzer takes a dictionary from `scripts/fuzz`.
#[test]
fn dictionaries_are_those_of_the_verb_table() {
    let mut of_targets = 0;
    for (name, _) in TARGETS {
        let made = dictionaries::made(name);
        if made.is_empty() {
            continue;
        }
        of_targets += 1;
        let path = fuzz_folder().join("dictionaries").join(name).with_extension("dict");
        let found = fs::read_to_string(&path).unwrap_or_default();
        let written = found.split(MADE).next().unwrap_or_default();
        let expected = format!("{written}{MADE}\n{}\n", made.join("\n"));
        needs::assert_committed(&path, &expected, "-p fuzz-targets --test replay");
        assert!(made.iter().all(|line| is_entry(line)), "{name}: {made:?}");
    }
    assert!(of_targets >= 6, "{of_targets} dictionaries are made");
}

/// Whether libFuzzer reads a line: printable, in quotes, with `\\`, `\"` and `\xAB` for what is not.
fn is_entry(line: &str) -> bool {
    let Some(mut rest) = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')) else { return false };
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at + 1..];
        let bytes = match escape.as_bytes() {
            [b'\\' | b'"', ..] => 1,
            [b'x', digits @ ..] if digits.len() >= 2 && digits[..2].iter().all(u8::is_ascii_hexdigit) => 3,
            _ => return false,
        };
        if rest[..at].contains('"') {
            return false;
        }
        rest = &escape[bytes..];
    }
    !rest.contains('"') && line.bytes().all(|byte| (b' '..=b'~').contains(&byte))
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

#[test]
fn kept_requests_reach_inside_the_pin_verbs() {
    let mut served = std::collections::BTreeSet::new();
    for entry in fs::read_dir(fuzz_folder().join("corpus/pin_verb")).unwrap().flatten() {
        if let Some((verb, true)) = pin_verb_answer(&fs::read(entry.path()).unwrap()) {
            served.insert(verb.entry().name);
        }
    }
    assert_eq!(served.len(), 9, "{served:?}");
}
