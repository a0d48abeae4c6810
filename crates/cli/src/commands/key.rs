//! `cryptand key`: key records and the keys behind them.
//!
//! | need | module |
//! |---|---|
//! | check that a partner holds the same key | [`check`], [`check_value`] |
//! | bring a clear private key in | [`import`] |
//! | make keys | [`generate`] |
//! | enter a key in clear parts | [`part`] |
//! | the paper record of such a key | [`ceremony`] |
//! | keys of payments, and pairs | [`pair`] |
//! | list records | [`list`] |
//! | keys of known values, in development homes | [`known`] |
//! | exchange public keys with programs that do not know tokens | [`public`] |

mod ceremony;
pub mod check;
mod check_value;
mod generate;
mod import;
mod known;
mod list;
pub(super) mod pair;
mod part;
mod public;

use super::{described, reencipher, renew};
use crate::args::{Key, StoreName};
use crate::describe::describe;
use crate::encoded;
use crate::failure::{Failure, Next};
use crate::output::{print, print_json};
use crate::prompt;
use crate::session;
use check::Given;
use facility::{Facility, FacilityError};
pub use generate::generate_where_missing;
pub(super) use import::imported;
use std::path::Path;
use token::Format;
use wire::control::{RecordRow, Refusal, Store};
use wire::{Codes, Label};

const TOKEN_BYTES: usize = 64;
const EMPTY_TOKEN: [u8; TOKEN_BYTES] = [0; TOKEN_BYTES];

/// Runs the subcommands of `cryptand key`.
pub fn run(asked: Option<&Path>, key: &Key) -> Result<(), Failure> {
    // A component is drawn where its sheet is printed, without a card.
    if let Key::Component(typed) = key {
        return part::component::run(typed);
    }
    if let Key::TestKeys { list: true, .. } = key {
        return known::list(asked);
    }
    let facility = session::connect(asked)?;
    match key {
        Key::List { pattern, store, check_values, domain, json } => {
            let values = check_values.then_some(*domain);
            list::run(&facility, pattern, store.map(Store::from), values, *json)
        }
        Key::Generate { label, kind, only, usage, derived_usage, derives, domain } => {
            let asked = generate::Asked { only: *only, usage, derived_usage, derives: *derives };
            generate::run(&facility, &parse(label)?, *kind, &asked, *domain)
        }
        Key::Part { label, step, kind, only, usage, parts, check_value, domain } => {
            let begins = kind.map(|kind| part::Begun { kind, only: *only, usage, parts: *parts });
            let sheet = part::sheet(check_value.as_deref())?;
            part::run(&facility, &parse(label)?, *domain, *step, begins, &sheet)
        }
        Key::Component(_) => Ok(()),
        Key::TestValue { label, kind, only, usage, value, domain } => {
            let value = known::value(value)?;
            let known = known::Known { kind: *kind, only: *only, usage, value: &value };
            known::run(&facility, &parse(label)?, &known, *domain)
        }
        Key::TestKeys { domain, .. } => known::published(&facility, *domain),
        Key::Sheet { label, component, html, domain } => {
            ceremony::run(&facility, &parse(label)?, *domain, component, *html)
        }
        Key::Import { label, file, use_of, domain } => {
            import::run(&facility, &parse(label)?, file, *use_of, *domain)
        }
        Key::Write { label, token, replace } => write(&facility, &parse(label)?, token, *replace),
        Key::Show { label, raw, json } => show(&facility, &parse(label)?, *raw, *json),
        Key::PublicKey { label, domain, pem } => public::show(&facility, &parse(label)?, *domain, *pem),
        Key::ImportPublic { label, file } => public::import(&facility, &parse(label)?, file),
        Key::Test { label, domain, check_value, random, pattern, json } => {
            let given = Given::read(check_value.as_deref(), random.as_deref(), pattern.as_deref())?;
            check::run(&facility, &parse(label)?, *domain, &given, *json)
        }
        Key::Reencipher { pattern, dry_run, lose_keys, json } => {
            reencipher::run(&facility, pattern, *dry_run, *lose_keys, *json)
        }
        Key::Renew { pattern, dry_run, lose_keys, json } => {
            renew::run(&facility, pattern, *dry_run, *lose_keys, *json)
        }
        Key::Delete { label, token_only, yes } => delete(&facility, &parse(label)?, *token_only, *yes),
    }
}

/// Records a token under a label that is new.
pub(super) fn record(facility: &Facility, store: Store, label: &Label, token: &[u8]) -> Result<(), Failure> {
    facility.record_create(store, label, token).map_err(|error| match error {
        FacilityError::Refused { refusal: Refusal::Verb(wire::code::LABEL_EXISTS), .. } => {
            Failure::change_of(label.to_string(), Next::Label)(error)
        }
        error => error.into(),
    })
}

fn parse(label: &str) -> Result<Label, Failure> {
    Label::new(label).map_err(|error| Failure::Usage(format!("{label}: {error}")))
}

fn write(facility: &Facility, label: &Label, path: &Path, replace: bool) -> Result<(), Failure> {
    let token = encoded::read(path)?;
    let store = Format::of(&token).store().ok_or_else(|| {
        Failure::Damaged(format!(
            "{}: not a key token, as bytes, in hexadecimal or in base64, nor a key block",
            encoded::shown(path)
        ))
    })?;
    if replace {
        facility.record_write(store, label, &token)?
    } else {
        record(facility, store, label, &token)?
    }
    eprintln!("{label}: recorded");
    Ok(())
}

/// The record of a label, from the first store that has one.
pub(super) fn find(facility: &Facility, label: &Label) -> Result<(Store, Vec<u8>), Failure> {
    find_row(facility, label).map(|(row, token)| (row.store, token))
}

fn find_row(facility: &Facility, label: &Label) -> Result<(RecordRow, Vec<u8>), Failure> {
    let rows = facility.records(None, label.as_str())?;
    let row = rows.into_iter().find(|row| row.label == *label);
    let row = row.ok_or_else(|| Failure::NoRecord(label.clone()))?;
    let token = facility.record_read(row.store, label)?;
    Ok((row, token))
}

fn show(facility: &Facility, label: &Label, raw: bool, json: bool) -> Result<(), Failure> {
    let (RecordRow { store, chain_bytes, .. }, bytes) = find_row(facility, label)?;
    if raw {
        use std::io::Write;
        return std::io::stdout().lock().write_all(&bytes).map_err(Failure::io("write to standard output"));
    }
    let found = describe(&bytes);
    if json {
        return print_json(&serde_json::json!({
            "label": label.as_str(), "store": store_name(store), "token": prompt::to_hexadecimal(&bytes),
            "chain_bytes": chain_bytes,
            "fields": described::json(&found.fields), "problem": found.problem,
        }));
    }
    let mut fields = vec![("label", label.to_string()), ("store", store_name(store).to_owned())];
    fields.extend(found.fields);
    if chain_bytes > 0 {
        fields.push(("certificates", format!("{chain_bytes} bytes; cryptand cert show {label}")));
    }
    fields.extend(found.problem.map(|problem| ("problem", problem)));
    fields.push(("in hexadecimal", prompt::to_hexadecimal(&bytes)));
    print(&described::text(&fields))
}

fn delete(facility: &Facility, label: &Label, token_only: bool, yes: bool) -> Result<(), Failure> {
    let (row, _) = find_row(facility, label)?;
    let what = match (token_only, row.chain_bytes) {
        (true, _) => "the token",
        (false, 0) => "the record",
        (false, _) => "the record and its certificates",
    };
    prompt::confirm(&format!("Delete {what} of {label}? What it enciphers may be lost."), yes)?;
    Ok(facility.record_delete(row.store, label, token_only)?)
}

pub(super) fn complete(verb: &'static str, codes: Codes) -> Result<(), Failure> {
    if codes.is_ok() { Ok(()) } else { Err(Failure::Verb { verb, codes }) }
}

fn store_name(store: Store) -> &'static str {
    match store {
        Store::Des => "des",
        Store::Aes => "aes",
        Store::Pka => "pka",
    }
}

impl From<StoreName> for Store {
    fn from(name: StoreName) -> Self {
        match name {
            StoreName::Des => Self::Des,
            StoreName::Aes => Self::Aes,
            StoreName::Pka => Self::Pka,
        }
    }
}
