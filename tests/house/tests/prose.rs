//! How pages are written, as far as a program can tell: the length of sentences, and the spelling of words.

use crate::pages::pages;
use crate::promises::sentences;
use house_tests::root;
use needs::Need;
use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::ARCH;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

/// As many words a sentence may have. What ends with a semicolon or a colon before a capital counts as one.
const WORDS_MAX: usize = 50;

/// Pages that programs write: their words are those of the sources.
const WRITTEN_BY_PROGRAMS: &[&str] = &["docs/measured/performance.md", "docs/reference/verbs.md"];

/// Words of the field and names, one a line, which no dictionary has.
const WORDS: &str = "tests/house/words.txt";

/// The text without what links lead to.
fn without_targets(text: &str) -> String {
    let mut pieces = text.split("](");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |mut kept, piece| {
        kept.push(']');
        kept.push_str(piece.split_once(')').map_or("", |(_, rest)| rest));
        kept
    })
}

#[test]
fn no_sentence_of_a_page_has_more_words_than_a_reader_keeps() {
    let mut long = Vec::new();
    let mut read = 0;
    for page in pages() {
        if WRITTEN_BY_PROGRAMS.iter().any(|name| page.ends_with(name)) {
            continue;
        }
        for sentence in sentences(&fs::read_to_string(&page).unwrap(), 1) {
            let count = without_targets(&sentence).split_whitespace().count();
            read += 1;
            if count > WORDS_MAX {
                long.push(format!("{}: {count} words: {sentence}", page.display()));
            }
        }
    }
    assert!(read > 3_000, "{read} sentences were read");
    assert!(long.is_empty(), "make two sentences, {WORDS_MAX} words at most, of:\n{}", long.join("\n"));
}

/// The words of a page that a dictionary can know: of text outside code, without digits, and with no capital but the
/// first.
fn words(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with("    ") {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    // Between backticks stands code: every second piece.
    let prose: Vec<&str> = prose.split('`').step_by(2).collect();
    let prose = without_targets(&prose.join(" "));
    let is_of_a_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '\'');
    prose
        .split_whitespace()
        .filter(|piece| !piece.contains("://"))
        .flat_map(|piece| piece.split(|letter| !is_of_a_word(letter)))
        .map(|word| word.trim_matches('\''))
        .filter(|word| {
            let rest = word.get(1..).unwrap_or_default();
            word.starts_with(|first: char| first.is_ascii_alphabetic())
                && !rest.is_empty()
                && rest.chars().all(|letter| letter.is_ascii_lowercase() || letter == '\'')
        })
        .map(str::to_owned)
        .collect()
}

/// What a speller does not know of these words; none if there is no speller.
fn unknown(words: &BTreeSet<&str>) -> Option<Vec<String>> {
    let unpacked = root().join("target/hunspell/usr");
    let mut speller =
        Command::new(if unpacked.exists() { unpacked.join("bin/hunspell") } else { "hunspell".into() });
    if unpacked.exists() {
        speller.env("LD_LIBRARY_PATH", unpacked.join(format!("lib/{ARCH}-linux-gnu")));
        speller.env("DICPATH", unpacked.join("share/hunspell"));
    }
    speller.args(["-i", "utf-8", "-d", "en_GB", "-l"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = speller.spawn().ok()?;
    let asked = words.iter().fold(String::new(), |asked, word| asked + word + "\n");
    let mut input = running.stdin.take().unwrap();
    let writer = thread::spawn(move || input.write_all(asked.as_bytes()));
    let output = running.wait_with_output().unwrap();
    // A speller without the dictionary ends with an error before it has read all.
    if !output.status.success() {
        return None;
    }
    writer.join().unwrap().unwrap();
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn words_of_pages_are_in_a_dictionary_or_among_those_of_the_field() {
    let listed = fs::read_to_string(root().join(WORDS)).unwrap();
    let listed: BTreeSet<&str> = listed.lines().collect();
    let mut used: BTreeMap<String, String> = BTreeMap::new();
    for page in pages() {
        for word in words(&fs::read_to_string(&page).unwrap()) {
            used.entry(word).or_insert_with(|| page.display().to_string());
        }
    }
    assert!(used.len() > 3_000, "{} words were read", used.len());
    let unused: Vec<_> = listed.iter().filter(|word| !used.contains_key(**word)).collect();
    assert!(unused.is_empty(), "{WORDS} has words that no page has: {unused:?}");

    let asked = used.keys().map(String::as_str).filter(|word| !listed.contains(word)).collect();
    let unknown = unknown(&asked);
    if needs::did_without(Need::Speller, unknown.is_none()) {
        return;
    }
    let wrong: Vec<_> = unknown.unwrap().iter().map(|word| format!("{word} ({})", used[word])).collect();
    assert!(wrong.is_empty(), "misspelt, or to be added to {WORDS}:\n{}", wrong.join("\n"));
}
