//! The journal of an interrupted report: every finished run, one JSON line each.
//!
//! The first line says under which conditions the runs were made. A report that is started again in
//! the same folder under the same conditions takes them over; under others the journal begins anew.
//! A line that a power loss cut short is passed over.

use super::machine::Machine;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Version of the lines; another version begins anew.
const JOURNAL_VERSION: u32 = 1;

/// The conditions under which a journal's runs were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    version: u32,
    program: String,
    machine: Machine,
    level: String,
    thoroughness: serde_json::Value,
}

impl Conditions {
    /// The conditions of this program on this machine, with a level and a thoroughness.
    pub fn this(level: &str, thoroughness: &impl Serialize) -> Self {
        let thoroughness = serde_json::to_value(thoroughness).unwrap_or_default();
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
    /// Opens the journal at a path, whose folder is made; gives the runs that it holds already.
    ///
    /// # Errors
    /// Of the file.
    pub fn open<M: DeserializeOwned>(path: &Path, conditions: &Conditions) -> io::Result<(Self, Runs<M>)> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
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
        let file = open.open(path)?;
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
    /// Of the file.
    pub fn add<M: Serialize>(&mut self, case: &str, pass: usize, measurement: &M) -> io::Result<()> {
        self.line(&Line { case: case.to_owned(), pass, measurement })
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.write(text.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path, conditions: &Conditions) -> io::Result<(Journal, Runs<f64>)> {
        Journal::open(path, conditions)
    }

    #[test]
    fn a_journal_is_taken_over_under_the_same_conditions_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let conditions = Conditions::this("avx512", &3);
        let (mut journal, runs) = open(&path, &conditions).unwrap();
        assert!(runs.is_empty());
        journal.add("a", 0, &1.0).unwrap();
        journal.add("a", 1, &2.0).unwrap();
        drop(journal);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        let (mut journal, runs) = open(&path, &conditions).unwrap();
        assert_eq!(runs["a"].keys().copied().collect::<Vec<_>>(), [0]);
        journal.add("b", 0, &3.0).unwrap();
        drop(journal);
        let (_, runs) = open(&path, &conditions).unwrap();
        assert_eq!(runs["a"][&0], 1.0);
        assert_eq!(runs["b"][&0], 3.0);
        let other = Conditions::this("avx512", &5);
        assert!(open(&path, &other).unwrap().1.is_empty());
        assert!(open(&path, &conditions).unwrap().1.is_empty());
        assert!(open(&path.join("no folder"), &conditions).is_err());
    }
}
