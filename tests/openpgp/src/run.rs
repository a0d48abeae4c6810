//! Running programs, and folders for what they read and write.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use tempfile::TempDir;

/// Longest run of a peer in seconds; one that hangs ends as a failure instead of holding up the suite.
const SECONDS_MAX: &str = "900";

/// A new folder that is removed when dropped. Its path is short: agents put sockets into it.
///
/// # Panics
/// If none can be made.
pub fn folder() -> TempDir {
    needs::short_folder()
}

/// The files of one command line; removed when dropped.
pub struct Files(TempDir);

impl Default for Files {
    fn default() -> Self {
        Self::new()
    }
}

impl Files {
    /// None yet.
    pub fn new() -> Self {
        Self(folder())
    }

    /// The path of a file of this name, there or not.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file; gives its path.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn add(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Which, and why not.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        fs::read(self.path(name)).map_err(|error| format!("{name}: {error}"))
    }
}

/// The path of one of our programs, built beside this test.
///
/// # Panics
/// If it is not there.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let path = test.ancestors().nth(2).expect("target/release/deps").join(name);
    assert!(path.exists(), "{} is missing: build it first, with `cargo build --release`", path.display());
    path
}

/// What became of a program.
pub struct Finished {
    /// The command line, for messages.
    pub line: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error.
    pub errors: String,
}

impl Finished {
    /// Standard output of a run that went well.
    ///
    /// # Errors
    /// Command line, end and standard error where it did not.
    pub fn output(self) -> Result<Vec<u8>, String> {
        if self.status.success() { Ok(self.output) } else { Err(self.to_string()) }
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}\n{}", self.line, self.status, self.errors)
    }
}

/// A command line to be.
pub struct Run {
    command: Command,
    line: String,
    input: Vec<u8>,
}

impl Run {
    /// Of this program, under a time limit.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", SECONDS_MAX]).arg(program.as_ref());
        // Nothing of the person who runs the tests is to be read, and texts are compared.
        command.env("GNUPGHOME", "/nonexistent").env("LC_ALL", "C.UTF-8");
        Self { command, line: program.as_ref().to_string_lossy().into_owned(), input: Vec::new() }
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.line.push(' ');
        self.line.push_str(&argument.as_ref().to_string_lossy());
        self.command.arg(argument);
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// With this variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// In this folder.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// With these bytes on standard input.
    #[must_use]
    pub fn input(mut self, bytes: &[u8]) -> Self {
        self.input = bytes.to_vec();
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// If it cannot be started: a peer that is missing is a failure that says what to install.
    pub fn finish(mut self) -> Finished {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("coreutils' timeout can be started");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = self.input;
        let writer = std::thread::spawn(move || {
            // A program that does not want its input closes the pipe; what it says decides.
            let _ = stdin.write_all(&input);
        });
        let done = child.wait_with_output().expect("a child's end");
        writer.join().expect("the writer ends with its pipe");
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() != Some(127), "{} is missing: `scripts/need test` installs it", self.line);
        Finished { line: self.line, status: done.status, output: done.stdout, errors }
    }
}
