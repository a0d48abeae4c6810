//! Derives keys from passphrases (RFC 9580, 3.7).

mod argon2;
mod hashed;

use crate::compute::random;
use crate::{Form, HashAlgorithm, Passphrase, Protection};
use pgp::types::StringToKey;
use zeroize::Zeroizing;

pub(crate) use argon2::check;
pub use argon2::{ARGON2_LANES_MAX, ARGON2_MEMORY_BITS_MAX, ARGON2_WORK_MAX, TooDemanding};

/// Coded count of iterated hashing for session keys and private keys: 62 MiB of text, the maximum. GnuPG reads this
/// count as well.
const ITERATED_COUNT: u8 = 255;

/// A method of deriving a key from a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum S2k {
    /// Salted and iterated SHA-256 (RFC 9580, 3.7.1.3).
    Iterated {
        /// The coded count (RFC 9580, 3.7.1.3).
        count: u8,
    },
    /// Argon2id (RFC 9580, 3.7.1.4).
    Argon2 {
        /// Number of passes over the memory.
        passes: u8,
        /// Number of lanes.
        lanes: u8,
        /// Binary logarithm of the memory in kibibytes.
        memory_bits: u8,
    },
}

impl S2k {
    /// The method that suits a form: Argon2 with 64 MiB for SEIPD version 2, whose readers support it, else iterated
    /// SHA-256.
    pub fn for_form(form: Form) -> Self {
        match form.protection {
            Protection::SeipdV2 { .. } => Self::ARGON2,
            _ => Self::Iterated { count: ITERATED_COUNT },
        }
    }

    /// The smaller recommendation of RFC 9106, 4: 64 MiB, three passes.
    pub const ARGON2: Self = Self::Argon2 { passes: 3, lanes: 4, memory_bits: 16 };

    /// The method that private keys are locked with.
    pub(crate) fn for_keys(is_v6: bool) -> Self {
        if is_v6 { Self::ARGON2 } else { Self::Iterated { count: ITERATED_COUNT } }
    }

    /// The specifier of this method, with a fresh salt.
    pub(crate) fn specifier(self) -> StringToKey {
        match self {
            Self::Iterated { count } => {
                StringToKey::IteratedAndSalted { hash_alg: HashAlgorithm::Sha256, salt: random(), count }
            }
            Self::Argon2 { passes, lanes, memory_bits } => {
                StringToKey::Argon2 { salt: random(), t: passes, p: lanes, m_enc: memory_bits }
            }
        }
    }
}

/// Derives a key of `key_bytes` bytes from a passphrase.
///
/// # Errors
/// A text for people: parameters are malformed, or demand more than this program allows.
pub(crate) fn s2k_key(
    s2k: &StringToKey,
    passphrase: &Passphrase,
    key_bytes: usize,
) -> Result<Zeroizing<Vec<u8>>, String> {
    if let Some(result) = argon2::key(s2k, passphrase, key_bytes) {
        return result;
    }
    if let Some(key) = hashed::key(s2k, passphrase, key_bytes) {
        return Ok(key);
    }
    let key = s2k.derive_key(passphrase.bytes(), key_bytes).map_err(|error| error.to_string())?;
    Ok(Zeroizing::new(key.as_ref().to_vec()))
}

/// Whether version 6 allows this method: it forbids unsalted and broken hashes (RFC 9580, 3.7.2.1 and 9.5).
pub(crate) fn is_fit_for_v6(s2k: &StringToKey) -> bool {
    match s2k {
        StringToKey::Argon2 { .. } => true,
        StringToKey::IteratedAndSalted { hash_alg, .. } | StringToKey::Salted { hash_alg, .. } => {
            !matches!(hash_alg, HashAlgorithm::Md5 | HashAlgorithm::Sha1 | HashAlgorithm::Ripemd160)
        }
        _ => false,
    }
}
