//! The client's end of TLS connections.

use crate::chain::Chain;
use crate::end::{ConnectionSide, End, version_name};
use crate::error::{Cause, Failure};
use crate::exchange::{AskCaller, Exchange};
use crate::ffi::trust_everybody;
use s2n_tls::callbacks::{SessionTicket, SessionTicketCallback};
use s2n_tls::config::{Builder, Config};
use s2n_tls::connection::Connection;
use s2n_tls::enums::{ClientAuthType, Mode};
use s2n_tls::error::{Error, ErrorType};
use s2n_tls::security;
use std::fmt;
use zeroize::Zeroizing;

/// What a client offers. The library has only named lists of suites. Most lists here hold more suites than are asked
/// for. So a caller that needs exactly one suite has to check the suite that was agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offer {
    /// TLS 1.2 and 1.3; ephemeral key agreement, X25519 first, and RSA key exchange.
    #[default]
    All,
    /// TLS 1.3 alone, with this group first.
    Tls13(Group),
    /// TLS 1.2 alone, with ephemeral key agreement.
    Tls12,
    /// TLS 1.2 and older, with RSA key exchange alone.
    RsaKeyExchange,
}

/// A group of TLS 1.3's key agreement (RFC 8446, 4.2.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Group {
    /// X25519 (RFC 7748).
    #[default]
    X25519,
    /// The hybrid of X25519 and ML-KEM-768, X25519MLKEM768.
    X25519MlKem768,
    /// P-256; X25519 is not offered at all.
    P256,
    /// P-384 alone, with AES-256-GCM.
    P384,
}

impl Offer {
    fn of_library(self) -> Result<security::Policy, Error> {
        security::Policy::from_version(match self {
            Self::All => "20240603",
            Self::Tls13(Group::X25519) => "CloudFront-TLS-1-3-2025-no-pq",
            Self::Tls13(Group::X25519MlKem768) => "ELBSecurityPolicy-TLS13-1-3-PQ-2025-09",
            Self::Tls13(Group::P256) => "ELBSecurityPolicy-TLS13-1-3-FIPS-2023-04",
            Self::Tls13(Group::P384) => "20250414",
            Self::Tls12 => "20240501",
            Self::RsaKeyExchange => "test_all_rsa_kex",
        })
    }
}

/// Which servers' certificates a client accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// All: certificates are not checked, only the handshake's signature.
    Everybody,
    /// Certificates whose chain ends in one of these roots, in PEM, and that are for the name that is asked for.
    Roots(Vec<u8>),
}

/// How a client resumes sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resuming {
    /// By tickets (RFC 5077; RFC 8446, 4.6.1).
    Tickets,
    /// By the session IDs of TLS 1.2 (RFC 5246, 7.4.1.2), or not at all in other versions.
    #[default]
    Ids,
}

/// A client's settings: its offer, its trust, and its certificate. Clones are the same settings.
#[derive(Clone)]
pub struct Initiator {
    config: Config,
}

/// Why a client's settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitiatorError {
    /// The roots are not certificates in PEM: the library's message.
    Roots(&'static str),
    /// The library refused: its message.
    Library(&'static str),
}

impl fmt::Display for InitiatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Roots(why) => write!(f, "no certificates in PEM ({why})"),
            Self::Library(why) => write!(f, "the TLS library refuses: {why}"),
        }
    }
}

impl std::error::Error for InitiatorError {}

impl Initiator {
    /// The settings of a client. With `chain` the client has a certificate, whose key may be in this process or
    /// elsewhere.
    ///
    /// # Errors
    /// [`InitiatorError`].
    pub fn new(
        offer: Offer,
        trust: &Trust,
        sessions: Resuming,
        chain: Option<&Chain>,
    ) -> Result<Self, InitiatorError> {
        let of_library = |error: Error| InitiatorError::Library(error.message());
        let mut builder = Builder::new();
        match trust {
            Trust::Everybody => trust_everybody(&mut builder).map_err(of_library)?,
            Trust::Roots(pem) => {
                builder.trust_pem(pem).map_err(|error| InitiatorError::Roots(error.message()))?;
            }
        }
        let mut finish = || -> Result<(), Error> {
            builder.with_system_certs(false)?.set_security_policy(&offer.of_library()?)?;
            if sessions == Resuming::Tickets {
                builder.set_session_ticket_callback(Keep)?;
            }
            if let Some(chain) = chain {
                builder.load_chain(chain.of_library.clone())?;
                builder.set_client_auth_type(ClientAuthType::Optional)?;
                if chain.is_elsewhere() {
                    builder.set_private_key_callback(AskCaller)?;
                }
            }
            Ok(())
        };
        finish().map_err(of_library)?;
        Ok(Self { config: builder.build().map_err(of_library)? })
    }
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Initiator").finish_non_exhaustive()
    }
}

/// The callback that keeps the last ticket at its connection.
struct Keep;

impl SessionTicketCallback for Keep {
    fn on_session_ticket(&self, connection: &mut Connection, ticket: &SessionTicket) {
        let mut session = Zeroizing::new(vec![0; ticket.len().unwrap_or_default()]);
        let is_read = ticket.data(&mut session).is_ok();
        if let Some(exchange) = connection.application_context_mut::<Exchange>().filter(|_| is_read) {
            exchange.session = Some(session);
        }
    }
}

/// The client's end of a connection.
pub type Client = End<ClientSide>;

/// A client has nothing besides.
pub struct ClientSide;

impl Client {
    /// The client's end of a new connection. It asks for `name` and offers to resume `session`, if they are given.
    /// After the first call of [`Client::handshake`], the offer lies in [`Client::outgoing`].
    ///
    /// # Errors
    /// [`Cause::Internal`] if the library has no memory, or `session` is not a session.
    pub fn new(initiator: &Initiator, name: Option<&str>, session: Option<&[u8]>) -> Result<Self, Failure> {
        Self::made(Mode::Client, &initiator.config, ClientSide, |library| {
            if let Some(name) = name {
                library.set_server_name(name)?;
            }
            if let Some(session) = session {
                library.set_session_ticket(session)?;
            }
            Ok(())
        })
    }

    /// The session to resume in another connection, if the server has given one: after the handshake in TLS 1.2, after
    /// [`Client::read`] in TLS 1.3. A ticket of TLS 1.3 is given out once.
    pub fn session(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        if let Some(session) = self.exchange().and_then(|exchange| exchange.session.take()) {
            return Some(session);
        }
        let library = self.wired.library_now();
        if library.actual_protocol_version().is_ok_and(|version| version_name(version) == "TLS1.3") {
            return None;
        }
        let mut session = Zeroizing::new(vec![0; library.session_ticket_length().ok()?]);
        let count = library.session_ticket(&mut session).ok()?;
        (count > 0 && count == session.len()).then_some(session)
    }
}

impl ConnectionSide for ClientSide {
    fn failure(end: &mut Client, error: &Error) -> Failure {
        let (name, alert) = (error.name(), end.wired.library_now().alert());
        let cause = match error.kind() {
            ErrorType::Application => Cause::Key,
            ErrorType::ConnectionClosed | ErrorType::IOError => Cause::Cut,
            ErrorType::Alert => Cause::Alert(alert.unwrap_or_default()),
            ErrorType::ProtocolError if is_of_certificate(name) => Cause::Certificate,
            ErrorType::ProtocolError => Cause::Protocol,
            // The message ends before its fields do.
            ErrorType::InternalError if name.contains("STUFFER") => Cause::Protocol,
            _ => Cause::Internal,
        };
        Failure { cause, name }
    }
}

fn is_of_certificate(name: &str) -> bool {
    ["CERT", "CRL", "OCSP", "TRUST"].iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_knows_every_offer() {
        let groups = [Group::X25519, Group::X25519MlKem768, Group::P256, Group::P384].map(Offer::Tls13);
        for offer in groups.into_iter().chain([Offer::All, Offer::Tls12, Offer::RsaKeyExchange]) {
            Initiator::new(offer, &Trust::Everybody, Resuming::Tickets, None).unwrap();
        }
        let roots = Trust::Roots(b"no certificate".to_vec());
        let refused = Initiator::new(Offer::All, &roots, Resuming::Ids, None);
        assert!(matches!(refused, Err(InitiatorError::Roots(_))), "{refused:?}");
    }
}
