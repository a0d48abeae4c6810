//! The ground floor: figures, charts, tables and pages, journals, and the machine. Nothing here knows what is measured.

pub mod chart;
pub mod digits;
pub mod journal;
pub mod machine;
pub mod page;
pub mod statistics;

use serde::de::DeserializeOwned;

/// The records of a CSV table of the lab; the table is compiled in, and a test reads it.
pub(crate) fn records<T: DeserializeOwned>(text: &'static str) -> impl Iterator<Item = T> {
    let reader = csv::Reader::from_reader(text.as_bytes());
    reader.into_deserialize().map(|record| record.expect("the built-in table is well formed"))
}
