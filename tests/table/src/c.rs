//! A shell in C: a header, a source file, and beside them the files that do not depend on the rows.

use crate::{Field, field_of, returns_keywords, rule_array};
use std::fmt::Write as _;
use wire::bounds::{BULK_BYTES_MAX, KEYWORD_BYTES, KEYWORDS_MAX, LABEL_BYTES};
use wire::code;
use wire::verb::{Direction, Entry, Kind, Length, Null, Parameter};

/// What all functions share, as `shell.h`.
pub const SHELL_H: &str = include_str!("c/shell.h");
/// What all functions share, as `shell.c`.
pub const SHELL_C: &str = include_str!("c/shell.c");

/// Numbers of the wire that `shell.c` needs, as `bounds.h`.
pub fn bounds() -> String {
    let codes = [
        ("NULL_POINTER", code::INVALID_PARAMETER),
        ("TOO_SMALL", code::BUFFER_TOO_SMALL),
        ("NO_CARD", code::NO_CARD),
    ];
    let mut text = format!(
        "/* Bounds and codes of the wire. */\n\
         #define FIELD_BYTES_MAX {BULK_BYTES_MAX}\n\
         #define KEYWORD_BYTES {KEYWORD_BYTES}\n\
         #define KEYWORDS_MAX {KEYWORDS_MAX}\n\
         #define LABEL_BYTES {LABEL_BYTES}\n"
    );
    for (name, codes) in codes {
        let _ = writeln!(text, "#define {name} {}, {}", codes.return_code, codes.reason_code);
    }
    text
}

/// Declarations of the rows' functions, as `cca.h`. Rows without an entry point have none.
pub fn header(rows: &[&Entry]) -> String {
    let mut text = "/* Made from the verb table. */\n#ifndef CCA_H\n#define CCA_H\n".to_owned();
    for entry in with_entry_points(rows) {
        let _ = writeln!(text, "\n/* {} */\n{};", entry.name, declaration(entry));
    }
    text + "\n#endif\n"
}

/// The rows' functions, as `cca.c`.
pub fn source(rows: &[&Entry]) -> String {
    let mut text = "/* Made from the verb table. */\n#include \"cca.h\"\n#include \"shell.h\"\n".to_owned();
    for entry in with_entry_points(rows) {
        let _ = write!(text, "\n{}\n{{\n{}}}\n", declaration(entry), body(entry));
    }
    text
}

fn with_entry_points<'a>(rows: &'a [&'a Entry]) -> impl Iterator<Item = &'a Entry> {
    rows.iter().copied().filter(|entry| !entry.entry_point.is_empty())
}

fn declaration(entry: &Entry) -> String {
    let own = entry.parameters.iter().map(|parameter| {
        let constant = if parameter.direction == Direction::In { "const " } else { "" };
        let kind = if parameter.kind == Kind::Integer { "long" } else { "unsigned char" };
        format!("{constant}{kind} *{}", parameter.name)
    });
    let common =
        ["long *return_code", "long *reason_code", "long *exit_data_length", "unsigned char *exit_data"];
    let all: Vec<String> = common.into_iter().map(str::to_owned).chain(own).collect();
    format!("void {}({})", entry.entry_point, all.join(",\n    "))
}

fn body(entry: &Entry) -> String {
    let mut text = String::new();
    let mut line = |said: String| {
        let _ = writeln!(text, "    {said}");
    };
    let fields = entry.parameters.iter().filter_map(|parameter| Some((parameter, field_of(parameter.kind)?)));
    // Before anything is written: an integer that says a length may be one that the verb gives back. The rule array's
    // comes first: others may be by its keywords.
    let (rules, others): (Vec<_>, Vec<_>) =
        fields.partition(|(_, field)| matches!(field, Field::Keywords(_)));
    for (parameter, field) in rules.into_iter().chain(others) {
        line(format!("const size_t {}_bytes = {};", parameter.name, size(entry, parameter, field)));
        if returns_keywords(parameter) {
            line(format!("const size_t {}_room = {};", parameter.name, returned(entry, parameter)));
        }
    }
    let sent = |parameter: &Parameter| parameter.direction != Direction::Out;
    let total: Vec<String> = std::iter::once("0".to_owned())
        .chain(entry.parameters.iter().filter(|parameter| sent(parameter)).map(|parameter| {
            match parameter.kind {
                Kind::Integer => "INTEGER_BYTES".to_owned(),
                _ => format!("LENGTH_BYTES + {}_bytes", parameter.name),
            }
        }))
        .collect();
    line("struct shell_call call;".to_owned());
    line("(void)exit_data_length, (void)exit_data;".to_owned());
    let secret = i32::from(entry.secret);
    line(format!("shell_begin(&call, {:#06x}, {secret}, {});", entry.verb as u16, total.join(" + ")));
    for parameter in entry.parameters {
        let name = parameter.name;
        let null = match parameter.null {
            Null::Refused => "NULL_REFUSED",
            Null::Empty => "NULL_EMPTY",
            Null::Ignored => "NULL_IGNORED",
        };
        line(match (parameter.kind == Kind::Integer, sent(parameter)) {
            (true, true) => format!("shell_put_integer(&call, {name}, {null});"),
            (false, true) if returns_keywords(parameter) => format!(
                "shell_need(&call, {name}, {name}_room, {null});\n    \
                 shell_put_bytes(&call, {name}, {name}_bytes, {null});"
            ),
            (false, true) => format!("shell_put_bytes(&call, {name}, {name}_bytes, {null});"),
            (true, false) => format!("shell_need(&call, {name}, INTEGER_BYTES, {null});"),
            (false, false) => format!("shell_need(&call, {name}, {name}_bytes, {null});"),
        });
    }
    line("if (shell_carry(&call)) {".to_owned());
    for parameter in entry.parameters.iter().filter(|parameter| parameter.direction != Direction::In) {
        let name = parameter.name;
        line(match parameter.kind {
            Kind::Integer => format!("    shell_get_integer(&call, {name});"),
            _ if returns_keywords(parameter) => format!("    shell_get_bytes(&call, {name}, {name}_room);"),
            _ => format!("    shell_get_bytes(&call, {name}, {name}_bytes);"),
        });
    }
    line("}".to_owned());
    line("shell_end(&call, return_code, reason_code);".to_owned());
    text
}

/// How many bytes of a rule array are written that travels both ways.
fn returned(entry: &Entry, parameter: &Parameter) -> String {
    let name = parameter.name;
    let rows = entry.keywords.answers.iter().map(|(words, elements)| {
        let bytes = elements * KEYWORD_BYTES;
        let has = |word: &&str| format!("shell_has({name}, {name}_bytes, \"{word:<8}\")");
        match words {
            [] => format!("shell_longer({name}_bytes, {bytes})"),
            words => {
                let all: Vec<String> = words.iter().map(has).collect();
                format!("{} ? shell_longer({name}_bytes, {bytes}) : ", all.join(" && "))
            }
        }
    });
    rows.collect()
}

/// How many bytes of a field are read, or written.
fn size(entry: &Entry, parameter: &Parameter, field: Field) -> String {
    let name = |position: usize| entry.parameters[position].name;
    // The keywords that are given; none where the verb takes none.
    let has = |keyword: &str| match rule_array(entry) {
        Some(rules) => format!("shell_has({rules}, {rules}_bytes, \"{keyword:<8}\")"),
        None => "0".to_owned(),
    };
    match field {
        Field::Keywords(count) => format!("shell_keywords({})", name(count)),
        Field::Bytes(Length::Fixed(bytes)) => bytes.to_string(),
        Field::Bytes(Length::By(by)) => format!("shell_by({})", name(by)),
        Field::Bytes(Length::Bits(by)) => format!("shell_bits({})", name(by)),
        Field::Bytes(Length::Words(by)) => format!("shell_keywords({})", name(by)),
        Field::Bytes(Length::Padded { by, block, with }) => {
            format!("shell_padded({}, {} ? {block} : 0)", name(by), has(with))
        }
        Field::Bytes(Length::Keyed(rows)) => {
            let row = |(words, bytes): &(&[&str], usize)| match words {
                [] => bytes.to_string(),
                words => {
                    let all: Vec<String> = words.iter().map(|word| has(word)).collect();
                    format!("{} ? {bytes} : ", all.join(" && "))
                }
            };
            rows.iter().map(row).collect()
        }
        Field::Bytes(Length::Own) => format!("shell_own({})", parameter.name),
    }
}
