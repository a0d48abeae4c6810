//! Sessions that a server keeps, for clients of TLS 1.2 that take no tickets (RFC 5246, 7.3).

use std::fmt;
use std::sync::Arc;

/// A store of sessions. Entries are sealed with the ticket keys. Names of sessions contain the policy and the server's
/// name, so that a session resumes under no other. Handshakes of many threads call the store, so it must not block.
pub trait SessionStore: Send + Sync {
    /// Keeps an entry under a name.
    fn store(&self, name: Vec<u8>, entry: &[u8]);
    /// Copies the entry under this name into `into`; false if there is none of that length.
    fn retrieve(&self, name: &[u8], into: &mut [u8]) -> bool;
    /// Forgets the entry under this name.
    fn delete(&self, name: &[u8]);
}

/// The settings for keeping sessions.
#[derive(Clone)]
pub struct Sessions {
    /// Where sessions are kept.
    pub store: Arc<dyn SessionStore>,
    /// Whether clients that take tickets get them as well.
    pub with_tickets: bool,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("with_tickets", &self.with_tickets).finish_non_exhaustive()
    }
}
