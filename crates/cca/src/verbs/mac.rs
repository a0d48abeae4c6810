//! What MAC_Generate and MAC_Verify share: methods, formats, and the computation itself.
//!
//! | keyword | key | method |
//! |---|---|---|
//! | X9.9-1 (default) | single | DES-CBC, last block padded with zeros |
//! | X9.19OPT | double, triple | the same under the first part, last block deciphered under the second, enciphered under the third, or the first again |
//! | TDES-MAC | double, triple | TDES-CBC, last block padded with zeros (ISO 16609) |
//! | EMVMAC | single | as X9.9-1, padded with X'80' and zeros (EMV book 2, A1.2) |
//! | EMVMACD | double, triple | as X9.19OPT, padded with X'80' and zeros |
//! | CMAC | double, triple | CMAC of SP 800-38B with TDES |
//!
//! A text in segments: FIRST and MIDDLE take whole blocks. The 18-byte chaining vector that they leave is sealed
//! ([`crate::chaining`]): MIDDLE and LAST accept only one from the same verb, method, key and domain.

use crate::call::{Call, Reply, Verdict};
use crate::chaining::{CHAINING_BYTES, Chained, Sealer};
use crate::ground::{Algorithm, Refusal};
use crate::key::Key;
use crate::pass::{Ask, Cipher, Ciphered, KeyRule, Mac, MacOutput};
use crate::pin;
use crate::wipe::Text;
use engine::{CipherAlgorithm, CipherDirection, MacAlgorithm, Mode, SecretBytes};
use std::borrow::Cow;
use std::future::Future;
use token::usage::Use;
use wire::point::Point;
use wire::verb::{MacFormat, MacMethod, Segment};
use wire::{Codes, code};
use zeroize::Zeroizing;

/// The parameters that MAC_Generate and MAC_Verify share.
pub(super) struct Request<'a> {
    pub(super) key_identifier: &'a [u8],
    pub(super) text: &'a [u8],
    pub(super) method: MacMethod,
    pub(super) segment: Segment,
    pub(super) format: MacFormat,
    pub(super) chaining_vector: Option<&'a [u8; CHAINING_BYTES]>,
    /// The MAC that MAC_Verify compares with, as long as the format shows it; empty for MAC_Generate.
    pub(super) mac: &'a [u8],
}

/// The result of one segment, with the renewed token of the key.
pub(super) struct Computed<'a> {
    /// The renewed token of the key; `None` if the token needs no renewal.
    pub(super) key_identifier: Option<&'a [u8]>,
    value: [u8; BLOCK_BYTES],
    shown_as: Option<MacFormat>,
    chaining_vector: Option<[u8; CHAINING_BYTES]>,
}

impl Computed<'_> {
    /// The MAC in its output format, and its length in bytes; `None` after FIRST and MIDDLE.
    pub(super) fn shown(&self) -> Option<([u8; 9], usize)> {
        self.shown_as.map(|format| show(format, &self.value))
    }

    /// The chaining vector for the next segment; `None` after the last one.
    pub(super) fn chaining_vector(&self) -> Option<[u8; CHAINING_BYTES]> {
        self.chaining_vector
    }
}

/// Computes the MAC, or the chaining value of a segment that is not the last, and writes the answer by `end`.
///
/// MAC verbs are the most frequent: the function computes nothing else, and drops keys and requests before it waits.
#[expect(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(super) fn compute<'f, 'r, 'w>(
    call: Call<'f, 'f>,
    reply: &'f mut Reply<'r, 'w>,
    usage: Use,
    read: fn(&Call<'f, 'f>) -> Result<Request<'f>, Refusal>,
    end: fn(&mut Reply<'r, 'w>, &Computed<'_>, &[u8]) -> Verdict,
) -> impl Future<Output = Verdict> + use<'f, 'r, 'w> {
    async move {
        let (asked, shown_as, given, renewal, codes, sealer, third) = {
            let request = read(&call)?;
            request.check()?;
            let opening = call.key(request.key_identifier)?.of(Algorithm::Des)?.for_use(usage)?;
            let sealing = (request.segment != Segment::Only).then(|| call.chaining_keys(Chained::Mac));
            let key = opening.await;
            let sealing = match sealing {
                Some(sealing) => Some(sealing.await),
                None => None,
            };
            let key = key?;
            request.check_key(&key)?;
            let (sealer, chain) = match sealing {
                Some(keys) => {
                    let keys = keys.chaining_keys()?;
                    let sealer = Sealer::of_mac(keys, call.arguments.verb(), request.method, &key.secret);
                    let chain = request.chain(|vector| sealer.open(call.engine, vector))?;
                    (Some(Box::new(sealer)), chain)
                }
                None => (None, [0; 16]),
            };
            let renewal = key.renew(call, request.key_identifier)?;
            let codes = key.age.codes();
            let third = request.third(&key.secret);
            let asked = match request.method {
                MacMethod::Tdes => Asked::Cipher(call.ask(request.tdes(key.secret, chain))),
                _ => Asked::Mac(call.ask(request.mac(key.secret, chain))),
            };
            (asked, request.is_last().then_some(request.format), request.mac, renewal, codes, sealer, third)
        };
        let mut value = match asked {
            Asked::Cipher(asked) => block_of(&asked.await?.chain),
            Asked::Mac(asked) => {
                let done = asked.await?;
                block_of(if shown_as.is_some() { &done.mac } else { &done.chain })
            }
        };
        if let Some(third) = third {
            let under_two = Zeroizing::new(value);
            value = third.finish(call, &under_two).await?;
        }
        let chaining_vector = match sealer {
            Some(sealer) if shown_as.is_none() => Some(sealer.seal(call.engine, &value)),
            _ => None,
        };
        let token = renewal.token().await?;
        let computed = Computed { key_identifier: token.as_deref(), value, shown_as, chaining_vector };
        let ended = end(reply, &computed, given)?;
        Ok(if ended == code::OK { codes } else { ended })
    }
}

/// The pending kernel work of a method: a cipher or a MAC.
enum Asked<'p, 'a> {
    Cipher(Ask<'p, Cipher, Result<Ciphered, Codes>>),
    Mac(Ask<'p, Mac<'a>, Result<MacOutput, Codes>>),
}

fn block_of(chain: &[u8; 16]) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    block.copy_from_slice(&chain[..BLOCK_BYTES]);
    block
}

/// What a third part of a key changes of an X9.19 MAC: its last block is enciphered under that part, and not under the
/// first one again (ISO/IEC 9797-1, algorithm 3, as other implementations take keys of three parts).
struct ThirdPart {
    /// The first part twice: single DES as a key of two parts.
    first: SecretBytes,
    third: SecretBytes,
}

impl ThirdPart {
    /// The MAC under the whole key, from the one under its first two parts.
    async fn finish(
        self: Box<Self>,
        call: Call<'_, '_>,
        value: &[u8; BLOCK_BYTES],
    ) -> Result<[u8; BLOCK_BYTES], Refusal> {
        let before = pin::cipher(call, &self.first, CipherDirection::Decipher, value).await?;
        Ok(*pin::cipher(call, &self.third, CipherDirection::Encipher, &before).await?)
    }
}

/// Length of a MAC in bytes from which guessing is hopeless: at a million tries a second, six bytes take nine years.
const TRIED_BYTES: usize = 6;

/// Refuses to compare a MAC of this length if it is short enough to be guessed.
///
/// # Errors
/// 8/90 for a short MAC that the role does not permit.
pub(super) fn check_compared(call: &Call<'_, '_>, bytes: usize) -> Result<(), Codes> {
    if bytes < TRIED_BYTES { call.permit(Point::MacVerifyShort) } else { Ok(()) }
}

/// Number of bytes of the MAC that are compared for a format: hexadecimal digits count half.
pub(super) fn compared_bytes(format: MacFormat) -> usize {
    match format {
        MacFormat::Bytes4 | MacFormat::Hex8 | MacFormat::Hex9 => 4,
        MacFormat::Bytes6 => 6,
        MacFormat::Bytes8 => 8,
    }
}

/// Length of the MAC in its output format, in bytes.
pub(super) fn shown_bytes(format: MacFormat) -> usize {
    match format {
        MacFormat::Bytes4 => 4,
        MacFormat::Bytes6 => 6,
        MacFormat::Bytes8 | MacFormat::Hex8 => 8,
        MacFormat::Hex9 => 9,
    }
}

/// The MAC in its output format, and its length in bytes.
fn show(format: MacFormat, value: &[u8; BLOCK_BYTES]) -> ([u8; 9], usize) {
    let (mut out, length) = ([0; 9], shown_bytes(format));
    let hex = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'A' - 10 };
    match format {
        MacFormat::Bytes4 | MacFormat::Bytes6 | MacFormat::Bytes8 => {
            out[..length].copy_from_slice(&value[..length]);
        }
        MacFormat::Hex8 | MacFormat::Hex9 => {
            let digits = value[..4].iter().flat_map(|byte| [hex(byte >> 4), hex(byte & 15)]);
            let gap = length - 8;
            for (index, digit) in digits.enumerate() {
                out[index + if index < 4 { 0 } else { gap }] = digit;
            }
            if gap == 1 {
                out[4] = b' ';
            }
        }
    }
    (out, length)
}

impl<'a> Request<'a> {
    /// Whether the text ends with this segment.
    pub(super) fn is_last(&self) -> bool {
        matches!(self.segment, Segment::Only | Segment::Last)
    }

    /// Whether the last block is padded with X'80' and zeros.
    fn is_marked(&self) -> bool {
        matches!(self.method, MacMethod::Emv | MacMethod::EmvDouble)
    }

    /// Refuses a text of a length that its method or segment does not take, and a missing chaining vector.
    fn check(&self) -> Result<(), Codes> {
        let (is_last, whole) = (self.is_last(), self.text.len().is_multiple_of(BLOCK_BYTES));
        if (self.text.is_empty() && !(self.is_marked() && is_last)) || (!is_last && !whole) {
            return Err(code::TEXT_LENGTH);
        }
        if self.is_chained() && self.chaining_vector.is_none() {
            return Err(code::INVALID_PARAMETER);
        }
        Ok(())
    }

    /// Whether this segment continues a text: MIDDLE and LAST.
    fn is_chained(&self) -> bool {
        matches!(self.segment, Segment::Middle | Segment::Last)
    }

    fn check_key(&self, key: &Key) -> Result<(), Codes> {
        let fits = match (self.method, key.secret.len()) {
            (MacMethod::X99 | MacMethod::Emv, bytes) => bytes == 8,
            (_, bytes) => matches!(bytes, 16 | 24),
        };
        if fits { Ok(()) } else { Err(code::KEY_USAGE) }
    }

    /// The text, with X'80' and zeros behind its last segment if the method pads so; other methods pad with zeros
    /// later.
    fn padded(&self) -> Cow<'a, [u8]> {
        if !self.is_last() || !self.is_marked() {
            return Cow::Borrowed(self.text);
        }
        let mut text = Vec::with_capacity(self.text.len() + BLOCK_BYTES);
        text.extend_from_slice(self.text);
        text.push(0x80);
        text.resize(text.len().next_multiple_of(BLOCK_BYTES), 0);
        Cow::Owned(text)
    }

    /// ISO 16609: the last block of a text that TDES enciphers in CBC.
    fn tdes(&self, key: SecretBytes, chain: [u8; 16]) -> Cipher {
        let mut data = Text::from(self.text);
        data.pad(self.text.len().next_multiple_of(BLOCK_BYTES), 0);
        Cipher {
            algorithm: match key.len() {
                24 => CipherAlgorithm::Tdes3,
                _ => CipherAlgorithm::Tdes2,
            },
            rule: KeyRule::Chosen,
            mode: Mode::Cbc,
            direction: CipherDirection::Encipher,
            key,
            chain,
            data,
        }
    }

    /// What is done at the end of an X9.19 MAC under a key of three parts; `None` for every other MAC.
    fn third(&self, key: &SecretBytes) -> Option<Box<ThirdPart>> {
        let is_retail = matches!(self.method, MacMethod::X919 | MacMethod::EmvDouble);
        let [first, _, third] = key.as_chunks::<BLOCK_BYTES>().0 else { return None };
        let twice = |part: &[u8; BLOCK_BYTES]| {
            let mut twice = SecretBytes::new(2 * BLOCK_BYTES);
            twice.chunks_exact_mut(BLOCK_BYTES).for_each(|half| half.copy_from_slice(part));
            twice
        };
        (is_retail && self.is_last())
            .then(|| Box::new(ThirdPart { first: twice(first), third: twice(third) }))
    }

    /// The kernel work of every method but TDES-MAC.
    fn mac(&self, key: SecretBytes, chain: [u8; 16]) -> Mac<'a> {
        let algorithm = match self.method {
            MacMethod::X919 | MacMethod::EmvDouble => MacAlgorithm::X919,
            MacMethod::Cmac if key.len() == MacAlgorithm::CmacTdes2.key_bytes() => MacAlgorithm::CmacTdes2,
            MacMethod::Cmac => MacAlgorithm::CmacTdes3,
            _ => MacAlgorithm::X99,
        };
        let key = match algorithm {
            MacAlgorithm::X919 if key.len() > algorithm.key_bytes() => {
                SecretBytes::from_slice(&key[..algorithm.key_bytes()])
            }
            _ => key,
        };
        let (text, last) = (self.padded(), self.is_last());
        Mac { algorithm, key, chain, text, last }
    }

    /// The chaining value that this segment begins with; zeros for the first.
    fn chain(
        &self,
        open: impl FnOnce(&[u8; CHAINING_BYTES]) -> Result<[u8; BLOCK_BYTES], Codes>,
    ) -> Result<[u8; 16], Codes> {
        let mut chain = [0; 16];
        if let Some(vector) = self.chaining_vector.filter(|_| self.is_chained()) {
            chain[..BLOCK_BYTES].copy_from_slice(&open(vector)?);
        }
        Ok(chain)
    }
}

/// Length of a block, and of a full MAC, in bytes.
const BLOCK_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_show_what_their_names_say() {
        let value = [0x01, 0x2F, 0xA0, 0x9E, 5, 6, 7, 8];
        let shown = |format| {
            let (bytes, length) = show(format, &value);
            bytes[..length].to_vec()
        };
        assert_eq!(shown(MacFormat::Bytes4), value[..4]);
        assert_eq!(shown(MacFormat::Bytes6), value[..6]);
        assert_eq!(shown(MacFormat::Bytes8), value);
        assert_eq!(shown(MacFormat::Hex8), b"012FA09E");
        assert_eq!(shown(MacFormat::Hex9), b"012F A09E");
    }
}
