//! What MAC_Generate and MAC_Verify share: keywords, lengths, and the computation itself.
//!
//! | keyword | key | method |
//! |---|---|---|
//! | X9.9-1 (default) | single | DES-CBC, last block padded with zeros |
//! | X9.19OPT | double | the same under the left half, last block deciphered right, enciphered left |
//! | TDES-MAC | double | TDES-CBC, last block padded with zeros (ISO 16609) |
//! | EMVMAC | single | as X9.9-1, padded with X'80' and zeros (EMV book 2, A1.2) |
//! | EMVMACD | double | as X9.19OPT, padded with X'80' and zeros |
//!
//! A text in segments: FIRST and MIDDLE take whole blocks. The 18-byte chaining vector holds the
//! chaining value in its first 8 bytes, then zeros.

use std::borrow::Cow;

use engine::{CipherAlgorithm, CipherDirection, MacAlgorithm, Mode};
use token::usage::Use;
use wire::verb::{mac_generate, mac_verify};
use wire::{Codes, code};

use crate::call::{Call, Refusal, Reply};
use crate::keys::{self, DesKey};
use crate::pass::{Cipher, KeyRule, Mac};
use crate::rules::{Rules, Word, word};
use crate::wipe::Text;

/// What came out: the full 8 bytes, of which the format shows some, or the value for the next segment.
pub(super) struct Computed {
    pub(super) value: [u8; BLOCK_BYTES],
    pub(super) format: Format,
    pub(super) last: bool,
    pub(super) codes: Codes,
}

/// Computes the MAC, or the chaining value of a segment that is not the last; writes key identifier
/// and chaining vector into the reply.
pub(super) async fn compute(
    call: Call<'_, '_>,
    reply: &mut Reply<'_, '_>,
    usage: Use,
) -> Result<Computed, Refusal> {
    let request = read(&call)?;
    let key = keys::des_key(call, KEY_IDENTIFIER, usage).await?;
    request.check_key(&key)?;
    let renewal = key.renew(call);
    let (age, last, format) = (key.age, request.segment.is_last(), request.format);
    let value = request.run(call, key).await?;
    keys::reply_des(reply, KEY_IDENTIFIER, renewal).await?;
    if !last {
        let mut vector = [0; CHAINING_BYTES];
        vector[..BLOCK_BYTES].copy_from_slice(&value);
        reply.bytes(CHAINING_VECTOR, &vector);
    }
    Ok(Computed { value, format, last, codes: age.codes() })
}

/// How many bytes of the MAC are shown, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Bytes(usize),
    Hex8,
    Hex9,
}

impl Format {
    /// The MAC as it is shown, and how long that is.
    pub(super) fn show(self, value: &[u8; BLOCK_BYTES]) -> ([u8; 9], usize) {
        let mut out = [0; 9];
        let hex = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'A' - 10 };
        match self {
            Self::Bytes(length) => {
                out[..length].copy_from_slice(&value[..length]);
                (out, length)
            }
            Self::Hex8 | Self::Hex9 => {
                let digits = value[..4].iter().flat_map(|byte| [hex(byte >> 4), hex(byte & 15)]);
                let gap = usize::from(self == Self::Hex9);
                for (index, digit) in digits.enumerate() {
                    out[index + if index < 4 { 0 } else { gap }] = digit;
                }
                if gap == 1 {
                    out[4] = b' ';
                }
                (out, 8 + gap)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    X99,
    X919,
    Tdes,
    Emv,
    EmvDouble,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    Only,
    First,
    Middle,
    Last,
}

impl Segment {
    fn is_last(self) -> bool {
        matches!(self, Self::Only | Self::Last)
    }
}

struct Request<'a> {
    method: Method,
    segment: Segment,
    format: Format,
    text: &'a [u8],
    chain: [u8; 16],
}

fn read<'a>(call: &Call<'_, 'a>) -> Result<Request<'a>, Codes> {
    let mut rules = Rules::read(call, RULE_ARRAY_COUNT, RULE_ARRAY, 0, 3)?;
    let method = rules.one_or(METHODS, Method::X99)?;
    let segment = rules.one_or(SEGMENTS, Segment::Only)?;
    let format = rules.one_or(FORMATS, Format::Bytes(4))?;
    rules.finish()?;
    let text = call.text(TEXT_LENGTH, TEXT)?;
    let padded = matches!(method, Method::Emv | Method::EmvDouble);
    let whole = text.len().is_multiple_of(BLOCK_BYTES);
    if (text.is_empty() && !(padded && segment.is_last())) || (!segment.is_last() && !whole) {
        return Err(code::TEXT_LENGTH);
    }
    let vector: [u8; CHAINING_BYTES] = match segment {
        Segment::Only | Segment::First => [0; CHAINING_BYTES],
        Segment::Middle | Segment::Last => call.array(CHAINING_VECTOR)?,
    };
    let mut chain = [0; 16];
    chain[..BLOCK_BYTES].copy_from_slice(&vector[..BLOCK_BYTES]);
    Ok(Request { method, segment, format, text, chain })
}

impl<'a> Request<'a> {
    fn check_key(&self, key: &DesKey) -> Result<(), Codes> {
        let needed = match self.method {
            Method::X99 | Method::Emv => 8,
            Method::X919 | Method::Tdes | Method::EmvDouble => 16,
        };
        if key.key_bytes() == needed { Ok(()) } else { Err(code::KEY_USAGE) }
    }

    /// The text as the method takes it: with its padding, where that is not zeros.
    fn padded(&self) -> Cow<'a, [u8]> {
        if !self.segment.is_last() || !matches!(self.method, Method::Emv | Method::EmvDouble) {
            return Cow::Borrowed(self.text);
        }
        let mut text = Vec::with_capacity(self.text.len() + BLOCK_BYTES);
        text.extend_from_slice(self.text);
        text.push(0x80);
        text.resize(text.len().next_multiple_of(BLOCK_BYTES), 0);
        Cow::Owned(text)
    }

    async fn run(self, call: Call<'_, 'a>, key: DesKey) -> Result<[u8; BLOCK_BYTES], Codes> {
        let mut out = [0; BLOCK_BYTES];
        if self.method == Method::Tdes {
            let mut data = Text::from(self.text);
            data.pad(self.text.len().next_multiple_of(BLOCK_BYTES), 0);
            let done = call.ask(Cipher {
                algorithm: CipherAlgorithm::Tdes2,
                rule: KeyRule::Chosen,
                mode: Mode::Cbc,
                direction: CipherDirection::Encipher,
                key: key.key,
                chain: self.chain,
                data,
            });
            out.copy_from_slice(&done.await?.chain[..BLOCK_BYTES]);
            return Ok(out);
        }
        let algorithm = match self.method {
            Method::X919 | Method::EmvDouble => MacAlgorithm::X919,
            _ => MacAlgorithm::X99,
        };
        let (text, last) = (self.padded(), self.segment.is_last());
        let done = call.ask(Mac { algorithm, key: key.key, chain: self.chain, text, last }).await?;
        out.copy_from_slice(if last { &done.mac[..BLOCK_BYTES] } else { &done.chain[..BLOCK_BYTES] });
        Ok(out)
    }
}

/// Length of a block, and of a full MAC, in bytes.
pub(super) const BLOCK_BYTES: usize = 8;
/// Length of the chaining vector in bytes.
const CHAINING_BYTES: usize = 18;

const METHODS: &[(Word, Method)] = &[
    (word("X9.9-1"), Method::X99),
    (word("X9.19OPT"), Method::X919),
    (word("TDES-MAC"), Method::Tdes),
    (word("EMVMAC"), Method::Emv),
    (word("EMVMACD"), Method::EmvDouble),
];
const SEGMENTS: &[(Word, Segment)] = &[
    (word("ONLY"), Segment::Only),
    (word("FIRST"), Segment::First),
    (word("MIDDLE"), Segment::Middle),
    (word("LAST"), Segment::Last),
];
const FORMATS: &[(Word, Format)] = &[
    (word("MACLEN4"), Format::Bytes(4)),
    (word("MACLEN6"), Format::Bytes(6)),
    (word("MACLEN8"), Format::Bytes(8)),
    (word("HEX-8"), Format::Hex8),
    (word("HEX-9"), Format::Hex9),
];

// Both verbs have the same parameters in the same places.
const KEY_IDENTIFIER: usize = mac_generate::KEY_IDENTIFIER;
const TEXT_LENGTH: usize = mac_generate::TEXT_LENGTH;
const TEXT: usize = mac_generate::TEXT;
const RULE_ARRAY_COUNT: usize = mac_generate::RULE_ARRAY_COUNT;
const RULE_ARRAY: usize = mac_generate::RULE_ARRAY;
const CHAINING_VECTOR: usize = mac_generate::CHAINING_VECTOR;
const _: () = assert!(
    KEY_IDENTIFIER == mac_verify::KEY_IDENTIFIER
        && TEXT_LENGTH == mac_verify::TEXT_LENGTH
        && TEXT == mac_verify::TEXT
        && RULE_ARRAY_COUNT == mac_verify::RULE_ARRAY_COUNT
        && RULE_ARRAY == mac_verify::RULE_ARRAY
        && CHAINING_VECTOR == mac_verify::CHAINING_VECTOR
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_show_what_their_names_say() {
        let value = [0x01, 0x2F, 0xA0, 0x9E, 5, 6, 7, 8];
        let shown = |format: Format| {
            let (bytes, length) = format.show(&value);
            bytes[..length].to_vec()
        };
        assert_eq!(shown(Format::Bytes(4)), value[..4]);
        assert_eq!(shown(Format::Bytes(6)), value[..6]);
        assert_eq!(shown(Format::Bytes(8)), value);
        assert_eq!(shown(Format::Hex8), b"012FA09E");
        assert_eq!(shown(Format::Hex9), b"012F A09E");
    }
}
