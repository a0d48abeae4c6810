//! `cryptand key generate`: keys of CCA's kinds and of payments, made in a card.

use super::{pair, record};
use crate::args::PairEnd;
use crate::failure::Failure;
use crate::kind::TypedKind;
use facility::Facility;
use facility::keys::{NamedKind, PaymentKind, Usage, Wanted};
use wire::Label;

/// What is asked for besides the kind.
pub struct Asked<'a> {
    /// One key of a pair alone.
    pub only: Option<PairEnd>,
    pub usage: &'a [String],
    pub derived_usage: &'a [String],
    pub derives: Option<NamedKind>,
}

/// Makes a key, or a pair, and records it.
pub fn run(
    facility: &Facility,
    label: &Label,
    kind: TypedKind,
    asked: &Asked<'_>,
    domain: u16,
) -> Result<(), Failure> {
    match kind {
        TypedKind::Cca(kind) => {
            if asked.only.is_some() {
                return Err(Failure::Usage(format!("--only: {} is one key, and no pair", kind.name())));
            }
            let usage = Usage::new(asked.usage, asked.derived_usage);
            one(facility, label, &Wanted { kind, usage: Some(&usage), derives: asked.derives }, domain)
        }
        TypedKind::Payment(kind) => payment(facility, label, kind, asked, domain),
    }
}

fn one(facility: &Facility, label: &Label, wanted: &Wanted<'_>, domain: u16) -> Result<(), Failure> {
    let token = facility.generate(domain, wanted)?;
    record(facility, wanted.kind.store(), label, &token)?;
    eprintln!("{label}: generated and recorded");
    Ok(())
}

fn payment(
    facility: &Facility,
    label: &Label,
    kind: PaymentKind,
    asked: &Asked<'_>,
    domain: u16,
) -> Result<(), Failure> {
    let name = kind.name();
    if !asked.derived_usage.is_empty() || asked.derives.is_some() {
        return Err(Failure::Usage(format!("--derives, --derived-usage: {name} derives no keys")));
    }
    let keys = pair::keys(label, kind, asked.usage, asked.only)?;
    if keys.len() > 1 && !kind.is_made_together() {
        let ends: Vec<String> =
            kind.ends().map(|end| format!("--only {}", end.to_ascii_lowercase())).collect();
        return Err(Failure::Usage(format!(
            "{name}: no card makes both keys of this pair for one system (Key_Generate); say {}, or enter both in parts: `cryptand \
             key part {label} first --type {name}`",
            ends.join(" or ")
        )));
    }
    let kinds: Vec<_> = keys.iter().map(|(_, key)| key.clone()).collect();
    let tokens = facility.generate_payment(domain, &kinds)?;
    pair::create(facility, &keys, &tokens)?;
    for (label, key) in &keys {
        eprintln!("{label}: generated and recorded; it {}", key.does);
    }
    pair::print_check_value(facility, domain, &keys, &tokens)
}

/// Keeps the key pair under a label, or makes one of this kind if the label has no record.
pub fn generate_where_missing(
    facility: &Facility,
    label: &Label,
    kind: NamedKind,
    domain: u16,
) -> Result<(), Failure> {
    let rows = facility.records(Some(kind.store()), label.as_str())?;
    if rows.iter().any(|row| row.label == *label) {
        return Ok(());
    }
    one(facility, label, &Wanted::from(kind), domain)
}
