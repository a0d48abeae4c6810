//! The requests to the pipeline.

use crate::candidates::Candidates;
use openpgp::body::grammar::Protected;
use openpgp::certificate::{Certificate, EncryptionKey};
use openpgp::session_key::{SessionKeyPacket, check_demands, open_passphrase};
use openpgp::signature::{Issuer, Signer};
use openpgp::{CompressionAlgorithm, Form, Passphrase, PlainSessionKey, Timestamp};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Where bytes come from.
pub enum Input {
    /// A file; regular ones are read at several places at once where that helps.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Any reader, such as bytes in memory or a tar stream made on the fly; `bytes` if the length is known.
    Reader {
        /// What is read.
        reader: Box<dyn Read + Send>,
        /// Length in bytes, if known.
        bytes: Option<u64>,
        /// What to call it in errors.
        name: String,
    },
}

/// Where bytes go.
pub enum Output {
    /// A file. A regular one is written beside its place and gets its name when all is well; devices and FIFOs are
    /// written as standard output is.
    Path {
        /// The name it gets.
        path: PathBuf,
        /// Whether a file of that name is replaced.
        overwrite: bool,
    },
    /// Standard output: written bytes cannot be taken back, see [`Unauthenticated`].
    Stdout,
    /// Any writer, such as bytes in memory. Like standard output.
    Writer(Box<dyn Write + Send>),
}

/// Compression of the text before it is enciphered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// None ([`CompressionAlgorithm::Uncompressed`]), ZIP or ZLIB.
    pub algorithm: CompressionAlgorithm,
    /// 1 to 9.
    pub level: u8,
}

/// What kind of text a literal packet holds (RFC 9580, 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralMode {
    /// Bytes.
    Binary,
    /// UTF-8 text; anything else is refused. Its line ends become CR LF in the message.
    Utf8,
}

/// The header of the literal packet.
#[derive(Clone, Debug)]
pub struct Literal {
    /// File name as written into the message: at most 255 bytes; empty for none.
    pub name: Vec<u8>,
    /// Bytes or text.
    pub mode: LiteralMode,
    /// Modification time as written into the message; 0 for none.
    pub modified: Timestamp,
}

/// What [`crate::encrypt()`] is asked.
pub struct Encrypt<'a> {
    /// Cipher and packet.
    pub form: Form,
    /// Keys that can open the message.
    pub recipients: &'a [EncryptionKey],
    /// Passphrases that can open the message.
    pub passphrases: &'a [Passphrase],
    /// Session key to use instead of a random one; for tests and `--session-key-out` peers.
    pub session_key: Option<&'a PlainSessionKey>,
    /// Who signs.
    pub signers: &'a [Signer],
    /// Compression.
    pub compression: Compression,
    /// Header of the literal packet.
    pub literal: Literal,
    /// ASCII armor.
    pub armor: bool,
    /// The time of signatures.
    pub now: Timestamp,
}

impl Encrypt<'_> {
    /// To nobody yet: bytes without a name, neither signed, compressed nor armored. Signatures get this time.
    pub fn new(form: Form, now: Timestamp) -> Self {
        Self {
            form,
            recipients: &[],
            passphrases: &[],
            session_key: None,
            signers: &[],
            compression: Compression { algorithm: CompressionAlgorithm::Uncompressed, level: 6 },
            literal: Literal {
                name: Vec::new(),
                mode: LiteralMode::Binary,
                modified: Timestamp::from_secs(0),
            },
            armor: false,
            now,
        }
    }
}

/// Why there is no session key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOpened {
    /// For people: whose keys the message names, and what to do.
    pub why: String,
    /// Whether a passphrase was tried and did not fit, or none was to be had.
    pub is_passphrase: bool,
    /// Whether a private key that may open it stays locked.
    pub is_locked: bool,
}

/// Whoever has keys and passphrases.
pub trait SessionKeys: Sync {
    /// Session keys for the packets before this body; at least one.
    ///
    /// # Errors
    /// Where none can be opened.
    fn open(&self, packets: &[SessionKeyPacket], body: &Protected) -> Result<Candidates, NotOpened>;
}

/// Opens messages by passphrases alone.
#[derive(Clone, Copy, Debug)]
pub struct ByPassphrase<'a> {
    passphrases: &'a [Passphrase],
}

impl<'a> ByPassphrase<'a> {
    /// By these, each of which is tried.
    pub fn new(passphrases: &'a [Passphrase]) -> Self {
        Self { passphrases }
    }
}

impl SessionKeys for ByPassphrase<'_> {
    fn open(&self, packets: &[SessionKeyPacket], _body: &Protected) -> Result<Candidates, NotOpened> {
        let refused = |why: String| NotOpened { why, is_passphrase: true, is_locked: false };
        check_demands(packets).map_err(|demands| refused(demands.to_string()))?;
        let mut found = Candidates::default();
        for packet in packets {
            let SessionKeyPacket::Passphrase(packet) = packet else { continue };
            let opened = self.passphrases.iter().filter_map(|passphrase| open_passphrase(packet, passphrase));
            opened.for_each(|opened| found.opened(opened));
        }
        if found.is_empty() { Err(refused("no passphrase opens it".to_owned())) } else { Ok(found) }
    }
}

/// Whoever knows certificates.
pub trait Verifiers: Sync {
    /// Certificates that may have made a signature of this issuer.
    fn certificates(&self, issuer: &Issuer) -> Vec<Arc<Certificate>>;
}

/// How to treat text that is authenticated only at its end (SEIPDv1), if it goes to standard output or a
/// writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unauthenticated {
    /// Refused before the first byte.
    Refuse,
    /// Write it, with a warning before, and an error after if it is not authentic.
    WriteWithWarning,
    /// Keep it in a bounded buffer until it is authenticated; refuse longer text.
    Buffer {
        /// Longest text in bytes.
        bytes_max: u64,
    },
}

/// Bounds on what a message may demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Compressed packets within one another.
    pub nesting_max: u32,
    /// Packets before a body, and inside of one besides the text.
    pub packets_max: u32,
    /// Inflated bytes, text or not, per compressed byte, once more than 64 MiB came out; none for no bound.
    pub expansion_max: Option<u64>,
    /// Text bytes in all; none for no bound.
    pub text_bytes_max: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        // Deflate cannot do better than 1,032 to 1; a megabyte of zeros is honest work for it. Nested, it can: what all
        // levels give counts.
        Self { nesting_max: 16, packets_max: 1024, expansion_max: Some(1100), text_bytes_max: None }
    }
}

/// What [`crate::decrypt()`] is asked.
pub struct Decrypt<'a> {
    /// Who opens the session key.
    pub session_keys: &'a dyn SessionKeys,
    /// The source of certificates; without it, signatures are reported as not checked.
    pub verifiers: Option<&'a dyn Verifiers>,
    /// Whether the output gets its name only with a valid signature by one of the verifiers' certificates.
    pub must_be_signed: bool,
    /// For outputs that cannot be taken back.
    pub unauthenticated: Unauthenticated,
    /// Whether text, as its literal packet says, gets the line ends of this system (RFC 9580, 5.9): LF.
    pub has_local_lines: bool,
    /// Bounds.
    pub limits: Limits,
    /// The time that keys and signatures are judged at.
    pub now: Timestamp,
}

impl<'a> Decrypt<'a> {
    /// Opened by these keys, and judged at this time. Signatures are reported as not checked; text that is authentic
    /// only at its end is refused where it could not be taken back; line ends stay as they are.
    pub fn new(session_keys: &'a dyn SessionKeys, now: Timestamp) -> Self {
        Self {
            session_keys,
            verifiers: None,
            must_be_signed: false,
            unauthenticated: Unauthenticated::Refuse,
            has_local_lines: false,
            limits: Limits::default(),
            now,
        }
    }
}

/// How a signature goes with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// The text is inside of the message.
    Inline,
    /// The output is the signature alone.
    Detached,
    /// The cleartext signature framework (RFC 9580, 7).
    Cleartext,
}

/// What [`crate::sign()`] is asked.
pub struct Sign<'a> {
    /// Who signs; at least one.
    pub signers: &'a [Signer],
    /// How.
    pub kind: SignatureKind,
    /// Signs text with normalised line ends (type 0x01), not bytes.
    pub is_text: bool,
    /// Compression of inline messages.
    pub compression: Compression,
    /// Header of the literal packet of inline messages.
    pub literal: Literal,
    /// ASCII armor.
    pub armor: bool,
    /// The time of the signatures.
    pub now: Timestamp,
}

/// What [`crate::verify()`] is asked.
pub struct Verify<'a> {
    /// Who knows certificates.
    pub verifiers: &'a dyn Verifiers,
    /// Detached signatures, armored or not; the input is the text then.
    pub detached: Option<&'a [u8]>,
    /// As [`Decrypt::has_local_lines`].
    pub has_local_lines: bool,
    /// Bounds.
    pub limits: Limits,
    /// The time that keys and signatures are judged at.
    pub now: Timestamp,
    /// Signatures made before this do not count.
    pub not_before: Option<Timestamp>,
    /// Signatures made after this do not count.
    pub not_after: Option<Timestamp>,
}
