//! Cryptand in this process, as a peer: what the programs do, without their command lines.

use crate::peer::{Key, Kind, Opening, Peer, Sealing};
use cryptand_sop::holders::{Known, Openers, signers};
use engine::{Engine, Options};
use openpgp::certificate::{Announced, Certificate, EncryptionKey, strongest_form};
use openpgp::private_key::PrivateCertificate;
use openpgp::signature::Signer;
use openpgp::{CompressionAlgorithm, Form, Passphrase, Timestamp};
use pipeline::{
    Async, Compression, Decrypt, Encrypt, Input, Limits, Literal, LiteralMode, NoProgress, Output, Provider,
    Run, Sign, SignatureKind, Summary, Unauthenticated, Verdict, Verify,
};
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex, OnceLock};

/// How messages are made, and how the work is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Ours {
    /// Cipher and packet; none for what the recipients announce.
    pub form: Option<Form>,
    /// Compression.
    pub compression: Compression,
    /// ASCII armor.
    pub armor: bool,
    /// Text instead of bytes.
    pub is_text: bool,
    /// Which stages have threads of their own.
    pub stages: Option<Async>,
}

/// No stage has threads of its own.
pub const ALONE: Async = Async { io: false, compress: false, cipher: false };
/// Every stage has.
pub const ALL: Async = Async { io: true, compress: true, cipher: true };

impl Default for Ours {
    fn default() -> Self {
        let compression = Compression { algorithm: CompressionAlgorithm::Uncompressed, level: 1 };
        Self { form: None, compression, armor: false, is_text: false, stages: None }
    }
}

/// Bytes that were written, kept by who wants to see them.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// The bytes so far.
    ///
    /// # Panics
    /// Where a writer panicked.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no writer panics").clone()
    }

    /// As an output.
    pub fn output(&self) -> Output {
        Output::Writer(Box::new(self.clone()))
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Bytes in memory as an input.
pub fn input(bytes: &[u8]) -> Input {
    let length = Some(bytes.len() as u64);
    Input::Reader {
        reader: Box::new(Cursor::new(bytes.to_vec())),
        bytes: length,
        name: "the input".to_owned(),
    }
}

/// The engine, once.
///
/// # Panics
/// If its known answers do not hold.
pub fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new(Options::default()).expect("known answers hold"))
}

/// The time that everything happens at.
pub fn now() -> Timestamp {
    Timestamp::now()
}

impl Ours {
    /// How the work is laid out.
    pub fn run(&self) -> Run<'static> {
        Run {
            engine: engine(),
            provider: Provider::Engine,
            stages: self.stages,
            threads: None,
            offload_processors: &[],
            progress: &NoProgress,
            is_durable: false,
            interrupted: None,
        }
    }

    /// The header of the literal packet.
    pub fn literal(&self) -> Literal {
        let mode = if self.is_text { LiteralMode::Utf8 } else { LiteralMode::Binary };
        Literal { name: Vec::new(), mode, modified: Timestamp::from_secs(0) }
    }

    /// Decrypts, with the summary.
    ///
    /// # Errors
    /// Those of the pipeline.
    pub fn open(&self, message: &[u8], with: &Opening<'_>) -> Result<(Vec<u8>, Summary), pipeline::Error> {
        let openers = openers(with);
        let known = known(with.signer);
        let what = Decrypt {
            session_keys: &openers,
            verifiers: with.signer.is_some().then_some(&known),
            must_be_signed: with.signer.is_some(),
            unauthenticated: Unauthenticated::Buffer { bytes_max: 1 << 30 },
            has_local_lines: false,
            limits: Limits::default(),
            now: now(),
        };
        let out = Kept::default();
        let summary = pipeline::decrypt(input(message), out.output(), &what, &self.run())?;
        Ok((out.bytes(), summary))
    }
}

fn passphrases(passphrase: Option<&str>) -> Vec<Passphrase> {
    passphrase.into_iter().map(|passphrase| Passphrase::new(passphrase.as_bytes().to_vec())).collect()
}

/// The private key of a peer's key.
///
/// # Panics
/// If it cannot be read.
pub fn private(key: &Key) -> PrivateCertificate {
    let mut all =
        PrivateCertificate::parse_all(&key.secret).unwrap_or_else(|error| panic!("{}: {error}", key.name));
    all.pop().expect("at least one")
}

/// The certificate of a peer's key.
///
/// # Panics
/// If it cannot be read.
pub fn certificate(key: &Key) -> Certificate {
    let mut all =
        Certificate::parse_all(&key.certificate).unwrap_or_else(|error| panic!("{}: {error}", key.name));
    all.pop().expect("at least one")
}

fn openers(with: &Opening<'_>) -> Openers {
    Openers {
        keys: with.key.map(private).into_iter().collect(),
        key_passphrases: passphrases(with.key.and_then(|key| key.passphrase.as_deref())),
        passphrases: passphrases(with.passphrase),
        session_keys: Vec::new(),
    }
}

fn known(signer: Option<&Key>) -> Known {
    Known(signer.map(certificate).map(Arc::new).into_iter().collect())
}

/// The signer of a peer's key.
///
/// # Errors
/// Why it does not sign.
pub fn signer(key: &Key) -> Result<Vec<Signer>, String> {
    signers(&[private(key)], &passphrases(key.passphrase.as_deref()), now())
        .map_err(|error| error.to_string())
}

/// The keys that messages for a peer's key are encrypted to, and what it announces.
///
/// # Errors
/// Why it is not to be used.
pub fn recipient(key: &Key) -> Result<(Vec<EncryptionKey>, Announced), String> {
    let certificate = certificate(key);
    let valid = certificate.check(now()).map_err(|error| error.to_string())?;
    Ok((valid.encryption_keys().map_err(|error| error.to_string())?, valid.announces()))
}

impl Peer for Ours {
    fn name(&self) -> &str {
        "cryptand"
    }

    fn encrypt(&self, text: &[u8], what: &Sealing<'_>) -> Result<Vec<u8>, String> {
        let found = what.recipients.iter().map(|key| recipient(key)).collect::<Result<Vec<_>, _>>()?;
        let (recipients, announced): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let recipients: Vec<EncryptionKey> = recipients.into_iter().flatten().collect();
        let signers = what.signer.map(signer).transpose()?.unwrap_or_default();
        let passphrases: Vec<Passphrase> =
            what.passphrases.iter().flat_map(|passphrase| passphrases(Some(passphrase))).collect();
        let what = Encrypt {
            form: self.form.unwrap_or_else(|| strongest_form(&announced)),
            recipients: &recipients,
            passphrases: &passphrases,
            session_key: None,
            signers: &signers,
            compression: self.compression,
            literal: self.literal(),
            armor: self.armor,
            now: now(),
        };
        let out = Kept::default();
        pipeline::encrypt(input(text), out.output(), &what, &self.run())
            .map_err(|error| error.to_string())?;
        Ok(out.bytes())
    }

    fn decrypt(&self, message: &[u8], with: &Opening<'_>) -> Result<Vec<u8>, String> {
        let (text, summary) = self.open(message, with).map_err(|error| error.to_string())?;
        let is_good = |report: &pipeline::SignatureReport| matches!(report.verdict, Verdict::Good { .. });
        assert!(with.signer.is_none() || summary.signatures.iter().any(is_good), "must_be_signed was asked");
        Ok(text)
    }

    fn sign(&self, text: &[u8], kind: Kind, by: &Key) -> Result<Vec<u8>, String> {
        let what = Sign {
            signers: &signer(by)?,
            kind: match kind {
                Kind::Inline => SignatureKind::Inline,
                Kind::Detached => SignatureKind::Detached,
                Kind::Cleartext => SignatureKind::Cleartext,
            },
            is_text: self.is_text || kind == Kind::Cleartext,
            compression: self.compression,
            literal: self.literal(),
            armor: self.armor || kind == Kind::Cleartext,
            now: now(),
        };
        let out = Kept::default();
        pipeline::sign(input(text), out.output(), &what, &self.run()).map_err(|error| error.to_string())?;
        Ok(out.bytes())
    }

    fn verify(&self, signed: &[u8], text: &[u8], kind: Kind, by: &Key) -> Result<Vec<u8>, String> {
        let known = known(Some(by));
        let is_detached = kind == Kind::Detached;
        let what = Verify {
            verifiers: &known,
            detached: is_detached.then_some(signed),
            has_local_lines: false,
            limits: Limits::default(),
            now: now(),
            not_before: None,
            not_after: None,
        };
        let out = Kept::default();
        let (data, output) = if is_detached { (text, None) } else { (signed, Some(out.output())) };
        pipeline::verify(input(data), output, &what, &self.run()).map_err(|error| error.to_string())?;
        Ok(if is_detached { text.to_vec() } else { out.bytes() })
    }
}
