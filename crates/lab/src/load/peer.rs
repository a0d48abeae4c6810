//! The same operation by OpenSSL, where the machine has it: the software that a program would use otherwise.
//!
//! The library is loaded, with its key prepared once, and works on one text after the other in this thread.

use crate::load::operation::{Cipher, Direction, Hash, Mac, Mode, Operation};
use crate::load::{Interface, LabError, Measurement, ProcessorSeconds, Refusal, Workload, keys};
use peers::openssl_ffi::{self, OpenSsl};
use std::hint::black_box;
use std::time::Instant;

/// What the other library is called in pages.
pub const NAME: &str = "OpenSSL";
/// Operations between two looks at the clock.
const CALLS_BETWEEN_LOOKS: u64 = 16;

/// The other library.
#[derive(Clone, Copy)]
pub struct Peer(&'static OpenSsl);

impl Peer {
    /// The OpenSSL of the machine; none if it has none.
    pub fn find() -> Option<Self> {
        openssl_ffi::openssl().ok().map(Self)
    }

    /// The peer's workload to compare with one of ours; none if the peer has no such operation.
    pub fn beside(workload: &Workload) -> Option<Workload> {
        let alone = workload.interface != Interface::Card && workload.jobs == 1 && workload.level.is_none();
        (alone && has(workload.operation)).then(|| Workload {
            bytes: workload.bytes,
            peer: true,
            ..Workload::of(workload.operation)
        })
    }

    /// Runs a workload of the peer.
    ///
    /// # Errors
    /// [`Refusal::Peer`] where it has no such operation, or not for texts of this length.
    pub fn run(&self, workload: &Workload) -> Result<Measurement, LabError> {
        let refused = || LabError::from(Refusal::Peer(workload.operation));
        let mut call = self.prepared(workload.operation, workload.bytes).ok_or_else(refused)?;
        call();
        let (begin, mut calls) = (Instant::now(), 0);
        loop {
            (0..CALLS_BETWEEN_LOOKS).for_each(|_| call());
            calls += CALLS_BETWEEN_LOOKS;
            let seconds = begin.elapsed().as_secs_f64();
            if seconds >= workload.seconds {
                return Ok(self.measurement(workload, calls, seconds));
            }
        }
    }

    /// One call on a text of this length, with a prepared key; the text goes on from what the last call left.
    fn prepared(&self, operation: Operation, bytes: usize) -> Option<Box<dyn FnMut()>> {
        let Self(library) = *self;
        let mut text = keys::test_bytes(0xDA7A, 0, bytes);
        match operation {
            Operation::Cipher { cipher, mode: Mode::Cbc, direction } if is_whole(cipher, bytes) => {
                let encipher = direction == Direction::Encipher;
                let Some(name) = evp_name(cipher) else {
                    let key = openssl_ffi::Des::new(library, &keys::test_bytes(0xDE5, 0, 8).try_into().ok()?);
                    let mut chain = [0; 8];
                    return Some(Box::new(move || key.cbc(encipher, &mut chain, &mut text)));
                };
                let key = keys::test_bytes(0x3DE5, 0, key_bytes(cipher));
                let mut cipher = openssl_ffi::Cipher::new(library, name, encipher, &key)?;
                Some(Box::new(move || {
                    cipher.start(&[0; 16]);
                    cipher.update(&mut text);
                }))
            }
            // The MAC is the last block of the text in CBC.
            Operation::Mac(Mac::X99) if is_whole(Cipher::Des, bytes) => {
                let key = openssl_ffi::Des::new(library, &keys::test_bytes(0xDE5, 0, 8).try_into().ok()?);
                Some(Box::new(move || key.cbc(true, &mut [0; 8], &mut text)))
            }
            Operation::Hash(Hash::Sha1) => Some(Box::new(move || {
                black_box(library.sha1(black_box(&text)));
            })),
            Operation::Hash(Hash::Sha256) => Some(Box::new(move || {
                black_box(library.sha256(black_box(&text)));
            })),
            _ => None,
        }
    }

    fn measurement(&self, workload: &Workload, operations: u64, seconds: f64) -> Measurement {
        let ops_per_s = operations as f64 / seconds;
        // One thread keeps one processor busy; single calls are not timed.
        let latency_ns = (1e9 / ops_per_s) as u64;
        let utilisation = 1.0 / crate::kit::machine::processors_online() as f64;
        Measurement {
            operation: workload.operation,
            bytes: workload.bytes,
            jobs: 1,
            processors: 1,
            interface: Interface::Native,
            level: self.0.version().to_owned(),
            lanes: 1,
            cards: 0,
            personality: None,
            ops_per_s,
            bytes_per_s: ops_per_s * workload.bytes as f64,
            p50_ns: latency_ns,
            p99_ns: latency_ns,
            operations,
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

/// Whether the peer has an operation.
fn has(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Cipher { mode: Mode::Cbc, .. }
            | Operation::Mac(Mac::X99)
            | Operation::Hash(Hash::Sha1 | Hash::Sha256)
    )
}

/// Whether a text of this length in bytes is whole blocks of a cipher.
fn is_whole(cipher: Cipher, bytes: usize) -> bool {
    let block = match cipher {
        Cipher::Des | Cipher::Tdes2 | Cipher::Tdes3 => 8,
        Cipher::Aes128 | Cipher::Aes192 | Cipher::Aes256 => 16,
    };
    bytes > 0 && bytes.is_multiple_of(block)
}

/// The library's name of a cipher in CBC; none of single DES, which it has in its low-level interface alone.
fn evp_name(cipher: Cipher) -> Option<&'static str> {
    match cipher {
        Cipher::Des => None,
        Cipher::Tdes2 => Some("DES-EDE-CBC"),
        Cipher::Tdes3 => Some("DES-EDE3-CBC"),
        Cipher::Aes128 => Some("AES-128-CBC"),
        Cipher::Aes192 => Some("AES-192-CBC"),
        Cipher::Aes256 => Some("AES-256-CBC"),
    }
}

/// Length of a cipher's key in bytes.
fn key_bytes(cipher: Cipher) -> usize {
    match cipher {
        Cipher::Des => 8,
        Cipher::Tdes2 | Cipher::Aes128 => 16,
        Cipher::Tdes3 | Cipher::Aes192 => 24,
        Cipher::Aes256 => 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(Peer::beside(&Workload::of("rsa2048-crt".parse().unwrap())), None);
    }

    #[test]
    fn each_of_its_operations_is_timed_for_as_long_as_it_is_told() {
        let Some(peer) = Peer::find() else { return };
        for name in
            ["des-cbc-encipher", "tdes-cbc-encipher", "aes128-cbc-decipher", "des-mac", "sha1", "sha256"]
        {
            let workload = Workload { bytes: 64, seconds: 0.002, ..Workload::of(name.parse().unwrap()) };
            let beside = Peer::beside(&workload).unwrap_or_else(|| panic!("{name}"));
            let measured = peer.run(&Workload { seconds: 0.002, ..beside }).unwrap();
            assert!(measured.seconds >= 0.002 && measured.operations >= CALLS_BETWEEN_LOOKS, "{measured:?}");
            assert!(measured.level.starts_with("OpenSSL 3"), "{measured:?}");
            assert_eq!(measured.bytes_per_s, measured.ops_per_s * 64.0);
        }
        for (name, bytes) in [("rsa2048-crt", 0), ("aes128-cbc-encipher", 63)] {
            let refused = peer.run(&Workload { bytes, ..Workload::of(name.parse().unwrap()) });
            assert!(matches!(refused, Err(LabError::Refused(Refusal::Peer(_)))), "{name}");
        }
    }
}
