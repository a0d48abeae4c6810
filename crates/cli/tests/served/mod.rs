//! One home for a test of commands.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// A home that serves.
pub struct Served(tempfile::TempDir);

impl Drop for Served {
    fn drop(&mut self) {
        self.run(&["stop"], "");
    }
}

impl Served {
    /// A development home, whose cards are started.
    pub fn new() -> Self {
        let new = Self(tempfile::Builder::new().prefix("c").tempdir_in("/tmp").unwrap());
        new.ok(&["init", "--insecure-dev"]);
        new.ok(&["serve", "--background"]);
        new
    }

    /// A file beside it.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    /// Runs a command with this on its standard input.
    pub fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cryptand"))
            .args(["--home", &self.path("home")])
            .args(arguments)
            .env_remove("CRYPTAND_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that needs no input has ended perhaps.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What a command that succeeds prints.
    pub fn given(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// The same without input.
    pub fn ok(&self, arguments: &[&str]) -> String {
        self.given(arguments, "")
    }

    /// Exit code and messages of a command that does not succeed.
    pub fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments, "");
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// A key of a known value, of two parts.
    pub fn key(&self, label: &str, more: &[&str], parts: [&str; 2]) {
        let first = ["key", "part", label, "first", "--type"];
        self.given(&[&first[..], more].concat(), &format!("{}\n", parts[0]));
        self.given(&["key", "part", label, "last"], &format!("{}\n", parts[1]));
    }
}
