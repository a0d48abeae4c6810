//! AESKW of ANSI X9.102, as key tokens use it: a payload of six X'A6', the padding length in bits,
//! the hash length in bytes, four zero bytes, the hash of the associated data, the key, padding to
//! 8; through the six-pass network of RFC 3394 section 2.2 with the first semiblock in the place
//! of its initial value.
//!
//! A failure gives no detail, and is determined only after the whole payload was processed.

use engine::{CipherDirection, CipherKey, Engine, KeyWrapItem, SecretBytes};
use subtle::{Choice, ConstantTimeEq};
use token::pka::unconfirmed::{AESKW_HEADER_BYTES, OPK_CONFOUNDER_BYTES};
use wire::{Codes, code};

/// Length of a semiblock.
const SEMIBLOCK: usize = 8;
const ICV: [u8; 6] = [0xA6; 6];
/// Longest padding: its length in bits is one byte.
const PADDING_BYTES_MAX: usize = 31;

/// The payload was not made with the same key and associated data, or has another shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnwrapFailed;

/// Runs the network over many payloads in place, each under its own wrapping key.
///
/// # Errors
/// 16/336 for a payload that is not whole semiblocks, at least three; it is then the answer of all. No such payload
/// comes here: one to be wrapped is made here, and the length of one to be opened is checked before.
pub(crate) fn run<'l>(
    engine: &Engine,
    direction: CipherDirection,
    lanes: impl Iterator<Item = (&'l CipherKey, &'l mut [u8])>,
) -> Result<(), Codes> {
    let mut items: Vec<_> = lanes.map(|(key, payload)| KeyWrapItem::new(key, payload)).collect();
    engine.key_wrap_batch(direction, &mut items);
    if items.iter().all(|item| item.result.is_ok()) { Ok(()) } else { Err(code::SELF_CHECK) }
}

fn run_one(
    engine: &Engine,
    direction: CipherDirection,
    key: &CipherKey,
    payload: &mut SecretBytes,
) -> Result<(), Codes> {
    run(engine, direction, [(key, payload.as_mut())].into_iter())
}

/// Wraps `value` under `key`; `hash` is that of the associated data, or empty where there is none.
///
/// # Errors
/// As [`run`].
pub(crate) fn wrap(engine: &Engine, key: &CipherKey, hash: &[u8], value: &[u8]) -> Result<Vec<u8>, Codes> {
    let padded = (AESKW_HEADER_BYTES + hash.len() + value.len()).next_multiple_of(SEMIBLOCK);
    let mut payload = payload(hash, value, padded);
    run_one(engine, CipherDirection::Encipher, key, &mut payload)?;
    Ok(payload.to_vec())
}

/// The payload of a key before it goes through the network, `padded` bytes long: a multiple of 8, and at most 31 bytes
/// more than the content, since the padding length in bits is one byte.
pub(crate) fn payload(hash: &[u8], value: &[u8], padded: usize) -> SecretBytes {
    let length = AESKW_HEADER_BYTES + hash.len() + value.len();
    let mut payload = SecretBytes::new(padded);
    payload[..6].copy_from_slice(&ICV);
    payload[6] = ((padded - length) * 8) as u8;
    payload[7] = hash.len() as u8;
    payload[AESKW_HEADER_BYTES..][..hash.len()].copy_from_slice(hash);
    payload[AESKW_HEADER_BYTES + hash.len()..length].copy_from_slice(value);
    payload
}

/// Unwraps a key of `key_bytes`.
///
/// # Errors
/// [`UnwrapFailed`].
pub(crate) fn unwrap(
    engine: &Engine,
    key: &CipherKey,
    hash: &[u8],
    wrapped: &[u8],
    key_bytes: usize,
) -> Result<SecretBytes, UnwrapFailed> {
    let padded = (AESKW_HEADER_BYTES + hash.len() + key_bytes).next_multiple_of(SEMIBLOCK);
    if wrapped.len() != padded {
        return Err(UnwrapFailed);
    }
    checked(&deciphered(engine, key, wrapped)?, hash, key_bytes)
}

/// Whether a wrapped key can have this length.
pub(crate) fn is_padded(hash: &[u8], wrapped: &[u8]) -> bool {
    wrapped.len() >= AESKW_HEADER_BYTES + hash.len() && wrapped.len().is_multiple_of(SEMIBLOCK)
}

/// The key of an [`is_padded`] payload that came out of the network. The payload states the key's length, which is no
/// secret.
///
/// # Errors
/// [`UnwrapFailed`].
pub(crate) fn opened_padded(payload: &SecretBytes, hash: &[u8]) -> Result<SecretBytes, UnwrapFailed> {
    // Under a wrong key these bytes are arbitrary: a key length of zero fails like every other error.
    let padding = usize::from(payload[6]) / 8;
    let key_bytes = (payload.len() - AESKW_HEADER_BYTES - hash.len()).saturating_sub(padding);
    checked(payload, hash, key_bytes)
}

/// Wraps a key behind a confounder: eight bytes in the form of a payload's first semiblock, with padding length and
/// hash length zero, then eight random ones.
///
/// # Errors
/// As [`run`].
pub(crate) fn wrap_confounded(
    engine: &Engine,
    key: &CipherKey,
    confounder: [u8; OPK_CONFOUNDER_BYTES],
    value: &[u8],
) -> Result<Vec<u8>, Codes> {
    let mut payload = SecretBytes::new(SEMIBLOCK + OPK_CONFOUNDER_BYTES + value.len());
    payload[..ICV.len()].copy_from_slice(&ICV);
    payload[SEMIBLOCK..][..OPK_CONFOUNDER_BYTES].copy_from_slice(&confounder);
    payload[SEMIBLOCK + OPK_CONFOUNDER_BYTES..].copy_from_slice(value);
    run_one(engine, CipherDirection::Encipher, key, &mut payload)?;
    Ok(payload.to_vec())
}

/// Unwraps a key that [`wrap_confounded`] wrapped.
///
/// # Errors
/// [`UnwrapFailed`].
pub(crate) fn unwrap_confounded(
    engine: &Engine,
    key: &CipherKey,
    wrapped: &[u8],
) -> Result<SecretBytes, UnwrapFailed> {
    if !wrapped.len().is_multiple_of(SEMIBLOCK) || wrapped.len() <= SEMIBLOCK + OPK_CONFOUNDER_BYTES {
        return Err(UnwrapFailed);
    }
    let payload = deciphered(engine, key, wrapped)?;
    let (check, rest) = payload.split_at(SEMIBLOCK);
    if bool::from(check[..ICV.len()].ct_eq(&ICV) & check[ICV.len()..].ct_eq(&[0; 2])) {
        Ok(SecretBytes::from_slice(&rest[OPK_CONFOUNDER_BYTES..]))
    } else {
        Err(UnwrapFailed)
    }
}

/// The payload as it was before it was wrapped.
fn deciphered(engine: &Engine, key: &CipherKey, wrapped: &[u8]) -> Result<SecretBytes, UnwrapFailed> {
    let mut payload = SecretBytes::from_slice(wrapped);
    run_one(engine, CipherDirection::Decipher, key, &mut payload).map_err(|_| UnwrapFailed)?;
    Ok(payload)
}

/// The key of a payload whose header, hash and padding are as they must be.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::aes_256;
    use engine::Options;
    use openssl::aes::{AesKey, unwrap_key, wrap_key};
    use proptest::prelude::*;

    fn engine() -> Engine {
        Engine::new(Options::default()).unwrap()
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
        let (engine, key) = (engine(), aes_256(&engine(), &[1; 32]).unwrap());
        assert_eq!(wrap(&engine, &key, &[], &[2; 32]).unwrap().len(), 48);
    }

    #[test]
    fn a_confounded_key_is_rfc_3394_and_comes_back() {
        let (key, confounder, value) = ([3; 32], [9; OPK_CONFOUNDER_BYTES], [2; 32]);
        let (engine, prepared) = (engine(), aes_256(&engine(), &key).unwrap());
        let wrapped = wrap_confounded(&engine, &prepared, confounder, &value).unwrap();
        let iv = [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0, 0];
        let mut expected = vec![0; 48];
        let rest = [&confounder[..], &value].concat();
        wrap_key(&AesKey::new_encrypt(&key).unwrap(), Some(iv), &mut expected, &rest).unwrap();
        assert_eq!(wrapped, expected);
        let back = |wrapped: &[u8]| unwrap_confounded(&engine, &prepared, wrapped);
        assert_eq!(*back(&wrapped).unwrap(), value);
        for at in 0..wrapped.len() {
            let mut changed = wrapped.clone();
            changed[at] ^= 1;
            assert!(back(&changed).is_err(), "byte {at}");
        }
        for length in 0..wrapped.len() {
            assert!(back(&wrapped[..length]).is_err(), "cut to {length}");
        }
        // A payload of either kind does not open as one of the other kind.
        assert!(unwrap(&engine, &prepared, &[], &wrapped, 32).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn it_is_rfc_3394_and_comes_back(
            key: [u8; 32],
            hashed: bool,
            // RFC 3394 needs at least two semiblocks.
            value in proptest::collection::vec(any::<u8>(), 13..200),
            at: prop::sample::Index,
            flip in 1u8..,
        ) {
            let (engine, prepared) = (engine(), aes_256(&engine(), &key).unwrap());
            let hash = if hashed { vec![7; 32] } else { Vec::new() };
            let wrapped = wrap(&engine, &prepared, &hash, &value).unwrap();
            prop_assert_eq!(&wrapped, &openssl_wrap(&key, &hash, &value));
            let back = |hash: &[u8], wrapped: &[u8], length: usize| {
                unwrap(&engine, &prepared, hash, wrapped, length).map(|value| value.to_vec())
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
                if !is_padded(hash, wrapped) {
                    return Err(UnwrapFailed);
                }
                opened_padded(&deciphered(&engine, &prepared, wrapped)?, hash).map(|value| value.to_vec())
            };
            prop_assert_eq!(any_length(&hash, &wrapped), Ok(value.clone()));
            prop_assert_eq!(any_length(&hash, &changed), Err(UnwrapFailed));
            prop_assert_eq!(any_length(&hash, &wrapped[8..]), Err(UnwrapFailed));
            prop_assert_eq!(any_length(&hash, &wrapped[1..]), Err(UnwrapFailed));
            let longer = wrapped.len() + 8 * (flip as usize % 3);
            let mut padded = payload(&hash, &value, longer);
            run_one(&engine, CipherDirection::Encipher, &prepared, &mut padded).unwrap();
            prop_assert_eq!(any_length(&hash, &padded), Ok(value.clone()));
            let mut other = vec![0; wrapped.len() - 8];
            let initial = Some([0xA6; 8]);
            let plain = unwrap_key(&AesKey::new_decrypt(&key).unwrap(), initial, &mut other, &wrapped);
            prop_assert!(plain.is_err(), "a wrapping without header is another one");
        }
    }
}
