//! Writes the first bytes of the bodies of literal and compressed packets.

use super::LiteralHeader;
use crate::CompressionAlgorithm;

/// The first bytes of a literal packet's body (RFC 9580, 5.9); the text follows them.
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

/// The first byte of a compressed packet's body (RFC 9580, 5.6); the compressed packets follow it.
pub fn compressed_header(algorithm: CompressionAlgorithm) -> [u8; 1] {
    [algorithm.into()]
}
