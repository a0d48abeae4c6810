//! What private keys under labels are asked for in protocols like TLS, as arguments for
//! [`Facility::call`](crate::Facility::call) and [`Completions::submit`](crate::Completions::submit).

use engine::{HashAlgorithm, digest_info_prefix};
use wire::bounds::{LABEL_BYTES, PKA_TOKEN_BYTES_MAX};
use wire::frame::Arguments;
use wire::verb::{
    Verb, digital_signature_generate as dsg, pka_public_key_extract as pkx, tls_premaster as tlsp,
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
    keywords: Vec<u8>,
    data: Vec<u8>,
}

impl SignatureRequest {
    /// By the key under a label, over a digest of this hash; none for a hash that cards do not sign in this way, and
    /// for a digest of another length.
    pub fn new(label: &Field, padding: Padding, hash: HashAlgorithm, digest: &[u8]) -> Option<Self> {
        let word = match hash {
            HashAlgorithm::Sha256 => b"SHA-256 ",
            HashAlgorithm::Sha384 => b"SHA-384 ",
            HashAlgorithm::Sha512 => b"SHA-512 ",
            _ => return None,
        };
        if digest.len() != hash.digest_bytes() {
            return None;
        }
        let (keywords, data) = match padding {
            Padding::RsaPkcs1 => (b"PKCS-1.1".to_vec(), [digest_info_prefix(hash), digest].concat()),
            // The length of the salt stands before the digest.
            Padding::RsaPss => {
                ([b"PKCS-PSS", &word[..]].concat(), [&(digest.len() as u32).to_be_bytes(), digest].concat())
            }
            Padding::Ecdsa => (b"ECDSA   ".to_vec(), digest.to_vec()),
        };
        Some(Self { label: *label, keywords, data })
    }

    /// The arguments of the verb.
    pub fn arguments(&self) -> Arguments<'_> {
        signature(&self.label, &self.keywords, &self.data)
    }
}

/// A request for a signature over data that is formatted already, by keywords of the verb (CSNDDSG).
pub fn signature<'a>(label: &'a Field, keywords: &'a [u8], data: &'a [u8]) -> Arguments<'a> {
    let mut arguments = Arguments::new(Verb::DigitalSignatureGenerate);
    arguments
        .set_integer(dsg::RULE_ARRAY_COUNT, keywords.len() as i64 / 8)
        .set_bytes(dsg::RULE_ARRAY, keywords)
        .set_integer(dsg::PKA_PRIVATE_KEY_ID_LENGTH, label.len() as i64)
        .set_bytes(dsg::PKA_PRIVATE_KEY_ID, label)
        .set_integer(dsg::HASH_LENGTH, data.len() as i64)
        .set_bytes(dsg::HASH, data)
        .set_integer(dsg::SIGNATURE_FIELD_LENGTH, MODULUS_BYTES_MAX as i64);
    arguments
}

/// A request for the premaster of RSA key exchange that a client enciphered (RFC 5246, 7.4.7.1).
pub fn premaster<'a>(label: &'a Field, ciphertext: &'a [u8]) -> Arguments<'a> {
    let mut arguments = Arguments::new(Verb::TlsPremaster);
    arguments
        .set_integer(tlsp::ENCRYPTED_PREMASTER_LENGTH, ciphertext.len() as i64)
        .set_bytes(tlsp::ENCRYPTED_PREMASTER, ciphertext)
        .set_integer(tlsp::RSA_PRIVATE_KEY_LENGTH, label.len() as i64)
        .set_bytes(tlsp::RSA_PRIVATE_KEY, label);
    arguments
}

/// A request for the public key of a label (CSNDPKX).
pub fn public_key(label: &Field) -> Arguments<'_> {
    let mut arguments = Arguments::new(Verb::PkaPublicKeyExtract);
    arguments
        .set_integer(pkx::SOURCE_KEY_IDENTIFIER_LENGTH, label.len() as i64)
        .set_bytes(pkx::SOURCE_KEY_IDENTIFIER, label)
        .set_integer(pkx::TARGET_KEY_TOKEN_LENGTH, PKA_TOKEN_BYTES_MAX as i64);
    arguments
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
                let mut payload = Vec::new();
                request.arguments().write_request(&mut payload).unwrap();
                let read = Arguments::read_request(Verb::DigitalSignatureGenerate, &payload).unwrap();
                assert!(read.bytes(dsg::HASH).ends_with(&vec![7; bytes]));
                assert!(of(padding, hash, bytes - 1).is_none() && of(padding, hash, bytes + 1).is_none());
            }
            assert!(of(padding, HashAlgorithm::Sha1, 20).is_none());
            assert!(of(padding, HashAlgorithm::Sha3_256, 32).is_none());
        }
    }
}
