//! AESKW of ANSI X9.102, as key tokens use it: a payload of six X'A6', the padding length in bits,
//! the hash length in bytes, four zero bytes, the hash of the associated data, the key, padding to
//! 8; through the six-pass network of RFC 3394 section 2.2 with the first semiblock in the place
//! of its initial value.
//!
//! A failure gives no detail, and is determined only after the whole payload was processed.

use engine::{CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Engine, Mode, SecretBytes};
use subtle::{Choice, ConstantTimeEq};
use token::pka::unconfirmed::{AESKW_HEADER_BYTES, OPK_CONFOUNDER_BYTES};
use wire::{Codes, code};
use zeroize::Zeroize;

/// Length of a semiblock.
const SEMIBLOCK: usize = 8;
const ICV: [u8; 6] = [0xA6; 6];
const PASSES: usize = 6;
/// Longest padding: its length in bits is one byte.
const PADDING_BYTES_MAX: usize = 31;

/// The payload did not come out of the same key and associated data, or has another shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnwrapFailed;

/// Enciphers or deciphers one block in place under the wrapping key.
pub(crate) trait Block: FnMut(&mut [u8; 16]) {}
impl<F: FnMut(&mut [u8; 16])> Block for F {}

/// A prepared wrapping key.
pub(crate) fn aes_256(engine: &Engine, key: &[u8]) -> Result<CipherKey, Codes> {
    engine.cipher_key_internal(CipherAlgorithm::Aes256, key).map_err(|_| code::SELF_CHECK)
}

/// One block at a time under a prepared key.
pub(crate) fn block<'k>(
    engine: &'k Engine,
    key: &'k CipherKey,
    direction: CipherDirection,
) -> impl Block + 'k {
    move |data: &mut [u8; 16]| {
        engine.cipher_batch(Mode::Ecb, direction, &mut [CipherItem::new(key, &[], data)]);
    }
}

/// Wraps `key`; `hash` is that of the associated data, or empty where there is none.
/// `encipher` is the AES-256 block encipherment under the wrapping key.
pub(crate) fn wrap(encipher: impl Block, hash: &[u8], key: &[&[u8]]) -> Vec<u8> {
    let key_bytes: usize = key.iter().map(|part| part.len()).sum();
    let padded = (AESKW_HEADER_BYTES + hash.len() + key_bytes).next_multiple_of(SEMIBLOCK);
    wrap_to(encipher, hash, key, padded)
}

/// The same in a payload of this length, which is a multiple of 8 below the key's by at most 31 bytes of padding: its length
/// in bits is one byte.
pub(crate) fn wrap_padded(encipher: impl Block, hash: &[u8], key: &[u8], padded: usize) -> Vec<u8> {
    wrap_to(encipher, hash, &[key], padded)
}

fn wrap_to(encipher: impl Block, hash: &[u8], key: &[&[u8]], padded: usize) -> Vec<u8> {
    let key_bytes: usize = key.iter().map(|part| part.len()).sum();
    let length = AESKW_HEADER_BYTES + hash.len() + key_bytes;
    let mut payload = vec![0; padded];
    payload[..6].copy_from_slice(&ICV);
    payload[6] = ((padded - length) * 8) as u8;
    payload[7] = hash.len() as u8;
    payload[AESKW_HEADER_BYTES..][..hash.len()].copy_from_slice(hash);
    let mut at = AESKW_HEADER_BYTES + hash.len();
    for part in key {
        payload[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }

    encipher_payload(encipher, &mut payload);
    payload
}

/// Unwraps a key of `key_bytes`; `decipher` is the AES-256 block decipherment under the wrapping key.
///
/// # Errors
/// [`UnwrapFailed`].
pub(crate) fn unwrap(
    decipher: impl Block,
    hash: &[u8],
    wrapped: &[u8],
    key_bytes: usize,
) -> Result<SecretBytes, UnwrapFailed> {
    let padded = (AESKW_HEADER_BYTES + hash.len() + key_bytes).next_multiple_of(SEMIBLOCK);
    if wrapped.len() != padded {
        return Err(UnwrapFailed);
    }
    checked(&deciphered(decipher, wrapped), hash, key_bytes)
}

/// Unwraps a key that is as long as the payload says, which is no secret.
///
/// # Errors
/// [`UnwrapFailed`].
pub(crate) fn unwrap_padded(
    decipher: impl Block,
    hash: &[u8],
    wrapped: &[u8],
) -> Result<SecretBytes, UnwrapFailed> {
    let least = AESKW_HEADER_BYTES + hash.len();
    if wrapped.len() < least || !wrapped.len().is_multiple_of(SEMIBLOCK) {
        return Err(UnwrapFailed);
    }
    let payload = deciphered(decipher, wrapped);
    // What is there under another key says anything: a length of zero fails like all else.
    let padding = usize::from(payload[6]) / 8;
    let key_bytes = (wrapped.len() - least).saturating_sub(padding);
    checked(&payload, hash, key_bytes)
}

/// Wraps a key behind a confounder: eight bytes as those that begin every payload, with nothing to say of padding and hash,
/// then eight random ones.
pub(crate) fn wrap_confounded(
    encipher: impl Block,
    confounder: [u8; OPK_CONFOUNDER_BYTES],
    key: &[u8],
) -> Vec<u8> {
    let mut payload = [&ICV[..], &[0; 2], &confounder, key].concat();
    encipher_payload(encipher, &mut payload);
    payload
}

/// Unwraps a key that [`wrap_confounded`] wrapped.
///
/// # Errors
/// [`UnwrapFailed`].
pub(crate) fn unwrap_confounded(decipher: impl Block, wrapped: &[u8]) -> Result<SecretBytes, UnwrapFailed> {
    let mut payload = SecretBytes::from_slice(wrapped);
    if !payload.len().is_multiple_of(SEMIBLOCK) || payload.len() <= SEMIBLOCK + OPK_CONFOUNDER_BYTES {
        return Err(UnwrapFailed);
    }
    decipher_payload(decipher, payload.as_mut());
    let (check, rest) = payload.split_at(SEMIBLOCK);
    if bool::from(check[..ICV.len()].ct_eq(&ICV) & check[ICV.len()..].ct_eq(&[0; 2])) {
        Ok(SecretBytes::from_slice(&rest[OPK_CONFOUNDER_BYTES..]))
    } else {
        Err(UnwrapFailed)
    }
}

/// The network of RFC 3394, 2.2.1, over a payload of whole semiblocks.
fn encipher_payload(mut encipher: impl Block, payload: &mut [u8]) {
    let semiblocks = payload.len() / SEMIBLOCK - 1;
    let mut block = [0; 16];
    block[..SEMIBLOCK].copy_from_slice(&payload[..SEMIBLOCK]);
    for pass in 0..PASSES {
        for index in 1..=semiblocks {
            let at = index * SEMIBLOCK;
            block[SEMIBLOCK..].copy_from_slice(&payload[at..at + SEMIBLOCK]);
            encipher(&mut block);
            payload[at..at + SEMIBLOCK].copy_from_slice(&block[SEMIBLOCK..]);
            count_into(&mut block, pass * semiblocks + index);
        }
    }
    payload[..SEMIBLOCK].copy_from_slice(&block[..SEMIBLOCK]);
    block.zeroize();
}

/// What undoes [`encipher_payload`].
fn decipher_payload(mut decipher: impl Block, bytes: &mut [u8]) {
    let semiblocks = bytes.len() / SEMIBLOCK - 1;
    let mut block = [0; 16];
    block[..SEMIBLOCK].copy_from_slice(&bytes[..SEMIBLOCK]);
    for pass in (0..PASSES).rev() {
        for index in (1..=semiblocks).rev() {
            let at = index * SEMIBLOCK;
            count_into(&mut block, pass * semiblocks + index);
            block[SEMIBLOCK..].copy_from_slice(&bytes[at..at + SEMIBLOCK]);
            decipher(&mut block);
            bytes[at..at + SEMIBLOCK].copy_from_slice(&block[SEMIBLOCK..]);
        }
    }
    bytes[..SEMIBLOCK].copy_from_slice(&block[..SEMIBLOCK]);
    block.zeroize();
}

/// What a payload was before it was wrapped.
fn deciphered(decipher: impl Block, wrapped: &[u8]) -> SecretBytes {
    let mut payload = SecretBytes::from_slice(wrapped);
    decipher_payload(decipher, payload.as_mut());
    payload
}

/// The key of a payload, where all of it is as it was made.
fn checked(bytes: &[u8], hash: &[u8], key_bytes: usize) -> Result<SecretBytes, UnwrapFailed> {
    let length = AESKW_HEADER_BYTES + hash.len() + key_bytes;
    let mut header = [0; AESKW_HEADER_BYTES];
    header[..6].copy_from_slice(&ICV);
    header[6] = ((bytes.len() - length) * 8) as u8;
    header[7] = hash.len() as u8;
    let good: Choice = bytes[..AESKW_HEADER_BYTES].ct_eq(&header)
        & bytes[AESKW_HEADER_BYTES..][..hash.len()].ct_eq(hash)
        & bytes[length..].ct_eq(&[0; PADDING_BYTES_MAX][..bytes.len() - length]);
    if bool::from(good) {
        Ok(SecretBytes::from_slice(&bytes[AESKW_HEADER_BYTES + hash.len()..length]))
    } else {
        Err(UnwrapFailed)
    }
}

/// XORs the step's number into the first semiblock.
fn count_into(block: &mut [u8; 16], step: usize) {
    for (byte, count) in block[..SEMIBLOCK].iter_mut().zip((step as u64).to_be_bytes()) {
        *byte ^= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::aes::{AesKey, unwrap_key, wrap_key};
    use openssl::symm::{Cipher, Crypter, Mode};
    use proptest::prelude::*;

    fn block(key: [u8; 32], mode: Mode) -> impl FnMut(&mut [u8; 16]) {
        move |data| {
            let mut crypter = Crypter::new(Cipher::aes_256_ecb(), mode, &key, None).unwrap();
            crypter.pad(false);
            let mut out = [0; 32];
            crypter.update(data, &mut out).unwrap();
            data.copy_from_slice(&out[..16]);
        }
    }

    /// RFC 3394 over the same payload, with its first semiblock as the initial value.
    fn openssl_wrap(key: &[u8; 32], hash: &[u8], value: &[u8]) -> Vec<u8> {
        let length = 12 + hash.len() + value.len();
        let padding = length.next_multiple_of(8) - length;
        let iv = [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, (padding * 8) as u8, hash.len() as u8];
        let rest = [&[0; 4], hash, value, &vec![0; padding]].concat();
        let mut out = vec![0; rest.len() + 8];
        wrap_key(&AesKey::new_encrypt(key).unwrap(), Some(iv), &mut out, &rest).unwrap();
        out
    }

    #[test]
    fn an_object_protection_key_takes_48_bytes() {
        assert_eq!(wrap(block([1; 32], Mode::Encrypt), &[], &[&[2; 32]]).len(), 48);
    }

    #[test]
    fn a_confounded_key_is_rfc_3394_and_comes_back() {
        let (key, confounder, value) = ([3; 32], [9; OPK_CONFOUNDER_BYTES], [2; 32]);
        let wrapped = wrap_confounded(block(key, Mode::Encrypt), confounder, &value);
        let iv = [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0, 0];
        let mut expected = vec![0; 48];
        let rest = [&confounder[..], &value].concat();
        wrap_key(&AesKey::new_encrypt(&key).unwrap(), Some(iv), &mut expected, &rest).unwrap();
        assert_eq!(wrapped, expected);
        let back = |wrapped: &[u8]| unwrap_confounded(block(key, Mode::Decrypt), wrapped);
        assert_eq!(*back(&wrapped).unwrap(), value);
        for at in 0..wrapped.len() {
            let mut changed = wrapped.clone();
            changed[at] ^= 1;
            assert!(back(&changed).is_err(), "byte {at}");
        }
        for length in 0..wrapped.len() {
            assert!(back(&wrapped[..length]).is_err(), "cut to {length}");
        }
        // The two kinds do not open as one another.
        assert!(unwrap(block(key, Mode::Decrypt), &[], &wrapped, 32).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn it_is_rfc_3394_and_comes_back(
            key: [u8; 32],
            hashed: bool,
            // RFC 3394 begins at two semiblocks.
            value in proptest::collection::vec(any::<u8>(), 13..200),
            at: prop::sample::Index,
            flip in 1u8..,
        ) {
            let hash = if hashed { vec![7; 32] } else { Vec::new() };
            let (left, right) = value.split_at(value.len() / 2);
            let wrapped = wrap(block(key, Mode::Encrypt), &hash, &[left, right]);
            prop_assert_eq!(&wrapped, &openssl_wrap(&key, &hash, &value));
            let back = |hash: &[u8], wrapped: &[u8], length: usize| {
                unwrap(block(key, Mode::Decrypt), hash, wrapped, length).map(|value| value.to_vec())
            };
            prop_assert_eq!(back(&hash, &wrapped, value.len()), Ok(value.clone()));

            let mut changed = wrapped.clone();
            changed[at.index(wrapped.len())] ^= flip;
            prop_assert_eq!(back(&hash, &changed, value.len()), Err(UnwrapFailed));
            prop_assert_eq!(back(&hash, &wrapped[8..], value.len()), Err(UnwrapFailed));
            prop_assert_eq!(back(&hash, &wrapped, value.len() + 1), Err(UnwrapFailed));
            prop_assert_eq!(back(&hash, &wrapped, value.len() - 1), Err(UnwrapFailed));
            prop_assert_eq!(back(&vec![8; hash.len().max(1)], &wrapped, value.len()), Err(UnwrapFailed));
            let any_length = |hash: &[u8], wrapped: &[u8]| {
                unwrap_padded(block(key, Mode::Decrypt), hash, wrapped).map(|value| value.to_vec())
            };
            prop_assert_eq!(any_length(&hash, &wrapped), Ok(value.clone()));
            prop_assert_eq!(any_length(&hash, &changed), Err(UnwrapFailed));
            prop_assert_eq!(any_length(&hash, &wrapped[8..]), Err(UnwrapFailed));
            let longer = wrapped.len() + 8 * (flip as usize % 3);
            let padded = wrap_padded(block(key, Mode::Encrypt), &hash, &value, longer);
            prop_assert_eq!(any_length(&hash, &padded), Ok(value.clone()));
            let mut other = vec![0; wrapped.len() - 8];
            let initial = Some([0xA6; 8]);
            let plain = unwrap_key(&AesKey::new_decrypt(&key).unwrap(), initial, &mut other, &wrapped);
            prop_assert!(plain.is_err(), "a wrapping without header is another one");
        }
    }
}
