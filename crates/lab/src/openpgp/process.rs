//! Running programs to be measured: wall time, processor time and peak memory of each, as the kernel books them.
//!
//! A program is run by a process of this program that does nothing else. The kernel's figures for the children of that
//! process then describe the measured program alone, memory included, however large the lab itself is.

use crate::load::{LabError, child};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Tells a process of this program to run programs: a [`Job`] as JSON on its standard input.
const JOB: &str = "CRYPTAND_LAB_JOB";
/// Bytes of a program's error text that are kept.
const COMPLAINT_BYTES_MAX: usize = 2000;

/// A program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Path of the program, or its name in `PATH`.
    pub program: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Variables added to the environment.
    pub environment: Vec<(String, String)>,
}

/// Programs that run one after the other and are measured together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The programs.
    pub programs: Vec<Program>,
    /// Processors that the programs may use; empty for all.
    pub processors: Vec<usize>,
}

/// The resources that a job used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Elapsed time in seconds.
    pub wall_s: f64,
    /// Processor time in seconds, in the program.
    pub user_s: f64,
    /// Processor time in seconds, in the kernel.
    pub system_s: f64,
    /// Peak resident memory of one program, in bytes.
    pub peak_bytes: u64,
    /// Standard output of the last program.
    pub printed: String,
}

impl Usage {
    /// Processor time in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

impl Program {
    /// A program without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    /// Adds arguments.
    pub fn with<T: Into<String>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds a variable.
    pub fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Runs the program alone, on all processors.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run(self, stop: &AtomicBool) -> Result<Usage, LabError> {
        Job { programs: vec![self], processors: Vec::new() }.run(stop)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_remove(JOB);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Ran(Usage),
    Failed(String),
}

impl Job {
    /// Runs the job in a process of its own.
    ///
    /// # Errors
    /// [`LabError::Program`] with what a program that fails complains of, [`LabError::Interrupted`],
    /// [`LabError::Io`].
    pub fn run(&self, stop: &AtomicBool) -> Result<Usage, LabError> {
        let what = "run a program that is measured";
        let io = |cause: io::Error| LabError::Io { what, cause };
        let text = child::line(what, self)?;
        let mut child =
            child::this()?.env(JOB, "").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(io)?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(text.as_bytes()).map_err(io)?;
        }
        // A terminal's signal ends the programs too; a signal to this process alone takes effect once they have ended.
        let answer = child.wait_with_output().map_err(io)?;
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        match serde_json::from_slice(&answer.stdout).map_err(|error| io(error.into()))? {
            Answer::Ran(usage) => Ok(usage),
            Answer::Failed(why) => Err(LabError::Program(why)),
        }
    }

    /// Runs the job as children of this process, which must have had none before.
    fn run_here(&self) -> Result<Usage, String> {
        if !self.processors.is_empty() {
            let mut set = CpuSet::new();
            self.processors.iter().for_each(|processor| set.set(*processor));
            sched_setaffinity(None, &set)
                .map_err(|error| format!("cannot keep to processors {:?}: {error}", self.processors))?;
        }
        let begin = Instant::now();
        let mut printed = String::new();
        for program in &self.programs {
            let name = program.program.display();
            let output = program.command().output().map_err(|error| format!("cannot run {name}: {error}"))?;
            if !output.status.success() {
                let mut complaint = output.stderr;
                complaint.truncate(COMPLAINT_BYTES_MAX);
                let complaint = String::from_utf8_lossy(&complaint);
                return Err(format!("{name} ended with {}: {}", output.status, complaint.trim()));
            }
            printed = String::from_utf8_lossy(&output.stdout).into_owned();
        }
        let wall_s = begin.elapsed().as_secs_f64();
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN)
            .map_err(|error| format!("cannot ask what {} programs used: {error}", self.programs.len()))?;
        let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
        Ok(Usage {
            wall_s,
            user_s: seconds(usage.user_time()),
            system_s: seconds(usage.system_time()),
            peak_bytes: u64::try_from(usage.max_rss()).unwrap_or(0) * 1024,
            printed,
        })
    }
}

/// Runs a job and answers on standard output if this process was started for that; none otherwise.
pub fn serve_if_asked() -> Option<Result<(), LabError>> {
    std::env::var_os(JOB).map(|_| serve())
}

fn serve() -> Result<(), LabError> {
    let what = "run a job of the lab";
    let text = io::read_to_string(io::stdin()).map_err(LabError::io(what))?;
    let job: Job = child::read(what, &text)?;
    let answer = job.run_here().map_or_else(Answer::Failed, Answer::Ran);
    child::say(what, &answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(programs: Vec<Program>) -> Result<Usage, String> {
        Job { programs, processors: Vec::new() }.run_here()
    }

    #[test]
    fn programs_are_run_and_booked() {
        let shell = |script: &str| Program::new("sh").with(["-c", script]).variable("WORD", "said");
        let usage = here(vec![
            shell("echo first"),
            shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; echo $WORD"),
        ]);
        let usage = usage.unwrap();
        assert_eq!(usage.printed, "said\n");
        assert!(usage.cpu_s() > 0.001 && usage.wall_s > 0.001 && usage.peak_bytes > 500_000, "{usage:?}");
    }

    #[test]
    fn what_a_failing_program_says_is_kept() {
        let shell = Program::new("sh").with(["-c", "echo no key >&2; exit 3"]);
        let why = here(vec![shell]).unwrap_err();
        assert!(why.contains("sh ended with") && why.ends_with("no key"), "{why}");
        let why = here(vec![Program::new("/no/such/program")]).unwrap_err();
        assert!(why.starts_with("cannot run /no/such/program"), "{why}");
    }
}
