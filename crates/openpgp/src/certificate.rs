//! Certificates: parsing them, what they allow at a given time, and the features they announce.
//!
//! | need | where |
//! |---|---|
//! | parse from bytes, armored or not, public or private | [`Certificate::parse_all`], [`Certificate::parse_each`] |
//! | whether and for what it may be used | [`Certificate::check`], [`Valid`] |
//! | what its owner can read | [`Valid::announces`], [`strongest_form`], [`is_announced`] |
//! | what algorithms are good enough | [`policy`] |
//!
//! Third-party signatures are kept up to [`OTHERS_SIGNATURES_MAX`]; nothing here depends on them.
//!
//! Components that the primary key's own signature does not bind are not used. Unverified bytes are kept, since
//! other programs may understand them, but have no effect.

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
use bounds::{Merging, Place};
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
    /// Subkeys that are not understood, public halves.
    opaque: Vec<Opaque>,
}

/// A key that messages are encrypted to.
#[derive(Clone, Debug)]
pub struct EncryptionKey {
    /// The primary key of its certificate.
    pub certificate: Fingerprint,
    /// The key.
    pub key: KeyPacket,
    /// Whether the message does not name the key (a wildcard, RFC 9580, 5.1.1).
    pub is_hidden: bool,
}

impl Certificate {
    /// Of these packets.
    pub fn new(inner: SignedPublicKey) -> Self {
        Self { inner, opaque: Vec::new() }
    }

    /// With the public halves of subkeys that are not understood.
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

    /// Every certificate in these bytes, armored or not; for private keys, the public half. At least one.
    ///
    /// # Errors
    /// [`CertificateError`] where there is none, or one of them cannot be read.
    pub fn parse_all(bytes: &[u8]) -> Result<Vec<Self>, CertificateError> {
        Self::parse_each(bytes)?.into_iter().collect()
    }

    /// As [`Certificate::parse_all`], each with its own result: for imports that take whatever is valid.
    ///
    /// # Errors
    /// [`CertificateError`] where there is nothing to read.
    pub fn parse_each(bytes: &[u8]) -> Result<Vec<Result<Self, CertificateError>>, CertificateError> {
        let keys = parse::keys(bytes)?;
        let certificate = |key: parse::Parsed| Self::with_opaque(key.public, &key.opaque);
        Ok(keys.into_iter().map(|key| key.map(certificate)).collect())
    }

    /// As rPGP has it.
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

    /// Every key of it, primary first, bound or not.
    pub fn keys(&self) -> Vec<KeyPacket> {
        let subkeys = self.inner.public_subkeys.iter().map(|subkey| KeyPacket::Sub(subkey.key.clone()));
        std::iter::once(KeyPacket::Primary(self.inner.primary_key.clone())).chain(subkeys).collect()
    }

    /// Whether one of its keys, primary or sub, bound or not, has this fingerprint.
    pub fn has_key(&self, fingerprint: &Fingerprint) -> bool {
        self.keys().iter().any(|key| key.fingerprint() == *fingerprint)
    }

    /// Whether one of its keys, primary or sub, bound or not, has this key ID.
    pub fn has_key_id(&self, id: &KeyId) -> bool {
        self.keys().iter().any(|key| key.legacy_key_id() == *id)
    }

    /// User ids as they stand in it, bound or not; what is not UTF-8 is replaced. For those that count ask
    /// [`Valid::user_ids`].
    pub fn user_ids(&self) -> Vec<String> {
        let users = self.inner.details.users.iter();
        users.map(|user| String::from_utf8_lossy(user.id.id()).into_owned()).collect()
    }

    /// As packets.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Written into memory: what was read can be written.
        let mut out = Zeroizing::new(self.inner.to_bytes().unwrap_or_default());
        self.opaque.iter().for_each(|opaque| opaque.write(&mut out));
        std::mem::take(&mut *out)
    }

    /// As an armored block.
    pub fn to_armor(&self) -> String {
        armored(&Packets(self.to_bytes().into()), BlockType::PublicKey, self.has_checksum())
    }

    /// Whether its armor has a checksum: GnuPG 2.2 does not see the end of a block without one, and version 6 must not
    /// have one (RFC 9580, 6.1).
    pub(crate) fn has_checksum(&self) -> bool {
        self.inner.primary_key.version() != KeyVersion::V6
    }

    /// Adds what only the other one has: user ids, subkeys, signatures; of third-party signatures as many as are
    /// kept. The work is in proportion to the length of both.
    ///
    /// # Errors
    /// [`CertificateError::Different`] unless both have the same primary key; [`CertificateError::TooManyPackets`] and
    /// [`CertificateError::TooManySignatures`] where both together pass the bounds. It stays as it was then.
    pub fn merge(&mut self, other: &Self) -> Result<(), CertificateError> {
        // Packets of one key may differ in the form of their headers: its fingerprint does not.
        if self.fingerprint() != other.fingerprint() {
            let (one, other) = (self.fingerprint(), other.fingerprint());
            return Err(CertificateError::Different { one, other });
        }
        let mut mine = self.inner.clone();
        let theirs = &other.inner;
        let mut merging = Merging::into(&mine)?;
        let details = &mut mine.details;
        let given = &theirs.details.revocation_signatures;
        merging.add(Place::Revocation, &mut details.revocation_signatures, given)?;
        let given = &theirs.details.direct_signatures;
        merging.add(Place::Direct, &mut details.direct_signatures, given)?;

        let mut known = places(details.users.iter().map(|user| user.id.id().to_vec()));
        for user in &theirs.details.users {
            let at = known.get(user.id.id()).copied().unwrap_or(details.users.len());
            if at == details.users.len() {
                merging.packet()?;
                known.insert(user.id.id().to_vec(), at);
                details.users.push(SignedUser { id: user.id.clone(), signatures: Vec::new() });
            }
            merging.add(Place::User(at), &mut details.users[at].signatures, &user.signatures)?;
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
            merging.add(Place::Attribute(at), signatures, &attribute.signatures)?;
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
            merging.add(Place::Subkey(at), signatures, &subkey.signatures)?;
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

    /// Adds a revocation that came by itself. False if it is there already.
    ///
    /// # Errors
    /// [`CertificateError::Packet`] where it is not one of this primary key; as [`Certificate::merge`].
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

/// A revocation of a certificate by itself, as `gpg --gen-revoke` writes it (RFC 9580, 10.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation(Signature);

impl Revocation {
    /// Every one in these bytes, armored or not. At least one.
    ///
    /// # Errors
    /// [`CertificateError::NoKey`] where there is none.
    pub fn parse_all(bytes: &[u8]) -> Result<Vec<Self>, CertificateError> {
        Ok(parse::revocations(bytes)?.into_iter().map(Self).collect())
    }

    /// Whom it names as its maker.
    pub fn issuer(&self) -> Issuer {
        Issuer::of(&self.0)
    }
}

/// Packets that are ready, for the armor writer.
pub(crate) struct Packets(pub(crate) Zeroizing<Vec<u8>>);

impl Serialize for Packets {
    fn to_writer<W: Write>(&self, out: &mut W) -> pgp::errors::Result<()> {
        Ok(out.write_all(&self.0)?)
    }

    fn write_len(&self) -> usize {
        self.0.len()
    }
}

/// Where each name stands first.
fn places<N: Hash + Eq>(names: impl Iterator<Item = N>) -> HashMap<N, usize> {
    let mut places = HashMap::new();
    for (at, name) in names.enumerate() {
        places.entry(name).or_insert(at);
    }
    places
}

/// An armored block around packets.
pub(crate) fn armored(packets: &impl Serialize, block: BlockType, has_checksum: bool) -> String {
    // Room for all of it: growing would leave copies of private keys behind.
    let mut text = Vec::with_capacity(packets.write_len() * 3 / 2 + 256);
    // Written into memory: it cannot fail but by what is written, which can be.
    if pgp::armor::write(packets, block, &mut text, None, has_checksum).is_err() {
        text.clear();
    }
    String::from_utf8(text).unwrap_or_default()
}
