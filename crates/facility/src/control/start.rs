//! Starts the daemon of a home, the program that the home's settings name: because a program needs it, if the
//! home allows that, or because a user asked for it.
//!
//! The daemon reports on a pipe that it is ready, begins a session of its own (setsid), and outlives the
//! program that started it. Its output before it can log is kept in a file beside its log.

use crate::error::{FacilityError, StartError};
use home::{Home, NoAutostart, Settings};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wire::control::LEVEL_VARIABLE;

/// How long a daemon may take until it is ready: cards and their self-tests included.
const START_WAIT: Duration = Duration::from_secs(30);
/// Exit code of a daemon that found another one serving the home.
const EXIT_RUNNING: i32 = 3;
/// Exit code of a daemon that was started on demand although the home has been stopped meanwhile.
const EXIT_NO_AUTOSTART: i32 = 4;
/// How many bytes of a failed daemon's last output are put into the error.
const SAID_BYTES_MAX: usize = 2000;

/// The result of starting a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    /// The started daemon is ready.
    Ready,
    /// Another daemon holds the home: that daemon is about to serve, or to end.
    OtherRuns,
}

/// Starts the daemon because a user asked for it, even if it was stopped before, and waits until it is ready. If one
/// serves already, or is about to, nothing is done. Of the environment the daemon inherits only the instruction-set
/// level that this program's user set.
///
/// # Errors
/// [`FacilityError::StartDaemon`]. [`FacilityError::Home`] if another user could change the program that would be run.
pub fn start_daemon(home: &Home) -> Result<(), FacilityError> {
    home.check_trust()?;
    execute(home, &home.settings()?, &[]).map(|_started| ())
}

/// As [`start_daemon`], because this program needs the daemon.
///
/// # Errors
/// As [`start_daemon`], and [`FacilityError::NoAutostart`].
pub(crate) fn on_demand(home: &Home) -> Result<Started, FacilityError> {
    home.check_trust()?;
    let settings = home.settings()?;
    home.may_autostart(&settings).map_err(|why| no_autostart(home, why))?;
    execute(home, &settings, &["--on-demand"])
}

fn no_autostart(home: &Home, why: NoAutostart) -> FacilityError {
    FacilityError::NoAutostart { home: home.folder().to_owned(), why }
}

fn execute(home: &Home, settings: &Settings, arguments: &[&str]) -> Result<Started, FacilityError> {
    let program = settings.programs.daemon.clone();
    let failed = |cause| FacilityError::StartDaemon { program: program.clone(), cause };
    if program.exists() {
        home::trust::file(&program)?;
    }
    let log_path = home.logs().join("daemon-start.log");
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&log_path);
    let log = log.map_err(io("open the log of the daemon's start"))?;
    let said_before = log.metadata().map_err(io("look at the log of the daemon's start"))?.len();
    let (mut ready, ready_write) = std::io::pipe().map_err(io("make a pipe"))?;
    // The pipe is the child's standard output: no other descriptor passes by itself.
    let mut child = Command::new(&program)
        .arg("--home")
        .arg(home.folder())
        .args(["--ready-fd", "1"])
        .args(arguments)
        .env_clear()
        .envs(std::env::var_os(LEVEL_VARIABLE).map(|level| (LEVEL_VARIABLE, level)))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::from(ready_write))
        .stderr(Stdio::from(log))
        .spawn()
        .map_err(|cause| failed(StartError::Execute(cause)))?;

    if !readable_within(&ready, START_WAIT).map_err(io("wait for the daemon"))? {
        let _ = child.kill();
        collect(child);
        return Err(failed(StartError::NotReady(START_WAIT)));
    }
    let mut byte = [0; 1];
    if ready.read(&mut byte).map_err(io("read the daemon's readiness"))? == 1 {
        collect(child);
        return Ok(Started::Ready);
    }
    let status = child.wait().map_err(io("look after the daemon"))?;
    if status.code() == Some(EXIT_RUNNING) {
        return Ok(Started::OtherRuns);
    }
    if status.code() == Some(EXIT_NO_AUTOSTART)
        && let Err(why) = home.may_autostart(settings)
    {
        return Err(no_autostart(home, why));
    }
    Err(failed(StartError::Ended { status: status.to_string(), said: tail(&log_path, said_before) }))
}

fn io(operation: &'static str) -> impl FnOnce(std::io::Error) -> FacilityError {
    move |cause| FacilityError::Io { operation, cause }
}

/// Reaps the daemon's process when it ends, however long it runs; where this program may have no more threads, the
/// system does so after this program's end.
fn collect(mut child: Child) {
    let _ = std::thread::Builder::new().name("reaper".to_owned()).spawn(move || child.wait());
}

fn readable_within(pipe: &std::io::PipeReader, wait: Duration) -> std::io::Result<bool> {
    let end = Instant::now() + wait;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut fds = [PollFd::new(pipe, PollFlags::IN)];
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            answer => return Ok(answer? > 0),
        }
    }
}

/// The end of what was written to a log after a position, on one line.
fn tail(path: &Path, after: u64) -> String {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut text));
    let new = text.get(usize::try_from(after).unwrap_or(usize::MAX)..).unwrap_or(&[]);
    match read {
        Ok(_) if !new.trim_ascii().is_empty() => {
            let text = String::from_utf8_lossy(&new[new.len().saturating_sub(SAID_BYTES_MAX)..]);
            text.trim().replace('\n', "; ")
        }
        _ => "it said nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use home::{Programs, Settings};

    fn home_with(script: &str) -> (tempfile::TempDir, Home) {
        let base = tempfile::tempdir().unwrap();
        let program = base.path().join("daemon");
        needs::write_script(&program, script);
        let programs = Programs { daemon: program, card: "/nowhere".into(), manifest: None };
        let home = Home::create(&base.path().join("home"), &Settings::new(programs)).unwrap();
        (base, home)
    }

    #[test]
    fn a_daemon_that_says_so_is_ready() {
        let (_base, home) =
            home_with("#!/bin/sh\n[ \"$1\" = --home ] && [ \"$4\" = 1 ] && echo && exec sleep 0\n");
        start_daemon(&home).unwrap();
    }

    #[test]
    fn a_daemon_that_ends_tells_why() {
        let (_base, home) = home_with("#!/bin/sh\necho no luck >&2; exit 4\n");
        let error = start_daemon(&home).unwrap_err();
        assert!(matches!(&error, FacilityError::StartDaemon { cause: StartError::Ended { said, .. }, .. }
            if said == "no luck"));
        assert!(error.to_string().contains("no luck") && error.to_string().contains('4'));
    }

    #[test]
    fn a_daemon_that_finds_another_one_is_no_failure() {
        let (_base, home) = home_with("#!/bin/sh\nexit 3\n");
        start_daemon(&home).unwrap();
    }

    #[test]
    fn a_home_that_was_stopped_is_started_by_who_is_asked_to_alone() {
        let (_base, home) = home_with("#!/bin/sh\n[ \"$5\" != --on-demand ] && echo && exec sleep 0\n");
        home.note_stopped(0, home::StoppedBy::Command).unwrap();
        let refused = on_demand(&home).unwrap_err();
        assert!(matches!(refused, FacilityError::NoAutostart { why: NoAutostart::Stopped { .. }, .. }));
        start_daemon(&home).unwrap();
        home.forget_stopped().unwrap();
        assert!(matches!(on_demand(&home), Err(FacilityError::StartDaemon { .. })));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let (base, home) = home_with("");
        std::fs::remove_file(base.path().join("daemon")).unwrap();
        let error = start_daemon(&home).unwrap_err();
        assert!(matches!(error, FacilityError::StartDaemon { cause: StartError::Execute(_), .. }));
    }
}
