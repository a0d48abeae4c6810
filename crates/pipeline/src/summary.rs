//! The summary of an operation: what was done, and the cost of each stage.

use openpgp::{Fingerprint, Form, PlainSessionKey, Timestamp};
use std::time::Duration;

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading the input.
    Read,
    /// Deflate, or its reverse.
    Compress,
    /// Cipher and the hashes that go with it (modification detection code, signatures).
    Cipher,
    /// Writing the output.
    Write,
}

/// Processor time of a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageTime {
    /// Which.
    pub stage: Stage,
    /// Processor time on the caller's own processors.
    pub caller: Duration,
    /// Processor time on processors that work was offloaded to.
    pub offloaded: Duration,
}

/// What became of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds, and its key was valid when it was made.
    Good {
        /// The certificate's primary key.
        certificate: Fingerprint,
        /// The key that signed.
        key: Fingerprint,
        /// Whether the line ends of the text were normalised (type 0x01).
        is_text: bool,
    },
    /// It does not hold, or its key was not valid.
    Bad {
        /// Why, for people, with the fingerprint.
        why: String,
    },
    /// Nobody knows a certificate of its issuer, or nobody was asked.
    Unchecked,
}

/// One signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureReport {
    /// Issuer as the signature says, in hexadecimal: fingerprint or key ID.
    pub issuer: String,
    /// When it says that it was made.
    pub made: Option<Timestamp>,
    /// What became of it.
    pub verdict: Verdict,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Cipher and packet of the message, where there is one.
    pub form: Option<Form>,
    /// Bytes read.
    pub input_bytes: u64,
    /// Bytes written.
    pub output_bytes: u64,
    /// Bytes of the text: what is in the message, not the message around it.
    pub text_bytes: u64,
    /// Elapsed time.
    pub elapsed: Duration,
    /// Processor time per stage.
    pub stages: Vec<StageTime>,
    /// Processor time of the process in all on the caller's processors.
    pub cpu_caller: Duration,
    /// Processor time of the process in all.
    pub cpu_all: Duration,
    /// Signatures, in the order of the message.
    pub signatures: Vec<SignatureReport>,
    /// How the session key was found.
    pub opened_by: Option<String>,
    /// The session key, for callers that hand it out on demand (SOP `--session-key-out`).
    pub session_key: Option<PlainSessionKey>,
    /// Name in the literal packet that was read; what a stranger wrote, never a path to use as it is.
    pub literal_name: Vec<u8>,
    /// Time in the literal packet that was read.
    pub literal_modified: Option<Timestamp>,
}
