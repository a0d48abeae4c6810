//! `cryptand backup` and `restore`: a home as a folder of files.
//!
//! The daemon makes the copy, so that it is consistent while the home serves. Every record of a restored home is read
//! once before `restore` reports success.

use super::carried;
use super::status::UNSEALED;
use crate::args::{Backup, Restore};
use crate::failure::Failure;
use crate::output::print;
use crate::session;
use facility::FacilityError;
use home::trust::{open_regular, read_regular};
use home::{Home, HomeError, Settings};
use rustix::fs::{Mode, OFlags};
use rustix::process::Uid;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that a backup may hold besides the settings file, which is required.
const FILES: &[&str] = &["keys.sqlite", "master-keys.sealed", "pin-failures"];
/// The files of [`FILES`] that a home may lack.
const OPTIONAL: &[&str] = &["master-keys.sealed", "pin-failures"];

/// Longest sealed master keys that are read, in bytes.
const SEALED_BYTES_MAX: u64 = 1 << 20;

/// Makes a backup, or checks one.
pub fn run(asked: Option<&Path>, typed: &Backup) -> Result<(), Failure> {
    let home = session::open_home(asked)?;
    let folder = typed.folder.as_path();
    if typed.verify {
        return verify(&home, folder);
    }
    let is_archive = folder.as_os_str() == "-";
    if is_archive && io::stdout().is_terminal() {
        return Err(Failure::Usage("a tar archive is not for a terminal: cryptand backup - > FILE".into()));
    }
    if !is_archive && folder.exists() {
        let there = "it is there already, empty or not empty; name a folder that is not there";
        let cause = io::Error::new(io::ErrorKind::AlreadyExists, there);
        return Err(Failure::io(format!("write a backup to {}", folder.display()))(cause));
    }
    let (files, is_sealed) = take(&home, asked)?;
    let to = if is_archive {
        write_archive(files).map_err(Failure::io("write the archive to standard output"))?;
        "standard output".to_owned()
    } else {
        write_folder(files, folder)?;
        folder.display().to_string()
    };
    eprintln!("{to}: backup of {}", home.folder().display());
    if is_sealed == Some(false) {
        eprintln!("{}", UNSEALED.trim());
        eprintln!("This backup does not have them either.");
    }
    Ok(())
}

/// Files of a home by their names, open for reading; the version file comes last, so that a partial copy is not a home.
type Files = Vec<(&'static str, File)>;

/// The files of a home at one time, and whether its sealed copy has the master keys in use; `None` for a stopped home.
/// The daemon writes the copy into the home. This process then moves the copy to its destination, with its own rights
/// and its own view of the file system.
fn take(home: &Home, asked: Option<&Path>) -> Result<(Files, Option<bool>), Failure> {
    let staging = Staging::new(home)?;
    let is_sealed = match session::connect(asked) {
        Ok(facility) => {
            facility.backup(&staging.0)?;
            Some(facility.status()?.registers.iter().all(|row| row.is_sealed))
        }
        Err(Failure::Facility(FacilityError::NotRunning { .. })) => {
            home.check_trust()?;
            let program = home.settings()?.programs.daemon;
            let mut command = Command::new(&program);
            command.arg("--home").arg(home.folder()).arg("--copy-to").arg(&staging.0);
            let copied = command.output().map_err(Failure::io(format!("run {}", program.display())))?;
            if !copied.status.success() {
                let said = String::from_utf8_lossy(&copied.stderr).trim().to_owned();
                return Err(Failure::NotCopied(said));
            }
            None
        }
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for name in ["settings.toml", "keys.sqlite", "master-keys.sealed", "pin-failures", "version"] {
        let path = staging.0.join(name);
        // The home's owner could replace the copy meanwhile: by a link to a file that only this process may read, or by
        // a FIFO.
        match open_regular(&path) {
            Ok(file) => files.push((name, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && OPTIONAL.contains(&name) => {}
            Err(error) => return Err(Failure::io(format!("read {}", path.display()))(error)),
        }
    }
    Ok((files, is_sealed))
}

/// A folder in the home for a copy, removed when the copy has been read.
struct Staging(PathBuf);

impl Staging {
    fn new(home: &Home) -> Result<Self, Failure> {
        let path = home.folder().join(format!("backup-{}", std::process::id()));
        let failed = || Failure::io(format!("create {}", path.display()));
        DirBuilder::new().mode(0o700).create(&path).map_err(failed())?;
        let staging = Self(path.clone());
        // Root makes the folder for the user who serves the home. The owner is changed on the opened folder, since its
        // name may lead elsewhere by then.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| failed()(error.into()))?;
        let owner = home.owner()?;
        if owner != rustix::process::geteuid().as_raw() {
            rustix::fs::fchown(&folder, Some(Uid::from_raw(owner)), None)
                .map_err(|error| failed()(error.into()))?;
        }
        Ok(staging)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // A leftover is a copy of wrapped keys beside the keys.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write_folder(files: Files, folder: &Path) -> Result<(), Failure> {
    DirBuilder::new()
        .mode(0o700)
        .create(folder)
        .map_err(Failure::io(format!("create {}", folder.display())))?;
    for (name, mut file) in files {
        let path = folder.join(name);
        let write = || -> io::Result<()> {
            let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            io::copy(&mut file, &mut to)?;
            to.sync_all()
        };
        if let Err(error) = { write }() {
            let _ = fs::remove_dir_all(folder);
            return Err(Failure::io(format!("write {}", path.display()))(error));
        }
    }
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(Failure::io(format!("flush {}", folder.display())))
}

fn write_archive(files: Files) -> io::Result<()> {
    let mut archive = tar::Builder::new(io::stdout().lock());
    for (name, mut file) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.metadata()?.len());
        header.set_mode(0o600);
        header.set_mtime(std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()));
        archive.append_data(&mut header, name, &mut file)?;
    }
    archive.into_inner()?.flush()
}

/// Reads everything in a backup, and compares its sealed master keys with those of the home.
fn verify(home: &Home, folder: &Path) -> Result<(), Failure> {
    let unfit = |cause| Failure::NotABackup { folder: folder.to_owned(), cause };
    let backup = Home::open(folder).map_err(unfit)?;
    backup.settings().map_err(unfit)?;
    // The daemon reads a copy: the backup is not changed, and may be on a read-only file system. Root neither runs a
    // program that the owner of this home names, nor makes the copy where that user could replace it.
    let settings = Settings { programs: session::programs()?, ..home.settings()? };
    let beside = tempfile::Builder::new().prefix("cryptand-verify-").tempdir();
    let beside = beside.map_err(Failure::io("make a folder for a copy of the backup"))?;
    let files = contents(&backup)?;
    let copy = Home::create(&beside.path().join("copy"), &settings)?;
    copy_into(&copy, files)?;
    let records = check(&copy, &settings)?;
    // The verdict is about the copy that was checked: the backup itself may have changed by now.
    let said = match (sealed(&copy)?, sealed(home)?) {
        (None, None) => "no sealed master keys, as the home",
        (None, Some(_)) => "WITHOUT the sealed master keys that the home has",
        (Some(_), None) => "with sealed master keys, which the home has not",
        (Some(one), Some(other)) if one == other => "with the sealed master keys of the home",
        (Some(_), Some(_)) => {
            "with other sealed master keys than the home: they were sealed anew since; the passphrase of then opens them"
        }
    };
    print(&format!("{}: {}; {said}\n", folder.display(), records.trim_start_matches(": ")))
}

/// The sealed master keys of a home; none if the home has no sealed copy.
fn sealed(home: &Home) -> Result<Option<Vec<u8>>, Failure> {
    let path = home.sealed_registers();
    match read_regular(&path, SEALED_BYTES_MAX) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        sealed => sealed.map(Some).map_err(Failure::io(format!("read {}", path.display()))),
    }
}

/// Makes a home from a backup. The new home's programs are those of this installation.
pub fn restore(asked: Option<&Path>, typed: &Restore) -> Result<(), Failure> {
    let folder = typed.folder.as_path();
    let target = session::home_folder(asked)?;
    let unfit = |cause| Failure::NotABackup { folder: folder.to_owned(), cause };
    let source = Home::open(folder).map_err(unfit)?;
    let mut settings = Settings { programs: session::programs()?, ..source.settings().map_err(unfit)? };
    if target.exists() && target.read_dir().is_ok_and(|mut files| files.next().is_some()) {
        return Err(HomeError::Occupied { folder: target }.into());
    }
    // The backup's files are checked before anything is asked or made.
    let files = contents(&source)?;
    carried::decide(&mut settings, typed)?;
    let home = Home::create(&target, &settings)?;
    copy_into(&home, files)?;
    check(&home, &settings)?;
    eprintln!("{}: restored. Next: cryptand serve, cryptand unseal", home.folder().display());
    Ok(())
}

/// Lets the daemon read every record of a home that does not serve yet; returns its report.
fn check(home: &Home, settings: &Settings) -> Result<String, Failure> {
    let daemon = &settings.programs.daemon;
    let checked = Command::new(daemon).arg("--home").arg(home.folder()).arg("--check").output();
    let checked = checked.map_err(Failure::io(format!("run {}", daemon.display())))?;
    if checked.status.success() {
        let said = String::from_utf8_lossy(&checked.stdout).trim().to_owned();
        let home = home.folder().display().to_string();
        return Ok(said.strip_prefix(&home).unwrap_or(&said).to_owned());
    }
    let said = String::from_utf8_lossy(&checked.stderr).trim().to_owned();
    Err(Failure::Restored { folder: home.folder().to_owned(), said })
}

/// The files of a backup, open for reading. Only regular files are opened, since a stranger may have written the
/// backup. A symbolic link could name a file of the reader's, and a FIFO would never end.
fn contents(backup: &Home) -> Result<Files, Failure> {
    let mut files = Vec::new();
    for name in FILES {
        let path = backup.folder().join(name);
        match open_regular(&path) {
            Ok(file) => files.push((*name, file)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(Failure::io(format!("read {}", path.display()))(cause)),
        }
    }
    Ok(files)
}

fn copy_into(home: &Home, files: Files) -> Result<(), Failure> {
    for (name, mut file) in files {
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(Failure::io(format!("read {name} of the backup")))?;
        home::write_durably(&home.folder().join(name), &content)?;
    }
    Ok(())
}
