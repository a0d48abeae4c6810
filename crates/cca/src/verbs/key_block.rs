//! What the verbs of key blocks share: control vectors in optional blocks, and codes.
//!
//! ```text
//! 10  length  IBMC  01  14 or 24  control vector, 16 or 32 hexadecimal digits
//! ```

use payments::key_block::{Block, OptionalBlock, Version};
use token::ControlVector;
use token::tr31::uses::Refused;
use wire::{Codes, code};

/// The identifier of IBM's optional block.
pub(super) const VECTOR_BLOCK: [u8; 2] = *b"10";
/// Usage and mode of a block whose control vector alone gives the use of its key.
pub(super) const VECTOR_USAGE: ([u8; 2], u8) = (*b"10", b'1');
/// Start of the data of IBM's optional block: the owner's mark, and the number for a control vector.
const VECTOR_HEAD: &[u8; 6] = b"IBMC01";

/// The data of the optional block with a control vector: of a key of single length its left half.
pub(super) fn vector_data(vector: ControlVector, key_bytes: usize) -> Vec<u8> {
    let bytes = vector.to_bytes();
    let halves = if key_bytes > 8 { &bytes[..] } else { &bytes[..8] };
    let mut data = VECTOR_HEAD.to_vec();
    data.extend_from_slice(if key_bytes > 8 { b"24" } else { b"14" });
    data.extend(
        halves.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[usize::from(digit)]),
    );
    data
}

/// The control vector in the optional blocks of a block, if there is one.
///
/// # Errors
/// 8/47 for a block of IBM's that is malformed or holds anything else: it must not be ignored.
pub(super) fn vector_of(block: &Block<'_>) -> Result<Option<ControlVector>, Codes> {
    let data = match block.optional_data(VECTOR_BLOCK) {
        Some(data) if data.starts_with(b"IBMC") => data,
        _ => return Ok(None),
    };
    let digits = match data.strip_prefix(VECTOR_HEAD) {
        Some([b'1', b'4', digits @ ..]) if digits.len() == 16 => digits,
        Some([b'2', b'4', digits @ ..]) if digits.len() == 32 => digits,
        _ => return Err(code::TOKEN_INVALID),
    };
    let mut halves = [[0; 8]; 2];
    for (pair, byte) in digits.as_chunks::<2>().0.iter().zip(halves.as_flattened_mut()) {
        for digit in pair {
            let value = DIGITS.iter().position(|known| known == digit).ok_or(code::TOKEN_INVALID)?;
            *byte = *byte << 4 | value as u8;
        }
    }
    let vector = ControlVector::from_bytes(halves[0], halves[1]);
    vector.map(Some).map_err(|_| code::TOKEN_INVALID)
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// IBM's optional block with this data.
pub(super) fn vector_block(data: &[u8]) -> OptionalBlock<'_> {
    OptionalBlock { identifier: VECTOR_BLOCK, data }
}

/// The codes for a refused usage and mode; `is_chosen` is whether a keyword chose among their meanings.
pub(super) fn refusal(refused: Refused, is_chosen: bool) -> Codes {
    match refused {
        Refused::Choice if !is_chosen => code::KEYWORD_REQUIRED,
        Refused::Choice => code::TYPE_AND_VECTOR,
        Refused::Length => code::KEY_LENGTH_KEYWORD,
        Refused::Codes | Refused::Wider | Refused::Export => code::KEY_USAGE,
    }
}

/// CCA's number for the protection method of a block of this version.
pub(super) const fn protection_number(version: Version) -> i64 {
    version as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use token::KeyType;
    use token::control_vector::KeyForm;

    fn with_optional(data: &[u8]) -> Result<Option<ControlVector>, Codes> {
        let attributes = payments::key_block::Attributes {
            version: Version::B,
            usage: *b"D0",
            algorithm: b'T',
            mode: b'B',
            key_version: *b"00",
            exportability: payments::key_block::Exportability::Trusted,
            context: b'0',
        };
        let header = payments::key_block::header(&attributes, &[vector_block(data)], 24).unwrap();
        let text = payments::key_block::assemble(&header, &[0; 24], &[0; 8]);
        vector_of(&Block::parse(&text).unwrap())
    }

    #[test]
    fn a_control_vector_is_read_as_it_was_written() {
        for (form, bytes) in [(KeyForm::Single, 8), (KeyForm::Double, 16), (KeyForm::Triple, 24)] {
            let vector = KeyType::Data.vector_with(form, []).unwrap();
            let data = vector_data(vector, bytes);
            assert_eq!(with_optional(&data), Ok(Some(vector)));
            let mut wrong = data.clone();
            wrong[8] ^= 1;
            assert_eq!(with_optional(&wrong), Err(code::TOKEN_INVALID));
            assert_eq!(with_optional(&data[..data.len() - 2]), Err(code::TOKEN_INVALID));
        }
        assert_eq!(vector_data(ControlVector::ZERO, 16), b"IBMC012400000000000000000000000000000000");
        assert_eq!(with_optional(b"IBMC0108"), Err(code::TOKEN_INVALID));
        assert_eq!(with_optional(b"another maker's"), Ok(None));
        assert_eq!(with_optional(b"IBMC0114000371000300000g"), Err(code::TOKEN_INVALID));
    }
}
