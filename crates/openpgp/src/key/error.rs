//! Errors of private-key operations.

use std::fmt;

/// Why a private key's operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrivateKeyError {
    /// The session key is not one for this key. The reason is deliberately not told, since it would be an oracle.
    NotOpened,
    /// The passphrase is not the key's, or none was given.
    Locked,
    /// The key's algorithm is not supported for this operation.
    Unsupported {
        /// The operation: `"open session keys"`, `"sign"` and others.
        operation: &'static str,
        /// Name of the algorithm.
        algorithm: String,
    },
    /// The card or its home failed to carry out the operation.
    Card {
        /// Label of the private key.
        label: String,
        /// The error of the facility or the verb.
        cause: String,
    },
    /// The process that holds the key failed to carry out the operation.
    Holder {
        /// The process's answer, or the error of reaching it.
        cause: String,
    },
    /// The key packet is malformed.
    Malformed {
        /// The defect, for people.
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
