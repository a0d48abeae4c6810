//! The file of a list: `KYRLT001.LST` to `KYRLT999.LST`, the first number that is free.
//!
//! The file is created new, with access for its owner alone: if something of that name exists, even a link, the next
//! number is taken. CCA begins again at 001 and overwrites, which would let anybody who may write to the folder choose
//! what is overwritten.

use super::NAME_BYTES;
use home::place;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use std::env;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use wire::control::Store;
use wire::{Codes, code};

/// The highest number of a list.
const NUMBERS: u32 = 999;
/// Length of a file's name, with the slash before it.
const FILE_BYTES: usize = "/KYRLT000.LST".len();

/// The folder of a store's lists. It is held open, so that its path cannot lead elsewhere later.
pub struct Folder {
    name: Vec<u8>,
    folder: OwnedFd,
}

impl Folder {
    /// Opens the folder that the store's environment variable names, else the working folder.
    ///
    /// # Errors
    /// 8/161 if the folder cannot be opened, and in a program with another user's rights, which reads no variable and
    /// would write to a folder of its caller's choice; 8/72 if the folder's name is so long that no file's name fits
    /// behind it.
    pub fn of(store: Store) -> Result<Self, Codes> {
        if place::is_set_id() {
            return Err(code::DATA_SET);
        }
        let named = env::var_os(variable(store)).map(PathBuf::from).unwrap_or_default();
        Self::open(&named)
    }

    fn open(named: &Path) -> Result<Self, Codes> {
        let path = match named.is_absolute() {
            true => named.to_owned(),
            false => env::current_dir().map_err(|_| code::DATA_SET)?.join(named),
        };
        let mut name = path.as_os_str().as_bytes().to_vec();
        while name.last() == Some(&b'/') {
            name.pop();
        }
        if name.len() + FILE_BYTES > NAME_BYTES {
            return Err(code::BUFFER_TOO_SMALL);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &path, flags, Mode::empty()).map_err(|_| code::DATA_SET)?;
        Ok(Self { name, folder })
    }

    /// Writes a new file; returns the file's name with its folder.
    ///
    /// # Errors
    /// 8/161 if no file can be made or all numbers are taken; 8/185 if the disk does not take the content, and then no
    /// file is left.
    pub fn write(&self, content: &[u8]) -> Result<Vec<u8>, Codes> {
        for number in 1..=NUMBERS {
            let file = format!("KYRLT{number:03}.LST");
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
            let made = match openat(&self.folder, &file, flags, Mode::RUSR | Mode::WUSR) {
                Ok(made) => made,
                Err(Errno::EXIST) => continue,
                Err(Errno::NOSPC | Errno::DQUOT) => return Err(code::DISK),
                Err(_) => return Err(code::DATA_SET),
            };
            if File::from(made).write_all(content).is_err() {
                // A list that ends early must not pass for a complete list.
                let _ = unlinkat(&self.folder, &file, AtFlags::empty());
                return Err(code::DISK);
            }
            return Ok([&self.name, b"/".as_slice(), file.as_bytes()].concat());
        }
        Err(code::DATA_SET)
    }
}

/// The environment variable that names the folder of a store's lists.
fn variable(store: Store) -> &'static str {
    match store {
        Store::Des => "CSUDESLD",
        Store::Aes => "CSUAESLD",
        Store::Pka => "CSUPKALD",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn temporary(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("kyrlt-{}-{name}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn the_first_free_number_is_taken_and_nothing_is_overwritten() {
        let path = temporary("free");
        let folder = Folder::open(&path).unwrap();
        let target = path.join("target");
        fs::write(&target, "another's").unwrap();
        symlink(&target, path.join("KYRLT001.LST")).unwrap();
        symlink(path.join("nothing"), path.join("KYRLT002.LST")).unwrap();
        fs::create_dir(path.join("KYRLT003.LST")).unwrap();
        for number in ["004", "005"] {
            let name = String::from_utf8(folder.write(number.as_bytes()).unwrap()).unwrap();
            assert_eq!(name, format!("{}/KYRLT{number}.LST", path.display()));
            assert_eq!(fs::read_to_string(&name).unwrap(), number);
            assert_eq!(fs::metadata(&name).unwrap().permissions().mode() & 0o177, 0);
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "another's");
        assert!(!path.join("nothing").exists());
        for number in 6..=NUMBERS {
            fs::write(path.join(format!("KYRLT{number:03}.LST")), "").unwrap();
        }
        assert_eq!(folder.write(b"none is free").err(), Some(code::DATA_SET));
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_folder_is_there_and_its_name_leaves_room() {
        let path = temporary("room");
        assert_eq!(Folder::open(&path.join("missing")).err(), Some(code::DATA_SET));
        fs::write(path.join("file"), "").unwrap();
        assert_eq!(Folder::open(&path.join("file")).err(), Some(code::DATA_SET));
        let room = NAME_BYTES - FILE_BYTES - path.as_os_str().len() - 1;
        let (fits, too_long) = (path.join("F".repeat(room)), path.join("F".repeat(room + 1)));
        fs::create_dir(&fits).unwrap();
        fs::create_dir(&too_long).unwrap();
        assert_eq!(Folder::open(&too_long).err(), Some(code::BUFFER_TOO_SMALL));
        assert_eq!(Folder::open(&fits).unwrap().write(b"").unwrap().len(), NAME_BYTES);
        fs::remove_dir_all(&path).unwrap();
    }
}
