//! MDC_Generate (CSNBMDG): the modification detection code of a text, whole or in segments of any length.
//!
//! | keyword | encipherments a block | text |
//! |---|---|---|
//! | MDC-2 (default), MDC-4 | two, four | whole blocks of 8 bytes, two or more |
//! | PADMDC-2, PADMDC-4 | two, four | any; padded with X'FF' and, in the last byte, the count of added bytes: to the next block, and to two at least |
//!
//! ONLY and FIRST begin from the constant of the method; MIDDLE and LAST from the MDC parameter, which holds the code
//! from the previous segment or, with a chaining vector of zeros, a key of the caller's for a keyed hash. Segments
//! before the last return the code of all whole blocks there, and in the chaining vector the rest of the text:
//!
//! | bytes of the chaining vector | |
//! |---|---|
//! | 0 to 7 | text that is no whole block yet, then zeros |
//! | 8 | how many bytes that is |
//! | 9 | blocks before it: 0, 1, or 2 for two and more |
//! | 10 to 17 | zeros |
//!
//! No key of the card is used, so the chaining vector is not sealed.

use crate::call::{Call, Reply, Verdict};
use crate::pass::{Hash, HashOutput, MdcText};
use engine::{MDC_START, MdcAlgorithm};
use std::borrow::Cow;
use wire::verb::mdc_generate::{Answer, Request};
use wire::verb::{MdcMethod, Segment};
use wire::{Codes, code};

/// Answers with the code; after FIRST and MIDDLE with the code of the blocks so far, and the chaining vector.
pub(crate) async fn mdc_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (begins, ends) = match request.segment {
        Segment::Only => (true, true),
        Segment::First => (true, false),
        Segment::Middle => (false, false),
        Segment::Last => (false, true),
    };
    let (algorithm, is_padded) = match request.method {
        MdcMethod::Mdc2 => (MdcAlgorithm::Mdc2, false),
        MdcMethod::Mdc4 => (MdcAlgorithm::Mdc4, false),
        MdcMethod::PaddedMdc2 => (MdcAlgorithm::Mdc2, true),
        MdcMethod::PaddedMdc4 => (MdcAlgorithm::Mdc4, true),
    };
    let (state, before) = if begins {
        (MDC_START, Rest::default())
    } else {
        let vector = request.chaining_vector.ok_or(code::INVALID_PARAMETER)?;
        (*request.mdc.ok_or(code::INVALID_PARAMETER)?, Rest::read(vector)?)
    };
    let mut text = before.and(request.text_data);
    let rest = if ends {
        let seen = usize::from(before.blocks) * BLOCK_BYTES;
        if is_padded {
            pad(seen, text.to_mut());
        } else if seen + text.len() < BYTES_MIN || !text.len().is_multiple_of(BLOCK_BYTES) {
            return Err(code::TEXT_LENGTH.into());
        }
        None
    } else {
        Some(before.after(&mut text))
    };
    let HashOutput::Digest(mdc) = call.ask(Hash::Mdc(MdcText { algorithm, state, text })).await? else {
        return Err(code::SELF_CHECK.into());
    };
    let vector = rest.map(|rest| rest.vector());
    reply.write(Answer { chaining_vector: vector.as_ref(), mdc: mdc.first_chunk() })?;
    Ok(code::OK)
}

/// The unhashed rest of a text before the next segment: less than a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rest {
    bytes: [u8; BLOCK_BYTES],
    count: u8,
    /// Number of blocks before the rest; 2 means two or more.
    blocks: u8,
}

impl Rest {
    /// Reads the rest from a chaining vector; 8/2036 for a malformed one.
    fn read(vector: &[u8; CHAINING_BYTES]) -> Result<Self, Codes> {
        let mut bytes = [0; BLOCK_BYTES];
        bytes.copy_from_slice(&vector[..BLOCK_BYTES]);
        let rest = Self { bytes, count: vector[COUNT], blocks: vector[BLOCKS] };
        let is_one = usize::from(rest.count) < BLOCK_BYTES
            && rest.blocks <= BLOCKS_MAX
            && bytes[usize::from(rest.count)..].iter().chain(&vector[BLOCKS + 1..]).all(|byte| *byte == 0);
        if is_one { Ok(rest) } else { Err(code::CHAINING_VECTOR) }
    }

    fn vector(&self) -> [u8; CHAINING_BYTES] {
        let mut vector = [0; CHAINING_BYTES];
        vector[..BLOCK_BYTES].copy_from_slice(&self.bytes);
        (vector[COUNT], vector[BLOCKS]) = (self.count, self.blocks);
        vector
    }

    /// The rest, followed by the text of the next segment.
    fn and<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match self.bytes.get(..usize::from(self.count)) {
            None | Some([]) => Cow::Borrowed(text),
            Some(rest) => Cow::Owned([rest, text].concat()),
        }
    }

    /// Truncates the text to its whole blocks, and returns the rest.
    fn after(&self, text: &mut Cow<'_, [u8]>) -> Self {
        let whole = text.len() - text.len() % BLOCK_BYTES;
        let mut after = Self { count: (text.len() - whole) as u8, ..Self::default() };
        after.bytes[..text.len() - whole].copy_from_slice(&text[whole..]);
        let blocks = usize::from(self.blocks) + whole / BLOCK_BYTES;
        after.blocks = blocks.min(usize::from(BLOCKS_MAX)) as u8;
        match text {
            Cow::Borrowed(text) => *text = &text[..whole],
            Cow::Owned(text) => text.truncate(whole),
        }
        after
    }
}

/// Pads the last part of a text, of which at least `seen` bytes were hashed before.
fn pad(seen: usize, text: &mut Vec<u8>) {
    let bytes = (seen + text.len() + 1).next_multiple_of(BLOCK_BYTES).max(BYTES_MIN) - seen;
    let added = bytes - text.len();
    text.resize(bytes - 1, 0xFF);
    text.push(added as u8);
}

const BLOCK_BYTES: usize = 8;
/// Length of the shortest text, with its padding.
const BYTES_MIN: usize = 16;
const CHAINING_BYTES: usize = 18;
/// Offset in the chaining vector of the number of bytes of the rest.
const COUNT: usize = 8;
const BLOCKS: usize = 9;
const BLOCKS_MAX: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_fills_two_blocks_and_ends_in_its_count() {
        for (seen, length, padded) in [
            (0, 0, 16),
            (0, 1, 16),
            (0, 8, 16),
            (0, 15, 16),
            (0, 16, 24),
            (0, 23, 24),
            (8, 0, 8),
            (8, 7, 8),
            (8, 8, 16),
            (16, 0, 8),
            (16, 7, 8),
            (16, 8, 16),
        ] {
            let mut text = vec![7; length];
            pad(seen, &mut text);
            assert_eq!(text.len(), padded, "{seen} {length}");
            assert_eq!(usize::from(text[padded - 1]), padded - length);
            assert!(text[length..padded - 1].iter().all(|byte| *byte == 0xFF));
        }
    }

    #[test]
    fn only_what_a_segment_left_is_a_chaining_vector() {
        for count in 0..8 {
            for blocks in 0..=2 {
                let mut bytes = [0; 8];
                bytes[..count].fill(3);
                let rest = Rest { bytes, count: count as u8, blocks };
                assert_eq!(Rest::read(&rest.vector()), Ok(rest));
                for at in 0..18 {
                    let mut other = rest.vector();
                    other[at] ^= 0x80;
                    let is_text = at < count;
                    assert_eq!(Rest::read(&other).is_ok(), is_text, "{count} {blocks} {at}");
                }
            }
        }
    }
}
