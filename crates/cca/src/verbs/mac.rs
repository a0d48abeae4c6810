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
use std::future::Future;

use engine::{CipherAlgorithm, CipherDirection, MacAlgorithm, Mode, SecretBytes};
use token::usage::Use;
use wire::verb::{mac_generate, mac_verify};
use wire::{Codes, code};

use crate::call::{Call, Reply, Verdict};
use crate::key::{Algorithm, Key};
use crate::pass::{Ask, Cipher, Ciphered, KeyRule, Mac, MacOutput};
use crate::rules::{Rules, Word, word};
use crate::wipe::Text;

/// What came out of a text's end: the full 8 bytes, of which the format shows some.
pub(super) struct Computed {
    value: [u8; BLOCK_BYTES],
    format: Format,
}

impl Computed {
    /// The MAC as it is shown, and how long that is.
    pub(super) fn shown(&self) -> ([u8; 9], usize) {
        self.format.show(&self.value)
    }
}

/// Computes the MAC and ends with it, or with the chaining value of a segment that is not the last; writes key
/// identifier and chaining vector into the reply.
///
/// This verb is asked for most: there is no other computation in it, and keys and requests are gone before it
/// waits.
#[expect(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(super) fn compute<'f, 'r, 'w>(
    call: Call<'f, 'f>,
    reply: &'f mut Reply<'r, 'w>,
    usage: Use,
    end: fn(&Call<'_, '_>, &mut Reply<'r, 'w>, &Computed) -> Verdict,
) -> impl Future<Output = Verdict> + use<'f, 'r, 'w> {
    async move {
        let (asked, last, format, renewal, codes) = {
            let request = read(&call)?;
            let key = call.key(KEY_IDENTIFIER)?.of(Algorithm::Des)?.for_use(usage)?.await?;
            request.check_key(&key)?;
            let renewal = key.renew(call, KEY_IDENTIFIER)?;
            let codes = key.age.codes();
            let asked = match request.method {
                Method::Tdes => Asked::Cipher(call.ask(request.tdes(key.secret))),
                _ => Asked::Mac(call.ask(request.mac(key.secret))),
            };
            (asked, request.segment.is_last(), request.format, renewal, codes)
        };
        let value = match asked {
            Asked::Cipher(asked) => block_of(&asked.await?.chain),
            Asked::Mac(asked) => {
                let done = asked.await?;
                block_of(if last { &done.mac } else { &done.chain })
            }
        };
        renewal.write(reply, KEY_IDENTIFIER).await?;
        if last {
            let ended = end(&call, reply, &Computed { value, format })?;
            return Ok(if ended == code::OK { codes } else { ended });
        }
        let mut vector = [0; CHAINING_BYTES];
        vector[..BLOCK_BYTES].copy_from_slice(&value);
        reply.bytes(CHAINING_VECTOR, &vector);
        Ok(codes)
    }
}

/// The kernel work of a method.
enum Asked<'p, 'a> {
    Cipher(Ask<'p, Cipher, Result<Ciphered, Codes>>),
    Mac(Ask<'p, Mac<'a>, Result<MacOutput, Codes>>),
}

fn block_of(chain: &[u8; 16]) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    block.copy_from_slice(&chain[..BLOCK_BYTES]);
    block
}

/// How many bytes of the MAC are shown, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Bytes(usize),
    Hex8,
    Hex9,
}

impl Format {
    /// The MAC as it is shown, and how long that is.
    fn show(self, value: &[u8; BLOCK_BYTES]) -> ([u8; 9], usize) {
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
    chain: [u8; BLOCK_BYTES],
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
    let mut chain = [0; BLOCK_BYTES];
    if matches!(segment, Segment::Middle | Segment::Last) {
        let vector: [u8; CHAINING_BYTES] = call.array(CHAINING_VECTOR)?;
        chain.copy_from_slice(&vector[..BLOCK_BYTES]);
    }
    Ok(Request { method, segment, format, text, chain })
}

impl<'a> Request<'a> {
    fn check_key(&self, key: &Key) -> Result<(), Codes> {
        let needed = match self.method {
            Method::X99 | Method::Emv => 8,
            Method::X919 | Method::Tdes | Method::EmvDouble => 16,
        };
        if key.secret.len() == needed { Ok(()) } else { Err(code::KEY_USAGE) }
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

    /// ISO 16609: the last block of a text that TDES enciphers in CBC.
    fn tdes(&self, key: SecretBytes) -> Cipher {
        let mut data = Text::from(self.text);
        data.pad(self.text.len().next_multiple_of(BLOCK_BYTES), 0);
        Cipher {
            algorithm: CipherAlgorithm::Tdes2,
            rule: KeyRule::Chosen,
            mode: Mode::Cbc,
            direction: CipherDirection::Encipher,
            key,
            chain: self.whole_chain(),
            data,
        }
    }

    /// Every other method.
    fn mac(&self, key: SecretBytes) -> Mac<'a> {
        let algorithm = match self.method {
            Method::X919 | Method::EmvDouble => MacAlgorithm::X919,
            _ => MacAlgorithm::X99,
        };
        let (text, last) = (self.padded(), self.segment.is_last());
        Mac { algorithm, key, chain: self.whole_chain(), text, last }
    }

    fn whole_chain(&self) -> [u8; 16] {
        let mut chain = [0; 16];
        chain[..BLOCK_BYTES].copy_from_slice(&self.chain);
        chain
    }
}

/// Length of a block, and of a full MAC, in bytes.
const BLOCK_BYTES: usize = 8;
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
