//! Errors of a home's folder.

use crate::HOME_VERSION;
use crate::limits::Limited;
use crate::settings::SettingsError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a home cannot be created, opened or changed.
#[derive(Debug)]
pub enum HomeError {
    /// The folder does not exist.
    Missing {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// The folder exists but is not a home.
    NotAHome {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// The folder is not empty, so no home is created in it.
    Occupied {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// The layout of the folder is of a newer version than this program's.
    Newer {
        /// Path of the folder.
        folder: PathBuf,
        /// Version of the layout.
        version: u32,
    },
    /// The settings are not valid.
    Settings {
        /// Path of the settings file.
        path: PathBuf,
        /// The error in the settings.
        cause: SettingsError,
    },
    /// Another user could choose the content at this path.
    Distrusted {
        /// Path of the folder or file.
        path: PathBuf,
        /// Why the path is not trusted.
        why: Distrust,
    },
    /// A file operation failed.
    Io {
        /// The operation, as a verb.
        operation: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the system.
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

/// Why this process runs or writes nothing at a path.
#[derive(Debug)]
pub enum Distrust {
    /// The file belongs to another user, who could choose what this process runs or writes.
    Owner {
        /// Name of that user, or the number if the machine knows no name.
        owner: String,
        /// Name of the user that this process runs as.
        runs_as: String,
    },
    /// Users other than the owner may write to the file: its permission bits.
    Writable(u32),
    /// Users other than the owner may read or write the file, and must not: its permission bits.
    Readable(u32),
    /// The file is of the wrong kind.
    Kind {
        /// The expected kind: "a folder", "a regular file".
        expected: &'static str,
        /// The kind that was found.
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
