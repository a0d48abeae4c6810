//! The one classifier of key-identifier fields: the kind of content of a field, read only as far as
//! that needs.
//!
//! Daemon, cards, labels and re-encipherment all use it, so that none of them takes a field for
//! harmless that another would open. It checks lengths, token-validation values and every field
//! that says whether a key is clear; a verb's parser checks the rest. No key is used.
//!
//! Tests and a fuzz target check it against the parsers of this crate: [`describe`] calls wrapped
//! whatever a parser reads as a wrapped key, with the same master-key pattern. An unknown field is
//! refused, since its content is unknown.

use crate::holds::{DescribeError, Holds, Under};
use crate::pattern::PATTERN_BYTES;
use crate::tr31::Tr31;
use crate::{TOKEN_BYTES, aes, des, pka, variable};
use wire::Label;
use wire::control::{Register, Store};
use wire::verb::Length;

/// Layout of a key-identifier field, by its first byte and, for symmetric tokens, the version at offset 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A null token: an empty field, or first byte X'00'.
    Null,
    /// A fixed-length DES token for this system: X'01', any version but X'04' and X'05'.
    DesInternal,
    /// A fixed-length DES token for another system: X'02', any version but X'05'.
    DesExternal,
    /// A fixed-length AES token: X'01', version X'04'.
    AesInternal,
    /// A variable-length symmetric token for this system: X'01', version X'05'.
    VariableInternal,
    /// A variable-length symmetric token for another system: X'02', version X'05'.
    VariableExternal,
    /// A PKA token for this system: X'1F'.
    PkaInternal,
    /// A PKA token for another system, or of a public or clear key: X'1E'.
    PkaExternal,
    /// A key block of ASC X9 TR 31: a version letter and its length in digits, without the
    /// characters that end the first word of a label.
    KeyBlock,
    /// A label: first byte X'20' to X'FE'.
    Label,
    /// No known layout.
    Unknown,
}

impl Format {
    /// The layout of a field; an empty field is a null token. Only the bytes that decide the layout
    /// are read.
    #[inline]
    pub fn of(field: &[u8]) -> Self {
        let version = field.get(4).copied().unwrap_or(0);
        match (field.first().copied().unwrap_or(0), version) {
            (0x00, _) => Self::Null,
            (0x01, 0x05) => Self::VariableInternal,
            (0x02, 0x05) => Self::VariableExternal,
            (0x01, 0x04) => Self::AesInternal,
            (0x01, _) => Self::DesInternal,
            (0x02, _) => Self::DesExternal,
            (pka::INTERNAL, _) => Self::PkaInternal,
            (pka::EXTERNAL, _) => Self::PkaExternal,
            _ if stated(field).is_some() => Self::KeyBlock,
            _ if Label::is_label_field(field) => Self::Label,
            _ => Self::Unknown,
        }
    }

    /// The key store for tokens of this layout; none for a layout that no store holds. Key blocks
    /// are stored with the other tokens of variable length.
    pub fn store(self) -> Option<Store> {
        match self {
            Self::DesInternal => Some(Store::Des),
            Self::AesInternal | Self::VariableInternal | Self::KeyBlock => Some(Store::Aes),
            Self::PkaInternal | Self::PkaExternal => Some(Store::Pka),
            Self::Null | Self::DesExternal | Self::VariableExternal | Self::Label | Self::Unknown => None,
        }
    }
}

/// The layout, key and length of a key-identifier field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Layout of the field.
    pub format: Format,
    /// The kind of key in the field, and its wrapping.
    pub holds: Holds,
    /// Length of token or label in bytes; what follows it in the field is not part of it.
    pub bytes: usize,
}

impl Description {
    /// Register of the master key that wraps the field's key; none for any other key.
    pub fn register(&self) -> Option<Register> {
        match self.holds {
            Holds::Wrapped(Under::Master { register, .. }) => Some(register),
            _ => None,
        }
    }

    /// Verification pattern of the master key that wraps the field's key; none for any other key.
    pub fn pattern(&self) -> Option<[u8; PATTERN_BYTES]> {
        match self.holds {
            Holds::Wrapped(Under::Master { pattern, .. }) => pattern,
            _ => None,
        }
    }
}

/// Classifies a key-identifier field, which starts with a token or a label.
///
/// # Errors
/// [`DescribeError`]: a field of unknown content may hold a wrapped key.
pub fn describe(field: &[u8]) -> Result<Description, DescribeError> {
    let format = Format::of(field);
    let (holds, bytes) = match format {
        Format::Null => (Holds::Nothing, field.len()),
        Format::Label => (Holds::Named, fixed(field)?.len()),
        Format::DesInternal | Format::DesExternal => (des::holds(fixed(field)?)?, TOKEN_BYTES),
        Format::AesInternal => (aes::holds(fixed(field)?)?, TOKEN_BYTES),
        Format::VariableInternal | Format::VariableExternal => variable::holds(field)?,
        Format::PkaInternal | Format::PkaExternal => pka::holds(field)?,
        Format::KeyBlock => (Holds::Wrapped(Under::Key), key_block(field)?),
        Format::Unknown => return Err(DescribeError::Form),
    };
    Ok(Description { format, holds, bytes })
}

/// Length in bytes that the header of a key block at the beginning of a field gives; none for any
/// other field.
fn stated(field: &[u8]) -> Option<usize> {
    Length::of_key_block(field.first_chunk()?)
}

/// Length of the key block at the beginning of a field. The header is read, not the key behind it.
fn key_block(field: &[u8]) -> Result<usize, DescribeError> {
    let given = field.len();
    let block =
        stated(field).and_then(|length| field.get(..length)).ok_or(DescribeError::Length { given })?;
    Tr31::parse(block).map(|_| block.len()).map_err(|_| DescribeError::Form)
}

/// The token or label of fixed length at the beginning of a field.
fn fixed(field: &[u8]) -> Result<&[u8; TOKEN_BYTES], DescribeError> {
    field.first_chunk().ok_or(DescribeError::Length { given: field.len() })
}

const _: () = assert!(wire::bounds::LABEL_BYTES == TOKEN_BYTES);
