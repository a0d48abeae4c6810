//! libFuzzer's dictionaries: what a target's input consists of, made from the verb table where it says it.
//!
//! `fuzz/dictionaries/NAME.dict` is what people wrote, then [`MADE`] and what [`made`] gives.

use crate::keywords::padded;
use crate::verbs::SCRIPT;
use std::collections::BTreeSet;
use wire::frame::FRAME_VERSION;
use wire::point::POINTS;
use wire::verb::{Entry, Executor, TABLE};

/// The line after which a dictionary is made from the verb table.
pub const MADE: &str = "# From here on made from the verb table; CRYPTAND_BLESS=1 cargo test --release -p fuzz-targets writes it.";

/// The lines of a target's dictionary that are made from the verb table; none for a target that no verb reaches.
pub fn made(target: &str) -> Vec<String> {
    let daemon = || TABLE.iter().filter(|entry| entry.executor == Executor::Daemon);
    let all = || keywords(words(TABLE));
    match target {
        "verb" => [all(), choices()].concat(),
        "frame_request" => [all(), headers()].concat(),
        "daemon_call" => keywords(words(daemon())),
        "control_message" | "daemon_clients" => numbers(daemon()),
        "settings" | "roles" => {
            POINTS.iter().map(|entry| quoted(format!("\"{}\"", entry.name).as_bytes())).collect()
        }
        "timed_settings" => {
            TABLE.iter().map(|entry| quoted(format!("{} = {{", entry.name).as_bytes())).collect()
        }
        _ => Vec::new(),
    }
}

fn words<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> impl Iterator<Item = &'static str> {
    entries.into_iter().flat_map(|entry| entry.keywords.words()).map(|keyword| keyword.text)
}

/// Keywords as a rule array holds them, each once, in order.
fn keywords(texts: impl Iterator<Item = &'static str>) -> Vec<String> {
    texts.collect::<BTreeSet<_>>().into_iter().map(|text| quoted(&padded(text))).collect()
}

/// How an input begins that is for a verb: its slot, then whether a script or a payload follows.
fn choices() -> Vec<String> {
    TABLE.iter().flat_map(|entry| [SCRIPT, 0].map(|form| quoted(&[entry.slot, form]))).collect()
}

/// How the header of a verb's request begins.
fn headers() -> Vec<String> {
    let header = |entry: &Entry| [FRAME_VERSION.to_le_bytes(), (entry.verb as u16).to_le_bytes()].concat();
    TABLE.iter().map(|entry| quoted(&header(entry))).collect()
}

/// Numbers of verbs, as control messages carry them.
fn numbers<'e>(entries: impl Iterator<Item = &'e Entry>) -> Vec<String> {
    let number =
        |entry: &Entry| postcard::to_allocvec(&(entry.verb as u16)).expect("a number can be written");
    entries.map(|entry| quoted(&number(entry))).collect()
}

/// A line of a dictionary.
fn quoted(bytes: &[u8]) -> String {
    let mut line = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => line.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => line.push(char::from(*byte)),
            _ => line.push_str(&format!("\\x{byte:02X}")),
        }
    }
    line + "\""
}
