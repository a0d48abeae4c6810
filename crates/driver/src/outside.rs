//! The parts of the machine that a plan reads: files, host names and processes.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

/// Upper bound of a file of names or certificates, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Access to files, host names and processes. An error is a message that names the object.
pub trait Outside {
    /// Contents of a file as text.
    ///
    /// # Errors
    /// The file cannot be read, is not text or is too long.
    fn text(&self, path: &Path) -> Result<String, String>;

    /// The first address that `host:port` resolves to.
    ///
    /// # Errors
    /// The name resolves to no address.
    fn address(&self, text: &str) -> Result<SocketAddr, String>;

    /// Name of a process; None if there is no such process.
    fn process(&self, pid: u32) -> Option<String>;
}

/// The machine that the driver runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl Outside for Machine {
    fn text(&self, path: &Path) -> Result<String, String> {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let mut text = String::new();
        let file = fs::File::open(path).map_err(|error| failed(&error))?;
        file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| failed(&error))?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(failed(&"too long"));
        }
        Ok(text)
    }

    fn address(&self, text: &str) -> Result<SocketAddr, String> {
        let mut found = text.to_socket_addrs().map_err(|error| format!("{text}: {error}"))?;
        found.next().ok_or_else(|| format!("{text}: no such host"))
    }

    fn process(&self, pid: u32) -> Option<String> {
        pacing::usage::name(pid)
    }
}
