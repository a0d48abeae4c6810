//! The key store: records of wrapped key tokens under labels.
//!
//! One label names at most one record, whatever its store: a label is opened without naming a store.
//! What a caller was told is done is durable; what failed left nothing behind. Clear tokens are
//! refused ([`admission`]), whatever keeps the records ([`checked`]).
//!
//! | need | module |
//! |---|---|
//! | what a store is asked, and what it answers | [`job`] |
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

/// What keeps the key records of a home: the SQLite file of the home ([`SqliteStore`]), or anything that
/// keeps the promises below, such as a database that several hosts use.
///
/// The store belongs to one thread of one daemon, which calls it for one thing after the other. It is
/// opened before the daemon looks at what an earlier one left, and dropped when the daemon ends.
///
/// # Jobs
/// * [`run`](KeyStore::run) returns when its effect is durable, so that a loss of power does not undo it. A
///   failed job has changed nothing; one that changes several records changes all or none.
/// * A store that is reached over a connection, and loses it after it asked for a commit, connects again and
///   finds out what became of it before it returns. Where it cannot, it fails with a cause that says so, and
///   tells the labels with the next changes.
/// * A read sees every change that this store acknowledged, and every change that it reported.
/// * Every wait in it is bounded: callers wait for at most a minute. Other jobs wait meanwhile, and nothing
///   else does.
/// * What is kept may be any token that [`Job`] brings, of 1 to [`TOKEN_BYTES_MAX`](wire::bounds::TOKEN_BYTES_MAX)
///   bytes; whether it may be kept was decided before ([`Checked`]), and is looked at again whenever it is read.
///
/// # Changes from outside
/// If others write the same records, the daemon revokes what it gave to cards of a changed record:
///
/// ```text
/// another host commits -> wakes() is readable -> changed() names the label
///                      -> its key-table entries are revoked -> changed() again: nothing
/// ```
///
/// * A change that another made after the store was opened is told, once and in no particular order, as soon as
///   it can be known. One that was made by [`run`](KeyStore::run) of this store need not be.
/// * **A call of [`changed`](KeyStore::changed) acknowledges what the call before it told**: by then no card takes
///   another request with a token of those labels that was opened before. A store may hold back the writer's
///   answer until all hosts have acknowledged; that is what makes a deleted key unusable everywhere when its
///   owner is told so.
/// * A store that may have missed changes, since its connection was gone for a while, tells
///   [`Changes::Any`]: all opened labels are then opened anew.
///
/// Copying the records for a backup is not part of this: what several hosts use has its own ways.
pub trait KeyStore: Send {
    /// Does one job.
    ///
    /// # Errors
    /// [`StoreError`]; the job's own docs say which records must exist.
    fn run(&self, job: &Job) -> Result<Done, StoreError>;

    /// What others changed since the call before, and an acknowledgement of what that told.
    ///
    /// # Errors
    /// A failure of the store. It is asked again after half a second; what was opened stays so meanwhile.
    fn changed(&self) -> Result<Changes, StoreError>;

    /// A descriptor that is readable while [`changed`](KeyStore::changed) may have something to tell, and not
    /// after a call that told nothing; none where nobody else can write. It is asked for once and stays the same.
    fn wakes(&self) -> Option<BorrowedFd<'_>>;
}

/// What others changed in a key store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Records of these labels; empty where nothing changed.
    Labels(Vec<Label>),
    /// Not known: any record may have changed.
    Any,
}

impl Changes {
    /// Nothing.
    pub const NONE: Self = Self::Labels(Vec::new());
}

/// Why the key store did not do it; nothing was changed.
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
        /// The file.
        path: PathBuf,
        /// Its schema version.
        version: i64,
    },
    /// The file is a database of something else, or none at all.
    NotAKeyStore {
        /// The file.
        path: PathBuf,
    },
    /// The target of a copy exists.
    Occupied {
        /// The file.
        path: PathBuf,
    },
    /// A check of the whole file found damage.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        finding: String,
    },
    /// A record holds what may not be stored: somebody else wrote it.
    Inadmissible {
        /// The label of the record.
        label: Label,
        /// What is wrong with its token.
        fault: TokenFault,
    },
    /// A record has a certificate chain that may not be stored: somebody else wrote it.
    InadmissibleChain {
        /// The label of the record.
        label: Label,
        /// What is wrong with the chain.
        fault: ChainError,
    },
    /// The file, or whatever else keeps the records, could not be used.
    Failed {
        /// What was tried.
        operation: &'static str,
        /// The file, or the name of what is none.
        path: PathBuf,
        /// Why not.
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
    /// Another program holds it.
    InUse,
    /// Its content is damaged.
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
    /// What a client is told.
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
