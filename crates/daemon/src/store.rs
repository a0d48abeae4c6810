//! The key store: records of wrapped key tokens under labels.
//!
//! One label names at most one record, whatever its store: a label is opened without naming a store.
//! What a caller was told is done is on the disk; what failed left nothing behind. Clear tokens are
//! refused ([`admission`]).

pub mod admission;
pub mod pattern;
pub mod sqlite;

use pattern::PatternError;
use std::path::{Path, PathBuf};
use wire::control::{RecordRow, Refusal, Store};
use wire::{Label, code};

pub use admission::TokenFault;
pub use pattern::Pattern;
pub use sqlite::SqliteStore;

/// Key records under labels. Every method that changes something returns after the change is durable.
pub trait KeyStore: Send {
    /// Creates a record, with a token or (DES only) empty.
    ///
    /// # Errors
    /// [`StoreError::Exists`], [`StoreError::Token`], or a failure of the store.
    fn create(&self, store: Store, label: &Label, token: &[u8], now_unix_s: u64) -> Result<(), StoreError>;

    /// The token of a record; empty where the record holds none.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], also where the label is in another store; or a failure of the store.
    fn read(&self, store: Store, label: &Label) -> Result<Vec<u8>, StoreError>;

    /// The store and token of a label.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] or a failure of the store.
    fn find(&self, label: &Label) -> Result<(Store, Vec<u8>), StoreError>;

    /// Replaces the token of an existing record.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Token`], or a failure of the store.
    fn write(&self, store: Store, label: &Label, token: &[u8], now_unix_s: u64) -> Result<(), StoreError>;

    /// Deletes a record, or only its token.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] or a failure of the store.
    fn delete(
        &self,
        store: Store,
        label: &Label,
        token_only: bool,
        now_unix_s: u64,
    ) -> Result<(), StoreError>;

    /// Records in order of their labels: at most `rows_max` after the label `after`.
    ///
    /// # Errors
    /// A failure of the store.
    fn list(
        &self,
        store: Option<Store>,
        pattern: &Pattern,
        after: Option<&Label>,
        rows_max: usize,
    ) -> Result<Vec<RecordRow>, StoreError>;

    /// Number of records.
    ///
    /// # Errors
    /// A failure of the store.
    fn count(&self) -> Result<u64, StoreError>;

    /// Writes a consistent copy to a new file, durably. `between` is called every few pages, so that
    /// other work need not wait for a long copy.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] where the file exists; or a failure of either store.
    fn backup(&self, to: &Path, between: &mut dyn FnMut(&dyn KeyStore)) -> Result<(), StoreError>;
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
    /// The file could not be used.
    Failed {
        /// What was tried.
        operation: &'static str,
        /// The file.
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
            Self::Failed { operation, path, cause } => Refusal::Storage {
                operation: format!("{operation} {}", path.display()),
                cause: cause.to_string(),
            },
        }
    }
}
