//! Why connections fail.

use std::fmt;

/// A connection that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub cause: Cause,
    /// The library's name of the error, for logs, or what is wrong with the client's certificate; else empty.
    pub name: &'static str,
}

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The client asked for a name without a certificate, or for none although one is needed.
    UnknownName,
    /// The client offers only application protocols that the server does not speak.
    UnknownProtocol,
    /// The client sent an alert with this number (RFC 8446, 6).
    Alert(u8),
    /// Client and server have no version, suite or group in common.
    NothingInCommon,
    /// The client's bytes do not follow the protocol, or were changed under way.
    Protocol,
    /// The stream ended without `close_notify`.
    Cut,
    /// The client does not accept the server's certificate.
    Certificate,
    /// The private key operation failed.
    Key,
    /// The client has no certificate, or one that is refused.
    Client,
    /// An error within the library.
    Internal,
}

impl Cause {
    /// The cause as one word, for logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownName => "unknown-name",
            Self::UnknownProtocol => "unknown-protocol",
            Self::Alert(_) => "alert",
            Self::NothingInCommon => "nothing-in-common",
            Self::Protocol => "protocol",
            Self::Cut => "cut",
            Self::Certificate => "certificate",
            Self::Key => "key",
            Self::Client => "client-certificate",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.cause.name())?;
        if let Cause::Alert(number) = self.cause {
            write!(f, " {number}")?;
        }
        if self.name.is_empty() { Ok(()) } else { write!(f, " ({})", self.name) }
    }
}

impl std::error::Error for Failure {}
