//! Signatures over keys and user ids (RFC 9580, 5.2.1.3 to 5.2.1.16), by a private key wherever it is.

use super::text::{Spec, TextHash, trailer};
use crate::random::engine;
use crate::{HashAlgorithm, PrivateKey, PrivateKeyError};
use pgp::packet::{Signature, SignatureConfig, SignatureType, SignatureVersionSpecific};
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, KeyVersion, SignatureBytes};

/// A key as it is hashed under a signature (5.2.4).
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

/// A user id as it is hashed under a signature.
pub(crate) fn user_part(id: &[u8]) -> Vec<u8> {
    let bytes = u32::try_from(id.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[0xb4][..], &bytes, id].concat()
}

/// A signature to be, of the version of its key.
pub(crate) fn config(
    key: &dyn PrivateKey,
    typ: SignatureType,
    hash: HashAlgorithm,
) -> Option<SignatureConfig> {
    let public = key.public();
    if public.version() != KeyVersion::V6 {
        return Some(SignatureConfig::v4(typ, public.algorithm(), hash));
    }
    let mut salt = vec![0; hash.salt_len()?];
    engine().random(&mut salt);
    Some(SignatureConfig::v6_with_salt(typ, public.algorithm(), hash, salt))
}

/// Signs what the parts give one after the other.
pub(crate) fn sign(
    config: SignatureConfig,
    parts: &[Vec<u8>],
    key: &dyn PrivateKey,
) -> Result<Signature, PrivateKeyError> {
    let malformed = || PrivateKeyError::Malformed { cause: "its signature cannot be written".to_owned() };
    let salt = match &config.version_specific {
        SignatureVersionSpecific::V6 { salt } => salt.clone(),
        _ => Vec::new(),
    };
    let spec = Spec { hash: config.hash_alg, is_text: false, salt };
    let mut hash = TextHash::new(spec).ok_or_else(malformed)?;
    parts.iter().for_each(|part| hash.update(part));
    let end = unsigned(&config).and_then(|signature| trailer(&signature)).ok_or_else(malformed)?;
    let digest = hash.digest(&end).ok_or_else(malformed)?;
    let bytes = key.sign(config.hash_alg, &digest)?;
    Signature::from_config(config, [digest[0], digest[1]], bytes).map_err(|_| malformed())
}

/// The packet without its signature, for its hashed part.
pub(super) fn unsigned(config: &SignatureConfig) -> Option<Signature> {
    let none = SignatureBytes::Native(Vec::new().into());
    Signature::from_config(config.clone(), [0, 0], none).ok()
}
