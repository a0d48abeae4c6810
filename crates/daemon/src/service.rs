//! The programs of a system service around its daemon, each as a user of its own: the keeper, and the launcher of
//! cards.
//!
//! | program | module |
//! |---|---|
//! | `cryptand-keeper` | [`keeper`] |
//! | `cryptand-launcher` | [`launcher`] |
//! | the daemon's end of both | [`Link`] |

pub mod keeper;
pub mod launcher;
mod link;

pub use self::link::Link;

use home::{SERVICE_FILE, Service, ServiceUsers};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs a program of the service: reads its file, checks that it runs as the user that the file names, and serves until
/// it cannot.
fn run(
    name: &str,
    own: impl FnOnce(&ServiceUsers) -> u32,
    serve: impl FnOnce(&Service, &ServiceUsers) -> Result<(), String>,
) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let path = match arguments.as_slice() {
        [] => PathBuf::from(SERVICE_FILE),
        [path] if !path.to_string_lossy().starts_with('-') => path.into(),
        _ => {
            eprintln!(
                "{name}: at most one argument is taken\nusage: {name} [FILE], by default {SERVICE_FILE}"
            );
            return ExitCode::from(2);
        }
    };
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_target(false)
        .log_internal_errors(false)
        .with_writer(std::io::stderr)
        .init();
    let served = (|| {
        let service = Service::read(&path).map_err(|error| error.to_string())?;
        let users = service.users().map_err(|error| error.to_string())?;
        let (wanted, is) = (own(&users), rustix::process::geteuid().as_raw());
        if wanted != is {
            return Err(format!("it runs as user {is}; {} says {wanted}", path.display()));
        }
        serve(&service, &users)
    })();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{name}: {why}");
            ExitCode::FAILURE
        }
    }
}
