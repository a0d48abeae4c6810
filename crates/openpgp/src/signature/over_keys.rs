//! Signatures over keys and user ids (RFC 9580, 5.2.1.3 to 5.2.1.16), by a private key of any kind.

use crate::compute::engine;
use crate::signed::{Spec, TextHash, trailer};
use crate::{HashAlgorithm, PrivateKey, PrivateKeyError};
use pgp::packet::{Signature, SignatureConfig, SignatureType, SignatureVersionSpecific};
use pgp::types::{KeyVersion, SignatureBytes};

/// Parameters of a signature that is to be made, in the version of its key. `None` if version 6 does not allow the
/// hash.
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

/// Signs the parts, one after the other.
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

/// The packet without its signature, for the hashed part.
pub(super) fn unsigned(config: &SignatureConfig) -> Option<Signature> {
    let none = SignatureBytes::Native(Vec::new().into());
    Signature::from_config(config.clone(), [0, 0], none).ok()
}
