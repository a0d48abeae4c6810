//! `cryptand pin`: what a home decides about PINs.

use super::{print, print_json};
use crate::args::{Pin, PinTable};
use crate::failure::Failure;
use crate::session;
use facility::Facility;
use std::path::Path;
use wire::pin::DecimalisationTable;
use wire::tenant::Change;

/// `cryptand pin`.
pub fn run(asked: Option<&Path>, order: &Pin) -> Result<(), Failure> {
    let facility = session::connect(asked)?;
    match order {
        Pin::Table(PinTable::List(output)) => list(&facility, output.json),
        Pin::Table(PinTable::Add { table }) => {
            change(&facility, *table, Change::TableAdd { table: *table })?;
            eprintln!("{table}: stored");
            Ok(())
        }
        Pin::Table(PinTable::Remove { table }) => {
            change(&facility, *table, Change::TableRemove { table: *table })?;
            eprintln!("{table}: removed");
            Ok(())
        }
    }
}

/// The tables, that of every card first.
fn list(facility: &Facility, json: bool) -> Result<(), Failure> {
    let stored = facility.tables()?;
    let tables: Vec<_> = std::iter::once(DecimalisationTable::DEFAULT).chain(stored).collect();
    if json {
        return print_json(&tables);
    }
    print(&tables.iter().map(|table| format!("{table}\n")).collect::<String>())
}

fn change(facility: &Facility, table: DecimalisationTable, change: Change) -> Result<(), Failure> {
    facility.change(change).map_err(Failure::change(format!("decimalisation table {table}")))
}
