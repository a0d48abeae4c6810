//! Forms of protection of a message's body.

use crate::{AeadAlgorithm, SymmetricKeyAlgorithm};
use std::fmt;

/// Chunk length of AEAD bodies that are written: 256 KiB. The binary logarithm of the length is `chunk_bits` + 6.
pub const CHUNK_BITS_WRITTEN: u8 = 12;
/// Largest chunk that is read, 4 MiB (RFC 9580, 5.13.2); a writer must not demand more memory of a reader.
pub const CHUNK_BITS_MAX: u8 = 16;

/// The packet that carries the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Symmetrically encrypted and integrity protected data, version 1: CFB with a modification detection code
    /// (RFC 9580, 5.13.1).
    SeipdV1,
    /// Symmetrically encrypted and integrity protected data, version 2: AEAD in chunks of 2^(chunk_bits + 6) bytes (RFC
    /// 9580, 5.13.2).
    SeipdV2 {
        /// EAX, OCB or GCM.
        aead: AeadAlgorithm,
        /// Binary logarithm of the chunk length in bytes, less 6.
        chunk_bits: u8,
    },
    /// GnuPG's AEAD encrypted data packet, tag 20 (draft-koch-librepgp, 5.16).
    GnupgAead {
        /// EAX or OCB.
        aead: AeadAlgorithm,
        /// Binary logarithm of the chunk length in bytes, less 6.
        chunk_bits: u8,
    },
}

/// Cipher and kind of packet of a message's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The block cipher.
    pub cipher: SymmetricKeyAlgorithm,
    /// The packet that carries the body; for AEAD, with mode and chunk length.
    pub protection: Protection,
}

impl fmt::Display for Form {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cipher = match self.cipher {
            SymmetricKeyAlgorithm::AES128 => "AES-128",
            SymmetricKeyAlgorithm::AES192 => "AES-192",
            SymmetricKeyAlgorithm::AES256 => "AES-256",
            SymmetricKeyAlgorithm::TripleDES => "TDES",
            other => return write!(out, "{other:?}"),
        };
        let name = |aead: AeadAlgorithm| match aead {
            AeadAlgorithm::Eax => "EAX",
            AeadAlgorithm::Ocb => "OCB",
            AeadAlgorithm::Gcm => "GCM",
            _ => "unknown mode",
        };
        match self.protection {
            Protection::SeipdV1 => write!(out, "SEIPDv1, {cipher} CFB"),
            Protection::SeipdV2 { aead, .. } => write!(out, "SEIPDv2, {cipher} {}", name(aead)),
            Protection::GnupgAead { aead, .. } => write!(out, "GnuPG AEAD, {cipher} {}", name(aead)),
        }
    }
}
