//! RSA keys that are prepared.

use crate::ground::Age;
use crate::pka::premaster::Substitutes;
use engine::{RsaKeyError, RsaPrivateKey, RsaPublicKey};
use token::pka::Usage;
use wire::{Codes, code};

/// A private key ready for use, and what its token says of it.
pub(crate) struct PrivateContext {
    pub(crate) key: RsaPrivateKey,
    pub(crate) usage: Usage,
    /// Master key that wrapped the token; `None` for a clear token.
    pub(crate) age: Option<Age>,
    pub(crate) modulus: Vec<u8>,
    pub(crate) modulus_bits: usize,
    /// Whether a card generated the numbers; otherwise a caller supplied them.
    pub(crate) generated: bool,
    /// The substitutes for premaster secrets that do not open; `None` if the key opens no premaster secrets.
    pub(crate) premaster: Option<Substitutes>,
}

impl PrivateContext {
    /// Length of the modulus in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.modulus.len()
    }

    /// Bytes that the key takes while it is kept: its numbers as the library has them and as lanes have them, each with
    /// its Montgomery constants, and what the library adds at its first use.
    pub(crate) fn kept_bytes(&self) -> usize {
        26 * self.bytes() + 2048
    }

    /// Codes of a verb that did everything with this key.
    pub(crate) fn codes(&self) -> Codes {
        self.age.map_or(code::OK, Age::codes)
    }
}

/// A public key ready for use.
pub(crate) struct PublicContext {
    pub(crate) key: RsaPublicKey,
    pub(crate) modulus: Vec<u8>,
    pub(crate) modulus_bits: usize,
}

impl PublicContext {
    /// Bytes that the key takes while it is kept.
    pub(crate) fn kept_bytes(&self) -> usize {
        8 * self.bytes() + 1024
    }

    /// Length of the modulus in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.modulus.len()
    }
}

/// Codes for a key that the engine refuses.
pub(crate) fn key_codes(error: RsaKeyError) -> Codes {
    match error {
        RsaKeyError::Weak { .. } => code::WEAK_ALGORITHM,
        RsaKeyError::Size { .. } | RsaKeyError::SizeStep { .. } => code::RSA_KEY_LENGTH,
        RsaKeyError::Generation { .. } => code::SELF_CHECK,
        _ => code::PKA_FIELD,
    }
}
