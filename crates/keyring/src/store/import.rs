//! Imports certificates and private keys.

use super::{Keyring, first_user_id, read_certificate, read_private};
use crate::error::KeyringError;
use crate::files::{self, Access, Lock};
use openpgp::Fingerprint;
use openpgp::certificate::{Certificate, CertificateError, Revocation};
use openpgp::private_key::{Locking, PrivateCertificate};
use openpgp::signature::Issuer;
use pgp::types::KeyDetails;

/// The effect of an import on a certificate or its private keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The store had none before.
    New,
    /// The store had one with less in it.
    Updated,
    /// The store had everything already.
    Unchanged,
}

/// One certificate that was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Fingerprint of the primary key.
    pub fingerprint: Fingerprint,
    /// First user id of the certificate.
    pub user_id: String,
    /// The effect on the certificate.
    pub certificate: Change,
    /// The effect on the private keys; none if the data held none.
    pub private: Option<Change>,
    /// Subkeys of an unsupported kind, which are kept: the private ones if the data held private
    /// keys.
    pub unserved: Vec<String>,
}

impl Keyring {
    /// Imports every certificate in these bytes, armored or not, with its private keys if they are
    /// included. Keys that cannot be read are reported beside the imported ones. Nothing in the
    /// store is lost: certificates are merged. Revocations without a certificate are added to
    /// certificates in the store.
    ///
    /// # Errors
    /// [`KeyringError`] if nothing can be read, or the store cannot be written.
    pub fn import(
        &mut self,
        name: &str,
        bytes: &[u8],
    ) -> Result<Vec<Result<Imported, KeyringError>>, KeyringError> {
        let malformed = |cause: String| KeyringError::Malformed { name: name.to_owned(), cause };
        let certificates = match Certificate::parse_each(bytes) {
            Err(CertificateError::NoKey) => return self.import_revocations(name, bytes),
            certificates => certificates.map_err(|error| malformed(error.to_string()))?,
        };
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

    fn import_revocations(
        &mut self,
        name: &str,
        bytes: &[u8],
    ) -> Result<Vec<Result<Imported, KeyringError>>, KeyringError> {
        let malformed = |cause: String| KeyringError::Malformed { name: name.to_owned(), cause };
        let revocations = Revocation::parse_all(bytes).map_err(|error| {
            // GnuPG keeps its own revocations from being imported by mistake in this way.
            let is_disabled = bytes.windows(DISABLED.len()).any(|window| window == DISABLED);
            let hint = "; take the colon off that stands before its first line, if it is to revoke the key";
            malformed(format!("{error}{}", if is_disabled { hint } else { "" }))
        })?;
        let _lock = Lock::take(&self.folder)?;
        self.forget();
        let mut imported = Vec::with_capacity(revocations.len());
        for revocation in revocations {
            let issuer = revocation.issuer();
            let known = self.certificates()?.iter().find(|certificate| match &issuer {
                Issuer::Fingerprint(fingerprint) => certificate.fingerprint() == *fingerprint,
                Issuer::KeyId(id) => certificate.inner().primary_key.legacy_key_id() == *id,
                Issuer::Unnamed => false,
            });
            let Some(known) = known else {
                let cause = format!("it revokes the key {issuer}, which is not in the key store");
                imported.push(Err(malformed(cause)));
                continue;
            };
            let mut revoked = Certificate::clone(known);
            let is_new = match revoked.revoke_by(&revocation) {
                Ok(is_new) => is_new,
                Err(error) => {
                    imported.push(Err(malformed(error.to_string())));
                    continue;
                }
            };
            if is_new {
                let path = self.certificate_path(&revoked.fingerprint());
                files::replace(&path, &revoked.to_bytes(), Access::Shared)?;
                self.update_private(&revoked)?;
                self.forget();
            }
            imported.push(Ok(Imported {
                fingerprint: revoked.fingerprint(),
                user_id: first_user_id(&revoked),
                certificate: if is_new { Change::Updated } else { Change::Unchanged },
                private: None,
                unserved: Vec::new(),
            }));
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
        let unserved = private.map_or_else(|| certificate.unserved(), PrivateCertificate::unserved);
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
        let user_id = first_user_id(certificate);
        Ok(Imported { fingerprint, user_id, certificate: change, private, unserved })
    }

    /// Imports private keys. Existing keys stay as they are, under their passphrase; a file with
    /// fewer keys is replaced.
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

/// Names of the private keys in a certificate, unsupported ones included. Marks for keys that are
/// elsewhere do not count.
fn held_keys(private: &PrivateCertificate) -> Vec<String> {
    let is_held = |locking: &Locking| !matches!(locking, Locking::Elsewhere { .. });
    let served = private.locking().into_iter().filter(|(_, locking)| is_held(locking));
    served.map(|(key, _)| key.to_string()).chain(private.unserved()).collect()
}

/// The first line of a block that GnuPG has disabled.
const DISABLED: &[u8] = b":-----BEGIN PGP ";
