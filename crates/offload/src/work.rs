//! What is asked of a card, and what its answer means.

use crate::error::{OffloadError, Status};
use engine::{HashAlgorithm, digest_info_prefix};
use facility::Reply;
use keyfiles::{PublicKey, ecdsa_sig_value};
use token::pka::ecc::EccCurve;
use wire::bounds::PKA_TOKEN_BYTES_MAX;
use wire::frame::Arguments;
use wire::verb::{
    Verb, digital_signature_generate as dsg, pka_public_key_extract as pkx, tls_premaster as tlsp,
};

/// Bytes of a premaster secret (RFC 5246, 7.4.7.1).
pub const PREMASTER_BYTES: usize = 48;
/// Longest answer in bytes: a public key of RSA with 4,096 bits takes 550.
pub const ANSWER_BYTES_MAX: usize = 1024;
/// Longest ciphertext in bytes: that of RSA with 4,096 bits.
pub const CIPHERTEXT_BYTES_MAX: usize = 512;
/// Longest signature in bytes: that of RSA with 4,096 bits.
const SIGNATURE_BYTES_MAX: i64 = 512;

/// What a label is in a verb.
pub(crate) type Field = [u8; 64];

/// A hash that cards sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl Hash {
    /// Length of its digests in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    fn of_engine(self) -> (&'static [u8; 8], HashAlgorithm) {
        match self {
            Self::Sha256 => (b"SHA-256 ", HashAlgorithm::Sha256),
            Self::Sha384 => (b"SHA-384 ", HashAlgorithm::Sha384),
            Self::Sha512 => (b"SHA-512 ", HashAlgorithm::Sha512),
        }
    }
}

/// Kind of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2), as long as the modulus.
    RsaPkcs1,
    /// RSASSA-PSS with MGF1 of the same hash and a salt as long as the digest (RFC 8446, 4.2.3), as long as the modulus.
    RsaPss,
    /// ECDSA over the curve of the key, as ECDSA-Sig-Value in DER (RFC 3279, 2.2.3).
    Ecdsa,
}

/// A signature scheme of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Padding, or ECDSA.
    pub padding: Padding,
    /// What the digest was made with.
    pub hash: Hash,
}

impl Scheme {
    /// The scheme of a code point of TLS (RFC 8446, 4.2.3); none of one that cards do not sign by. The curve that TLS 1.3 joins to an ECDSA
    /// scheme is not looked at, as in TLS 1.2: the key has it.
    pub const fn of_code_point(code: u16) -> Option<Self> {
        let (padding, hash) = match code {
            0x0401 => (Padding::RsaPkcs1, Hash::Sha256),
            0x0501 => (Padding::RsaPkcs1, Hash::Sha384),
            0x0601 => (Padding::RsaPkcs1, Hash::Sha512),
            0x0804 | 0x0809 => (Padding::RsaPss, Hash::Sha256),
            0x0805 | 0x080A => (Padding::RsaPss, Hash::Sha384),
            0x0806 | 0x080B => (Padding::RsaPss, Hash::Sha512),
            0x0403 => (Padding::Ecdsa, Hash::Sha256),
            0x0503 => (Padding::Ecdsa, Hash::Sha384),
            0x0603 => (Padding::Ecdsa, Hash::Sha512),
            _ => return None,
        };
        Some(Self { padding, hash })
    }
}

/// Kind of a public key. The numbers are those of the C interface, and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Of none of the kinds below.
    Other = 0,
    /// RSA.
    Rsa = 1,
    /// NIST P-256.
    P256 = 2,
    /// NIST P-384.
    P384 = 3,
    /// NIST P-521.
    P521 = 4,
    /// Ed25519.
    Ed25519 = 5,
}

/// A request for a signature over a digest.
pub(crate) fn signature<T>(
    label: &Field,
    scheme: Scheme,
    digest: &[u8],
    send: impl FnOnce(&Arguments<'_>) -> T,
) -> T {
    let (word, of_engine) = scheme.hash.of_engine();
    let (keywords, data) = match scheme.padding {
        Padding::RsaPkcs1 => (b"PKCS-1.1".to_vec(), [digest_info_prefix(of_engine), digest].concat()),
        // The length of the salt stands before the digest.
        Padding::RsaPss => {
            ([b"PKCS-PSS", &word[..]].concat(), [&(digest.len() as u32).to_be_bytes(), digest].concat())
        }
        Padding::Ecdsa => (b"ECDSA   ".to_vec(), digest.to_vec()),
    };
    let mut arguments = Arguments::new(Verb::DigitalSignatureGenerate);
    arguments
        .set_integer(dsg::RULE_ARRAY_COUNT, keywords.len() as i64 / 8)
        .set_bytes(dsg::RULE_ARRAY, &keywords)
        .set_integer(dsg::PKA_PRIVATE_KEY_ID_LENGTH, label.len() as i64)
        .set_bytes(dsg::PKA_PRIVATE_KEY_ID, label)
        .set_integer(dsg::HASH_LENGTH, data.len() as i64)
        .set_bytes(dsg::HASH, &data)
        .set_integer(dsg::SIGNATURE_FIELD_LENGTH, SIGNATURE_BYTES_MAX);
    send(&arguments)
}

/// A request for the premaster of RSA key exchange.
pub(crate) fn premaster<'a>(label: &'a Field, ciphertext: &'a [u8]) -> Arguments<'a> {
    let mut arguments = Arguments::new(Verb::TlsPremaster);
    arguments
        .set_integer(tlsp::ENCRYPTED_PREMASTER_LENGTH, ciphertext.len() as i64)
        .set_bytes(tlsp::ENCRYPTED_PREMASTER, ciphertext)
        .set_integer(tlsp::RSA_PRIVATE_KEY_LENGTH, label.len() as i64)
        .set_bytes(tlsp::RSA_PRIVATE_KEY, label);
    arguments
}

/// A request for the public key.
pub(crate) fn public_key(label: &Field) -> Arguments<'_> {
    let mut arguments = Arguments::new(Verb::PkaPublicKeyExtract);
    arguments
        .set_integer(pkx::SOURCE_KEY_IDENTIFIER_LENGTH, label.len() as i64)
        .set_bytes(pkx::SOURCE_KEY_IDENTIFIER, label)
        .set_integer(pkx::TARGET_KEY_TOKEN_LENGTH, PKA_TOKEN_BYTES_MAX as i64);
    arguments
}

/// The signature in a reply.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn signature_of(padding: Padding, reply: &Reply) -> Result<Vec<u8>, OffloadError> {
    let bytes = reply.arguments().bytes(dsg::SIGNATURE_FIELD);
    let signature = match padding {
        Padding::RsaPkcs1 | Padding::RsaPss => Some(bytes.to_vec()).filter(|bytes| !bytes.is_empty()),
        Padding::Ecdsa => ecdsa_sig_value(bytes),
    };
    signature
        .filter(|signature| signature.len() <= ANSWER_BYTES_MAX)
        .ok_or_else(|| senseless("a signature of an impossible length"))
}

/// Puts the premaster in a reply into its place.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn premaster_of(reply: &Reply, secret: &mut [u8; PREMASTER_BYTES]) -> Result<(), OffloadError> {
    let arguments = reply.arguments();
    let bytes = arguments.bytes(tlsp::PREMASTER_SECRET);
    if bytes.len() != PREMASTER_BYTES {
        return Err(senseless("a premaster of another length than 48"));
    }
    secret.copy_from_slice(bytes);
    Ok(())
}

/// The public key in a reply, as SubjectPublicKeyInfo in DER.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn public_key_of(reply: &Reply) -> Result<(Kind, Vec<u8>), OffloadError> {
    let public = PublicKey::of_token(reply.arguments().bytes(pkx::TARGET_KEY_TOKEN))
        .map_err(|cause| senseless(&cause))?;
    let kind = match &public {
        PublicKey::Rsa { .. } => Kind::Rsa,
        PublicKey::Curve(EccCurve::P256, _) => Kind::P256,
        PublicKey::Curve(EccCurve::P384, _) => Kind::P384,
        PublicKey::Curve(EccCurve::P521, _) => Kind::P521,
        PublicKey::Curve(EccCurve::Ed25519, _) => Kind::Ed25519,
        PublicKey::Curve(..) => Kind::Other,
    };
    let der = public.to_der().map_err(|cause| senseless(&cause.to_string()))?;
    if der.len() > ANSWER_BYTES_MAX {
        return Err(senseless("a public key that is too long"));
    }
    Ok((kind, der))
}

fn senseless(cause: &str) -> OffloadError {
    OffloadError::new(Status::Failed, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_those_of_the_standard() {
        let known: Vec<u16> = (0..=u16::MAX).filter(|code| Scheme::of_code_point(*code).is_some()).collect();
        let expected =
            [0x0401, 0x0403, 0x0501, 0x0503, 0x0601, 0x0603, 0x0804, 0x0805, 0x0806, 0x0809, 0x080A, 0x080B];
        assert_eq!(known, expected);
        // Not: rsa_pkcs1_sha1, ecdsa_sha1, ed25519, ed448.
        for code in [0x0201, 0x0203, 0x0807, 0x0808] {
            assert_eq!(Scheme::of_code_point(code), None);
        }
        let scheme = Scheme::of_code_point(0x0805).unwrap();
        assert_eq!((scheme.padding, scheme.hash.bytes()), (Padding::RsaPss, 48));
    }
}
