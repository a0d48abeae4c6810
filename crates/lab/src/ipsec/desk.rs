//! The desk of the IPsec measures: the programs, and a folder for their configuration files.

use crate::load::LabError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// The name of a peer row if the peer is missing: what to install.
pub const PEERS: &str = "strongSwan with libipsec (Debian packages strongswan-charon, strongswan-swanctl, libcharon-extra-plugins) and wireguard-go: \
                         `scripts/need bench` unpacks the one, and builds the other where Go is";
/// strongSwan as `scripts/need` unpacks it, and wireguard-go as it builds it, beside the folder of this program.
const STRONGSWAN: &str = "strongswan";
const WIREGUARD: &str = "wireguard-go/wireguard";
/// Where Debian's strongSwan has its daemon.
pub(super) const CHARON: &str = "/usr/lib/ipsec/charon";
/// Our program, and the library that `ip xfrm` is started with.
const OURS: &str = "cryptand-esp";
const LIBRARY: &str = "libcryptand_xfrm.so";

/// strongSwan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strongswan {
    /// A folder that is mounted over `/usr` for strongSwan; none if strongSwan is installed.
    pub over_usr: Option<PathBuf>,
}

/// Our data plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ours {
    /// `cryptand-esp`.
    pub program: PathBuf,
    /// The library that makes `ip xfrm` speak to `cryptand-esp`.
    pub library: PathBuf,
}

/// The folder with all files; removed when the desk is dropped.
pub struct Desk {
    folder: TempDir,
    tunnels: AtomicUsize,
    ours: Option<Ours>,
    strongswan: Option<Strongswan>,
    wireguard: Option<PathBuf>,
}

impl Desk {
    /// Makes the folder and finds the programs that this machine has.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn new() -> Result<Self, LabError> {
        // A short name: the length of socket paths is bounded.
        let folder =
            TempDir::with_prefix("cr").map_err(LabError::io("make a folder for the measures of IPsec"))?;
        let charon = beside(&format!("{STRONGSWAN}{CHARON}"));
        // The folder `usr` that its path begins with.
        let depth = CHARON.matches('/').count() - 1;
        let unpacked = charon.and_then(|charon| charon.ancestors().nth(depth).map(Path::to_owned));
        let is_installed = Path::new(CHARON).is_file();
        let strongswan = match unpacked {
            Some(usr) => Some(Strongswan { over_usr: Some(usr) }),
            None => is_installed.then_some(Strongswan { over_usr: None }),
        };
        let ours = beside(OURS).zip(beside(LIBRARY));
        Ok(Self {
            folder,
            tunnels: AtomicUsize::new(0),
            ours: ours.map(|(program, library)| Ours { program, library }),
            strongswan,
            wireguard: beside(WIREGUARD),
        })
    }

    /// Our data plane.
    ///
    /// # Errors
    /// [`LabError::Program`] where it was not built.
    pub fn ours(&self) -> Result<&Ours, LabError> {
        self.ours.as_ref().ok_or_else(|| {
            LabError::Program(format!(
                "{OURS} and {LIBRARY} are not beside this program: `make build` builds them"
            ))
        })
    }

    /// strongSwan.
    ///
    /// # Errors
    /// [`LabError::Program`] where it is not there.
    pub fn strongswan(&self) -> Result<&Strongswan, LabError> {
        self.strongswan.as_ref().ok_or_else(|| missing("strongSwan"))
    }

    /// wireguard-go.
    ///
    /// # Errors
    /// [`LabError::Program`] where it is not there.
    pub fn wireguard(&self) -> Result<&Path, LabError> {
        self.wireguard.as_deref().ok_or_else(|| missing("wireguard-go"))
    }

    /// A new folder within the desk's folder.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn folder(&self) -> Result<PathBuf, LabError> {
        let number = self.tunnels.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.path().join(number.to_string());
        fs::create_dir(&folder).map_err(LabError::io("make a folder for a tunnel"))?;
        Ok(folder)
    }
}

/// A file beside this program, or in a folder above it.
pub(super) fn beside(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    own.ancestors().skip(1).take(4).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn missing(what: &str) -> LabError {
    LabError::Program(format!("{what} is not here; {PEERS}"))
}

/// Writes a file for a program to read.
pub(super) fn write(path: &Path, text: &str) -> Result<(), LabError> {
    fs::write(path, text).map_err(LabError::io("write what a program is told"))
}
