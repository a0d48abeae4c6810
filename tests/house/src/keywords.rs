//! What a page says of the keywords of a verb: which are served, what each needs of a role, and why others are refused.

use std::fmt::Write as _;
use wire::point::{Point, PointEffect, keywords};
use wire::verb::{Entry, Group, Need, Rule, unknown, why_refused};

/// What a row of the table says of its keywords.
struct Row {
    words: Vec<String>,
    status: String,
    points: String,
}

/// The keywords of a verb, in a table, and which go together; and what else it may ask a role for.
pub fn section(entry: &Entry) -> String {
    let (array, mut text) = (&entry.keywords, String::new());
    if !array.groups.is_empty() {
        let _ = writeln!(text, "Keywords: {} to {}.\n", array.least, array.most);
        text.push_str("| | keywords | | needs |\n|---|---|---|---|\n");
        for group in array.groups {
            push_group(&mut text, entry, group);
        }
        for row in keywords::of(entry.verb).iter().filter(|row| row.with.is_empty()) {
            let words: Vec<_> = row.without.iter().map(|word| quoted(&of_word(*word))).collect();
            let _ = writeln!(text, "| without | {} | served | {} |", words.join(", "), shown(row.point));
        }
        if array.open {
            text.push_str("| further | usages of the key type | served | |\n");
        }
        let mut others: Vec<Row> = Vec::new();
        for word in unknown(entry.verb) {
            let status = format!("8/33: {}", why_refused(entry.verb, word).unwrap_or("?"));
            push(&mut others, Row { words: vec![quoted(word)], status, points: String::new() });
        }
        for row in others {
            let _ = writeln!(text, "| unknown | {} | {} | |", row.words.join(", "), row.status);
        }
        text.push('\n');
    }
    let rules: Vec<String> = array.rules.iter().filter_map(rule).collect();
    if !rules.is_empty() {
        let _ = writeln!(text, "{}\n", rules.join("\n"));
    }
    let mut asked: Vec<String> = Vec::new();
    for point in entry.asks.iter().map(|point| shown(*point)) {
        if !asked.contains(&point) {
            asked.push(point);
        }
    }
    if !asked.is_empty() {
        let _ = writeln!(text, "By what its parameters and keys are: {}.\n", asked.join("; "));
    }
    text
}

/// A point by number and name; one that forbids says so.
pub fn shown(point: Point) -> String {
    let entry = point.entry();
    let forbids = if entry.effect == PointEffect::Forbids { " (forbids)" } else { "" };
    format!("{:04X} {}{forbids}", entry.number, entry.name)
}

fn push_group(text: &mut String, entry: &Entry, group: &Group) {
    let mut rows: Vec<Row> = Vec::new();
    for word in group.words {
        let (status, points) = (status(entry, word.text), points(entry, word.word));
        push(&mut rows, Row { words: vec![quoted(word.text)], status, points });
    }
    let need = match group.need {
        _ if group.words.len() == 1 && group.need == Need::Required => "always".to_owned(),
        _ if group.words.len() == 1 => "may".to_owned(),
        Need::Required => "one".to_owned(),
        Need::Optional => "at most one".to_owned(),
        Need::Default(at) => format!("{} unless", quoted(group.words[at].text)),
    };
    for (at, row) in rows.iter().enumerate() {
        let need = if at == 0 { need.as_str() } else { "" };
        let _ = writeln!(text, "| {need} | {} | {} | {} |", row.words.join(", "), row.status, row.points);
    }
}

/// Adds the keywords of a row to those of which the same is said.
fn push(rows: &mut Vec<Row>, row: Row) {
    match rows.iter_mut().find(|other| other.status == row.status && other.points == row.points) {
        Some(other) => other.words.extend(row.words),
        None => rows.push(row),
    }
}

/// Whether a keyword is served, or with which codes and why it is not.
fn status(entry: &Entry, word: &str) -> String {
    match entry.keywords.refusal(word) {
        Some(codes) => {
            let why = why_refused(entry.verb, word).unwrap_or("?");
            format!("{}/{}: {why}", codes.return_code, codes.reason_code)
        }
        None if entry.keywords.serves(word) => "served".to_owned(),
        None => "8/34: goes with none that is served".to_owned(),
    }
}

/// The points that a keyword asks for, each with what else must and must not be given.
fn points(entry: &Entry, word: u64) -> String {
    let rows = keywords::of(entry.verb).iter().filter(|row| row.with.contains(&word));
    let mut points: Vec<(String, String)> = Vec::new();
    for row in rows {
        let list = |words: &[u64]| {
            let words = words.iter().filter(|other| **other != word);
            words.map(|other| quoted(&of_word(*other))).collect::<Vec<_>>().join(", ")
        };
        let conditions = [(" with ", list(row.with)), (" without ", list(row.without))];
        let said = conditions.iter().filter(|(_, words)| !words.is_empty());
        let said = said.fold(String::new(), |text, (before, words)| text + before + words);
        match points.iter_mut().find(|(point, _)| *point == shown(row.point)) {
            Some((_, others)) => *others = format!("{others} or{said}"),
            None => points.push((shown(row.point), said)),
        }
    }
    points.iter().map(|(point, when)| format!("{point}{when}")).collect::<Vec<_>>().join("; ")
}

fn rule(rule: &Rule) -> Option<String> {
    let list = |words: &[&str]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
    match rule {
        Rule::Excludes(when, others) => Some(format!("- {} excludes {}", list(when), list(others))),
        Rule::Needs([], others) => Some(format!("- one of {} must be given", list(others))),
        Rule::Needs(when, others) => Some(format!("- {} needs one of {}", list(when), list(others))),
        Rule::Refused(_) | Rule::Unserved(..) => None,
    }
}

/// The text of a keyword that is a number.
fn of_word(word: u64) -> String {
    String::from_utf8_lossy(&word.to_be_bytes()).trim_end().to_owned()
}

fn quoted(word: &str) -> String {
    format!("`{word}`")
}
