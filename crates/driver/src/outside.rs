//! What a plan takes from outside of what was typed.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

/// Longest file of names or certificates, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Files, names of hosts and processes. Errors are what is said of them, with their name.
pub trait Outside {
    /// The text of a file.
    ///
    /// # Errors
    /// It cannot be read, is no text or too long.
    fn text(&self, path: &Path) -> Result<String, String>;

    /// The first address of `host:port`.
    ///
    /// # Errors
    /// There is none.
    fn address(&self, text: &str) -> Result<SocketAddr, String>;

    /// What a process is called; none where there is no such process.
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
