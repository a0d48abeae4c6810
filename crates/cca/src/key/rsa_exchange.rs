//! AES and HMAC keys of variable length under RSA keys.
//!
//! | format | what travels |
//! |---|---|
//! | PKOAEP2 | an external token, whose payload is a block of OAEP over SHA-256 of the associated data (32 bytes), the length of the key in bits (2), and the key |
//! | CKM-RAKW | no token: a block of OAEP (SHA-1) over a new AES-256 key, then an AES key under that by RFC 5649 |
//!
//! A block whose content is wrong in any way has one refusal, 8/66, after the same steps: a block that does not open is
//! processed further with other bytes.

use super::variable_exchange::strength_bits;
use crate::call::Call;
use crate::ground::Refusal;
use crate::pass::Asymmetric;
use crate::pka::encryption::Encryption;
use crate::pka::right_justified;
use crate::prepared::rsa::{PrivateContext, PublicContext};
use engine::{HashAlgorithm, SecretBytes, key_unwrap_padded, key_wrap_padded, sha256};
use std::sync::Arc;
use subtle::{Choice, ConstantTimeEq};
use token::VariableToken;
use token::des::Origin;
use token::variable::{ASSOCIATED_AT, VariableKey, VariableType, Wrapper};
use wire::point::Point;
use wire::{Codes, code};

/// Bytes in front of the key in a block of PKOAEP2: the hash (32), and the length of the key in bits (2).
const HEAD_BYTES: usize = 34;
/// Length of the key between the RSA key and the one that travels, in CKM-RAKW.
const BETWEEN_BYTES: usize = 32;
/// The shortest RSA key of CKM-RAKW, in bits.
const RAKW_MODULUS_BITS: usize = 2048;
/// By how many bytes RFC 5649 makes an AES key longer.
const KEY_WRAP_BYTES: usize = 8;

/// The identifier by which a token names the hash of its block.
const HASHES: [(u8, HashAlgorithm); 4] = [
    (0x01, HashAlgorithm::Sha1),
    (0x02, HashAlgorithm::Sha256),
    (0x04, HashAlgorithm::Sha384),
    (0x08, HashAlgorithm::Sha512),
];

/// Refuses an RSA key that may not import keys. A key that also deciphers data would show the imported keys, which a
/// role may permit; a clear RSA key shows them to its owner anyway.
///
/// # Errors
/// 8/39.
pub(crate) fn may_import(call: &Call<'_, '_>, rsa: &PrivateContext) -> Result<(), Refusal> {
    let both = rsa.age.is_none() || call.permit(Point::DecipherBoth).is_ok();
    let may_import = if both { rsa.usage.may_decipher() } else { rsa.usage.may_import_keys() };
    if may_import { Ok(()) } else { Err(code::KEY_USAGE.into()) }
}

/// Refuses a key that leads to other keys, as a transport key does, unless the role permits it: anybody who made an RSA
/// key can be its sender or its receiver.
///
/// # Errors
/// 8/39.
pub(crate) fn may_go_under_rsa(call: &Call<'_, '_>, key_type: VariableType) -> Result<(), Refusal> {
    if key_type.leads_to_keys() && call.permit(Point::TransportUnderRsa).is_err() {
        return Err(code::KEY_USAGE.into());
    }
    Ok(())
}

/// Whether an RSA key of this modulus is weaker than a key that goes under it: "Key strength and wrapping of key" of
/// CCA's books, by which keys of AES from 192 bits on are stronger than every RSA key that is served.
pub(crate) fn is_weaker(modulus_bits: usize, key_type: VariableType, key_bytes: usize) -> bool {
    let bits = match modulus_bits {
        ..2048 => 80,
        2048..3072 => 112,
        3072..7680 => 128,
        7680..15360 => 192,
        _ => 256,
    };
    strength_bits(key_type, key_bytes) > bits
}

/// Length of the external token of a key by PKOAEP2.
///
/// # Errors
/// 8/34 for a hash that no token names, 8/47 for a modulus that no token holds.
pub(crate) fn oaep2_bytes(
    token: &VariableToken,
    hash: HashAlgorithm,
    rsa: &PublicContext,
) -> Result<usize, Refusal> {
    Ok(head_of(token, hash, rsa)?.1.len() + rsa.bytes())
}

/// The number of the hash, and all of the external token in front of its payload.
fn head_of(
    token: &VariableToken,
    hash: HashAlgorithm,
    rsa: &PublicContext,
) -> Result<(Wrapper, Vec<u8>), Refusal> {
    let number = HASHES.iter().find(|(_, known)| *known == hash).ok_or(code::KEYWORD_COMBINATION)?.0;
    let under = Wrapper::Rsa(number);
    // The associated data state the length of the payload.
    let head = token.moved_to(Origin::External).with_payload(under, vec![0; rsa.bytes()])?.head();
    Ok((under, head))
}

/// The external token of a key under an RSA public key.
///
/// # Errors
/// As [`oaep2_bytes`]; 8/25 for a modulus that is too short.
pub(crate) async fn seal_oaep2(
    call: Call<'_, '_>,
    token: &VariableToken,
    secret: &SecretBytes,
    hash: HashAlgorithm,
    rsa: Arc<PublicContext>,
) -> Result<Vec<u8>, Refusal> {
    let (under, head) = head_of(token, hash, &rsa)?;
    let mut message = SecretBytes::new(HEAD_BYTES + secret.len());
    message[..32].copy_from_slice(&sha256(&head[ASSOCIATED_AT..]));
    message[32..HEAD_BYTES].copy_from_slice(&(8 * secret.len() as u16).to_be_bytes());
    message[HEAD_BYTES..].copy_from_slice(secret);
    let block = Encryption::Oaep(hash).seal(&message, &rsa.modulus)?;
    let payload = call.ask(Asymmetric::Public { key: rsa, block }).await?;
    let token = token.moved_to(Origin::External).with_payload(under, payload.to_vec())?;
    Ok(token.to_bytes().to_vec())
}

/// The key of an external token under an RSA key.
///
/// # Errors
/// 8/47 for a token without a key under a key of this kind; 8/66.
pub(crate) async fn open_oaep2(
    call: Call<'_, '_>,
    token: &VariableToken,
    rsa: Arc<PrivateContext>,
) -> Result<SecretBytes, Refusal> {
    let VariableKey::Wrapped { under: Wrapper::Rsa(number), payload } = token.key() else {
        return Err(code::TOKEN_INVALID.into());
    };
    let hash = HASHES.iter().find(|(known, _)| known == number).ok_or(code::TOKEN_INVALID)?.1;
    let block = block_of(payload, &rsa)?;
    let opened = call.ask(Asymmetric::Private { key: rsa, block }).await?;
    let (is_open, message) = opened_or_else(hash, opened, || SecretBytes::new(HEAD_BYTES + 16));
    let (head, key) = message.split_at_checked(HEAD_BYTES).unwrap_or((&[0; HEAD_BYTES], &[]));
    let bits = u16::try_from(8 * key.len()).unwrap_or(0).to_be_bytes();
    let is_whole =
        is_open & head[..32].ct_eq(&sha256(&token.head()[ASSOCIATED_AT..])) & head[32..].ct_eq(&bits);
    if bool::from(is_whole) && token.key_type().has_length(key.len()) {
        Ok(SecretBytes::from_slice(key))
    } else {
        Err(code::RSA_BLOCK.into())
    }
}

/// Refuses an RSA key that is too short for CKM-RAKW.
///
/// # Errors
/// 8/760.
pub(crate) fn carries_rakw(modulus_bits: usize) -> Result<(), Codes> {
    if modulus_bits < RAKW_MODULUS_BITS { Err(code::RSA_KEY_LENGTH) } else { Ok(()) }
}

/// Length of an AES key of this length under an RSA key of this modulus, by CKM-RAKW.
pub(crate) fn rakw_bytes(modulus_bytes: usize, key_bytes: usize) -> usize {
    modulus_bytes + KEY_WRAP_BYTES + key_bytes
}

/// Length of the AES key in an object of CKM-RAKW, which is as long as its key needs.
///
/// # Errors
/// 8/25 for a length that no such object has.
pub(crate) fn rakw_key_bytes(object: &[u8], rsa: &PrivateContext) -> Result<usize, Codes> {
    let key_bytes = object.len().checked_sub(rakw_bytes(rsa.bytes(), 0)).ok_or(code::TEXT_LENGTH)?;
    if VariableType::Cipher.has_length(key_bytes) { Ok(key_bytes) } else { Err(code::TEXT_LENGTH) }
}

/// An AES key under an RSA public key, by CKM-RAKW.
///
/// # Errors
/// 8/760.
pub(crate) async fn seal_rakw(
    call: Call<'_, '_>,
    secret: &SecretBytes,
    rsa: Arc<PublicContext>,
) -> Result<Vec<u8>, Refusal> {
    carries_rakw(rsa.modulus_bits)?;
    let mut between = SecretBytes::new(BETWEEN_BYTES);
    call.random(between.as_mut());
    let block = Encryption::Oaep(HashAlgorithm::Sha1).seal(&between, &rsa.modulus)?;
    let wrapped = key_wrap_padded(&between, secret).ok_or(code::SELF_CHECK)?;
    let first = call.ask(Asymmetric::Public { key: rsa, block }).await?;
    Ok([&first[..], &wrapped].concat())
}

/// The AES key of an object of CKM-RAKW.
///
/// # Errors
/// 8/760; 8/25 for an object of a length that none has; 8/66.
pub(crate) async fn open_rakw(
    call: Call<'_, '_>,
    object: &[u8],
    rsa: Arc<PrivateContext>,
) -> Result<SecretBytes, Refusal> {
    carries_rakw(rsa.modulus_bits)?;
    let key_bytes = rakw_key_bytes(object, &rsa)?;
    let (first, wrapped) = object.split_at_checked(rsa.bytes()).ok_or(code::TEXT_LENGTH)?;
    let block = block_of(first, &rsa)?;
    let opened = call.ask(Asymmetric::Private { key: rsa, block }).await?;
    let mut other = SecretBytes::new(BETWEEN_BYTES);
    call.random(other.as_mut());
    let (is_open, between) = opened_or_else(HashAlgorithm::Sha1, opened, || other.clone());
    // An AES key of another length opens no key either.
    let (is_open, between) =
        if between.len() == BETWEEN_BYTES { (is_open, between) } else { (Choice::from(0), other) };
    let key = key_unwrap_padded(&between, wrapped).filter(|key| key.len() == key_bytes);
    key.filter(|_| is_open.into()).ok_or(code::RSA_BLOCK.into())
}

/// Checks that a block is as long as the modulus, and below it.
///
/// # Errors
/// 8/66.
fn block_of(block: &[u8], rsa: &PrivateContext) -> Result<SecretBytes, Codes> {
    if block.len() != rsa.bytes() {
        return Err(code::RSA_BLOCK);
    }
    right_justified(block, &rsa.modulus, code::RSA_BLOCK)
}

/// The content of a deciphered block of OAEP, and whether it opened; if not, the content is other bytes, which are made
/// in either case.
fn opened_or_else(
    hash: HashAlgorithm,
    block: SecretBytes,
    other: impl FnOnce() -> SecretBytes,
) -> (Choice, SecretBytes) {
    let other = other();
    match Encryption::Oaep(hash).open(block) {
        Ok(message) => (Choice::from(1), message),
        Err(_) => (Choice::from(0), other),
    }
}
