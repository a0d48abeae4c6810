//! What can go wrong with a home's folder.

use crate::HOME_VERSION;
use crate::limits::Limited;
use crate::settings::SettingsError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a home cannot be created, opened or changed.
#[derive(Debug)]
pub enum HomeError {
    /// No such folder.
    Missing {
        /// The folder asked for.
        folder: PathBuf,
    },
    /// The folder exists but is not a home.
    NotAHome {
        /// The folder asked for.
        folder: PathBuf,
    },
    /// The folder is not empty, so no home is created in it.
    Occupied {
        /// The folder asked for.
        folder: PathBuf,
    },
    /// The layout is of a newer version than this program's.
    Newer {
        /// The folder asked for.
        folder: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The settings are not valid.
    Settings {
        /// The settings file.
        path: PathBuf,
        /// What is wrong with it.
        cause: SettingsError,
    },
    /// Another user decides what lies there.
    Distrusted {
        /// The folder or file.
        path: PathBuf,
        /// Why it is not trusted.
        why: Distrust,
    },
    /// A file operation failed.
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
}

impl HomeError {
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { operation, path: path.to_owned(), cause }
    }
}

impl From<SettingsError> for HomeError {
    fn from(cause: SettingsError) -> Self {
        Self::Settings { path: PathBuf::from("settings.toml"), cause }
    }
}

impl std::fmt::Display for HomeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing { folder } => {
                write!(f, "{}: no such folder; `cryptand init --home {0}` makes a home", folder.display())
            }
            Self::NotAHome { folder } => {
                write!(f, "{}: not a home; `cryptand init` makes one in an empty folder", folder.display())
            }
            Self::Occupied { folder } => {
                write!(
                    f,
                    "{}: the folder is not empty, so no home is made in it; name another one with --home",
                    folder.display()
                )
            }
            Self::Newer { folder, version } => write!(
                f,
                "{}: the home is of version {version}, newer than this program's {HOME_VERSION}; use the newer program",
                folder.display()
            ),
            Self::Settings { path, cause } => write!(f, "{}: {cause}", path.display()),
            Self::Distrusted { path, why } => write!(f, "{}: {why}", path.display()),
            Self::Io { operation, path, cause } => {
                write!(f, "cannot {operation} {}: {}", path.display(), Limited(cause))
            }
        }
    }
}

impl std::error::Error for HomeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Settings { cause, .. } => Some(cause),
            Self::Io { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// Why nothing is run or written at a path.
#[derive(Debug)]
pub enum Distrust {
    /// It belongs to another user, who could choose what this process runs or writes.
    Owner {
        /// The user's name, or number where the machine knows none.
        owner: String,
        /// The user that this process runs as.
        runs_as: String,
    },
    /// Others than its owner may write to it: the permission bits.
    Writable(u32),
    /// Others than its owner may read or write it, and nobody but the owner should: the permission bits.
    Readable(u32),
    /// It is not of the kind that belongs there.
    Kind {
        /// What belongs there: "a folder", "a regular file".
        expected: &'static str,
        /// What lies there.
        found: &'static str,
    },
}

impl std::fmt::Display for Distrust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Owner { owner, runs_as } => write!(
                f,
                "it belongs to user {owner} and this process runs as {runs_as}, which would run and write what \
                 {owner} chooses; run the command as {owner}, or give it to {runs_as} with `chown`"
            ),
            Self::Writable(mode) => write!(
                f,
                "its mode {mode:04o} lets other users than its owner change what lies there; `chmod go-w` it"
            ),
            Self::Readable(mode) => write!(
                f,
                "its mode {mode:04o} lets other users than its owner read it; `chmod go=` it, and take it that they have read it"
            ),
            Self::Kind { expected, found } => write!(f, "it is {found}, not {expected}"),
        }
    }
}
