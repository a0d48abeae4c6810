//! Errors of encrypting and decrypting a body.

use crate::packet::PacketError;
use crate::{AeadAlgorithm, SymmetricKeyAlgorithm};
use pgp::types::Tag;
use std::fmt;

/// The message was changed, truncated, or is not under this key. Which of these is deliberately not told, since that
/// would be an oracle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unauthentic;

impl fmt::Display for Unauthentic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(
            "the message is not authentic: it was changed, cut off, or made with another session key",
        )
    }
}

impl std::error::Error for Unauthentic {}

/// Why a body cannot be read, found before any secret is used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyError {
    /// The framing of the body's packets is wrong.
    Packet(PacketError),
    /// The cipher is not supported for this packet.
    Cipher(SymmetricKeyAlgorithm),
    /// The mode is not supported for this packet.
    Aead(AeadAlgorithm),
    /// The chunks are longer than the longest that is read.
    ChunkBits {
        /// The packet's figure: binary logarithm of the length in bytes, less 6.
        bits: u8,
        /// The largest figure that is read.
        bits_max: u8,
    },
    /// The session key has another length than the cipher's.
    KeyLength {
        /// The session key's length in bytes.
        bytes: usize,
        /// Length of the cipher's keys in bytes.
        expected: usize,
    },
    /// The session key belongs to another version of the packet (RFC 9580, 10.3.2.1).
    KeyVersion,
    /// The packet has an unknown version.
    Version {
        /// The packet's type.
        tag: Tag,
        /// The packet's version.
        version: u8,
    },
    /// The packet is shorter than its own header.
    Short {
        /// The packet's type.
        tag: Tag,
    },
    /// The message is encrypted without any integrity protection (RFC 9580, 5.7): anyone could have changed it.
    NotProtected,
    /// The packet is in a place where it may not be (RFC 9580, 10.3).
    Unexpected {
        /// The packet's type.
        tag: Tag,
    },
    /// The packet's contents are malformed.
    Malformed {
        /// The packet's type.
        tag: Tag,
    },
    /// The stream ends before the message does.
    Incomplete,
    /// A packet that does not hold data is longer than the longest that is read.
    TooLong {
        /// The packet's type.
        tag: Tag,
        /// The longest packet that is read, in bytes.
        bytes_max: usize,
    },
    /// There are more packets than allowed.
    TooManyPackets {
        /// How many packets are allowed.
        packets_max: u32,
    },
    /// Compressed packets are nested more deeply than allowed.
    TooDeep {
        /// The allowed depth.
        nesting_max: u32,
    },
}

impl From<PacketError> for BodyError {
    fn from(error: PacketError) -> Self {
        Self::Packet(error)
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |tag: &Tag| u8::from(*tag);
        match self {
            Self::Packet(error) => error.fmt(out),
            Self::Cipher(cipher) => write!(out, "the cipher {cipher:?} is not served for this message"),
            Self::Aead(aead) => write!(out, "the mode {aead:?} is not served for this message"),
            Self::ChunkBits { bits, bits_max } => {
                let bytes = |bits: &u8| u32::from(*bits) + 6;
                write!(
                    out,
                    "the message has chunks of 2^{} bytes, more than 2^{}",
                    bytes(bits),
                    bytes(bits_max)
                )
            }
            Self::KeyLength { bytes, expected } => {
                write!(out, "the session key has {bytes} bytes where the cipher takes {expected}")
            }
            Self::KeyVersion => out.write_str("the session key goes with another version of encrypted data"),
            Self::Version { tag, version } => {
                write!(out, "version {version} of packets of type {} is not known", name(tag))
            }
            Self::Short { tag } => write!(out, "a packet of type {} is cut off", name(tag)),
            Self::NotProtected => {
                out.write_str("the message has no integrity protection: it may have been changed by anyone")
            }
            Self::Unexpected { tag } => {
                write!(out, "a packet of type {} stands where none may stand", name(tag))
            }
            Self::Malformed { tag } => write!(out, "a packet of type {} is malformed", name(tag)),
            Self::Incomplete => out.write_str("the message ends too early: it was cut off"),
            Self::TooLong { tag, bytes_max } => {
                write!(out, "a packet of type {} is longer than {bytes_max} bytes", name(tag))
            }
            Self::TooManyPackets { packets_max } => {
                write!(out, "the message has more than {packets_max} packets")
            }
            Self::TooDeep { nesting_max } => {
                write!(out, "compressed data lies deeper than {nesting_max} within one another")
            }
        }
    }
}

impl std::error::Error for BodyError {}
