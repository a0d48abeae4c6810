//! Control messages as bytes: writing and reading them.

use super::CONTROL_VERSION;
use crate::bounds::CONTROL_BYTES_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a control message cannot be written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// Longer than [`CONTROL_BYTES_MAX`].
    TooLong(usize),
    /// Not the encoding of the message that was expected.
    Malformed,
    /// Not that encoding either, but the beginning of a connection's first message in another
    /// [`CONTROL_VERSION`]: this one.
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

/// Encodes a control message.
///
/// # Errors
/// [`MessageError::TooLong`], or [`MessageError::Malformed`] for a value that postcard cannot encode.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, MessageError> {
    let bytes = postcard::to_stdvec(message).map_err(|_| MessageError::Malformed)?;
    if bytes.len() > CONTROL_BYTES_MAX { Err(MessageError::TooLong(bytes.len())) } else { Ok(bytes) }
}

/// Reads a message; nothing may follow it.
///
/// # Errors
/// [`MessageError`] says what is wrong with the bytes.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MessageError> {
    if bytes.len() > CONTROL_BYTES_MAX {
        return Err(MessageError::TooLong(bytes.len()));
    }
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(other_version(bytes).map_or(MessageError::Malformed, MessageError::Version)),
    }
}

/// The version of the peer, if these bytes are the first message of a connection in another version
/// than [`CONTROL_VERSION`]. In every version that message is the first of its kind and begins with
/// the version; the rest may differ.
fn other_version(bytes: &[u8]) -> Option<u16> {
    let ((first, version), _) = postcard::take_from_bytes::<(u8, u16)>(bytes).ok()?;
    (first == 0 && version != CONTROL_VERSION).then_some(version)
}
