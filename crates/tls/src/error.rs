//! Why connections end.

use std::fmt;

/// A connection that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub cause: Cause,
    /// The library's name of the error, for logs, or what is wrong with the client's certificate; else empty.
    pub name: &'static str,
}

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The client asked for a name that there is no certificate for, or for none where one is needed.
    UnknownName,
    /// The client speaks other application protocols alone.
    UnknownProtocol,
    /// The client sent an alert: its number (RFC 8446, 6).
    Alert(u8),
    /// Client and server have no version, suite or group in common.
    NothingInCommon,
    /// The client's bytes are not those of the protocol, or were changed under way.
    Protocol,
    /// The client's end came without its word that it is the end.
    Cut,
    /// The server's certificate is not one that the client takes.
    Certificate,
    /// The private key gave no answer.
    Key,
    /// The client has no certificate, or one that is refused.
    Client,
    /// The library.
    Internal,
}

impl Cause {
    /// One word of it, for logs.
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
