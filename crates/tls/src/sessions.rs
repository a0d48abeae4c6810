//! Sessions that a server keeps, for clients of TLS 1.2 that take no tickets (RFC 5246, 7.3).

use std::fmt;
use std::sync::Arc;

/// Where sessions are kept. Entries are sealed with the keys for tickets; names of sessions hold the policy and the
/// server's name, so that a session opens nothing else. It is called in the middle of handshakes, by all threads that
/// have some, and must not wait.
pub trait SessionStore: Send + Sync {
    /// Keeps an entry under a name.
    fn store(&self, name: Vec<u8>, entry: &[u8]);
    /// Copies the entry of a name to where it is wanted, if there is one of that length.
    fn retrieve(&self, name: &[u8], into: &mut [u8]) -> bool;
    /// Forgets what is under a name.
    fn delete(&self, name: &[u8]);
}

/// That sessions are kept.
#[derive(Clone)]
pub struct Sessions {
    /// Where.
    pub store: Arc<dyn SessionStore>,
    /// Whether clients that take tickets get them as well.
    pub with_tickets: bool,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("with_tickets", &self.with_tickets).finish_non_exhaustive()
    }
}
