//! Every row of docs/reference/verbs has a test: each keyword of a verb and each refusal that its page names is
//! asserted by a test of `crates/cca`. `tests/requests/src/exercised.rs` says how what they assert is known.

use house_tests::exercised::{Exercised, exercised};
use house_tests::{root, sources};
use wire::verb::{Executor, TABLE};

const HOW: &str = "a test of crates/cca/tests asserts it with Request::ok, refused or answers (pka: every request); then\n\
     CRYPTAND_BLESS=1 cargo test --release -p cca exercised";

#[test]
fn every_keyword_of_every_verb_has_a_test() {
    let exercised = exercised();
    let mut missing = Vec::new();
    for entry in TABLE.iter().filter(|entry| entry.executor != Executor::Daemon) {
        let Some(own) = exercised.get(entry.name) else {
            missing.push(format!("{}: no test asserts an answer", entry.name));
            continue;
        };
        if !own.done {
            missing.push(format!("{}: no test asserts that it is done", entry.name));
        }
        for word in entry.keywords.words() {
            let refused = !entry.keywords.serves(word.text);
            let known = if refused { &own.unserved } else { &own.keywords };
            if !known.contains(word.text) {
                let what = if refused { "refused" } else { "served" };
                missing.push(format!("{} {}: no test asserts that it is {what}", entry.name, word.text));
            }
        }
    }
    assert!(missing.is_empty(), "{HOW}\n{}", missing.join("\n"));
}

/// Codes that every verb may have for what lies outside of it, and that the tests of other crates assert.
const COMMON: &[&str] = &["8/90"];

#[test]
fn every_refusal_that_a_verb_s_page_names_has_a_test() {
    let exercised = exercised();
    let pages = sources("crates/cca/src/verbs", "rs");
    let mut missing = Vec::new();
    for entry in TABLE.iter().filter(|entry| entry.executor != Executor::Daemon) {
        let path = format!("crates/cca/src/verbs/{}.rs", entry.name.replace('-', "_"));
        let page =
            pages.iter().find(|page| page.path == path).unwrap_or_else(|| panic!("{path}: no such file"));
        let none = Exercised::default();
        let own = exercised.get(entry.name).unwrap_or(&none);
        for code in named(&page.text) {
            if !own.codes.contains(&code) && !COMMON.contains(&code.as_str()) {
                missing.push(format!("{}: {path} names {code}, and no test asserts it", entry.name));
            }
        }
    }
    assert!(missing.is_empty(), "{HOW}\n{}", missing.join("\n"));
}

/// Codes that the comments of a source name.
fn named(text: &str) -> Vec<String> {
    let comments = text.lines().filter(|line| line.trim_start().starts_with("//"));
    let words = comments.flat_map(|line| line.split(|c: char| !c.is_ascii_digit() && c != '/'));
    let is_code = |word: &&str| {
        let parts: Vec<_> = word.split('/').collect();
        matches!(parts[..], ["4" | "8" | "12", reason] if !reason.is_empty())
    };
    let mut codes: Vec<String> = words.filter(is_code).map(str::to_owned).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[test]
fn the_law_sees_what_it_is_for() {
    assert_eq!(
        named("//! 8/47 where; 8/48, and (12/764).\nlet a = 8/30;\n/// 0/0 3/4 8/ 64/8"),
        ["12/764", "8/47", "8/48"]
    );
    assert!(root().join("crates/cca/tests/exercised/verbs.txt").exists());
    assert!(exercised()["key-test"].keywords.contains("GENERATE"));
}
