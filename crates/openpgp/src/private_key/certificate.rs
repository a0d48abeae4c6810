//! A certificate with its private keys.

use super::software::SoftwareKey;
use super::{Locking, PrivateKey, PrivateKeyError, RsaProvider};
use crate::certificate::opaque::Opaque;
use crate::certificate::{Certificate, CertificateError, Packets, armored, parse};
use crate::key::{KeyPacket, SecretPacket};
use crate::{Fingerprint, Passphrase};
use pgp::armor::BlockType;
use pgp::packet::PacketTrait;
use pgp::ser::Serialize;
use pgp::types::KeyDetails;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A certificate with private keys, locked or not; wiped when dropped.
#[derive(Clone)]
pub struct PrivateCertificate {
    certificate: Certificate,
    keys: Vec<SecretPacket>,
    /// Subkeys that are not understood.
    opaque: Vec<Opaque>,
}

impl PrivateCertificate {
    /// Every private key in these bytes, armored or not, as GnuPG and others export them. At least one.
    ///
    /// # Errors
    /// [`CertificateError`] where there is none, or one of them cannot be read or is public only.
    pub fn parse_all(bytes: &[u8]) -> Result<Vec<Self>, CertificateError> {
        Self::parse_each(bytes)?.into_iter().collect()
    }

    /// As [`PrivateCertificate::parse_all`], each with its own result: for imports that take what they can.
    ///
    /// # Errors
    /// [`CertificateError`] where there is nothing to read.
    pub fn parse_each(bytes: &[u8]) -> Result<Vec<Result<Self, CertificateError>>, CertificateError> {
        let keys = parse::keys(bytes)?;
        let private = |key: parse::Parsed| {
            let certificate = Certificate::with_opaque(key.public, &key.opaque);
            if key.secret.is_empty() {
                return Err(CertificateError::NotPrivate { fingerprint: certificate.fingerprint() });
            }
            let opaque = key.opaque.into_iter().filter(Opaque::is_private).collect();
            Ok(Self { certificate, keys: key.secret, opaque })
        };
        Ok(keys.into_iter().map(|key| key.and_then(private)).collect())
    }

    pub(crate) fn new(certificate: Certificate, keys: Vec<SecretPacket>) -> Self {
        Self { certificate, keys, opaque: Vec::new() }
    }

    /// Private subkeys of a kind that is not served, for people: they are kept, locked as they were, and nothing is
    /// done with them.
    pub fn unserved(&self) -> Vec<String> {
        self.opaque.iter().map(Opaque::name).collect()
    }

    /// The public half.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Takes over what a newer copy of its public half has more, such as another expiration.
    ///
    /// # Errors
    /// [`CertificateError::Different`] unless both have the same primary key.
    pub fn update(&mut self, newer: &Certificate) -> Result<(), CertificateError> {
        self.certificate.merge(newer)
    }

    /// Its private keys, and how each is locked.
    pub fn locking(&self) -> Vec<(Fingerprint, Locking)> {
        self.keys.iter().map(|key| (key.public().fingerprint(), key.locking())).collect()
    }

    /// Whether a passphrase is needed for one of its keys.
    pub fn is_locked(&self) -> bool {
        self.keys.iter().any(|key| key.locking() == Locking::Passphrase)
    }

    /// Every private key that can be used here: those of algorithms that are not served, or that are elsewhere,
    /// are left out.
    ///
    /// # Errors
    /// [`PrivateKeyError::Locked`] where the passphrase opens none of those that are locked, or another error where
    /// no key at all can be used.
    pub fn unlock(
        &self,
        passphrase: Option<&Passphrase>,
    ) -> Result<Vec<Arc<dyn PrivateKey>>, PrivateKeyError> {
        self.unlock_on(passphrase, None)
    }

    /// As [`PrivateCertificate::unlock`]; RSA is computed with by this provider, where one is given.
    ///
    /// # Errors
    /// As [`PrivateCertificate::unlock`].
    pub fn unlock_on(
        &self,
        passphrase: Option<&Passphrase>,
        provider: Option<&dyn RsaProvider>,
    ) -> Result<Vec<Arc<dyn PrivateKey>>, PrivateKeyError> {
        let mut keys = Vec::new();
        let mut why = None;
        for key in &self.keys {
            match software(key, passphrase, provider) {
                Ok(key) => keys.push(key),
                // A wrong passphrase is wrong for all, as a rule: it is told rather than that a subkey is elsewhere.
                Err(error) if why.is_none() || error == PrivateKeyError::Locked => why = Some(error),
                Err(_) => {}
            }
        }
        match why {
            Some(error) if keys.is_empty() => Err(error),
            _ => Ok(keys),
        }
    }

    /// One of its private keys.
    ///
    /// # Errors
    /// [`PrivateKeyError`]; [`PrivateKeyError::Malformed`] where there is no private key of this fingerprint.
    pub fn unlock_key(
        &self,
        fingerprint: &Fingerprint,
        passphrase: Option<&Passphrase>,
    ) -> Result<Arc<dyn PrivateKey>, PrivateKeyError> {
        software(self.packet(fingerprint)?, passphrase, None)
    }

    /// One of its private keys in the clear, for a process that holds it.
    ///
    /// # Errors
    /// As [`PrivateCertificate::unlock_key`].
    pub fn clear_key(
        &self,
        fingerprint: &Fingerprint,
        passphrase: Option<&Passphrase>,
    ) -> Result<ClearKey, PrivateKeyError> {
        let key = self.packet(fingerprint)?;
        let fields = key.fields(passphrase)?;
        let body = SecretPacket::unlocked(key.public().clone(), &fields).body();
        Ok(ClearKey { is_primary: key.public().is_primary(), body })
    }

    fn packet(&self, fingerprint: &Fingerprint) -> Result<&SecretPacket, PrivateKeyError> {
        let key = self.keys.iter().find(|key| key.public().fingerprint() == *fingerprint);
        key.ok_or_else(|| PrivateKeyError::Malformed {
            cause: format!("there is no private key {fingerprint:X} in it"),
        })
    }

    /// The same keys under a new passphrase, or without a lock where it is none. Keys that are elsewhere stay so, and
    /// those that are not served under their old passphrase.
    ///
    /// # Errors
    /// [`PrivateKeyError::Locked`] where the old passphrase is not that of every key.
    pub fn with_passphrase(
        &self,
        old: Option<&Passphrase>,
        new: Option<&Passphrase>,
    ) -> Result<Self, PrivateKeyError> {
        let keys: Result<_, _> = self.keys.iter().map(|key| key.relocked(old, new)).collect();
        Ok(Self { certificate: self.certificate.clone(), keys: keys?, opaque: self.opaque.clone() })
    }

    /// As packets, each key locked as it is.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::new());
        let inner = self.certificate.inner();
        self.write_key(&KeyPacket::Primary(inner.primary_key.clone()), &mut out);
        // Written into memory: what was read can be written.
        append(&mut out, &inner.details.to_bytes().unwrap_or_default());
        for subkey in &inner.public_subkeys {
            self.write_key(&KeyPacket::Sub(subkey.key.clone()), &mut out);
            let mut signatures = Vec::new();
            for signature in &subkey.signatures {
                let _ = signature.to_writer_with_header(&mut signatures);
            }
            append(&mut out, &signatures);
        }
        let private = |public: &Opaque| self.opaque.iter().any(|opaque| opaque.is_same_key(public));
        let public = self.certificate.opaque().iter().filter(|opaque| !private(opaque));
        self.opaque.iter().chain(public).for_each(|opaque| opaque.write(&mut out));
        out
    }

    /// As an armored block.
    pub fn to_armor(&self) -> Zeroizing<String> {
        let has_checksum = self.certificate.has_checksum();
        Zeroizing::new(armored(&Packets(self.to_bytes()), BlockType::PrivateKey, has_checksum))
    }

    /// The private packet where there is one, else the public one.
    fn write_key(&self, public: &KeyPacket, out: &mut Zeroizing<Vec<u8>>) {
        match self.keys.iter().find(|key| key.public().fingerprint() == public.fingerprint()) {
            Some(key) => key.write(out),
            None => {
                let mut packet = Vec::new();
                let _ = public.to_writer_with_header(&mut packet);
                append(out, &packet);
            }
        }
    }
}

/// One private key in the clear, as it is handed from one process to another: the body of its packet (RFC 9580, 5.5.3).
/// Wiped when dropped.
#[derive(Clone)]
pub struct ClearKey {
    /// Whether it is a primary key.
    pub is_primary: bool,
    /// Public half, S2K usage 0, private fields and their checksum.
    pub body: Zeroizing<Vec<u8>>,
}

impl ClearKey {
    /// The key, in this process.
    ///
    /// # Errors
    /// [`PrivateKeyError::Malformed`] where the packet does not hold together or its halves do not belong together,
    /// [`PrivateKeyError::Locked`] where it is locked, [`PrivateKeyError::Unsupported`] for an algorithm that is not
    /// served.
    pub fn open(&self) -> Result<Arc<dyn PrivateKey>, PrivateKeyError> {
        let packet = SecretPacket::parse(self.is_primary, &self.body);
        let packet = packet.map_err(|cause| PrivateKeyError::Malformed { cause })?;
        software(&packet, None, None)
    }
}

impl fmt::Debug for ClearKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ClearKey({} bytes)", self.body.len())
    }
}

fn software(
    key: &SecretPacket,
    passphrase: Option<&Passphrase>,
    provider: Option<&dyn RsaProvider>,
) -> Result<Arc<dyn PrivateKey>, PrivateKeyError> {
    let fields = key.fields(passphrase)?;
    let key = SoftwareKey::new(key.public().clone(), &fields)?;
    Ok(Arc::new(match provider {
        Some(provider) => key.on(provider)?,
        None => key,
    }))
}

/// In one allocation of its own: growing would leave unwiped copies behind.
fn append(out: &mut Zeroizing<Vec<u8>>, more: &[u8]) {
    let mut all = Zeroizing::new(Vec::with_capacity(out.len() + more.len()));
    all.extend_from_slice(out);
    all.extend_from_slice(more);
    *out = all;
}

impl fmt::Debug for PrivateCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PrivateCertificate({:X}, {:?})", self.certificate.fingerprint(), self.locking())
    }
}
