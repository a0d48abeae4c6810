//! Suites as programs name them, with keys that are worth nothing.

use crate::load::keys::test_bytes;
use serde::{Deserialize, Serialize};

/// Streams of test bytes that keys are made of.
const ENCRYPTION: u64 = 0xE2C;
const INTEGRITY: u64 = 0x1A7;

/// A suite that all compared programs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// AES-GCM-16 with a key of 128 bits.
    Gcm,
    /// AES-CBC with a key of 128 bits, and HMAC-SHA-1-96.
    CbcSha1,
    /// AES-CBC with a key of 128 bits, and HMAC-SHA-256-128.
    CbcSha256,
    /// 3DES-CBC and HMAC-SHA-1-96.
    TdesSha1,
}

impl Suite {
    /// Every suite.
    pub const ALL: [Self; 4] = [Self::Gcm, Self::CbcSha1, Self::CbcSha256, Self::TdesSha1];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gcm => "AES-128-GCM",
            Self::CbcSha1 => "AES-128-CBC + SHA-1",
            Self::CbcSha256 => "AES-128-CBC + SHA-256",
            Self::TdesSha1 => "3DES + SHA-1",
        }
    }

    /// The suite as a proposal of strongSwan.
    pub const fn proposal(self) -> &'static str {
        match self {
            Self::Gcm => "aes128gcm128",
            Self::CbcSha1 => "aes128-sha1",
            Self::CbcSha256 => "aes128-sha256",
            Self::TdesSha1 => "3des-sha1",
        }
    }

    /// The suite in the crate `ipsec`.
    pub const fn of_library(self) -> ::ipsec::Suite {
        use ::ipsec::{AesKey::Bits128, Encryption, Integrity};
        match self {
            Self::Gcm => ::ipsec::Suite::AesGcm16(Bits128),
            Self::CbcSha1 => ::ipsec::Suite::Separate(Encryption::AesCbc(Bits128), Integrity::Sha1),
            Self::CbcSha256 => ::ipsec::Suite::Separate(Encryption::AesCbc(Bits128), Integrity::Sha256),
            Self::TdesSha1 => ::ipsec::Suite::Separate(Encryption::TdesCbc, Integrity::Sha1),
        }
    }

    /// The cipher's key with its salt at the end, and the key of the MAC, of an SA from the first end or from the
    /// second.
    pub fn keys(self, from_first: bool, sa: usize) -> (Vec<u8>, Vec<u8>) {
        let key = |what, bytes| test_bytes(what, 2 * sa + usize::from(!from_first), bytes);
        let suite = self.of_library();
        (key(ENCRYPTION, suite.encryption_key_bytes()), key(INTEGRITY, suite.integrity_key_bytes()))
    }

    /// Algorithms and keys in the syntax of `ip xfrm state`, of the SA from the first end or from the second.
    pub fn algorithms(self, from_first: bool, sa: usize) -> String {
        let (encryption, integrity) = self.keys(from_first, sa);
        let hex = |key: &[u8]| key.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"));
        let (encryption, integrity) = (hex(&encryption), hex(&integrity));
        let cbc = |cipher: &str, hash: &str, bits: usize| {
            format!("enc {cipher} {encryption} auth-trunc {hash} {integrity} {bits}")
        };
        match self {
            Self::Gcm => format!("aead rfc4106(gcm(aes)) {encryption} 128"),
            Self::CbcSha1 => cbc("cbc(aes)", "hmac(sha1)", 96),
            Self::CbcSha256 => cbc("cbc(aes)", "hmac(sha256)", 128),
            Self::TdesSha1 => cbc("cbc(des3_ede)", "hmac(sha1)", 96),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_lengths_and_differ_by_direction() {
        for (suite, lengths) in [
            (Suite::Gcm, &[20][..]),
            (Suite::CbcSha1, &[16, 20]),
            (Suite::CbcSha256, &[16, 32]),
            (Suite::TdesSha1, &[24, 20]),
        ] {
            let text = suite.algorithms(true, 0);
            assert_ne!(text, suite.algorithms(false, 0));
            let keys: Vec<_> = text.split(' ').filter_map(|word| word.strip_prefix("0x")).collect();
            assert_eq!(keys.iter().map(|key| key.len() / 2).collect::<Vec<_>>(), lengths);
        }
    }
}
