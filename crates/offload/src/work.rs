//! What is asked of a card, and what its answer means.

use crate::error::{OffloadError, Status};
use engine::HashAlgorithm;
pub use facility::private_keys::Padding;
use facility::private_keys::{Field, MODULUS_BYTES_MAX, SignatureRequest};
use keyfiles::{PublicKey, ecdsa_sig_value};
use std::fmt;
use token::pka::ecc::EccCurve;
use wire::frame::Arguments;
use wire::verb::{digital_signature_generate as dsg, pka_public_key_extract as pkx, tls_premaster as tlsp};
use zeroize::Zeroizing;

/// Bytes of a premaster secret (RFC 5246, 7.4.7.1).
pub const PREMASTER_BYTES: usize = 48;
/// Longest answer in bytes: a public key of RSA with 4,096 bits takes 550.
pub const ANSWER_BYTES_MAX: usize = 1024;
/// Longest ciphertext in bytes: that of RSA with 4,096 bits.
pub const CIPHERTEXT_BYTES_MAX: usize = MODULUS_BYTES_MAX;

/// A hash whose digests cards sign.
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
    /// Length of a digest in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    fn of_engine(self) -> HashAlgorithm {
        match self {
            Self::Sha256 => HashAlgorithm::Sha256,
            Self::Sha384 => HashAlgorithm::Sha384,
            Self::Sha512 => HashAlgorithm::Sha512,
        }
    }
}

/// A signature scheme of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Padding, or ECDSA.
    pub padding: Padding,
    /// The hash that the digest was made with.
    pub hash: Hash,
}

impl Scheme {
    /// The scheme of a code point of TLS (RFC 8446, 4.2.3); `None` for a scheme by which cards do not sign. The curve
    /// that TLS 1.3 joins to an ECDSA scheme is ignored, as in TLS 1.2: the key determines the curve.
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

    /// A request for a signature by the key under a label; `None` for a digest of another length.
    pub fn request(self, label: &Field, digest: &[u8]) -> Option<SignatureRequest> {
        SignatureRequest::new(label, self.padding, self.hash.of_engine(), digest)
    }
}

/// Kind of a public key. The numbers are those of the C interface, and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum PublicKeyKind {
    /// A key of none of the kinds below.
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

/// The operation that a request asks for. The numbers are those of the C interface, and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Operation {
    /// A signature.
    Sign = 1,
    /// A premaster.
    Premaster = 2,
    /// A public key.
    PublicKey = 3,
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Sign => "sign with",
            Self::Premaster => "open a premaster with",
            Self::PublicKey => "read the public key of",
        })
    }
}

/// The answer to a request. Secrets in it are wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub enum Answer {
    /// A signature: as long as the modulus for RSA, a DER structure for ECDSA.
    Signature(Vec<u8>),
    /// A premaster, or random bytes in its place: which of them, nobody can tell.
    Premaster(Zeroizing<[u8; PREMASTER_BYTES]>),
    /// A public key: its kind, and SubjectPublicKeyInfo in DER (RFC 5280, 4.1.2.7).
    PublicKey(PublicKeyKind, Vec<u8>),
}

impl fmt::Debug for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signature(bytes) => out.debug_tuple("Signature").field(&bytes.len()).finish(),
            Self::Premaster(_) => out.write_str("Premaster"),
            Self::PublicKey(kind, der) => out.debug_tuple("PublicKey").field(kind).field(&der.len()).finish(),
        }
    }
}

impl Answer {
    /// Reads a card's answer; `padding` is that of a signature.
    ///
    /// # Errors
    /// [`Status::Failed`], with the fault of the answer.
    pub fn of_reply(
        operation: Operation,
        padding: Padding,
        reply: &Arguments<'_>,
    ) -> Result<Self, OffloadError> {
        match operation {
            Operation::Sign => signature_of(padding, reply).map(Self::Signature),
            Operation::Premaster => premaster_of(reply).map(Self::Premaster),
            Operation::PublicKey => public_key_of(reply).map(|(kind, der)| Self::PublicKey(kind, der)),
        }
    }
}

fn signature_of(padding: Padding, reply: &Arguments<'_>) -> Result<Vec<u8>, OffloadError> {
    let bytes = reply.bytes(dsg::SIGNATURE_FIELD);
    let signature = match padding {
        Padding::RsaPkcs1 | Padding::RsaPss => Some(bytes.to_vec()).filter(|bytes| !bytes.is_empty()),
        Padding::Ecdsa => ecdsa_sig_value(bytes),
    };
    signature
        .filter(|signature| signature.len() <= ANSWER_BYTES_MAX)
        .ok_or_else(|| senseless("a signature of an impossible length"))
}

fn premaster_of(reply: &Arguments<'_>) -> Result<Zeroizing<[u8; PREMASTER_BYTES]>, OffloadError> {
    let bytes = reply.bytes(tlsp::PREMASTER_SECRET);
    if bytes.len() != PREMASTER_BYTES {
        return Err(senseless("a premaster of another length than 48"));
    }
    let mut secret = Zeroizing::new([0; PREMASTER_BYTES]);
    secret.copy_from_slice(bytes);
    Ok(secret)
}

/// Kind, and SubjectPublicKeyInfo in DER.
fn public_key_of(reply: &Arguments<'_>) -> Result<(PublicKeyKind, Vec<u8>), OffloadError> {
    let public =
        PublicKey::of_token(reply.bytes(pkx::TARGET_KEY_TOKEN)).map_err(|cause| senseless(&cause))?;
    let kind = match &public {
        PublicKey::Rsa { .. } => PublicKeyKind::Rsa,
        PublicKey::Curve(EccCurve::P256, _) => PublicKeyKind::P256,
        PublicKey::Curve(EccCurve::P384, _) => PublicKeyKind::P384,
        PublicKey::Curve(EccCurve::P521, _) => PublicKeyKind::P521,
        PublicKey::Curve(EccCurve::Ed25519, _) => PublicKeyKind::Ed25519,
        PublicKey::Curve(..) => PublicKeyKind::Other,
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
