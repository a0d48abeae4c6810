//! Another library, measured by its own benchmark: `openssl speed`, where the machine has it.
//!
//! The library is not linked. Its benchmark times whole seconds only, so quick reports leave it out.

use crate::load::operation::{Cipher, Direction, Hash, Mode, Operation};
use crate::load::{Interface, LabError, Measurement, ProcessorSeconds, Refusal, Workload};
use std::process::{Command, Stdio};

/// The other library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    name: String,
}

impl Peer {
    /// The OpenSSL of the machine; none if it has none.
    pub fn find() -> Option<Self> {
        let output = Command::new("openssl").arg("version").stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let name = text.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        (output.status.success() && name.starts_with("OpenSSL 3")).then_some(Self { name })
    }

    /// Name and version of the library.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The peer's workload to compare with one of ours; none if the peer has no such operation.
    pub fn beside(workload: &Workload) -> Option<Workload> {
        let alone = workload.interface != Interface::Card && workload.jobs == 1 && workload.level.is_none();
        (alone && algorithm(workload.operation).is_some()).then(|| Workload {
            bytes: workload.bytes,
            peer: true,
            ..Workload::of(workload.operation)
        })
    }

    /// Runs a workload of the peer.
    ///
    /// # Errors
    /// [`Refusal::Peer`] where it has no such operation; [`LabError::Io`] where it does not run;
    /// [`LabError::Engine`] where its answer does not read.
    pub fn run(&self, workload: &Workload) -> Result<Measurement, LabError> {
        let Some((algorithm, decipher)) = algorithm(workload.operation) else {
            return Err(Refusal::Peer(workload.operation).into());
        };
        let seconds = workload.seconds.round().max(1.0);
        let mut command = Command::new("openssl");
        command.args(["speed", "-mr", "-provider", "default", "-provider", "legacy"]);
        command.args(["-seconds", &format!("{seconds}"), "-bytes", &workload.bytes.to_string()]);
        if decipher {
            command.arg("-decrypt");
        }
        let output = command
            .args(["-evp", algorithm])
            .stdin(Stdio::null())
            .output()
            .map_err(LabError::io("run the peer's benchmark"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let bytes_per_s = rate(&text).ok_or_else(|| LabError::Engine {
            operation: workload.operation,
            cause: format!("the peer's benchmark ended with {}", output.status),
        })?;
        Ok(self.measurement(workload, bytes_per_s, seconds))
    }

    fn measurement(&self, workload: &Workload, bytes_per_s: f64, seconds: f64) -> Measurement {
        let ops_per_s = bytes_per_s / workload.bytes as f64;
        // Its benchmark keeps one processor busy and states neither latencies nor processor time.
        let latency_ns = (1e9 / ops_per_s) as u64;
        let utilisation = 1.0 / crate::kit::machine::processors_online() as f64;
        Measurement {
            operation: workload.operation,
            bytes: workload.bytes,
            jobs: 1,
            processors: 1,
            interface: Interface::Native,
            level: self.name.clone(),
            lanes: 1,
            cards: 0,
            personality: None,
            ops_per_s,
            bytes_per_s,
            p50_ns: latency_ns,
            p99_ns: latency_ns,
            operations: (ops_per_s * seconds) as u64,
            answers_compared: 0,
            seconds,
            rate: None,
            prepared: true,
            processor_s: ProcessorSeconds { caller: seconds, daemon: 0.0, cards: 0.0 },
            utilisation,
            itr: ops_per_s / utilisation,
        }
    }
}

/// The peer's name of an operation, and whether it deciphers; none if it has no such operation.
fn algorithm(operation: Operation) -> Option<(&'static str, bool)> {
    match operation {
        Operation::Cipher { cipher, mode: Mode::Cbc, direction } => {
            let name = match cipher {
                Cipher::Des => "des-cbc",
                Cipher::Tdes2 => "des-ede-cbc",
                Cipher::Tdes3 => "des-ede3-cbc",
                Cipher::Aes128 => "aes-128-cbc",
                Cipher::Aes192 => "aes-192-cbc",
                Cipher::Aes256 => "aes-256-cbc",
            };
            Some((name, direction == Direction::Decipher))
        }
        Operation::Hash(Hash::Sha1) => Some(("sha1", false)),
        Operation::Hash(Hash::Sha256) => Some(("sha256", false)),
        _ => None,
    }
}

/// Bytes per second of a `+F` line.
fn rate(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("+F:"))?;
    line.rsplit(':').next()?.trim().parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_answer_is_read() {
        assert_eq!(rate("+H:64\n+F:25:AES-128-CBC:1599686720.00\n"), Some(1_599_686_720.0));
        for text in ["", "+H:64", "+F:25:x:", "+F:25:x:0.00", "+F:25:x:NaN"] {
            assert_eq!(rate(text), None, "{text}");
        }
    }

    #[test]
    fn what_stands_beside_which_workload() {
        let facility = Workload {
            bytes: 64,
            interface: Interface::Facility,
            ..Workload::of("aes256-cbc-decipher".parse().unwrap())
        };
        let beside = Peer::beside(&facility).unwrap();
        assert_eq!(beside.case(), "aes256-cbc-decipher/native/64B/1j/1p/peer");
        assert_eq!(Peer::beside(&Workload { interface: Interface::Card, ..facility.clone() }), None);
        assert_eq!(Peer::beside(&Workload { jobs: 7, ..facility }), None);
        assert_eq!(Peer::beside(&Workload::of("des-mac".parse().unwrap())), None);
        let peer = Peer { name: "OpenSSL 3".to_owned() };
        let refused = peer.run(&Workload::of("des-mac".parse().unwrap()));
        assert!(matches!(refused, Err(LabError::Refused(Refusal::Peer(_)))));
        let measured = peer.measurement(&beside, 64e6, 1.0);
        assert_eq!((measured.ops_per_s, measured.p50_ns), (1e6, 1000));
    }
}
