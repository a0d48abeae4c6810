//! The names of supported algorithms, modes and curves, their lengths in bytes, and which of them are weak.
//!
//! Data only, so that every layer and every error may name an algorithm.

use std::fmt;

/// A block cipher with its key length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CipherAlgorithm {
    /// DES (FIPS 46-3), key of 8 bytes. Weak.
    Des,
    /// Triple DES (SP 800-67) with two keys, 16 bytes: the third is the first.
    Tdes2,
    /// Triple DES with three keys, 24 bytes.
    Tdes3,
    /// AES (FIPS 197), key of 16 bytes.
    Aes128,
    /// AES, key of 24 bytes.
    Aes192,
    /// AES, key of 32 bytes.
    Aes256,
}

impl CipherAlgorithm {
    /// All block ciphers.
    pub const ALL: [CipherAlgorithm; 6] = [
        CipherAlgorithm::Des,
        CipherAlgorithm::Tdes2,
        CipherAlgorithm::Tdes3,
        CipherAlgorithm::Aes128,
        CipherAlgorithm::Aes192,
        CipherAlgorithm::Aes256,
    ];

    /// Length of a key in bytes.
    #[inline]
    pub const fn key_bytes(self) -> usize {
        match self {
            CipherAlgorithm::Des => 8,
            CipherAlgorithm::Tdes2 | CipherAlgorithm::Aes128 => 16,
            CipherAlgorithm::Tdes3 | CipherAlgorithm::Aes192 => 24,
            CipherAlgorithm::Aes256 => 32,
        }
    }

    /// Length of a block in bytes: 8 or 16.
    #[inline]
    pub const fn block_bytes(self) -> usize {
        match self {
            CipherAlgorithm::Des | CipherAlgorithm::Tdes2 | CipherAlgorithm::Tdes3 => 8,
            CipherAlgorithm::Aes128 | CipherAlgorithm::Aes192 | CipherAlgorithm::Aes256 => 16,
        }
    }

    /// Whether the algorithm is refused unless the setting for weak algorithms enables it.
    #[inline]
    pub const fn is_weak(self) -> bool {
        matches!(self, CipherAlgorithm::Des)
    }

    /// The algorithm's name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            CipherAlgorithm::Des => "DES",
            CipherAlgorithm::Tdes2 => "TDES with two keys",
            CipherAlgorithm::Tdes3 => "TDES with three keys",
            CipherAlgorithm::Aes128 => "AES-128",
            CipherAlgorithm::Aes192 => "AES-192",
            CipherAlgorithm::Aes256 => "AES-256",
        }
    }
}

impl fmt::Display for CipherAlgorithm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A mode of operation (SP 800-38A).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// Each block is enciphered by itself. Texts are whole blocks; the chaining value is neither used nor changed.
    Ecb,
    /// Each block is XORed with the ciphertext block before it. Texts are whole blocks. The chaining value is the
    /// initialization vector on entry, and the last block of ciphertext on return.
    Cbc,
    /// The text is XORed with enciphered counters, in both directions; it may have any length. The chaining value is
    /// the first counter block on entry, and the next unused one on return. The counter is the whole block, big-endian,
    /// and wraps.
    Ctr,
}

impl fmt::Display for Mode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Mode::Ecb => "ECB",
            Mode::Cbc => "CBC",
            Mode::Ctr => "CTR",
        })
    }
}

/// Encipher or decipher.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CipherDirection {
    /// Plaintext to ciphertext.
    Encipher,
    /// Ciphertext to plaintext.
    Decipher,
}

/// A MAC made of a block cipher.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MacAlgorithm {
    /// ANSI X9.9, key of 8 bytes. Weak.
    X99,
    /// ANSI X9.19 optional procedure, key of 16 bytes.
    X919,
    /// CMAC with triple DES of two keys, 16 bytes.
    CmacTdes2,
    /// CMAC with triple DES of three keys, 24 bytes.
    CmacTdes3,
    /// CMAC with AES-128.
    CmacAes128,
    /// CMAC with AES-192.
    CmacAes192,
    /// CMAC with AES-256.
    CmacAes256,
}

impl MacAlgorithm {
    /// All MACs.
    pub const ALL: [MacAlgorithm; 7] = [
        MacAlgorithm::X99,
        MacAlgorithm::X919,
        MacAlgorithm::CmacTdes2,
        MacAlgorithm::CmacTdes3,
        MacAlgorithm::CmacAes128,
        MacAlgorithm::CmacAes192,
        MacAlgorithm::CmacAes256,
    ];

    /// Length of a key in bytes.
    #[inline]
    pub const fn key_bytes(self) -> usize {
        match self {
            MacAlgorithm::X99 => 8,
            MacAlgorithm::X919 | MacAlgorithm::CmacTdes2 | MacAlgorithm::CmacAes128 => 16,
            MacAlgorithm::CmacTdes3 | MacAlgorithm::CmacAes192 => 24,
            MacAlgorithm::CmacAes256 => 32,
        }
    }

    /// Length of a block, and of the longest MAC, in bytes.
    #[inline]
    pub const fn block_bytes(self) -> usize {
        match self {
            MacAlgorithm::X99 | MacAlgorithm::X919 | MacAlgorithm::CmacTdes2 | MacAlgorithm::CmacTdes3 => 8,
            MacAlgorithm::CmacAes128 | MacAlgorithm::CmacAes192 | MacAlgorithm::CmacAes256 => 16,
        }
    }

    /// Whether the algorithm is refused unless the setting for weak algorithms enables it.
    #[inline]
    pub const fn is_weak(self) -> bool {
        matches!(self, MacAlgorithm::X99)
    }

    /// The algorithm's name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            MacAlgorithm::X99 => "X9.9 MAC",
            MacAlgorithm::X919 => "X9.19 MAC",
            MacAlgorithm::CmacTdes2 => "CMAC with two-key TDES",
            MacAlgorithm::CmacTdes3 => "CMAC with three-key TDES",
            MacAlgorithm::CmacAes128 => "CMAC with AES-128",
            MacAlgorithm::CmacAes192 => "CMAC with AES-192",
            MacAlgorithm::CmacAes256 => "CMAC with AES-256",
        }
    }
}

impl fmt::Display for MacAlgorithm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A hash function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // the names are the standards' names
pub enum HashAlgorithm {
    /// MD5 (RFC 1321). Weak.
    Md5,
    /// SHA-1 (FIPS 180-4).
    Sha1,
    /// RIPEMD-160 (ISO/IEC 10118-3).
    Ripemd160,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    /// SHA3-224 (FIPS 202).
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
}

impl HashAlgorithm {
    /// All hash functions.
    pub const ALL: [HashAlgorithm; 11] = [
        HashAlgorithm::Md5,
        HashAlgorithm::Sha1,
        HashAlgorithm::Ripemd160,
        HashAlgorithm::Sha224,
        HashAlgorithm::Sha256,
        HashAlgorithm::Sha384,
        HashAlgorithm::Sha512,
        HashAlgorithm::Sha3_224,
        HashAlgorithm::Sha3_256,
        HashAlgorithm::Sha3_384,
        HashAlgorithm::Sha3_512,
    ];

    /// Length of a digest in bytes.
    pub const fn digest_bytes(self) -> usize {
        match self {
            HashAlgorithm::Md5 => 16,
            HashAlgorithm::Sha1 | HashAlgorithm::Ripemd160 => 20,
            HashAlgorithm::Sha224 | HashAlgorithm::Sha3_224 => 28,
            HashAlgorithm::Sha256 | HashAlgorithm::Sha3_256 => 32,
            HashAlgorithm::Sha384 | HashAlgorithm::Sha3_384 => 48,
            HashAlgorithm::Sha512 | HashAlgorithm::Sha3_512 => 64,
        }
    }

    /// Length of a block of text in bytes (the rate, for SHA-3).
    pub const fn block_bytes(self) -> usize {
        match self {
            HashAlgorithm::Md5
            | HashAlgorithm::Sha1
            | HashAlgorithm::Ripemd160
            | HashAlgorithm::Sha224
            | HashAlgorithm::Sha256 => 64,
            HashAlgorithm::Sha384 | HashAlgorithm::Sha512 => 128,
            HashAlgorithm::Sha3_224 => 144,
            HashAlgorithm::Sha3_256 => 136,
            HashAlgorithm::Sha3_384 => 104,
            HashAlgorithm::Sha3_512 => 72,
        }
    }

    /// Whether the hash is refused unless the setting for weak algorithms enables it.
    pub const fn is_weak(self) -> bool {
        matches!(self, HashAlgorithm::Md5)
    }

    /// Whether the hash is one of SHA-3.
    pub const fn is_sha3(self) -> bool {
        matches!(
            self,
            HashAlgorithm::Sha3_224
                | HashAlgorithm::Sha3_256
                | HashAlgorithm::Sha3_384
                | HashAlgorithm::Sha3_512
        )
    }

    /// The hash's name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            HashAlgorithm::Md5 => "MD5",
            HashAlgorithm::Sha1 => "SHA-1",
            HashAlgorithm::Ripemd160 => "RIPEMD-160",
            HashAlgorithm::Sha224 => "SHA-224",
            HashAlgorithm::Sha256 => "SHA-256",
            HashAlgorithm::Sha384 => "SHA-384",
            HashAlgorithm::Sha512 => "SHA-512",
            HashAlgorithm::Sha3_224 => "SHA3-224",
            HashAlgorithm::Sha3_256 => "SHA3-256",
            HashAlgorithm::Sha3_384 => "SHA3-384",
            HashAlgorithm::Sha3_512 => "SHA3-512",
        }
    }

    /// Length of the chaining state in bytes; `None` for a hash whose state cannot be exported.
    pub(crate) const fn state_bytes(self) -> Option<usize> {
        match self {
            HashAlgorithm::Md5 => Some(16),
            HashAlgorithm::Sha1 | HashAlgorithm::Ripemd160 => Some(20),
            HashAlgorithm::Sha224 | HashAlgorithm::Sha256 => Some(32),
            HashAlgorithm::Sha384 | HashAlgorithm::Sha512 => Some(64),
            _ => None,
        }
    }
}

impl fmt::Display for HashAlgorithm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// An elliptic curve.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Curve {
    /// P-224 (SP 800-186), alias secp224r1.
    P224,
    /// P-256 (SP 800-186), alias secp256r1.
    P256,
    /// P-384, alias secp384r1.
    P384,
    /// P-521, alias secp521r1.
    P521,
    /// secp256k1 (SEC 2, 2.4.1).
    Secp256k1,
    /// brainpoolP256r1 (RFC 5639).
    BrainpoolP256r1,
    /// brainpoolP384r1.
    BrainpoolP384r1,
    /// Curve25519 as X25519 uses it (RFC 7748).
    X25519,
    /// Curve25519 as Ed25519 uses it (RFC 8032).
    Ed25519,
}

impl Curve {
    /// Length in bytes of a private scalar, of a coordinate and of half a signature.
    pub const fn scalar_bytes(self) -> usize {
        match self {
            Curve::P224 => 28,
            Curve::P256 | Curve::Secp256k1 | Curve::BrainpoolP256r1 | Curve::X25519 | Curve::Ed25519 => 32,
            Curve::P384 | Curve::BrainpoolP384r1 => 48,
            Curve::P521 => 66,
        }
    }

    /// The curve's name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Curve::P224 => "P-224",
            Curve::P256 => "P-256",
            Curve::P384 => "P-384",
            Curve::P521 => "P-521",
            Curve::Secp256k1 => "secp256k1",
            Curve::BrainpoolP256r1 => "brainpoolP256r1",
            Curve::BrainpoolP384r1 => "brainpoolP384r1",
            Curve::X25519 => "X25519",
            Curve::Ed25519 => "Ed25519",
        }
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
