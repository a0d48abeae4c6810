//! Requests to authenticated ciphers, for the modes that this crate builds itself.

use crate::error::CipherError;
use subtle::ConstantTimeEq;

/// The shortest tag of OCB and EAX that is allowed, in bytes (the shortest of RFC 7253, 3.1).
pub const AEAD_TAG_BYTES_MIN: usize = 8;
/// Length of a whole tag in bytes.
pub(crate) const AEAD_TAG_BYTES: usize = 16;

/// One request of a batch, under a key of type `K`. The data is changed in place.
#[derive(Debug)]
pub struct AeadItem<'a, K> {
    /// The key of this request; the keys of a batch may differ.
    pub key: &'a K,
    /// The nonce, of a length that the mode takes. It must never be used twice with one key to encipher.
    pub nonce: &'a [u8],
    /// Additional data: authenticated but not enciphered.
    pub aad: &'a [u8],
    /// The text to encipher or decipher, in place.
    pub data: &'a mut [u8],
    /// The tag, in the first `tag_bytes` bytes. Enciphering writes it, followed by zeros; deciphering verifies it.
    pub tag: [u8; 16],
    /// Length of the tag in bytes, 8 to 16. Both sides must agree on it: in OCB it also changes the ciphertext.
    pub tag_bytes: usize,
    /// The result of the request. After [`CipherError::Authentication`] the data are zeros; after other errors they are
    /// unchanged.
    pub result: Result<(), CipherError>,
}

impl<'a, K> AeadItem<'a, K> {
    /// A request to encipher, with a whole tag.
    pub fn encipher(key: &'a K, nonce: &'a [u8], aad: &'a [u8], data: &'a mut [u8]) -> AeadItem<'a, K> {
        AeadItem { key, nonce, aad, data, tag: [0; 16], tag_bytes: AEAD_TAG_BYTES, result: Ok(()) }
    }

    /// A request to verify `tag` and decipher. A tag of fewer than 8 or more than 16 bytes is refused when the request
    /// runs.
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

    /// Checks that the tag's length is allowed.
    pub(crate) fn check_tag_length(&self) -> Result<(), CipherError> {
        match self.tag_bytes {
            AEAD_TAG_BYTES_MIN..=AEAD_TAG_BYTES => Ok(()),
            bytes => Err(CipherError::AeadTagLength { bytes }),
        }
    }

    /// Stores the tag of an enciphered text.
    pub(crate) fn put_tag(&mut self, tag: &[u8; AEAD_TAG_BYTES]) {
        self.tag = [0; AEAD_TAG_BYTES];
        self.tag[..self.tag_bytes].copy_from_slice(&tag[..self.tag_bytes]);
    }

    /// Compares the tag of a deciphered text, in constant time.
    pub(crate) fn has_tag(&self, tag: &[u8; AEAD_TAG_BYTES]) -> bool {
        tag[..self.tag_bytes].ct_eq(&self.tag[..self.tag_bytes]).into()
    }
}
