//! The writer's side: what the bodies of literal and compressed packets begin with.

use super::LiteralHeader;
use crate::CompressionAlgorithm;

/// What the body of a literal packet begins with (RFC 9580, 5.9); the text follows.
///
/// # Panics
/// If the name is longer than 255 bytes.
pub fn literal_header(header: &LiteralHeader) -> Vec<u8> {
    let name_bytes = u8::try_from(header.name.len()).expect("a name of at most 255 bytes");
    let mut out = Vec::with_capacity(2 + header.name.len() + 4);
    out.extend([u8::from(header.mode), name_bytes]);
    out.extend_from_slice(&header.name);
    out.extend_from_slice(&header.modified.as_secs().to_be_bytes());
    out
}

/// What the body of a compressed packet begins with (RFC 9580, 5.6); the compressed packets follow.
pub fn compressed_header(algorithm: CompressionAlgorithm) -> [u8; 1] {
    [algorithm.into()]
}
