//! `cryptand ipsec`, as `cryptand` passes it on: one JSON object, and the words after `--`.

use crate::folder::PlaneFolder;
use crate::observed::Question;
use crate::supervisor::Serve;
use options::ipsec::{self, Asked, How, List};
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

mod capture;
pub mod check;
mod down;
pub mod netlink;
mod run;
pub mod serve;
mod show;
mod table;
mod up;

/// How long a data plane may take to answer an observer, in seconds.
const ANSWER_SECONDS: u64 = 10;
/// Exit code for arguments that make no sense.
const USAGE: u8 = 2;

/// The supervisor's settings, from the options as typed.
fn served(how: How, folder: Option<PathBuf>, keep: bool) -> Serve {
    let How { device, mtu, threads, weak_suites, no_egress_filter } = how;
    let threads = threads.map(usize::from);
    Serve { folder, device, mtu, threads, weak_suites, keep, egress_filter: !no_egress_filter }
}

/// Why a command failed.
pub(crate) type Failure = String;

/// Runs the command that the JSON names.
pub fn run(json: &str, program: &[OsString]) -> ExitCode {
    let asked: Asked = match serde_json::from_str(json) {
        Ok(asked) => asked,
        Err(cause) => {
            eprintln!("cryptand-esp: this is not what `cryptand ipsec` passes on: {cause}");
            return ExitCode::from(USAGE);
        }
    };
    let plane = |plane: &ipsec::FolderOption| PlaneFolder::of(plane.folder.as_deref());
    let (name, done) = match asked {
        Asked::Check(asked) => ("check", check::run(&plane(&asked.plane), asked.json)),
        Asked::Up(asked) => ("up", up::run(asked)),
        Asked::Down(asked) => ("down", down::run(&plane(&asked))),
        Asked::Run(asked) => ("run", run::run(asked, program)),
        Asked::Status(asked) => ("status", show::status(&plane(&asked.plane), asked.json)),
        Asked::Top(asked) => ("top", show::top(&plane(&asked.plane), asked.every, asked.count, asked.json)),
        Asked::Sa(List::List(asked)) => ("sa list", show::sas(&plane(&asked.plane), asked.json)),
        Asked::Policy(List::List(asked)) => ("policy list", show::policies(&plane(&asked.plane), asked.json)),
        Asked::Capture(asked) => ("capture", capture::run(&asked)),
    };
    match done {
        Ok(code) => code,
        Err(why) => {
            let _ = writeln!(io::stderr(), "cryptand ipsec {name}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Asks a data plane a question; returns the answer as text.
fn ask(plane: &PlaneFolder, question: Question) -> Result<String, Failure> {
    let path = plane.observe_socket();
    let error = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::ConnectionRefused => format!(
            "no data plane serves {}: `cryptand ipsec up` starts one, --folder names another",
            plane.folder().display()
        ),
        io::ErrorKind::WouldBlock => {
            format!(
                "asking at {}: no answer within {ANSWER_SECONDS} seconds: the worker is busy, or stopped; `cryptand ipsec down` ends it",
                path.display()
            )
        }
        _ => format!("asking at {}: {cause}", path.display()),
    };
    let mut text = String::new();
    UnixStream::connect(&path)
        .and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(ANSWER_SECONDS)))?;
            stream.write_all(question.line().as_bytes())?;
            stream.read_to_string(&mut text)
        })
        .map_err(error)?;
    if text.is_empty() {
        return Err(format!("asking at {}: the data plane ended before it answered", path.display()));
    }
    Ok(text)
}

/// Asks a data plane a question; returns the answer read from JSON.
fn ask_json<T: DeserializeOwned>(plane: &PlaneFolder, question: Question) -> Result<T, Failure> {
    let text = ask(plane, question)?;
    serde_json::from_str(&text).map_err(|cause| {
        format!("the data plane answered what this version cannot read ({cause}): end it, and start this version's")
    })
}

/// Prints text; a closed pipe is no failure.
fn print(text: &str) -> Result<ExitCode, Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("writing to standard output: {cause}"))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
