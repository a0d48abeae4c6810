//! Errors of private-key operations.

use std::fmt;

/// Why a private key did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrivateKeyError {
    /// The session key is not one for this key. Opaque on purpose: which check failed would be an oracle.
    NotOpened,
    /// The passphrase is not that of the key, or none was given.
    Locked,
    /// The key's algorithm is not served for this.
    Unsupported {
        /// What was asked: `"open session keys"`, `"sign"`.
        operation: &'static str,
        /// Name of the algorithm.
        algorithm: String,
    },
    /// The card or its home did not do it.
    Card {
        /// Label of the key.
        label: String,
        /// What the facility or the verb said.
        cause: String,
    },
    /// The process that holds the key did not do it.
    Holder {
        /// What it said, or what became of it.
        cause: String,
    },
    /// The key packet does not hold together.
    Malformed {
        /// What is wrong.
        cause: String,
    },
}

impl fmt::Display for PrivateKeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpened => out.write_str("the session key was not opened"),
            Self::Locked => out.write_str("the private key is locked: its passphrase is missing or wrong"),
            Self::Unsupported { operation, algorithm } => {
                write!(out, "keys of the algorithm {algorithm} cannot {operation} here")
            }
            Self::Card { label, cause } => {
                write!(out, "the key with the label {label} was not used: {cause}")
            }
            Self::Holder { cause } => {
                write!(out, "the agent that holds the private key did not use it: {cause}")
            }
            Self::Malformed { cause } => write!(out, "the private key is malformed: {cause}"),
        }
    }
}

impl std::error::Error for PrivateKeyError {}
