//! docs/project/promises.md names what holds each promise: its words stand in the pages, its tests exist, and no
//! sentence that must have a row lacks one. It names where attacks are mounted, too, at each door of SECURITY.md.

use house_tests::{root, sources};
use std::collections::BTreeSet;
use std::fs;

/// The page that lists them.
const LIST: &str = "docs/project/promises.md";

/// Pages that are generated, or lists themselves: no sentences are drawn from them.
const NOT_DRAWN: &[&str] = &["promises.md", "status.md", "evidence.md", "unconfirmed.md", "/verbs"];

/// A row of the list.
struct Promise {
    page: String,
    words: String,
    held_by: String,
}

fn promises() -> Vec<Promise> {
    let text = fs::read_to_string(root().join(LIST)).unwrap();
    let mut page = String::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            page = heading.trim().to_owned();
        }
        let Some(cells) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) else { continue };
        let (words, held_by) = cells.split_once(" | ").unwrap_or_else(|| panic!("two cells: {line}"));
        if words != "words" && page.ends_with(".md") {
            rows.push(Promise { page: page.clone(), words: words.to_owned(), held_by: held_by.to_owned() });
        }
    }
    assert!(rows.len() > 60, "{} rows were read", rows.len());
    rows
}

/// The text with each run of blanks and line ends as one blank.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands between pairs of backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Sentences of a page that have at least so many words: of paragraphs and list items, not of headings, tables and
/// code.
pub fn sentences(text: &str, words_min: usize) -> Vec<String> {
    let mut blocks = vec![String::new()];
    let mut is_code = false;
    for line in text.lines() {
        let bare = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let ends = bare.is_empty() || bare.starts_with(['#', '|']) || line.starts_with("    ");
        if is_code || ends || line.starts_with("```") {
            blocks.push(String::new());
            continue;
        }
        let item = bare.strip_prefix("- ");
        if item.is_some() {
            blocks.push(String::new());
        }
        let block = blocks.last_mut().unwrap();
        if !block.is_empty() {
            block.push(' ');
        }
        block.push_str(item.unwrap_or(bare));
    }
    let mut sentences = Vec::new();
    for block in blocks {
        let mut from = 0;
        for (at, _) in block.match_indices([' ']) {
            let ends = block[..at].ends_with(['.', ';', ':']);
            let begins =
                block[at + 1..].starts_with(|next: char| next.is_ascii_uppercase() || "`*[".contains(next));
            if ends && begins {
                sentences.push(block[from..at].to_owned());
                from = at + 1;
            }
        }
        sentences.push(block[from..].to_owned());
    }
    sentences.retain(|sentence| sentence.split_whitespace().count() >= words_min);
    sentences
}

/// Whether some row of the page is of this sentence.
fn has_row(promises: &[Promise], page: &str, sentence: &str) -> bool {
    promises.iter().any(|promise| promise.page == page && flat(sentence).contains(&promise.words))
}

#[test]
fn the_words_of_each_promise_stand_in_its_page() {
    let promises = promises();
    let missing: Vec<String> = promises
        .iter()
        .filter(|promise| {
            let text = fs::read_to_string(root().join(&promise.page)).unwrap_or_default();
            let items =
                text.lines().map(|line| line.trim_start().trim_start_matches("- ")).collect::<Vec<_>>();
            !flat(&items.join(" ")).contains(&promise.words)
        })
        .map(|promise| format!("{}: {}", promise.page, promise.words))
        .collect();
    assert!(missing.is_empty(), "no sentence of these pages has the words:\n{}", missing.join("\n"));
}

#[test]
fn each_test_that_holds_a_promise_exists() {
    let promises = promises();
    let wrong: Vec<String> =
        promises.iter().flat_map(|promise| wrong_tests(&promise.words, &promise.held_by)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with a cell that names tests: one that does not exist, or none at all.
fn wrong_tests(row: &str, cell: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if cell.starts_with("none: ") {
        return wrong;
    }
    let (mut text, mut holds) = (String::new(), false);
    for name in quoted(cell) {
        if name.contains('/') {
            let path = root().join(name);
            match fs::read_to_string(&path) {
                Ok(read) => text = read,
                Err(_) if path.is_dir() => text.clear(),
                Err(error) => wrong.push(format!("{row}: {name}: {error}")),
            }
            // A folder, and a program with a harness of its own, hold by themselves.
            holds |= path.is_dir() || text.contains("\nfn main() {");
        } else if is_test(&text, name) {
            holds = true;
        } else {
            wrong.push(format!("{row}: no test {name}"));
        }
    }
    if !holds {
        wrong.push(format!("{row}: no test is named"));
    }
    wrong
}

/// The cells of the table under a heading, without its head.
fn table(page: &str, heading: &str, columns: usize) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let (_, rest) =
        text.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading} in {page}"));
    let rows = rest.lines().take_while(|line| !line.starts_with("## "));
    let rows = rows.filter_map(|line| line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")));
    let rows: Vec<Vec<String>> =
        rows.skip(1).map(|row| row.split(" | ").map(str::to_owned).collect()).collect();
    for row in &rows {
        assert_eq!(row.len(), columns, "{page}: {row:?}");
    }
    rows
}

#[test]
fn each_door_has_attacks_and_each_attack_tests_that_exist() {
    let attacks = table(LIST, "Attacks", 5);
    let doors = |rows: &[Vec<String>]| rows.iter().map(|row| row[0].clone()).collect::<BTreeSet<_>>();
    assert_eq!(doors(&attacks), doors(&table("SECURITY.md", "Doors", 3)));
    let mut wrong = Vec::new();
    for row in &attacks {
        let (works, stopped) = (&row[3], &row[4]);
        let name = format!("{}: {}", row[0], row[2]);
        if works != "the same" {
            wrong.extend(wrong_tests(&name, works));
        }
        assert!(!stopped.starts_with("none"), "{name}: an attack is stopped by a test");
        wrong.extend(wrong_tests(&name, stopped));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let is_mounted = attacks.iter().filter(|row| !row[3].starts_with("none: ")).count();
    assert!(2 * is_mounted > attacks.len(), "{is_mounted} of {} attacks are known to work", attacks.len());
}

#[test]
fn each_row_of_the_evidence_names_what_is_there() {
    let page = fs::read_to_string(root().join("docs/project/evidence.md")).unwrap();
    let (_, table) = page.split_once("|---|---|\n").expect("a table of parts and what shows them");
    let (mut rows, mut wrong) = (0, Vec::new());
    for line in table.lines().take_while(|line| line.starts_with("| ")) {
        rows += 1;
        let (_, shown_by) = line.rsplit_once(" | ").unwrap_or_else(|| panic!("two cells: {line}"));
        let paths = quoted(shown_by).into_iter().filter(|name| !name.contains([' ', '*', ':']));
        let paths: Vec<&str> = paths.filter(|name| name.contains('/')).collect();
        wrong.extend(
            paths
                .iter()
                // A file that is named beside a folder lies in it, or in the tests of the same room.
                .filter(|path| !root().join(path).exists() && !is_below_one_of(&paths, path))
                .map(|path| format!("{path}: {line:.60}")),
        );
        if paths.is_empty()
            && !["make bench", "cryptand bench", "deny.toml"].iter().any(|by| shown_by.contains(by))
        {
            wrong.push(format!("nothing is named: {line:.60}"));
        }
    }
    assert!(rows > 80, "{rows} rows were read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the path goes on from one of these, or from the folder that one of these lies in.
fn is_below_one_of(paths: &[&str], path: &str) -> bool {
    paths.iter().filter(|base| root().join(base).exists()).any(|base| {
        let base = root().join(base);
        base.ancestors()
            .take(4)
            .any(|folder| ["", "src", "tests"].iter().any(|below| folder.join(below).join(path).exists()))
    })
}

/// Whether the source has a test of this name.
fn is_test(source: &str, name: &str) -> bool {
    let Some((before, _)) = source.split_once(&format!("fn {name}(")) else { return false };
    before.lines().rev().take(5).any(|line| line.trim_start().starts_with("#[test]"))
}

#[test]
fn each_sentence_of_what_security_promises_has_a_row() {
    let promises = promises();
    let page = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let promised = page.split_once("## What is promised").and_then(|(_, rest)| rest.split_once("\n## "));
    let (promised, _) = promised.expect("SECURITY.md has a chapter on what is promised");
    let sentences = sentences(promised, 5);
    assert!(sentences.len() > 20, "{} sentences were read", sentences.len());
    let without: Vec<String> =
        sentences.into_iter().filter(|sentence| !has_row(&promises, "SECURITY.md", sentence)).collect();
    assert!(without.is_empty(), "no row of {LIST} is of:\n{}", without.join("\n"));
}

/// Thirty sentences of the pages are drawn by a seed, and somebody tried to make each of them false: the rows say how.
/// A page that is edited may bring another sentence among the thirty.
#[test]
fn thirty_sentences_drawn_by_seed_20261128_have_rows() {
    let promises = promises();
    let mut drawn = Vec::new();
    let docs = sources("docs", "md").into_iter().map(|page| page.path);
    let docs = docs.filter(|path| !NOT_DRAWN.iter().any(|name| path.contains(name)));
    for page in docs.chain(["SECURITY.md".to_owned()]) {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        drawn.extend(
            sentences(&text, 8)
                .into_iter()
                .map(|sentence| (lot("20261128", &sentence), page.clone(), sentence)),
        );
    }
    drawn.sort();
    drawn.truncate(30);
    let without = drawn.iter().filter(|(_, page, sentence)| !has_row(&promises, page, sentence));
    let without: Vec<String> = without.map(|(_, page, sentence)| format!("{page}: {sentence}")).collect();
    assert!(without.is_empty(), "no row of {LIST} is of:\n{}", without.join("\n"));
}

/// The lot of a sentence: FNV-1a with the finaliser of MurmurHash3, so that each is drawn whatever the others are.
fn lot(seed: &str, sentence: &str) -> u64 {
    let hash = seed.bytes().chain(sentence.bytes()).fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    let hash = (hash ^ hash >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ hash >> 33
}
