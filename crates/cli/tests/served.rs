//! One home for a test of commands.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// A home that serves.
pub struct Served {
    folder: tempfile::TempDir,
    /// The file of the credential of who runs commands; without one the owner does.
    pub credential: Option<String>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.credential = None;
        self.run(&["stop"], "");
    }
}

impl Served {
    /// A development home, whose cards are started.
    pub fn new() -> Self {
        Self::with("")
    }

    /// The same with more settings.
    pub fn with(settings: &str) -> Self {
        let folder = needs::short_folder();
        let new = Self { folder, credential: None };
        new.ok(&["init", "--insecure-dev"]);
        let path = new.path("home/settings.toml");
        let all = std::fs::read_to_string(&path).unwrap() + settings;
        std::fs::write(&path, all).unwrap();
        new.ok(&["serve", "--background"]);
        new
    }

    /// A file beside it.
    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    /// Runs a command with this on its standard input.
    pub fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        if let Some(file) = &self.credential {
            command.env("CRYPTAND_CREDENTIAL_FILE", file);
        }
        let mut child = command
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
