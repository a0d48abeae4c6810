//! The key store: records of wrapped key tokens under labels.
//!
//! One label names at most one record, whatever its store: a label is opened without naming a store. An acknowledged
//! change is durable; a failed change leaves nothing behind. Clear tokens are refused ([`admission`]), whatever keeps
//! the records ([`checked`]).
//!
//! | need | module |
//! |---|---|
//! | jobs of a store, and their answers | [`job`] |
//! | records in one SQLite file of the home | [`sqlite`] |
//! | which tokens may be stored | [`admission`], [`checked`] |
//! | patterns of labels | [`pattern`] |

pub mod admission;
pub mod checked;
pub mod job;
pub mod pattern;
pub mod sqlite;

use pattern::PatternError;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use wire::chain::ChainError;
use wire::control::Refusal;
use wire::{Label, code};

pub use admission::TokenFault;
pub use checked::Checked;
pub use job::{Census, Done, Job, Record};
pub use pattern::Pattern;
pub use sqlite::SqliteStore;

/// A store of a home's key records: the SQLite file of the home ([`SqliteStore`]), or any other store that keeps the
/// promises below, such as a database that several hosts use.
///
/// The store belongs to one thread of one daemon, which calls it for one thing after the other. It is
/// opened before the daemon looks at what an earlier one left, and dropped when the daemon ends.
///
/// # Jobs
/// * [`run`](KeyStore::run) returns when its effect is durable, so that a loss of power does not undo it. A
///   failed job has changed nothing; one that changes several records changes all or none.
/// * A store that is reached over a connection, and loses it after it asked for a commit, connects again and finds out
///   before it returns whether the commit took place. If it cannot, it fails with a cause that says so, and reports the
///   labels with the next changes.
/// * A read sees every change that this store acknowledged, and every change that it reported.
/// * Every wait in it is bounded: callers wait for at most a minute. Other jobs wait meanwhile, and nothing
///   else does.
/// * A store keeps any token that [`Job`] brings, of 1 to [`TOKEN_BYTES_MAX`](wire::bounds::TOKEN_BYTES_MAX) bytes.
///   Whether a token may be kept is decided before ([`Checked`]), and again when [`Job::Find`] reads it.
///
/// # Changes from outside
/// If others write the same records, the daemon revokes what it gave to cards of a changed record:
///
/// ```text
/// another host commits -> wakes() is readable -> changed() names the label
///                      -> its key-table entries are revoked -> changed() again: nothing
/// ```
///
/// * A change by another host after the store was opened is reported, once and in no particular order, as soon as it
///   can be known. Changes by [`run`](KeyStore::run) of this store need not be reported.
/// * A call of [`changed`](KeyStore::changed) acknowledges the changes that the previous call reported: by then no card
///   takes another request with a token of those labels that was opened before. A store may hold back the writer's
///   answer until all hosts have acknowledged; that is what makes a deleted key unusable everywhere when its owner is
///   told so.
/// * A store that may have missed changes, since its connection was gone for a while, reports [`Changes::Any`]: all
///   opened labels are then opened anew.
///
/// A backup copy of the records is not part of this: a database that several hosts use has its own way.
pub trait KeyStore: Send {
    /// Does one job.
    ///
    /// # Errors
    /// [`StoreError`]; the job's own docs say which records must exist.
    fn run(&self, job: &Job) -> Result<Done, StoreError>;

    /// The changes by others since the previous call. It acknowledges the changes that the previous call reported.
    ///
    /// # Errors
    /// A failure of the store. The store is asked again after half a second; opened labels stay open meanwhile.
    fn changed(&self) -> Result<Changes, StoreError>;

    /// A descriptor that is readable while [`changed`](KeyStore::changed) may have changes to report, and not after a
    /// call that reported none; `None` if nobody else can write. It is asked for once and stays the same.
    fn wakes(&self) -> Option<BorrowedFd<'_>>;
}

/// Changes that other daemons made in a key store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Records of these labels; empty if no record changed.
    Labels(Vec<Label>),
    /// Any record may have changed: the store does not know which.
    Any,
}

impl Changes {
    /// No changes.
    pub const NONE: Self = Self::Labels(Vec::new());
}

/// Why the key store did not do a job; nothing was changed.
#[derive(Debug, PartialEq, Eq)]
pub enum StoreError {
    /// A record of this label exists, maybe in another of the stores.
    Exists,
    /// The store has no record of this label.
    NotFound,
    /// The token may not be stored.
    Token(TokenFault),
    /// The certificate chain may not be stored.
    Chain(ChainError),
    /// The pattern of a listing is not well formed.
    Pattern(PatternError),
    /// The file was written by a newer program.
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Schema version of the file.
        version: i64,
    },
    /// The file is a database of something else, or none at all.
    NotAKeyStore {
        /// Path of the file.
        path: PathBuf,
    },
    /// The target of a copy exists.
    Occupied {
        /// Path of the file.
        path: PathBuf,
    },
    /// A check of the whole file found damage.
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// The damage, in the words of the check.
        finding: String,
    },
    /// A record holds what may not be stored: somebody else wrote it.
    Inadmissible {
        /// The label of the record.
        label: Label,
        /// The token's fault.
        fault: TokenFault,
    },
    /// A record has a certificate chain that may not be stored: somebody else wrote it.
    InadmissibleChain {
        /// The label of the record.
        label: Label,
        /// The chain's fault.
        fault: ChainError,
    },
    /// The file, or other storage of the records, could not be used.
    Failed {
        /// The operation that failed, in words.
        operation: &'static str,
        /// Path of the file, or a name for other storage of the records.
        path: PathBuf,
        /// Why the operation failed.
        cause: StorageCause,
    },
}

/// Why a file could not be used.
#[derive(Debug, PartialEq, Eq)]
pub enum StorageCause {
    /// No room on the disk, or a limit on the size of files.
    DiskFull,
    /// The file or its folder may not be written.
    ReadOnly,
    /// Another program holds the file.
    InUse,
    /// The content of the file is damaged.
    Corrupt,
    /// Anything else, in the words of the library or the system.
    Other(String),
}

impl std::fmt::Display for StorageCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DiskFull => {
                f.write_str("the disk is full; nothing was changed, free some space and try again")
            }
            Self::ReadOnly => f.write_str("the file or its folder is read-only"),
            Self::InUse => f.write_str("another program has it open"),
            Self::Corrupt => f.write_str("its content is damaged; restore it from a backup"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exists => write!(f, "{}", code::LABEL_EXISTS),
            Self::NotFound => write!(f, "{}", code::LABEL_NOT_FOUND),
            Self::Token(fault) => write!(f, "{fault}"),
            Self::Chain(error) => write!(f, "{error}"),
            Self::Pattern(error) => write!(f, "{error}"),
            Self::Newer { path, version } => write!(
                f,
                "{}: a key store of version {version}, newer than this program's {}; use the newer program",
                path.display(),
                sqlite::SCHEMA_VERSION
            ),
            Self::NotAKeyStore { path } => write!(f, "{}: not a key store", path.display()),
            Self::Occupied { path } => write!(f, "{}: exists already and is not overwritten", path.display()),
            Self::Damaged { path, finding } => write!(f, "{}: damaged: {finding}", path.display()),
            Self::Inadmissible { label, fault } => write!(f, "record {label}: {fault}"),
            Self::InadmissibleChain { label, fault } => write!(f, "record {label}: {fault}"),
            Self::Failed { operation, path, cause } => {
                write!(f, "cannot {operation} {}: {cause}", path.display())
            }
        }
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// The refusal that a client is told for this error.
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Exists => Refusal::Verb(code::LABEL_EXISTS),
            Self::NotFound => Refusal::Verb(code::LABEL_NOT_FOUND),
            Self::Token(fault) => Refusal::Verb(fault.codes()),
            Self::Chain(error) => Refusal::Invalid(error.to_string()),
            Self::Pattern(_) => Refusal::Verb(code::LABEL_FORMAT),
            Self::Newer { path, .. } | Self::NotAKeyStore { path } => {
                Refusal::Storage { operation: format!("open {}", path.display()), cause: self.to_string() }
            }
            Self::Occupied { path } => Refusal::Storage {
                operation: format!("create {}", path.display()),
                cause: "it exists".into(),
            },
            Self::Damaged { path, finding } => {
                Refusal::Storage { operation: format!("check {}", path.display()), cause: finding.clone() }
            }
            Self::Inadmissible { label, fault } => {
                Refusal::Storage { operation: format!("use record {label}"), cause: fault.to_string() }
            }
            Self::InadmissibleChain { label, fault } => Refusal::Storage {
                operation: format!("use the chain of record {label}"),
                cause: fault.to_string(),
            },
            Self::Failed { operation, path, cause } => Refusal::Storage {
                operation: format!("{operation} {}", path.display()),
                cause: cause.to_string(),
            },
        }
    }
}
