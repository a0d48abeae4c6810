//! Private key operations as values: a handshake's request, and the answer to it.

/// Length of a premaster secret in bytes; an answer to [`KeyOperation::Premaster`] has this length (RFC 5246, 7.4.7.1).
pub const PREMASTER_BYTES: usize = 48;

/// A handshake's request for an operation with a private key that is elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRequest {
    /// The key's number, which its chain was given.
    pub key: u32,
    /// The operation.
    pub work: KeyOperation,
}

/// An operation with a private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOperation {
    /// A signature over a digest. The answer is as long as the modulus for RSA, and ECDSA-Sig-Value in DER
    /// for ECDSA (RFC 3279, 2.2.3).
    Sign {
        /// Padding of an RSA signature, or ECDSA.
        scheme: Scheme,
        /// The hash function that made the digest.
        hash: Hash,
        /// The digest, as long as [`Hash::bytes`] says.
        digest: Vec<u8>,
    },
    /// The premaster secret of RSA key exchange, by PKCS #1 v1.5 decryption. The answer always has [`PREMASTER_BYTES`]
    /// bytes: random ones, in the same time, if the padding or length in the ciphertext is wrong (RFC 5246, 7.4.7.1).
    /// Any other answer tells an attacker which ciphertexts are well formed.
    Premaster {
        /// The enciphered premaster secret that the client sent.
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
    /// SHA-224: digests of 28 bytes.
    Sha224,
    /// SHA-256: digests of 32 bytes.
    Sha256,
    /// SHA-384: digests of 48 bytes.
    Sha384,
    /// SHA-512: digests of 64 bytes.
    Sha512,
}

impl Hash {
    /// Length of the hash's digests in bytes.
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
