//! One reader for all CAVP files, and those of the same shape.
//!
//! A file is cases between empty lines; a case is lines `NAME = value`, or a bare word. Lines in brackets
//! begin a section, which holds for the cases after it; `#` begins a comment.

use std::path::Path;

/// One case, with the section it stands in.
#[derive(Clone, Debug, Default)]
pub struct Case {
    section: Vec<String>,
    fields: Vec<(String, String)>,
}

impl Case {
    /// The value of a field, by its name in any case; None if the case has none.
    pub fn find(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self, name: &str) -> &str {
        self.find(name).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    pub fn number(&self, name: &str) -> usize {
        self.text(name).parse().unwrap_or_else(|_| panic!("{name} is no number in {self:?}"))
    }

    /// The bytes of a field in hex.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        hex(self.text(name))
    }

    /// The bytes of a field that holds a number, with zeros in front to `bytes`.
    pub fn padded(&self, name: &str, bytes: usize) -> Vec<u8> {
        padded(&self.bytes(name), bytes)
    }

    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Takes the fields of another case at its end.
    pub fn append(&mut self, other: Case) {
        self.fields.extend(other.fields);
    }

    /// The first line of the section.
    pub fn section(&self) -> &str {
        self.section.first().map_or("", String::as_str)
    }
}

/// The cases of a file under `tests/vectors`.
pub fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases = parse(&text);
    assert!(!cases.is_empty(), "{file} holds no case");
    cases
}

/// The files of a folder under `tests/vectors` whose names begin and end so.
pub fn files(folder: &str, start: &str, end: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(folder);
    let mut names: Vec<String> = std::fs::read_dir(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(start) && name.ends_with(end))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "no file {start}*{end} in {folder}");
    names
}

pub fn parse(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = Case::default();
    let mut in_head = false;
    for line in text.lines().map(str::trim).chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            if !in_head {
                case.section.clear();
            }
            in_head = true;
            case.section.push(section.to_owned());
        } else if line.is_empty() {
            if !case.fields.is_empty() {
                let next = Case { section: case.section.clone(), fields: Vec::new() };
                cases.push(std::mem::replace(&mut case, next));
            }
        } else {
            in_head = false;
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            case.fields.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    cases
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| (byte as char).to_digit(16).unwrap_or_else(|| panic!("not hex: {text}")) as u8)
        .collect();
    // Numbers may be written with an odd count of digits.
    let odd = digits.len() % 2;
    let first = digits.iter().take(odd).copied();
    first.chain(digits[odd..].chunks(2).map(|pair| pair[0] << 4 | pair[1])).collect()
}

pub fn padded(number: &[u8], bytes: usize) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let number = &number[zeros..];
    assert!(number.len() <= bytes, "{} bytes do not fit {bytes}", number.len());
    [vec![0; bytes - number.len()], number.to_vec()].concat()
}

#[test]
fn sections_hold_until_the_next_and_comments_are_skipped() {
    let cases = parse("# head\n[A = 1]\n[B = 2]\n\nX = 0f\n# c\nFAIL\n\n\nx = \n[C]\n\nY = 123");
    assert_eq!(cases.len(), 3);
    assert_eq!(cases[0].section, ["A = 1", "B = 2"]);
    assert_eq!((cases[0].bytes("x"), cases[0].has("FAIL")), (vec![15], true));
    assert_eq!((cases[1].bytes("X"), cases[1].has("FAIL")), (vec![], false));
    assert_eq!((cases[2].section(), cases[2].bytes("Y")), ("C", vec![1, 0x23]));
}
