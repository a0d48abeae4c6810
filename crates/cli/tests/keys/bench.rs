//! A throw-away home.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A throw-away home; its daemon is stopped when the test ends.
pub struct Bench {
    base: tempfile::TempDir,
}

impl Bench {
    /// A development home that serves.
    pub fn development() -> Self {
        let bench = Self { base: tempfile::tempdir().unwrap() };
        bench.succeeds(&["init", "--insecure-dev"], "");
        bench.succeeds(&["serve", "--background"], "");
        bench
    }

    /// A folder without a home.
    pub fn empty() -> Self {
        Self { base: tempfile::tempdir().unwrap() }
    }

    /// The same with further settings.
    pub fn with_settings(more: &str) -> Self {
        let bench = Self { base: tempfile::tempdir().unwrap() };
        bench.succeeds(&["init", "--insecure-dev"], "");
        let path = bench.home().join("settings.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.replacen("tenant_number_next = 1", "tenant_number_next = 9", 1);
        std::fs::write(&path, text + more).unwrap();
        bench.succeeds(&["serve", "--background"], "");
        bench
    }

    /// A file of the test's own.
    pub fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command.arg("--home").arg(self.home()).args(arguments).env_remove("CRYPTAND_HOME");
        command
    }

    pub fn run(&self, arguments: &[&str], input: &str) -> Output {
        Self::fed(self.command(arguments), input)
    }

    /// Runs a command with this input.
    pub fn fed(mut command: Command, input: &str) -> Output {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        // A command that reads nothing closes its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What it printed.
    #[track_caller]
    pub fn succeeds(&self, arguments: &[&str], input: &str) -> String {
        let Output { status, stdout, stderr } = self.run(arguments, input);
        assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    /// What it said.
    #[track_caller]
    pub fn fails(&self, arguments: &[&str], input: &str, code: i32) -> String {
        let output = self.run(arguments, input);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        error
    }

    pub fn verb(&self, name: &str, parameters: &Value) -> Value {
        let output = self.run(&["verb", name, &parameters.to_string()], "");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.home().exists() {
            let _ = self.command(&["stop"]).stderr(Stdio::null()).status();
        }
    }
}

/// Bytes as the command prints them.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
