//! The hidden folder that an archive is extracted into, held by its descriptor.
//!
//! Its parent folder may belong to somebody else, who can rename its entries and put a symbolic link in their place.
//! All paths are therefore relative to the descriptor: files end up in this folder wherever it is moved to, and nobody
//! else may write inside it. Files are opened with `openat2` (Linux 5.6), by which the kernel guarantees that no path
//! leads out of the folder or through a symbolic link.

use super::DEPTH_MAX;
use crate::failure::Failure;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, chmodat, fchmod, fstat,
    linkat, mkdirat, openat, openat2, renameat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Flags of a folder that is opened for what is in it.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder without its name yet. Removed with all that is in it when dropped, unless it got the name.
pub(super) struct Folder {
    target: PathBuf,
    /// The folder that it lies in.
    parent: OwnedFd,
    hidden: OsString,
    folder: OwnedFd,
    is_named: AtomicBool,
}

impl Folder {
    /// A new one beside `target`, which must not exist.
    pub(super) fn make(target: &Path) -> Result<Self, Failure> {
        if std::fs::symlink_metadata(target).is_ok() {
            let said = format!("{}: is there already; name another folder with -o", target.display());
            return Err(Failure::Usage(said));
        }
        let name =
            target.file_name().ok_or_else(|| Failure::Usage(format!("{}: no name", target.display())))?;
        let beside = target.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = Self::beside(beside, target, name);
        made.map_err(Failure::io(format!("make a folder in {}", beside.display())))
    }

    fn beside(path: &Path, target: &Path, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = openat(CWD, path, flags, Mode::empty())?;
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{:016x}", u64::from_ne_bytes(random)));
        mkdirat(&parent, &hidden, Mode::RWXU)?;
        let folder = openat(&parent, &hidden, FOLDER, Mode::empty())?;
        // Somebody whose folder this is may have put another one in its place: one that is new is taken alone.
        let stat = fstat(&folder)?;
        let is_own = stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o077 == 0;
        if !is_own || entries(folder.as_fd())?.next().is_some() {
            return Err(io::Error::other("another one was put in its place"));
        }
        Ok(Self { target: target.to_owned(), parent, hidden, folder, is_named: AtomicBool::new(false) })
    }

    /// Makes the folders of a name, which stays inside.
    pub(super) fn make_folders(&self, name: &Path) -> io::Result<()> {
        let mut path = PathBuf::new();
        for part in name.components() {
            path.push(part);
            match mkdirat(&self.folder, &path, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes away what a mode does not permit on a folder, or on this one if the name is empty; what the process's mask
    /// took away stays away.
    pub(super) fn narrow(&self, name: &Path, mode: u32) -> io::Result<()> {
        // The system knows no empty path.
        let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = match openat2(&self.folder, name, FOLDER, Mode::empty(), resolve) {
            // As in `make_file`.
            Err(Errno::NOSYS | Errno::PERM) => openat(&self.folder, name, FOLDER, Mode::empty()),
            opened => opened,
        };
        let opened = opened?;
        let now = fstat(&opened)?.st_mode & 0o777;
        Ok(fchmod(&opened, Mode::from_raw_mode(now & mode))?)
    }

    /// Makes a file, which must not be there.
    pub(super) fn make_file(&self, name: &Path, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = match openat2(&self.folder, name, flags, mode, resolve) {
            // An older kernel, or a sandbox: nobody but this process writes inside, and it has made no link yet.
            Err(Errno::NOSYS | Errno::PERM) => openat(&self.folder, name, flags, mode),
            opened => opened,
        };
        Ok(File::from(opened?))
    }

    /// Gives a file that is there another name.
    pub(super) fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        if let Some(parent) = name.parent() {
            self.make_folders(parent)?;
        }
        Ok(linkat(&self.folder, file, &self.folder, name, AtFlags::empty())?)
    }

    /// Makes a symbolic link.
    pub(super) fn symbolic_link(&self, target: &Path, name: &Path) -> io::Result<()> {
        Ok(symlinkat(target, &self.folder, name)?)
    }

    /// Gives it the target's name.
    pub(super) fn name(&self) -> Result<(), Failure> {
        self.rename().map_err(Failure::io(format!("name the folder {}", self.target.display())))
    }

    fn rename(&self) -> io::Result<()> {
        let name = self.target.file_name().unwrap_or_default();
        let (from, to) = (&self.hidden, name);
        let renamed = match renameat_with(&self.parent, from, &self.parent, to, RenameFlags::NOREPLACE) {
            // A file system without that: a folder never replaces another one unless that is empty.
            Err(Errno::INVAL | Errno::NOSYS) => renameat(&self.parent, from, &self.parent, to),
            renamed => renamed,
        };
        renamed?;
        if !self.is_at(name) {
            return Err(io::Error::other("another one was put in its place"));
        }
        self.is_named.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether it has this name.
    fn is_at(&self, name: &OsStr) -> bool {
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let own = fstat(&self.folder).map(identity);
        let there = statat(&self.parent, name, AtFlags::SYMLINK_NOFOLLOW).map(identity);
        own.is_ok() && own == there
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_named.load(Ordering::Relaxed) {
            return;
        }
        let _ = fchmod(&self.folder, Mode::RWXU);
        empty(self.folder.as_fd(), 0);
        if self.is_at(&self.hidden) {
            let _ = unlinkat(&self.parent, &self.hidden, AtFlags::REMOVEDIR);
        }
    }
}

/// What is in a folder, without itself and the one above.
fn entries(folder: BorrowedFd<'_>) -> io::Result<impl Iterator<Item = (OsString, FileType)>> {
    use std::os::unix::ffi::OsStringExt;
    let entries = Dir::read_from(folder)?.filter_map(Result::ok);
    let named =
        entries.map(|entry| (OsString::from_vec(entry.file_name().to_bytes().to_vec()), entry.file_type()));
    Ok(named.filter(|(name, _)| name != "." && name != ".."))
}

/// Removes all that is in a folder, as far as that can be done.
fn empty(folder: BorrowedFd<'_>, depth: usize) {
    // Entries may be passed over while others are removed: again, until nothing more goes.
    loop {
        let mut is_some_gone = false;
        let Ok(entries) = entries(folder) else { return };
        for (name, _) in entries {
            let mut removed = unlinkat(folder, &name, AtFlags::empty());
            if matches!(removed, Err(Errno::ISDIR | Errno::PERM)) && depth <= DEPTH_MAX {
                // The archive may have closed it to its owner as well. Never through a link, which would be another's
                // mode.
                let is_folder = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
                if is_folder {
                    let _ = chmodat(folder, &name, Mode::RWXU, AtFlags::empty());
                }
                if let Ok(inner) = openat(folder, &name, FOLDER, Mode::empty()) {
                    empty(inner.as_fd(), depth + 1);
                }
                removed = unlinkat(folder, &name, AtFlags::REMOVEDIR);
            }
            is_some_gone |= removed.is_ok();
        }
        if !is_some_gone {
            return;
        }
    }
}
