//! What the tests of one program assert of the verbs: the keywords with which each was answered, and the codes with
//! which it was refused.
//!
//! `crates/cca/tests/exercised/<program>.txt` is what they assert. docs/reference/verbs.md prints it, and
//! `tests/house/tests/exercised.rs` holds it against the verb table and the verbs' own pages: a keyword or a refusal
//! without a test fails there. Each program calls [`check`], which runs all other tests of the program once more and
//! looks whether each of them still asserts what the file says. `CRYPTAND_BLESS=1 cargo test --release -p cca
//! exercised` writes the files anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use wire::frame::Arguments;
use wire::verb::{Kind, Verb};
use wire::{Codes, code};

/// Where a run writes what its tests assert, a line each.
const RECORD: &str = "CRYPTAND_EXERCISED";

static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Notes that a test asserted these codes of this request. Of a refusal the code counts, and the keyword that the table
/// does not serve, if there is one; of any other answer the keywords.
pub fn note(verb: Verb, payload: &[u8], codes: Codes) {
    let Some(record) = std::env::var_os(RECORD) else { return };
    let words = keywords(verb, payload);
    let name = verb.entry().name;
    let mut lines = Vec::new();
    if codes.has_output() {
        lines.push(format!("{name} done"));
        lines.extend(words.iter().map(|word| format!("{name} done {word}")));
    }
    if codes != code::OK {
        lines.push(format!("{name} codes {}/{}", codes.return_code, codes.reason_code));
    }
    let unserved = words.iter().filter(|word| !verb.entry().keywords.serves(word) && !codes.has_output());
    lines.extend(unserved.map(|word| format!("{name} unserved {word}")));
    let mut seen = SEEN.lock().unwrap();
    lines.retain(|line| seen.insert(line.clone()));
    if !lines.is_empty() {
        let mut file = OpenOptions::new().create(true).append(true).open(record).unwrap();
        writeln!(file, "{}", lines.join("\n")).unwrap();
    }
}

/// The keywords of a request.
fn keywords(verb: Verb, payload: &[u8]) -> Vec<String> {
    let Ok(arguments) = Arguments::read_request(verb, payload) else { return Vec::new() };
    let is_array = |parameter: &wire::verb::Parameter| matches!(parameter.kind, Kind::Keywords(_));
    let Some(position) = verb.entry().parameters.iter().position(is_array) else { return Vec::new() };
    let words = arguments.bytes(position).chunks(8);
    words.map(|word| String::from_utf8_lossy(word).trim_end().to_owned()).collect()
}

/// Runs the other tests of a program of tests, and compares what they assert with the program's file in this folder.
/// `CRYPTAND_BLESS` in the environment writes the file; what a run notes goes into the folder `scratch`.
///
/// # Panics
/// If a test fails, or no longer asserts what the file says.
pub fn check(program: &str, folder: &Path, scratch: &Path) {
    let is_blessed = needs::is_blessed();
    // Some tests choose at random: what only a few runs assert does not go into the file.
    let runs: Vec<BTreeSet<String>> =
        (0..if is_blessed { 3 } else { 1 }).map(|_| asserted(program, scratch)).collect();
    let always = runs[0].iter().filter(|line| runs.iter().all(|run| run.contains(*line)));
    let found: BTreeSet<&str> = always.map(String::as_str).collect();
    let page = folder.join(format!("{program}.txt"));
    if is_blessed {
        fs::write(&page, written(&found)).unwrap();
    }
    let committed = fs::read_to_string(&page).unwrap_or_default();
    let gone: Vec<String> = lines(&committed).filter(|line| !found.contains(line.as_str())).collect();
    assert!(
        gone.is_empty() && !committed.is_empty(),
        "{} says what no test asserts (`{}` writes it anew): {gone:#?}",
        page.display(),
        needs::blessing("-p cca exercised")
    );
}

/// Runs all other tests of this program, and gives what they assert.
fn asserted(program: &str, scratch: &Path) -> BTreeSet<String> {
    let record = scratch.join(format!("exercised-{program}"));
    let _ = fs::remove_file(&record);
    let run = Command::new(std::env::current_exe().unwrap())
        // The matrix of key types asserts nothing of single requests, and writes its own page.
        .args(["--quiet", "--skip", "exercised", "--skip", "every_key_type_in_every_key_parameter"])
        .env(RECORD, &record)
        .env_remove(needs::BLESS)
        .output()
        .unwrap();
    assert!(run.status.success(), "other tests of this program fail: see them first");
    fs::read_to_string(&record).unwrap().lines().map(str::to_owned).collect()
}

/// A file of these lines: a paragraph for each verb.
fn written(found: &BTreeSet<&str>) -> String {
    let mut text = String::from(
        "What the tests of this program assert of each verb: with which keywords it was answered (done), which it does not serve\n\
         (unserved), and with which codes it answered (codes). Made by tests/requests/src/exercised.rs.\n",
    );
    let mut verbs: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for line in found {
        let mut parts = line.splitn(3, ' ');
        let (verb, kind) = (parts.next().unwrap(), parts.next().unwrap());
        verbs.entry(verb).or_default().entry(kind).or_default().extend(parts.next());
    }
    for (verb, kinds) in verbs {
        let _ = writeln!(text, "\n{verb}");
        for (kind, words) in kinds {
            let _ = writeln!(text, "{}", format!("  {kind} {}", words.join(" ")).trim_end());
        }
    }
    text
}

/// The lines that a file was written of.
fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split("\n\n").skip(1).flat_map(|paragraph| {
        let (verb, kinds) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        kinds.lines().flat_map(move |line| {
            let mut words = line.split_whitespace();
            let kind = words.next().unwrap_or_default();
            let own = (kind == "done").then(|| format!("{verb} done"));
            own.into_iter().chain(words.map(move |word| format!("{verb} {kind} {word}")))
        })
    })
}
