//! Reads the command line before the crate `sop` does. Takes options of the draft and of other programs that the crate
//! does not know, and reports missing or wrong arguments with the draft's exit codes.

use crate::dates;
use std::ffi::{OsStr, OsString};

/// The draft's exit code for a missing argument.
const MISSING_ARG: u8 = 19;
/// The draft's exit code for an unknown option, or an unknown value of one.
const UNSUPPORTED_OPTION: u8 = 37;
/// The draft's exit code for text that is not UTF-8.
const EXPECTED_TEXT: u8 = 53;

/// How to go on with a command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Words {
    /// The crate `sop` takes the command line as it is.
    Plain,
    /// The crate `sop` takes these words in its place.
    Otherwise(Vec<OsString>),
    /// The command line is refused.
    Refused {
        /// The message for standard error.
        said: String,
        /// The draft's exit code.
        code: u8,
    },
}

/// Options without a value. All others have a value, behind `=` or as the next word.
const FLAGS: [&str; 12] = [
    "--addr-spec-only",
    "--armor",
    "--backend",
    "--debug",
    "--extended",
    "--help",
    "--no-added-capabilities",
    "--no-armor",
    "--no-require-self-sig",
    "--signing-only",
    "--sop-spec",
    "--sopv",
];
/// Options whose value is a time; `-`, the beginning or the end of time, is the default and is dropped.
const TIMES: [&str; 4] = ["--not-after", "--not-before", "--verify-not-after", "--verify-not-before"];
/// Values of `armor --label`.
const LABELS: [&str; 5] = ["auto", "sig", "key", "cert", "message"];

/// An option with its value, or an operand.
enum Word<'a> {
    Option { name: &'a str, value: Option<&'a OsStr> },
    Operand,
}

/// Reads the words behind the program's name.
pub fn read(typed: &[OsString]) -> Words {
    let Some(subcommand) = typed.iter().find(|word| !is_option(word)).and_then(|word| word.to_str()) else {
        return match typed.iter().any(asks_for_help) {
            true => Words::Plain,
            false => missing("a subcommand: `cryptand-sop help` lists them"),
        };
    };
    let mut kept = Vec::with_capacity(typed.len());
    let (mut operands, mut names) = (0, Vec::new());
    let mut rest = typed;
    while let Some((taken, word)) = next(rest) {
        let (words, behind) = rest.split_at(taken);
        rest = behind;
        match word {
            Word::Option { name: "--", .. } => {
                operands += rest.len();
                kept.extend(words.iter().chain(rest).cloned());
                break;
            }
            // Armor is the default, so the option is dropped.
            Word::Option { name: "--armor", value: None } => {}
            Word::Option { name, value: Some(value) } if TIMES.contains(&name) && value == "-" => {}
            Word::Option { name: "--as", value: Some(value) } if !is_kind(subcommand, value) => {
                let said = format!("{subcommand} --as: {} is not served", value.display());
                return Words::Refused { said, code: UNSUPPORTED_OPTION };
            }
            Word::Option { name, value: Some(value) } if is_time(name) && !is_date(value) => {
                let said = format!("{name}: {} is no date such as 2026-01-31T16:35Z", value.display());
                return Words::Refused { said, code: UNSUPPORTED_OPTION };
            }
            Word::Option { name: "--label", value: Some(value) } if !LABELS.iter().any(|it| value == *it) => {
                let said = format!("--label: {} is none of {}", value.display(), LABELS.join(", "));
                return Words::Refused { said, code: UNSUPPORTED_OPTION };
            }
            Word::Option { name: "--userid", value: Some(value) } if value.to_str().is_none() => {
                return not_utf8();
            }
            Word::Option { name, .. } => {
                names.push(name);
                kept.extend_from_slice(words);
            }
            Word::Operand if operands > 0 && has_user_ids(subcommand) && words[0].to_str().is_none() => {
                return not_utf8();
            }
            Word::Operand => {
                operands += 1;
                kept.extend_from_slice(words);
            }
        }
    }
    // The subcommand counts as an operand.
    let lacks = match subcommand {
        _ if typed.iter().any(asks_for_help) => None,
        "verify" if operands < 2 => Some("verify: SIGNATURES and CERTS"),
        "list-profiles" if operands < 2 => Some("list-profiles: a subcommand that has profiles"),
        "inline-detach" if !names.contains(&"--signatures-out") => Some("inline-detach: --signatures-out"),
        _ => None,
    };
    match lacks {
        Some(what) => missing(what),
        None if kept == typed => Words::Plain,
        None => Words::Otherwise(kept),
    }
}

/// The refusal of a user id that is not UTF-8.
fn not_utf8() -> Words {
    Words::Refused { said: "a user ID is not UTF-8".to_owned(), code: EXPECTED_TEXT }
}

/// Whether the value of an option is a date.
fn is_time(name: &str) -> bool {
    TIMES.contains(&name) || name == "--validate-at"
}

fn is_date(value: &OsStr) -> bool {
    value.to_str().is_some_and(dates::is_date)
}

/// Whether a subcommand takes user ids as operands.
fn has_user_ids(subcommand: &str) -> bool {
    matches!(subcommand, "generate-key" | "validate-userid")
}

fn missing(what: &str) -> Words {
    Words::Refused { said: format!("missing: {what}"), code: MISSING_ARG }
}

fn is_option(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

fn asks_for_help(word: &OsString) -> bool {
    word == "--help" || word == "-h"
}

/// Whether a subcommand takes this kind of data as the value of `--as`.
fn is_kind(subcommand: &str, kind: &OsStr) -> bool {
    kind == "binary" || kind == "text" || (kind == "clearsigned" && subcommand == "inline-sign")
}

/// The first word, with its value if it is an option with one; and how many words both are.
fn next(words: &[OsString]) -> Option<(usize, Word<'_>)> {
    let first = words.first()?;
    let Some(name) = first.to_str().filter(|_| is_option(first) && first != "-") else {
        return Some((1, Word::Operand));
    };
    if let Some((name, value)) = name.split_once('=') {
        return Some((1, Word::Option { name, value: Some(OsStr::new(value)) }));
    }
    if name == "--" || !name.starts_with("--") || FLAGS.contains(&name) {
        return Some((1, Word::Option { name, value: None }));
    }
    let value = words.get(1).map(OsString::as_os_str);
    Some((1 + usize::from(value.is_some()), Word::Option { name, value }))
}
