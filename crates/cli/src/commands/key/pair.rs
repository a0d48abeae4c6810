//! Keys of payments under their labels. A pair has two records, whose labels are that of the pair and an end such as
//! `OUT`; a kind of one key has the label alone.

use super::{check, parse, record};
use crate::args::PairEnd;
use crate::failure::Failure;
use crate::output::print;
use facility::Facility;
use facility::keys::{PaymentKey, PaymentKind};
use wire::Label;

/// The keys of a kind, each with its label.
pub fn keys(
    label: &Label,
    kind: PaymentKind,
    usage: &[String],
    only: Option<PairEnd>,
) -> Result<Vec<(Label, PaymentKey)>, Failure> {
    let keys = kind.keys(usage, only.map(PairEnd::end));
    let keys = keys.map_err(|error| Failure::Usage(format!("--only: {error}")))?;
    keys.into_iter().map(|key| Ok((labelled(label, key.end)?, key))).collect()
}

/// The label of one key of a pair.
pub fn labelled(label: &Label, end: &str) -> Result<Label, Failure> {
    if end.is_empty() { Ok(label.clone()) } else { parse(&format!("{label}.{end}")) }
}

/// Labels that a pair of this label may have, and that have records.
pub fn recorded(facility: &Facility, label: &Label) -> Result<Vec<Label>, Failure> {
    let rows = facility.records(None, &format!("{label}.*"))?;
    let wanted = PaymentKind::all_ends().into_iter().filter_map(|end| labelled(label, end).ok());
    Ok(wanted.filter(|label| rows.iter().any(|row| row.label == *label)).collect())
}

/// Prints the check value of new keys, which have one value; nothing for a caller who may not test them.
pub fn print_check_value(
    facility: &Facility,
    domain: u16,
    keys: &[(Label, PaymentKey)],
    tokens: &[Vec<u8>],
) -> Result<(), Failure> {
    let Some(((label, key), token)) = keys.first().zip(tokens.first()) else { return Ok(()) };
    match check::customary(facility, domain, (key.kind.store(), label), token)? {
        Some((_, value)) => print(&format!("check value {value}\n")),
        None => Ok(()),
    }
}

/// Records new keys: all or none.
pub fn create(facility: &Facility, keys: &[(Label, PaymentKey)], tokens: &[Vec<u8>]) -> Result<(), Failure> {
    // A label that is taken is refused before the other key is recorded.
    for ((label, key), token) in keys.iter().zip(tokens) {
        if facility.records(None, label.as_str())?.iter().any(|row| row.label == *label) {
            record(facility, key.kind.store(), label, token)?;
            return Err(Failure::Unexpected("a label that was taken a moment ago"));
        }
    }
    for (at, ((label, key), token)) in keys.iter().zip(tokens).enumerate() {
        if let Err(failure) = record(facility, key.kind.store(), label, token) {
            // The store makes one record in a call.
            for (label, key) in &keys[..at] {
                if facility.record_delete(key.kind.store(), label, false).is_err() {
                    eprintln!("{label}: recorded without its other key, and it could not be deleted");
                }
            }
            return Err(failure);
        }
    }
    Ok(())
}
