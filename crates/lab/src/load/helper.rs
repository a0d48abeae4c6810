//! A second process of this program, held to another level.
//!
//! A level below that of a process needs a process of its own ([`level`]): [`Helper`] keeps one running for a whole
//! report, beside this one.

use crate::load::peer::Peer;
use crate::load::target::Target;
use crate::load::{Bench, child};
use crate::load::{LabError, Measurement, Refusal, Workload};
use facility::Facility;
use level::{engine_level, works_at};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use wire::control::LevelLimit;
use wire::verb::null;

/// Tells a program that it is to be a helper; its value is the home's folder, or empty.
const HELPER: &str = "CRYPTAND_LAB_HELPER";
/// Tells a program to time its first request; its value is the home's folder.
const FIRST: &str = "CRYPTAND_LAB_FIRST";

/// An answer of the helper: a measurement, or the reason for none.
#[derive(Serialize, Deserialize)]
enum Answer {
    Measured(Box<Measurement>),
    Refused(String),
    Failed(String),
}

/// Does the work of a helper, or of a process that times its first request, where this process was started as one.
pub(crate) fn serve_if_asked() -> Option<Result<(), LabError>> {
    if let Some(folder) = std::env::var_os(FIRST) {
        return Some(serve_first(Path::new(&folder)));
    }
    Some(serve(Path::new(&std::env::var_os(HELPER)?)))
}

/// Times the first request of this process, and says how long it took, in nanoseconds.
fn serve_first(folder: &Path) -> Result<(), LabError> {
    let begin = Instant::now();
    let called =
        Facility::open(folder, facility::Options::default()).and_then(|home| home.ask(0, &null::Ask::new()));
    match called {
        // For the process that started this one; if it has gone, nobody wants the time.
        Ok(_) => drop(writeln!(std::io::stdout(), "{}", begin.elapsed().as_nanos())),
        Err(error) => eprintln!("cryptand: {error}"),
    }
    Ok(())
}

/// Starts a process of this program that makes its first request; gives the time of that request in microseconds.
///
/// # Errors
/// [`LabError::Io`] where it does not start or says nothing.
pub(crate) fn first_request(folder: &Path) -> Result<f64, LabError> {
    let what = "time the first request of a process";
    let output = child::this()?.env(FIRST, folder).stdin(Stdio::null()).output();
    let said = output.map_err(LabError::io(what))?;
    let said = String::from_utf8_lossy(&said.stdout);
    let nanoseconds = said.trim().parse::<f64>();
    nanoseconds
        .map(|nanoseconds| nanoseconds / 1000.0)
        .map_err(|_| LabError::Io { what, cause: std::io::ErrorKind::InvalidData.into() })
}

fn serve(folder: &Path) -> Result<(), LabError> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut target =
        if folder.as_os_str().is_empty() { Target::native(stop)? } else { Target::of_home(folder, stop)? };
    for line in std::io::stdin().lines() {
        let line = line.map_err(LabError::io("read a workload"))?;
        let workload: Workload = child::read("read a workload", &line)?;
        let answer = match target.run(&workload) {
            Ok(measurement) => Answer::Measured(Box::new(measurement)),
            Err(LabError::Refused(refusal)) => Answer::Refused(refusal.to_string()),
            Err(error) => Answer::Failed(error.to_string()),
        };
        child::say("answer a workload", &answer)?;
    }
    Ok(())
}

/// The levels below that of this process, highest first.
pub fn levels_below() -> Vec<LevelLimit> {
    let own = engine::LibraryFeatures::read().level();
    let all = [LevelLimit::Avx2, LevelLimit::Portable];
    all.into_iter().filter(|level| engine_level(*level) < own).collect()
}

/// A helper at a level.
pub struct Helper {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Helper {
    /// Starts a helper at a level, on a home where one is given.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn start(level: LevelLimit, home: Option<&Path>) -> Result<Self, LabError> {
        let mut command = child::this()?;
        level::held(&mut command, level);
        Self::spawn(command, home.unwrap_or(Path::new("")))
    }

    /// Starts a helper on a home, at the level of this process.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn beside(home: &Path) -> Result<Self, LabError> {
        Self::spawn(child::this()?, home)
    }

    /// Starts a helper on a home by `command`, to which the helper's program and arguments are added.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn within(mut command: Command, home: &Path) -> Result<Self, LabError> {
        command.arg(child::this()?.get_program());
        Self::spawn(command, home)
    }

    fn spawn(mut command: Command, home: &Path) -> Result<Self, LabError> {
        let what = "start a helper";
        command.env(HELPER, home).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(LabError::io(what))?;
        let missing = || LabError::Io { what, cause: std::io::ErrorKind::BrokenPipe.into() };
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Self { child, input: Some(input), output })
    }

    /// Has the helper run a workload.
    ///
    /// # Errors
    /// [`LabError::Engine`] with what the helper said; [`LabError::Io`] where it has ended.
    pub fn run(&mut self, workload: &Workload) -> Result<Measurement, LabError> {
        let what = "talk to a helper";
        let text = child::line(what, workload)?;
        let ended = || LabError::Io { what, cause: std::io::ErrorKind::BrokenPipe.into() };
        let input = self.input.as_mut().ok_or_else(ended)?;
        input.write_all(text.as_bytes()).map_err(LabError::io(what))?;
        let mut line = String::new();
        if self.output.read_line(&mut line).map_err(LabError::io(what))? == 0 {
            return Err(ended());
        }
        match child::read(what, &line)? {
            Answer::Measured(measurement) => Ok(*measurement),
            Answer::Refused(why) => Err(Refusal::Helper(why).into()),
            Answer::Failed(cause) => Err(LabError::Engine { operation: workload.operation, cause }),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // Closing its input ends the helper.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// A target with helpers for the levels below its own, and the peer.
pub struct WithHelpers {
    target: Target,
    helper: Option<(LevelLimit, Helper)>,
    peer: Option<Peer>,
}

impl WithHelpers {
    /// Helpers are started when the first workload asks for their level.
    pub fn new(target: Target) -> Self {
        Self { target, helper: None, peer: Peer::find() }
    }

    /// The target that runs workloads at this process's own level.
    pub fn target(&self) -> &Target {
        &self.target
    }
}

impl Bench for WithHelpers {
    fn run(&mut self, workload: &Workload) -> Result<Measurement, LabError> {
        if workload.peer {
            let peer = self.peer.as_ref().ok_or(Refusal::Peer(workload.operation))?;
            return peer.run(workload);
        }
        let on_card = workload.interface == crate::load::Interface::Card;
        let Some(level) = workload.level.filter(|level| !on_card && !works_at(*level)) else {
            return self.target.run(workload);
        };
        if self.helper.as_ref().is_none_or(|(held, _)| *held != level) {
            self.helper = Some((level, Helper::start(level, self.target.folder())?));
        }
        match &mut self.helper {
            Some((_, helper)) => helper.run(workload),
            None => self.target.run(workload),
        }
    }

    fn level(&self) -> String {
        Bench::level(&self.target)
    }
}
