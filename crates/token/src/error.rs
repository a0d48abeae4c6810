//! Why bytes are not a token, and the codes that a verb answers for it.

use crate::control_vector::ControlVectorError;
use wire::Codes;
use wire::code;

/// Why bytes are refused as a token; the caller that passed them is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// The field is not as long as the format requires.
    Length {
        /// Length of the field in bytes.
        given: usize,
        /// Length of the format in bytes.
        needed: usize,
    },
    /// The first byte names no token that is served here.
    Kind(u8),
    /// The version is not served.
    Version(u8),
    /// The token-validation value of an internal token is wrong.
    InternalTvv,
    /// The token-validation value of an external token is wrong.
    ExternalTvv,
    /// The wrapping method is not served; the number is bits 0-2 of flag byte 2.
    Wrapping(u8),
    /// The token has the original wrapping, which the control vector forbids.
    EnhancedOnly,
    /// The flags contradict each other or are not served.
    Flags(u8),
    /// The byte at this offset must be zero, or contradicts another field.
    Field(usize),
    /// The control vector breaks a rule.
    ControlVector(ControlVectorError),
    /// The longitudinal check value of a clear AES key is wrong.
    CheckValue,
    /// The algorithm has no keys of this length.
    KeyLength(usize),
}

impl TokenError {
    /// The return and reason code of a verb that got such a token.
    pub fn codes(self) -> Codes {
        match self {
            Self::InternalTvv => code::INTERNAL_TVV,
            Self::ExternalTvv => code::EXTERNAL_TVV,
            Self::Version(_) => code::TOKEN_VERSION,
            Self::Wrapping(_) => code::WRAPPING_TYPE,
            Self::EnhancedOnly => code::WRAPPING_BIT,
            Self::ControlVector(_) => code::KEY_USAGE,
            Self::Length { .. }
            | Self::Kind(_)
            | Self::Flags(_)
            | Self::Field(_)
            | Self::CheckValue
            | Self::KeyLength(_) => code::TOKEN_INVALID,
        }
    }
}

impl std::fmt::Display for TokenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length { given, needed } => write!(f, "a token of {given} bytes where {needed} are needed"),
            Self::Kind(byte) => write!(f, "first byte X'{byte:02X}' names no token that is served here"),
            Self::Version(version) => write!(f, "token version X'{version:02X}' is not served"),
            Self::InternalTvv => f.write_str("the token-validation value of the internal token is wrong"),
            Self::ExternalTvv => f.write_str("the token-validation value of the external token is wrong"),
            Self::Wrapping(method) => write!(f, "wrapping method {method} is not served"),
            Self::EnhancedOnly => f.write_str("the control vector forbids the original wrapping of its key"),
            Self::Flags(flags) => {
                write!(f, "token flags X'{flags:02X}' contradict each other or are not served")
            }
            Self::Field(offset) => write!(f, "byte {offset} of the token contradicts its other fields"),
            Self::ControlVector(error) => write!(f, "{error}"),
            Self::CheckValue => f.write_str("the check value of the clear key is wrong"),
            Self::KeyLength(length) => write!(f, "a key of {length} is not a length of this algorithm"),
        }
    }
}

impl std::error::Error for TokenError {}

impl From<ControlVectorError> for TokenError {
    fn from(error: ControlVectorError) -> Self {
        Self::ControlVector(error)
    }
}
