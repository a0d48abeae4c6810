//! What an interrupted report keeps: every finished run, one JSON line each.
//!
//! The first line says under which conditions the runs were made. A report that is started again in
//! the same folder under the same conditions takes them over; under others the journal begins anew.
//! A line that a power loss cut short is passed over.

use super::plan::Thoroughness;
use crate::machine::Machine;
use crate::workload::LabError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Version of the lines; another version begins anew.
const JOURNAL_VERSION: u32 = 1;

/// Under which conditions the runs of a journal were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    version: u32,
    program: String,
    machine: Machine,
    level: String,
    thoroughness: Thoroughness,
}

impl Conditions {
    /// The conditions of this program on this machine.
    pub fn this(level: &str, thoroughness: Thoroughness) -> Self {
        let program = format!("cryptand {}", env!("CARGO_PKG_VERSION"));
        let machine = Machine::this();
        Self { version: JOURNAL_VERSION, program, machine, level: level.to_owned(), thoroughness }
    }
}

#[derive(Serialize, Deserialize)]
struct Line<M> {
    case: String,
    pass: usize,
    measurement: M,
}

/// Finished runs by case and pass.
pub type Runs<M> = BTreeMap<String, BTreeMap<usize, M>>;

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Opens the journal at a path; gives the runs that it holds already.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn open<M: DeserializeOwned>(
        path: &Path,
        conditions: &Conditions,
    ) -> Result<(Self, Runs<M>), LabError> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut lines = text.lines();
        let head = lines.next().and_then(|line| serde_json::from_str::<Conditions>(line).ok());
        let mut runs = Runs::<M>::new();
        let mut open = OpenOptions::new();
        if head.as_ref() == Some(conditions) {
            for line in lines.filter_map(|line| serde_json::from_str::<Line<M>>(line).ok()) {
                runs.entry(line.case).or_default().insert(line.pass, line.measurement);
            }
            open.append(true);
        } else {
            open.write(true).create(true).truncate(true);
        }
        let file = open.open(path).map_err(LabError::io("open the journal of the report"))?;
        let mut journal = Self { file };
        if head.as_ref() != Some(conditions) {
            journal.line(conditions)?;
        } else if !text.ends_with('\n') {
            journal.write(b"\n")?;
        }
        Ok((journal, runs))
    }

    /// Adds a finished run.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn add<M: Serialize>(&mut self, case: &str, pass: usize, measurement: &M) -> Result<(), LabError> {
        self.line(&Line { case: case.to_owned(), pass, measurement })
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), LabError> {
        let mut text = serde_json::to_string(line)
            .map_err(|error| LabError::Io { what: "write a line of the journal", cause: error.into() })?;
        text.push('\n');
        self.write(text.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), LabError> {
        self.file.write_all(bytes).map_err(LabError::io("write the journal of the report"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::measurement;
    use crate::workload::Measurement;

    fn open(path: &Path, conditions: &Conditions) -> Result<(Journal, Runs<Measurement>), LabError> {
        Journal::open(path, conditions)
    }

    #[test]
    fn a_journal_is_taken_over_under_the_same_conditions_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let conditions = Conditions::this("avx512", Thoroughness::QUICK);
        let (mut journal, runs) = open(&path, &conditions).unwrap();
        assert!(runs.is_empty());
        journal.add("a", 0, &measurement(1.0)).unwrap();
        journal.add("a", 1, &measurement(2.0)).unwrap();
        drop(journal);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 40]).unwrap();
        let (mut journal, runs) = open(&path, &conditions).unwrap();
        assert_eq!(runs["a"].keys().copied().collect::<Vec<_>>(), [0]);
        journal.add("b", 0, &measurement(3.0)).unwrap();
        drop(journal);
        let (_, runs) = open(&path, &conditions).unwrap();
        assert_eq!(runs["a"][&0], measurement(1.0));
        assert_eq!(runs["b"][&0].ops_per_s, 3.0);
        let other = Conditions::this("avx512", Thoroughness::FULL);
        assert!(open(&path, &other).unwrap().1.is_empty());
        assert!(open(&path, &conditions).unwrap().1.is_empty());
        assert!(open(&folder.path().join("no/where"), &conditions).is_err());
    }
}
