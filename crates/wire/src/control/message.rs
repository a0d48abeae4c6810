//! The bytes of a message.

use super::CONTROL_VERSION;
use crate::bounds::CONTROL_BYTES_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is wrong with a control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// Longer than [`CONTROL_BYTES_MAX`].
    TooLong(usize),
    /// Not the encoding of the message that was expected.
    Malformed,
    /// The same, and it begins as the first message of a connection of another [`CONTROL_VERSION`].
    Version(u16),
}

impl std::fmt::Display for MessageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong(length) => {
                write!(f, "a control message of {length} bytes; at most {CONTROL_BYTES_MAX}")
            }
            Self::Version(version) => write!(
                f,
                "a first message of version {version} of the control protocol, where this program speaks {CONTROL_VERSION}"
            ),
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
        _ => Err(other_version(bytes).map_or(MessageError::Malformed, MessageError::Version)),
    }
}

/// The version of the peer, if these bytes are the first message of a connection and that is another one. In every
/// version each of these messages is the first of its kind, and begins with the version; what follows may differ.
fn other_version(bytes: &[u8]) -> Option<u16> {
    let ((first, version), _) = postcard::take_from_bytes::<(u8, u16)>(bytes).ok()?;
    (first == 0 && version != CONTROL_VERSION).then_some(version)
}
