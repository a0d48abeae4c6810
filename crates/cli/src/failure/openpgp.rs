//! Errors of the OpenPGP commands, what to do next, and the exit codes.

use super::Exit;
use agent::AgentError;
use keyring::store::printable;
use keyring::{FindError, KeyringError};
use openpgp::PrivateKeyError;
use openpgp::certificate::{CertificateError, Unusable};
use pipeline::{Error, Verdict};
use std::fmt;
use std::io;

/// Why an OpenPGP command failed.
#[derive(Debug)]
pub enum PgpFailure {
    /// The pipeline did not make, open or verify a message.
    Pipeline {
        /// The input's name.
        name: String,
        /// The pipeline's error.
        error: Error,
    },
    /// A passphrase gave a session key that does not fit: wrong, or the message is damaged. Messages of this kind do
    /// not tell which.
    Passphrase {
        /// The input's name.
        name: String,
    },
    /// The key store failed.
    Keyring(KeyringError),
    /// A name matches no certificate, or several.
    Find(FindError),
    /// A certificate must not be used.
    Unusable {
        /// The certificate's name, as it was typed.
        who: String,
        /// The reason why it must not be used.
        cause: Unusable,
    },
    /// A file holds no certificate.
    Certificate {
        /// The file's name.
        name: String,
        /// The defect of the file's content.
        cause: CertificateError,
    },
    /// A private key did not sign or decrypt.
    PrivateKey {
        /// Name of the key's owner.
        who: String,
        /// The private key's error.
        cause: PrivateKeyError,
    },
    /// There is a certificate, but its private key is not here.
    NoPrivateKey {
        /// Name of the key's owner.
        who: String,
        /// Fingerprint of the certificate.
        fingerprint: String,
    },
    /// No key is set as default, and the store has no private key that is the only one to use.
    NoDefaultKey {
        /// Private keys of the store: fingerprint and user id.
        candidates: Vec<(String, String)>,
    },
    /// An archive holds something that is not extracted, or is damaged.
    Archive {
        /// The archive's name.
        name: String,
        /// The archive's defect.
        cause: String,
    },
    /// An archive's content could not be written.
    Extraction {
        /// The archive's name.
        name: String,
        /// The failed operation and its cause.
        cause: String,
    },
    /// Some of several files failed; each reason was printed before.
    Several {
        /// Number of files that failed.
        failed_count: usize,
        /// Number of all files.
        count: usize,
        /// Exit code that all failures share, or 1.
        exit_code: u8,
    },
    /// Some of several keys were not imported; the reason for each was printed before.
    SomeKeys {
        /// Number of keys that were not imported.
        failed_count: usize,
        /// Number of all keys.
        count: usize,
    },
    /// A file is no message, and no signatures lie beside it.
    NoSignatures {
        /// The file's name.
        name: String,
    },
    /// The agent was not reached, or refused or failed.
    Agent(AgentError),
    /// A signal ended the work.
    Interrupted,
}

impl PgpFailure {
    /// The failure for an input's name and the pipeline's error.
    pub fn pipeline(name: &str, error: Error) -> Self {
        match error {
            Error::Interrupted => Self::Interrupted,
            error => Self::Pipeline { name: name.to_owned(), error },
        }
    }

    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Several { exit_code, .. } => *exit_code,
            failure => failure.kind() as u8,
        }
    }

    fn kind(&self) -> Exit {
        match self {
            Self::Pipeline { error, .. } => match error {
                Error::Request { .. } => Exit::Usage,
                Error::NotOpened(_) | Error::PrivateKey(_) => Exit::NotVerified,
                Error::Malformed { .. }
                | Error::Truncated { .. }
                | Error::Unauthentic { .. }
                | Error::Limit { .. }
                | Error::Unsupported { .. }
                | Error::HeldBack { .. }
                | Error::WouldLeaveUnauthenticated => Exit::Damaged,
                Error::NoValidSignature { .. } => Exit::NoSignature,
                Error::Interrupted => Exit::Interrupted,
                Error::OutputExists { .. } => Exit::Exists,
                Error::Input { cause, .. } | Error::Output { cause, .. } => Exit::of_io(cause),
                _ => Exit::Failed,
            },
            Self::Keyring(KeyringError::Malformed { .. })
            | Self::Certificate { .. }
            | Self::SomeKeys { .. }
            | Self::NoSignatures { .. }
            | Self::Archive { .. } => Exit::Damaged,
            Self::Keyring(KeyringError::Io { cause, .. }) => Exit::of_io(cause),
            Self::Keyring(_) | Self::Extraction { .. } | Self::Agent(_) | Self::Several { .. } => {
                Exit::Failed
            }
            Self::Find(FindError::Missing { .. } | FindError::IsFile { .. }) => Exit::Missing,
            Self::NoPrivateKey { .. } => Exit::Missing,
            Self::NoDefaultKey { candidates } if candidates.is_empty() => Exit::Missing,
            Self::Find(_) | Self::Unusable { .. } | Self::NoDefaultKey { .. } => Exit::Refused,
            Self::PrivateKey { .. } | Self::Passphrase { .. } => Exit::NotVerified,
            Self::Interrupted => Exit::Interrupted,
        }
    }
}

/// Advice on a pipeline error, in terms of this program's flags.
fn next(error: &Error) -> Option<&'static str> {
    match error {
        Error::NotOpened(why) if why.is_passphrase => {
            Some("--passphrase-file names a file with a passphrase")
        }
        Error::Input { cause, .. } if cause.kind() == io::ErrorKind::InvalidData => {
            Some("-t and --clear take text, other bytes go without them")
        }
        Error::Output { cause, .. } if cause.kind() == io::ErrorKind::NotFound => {
            Some("outputs go into folders that are there: make it first")
        }
        Error::NoValidSignature { signatures }
            if signatures.iter().any(|signature| matches!(signature.verdict, Verdict::Unchecked)) =>
        {
            Some("`cryptand pgp import FILE` takes in the signer's certificate, --verify-with names it")
        }
        Error::WouldLeaveUnauthenticated => Some("-o names a file, --unauthenticated write lets it go"),
        Error::HeldBack { .. } => Some(
            "-o FILE takes any length; --unauthenticated write lets text that no signature is asked for leave before",
        ),
        Error::Limit { what: "text", .. } => {
            Some("--text-bytes-max raises it, if you trust the message's maker")
        }
        Error::PrivateKey(PrivateKeyError::Locked) => {
            Some("--key-passphrase-file names a file with its passphrase")
        }
        _ => None,
    }
}

/// Whether the error's text leaves out the file's name.
fn is_nameless(error: &Error) -> bool {
    matches!(
        error,
        Error::NotOpened(_)
            | Error::NoValidSignature { .. }
            | Error::Limit { .. }
            | Error::HeldBack { .. }
            | Error::Unsupported { .. }
            | Error::PrivateKey(_)
            | Error::WouldLeaveUnauthenticated
    )
}

impl fmt::Display for PgpFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipeline { error: Error::OutputExists { name, is_folder: false }, .. } => {
                write!(out, "cannot write {name}: it exists; --force replaces it, -o names another output")
            }
            Self::Pipeline { name, error } => {
                if is_nameless(error) {
                    write!(out, "{name}: ")?;
                }
                error.fmt(out)?;
                next(error).map_or(Ok(()), |next| write!(out, "; {next}"))
            }
            Self::Passphrase { name } => write!(
                out,
                "{name} was not opened: the passphrase is not the right one, or the file is damaged"
            ),
            Self::Keyring(error) => error.fmt(out),
            Self::Find(error) => error.fmt(out),
            Self::Unusable { who, cause } => write!(out, "{who}: {cause}"),
            Self::Certificate { name, cause } => write!(out, "{name}: {cause}"),
            Self::PrivateKey { who, cause } => {
                write!(out, "{who}: {cause}")?;
                match cause {
                    PrivateKeyError::Locked => out
                        .write_str("; --key-passphrase-file names a file with it where nobody can be asked"),
                    _ => Ok(()),
                }
            }
            Self::NoPrivateKey { who, fingerprint } => write!(
                out,
                "{who}: the private key of {fingerprint} is not in the key store; \
                 `gpg --export-secret-keys {fingerprint} | cryptand pgp import` takes it over from GnuPG"
            ),
            Self::NoDefaultKey { candidates } if candidates.is_empty() => out.write_str(
                "there is no private key; `cryptand pgp generate 'NAME <ADDRESS>'` makes one, \
                 `gpg --export-secret-keys | cryptand pgp import` takes over those of GnuPG",
            ),
            Self::NoDefaultKey { candidates } => {
                out.write_str(
                    "several private keys; name one with -u, or settle it: `cryptand pgp default WHO`",
                )?;
                candidates
                    .iter()
                    .try_for_each(|(fingerprint, user_id)| write!(out, "\n  {fingerprint}  {user_id}"))
            }
            Self::Archive { name, cause } | Self::Extraction { name, cause } => {
                write!(out, "{name}: {}; nothing was extracted", printable(cause))
            }
            Self::Several { failed_count, count, .. } => {
                write!(out, "{failed_count} of {count} files failed")
            }
            Self::SomeKeys { failed_count, count } => {
                write!(out, "{failed_count} of {count} keys were not imported")
            }
            Self::NoSignatures { name } => write!(
                out,
                "{name}: no signed message, and no signatures beside it in {name}.sig or {name}.asc; \
                 `cryptand verify SIGNATURES {name}` names them"
            ),
            Self::Agent(error) => error.fmt(out),
            Self::Interrupted => out.write_str("interrupted; nothing was left behind"),
        }
    }
}

impl From<KeyringError> for PgpFailure {
    fn from(error: KeyringError) -> Self {
        Self::Keyring(error)
    }
}

impl From<AgentError> for PgpFailure {
    fn from(error: AgentError) -> Self {
        Self::Agent(error)
    }
}

impl From<FindError> for PgpFailure {
    fn from(error: FindError) -> Self {
        Self::Find(error)
    }
}
