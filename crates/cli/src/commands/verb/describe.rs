//! A row of the verb table, for people.

use std::fmt::Write as _;
use wire::verb::{
    Class, Direction, Entry, Executor, Group, Kind, Length, Need, Parameter, Rule, Verb, why_refused,
};

/// A verb's parameters and keywords, and an example call.
pub fn describe(entry: &Entry) -> String {
    let mut text = entry.name.to_owned();
    if !entry.entry_point.is_empty() {
        let _ = write!(text, " ({})", entry.entry_point);
    }
    let executor = match entry.executor {
        Executor::Coprocessor => "a coprocessor",
        Executor::AnyCard => "any card",
        Executor::Daemon => "the daemon",
    };
    let again =
        if entry.class == Class::Pure { "sent again where a card dies over it" } else { "never sent twice" };
    let _ = writeln!(text, ": served by {executor}, {again}.\n");
    if entry.parameters.is_empty() {
        text.push_str("No parameters.\n");
    } else {
        text.push_str("Parameters (lengths and counts are filled in where they are left out):\n");
        let width = entry.parameters.iter().map(|of| of.name.len()).max().unwrap_or(0);
        for parameter in entry.parameters {
            let direction = match parameter.direction {
                Direction::In => "in",
                Direction::InOut => "in/out",
                Direction::Out => "out",
            };
            let _ = writeln!(text, "  {:width$}  {direction:6}  {}", parameter.name, what(entry, parameter));
        }
    }
    keywords(&mut text, entry);
    let _ = writeln!(text, "\nA call to begin with:\n  cryptand verb {} '{}'", entry.name, example(entry));
    text
}

fn what(entry: &Entry, parameter: &Parameter) -> String {
    let secret = if parameter.secret { "; may be a clear key or as secret" } else { "" };
    match parameter.kind {
        Kind::Integer => "integer".to_owned(),
        Kind::Keywords(_) if parameter.direction == Direction::Out => "list of keywords".to_owned(),
        Kind::Keywords(_) => "list of keywords, see below".to_owned(),
        Kind::Bytes(length) => format!("{}{secret}", bytes(entry, length)),
        Kind::Key { length, .. } => format!("key: label, or token of {}{secret}", bytes(entry, length)),
    }
}

fn bytes(entry: &Entry, length: Length) -> String {
    let name = |position: usize| entry.parameters[position].name;
    match length {
        Length::Fixed(bytes) => format!("{bytes} bytes"),
        Length::By(position) => format!("{} bytes", name(position)),
        Length::Padded { by, block, with } => {
            format!("{} bytes, with {with} the next multiple of {block}", name(by))
        }
        Length::Bits(position) => format!("{} bits", name(position)),
        Length::Words(position) => format!("{} keywords of 8 bytes", name(position)),
        Length::Keyed(rows) => {
            let row = |(words, bytes): &(&[&str], usize)| match words {
                [] => format!("else {bytes}"),
                words => format!("{bytes} with {}", words.join(" and ")),
            };
            format!("bytes: {}", rows.iter().map(row).collect::<Vec<_>>().join(", "))
        }
        Length::Own => "as many bytes as the token says".to_owned(),
    }
}

fn keywords(text: &mut String, entry: &Entry) {
    let array = entry.keywords;
    if array.groups.is_empty() && !array.open {
        return;
    }
    let _ = writeln!(text, "\nKeywords of rule_array, {} to {}:", array.least, array.most);
    for group in array.groups {
        let words: Vec<&str> = group.words.iter().map(|keyword| keyword.text).collect();
        let need = match group.need {
            Need::Required => "one of".to_owned(),
            Need::Optional => "at most one of".to_owned(),
            Need::Default(at) => format!("{} unless given, of", words[at]),
        };
        let _ = writeln!(text, "  {need} {}", words.join(" "));
    }
    if array.open {
        text.push_str("  usages of the key type\n");
    }
    for rule in array.rules {
        let _ = match rule {
            Rule::Excludes(when, others) => {
                writeln!(text, "  {} excludes {}", when.join(" and "), others.join(" "))
            }
            Rule::Needs([], others) => writeln!(text, "  one of {} must be given", others.join(" ")),
            Rule::Needs(when, others) => {
                writeln!(text, "  {} needs one of {}", when.join(" and "), others.join(" "))
            }
            Rule::Refused(word) | Rule::Unserved(word, _) => {
                let why = why_refused(entry.verb, word).map(|why| format!(": {why}")).unwrap_or_default();
                writeln!(text, "  {word} is refused{why}")
            }
        };
    }
}

/// An example for a key that the first pages make.
struct Known {
    verb: Verb,
    label: &'static str,
    words: &'static [&'static str],
}

/// The key of README.md and docs/howto/programs.md, of two parts, and what it is used with.
const KNOWN: &[Known] = &[
    Known { verb: Verb::MacGenerate, label: "PAY.MAC.KEY1", words: &["X9.19OPT"] },
    Known { verb: Verb::MacVerify, label: "PAY.MAC.KEY1", words: &["X9.19OPT"] },
];

/// Example parameters: only the required ones, with values of their kind.
fn example(entry: &Entry) -> String {
    let is_length = |position: usize| {
        entry.parameters.iter().any(|of| match of.kind {
            Kind::Keywords(at) => at == position,
            Kind::Bytes(Length::By(at)) | Kind::Key { length: Length::By(at), .. } => at == position,
            _ => false,
        })
    };
    let known = KNOWN.iter().find(|known| known.verb == entry.verb);
    let value = |(position, parameter): (usize, &Parameter)| {
        if parameter.direction == Direction::Out {
            return None;
        }
        let value = match parameter.kind {
            Kind::Integer if is_length(position) => return None,
            Kind::Integer => "0".to_owned(),
            Kind::Keywords(_) => match known.map_or_else(|| words(entry), |known| known.words.to_vec()) {
                words if words.is_empty() => return None,
                words => format!(
                    "[{}]",
                    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
                ),
            },
            Kind::Key { .. } => format!("\"label:{}\"", known.map_or("MY.KEY", |known| known.label)),
            Kind::Bytes(_) if parameter.name == "key_label" => "\"label:MY.KEY\"".to_owned(),
            Kind::Bytes(_) if parameter.direction == Direction::InOut => return None,
            Kind::Bytes(Length::Fixed(bytes)) => format!("\"hex:{}\"", "00".repeat(bytes)),
            Kind::Bytes(_) => "\"text:hello\"".to_owned(),
        };
        Some(format!("\"{}\": {value}", parameter.name))
    };
    let values: Vec<String> = entry.parameters.iter().enumerate().filter_map(value).collect();
    format!("{{{}}}", values.join(", "))
}

/// A keyword for each group that needs one. The resulting rule array is one that the verb accepts, as far as the rules
/// allow.
fn words(entry: &Entry) -> Vec<&'static str> {
    let is_refused = |text: &str| entry.keywords.refuses(text);
    let is_needed = |group: &&Group| match group.need {
        Need::Required => true,
        Need::Optional => false,
        Need::Default(at) => is_refused(group.words[at].text),
    };
    let first = |group: &Group| group.words.iter().map(|keyword| keyword.text).find(|text| !is_refused(text));
    let mut words: Vec<_> = entry.keywords.groups.iter().filter(is_needed).filter_map(first).collect();
    for rule in entry.keywords.rules {
        if let Rule::Needs(with, one_of) = rule
            && with.iter().all(|word| words.contains(word))
            && !one_of.iter().any(|word| words.contains(word))
        {
            words.extend(one_of.iter().find(|word| !is_refused(word)));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Owned;
    use wire::verb::TABLE;

    #[test]
    fn every_verb_is_described_and_its_example_is_a_call_of_it() {
        for entry in TABLE {
            let text = describe(entry);
            assert!(entry.parameters.iter().all(|parameter| text.contains(parameter.name)), "{text}");
            assert!(entry.keywords.words().all(|keyword| text.contains(keyword.text)), "{text}");
            let example = serde_json::from_str::<serde_json::Value>(&example(entry)).unwrap();
            let read = Owned::read(entry.verb, example.as_object().unwrap());
            assert!(read.is_ok(), "{}: {:?}\n{text}", entry.name, read.err().map(|error| error.to_string()));
        }
    }
}
