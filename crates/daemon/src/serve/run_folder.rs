//! The place of `run/`: in the home, or in a folder of the service manager that lasts until the next boot, with a
//! symbolic link in the home. Clients know only the path of the home, and find it in either place.
//!
//! ```text
//! folder in the home --nothing runs in it, and the unit has another--> link to the unit's
//! link --what it names cannot be had, and no unit names one--> folder in the home
//! ```
//! While processes run, their folder stays: sockets of running cards cannot be moved.

use crate::error::DaemonError;
use crate::rows::Rows;
use crate::supervise::card::ProcessRow;
use home::{Home, trust};
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// The variable by which a service manager names the folders that it made for a unit (systemd.exec(5)).
pub const FOLDER_VARIABLE: &str = "RUNTIME_DIRECTORY";

/// The folder of the unit whose main process this is; `None` if the variable names none.
pub(super) fn of_unit() -> Option<PathBuf> {
    let folders = std::env::var_os(FOLDER_VARIABLE)?;
    let folders = folders.to_str()?.to_owned();
    folders.split(':').next().map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// Makes `run/`, or takes an existing one. It lies in the folder of a unit if one is given and nothing runs elsewhere.
pub(super) fn place(home: &Home, of_unit: Option<PathBuf>) -> Result<(), DaemonError> {
    let run = home.run();
    let mut target = match fs::symlink_metadata(&run) {
        Ok(found) if found.is_symlink() => {
            let named = fs::read_link(&run).map_err(DaemonError::system("read the link", &run))?;
            Some(home.folder().join(named))
        }
        Ok(_) => None,
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(DaemonError::system("look at", &run)(error)),
    };
    let wanted = of_unit.filter(|wanted| target.as_ref() != Some(wanted));
    if let Some(wanted) = wanted {
        match move_to(&run, &wanted) {
            Ok(()) => {
                tracing::info!("{} lies in {}", run.display(), wanted.display());
                target = Some(wanted);
            }
            Err(why) => {
                tracing::warn!("{} is not put into {}: {why}", run.display(), wanted.display());
            }
        }
    }
    if let Some(target) = &target
        && let Err(error) = make(target)
    {
        // So after a boot, if the daemon is started by hand: only the service manager makes the unit's folder.
        tracing::warn!("{}: {error}; {} lies in the home", target.display(), run.display());
        fs::remove_file(&run).map_err(DaemonError::system("remove the link", &run))?;
    }
    make(&run).map_err(DaemonError::system("create", &run))?;
    // In the home itself nobody else decides what lies there; the folder that a link leads to is checked.
    trust::folder(&run)?;
    Ok(())
}

/// Replaces `run/` by a link to this folder, unless something runs in `run/`.
fn move_to(run: &Path, folder: &Path) -> Result<(), String> {
    let failed = |what: &str, path: &Path| {
        let what = format!("{what} {}", path.display());
        move |cause: io::Error| format!("{what}: {cause}")
    };
    trust::folder(folder).map_err(|error| error.to_string())?;
    let found = fs::metadata(folder).map_err(failed("look at", folder))?;
    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own {
        return Err(format!("it belongs to user {}, and the daemon runs as {own}", found.uid()));
    }
    if fs::read_dir(folder).map_err(failed("read", folder))?.next().is_some() {
        return Err("it is not empty: another home may use it".into());
    }
    let (former, next) = (run.with_extension("former"), run.with_extension("new"));
    remove(&former).and_then(|()| remove(&next)).map_err(failed("tidy up beside", run))?;
    if anything_runs(run).map_err(failed("read what runs in", run))? {
        return Err(
            "cards or a keeper run in the place where it is; the next start after `cryptand stop` does it"
                .into(),
        );
    }
    symlink(folder, &next).map_err(failed("make the link", &next))?;
    match fs::rename(run, &former) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed("rename", run)(error)),
        _ => {}
    }
    fs::rename(&next, run).map_err(failed("rename", &next))?;
    remove(&former).map_err(failed("remove", &former))
}

/// Whether a process that a daemon noted in this folder lives.
fn anything_runs(run: &Path) -> io::Result<bool> {
    let rows = run.join("processes");
    if !rows.exists() {
        return Ok(false);
    }
    let processes = Rows::<ProcessRow>::open(&rows)?.heads::<crate::supervise::process::Identity>()?;
    Ok(processes.iter().filter_map(|process| process.open()).any(|process| !process.is_dead()))
}

/// Removes a folder with all in it, or a file, or nothing.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn make(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => match fs::metadata(path)?.is_dir() {
            true => Ok(()),
            false => Err(ErrorKind::NotADirectory.into()),
        },
        made => made,
    }
}
