//! Configurations whose tickets belong to one name (RFC 6066, section 3; RFC 8446, section 4.6.1). A session begun
//! under a name cannot be resumed under another one, even if both have the same certificate.
//!
//! The library puts no name into a ticket, but takes only tickets whose key it has. So each name that clients send has
//! keys of its own, derived from the server's keys. They are in a configuration of its own, which is made when the name
//! is first used.

use crate::ticket::{TicketKey, TicketKeys};
use hmac::{Hmac, Mac};
use s2n_tls::config::Config;
use s2n_tls::error::Error;
use sha2::Sha256;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// At most this many configurations in each of two generations. Clients choose names freely if a wildcard or a default
/// answers them. The names used least are forgotten first; their configurations are made anew if needed.
const NAMES_MAX: usize = 4096;

/// The key of a configuration: the name, and whether it has the ECDSA chain alone.
pub(crate) type Key = (Box<str>, bool);

/// Configurations by name, in two generations.
#[derive(Default)]
pub(crate) struct Bound(Mutex<Generations>);

type Configs = HashMap<Key, Config>;

#[derive(Default)]
struct Generations {
    young: Configs,
    old: Configs,
}

impl Bound {
    /// The configuration for a name, made by `make` if there is none.
    ///
    /// # Errors
    /// The error of `make`.
    pub(crate) fn get(
        &self,
        key: Key,
        make: impl FnOnce(&str) -> Result<Config, Error>,
    ) -> Result<Config, Error> {
        let generations = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = generations().find(&key);
        if let Some((found, _forgotten)) = found {
            return Ok(found);
        }
        // Made without the lock, so that other handshakes go on meanwhile; if two threads make the same configuration,
        // no harm is done.
        let made = make(&key.0)?;
        // Dropping thousands of configurations takes a while, so it also happens without the lock.
        let forgotten = generations().keep(key, made.clone());
        drop(forgotten);
        Ok(made)
    }
}

impl Generations {
    /// The configuration, moved to the young generation; and the configurations that are forgotten for it.
    fn find(&mut self, key: &Key) -> Option<(Config, Configs)> {
        if let Some(found) = self.young.get(key) {
            return Some((found.clone(), Configs::new()));
        }
        let (key, found) = self.old.remove_entry(key)?;
        let forgotten = self.keep(key, found.clone());
        Some((found, forgotten))
    }

    /// Adds a configuration to the young generation. Returns the configurations that are forgotten for it, for the
    /// caller to drop without the lock.
    #[must_use]
    fn keep(&mut self, key: Key, config: Config) -> Configs {
        let mut forgotten = Configs::new();
        if self.young.len() >= NAMES_MAX {
            forgotten = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
        }
        self.young.insert(key, config);
        forgotten
    }
}

/// Ticket keys of one name, derived from each of the server's keys and the name by HMAC-SHA-256.
pub(crate) fn keys_of(name: &str, keys: &TicketKeys) -> TicketKeys {
    let derived = keys.keys.iter().map(|key| {
        let mut of_name = TicketKey { name: [0; 16], key: Zeroizing::new([0; 32]), since: key.since };
        of_name.name.copy_from_slice(&digest(key, b"name", name)[..16]);
        of_name.key.copy_from_slice(&digest(key, b"key", name)[..]);
        of_name
    });
    TicketKeys { period: keys.period, keys: derived.collect() }
}

fn digest(key: &TicketKey, purpose: &[u8], name: &str) -> Zeroizing<[u8; 32]> {
    // HMAC takes a key of any length.
    let mut digest = match Hmac::<Sha256>::new_from_slice(&key.key[..]) {
        Ok(digest) => digest,
        Err(_) => unreachable!("HMAC takes keys of every length"),
    };
    for part in [b"cryptand ticket".as_slice(), purpose, &key.name, name.as_bytes()] {
        digest.update(&(part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    Zeroizing::new(digest.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use s2n_tls::config::Builder;
    use std::time::Duration;

    #[test]
    fn each_name_has_keys_of_its_own_and_the_same_ones_each_time() {
        let key = |byte| TicketKey { name: [byte; 16], key: Zeroizing::new([byte; 32]), since: 7 };
        let keys = TicketKeys { period: Duration::from_secs(3600), keys: vec![key(1), key(2)] };
        let one = keys_of("one.test", &keys);
        assert!(one == keys_of("one.test", &keys));
        let two = keys_of("two.test", &keys);
        for (one, other) in [(&one, &two), (&one, &keys)] {
            for (one, other) in one.keys.iter().zip(&other.keys) {
                assert!(one.name != other.name && one.key != other.key && one.since == other.since);
            }
        }
    }

    #[test]
    fn names_that_are_not_said_any_more_are_forgotten() {
        let bound = Bound::default();
        let made = std::cell::Cell::new(0);
        let said = |name: String| {
            let make = |_: &str| {
                made.set(made.get() + 1);
                // The system's certificates are a megabyte for each.
                let mut builder = Builder::new();
                builder.with_system_certs(false)?;
                builder.build()
            };
            bound.get((name.into(), false), make).unwrap();
        };
        for number in 0..3 * NAMES_MAX {
            said(number.to_string());
            said("always".to_owned());
        }
        assert_eq!(made.get(), 3 * NAMES_MAX + 1);
        let generations = bound.0.lock().unwrap();
        assert!(generations.young.len() + generations.old.len() <= 2 * NAMES_MAX);
    }
}
