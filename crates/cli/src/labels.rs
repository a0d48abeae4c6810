//! Labels that people type: what is wrong with one, and which one they may have meant.
//!
//! Only labels that the daemon lists to the caller are named, and only where it said that there is no such record. To
//! who may not use a label it says the same whether there is one or not, and nothing is named.

use crate::failure::Failure;
use facility::Facility;
use facility::keys::PaymentKind;
use strsim::osa_distance;
use wire::Label;
use wire::bounds::KEYWORD_BYTES;

/// Names in a label, at most.
const NAMES_MAX: usize = 7;
/// Letters of a label for each of which, beyond the first slip, one more may be wrong.
const LETTERS_PER_SLIP: usize = 6;

/// Reads a label. An error begins with `what`, the option or argument that has it, and names the nearest valid label.
pub fn typed(what: &str, text: &str) -> Result<Label, Failure> {
    Label::new(text).map_err(|error| {
        let near = valid(text).map(|label| format!("; {label} is one")).unwrap_or_default();
        let space = if what.is_empty() { "" } else { " " };
        Failure::Usage(format!("{what}{space}{text}: {error}{near}"))
    })
}

/// The valid label that has the letters and digits of a text: with dots for what no label has, and names cut to their
/// length. None if nothing is left, or too much.
fn valid(text: &str) -> Option<Label> {
    let letter = |letter: char| match letter.to_ascii_uppercase() {
        letter @ ('A'..='Z' | '0'..='9' | '#' | '$' | '@') => letter,
        _ => '.',
    };
    let text: String = text.chars().map(letter).collect();
    let name = |name: &str| {
        let begin = if name.starts_with(|first: char| first.is_ascii_digit()) { "K" } else { "" };
        format!("{begin}{name}").chars().take(KEYWORD_BYTES).collect::<String>()
    };
    let names: Vec<String> = text.split('.').filter(|name| !name.is_empty()).map(name).collect();
    if names.len() > NAMES_MAX {
        return None;
    }
    Label::new(&names.join(".")).ok()
}

/// For a refusal because a label has no record: the records that may have been meant, as the end of a sentence on those
/// there are. Empty where there is none like it, or where the caller may list none.
pub fn such_as<'a>(facility: &Facility, labels: impl Iterator<Item = &'a str>) -> String {
    let Ok(rows) = facility.records(None, "*") else { return String::new() };
    let there: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    let missing = labels.filter(|label| !there.contains(label));
    let near: Vec<&str> = missing.filter_map(|label| nearest(label, &there)).collect();
    if near.is_empty() { String::new() } else { format!(", such as {}", near.join(", ")) }
}

/// A key of the pair that the wanted label is the name of, or else the label with the fewest slips from it; none if
/// each has more than a person makes.
fn nearest<'a>(wanted: &str, there: &[&'a str]) -> Option<&'a str> {
    let ends = PaymentKind::all_ends();
    let of_pair = |label: &&&str| {
        let end = label.strip_prefix(wanted).and_then(|rest| rest.strip_prefix('.'));
        end.is_some_and(|end| ends.contains(&end))
    };
    if let Some(label) = there.iter().find(of_pair) {
        return Some(label);
    }
    let most = 1 + wanted.len() / LETTERS_PER_SLIP;
    let near = there.iter().map(|label| (osa_distance(wanted, label), *label));
    near.filter(|(slips, _)| *slips <= most).min().map(|(_, label)| label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_label_is_named_if_it_is_near() {
        let there = ["PAY.MAC.KEY1", "PAY.ZPK.IN", "PAY.ZPK.OUT"];
        for (wanted, near) in [
            ("PAY.ZPKIN", Some("PAY.ZPK.IN")),
            ("PAY.ZPK.UOT", Some("PAY.ZPK.OUT")),
            ("PAY.MAC.KEY2", Some("PAY.MAC.KEY1")),
            ("ISSUER.CVK", None),
            ("A", None),
        ] {
            assert_eq!(nearest(wanted, &there), near, "{wanted}");
        }
    }

    #[test]
    fn a_text_that_is_no_label_is_answered_with_one() {
        for (text, near) in [
            ("pay.zpk.in", Some("PAY.ZPK.IN")),
            ("PAY-ZPK_IN", Some("PAY.ZPK.IN")),
            ("PAY..ZPK", Some("PAY.ZPK")),
            ("2027.KEY", Some("K2027.KEY")),
            ("PAYMENTGATEWAY.KEY", Some("PAYMENTG.KEY")),
            ("pay.zpk.ä", Some("PAY.ZPK")),
            ("", None),
            ("--", None),
            ("A.B.C.D.E.F.G.H", None),
        ] {
            assert_eq!(valid(text).as_ref().map(Label::as_str), near, "{text}");
        }
        let error = typed("--key", "pay.mac").unwrap_err().to_string();
        assert!(
            error.starts_with("--key pay.mac: a label holds") && error.ends_with("; PAY.MAC is one"),
            "{error}"
        );
    }
}
