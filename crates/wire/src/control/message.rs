//! The bytes of a message.

use crate::bounds::CONTROL_BYTES_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is wrong with a control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// Longer than [`CONTROL_BYTES_MAX`].
    TooLong(usize),
    /// Not the encoding of the message that was expected.
    Malformed,
}

impl std::fmt::Display for MessageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong(length) => {
                write!(f, "a control message of {length} bytes; at most {CONTROL_BYTES_MAX}")
            }
            Self::Malformed => f.write_str("a control message that is not of the expected form"),
        }
    }
}

impl std::error::Error for MessageError {}

/// The bytes of a message.
///
/// # Errors
/// [`MessageError::TooLong`].
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, MessageError> {
    let bytes = postcard::to_stdvec(message).map_err(|_| MessageError::Malformed)?;
    if bytes.len() > CONTROL_BYTES_MAX { Err(MessageError::TooLong(bytes.len())) } else { Ok(bytes) }
}

/// Reads a message; nothing may follow it.
///
/// # Errors
/// [`MessageError`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MessageError> {
    if bytes.len() > CONTROL_BYTES_MAX {
        return Err(MessageError::TooLong(bytes.len()));
    }
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(MessageError::Malformed),
    }
}
