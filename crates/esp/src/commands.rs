//! `cryptand ipsec`, as `cryptand` passes it on: one JSON object, and the words after `--`.

use crate::observed::Question;
use crate::place::Place;
use crate::supervisor::Serve;
use serde::Deserialize;
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

/// How long a data plane may take to answer an observer.
const ANSWER_SECONDS: u64 = 10;
/// Exit code where the arguments make no sense.
const USAGE: u8 = 2;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Asked {
    Check(Show),
    Up(Up),
    Down(Where),
    Run(Run),
    Status(Show),
    Top(Top),
    Sa(List),
    Policy(List),
    Capture(Capture),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum List {
    List(Show),
}

#[derive(Deserialize)]
struct Where {
    folder: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Show {
    folder: Option<PathBuf>,
    json: bool,
}

#[derive(Deserialize)]
struct How {
    device: String,
    mtu: Option<u32>,
    threads: Option<usize>,
    weak_suites: bool,
    #[serde(default)]
    no_egress_filter: bool,
}

#[derive(Deserialize)]
struct Up {
    folder: Option<PathBuf>,
    #[serde(flatten)]
    how: How,
    foreground: bool,
    keep: bool,
}

#[derive(Deserialize)]
struct Run {
    folder: Option<PathBuf>,
    #[serde(flatten)]
    how: How,
    up: bool,
}

#[derive(Deserialize)]
struct Top {
    folder: Option<PathBuf>,
    every: u64,
    count: Option<u64>,
    json: bool,
}

#[derive(Deserialize)]
struct Capture {
    folder: Option<PathBuf>,
    interface: String,
    seconds: u64,
    into: PathBuf,
}

impl How {
    fn serve(self, folder: Option<PathBuf>, keep: bool) -> Serve {
        let How { device, mtu, threads, weak_suites, no_egress_filter } = self;
        Serve { folder, device, mtu, threads, weak_suites, keep, egress_filter: !no_egress_filter }
    }
}

/// Why a command failed.
pub(crate) type Failure = String;

/// Does what was asked.
pub fn run(json: &str, program: &[OsString]) -> ExitCode {
    let asked: Asked = match serde_json::from_str(json) {
        Ok(asked) => asked,
        Err(cause) => {
            eprintln!("cryptand-esp: this is not what `cryptand ipsec` passes on: {cause}");
            return ExitCode::from(USAGE);
        }
    };
    let place = |folder: &Option<PathBuf>| Place::of(folder.as_deref());
    let (name, done) = match asked {
        Asked::Check(asked) => ("check", check::run(&place(&asked.folder), asked.json)),
        Asked::Up(asked) => ("up", up::run(asked)),
        Asked::Down(asked) => ("down", down::run(&place(&asked.folder))),
        Asked::Run(asked) => ("run", run::run(asked, program)),
        Asked::Status(asked) => ("status", show::status(&place(&asked.folder), asked.json)),
        Asked::Top(asked) => ("top", show::top(&place(&asked.folder), asked.every, asked.count, asked.json)),
        Asked::Sa(List::List(asked)) => ("sa list", show::sas(&place(&asked.folder), asked.json)),
        Asked::Policy(List::List(asked)) => {
            ("policy list", show::policies(&place(&asked.folder), asked.json))
        }
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

/// Asks a data plane, as text.
fn ask(place: &Place, question: Question) -> Result<String, Failure> {
    let path = place.observe_socket();
    let error = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::ConnectionRefused => format!(
            "no data plane serves {}: `cryptand ipsec up` starts one, --folder names another",
            place.folder().display()
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

/// Asks a data plane, and reads its JSON.
fn ask_json<T: DeserializeOwned>(place: &Place, question: Question) -> Result<T, Failure> {
    let text = ask(place, question)?;
    serde_json::from_str(&text).map_err(|cause| {
        format!("the data plane answered what this version cannot read ({cause}): end it, and start this version's")
    })
}

/// Prints text; a reader that left is no failure.
fn print(text: &str) -> Result<ExitCode, Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("writing to standard output: {cause}"))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
