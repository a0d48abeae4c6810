//! What private keys under labels are asked for in protocols like TLS, for [`Facility::ask`](crate::Facility::ask) and
//! [`Completions::ask`](crate::Completions::ask).

use engine::{HashAlgorithm, digest_info_prefix};
use wire::bounds::{LABEL_BYTES, PKA_TOKEN_BYTES_MAX};
use wire::verb::{
    Key, SignatureFormat, SignatureHash, digital_signature_generate as dsg, pka_public_key_extract as pkx,
    tls_premaster as tlsp,
};

/// Longest signature, modulus and ciphertext in bytes: those of RSA with 4,096 bits.
pub const MODULUS_BYTES_MAX: usize = 512;

/// A label as a field of a verb ([`Label::to_field`](wire::Label::to_field)).
pub type Field = [u8; LABEL_BYTES];

/// Kind of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2), as long as the modulus.
    RsaPkcs1,
    /// RSASSA-PSS with MGF1 of the same hash and a salt as long as the digest (RFC 8446, 4.2.3), as long as the
    /// modulus.
    RsaPss,
    /// ECDSA over the curve of the key. A card answers with both numbers, one after the other.
    Ecdsa,
}

/// A request for a signature over a digest (CSNDDSG).
#[derive(Clone, Debug)]
pub struct SignatureRequest {
    label: Field,
    format: SignatureFormat,
    hash: Option<SignatureHash>,
    data: Vec<u8>,
}

impl SignatureRequest {
    /// A request for a signature by the key under a label, over a digest of this hash. None for a hash that cards do
    /// not sign in this way, and for a digest of another length.
    pub fn new(label: &Field, padding: Padding, hash: HashAlgorithm, digest: &[u8]) -> Option<Self> {
        let method = match hash {
            HashAlgorithm::Sha256 => SignatureHash::Sha256,
            HashAlgorithm::Sha384 => SignatureHash::Sha384,
            HashAlgorithm::Sha512 => SignatureHash::Sha512,
            _ => return None,
        };
        if digest.len() != hash.digest_bytes() {
            return None;
        }
        let (format, hash, data) = match padding {
            Padding::RsaPkcs1 => (SignatureFormat::Pkcs11, None, [digest_info_prefix(hash), digest].concat()),
            // The length of the salt stands before the digest.
            Padding::RsaPss => {
                let salt_bytes = (digest.len() as u32).to_be_bytes();
                (SignatureFormat::Pss, Some(method), [&salt_bytes, digest].concat())
            }
            Padding::Ecdsa => (SignatureFormat::Ecdsa, None, digest.to_vec()),
        };
        Some(Self { label: *label, format, hash, data })
    }

    /// The arguments of the verb (CSNDDSG).
    pub fn ask(&self) -> dsg::Ask<'_> {
        dsg::Ask { hash_method: self.hash, ..signature(&self.label, self.format, &self.data) }
    }
}

/// A request for a signature over data that is formatted already (CSNDDSG).
pub fn signature<'a>(label: &'a Field, format: SignatureFormat, data: &'a [u8]) -> dsg::Ask<'a> {
    dsg::Ask {
        format: Some(format),
        pka_private_key_id: Key::Bytes(label),
        hash: data,
        signature_field: MODULUS_BYTES_MAX,
        ..dsg::Ask::new()
    }
}

/// A request for the premaster of RSA key exchange that a client enciphered (RFC 5246, 7.4.7.1).
pub fn premaster<'a>(label: &'a Field, ciphertext: &'a [u8]) -> tlsp::Ask<'a> {
    tlsp::Ask { encrypted_premaster: ciphertext, rsa_private_key: Key::Bytes(label), ..tlsp::Ask::new() }
}

/// A request for the public key of a label (CSNDPKX).
pub fn public_key(label: &Field) -> pkx::Ask<'_> {
    pkx::Ask {
        source_key_identifier: Key::Bytes(label),
        target_key_token: PKA_TOKEN_BYTES_MAX,
        ..pkx::Ask::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_of_hashes_that_cards_sign_and_as_long_as_these() {
        let of = |padding, hash, bytes| SignatureRequest::new(&[b'A'; 64], padding, hash, &vec![7; bytes]);
        for padding in [Padding::RsaPkcs1, Padding::RsaPss, Padding::Ecdsa] {
            for (hash, bytes) in
                [(HashAlgorithm::Sha256, 32), (HashAlgorithm::Sha384, 48), (HashAlgorithm::Sha512, 64)]
            {
                let request = of(padding, hash, bytes).unwrap();
                assert!(request.ask().hash.ends_with(&vec![7; bytes]));
                assert_eq!(request.ask().hash_method.is_some(), padding == Padding::RsaPss);
                assert!(of(padding, hash, bytes - 1).is_none() && of(padding, hash, bytes + 1).is_none());
            }
            assert!(of(padding, HashAlgorithm::Sha1, 20).is_none());
            assert!(of(padding, HashAlgorithm::Sha3_256, 32).is_none());
        }
    }
}
