//! `cryptand backup` and `restore`: a home as a folder of files.
//!
//! The daemon writes the key store's copy, so that it is consistent while it serves; settings and
//! sealed master keys are copied here. Every record of a restored home is read once before it is said to be there.

use super::carried;
use super::status::UNSEALED;
use crate::args::Restore;
use crate::failure::Failure;
use crate::session;
use home::{Home, HomeError, Settings};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;

/// What a backup may hold besides the settings, which it must.
const FILES: &[&str] = &["keys.sqlite", "master-keys.sealed"];

/// Copies the home into a new folder.
pub fn backup(asked: Option<&Path>, folder: &Path) -> Result<(), Failure> {
    let home = session::open_home(asked)?;
    let facility = session::connect(asked)?;
    if folder.exists() {
        return Err(HomeError::Occupied { folder: folder.to_owned() }.into());
    }
    let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
    make(folder).map_err(Failure::io(format!("create {}", folder.display())))?;
    let folder = folder.canonicalize().map_err(Failure::io(format!("resolve {}", folder.display())))?;
    facility.backup(&folder)?;
    for path in [home.settings_path(), home.sealed_registers(), home.version_path()] {
        if path.exists() {
            copy(&path, &folder.join(path.file_name().unwrap_or_default()))?;
        }
    }
    eprintln!("{}: backup of {}", folder.display(), home.folder().display());
    if !facility.status()?.registers.iter().all(|row| row.is_sealed) {
        eprintln!("{}", UNSEALED.trim());
        eprintln!("This backup does not have them either.");
    }
    Ok(())
}

/// Makes a home from a backup. The programs are this installation's, not those of the backup.
pub fn restore(asked: Option<&Path>, typed: &Restore) -> Result<(), Failure> {
    let folder = typed.folder.as_path();
    let target = session::home_folder(asked)?;
    let unfit = |cause| Failure::NotABackup { folder: folder.to_owned(), cause };
    let source = Home::open(folder).map_err(unfit)?;
    let mut settings = Settings { programs: session::programs()?, ..source.settings().map_err(unfit)? };
    if target.exists() && target.read_dir().is_ok_and(|mut files| files.next().is_some()) {
        return Err(HomeError::Occupied { folder: target }.into());
    }
    carried::decide(&mut settings, typed)?;
    let home = Home::create(&target, &settings)?;
    for name in FILES {
        let from = source.folder().join(name);
        if from.exists() {
            copy(&from, &home.folder().join(name))?;
        }
    }
    check(&home, &settings)?;
    eprintln!("{}: restored. Next: cryptand serve, cryptand unseal", home.folder().display());
    Ok(())
}

/// Has the daemon read every record of a home that does not serve yet.
fn check(home: &Home, settings: &Settings) -> Result<(), Failure> {
    let daemon = &settings.programs.daemon;
    let checked = Command::new(daemon).arg("--home").arg(home.folder()).arg("--check").output();
    let checked = checked.map_err(Failure::io(format!("run {}", daemon.display())))?;
    if checked.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&checked.stderr).trim().to_owned();
    Err(Failure::Restored { folder: home.folder().to_owned(), said })
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let content = fs::read(from).map_err(Failure::io(format!("read {}", from.display())))?;
    Ok(home::write_durably(to, &content)?)
}
