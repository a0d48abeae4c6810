//! Formats of a block that RSA enciphers: PKCS-1.2, OAEP, and the two without a format.
//!
//! Opening fails as one value, whatever was wrong: which byte of a block was bad is what an
//! attacker of RFC 8017, section 7.2 asks for.

use engine::{
    HashAlgorithm, SecretBytes, oaep_pad, oaep_unpad, pkcs1_v15_encrypt_pad, pkcs1_v15_encrypt_unpad,
};
use wire::{Codes, code};

use super::{HASHES, right_justified};
use crate::rules::{Rules, Word, word};

/// A block format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// ZERO-PAD, MRP: zeros on the left.
    Raw,
    /// PKCS-1.2: RSAES-PKCS1-v1_5 of RFC 8017.
    Pkcs1,
    /// PKCSOAEP, PKOAEP2: RSAES-OAEP of RFC 8017, MGF1 with the same hash, empty label.
    Oaep(HashAlgorithm),
}

#[derive(Clone, Copy)]
enum Method {
    ZeroPad,
    Mrp,
    Pkcs1,
    Oaep,
    Oaep2,
}

const METHODS: &[(Word, Method)] = &[
    (word("ZERO-PAD"), Method::ZeroPad),
    (word("MRP"), Method::Mrp),
    (word("PKCS-1.2"), Method::Pkcs1),
    (word("PKCSOAEP"), Method::Oaep),
    (word("PKOAEP2"), Method::Oaep2),
];

const TRANSPORT_METHODS: &[(Word, Method)] = &[
    (word("ZERO-PAD"), Method::ZeroPad),
    (word("PKCS-1.2"), Method::Pkcs1),
    (word("PKCSOAEP"), Method::Oaep),
];

/// Hashes of PKCSOAEP: version 2.0 of the standard, as the verbs serve it.
const OAEP_HASHES: &[HashAlgorithm] = &[HashAlgorithm::Sha1, HashAlgorithm::Sha256];

impl Encryption {
    /// Takes the format keyword, and the hash keyword of the OAEP ones: SHA-1 without.
    ///
    /// # Errors
    /// 8/34 where no format is given, or a hash goes with none or not with the format.
    pub(crate) fn of_rules(rules: &mut Rules<'_>) -> Result<Self, Codes> {
        Self::of_methods(rules, METHODS)
    }

    /// As [`Encryption::of_rules`], of the formats in which fixed-length symmetric keys travel.
    pub(crate) fn of_transport_rules(rules: &mut Rules<'_>) -> Result<Self, Codes> {
        Self::of_methods(rules, TRANSPORT_METHODS)
    }

    fn of_methods(rules: &mut Rules<'_>, methods: &[(Word, Method)]) -> Result<Self, Codes> {
        let method = rules.required(methods)?;
        let hash = rules.optional(HASHES)?;
        match (method, hash) {
            (Method::ZeroPad | Method::Mrp, None) => Ok(Self::Raw),
            (Method::Pkcs1, None) => Ok(Self::Pkcs1),
            (Method::Oaep, hash) if hash.is_none_or(|hash| OAEP_HASHES.contains(&hash)) => {
                Ok(Self::Oaep(hash.unwrap_or(HashAlgorithm::Sha1)))
            }
            (Method::Oaep2, hash) => Ok(Self::Oaep(hash.unwrap_or(HashAlgorithm::Sha1))),
            _ => Err(code::KEYWORD_COMBINATION),
        }
    }

    /// The block of a value under a modulus.
    ///
    /// # Errors
    /// 8/25 where the value is too long for the modulus.
    pub(crate) fn seal(self, value: &[u8], modulus: &[u8]) -> Result<SecretBytes, Codes> {
        match self {
            Self::Raw => right_justified(value, modulus, code::TEXT_LENGTH),
            Self::Pkcs1 => pkcs1_v15_encrypt_pad(value, modulus.len()).map_err(|_| code::TEXT_LENGTH),
            Self::Oaep(hash) => oaep_pad(hash, &[], value, modulus.len()).map_err(|_| code::TEXT_LENGTH),
        }
    }

    /// The value of a deciphered block; of [`Encryption::Raw`] the whole block.
    ///
    /// # Errors
    /// 8/66, whatever is wrong.
    pub(crate) fn open(self, block: SecretBytes) -> Result<SecretBytes, Codes> {
        match self {
            Self::Raw => Ok(block),
            Self::Pkcs1 => pkcs1_v15_encrypt_unpad(&block).map_err(|_| code::RSA_BLOCK),
            Self::Oaep(hash) => oaep_unpad(hash, &[], &block).map_err(|_| code::RSA_BLOCK),
        }
    }
}
