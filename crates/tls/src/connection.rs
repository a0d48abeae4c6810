//! The server's end of a connection, from the client's first byte on.

use crate::acceptor::{Acceptor, Inner};
use crate::alpn::Protocols;
use crate::clients::{self, ClientChain, Refusal};
use crate::error::{Cause, Failure};
use crate::exchange::{Exchange, KeyNumber};
use crate::ffi::{self, FATAL, WARNING, Wired};
use crate::key::KeyRequest;
use crate::stream::{self, Read, Unwritten};
use s2n_tls::enums::{Blinding, Version};
use s2n_tls::error::{Error, ErrorType};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;
use zeroize::Zeroizing;

/// Header of a record with an alert in the clear; the alert's level and number follow (RFC 8446, 5.1 and 6).
const PLAIN_ALERT: [u8; 5] = [21, 3, 3, 0, 2];
const CLOSE_NOTIFY: u8 = 0;
const HANDSHAKE_FAILURE: u8 = 40;
const INTERNAL_ERROR: u8 = 80;
const USER_CANCELED: u8 = 90;
const UNRECOGNIZED_NAME: u8 = 112;
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// The server's end of a connection.
pub struct Connection {
    wired: Wired,
    /// Kept alive, since the library calls back into the acceptor during the handshake.
    _acceptor: Arc<Inner>,
    /// Whether bytes were already sent to the client.
    has_answered: bool,
    /// Whether a private key operation was given out and is not answered.
    is_asking: bool,
    /// Whether a client's certificates were given out and are not judged.
    is_judging: bool,
}

/// State of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The handshake is over: data may follow.
    Done,
    /// The handshake goes on when more bytes of the other side arrive.
    NeedsBytes,
    /// The handshake goes on when its private key operation is answered ([`Connection::take_request`],
    /// [`Connection::answer`]).
    NeedsKey,
    /// The handshake goes on when the client's certificates are judged ([`Connection::take_client_chain`],
    /// [`Connection::judge`]).
    NeedsVerdict,
}

/// What a handshake agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The name that the client asked for, as the client sent it; it may hold any characters.
    pub server_name: Option<String>,
    /// `TLS1.3` and so on; empty until the handshake is over. All fields below are empty until then, too.
    pub version: &'static str,
    /// The cipher suite, by OpenSSL's name.
    pub cipher: String,
    /// The group of the key agreement; `None` with RSA key exchange.
    pub group: Option<String>,
    /// Whether an earlier session is resumed.
    pub is_resumed: bool,
    /// The number of the private key of the chain that was shown.
    pub key: Option<u32>,
    /// The application protocol; `None` if the client offered none, or the server has no list.
    pub protocol: Option<String>,
}

impl Facts {
    /// The facts of a connection of the library, as far as it has agreed on them.
    pub(crate) fn of(library: &s2n_tls::connection::Connection) -> Self {
        let mut facts = Facts { server_name: library.server_name().map(str::to_owned), ..Facts::default() };
        if !library.handshake_complete() {
            return facts;
        }
        facts.version = library.actual_protocol_version().map_or("", version_name);
        facts.cipher = library.cipher_suite().unwrap_or_default().to_owned();
        facts.group = library.selected_key_exchange_group().map(str::to_owned);
        facts.is_resumed = library.resumed();
        facts.key = library
            .selected_cert()
            .and_then(|chain| chain.application_context::<KeyNumber>().map(|number| number.0));
        // A name of the server's own list, so it is text.
        facts.protocol =
            library.application_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
        facts
    }
}

impl Connection {
    /// The server's end of a new connection.
    ///
    /// # Errors
    /// [`Cause::Internal`] if the library has no memory.
    pub fn new(acceptor: &Acceptor) -> Result<Self, Failure> {
        let make = || -> Result<Wired, Error> {
            let mut wired = Wired::new()?;
            let library = wired.library();
            library.set_config(acceptor.inner.front.clone())?;
            library.set_blinding(Blinding::SelfService)?;
            // The library is polled when it may go on, so that it has nobody to wake.
            library.set_waker(Some(Waker::noop()))?;
            library.set_receive_buffering(true)?;
            library.prefer_throughput()?;
            library.set_application_context(Exchange::default());
            Ok(wired)
        };
        let wired = make().map_err(|error| Failure { cause: Cause::Internal, name: error.name() })?;
        Ok(Self {
            wired,
            _acceptor: Arc::clone(&acceptor.inner),
            has_answered: false,
            is_asking: false,
            is_judging: false,
        })
    }

    /// Sets the application protocols that the server speaks; a client that offers only others is refused. To be called
    /// before the handshake.
    pub fn offer(&mut self, protocols: &Protocols) {
        if let Some(exchange) = self.exchange() {
            exchange.protocols = Some(protocols.clone());
        }
    }

    /// Takes bytes that the client sent.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.wired.buffers().receive(bytes);
    }

    /// Reports the end of the client's stream: no more bytes will be received.
    pub fn receive_end(&mut self) {
        self.wired.buffers().receive_end();
    }

    /// Bytes to be sent to the client.
    pub fn outgoing(&self) -> &[u8] {
        self.wired.buffers_now().outgoing()
    }

    /// Reports that this many bytes of [`Connection::outgoing`] were sent.
    pub fn sent(&mut self, bytes: usize) {
        self.has_answered |= bytes > 0;
        self.wired.buffers().sent(bytes);
    }

    /// Continues the handshake as far as it can go.
    ///
    /// # Errors
    /// [`Failure`]: the connection is over once what lies in [`Connection::outgoing`] is sent and [`Connection::delay`]
    /// has passed.
    pub fn handshake(&mut self) -> Result<Progress, Failure> {
        let gone_on = self.wired.library().poll_negotiate().map_ok(|_| ());
        match gone_on {
            // The library's only policy with RC4 begins at SSL 3.0, which no policy here offers.
            Poll::Ready(Ok(()))
                if matches!(self.wired.library_now().actual_protocol_version(), Ok(Version::SSLV3)) =>
            {
                Err(Failure { cause: Cause::NothingInCommon, name: "SSLv3" })
            }
            Poll::Ready(Ok(())) => Ok(Progress::Done),
            Poll::Pending
                if self.is_asking || self.exchange().is_some_and(|exchange| exchange.asked.is_some()) =>
            {
                Ok(Progress::NeedsKey)
            }
            Poll::Pending
                if self.is_judging
                    || self.exchange().is_some_and(|exchange| exchange.client_chain.is_some()) =>
            {
                Ok(Progress::NeedsVerdict)
            }
            Poll::Pending => Ok(Progress::NeedsBytes),
            Poll::Ready(Err(error)) => Err(self.failed(&error)),
        }
    }

    /// The private key operation that the handshake waits for; each is given out once.
    pub fn take_request(&mut self) -> Option<KeyRequest> {
        let request = self.exchange()?.asked.take()?;
        self.is_asking = true;
        Some(request)
    }

    /// The answer to the operation that was taken; with `None`, for an operation that failed, the handshake fails. Call
    /// [`Connection::handshake`] afterwards.
    pub fn answer(&mut self, answer: Option<Zeroizing<Vec<u8>>>) {
        self.is_asking = false;
        if let Some(exchange) = self.exchange() {
            exchange.answer = Some(answer);
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

    /// Reads the client's data, after the handshake.
    ///
    /// # Errors
    /// [`Failure`], as [`Connection::handshake`]; [`Cause::Cut`] if the stream ends without `close_notify`.
    pub fn read(&mut self, into: &mut [u8]) -> Result<Read, Failure> {
        stream::read(self.wired.library(), into).map_err(|error| self.failed(&error))
    }

    /// Enciphers all of the data for the client into [`Connection::outgoing`].
    ///
    /// # Errors
    /// [`Failure`], as [`Connection::handshake`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        stream::write(self.wired.library(), bytes).map_err(|unwritten| match unwritten {
            Unwritten::Stuck => Failure { cause: Cause::Internal, name: "send" },
            Unwritten::Library(error) => self.failed(&error),
        })
    }

    /// Frees the memory for records until the next record comes. To be called after the handshake, when no data has
    /// come for a while.
    pub fn rest(&mut self) {
        // The library refuses while part of a record is under way.
        let _ = self.wired.library().release_buffers();
    }

    /// Tells the client that the server sends no more (`close_notify`); the client may go on sending.
    ///
    /// # Errors
    /// [`Failure`], as [`Connection::handshake`].
    pub fn close(&mut self) -> Result<(), Failure> {
        let closed = self.wired.library().poll_shutdown_send().map_ok(|_| ());
        match closed {
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
            Poll::Ready(Err(error)) => Err(self.failed(&error)),
        }
    }

    /// How long a failed connection must stay open, so that the time of its end does not tell what was wrong.
    pub fn delay(&self) -> Duration {
        self.wired.library_now().remaining_blinding_delay().unwrap_or_default()
    }

    /// What the connection has agreed on so far.
    pub fn facts(&self) -> Facts {
        Facts::of(self.wired.library_now())
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
        let is_plain = !self.has_answered && self.outgoing().is_empty();
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

    fn exchange(&mut self) -> Option<&mut Exchange> {
        self.wired.library().application_context_mut::<Exchange>()
    }

    fn failed(&mut self, error: &Error) -> Failure {
        let is_unknown_protocol = self.exchange().is_some_and(|exchange| exchange.is_unknown_protocol);
        let (name, alert) = (error.name(), self.wired.library_now().alert());
        let is_unknown_name = self.exchange().is_some_and(|exchange| exchange.is_unknown_name);
        if let Some(refusal) = self.refusal(name) {
            ffi::alert(self.wired.library(), [FATAL, refusal.alert]);
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
            self.tell(&[[FATAL, INTERNAL_ERROR]]);
        } else if let Some(alert) = alert.filter(|_| !self.has_answered && self.outgoing().is_empty()) {
            self.tell(&[[FATAL, alert]]);
        }
        let is_ours = matches!(cause, Cause::UnknownName | Cause::UnknownProtocol | Cause::Key);
        let name = if is_ours { "" } else { name };
        Failure { cause, name }
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

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
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

pub(crate) fn version_name(version: Version) -> &'static str {
    match version {
        Version::SSLV2 => "SSL2",
        Version::SSLV3 => "SSL3",
        Version::TLS10 => "TLS1.0",
        Version::TLS11 => "TLS1.1",
        Version::TLS12 => "TLS1.2",
        Version::TLS13 => "TLS1.3",
        _ => "other",
    }
}

#[cfg(test)]
mod tests;
