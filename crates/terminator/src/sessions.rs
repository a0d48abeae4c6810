//! Sessions of TLS 1.2 that clients name by a number, kept for all loops. Their number and their lifetime are bounded;
//! the oldest are forgotten first.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tls::SessionStore;
use zeroize::Zeroizing;

/// Number of parts, each with its own lock: so loops that keep sessions at the same time seldom wait for each other.
const PARTS: usize = 16;

/// Bounds of kept sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// At most this many sessions are kept at a time.
    pub sessions: u32,
    /// A session is kept for this time.
    pub lifetime: Duration,
}

/// The kept sessions of all loops.
pub(crate) struct SessionCache {
    settings: CacheSettings,
    hasher: RandomState,
    parts: [Mutex<Part>; PARTS],
}

#[derive(Default)]
struct Part {
    entries: HashMap<Vec<u8>, Entry>,
    /// Names in the order of their arrival; the number tells an entry from a later one with the same name.
    order: VecDeque<(u64, Vec<u8>)>,
    next: u64,
}

struct Entry {
    number: u64,
    until: Instant,
    sealed: Zeroizing<Vec<u8>>,
}

impl SessionCache {
    pub(crate) fn new(settings: CacheSettings) -> Self {
        Self { settings, hasher: RandomState::new(), parts: Default::default() }
    }

    pub(crate) fn settings(&self) -> CacheSettings {
        self.settings
    }

    fn part(&self, name: &[u8]) -> (MutexGuard<'_, Part>, usize) {
        let at = self.hasher.hash_one(name) as usize % PARTS;
        // The parts' bounds add up to the bound of all sessions.
        let most = (self.settings.sessions as usize + at) / PARTS;
        (self.parts[at].lock().unwrap_or_else(PoisonError::into_inner), most)
    }

    fn store_at(&self, name: Vec<u8>, sealed: &[u8], now: Instant) {
        let (mut part, most) = self.part(&name);
        let part = &mut *part;
        part.next += 1;
        let entry =
            Entry { number: part.next, until: now + self.settings.lifetime, sealed: sealed.to_vec().into() };
        part.order.push_back((part.next, name.clone()));
        part.entries.insert(name, entry);
        // Deleted entries stay in the order, so that this bounds both.
        let is_over = |part: &Part, number: &u64, name: &Vec<u8>| {
            part.entries.get(name).is_none_or(|entry| entry.number != *number || entry.until <= now)
        };
        while let Some((number, name)) = part.order.front() {
            if part.order.len() <= most && !is_over(part, number, name) {
                break;
            }
            let Some((number, name)) = part.order.pop_front() else { break };
            if part.entries.get(&name).is_some_and(|entry| entry.number == number) {
                part.entries.remove(&name);
            }
        }
    }

    fn retrieve_at(&self, name: &[u8], into: &mut [u8], now: Instant) -> bool {
        let (part, _) = self.part(name);
        match part.entries.get(name) {
            Some(entry) if entry.until > now && entry.sealed.len() == into.len() => {
                into.copy_from_slice(&entry.sealed);
                true
            }
            _ => false,
        }
    }
}

impl SessionStore for SessionCache {
    fn store(&self, name: Vec<u8>, entry: &[u8]) {
        self.store_at(name, entry, Instant::now());
    }

    fn retrieve(&self, name: &[u8], into: &mut [u8]) -> bool {
        self.retrieve_at(name, into, Instant::now())
    }

    fn delete(&self, name: &[u8]) {
        self.part(name).0.entries.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cache: &SessionCache) -> (usize, usize) {
        let parts = cache.parts.iter().map(|part| part.lock().unwrap());
        parts.fold((0, 0), |sum, part| (sum.0 + part.entries.len(), sum.1 + part.order.len()))
    }

    #[test]
    fn no_more_are_kept_than_allowed_and_none_for_longer() {
        let lifetime = Duration::from_secs(100);
        let cache = SessionCache::new(CacheSettings { sessions: 100, lifetime });
        let now = Instant::now();
        let name = |number: u32| number.to_be_bytes().to_vec();
        for number in 0..10_000 {
            cache.store_at(name(number), &[number as u8; 8], now);
            // A look-up of a missing name leaves nothing behind.
            assert!(!cache.retrieve_at(&name(number + 50_000), &mut [0; 8], now));
            assert!(counts(&cache).0 <= 100 && counts(&cache).1 <= 100);
        }
        assert_eq!(counts(&cache), (100, 100));
        let mut into = [0; 8];
        assert!(cache.retrieve_at(&name(9_999), &mut into, now) && into == [9_999_u32 as u8; 8]);
        assert!(!cache.retrieve_at(&name(0), &mut into, now), "the oldest went");
        assert!(!cache.retrieve_at(&name(9_999), &mut [0; 7], now), "another length");
        assert!(cache.retrieve_at(&name(9_999), &mut into, now + lifetime - Duration::from_secs(1)));
        assert!(!cache.retrieve_at(&name(9_999), &mut into, now + lifetime));
        cache.delete(&name(9_999));
        assert!(!cache.retrieve_at(&name(9_999), &mut into, now));
        // Storing and deleting in turn does not make the order grow.
        for _ in 0..10_000 {
            cache.store_at(name(1), &[1; 8], now);
            cache.delete(&name(1));
        }
        assert!(counts(&cache).1 <= 100);
        // Storing the same name again replaces the entry.
        cache.store_at(name(2), &[1; 8], now);
        cache.store_at(name(2), &[2; 8], now);
        assert!(cache.retrieve_at(&name(2), &mut into, now) && into == [2; 8]);
    }

    #[test]
    fn a_cache_for_fewer_than_its_parts_keeps_no_more() {
        let cache = SessionCache::new(CacheSettings { sessions: 3, lifetime: Duration::from_secs(9) });
        for number in 0..1_000_u32 {
            cache.store(number.to_be_bytes().to_vec(), &[0; 4]);
        }
        assert!(counts(&cache).0 <= 3);
    }
}
