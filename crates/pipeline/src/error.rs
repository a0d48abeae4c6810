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
        /// Name of the input.
        name: String,
        /// The operation that failed.
        operation: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// The output could not be written.
    Output {
        /// Name of the output.
        name: String,
        /// The operation that failed.
        operation: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// The output exists already, and replacing it was not allowed.
    OutputExists {
        /// Name of the output.
        name: String,
        /// Whether the output is a folder; a folder is never replaced.
        is_folder: bool,
    },
    /// The input is not an OpenPGP message, or a malformed one.
    Malformed {
        /// Name of the input.
        name: String,
        /// The defect, and the packet that has it.
        cause: String,
    },
    /// The input ends too early.
    Truncated {
        /// Name of the input.
        name: String,
    },
    /// The body does not authenticate. It was changed, cut, or not enciphered under the session key, which from RSA and
    /// ElGamal may be a random one (see [`openpgp::session_key::open`]). There is no further detail on purpose.
    Unauthentic {
        /// Name of the input.
        name: String,
    },
    /// No key or passphrase opens the message.
    NotOpened(crate::request::NotOpened),
    /// There is no valid signature by a certificate that counts.
    NoValidSignature {
        /// The signatures that were found.
        signatures: Vec<SignatureReport>,
    },
    /// A bound of [`crate::Limits`] was passed.
    Limit {
        /// The bound's name, such as `"nesting"`, `"packets"`, `"expansion"`, `"text"`.
        what: &'static str,
        /// The bound's value.
        limit: u64,
    },
    /// An algorithm is not served, or not for this purpose.
    Unsupported {
        /// The algorithm or its use.
        what: String,
    },
    /// An operation of a private key failed.
    PrivateKey(PrivateKeyError),
    /// The text would be written before it is authenticated.
    WouldLeaveUnauthenticated,
    /// The text is longer than the buffer that holds it back until it is authenticated, or until its signature is
    /// verified.
    HeldBack {
        /// Length of the buffer in bytes.
        limit: u64,
    },
    /// A signal interrupted the work.
    Interrupted,
    /// The request contradicts itself or cannot be carried out.
    Request {
        /// What is wrong with the request.
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
