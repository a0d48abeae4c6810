//! ChaCha20-Poly1305 (RFC 8439): many independent requests in one call, which the bound library computes one after the
//! other.
//!
//! The caller must never use a nonce twice with one key to encipher.

use super::aes::aead::AeadItem;
use crate::algorithm::CipherDirection;
use crate::error::{CipherError, KeyError};
use crate::low::aws_lc::aead::{AeadContext, TAG_BYTES};
use std::fmt;

/// Length of a key in bytes.
pub const CHACHA_KEY_BYTES: usize = 32;
/// Length of a nonce in bytes.
pub const CHACHA_NONCE_BYTES: usize = 12;
/// At most this many bytes of text in one request: the block counter, which begins at 1, has 32 bits (RFC 8439, 2.8).
const CHACHA_TEXT_BYTES_MAX: u64 = (1 << 38) - 64;

/// A key of ChaCha20-Poly1305; wiped when dropped.
pub struct ChaChaKey(AeadContext);

impl ChaChaKey {
    /// Prepares a key. Fails only for a wrong length.
    pub(crate) fn new(key: &[u8]) -> Result<ChaChaKey, KeyError> {
        let wrong_length = KeyError::ChaChaKeyLength { bytes: key.len() };
        let key = key.try_into().map_err(|_| wrong_length)?;
        Ok(ChaChaKey(AeadContext::chacha20_poly1305(key).ok_or(wrong_length)?))
    }
}

impl fmt::Debug for ChaChaKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ChaChaKey")
    }
}

/// A request to ChaCha20-Poly1305: a nonce of 12 bytes, a tag of 16.
pub type ChaChaItem<'a> = AeadItem<'a, ChaChaKey>;

/// Runs every request; each gets its own result.
pub(crate) fn batch(direction: CipherDirection, items: &mut [ChaChaItem<'_>]) {
    for item in items {
        item.result = run(direction, item);
    }
}

fn run(direction: CipherDirection, item: &mut ChaChaItem<'_>) -> Result<(), CipherError> {
    if item.tag_bytes != TAG_BYTES {
        return Err(CipherError::ChaChaTagLength { bytes: item.tag_bytes });
    }
    let wrong_length =
        CipherError::ChaChaLength { nonce_bytes: item.nonce.len(), text_bytes: item.data.len() };
    if item.nonce.len() != CHACHA_NONCE_BYTES || item.data.len() as u64 > CHACHA_TEXT_BYTES_MAX {
        return Err(wrong_length);
    }
    let AeadItem { key: ChaChaKey(context), nonce, aad, data, tag, .. } = item;
    match direction {
        CipherDirection::Encipher if context.seal(nonce, aad, data, tag) => Ok(()),
        CipherDirection::Encipher => Err(wrong_length),
        CipherDirection::Decipher if context.open(nonce, aad, data, tag) => Ok(()),
        CipherDirection::Decipher => Err(CipherError::Authentication),
    }
}
