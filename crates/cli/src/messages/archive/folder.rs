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

/// Flags for opening a folder to read its entries.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A hidden folder, until it gets its name. If it is dropped before, the folder and its contents are removed.
pub(super) struct Folder {
    target: PathBuf,
    /// The parent folder.
    parent: OwnedFd,
    hidden: OsString,
    folder: OwnedFd,
    is_named: AtomicBool,
}

impl Folder {
    /// Makes a hidden folder beside `target`, which must not exist.
    pub(super) fn make(target: &Path) -> Result<Self, Failure> {
        if std::fs::symlink_metadata(target).is_ok() {
            let said = format!("{}: is there already; name another folder with -o", target.display());
            return Err(Failure::Exists(said));
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
        // The parent's owner may have put another folder in its place: only a new one is accepted.
        let stat = fstat(&folder)?;
        let is_own = stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o077 == 0;
        if !is_own || entries(folder.as_fd())?.next().is_some() {
            return Err(io::Error::other("another one was put in its place"));
        }
        Ok(Self { target: target.to_owned(), parent, hidden, folder, is_named: AtomicBool::new(false) })
    }

    /// Makes the folders of a relative name inside this folder.
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

    /// Removes from a folder's permissions those that `mode` lacks; an empty name means this folder. Permissions that
    /// the process's mask removed stay removed.
    pub(super) fn narrow(&self, name: &Path, mode: u32) -> io::Result<()> {
        // The system accepts no empty path.
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

    /// Makes a new file; an existing one is an error.
    pub(super) fn make_file(&self, name: &Path, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = match openat2(&self.folder, name, flags, mode, resolve) {
            // An older kernel, or a sandbox, lacks `openat2`. This is safe without it: only this process writes inside,
            // and it has made no link yet.
            Err(Errno::NOSYS | Errno::PERM) => openat(&self.folder, name, flags, mode),
            opened => opened,
        };
        Ok(File::from(opened?))
    }

    /// Gives an existing file a further name (a hard link).
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

    /// Renames the folder to the target's name.
    pub(super) fn name(&self) -> Result<(), Failure> {
        self.rename().map_err(Failure::io(format!("name the folder {}", self.target.display())))
    }

    fn rename(&self) -> io::Result<()> {
        let name = self.target.file_name().unwrap_or_default();
        let (from, to) = (&self.hidden, name);
        let renamed = match renameat_with(&self.parent, from, &self.parent, to, RenameFlags::NOREPLACE) {
            // This file system cannot refuse to replace: a folder only ever replaces an empty folder.
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

    /// Whether this folder has this name in its parent folder.
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

/// Entries of a folder, without `.` and `..`.
fn entries(folder: BorrowedFd<'_>) -> io::Result<impl Iterator<Item = (OsString, FileType)>> {
    use std::os::unix::ffi::OsStringExt;
    let entries = Dir::read_from(folder)?.filter_map(Result::ok);
    let named =
        entries.map(|entry| (OsString::from_vec(entry.file_name().to_bytes().to_vec()), entry.file_type()));
    Ok(named.filter(|(name, _)| name != "." && name != ".."))
}

/// Removes everything in a folder, as far as possible.
fn empty(folder: BorrowedFd<'_>, depth: usize) {
    // Reading may skip entries while others are removed: this repeats until nothing more can be removed.
    loop {
        let mut is_some_gone = false;
        let Ok(entries) = entries(folder) else { return };
        for (name, _) in entries {
            let mut removed = unlinkat(folder, &name, AtFlags::empty());
            if matches!(removed, Err(Errno::ISDIR | Errno::PERM)) && depth <= DEPTH_MAX {
                // The archive may have closed the folder to its owner as well. Links are not followed: their target's
                // mode is not ours to change.
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
