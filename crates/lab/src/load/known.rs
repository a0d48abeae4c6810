//! Published answers that the engine must give before it is measured.
//!
//! What a job compares with is worked out by the same engine; these vectors tie it to the standards.

use super::LabError;
use super::native::{engine_mode, refused};
use crate::load::operation::{Cipher, Hash, Mac, Mode, Operation};
use engine::{CipherAlgorithm, CipherDirection, Engine, GcmItem, HmacItem, MacAlgorithm, MacItem};

const NOW_IS_THE_TIME: &str = "4e6f77206973207468652074696d6520666f7220616c6c20";
const COUNTING: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const DOUBLES: &str = "00112233445566778899aabbccddeeff";

/// Cipher, mode, key, chaining value, text, ciphertext.
type CipherVector = (Cipher, Mode, &'static str, &'static str, &'static str, &'static str);

/// FIPS 81 (DES), SP 800-67 (triple DES), FIPS 197 and SP 800-38A (AES).
const CIPHERS: [CipherVector; 8] = [
    (
        Cipher::Des,
        Mode::Ecb,
        "0123456789abcdef",
        "0000000000000000",
        NOW_IS_THE_TIME,
        "3fa40e8a984d48156a271787ab8883f9893d51ec4b563b53",
    ),
    (
        Cipher::Des,
        Mode::Cbc,
        "0123456789abcdef",
        "1234567890abcdef",
        NOW_IS_THE_TIME,
        "e5c7cdde872bf27c43e934008c389c0f683788499a7c05f6",
    ),
    (
        Cipher::Tdes3,
        Mode::Ecb,
        "0123456789abcdef23456789abcdef01456789abcdef0123",
        "0000000000000000",
        "5468652071756663 6b2062726f776e20666f78206a756d70",
        "a826fd8ce53b855fcce21c8112256fe668d5c05dd9b6b900",
    ),
    (Cipher::Aes128, Mode::Ecb, COUNTING, "", DOUBLES, "69c4e0d86a7b0430d8cdb78070b4c55a"),
    (Cipher::Aes192, Mode::Ecb, COUNTING, "", DOUBLES, "dda97ca4864cdfe06eaf70a0ec0d7191"),
    (Cipher::Aes256, Mode::Ecb, COUNTING, "", DOUBLES, "8ea2b7ca516745bfeafc49904b496089"),
    (
        Cipher::Aes128,
        Mode::Cbc,
        "2b7e151628aed2a6abf7158809cf4f3c",
        "000102030405060708090a0b0c0d0e0f",
        "6bc1bee22e409f96e93d7e117393172a",
        "7649abac8119b246cee98e9b12e9197d",
    ),
    (
        Cipher::Aes128,
        Mode::Ctr,
        "2b7e151628aed2a6abf7158809cf4f3c",
        "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
        "6bc1bee22e409f96e93d7e117393172a",
        "874d6191b620e3261bef6864990db6ce",
    ),
];

/// Digests of "abc": FIPS 180-4 and FIPS 202, their first 20 bytes.
const HASHES: [(Hash, &str); 9] = [
    (Hash::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
    (Hash::Sha224, "23097d223405d8228642a477bda255b32aadbce4"),
    (Hash::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a3"),
    (Hash::Sha384, "cb00753f45a35e8bb5a03d699ac65007272c32ab"),
    (Hash::Sha512, "ddaf35a193617abacc417349ae20413112e6fa4e"),
    (Hash::Sha3_224, "e642824c3f8cf24ad09234ee7d3c766fc9a3a516"),
    (Hash::Sha3_256, "3a985da74fe225b2045c172d6bd390bd855f086e"),
    (Hash::Sha3_384, "ec01498288516fc926459f58e2c6ad8df9b473cb"),
    (Hash::Sha3_512, "b751850b1a57168a5693cd924b6b096e08f62182"),
];

/// Holds the engine against the published vectors of an operation. RSA and ECDSA have none here: each of
/// their jobs is checked with another arithmetic, or by verifying.
///
/// # Errors
/// [`LabError::WrongAnswer`].
pub(super) fn check(engine: &Engine, operation: Operation) -> Result<(), LabError> {
    let refused = refused(operation);
    let same = |got: &[u8], expected: &str| {
        if got == bytes(expected) {
            Ok(())
        } else {
            let what = "the engine does not give the published answer";
            Err(LabError::WrongAnswer { operation, job: 0, what })
        }
    };
    match operation {
        Operation::Cipher { cipher: Cipher::Aes128, mode: Mode::Gcm, .. } => {
            let key = engine.gcm_key(&[0; 16]).map_err(|error| refused(error.to_string()))?;
            let mut data = [0; 16];
            let mut items = [GcmItem::encipher(&key, &[0; 12], &[], &mut data)];
            engine.gcm_batch(CipherDirection::Encipher, &mut items);
            same(&items[0].tag, "ab6e47d42cec13bdf53a67b21257bddf")?;
            same(&data, "0388dace60b6a392f328c2b971b2fe78")
        }
        Operation::Cipher { cipher, .. } => {
            for (_, mode, key, iv, text, expected) in CIPHERS.iter().filter(|vector| vector.0 == cipher) {
                let (key, mut iv, mut data) = (bytes(key), bytes(iv), bytes(text));
                iv.resize(cipher.block_bytes(), 0);
                let mode = engine_mode(*mode);
                let key = &key[..cipher.key_bytes()];
                engine
                    .cipher(cipher, mode, CipherDirection::Encipher, key, &mut iv, &mut data)
                    .map_err(|error| refused(error.to_string()))?;
                same(&data, expected)?;
            }
            Ok(())
        }
        Operation::Mac(Mac::CmacAes128) => {
            // RFC 4493, example 2.
            let key = bytes("2b7e151628aed2a6abf7158809cf4f3c");
            let text = bytes("6bc1bee22e409f96e93d7e117393172a");
            let key =
                engine.mac_key(MacAlgorithm::CmacAes128, &key).map_err(|error| refused(error.to_string()))?;
            let mut items = [MacItem::new(&key, &text)];
            engine.mac_batch(&mut items);
            same(&items[0].mac, "070a16b46b4d4144f79bdd9dd04a287c")
        }
        // Their definition is followed step by step for every job; the step is DES.
        Operation::Mac(_) => {
            let mut data = bytes(NOW_IS_THE_TIME);
            let key = bytes("0123456789abcdef");
            engine
                .cipher(
                    CipherAlgorithm::Des,
                    engine::Mode::Ecb,
                    CipherDirection::Encipher,
                    &key,
                    &mut [0; 8],
                    &mut data,
                )
                .map_err(|error| refused(error.to_string()))?;
            same(&data, CIPHERS[0].5)
        }
        Operation::Hash(hash) => {
            let digest = engine.hash(hash, b"abc").map_err(|error| refused(error.to_string()))?;
            let expected = HASHES.iter().find(|(known, _)| *known == hash).map_or("", |(_, digest)| digest);
            same(&digest[..20], expected)
        }
        Operation::Hmac(hash) => {
            // RFC 2202 and RFC 4231, case 2 of each.
            let key = engine.hmac_key(hash, b"Jefe").map_err(|error| refused(error.to_string()))?;
            let mut items = [HmacItem::new(&key, b"what do ya want for nothing?")];
            engine.hmac_batch(&mut items);
            let expected = match hash {
                Hash::Sha1 => "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
                Hash::Sha256 => "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                _ => return Ok(()),
            };
            same(&items[0].mac[..expected.len() / 2], expected)
        }
        Operation::Rsa { .. } | Operation::EcdsaP256Sign | Operation::Verb { .. } => Ok(()),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter_map(|c| (c as char).to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
