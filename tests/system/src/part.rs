//! Processes that play a part in a test: an ignored test of the same file, executed by itself.
//!
//! A part says where it is by lines on standard output, and waits by reading lines from standard input.

use crate::PATIENCE;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Where a part finds its home, and what else it is told.
const HOME: &str = "SYSTEM_TEST_HOME";
const TOLD: &str = "SYSTEM_TEST_TOLD";
/// Before what a part says, so that it is told from what the test harness prints.
const MARK: &str = "part: ";

/// A running part; it is killed when it is dropped.
pub struct Part {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Part {
    /// Starts the ignored test of this name, with something that it is told.
    ///
    /// # Panics
    /// If it cannot be executed.
    pub fn start(name: &str, home: &Path, told: &str) -> Self {
        let own = std::env::current_exe().expect("a test knows its own path");
        Self::start_by(Command::new(own), name, home, told)
    }

    /// As [`Part::start`], by a command that executes this test's program, or a copy of it.
    ///
    /// # Panics
    /// If it cannot be executed.
    pub fn start_by(mut command: Command, name: &str, home: &Path, told: &str) -> Self {
        command.args(["--exact", name, "--ignored", "--nocapture"]);
        command.env(HOME, home).env(TOLD, told).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a part can be executed");
        let said = BufReader::new(child.stdout.take().expect("a pipe was asked for")).lines();
        Self { child, said }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it says something that begins so, and returns the rest.
    ///
    /// # Panics
    /// If it ends before; what it says in another way stands on standard error.
    pub fn says(&mut self, begin: &str) -> String {
        loop {
            let line = self.said.next().and_then(Result::ok);
            let line = line.unwrap_or_else(|| panic!("a part ended before it said {begin:?}"));
            // The harness prints the test's name on the same line.
            if let Some((_, said)) = line.split_once(MARK)
                && let Some(rest) = said.strip_prefix(begin)
            {
                return rest.to_owned();
            }
        }
    }

    /// Lets it go on from [`goes_on`].
    ///
    /// # Panics
    /// If it has ended.
    pub fn go_on(&mut self) {
        let pipe = self.child.stdin.as_mut().expect("a pipe was asked for");
        pipe.write_all(b"\n").and_then(|()| pipe.flush()).expect("the part reads");
    }

    /// Kills it.
    ///
    /// # Panics
    /// If it is not ours.
    pub fn kill(mut self) {
        self.child.kill().expect("the part is ours");
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a part: its home and what it was told. None where it is run by itself, outside of its test.
pub fn told() -> Option<(PathBuf, String)> {
    Some((PathBuf::from(std::env::var_os(HOME)?), std::env::var(TOLD).ok()?))
}

/// In a part: says something.
pub fn say(text: &str) {
    println!("{MARK}{text}");
}

/// In a part: waits to be let go on; false where the test has ended, or it takes far too long.
pub fn goes_on() -> bool {
    let waits = std::thread::spawn(|| std::io::stdin().read_line(&mut String::new()));
    let end = std::time::Instant::now() + 4 * PATIENCE;
    while !waits.is_finished() && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    waits.is_finished() && waits.join().is_ok_and(|read| read.is_ok_and(|bytes| bytes > 0))
}
