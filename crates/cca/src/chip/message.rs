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

/// What is secret, and where it stands unless the role permits any place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A key of two parts, in whole blocks: else it would share a block with text of the caller's.
    Key,
    /// A PIN block, alone: EMV's form has a bit and zeros behind it; Visa's its length in front; MasterCard's nothing
    /// else. Among other text a block is compared with those of all PINs.
    PinBlock,
}

impl Place {
    /// Length of what is secret.
    const fn bytes(self) -> usize {
        match self {
            Self::Key => 2 * BLOCK_BYTES,
            Self::PinBlock => BLOCK_BYTES,
        }
    }

    /// Whether this place of a text, which is inside of it, is one of those.
    fn is_in(self, text: &[u8], at: usize) -> bool {
        const EMV: [u8; 8] = [0x80, 0, 0, 0, 0, 0, 0, 0];
        const VISA: [u8; 7] = [0x80, 0, 0, 0, 0, 0, 0];
        let (front, rest) = text.split_at(at);
        let behind = &rest[self.bytes()..];
        match (self, front) {
            (Self::Key, _) => at.is_multiple_of(BLOCK_BYTES),
            (Self::PinBlock, []) => behind.is_empty() || *behind == EMV,
            (Self::PinBlock, [length]) => usize::from(*length) == self.bytes() && *behind == VISA,
            (Self::PinBlock, _) => false,
        }
    }
}

/// A message enciphered, and its last block where blocks are chained.
pub(crate) struct Enciphered {
    pub(crate) text: Text,
    pub(crate) chain: [u8; BLOCK_BYTES],
}

impl<'a> Message<'a> {
    /// A text with a place of `bytes`, which begins at this offset.
    ///
    /// CCA Basic Services counts from zero, this system's own programs from one. Of both places at most one is
    /// [`Place::is_in`] a text, so either is taken; whoever may use any place counts from one.
    ///
    /// # Errors
    /// 8/25 for a text that is not whole blocks, or longer than 4,096 bytes, 8/23 for a place outside of it, or of
    /// another length, 8/90 for another place than these, where the role does not permit it.
    pub(crate) fn new(
        call: &Call<'_, '_>,
        text: &'a [u8],
        offset: i64,
        given: i64,
        place: Place,
    ) -> Result<Self, Codes> {
        if text.is_empty() || text.len() > TEXT_BYTES_MAX || !text.len().is_multiple_of(BLOCK_BYTES) {
            return Err(code::TEXT_LENGTH);
        }
        let bytes = place.bytes();
        let from_zero = usize::try_from(offset).ok().filter(|_| given == bytes as i64);
        let from_zero = from_zero.ok_or(code::OUT_OF_AREA)?;
        let is_inside = |at: &usize| at.checked_add(bytes).is_some_and(|end| end <= text.len());
        let from_one = from_zero.checked_sub(1).filter(is_inside);
        let from_zero = Some(from_zero).filter(is_inside);
        let is_usual = |at: &usize| place.is_in(text, *at);
        let permitted = call.permit(Point::SecureMessagingAnyPlace);
        let at = match permitted {
            Ok(()) => from_one,
            Err(_) => from_one.filter(is_usual).or(from_zero.filter(is_usual)),
        };
        match (at, from_one.or(from_zero)) {
            (Some(at), _) => Ok(Self { text, at, bytes }),
            (None, None) => Err(code::OUT_OF_AREA),
            (None, Some(_)) => Err(permitted.err().unwrap_or(code::OUT_OF_AREA)),
        }
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
