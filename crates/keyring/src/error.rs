//! Why the store did not carry out a request.

use crate::who::Who;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the store did not carry out a request.
#[derive(Debug)]
pub enum KeyringError {
    /// A file or folder of the store could not be used.
    Io {
        /// The operation, as a verb.
        operation: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the system.
        cause: io::Error,
    },
    /// Another process has held the store's lock for too long.
    Busy {
        /// Folder of the store.
        folder: PathBuf,
    },
    /// A file is longer than any certificate.
    TooLong {
        /// Path of the file.
        path: PathBuf,
        /// Greatest length allowed, in bytes.
        bytes_max: u64,
    },
    /// A folder holds more certificates than the store may hold.
    TooMany {
        /// Path of the folder.
        folder: PathBuf,
        /// Greatest number allowed.
        count_max: usize,
    },
    /// A file, or the data to import, holds no certificate that can be read.
    Malformed {
        /// Name of the file or of the data.
        name: String,
        /// What is wrong with it, in words for people.
        cause: String,
    },
    /// The data to import hold another private key under the fingerprint of an existing one.
    Conflict {
        /// Fingerprint of the primary key.
        fingerprint: String,
    },
}

impl KeyringError {
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { operation, path: path.to_owned(), cause }
    }
}

impl fmt::Display for KeyringError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { operation, path, cause } => {
                write!(out, "cannot {operation} {}: {cause}", path.display())
            }
            Self::Busy { folder } => {
                write!(
                    out,
                    "{}: another process has been changing the key store for long; try again",
                    folder.display()
                )
            }
            Self::TooLong { path, bytes_max } => write!(
                out,
                "{}: longer than the {bytes_max} bytes that a certificate may have",
                path.display()
            ),
            Self::TooMany { folder, count_max } => {
                write!(
                    out,
                    "{}: more than {count_max} certificates; delete some of the files",
                    folder.display()
                )
            }
            Self::Malformed { name, cause } => write!(out, "{name}: {cause}"),
            Self::Conflict { fingerprint } => write!(
                out,
                "{fingerprint}: the store has another private key of this fingerprint; \
                 `cryptand pgp delete --private {fingerprint}` first, if the new one is right"
            ),
        }
    }
}

impl std::error::Error for KeyringError {}

/// Why a name does not mean one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindError {
    /// No certificate of the store matches the name.
    Missing {
        /// The name as it was given.
        who: String,
    },
    /// Several certificates match the name.
    Ambiguous {
        /// The name as it was given.
        who: String,
        /// Fingerprints and first user ids of these certificates.
        candidates: Vec<(String, String)>,
    },
    /// The name is too short, or empty.
    Vague {
        /// The name as it was given.
        who: String,
    },
    /// The name is a key ID of 8 digits, for which anybody can make a key.
    ShortKeyId {
        /// The name as it was given.
        who: String,
    },
    /// No certificate of the store matches, but a file has this name: only a name with a `/` means
    /// a file.
    IsFile {
        /// The name as it was given.
        who: String,
    },
}

impl FindError {
    /// The error for a name that nothing in the store matches: its cause, as far as the form of the
    /// name shows it.
    pub fn nobody(who: &str) -> Self {
        let text = who.to_owned();
        match Who::parse(who) {
            Who::ShortKeyId => Self::ShortKeyId { who: text },
            Who::File(_) => Self::Missing { who: text },
            _ if Path::new(who).is_file() => Self::IsFile { who: text },
            Who::Vague => Self::Vague { who: text },
            _ => Self::Missing { who: text },
        }
    }
}

impl fmt::Display for FindError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { who } => write!(
                out,
                "{who}: no certificate in the key store; `cryptand pgp import FILE` takes one in, \
                 `cryptand pgp list` shows those there are, and ./FILE names one that is a file"
            ),
            Self::Ambiguous { who, candidates } => {
                write!(
                    out,
                    "{who}: {} certificates; name the right one by its fingerprint:",
                    candidates.len()
                )?;
                for (fingerprint, user_id) in candidates {
                    write!(out, "\n  {fingerprint}  {user_id}")?;
                }
                Ok(())
            }
            Self::Vague { who } => {
                write!(out, "{who:?} names nobody: give an address, a fingerprint, a key ID or a file")
            }
            Self::ShortKeyId { who } => write!(
                out,
                "{who}: key IDs of 8 digits are not unique, and are forged: give the fingerprint, or the key ID of \
                 16 digits; `cryptand pgp list` shows both"
            ),
            Self::IsFile { who } => write!(
                out,
                "{who}: no certificate of this name in the key store; did you mean the file ./{who}? \
                 A name with a / in it is a file"
            ),
        }
    }
}

impl std::error::Error for FindError {}
