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
    /// Private subkeys of an unsupported kind.
    opaque: Vec<Opaque>,
}

impl PrivateCertificate {
    /// Every certificate with private keys in these bytes, armored or not, as GnuPG and others export them; at least
    /// one.
    ///
    /// # Errors
    /// [`CertificateError`] if there is none, or one of them cannot be read or is public only.
    pub fn parse_all(bytes: &[u8]) -> Result<Vec<Self>, CertificateError> {
        Self::parse_each(bytes)?.into_iter().collect()
    }

    /// As [`PrivateCertificate::parse_all`], with one result for each certificate: for imports that take all valid
    /// ones.
    ///
    /// # Errors
    /// [`CertificateError`] if there is no key at all, or the armor is malformed.
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

    /// Descriptions of private subkeys of an unsupported kind, for people: they are kept, locked as they were, but not
    /// used.
    pub fn unserved(&self) -> Vec<String> {
        self.opaque.iter().map(Opaque::name).collect()
    }

    /// The public half of the certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Adds the components and signatures that only a newer copy of the public half has, such as another expiration.
    ///
    /// # Errors
    /// As [`Certificate::merge`]: [`CertificateError::Different`] unless both have the same primary key.
    pub fn update(&mut self, newer: &Certificate) -> Result<(), CertificateError> {
        self.certificate.merge(newer)
    }

    /// Fingerprints of the private keys, and how each is locked.
    pub fn locking(&self) -> Vec<(Fingerprint, Locking)> {
        self.keys.iter().map(|key| (key.public().fingerprint(), key.locking())).collect()
    }

    /// Whether a passphrase is needed for one of the private keys.
    pub fn is_locked(&self) -> bool {
        self.keys.iter().any(|key| key.locking() == Locking::Passphrase)
    }

    /// All private keys that can be used here: those with unsupported algorithms, and those that are elsewhere, are
    /// left out.
    ///
    /// # Errors
    /// [`PrivateKeyError::Locked`] if no key can be used and the passphrase is wrong for one of them. Another error if
    /// no key can be used for other reasons.
    pub fn unlock(
        &self,
        passphrase: Option<&Passphrase>,
    ) -> Result<Vec<Arc<dyn PrivateKey>>, PrivateKeyError> {
        self.unlock_on(passphrase, None)
    }

    /// As [`PrivateCertificate::unlock`]; with a provider, RSA operations run there.
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
                // A wrong passphrase is usually wrong for all keys, so it is reported rather than that a subkey is
                // elsewhere.
                Err(error) if why.is_none() || error == PrivateKeyError::Locked => why = Some(error),
                Err(_) => {}
            }
        }
        match why {
            Some(error) if keys.is_empty() => Err(error),
            _ => Ok(keys),
        }
    }

    /// The private key with this fingerprint.
    ///
    /// # Errors
    /// [`PrivateKeyError::Malformed`] if there is none with this fingerprint; other errors if it cannot be unlocked or
    /// used.
    pub fn unlock_key(
        &self,
        fingerprint: &Fingerprint,
        passphrase: Option<&Passphrase>,
    ) -> Result<Arc<dyn PrivateKey>, PrivateKeyError> {
        software(self.packet(fingerprint)?, passphrase, None)
    }

    /// The private key with this fingerprint in the clear, for a process that is to hold it.
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

    /// The same keys under a new passphrase, or without a lock if `new` is `None`. Keys that are elsewhere stay so, and
    /// unsupported subkeys keep their old passphrase.
    ///
    /// # Errors
    /// [`PrivateKeyError::Locked`] if the old passphrase does not unlock every key.
    pub fn with_passphrase(
        &self,
        old: Option<&Passphrase>,
        new: Option<&Passphrase>,
    ) -> Result<Self, PrivateKeyError> {
        let keys: Result<_, _> = self.keys.iter().map(|key| key.relocked(old, new)).collect();
        Ok(Self { certificate: self.certificate.clone(), keys: keys?, opaque: self.opaque.clone() })
    }

    /// The certificate as packets, each key locked as it is.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::new());
        let inner = self.certificate.inner();
        self.write_key(&KeyPacket::Primary(inner.primary_key.clone()), &mut out);
        // Written into memory: packets that were read can be written.
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

    /// The certificate as a block of armor.
    pub fn to_armor(&self) -> Zeroizing<String> {
        let has_checksum = self.certificate.has_checksum();
        Zeroizing::new(armored(&Packets(self.to_bytes()), BlockType::PrivateKey, has_checksum))
    }

    /// Appends the private packet of a key if there is one, else the public one.
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

/// One private key in the clear, to be handed from one process to another: the body of its packet (RFC 9580, 5.5.3).
/// Wiped when dropped.
#[derive(Clone)]
pub struct ClearKey {
    /// Whether the key is a primary key.
    pub is_primary: bool,
    /// Body of the packet: public half, S2K usage 0, private fields and their checksum.
    pub body: Zeroizing<Vec<u8>>,
}

impl ClearKey {
    /// Opens the key in this process.
    ///
    /// # Errors
    /// [`PrivateKeyError::Malformed`] if the packet is malformed or its halves do not belong together.
    /// [`PrivateKeyError::Locked`] if it is locked, [`PrivateKeyError::Unsupported`] for an unsupported algorithm.
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

/// Appends in one new allocation: growing would leave unwiped copies behind.
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
