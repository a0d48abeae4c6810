//! Keys and user ids in the form in which signatures hash them (RFC 9580, 5.2.4).

use super::text::{TextHash, digest_of, trailer};
use crate::HashAlgorithm;
use pgp::packet::{Signature, SignatureConfig, SignatureType, SignatureVersion, SignatureVersionSpecific};
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, KeyVersion};
use std::cell::RefCell;

/// A key in the form in which signatures hash it.
pub(crate) fn key_part(key: &(impl KeyDetails + Serialize)) -> Vec<u8> {
    let body = key.to_bytes().unwrap_or_default();
    let mut part = if key.version() == KeyVersion::V6 {
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
        [&[0x9b][..], &bytes].concat()
    } else {
        let bytes = u16::try_from(body.len()).unwrap_or(u16::MAX).to_be_bytes();
        [&[0x99][..], &bytes].concat()
    };
    part.extend(body);
    part
}

/// A user id in the form in which signatures of version 4 or later hash it.
pub(crate) fn user_part(id: &[u8]) -> Vec<u8> {
    let bytes = u32::try_from(id.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[0xb4][..], &bytes, id].concat()
}

/// The data under any number of signatures: a key, a key's user id, or a key's subkey.
pub(crate) struct Subject {
    /// The types of signatures over such data.
    types: &'static [SignatureType],
    /// The bytes that are hashed before a signature's own fields.
    parts: Vec<u8>,
    /// The bytes for signatures of version 3, if they differ from `parts`.
    parts_v3: Option<Vec<u8>>,
    /// Hashes over `parts`, one for each algorithm: all signatures without a salt continue from there.
    begun: RefCell<Vec<TextHash>>,
}

impl Subject {
    /// The data of signatures over a key alone.
    pub(crate) fn key(key: &(impl KeyDetails + Serialize)) -> Self {
        Self::new(&[SignatureType::Key, SignatureType::KeyRevocation], key_part(key))
    }

    /// The data of signatures over a key's user id.
    pub(crate) fn user(key: &(impl KeyDetails + Serialize), id: &[u8]) -> Self {
        let types = &[
            SignatureType::CertGeneric,
            SignatureType::CertPersona,
            SignatureType::CertCasual,
            SignatureType::CertPositive,
            SignatureType::CertRevocation,
        ];
        let key = key_part(key);
        let parts_v3 = Some([&key, id].concat());
        Self { parts_v3, ..Self::new(types, [key, user_part(id)].concat()) }
    }

    /// The data of signatures with which a primary key binds a subkey.
    pub(crate) fn subkey(
        primary: &(impl KeyDetails + Serialize),
        subkey: &(impl KeyDetails + Serialize),
    ) -> Self {
        let types = &[SignatureType::SubkeyBinding, SignatureType::SubkeyRevocation];
        Self::new(types, [key_part(primary), key_part(subkey)].concat())
    }

    /// The data of signatures with which a subkey binds itself to a primary key.
    pub(crate) fn primary_of(
        primary: &(impl KeyDetails + Serialize),
        subkey: &(impl KeyDetails + Serialize),
    ) -> Self {
        let types = &[SignatureType::KeyBinding];
        Self::new(types, [key_part(primary), key_part(subkey)].concat())
    }

    fn new(types: &'static [SignatureType], parts: Vec<u8>) -> Self {
        Self { types, parts, parts_v3: None, begun: RefCell::default() }
    }

    /// Whether a signature of this type is over such data.
    pub(crate) fn takes(&self, typ: SignatureType) -> bool {
        self.types.contains(&typ)
    }

    /// The digest under a signature; `None` if its version or hash is not supported.
    pub(crate) fn digest(&self, signature: &Signature, config: &SignatureConfig) -> Option<Vec<u8>> {
        let end = trailer(signature)?;
        let hash = config.hash_alg;
        let is_v3 = matches!(config.version(), SignatureVersion::V2 | SignatureVersion::V3);
        let parts = self.parts_v3.as_ref().filter(|_| is_v3).unwrap_or(&self.parts);
        // rPGP supports hashes that the engine does not, and detects known collisions of SHA-1.
        if matches!(hash, HashAlgorithm::Sha1 | HashAlgorithm::Md5 | HashAlgorithm::Ripemd160) {
            return hash.digest(&[parts, &end[..]].concat()).ok();
        }
        match &config.version_specific {
            SignatureVersionSpecific::V6 { salt } if hash.salt_len() == Some(salt.len()) => {
                digest_of(hash, &[salt, parts, &end])
            }
            SignatureVersionSpecific::V6 { .. } => None,
            _ if is_v3 => digest_of(hash, &[parts, &end]),
            _ => self.continued(hash, &end),
        }
    }

    fn continued(&self, hash: HashAlgorithm, end: &[u8]) -> Option<Vec<u8>> {
        let mut begun = self.begun.borrow_mut();
        if let Some(known) = begun.iter().find(|known| known.spec.hash == hash) {
            return known.digest(end);
        }
        let mut new = TextHash::plain(hash)?;
        new.update(&self.parts);
        let digest = new.digest(end);
        begun.push(new);
        digest
    }
}
