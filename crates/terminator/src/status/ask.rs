//! Asks a running program for its report, and prints it.

use super::shown;
use crate::observe;
use crate::settings::{Settings, StatusAt, Wrong};
use options::tls::Status;
use serde_json::Value;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest report, in bytes.
const REPORT_BYTES_MAX: u64 = 64 << 20;
/// Longest wait for the program's answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// The settings of the packaged service, and the socket at which its program answers.
const SETTINGS_OF_SERVICE: &str = "/etc/cryptand/tls.toml";
const OF_SERVICE: &str = "/run/cryptand-tls/status.sock";

/// Why no status can be shown.
#[derive(Debug)]
pub enum StatusError {
    /// The arguments were not understood.
    Arguments(serde_json::Error),
    /// The settings file is wrong.
    Wrong(Wrong),
    /// The settings in this file switch the status off.
    None(PathBuf),
    /// No program answers at this socket.
    NoProgram(PathBuf, io::Error),
    /// The program at this socket does not answer this user, or breaks off.
    NoAnswer(PathBuf),
    /// The answer from this socket is not a report.
    Other(PathBuf, serde_json::Error),
    /// Standard output cannot be written.
    Output(io::Error),
}

impl StatusError {
    /// The exit code: 2 for wrong arguments, 1 for an error of the settings, 3 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Arguments(_) => 2,
            Self::Wrong(_) | Self::None(_) => 1,
            Self::NoProgram(..) | Self::NoAnswer(_) | Self::Other(..) | Self::Output(_) => 3,
        }
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(cause) => write!(f, "the arguments are not understood: {cause}"),
            Self::Wrong(wrong) => wrong.fmt(f),
            Self::None(file) => write!(f, "{}: [status] says that no status is told", file.display()),
            Self::NoProgram(socket, cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
                write!(f, "{}: only root and the user of cryptand-tls may ask: {cause}", socket.display())
            }
            Self::NoProgram(socket, cause) => write!(
                f,
                "no cryptand-tls answers at {}: {cause}\nWith settings elsewhere than /etc/cryptand/tls.toml, name their file.",
                socket.display()
            ),
            Self::NoAnswer(socket) => write!(
                f,
                "{} gives no answer: only root and the user of cryptand-tls may ask",
                socket.display()
            ),
            Self::Other(socket, cause) => write!(f, "{} gives no report: {cause}", socket.display()),
            Self::Output(cause) => write!(f, "cannot write: {cause}"),
        }
    }
}

impl std::error::Error for StatusError {}

/// Prints the status of a running program, as `cryptand tls status` asks in JSON.
///
/// # Errors
/// [`StatusError`].
pub fn run(asked: &str) -> Result<(), StatusError> {
    let asked: Status = serde_json::from_str(asked).map_err(StatusError::Arguments)?;
    let socket = match (&asked.socket, &asked.file) {
        (Some(socket), _) => socket.clone(),
        (None, None) => OF_SERVICE.into(),
        (None, Some(file)) => match Settings::read(file).map_err(StatusError::Wrong)?.observing.status {
            StatusAt::None => return Err(StatusError::None(file.clone())),
            StatusAt::Socket(at) => at.value,
            StatusAt::Default(_) if file.as_path() == Path::new(SETTINGS_OF_SERVICE) => OF_SERVICE.into(),
            // The folder that the service manager made is for its service, not for the asking program.
            StatusAt::Default(_) => StatusAt::default_for(file, None),
        },
    };
    let first = report(&socket)?;
    let mut before = None;
    let last = if asked.over == 0 {
        first
    } else {
        std::thread::sleep(Duration::from_secs(asked.over));
        let last = report(&socket)?;
        before = Some(first);
        last
    };
    let text = if asked.json {
        let mut last = last;
        if let Some(before) = &before {
            shown::add_rates(before, &mut last);
        }
        format!("{last}\n")
    } else {
        shown::text(before.as_ref(), &last)
    };
    io::stdout().write_all(text.as_bytes()).map_err(StatusError::Output)
}

fn report(socket: &Path) -> Result<Value, StatusError> {
    let failed = |cause| StatusError::NoProgram(socket.to_path_buf(), cause);
    let stream = observe::connect(socket).map_err(|cause| match cause.kind() {
        io::ErrorKind::WouldBlock => failed(io::Error::new(cause.kind(), "it accepts nobody")),
        _ => failed(cause),
    })?;
    stream.set_read_timeout(Some(ANSWER_WITHIN)).map_err(failed)?;
    let mut text = String::new();
    stream.take(REPORT_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    if text.is_empty() {
        return Err(StatusError::NoAnswer(socket.to_path_buf()));
    }
    serde_json::from_str(&text).map_err(|cause| StatusError::Other(socket.to_path_buf(), cause))
}
