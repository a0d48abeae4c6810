//! Prepared wrapping keys: (master key xor control-vector half), scheduled once and kept.
//!
//! A domain sees few different control vectors and many requests under each of them, so the cache is
//! a short list that is searched from its start. It is bounded; the entry that came first goes first,
//! and is wiped when the batch that still uses it ends.

use std::sync::Arc;

use engine::CipherKey;

use crate::registers::Age;

/// The prepared schedules of one domain.
#[derive(Default)]
pub(crate) struct Schedules {
    entries: Vec<Entry>,
    next_out: usize,
}

struct Entry {
    half: u64,
    age: Age,
    key: Arc<CipherKey>,
}

impl Schedules {
    /// The schedule for this half, if it is kept.
    pub(crate) fn find(&self, age: Age, half: u64) -> Option<Arc<CipherKey>> {
        let entry = self.entries.iter().find(|entry| entry.half == half && entry.age == age)?;
        Some(Arc::clone(&entry.key))
    }

    /// Keeps a schedule.
    pub(crate) fn keep(&mut self, age: Age, half: u64, key: CipherKey) -> Arc<CipherKey> {
        let key = Arc::new(key);
        let entry = Entry { half, age, key: Arc::clone(&key) };
        if self.entries.len() < SCHEDULES_MAX {
            self.entries.push(entry);
        } else {
            self.entries[self.next_out] = entry;
            self.next_out = (self.next_out + 1) % SCHEDULES_MAX;
        }
        key
    }
}

/// Schedules kept for one domain: the halves of all default control vectors, twice over.
const SCHEDULES_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use engine::{CipherAlgorithm, Engine, Options};

    use super::*;

    #[test]
    fn it_is_bounded_and_the_oldest_goes_first() {
        let engine = Engine::new(Options::default()).unwrap();
        let mut schedules = Schedules::default();
        let half = |index: usize| index as u64;
        let kept: Vec<_> = (0..SCHEDULES_MAX + 10)
            .map(|index| {
                let key = engine.cipher_key_internal(CipherAlgorithm::Tdes3, &[index as u8; 24]).unwrap();
                schedules.keep(Age::Current, half(index), key)
            })
            .collect();
        assert_eq!(schedules.entries.len(), SCHEDULES_MAX);
        for (index, key) in kept.iter().enumerate() {
            let found = schedules.find(Age::Current, half(index));
            assert_eq!(found.is_some(), index >= 10, "{index}");
            assert!(found.is_none_or(|found| Arc::ptr_eq(&found, key)));
            assert!(schedules.find(Age::Old, half(index)).is_none());
        }
    }
}
