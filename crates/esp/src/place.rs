//! The folder of a running data plane, and what lies in it.

use std::env;
use std::path::{Path, PathBuf};

/// The variable of the environment that names the folder; the library that is preloaded into IKE daemons reads it too.
pub const FOLDER_VARIABLE: &str = "CRYPTAND_ESP";
/// The folder where the variable names none.
pub const FOLDER: &str = "/run/cryptand-esp";
/// The device where none is named.
pub const DEVICE: &str = "cryptand0";

/// The folder of a data plane.
#[derive(Clone, Debug)]
pub struct Place {
    folder: PathBuf,
}

impl Place {
    /// The one that is named, else that of the environment, else [`FOLDER`].
    pub fn of(named: Option<&Path>) -> Place {
        let folder = named.map(Path::to_owned).or_else(|| env::var_os(FOLDER_VARIABLE).map(PathBuf::from));
        Place { folder: folder.unwrap_or_else(|| FOLDER.into()) }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where programs ask as they ask the kernel's XFRM (sequenced packets).
    pub fn xfrm_socket(&self) -> PathBuf {
        self.folder.join("xfrm.sock")
    }

    /// Where the supervisor is asked for sockets and to end (sequenced packets).
    pub fn plane_socket(&self) -> PathBuf {
        self.folder.join("plane.sock")
    }

    /// Where status, lists and metrics are read (a stream).
    pub fn observe_socket(&self) -> PathBuf {
        self.folder.join("observe.sock")
    }

    /// Policies and the names of SAs, without keys, for the worker after this one.
    pub fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// Locked for as long as a supervisor serves the folder.
    pub fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }
}
