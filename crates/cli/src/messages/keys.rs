//! The keys of a command: recipients, signers, verifiers, and private keys.

mod opening;
mod unlocking;

use self::unlocking::Unlocked;
use super::passphrases::Asker;
use crate::failure::{Failure, PgpFailure};
use agent::Agent;
use cardkeys::Accelerators;
use keyring::store::{first_user_id, hexadecimal};
use keyring::{Cards, Keyring, Problem, Who};
use openpgp::certificate::{Certificate, Unusable, Valid};
use openpgp::private_key::PrivateCertificate;
use openpgp::signature::{Issuer, Signer, hash_for};
use openpgp::{Fingerprint, Passphrase, Timestamp};
use pgp::types::KeyDetails;
use pipeline::Verifiers;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

pub use opening::Opening;

/// Longest file of certificates that is read, in bytes.
const CERTIFICATES_BYTES_MAX: u64 = 256 << 20;
/// Upper bound of prompts for one passphrase.
const ASKED_MAX: usize = 3;

/// The keys of a command, in the store and in files.
pub struct Keys<'a> {
    store: &'a Keyring,
    asker: Asker<'a>,
    now: Timestamp,
    cards: Cards,
    /// Passphrases for private keys; those for messages are tried after them when a message is opened.
    key_passphrases: Vec<Passphrase>,
    message_passphrases: Vec<Passphrase>,
    /// Cards that compute with clear RSA keys; none unless asked for.
    accelerators: Option<Accelerators>,
    unlocked: Mutex<Unlocked>,
    /// The user's agent and its keys, once asked for; none if no agent runs or is to be used.
    agent: OnceLock<Option<Holder>>,
}

/// The user's agent, and the fingerprints of the keys that it holds.
struct Holder {
    agent: Arc<Agent>,
    fingerprints: Vec<Vec<u8>>,
}

impl<'a> Keys<'a> {
    /// The keys of a store, as valid at the present time.
    pub fn new(store: &'a Keyring, asker: Asker<'a>) -> Result<Self, Failure> {
        Ok(Self {
            store,
            asker,
            now: super::now(),
            cards: store.cards()?,
            key_passphrases: Vec::new(),
            message_passphrases: Vec::new(),
            accelerators: None,
            unlocked: Mutex::default(),
            agent: OnceLock::new(),
        })
    }

    /// Adds passphrases for private keys and for messages.
    pub fn with_passphrases(mut self, for_keys: Vec<Passphrase>, for_messages: Vec<Passphrase>) -> Self {
        self.key_passphrases = for_keys;
        self.message_passphrases = for_messages;
        self
    }

    /// Adds cards that compute with clear RSA keys.
    pub fn on(mut self, accelerators: Option<Accelerators>) -> Self {
        self.accelerators = accelerators;
        self
    }

    /// The key store.
    pub fn store(&self) -> &'a Keyring {
        self.store
    }

    /// The source of prompted passphrases.
    pub fn asker(&self) -> &Asker<'a> {
        &self.asker
    }

    /// Certificates whose signatures count: those of these names; without names, all of the store.
    pub fn known(&self, names: &[String]) -> Result<Known<'a>, Failure> {
        if names.is_empty() {
            return Ok(Known::Store(self.store));
        }
        let found = names.iter().map(|who| self.find(who)).collect::<Result<Vec<_>, _>>()?;
        Ok(Known::Named(found.concat()))
    }

    /// The certificates that match a name: one of the store, or all of a file.
    pub fn find(&self, who: &str) -> Result<Vec<Arc<Certificate>>, Failure> {
        match Who::parse(who) {
            Who::File(path) => of_file(&path),
            _ => match self.store.find(who, self.now)? {
                Ok(found) => Ok(vec![found]),
                Err(nobody) => {
                    // The certificate may be in a file that cannot be read.
                    self.store.problems()?.iter().for_each(warn_of);
                    Err(nobody.into())
                }
            },
        }
    }

    /// A certificate that may be used now.
    pub fn check<'c>(&self, who: &str, certificate: &'c Certificate) -> Result<Valid<'c>, Failure> {
        certificate.check(self.now).map_err(|cause| unusable(who, cause))
    }

    /// The certificate that signs if none is named: the one set as default, or else the only one with a private key.
    pub fn default_certificate(&self) -> Result<Arc<Certificate>, Failure> {
        if let Some(digits) = self.store.settings()?.default_key {
            return Ok(self.store.find(&digits, self.now)??);
        }
        let mut own = Vec::new();
        for certificate in self.store.certificates()? {
            if self.has_private(certificate)? {
                own.push(certificate);
            }
        }
        let usable: Vec<_> = own.iter().filter(|certificate| certificate.check(self.now).is_ok()).collect();
        match (usable.as_slice(), own.as_slice()) {
            ([one], _) => Ok(Arc::clone(one)),
            // A single certificate is returned, so that the error names its defect.
            ([], [one]) => Ok(Arc::clone(one)),
            _ => {
                let name = |certificate: &&Arc<Certificate>| {
                    (format!("{:X}", certificate.fingerprint()), first_user_id(certificate))
                };
                Err(PgpFailure::NoDefaultKey { candidates: own.iter().map(name).collect() }.into())
            }
        }
    }

    /// Whether a private key of the certificate is in a file of the store or on a card.
    pub fn has_private(&self, certificate: &Certificate) -> Result<bool, Failure> {
        let on_card = |fingerprint: &Fingerprint| self.cards.contains_key(&hexadecimal(fingerprint));
        if certificate.keys().iter().any(|key| on_card(&key.fingerprint())) {
            return Ok(true);
        }
        let fingerprint = certificate.fingerprint();
        Ok(self.store.privates()?.iter().any(|private| private.certificate().fingerprint() == fingerprint))
    }

    /// Signers of these names, each with its newest signing key whose private half is available.
    pub fn signers(&self, names: &[String], with_default: bool) -> Result<Vec<Signer>, Failure> {
        let mut signers = Vec::new();
        for name in names {
            for certificate in self.find(name)? {
                signers.push(self.signer(name, &certificate)?);
            }
        }
        if signers.is_empty() && with_default {
            let certificate = self.default_certificate()?;
            signers.push(self.signer(&first_user_id(&certificate), &certificate)?);
        }
        Ok(signers)
    }

    fn signer(&self, who: &str, certificate: &Certificate) -> Result<Signer, Failure> {
        let valid = self.check(who, certificate)?;
        let keys = valid.signing_keys().map_err(|cause| unusable(who, cause))?;
        let mut missing = None;
        // The newest first: it is the one that the owner means to use.
        for key in keys.iter().rev() {
            match self.private_key(who, &key.fingerprint()) {
                Ok(Some(private)) => {
                    let hash = hash_for(private.public(), &valid.announces().hashes);
                    return Ok(Signer { key: private, hash, user_id: None });
                }
                Ok(None) => {}
                Err(failure) => missing = Some(failure),
            }
        }
        let none = || {
            let fingerprint = format!("{:X}", certificate.fingerprint());
            PgpFailure::NoPrivateKey { who: who.to_owned(), fingerprint }.into()
        };
        Err(missing.unwrap_or_else(none))
    }
}

/// Certificates whose signatures count.
pub enum Known<'a> {
    /// All certificates of the store.
    Store(&'a Keyring),
    /// Only the named certificates.
    Named(Vec<Arc<Certificate>>),
}

impl Verifiers for Known<'_> {
    fn certificates(&self, issuer: &Issuer) -> Vec<Arc<Certificate>> {
        let all = match self {
            Self::Store(store) => store.certificates().unwrap_or_default(),
            Self::Named(certificates) => certificates,
        };
        let made = |certificate: &&Arc<Certificate>| match issuer {
            Issuer::Fingerprint(fingerprint) => certificate.has_key(fingerprint),
            Issuer::KeyId(id) => certificate.has_key_id(id),
            Issuer::Unnamed => true,
        };
        all.iter().filter(made).cloned().collect()
    }
}

/// Prints which file of the store was skipped, and why.
pub fn warn_of(problem: &Problem) {
    eprintln!("cryptand: warning: passed over: {}", problem.cause);
}

/// A certificate that is not to be used.
pub fn unusable(who: &str, cause: Unusable) -> Failure {
    PgpFailure::Unusable { who: who.to_owned(), cause }.into()
}

/// All certificates of a file.
pub fn of_file(path: &Path) -> Result<Vec<Arc<Certificate>>, Failure> {
    let bytes = read(path)?;
    let malformed = |cause| PgpFailure::Certificate { name: path.display().to_string(), cause };
    let certificates = Certificate::parse_all(&bytes).map_err(malformed)?;
    let privates = PrivateCertificate::parse_each(&bytes).unwrap_or_default();
    if privates.iter().any(Result::is_ok) {
        let path = path.display();
        eprintln!(
            "cryptand: warning: {path}: holds a private key; its certificate alone is used, and is for others"
        );
    }
    Ok(certificates.into_iter().map(Arc::new).collect())
}

/// The bytes of a file of certificates or keys; `-` is standard input.
pub fn read(path: &Path) -> Result<zeroize::Zeroizing<Vec<u8>>, Failure> {
    let name = path.display();
    let mut bytes = zeroize::Zeroizing::new(Vec::new());
    let limit = CERTIFICATES_BYTES_MAX + 1;
    let outcome = if path == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    outcome.map_err(Failure::io(format!("read {name}")))?;
    if bytes.len() as u64 > CERTIFICATES_BYTES_MAX {
        return Err(Failure::Damaged(format!("{name}: too long for a file of certificates")));
    }
    Ok(bytes)
}
