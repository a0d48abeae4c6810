//! Errors of encrypting, decrypting, signing and verifying a message.

use crate::summary::{SignatureReport, Verdict};
use openpgp::PrivateKeyError;
use std::fmt;
use std::io;

/// Errors of encrypting, decrypting, signing and verifying, sorted by their cause.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The input could not be read.
    Input {
        /// Its name.
        name: String,
        /// What was done.
        operation: &'static str,
        /// The system's word.
        cause: io::Error,
    },
    /// The output could not be written.
    Output {
        /// Its name.
        name: String,
        /// What was done.
        operation: &'static str,
        /// The system's word.
        cause: io::Error,
    },
    /// The output exists already, and replacing it was not allowed.
    OutputExists {
        /// Its name.
        name: String,
        /// Whether it is a folder, which never is replaced.
        is_folder: bool,
    },
    /// The input is not an OpenPGP message, or a malformed one.
    Malformed {
        /// Its name.
        name: String,
        /// What is wrong, at which packet.
        cause: String,
    },
    /// The input ends too early.
    Truncated {
        /// Its name.
        name: String,
    },
    /// The body does not authenticate: changed, cut, or not under the session key, which of RSA and ElGamal may be a
    /// random one (see [`openpgp::session_key::open`]). No further detail on purpose.
    Unauthentic {
        /// The input's name.
        name: String,
    },
    /// No key or passphrase opens the message.
    NotOpened(crate::request::NotOpened),
    /// No valid signature by a certificate that counts.
    NoValidSignature {
        /// What was found.
        signatures: Vec<SignatureReport>,
    },
    /// A bound of [`crate::Limits`] was passed.
    Limit {
        /// Which: `"nesting"`, `"packets"`, `"expansion"`, `"text"`.
        what: &'static str,
        /// The bound.
        limit: u64,
    },
    /// An algorithm that is not served, or not served so.
    Unsupported {
        /// What.
        what: String,
    },
    /// A private key did not do its part.
    PrivateKey(PrivateKeyError),
    /// The text would have left before it is authenticated.
    WouldLeaveUnauthenticated,
    /// The text is longer than the buffer that holds it until it is authenticated, or until its signature is verified.
    HeldBack {
        /// How much is, in bytes.
        limit: u64,
    },
    /// A signal ended the work.
    Interrupted,
    /// What was asked contradicts itself.
    Request {
        /// What.
        cause: String,
    },
}

impl Error {
    pub(crate) fn malformed(name: &str, cause: impl fmt::Display) -> Self {
        Self::Malformed { name: name.to_owned(), cause: cause.to_string() }
    }

    pub(crate) fn request(cause: impl Into<String>) -> Self {
        Self::Request { cause: cause.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { name, operation, cause } | Self::Output { name, operation, cause } => {
                write!(out, "cannot {operation} {name}: {cause}")
            }
            Self::OutputExists { name, is_folder: true } => {
                write!(out, "cannot write {name}: it is a folder; name a file")
            }
            Self::OutputExists { name, is_folder: false } => {
                write!(out, "cannot write {name}: it exists; name another output, or ask to replace it")
            }
            Self::Malformed { name, cause } => write!(out, "{name} is not a message that can be read: {cause}"),
            Self::Truncated { name } => write!(out, "{name} ends too early; fetch it again"),
            Self::Unauthentic { name } => {
                write!(
                    out,
                    "{name} does not authenticate: it was changed or damaged, or it is for another key than the one that \
                     was tried; no file was made of it, and what has left for a pipe is not whole"
                )
            }
            Self::NotOpened(not_opened) => out.write_str(&not_opened.why),
            Self::NoValidSignature { signatures } => no_valid_signature(signatures, out),
            Self::Limit { what, limit } => write!(out, "the message passes the limit of {what} ({limit})"),
            Self::HeldBack { limit } => write!(
                out,
                "the text is longer than the {limit} bytes that are held back until all of it has shown to be authentic"
            ),
            Self::Unsupported { what } => write!(out, "{what} is not served"),
            Self::PrivateKey(cause) => write!(out, "{cause}"),
            Self::WouldLeaveUnauthenticated => out.write_str(
                "the text would leave before it is authenticated, as this kind of message is only at its end; \
                 name a file as output",
            ),
            Self::Interrupted => out.write_str("interrupted; no file was made, and what has left for a pipe is not whole"),
            Self::Request { cause } => out.write_str(cause),
        }
    }
}

fn no_valid_signature(signatures: &[SignatureReport], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str("no valid signature")?;
    if signatures.is_empty() {
        return out.write_str(": the message is not signed");
    }
    for signature in signatures {
        let why = match &signature.verdict {
            Verdict::Bad { why } => why.as_str(),
            Verdict::Unchecked => "its signer's certificate is unknown",
            Verdict::Good { .. } => "it is valid, but not accepted",
        };
        write!(out, "; {}: {why}", signature.issuer)?;
    }
    Ok(())
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Input { cause, .. } | Self::Output { cause, .. } => Some(cause),
            Self::PrivateKey(cause) => Some(cause),
            _ => None,
        }
    }
}
