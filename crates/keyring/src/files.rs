//! Files of the store: read whole within a bound, replaced atomically, changed by one process at a time.

use crate::error::KeyringError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Longest file of the store in bytes. Certificates with tens of thousands of signatures fit.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// How long a change waits for another process that is changing the store.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
/// How often a waiting change tries to take the lock again.
const LOCK_LOOK: Duration = Duration::from_millis(20);

/// The access that is allowed to a file of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read access for everybody, as far as the process's mask allows.
    Shared,
    /// Access for the owner alone.
    Owner,
}

/// A lock, held while the store is changed; other processes wait for it.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder, which is created if it is missing.
    pub(crate) fn take(folder: &Path) -> Result<Self, KeyringError> {
        make_folder(folder)?;
        let path = folder.join(".lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(KeyringError::io("open", &path))?;
        let begin = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(error) if error == rustix::io::Errno::WOULDBLOCK && begin.elapsed() < LOCK_WAIT_MAX => {
                    std::thread::sleep(LOCK_LOOK);
                }
                Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
                    return Err(KeyringError::Busy { folder: folder.to_owned() });
                }
                Err(error) => return Err(KeyringError::io("lock", &path)(error.into())),
            }
        }
    }
}

/// Makes a folder that only its owner may enter, and missing folders above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), KeyringError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(KeyringError::io("make the folder", folder))
}

/// The bytes of a file; none if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, KeyringError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(KeyringError::io("open", path)(error)),
    };
    let length = file.metadata().map_or(0, |metadata| metadata.len()).min(FILE_BYTES_MAX);
    // Room for all bytes at once: a vector that grows leaves copies of secrets behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length as usize + 1));
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(KeyringError::io("read", path))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(KeyringError::TooLong { path: path.to_owned(), bytes_max: FILE_BYTES_MAX });
    }
    Ok(Some(bytes))
}

/// Replaces a file atomically: a reader finds the old content or the new, also after an interruption.
pub(crate) fn replace(path: &Path, bytes: &[u8], access: Access) -> Result<(), KeyringError> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    // A file that is too long to be read again is not written.
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(KeyringError::TooLong { path: path.to_owned(), bytes_max: FILE_BYTES_MAX });
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".new-{}-{serial}", std::process::id()));
    let outcome = write_new(&temporary, bytes, access)
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| File::open(folder)?.sync_all());
    outcome.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        KeyringError::io("write", path)(error)
    })
}

fn write_new(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let mode = match access {
        Access::Shared => 0o644,
        Access::Owner => 0o600,
    };
    // Nobody uses a file that a killed process of the same number left behind.
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new().create_new(true).write(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes a file; a missing file is not an error. Returns whether there was one.
pub(crate) fn remove(path: &Path) -> Result<bool, KeyringError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(KeyringError::io("remove", path)(error)),
    }
}

/// Paths in a folder that end in `.pgp`, by name; none if the folder is missing. Hidden files are
/// left out.
pub(crate) fn list(folder: &Path, count_max: usize) -> Result<Vec<PathBuf>, KeyringError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(KeyringError::io("read the folder", folder)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(KeyringError::io("read the folder", folder))?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.extension().is_some_and(|extension| extension == "pgp") {
            paths.push(path);
        }
        if paths.len() > count_max {
            return Err(KeyringError::TooMany { folder: folder.to_owned(), count_max });
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_replaced_and_its_owners_alone() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("private/x.pgp");
        assert!(read(&path).unwrap().is_none());
        replace(&path, b"one", Access::Owner).unwrap();
        replace(&path, b"two", Access::Owner).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().as_slice(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(
            list(path.parent().unwrap(), 1).unwrap(),
            std::slice::from_ref(&path),
            "nothing else is left"
        );
        assert!(remove(&path).unwrap());
        assert!(!remove(&path).unwrap());
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("x.pgp");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), "x").unwrap();
        let error = replace(&path, b"one", Access::Shared).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1, "the temporary file is gone");
    }

    #[test]
    fn one_process_changes_the_store_at_a_time() {
        let base = tempfile::tempdir().unwrap();
        let held = Lock::take(base.path()).unwrap();
        let path = base.path().join(".lock");
        let other = OpenOptions::new().write(true).open(path).unwrap();
        assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err());
        drop(held);
        flock(&other, FlockOperation::NonBlockingLockExclusive).unwrap();
    }

    #[test]
    fn folders_and_files_are_bounded() {
        let base = tempfile::tempdir().unwrap();
        for name in ["a.pgp", "b.pgp", "c.txt"] {
            fs::write(base.path().join(name), "x").unwrap();
        }
        assert_eq!(list(base.path(), 2).unwrap().len(), 2);
        assert!(matches!(list(base.path(), 1), Err(KeyringError::TooMany { .. })));
        let long = base.path().join("long.pgp");
        File::create(&long).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        assert!(matches!(read(&long), Err(KeyringError::TooLong { .. })));
    }
}
