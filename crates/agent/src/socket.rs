//! Where a user's agent listens: the path of its socket.

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Environment variable that names the socket; empty if no agent is to be used.
const VARIABLE: &str = "CRYPTAND_AGENT";

/// The socket that a user's agent listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSocket {
    socket: PathBuf,
}

impl AgentSocket {
    /// The socket that the environment names: `CRYPTAND_AGENT`, which is a path, or empty for none. Without it,
    /// `cryptand/agent.sock` in `XDG_RUNTIME_DIR`; without that, `agent/agent.sock` in `data`, the folder of the user's
    /// data. `None` if no agent is to be used.
    pub fn of_user(data: Option<&Path>) -> Option<Self> {
        let socket = match env::var_os(VARIABLE) {
            Some(path) if path.is_empty() => return None,
            Some(path) => PathBuf::from(path),
            None => {
                let run = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
                match run.filter(|run| run.is_absolute() && run.is_dir()) {
                    Some(run) => run.join("cryptand/agent.sock"),
                    None => data?.join("agent/agent.sock"),
                }
            }
        };
        Some(Self { socket })
    }

    /// The socket at this path.
    pub fn at(socket: PathBuf) -> Self {
        Self { socket }
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        &self.socket
    }

    /// The folder that the socket lies in.
    pub(crate) fn folder(&self) -> &Path {
        self.socket.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Makes the folder, accessible to its user alone, if it does not exist.
    ///
    /// # Errors
    /// Errors of the system calls; `PermissionDenied` if another user owns the folder or may write to it.
    pub(crate) fn make_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(self.folder())?;
        let metadata = self.folder().metadata()?;
        let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
        if is_own && metadata.mode() & 0o022 == 0 {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "another user owns the folder or may write to it",
        ))
    }
}
