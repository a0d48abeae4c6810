//! The framing of session keys that are enciphered to a public key (RFC 9580, 5.1). A key has the cipher before it and
//! a checksum after it, or is bare.

use super::PrivateKeyError;
use crate::{PlainSessionKey, SymmetricKeyAlgorithm};
use pgp::crypto::public_key::PublicKeyAlgorithm;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The bytes of a session key.
pub fn bytes(session_key: &PlainSessionKey) -> &[u8] {
    match session_key {
        PlainSessionKey::V3_4 { key, .. } | PlainSessionKey::V5 { key } | PlainSessionKey::V6 { key } => {
            key.as_ref()
        }
    }
}

/// The sum of the key's octets, modulo 65536 (RFC 9580, 5.1.3).
fn checksum(key: &[u8]) -> [u8; 2] {
    key.iter().fold(0u16, |sum, octet| sum.wrapping_add(u16::from(*octet))).to_be_bytes()
}

/// Cipher (only for packets of version 3), key and checksum, for RSA, ElGamal and ECDH.
pub(crate) fn with_checksum(cipher: Option<SymmetricKeyAlgorithm>, key: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut plain = Zeroizing::new(Vec::with_capacity(key.len() + 3));
    plain.extend(cipher.map(u8::from));
    plain.extend_from_slice(key);
    plain.extend_from_slice(&checksum(key));
    plain
}

/// The session key in a block that RSA, ElGamal or ECDH deciphered (RFC 9580, 5.1.3), for keys that are not in this
/// process. The block holds key and checksum; in packets of version 3 (`is_v6` is false) the cipher comes before them.
///
/// # Errors
/// [`PrivateKeyError::NotOpened`] for any defect. The checksum is compared in constant time; lengths are not hidden.
pub fn session_key_of(is_v6: bool, plain: &[u8]) -> Result<PlainSessionKey, PrivateKeyError> {
    let (start, sum) = plain.split_last_chunk::<2>().ok_or(PrivateKeyError::NotOpened)?;
    let (cipher, key) = if is_v6 {
        (None, start)
    } else {
        let (cipher, key) = start.split_first().ok_or(PrivateKeyError::NotOpened)?;
        (Some(SymmetricKeyAlgorithm::from(*cipher)), key)
    };
    let fits_sum = checksum(key).ct_eq(sum);
    let fits_length = match cipher {
        Some(cipher) => cipher.key_size() != 0 && cipher.key_size() == key.len(),
        None => matches!(key.len(), 16 | 24 | 32),
    };
    if !(bool::from(fits_sum) & fits_length) {
        return Err(PrivateKeyError::NotOpened);
    }
    Ok(match cipher {
        Some(sym_alg) => PlainSessionKey::V3_4 { sym_alg, key: key.into() },
        None => PlainSessionKey::V6 { key: key.into() },
    })
}

/// Whether an algorithm leaves the cipher readable in packets of version 3, which is allowed for AES alone (RFC 9580,
/// 5.1.6).
pub(crate) fn is_aes_only(algorithm: PublicKeyAlgorithm) -> bool {
    matches!(
        algorithm,
        PublicKeyAlgorithm::X25519
            | PublicKeyAlgorithm::X448
            | PublicKeyAlgorithm::MlKem768X25519
            | PublicKeyAlgorithm::MlKem1024X448
    )
}

/// Whether two algorithm numbers mean the same algorithm: RSA and ElGamal have several numbers each.
pub(crate) fn is_same_family(one: PublicKeyAlgorithm, other: PublicKeyAlgorithm) -> bool {
    use PublicKeyAlgorithm::{Elgamal, ElgamalEncrypt, RSA, RSAEncrypt, RSASign};
    let family = |algorithm| match algorithm {
        RSAEncrypt | RSASign => RSA,
        Elgamal => ElgamalEncrypt,
        other => other,
    };
    family(one) == family(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_wrapped_comes_out_and_nothing_else_does() {
        let key = [7; 32];
        let v3 = with_checksum(Some(SymmetricKeyAlgorithm::AES256), &key);
        let v6 = with_checksum(None, &key);
        assert_eq!(
            session_key_of(false, &v3),
            Ok(PlainSessionKey::V3_4 { sym_alg: SymmetricKeyAlgorithm::AES256, key: key[..].into() })
        );
        assert_eq!(session_key_of(true, &v6), Ok(PlainSessionKey::V6 { key: key[..].into() }));
        for (is_v6, plain) in [(false, v3), (true, v6)] {
            for end in 0..plain.len() {
                assert_eq!(session_key_of(is_v6, &plain[..end]), Err(PrivateKeyError::NotOpened));
            }
            for at in 0..plain.len() {
                let mut changed = plain.clone();
                changed[at] ^= 1;
                assert_eq!(session_key_of(is_v6, &changed), Err(PrivateKeyError::NotOpened), "{at}");
            }
        }
    }
}
