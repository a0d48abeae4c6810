//! The summary of an operation: its results, and the cost of each stage.

use openpgp::{Fingerprint, Form, PlainSessionKey, Timestamp};
use std::time::Duration;

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading the input.
    Read,
    /// Deflating or inflating.
    Compress,
    /// Cipher and the hashes that go with it (modification detection code, signatures).
    Cipher,
    /// Writing the output.
    Write,
}

/// Processor time of a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageTime {
    /// The stage that took the time.
    pub stage: Stage,
    /// Processor time on the caller's own processors.
    pub caller: Duration,
    /// Processor time on processors that work was offloaded to.
    pub offloaded: Duration,
}

/// The verdict on a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The signature is valid, and its key was valid when the signature was made.
    Good {
        /// The certificate's primary key.
        certificate: Fingerprint,
        /// The key that signed.
        key: Fingerprint,
        /// Whether the line ends of the text were normalised (type 0x01).
        is_text: bool,
    },
    /// The signature is not valid, or its key was not.
    Bad {
        /// The reason, for people, with the fingerprint.
        why: String,
    },
    /// No certificate of the issuer is known, or certificates were not asked for.
    Unchecked,
}

/// A report on one signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureReport {
    /// The issuer that the signature names, in hexadecimal: fingerprint or key ID.
    pub issuer: String,
    /// The time at which the signature claims to be made.
    pub made: Option<Timestamp>,
    /// The verdict on the signature.
    pub verdict: Verdict,
}

/// The results of an operation.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Cipher and kind of packet of the message, if it is encrypted.
    pub form: Option<Form>,
    /// Number of bytes read.
    pub input_bytes: u64,
    /// Number of bytes written.
    pub output_bytes: u64,
    /// Number of bytes of the text in the message, without the message around it.
    pub text_bytes: u64,
    /// Elapsed time of the operation.
    pub elapsed: Duration,
    /// Processor time per stage.
    pub stages: Vec<StageTime>,
    /// The process's processor time on the caller's processors, for all threads.
    pub cpu_caller: Duration,
    /// The process's processor time on all processors, for all threads.
    pub cpu_all: Duration,
    /// Signatures, in the order of the message.
    pub signatures: Vec<SignatureReport>,
    /// How the session key was found, for people; `None` unless a message was decrypted.
    pub opened_by: Option<String>,
    /// The session key, for callers that hand it out on request (SOP `--session-key-out`).
    pub session_key: Option<PlainSessionKey>,
    /// Name in the literal packet that was read. The sender chose it; never use it as a path as it is.
    pub literal_name: Vec<u8>,
    /// Time in the literal packet that was read; `None` if it has none.
    pub literal_modified: Option<Timestamp>,
}
