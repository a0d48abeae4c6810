//! `cryptand pin`: what a home decides about PINs, and what PIN verbs do.
//!
//! | need | module |
//! |---|---|
//! | blocks under other keys, in other formats | [`translate`] |
//! | whether PINs are right | [`verify`] |
//! | PINs, offsets, PVVs | [`make`] |
//! | methods, and what they compute with | [`rule`] |

mod make;
mod rule;
mod translate;
mod verify;

use super::payment;
use super::status::moment;
use crate::args::{Pin, PinFailures, PinTable};
use crate::failure::{Failure, Next};
use crate::output::{print, print_json, table};
use crate::session;
use facility::Facility;
use std::path::Path;
use wire::pin::{DecimalisationTable, Digest, FailureOf, FailureRow};
use wire::tenant::Change;

/// Runs the subcommands of `cryptand pin`.
pub fn run(asked: Option<&Path>, order: &Pin) -> Result<(), Failure> {
    match order {
        Pin::Translate(typed) => return payment::run(asked, &**typed, &typed.many),
        Pin::Verify(typed) => return payment::run(asked, &**typed, &typed.many),
        Pin::Generate(typed) => return make::generate(asked, typed),
        Pin::Offset(typed) => return make::offset(asked, typed),
        Pin::Pvv(typed) => return make::pvv(asked, typed),
        Pin::Encrypt(typed) => return make::encrypt(asked, typed),
        Pin::Table(_) | Pin::Failures(_) => {}
    }
    let facility = session::connect(asked)?;
    match order {
        Pin::Failures(PinFailures::List { all, output }) => failures(&facility, *all, output.json),
        Pin::Failures(PinFailures::Clear { digests, .. }) => clear(&facility, digests),
        Pin::Table(PinTable::List(output)) => list(&facility, output.json),
        Pin::Table(PinTable::Add { table }) => {
            change(&facility, *table, Change::TableAdd { table: *table }).map_err(|failure| {
                let is_there = failure.is_of_its_object()
                    && facility.tables().is_ok_and(|stored| stored.contains(table));
                if is_there { Failure::Exists(failure.to_string()) } else { failure }
            })?;
            eprintln!("{table}: stored");
            Ok(())
        }
        Pin::Table(PinTable::Remove { table }) => {
            change(&facility, *table, Change::TableRemove { table: *table }).map_err(|failure| {
                let is_default = *table == DecimalisationTable::DEFAULT;
                let is_missing = failure.is_of_its_object()
                    && !is_default
                    && facility.tables().is_ok_and(|stored| !stored.contains(table));
                if is_missing { Failure::Missing(failure.to_string()) } else { failure }
            })?;
            eprintln!("{table}: removed");
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Prints the stored decimalisation tables; those of every card come first.
fn list(facility: &Facility, json: bool) -> Result<(), Failure> {
    let stored = facility.tables()?;
    let tables: Vec<_> = std::iter::once(DecimalisationTable::DEFAULT).chain(stored).collect();
    if json {
        return print_json(&tables);
    }
    print(&tables.iter().map(|table| format!("{table}\n")).collect::<String>())
}

fn failures(facility: &Facility, all: bool, json: bool) -> Result<(), Failure> {
    let rows = facility.failures(!all)?;
    if json {
        return print_json(&rows);
    }
    let header = ["id", "of", "wrong PINs", "last", "refused until"];
    let cells = |row: &FailureRow| {
        vec![
            row.digest.to_string(),
            match (row.of, row.key) {
                (FailureOf::Key, _) | (_, None) => "a key".to_owned(),
                (FailureOf::TenantKey, Some(key)) => format!("a tenant, key {key}"),
                (FailureOf::Subject, Some(key)) => format!("a card, key {key}"),
                (FailureOf::Block, Some(key)) => format!("a block, key {key}"),
                (FailureOf::Caller, Some(key)) => format!("a block, any key of a tenant, last {key}"),
            },
            row.failures.to_string(),
            moment(row.last_unix_s),
            row.refused_until_unix_s.map_or_else(String::new, moment),
        ]
    };
    print(&table(&header, rows.iter().map(cells)))
}

/// Forgets the wrong PINs counted under these digests, or all of them if no digest is given.
fn clear(facility: &Facility, digests: &[Digest]) -> Result<(), Failure> {
    if digests.is_empty() {
        facility.clear_failures(None).map_err(Failure::change("failures of PINs".to_owned()))?;
        eprintln!("all failures of PINs: cleared");
    }
    for digest in digests {
        let failed = Failure::change_of(digest.to_string(), Next::Failures);
        facility.clear_failures(Some(*digest)).map_err(failed).map_err(|failure| {
            let counted = facility.failures(false);
            let is_missing = failure.is_of_its_object()
                && counted.is_ok_and(|rows| rows.iter().all(|row| row.digest != *digest));
            if is_missing { Failure::Missing(failure.to_string()) } else { failure }
        })?;
        eprintln!("{digest}: cleared");
    }
    Ok(())
}

fn change(facility: &Facility, table: DecimalisationTable, change: Change) -> Result<(), Failure> {
    let failed = Failure::change_of(format!("decimalisation table {table}"), Next::Tables);
    facility.change(change).map_err(failed)
}
