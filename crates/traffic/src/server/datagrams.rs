//! Datagrams, counted by run.

use crate::header::DATAGRAM_HEAD_BYTES;
use crate::pattern::PatternPosition;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Upper bound of runs at a time.
const RUNS_MAX: usize = 64;
/// Size of the window below the highest number, within which a repeated datagram is told from a late one.
const WINDOW: u64 = 4096;
const WINDOW_WORDS: usize = (WINDOW / 64) as usize;
/// Length of a run's counts in a message, in bytes.
pub(crate) const COUNTS_BYTES: usize = 40;

/// Counts of a run's datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Datagrams that arrived, each counted once.
    pub received: u64,
    /// Bytes of the datagrams in `received`.
    pub bytes: u64,
    /// Datagrams that had arrived before.
    pub duplicates: u64,
    /// Datagrams in `received` that arrived after one of a higher number.
    pub late: u64,
    /// Datagrams of a wrong length or with wrong contents.
    pub wrong: u64,
}

impl Counts {
    /// The counts as a message: integers of 8 bytes, big endian.
    pub fn bytes(&self) -> [u8; COUNTS_BYTES] {
        let mut bytes = [0; COUNTS_BYTES];
        let all = [self.received, self.bytes, self.duplicates, self.late, self.wrong];
        for (into, count) in bytes.chunks_exact_mut(8).zip(all) {
            into.copy_from_slice(&count.to_be_bytes());
        }
        bytes
    }

    /// Reads the counts from a message.
    pub fn read(bytes: &[u8; COUNTS_BYTES]) -> Self {
        let mut all =
            bytes.chunks_exact(8).map(|count| count.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
        let mut next = || all.next().unwrap_or(0);
        Self { received: next(), bytes: next(), duplicates: next(), late: next(), wrong: next() }
    }
}

/// A run: datagrams of one length.
#[derive(Debug)]
pub(crate) struct Run {
    length: usize,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    counts: Counts,
    /// One more than the highest number that arrived.
    next: u64,
    /// A bit for each of the [`WINDOW`] numbers below `next`, by number modulo the window: set if that datagram
    /// arrived.
    window: [u64; WINDOW_WORDS],
}

impl Run {
    pub fn new(length: u32) -> Self {
        let seen = Seen { counts: Counts::default(), next: 0, window: [0; WINDOW_WORDS] };
        Self { length: length as usize, seen: Mutex::new(seen) }
    }

    pub fn counts(&self) -> Counts {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).counts
    }

    /// Counts a datagram by its number, and checks its length and contents. `contents` begins behind the head.
    fn take(&self, number: u64, contents: &[u8]) {
        let is_right = contents.len() + DATAGRAM_HEAD_BYTES == self.length
            && PatternPosition::of_requests(number).check(contents);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_right {
            seen.counts.wrong += 1;
            return;
        }
        if seen.is_new(number) {
            seen.counts.received += 1;
            seen.counts.bytes += self.length as u64;
        } else {
            seen.counts.duplicates += 1;
        }
    }
}

impl Seen {
    /// Whether a number is new; a late one is counted. A number below the window always counts as new.
    fn is_new(&mut self, number: u64) -> bool {
        let (word, bit) = ((number % WINDOW / 64) as usize, 1_u64 << (number % 64));
        if number >= self.next {
            // The numbers between have not arrived.
            if number - self.next >= WINDOW {
                self.window = [0; WINDOW_WORDS];
            } else {
                for between in self.next..number {
                    self.window[(between % WINDOW / 64) as usize] &= !(1 << (between % 64));
                }
            }
            self.window[word] |= bit;
            self.next = number.saturating_add(1);
            return true;
        }
        self.counts.late += 1;
        if self.next - number > WINDOW {
            return true;
        }
        let is_new = self.window[word] & bit == 0;
        self.window[word] |= bit;
        self.counts.late -= u64::from(!is_new);
        is_new
    }
}

/// The present runs, by number.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<HashMap<u64, Arc<Run>>>);

impl Runs {
    /// Begins a run; None if its number is taken or there are [`RUNS_MAX`].
    pub fn begin(&self, number: u64, length: u32) -> Option<Arc<Run>> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= RUNS_MAX || runs.contains_key(&number) {
            return None;
        }
        let run = Arc::new(Run::new(length));
        runs.insert(number, Arc::clone(&run));
        Some(run)
    }

    /// Ends the run of this number.
    pub fn end(&self, number: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    /// Counts a datagram in its run; false if it belongs to no run.
    pub fn take(&self, datagram: &[u8]) -> bool {
        let Some((head, contents)) = datagram.split_first_chunk::<DATAGRAM_HEAD_BYTES>() else {
            return false;
        };
        let [r0, r1, r2, r3, r4, r5, r6, r7, number @ ..] = *head;
        let run = u64::from_be_bytes([r0, r1, r2, r3, r4, r5, r6, r7]);
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(run) = runs.get(&run) else { return false };
        run.take(u64::from_be_bytes(number), contents);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn datagram(run: u64, number: u64, length: usize) -> Vec<u8> {
        let mut bytes = [run.to_be_bytes(), number.to_be_bytes()].concat();
        bytes.extend_from_slice(PatternPosition::of_requests(number).bytes(length - DATAGRAM_HEAD_BYTES));
        bytes
    }

    #[test]
    fn datagrams_are_counted_by_run() {
        let runs = Runs::default();
        let run = runs.begin(7, 64).unwrap();
        assert!(runs.begin(7, 64).is_none());
        for number in [0, 1, 3, 2, 3, 5, 5] {
            assert!(runs.take(&datagram(7, number, 64)));
        }
        let good = Counts { received: 5, bytes: 5 * 64, duplicates: 2, late: 1, wrong: 0 };
        assert_eq!(run.counts(), good);
        assert_eq!(Counts::read(&good.bytes()), good);
        // Wrong: a length, a byte of the contents, a number with another one's contents.
        assert!(runs.take(&datagram(7, 9, 65)));
        let mut changed = datagram(7, 9, 64);
        changed[63] ^= 1;
        assert!(runs.take(&changed));
        let mut renumbered = datagram(7, 9, 64);
        renumbered[15] = 8;
        assert!(runs.take(&renumbered));
        assert_eq!(run.counts(), Counts { wrong: 3, ..good });
        // None of ours: another run, too short for a head.
        assert!(!runs.take(&datagram(8, 0, 64)) && !runs.take(&[0; 15]) && !runs.take(&[]));
        runs.end(7);
        assert!(!runs.take(&datagram(7, 10, 64)));
    }

    #[test]
    fn runs_have_a_bound() {
        let runs = Runs::default();
        assert!((0..RUNS_MAX as u64).all(|number| runs.begin(number, 16).is_some()));
        assert!(runs.begin(1 << 40, 16).is_none());
        runs.end(3);
        assert!(runs.begin(1 << 40, 16).is_some());
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_set(steps in proptest::collection::vec((0u64..6, 0u64..9000), 1..400)) {
            let run = Run::new(16);
            let (mut known, mut next, mut expected) = (BTreeSet::new(), 0, Counts::default());
            for (kind, number) in steps {
                // Mostly near the highest, sometimes far ahead or behind.
                let number = match kind {
                    0 => number,
                    1 => next + number,
                    2 => next,
                    _ => (next + 3).saturating_sub(number % 70),
                };
                run.take(number, &[]);
                let is_behind = number < next;
                if is_behind && next - number <= WINDOW && known.contains(&number) {
                    expected.duplicates += 1;
                } else {
                    expected.received += 1;
                    expected.bytes += 16;
                    expected.late += u64::from(is_behind);
                }
                known.insert(number);
                next = next.max(number + 1);
            }
            prop_assert_eq!(run.counts(), expected);
        }
    }
}
