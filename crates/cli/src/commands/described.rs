//! Fields of a token, as they are printed.

use crate::describe::{Field, describe};
use crate::failure::Failure;
use crate::output::{print, print_json};
use rustix::termios::tcgetwinsize;
use std::io::{IsTerminal, stdout};

/// Narrowest column of values, in characters.
const VALUE_COLUMNS_MIN: usize = 24;

/// Prints the fields of a token or a key block; an error under its name if it has a defect.
pub fn show(name: &str, bytes: &[u8], is_json: bool) -> Result<(), Failure> {
    let found = describe(bytes);
    if is_json {
        print_json(&serde_json::json!({
            "bytes": bytes.len(), "fields": json(&found.fields), "problem": found.problem,
        }))?;
    } else {
        print(&text(&found.fields))?;
    }
    match found.problem {
        None => Ok(()),
        Some(problem) => Err(Failure::Damaged(format!("{name}: {problem}"))),
    }
}

/// The fields as a JSON object, for programs.
pub fn json(fields: &[Field]) -> serde_json::Value {
    fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// For people: one line a field. On a terminal long values continue on further lines; elsewhere each field is one line.
pub fn text(fields: &[Field]) -> String {
    let is_shown = stdout().is_terminal();
    let width =
        tcgetwinsize(stdout()).ok().filter(|_| is_shown).map_or(usize::MAX, |size| size.ws_col.into());
    aligned(fields, width)
}

fn aligned(fields: &[Field], width: usize) -> String {
    let column = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    let room = width.saturating_sub(column).max(VALUE_COLUMNS_MIN);
    let mut text = String::new();
    for (name, value) in fields {
        let mut head = *name;
        for line in lines(value, room) {
            text += &format!("{head:column$}{line}\n");
            head = "";
        }
    }
    text
}

/// A value broken into lines of at most `room` characters; a longer word, such as hexadecimal, is cut between bytes.
fn lines(value: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in value.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        loop {
            let last = lines.last().map_or(0, |line| line.chars().count());
            let gap = usize::from(last > 0);
            if last + gap + rest.len() <= room {
                if let Some(line) = lines.last_mut() {
                    line.extend((gap > 0).then_some(' ').into_iter().chain(rest));
                }
                break;
            }
            if last > 0 {
                lines.push(String::new());
                continue;
            }
            let tail = rest.split_off((room - room % 2).min(rest.len()));
            if let Some(line) = lines.last_mut() {
                line.extend(rest);
            }
            lines.push(String::new());
            rest = tail;
        }
    }
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_line_where_it_fits_and_several_of_the_width_where_it_does_not() {
        let hex = "AB".repeat(100);
        let fields = [("kind", "DES, internal".to_owned()), ("public key", hex.clone())];
        let whole = aligned(&fields, usize::MAX);
        assert_eq!(whole, format!("kind        DES, internal\npublic key  {hex}\n"));
        let narrow = aligned(&fields, 80);
        assert!(narrow.lines().all(|line| line.len() <= 80), "{narrow}");
        let value: String = narrow.lines().skip(1).map(|line| &line[12..]).collect();
        assert_eq!(value, hex);
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("one twothree", 5), ["one", "twot", "hree"]);
        assert_eq!(lines("", 5), [""]);
        assert_eq!(lines("abcd", 4), ["abcd"]);
    }
}
