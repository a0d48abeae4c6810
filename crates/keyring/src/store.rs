//! The store: certificates, private keys, and the places of keys on cards.

mod find;
mod import;

use crate::error::KeyringError;
use crate::files::{self, Access, Lock};
use crate::settings::{self, CardPlace, Cards, Settings};
use openpgp::Fingerprint;
use openpgp::certificate::Certificate;
use openpgp::private_key::PrivateCertificate;
use pgp::types::KeyDetails;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub use import::{Change, Imported};

/// At most this many certificates in a store.
const CERTIFICATES_MAX: usize = 100_000;

/// A key store in a folder. It caches what it has read, so another process's change is seen only by a new `Keyring`.
pub struct Keyring {
    folder: PathBuf,
    certificates: OnceLock<Vec<Arc<Certificate>>>,
    privates: OnceLock<Vec<Arc<PrivateCertificate>>>,
}

/// A file of the store that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the file.
    pub path: PathBuf,
    /// Why the file was skipped.
    pub cause: String,
}

impl Keyring {
    /// The store in this folder; a missing folder is an empty store, created by the first change.
    pub fn open(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), certificates: OnceLock::new(), privates: OnceLock::new() }
    }

    /// Folder of the store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All certificates, by fingerprint. Files that hold no certificate are skipped: see
    /// [`Keyring::problems`].
    ///
    /// # Errors
    /// [`KeyringError`] if the folder cannot be read or holds too many files.
    pub fn certificates(&self) -> Result<&[Arc<Certificate>], KeyringError> {
        if let Some(certificates) = self.certificates.get() {
            return Ok(certificates);
        }
        let mut certificates = Vec::new();
        for path in files::list(&self.folder.join("certs"), CERTIFICATES_MAX)? {
            certificates.extend(read_certificate(&path).ok().flatten().map(Arc::new));
        }
        Ok(self.certificates.get_or_init(|| certificates))
    }

    /// All private keys that are in files, by fingerprint.
    ///
    /// # Errors
    /// As [`Keyring::certificates`].
    pub fn privates(&self) -> Result<&[Arc<PrivateCertificate>], KeyringError> {
        if let Some(privates) = self.privates.get() {
            return Ok(privates);
        }
        let mut privates = Vec::new();
        for path in files::list(&self.folder.join("private"), CERTIFICATES_MAX)? {
            privates.extend(read_private(&path).ok().flatten().map(Arc::new));
        }
        Ok(self.privates.get_or_init(|| privates))
    }

    /// Files that hold no certificate or private key.
    ///
    /// # Errors
    /// As [`Keyring::certificates`].
    pub fn problems(&self) -> Result<Vec<Problem>, KeyringError> {
        let mut problems = Vec::new();
        let mut add = |path: PathBuf, cause: Option<KeyringError>| {
            problems.extend(cause.map(|cause| Problem { path, cause: cause.to_string() }));
        };
        for path in files::list(&self.folder.join("certs"), CERTIFICATES_MAX)? {
            let cause = read_certificate(&path).err();
            add(path, cause);
        }
        for path in files::list(&self.folder.join("private"), CERTIFICATES_MAX)? {
            let cause = read_private(&path).err();
            add(path, cause);
        }
        Ok(problems)
    }

    /// The certificate of this primary key.
    ///
    /// # Errors
    /// [`KeyringError`] if its file cannot be read.
    pub fn certificate(&self, fingerprint: &Fingerprint) -> Result<Option<Certificate>, KeyringError> {
        read_certificate(&self.certificate_path(fingerprint))
    }

    /// The private keys under this primary key; none if they are not in a file.
    ///
    /// # Errors
    /// [`KeyringError`] if the file cannot be read.
    pub fn private(&self, fingerprint: &Fingerprint) -> Result<Option<PrivateCertificate>, KeyringError> {
        read_private(&self.private_path(fingerprint))
    }

    /// Replaces a certificate, after a change by its owner.
    ///
    /// # Errors
    /// [`KeyringError`] if the store cannot be written.
    pub fn put(&mut self, certificate: &Certificate) -> Result<(), KeyringError> {
        let _lock = Lock::take(&self.folder)?;
        self.forget();
        let path = self.certificate_path(&certificate.fingerprint());
        files::replace(&path, &certificate.to_bytes(), Access::Shared)?;
        self.update_private(certificate)
    }

    /// Writes a new key: its private keys and its certificate, replacing existing ones.
    ///
    /// # Errors
    /// [`KeyringError`] if the store cannot be written.
    pub fn put_private(&mut self, private: &PrivateCertificate) -> Result<(), KeyringError> {
        self.put_private_keys(private)?;
        self.put(private.certificate())
    }

    /// Replaces private keys, and leaves their certificate as it is.
    ///
    /// # Errors
    /// [`KeyringError`] if the store cannot be written.
    pub fn put_private_keys(&mut self, private: &PrivateCertificate) -> Result<(), KeyringError> {
        let _lock = Lock::take(&self.folder)?;
        self.forget();
        files::replace(
            &self.private_path(&private.certificate().fingerprint()),
            &private.to_bytes(),
            Access::Owner,
        )
    }

    /// Deletes a certificate, or the private keys under it, or both. Returns whether anything was
    /// deleted.
    ///
    /// # Errors
    /// [`KeyringError`] if a file cannot be removed.
    pub fn delete(
        &mut self,
        certificate: &Certificate,
        is_private_deleted: bool,
        is_public_deleted: bool,
    ) -> Result<bool, KeyringError> {
        let _lock = Lock::take(&self.folder)?;
        self.forget();
        let fingerprint = certificate.fingerprint();
        let mut was_there = false;
        if is_private_deleted {
            was_there |= files::remove(&self.private_path(&fingerprint))?;
            let mut cards = self.cards()?;
            let count = cards.len();
            cards.retain(|digits, _| {
                !certificate.keys().iter().any(|key| hexadecimal(&key.fingerprint()) == *digits)
            });
            if cards.len() < count {
                was_there = true;
                settings::write(&self.folder.join("cards.toml"), &cards)?;
            }
        }
        if is_public_deleted {
            was_there |= files::remove(&self.certificate_path(&fingerprint))?;
            let settings = self.settings()?;
            if settings.default_key == Some(hexadecimal(&fingerprint)) {
                let settings = Settings { default_key: None, ..settings };
                settings::write(&self.folder.join("settings.toml"), &settings)?;
            }
        }
        Ok(was_there)
    }

    /// The private keys that are on cards, with their places.
    ///
    /// # Errors
    /// [`KeyringError`] if `cards.toml` cannot be read.
    pub fn cards(&self) -> Result<Cards, KeyringError> {
        settings::read(&self.folder.join("cards.toml"))
    }

    /// Records that the private part of a key (primary key or subkey) is on cards.
    ///
    /// # Errors
    /// [`KeyringError`] if the store cannot be written.
    pub fn put_card(&mut self, fingerprint: &Fingerprint, place: CardPlace) -> Result<(), KeyringError> {
        let _lock = Lock::take(&self.folder)?;
        let mut cards = self.cards()?;
        cards.insert(hexadecimal(fingerprint), place);
        settings::write(&self.folder.join("cards.toml"), &cards)
    }

    /// The user's settings of the store.
    ///
    /// # Errors
    /// [`KeyringError`] if `settings.toml` cannot be read.
    pub fn settings(&self) -> Result<Settings, KeyringError> {
        settings::read(&self.folder.join("settings.toml"))
    }

    /// Writes the user's settings of the store.
    ///
    /// # Errors
    /// [`KeyringError`] if the store cannot be written.
    pub fn put_settings(&mut self, settings: &Settings) -> Result<(), KeyringError> {
        let _lock = Lock::take(&self.folder)?;
        settings::write(&self.folder.join("settings.toml"), settings)
    }

    /// Puts the certificate into the file of its private keys, if there is such a file.
    fn update_private(&self, certificate: &Certificate) -> Result<(), KeyringError> {
        let path = self.private_path(&certificate.fingerprint());
        let Some(mut private) = read_private(&path)? else { return Ok(()) };
        private.update(certificate).map_err(|error| malformed(&path, error.to_string()))?;
        files::replace(&path, &private.to_bytes(), Access::Owner)
    }

    fn forget(&mut self) {
        self.certificates = OnceLock::new();
        self.privates = OnceLock::new();
    }

    fn certificate_path(&self, fingerprint: &Fingerprint) -> PathBuf {
        self.folder.join("certs").join(format!("{fingerprint:x}.pgp"))
    }

    fn private_path(&self, fingerprint: &Fingerprint) -> PathBuf {
        self.folder.join("private").join(format!("{fingerprint:x}.pgp"))
    }
}

/// A fingerprint in lower-case hexadecimal digits, as in file names.
pub fn hexadecimal(fingerprint: &Fingerprint) -> String {
    format!("{fingerprint:x}")
}

/// The first user id, made printable, or "(no user ID)".
pub fn first_user_id(certificate: &Certificate) -> String {
    certificate.user_ids().first().map_or_else(|| "(no user ID)".to_owned(), |user_id| printable(user_id))
}

/// A stranger's text, made safe for a terminal: characters that control a terminal, or reverse the
/// direction of text, are shown as Rust escapes them.
pub fn printable(text: &str) -> String {
    shown(text, steers)
}

/// As [`printable`], for a text of several lines.
pub fn printable_lines(text: &str) -> String {
    shown(text, |c| c != '\n' && steers(c))
}

fn shown(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_escaped(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

/// Whether a character controls a terminal or reverses the direction of text.
pub fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn read_certificate(path: &Path) -> Result<Option<Certificate>, KeyringError> {
    let Some(bytes) = files::read(path)? else { return Ok(None) };
    let parsed = Certificate::parse_all(&bytes).map_err(|error| malformed(path, error.to_string()))?;
    only(path, parsed).map(Some)
}

fn read_private(path: &Path) -> Result<Option<PrivateCertificate>, KeyringError> {
    let Some(bytes) = files::read(path)? else { return Ok(None) };
    let parsed = PrivateCertificate::parse_all(&bytes).map_err(|error| malformed(path, error.to_string()))?;
    only(path, parsed).map(Some)
}

fn only<T>(path: &Path, mut parsed: Vec<T>) -> Result<T, KeyringError> {
    match (parsed.pop(), parsed.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(malformed(path, "one certificate a file is what a store holds".to_owned())),
    }
}

fn malformed(path: &Path, cause: String) -> KeyringError {
    KeyringError::Malformed { name: path.display().to_string(), cause }
}

#[cfg(test)]
mod tests;
