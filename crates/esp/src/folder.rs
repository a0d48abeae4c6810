//! The folder of a running data plane, and the files in it.

use options::ipsec::{FOLDER, FOLDER_VARIABLE};
use std::env;
use std::path::{Path, PathBuf};

/// The folder of a data plane.
#[derive(Clone, Debug)]
pub struct PlaneFolder {
    folder: PathBuf,
}

impl PlaneFolder {
    /// The named folder, else that of the environment, else [`FOLDER`].
    pub fn of(named: Option<&Path>) -> PlaneFolder {
        let folder = named.map(Path::to_owned).or_else(|| env::var_os(FOLDER_VARIABLE).map(PathBuf::from));
        PlaneFolder { folder: folder.unwrap_or_else(|| FOLDER.into()) }
    }

    /// Path of the folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Socket where programs send the requests that they would send to the kernel's XFRM (sequenced packets).
    pub fn xfrm_socket(&self) -> PathBuf {
        self.folder.join("xfrm.sock")
    }

    /// Socket where the supervisor is asked for sockets and to end (sequenced packets).
    pub fn plane_socket(&self) -> PathBuf {
        self.folder.join("plane.sock")
    }

    /// Socket where status, lists and metrics are read (a stream).
    pub fn observe_socket(&self) -> PathBuf {
        self.folder.join("observe.sock")
    }

    /// Journal of policies and names of SAs, without keys, for the next worker.
    pub fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// Lock file, locked for as long as a supervisor serves the folder.
    pub fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }
}
