//! Signature format of ANSI X9.31: header, filler, hash, trailer; the smaller of `s` and `n - s` is the signature.
//!
//! Block of the modulus length: X'6B', X'BB' ..., X'BA', hash, hash identifier, X'CC'. The
//! modulus has at least 1024 bits and a multiple of 256.

use engine::HashAlgorithm;
use std::cmp::Ordering;

/// Last byte of the block.
const TRAILER: u8 = 0xCC;
/// Smallest modulus in bits.
const MODULUS_BITS_MIN: usize = 1024;

/// Hash identifiers of ISO/IEC 10118, as X9.31 lists them; `None` where it lists none.
pub(crate) fn identifier(hash: HashAlgorithm) -> Option<u8> {
    match hash {
        HashAlgorithm::Ripemd160 => Some(0x31),
        HashAlgorithm::Sha1 => Some(0x33),
        HashAlgorithm::Sha224 => Some(0x38),
        HashAlgorithm::Sha256 => Some(0x34),
        HashAlgorithm::Sha384 => Some(0x36),
        HashAlgorithm::Sha512 => Some(0x35),
        _ => None,
    }
}

/// Whether the standard allows keys of this length.
pub(crate) fn allows(modulus_bits: usize) -> bool {
    modulus_bits >= MODULUS_BITS_MIN && modulus_bits.is_multiple_of(256)
}

/// Writes the block; `false` where the hash has no identifier or another length, or the block is too short.
pub(crate) fn encode(hash: HashAlgorithm, digest: &[u8], block: &mut [u8]) -> bool {
    let Some(identifier) = identifier(hash) else { return false };
    if digest.len() != hash.digest_bytes() || block.len() < digest.len() + 4 {
        return false;
    }
    let tail = block.len() - digest.len() - 2;
    block[0] = 0x6B;
    block[1..tail - 1].fill(0xBB);
    block[tail - 1] = 0xBA;
    block[tail..tail + digest.len()].copy_from_slice(digest);
    block[tail + digest.len()] = identifier;
    block[tail + digest.len() + 1] = TRAILER;
    true
}

/// Replaces `value` by `n - value` where that is smaller. Works on what will be a public signature.
pub(crate) fn smaller_vartime(n: &[u8], value: &mut [u8]) {
    let mut other = value.to_vec();
    subtract_vartime(n, &mut other);
    if other.as_slice().cmp(value) == Ordering::Less {
        value.copy_from_slice(&other);
    }
}

/// Whether `value` is the smaller of `value` and `n - value`, as a signature is. Works on public values.
pub(crate) fn is_smaller_vartime(n: &[u8], value: &[u8]) -> bool {
    let mut other = value.to_vec();
    subtract_vartime(n, &mut other);
    value.cmp(other.as_slice()) == Ordering::Less
}

/// The block that an opened signature stands for: `value`, or `n - value`, whichever ends as a
/// block does. Works on public values.
pub(crate) fn opened_vartime(n: &[u8], value: &mut [u8]) {
    if value.last().is_some_and(|byte| byte & 0x0F != TRAILER & 0x0F) {
        subtract_vartime(n, value);
    }
}

/// `value = n - value`, both of one length, `value <= n`.
fn subtract_vartime(n: &[u8], value: &mut [u8]) {
    let mut borrow = 0i16;
    for (byte, n) in value.iter_mut().zip(n).rev() {
        let difference = i16::from(*n) - i16::from(*byte) - borrow;
        borrow = i16::from(difference < 0);
        *byte = difference.rem_euclid(256) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_standard_shape() {
        let mut block = [0; 128];
        assert!(encode(HashAlgorithm::Sha1, &[0x11; 20], &mut block));
        assert_eq!(block[..3], [0x6B, 0xBB, 0xBB]);
        assert_eq!(block[105..108], [0xBA, 0x11, 0x11]);
        assert_eq!(block[126..], [0x33, 0xCC]);
        assert!(!encode(HashAlgorithm::Sha1, &[0; 19], &mut block));
        assert!(!encode(HashAlgorithm::Sha3_256, &[0; 32], &mut block));
        assert!(!encode(HashAlgorithm::Sha512, &[0; 64], &mut block[..66]));
        assert!(allows(1024) && allows(1280) && !allows(1032) && !allows(768));
    }

    #[test]
    fn the_smaller_of_both_is_taken_and_undone() {
        let n = [0x90, 0x00, 0x00, 0x05];
        let mut value = [0x80, 0x00, 0x00, 0x0C];
        assert!(!is_smaller_vartime(&n, &value));
        smaller_vartime(&n, &mut value);
        assert!(is_smaller_vartime(&n, &value));
        assert_eq!(value, [0x0F, 0xFF, 0xFF, 0xF9]);
        smaller_vartime(&n, &mut value);
        assert_eq!(value, [0x0F, 0xFF, 0xFF, 0xF9]);
        opened_vartime(&n, &mut value);
        assert_eq!(value, [0x80, 0x00, 0x00, 0x0C]);
        opened_vartime(&n, &mut value);
        assert_eq!(value, [0x80, 0x00, 0x00, 0x0C]);
    }
}
