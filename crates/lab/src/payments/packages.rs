//! Other people's packages: processes that get cases, give the answers, and report how many they compute in a time.
//!
//! The processes' programs are part of this crate (`crates/lab/peers`); `scripts/need bench` installs the packages.

use crate::cards::{bound, own};
use crate::load::LabError;
use crate::load::requests::Case;
use peers::ff1;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

const PYTHON: &str = include_str!("../../peers/packages.py");
const JAVA: &str = include_str!("../../peers/Jpos.java");
/// Text after the name of a missing package.
const MISSING: &str = " is missing: ";
/// Characters of a program's error text that are kept.
const COMPLAINT_CHARACTERS: usize = 400;

/// The process that has a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Python,
    Java,
    /// A crate, in this process.
    Crate,
}

/// The operations that packages compute, with the process, and the packages' names as in the first line of that
/// process.
pub(super) const BESIDE: [(&str, By, &[&str]); 13] = [
    ("pin-translate", By::Python, &["psec"]),
    ("pin-translate", By::Java, &["jPOS"]),
    ("pin-reformat", By::Python, &["psec"]),
    ("pin-translate-dukpt", By::Python, &["pydukpt", "psec"]),
    ("pin-verify-dukpt", By::Python, &["pydukpt", "psec"]),
    ("cvv-verify", By::Python, &["psec"]),
    ("cvv-verify", By::Java, &["jPOS"]),
    ("arqc-verify", By::Python, &["pyemv"]),
    ("arqc-verify", By::Java, &["jPOS"]),
    ("tr31-import-b", By::Python, &["psec"]),
    ("tr31-import-d", By::Python, &["psec"]),
    ("ff1", By::Crate, &[]),
    ("ff1", By::Java, &["bcprov"]),
];

/// The running processes of packages.
pub(super) struct Packages {
    python: Option<Process>,
    java: Option<Process>,
}

impl Packages {
    /// Starts the installed packages, on the card's processor.
    ///
    /// # Errors
    /// [`LabError::Program`] where one is here and does not start.
    pub fn start() -> Result<Self, LabError> {
        bound(own(1), || Ok(Self { python: Process::python(&[])?, java: Process::java()? }))
    }

    /// The side of an operation that a package computes: the package gets the cases, and its answers are compared.
    ///
    /// # Errors
    /// [`LabError::Program`] where it says another answer than it must.
    pub fn side(
        &mut self,
        operation: &str,
        by: By,
        names: &[&str],
        cases: &[Case],
    ) -> Result<Side, LabError> {
        let side = |name, of| Side { name, operation: operation.to_owned(), of };
        let missing = |how: &str| side(format!("{}{MISSING}{how}", names.join(", ")), Of::Missing);
        Ok(match (by, &mut self.python, &mut self.java) {
            (By::Crate, ..) => side(ff1::NAME.to_owned(), Of::Crate(digits(cases)?)),
            (By::Python, None, _) => missing("`scripts/need bench` installs it"),
            (By::Python, Some(process), _) => side(process.told(operation, names, cases)?, Of::Python),
            (By::Java, _, None) => {
                missing("install openjdk-17-jdk-headless and maven, then `scripts/need bench`")
            }
            (By::Java, _, Some(process)) => side(process.told(operation, names, cases)?, Of::Java),
        })
    }

    /// Lets a side compute its cases in turn for `seconds`; gives cases a second, or none if the package is missing.
    ///
    /// # Errors
    /// [`LabError::Program`] where an answer differs from the first one.
    pub fn rate(&mut self, side: &Side, seconds: f64) -> Result<Option<f64>, LabError> {
        let process = match &side.of {
            Of::Missing => None,
            Of::Crate(all) => return bound(own(1), || rate_of_crate(all, seconds)).map(Some),
            Of::Python => self.python.as_mut(),
            Of::Java => self.java.as_mut(),
        };
        process.map(|process| process.rate(&side.operation, seconds)).transpose()
    }
}

/// A package with the cases of one operation.
pub(super) struct Side {
    /// Names of the packages with their versions, or of the missing package.
    pub name: String,
    operation: String,
    of: Of,
}

enum Of {
    Missing,
    Python,
    Java,
    /// Prepared keys and digits, with the expected answers.
    Crate(Vec<(ff1::Digits, Vec<u8>)>),
}

fn digits(cases: &[Case]) -> Result<Vec<(ff1::Digits, Vec<u8>)>, LabError> {
    let prepared = cases.iter().map(|case| {
        let [key, text] = &case.given[..] else { return None };
        Some((ff1::Digits::new(key, text)?, case.answer.clone()))
    });
    let all: Option<Vec<_>> = prepared.collect();
    let all = all.ok_or_else(|| failed(ff1::NAME, "it refuses a case"))?;
    if all.iter().any(|(digits, answer)| digits.encipher().as_deref() != Some(answer)) {
        return Err(failed(ff1::NAME, "it enciphers digits to others than the card"));
    }
    Ok(all)
}

fn rate_of_crate(all: &[(ff1::Digits, Vec<u8>)], seconds: f64) -> Result<f64, LabError> {
    let (begin, mut count) = (Instant::now(), 0_u64);
    while count == 0 || begin.elapsed().as_secs_f64() < seconds {
        for (digits, answer) in all {
            if digits.encipher().as_deref() != Some(answer) {
                return Err(failed(ff1::NAME, "two answers to one case"));
            }
        }
        count += all.len() as u64;
    }
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}

fn failed(name: &str, why: &str) -> LabError {
    LabError::Program(format!("{name}: {why}; no figure is given for wrong answers"))
}

/// A process that answers each line with a line; it ends when this is dropped.
pub(super) struct Process {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Packages with versions, as in its first line.
    packages: Vec<String>,
    folder: TempDir,
}

impl Process {
    /// Starts the packages of PyPI with these variables; none if their environment is not installed.
    ///
    /// # Errors
    /// [`LabError::Program`], [`LabError::Io`].
    pub fn python(variables: &[(&str, &Path)]) -> Result<Option<Self>, LabError> {
        let Some(python) = found("payments/bin/python3") else { return Ok(None) };
        let mut command = Command::new(python);
        command.env("PYTHONDONTWRITEBYTECODE", "1").envs(variables.iter().copied());
        Self::start(command, "packages.py", PYTHON).map(Some)
    }

    /// Starts jPOS; none without Java or the classes.
    fn java() -> Result<Option<Self>, LabError> {
        let is_here =
            Command::new("java").arg("-version").stdin(Stdio::null()).stderr(Stdio::null()).status();
        let classes = found("jpos/classpath").and_then(|path| fs::read_to_string(path).ok());
        let (Ok(_), Some(classes)) = (is_here, classes) else { return Ok(None) };
        let mut command = Command::new("java");
        command.arg("-cp").arg(classes.trim());
        Self::start(command, "Jpos.java", JAVA).map(Some)
    }

    /// Runs a program; its argument is the name of a file that it may make.
    fn start(mut command: Command, name: &str, program: &str) -> Result<Self, LabError> {
        let folder =
            TempDir::with_prefix("cryptand-lab-").map_err(LabError::io("make a temporary folder"))?;
        let path = folder.path().join(name);
        fs::write(&path, program).map_err(LabError::io("write a program"))?;
        let complaints =
            File::create(folder.path().join("complaints")).map_err(LabError::io("write a program"))?;
        let started = command
            .arg(&path)
            .arg(folder.path().join("own"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn();
        let mut child = started.map_err(LabError::io("start a package to measure beside"))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(name, "it has no pipes"));
        };
        let answers = BufReader::new(answers);
        let mut process = Self { child, requests, answers, packages: Vec::new(), folder };
        process.packages = process.answer()?.split(',').map(str::to_owned).collect();
        Ok(process)
    }

    /// Sends a line; gives the process's answer.
    ///
    /// # Errors
    /// [`LabError::Program`] where it refuses, or has ended.
    pub fn ask(&mut self, line: &str) -> Result<String, LabError> {
        // If the process has ended, its error comes in place of the answer.
        let _ = self.requests.write_all(line.as_bytes()).and_then(|()| self.requests.write_all(b"\n"));
        let said = self.answer()?;
        match said.strip_prefix("refused") {
            Some(why) => Err(failed(&self.packages.join(", "), why.trim())),
            None => Ok(said),
        }
    }

    fn answer(&mut self) -> Result<String, LabError> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(bytes) if bytes > 0 => Ok(line.trim_end().to_owned()),
            _ => {
                let complaints = fs::read_to_string(self.folder.path().join("complaints"));
                let complaints = complaints.unwrap_or_default();
                let skipped = complaints.chars().count().saturating_sub(COMPLAINT_CHARACTERS);
                let end: String = complaints.chars().skip(skipped).collect();
                Err(failed(&self.packages.join(", "), &format!("it ended: {}", end.trim())))
            }
        }
    }

    /// Sends the cases of an operation and compares the answers; gives the names of the packages with their versions.
    fn told(&mut self, operation: &str, names: &[&str], cases: &[Case]) -> Result<String, LabError> {
        let version = |name: &&str| {
            let known = self.packages.iter().find(|known| known.split(' ').next() == Some(*name));
            known.cloned().unwrap_or_else(|| (*name).to_owned())
        };
        let name = names.iter().map(version).collect::<Vec<_>>().join(", ");
        for case in cases {
            let fields: String =
                case.given.iter().fold(String::new(), |line, field| line + " " + &hex(field));
            let said = self.ask(&format!("case {operation}{fields}"))?;
            if said != hex(&case.answer) {
                let why = format!("{operation}: it says {said}, the card {}", hex(&case.answer));
                return Err(failed(&name, &why));
            }
        }
        Ok(name)
    }

    fn rate(&mut self, operation: &str, seconds: f64) -> Result<f64, LabError> {
        let said = self.ask(&format!("run {operation} {seconds}"))?;
        let numbers: Vec<f64> = said.split(' ').filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [count, nanoseconds] if nanoseconds > 0.0 => Ok(count / nanoseconds * 1e9),
            _ => Err(failed(operation, &format!("it says {said:?} in place of a count and a time"))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that has already ended needs neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file of this program's build folder or of a folder above it; none if it does not exist.
pub(super) fn found(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    own.ancestors().skip(1).take(4).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Bytes in hexadecimal, as the processes read them.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
