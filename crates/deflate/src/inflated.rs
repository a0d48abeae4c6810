//! The result of a step of inflating: bytes consumed and produced, or an error.

use std::fmt;

/// The result of one call of [`Inflater::inflate`](crate::Inflater::inflate).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inflated {
    /// Bytes of the input that were consumed; bytes after the end of the stream are not.
    pub consumed: usize,
    /// Bytes of text written to the start of the room.
    pub produced: usize,
    /// The stream has ended, and its check value, if it has one, is right.
    pub is_end: bool,
}

/// Why a stream cannot be read. The inflater gives the same error from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InflateError {
    /// ZLIB: not deflate, a window above 32 KiB, a preset dictionary, or a wrong check of the header.
    Header,
    /// The stream is malformed: an invalid block, code or distance.
    Stream,
    /// ZLIB: the text does not match the check value.
    Checksum,
}

impl fmt::Display for InflateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Header => "compressed data has a header that is not ZLIB's",
            Self::Stream => "compressed data is damaged or not of the algorithm that is named",
            Self::Checksum => "compressed data has a wrong check value",
        })
    }
}

impl std::error::Error for InflateError {}
