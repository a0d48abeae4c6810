//! A throw-away home, and an exporter of it.

use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(60);
pub const PASSPHRASE: &str = "correct horse battery\n";

/// A throw-away home; its daemon is stopped when the test ends.
pub struct Bench {
    pub base: tempfile::TempDir,
}

impl Bench {
    /// With two coprocessors and an accelerator, not served yet.
    pub fn new(init: &[&str]) -> Self {
        Self::below(tempfile::tempdir().unwrap(), init)
    }

    /// The same in this folder.
    pub fn below(base: tempfile::TempDir, init: &[&str]) -> Self {
        let bench = Self { base };
        bench.done(init, "");
        let path = bench.home().join("settings.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, text.replace("coprocessors = 1", "coprocessors = 2")).unwrap();
        bench
    }

    pub fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command.arg("--home").arg(self.home()).args(arguments).env_remove("CRYPTAND_HOME");
        command
    }

    pub fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that reads nothing closes its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    pub fn done(&self, arguments: &[&str], input: &str) -> String {
        let Output { status, stdout, stderr } = self.run(arguments, input);
        assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    /// State and findings.
    pub fn health(&self) -> (String, Vec<String>) {
        let output = self.run(&["health", "--json"], "");
        let health: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let state = health["state"].as_str().unwrap().to_owned();
        let code = match state.as_str() {
            "healthy" => 0,
            "degraded" => 4,
            "sealed" => 5,
            "down" => 6,
            other => panic!("{other}"),
        };
        assert_eq!(output.status.code(), Some(code), "{state}");
        let findings = health["findings"].as_array().unwrap();
        (state, findings.iter().map(|found| found["finding"].as_str().unwrap().to_owned()).collect())
    }

    /// Waits until the home is like this, and holds `status` and its exit code to the same.
    pub fn until(&self, state: &str, findings: &[&str]) {
        let end = Instant::now() + PATIENCE;
        loop {
            let (found, found_findings) = self.health();
            if found == state && found_findings == findings {
                break;
            }
            let wanted = format!("{state} {findings:?}");
            assert!(Instant::now() < end, "{found} {found_findings:?} and not {wanted}");
            std::thread::yield_now();
        }
        let output = self.run(&["health"], "");
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.lines().next(), Some(state));
        assert_eq!(said.lines().count(), 1 + findings.len(), "{said}");
        let status = self.run(&["status"], "");
        assert_eq!(status.status.code(), output.status.code(), "{state}");
        if state != "down" {
            let said = String::from_utf8(status.stdout).unwrap();
            assert!(said.contains(&format!("health    {state}\n")), "{said}");
            assert!(findings.iter().all(|finding| said.contains(finding)), "{said}");
        }
    }

    pub fn status(&self) -> Value {
        serde_json::from_slice(&self.run(&["status", "--json"], "").stdout).unwrap()
    }

    pub fn end(&self, pid: &Value, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(pid.as_i64().unwrap()).unwrap()).unwrap();
        match rustix::process::kill_process(pid, signal) {
            // It has ended already, and the status did not know yet.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => panic!("signal {pid:?}: {error}"),
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.command(&["stop", "--lose-keys"]).stderr(Stdio::null()).status();
    }
}

pub fn load_keys(bench: &Bench) {
    for (register, bytes) in [("sym", 24), ("aes", 32)] {
        for (part, digits) in [("first", "3B"), ("last", "80")] {
            let typed = digits.repeat(bytes) + "\n";
            bench.done(&["master-key", "load", register, part, "--from-stdin"], &typed);
        }
    }
}

/// What the exporter's server answers for a path.
pub fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The exporter of a home and its address; ended when the test ends.
pub struct Exporter(Child, pub String);

impl Exporter {
    /// At any port.
    pub fn new(bench: &Bench) -> Self {
        Self::at(bench, "127.0.0.1:0")
    }

    /// At this address.
    pub fn at(bench: &Bench, address: &str) -> Self {
        let mut command = bench.command(&["metrics", "--listen", address]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
        Self(child, address.to_owned())
    }

    pub fn until(&self, status: &str, part: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = get(&self.1, "/health");
            if answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(part) {
                return;
            }
            assert!(Instant::now() < end, "not {status} {part}: {answer}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
