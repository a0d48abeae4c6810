//! Why a daemon does not start.

use crate::access::AccessError;
use crate::store::StoreError;
use crate::supervise::program::ProgramError;
use home::limits::Limited;
use home::{HomeError, NoAutostart};
use std::io;
use std::path::PathBuf;

/// Why a daemon does not start, or stops.
#[derive(Debug)]
pub enum DaemonError {
    /// Another daemon serves the home.
    Running {
        /// Folder of the home.
        folder: PathBuf,
        /// Id of that daemon's process, as that daemon wrote it.
        pid: String,
    },
    /// A program that needs the daemon started it, though the home was stopped or the settings forbid that.
    NoAutostart {
        /// Folder of the home.
        folder: PathBuf,
        /// Why the daemon must not be started on demand.
        why: NoAutostart,
    },
    /// The home cannot be opened, or its settings are not valid.
    Home(HomeError),
    /// The settings name a user or group that the machine does not know.
    Access(AccessError),
    /// The card program may not be run.
    Program(ProgramError),
    /// The key store cannot be opened.
    Store(StoreError),
    /// Keeper and cards did not come up far enough for the home to serve.
    NotServing {
        /// Folder of the home.
        folder: PathBuf,
        /// Why the home does not serve: the keeper or the cards that did not come up.
        why: String,
    },
    /// A backup was not written.
    NotCopied {
        /// Folder that the backup was to be written to.
        folder: PathBuf,
        /// Why the backup was not written.
        why: String,
    },
    /// A system call failed.
    System {
        /// The operation that failed, in words.
        operation: &'static str,
        /// The file or folder of the operation.
        path: PathBuf,
        /// The error of the system call.
        cause: io::Error,
    },
}

impl DaemonError {
    pub(crate) fn system(
        operation: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::System { operation, path, cause }
    }
}

impl std::fmt::Display for DaemonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Running { folder, pid } => {
                write!(
                    f,
                    "{}: a daemon serves this home already, process {pid}; it was left alone. `cryptand stop` ends it",
                    folder.display()
                )
            }
            Self::NoAutostart { folder, why } => write!(f, "{}: {why}", folder.display()),
            Self::Home(error) => error.fmt(f),
            Self::Access(error) => error.fmt(f),
            Self::Program(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::NotServing { folder, why } | Self::NotCopied { folder, why } => {
                write!(f, "{}: {why}", folder.display())
            }
            Self::System { operation, path, cause } => {
                write!(f, "cannot {operation} {}: {}", path.display(), Limited(cause))
            }
        }
    }
}

impl std::error::Error for DaemonError {}

impl From<HomeError> for DaemonError {
    fn from(error: HomeError) -> Self {
        Self::Home(error)
    }
}

impl From<AccessError> for DaemonError {
    fn from(error: AccessError) -> Self {
        Self::Access(error)
    }
}

impl From<ProgramError> for DaemonError {
    fn from(error: ProgramError) -> Self {
        Self::Program(error)
    }
}

impl From<StoreError> for DaemonError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
