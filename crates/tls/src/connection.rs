//! The server's end of a connection, from the client's first byte on.

#[cfg(test)]
mod tests;

use crate::acceptor::{Acceptor, Inner};
use crate::alpn::Protocols;
use crate::clients::{self, ClientChain, Refusal};
use crate::end::{ConnectionSide, End};
use crate::error::{Cause, Failure};
use crate::exchange::Exchange;
use crate::ffi::{self, FATAL, WARNING};
use s2n_tls::enums::{Mode, Version};
use s2n_tls::error::{Error, ErrorType};
use std::sync::Arc;
use std::time::Duration;

/// Header of a record with an alert in the clear; the alert's level and number follow (RFC 8446, 5.1 and 6).
const PLAIN_ALERT: [u8; 5] = [21, 3, 3, 0, 2];
const CLOSE_NOTIFY: u8 = 0;
const HANDSHAKE_FAILURE: u8 = 40;
const INTERNAL_ERROR: u8 = 80;
const USER_CANCELED: u8 = 90;
const UNRECOGNIZED_NAME: u8 = 112;
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// The server's end of a connection.
pub type Connection = End<Server>;

/// Holds the acceptor, since the library calls back into it during the handshake.
pub struct Server {
    _acceptor: Arc<Inner>,
}

impl Connection {
    /// The server's end of a new connection.
    ///
    /// # Errors
    /// [`Cause::Internal`] if the library has no memory.
    pub fn new(acceptor: &Acceptor) -> Result<Self, Failure> {
        let server = Server { _acceptor: Arc::clone(&acceptor.inner) };
        Self::made(Mode::Server, &acceptor.inner.front, server, |_| Ok(()))
    }

    /// Sets the application protocols that the server speaks; a client that offers only others is refused. To be called
    /// before the handshake.
    pub fn offer(&mut self, protocols: &Protocols) {
        if let Some(exchange) = self.exchange() {
            exchange.protocols = Some(protocols.clone());
        }
    }

    /// The client's certificates that the handshake waits to have judged; they are given out once.
    pub fn take_client_chain(&mut self) -> Option<ClientChain> {
        let chain = self.exchange()?.client_chain.take()?;
        self.is_judging = true;
        Some(chain)
    }

    /// The verdict on the certificates that were taken: the client is let in or refused. Call [`Connection::handshake`]
    /// afterwards.
    pub fn judge(&mut self, verdict: Result<(), Refusal>) {
        if std::mem::take(&mut self.is_judging)
            && let Some(exchange) = self.exchange()
        {
            exchange.verdict = Some(verdict);
        }
    }

    /// The client's certificates in DER, its own first, once the handshake is over: they were judged, and the client
    /// has the private key. `None` if the client was not asked for a certificate or showed none.
    pub fn client_certificates(&self) -> Option<Vec<Vec<u8>>> {
        let library = self.wired.library_now();
        let is_verified =
            library.application_context::<Exchange>().is_some_and(|exchange| exchange.is_client_verified);
        if !is_verified || !library.handshake_complete() {
            return None;
        }
        clients::split(library.client_cert_chain_bytes().ok()??)
    }

    /// Frees the memory for records until the next record comes. To be called after the handshake, when no data has
    /// come for a while.
    pub fn rest(&mut self) {
        // The library refuses while part of a record is under way.
        let _ = self.wired.library().release_buffers();
    }

    /// How long a failed connection must stay open, so that the time of its end does not tell what was wrong.
    pub fn delay(&self) -> Duration {
        self.wired.library_now().remaining_blinding_delay().unwrap_or_default()
    }

    /// Gives up a handshake that takes too long. [`Connection::outgoing`] then holds an alert: `internal_error` if the
    /// server's side was waited for, else `user_canceled` and the end (RFC 8446, 6.1). The connection is over.
    pub fn cancel(&mut self) {
        if self.is_asking || self.is_judging {
            self.tell(&[[FATAL, INTERNAL_ERROR]]);
        } else {
            self.tell(&[[WARNING, USER_CANCELED], [WARNING, CLOSE_NOTIFY]]);
        }
    }

    /// Sends alerts, each a level and a number, under the keys that the connection has by now.
    fn tell(&mut self, alerts: &[[u8; 2]]) {
        // The library knows no version before it has answered.
        let is_plain = !self.has_sent && self.outgoing().is_empty();
        for alert in alerts {
            if is_plain {
                let buffers = self.wired.buffers();
                buffers.send(&PLAIN_ALERT);
                buffers.send(alert);
            } else {
                ffi::alert(self.wired.library(), *alert);
            }
        }
    }

    /// Why the client is refused, if its certificate was the reason.
    fn refusal(&mut self, name: &str) -> Option<Refusal> {
        if name == "S2N_ERR_MISSING_CLIENT_CERT" {
            let is_tls13 = matches!(self.wired.library_now().actual_protocol_version(), Ok(Version::TLS13));
            return Some(Refusal::none(is_tls13));
        }
        self.exchange()?.refusal.take().or_else(|| Refusal::of_library(name))
    }
}

impl ConnectionSide for Server {
    fn failure(end: &mut Connection, error: &Error) -> Failure {
        let is_unknown_protocol = end.exchange().is_some_and(|exchange| exchange.is_unknown_protocol);
        let (name, alert) = (error.name(), end.wired.library_now().alert());
        let is_unknown_name = end.exchange().is_some_and(|exchange| exchange.is_unknown_name);
        if let Some(refusal) = end.refusal(name) {
            ffi::alert(end.wired.library(), [FATAL, refusal.alert]);
            return Failure { cause: Cause::Client, name: refusal.name };
        }
        let cause = match error.kind() {
            _ if is_unknown_name => Cause::UnknownName,
            _ if is_unknown_protocol => Cause::UnknownProtocol,
            ErrorType::Application => Cause::Key,
            ErrorType::ConnectionClosed | ErrorType::IOError => Cause::Cut,
            ErrorType::Alert => Cause::Alert(alert.unwrap_or_default()),
            // The library reports as internal that a client has no group of the policy.
            ErrorType::ProtocolError | ErrorType::InternalError if has_nothing_in_common(name) => {
                Cause::NothingInCommon
            }
            ErrorType::ProtocolError => Cause::Protocol,
            ErrorType::InternalError if is_of_bytes(name) => Cause::Protocol,
            _ => Cause::Internal,
        };
        // The library itself sends hardly any alert. Before the first byte of an answer, an alert can be sent in the
        // clear.
        let alert = match cause {
            Cause::UnknownName => Some(UNRECOGNIZED_NAME),
            Cause::UnknownProtocol => Some(NO_APPLICATION_PROTOCOL),
            Cause::NothingInCommon => Some(HANDSHAKE_FAILURE),
            _ => None,
        };
        if cause == Cause::Key {
            end.tell(&[[FATAL, INTERNAL_ERROR]]);
        } else if let Some(alert) = alert.filter(|_| !end.has_sent && end.outgoing().is_empty()) {
            end.tell(&[[FATAL, alert]]);
        }
        let is_ours = matches!(cause, Cause::UnknownName | Cause::UnknownProtocol | Cause::Key);
        let name = if is_ours { "" } else { name };
        Failure { cause, name }
    }
}

fn has_nothing_in_common(name: &str) -> bool {
    [
        "CIPHER_NOT_SUPPORTED",
        "NO_VALID_SIGNATURE_SCHEME",
        "PROTOCOL_VERSION_UNSUPPORTED",
        "UNKNOWN_PROTOCOL_VERSION",
        "INVALID_SUPPORTED_GROUP",
        "ECDHE_UNSUPPORTED_CURVE",
        "NO_SUPPORTED_LIBRARY",
    ]
    .iter()
    .any(|part| name.contains(part))
}

/// Whether an error that the library calls internal comes from the other side's bytes. Examples: a message that ends
/// before its fields do, a length that fits no record or field, a key share that is no key.
fn is_of_bytes(name: &str) -> bool {
    name.contains("STUFFER")
        || ["S2N_ERR_SAFETY", "S2N_ERR_NULL", "S2N_ERR_INTEGER_OVERFLOW", "S2N_ERR_PQ_CRYPTO"].contains(&name)
}
