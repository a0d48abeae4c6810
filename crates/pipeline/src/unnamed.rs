//! A file that gets its name only when it is complete.
//!
//! If the file system allows it, the file has no name at all (O_TMPFILE). Nothing is then left of it even after kill -9
//! or loss of power. Otherwise it has a hidden name in the same folder, which is removed if the operation fails.

use crate::output_path::folder_of;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, open, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// How secret the output's contents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Contents that everybody may read, as far as the process's mask allows.
    Public,
    /// Text that was secret: only the owner may read it.
    Secret,
}

/// A file that does not have its name yet.
pub(crate) struct Unnamed {
    file: File,
    path: PathBuf,
    overwrite: bool,
    hidden: Option<Hidden>,
}

impl Unnamed {
    /// A new file that will get the name `path`.
    pub(crate) fn new(path: PathBuf, overwrite: bool, content: Content) -> io::Result<Self> {
        let folder = folder_of(&path);
        let mode = match content {
            Content::Public => Mode::from_raw_mode(0o666),
            Content::Secret => Mode::from_raw_mode(0o600),
        };
        if let Some(file) = without_a_name(&folder, mode)? {
            return Ok(Self { file, path, overwrite, hidden: None });
        }
        let hidden = Hidden::new(&folder)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = open(&hidden.0, flags, mode)?;
        Ok(Self { file: File::from(file), path, overwrite, hidden: Some(hidden) })
    }

    /// A file that never gets a name, readable and writable by its owner.
    pub(crate) fn anonymous(folder: &Path) -> io::Result<File> {
        let mode = Mode::from_raw_mode(0o600);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        if let Ok(file) = open(folder, flags, mode) {
            return Ok(File::from(file));
        }
        let hidden = Hidden::new(folder)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        Ok(File::from(open(&hidden.0, flags, mode)?))
    }

    /// The file to write to.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name, which other processes see as one step. If `is_durable`, the bytes are on the disk
    /// before, and the name afterwards.
    pub(crate) fn name(mut self, is_durable: bool) -> io::Result<()> {
        if is_durable {
            self.file.sync_all()?;
        }
        let hidden = self.hidden.take();
        self.link(hidden)?;
        if is_durable { File::open(folder_of(&self.path))?.sync_all() } else { Ok(()) }
    }

    fn link(&self, hidden: Option<Hidden>) -> io::Result<()> {
        match (hidden, self.overwrite) {
            (None, false) => self.link_to(&self.path),
            (None, true) => {
                let hidden = Hidden::new(&folder_of(&self.path))?;
                self.link_to(&hidden.0)?;
                Ok(renameat(CWD, &hidden.0, CWD, &self.path)?)
            }
            (Some(hidden), true) => Ok(renameat(CWD, &hidden.0, CWD, &self.path)?),
            (Some(hidden), false) => name_without_replacing(&hidden.0, &self.path),
        }
    }

    fn link_to(&self, path: &Path) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

/// A new file without a name; `None` if the file system or the system does not allow it.
fn without_a_name(folder: &Path, mode: Mode) -> io::Result<Option<File>> {
    // The file is given its name through /proc.
    if !Path::new("/proc/self/fd").exists() {
        return Ok(None);
    }
    match open(folder, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn name_without_replacing(hidden: &Path, path: &Path) -> io::Result<()> {
    match renameat_with(CWD, hidden, CWD, path, RenameFlags::NOREPLACE) {
        // A file system without that flag may have links; otherwise the name cannot be given safely.
        Err(Errno::INVAL | Errno::NOSYS) => Ok(linkat(CWD, hidden, CWD, path, AtFlags::empty())?),
        result => Ok(result?),
    }
}

/// A hidden name, removed when this is dropped; it is no error if the name is gone by then.
struct Hidden(PathBuf);

impl Hidden {
    fn new(folder: &Path) -> io::Result<Self> {
        let mut random = [0; 12];
        rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty())?;
        let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(folder.join(format!(".cryptand-{digits}.part"))))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        unlinkat(CWD, &self.0, AtFlags::empty()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use tempfile::tempdir;

    /// A file with a hidden name, as on a file system without nameless files.
    fn hidden(path: &Path, overwrite: bool) -> Unnamed {
        let hidden = Hidden::new(&folder_of(path)).unwrap();
        let file = File::create_new(&hidden.0).unwrap();
        Unnamed { file, path: path.to_path_buf(), overwrite, hidden: Some(hidden) }
    }

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn with_a_hidden_name_it_goes_the_same_way() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("out");
        drop(hidden(&path, false));
        assert_eq!(count(folder.path()), 0);
        for (overwrite, text) in [(false, "one"), (true, "two")] {
            let file = hidden(&path, overwrite);
            file.file().write_all(text.as_bytes()).unwrap();
            file.name(false).unwrap();
            assert_eq!((fs::read_to_string(&path).unwrap().as_str(), count(folder.path())), (text, 1));
        }
        let failed = hidden(&path, false).name(false);
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), count(folder.path())), ("two", 1));
    }

    #[test]
    fn a_name_that_somebody_took_meanwhile_stays_his() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("out");
        let file = Unnamed::new(path.clone(), false, Content::Public).unwrap();
        fs::write(&path, "his").unwrap();
        assert_eq!(file.name(false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), count(folder.path())), ("his", 1));
    }
}
