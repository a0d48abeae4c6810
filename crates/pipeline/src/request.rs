//! The requests that callers make of the pipeline.

use crate::candidates::Candidates;
use openpgp::body::grammar::Protected;
use openpgp::certificate::{Certificate, EncryptionKey};
use openpgp::session_key::{SessionKeyPacket, check_demands, open_passphrase};
use openpgp::signature::{Issuer, Signer};
use openpgp::{CompressionAlgorithm, Form, Passphrase, PlainSessionKey, Timestamp};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the input's bytes come from.
pub enum Input {
    /// A file. A regular file is read at several places in parallel if that helps.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Any reader, such as bytes in memory or a tar stream made on the fly.
    Reader {
        /// The reader that gives the bytes.
        reader: Box<dyn Read + Send>,
        /// Length in bytes, if known.
        bytes: Option<u64>,
        /// The input's name in errors.
        name: String,
    },
}

/// Where the output's bytes go.
pub enum Output {
    /// A file. A regular file is written without a name in its folder and gets its name on success; devices and FIFOs
    /// are written like standard output.
    Path {
        /// The path that the file gets.
        path: PathBuf,
        /// Whether an existing file of that name is replaced.
        overwrite: bool,
    },
    /// Standard output: written bytes cannot be taken back, see [`Unauthenticated`].
    Stdout,
    /// Any writer, such as bytes in memory; treated like standard output.
    Writer(Box<dyn Write + Send>),
}

/// Compression of the text before it is enciphered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// No compression ([`CompressionAlgorithm::Uncompressed`]), ZIP or ZLIB.
    pub algorithm: CompressionAlgorithm,
    /// Compression level, 1 (fastest) to 9 (smallest).
    pub level: u8,
}

/// The kind of contents of a literal packet (RFC 9580, 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralMode {
    /// Bytes of any kind.
    Binary,
    /// UTF-8 text; anything else is refused. Its line ends become CR LF in the message.
    Utf8,
}

/// Contents of the literal packet's header.
#[derive(Clone, Debug)]
pub struct Literal {
    /// File name as written into the message: at most 255 bytes; empty for none.
    pub name: Vec<u8>,
    /// Whether the packet holds bytes or text.
    pub mode: LiteralMode,
    /// Modification time as written into the message; 0 for none.
    pub modified: Timestamp,
}

/// The request to [`crate::encrypt()`].
pub struct Encrypt<'a> {
    /// Cipher and kind of packet.
    pub form: Form,
    /// Keys that can open the message.
    pub recipients: &'a [EncryptionKey],
    /// Passphrases that can open the message.
    pub passphrases: &'a [Passphrase],
    /// Session key to use instead of a random one; for tests and `--session-key-out` peers.
    pub session_key: Option<&'a PlainSessionKey>,
    /// The keys that sign; none to make no signature.
    pub signers: &'a [Signer],
    /// Compression of the text.
    pub compression: Compression,
    /// Header of the literal packet.
    pub literal: Literal,
    /// Whether the message is written in ASCII armor.
    pub armor: bool,
    /// The time that signatures bear.
    pub now: Timestamp,
}

impl Encrypt<'_> {
    /// A request with no recipients yet, for bytes without a name, neither signed, compressed nor armored. Signatures
    /// would bear the time `now`.
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

/// Why no session key was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOpened {
    /// A text for people: whose keys the message names, and what to do.
    pub why: String,
    /// Whether a passphrase was tried and did not fit, or none was available.
    pub is_passphrase: bool,
    /// Whether a private key that may open the message stays locked.
    pub is_locked: bool,
}

/// A source of session keys: it has private keys or passphrases.
pub trait SessionKeys: Sync {
    /// Candidate session keys from the packets before this body; at least one.
    ///
    /// # Errors
    /// [`NotOpened`] if no packet can be opened.
    fn open(&self, packets: &[SessionKeyPacket], body: &Protected) -> Result<Candidates, NotOpened>;
}

/// A source of session keys that has passphrases only.
#[derive(Clone, Copy, Debug)]
pub struct ByPassphrase<'a> {
    passphrases: &'a [Passphrase],
}

impl<'a> ByPassphrase<'a> {
    /// A source with these passphrases, each of which is tried.
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

/// A source of certificates.
pub trait Verifiers: Sync {
    /// The certificates of keys that may have made a signature by this issuer.
    fn certificates(&self, issuer: &Issuer) -> Vec<Arc<Certificate>>;
}

/// How to treat text that is authenticated only at its end (SEIPDv1), if the output is standard output or a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unauthenticated {
    /// Refuse the message before the first byte is written.
    Refuse,
    /// Write it, with a warning before, and an error after if it is not authentic.
    WriteWithWarning,
    /// Hold the text in memory until it is authenticated; refuse longer text.
    Buffer {
        /// Longest text in bytes.
        bytes_max: u64,
    },
}

/// Bounds on the work that a message may cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most this many compressed packets within one another.
    pub nesting_max: u32,
    /// At most this many packets before a body, and inside of one besides the text.
    pub packets_max: u32,
    /// At most this many inflated bytes, text or not, per compressed byte, once more than 64 MiB came out; `None` for
    /// no bound.
    pub expansion_max: Option<u64>,
    /// At most this many bytes of text; `None` for no bound.
    pub text_bytes_max: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        // Deflate expands at most 1,032 to 1, which a megabyte of zeros reaches without malice. Nested packets can
        // exceed this: the output of all levels counts.
        Self { nesting_max: 16, packets_max: 1024, expansion_max: Some(1100), text_bytes_max: None }
    }
}

/// The request to [`crate::decrypt()`].
pub struct Decrypt<'a> {
    /// The source of session keys.
    pub session_keys: &'a dyn SessionKeys,
    /// The source of certificates; without one, signatures are reported as not checked.
    pub verifiers: Option<&'a dyn Verifiers>,
    /// Whether the output is finished only with a valid signature by one of the verifiers' certificates.
    pub must_be_signed: bool,
    /// How to treat unauthenticated text, for outputs that cannot be taken back.
    pub unauthenticated: Unauthenticated,
    /// Whether contents that the literal packet declares as text get this system's line ends (RFC 9580, 5.9): LF.
    pub has_local_lines: bool,
    /// Bounds on the work that the message may cause.
    pub limits: Limits,
    /// The time that keys and signatures are judged at.
    pub now: Timestamp,
}

impl<'a> Decrypt<'a> {
    /// A request to open a message with these keys and to judge it at the time `now`. Signatures are reported as not
    /// checked; line ends stay as they are. Text that is authentic only at its end is refused if the output cannot be
    /// taken back.
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

/// The form in which a signature accompanies its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// The message holds the text and the signature.
    Inline,
    /// The output is the signature alone.
    Detached,
    /// The cleartext signature framework (RFC 9580, 7).
    Cleartext,
}

/// The request to [`crate::sign()`].
pub struct Sign<'a> {
    /// The keys that sign; at least one.
    pub signers: &'a [Signer],
    /// The form of the signature.
    pub kind: SignatureKind,
    /// Whether text with normalised line ends is signed (type 0x01), not bytes.
    pub is_text: bool,
    /// Compression of inline messages.
    pub compression: Compression,
    /// Header of the literal packet of inline messages.
    pub literal: Literal,
    /// Whether the output is in ASCII armor.
    pub armor: bool,
    /// The time of the signatures.
    pub now: Timestamp,
}

/// The request to [`crate::verify()`].
pub struct Verify<'a> {
    /// The source of certificates.
    pub verifiers: &'a dyn Verifiers,
    /// Detached signatures, armored or not; the input is then the text.
    pub detached: Option<&'a [u8]>,
    /// Whether the text gets this system's line ends, as [`Decrypt::has_local_lines`].
    pub has_local_lines: bool,
    /// Bounds on the work that the message may cause.
    pub limits: Limits,
    /// The time that keys and signatures are judged at.
    pub now: Timestamp,
    /// Signatures made before this do not count.
    pub not_before: Option<Timestamp>,
    /// Signatures made after this do not count.
    pub not_after: Option<Timestamp>,
}
