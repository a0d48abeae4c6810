//! Takes certificates and private keys in.

use super::{Keyring, first_user_id, read_certificate, read_private};
use crate::error::KeyringError;
use crate::files::{self, Access, Lock};
use openpgp::Fingerprint;
use openpgp::certificate::{Certificate, CertificateError};
use openpgp::private_key::{Locking, PrivateCertificate};

/// What an import changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    New,
    /// There was one, with less in it.
    Updated,
    /// It was there already.
    Unchanged,
}

/// One certificate of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Of the primary key.
    pub fingerprint: Fingerprint,
    /// Its first user id.
    pub user_id: String,
    /// What became of the certificate.
    pub certificate: Change,
    /// What became of the private keys, where there were some.
    pub private: Option<Change>,
}

impl Keyring {
    /// Takes in every certificate in these bytes, armored or not, with their private keys where they are in it. What
    /// cannot be read is told beside what was taken in. Nothing that is there is lost: certificates are merged.
    ///
    /// # Errors
    /// [`KeyringError`] where nothing can be read, or the store cannot be written.
    pub fn import(
        &mut self,
        name: &str,
        bytes: &[u8],
    ) -> Result<Vec<Result<Imported, KeyringError>>, KeyringError> {
        let malformed = |cause: String| KeyringError::Malformed { name: name.to_owned(), cause };
        let certificates = Certificate::parse_each(bytes).map_err(|error| malformed(error.to_string()))?;
        let privates = PrivateCertificate::parse_each(bytes).unwrap_or_default();
        let _lock = Lock::take(&self.folder)?;
        self.forget();
        let mut imported = Vec::with_capacity(certificates.len());
        for certificate in certificates {
            let outcome = match certificate {
                Ok(certificate) => self.take_in(&certificate, &privates),
                Err(error) => Err(malformed(error.to_string())),
            };
            match outcome {
                Err(error @ (KeyringError::Io { .. } | KeyringError::Busy { .. })) => return Err(error),
                outcome => imported.push(outcome),
            }
        }
        Ok(imported)
    }

    fn take_in(
        &self,
        certificate: &Certificate,
        privates: &[Result<PrivateCertificate, CertificateError>],
    ) -> Result<Imported, KeyringError> {
        let fingerprint = certificate.fingerprint();
        let private =
            privates.iter().flatten().find(|private| private.certificate().fingerprint() == fingerprint);
        let private = private.map(|private| self.take_in_private(private)).transpose()?;
        let path = self.certificate_path(&fingerprint);
        let change = match read_certificate(&path)? {
            None => {
                files::replace(&path, &certificate.to_bytes(), Access::Shared)?;
                Change::New
            }
            Some(known) => {
                let mut merged = known.clone();
                merged.merge(certificate).map_err(|error| KeyringError::Malformed {
                    name: path.display().to_string(),
                    cause: error.to_string(),
                })?;
                if merged.to_bytes() == known.to_bytes() {
                    Change::Unchanged
                } else {
                    files::replace(&path, &merged.to_bytes(), Access::Shared)?;
                    self.update_private(&merged)?;
                    Change::Updated
                }
            }
        };
        Ok(Imported { fingerprint, user_id: first_user_id(certificate), certificate: change, private })
    }

    /// Private keys that are there stay as they are, under their passphrase; a file with fewer of them is replaced.
    fn take_in_private(&self, private: &PrivateCertificate) -> Result<Change, KeyringError> {
        let fingerprint = private.certificate().fingerprint();
        let path = self.private_path(&fingerprint);
        let known = read_private(&path)?;
        let change = match &known {
            None => Change::New,
            Some(known) => {
                let (old, new) = (held_keys(known), held_keys(private));
                if new.iter().all(|key| old.contains(key)) {
                    return Ok(Change::Unchanged);
                }
                if !old.iter().all(|key| new.contains(key)) {
                    return Err(KeyringError::Conflict { fingerprint: format!("{fingerprint:X}") });
                }
                Change::Updated
            }
        };
        files::replace(&path, &private.to_bytes(), Access::Owner)?;
        Ok(change)
    }
}

/// Private keys that are there, and not a mark that they are elsewhere.
fn held_keys(private: &PrivateCertificate) -> Vec<Fingerprint> {
    let is_held = |locking: &Locking| !matches!(locking, Locking::Elsewhere { .. });
    private.locking().into_iter().filter(|(_, locking)| is_held(locking)).map(|(key, _)| key).collect()
}
