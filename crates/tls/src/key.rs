//! Private key operations as values: what a handshake asks for, and what it takes for an answer.

/// Bytes of a premaster secret: no other length is an answer to [`Work::Premaster`] (RFC 5246, 7.4.7.1).
pub const PREMASTER_BYTES: usize = 48;

/// What a handshake needs of a private key that is elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRequest {
    /// The number that the chain was given.
    pub key: u32,
    /// What is to be computed.
    pub work: Work,
}

/// What is to be computed with a private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A signature over a digest. The answer is as long as the modulus for RSA, and ECDSA-Sig-Value in DER
    /// for ECDSA (RFC 3279, 2.2.3).
    Sign {
        /// Padding, or ECDSA.
        scheme: Scheme,
        /// What the digest was made with.
        hash: Hash,
        /// The digest, as long as [`Hash::bytes`] says.
        digest: Vec<u8>,
    },
    /// The premaster of RSA key exchange: PKCS #1 v1.5 decryption, answered with [`PREMASTER_BYTES`] bytes whatever the
    /// ciphertext holds, random ones where its padding or length is wrong, in the same time (RFC 5246, 7.4.7.1):
    /// everything else tells an attacker which ciphertexts are well formed.
    Premaster {
        /// What the client sent.
        ciphertext: Vec<u8>,
    },
}

/// Kind of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2), in TLS 1.2.
    RsaPkcs1,
    /// RSASSA-PSS with MGF1 of the same hash and a salt as long as the digest (RFC 8446, 4.2.3).
    RsaPss,
    /// ECDSA over the curve of the key.
    Ecdsa,
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1, in old versions only.
    Sha1,
    /// SHA-224.
    Sha224,
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
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}
