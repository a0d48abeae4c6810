//! Writes the text of a key block.

use super::HEADER_BYTES;
use super::attributes::Attributes;
use super::optional::{OptionalBlock, PADDING, SHORT_HEAD};
use super::parse::{Cause, Fault, read_header};
use super::{BLOCK_BYTES_MAX, Version};

/// The header of a block with a payload of `payload_bytes` bytes and these optional blocks. A padding block is added if
/// they do not fill whole blocks of the cipher.
///
/// # Errors
/// [`Fault`] at the place of a character that is not allowed; [`Cause::Length`] if the payload is not whole blocks of
/// the cipher, or the text would be too long; [`Cause::OptionalOrder`] for more than 99 optional blocks.
pub fn header(
    attributes: &Attributes,
    optional: &[OptionalBlock<'_>],
    payload_bytes: usize,
) -> Result<Vec<u8>, Fault> {
    let block = attributes.version.cipher_bytes();
    let too_long = Fault::at(Cause::Length, 1);
    let mut text = vec![b'0'; HEADER_BYTES];
    for one in optional {
        one.write(&mut text).ok_or(too_long)?;
    }
    let mut count = optional.len();
    if !text.len().is_multiple_of(block) {
        let fill = (text.len() + SHORT_HEAD).next_multiple_of(block) - text.len() - SHORT_HEAD;
        let padding = OptionalBlock { identifier: PADDING, data: &[b'0'; 16][..fill] };
        padding.write(&mut text).ok_or(too_long)?;
        count += 1;
    }
    if count > 99 {
        return Err(Fault::at(Cause::OptionalOrder, 12));
    }
    let length = text_bytes(attributes.version, text.len(), payload_bytes).ok_or(too_long)?;
    text[..HEADER_BYTES].copy_from_slice(&attributes.write(length, count));
    read_header(&text)?;
    Ok(text)
}

fn text_bytes(version: Version, header_bytes: usize, payload_bytes: usize) -> Option<usize> {
    let is_whole = payload_bytes > 0 && payload_bytes.is_multiple_of(version.cipher_bytes());
    let length = payload_bytes.checked_add(version.mac_bytes())?.checked_mul(2)?.checked_add(header_bytes)?;
    (is_whole && length <= BLOCK_BYTES_MAX).then_some(length)
}

/// The text of a block: header, then enciphered payload and MAC in hexadecimal digits.
pub fn assemble(header: &[u8], enciphered: &[u8], mac: &[u8]) -> Vec<u8> {
    let mut text = header.to_vec();
    for byte in enciphered.iter().chain(mac) {
        text.extend([byte >> 4, byte & 15].map(|digit| b"0123456789ABCDEF"[usize::from(digit)]));
    }
    text
}
