//! Keys under which a server hands sessions to its clients (RFC 5077; RFC 8446, 4.6.1).

use s2n_tls::config::Builder;
use s2n_tls::error::Error;
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};
use zeroize::Zeroizing;

/// Most keys at a time that the library takes.
const KEYS_MAX: usize = 48;

/// A key for tickets.
#[derive(Clone, PartialEq, Eq)]
pub struct TicketKey {
    /// What stands in tickets to name it: random, so that two keys never have the same.
    pub name: [u8; 16],
    /// The key.
    pub key: Zeroizing<[u8; 32]>,
    /// Second since 1970 from which on it is used.
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
    /// How long a key is the newest. Tickets are made with it for two periods, ever fewer in the second, and taken for
    /// three.
    pub period: Duration,
    /// The keys; the last [`TicketKeys::PERIODS`] periods' are of use.
    pub keys: Vec<TicketKey>,
}

impl TicketKeys {
    /// For how many periods a key is of use.
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
