//! Formats of a block that RSA signs, and their verification.
//!
//! ISO-9796 names the withdrawn ISO 9796-1, whose signatures can be forged (Coron, Naccache,
//! Stern 1999; Grieu 2000): it is refused, also as the default that an empty rule array means.

use super::{right_justified, signature_hash_of, x931};
use engine::{
    HashAlgorithm, SecretBytes, digest_info_prefix, pkcs1_v15_sign_pad_raw, pss_encode, pss_verify_vartime,
};
use wire::verb::{SignatureFormat, SignatureHash};
use wire::{Codes, code};

/// Lower bound of the bytes before the data of a PKCS-1.0 block.
const PKCS1_OVERHEAD: usize = 11;
/// A modulus must be longer than the part of its block that the caller chooses by this factor.
const FREE_PARTS: usize = 3;
/// Length of the salt length before the hash of PKCS-PSS.
const SALT_LENGTH_BYTES: usize = 4;

/// A signature format of RSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signature {
    /// PKCS-1.0: block type 00; the data is BER-encoded by the caller.
    Pkcs10,
    /// PKCS-1.1: block type 01, RSASSA-PKCS1-v1_5; the data is BER-encoded by the caller.
    Pkcs11,
    /// ZERO-PAD: zeros on the left.
    ZeroPad,
    /// X9.31, with its hash.
    X931(HashAlgorithm),
    /// PKCS-PSS: RSASSA-PSS of RFC 8017, MGF1 with the same hash. The data is the salt length in
    /// four bytes, then the hash.
    Pss(HashAlgorithm),
}

impl Signature {
    /// The format that a keyword and its hash name.
    ///
    /// # Errors
    /// 8/33 for ISO-9796, and what is not computed here, 8/34 where a hash is missing, and for a method of elliptic
    /// curves.
    pub(crate) fn of(format: SignatureFormat, hash: Option<SignatureHash>) -> Result<Self, Codes> {
        match (format, hash.map(signature_hash_of)) {
            (SignatureFormat::Iso9796 | SignatureFormat::Schnorr | SignatureFormat::Quantum, _) => {
                Err(code::KEYWORD)
            }
            (SignatureFormat::Pkcs10, _) => Ok(Self::Pkcs10),
            (SignatureFormat::Pkcs11, _) => Ok(Self::Pkcs11),
            (SignatureFormat::ZeroPad, _) => Ok(Self::ZeroPad),
            (SignatureFormat::X931, Some(hash)) => Ok(Self::X931(hash)),
            (SignatureFormat::Pss, Some(hash)) => Ok(Self::Pss(hash)),
            (SignatureFormat::X931 | SignatureFormat::Pss, None)
            | (SignatureFormat::Ecdsa | SignatureFormat::Eddsa, _) => Err(code::KEYWORD_COMBINATION),
        }
    }

    /// The block to be signed.
    ///
    /// # Errors
    /// 8/25 where the data has not the length of the format, or is too long for the modulus; 8/760 where
    /// the format does not allow a modulus of this length.
    pub(crate) fn block(
        self,
        data: &[u8],
        modulus: &[u8],
        modulus_bits: usize,
    ) -> Result<SecretBytes, Codes> {
        if let Self::Pss(hash) = self {
            let (salt_bytes, digest) = salt_and_digest(hash, data, modulus.len())?;
            let block = pss_encode(hash, digest, salt_bytes, modulus_bits).map_err(|_| code::TEXT_LENGTH)?;
            return Ok(SecretBytes::from_slice(&block));
        }
        self.fixed_block(data, modulus, modulus_bits)
    }

    /// The one block of a format without salt.
    fn fixed_block(self, data: &[u8], modulus: &[u8], modulus_bits: usize) -> Result<SecretBytes, Codes> {
        match self {
            Self::ZeroPad => right_justified(data, modulus, code::TEXT_LENGTH),
            Self::Pkcs10 if data.len() + PKCS1_OVERHEAD <= modulus.len() => {
                right_justified(data, modulus, code::TEXT_LENGTH)
            }
            Self::Pkcs11 => pkcs1_v15_sign_pad_raw(data, modulus.len())
                .map(|block| SecretBytes::from_slice(&block))
                .map_err(|_| code::TEXT_LENGTH),
            Self::X931(_) if !x931::allows(modulus_bits) => Err(code::RSA_KEY_LENGTH),
            Self::X931(hash) => {
                let mut block = SecretBytes::new(modulus.len());
                if x931::encode(hash, data, block.as_mut()) { Ok(block) } else { Err(code::TEXT_LENGTH) }
            }
            Self::Pkcs10 | Self::Pss(_) => Err(code::TEXT_LENGTH),
        }
    }

    /// Whether a signature in this format tells nothing of what the key deciphers.
    ///
    /// Two blocks that are a fixed pattern with `b` bits of the caller's in them, of `2^2b` pairs, have every quotient
    /// modulo an `n` of `2b` bits, which a reduced lattice finds: the quotient of their signatures is then the private
    /// operation on it. More signatures do with less; the best attack on a fixed pattern needs a third of the modulus
    /// (Brier, Clavier, Coron, Naccache 2001; Lenstra, Shparlinski 2002). So a digest must be shorter than that. Of
    /// PSS, the caller chooses nothing that stands in the block.
    pub(crate) fn is_structured(self, data: &[u8], modulus_bits: usize) -> bool {
        let is_short = |digest_bytes: usize| FREE_PARTS * 8 * digest_bytes < modulus_bits;
        match self {
            Self::Pkcs10 | Self::ZeroPad => false,
            Self::Pkcs11 => HashAlgorithm::ALL.iter().any(|hash| {
                let digest = data.strip_prefix(digest_info_prefix(*hash));
                digest.is_some_and(|digest| digest.len() == hash.digest_bytes() && is_short(digest.len()))
            }),
            Self::X931(hash) => is_short(hash.digest_bytes()),
            Self::Pss(_) => true,
        }
    }

    /// Turns the result of the private operation into a signature, in place.
    pub(crate) fn finish(self, modulus: &[u8], result: &mut [u8]) {
        if let Self::X931(_) = self {
            x931::smaller_vartime(modulus, result);
        }
    }

    /// Whether the block that the public operation gave belongs to the data.
    ///
    /// # Errors
    /// As [`Signature::block`]: the data itself is at fault.
    pub(crate) fn verifies(
        self,
        data: &[u8],
        modulus: &[u8],
        modulus_bits: usize,
        opened: &mut [u8],
    ) -> Result<bool, Codes> {
        if let Self::Pss(hash) = self {
            let (salt_bytes, digest) = salt_and_digest(hash, data, modulus.len())?;
            return Ok(pss_verify_vartime(hash, digest, Some(salt_bytes), opened, modulus_bits).is_ok());
        }
        if let Self::X931(_) = self {
            x931::opened_vartime(modulus, opened);
        }
        let expected = self.fixed_block(data, modulus, modulus_bits)?;
        Ok(expected.ct_eq(opened))
    }
}

/// Splits the data of PKCS-PSS. A salt shorter than the hash, but for none at all, is refused, as is
/// one longer than the modulus.
fn salt_and_digest(hash: HashAlgorithm, data: &[u8], modulus_bytes: usize) -> Result<(usize, &[u8]), Codes> {
    let (salt, digest) = data.split_first_chunk::<SALT_LENGTH_BYTES>().ok_or(code::TEXT_LENGTH)?;
    let salt = usize::try_from(u32::from_be_bytes(*salt)).map_err(|_| code::TEXT_LENGTH)?;
    let short = salt != 0 && salt < hash.digest_bytes();
    if digest.len() != hash.digest_bytes() || short || salt > modulus_bytes {
        return Err(code::TEXT_LENGTH);
    }
    Ok((salt, digest))
}
