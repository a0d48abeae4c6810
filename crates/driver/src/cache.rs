//! Cache of TLS sessions for resumption.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// A session as the TLS library serialises it.
pub(crate) type Session = Zeroizing<Vec<u8>>;

struct Entry {
    name: usize,
    session: Session,
    is_used_once: bool,
    since: Instant,
}

/// Sessions by the index of the server's name, the oldest first.
pub(crate) struct Cache {
    entries: BTreeMap<u64, Entry>,
    of_name: HashMap<usize, VecDeque<u64>>,
    next: u64,
    size: usize,
    lifetime: Duration,
}

impl Cache {
    /// A cache of at most `size` sessions, each valid for `lifetime`.
    pub(crate) fn new(size: usize, lifetime: Duration) -> Self {
        Self { entries: BTreeMap::new(), of_name: HashMap::new(), next: 0, size, lifetime }
    }

    /// Adds a session, for one use or for several; drops the oldest one if there are more than `size`.
    pub(crate) fn keep(&mut self, name: usize, session: Session, is_used_once: bool, now: Instant) {
        self.insert(Entry { name, session, is_used_once, since: now });
        while self.entries.len() > self.size {
            let Some((number, oldest)) = self.entries.pop_first() else { return };
            self.forget(oldest.name, number);
        }
    }

    fn insert(&mut self, entry: Entry) {
        self.of_name.entry(entry.name).or_default().push_back(self.next);
        self.entries.insert(self.next, entry);
        self.next += 1;
    }

    fn forget(&mut self, name: usize, number: u64) {
        if let Some(numbers) = self.of_name.get_mut(&name) {
            // The oldest session of all is the oldest of its name.
            if let Some(place) = numbers.iter().position(|other| *other == number) {
                numbers.remove(place);
            }
        }
    }

    /// The session of a name that was unused for longest; None if no valid one is left. A session for several uses
    /// stays, behind the others of its name.
    pub(crate) fn next(&mut self, name: usize, now: Instant) -> Option<Session> {
        loop {
            let number = self.of_name.get_mut(&name)?.pop_front()?;
            let Some(entry) = self.entries.remove(&number) else { continue };
            if now.saturating_duration_since(entry.since) > self.lifetime {
                continue;
            }
            if entry.is_used_once {
                return Some(entry.session);
            }
            let session = entry.session.clone();
            self.insert(entry);
            return Some(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(byte: u8) -> Session {
        Zeroizing::new(vec![byte])
    }

    #[test]
    fn the_oldest_goes_first_and_names_do_not_mix() {
        let now = Instant::now();
        let mut cache = Cache::new(3, Duration::from_secs(10));
        for (name, byte) in [(0, 1), (0, 2), (1, 3), (0, 4)] {
            cache.keep(name, session(byte), byte == 2, now);
        }
        assert_eq!(cache.next(0, now), Some(session(2)), "1 was too many");
        assert_eq!(cache.next(2, now), None);
        // Used in turn, as long as they live.
        cache.keep(0, session(5), false, now + Duration::from_secs(5));
        let mut used = |at: u64| cache.next(0, now + Duration::from_secs(at)).map(|found| found[0]);
        assert_eq!([used(6), used(7), used(8), used(11), used(12)], [4, 5, 4, 5, 5].map(Some));
        assert_eq!(used(16), None);
        assert_eq!(cache.next(1, now), Some(session(3)));
    }

    #[test]
    fn a_cache_of_nothing_keeps_nothing() {
        let mut cache = Cache::new(0, Duration::MAX);
        cache.keep(0, session(1), true, Instant::now());
        assert_eq!(cache.next(0, Instant::now()), None);
    }
}
