//! The workload that stands for each published row.
//!
//! The tables of the published reports that the report runs, each as rows (a length or a service) and
//! series (which cards, how many jobs). A cell without a published figure that the reports held is
//! *kept aside*: it is measured like every other, and predictions are judged on it.

use crate::kit::records;
use crate::load::operation::{Cipher, Direction, Hash, Mac, Operation, Payment, RsaForm};
use crate::load::{Interface, Workload};
use crate::published::Row;
use serde::Deserialize;
use std::sync::LazyLock;
use wire::control::Personality;
use wire::verb::Verb;

/// Rows that the reports held and these tables leave out: table, row, cards, jobs.
const KEPT_ASIDE: [(&str, &str, u32, u32); 6] = [
    ("z990.4.4.pka", "*", 6, 48),
    ("z990.4.4.pka", "*", 12, 96),
    ("z990.4.5.1.des-cbc-7jobs", "1024", 1, 7),
    ("z990.4.5.1.des-cbc-7jobs", "65536", 1, 7),
    ("z990.4.5.3.pka", "*", 2, 14),
    ("z990.4.5.3.pka", "*", 4, 28),
];

/// The quantity that varies from row to row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The length of the data, in bytes.
    Length,
    /// The service, with its key.
    Service,
}

/// A published table as the report shows it.
#[derive(Clone, Debug)]
pub struct Table {
    /// Document, section and table, joined by dots.
    pub id: String,
    /// Title of the table, for people.
    pub title: String,
    /// How the measurement here differs from the published one; empty if it does not.
    pub remark: String,
    /// The quantity that varies from row to row.
    pub axis: Axis,
    /// Names of the rows: lengths in bytes, or services with their keys.
    pub rows: Vec<String>,
    /// The columns of the table.
    pub series: Vec<Series>,
    /// The cells, row by row, one for each series.
    pub cells: Vec<Cell>,
}

/// A column of a table: which cards, how many jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// What did the work in the published table: `cpacf`, `software`, `pcica`, `pcixcc`, `cex2c`.
    pub engine: String,
    /// Cards; 0 where no card is used.
    pub cards: u32,
    /// Jobs.
    pub jobs: u32,
}

impl Series {
    /// Heading of the column.
    pub fn name(&self) -> String {
        let jobs = format!("{} job{}", self.jobs, if self.jobs == 1 { "" } else { "s" });
        match self.cards {
            0 => jobs,
            1 => format!("1 card, {jobs}"),
            cards => format!("{cards} cards, {jobs}"),
        }
    }
}

/// The printed content of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// A rate, in the published row of this name.
    Rate(f64, String),
    /// A rate that these tables keep aside.
    KeptAside,
    /// An empty cell.
    Nothing,
}

/// One cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The printed content.
    pub printed: Printed,
    /// The workload that is run for the cell; none if no code serves it yet.
    pub workload: Option<Workload>,
}

impl Table {
    /// The cell of a row and a series, both by position.
    pub fn cell(&self, row: usize, series: usize) -> &Cell {
        &self.cells[row * self.series.len() + series]
    }
}

/// The fixed facts of a table, beyond its rows.
#[derive(Deserialize)]
struct Known {
    id: String,
    title: String,
    remark: String,
}

/// The tables that are run. They are part of the program, and a test reads them.
static TABLES: LazyLock<Vec<Known>> =
    LazyLock::new(|| records(include_str!("../../data/tables.csv")).collect());

/// The tables that the report runs, in the order of the published reports.
pub fn tables(rows: &[Row]) -> Vec<Table> {
    TABLES.iter().map(|known| table(known, rows)).collect()
}

/// Whether a published row belongs to a table that the report runs.
pub fn is_run(row: &Row) -> bool {
    let table = row.table_id();
    let sections = ["4.2.1", "4.2.2", "4.3", "4.4", "4.5.1", "4.5.2", "4.5.3", "5.2.1", "5.2.2", "5.2.3"];
    TABLES.iter().any(|known| known.id == table)
        || (row.field("document") == "z990" && sections.contains(&row.field("section")))
}

/// The workload that stands for a published row; none if no code serves it yet, or if the row is about several.
pub fn workload(row: &Row) -> Option<Workload> {
    let cards = row.engine_count.unwrap_or(0);
    // A table that states no jobs means one card and one job.
    let jobs = row.jobs.unwrap_or(1);
    let (operation, personality) = operation(row)?;
    let interface = match row.field("engine") {
        "cpacf" | "software" if row.field("interface") == "native" => Interface::Native,
        "cpacf" | "software" => Interface::Facility,
        _ => Interface::Card,
    };
    Some(Workload {
        bytes: row.data_bytes.unwrap_or(0) as usize,
        jobs: jobs as usize,
        interface,
        cards: cards.max(1) as usize,
        personality,
        ..Workload::of(operation)
    })
}

fn operation(row: &Row) -> Option<(Operation, Option<Personality>)> {
    let accelerator = row.field("engine") == "pcica";
    let on_card = matches!(row.field("engine"), "pcica" | "pcixcc" | "cex2c");
    let form = if row.field("key_form") == "crt" { RsaForm::Crt } else { RsaForm::Me };
    let rsa = |verb| Some(Operation::rsa_verb(verb, row.key_bits?, form));
    let cipher = match row.field("algorithm") {
        "tdes" => Cipher::Tdes3,
        "aes128" => Cipher::Aes128,
        "aes256" => Cipher::Aes256,
        _ => Cipher::Des,
    };
    let operation = match row.field("operation") {
        "cbc-encipher" | "encipher" => Operation::cbc(cipher, Direction::Encipher),
        "decipher" => Operation::cbc(cipher, Direction::Decipher),
        "mac" => Operation::Mac(Mac::X99),
        "digest" => Operation::Hash(Hash::Sha1),
        "pkd" if accelerator => Operation::Rsa { bits: row.key_bits?, form },
        "pke" if accelerator => Operation::Rsa { bits: row.key_bits?, form: RsaForm::Public },
        "pkd" => rsa(Verb::PkaDecrypt)?,
        "pke" => rsa(Verb::PkaEncrypt)?,
        "dsg" => rsa(Verb::DigitalSignatureGenerate)?,
        "dsv" => rsa(Verb::DigitalSignatureVerify)?,
        "syi" => rsa(Verb::SymmetricKeyImport)?,
        "pka-key-generate" => rsa(Verb::PkaKeyGenerate)?,
        "pin-generate" => Operation::Payment(Payment::PinGenerate),
        "pin-generate-alternate" => Operation::Payment(Payment::PinGenerateAlternate),
        "pin-translate" => Operation::Payment(Payment::PinTranslate),
        "pin-translate-ukpt" => Operation::Payment(Payment::PinTranslateDukpt),
        // In the published row the key of the PIN block is derived too.
        "pin-verify" => Operation::Payment(Payment::PinVerifyDukpt),
        "key-generate" => Operation::Verb { verb: Verb::KeyGenerate, key: None },
        _ => return None,
    };
    let personality =
        on_card.then_some(if accelerator { Personality::Accelerator } else { Personality::Coprocessor });
    Some((operation, personality))
}

fn table(known: &Known, rows: &[Row]) -> Table {
    let of_table = || {
        rows.iter()
            .filter(|row| row.table_id() == known.id && matches!(row.metric(), "ops_per_s" | "api_per_s"))
    };
    let mut names = Vec::new();
    let mut series = Vec::new();
    for row in of_table() {
        push_new(&mut names, name(row));
        push_new(&mut series, series_of(row));
    }
    let aside = || KEPT_ASIDE.iter().filter(|(table, ..)| *table == known.id);
    for (_, row, cards, jobs) in aside() {
        if *row != "*" {
            push_new(&mut names, (*row).to_owned());
        }
        let engine = series.first().map_or(String::new(), |first| first.engine.clone());
        push_new(&mut series, Series { engine, cards: *cards, jobs: *jobs });
    }
    let axis = if of_table().all(|row| row.data_bytes.is_some()) { Axis::Length } else { Axis::Service };
    if axis == Axis::Length {
        names.sort_by_key(|name| name.parse::<u64>().unwrap_or(0));
    }
    let mut cells = Vec::new();
    for name_of_row in &names {
        let like = of_table().find(|row| name(row) == *name_of_row).or_else(|| of_table().next());
        for series in &series {
            let row = of_table().find(|row| name(row) == *name_of_row && series_of(row) == *series);
            let is_aside = aside().any(|(_, aside, cards, jobs)| {
                (*aside == "*" || aside == name_of_row) && (*cards, *jobs) == (series.cards, series.jobs)
            });
            let printed = match row.and_then(|row| Some((row.value?, row.id()))) {
                Some((rate, id)) => Printed::Rate(rate, id.to_owned()),
                None if is_aside => Printed::KeptAside,
                None => Printed::Nothing,
            };
            let workload = match printed {
                Printed::Nothing => None,
                _ => like.and_then(workload).map(|like| Workload {
                    jobs: series.jobs as usize,
                    cards: series.cards.max(1) as usize,
                    bytes: if axis == Axis::Length {
                        name_of_row.parse().unwrap_or(like.bytes)
                    } else {
                        like.bytes
                    },
                    ..like
                }),
            };
            cells.push(Cell { printed, workload });
        }
    }
    let (id, title, remark) = (known.id.clone(), known.title.clone(), known.remark.clone());
    Table { id, title, remark, axis, rows: names, series, cells }
}

fn series_of(row: &Row) -> Series {
    Series {
        engine: row.field("engine").to_owned(),
        cards: row.engine_count.unwrap_or(0),
        jobs: row.jobs.unwrap_or(1),
    }
}

/// Name of a row of a table: its length, or its service with the key.
fn name(row: &Row) -> String {
    match (row.data_bytes, row.key_bits) {
        (Some(bytes), _) => bytes.to_string(),
        (None, Some(bits)) if row.field("algorithm") == "rsa" => {
            format!("{} {} {bits}", row.field("operation"), row.field("key_form"))
        }
        _ => row.field("operation").to_owned(),
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::measurements;

    fn built() -> Vec<Table> {
        tables(&measurements())
    }

    #[test]
    fn every_rate_of_the_sweeps_has_its_cell() {
        let rows = measurements();
        let tables = tables(&rows);
        for row in rows.iter().filter(|row| is_run(row)) {
            if matches!(row.metric(), "ops_per_s" | "api_per_s") {
                let found = tables.iter().flat_map(|table| &table.cells).any(
                    |cell| matches!(&cell.printed, Printed::Rate(rate, id) if id == row.id() && Some(*rate) == row.value),
                );
                assert!(found, "{} has no cell", row.id());
            }
        }
    }

    #[test]
    fn a_card_row_becomes_its_workload() {
        let rows = measurements();
        let row = |id: &str| rows.iter().find(|row| row.id() == id).unwrap();
        let mac = workload(row("z990.5.2.1.mac-multi.cex2c.4096.ops")).unwrap();
        assert_eq!(mac.operation.to_string(), "des-mac");
        assert_eq!((mac.bytes, mac.jobs, mac.cards), (4096, 14, 2));
        assert_eq!((mac.interface, mac.personality), (Interface::Card, Some(Personality::Coprocessor)));
        let clear = workload(row("z990.4.4.pka.pke-2048.1c8j.ops")).unwrap();
        assert_eq!(clear.operation.to_string(), "rsa2048-public");
        assert_eq!(clear.personality, Some(Personality::Accelerator));
        let native = workload(row("z990.4.2.1.kmc-tdea.64.ops")).unwrap();
        assert_eq!((native.interface, native.jobs, native.cards), (Interface::Native, 1, 1));
        assert_eq!(workload(row("z990.4.2.2.kmc-tdea.64.ops")).unwrap().interface, Interface::Facility);
        assert_eq!(workload(row("ztpf.api-des.64.api")).unwrap().interface, Interface::Facility);
        let pin = workload(row("z990.5.2.2.sym-ops.pin-verify.14j.ops")).unwrap();
        assert_eq!(pin.operation.to_string(), "pin-verify-dukpt");
        assert_eq!((pin.jobs, pin.cards, pin.personality), (14, 2, Some(Personality::Coprocessor)));
    }

    #[test]
    fn cells_kept_aside_are_measured_and_not_printed() {
        let tables = built();
        let aside: Vec<_> = tables
            .iter()
            .flat_map(|table| table.cells.iter().map(move |cell| (table.id.as_str(), cell)))
            .filter(|(_, cell)| cell.printed == Printed::KeptAside)
            .collect();
        // 8 services of 4.4 and 15 of 4.5.3 at two sizes each, and two lengths of DES with 7 jobs.
        assert_eq!(aside.len(), 2 * 8 + 2 * 15 + 2);
        assert!(aside.iter().all(|(_, cell)| cell.workload.is_some()));
        let largest = aside.iter().filter_map(|(_, cell)| cell.workload.as_ref()).map(|w| (w.cards, w.jobs));
        assert_eq!(largest.max(), Some((12, 96)));
    }

    #[test]
    fn every_printed_cell_is_run() {
        for table in built() {
            for (row, name) in table.rows.iter().enumerate() {
                for series in 0..table.series.len() {
                    let cell = table.cell(row, series);
                    let runs = cell.workload.is_some() || cell.printed == Printed::Nothing;
                    assert!(runs, "{} {name}", table.id);
                }
            }
        }
    }

    #[test]
    fn length_tables_have_six_lengths_each() {
        let tables = built();
        assert_eq!(tables.len(), 30);
        for table in tables.iter().filter(|table| table.axis == Axis::Length && table.id.starts_with("z990"))
        {
            assert_eq!(table.rows, ["64", "256", "1024", "4096", "65536", "1048576"], "{}", table.id);
        }
    }
}
