//! `cryptand serve`, `stop` and `reload`.

use super::{init, unsealed};
use crate::args::Serve;
use crate::failure::Failure;
use crate::session;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Executes the daemon in this process, or starts it in the background.
pub fn run(asked: Option<&Path>, serve: &Serve) -> Result<(), Failure> {
    if serve.insecure_dev {
        init::development_home(asked)?;
    }
    let home = session::open_home(asked)?;
    home.check_trust()?;
    let settings = home.settings()?;
    if settings.development.is_some() {
        eprintln!(
            "{}: a development home, INSECURE: anyone can compute its master keys",
            home.folder().display()
        );
    }
    if serve.background {
        let shown = home.folder().display();
        let only_a_service = settings.daemon.autostart == Some(false) || settings.service.is_some();
        if only_a_service && session::connect(asked).is_err() {
            return Err(Failure::InBackground { folder: home.folder().to_owned() });
        }
        let (facility, is_started) = session::start(&home)?;
        let cards = facility.status()?.cards.len();
        let state = if is_started { "started" } else { "serve already" };
        eprintln!("{shown}: {cards} card(s) {state}");
        return Ok(());
    }
    let daemon = &settings.programs.daemon;
    if daemon.exists() {
        home::trust::file(daemon)?;
    }
    let cause = Command::new(daemon).arg("--home").arg(home.folder()).exec();
    Err(Failure::Io { operation: format!("run {}", daemon.display()), cause })
}

/// Stops the daemon and its cards; `lose_keys` permits it even if master keys are lost.
pub fn stop(asked: Option<&Path>, lose_keys: bool) -> Result<(), Failure> {
    let facility = session::connect(asked)?;
    // The daemon refuses as well; this message also counts the records. A service's keeper belongs to another unit.
    if !lose_keys
        && let Ok(status) = facility.status().as_ref()
        && status.apart.is_none()
    {
        unsealed::check(status, "stopping the home loses them")?;
    }
    Ok(facility.shutdown(lose_keys)?)
}

/// Has the daemon read the settings again.
pub fn reload(asked: Option<&Path>) -> Result<(), Failure> {
    Ok(session::connect(asked)?.reload()?)
}
