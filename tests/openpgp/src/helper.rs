//! Libraries in other languages, each behind a small program in `peers/` that reads a line of JSON per request and
//! answers with one. Bytes travel as hexadecimal digits.

use crate::gpg::user_id;
use crate::peer::{Key, Kind, Opening, Peer, Sealing};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

/// A running helper program. It ends with its input, when this is dropped.
pub struct Helper {
    name: &'static str,
    pipes: Mutex<Pipes>,
    child: Child,
}

struct Pipes {
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Helper {
    /// Starts a program; none where it is not installed.
    ///
    /// # Panics
    /// If it cannot be started for another reason.
    pub fn start(name: &'static str, program: impl AsRef<OsStr>, arguments: &[&OsStr]) -> Option<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => panic!("{name}: {error}"),
        };
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Some(Self { name, pipes: Mutex::new(Pipes { requests, answers }), child })
    }

    /// `pysequoia`, from the environment that `scripts/need test` makes.
    ///
    /// # Panics
    /// If it is not there.
    pub fn pysequoia() -> Self {
        let python = place("target/pysequoia/bin/python");
        assert!(python.exists(), "{} is missing: `scripts/need test` makes it", python.display());
        let script = place("tests/openpgp/peers/pysequoia_peer.py");
        Self::start("pysequoia", python, &[script.as_os_str()]).expect("it exists")
    }

    /// Generates a key; which profiles and suites there are is the helper's.
    ///
    /// # Errors
    /// What the helper said.
    pub fn generate(&self, name: &str, profile: &str, suite: &str) -> Result<Key, String> {
        let user_id = user_id(name);
        let request = json!({"op": "generate", "user_id": user_id, "profile": profile, "suite": suite});
        let answer = self.ask(&request)?;
        let secret = bytes(&answer, "secret")?;
        let certificate = bytes(&answer, "certificate")?;
        Ok(Key { name: format!("{} {name}", self.name), user_id, secret, certificate, passphrase: None })
    }

    fn ask(&self, request: &Value) -> Result<Value, String> {
        let mut pipes = self.pipes.lock().expect("no test panics with it");
        let requests = pipes.requests.as_mut().expect("it runs");
        writeln!(requests, "{request}").map_err(|error| format!("{}: {error}", self.name))?;
        requests.flush().map_err(|error| error.to_string())?;
        let mut line = String::new();
        pipes.answers.read_line(&mut line).map_err(|error| error.to_string())?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|error| format!("{}: {error}: {line}", self.name))?;
        match answer["error"].as_str() {
            Some(error) => Err(format!("{}: {error}", self.name)),
            None => Ok(answer),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if let Ok(pipes) = self.pipes.get_mut() {
            pipes.requests = None;
        }
        let _ = self.child.wait();
    }
}

impl Peer for Helper {
    fn name(&self) -> &str {
        self.name
    }

    fn encrypt(&self, text: &[u8], what: &Sealing<'_>) -> Result<Vec<u8>, String> {
        let recipients: Vec<String> = what.recipients.iter().map(|key| hex(&key.certificate)).collect();
        let request = json!({
            "op": "encrypt", "text": hex(text), "recipients": recipients, "passphrases": what.passphrases,
            "signer": what.signer.map(|key| hex(&key.secret)), "options": what.options,
        });
        bytes(&self.ask(&request)?, "output")
    }

    fn decrypt(&self, message: &[u8], with: &Opening<'_>) -> Result<Vec<u8>, String> {
        let request = json!({
            "op": "decrypt", "message": hex(message), "key": with.key.map(|key| hex(&key.secret)),
            "key_passphrase": with.key.and_then(|key| key.passphrase.clone()), "passphrase": with.passphrase,
            "signer": with.signer.map(|key| hex(&key.certificate)),
        });
        bytes(&self.ask(&request)?, "output")
    }

    fn sign(&self, text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String> {
        let request = json!({
            "op": "sign", "text": hex(text), "kind": word(kind), "signer": hex(&signer.secret),
            "key_passphrase": signer.passphrase,
        });
        bytes(&self.ask(&request)?, "output")
    }

    fn verify(&self, signed: &[u8], text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String> {
        let request = json!({
            "op": "verify", "signed": hex(signed), "text": hex(text), "kind": word(kind),
            "signer": hex(&signer.certificate),
        });
        bytes(&self.ask(&request)?, "output")
    }
}

/// A path in the workspace.
pub fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Inline => "inline",
        Kind::Detached => "detached",
        Kind::Cleartext => "cleartext",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(answer: &Value, field: &str) -> Result<Vec<u8>, String> {
    let digits = answer[field].as_str().ok_or_else(|| format!("the answer has no {field}"))?;
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let all: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(octet).collect();
    all.ok_or_else(|| format!("{field} is not hexadecimal"))
}
