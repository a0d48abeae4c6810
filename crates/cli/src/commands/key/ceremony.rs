//! `cryptand key sheet`: the paper record of a key that several people entered: check values, and lines to sign. It has
//! no secrets.

use super::check_value::GivenCheckValue;
use super::{check, find, pair};
use crate::args::time;
use crate::describe;
use crate::failure::Failure;
use crate::output::{page, print};
use facility::Facility;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::Label;

/// Lines for components where no check values are given.
const COMPONENTS: usize = 3;

/// Prints the sheet of the key of a label, or of the pair that it names.
pub fn run(
    facility: &Facility,
    label: &Label,
    domain: u16,
    components: &[String],
    html: bool,
) -> Result<(), Failure> {
    let given = components.iter().map(|text| GivenCheckValue::typed(text)).collect::<Result<Vec<_>, _>>()?;
    let labels = match find(facility, label) {
        Ok(_) => vec![label.clone()],
        Err(failure @ Failure::NoRecord(_)) => match pair::recorded(facility, label)? {
            none if none.is_empty() => return Err(failure),
            labels => labels,
        },
        Err(failure) => return Err(failure),
    };
    let mut rows = Vec::new();
    for label in labels {
        let (store, token) = find(facility, &label)?;
        if describe::is_incomplete(&token) {
            return Err(Failure::Usage(format!(
                "{label}: the key lacks parts: `cryptand key part` takes them, and then there is something to sign"
            )));
        }
        let value = check::customary(facility, domain, (store, &label), &token)?;
        let value = value.map_or("none".to_owned(), |(method, value)| format!("{value} ({method})"));
        rows.push([label.to_string(), describe::kind_of(&token), value]);
    }
    let folder = facility.home().folder();
    let folder = std::fs::canonicalize(folder).unwrap_or(folder.to_owned());
    let text = text(&folder, &rows, &given);
    if html { print(&page("Cryptand: record of a key", &text)) } else { print(&text) }
}

fn text(home: &Path, rows: &[[String; 3]], components: &[GivenCheckValue]) -> String {
    let mut text = "CRYPTAND: RECORD OF A KEY\n\n".to_owned();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    for (name, value) in [
        ("home", home.display().to_string()),
        ("machine", rustix::system::uname().nodename().to_string_lossy().into_owned()),
        ("date", time::to_text(u32::try_from(now).unwrap_or(u32::MAX))),
        ("program", concat!("cryptand ", env!("CARGO_PKG_VERSION")).to_owned()),
    ] {
        let _ = writeln!(text, "{name:<9}{value}");
    }
    text.push_str("\nCheck values reveal nothing of the key. No component belongs on this sheet.\n\n");
    let head = ["key", "kind", "check value"].map(str::to_owned);
    for [label, kind, value] in [&head].into_iter().chain(rows) {
        let _ = writeln!(text, "{label:<36}{kind:<22}{value}");
    }
    text.push_str("\nComponents, each typed by the one person who has it:\n\n");
    let _ = writeln!(text, "{:<4}{:<19}{:<24}{:<13}signature\n", "", "check value", "name", "date");
    let line = |length| "_".repeat(length);
    for at in 0..components.len().max(if components.is_empty() { COMPONENTS } else { 0 }) {
        let value = components.get(at).map_or(line(16), ToString::to_string);
        let _ = writeln!(text, "{:<4}{value:<19}{:<24}{:<13}{}\n", at + 1, line(22), line(11), line(20));
    }
    text.push_str("Compared with the partner's check value of the key, by whom and how:\n\n");
    let _ = writeln!(text, "{}", line(78));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_a_line_for_each_component() {
        let row = ["A234567.B234567.OUT".to_owned(), "aes-exporter".to_owned(), "8B9802 (CMAC)".to_owned()];
        let given = |text: &str| GivenCheckValue::typed(text).unwrap();
        for (components, expected) in [(vec![], COMPONENTS), (vec![given("8CA64D"), given("8B98021122")], 2)]
        {
            let text = text(Path::new("/h"), std::slice::from_ref(&row), &components);
            let lines = text.lines().filter(|line| line.starts_with(char::is_numeric)).count();
            assert_eq!(lines, expected, "{text}");
            assert!(text.lines().count() <= 66 && text.lines().all(|line| line.len() <= 80), "{text}");
            assert_eq!(text.contains("8CA64D"), expected == 2, "{text}");
        }
    }
}
