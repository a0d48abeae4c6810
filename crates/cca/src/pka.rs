//! What the verbs of PKA keys share: hashes and data formats.

pub(crate) mod curve;
pub(crate) mod encryption;
pub(crate) mod premaster;
pub(crate) mod signature;
pub(crate) mod x931;
pub(crate) mod x963;

use engine::{HashAlgorithm, SecretBytes, is_below};
use wire::Codes;
use wire::verb::{RsaHash, SignatureHash};

/// The hash of a keyword.
pub(crate) fn hash_of(keyword: RsaHash) -> HashAlgorithm {
    match keyword {
        RsaHash::Sha1 => HashAlgorithm::Sha1,
        RsaHash::Sha224 => HashAlgorithm::Sha224,
        RsaHash::Sha256 => HashAlgorithm::Sha256,
        RsaHash::Sha384 => HashAlgorithm::Sha384,
        RsaHash::Sha512 => HashAlgorithm::Sha512,
    }
}

/// The hash of a signature's keyword.
pub(crate) fn signature_hash_of(keyword: SignatureHash) -> HashAlgorithm {
    match keyword {
        SignatureHash::Sha1 => HashAlgorithm::Sha1,
        SignatureHash::Sha224 => HashAlgorithm::Sha224,
        SignatureHash::Sha256 => HashAlgorithm::Sha256,
        SignatureHash::Sha384 => HashAlgorithm::Sha384,
        SignatureHash::Sha512 => HashAlgorithm::Sha512,
        SignatureHash::Ripemd160 => HashAlgorithm::Ripemd160,
    }
}

/// A value right-justified in a block of the modulus length.
///
/// # Errors
/// `otherwise` where it is longer, or not below the modulus.
pub(crate) fn right_justified(value: &[u8], modulus: &[u8], otherwise: Codes) -> Result<SecretBytes, Codes> {
    if value.len() > modulus.len() {
        return Err(otherwise);
    }
    let mut block = SecretBytes::new(modulus.len());
    block[modulus.len() - value.len()..].copy_from_slice(value);
    if is_below(&block, modulus) { Ok(block) } else { Err(otherwise) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::code;

    #[test]
    fn values_that_fit_the_modulus_are_right_justified() {
        let n = [0x80, 0x00, 0x01];
        assert_eq!(right_justified(&[5], &n, code::TEXT_LENGTH).unwrap().as_slice(), [0, 0, 5]);
        assert_eq!(right_justified(&[0; 4], &n, code::TEXT_LENGTH).unwrap_err(), code::TEXT_LENGTH);
        assert_eq!(right_justified(&n, &n, code::TEXT_LENGTH).unwrap_err(), code::TEXT_LENGTH);
    }
}
