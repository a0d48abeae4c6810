//! `cryptand key reencipher`: puts key records that are under old master keys under the current ones.
//!
//! ```text
//! a page of records that are under no current key -> a verb that changes tokens on the cards, a batch of the page in flight
//!   -> replaced in one transaction, each where its record still is what was read -> the next batch
//! ```
//! If it is interrupted between two steps, each record is whole, under one of its two keys, and the next run does the
//! rest: records under a current key are skipped. If somebody else changes a record meanwhile, that change stays.

use super::unsealed;
use crate::failure::Failure;
use crate::output::{print, print_json};
use facility::{Facility, FacilityError, Ticket};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use token::{Format, VariableToken};
use wire::bounds::{CONTROL_BYTES_MAX, LABEL_BYTES, PKA_TOKEN_BYTES_MAX, REPLACEMENTS_MAX};
use wire::control::{MasterKeyName, Record, RegisterRow, Replacement};
use wire::verb::{
    Filled, TokenChange, TypedAsk, VariableAlgorithm, key_token_change as ktc, key_token_change2 as ktc2,
    pka_key_token_change as pka_ktc,
};

/// The result for the records, as JSON prints it.
#[derive(Default, Serialize)]
struct Outcome {
    dry_run: bool,
    /// Records that were put under a current master key; with `dry_run`, those that would be.
    reenciphered: u64,
    /// Records that somebody else changed meanwhile: the next run handles them, if they are still under an old key.
    changed_meanwhile: u64,
    /// Records that were left as they are, each with its reason.
    failed: Vec<Failed>,
}

/// A record that was left as it is, with the reason.
#[derive(Serialize)]
struct Failed {
    label: String,
    cause: String,
}

/// Puts all records of these labels under the current master keys.
pub fn run(
    facility: &Facility,
    pattern: &str,
    dry_run: bool,
    lose_keys: bool,
    json: bool,
) -> Result<(), Failure> {
    let status = facility.status()?;
    if !dry_run && !lose_keys {
        unsealed::check(&status, "records under them are lost if the keeper ends")?;
    }
    let current: Vec<MasterKeyName> = status
        .registers
        .iter()
        .filter_map(|row| {
            Some(MasterKeyName { register: row.register, pattern: row.current_pattern?.name() })
        })
        .collect();
    if current.is_empty() {
        return Err(Failure::Usage("no master keys are loaded: `cryptand unseal` first".to_owned()));
    }
    let under = &status.records_under;
    let held: u64 = under.held.iter().map(|held| held.records).sum();
    let now: u64 = current.iter().map(|key| under.of(*key)).sum();
    // Drawn on a terminal only.
    let progress = ProgressBar::new(held.saturating_sub(now) + under.elsewhere);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} records, {per_sec}, {eta} left") {
        progress.set_style(style);
    }
    let mut outcome = Outcome { dry_run, ..Outcome::default() };
    let mut after = None;
    loop {
        let page = facility.token_list(pattern, after.as_ref(), &current)?;
        let Some(last) = page.last() else { break };
        after = Some(last.label.clone());
        let records = page.len() as u64;
        change(facility, page, &status.registers, lose_keys, &mut outcome)?;
        progress.inc(records);
    }
    progress.finish_and_clear();
    if json {
        print_json(&outcome)?;
    } else {
        print(&text(&outcome))?;
    }
    match outcome.failed.len() {
        0 => Ok(()),
        count => Err(Failure::NotReenciphered(count)),
    }
}

/// Puts one page under the current keys, [`BATCH`] records after the other: while the tokens of some are replaced,
/// cards change those of the next.
fn change(
    facility: &Facility,
    page: Vec<Record>,
    registers: &[RegisterRow],
    lose_keys: bool,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let mut asked = Vec::with_capacity(BATCH);
    let mut before = Vec::new();
    for record in page {
        let Some(domain) = domain_of(&record, registers) else {
            let cause = "under a master key that no register holds: load the parts of that key again (`cryptand help officers`)";
            outcome.failed.push(Failed { label: record.label.to_string(), cause: cause.to_owned() });
            continue;
        };
        if outcome.dry_run {
            outcome.reenciphered += 1;
            continue;
        }
        let ticket = submit(facility, domain, &field_of(&record.token))?;
        asked.push((record, ticket));
        if asked.len() == BATCH {
            replace(
                facility,
                std::mem::replace(&mut before, std::mem::take(&mut asked)),
                lose_keys,
                outcome,
            )?;
        }
    }
    replace(facility, before, lose_keys, outcome)?;
    replace(facility, asked, lose_keys, outcome)
}

/// Waits for changed tokens, and replaces the old ones by them.
fn replace(
    facility: &Facility,
    asked: Vec<(Record, Ticket)>,
    lose_keys: bool,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let mut replacements = Vec::with_capacity(asked.len());
    for (record, ticket) in asked {
        let reply = ticket.wait()?;
        let at = match Format::of(&record.token) {
            Format::PkaInternal => pka_ktc::KEY_IDENTIFIER,
            Format::VariableInternal => ktc2::KEY_IDENTIFIER,
            _ => ktc::KEY_IDENTIFIER,
        };
        let token = reply.arguments().bytes(at).to_vec();
        match reply.codes().has_output() && !token.is_empty() {
            true => replacements.push(Replacement { record, token }),
            false => {
                let cause = format!("not put under the current key: {}", reply.codes());
                outcome.failed.push(Failed { label: record.label.to_string(), cause });
            }
        }
    }
    while !replacements.is_empty() {
        let mut bytes = 0;
        let fitting = replacements.iter().take_while(|of| {
            bytes += of.record.token.len() + of.token.len() + LABEL_AND_LENGTHS_BYTES;
            bytes <= CONTROL_BYTES_MAX / 8 * 7
        });
        let rest = replacements.split_off(fitting.count().max(1));
        for replaced in facility.token_replace(std::mem::replace(&mut replacements, rest), lose_keys)? {
            match replaced {
                true => outcome.reenciphered += 1,
                false => outcome.changed_meanwhile += 1,
            }
        }
    }
    Ok(())
}

/// The field in which a token is changed: for an RSA key, with room for a longer token, since the change may lengthen
/// it.
pub(super) fn field_of(token: &[u8]) -> Vec<u8> {
    let mut field = token.to_vec();
    if Format::of(token) == Format::PkaInternal {
        field.resize(PKA_TOKEN_BYTES_MAX.max(field.len()), 0);
    }
    field
}

/// The request that changes the PKA token at the start of this field.
pub(super) fn change_of_pka(token: &[u8]) -> pka_ktc::Ask<'_> {
    pka_ktc::Ask { key_identifier: token.into(), ..pka_ktc::Ask::new(TokenChange::Current) }
}

/// Submits the change of the token at the start of this field, by the verb for the token's form.
fn submit(facility: &Facility, domain: u16, token: &[u8]) -> Result<Ticket, FacilityError> {
    let mut filled = Filled::default();
    match Format::of(token) {
        Format::PkaInternal => facility.submit(domain, &change_of_pka(token).arguments(&mut filled)),
        Format::VariableInternal => {
            let is_aes = VariableToken::parse(token).is_ok_and(|token| token.key_type().is_aes());
            let algorithm = if is_aes { VariableAlgorithm::Aes } else { VariableAlgorithm::Hmac };
            let new = ktc2::Ask::new(TokenChange::Current, algorithm);
            let ask = ktc2::Ask { key_identifier: token.into(), ..new };
            facility.submit(domain, &ask.arguments(&mut filled))
        }
        _ => {
            let ask = ktc::Ask { key_identifier: token.into(), ..ktc::Ask::new(TokenChange::Current) };
            facility.submit(domain, &ask.arguments(&mut filled))
        }
    }
}

/// The domain whose old master key a record's token is under.
fn domain_of(record: &Record, registers: &[RegisterRow]) -> Option<u16> {
    let description = token::describe(&record.token).ok()?;
    let (register, pattern) = (description.register()?, description.pattern()?);
    registers
        .iter()
        .find(|row| row.register == register && row.old_pattern.is_some_and(|old| old.name() == pattern))
        .map(|row| row.domain)
}

fn text(outcome: &Outcome) -> String {
    let what = if outcome.dry_run { "would be put" } else { "put" };
    let mut text = format!("{} record(s) {what} under the current master keys\n", outcome.reenciphered);
    if outcome.changed_meanwhile != 0 {
        text.push_str(&format!(
            "{} changed by somebody else meanwhile: run this again\n",
            outcome.changed_meanwhile
        ));
    }
    for failed in &outcome.failed {
        text.push_str(&format!("{}: {}\n", failed.label, failed.cause));
    }
    text
}

/// Records that are changed and replaced together. A batch takes a few milliseconds: openers of a label wait for the
/// key store's transaction, and other requests share a pass with the batch.
const BATCH: usize = 64;
const _: () = assert!(BATCH <= REPLACEMENTS_MAX);

/// The label of a record and the lengths of both tokens, in a message.
const LABEL_AND_LENGTHS_BYTES: usize = LABEL_BYTES + 16;
