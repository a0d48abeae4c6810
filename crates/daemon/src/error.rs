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
        /// The home.
        folder: PathBuf,
        /// Its process, as it wrote it.
        pid: String,
    },
    /// A program that needs it started it, which it may not.
    NoAutostart {
        /// The home.
        folder: PathBuf,
        /// Why not.
        why: NoAutostart,
    },
    /// The home cannot be opened, or its settings are not valid.
    Home(HomeError),
    /// The settings name someone unknown.
    Access(AccessError),
    /// The card program may not be run.
    Program(ProgramError),
    /// The key store cannot be opened.
    Store(StoreError),
    /// Neither keeper nor cards came so far that the home serves.
    NotServing {
        /// The home.
        folder: PathBuf,
        /// What did not come up.
        why: String,
    },
    /// A backup was not written.
    NotCopied {
        /// Where to.
        folder: PathBuf,
        /// Why.
        why: String,
    },
    /// A system call failed.
    System {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
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
