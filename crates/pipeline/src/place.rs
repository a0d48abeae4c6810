//! What exists at the path of an output: whether it is replaced, written into, or somebody else's and left alone.
//!
//! In a sticky, world-writable folder (`/tmp`), others can put a symbolic link, a FIFO
//! or a file under the name of an output. None of these is followed or opened: the output is renamed over it, if the
//! system allows that, or refused (compare `fs.protected_symlinks` and `fs.protected_fifos` of Linux, which do not
//! cover a program that reads a link itself).

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat, open};
use rustix::io::Errno;

use crate::source::{Identity, pause};

/// What is at a path now.
pub(crate) enum Place {
    Free,
    Folder,
    /// A device or a FIFO.
    Device(Node),
    File(Identity),
    /// A link that leads nowhere.
    Link,
    /// Somebody else's, in a world-writable folder: it may only be replaced itself, never followed.
    Strange,
}

/// A device or FIFO that was looked at.
pub(crate) struct Node {
    device: u64,
    number: u64,
    is_fifo: bool,
}

impl Place {
    /// None for a path that can only be a folder's.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Self>> {
        if path.file_name().is_none() || path.as_os_str().as_bytes().ends_with(b"/") {
            return Ok(None);
        }
        if is_strange_on_the_way(path)? {
            return Ok(Some(Self::Strange));
        }
        Ok(Some(match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Self::Folder,
            Ok(found) if found.is_file() => Self::File(Identity::new(found.dev(), found.ino())),
            Ok(found) if found.file_type().is_socket() => {
                return Err(io::Error::from(io::ErrorKind::Unsupported));
            }
            Ok(found) => Self::Device(Node {
                device: found.dev(),
                number: found.ino(),
                is_fifo: found.file_type().is_fifo(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    Self::Link
                } else {
                    Self::Free
                }
            }
            Err(error) => return Err(error),
        }))
    }
}

impl Node {
    /// Opens it for writing; none if a signal came before a FIFO had a reader.
    ///
    /// # Errors
    /// The system's; where something else is there by now.
    pub(crate) fn open(&self, path: &Path, interrupted: Option<&AtomicBool>) -> io::Result<Option<File>> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        loop {
            match open(path, flags, Mode::empty()) {
                Ok(file) => {
                    let stat = fstat(&file)?;
                    if (stat.st_dev, stat.st_ino) != (self.device, self.number) {
                        return Err(io::Error::other("something else was put in its place"));
                    }
                    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
                    return Ok(Some(File::from(file)));
                }
                // The system says by nothing but this that a reader is there; a call that waits for one would not
                // return for a signal.
                Err(Errno::NXIO) if self.is_fifo => {
                    if !pause(interrupted) {
                        return Ok(None);
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether somebody else put what is at the path, or a symbolic link on the way to it, into a world-writable folder.
fn is_strange_on_the_way(path: &Path) -> io::Result<bool> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let folder = folder_of(&path);
        if is_strange(&found, &folder.metadata()?, rustix::process::geteuid().as_raw()) {
            return Ok(true);
        }
        if !found.is_symlink() {
            return Ok(false);
        }
        path = folder.join(path.read_link()?);
    }
    Err(Errno::LOOP.into())
}

/// The kernel's rule for links and FIFOs, extended to group-writable folders.
fn is_strange(found: &Metadata, folder: &Metadata, user: u32) -> bool {
    is_strangers((found.uid(), folder.uid()), folder.mode(), user)
}

fn is_strangers((owner, folder_owner): (u32, u32), folder_mode: u32, user: u32) -> bool {
    let is_of_all = folder_mode & STICKY != 0 && folder_mode & (GROUP_WRITES | ALL_WRITE) != 0;
    is_of_all && owner != user && owner != folder_owner
}

/// For the folder of a path.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Links over which a path leads at most, as Linux has it.
const LINKS_MAX: usize = 40;
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;

#[cfg(test)]
mod tests {
    use super::*;

    const ME: u32 = 1000;
    const OTHER: u32 = 1001;
    const ROOT: u32 = 0;

    #[test]
    fn only_what_others_put_into_a_folder_of_all_is_strange() {
        for (owners, mode, is_strange) in [
            ((OTHER, ROOT), 0o1777, true),
            ((OTHER, ROOT), 0o1775, true),
            ((OTHER, ME), 0o1777, true),
            ((ME, ROOT), 0o1777, false),
            // Whoever has the folder can do worse.
            ((ROOT, ROOT), 0o1777, false),
            ((OTHER, OTHER), 0o1777, false),
            ((OTHER, ROOT), 0o755, false),
            ((OTHER, ROOT), 0o1755, false),
        ] {
            assert_eq!(is_strangers(owners, mode, ME), is_strange, "{owners:?} {mode:o}");
        }
        assert!(is_strangers((OTHER, ROOT), 0o1777, ROOT), "root is lured like others");
    }

    #[test]
    fn links_in_a_circle_are_an_error_and_those_that_lead_nowhere_are_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(path("b"), path("a")).unwrap();
        assert!(matches!(Place::of(&path("a")), Ok(Some(Place::Link))));
        assert!(matches!(Place::of(&path("b")), Ok(Some(Place::Free))));
        std::os::unix::fs::symlink(path("a"), path("b")).unwrap();
        assert!(Place::of(&path("a")).is_err());
        assert!(matches!(Place::of(&path("c/")), Ok(None)));
        assert!(matches!(Place::of(Path::new("/dev/null")), Ok(Some(Place::Device(_)))));
    }
}
