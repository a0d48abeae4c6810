//! `cryptand key renew`: converts key records with tokens in CCA's form, or of an earlier method of this system, to
//! this system's authenticated form.
//!
//! A card that is given a token of a symmetric key in a form other than the one it makes returns it in that form,
//! whatever the verb: here Key_Test, which every key allows. RSA tokens under the ASYM master key are changed by
//! PKA_Key_Token_Change. The returned token replaces the old one.

use super::{reencipher, unsealed};
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use facility::Facility;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use token::aes::{AesKey, AesToken};
use token::des::DesToken;
use token::describe;
use token::pka::is_asym;
use wire::control::{Record, RecordRow, RegisterRow, Replacement, Store, TokenForm};
use wire::verb::{TestAlgorithm, TestProcess, key_test as kyt};

/// The result for one record.
#[derive(Serialize)]
struct Row {
    label: String,
    /// The domain whose master key wraps the record's token.
    domain: Option<u16>,
    /// Why the record was not renewed; none if it was renewed, or would be.
    failed: Option<String>,
}

/// The results of the command, as JSON prints them.
#[derive(Serialize)]
struct Renewed {
    looked_at: usize,
    dry_run: bool,
    records: Vec<Row>,
}

/// Renews all records of these labels whose tokens are not in the authenticated form.
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
    let registers = status.registers;
    let mut rows = facility.records(Some(Store::Des), pattern)?;
    rows.extend(facility.records(Some(Store::Aes), pattern)?);
    rows.extend(facility.records(Some(Store::Pka), pattern)?);
    rows.retain(|row| row.token_bytes != 0);
    let mut records = Vec::new();
    // Drawn on a terminal only.
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} records");
    let progress = ProgressBar::new(rows.len() as u64);
    if let Ok(style) = style {
        progress.set_style(style);
    }
    for row in &rows {
        progress.inc(1);
        let token = facility.record_read(row.store, &row.label)?;
        if !is_outdated(&token) {
            continue;
        }
        let domain = domain_of(&token, &registers);
        let failed = match domain {
            None => Some("under a master key that no domain has; its domain's keys are not loaded, or were changed twice".into()),
            Some(_) if dry_run => None,
            Some(domain) => renew(facility, row, &token, domain, lose_keys)?,
        };
        records.push(Row { label: row.label.to_string(), domain, failed });
    }
    progress.finish_and_clear();
    let failed = records.iter().filter(|row| row.failed.is_some()).count();
    let renewed = Renewed { looked_at: rows.len(), dry_run, records };
    if json {
        print_json(&renewed)?;
    } else {
        print(&text(&renewed))?;
    }
    if failed == 0 { Ok(()) } else { Err(Failure::NotRenewed(failed)) }
}

/// Renews one record; returns why it was not renewed, or none if it was.
fn renew(
    facility: &Facility,
    row: &RecordRow,
    token: &[u8],
    domain: u16,
    lose_keys: bool,
) -> Result<Option<String>, Failure> {
    let field = reencipher::field_of(token);
    let (codes, renewed) = if row.store == Store::Pka {
        let answered = facility.ask(domain, &reencipher::change_of_pka(&field))?;
        (answered.codes(), answered.got().key_identifier.to_vec())
    } else {
        let answered = facility.ask(domain, &test(&field))?;
        (answered.codes(), answered.got().key_identifier.to_vec())
    };
    if !codes.has_output() {
        return Ok(Some(codes.to_string()));
    }
    if renewed.is_empty() || is_outdated(&renewed) {
        return Ok(Some(
            "cards make compatible tokens: set form = \"authenticated\" in [tokens] first".into(),
        ));
    }
    let record = Record { store: row.store, label: row.label.clone(), token: token.to_vec() };
    match facility.token_replace(vec![Replacement { record, token: renewed }], lose_keys)?.first() {
        Some(true) => Ok(None),
        // The record was changed meanwhile: the newer content stays.
        _ => Ok(Some("the record was changed meanwhile".into())),
    }
}

/// A test of the symmetric key of the token that is this field.
fn test(field: &[u8]) -> kyt::Ask<'_> {
    kyt::Ask {
        algorithm: Some(TestAlgorithm::EncZero),
        key_identifier: field.into(),
        value_1: Some(&[0; 8]),
        value_2: Some(&[0; 8]),
        ..kyt::Ask::new(TestProcess::Generate)
    }
}

/// Whether a token's key is wrapped in CCA's form, or by the method of this system that does not tell changes of every
/// key.
fn is_outdated(token: &[u8]) -> bool {
    if is_asym(token) {
        return true;
    }
    let of_des = |token: DesToken| {
        let is_compatible = token.wrapped().is_some_and(|wrapped| wrapped.form == TokenForm::Compatible);
        is_compatible || token.is_of_unchecked_method()
    };
    let of_aes = |token: AesToken| {
        let is_compatible = matches!(token.key(), AesKey::Wrapped { form: TokenForm::Compatible, .. });
        is_compatible || token.is_of_unchecked_method()
    };
    match DesToken::parse(token) {
        Ok(token) => of_des(token),
        Err(_) => AesToken::parse(token).is_ok_and(of_aes),
    }
}

/// The domain with this token's master key, by its verification pattern.
fn domain_of(token: &[u8], registers: &[RegisterRow]) -> Option<u16> {
    let description = describe(token).ok()?;
    let (register, pattern) = (description.register()?, description.pattern());
    let has = |row: &&RegisterRow| {
        row.register == register && pattern.is_some() && row.keys().any(|key| Some(key.pattern) == pattern)
    };
    registers.iter().find(has).map(|row| row.domain)
}

fn text(renewed: &Renewed) -> String {
    let failed = renewed.records.iter().filter(|row| row.failed.is_some()).count();
    let done = renewed.records.len() - failed;
    let what = if renewed.dry_run { "would be renewed" } else { "renewed" };
    let rows = renewed.records.iter().map(|row| {
        let domain = row.domain.map_or("-".to_owned(), |domain| domain.to_string());
        vec![row.label.clone(), domain, row.failed.clone().unwrap_or_else(|| what.to_owned())]
    });
    let rows = if renewed.records.is_empty() { String::new() } else { table(&["label", "domain", ""], rows) };
    format!("{rows}{} records looked at, {done} {what}, {failed} not\n", renewed.looked_at)
}
