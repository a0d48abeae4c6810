//! The command line of a daemon: arguments, log, exit codes.
//!
//! Exit codes: 0 stopped as told, 1 the home cannot be served, 2 the command line is wrong, 3 another daemon
//! serves the home, 4 no program may start the daemon because it needs one (`--on-demand`).

use crate::audit_log::TARGET;
use crate::backup::CopyStore;
use crate::log::{LOG_BYTES_MAX, Log};
use crate::store::{KeyStore, StoreError};
use crate::{Daemon, DaemonError, Ended, Ready, StartedBy};
use home::Home;
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tracing_subscriber::fmt::writer::MakeWriterExt;
use wire::control::{CONTROL_VERSION, LEVEL_VARIABLE, LevelLimit};

struct Arguments {
    home: PathBuf,
    ready: Option<i32>,
    check: bool,
    copy_to: Option<PathBuf>,
    on_demand: bool,
}

/// Serves a home as the command line says, over the key store that `open` opens; see [`Daemon::start_over`].
pub fn run<S: KeyStore + 'static>(
    open: impl FnOnce(&Home) -> Result<S, StoreError>,
    copy: Option<CopyStore<S>>,
) -> ExitCode {
    if let Err(cause) = crate::supervise::process::keep_out_of_dumps() {
        eprintln!("cryptand-daemon: keeping this process out of core files: {cause}");
        return ExitCode::from(1);
    }
    if std::env::args_os().skip(1).eq(["--version"]) {
        let version = env!("CARGO_PKG_VERSION");
        let said = format_args!("cryptand-daemon {version}\ncontrol protocol {CONTROL_VERSION}\n");
        return saying::answer("cryptand-daemon", said);
    }
    let arguments = match arguments(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(cause) => {
            eprintln!(
                "cryptand-daemon: {cause}\nusage: cryptand-daemon --home DIR [--ready-fd N] [--on-demand] | --home DIR --check | --home DIR --copy-to FOLDER | --version"
            );
            return ExitCode::from(2);
        }
    };
    if arguments.check {
        return match crate::serve::check(&arguments.home) {
            Ok(records) => {
                let home = arguments.home.display();
                let said = format_args!("{home}: settings and {records} key records are sound\n");
                saying::answer("cryptand-daemon", said)
            }
            Err(error) => failed(&error),
        };
    }
    if let Some(folder) = &arguments.copy_to {
        return match crate::serve::copy_stopped(&arguments.home, folder) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        };
    }
    let ready = match arguments.ready.map(take_descriptor).transpose() {
        Ok(line) => Ready::new(line),
        Err(error) => {
            eprintln!("cryptand-daemon: --ready-fd: {error}");
            return ExitCode::from(2);
        }
    };
    let level = match LevelLimit::from_variable(std::env::var_os(LEVEL_VARIABLE).as_deref()) {
        Ok(level) => level,
        Err(error) => {
            eprintln!("cryptand-daemon: {error}");
            return ExitCode::from(2);
        }
    };
    start_log(&arguments.home);
    crate::supervise::process::own_session();
    let by = match arguments.on_demand {
        true => StartedBy::Demand,
        false => StartedBy::Hand,
    };
    match Daemon::start_over(&arguments.home, by, level, ready, open, copy).and_then(Daemon::run) {
        Ok(Ended::Stopped) => ExitCode::SUCCESS,
        Ok(Ended::Replaced(program)) => {
            let cause = program.take_over(&[OsStr::new("--home"), arguments.home.as_os_str()]);
            tracing::error!("the installed daemon was not executed: {cause}");
            ExitCode::from(1)
        }
        Err(error) => {
            tracing::error!("{error}");
            failed(&error)
        }
    }
}

fn failed(error: &DaemonError) -> ExitCode {
    eprintln!("cryptand-daemon: {error}");
    ExitCode::from(match error {
        DaemonError::Running { .. } => 3,
        DaemonError::NoAutostart { .. } => 4,
        _ => 1,
    })
}

fn arguments(mut given: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
    let (mut home, mut ready, mut check) = (None, None, false);
    let (mut copy_to, mut on_demand) = (None, false);
    while let Some(argument) = given.next() {
        match argument.to_str() {
            Some("--home") => home = Some(given.next().ok_or("--home needs a folder")?.into()),
            Some("--ready-fd") => {
                let number = given.next().and_then(|text| text.to_str()?.parse::<i32>().ok());
                let number = number.filter(|number| *number == STDOUT || *number > STDERR);
                ready = Some(number.ok_or("--ready-fd needs 1 or a number above 2")?);
            }
            Some("--check") => check = true,
            Some("--copy-to") => copy_to = Some(given.next().ok_or("--copy-to needs a folder")?.into()),
            Some("--on-demand") => on_demand = true,
            _ => return Err(format!("unknown argument {}", argument.display())),
        }
    }
    Ok(Arguments { home: home.ok_or("--home is missing")?, ready, check, copy_to, on_demand })
}

/// Opens an inherited pipe or file anew and closes the inherited descriptor (standard output becomes `/dev/null`), so
/// that the programs which the daemon starts do not inherit it.
fn take_descriptor(number: i32) -> std::io::Result<File> {
    let file = OpenOptions::new().write(true).open(format!("/proc/self/fd/{number}"))?;
    if number == STDOUT {
        rustix::stdio::dup2_stdout(OpenOptions::new().write(true).open("/dev/null")?)?;
    } else {
        nix::unistd::close(number)?;
    }
    Ok(file)
}

fn start_log(home: &Path) {
    let file = Log::open(&home.join("log/daemon.log"), LOG_BYTES_MAX);
    // Lines are not kept twice: standard error is left out if it is a regular file.
    let also_stderr = match rustix::fs::fstat(rustix::stdio::stderr()) {
        Ok(stat) => FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile,
        Err(_) => false,
    };
    // A line that cannot be written is lost: the library would tell standard error, and panic where that fails, too.
    let builder = tracing_subscriber::fmt().with_ansi(false).with_target(false).log_internal_errors(false);
    // An auditor's lines have files of their own.
    let others = |file| std::sync::Mutex::new(file).with_filter(|line| line.target() != TARGET);
    match file {
        Ok(file) if also_stderr => builder.with_writer(std::io::stderr.and(others(file))).init(),
        Ok(file) => builder.with_writer(others(file)).init(),
        // A folder that is no home is named by the error that follows.
        Err(_) => builder.with_writer(std::io::stderr).init(),
    }
}

const STDOUT: i32 = 1;
const STDERR: i32 = 2;
