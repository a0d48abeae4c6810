//! The layout of an ESP packet (RFC 4303, 2).
//!
//! ```text
//!  0        4          8                                          end - ICV     end
//!  | SPI    | sequence | IV | payload, TFC padding | 1 2 3 .. | n | next | ICV |
//!                           |<--------------- enciphered --------------->|
//!  |<------------------------- authenticated ---------------------------->|
//! ```

use crate::suite::Suite;

/// Length of SPI and sequence number, in bytes.
pub(crate) const HEADER_BYTES: usize = 8;
/// Length of pad length and next header, in bytes.
pub(crate) const TRAILER_BYTES: usize = 2;
/// Upper bound of the padding, in bytes: its length has eight bits.
pub(crate) const PADDING_MAX: usize = 255;
/// The next header of a dummy packet (RFC 4303, 2.6).
pub const NO_NEXT_HEADER: u8 = 59;

/// SPI and the low half of the sequence number; `None` if the packet is too short for them.
#[inline]
pub(crate) fn read_header(packet: &[u8]) -> Option<(u32, u32)> {
    let (spi, rest) = packet.split_first_chunk()?;
    let (sequence, _) = rest.split_first_chunk()?;
    Some((u32::from_be_bytes(*spi), u32::from_be_bytes(*sequence)))
}

/// Length of the enciphered part, in bytes; `None` unless the packet has a length that the suite allows.
#[inline]
pub(crate) fn enciphered_bytes(suite: Suite, packet_bytes: usize) -> Option<usize> {
    let bytes = packet_bytes.checked_sub(HEADER_BYTES + suite.iv_bytes() + suite.icv_bytes())?;
    (bytes >= TRAILER_BYTES && bytes.is_multiple_of(suite.pad_to())).then_some(bytes)
}

/// Length of the padding behind a payload of this length, in bytes.
#[inline]
pub(crate) fn padding_bytes(suite: Suite, payload_bytes: usize) -> usize {
    let pad_to = suite.pad_to();
    (payload_bytes + TRAILER_BYTES).next_multiple_of(pad_to) - payload_bytes - TRAILER_BYTES
}

/// Writes padding and trailer to the end of the part that will be enciphered.
#[inline]
pub(crate) fn write_trailer(enciphered: &mut [u8], padding: usize, next_header: u8) {
    let end = enciphered.len();
    let trailer = &mut enciphered[end - TRAILER_BYTES - padding..];
    trailer[..padding].copy_from_slice(&COUNTED[..padding]);
    trailer[padding] = padding as u8;
    trailer[padding + 1] = next_header;
}

/// Length of the payload, with TFC padding, and next header of a deciphered part; `None` if the padding is not what it
/// must be (RFC 4303, 2.4).
#[inline]
pub(crate) fn read_trailer(deciphered: &[u8]) -> Option<(usize, u8)> {
    let [before @ .., padding, next_header] = deciphered else { return None };
    let payload = before.len().checked_sub(usize::from(*padding))?;
    (before[payload..] == COUNTED[..usize::from(*padding)]).then_some((payload, *next_header))
}

/// The bytes of padding: 1, 2, 3 and so on.
const COUNTED: [u8; PADDING_MAX] = {
    let mut bytes = [0; PADDING_MAX];
    let mut at = 0;
    while at < PADDING_MAX {
        bytes[at] = at as u8 + 1;
        at += 1;
    }
    bytes
};
