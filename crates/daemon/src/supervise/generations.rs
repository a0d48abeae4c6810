//! Generations: each process of a card has a number that no other of the same index ever had.
//!
//! Clients tell processes of a card by their generations: a process that broke the rules is not attached to again, and
//! counters of different generations do not compare. So the numbers go on where they stopped, even if the card was
//! removed and added again, and every process of the home has ended in between. A number is written down before its
//! process is started; the places of all indices are made beforehand, so that a full disk does not make numbers repeat.

use crate::rows::{RowValue, Rows};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use wire::bounds::CARDS_MAX;

impl RowValue for u64 {
    const BYTES: usize = 16;
}

/// The last generation that each card was given.
pub struct Generations {
    rows: Rows<u64>,
    given: BTreeMap<u32, u64>,
}

impl Generations {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let rows = Rows::open(path)?;
        let given: BTreeMap<u32, u64> = rows.load()?.into_iter().collect();
        for index in (0..CARDS_MAX as u32).filter(|index| !given.contains_key(index)) {
            rows.write(index, &0)?;
        }
        Ok(Self { rows, given })
    }

    /// Notes a generation that was met, which may be beyond what was written down.
    pub fn met(&mut self, index: u32, generation: u64) {
        let given = self.given.entry(index).or_default();
        *given = generation.max(*given);
    }

    /// Gives the next process of this card its generation, and writes it down.
    pub fn next(&mut self, index: u32) -> u64 {
        let given = self.given.entry(index).or_default();
        *given += 1;
        if let Err(error) = self.rows.write(index, given) {
            tracing::warn!(card = index, "a later daemon may give generation {given} again: {error}");
        }
        *given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_given_twice_whatever_ends_in_between() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("generations");
        let mut generations = Generations::open(&path).unwrap();
        assert_eq!([3, 0, 3].map(|index| generations.next(index)), [1, 1, 2]);
        let bytes = std::fs::metadata(&path).unwrap().len();
        generations.met(5, 9);
        generations.met(5, 4);
        assert_eq!(generations.next(5), 10);

        let mut later = Generations::open(&path).unwrap();
        assert_eq!([3, 0, 5, 1].map(|index| later.next(index)), [3, 2, 11, 1]);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes, "it never grows");
    }
}
