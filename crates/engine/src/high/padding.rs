//! RSA paddings (RFC 8017): PKCS#1 v1.5 for signatures and encryption, OAEP, PSS. They turn messages or digests into
//! blocks and back; no key is used here.
//!
//! Unpadding of deciphered blocks is constant-time, and every malformed block gives the same [`PaddingError::Invalid`].
//! A caller that shows this error to a peer nevertheless builds a padding oracle.

use crate::algorithm::HashAlgorithm;
use crate::error::PaddingError;
use crate::low::aws_lc::random;
use crate::low::wipe_bytes;
use crate::mid::hash::{HashState, digest};
use crate::secret::SecretBytes;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};

/// The shortest PKCS#1 v1.5 padding: 0, type, 8 bytes, 0.
const PKCS1_BYTES: usize = 11;

/// The DER prefix of a DigestInfo, everything before the digest (RFC 8017, 9.2, note 1).
pub fn digest_info_prefix(hash: HashAlgorithm) -> &'static [u8] {
    macro_rules! sha {
        ($arc:literal, $bytes:literal) => {
            &[
                0x30,
                0x11 + $bytes,
                0x30,
                0x0d,
                0x06,
                0x09,
                0x60,
                0x86,
                0x48,
                0x01,
                0x65,
                0x03,
                0x04,
                0x02,
                $arc,
                0x05,
                0x00,
                0x04,
                $bytes,
            ]
        };
    }
    match hash {
        HashAlgorithm::Md5 => &[
            0x30, 0x20, 0x30, 0x0c, 0x06, 0x08, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x05, 0x05, 0x00,
            0x04, 0x10,
        ],
        HashAlgorithm::Sha1 => {
            &[0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14]
        }
        HashAlgorithm::Ripemd160 => {
            &[0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x24, 0x03, 0x02, 0x01, 0x05, 0x00, 0x04, 0x14]
        }
        HashAlgorithm::Sha256 => sha!(1, 0x20),
        HashAlgorithm::Sha384 => sha!(2, 0x30),
        HashAlgorithm::Sha512 => sha!(3, 0x40),
        HashAlgorithm::Sha224 => sha!(4, 0x1c),
        HashAlgorithm::Sha3_224 => sha!(7, 0x1c),
        HashAlgorithm::Sha3_256 => sha!(8, 0x20),
        HashAlgorithm::Sha3_384 => sha!(9, 0x30),
        HashAlgorithm::Sha3_512 => sha!(10, 0x40),
    }
}

/// EMSA-PKCS1-v1_5 (9.2) of a digest: the block to sign, `modulus_bytes` long.
pub fn pkcs1_v15_sign_pad(
    hash: HashAlgorithm,
    hashed: &[u8],
    modulus_bytes: usize,
) -> Result<Vec<u8>, PaddingError> {
    check_digest(hash, hashed)?;
    pkcs1_v15_sign_pad_raw(&[digest_info_prefix(hash), hashed].concat(), modulus_bytes)
}

/// The type 1 block around a message that the caller has formatted, of at most `modulus_bytes - 11` bytes.
pub fn pkcs1_v15_sign_pad_raw(message: &[u8], modulus_bytes: usize) -> Result<Vec<u8>, PaddingError> {
    let filler = pkcs1_filler(message.len(), modulus_bytes)?;
    let mut block = vec![0xff; modulus_bytes];
    (block[0], block[1], block[2 + filler]) = (0, 1, 0);
    block[modulus_bytes - message.len()..].copy_from_slice(message);
    Ok(block)
}

/// The message in a type 1 block with at least 8 bytes of filler. Variable time: signatures are public.
pub fn pkcs1_v15_sign_unpad_vartime(block: &[u8]) -> Result<&[u8], PaddingError> {
    let [0, 1, rest @ ..] = block else { return Err(PaddingError::Invalid) };
    let filler = rest.iter().take_while(|byte| **byte == 0xff).count();
    match &rest[filler..] {
        [0, message @ ..] if filler >= PKCS1_BYTES - 3 => Ok(message),
        _ => Err(PaddingError::Invalid),
    }
}

/// Whether `block`, the result of the public operation, is exactly the padded digest.
pub fn pkcs1_v15_verify(hash: HashAlgorithm, hashed: &[u8], block: &[u8]) -> Result<(), PaddingError> {
    let expected = pkcs1_v15_sign_pad(hash, hashed, block.len())?;
    if expected.ct_eq(block).into() { Ok(()) } else { Err(PaddingError::Invalid) }
}

/// EME-PKCS1-v1_5 (7.2.1): the block to encrypt, `modulus_bytes` long, around at most `modulus_bytes - 11`
/// bytes.
pub fn pkcs1_v15_encrypt_pad(message: &[u8], modulus_bytes: usize) -> Result<SecretBytes, PaddingError> {
    let filler = pkcs1_filler(message.len(), modulus_bytes)?;
    let mut block = SecretBytes::new(modulus_bytes);
    block[1] = 2;
    let random = &mut block[2..2 + filler];
    random::fill(random);
    // The filler must hold no zero: replace each by fresh random bytes until none is left.
    for byte in random {
        while *byte == 0 {
            random::fill(std::slice::from_mut(byte));
        }
    }
    block[modulus_bytes - message.len()..].copy_from_slice(message);
    Ok(block)
}

/// Undoes [`pkcs1_v15_encrypt_pad`] (7.2.2) on a deciphered block. The time depends on the block's length and, if the
/// block is valid, on the message's.
pub fn pkcs1_v15_encrypt_unpad(block: &[u8]) -> Result<SecretBytes, PaddingError> {
    if block.len() < PKCS1_BYTES {
        return Err(PaddingError::Invalid);
    }
    let mut good = block[0].ct_eq(&0) & block[1].ct_eq(&2);
    let mut searching = Choice::from(1);
    let mut start = 0u32;
    for (index, byte) in block.iter().enumerate().skip(2) {
        let zero = byte.ct_eq(&0);
        start.conditional_assign(&(index as u32 + 1), searching & zero);
        searching &= !zero;
    }
    good &= !searching;
    // At least eight bytes of filler: the message starts at offset 11 or later.
    good &= start.ct_gt(&(PKCS1_BYTES as u32 - 1));
    if !bool::from(good) {
        return Err(PaddingError::Invalid);
    }
    Ok(SecretBytes::from_slice(&block[start as usize..]))
}

/// EME-OAEP (7.1.1) with one hash for label and mask: the block to encrypt, `modulus_bytes` long, around at
/// most `modulus_bytes - 2 * digest - 2` bytes.
pub fn oaep_pad(
    hash: HashAlgorithm,
    label: &[u8],
    message: &[u8],
    modulus_bytes: usize,
) -> Result<SecretBytes, PaddingError> {
    let digest_bytes = hash.digest_bytes();
    let mut seed = SecretBytes::new(digest_bytes);
    random::fill(&mut seed);
    oaep_pad_with_seed(hash, label, message, modulus_bytes, &seed)
}

fn oaep_pad_with_seed(
    hash: HashAlgorithm,
    label: &[u8],
    message: &[u8],
    modulus_bytes: usize,
    random: &[u8],
) -> Result<SecretBytes, PaddingError> {
    let digest_bytes = hash.digest_bytes();
    let bytes_max = modulus_bytes.saturating_sub(2 * digest_bytes + 2);
    if modulus_bytes < 2 * digest_bytes + 2 || message.len() > bytes_max {
        return Err(PaddingError::MessageTooLong { bytes: message.len(), bytes_max });
    }
    let mut block = SecretBytes::new(modulus_bytes);
    let (seed, data) = block[1..].split_at_mut(digest_bytes);
    data[..digest_bytes].copy_from_slice(&digest(hash, &[label])[..digest_bytes]);
    let start = data.len() - message.len();
    data[start - 1] = 1;
    data[start..].copy_from_slice(message);
    seed.copy_from_slice(random);
    mgf1_xor(hash, seed, data);
    mgf1_xor(hash, data, seed);
    Ok(block)
}

/// Undoes [`oaep_pad`] (7.1.2) on a deciphered block. The time depends on the block's length and, if the block is
/// valid, on the message's.
pub fn oaep_unpad(hash: HashAlgorithm, label: &[u8], block: &[u8]) -> Result<SecretBytes, PaddingError> {
    let digest_bytes = hash.digest_bytes();
    if block.len() < 2 * digest_bytes + 2 {
        return Err(PaddingError::Invalid);
    }
    let mut copy = SecretBytes::from_slice(block);
    let (first, rest) = copy.split_at_mut(1);
    let (seed, data) = rest.split_at_mut(digest_bytes);
    mgf1_xor(hash, data, seed);
    mgf1_xor(hash, seed, data);
    let expected = digest(hash, &[label]);
    let mut good = first[0].ct_eq(&0) & data[..digest_bytes].ct_eq(&expected[..digest_bytes]);
    let mut searching = Choice::from(1);
    let mut start = 0u32;
    for (index, byte) in data.iter().enumerate().skip(digest_bytes) {
        let one = byte.ct_eq(&1);
        good &= !searching | one | byte.ct_eq(&0);
        start.conditional_assign(&(index as u32 + 1), searching & one);
        searching &= !one;
    }
    good &= !searching;
    if !bool::from(good) {
        return Err(PaddingError::Invalid);
    }
    Ok(SecretBytes::from_slice(&data[start as usize..]))
}

/// EMSA-PSS-ENCODE (9.1.1) of a digest with a random salt: the block to sign, as long as the modulus.
pub fn pss_encode(
    hash: HashAlgorithm,
    hashed: &[u8],
    salt_bytes: usize,
    modulus_bits: usize,
) -> Result<Vec<u8>, PaddingError> {
    let mut salt = vec![0; salt_bytes];
    random::fill(&mut salt);
    pss_encode_with_salt(hash, hashed, &salt, modulus_bits)
}

fn pss_encode_with_salt(
    hash: HashAlgorithm,
    hashed: &[u8],
    salt: &[u8],
    modulus_bits: usize,
) -> Result<Vec<u8>, PaddingError> {
    check_digest(hash, hashed)?;
    let digest_bytes = hash.digest_bytes();
    let encoded_bits = modulus_bits.saturating_sub(1);
    let encoded_bytes = encoded_bits.div_ceil(8);
    let bytes_max = encoded_bytes.saturating_sub(digest_bytes + 2);
    if encoded_bytes < digest_bytes + 2 || salt.len() > bytes_max {
        return Err(PaddingError::MessageTooLong { bytes: salt.len(), bytes_max });
    }
    let mut block = vec![0; modulus_bits.div_ceil(8)];
    let offset = block.len() - encoded_bytes;
    let (masked, tail) = block[offset..].split_at_mut(encoded_bytes - digest_bytes - 1);
    let hash_value = digest(hash, &[&[0; 8], hashed, salt]);
    tail[..digest_bytes].copy_from_slice(&hash_value[..digest_bytes]);
    tail[digest_bytes] = 0xbc;
    let salt_start = masked.len() - salt.len();
    masked[salt_start - 1] = 1;
    masked[salt_start..].copy_from_slice(salt);
    mgf1_xor(hash, &tail[..digest_bytes], masked);
    masked[0] &= 0xff >> (8 * encoded_bytes - encoded_bits);
    Ok(block)
}

/// EMSA-PSS-VERIFY (9.1.2) of a block as long as the modulus, the result of the public operation. `salt_bytes` of
/// `None` accepts a salt of any length. Variable time: signatures are public.
pub fn pss_verify_vartime(
    hash: HashAlgorithm,
    hashed: &[u8],
    salt_bytes: Option<usize>,
    block: &[u8],
    modulus_bits: usize,
) -> Result<(), PaddingError> {
    check_digest(hash, hashed)?;
    let digest_bytes = hash.digest_bytes();
    let encoded_bits = modulus_bits.saturating_sub(1);
    let encoded_bytes = encoded_bits.div_ceil(8);
    if block.len() != modulus_bits.div_ceil(8) || encoded_bytes < digest_bytes + 2 {
        return Err(PaddingError::Invalid);
    }
    let (head, encoded) = block.split_at(block.len() - encoded_bytes);
    let (masked, tail) = encoded.split_at(encoded_bytes - digest_bytes - 1);
    let mask = 0xffu8 >> (8 * encoded_bytes - encoded_bits);
    if head.iter().any(|byte| *byte != 0) || tail[digest_bytes] != 0xbc || masked[0] & !mask != 0 {
        return Err(PaddingError::Invalid);
    }
    let mut data = masked.to_vec();
    mgf1_xor(hash, &tail[..digest_bytes], &mut data);
    data[0] &= mask;
    let zeros = data.iter().take_while(|byte| **byte == 0).count();
    let [1, salt @ ..] = &data[zeros..] else { return Err(PaddingError::Invalid) };
    let expected = digest(hash, &[&[0; 8], hashed, salt]);
    let fits = tail[..digest_bytes] == expected[..digest_bytes];
    if fits && salt_bytes.is_none_or(|bytes| bytes == salt.len()) {
        Ok(())
    } else {
        Err(PaddingError::Invalid)
    }
}

/// XORs the mask of MGF1 (B.2.1) over `data`.
fn mgf1_xor(hash: HashAlgorithm, seed: &[u8], data: &mut [u8]) {
    let mut start = HashState::new(hash);
    start.update(seed);
    for (counter, part) in data.chunks_mut(hash.digest_bytes()).enumerate() {
        let mut state = start.clone();
        state.update(&(counter as u32).to_be_bytes());
        let mut mask = state.finish_in_place();
        for (byte, mask_byte) in part.iter_mut().zip(&mask) {
            *byte ^= mask_byte;
        }
        wipe_bytes(&mut mask);
    }
}

fn check_digest(hash: HashAlgorithm, hashed: &[u8]) -> Result<(), PaddingError> {
    if hashed.len() != hash.digest_bytes() {
        return Err(PaddingError::DigestLength { hash, bytes: hashed.len() });
    }
    Ok(())
}

/// Length of the filler between the first two bytes and the zero byte. An error if it would be less than 8 bytes.
fn pkcs1_filler(message_bytes: usize, modulus_bytes: usize) -> Result<usize, PaddingError> {
    let bytes_max = modulus_bytes.saturating_sub(PKCS1_BYTES);
    if modulus_bytes < PKCS1_BYTES || message_bytes > bytes_max {
        return Err(PaddingError::MessageTooLong { bytes: message_bytes, bytes_max });
    }
    Ok(modulus_bytes - message_bytes - 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS: [usize; 6] = [512, 520, 1000, 1024, 1025, 2048];

    #[test]
    fn what_is_padded_is_found_again() {
        for bits in BITS {
            let bytes = bits.div_ceil(8);
            for len in [0, 1, 16, bytes - 11] {
                let message = vec![0x5a; len];
                let block = pkcs1_v15_encrypt_pad(&message, bytes).unwrap();
                assert_eq!(block.len(), bytes);
                assert_eq!(*pkcs1_v15_encrypt_unpad(&block).unwrap(), *message);
                let block = pkcs1_v15_sign_pad_raw(&message, bytes).unwrap();
                assert_eq!(pkcs1_v15_sign_unpad_vartime(&block).unwrap(), message);
            }
            let hash = HashAlgorithm::Sha1;
            for len in [0, 1, bytes - 42] {
                let message = vec![0x5a; len];
                let block = oaep_pad(hash, b"label", &message, bytes).unwrap();
                assert_eq!(*oaep_unpad(hash, b"label", &block).unwrap(), *message);
                assert_eq!(oaep_unpad(hash, b"other", &block), Err(PaddingError::Invalid));
            }
            for salt in [0, 8, 20] {
                let hashed = [7; 20];
                let block = pss_encode(hash, &hashed, salt, bits).unwrap();
                assert_eq!(pss_verify_vartime(hash, &hashed, Some(salt), &block, bits), Ok(()));
                assert_eq!(pss_verify_vartime(hash, &hashed, None, &block, bits), Ok(()));
                let wrong = pss_verify_vartime(hash, &hashed, Some(salt + 1), &block, bits);
                assert_eq!(wrong, Err(PaddingError::Invalid));
                let wrong = pss_verify_vartime(hash, &[8; 20], None, &block, bits);
                assert_eq!(wrong, Err(PaddingError::Invalid));
            }
        }
    }

    /// Every byte changed in turn makes OAEP, PSS and signature blocks invalid.
    #[test]
    fn every_changed_byte_is_noticed() {
        let hash = HashAlgorithm::Sha256;
        let oaep = oaep_pad(hash, b"", b"message", 128).unwrap();
        let pss = pss_encode(hash, &[1; 32], 32, 1024).unwrap();
        let signed = pkcs1_v15_sign_pad(hash, &[1; 32], 128).unwrap();
        for at in 0..128 {
            let mut block = oaep.clone();
            block[at] ^= 1;
            assert_eq!(oaep_unpad(hash, b"", &block), Err(PaddingError::Invalid), "byte {at}");
            let mut block = pss.clone();
            block[at] ^= 1;
            assert!(pss_verify_vartime(hash, &[1; 32], None, &block, 1024).is_err(), "byte {at}");
            let mut block = signed.clone();
            block[at] ^= 1;
            assert!(pkcs1_v15_verify(hash, &[1; 32], &block).is_err(), "byte {at}");
        }
    }

    #[test]
    fn malformed_type_2_blocks_give_one_answer() {
        let good = pkcs1_v15_encrypt_pad(b"message", 64).unwrap();
        let check = |change: fn(&mut [u8])| {
            let mut block = good.clone();
            change(&mut block);
            assert_eq!(pkcs1_v15_encrypt_unpad(&block), Err(PaddingError::Invalid));
        };
        check(|block| block[0] = 1);
        check(|block| block[1] = 1);
        check(|block| block[9] = 0); // seven bytes of filler
        check(|block| block[2..].iter_mut().for_each(|byte| *byte |= 1)); // no zero at all
        assert_eq!(pkcs1_v15_encrypt_unpad(&good[..10]), Err(PaddingError::Invalid));
        let mut shortest = vec![0xff; 64];
        (shortest[0], shortest[1], shortest[10]) = (0, 2, 0);
        assert_eq!(pkcs1_v15_encrypt_unpad(&shortest).unwrap().len(), 53);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_limit() {
        let too_long = PaddingError::MessageTooLong { bytes: 54, bytes_max: 53 };
        assert_eq!(pkcs1_v15_encrypt_pad(&[0; 54], 64).unwrap_err(), too_long);
        assert_eq!(pkcs1_v15_sign_pad_raw(&[0; 54], 64).unwrap_err(), too_long);
        let too_long = PaddingError::MessageTooLong { bytes: 0, bytes_max: 0 };
        assert_eq!(oaep_pad(HashAlgorithm::Sha256, b"", b"", 64).unwrap_err(), too_long);
        let too_long = PaddingError::MessageTooLong { bytes: 31, bytes_max: 30 };
        assert_eq!(pss_encode(HashAlgorithm::Sha256, &[0; 32], 31, 512).unwrap_err(), too_long);
        let length = PaddingError::DigestLength { hash: HashAlgorithm::Sha1, bytes: 19 };
        assert_eq!(pkcs1_v15_sign_pad(HashAlgorithm::Sha1, &[0; 19], 64).unwrap_err(), length);
        assert_eq!(
            pkcs1_v15_sign_pad_raw(&[], 10).unwrap_err(),
            PaddingError::MessageTooLong { bytes: 0, bytes_max: 0 }
        );
    }
}
