//! Keys that seal the session tickets a server gives its clients (RFC 5077; RFC 8446, 4.6.1).

use s2n_tls::config::Builder;
use s2n_tls::error::Error;
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};
use zeroize::Zeroizing;

/// At most this many keys at a time are given to the library.
const KEYS_MAX: usize = 48;

/// A key that seals tickets.
#[derive(Clone, PartialEq, Eq)]
pub struct TicketKey {
    /// The name of the key in tickets: random, so that no two keys have the same.
    pub name: [u8; 16],
    /// The secret key, of 32 bytes.
    pub key: Zeroizing<[u8; 32]>,
    /// Second since 1970 from which the key is used.
    pub since: u64,
}

impl fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketKey").field("since", &self.since).finish_non_exhaustive()
    }
}

/// The keys of a server's tickets, one for each period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketKeys {
    /// Time for which a key is the newest. Tickets are made with a key for two periods, ever fewer in the second, and
    /// accepted for three.
    pub period: Duration,
    /// The keys, the newest last; those of the last [`TicketKeys::PERIODS`] periods are of use.
    pub keys: Vec<TicketKey>,
}

impl TicketKeys {
    /// Number of periods for which a key is of use.
    pub const PERIODS: u32 = 3;

    pub(crate) fn add_to(&self, builder: &mut Builder) -> Result<(), Error> {
        builder.set_ticket_key_encrypt_decrypt_lifetime(2 * self.period)?;
        builder.set_ticket_key_decrypt_lifetime(self.period)?;
        for key in self.keys.iter().rev().take(KEYS_MAX) {
            let since = UNIX_EPOCH + Duration::from_secs(key.since);
            builder.add_session_ticket_key(&key.name, &key.key[..], since)?;
        }
        Ok(())
    }
}
