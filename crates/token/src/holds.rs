//! The kind of key in a field, and the kind of key that wraps it. The file of each format decides
//! these for its own tokens.

use crate::pattern::PATTERN_BYTES;
use wire::control::Register;

/// The key in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// No key: a null token or a skeleton.
    Nothing,
    /// A public key alone.
    Public,
    /// A secret key in the clear.
    Clear,
    /// A secret key, wrapped under another key.
    Wrapped(Under),
    /// A key that is held elsewhere, under this label.
    Named,
}

/// The kind of key that wraps a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// A master key of this system.
    Master {
        /// Register of the master key.
        register: Register,
        /// Verification pattern of the master key; `None` in old forms, whose patterns have another
        /// length.
        pattern: Option<[u8; PATTERN_BYTES]>,
    },
    /// A key-encrypting key that is shared with another system.
    Key,
    /// The public key of another system.
    Rsa,
}

/// Why a field cannot be classified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescribeError {
    /// The field is shorter than its layout or its own header requires, or a length in it leads
    /// beyond its end.
    Length {
        /// Length of the field in bytes.
        given: usize,
    },
    /// A version, section or form that is not known.
    Form,
    /// The token-validation value is wrong.
    ValidationValue,
}

impl std::fmt::Display for DescribeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length { given } => write!(f, "{given} bytes do not have the length of their token's form"),
            Self::Form => f.write_str("the token is not of a known form"),
            Self::ValidationValue => f.write_str("the token-validation value is wrong"),
        }
    }
}

impl std::error::Error for DescribeError {}
