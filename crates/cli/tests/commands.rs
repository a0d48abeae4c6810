//! The command as its user types it: real homes, real daemons and cards, exit codes and what is printed. Needs
//! `cryptand-daemon`, `cryptand-card` and `cryptand-esp` with its worker beside the command, as `make test` builds
//! them.

mod homes;
mod ipsec;
mod keys;
mod shown;
mod verbs;

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// How long a test waits for what must happen.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// A throw-away home; its daemon is stopped when the test ends.
struct Bench {
    base: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { base: tempfile::tempdir().unwrap() }
    }

    fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    fn development() -> Self {
        let bench = Self::new();
        bench.succeeds(&["init", "--insecure-dev", "--seed", "7"]);
        bench.succeeds(&["serve", "--background"]);
        bench
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command
            .arg("--home")
            .arg(self.home())
            .args(arguments)
            .env_remove("CRYPTAND_HOME")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that fails early closes its input; that is its right.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn succeeds_with(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?} failed: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn succeeds(&self, arguments: &[&str]) -> String {
        self.succeeds_with(arguments, "")
    }

    fn fails(&self, arguments: &[&str], input: &str, code: i32) -> String {
        let output = self.run(arguments, input);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        error
    }

    fn verb(&self, name: &str, parameters: Value) -> Value {
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

/// The parts of two officers for each register, a line each, with these of the AES master key.
fn parts(aes_first: &str, aes_last: &str) -> String {
    let part = |salt: usize, bytes: usize| -> String {
        (0..bytes).map(|at| format!("{:02X}", (salt + 37 * at) % 256)).collect()
    };
    [(1, aes_first), (101, aes_last)]
        .map(|(salt, aes)| {
            format!("{}\n{}\n{aes}\n{}\n", part(salt, 24), part(salt + 2, 24), part(salt + 3, 32))
        })
        .concat()
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().strip_prefix("hex:").unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// The clear value of a sample key, as docs/howto/officers.md defines it.
fn sample_key(label: &str, seed: u64, length: usize) -> Vec<u8> {
    openssl::sha::sha256(format!("cryptand sample key {label} {seed}").as_bytes())[..length].to_vec()
}
