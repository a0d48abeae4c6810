//! HKDF (RFC 5869) with SHA-256: keys derived from a shared secret.

use crate::algorithm::HashAlgorithm;
use crate::error::HkdfLength;
use crate::high::hmac::HmacKey;
use crate::low::wipe_bytes;

const DIGEST_BYTES: usize = HashAlgorithm::Sha256.digest_bytes();

/// Fills `out`, at most 255 digests (8160 bytes), from the input keying material `ikm`; `salt` may be empty.
pub fn hkdf_sha256(salt: &[u8], ikm: &[u8], info: &[u8], out: &mut [u8]) -> Result<(), HkdfLength> {
    if out.len() > 255 * DIGEST_BYTES {
        return Err(HkdfLength { bytes: out.len() });
    }
    let mut pseudo_random_key = HmacKey::new(HashAlgorithm::Sha256, salt).mac(&[ikm]);
    let key = HmacKey::new(HashAlgorithm::Sha256, &pseudo_random_key[..DIGEST_BYTES]);
    wipe_bytes(&mut pseudo_random_key);
    let mut block = [0; 64];
    for (index, part) in out.chunks_mut(DIGEST_BYTES).enumerate() {
        let before = if index == 0 { &[][..] } else { &block[..DIGEST_BYTES] };
        // At most 255 parts, as checked above.
        let counter = [(index + 1) as u8];
        block = key.mac(&[before, info, &counter]);
        part.copy_from_slice(&block[..part.len()]);
    }
    wipe_bytes(&mut block);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5869, A.1 and A.3.
    #[test]
    fn gives_the_values_of_the_rfc() {
        let ikm = [0x0b; 22];
        let salt: Vec<u8> = (0..13).collect();
        let info: Vec<u8> = (0xf0..0xfa).collect();
        let mut okm = [0; 42];
        hkdf_sha256(&salt, &ikm, &info, &mut okm).unwrap();
        assert_eq!(okm[..8], [0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a]);
        assert_eq!(okm[34..], [0x34, 0x00, 0x72, 0x08, 0xd5, 0xb8, 0x87, 0x18, 0x58, 0x65][2..]);
        hkdf_sha256(&[], &ikm, &[], &mut okm).unwrap();
        assert_eq!(okm[..8], [0x8d, 0xa4, 0xe7, 0x75, 0xa5, 0x63, 0xc1, 0x8f]);
    }

    #[test]
    fn refuses_more_than_255_digests() {
        let mut out = vec![0; 255 * 32 + 1];
        assert_eq!(hkdf_sha256(&[], &[], &[], &mut out), Err(HkdfLength { bytes: 8161 }));
        assert_eq!(hkdf_sha256(&[], &[], &[], &mut out[..8160]), Ok(()));
    }
}
