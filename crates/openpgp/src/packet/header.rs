//! Headers of packets (RFC 9580, 4.2).

use crate::packet::PacketError;
use pgp::types::Tag;

/// Longest definite length in bytes.
pub const DEFINITE_BYTES_MAX: u64 = u32::MAX as u64;
/// Binary logarithm of the longest piece with a partial length.
pub const PARTIAL_BITS_MAX: u8 = 30;
/// Binary logarithm of the shortest first piece that may be written (RFC 9580, 4.2.1.4).
pub const PARTIAL_BITS_MIN: u8 = 9;

/// Length of a packet's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// This many bytes, at most [`DEFINITE_BYTES_MAX`].
    Definite(u64),
    /// A first piece of 2^bits bytes, with at most [`PARTIAL_BITS_MAX`] bits; lengths of further pieces come after it.
    Partial(u8),
    /// Up to the end of the stream; in the old format only.
    Indeterminate,
}

/// A packet's header, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type of the packet.
    pub tag: Tag,
    /// Length of the packet's body, or of the body's first piece.
    pub length: Length,
    /// Whether the header has the old (legacy) format.
    pub is_old: bool,
}

/// Encodes the header of a packet in the new format; in the old one if the length is indeterminate.
///
/// # Panics
/// If the length is beyond what [`Length`] allows, or indeterminate with a tag above 15.
pub fn header(tag: Tag, length: Length) -> Vec<u8> {
    let tag = u8::from(tag);
    let mut out = Vec::with_capacity(HEADER_BYTES_MAX);
    if length == Length::Indeterminate {
        assert!(tag < 16, "the old format knows no packet of type {tag}");
        out.push(IS_PACKET | tag << 2 | OLD_INDETERMINATE);
        return out;
    }
    out.push(IS_PACKET | IS_NEW | tag);
    write_length(length, &mut out);
    out
}

/// Appends a length in the new format.
///
/// # Panics
/// As for [`header`].
pub(crate) fn write_length(length: Length, out: &mut Vec<u8>) {
    match length {
        Length::Definite(bytes @ 0..192) => out.push(bytes as u8),
        Length::Definite(bytes @ 192..8384) => {
            out.extend_from_slice(&((bytes - 192) as u16 + TWO_OCTETS_FIRST).to_be_bytes());
        }
        Length::Definite(bytes) => {
            out.push(FIVE_OCTETS);
            let bytes = u32::try_from(bytes).expect("a definite length fits 32 bits");
            out.extend_from_slice(&bytes.to_be_bytes());
        }
        Length::Partial(bits) => {
            assert!(bits <= PARTIAL_BITS_MAX, "a partial length of 2^{bits} bytes cannot be written");
            out.push(PARTIAL_FIRST + bits);
        }
        Length::Indeterminate => unreachable!("written by the old format"),
    }
}

/// Reads a header from all of its octets so far; `None` if more are needed.
///
/// # Errors
/// [`PacketError`] if no packet begins so.
pub(crate) fn read_header(octets: &[u8]) -> Result<Option<Header>, PacketError> {
    let Some((&first, rest)) = octets.split_first() else { return Ok(None) };
    if first & IS_PACKET == 0 {
        return Err(PacketError::NotAPacket { octet: first });
    }
    let is_old = first & IS_NEW == 0;
    let (number, length) = if is_old {
        (first >> 2 & 15, read_old_length(first & 3, rest))
    } else {
        (first & 63, read_length(rest))
    };
    let tag = Tag::from(number);
    if matches!(tag, Tag::Invalid(_)) {
        return Err(PacketError::NotAPacket { octet: first });
    }
    Ok(length.map(|length| Header { tag, length, is_old }))
}

/// Reads a length in the new format; `None` if octets are missing.
pub(crate) fn read_length(octets: &[u8]) -> Option<Length> {
    Some(match *octets {
        [short @ 0..192, ..] => Length::Definite(short.into()),
        [high @ 192..224, low, ..] => {
            Length::Definite(u64::from(u16::from_be_bytes([high, low]) - TWO_OCTETS_FIRST) + 192)
        }
        [bits @ PARTIAL_FIRST..=PARTIAL_LAST, ..] => Length::Partial(bits - PARTIAL_FIRST),
        [FIVE_OCTETS, a, b, c, d, ..] => Length::Definite(u32::from_be_bytes([a, b, c, d]).into()),
        _ => return None,
    })
}

fn read_old_length(kind: u8, octets: &[u8]) -> Option<Length> {
    if kind == OLD_INDETERMINATE {
        return Some(Length::Indeterminate);
    }
    let octets = octets.get(..1 << kind)?;
    Some(Length::Definite(octets.iter().fold(0, |length, octet| length << 8 | u64::from(*octet))))
}

/// Longest header in bytes.
pub(crate) const HEADER_BYTES_MAX: usize = 6;

const IS_PACKET: u8 = 0x80;
const IS_NEW: u8 = 0x40;
const OLD_INDETERMINATE: u8 = 3;
/// The length of 192 bytes, encoded in two octets.
const TWO_OCTETS_FIRST: u16 = 192 << 8;
const PARTIAL_FIRST: u8 = 224;
const PARTIAL_LAST: u8 = 254;
const FIVE_OCTETS: u8 = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_the_rfc() {
        // RFC 9580, 4.2.3.
        for (bytes, octets) in
            [(100, &[0x64][..]), (1723, &[0xc5, 0xfb]), (100_000, &[0xff, 0x00, 0x01, 0x86, 0xa0])]
        {
            let mut out = Vec::new();
            write_length(Length::Definite(bytes), &mut out);
            assert_eq!(out, octets);
        }
        assert_eq!(read_length(&[0xef]), Some(Length::Partial(15)));
        assert_eq!(read_length(&[0xe1]), Some(Length::Partial(1)));
    }

    #[test]
    fn what_is_written_is_read_at_every_border() {
        let lengths =
            [0, 1, 191, 192, 193, 8383, 8384, 65_535, 65_536, u32::MAX.into()].map(Length::Definite);
        for length in lengths.into_iter().chain((0..=30).map(Length::Partial)) {
            let octets = header(Tag::LiteralData, length);
            let read = read_header(&octets);
            assert_eq!(read, Ok(Some(Header { tag: Tag::LiteralData, length, is_old: false })));
            for cut in 0..octets.len() {
                assert_eq!(read_header(&octets[..cut]), Ok(None), "{length:?} cut to {cut}");
            }
        }
        let octets = header(Tag::CompressedData, Length::Indeterminate);
        assert_eq!(octets, [0xa3]);
        let header = Header { tag: Tag::CompressedData, length: Length::Indeterminate, is_old: true };
        assert_eq!(read_header(&octets), Ok(Some(header)));
    }

    #[test]
    fn the_old_format_has_three_lengths() {
        let length = |octets: &[u8]| read_header(octets).unwrap().map(|header| header.length);
        assert_eq!(length(&[0xac, 7]), Some(Length::Definite(7)));
        assert_eq!(length(&[0xad, 1, 0]), Some(Length::Definite(256)));
        assert_eq!(length(&[0xae, 1, 0, 0, 0]), Some(Length::Definite(1 << 24)));
        assert_eq!(length(&[0xae, 1, 0, 0]), None);
    }

    #[test]
    fn other_octets_begin_no_packet() {
        for octet in [0, 0x0a, b'-', 0x7f, 0x80, 0xc0] {
            assert_eq!(read_header(&[octet, 0]), Err(PacketError::NotAPacket { octet }), "{octet:#x}");
        }
    }
}
