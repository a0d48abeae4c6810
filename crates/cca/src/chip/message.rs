//! Messages to chip cards: where a key or a PIN block stands in a text of the caller's, and how the whole is
//! enciphered.

use crate::call::Call;
use crate::ground::Refusal;
use crate::pass::{Cipher, KeyRule};
use crate::wipe::Text;
use engine::{CipherAlgorithm, CipherDirection, Mode, SecretBytes};
use wire::point::Point;
use wire::{Codes, code};
use zeroize::Zeroizing;

/// Longest text in bytes.
const TEXT_BYTES_MAX: usize = 4096;
const BLOCK_BYTES: usize = 8;

/// A text with a place for what is secret.
pub(crate) struct Message<'a> {
    text: &'a [u8],
    at: usize,
    bytes: usize,
}

/// A message enciphered, and its last block where blocks are chained.
pub(crate) struct Enciphered {
    pub(crate) text: Text,
    pub(crate) chain: [u8; BLOCK_BYTES],
}

impl<'a> Message<'a> {
    /// A text with a place of `bytes`, which begins at this offset, counted from one.
    ///
    /// # Errors
    /// 8/25 for a text that is not whole blocks, or longer than 4,096 bytes, 8/23 for a place outside of it, or of
    /// another length.
    pub(crate) fn new(text: &'a [u8], offset: i64, given: i64, bytes: usize) -> Result<Self, Codes> {
        if text.is_empty() || text.len() > TEXT_BYTES_MAX || !text.len().is_multiple_of(BLOCK_BYTES) {
            return Err(code::TEXT_LENGTH);
        }
        let at = usize::try_from(offset).ok().and_then(|offset| offset.checked_sub(1));
        let at = at.filter(|at| at.checked_add(bytes).is_some_and(|end| end <= text.len()));
        match at {
            Some(at) if given == bytes as i64 => Ok(Self { text, at, bytes }),
            _ => Err(code::OUT_OF_AREA),
        }
    }

    /// Refuses with 8/90 a place that is not whole blocks, where the role does not permit it: what is secret would
    /// share a block with text of the caller's.
    pub(crate) fn check_blocks(&self, call: &Call<'_, '_>) -> Result<(), Codes> {
        if self.at.is_multiple_of(BLOCK_BYTES) && self.bytes.is_multiple_of(BLOCK_BYTES) {
            return Ok(());
        }
        call.permit(Point::SecureMessagingAnyPlace)
    }

    /// Refuses with 8/90 what is none of the forms of a PIN block alone, where the role does not permit it: EMV's, a
    /// bit and zeros behind it; Visa's, with its length in front; MasterCard's, nothing else. Among other text a block
    /// is compared with those of all PINs.
    pub(crate) fn check_standard(&self, call: &Call<'_, '_>) -> Result<(), Codes> {
        const EMV: [u8; 8] = [0x80, 0, 0, 0, 0, 0, 0, 0];
        const VISA: [u8; 7] = [0x80, 0, 0, 0, 0, 0, 0];
        let (front, rest) = self.text.split_at(self.at);
        let behind = &rest[self.bytes..];
        let is_standard = match front {
            [] => behind.is_empty() || *behind == EMV,
            [length] => usize::from(*length) == self.bytes && *behind == VISA,
            _ => false,
        };
        if is_standard { Ok(()) } else { call.permit(Point::SecureMessagingAnyPlace) }
    }

    /// Enciphers the text with this in its place, as a chain behind the vector, or each block by itself.
    ///
    /// # Errors
    /// 8/39 for a key that is not of two parts.
    pub(crate) async fn encipher(
        &self,
        call: Call<'_, '_>,
        key: &SecretBytes,
        vector: Option<[u8; BLOCK_BYTES]>,
        secret: &[u8],
    ) -> Result<Enciphered, Refusal> {
        let algorithm = CipherAlgorithm::Tdes2;
        if key.len() != algorithm.key_bytes() {
            return Err(code::KEY_USAGE.into());
        }
        let mut clear = Zeroizing::new(self.text.to_vec());
        clear[self.at..][..self.bytes].copy_from_slice(secret);
        let mut chain = [0; 16];
        chain[..BLOCK_BYTES].copy_from_slice(&vector.unwrap_or_default());
        let mode = if vector.is_some() { Mode::Cbc } else { Mode::Ecb };
        let (rule, direction) = (KeyRule::Chosen, CipherDirection::Encipher);
        let (key, data) = (key.clone(), Text::from(&clear[..]));
        let done = call.ask(Cipher { algorithm, rule, mode, direction, key, chain, data }).await?;
        let mut last = [0; BLOCK_BYTES];
        if vector.is_some() {
            last.copy_from_slice(&done.data[done.data.len() - BLOCK_BYTES..]);
        }
        Ok(Enciphered { text: done.data, chain: last })
    }
}
