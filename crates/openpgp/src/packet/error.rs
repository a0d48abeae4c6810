//! Errors in the framing of packets or in armor.

use pgp::types::Tag;
use std::fmt;

/// An error in the framing of packets or in armor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketError {
    /// A packet begins with an octet that no packet begins with.
    NotAPacket {
        /// The octet in place of a packet's first.
        octet: u8,
    },
    /// A packet has partial or indeterminate lengths although it must not (RFC 9580, 4.2.1.4).
    LengthNotAllowed {
        /// The packet's type.
        tag: Tag,
    },
    /// The stream ends inside of a packet.
    Truncated,
    /// No armor begins in the input.
    NoArmor,
    /// A line of armor is neither data nor one of the lines that may surround data.
    ArmorLine {
        /// Number of the line, from 1, counted from the first line of the input.
        line: u64,
    },
    /// A header line of armor is too long, or there are too many.
    ArmorHeaders {
        /// The longest line that is read, in bytes.
        line_bytes_max: usize,
        /// The largest number of lines that is read.
        lines_max: usize,
    },
    /// The last line of armor names another kind of block than the first.
    ArmorKind,
}

impl fmt::Display for PacketError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPacket { octet } => {
                write!(out, "no OpenPGP packet begins with the octet {octet:#04x}")
            }
            Self::LengthNotAllowed { tag } => {
                write!(out, "a packet of type {} must say its length", u8::from(*tag))
            }
            Self::Truncated => out.write_str("the input ends inside of a packet: it was cut off"),
            Self::NoArmor => out.write_str("the input is neither OpenPGP packets nor ASCII armor"),
            Self::ArmorLine { line } => write!(out, "line {line} is not base64 of ASCII armor"),
            Self::ArmorHeaders { line_bytes_max, lines_max } => write!(
                out,
                "the headers of the ASCII armor are longer than {lines_max} lines of {line_bytes_max} bytes"
            ),
            Self::ArmorKind => out.write_str("the ASCII armor ends as another kind of block than it began"),
        }
    }
}

impl std::error::Error for PacketError {}
