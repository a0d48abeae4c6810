//! Certificates: parsing them, what they allow at a given time, and the features they announce.
//!
//! | need | where |
//! |---|---|
//! | parse from bytes, armored or not, public or private | [`Certificate::parse_all`], [`Certificate::parse_each`] |
//! | check whether and for what a certificate may be used | [`Certificate::check`], [`Valid`] |
//! | features that the owner's programs can read | [`Valid::announces`], [`strongest_form`], [`is_announced`] |
//! | algorithms that are strong enough | [`policy`] |
//!
//! Third-party signatures are kept up to [`OTHERS_SIGNATURES_MAX`]; nothing here depends on them.
//!
//! Components that no signature of the primary key binds are not used. Unverified bytes are kept, since other programs
//! may understand them, but have no effect.

mod announced;
mod bounds;
mod check;
mod error;
pub(crate) mod opaque;
pub(crate) mod parse;
pub mod policy;
mod unserved;

use crate::key::Verifying;
use crate::signed::{Issuer, Subject};
use crate::{Fingerprint, KeyId, Timestamp};
use bounds::{Merging, SignedComponent};
use opaque::Opaque;
use pgp::armor::BlockType;
use pgp::composed::{SignedPublicKey, SignedPublicSubKey};
use pgp::packet::Signature;
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, KeyVersion, SignedUser, SignedUserAttribute};
use std::collections::HashMap;
use std::hash::Hash;
use std::io::Write;
use zeroize::Zeroizing;

pub use crate::key::KeyPacket;
pub use announced::{Announced, is_announced, strongest_form};
pub use bounds::{OTHERS_SIGNATURES_MAX, OWN_SIGNATURES_MAX, PACKETS_MAX};
pub use check::Valid;
pub use error::{CertificateError, Unusable};
pub use policy::Policy;

/// A certificate: primary key, user ids, subkeys, and the signatures that bind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    inner: SignedPublicKey,
    /// Public halves of subkeys of an unsupported kind.
    opaque: Vec<Opaque>,
}

/// A key that messages are encrypted to.
#[derive(Clone, Debug)]
pub struct EncryptionKey {
    /// Fingerprint of the certificate's primary key.
    pub certificate: Fingerprint,
    /// The public key that session keys are enciphered to.
    pub key: KeyPacket,
    /// Whether the message hides the key's identity (a wildcard, RFC 9580, 5.1.1).
    pub is_hidden: bool,
}

impl Certificate {
    /// A certificate of these packets.
    pub fn new(inner: SignedPublicKey) -> Self {
        Self { inner, opaque: Vec::new() }
    }

    /// A certificate with the public halves of subkeys of an unsupported kind.
    pub(crate) fn with_opaque(inner: SignedPublicKey, opaque: &[Opaque]) -> Self {
        let opaque = opaque.iter().filter_map(Opaque::public_half).collect();
        Self { inner, opaque }
    }

    pub(crate) fn opaque(&self) -> &[Opaque] {
        &self.opaque
    }

    /// Descriptions of subkeys of an unsupported kind: they are kept, but not used.
    pub fn unserved(&self) -> Vec<String> {
        self.opaque.iter().map(Opaque::name).collect()
    }

    /// Every certificate in these bytes, armored or not, at least one. Of private keys, the public half is taken.
    ///
    /// # Errors
    /// [`CertificateError`] if there is none, or one of them cannot be read.
    pub fn parse_all(bytes: &[u8]) -> Result<Vec<Self>, CertificateError> {
        Self::parse_each(bytes)?.into_iter().collect()
    }

    /// As [`Certificate::parse_all`], with one result for each certificate: for imports that take all valid ones.
    ///
    /// # Errors
    /// [`CertificateError`] if there is no certificate at all, or the armor is malformed.
    pub fn parse_each(bytes: &[u8]) -> Result<Vec<Result<Self, CertificateError>>, CertificateError> {
        let keys = parse::keys(bytes)?;
        let certificate = |key: parse::Parsed| Self::with_opaque(key.public, &key.opaque);
        Ok(keys.into_iter().map(|key| key.map(certificate)).collect())
    }

    /// The certificate as rPGP's type, without unsupported subkeys.
    pub fn inner(&self) -> &SignedPublicKey {
        &self.inner
    }

    pub(crate) fn inner_mut(&mut self) -> &mut SignedPublicKey {
        &mut self.inner
    }

    /// Fingerprint of the primary key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.inner.primary_key.fingerprint()
    }

    /// When the primary key was made.
    pub fn created(&self) -> Timestamp {
        self.inner.primary_key.created_at()
    }

    /// All keys of the certificate, the primary key first, bound or not.
    pub fn keys(&self) -> Vec<KeyPacket> {
        let subkeys = self.inner.public_subkeys.iter().map(|subkey| KeyPacket::Sub(subkey.key.clone()));
        std::iter::once(KeyPacket::Primary(self.inner.primary_key.clone())).chain(subkeys).collect()
    }

    /// Whether one of the certificate's keys, primary or sub, bound or not, has this fingerprint.
    pub fn has_key(&self, fingerprint: &Fingerprint) -> bool {
        self.keys().iter().any(|key| key.fingerprint() == *fingerprint)
    }

    /// Whether one of the certificate's keys, primary or sub, bound or not, has this key ID.
    pub fn has_key_id(&self, id: &KeyId) -> bool {
        self.keys().iter().any(|key| key.legacy_key_id() == *id)
    }

    /// All user ids in the certificate, bound or not; characters that are not UTF-8 are replaced. For the user ids that
    /// count, use [`Valid::user_ids`].
    pub fn user_ids(&self) -> Vec<String> {
        let users = self.inner.details.users.iter();
        users.map(|user| String::from_utf8_lossy(user.id.id()).into_owned()).collect()
    }

    /// The certificate as packets.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Written into memory: packets that were read can be written.
        let mut out = Zeroizing::new(self.inner.to_bytes().unwrap_or_default());
        self.opaque.iter().for_each(|opaque| opaque.write(&mut out));
        std::mem::take(&mut *out)
    }

    /// The certificate as a block of armor.
    pub fn to_armor(&self) -> String {
        armored(&Packets(self.to_bytes().into()), BlockType::PublicKey, self.has_checksum())
    }

    /// Whether the certificate's armor has a checksum. GnuPG 2.2 does not see the end of a block without one; version 6
    /// must not have one (RFC 9580, 6.1).
    pub(crate) fn has_checksum(&self) -> bool {
        self.inner.primary_key.version() != KeyVersion::V6
    }

    /// Adds user ids, subkeys and signatures that only the other certificate has. Third-party signatures are added up
    /// to their bound. The work is proportional to the length of both certificates.
    ///
    /// # Errors
    /// [`CertificateError::Different`] unless both have the same primary key. [`CertificateError::TooManyPackets`] and
    /// [`CertificateError::TooManySignatures`] if both together pass the bounds. The certificate is then unchanged.
    pub fn merge(&mut self, other: &Self) -> Result<(), CertificateError> {
        // Packets of one key may differ in the form of their headers, but not in the fingerprint.
        if self.fingerprint() != other.fingerprint() {
            let (one, other) = (self.fingerprint(), other.fingerprint());
            return Err(CertificateError::Different { one, other });
        }
        let mut mine = self.inner.clone();
        let theirs = &other.inner;
        let mut merging = Merging::into(&mine)?;
        let details = &mut mine.details;
        let given = &theirs.details.revocation_signatures;
        merging.add(SignedComponent::Revocation, &mut details.revocation_signatures, given)?;
        let given = &theirs.details.direct_signatures;
        merging.add(SignedComponent::Direct, &mut details.direct_signatures, given)?;

        let mut known = places(details.users.iter().map(|user| user.id.id().to_vec()));
        for user in &theirs.details.users {
            let at = known.get(user.id.id()).copied().unwrap_or(details.users.len());
            if at == details.users.len() {
                merging.packet()?;
                known.insert(user.id.id().to_vec(), at);
                details.users.push(SignedUser { id: user.id.clone(), signatures: Vec::new() });
            }
            merging.add(SignedComponent::User(at), &mut details.users[at].signatures, &user.signatures)?;
        }

        let written = |attribute: &SignedUserAttribute| attribute.attr.to_bytes().unwrap_or_default();
        let mut known = places(details.user_attributes.iter().map(written));
        for attribute in &theirs.details.user_attributes {
            let at = *known.entry(written(attribute)).or_insert(details.user_attributes.len());
            if at == details.user_attributes.len() {
                merging.packet()?;
                let attr = attribute.attr.clone();
                details.user_attributes.push(SignedUserAttribute { attr, signatures: Vec::new() });
            }
            let signatures = &mut details.user_attributes[at].signatures;
            merging.add(SignedComponent::Attribute(at), signatures, &attribute.signatures)?;
        }

        let mut known = places(mine.public_subkeys.iter().map(|subkey| subkey.key.fingerprint()));
        for subkey in &theirs.public_subkeys {
            let at = *known.entry(subkey.key.fingerprint()).or_insert(mine.public_subkeys.len());
            if at == mine.public_subkeys.len() {
                merging.packet()?;
                let key = subkey.key.clone();
                mine.public_subkeys.push(SignedPublicSubKey { key, signatures: Vec::new() });
            }
            let signatures = &mut mine.public_subkeys[at].signatures;
            merging.add(SignedComponent::Subkey(at), signatures, &subkey.signatures)?;
        }
        let mut kept = self.opaque.clone();
        for opaque in &other.opaque {
            match kept.iter_mut().find(|known| known.is_same_key(opaque)) {
                Some(known) => known.merge(opaque),
                None => {
                    merging.packet()?;
                    kept.push(opaque.clone());
                }
            }
        }
        self.inner = mine;
        self.opaque = kept;
        Ok(())
    }

    /// Adds a revocation that was published by itself; false if the certificate has it already.
    ///
    /// # Errors
    /// [`CertificateError::Packet`] if it is not a revocation by this primary key; otherwise as [`Certificate::merge`].
    pub fn revoke_by(&mut self, revocation: &Revocation) -> Result<bool, CertificateError> {
        let primary = &self.inner.primary_key;
        if !Verifying::new(primary).holds(&revocation.0, &Subject::key(primary)) {
            let cause = format!("the revocation is not one of the key {:X}", primary.fingerprint());
            return Err(CertificateError::Packet { cause });
        }
        let mut alone = self.clone();
        alone.inner.details.revocation_signatures = vec![revocation.0.clone()];
        let before = self.inner.details.revocation_signatures.len();
        self.merge(&alone)?;
        Ok(self.inner.details.revocation_signatures.len() > before)
    }
}

/// A revocation of a certificate, in a file of its own as `gpg --gen-revoke` writes it (RFC 9580, 10.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation(Signature);

impl Revocation {
    /// Every revocation in these bytes, armored or not, at least one.
    ///
    /// # Errors
    /// [`CertificateError::NoKey`] if there is none.
    pub fn parse_all(bytes: &[u8]) -> Result<Vec<Self>, CertificateError> {
        Ok(parse::revocations(bytes)?.into_iter().map(Self).collect())
    }

    /// The issuer that the revocation names.
    pub fn issuer(&self) -> Issuer {
        Issuer::of(&self.0)
    }
}

/// Packets that are already encoded, for the armor writer.
pub(crate) struct Packets(pub(crate) Zeroizing<Vec<u8>>);

impl Serialize for Packets {
    fn to_writer<W: Write>(&self, out: &mut W) -> pgp::errors::Result<()> {
        Ok(out.write_all(&self.0)?)
    }

    fn write_len(&self) -> usize {
        self.0.len()
    }
}

/// For each name, its first place in the sequence.
fn places<N: Hash + Eq>(names: impl Iterator<Item = N>) -> HashMap<N, usize> {
    let mut places = HashMap::new();
    for (at, name) in names.enumerate() {
        places.entry(name).or_insert(at);
    }
    places
}

/// Packets as a block of armor.
pub(crate) fn armored(packets: &impl Serialize, block: BlockType, has_checksum: bool) -> String {
    // Memory for all of it: growing would leave copies of private keys behind.
    let mut text = Vec::with_capacity(packets.write_len() * 3 / 2 + 256);
    // Written into memory: only encoding the packets could fail, and these can be encoded.
    if pgp::armor::write(packets, block, &mut text, None, has_checksum).is_err() {
        text.clear();
    }
    String::from_utf8(text).unwrap_or_default()
}
