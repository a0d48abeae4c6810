//! Deflate in pieces that are compressed independently and read as one stream; inflate with bounded memory.
//!
//! | need | item |
//! |---|---|
//! | compress a piece of a stream, on any thread | [`Deflater`] |
//! | the frame of ZLIB around the blocks | [`zlib_header`], [`Adler32`] |
//! | read ZIP, ZLIB or BZIP2 as it arrives | [`Inflater`] |
//! | choose the library that computes | [`Backend`] |
//!
//! A stream is cut into pieces of text. Each piece is compressed by itself, with the last 32 KiB of the text before
//! it as a dictionary, and ends on a byte border; the pieces put one behind the other are one deflate stream
//! (RFC 1951), which every inflater reads. For ZLIB (RFC 1950) the header goes before, and the Adler-32 of the whole
//! text, combined from those of the pieces, behind in big-endian order.
//!
//! Pieces made without a dictionary cost a few bytes in a thousand more.
//!
//! ```
//! use deflate::{Backend, Deflater, Format, Inflater, PIECE_BYTES};
//!
//! let text = b"To whom it may concern. ".repeat(100_000);
//! let (mut deflater, mut stream) = (Deflater::new(1, Backend::best(1)), Vec::new());
//! let mut pieces = text.chunks(PIECE_BYTES).peekable();
//! while let Some(piece) = pieces.next() {
//!     deflater.block(&[], piece, pieces.peek().is_none(), &mut stream);
//! }
//!
//! let mut inflater = Inflater::new(Format::Zip, Backend::best_inflate());
//! let (mut room, mut at, mut read) = (vec![0; 64 << 10], 0, Vec::new());
//! loop {
//!     let step = inflater.inflate(&stream[at..], &mut room)?;
//!     at += step.consumed;
//!     read.extend_from_slice(&room[..step.produced]);
//!     if step.is_end {
//!         break;
//!     }
//! }
//! assert!(read == text);
//! # Ok::<(), deflate::InflateError>(())
//! ```
//!
//! Nothing here does I/O, starts threads or keeps more than a window of 32 KiB and tables of fixed size (BZIP2: one
//! block of 900 kB, as four bytes each).
#![deny(unsafe_code)]

mod backend;
mod deflater;
mod inflated;
mod inflater;
#[allow(unsafe_code)]
mod isal_ffi;
mod zlib;

pub use backend::Backend;
pub use deflater::{DICTIONARY_BYTES_MAX, Deflater, PIECE_BYTES};
pub use inflated::{InflateError, Inflated};
pub use inflater::Inflater;
pub use zlib::{Adler32, zlib_header};

/// OpenPGP's compression algorithms 1, 2 and 3 (RFC 9580, 9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Raw deflate (RFC 1951): OpenPGP's ZIP has no frame.
    Zip,
    /// Deflate in the frame of RFC 1950.
    Zlib,
    /// One stream of bzip2.
    Bzip2,
}
