//! AES in Galois/Counter Mode (SP 800-38D): many independent requests in one call.
//!
//! A nonce must never be used twice with one key to encipher: the caller sees to that.

use std::fmt;

use crate::algorithm::CipherDirection;
use crate::error::{CipherError, KeyError};
use crate::low::aws_lc::gcm::{GCM_TAG_BYTES, GcmContext};

/// Shortest tag that is accepted, in bytes. SP 800-38D, 5.2.1.2 allows 4 and 8 for some uses only.
pub const GCM_TAG_BYTES_MIN: usize = 4;
/// Most text of one request, in bytes (SP 800-38D, 5.2.1.1).
const GCM_TEXT_BYTES_MAX: u64 = (1 << 36) - 32;

/// An AES key prepared for GCM; zero when dropped.
pub struct GcmKey {
    context: GcmContext,
    key_bytes: usize,
}

impl GcmKey {
    pub(crate) fn new(key: &[u8]) -> Result<GcmKey, KeyError> {
        let context = GcmContext::new(key).ok_or(KeyError::GcmKeyLength { bytes: key.len() })?;
        Ok(GcmKey { context, key_bytes: key.len() })
    }

    /// Length of the key in bytes.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }
}

impl fmt::Debug for GcmKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "GcmKey(AES-{})", 8 * self.key_bytes)
    }
}

/// One request of a batch. The data is changed in place.
#[derive(Debug)]
pub struct GcmItem<'a> {
    /// The key.
    pub key: &'a GcmKey,
    /// The nonce: one byte or more; 12 is the length to choose.
    pub nonce: &'a [u8],
    /// Data that is authenticated and not enciphered.
    pub aad: &'a [u8],
    /// The text.
    pub data: &'a mut [u8],
    /// The tag: out when enciphering (all 16 bytes), in when deciphering (the first `tag_bytes`).
    pub tag: [u8; 16],
    /// Length of the tag to be checked in bytes, 4 to 16; not looked at when enciphering.
    pub tag_bytes: usize,
    /// How it went. After [`CipherError::Authentication`] the data is zeros; after other errors it is as it
    /// was.
    pub result: Result<(), CipherError>,
}

impl<'a> GcmItem<'a> {
    /// A request to encipher.
    pub fn encipher(key: &'a GcmKey, nonce: &'a [u8], aad: &'a [u8], data: &'a mut [u8]) -> GcmItem<'a> {
        GcmItem { key, nonce, aad, data, tag: [0; 16], tag_bytes: GCM_TAG_BYTES, result: Ok(()) }
    }

    /// A request to check `tag` and decipher. A tag longer than 16 bytes is refused when the request is run.
    pub fn decipher(
        key: &'a GcmKey,
        nonce: &'a [u8],
        aad: &'a [u8],
        data: &'a mut [u8],
        tag: &[u8],
    ) -> GcmItem<'a> {
        let mut item = GcmItem::encipher(key, nonce, aad, data);
        let used = tag.len().min(GCM_TAG_BYTES);
        item.tag[..used].copy_from_slice(&tag[..used]);
        item.tag_bytes = tag.len();
        item
    }
}

/// Runs every request; each result is its own.
pub(crate) fn batch(direction: CipherDirection, items: &mut [GcmItem<'_>]) {
    for item in items {
        item.result = run(direction, item);
    }
}

fn run(direction: CipherDirection, item: &mut GcmItem<'_>) -> Result<(), CipherError> {
    if item.nonce.is_empty() || item.data.len() as u64 > GCM_TEXT_BYTES_MAX {
        return Err(length_error(item));
    }
    let context = &item.key.context;
    match direction {
        CipherDirection::Encipher => {
            if !context.seal(item.nonce, item.aad, item.data, &mut item.tag) {
                return Err(length_error(item));
            }
        }
        CipherDirection::Decipher => {
            if !(GCM_TAG_BYTES_MIN..=GCM_TAG_BYTES).contains(&item.tag_bytes) {
                return Err(CipherError::TagLength { bytes: item.tag_bytes });
            }
            if !context.open(item.nonce, item.aad, item.data, &item.tag[..item.tag_bytes]) {
                return Err(CipherError::Authentication);
            }
        }
    }
    Ok(())
}

#[cold]
fn length_error(item: &GcmItem<'_>) -> CipherError {
    CipherError::GcmLength { nonce_bytes: item.nonce.len(), text_bytes: item.data.len() }
}
