//! Key blocks (ASC X9 TR 31; ANSI X9.143): a key, its attributes, and a MAC that binds both.
//!
//! ```text
//! header (16)  optional blocks  enciphered payload, hexadecimal  MAC, hexadecimal
//! ```
//!
//! The payload is the key's length in bits (2 bytes), the key, and random bytes up to whole blocks of the cipher. A
//! block's protection key yields two keys, one that enciphers and one that authenticates:
//!
//! | version | keys by | cipher | MAC of | MAC |
//! |---|---|---|---|---|
//! | A, C | XOR with a [variant](Version::variant) | TDES-CBC, the header's first 8 bytes as vector | header, enciphered payload | TDES-CBC-MAC, leftmost 4 bytes |
//! | B | CMAC of a [`Derivation`] | TDES-CBC, the MAC as vector | header, clear payload | CMAC with TDES, 8 bytes |
//! | D | CMAC of a [`Derivation`] | AES-CBC, the MAC as vector | header, clear payload | CMAC with AES, 16 bytes |
//!
//! Everything but the ciphers is here. The caller derives the two keys, [reads](Block::parse) or [makes](header) the
//! text, deciphers, and computes the MAC of [`authenticated`]. [`verifies`] and [`key_length`] then give one verdict
//! together.

mod attributes;
mod optional;
mod parse;
mod payload;
#[cfg(test)]
mod tests;
mod write;

pub use attributes::{Attributes, Exportability, Version};
pub use optional::{OptionalBlock, optional_blocks};
pub use parse::{Block, Cause, Fault};
pub use payload::{
    Derivation, Padding, Purpose, authenticated, key_length, padding_bytes, payload, payload_bytes, verifies,
};
pub use write::{assemble, header};

/// Length of the header without optional blocks, in characters.
pub const HEADER_BYTES: usize = 16;
/// The longest block in characters: the greatest multiple of eight that four digits express.
pub const BLOCK_BYTES_MAX: usize = 9_992;
