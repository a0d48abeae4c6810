//! The algorithms that protect the packets of an SA: one that enciphers and authenticates, or a cipher and a MAC; and
//! the lengths that follow.

use engine::{CipherAlgorithm, HashAlgorithm};
use std::fmt;

/// Length of an AES key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AesKey {
    /// 16 bytes.
    Bits128,
    /// 24 bytes.
    Bits192,
    /// 32 bytes.
    Bits256,
}

impl AesKey {
    /// All lengths.
    pub const ALL: [AesKey; 3] = [AesKey::Bits128, AesKey::Bits192, AesKey::Bits256];

    /// The key of this many bytes; `None` if AES has no such length.
    pub const fn of_bytes(bytes: usize) -> Option<AesKey> {
        match bytes {
            16 => Some(AesKey::Bits128),
            24 => Some(AesKey::Bits192),
            32 => Some(AesKey::Bits256),
            _ => None,
        }
    }

    /// Length in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            AesKey::Bits128 => 16,
            AesKey::Bits192 => 24,
            AesKey::Bits256 => 32,
        }
    }
}

/// A MAC that stands beside a cipher.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Integrity {
    /// HMAC-SHA-1-96 (RFC 2404).
    Sha1,
    /// HMAC-SHA-256-128 (RFC 4868).
    Sha256,
    /// HMAC-SHA-512-256 (RFC 4868).
    Sha512,
}

impl Integrity {
    /// All MACs.
    pub const ALL: [Integrity; 3] = [Integrity::Sha1, Integrity::Sha256, Integrity::Sha512];

    /// The hash of the HMAC.
    pub const fn hash(self) -> HashAlgorithm {
        match self {
            Integrity::Sha1 => HashAlgorithm::Sha1,
            Integrity::Sha256 => HashAlgorithm::Sha256,
            Integrity::Sha512 => HashAlgorithm::Sha512,
        }
    }

    /// Length of the key in bytes: that of the digest (RFC 2404, 3; RFC 4868, 2.1.1).
    pub const fn key_bytes(self) -> usize {
        self.hash().digest_bytes()
    }

    /// Length of the ICV in bytes.
    pub const fn icv_bytes(self) -> usize {
        match self {
            Integrity::Sha1 => 12,
            Integrity::Sha256 => 16,
            Integrity::Sha512 => 32,
        }
    }
}

/// A cipher that stands beside a MAC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Encryption {
    /// No encryption (RFC 2410): packets are authenticated and can be read by anyone.
    Null,
    /// AES-CBC (RFC 3602).
    AesCbc(AesKey),
    /// 3DES-CBC (RFC 2451). Weak: blocks of 64 bits.
    TdesCbc,
}

impl Encryption {
    /// All ciphers.
    pub const ALL: [Encryption; 5] = [
        Encryption::Null,
        Encryption::AesCbc(AesKey::Bits128),
        Encryption::AesCbc(AesKey::Bits192),
        Encryption::AesCbc(AesKey::Bits256),
        Encryption::TdesCbc,
    ];

    /// The engine's algorithm; `None` for no encryption.
    pub const fn cipher(self) -> Option<CipherAlgorithm> {
        match self {
            Encryption::Null => None,
            Encryption::AesCbc(AesKey::Bits128) => Some(CipherAlgorithm::Aes128),
            Encryption::AesCbc(AesKey::Bits192) => Some(CipherAlgorithm::Aes192),
            Encryption::AesCbc(AesKey::Bits256) => Some(CipherAlgorithm::Aes256),
            Encryption::TdesCbc => Some(CipherAlgorithm::Tdes3),
        }
    }

    const fn block_bytes(self) -> usize {
        match self.cipher() {
            None => 0,
            Some(cipher) => cipher.block_bytes(),
        }
    }
}

/// The algorithms that protect the packets of an SA.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Suite {
    /// AES-GCM with an ICV of 16 bytes (RFC 4106).
    AesGcm16(AesKey),
    /// ChaCha20-Poly1305 (RFC 7634).
    ChaCha20Poly1305,
    /// A cipher and a MAC.
    Separate(Encryption, Integrity),
}

/// Why a suite is off until the setting for weak suites enables it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weakness {
    /// Blocks of 64 bits, which repeat after some GiB under one key.
    ShortBlocks,
    /// The payload is not enciphered.
    NoEncryption,
}

/// Bytes of salt behind the key of an AEAD, as IKE and the kernel hand them over (RFC 4106, 8.1; RFC 7634, 2).
pub const SALT_BYTES: usize = 4;
/// Longest IV of a suite, in bytes.
pub const IV_BYTES_MAX: usize = 16;
/// Longest ICV of a suite, in bytes.
pub const ICV_BYTES_MAX: usize = 32;
/// Upper bound of the packets under one key of a cipher with 64-bit blocks: 2^20 of 1,500 bytes are 2^27.5 blocks, so
/// that the chance that any two are equal stays below one in a hundred and fifty.
pub const SHORT_BLOCK_PACKETS_MAX: u64 = 1 << 20;

impl Suite {
    /// All suites.
    pub const ALL: [Suite; 19] = {
        let mut all = [Suite::ChaCha20Poly1305; 19];
        let mut at = 1;
        let mut key = 0;
        while key < AesKey::ALL.len() {
            all[at] = Suite::AesGcm16(AesKey::ALL[key]);
            key += 1;
            at += 1;
        }
        let mut cipher = 0;
        while cipher < Encryption::ALL.len() {
            let mut mac = 0;
            while mac < Integrity::ALL.len() {
                all[at] = Suite::Separate(Encryption::ALL[cipher], Integrity::ALL[mac]);
                mac += 1;
                at += 1;
            }
            cipher += 1;
        }
        all
    };

    /// Length of the encryption key in bytes, with the salt of an AEAD.
    pub const fn encryption_key_bytes(self) -> usize {
        match self {
            Suite::AesGcm16(key) => key.bytes() + SALT_BYTES,
            Suite::ChaCha20Poly1305 => engine::CHACHA_KEY_BYTES + SALT_BYTES,
            Suite::Separate(cipher, _) => match cipher.cipher() {
                None => 0,
                Some(cipher) => cipher.key_bytes(),
            },
        }
    }

    /// Length of the key of the MAC in bytes: 0 for an AEAD.
    pub const fn integrity_key_bytes(self) -> usize {
        match self {
            Suite::Separate(_, mac) => mac.key_bytes(),
            _ => 0,
        }
    }

    /// Length of the IV that travels in each packet, in bytes.
    pub const fn iv_bytes(self) -> usize {
        match self {
            Suite::AesGcm16(_) | Suite::ChaCha20Poly1305 => 8,
            Suite::Separate(cipher, _) => cipher.block_bytes(),
        }
    }

    /// Length of the ICV in bytes.
    pub const fn icv_bytes(self) -> usize {
        match self {
            Suite::AesGcm16(_) | Suite::ChaCha20Poly1305 => 16,
            Suite::Separate(_, mac) => mac.icv_bytes(),
        }
    }

    /// Length, in bytes, of which payload, padding and trailer together are a multiple (RFC 4303, 2.4): a power of two.
    pub const fn pad_to(self) -> usize {
        match self {
            Suite::Separate(cipher, _) if cipher.block_bytes() > 4 => cipher.block_bytes(),
            _ => 4,
        }
    }

    /// Whether one algorithm enciphers and authenticates.
    pub const fn is_combined(self) -> bool {
        !matches!(self, Suite::Separate(..))
    }

    /// Why the setting for weak suites must enable it; `None` if it is not weak.
    pub const fn weakness(self) -> Option<Weakness> {
        match self {
            Suite::Separate(Encryption::TdesCbc, _) => Some(Weakness::ShortBlocks),
            Suite::Separate(Encryption::Null, _) => Some(Weakness::NoEncryption),
            _ => None,
        }
    }

    /// Upper bound of the packets under one key, besides that of the sequence numbers; `None` if there is none.
    pub const fn packets_max(self) -> Option<u64> {
        match self.weakness() {
            Some(Weakness::ShortBlocks) => Some(SHORT_BLOCK_PACKETS_MAX),
            _ => None,
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suite::AesGcm16(key) => write!(out, "AES-GCM-16-{}", 8 * key.bytes()),
            Suite::ChaCha20Poly1305 => out.write_str("ChaCha20-Poly1305"),
            Suite::Separate(cipher, mac) => {
                match cipher {
                    Encryption::Null => out.write_str("NULL")?,
                    Encryption::AesCbc(key) => write!(out, "AES-CBC-{}", 8 * key.bytes())?,
                    Encryption::TdesCbc => out.write_str("3DES-CBC")?,
                }
                out.write_str(match mac {
                    Integrity::Sha1 => " with HMAC-SHA-1-96",
                    Integrity::Sha256 => " with HMAC-SHA-256-128",
                    Integrity::Sha512 => " with HMAC-SHA-512-256",
                })
            }
        }
    }
}

impl Weakness {
    /// The weakness in words, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Weakness::ShortBlocks => "its blocks have 64 bits",
            Weakness::NoEncryption => "it enciphers nothing",
        }
    }
}
