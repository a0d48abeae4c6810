//! The table of failures: how wrong PINs stand under each digest, written by the daemon, read by
//! cards.
//!
//! ```text
//! page 0     0 magic, 8 version, 16 whether everybody is refused
//! page 1     a word for each entry: the first 62 bits of a digest, then two bits of what is known
//! ```
//! An entry lies in the first free word from its digest's place on, at most [`PROBES`] away, and
//! never moves: a reader finds it, or a word that was never used. A word that is no longer used is
//! marked, until the word behind it is free. Entries change by one store, so a reader that is told
//! of a failure after that finds its effect.
//!
//! Digests are keyed: nobody chooses where entries lie, and the table reveals to cards neither a
//! key nor a PAN.

use crate::head::Head;
use crate::memory::{self, Access, Inherit, JoinError, Mapping, PAGE_BYTES, invalid};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use wire::bounds::PIN_FAILURE_ROWS_MAX;
use wire::pin::{Digest, Standing};

const HEAD: Head = Head::new(*b"cryptPF\0", 1);
/// Number of words: twice the greatest number of rows, so that few words are read to find one.
const WORDS: usize = 2 * PIN_FAILURE_ROWS_MAX;
const FAILURES_BYTES: usize = PAGE_BYTES + 8 * WORDS;
/// At most this many words are read for one entry: if none of them is free, the entry has no room.
const PROBES: usize = 512;
/// Offset of the word that is not 0 while everybody is refused.
const EVERYBODY: usize = 16;

/// A word that is no longer used, before words that are.
const LEFT: u64 = 3;

const _: () = assert!(WORDS.is_power_of_two() && PROBES < WORDS);

/// The daemon's end of the table: the only writer.
#[derive(Debug)]
pub struct FailureTable {
    mapping: Mapping,
    file: OwnedFd,
}

impl FailureTable {
    /// Makes an empty table in sealed memory.
    ///
    /// # Errors
    /// Of the system calls.
    pub fn create() -> io::Result<Self> {
        let file = memory::create_sealed("cryptand failures", FAILURES_BYTES)?;
        let mapping =
            Mapping::sealed(file.as_fd(), FAILURES_BYTES, Access::Write, Inherit::Shared).map_err(invalid)?;
        HEAD.begin_or_check(&mapping).map_err(invalid)?;
        Ok(Self { mapping, file })
    }

    /// A descriptor of the table for a card: read-only.
    ///
    /// # Errors
    /// No descriptor is left, or no `/proc`.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        memory::read_only(self.file.as_fd())
    }

    /// Refuses everybody, or refuses everybody no longer.
    pub fn refuse_everybody(&self, refused: bool) {
        self.mapping.writable(EVERYBODY).store(u64::from(refused), Ordering::Release);
    }

    /// Sets how failures under a digest stand; `false`, and nothing has changed, if the table has
    /// no room for the digest.
    pub fn set(&self, digest: &Digest, standing: Standing) -> bool {
        let (own, home) = parts(digest);
        let mut free = None;
        for at in (0..PROBES).map(|step| (home + step) % WORDS) {
            match self.word(at) {
                0 => {
                    free = free.or(Some(at));
                    break;
                }
                LEFT => free = free.or(Some(at)),
                word if word & !3 == own => {
                    match standing {
                        Standing::Clean => self.leave(at),
                        standing => self.put(at, own | standing as u64),
                    }
                    return true;
                }
                _ => {}
            }
        }
        match (standing, free) {
            (Standing::Clean, _) => true,
            (standing, Some(at)) => {
                self.put(at, own | standing as u64);
                true
            }
            (_, None) => false,
        }
    }

    /// Takes an entry out, with the marked words before it that only led to it.
    fn leave(&self, at: usize) {
        if self.word((at + 1) % WORDS) != 0 {
            return self.put(at, LEFT);
        }
        let mut at = at;
        loop {
            self.put(at, 0);
            at = (at + WORDS - 1) % WORDS;
            if self.word(at) != LEFT {
                return;
            }
        }
    }

    fn word(&self, at: usize) -> u64 {
        self.mapping.load(PAGE_BYTES + 8 * at)
    }

    fn put(&self, at: usize, word: u64) {
        self.mapping.writable(PAGE_BYTES + 8 * at).store(word, Ordering::Release);
    }
}

/// A card's view of the table.
#[derive(Debug)]
pub struct FailureView {
    mapping: Mapping,
}

impl FailureView {
    /// Joins the table as a reader.
    ///
    /// # Errors
    /// [`JoinError`] if the descriptor is not a table of this version.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        let mapping = Mapping::sealed(fd, FAILURES_BYTES, Access::Read, Inherit::Shared)?;
        HEAD.check(&mapping)?;
        Ok(Self { mapping })
    }

    /// How failures under a digest stand.
    pub fn standing(&self, digest: &Digest) -> Standing {
        let (own, home) = parts(digest);
        for at in (0..PROBES).map(|step| (home + step) % WORDS) {
            match self.mapping.load(PAGE_BYTES + 8 * at) {
                0 => return Standing::Clean,
                LEFT => {}
                word if word & !3 == own => {
                    return if word & 3 == Standing::Refused as u64 {
                        Standing::Refused
                    } else {
                        Standing::Counted
                    };
                }
                _ => {}
            }
        }
        Standing::Clean
    }

    /// Whether everybody is refused.
    pub fn refuses_everybody(&self) -> bool {
        self.mapping.load(EVERYBODY) != 0
    }
}

/// The part of a digest that a word holds, and the word where the search begins. No digest's part
/// equals the mark of a word that is no longer used.
fn parts(digest: &Digest) -> (u64, usize) {
    let (first, last) = digest.0.split_at(8);
    let number = |half: &[u8]| half.try_into().map_or(0, u64::from_le_bytes);
    ((number(first) & !3).max(4), number(last) as usize % WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A digest with this part and this place.
    fn digest(part: u64, place: u64) -> Digest {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(part << 2).to_le_bytes());
        bytes[8..].copy_from_slice(&place.to_le_bytes());
        Digest(bytes)
    }

    fn both() -> (FailureTable, FailureView) {
        let table = FailureTable::create().unwrap();
        let view = FailureView::join(table.read_only().unwrap().as_fd()).unwrap();
        (table, view)
    }

    #[test]
    fn what_is_said_is_found_until_it_is_taken_back() {
        let (table, view) = both();
        let one = digest(7, WORDS as u64 - 1);
        assert_eq!(view.standing(&one), Standing::Clean);
        for standing in [Standing::Counted, Standing::Refused, Standing::Counted, Standing::Clean] {
            assert!(table.set(&one, standing));
            assert_eq!(view.standing(&one), standing);
        }
        assert!(!view.refuses_everybody());
        table.refuse_everybody(true);
        assert!(view.refuses_everybody());
    }

    #[test]
    fn entries_of_one_place_are_told_apart_and_outlast_each_other() {
        let (table, view) = both();
        let all: Vec<Digest> = (1..=40).map(|part| digest(part, WORDS as u64 - 3)).collect();
        assert!(all.iter().all(|one| table.set(one, Standing::Refused)));
        // Every second entry is taken out, from the first and from the last.
        for one in all.iter().step_by(2) {
            assert!(table.set(one, Standing::Clean));
        }
        for (at, one) in all.iter().enumerate() {
            let expected = if at % 2 == 0 { Standing::Clean } else { Standing::Refused };
            assert_eq!(view.standing(one), expected, "{at}");
        }
        // Free words are used again, and no digest stands in two words.
        assert!(table.set(&all[0], Standing::Counted) && table.set(&all[1], Standing::Counted));
        assert_eq!(view.standing(&all[0]), Standing::Counted);
        assert!(table.set(&all[1], Standing::Clean));
        assert_eq!(view.standing(&all[1]), Standing::Clean);
        all.iter().for_each(|one| assert!(table.set(one, Standing::Clean)));
        assert!((0..WORDS).all(|at| matches!(table.word(at), 0 | LEFT)));
    }

    #[test]
    fn a_place_that_is_full_is_said_to_be() {
        let (table, view) = both();
        let all: Vec<Digest> = (1..=PROBES as u64).map(|part| digest(part, 5)).collect();
        assert!(all.iter().all(|one| table.set(one, Standing::Counted)));
        let more = digest(100_000, 5);
        assert!(!table.set(&more, Standing::Refused) && table.set(&more, Standing::Clean));
        assert_eq!(view.standing(&more), Standing::Clean);
        assert!(table.set(&all[9], Standing::Clean) && table.set(&more, Standing::Refused));
        assert_eq!(view.standing(&more), Standing::Refused);
        assert_eq!(view.standing(&all[PROBES - 1]), Standing::Counted);
    }

    /// An entry of one tenant is of no other, and entries of one key do not crowd one place.
    #[test]
    fn tenants_are_told_apart() {
        let (table, view) = both();
        let key = digest(5, 77);
        for of in [Digest::of_tenant, |tenant| digest(5, 77).by_tenant(tenant)] {
            let tenants = (0..3 * PROBES as u32).chain([1 << 24, u32::MAX]);
            assert!(table.set(&of(7), Standing::Refused));
            for tenant in tenants.clone() {
                let expected = if tenant == 7 { Standing::Refused } else { Standing::Clean };
                assert_eq!(view.standing(&of(tenant)), expected, "{tenant}");
            }
            for tenant in tenants.clone() {
                assert!(table.set(&of(tenant), Standing::Counted), "{tenant}");
            }
            assert!(tenants.clone().all(|tenant| view.standing(&of(tenant)) == Standing::Counted));
            assert!(tenants.clone().all(|tenant| table.set(&of(tenant), Standing::Clean)));
        }
        assert_eq!(view.standing(&key), Standing::Clean);
    }

    #[test]
    fn a_digest_of_zeros_is_as_any() {
        let (table, view) = both();
        let zero = Digest([0; 16]);
        assert!(table.set(&zero, Standing::Counted));
        assert_eq!(view.standing(&zero), Standing::Counted);
        assert!(table.set(&zero, Standing::Clean));
        assert_eq!(view.standing(&zero), Standing::Clean);
    }
}
