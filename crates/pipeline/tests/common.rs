//! What the tests share: keys, readers of memory, requests with one thing changed.

use engine::{Engine, Options};
use openpgp::body::grammar::Protected;
use openpgp::certificate::{Certificate, EncryptionKey};
use openpgp::generate::{CertificateAlgorithms, NewKey, generate};
use openpgp::private_key::PrivateCertificate;
use openpgp::session_key::{SessionKeyPacket, matches, open_passphrase};
use openpgp::signature::{Issuer, Signer, hash_for};
use openpgp::{
    AeadAlgorithm, CompressionAlgorithm, Form, Passphrase, PrivateKey, Protection, SymmetricKeyAlgorithm,
    Timestamp,
};
use pgp::types::KeyDetails;
use pipeline::{
    Async, Candidates, Compression, Decrypt, Encrypt, Error, Input, Limits, Literal, LiteralMode, NoProgress,
    NotOpened, Output, Provider, Run, SessionKeys, Summary, Unauthenticated, Verifiers,
};
use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

pub static ENGINE: LazyLock<Engine> =
    LazyLock::new(|| Engine::new(Options { limit: None, weak_algorithms: false }).unwrap());

pub static NOW: LazyLock<Timestamp> = LazyLock::new(|| Timestamp::from_secs(1_800_000_000));

/// Somebody with keys.
pub struct Person {
    pub certificate: Arc<Certificate>,
    pub keys: Vec<Arc<dyn PrivateKey>>,
}

impl Person {
    pub fn new(name: &str, is_v6: bool) -> Self {
        let created = Timestamp::from_secs(1_700_000_000);
        let what = NewKey { kind: CertificateAlgorithms::Curve25519, is_v6, ..NewKey::new(name, created) };
        let private: PrivateCertificate = generate(&what, None).unwrap();
        Self { certificate: Arc::new(private.certificate().clone()), keys: private.unlock(None).unwrap() }
    }

    pub fn encryption_keys(&self) -> Vec<EncryptionKey> {
        self.certificate.check(*NOW).unwrap().encryption_keys().unwrap()
    }

    pub fn signer(&self) -> Signer {
        let valid = self.certificate.check(*NOW).unwrap();
        let fingerprint = valid.signing_keys().unwrap()[0].fingerprint();
        let key = self.keys.iter().find(|key| key.public().fingerprint() == fingerprint).unwrap();
        Signer { key: Arc::clone(key), hash: hash_for(key.public(), &[]), user_id: None }
    }
}

/// Knows private keys and a passphrase.
#[derive(Default)]
pub struct Keys {
    pub private: Vec<Arc<dyn PrivateKey>>,
    pub passphrases: Vec<Passphrase>,
}

impl Keys {
    pub fn passphrase(text: &str) -> Self {
        Self { private: Vec::new(), passphrases: vec![Passphrase::new(text.as_bytes().to_vec())] }
    }
}

impl SessionKeys for Keys {
    fn open(&self, packets: &[SessionKeyPacket], body: &Protected) -> Result<Candidates, NotOpened> {
        let mut found = Candidates::default();
        // Those of one certificate, its primary key first.
        let certificate = self.private.first().map(|key| key.public().fingerprint());
        for packet in packets {
            match packet {
                SessionKeyPacket::Public(packet) => {
                    for key in self.private.iter().filter(|key| matches(packet, key.public())) {
                        let certificate = certificate.as_ref().expect("there is a key");
                        let _ = found.try_key(key.as_ref(), packet, body, "key", certificate);
                    }
                }
                SessionKeyPacket::Passphrase(packet) => {
                    let opened = self.passphrases.iter().filter_map(|one| open_passphrase(packet, one));
                    opened.for_each(|opened| found.opened(opened));
                }
            }
        }
        if found.is_empty() {
            return Err(NotOpened { why: "no key fits".to_owned(), is_passphrase: false, is_locked: false });
        }
        Ok(found)
    }
}

/// Knows certificates.
pub struct Known(pub Vec<Arc<Certificate>>);

impl Verifiers for Known {
    fn certificates(&self, _issuer: &Issuer) -> Vec<Arc<Certificate>> {
        self.0.clone()
    }
}

/// A writer whose bytes can be looked at.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    pub fn output(&self) -> Output {
        Output::Writer(Box::new(self.clone()))
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes as input; with their length, or as a stream whose end nobody knows.
pub fn input(bytes: &[u8], is_length_known: bool) -> Input {
    Input::Reader {
        reader: Box::new(io::Cursor::new(bytes.to_vec())),
        bytes: is_length_known.then_some(bytes.len() as u64),
        name: "text".to_owned(),
    }
}

pub fn run<'a>(stages: Option<Async>, threads: usize) -> Run<'a> {
    Run {
        engine: &ENGINE,
        provider: Provider::Engine,
        stages,
        threads: Some(threads),
        offload_processors: &[],
        progress: &NoProgress,
        is_durable: false,
        interrupted: None,
    }
}

pub const NO_COMPRESSION: Compression =
    Compression { algorithm: CompressionAlgorithm::Uncompressed, level: 1 };

pub fn form(protection: Protection) -> Form {
    Form { cipher: SymmetricKeyAlgorithm::AES128, protection }
}

pub fn seipd_v2(aead: AeadAlgorithm, chunk_bits: u8) -> Protection {
    Protection::SeipdV2 { aead, chunk_bits }
}

pub fn literal() -> Literal {
    Literal { name: b"name".to_vec(), mode: LiteralMode::Binary, modified: Timestamp::from_secs(1) }
}

/// Encryption under a session key of zeros, so that no time goes into passphrases.
pub fn encrypt_of(protection: Protection) -> Encrypt<'static> {
    Encrypt {
        form: form(protection),
        recipients: &[],
        passphrases: &[],
        session_key: None,
        signers: &[],
        compression: NO_COMPRESSION,
        literal: literal(),
        armor: false,
        now: *NOW,
    }
}

pub fn decrypt_with(keys: &dyn SessionKeys) -> Decrypt<'_> {
    Decrypt {
        session_keys: keys,
        verifiers: None,
        must_be_signed: false,
        unauthenticated: Unauthenticated::Buffer { bytes_max: 1 << 30 },
        has_local_lines: false,
        limits: Limits::default(),
        now: *NOW,
    }
}

/// A session key that is known.
pub struct Given(pub openpgp::PlainSessionKey);

impl Given {
    pub fn new(form: Form) -> Self {
        Self(openpgp::session_key::of_bytes(form, vec![7; form.cipher.key_size()].into()))
    }
}

impl SessionKeys for Given {
    fn open(&self, _packets: &[SessionKeyPacket], _body: &Protected) -> Result<Candidates, NotOpened> {
        let mut found = Candidates::default();
        found.give(self.0.clone(), "session key");
        Ok(found)
    }
}

/// Encrypts into memory.
pub fn sealed(text: Input, what: &Encrypt<'_>, run: &Run<'_>) -> Result<Vec<u8>, Error> {
    let memory = Memory::default();
    pipeline::encrypt(text, memory.output(), what, run)?;
    Ok(memory.bytes())
}

/// Decrypts into memory.
pub fn opened(message: &[u8], what: &Decrypt<'_>, run: &Run<'_>) -> Result<(Vec<u8>, Summary), Error> {
    let memory = Memory::default();
    let summary = pipeline::decrypt(input(message, false), memory.output(), what, run)?;
    Ok((memory.bytes(), summary))
}

/// Text that is neither all alike nor noise.
pub fn text(bytes: usize) -> Vec<u8> {
    let mut random = seeded::Random(1);
    let mut text = Vec::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.extend_from_slice(format!("{:x};credit;", random.number() >> 44).as_bytes());
    }
    text.truncate(bytes);
    text
}
