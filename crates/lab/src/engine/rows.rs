//! The rows: what is measured, against whom, and what is promised of it.
//!
//! A promise holds on any processor. Kernels of our own promise a share of the limit that the ports of the processor at
//! hand allow. Rows in which both sides use the same instructions promise a ratio to the faster of the other libraries.

use crate::experiment::promise::Promise;
use engine::{CipherAlgorithm, CipherDirection, HashAlgorithm, Level, Mode};

/// The work of one call in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Texts in a cipher mode, each with a prepared key of its own.
    Cipher {
        algorithm: CipherAlgorithm,
        mode: Mode,
        direction: CipherDirection,
        streams: usize,
        bytes: usize,
    },
    /// X9.19 MACs, each with a raw key of its own that is set up in the call.
    Retail { requests: usize, bytes: usize },
    /// PIN translations: two keys of 16 bytes unwrapped for each, a block of TDES with either.
    Pin { requests: usize },
    /// Raw private operations, verified, each with a key of its own.
    RsaPrivate { bits: u32, crt: bool, requests: usize },
    /// Raw public operations.
    RsaPublic { bits: u32, requests: usize },
    /// One new key.
    RsaGenerate { bits: u32 },
    /// Signatures by ECDSA with P-256, each with a key of its own; each verified before it is released, or only
    /// checked.
    EcdsaSign { requests: usize, verified: bool },
    /// Shared secrets by X25519, each with a key of its own.
    X25519 { requests: usize },
    /// Public values of X25519.
    X25519Public { requests: usize },
    /// Digests.
    Hash { algorithm: HashAlgorithm, messages: usize, bytes: usize },
    /// HMACs, each under a key of its own, which is prepared or set up in the call.
    Hmac { algorithm: HashAlgorithm, messages: usize, bytes: usize, raw: bool },
    /// CMACs with AES-128 under prepared keys.
    Cmac { messages: usize, bytes: usize },
    /// AES-128-GCM, sealing, each under a prepared key of its own.
    Gcm { messages: usize, bytes: usize },
    /// AES-128-OCB, sealing, each under a prepared key of its own.
    Ocb { messages: usize, bytes: usize },
    /// AES-128-EAX, sealing, each under a prepared key of its own.
    Eax { messages: usize, bytes: usize },
    /// AES-128-CFB enciphering with SHA-1 of the plain text, as OpenPGP has it.
    CfbSha1 { bytes: usize },
}

/// The peer of the promised ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The system's OpenSSL.
    OpenSsl,
    /// AWS-LC.
    AwsLc,
    /// Intel's multi-buffer library.
    IpsecMb,
    /// OpenSSL or AWS-LC, whichever leaves the engine the smaller ratio.
    BestSingle,
}

/// One row of the engine's table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name of the row, as the table shows it.
    pub case: &'static str,
    pub work: Work,
    pub against: Against,
    /// The ratio that is promised where both sides use the same instructions, and hoped for with AVX-512 elsewhere.
    pub ratio: Option<f64>,
}

impl Row {
    /// The promise at a level, and the ratio hoped for. `has_limit` says whether a limit of the ports was counted.
    pub fn promise_at(&self, level: Level, has_limit: bool) -> (Option<Promise>, Option<f64>) {
        let hoped = self.ratio.filter(|_| level == Level::Avx512);
        let share = SHARES.iter().find(|(case, _)| *case == self.case).map(|(_, share)| *share);
        match (self.is_of_same_instructions(), level) {
            (_, Level::Portable) => (None, None),
            (true, _) => (self.ratio.map(Promise::RatioAtLeast), None),
            (false, _) => (share.filter(|_| has_limit).map(Promise::ShareAtLeast), hoped),
        }
    }

    /// Whether the engine and the library that the row is judged by use the same instructions, one request at a time.
    fn is_of_same_instructions(&self) -> bool {
        self.against == BestSingle
    }
}

const fn row(case: &'static str, work: Work, against: Against, ratio: Option<f64>) -> Row {
    Row { case, work, against, ratio }
}

/// A row of one request, which the best single-stream library must not leave behind.
const fn single(case: &'static str, work: Work) -> Row {
    row(case, work, BestSingle, Some(0.93))
}

const fn one_stream(case: &'static str, mode: Mode, direction: CipherDirection) -> Row {
    row(case, cipher(Tdes3, mode, direction, 1, 64 << 10), OpenSsl, Some(50.0))
}

const fn cipher(
    algorithm: CipherAlgorithm,
    mode: Mode,
    direction: CipherDirection,
    streams: usize,
    bytes: usize,
) -> Work {
    Work::Cipher { algorithm, mode, direction, streams, bytes }
}

const fn rsa(bits: u32, crt: bool, requests: usize) -> Work {
    Work::RsaPrivate { bits, crt, requests }
}

const fn cbc(streams: usize, bytes: usize) -> Work {
    cipher(Aes128, Cbc, Encipher, streams, bytes)
}

const fn retail(requests: usize, bytes: usize) -> Work {
    Work::Retail { requests, bytes }
}

const fn hmac(algorithm: HashAlgorithm, messages: usize, bytes: usize) -> Work {
    Work::Hmac { algorithm, messages, bytes, raw: false }
}

const fn hmac_raw(algorithm: HashAlgorithm, messages: usize, bytes: usize) -> Work {
    Work::Hmac { algorithm, messages, bytes, raw: true }
}

const fn cmac(messages: usize, bytes: usize) -> Work {
    Work::Cmac { messages, bytes }
}

const fn gcm(messages: usize, bytes: usize) -> Work {
    Work::Gcm { messages, bytes }
}

use Against::{AwsLc, BestSingle, IpsecMb, OpenSsl};
use CipherAlgorithm::{Aes128, Des, Tdes3};
use CipherDirection::{Decipher, Encipher};
use HashAlgorithm::{Sha1, Sha256};
use Mode::{Cbc, Ctr, Ecb};

/// The share of the limit of the ports that a kernel promises on any processor.
#[rustfmt::skip] // a table
const SHARES: &[(&str, f64)] = &[
    ("TDES-ECB encrypt, 1 stream of 64 KiB", 0.65),
    ("TDES-CBC decrypt, 1 stream of 64 KiB", 0.65),
    ("TDES-CTR, 1 stream of 64 KiB", 0.65),
    ("TDES-CBC encrypt, 512 streams of 4 KiB", 0.55),
    ("TDES-CBC encrypt, 64 streams of 4 KiB", 0.65),
    ("TDES-CBC encrypt, 16 streams of 4 KiB", 0.75),
    ("DES-ECB encrypt, 1 stream of 64 KiB", 0.3),
    ("DES-CBC encrypt, 512 streams of 4 KiB", 0.3),
    ("X9.19 MAC of 64 bytes, 512 requests, raw keys", 0.25),
    ("X9.19 MAC of 64 bytes, 64 requests, raw keys", 0.3),
    ("RSA-1024 private, CRT, 8 requests", 0.5),
    ("RSA-2048 private, CRT, 8 requests", 0.6),
    ("RSA-4096 private, CRT, 8 requests", 0.6),
    ("RSA-1024 private, ME, 8 requests", 0.6),
    ("RSA-2048 private, ME, 8 requests", 0.6),
    ("RSA-4096 private, ME, 8 requests", 0.6),
    ("RSA-2048 public, 8 requests", 0.5),
    ("SHA-1, 16 messages of 4 KiB", 0.85),
    ("SHA-256, 16 messages of 4 KiB", 0.85),
    ("HMAC-SHA-1, 16 messages of 4 KiB", 0.8),
    ("HMAC-SHA-256, 16 messages of 4 KiB", 0.8),
    ("AES-128-CBC encrypt, 16 streams of 4 KiB", 0.5),
    ("AES-128-CBC encrypt, 32 streams of 4 KiB", 0.5),
    ("CMAC-AES-128, 16 messages of 4 KiB", 0.6),
    ("CMAC-AES-128, 32 messages of 4 KiB", 0.55),
    ("AES-128-CBC decrypt, 1 stream of 4 KiB", 0.45),
    ("AES-128-ECB encrypt, 1 stream of 4 KiB", 0.45),
    ("AES-128-OCB seal, 64 KiB", 0.6),
];

/// All rows, as the tables show them.
#[rustfmt::skip] // a table
pub const ROWS: &[Row] = &[
    one_stream("TDES-ECB encrypt, 1 stream of 64 KiB", Ecb, Encipher),
    one_stream("TDES-CBC decrypt, 1 stream of 64 KiB", Cbc, Decipher),
    one_stream("TDES-CTR, 1 stream of 64 KiB", Ctr, Encipher),
    row("TDES-CBC encrypt, 512 streams of 4 KiB", cipher(Tdes3, Cbc, Encipher, 512, 4096), OpenSsl, Some(67.0)),
    row("TDES-CBC encrypt, 64 streams of 4 KiB", cipher(Tdes3, Cbc, Encipher, 64, 4096), OpenSsl, Some(42.0)),
    row("TDES-CBC encrypt, 32 streams of 4 KiB", cipher(Tdes3, Cbc, Encipher, 32, 4096), OpenSsl, Some(23.0)),
    row("TDES-CBC encrypt, 16 streams of 4 KiB", cipher(Tdes3, Cbc, Encipher, 16, 4096), OpenSsl, Some(15.0)),
    row("TDES-CBC encrypt, 8 streams of 4 KiB", cipher(Tdes3, Cbc, Encipher, 8, 4096), OpenSsl, None),
    row("TDES-CBC encrypt, 1 stream of 4 KiB", cipher(Tdes3, Cbc, Encipher, 1, 4096), OpenSsl, Some(1.2)),
    row("DES-ECB encrypt, 1 stream of 64 KiB", cipher(Des, Ecb, Encipher, 1, 64 << 10), OpenSsl, Some(40.0)),
    row("DES-CBC encrypt, 512 streams of 4 KiB", cipher(Des, Cbc, Encipher, 512, 4096), OpenSsl, Some(52.0)),
    row("DES-CBC encrypt, 64 streams of 4 KiB", cipher(Des, Cbc, Encipher, 64, 4096), OpenSsl, None),
    row("DES-CBC encrypt, 32 streams of 4 KiB", cipher(Des, Cbc, Encipher, 32, 4096), OpenSsl, None),
    row("DES-CBC encrypt, 16 streams of 4 KiB", cipher(Des, Cbc, Encipher, 16, 4096), OpenSsl, None),
    row("DES-CBC encrypt, 8 streams of 4 KiB", cipher(Des, Cbc, Encipher, 8, 4096), OpenSsl, None),
    row("DES-CBC encrypt, 1 stream of 4 KiB", cipher(Des, Cbc, Encipher, 1, 4096), OpenSsl, Some(1.3)),
    row("X9.19 MAC of 64 bytes, 512 requests, raw keys", retail(512, 64), OpenSsl, Some(45.0)),
    row("X9.19 MAC of 64 bytes, 64 requests, raw keys", retail(64, 64), OpenSsl, Some(32.0)),
    row("X9.19 MAC of 64 bytes, 1 request, raw key", retail(1, 64), OpenSsl, Some(1.4)),
    row("X9.19 MAC of 64 bytes, 16 requests, raw keys", retail(16, 64), OpenSsl, None),
    row("X9.19 MAC of 256 bytes, 16 requests, raw keys", retail(16, 256), OpenSsl, None),
    row("X9.19 MAC of 1,424 bytes, 16 requests, raw keys", retail(16, 1424), OpenSsl, None),
    row("X9.19 MAC of 256 bytes, 64 requests, raw keys", retail(64, 256), OpenSsl, None),
    row("X9.19 MAC of 1,424 bytes, 64 requests, raw keys", retail(64, 1424), OpenSsl, None),
    row("PIN translation, 256 requests, wrapped keys", Work::Pin { requests: 256 }, OpenSsl, Some(42.0)),
    row("PIN translation, 64 requests, wrapped keys", Work::Pin { requests: 64 }, OpenSsl, Some(30.0)),
    row("PIN translation, 1 request, wrapped keys", Work::Pin { requests: 1 }, OpenSsl, Some(2.0)),
    row("RSA-1024 private, CRT, 8 requests", rsa(1024, true, 8), OpenSsl, Some(5.6)),
    row("RSA-2048 private, CRT, 8 requests", rsa(2048, true, 8), OpenSsl, Some(3.9)),
    row("RSA-4096 private, CRT, 8 requests", rsa(4096, true, 8), OpenSsl, Some(5.2)),
    row("RSA-1024 private, ME, 8 requests", rsa(1024, false, 8), OpenSsl, Some(6.8)),
    row("RSA-2048 private, ME, 8 requests", rsa(2048, false, 8), OpenSsl, Some(5.3)),
    row("RSA-4096 private, ME, 8 requests", rsa(4096, false, 8), OpenSsl, Some(4.5)),
    row("RSA-2048 public, 8 requests", Work::RsaPublic { bits: 2048, requests: 8 }, OpenSsl, Some(5.8)),
    row("RSA-2048 key generation", Work::RsaGenerate { bits: 2048 }, OpenSsl, None),
    row("ECDSA P-256 sign, 8 requests", Work::EcdsaSign { requests: 8, verified: false }, AwsLc, Some(2.5)),
    row("ECDSA P-256 sign and verify, 8 requests, beside signing alone", Work::EcdsaSign { requests: 8, verified: true }, AwsLc, Some(1.1)),
    row("X25519 shared secret, 8 requests", Work::X25519 { requests: 8 }, AwsLc, Some(3.5)),
    row("X25519 public value, 8 requests", Work::X25519Public { requests: 8 }, AwsLc, Some(3.5)),
    row("SHA-1, 16 messages of 4 KiB", Work::Hash { algorithm: Sha1, messages: 16, bytes: 4096 }, OpenSsl, Some(3.8)),
    row("SHA-256, 16 messages of 4 KiB", Work::Hash { algorithm: Sha256, messages: 16, bytes: 4096 }, OpenSsl, Some(2.2)),
    row("HMAC-SHA-1, 16 messages of 4 KiB", hmac(Sha1, 16, 4096), OpenSsl, None),
    row("HMAC-SHA-256, 16 messages of 4 KiB", hmac(Sha256, 16, 4096), OpenSsl, None),
    row("HMAC-SHA-1, 16 messages of 64 B", hmac(Sha1, 16, 64), OpenSsl, None),
    row("HMAC-SHA-1, 16 messages of 256 B", hmac(Sha1, 16, 256), OpenSsl, None),
    row("HMAC-SHA-1, 16 messages of 1,424 B", hmac(Sha1, 16, 1424), OpenSsl, None),
    row("HMAC-SHA-1, 64 messages of 64 B", hmac(Sha1, 64, 64), OpenSsl, None),
    row("HMAC-SHA-1, 64 messages of 256 B", hmac(Sha1, 64, 256), OpenSsl, None),
    row("HMAC-SHA-1, 64 messages of 1,424 B", hmac(Sha1, 64, 1424), OpenSsl, None),
    row("HMAC-SHA-1, 16 messages of 64 B, raw keys", hmac_raw(Sha1, 16, 64), OpenSsl, None),
    row("HMAC-SHA-256, 16 messages of 64 B", hmac(Sha256, 16, 64), OpenSsl, None),
    row("HMAC-SHA-256, 16 messages of 256 B", hmac(Sha256, 16, 256), OpenSsl, None),
    row("HMAC-SHA-256, 16 messages of 1,424 B", hmac(Sha256, 16, 1424), OpenSsl, None),
    row("HMAC-SHA-256, 64 messages of 64 B", hmac(Sha256, 64, 64), OpenSsl, None),
    row("HMAC-SHA-256, 64 messages of 256 B", hmac(Sha256, 64, 256), OpenSsl, None),
    row("HMAC-SHA-256, 64 messages of 1,424 B", hmac(Sha256, 64, 1424), OpenSsl, None),
    row("HMAC-SHA-256, 16 messages of 64 B, raw keys", hmac_raw(Sha256, 16, 64), OpenSsl, None),
    row("AES-128-CBC encrypt, 16 streams of 4 KiB", cipher(Aes128, Cbc, Encipher, 16, 4096), OpenSsl, Some(9.0)),
    row("CMAC-AES-128, 16 messages of 4 KiB", cmac(16, 4096), OpenSsl, None),
    row("AES-128-CBC encrypt, 32 streams of 4 KiB", cipher(Aes128, Cbc, Encipher, 32, 4096), OpenSsl, Some(11.5)),
    row("CMAC-AES-128, 32 messages of 4 KiB", cmac(32, 4096), OpenSsl, Some(23.0)),
    row("AES-128-CBC encrypt, 16 streams of 64 B", cbc(16, 64), OpenSsl, None),
    row("AES-128-CBC encrypt, 16 streams of 256 B", cbc(16, 256), OpenSsl, None),
    row("AES-128-CBC encrypt, 16 streams of 1,424 B", cbc(16, 1424), OpenSsl, None),
    row("AES-128-CBC encrypt, 64 streams of 64 B", cbc(64, 64), OpenSsl, None),
    row("AES-128-CBC encrypt, 64 streams of 256 B", cbc(64, 256), OpenSsl, None),
    row("AES-128-CBC encrypt, 64 streams of 1,424 B", cbc(64, 1424), OpenSsl, None),
    row("CMAC-AES-128, 16 messages of 64 B", cmac(16, 64), OpenSsl, None),
    row("CMAC-AES-128, 16 messages of 256 B", cmac(16, 256), OpenSsl, None),
    row("CMAC-AES-128, 16 messages of 1,424 B", cmac(16, 1424), OpenSsl, None),
    row("CMAC-AES-128, 64 messages of 64 B", cmac(64, 64), OpenSsl, None),
    row("CMAC-AES-128, 64 messages of 256 B", cmac(64, 256), OpenSsl, None),
    row("CMAC-AES-128, 64 messages of 1,424 B", cmac(64, 1424), OpenSsl, None),
    row("AES-128-GCM seal, 64 B", gcm(1, 64), IpsecMb, Some(1.0)),
    row("AES-128-GCM seal, 1 KiB", gcm(1, 1024), IpsecMb, Some(0.9)),
    row("AES-128-GCM seal, 64 KiB", gcm(1, 64 << 10), BestSingle, Some(0.9)),
    row("AES-128-GCM seal, 16 messages of 64 B", gcm(16, 64), AwsLc, Some(3.5)),
    row("AES-128-GCM seal, 16 messages of 256 B", gcm(16, 256), AwsLc, Some(3.0)),
    row("AES-128-GCM seal, 16 messages of 1,424 B", gcm(16, 1424), AwsLc, Some(2.0)),
    row("AES-128-GCM seal, 64 messages of 64 B", gcm(64, 64), AwsLc, None),
    row("AES-128-GCM seal, 64 messages of 256 B", gcm(64, 256), AwsLc, None),
    row("AES-128-GCM seal, 64 messages of 1,424 B", gcm(64, 1424), AwsLc, None),
    row("AES-128-CTR, 64 B", cipher(Aes128, Ctr, Encipher, 1, 64), BestSingle, Some(0.9)),
    row("AES-128-CTR, 1 KiB", cipher(Aes128, Ctr, Encipher, 1, 1024), BestSingle, Some(0.9)),
    row("AES-128-CTR, 64 KiB", cipher(Aes128, Ctr, Encipher, 1, 64 << 10), BestSingle, Some(0.9)),
    row("AES-128-OCB seal, 1 KiB", Work::Ocb { messages: 1, bytes: 1024 }, OpenSsl, None),
    row("AES-128-OCB seal, 64 KiB", Work::Ocb { messages: 1, bytes: 64 << 10 }, OpenSsl, None),
    row("AES-128-EAX seal, 64 KiB", Work::Eax { messages: 1, bytes: 64 << 10 }, OpenSsl, None),
    row("AES-128-EAX seal, 16 messages of 4 KiB", Work::Eax { messages: 16, bytes: 4096 }, OpenSsl, None),
    row("AES-128-CFB encrypt with SHA-1 of the text, 64 KiB", Work::CfbSha1 { bytes: 64 << 10 }, OpenSsl, None),
    single("AES-128-CBC encrypt, 1 stream of 4 KiB", cipher(Aes128, Cbc, Encipher, 1, 4096)),
    row("AES-128-CBC decrypt, 1 stream of 4 KiB", cipher(Aes128, Cbc, Decipher, 1, 4096), AwsLc, Some(3.5)),
    row("AES-128-ECB encrypt, 1 stream of 4 KiB", cipher(Aes128, Ecb, Encipher, 1, 4096), AwsLc, Some(3.5)),
    single("AES-128-CTR, 1 stream of 4 KiB", cipher(Aes128, Ctr, Encipher, 1, 4096)),
    single("AES-128-GCM seal, 1 message of 4 KiB", gcm(1, 4096)),
    single("CMAC-AES-128, 1 message of 4 KiB", cmac(1, 4096)),
    single("SHA-1, 1 message of 4 KiB", Work::Hash { algorithm: Sha1, messages: 1, bytes: 4096 }),
    single("SHA-256, 1 message of 4 KiB", Work::Hash { algorithm: Sha256, messages: 1, bytes: 4096 }),
    single("HMAC-SHA-1, 1 message of 4 KiB", hmac(Sha1, 1, 4096)),
    single("HMAC-SHA-256, 1 message of 4 KiB", hmac(Sha256, 1, 4096)),
    single("RSA-1024 private, CRT, 1 request", rsa(1024, true, 1)),
    single("RSA-2048 private, CRT, 1 request", rsa(2048, true, 1)),
    single("RSA-4096 private, CRT, 1 request", rsa(4096, true, 1)),
    single("RSA-2048 private, ME, 1 request", rsa(2048, false, 1)),
    single("RSA-2048 public, 1 request", Work::RsaPublic { bits: 2048, requests: 1 }),
    single("ECDSA P-256 sign, 1 request", Work::EcdsaSign { requests: 1, verified: false }),
    single("X25519 shared secret, 1 request", Work::X25519 { requests: 1 }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_share_is_of_a_row() {
        for (case, share) in SHARES {
            let row = ROWS.iter().find(|row| row.case == *case).unwrap_or_else(|| panic!("no row {case}"));
            assert!((0.1..1.0).contains(share), "{case}");
            let promised = Some(Promise::ShareAtLeast(*share));
            for level in [Level::Avx2, Level::Avx512] {
                assert_eq!(row.promise_at(level, true).0, promised, "{case}");
                assert_eq!(row.promise_at(level, false).0, None, "{case}: no limit is counted");
            }
        }
    }

    #[test]
    fn ratios_are_promised_where_both_sides_use_the_same_instructions() {
        for row in ROWS {
            for level in Level::ALL {
                let (promise, hoped) = row.promise_at(level, true);
                let is_ratio = promise.is_some_and(Promise::is_ratio);
                assert_eq!(is_ratio, row.against == BestSingle && level != Level::Portable, "{}", row.case);
                assert!(hoped.is_none() || level == Level::Avx512, "{}: hoped for with AVX-512", row.case);
            }
        }
    }
}
