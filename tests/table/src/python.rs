//! A shell in Python: a module over the C functions. Fields are `bytes`, rule arrays lists of keywords; an integer that
//! only says how long a field is may be left out.

use crate::{Field, field_of, returns_keywords, rule_array};
use std::fmt::Write as _;
use wire::bounds::{BULK_BYTES_MAX, KEYWORD_BYTES, KEYWORDS_MAX, LABEL_BYTES};
use wire::verb::{Direction, Entry, Kind, Length, Null, Parameter};

/// The rows' functions, as `cca.py`. Rows without an entry point have none.
pub fn module(rows: &[&Entry]) -> String {
    let mut text = format!(
        "\"\"\"Made from the verb table.\"\"\"\n\n\
         FIELD_BYTES_MAX = {BULK_BYTES_MAX}\nKEYWORD_BYTES = {KEYWORD_BYTES}\nKEYWORDS_MAX = {KEYWORDS_MAX}\n\
         LABEL_BYTES = {LABEL_BYTES}\n\n"
    );
    text.push_str(include_str!("python/shell.py"));
    for entry in rows.iter().filter(|entry| !entry.entry_point.is_empty()) {
        let _ = write!(text, "\n\n{}", function(entry));
    }
    text
}

fn function(entry: &Entry) -> String {
    let mut text = String::new();
    let mut line = |said: String| {
        let _ = writeln!(text, "    {said}");
    };
    let given: Vec<&Parameter> =
        entry.parameters.iter().filter(|parameter| parameter.direction != Direction::Out).collect();
    line(format!("\"\"\"{}\"\"\"", entry.name));
    // Rule arrays first: integers may count their keywords.
    for parameter in given.iter().filter(|parameter| matches!(parameter.kind, Kind::Keywords(_))) {
        line(format!("{0} = words({0})", parameter.name));
    }
    let integers = entry.parameters.iter().enumerate();
    for (position, parameter) in integers.filter(|(_, parameter)| parameter.kind == Kind::Integer) {
        let name = parameter.name;
        if parameter.direction == Direction::Out {
            line(format!("{name} = 0"));
        } else {
            let counted = counted_by(entry, position).unwrap_or_else(|| "None, 1".to_owned());
            line(format!("{name} = count({name}, {counted})"));
        }
    }
    line(format!("call = Call(library.{})", entry.entry_point));
    for parameter in entry.parameters {
        let name = parameter.name;
        let is_out = parameter.direction != Direction::In;
        match field_of(parameter.kind) {
            None if parameter.null == Null::Ignored => line("call.ignored()".to_owned()),
            None if is_out => line(format!("call.integer({name}, \"{name}\")")),
            None => line(format!("call.integer({name})")),
            Some(field) => {
                let value = if parameter.direction == Direction::Out { "b\"\"" } else { name };
                let size = size(entry, parameter, field);
                let unit = if matches!(field, Field::Keywords(_)) { ", KEYWORD_BYTES" } else { "" };
                line(match (is_out, said_by(entry, field)) {
                    (false, _) => format!("call.input(\"{name}\", {value}, {size})"),
                    (true, Some(by)) => {
                        format!("call.output(\"{name}\", {value}, {size}, \"{by}\"{unit})")
                    }
                    (true, None) => format!("call.output(\"{name}\", {value}, {size})"),
                });
            }
        }
    }
    line("return call.answer()".to_owned());
    let arguments: String = given.iter().map(|parameter| format!(", {}=None", parameter.name)).collect();
    let star = if given.is_empty() { "" } else { ", *" };
    format!("def {}(library{star}{arguments}):\n{text}", entry.entry_point)
}

/// The given field that an integer counts, and in which unit.
fn counted_by(entry: &Entry, integer: usize) -> Option<String> {
    let given = entry.parameters.iter().filter(|parameter| parameter.direction != Direction::Out);
    given
        .filter_map(|parameter| match field_of(parameter.kind)? {
            Field::Keywords(count) if count == integer => Some(format!("{}, KEYWORD_BYTES", parameter.name)),
            Field::Bytes(Length::By(by)) if by == integer => Some(format!("{}, 1", parameter.name)),
            _ => None,
        })
        .next()
}

/// The integer that says, after the call, how long an output is.
fn said_by(entry: &Entry, field: Field) -> Option<&'static str> {
    let by = match field {
        Field::Keywords(by) | Field::Bytes(Length::By(by) | Length::Padded { by, .. }) => by,
        Field::Bytes(_) => return None,
    };
    let integer = &entry.parameters[by];
    (integer.direction != Direction::In).then_some(integer.name)
}

/// How many bytes of a field are read, or written.
fn size(entry: &Entry, parameter: &Parameter, field: Field) -> String {
    let name = |position: usize| entry.parameters[position].name;
    let has = |keyword: &str| match rule_array(entry) {
        Some(rules) => format!("has({rules}, b\"{keyword:<8}\")"),
        None => "False".to_owned(),
    };
    match field {
        Field::Keywords(count) => {
            let given = format!("within({}, KEYWORDS_MAX)", name(count));
            let row = |(words, elements): &(&[&str], usize)| {
                let all: Vec<String> = words.iter().map(|word| has(word)).collect();
                let when =
                    if words.is_empty() { String::new() } else { format!(" if {} else ", all.join(" and ")) };
                format!("max({given}, {elements}){when}")
            };
            let returned: String = entry.keywords.answers.iter().map(row).collect();
            let elements = if returns_keywords(parameter) { returned } else { given };
            format!("KEYWORD_BYTES * ({elements})")
        }
        Field::Bytes(Length::Fixed(bytes)) => bytes.to_string(),
        Field::Bytes(Length::By(by)) => format!("within({}, FIELD_BYTES_MAX)", name(by)),
        Field::Bytes(Length::Words(by)) => format!("KEYWORD_BYTES * within({}, KEYWORDS_MAX)", name(by)),
        Field::Bytes(Length::Bits(by)) => format!("(within({}, 8 * FIELD_BYTES_MAX) + 7) // 8", name(by)),
        Field::Bytes(Length::Padded { by, block, with }) => {
            let text = format!("within({}, FIELD_BYTES_MAX)", name(by));
            format!("({text} // {block} + 1) * {block} if {} else {text}", has(with))
        }
        Field::Bytes(Length::Keyed(rows)) => {
            let row = |(words, bytes): &(&[&str], usize)| match words {
                [] => bytes.to_string(),
                words => {
                    let all: Vec<String> = words.iter().map(|word| has(word)).collect();
                    format!("{bytes} if {} else ", all.join(" and "))
                }
            };
            rows.iter().map(row).collect()
        }
        Field::Bytes(Length::Own) => format!("own({})", parameter.name),
    }
}
