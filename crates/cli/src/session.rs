//! Finding the home and reaching its daemon.

use crate::failure::Failure;
use engine::Engine;
use facility::{Facility, Options};
use home::{Home, Programs};
use std::env;
use std::path::{Path, PathBuf};

/// The home that was asked for: `--home` or `CRYPTAND_HOME` (both arrive in `asked`), else the
/// user's own.
pub fn home_folder(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(folder) = asked {
        return Ok(folder.to_owned());
    }
    home::place::own()
        .ok_or_else(|| Failure::Usage("no home named: give --home DIR or set CRYPTAND_HOME".to_owned()))
}

/// Opens the home that was asked for.
pub fn open_home(asked: Option<&Path>) -> Result<Home, Failure> {
    Ok(Home::open(&home_folder(asked)?)?)
}

/// Reaches the running daemon of the home.
pub fn connect(asked: Option<&Path>) -> Result<Facility, Failure> {
    Ok(Facility::open(&home_folder(asked)?, options()?)?)
}

/// Reaches the daemon of the home. If the daemon does not run and may be started on demand, this starts it.
pub fn connect_or_start(folder: &Path) -> Result<Facility, Failure> {
    Ok(Facility::open(folder, Options { start_daemon: true, ..options()? })?)
}

/// Reaches the daemon of the home; starts it if it does not run. True if it was started.
pub fn start(home: &Home) -> Result<(Facility, bool), Failure> {
    match Facility::open(home.folder(), options()?) {
        Err(facility::FacilityError::NotRunning { .. }) => {
            facility::start_daemon(home)?;
            Ok((Facility::open(home.folder(), options()?)?, true))
        }
        opened => Ok((opened?, false)),
    }
}

/// Options of a connection as the tenant whose credential the environment names.
fn options() -> Result<Options, Failure> {
    Ok(Options { credential: facility::credential::from_environment()?, ..Options::default() })
}

/// The programs of this installation, found beside this one; an error if they are missing.
pub fn programs() -> Result<Programs, Failure> {
    let own = env::current_exe().map_err(Failure::io("find this program's own path"))?;
    Programs::beside(&own).ok_or(Failure::ProgramsMissing { own })
}

/// The engine of this process, without weak algorithms.
pub fn engine() -> Result<Engine, Failure> {
    Engine::new(engine::Options::default()).map_err(Failure::Engine)
}
