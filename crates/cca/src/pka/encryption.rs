//! Formats of a block that RSA enciphers: PKCS-1.2, OAEP, and the two without a format.
//!
//! Every failure to open gives the same value, whatever was wrong: which byte of a block was bad is what the
//! attacker of RFC 8017, section 7.2, wants to learn.

use super::{hash_of, right_justified};
use engine::{
    HashAlgorithm, SecretBytes, oaep_pad, oaep_unpad, pkcs1_v15_encrypt_pad, pkcs1_v15_encrypt_unpad,
};
use wire::verb::{ExportFormat, GeneratedFormat, RsaFormat, RsaHash, TransportFormat};
use wire::{Codes, code};

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

impl Encryption {
    /// The format of the keywords of verbs that encipher data, with the hash of OAEP; SHA-1 if none is named. The verb
    /// table says which keywords go together.
    pub(crate) fn of(format: RsaFormat, hash: Option<RsaHash>) -> Self {
        match format {
            RsaFormat::ZeroPad | RsaFormat::Mrp => Self::Raw,
            RsaFormat::Pkcs1 => Self::Pkcs1,
            RsaFormat::Oaep | RsaFormat::Oaep2 => Self::oaep(hash),
        }
    }

    /// As [`Encryption::of`], for the formats in which fixed-length symmetric keys travel.
    pub(crate) fn of_transport(format: TransportFormat, hash: Option<RsaHash>) -> Self {
        match format {
            TransportFormat::ZeroPad => Self::Raw,
            TransportFormat::Pkcs1 => Self::Pkcs1,
            TransportFormat::Oaep => Self::oaep(hash),
        }
    }

    /// As [`Encryption::of_transport`], for the formats in which keys are exported; `None` for formats that are no
    /// block.
    pub(crate) fn of_export(format: ExportFormat, hash: Option<RsaHash>) -> Option<Self> {
        let format = match format {
            ExportFormat::ZeroPad => TransportFormat::ZeroPad,
            ExportFormat::Pkcs1 => TransportFormat::Pkcs1,
            ExportFormat::Oaep => TransportFormat::Oaep,
            ExportFormat::Aeskw | ExportFormat::AeskwCv | ExportFormat::Oaep2 | ExportFormat::Rakw => {
                return None;
            }
        };
        Some(Self::of_transport(format, hash))
    }

    /// As [`Encryption::of`], for the formats in which new keys travel.
    ///
    /// # Errors
    /// 8/33 for the formats of key-encrypting keys.
    pub(crate) fn of_generated(format: GeneratedFormat, hash: Option<RsaHash>) -> Result<Self, Codes> {
        match format {
            GeneratedFormat::ZeroPad => Ok(Self::Raw),
            GeneratedFormat::Pkcs1 => Ok(Self::Pkcs1),
            GeneratedFormat::Oaep => Ok(Self::oaep(hash)),
            GeneratedFormat::Pka92 | GeneratedFormat::NlEpp5 => Err(code::KEYWORD),
        }
    }

    fn oaep(hash: Option<RsaHash>) -> Self {
        Self::Oaep(hash.map_or(HashAlgorithm::Sha1, hash_of))
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
