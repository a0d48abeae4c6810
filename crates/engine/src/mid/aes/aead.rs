//! One request to a cipher that authenticates, for the modes that this crate builds itself.

use crate::error::CipherError;
use subtle::ConstantTimeEq;

/// Shortest tag of OCB and EAX that is served, in bytes (the shortest of RFC 7253, 3.1).
pub const AEAD_TAG_BYTES_MIN: usize = 8;
/// Length of a whole tag in bytes.
pub(crate) const AEAD_TAG_BYTES: usize = 16;

/// One request of a batch, under a key of type `K`. The data is changed in place.
#[derive(Debug)]
pub struct AeadItem<'a, K> {
    /// The key.
    pub key: &'a K,
    /// The nonce, of the lengths that the mode takes. It must never be used twice with one key to encipher.
    pub nonce: &'a [u8],
    /// Data that is authenticated and not enciphered.
    pub aad: &'a [u8],
    /// The text.
    pub data: &'a mut [u8],
    /// The tag in its first `tag_bytes`: out when enciphering, zeros after it; in when deciphering.
    pub tag: [u8; 16],
    /// Length of the tag in bytes, 8 to 16. Both sides must agree on it: in OCB another length is another
    /// ciphertext.
    pub tag_bytes: usize,
    /// How it went. After [`CipherError::Authentication`] the data is zeros; after other errors it is as it
    /// was.
    pub result: Result<(), CipherError>,
}

impl<'a, K> AeadItem<'a, K> {
    /// A request to encipher, with a whole tag.
    pub fn encipher(key: &'a K, nonce: &'a [u8], aad: &'a [u8], data: &'a mut [u8]) -> AeadItem<'a, K> {
        AeadItem { key, nonce, aad, data, tag: [0; 16], tag_bytes: AEAD_TAG_BYTES, result: Ok(()) }
    }

    /// A request to check `tag` and decipher. A tag of another length than 8 to 16 bytes is refused when the
    /// request is run.
    pub fn decipher(
        key: &'a K,
        nonce: &'a [u8],
        aad: &'a [u8],
        data: &'a mut [u8],
        tag: &[u8],
    ) -> AeadItem<'a, K> {
        let mut item = AeadItem::encipher(key, nonce, aad, data);
        let used = tag.len().min(AEAD_TAG_BYTES);
        item.tag[..used].copy_from_slice(&tag[..used]);
        item.tag_bytes = tag.len();
        item
    }

    /// Whether the tag has a length that is served.
    pub(crate) fn check_tag_length(&self) -> Result<(), CipherError> {
        match self.tag_bytes {
            AEAD_TAG_BYTES_MIN..=AEAD_TAG_BYTES => Ok(()),
            bytes => Err(CipherError::AeadTagLength { bytes }),
        }
    }

    /// Takes over the tag of what was enciphered.
    pub(crate) fn put_tag(&mut self, tag: &[u8; AEAD_TAG_BYTES]) {
        self.tag = [0; AEAD_TAG_BYTES];
        self.tag[..self.tag_bytes].copy_from_slice(&tag[..self.tag_bytes]);
    }

    /// Compares the tag of what was deciphered, in constant time.
    pub(crate) fn has_tag(&self, tag: &[u8; AEAD_TAG_BYTES]) -> bool {
        tag[..self.tag_bytes].ct_eq(&self.tag[..self.tag_bytes]).into()
    }
}
