//! What key a field holds, and what that is wrapped under: each format's file says it of its own tokens.

use crate::pattern::PATTERN_BYTES;
use wire::control::Register;

/// The key in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// None: a null token or a skeleton.
    Nothing,
    /// A public key alone.
    Public,
    /// A secret key in the clear.
    Clear,
    /// A secret key, wrapped.
    Wrapped(Under),
    /// One that is held elsewhere, under this label.
    Named,
}

/// What a key is wrapped under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// A master key of this system.
    Master {
        /// Register of the master key.
        register: Register,
        /// Its verification pattern; `None` in old forms, whose patterns are of another length.
        pattern: Option<[u8; PATTERN_BYTES]>,
    },
    /// A key-encrypting key that is shared with another system.
    Key,
    /// The public key of another system.
    Rsa,
}

/// Why nothing is known of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescribeError {
    /// The field is shorter than its layout or its own header says, or a length in it leads out of it.
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
