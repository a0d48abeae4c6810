//! AES and TDES in ECB, CBC and CTR; AES in GCM.

use super::engine;
use super::reader::{Case, cases, files};
use engine::*;

/// Runs every case of a file both ways: prepared and with the raw key, enciphering and deciphering.
fn check(file: &str, mode: Mode, algorithm: impl Fn(&Case) -> (CipherAlgorithm, Vec<u8>)) {
    let engine = engine();
    for case in cases(file) {
        let (algorithm, key) = algorithm(&case);
        let block = algorithm.block_bytes();
        let iv = if mode == Mode::Ecb { vec![0; block] } else { case.bytes("IV") };
        let (plain, cipher) = (case.bytes("PLAINTEXT"), case.bytes("CIPHERTEXT"));
        let prepared = engine.cipher_key(algorithm, &key).unwrap();
        for (direction, from, to) in
            [(CipherDirection::Encipher, &plain, &cipher), (CipherDirection::Decipher, &cipher, &plain)]
        {
            let (mut data, mut chain) = (from.clone(), iv.clone());
            engine.cipher(algorithm, mode, direction, &key, &mut chain, &mut data).unwrap();
            assert_eq!(&data, to, "{file} {case:?}");
            let mut data = from.clone();
            let mut items = [CipherItem::new(&prepared, &iv, &mut data)];
            engine.cipher_batch(mode, direction, &mut items);
            assert_eq!(items[0].result, Ok(()));
            assert_eq!(items[0].chain[..block], chain, "{file} {case:?}");
            assert_eq!(&data, to, "{file} {case:?}");
            match mode {
                Mode::Ecb => assert_eq!(chain, iv),
                Mode::Cbc => assert_eq!(chain, cipher[cipher.len() - block..]),
                Mode::Ctr => {
                    let counted = u128::from_be_bytes(chain.try_into().unwrap())
                        .wrapping_sub(u128::from_be_bytes(iv.clone().try_into().unwrap()));
                    assert_eq!(counted, plain.len().div_ceil(16) as u128);
                }
            }
        }
    }
}

fn aes(case: &Case) -> (CipherAlgorithm, Vec<u8>) {
    let key = case.bytes("KEY");
    let algorithm = match key.len() {
        16 => CipherAlgorithm::Aes128,
        24 => CipherAlgorithm::Aes192,
        32 => CipherAlgorithm::Aes256,
        other => panic!("AES key of {other} bytes"),
    };
    (algorithm, key)
}

fn check_tdes(file: &str, mode: Mode) {
    // `KEYs` is one DES key for all three parts: then two keys, and DES itself, must give the same.
    let keys = |case: &Case| match case.find("KEYs") {
        Some(_) => [case.bytes("KEYs"), case.bytes("KEYs"), case.bytes("KEYs")],
        None => ["KEY1", "KEY2", "KEY3"].map(|name| case.bytes(name)),
    };
    check(file, mode, |case| (CipherAlgorithm::Tdes3, keys(case).concat()));
    let all = cases(file);
    if all.iter().all(|case| keys(case)[0] == keys(case)[2]) {
        check(file, mode, |case| (CipherAlgorithm::Tdes2, keys(case)[..2].concat()));
    }
    if all.iter().all(|case| keys(case)[0] == keys(case)[1]) {
        check(file, mode, |case| (CipherAlgorithm::Des, keys(case)[2].clone()));
    }
}

#[test]
fn aes_ecb() {
    for file in files("ciphers/AES/ECB", "ECB", ".rsp") {
        check(&file, Mode::Ecb, aes);
    }
}

#[test]
fn aes_cbc() {
    for file in files("ciphers/AES/CBC", "CBC", ".rsp") {
        check(&file, Mode::Cbc, aes);
    }
}

#[test]
fn aes_ctr() {
    for file in files("ciphers/AES/CTR", "aes-", ".txt") {
        check(&file, Mode::Ctr, aes);
    }
}

#[test]
fn tdes_and_des_ecb() {
    for file in files("ciphers/3DES/ECB", "TECB", ".rsp") {
        check_tdes(&file, Mode::Ecb);
    }
}

#[test]
fn tdes_and_des_cbc() {
    for file in files("ciphers/3DES/CBC", "TCBC", ".rsp") {
        check_tdes(&file, Mode::Cbc);
    }
}

#[test]
fn aes_gcm_encipher() {
    let engine = engine();
    for file in files("ciphers/AES/GCM", "gcmEncrypt", ".rsp") {
        for case in cases(&file) {
            let key = engine.gcm_key(&case.bytes("Key")).unwrap();
            let (nonce, aad, mut data) = (case.bytes("IV"), case.bytes("AAD"), case.bytes("PT"));
            let mut items = [GcmItem::encipher(&key, &nonce, &aad, &mut data)];
            engine.gcm_batch(CipherDirection::Encipher, &mut items);
            assert_eq!(items[0].result, Ok(()));
            // A shorter tag is the front of the whole one.
            let tag = case.bytes("Tag");
            assert_eq!(items[0].tag[..tag.len()], tag, "{file} {case:?}");
            assert_eq!(data, case.bytes("CT"), "{file} {case:?}");
        }
    }
}

#[test]
fn aes_gcm_decipher() {
    let engine = engine();
    let (mut good, mut bad) = (0, 0);
    for file in files("ciphers/AES/GCM", "gcmDecrypt", ".rsp") {
        for case in cases(&file) {
            let key = engine.gcm_key(&case.bytes("Key")).unwrap();
            let (nonce, aad, mut data) = (case.bytes("IV"), case.bytes("AAD"), case.bytes("CT"));
            let tag = case.bytes("Tag");
            let mut items = [GcmItem::decipher(&key, &nonce, &aad, &mut data, &tag)];
            engine.gcm_batch(CipherDirection::Decipher, &mut items);
            let result = items[0].result;
            if case.has("FAIL") {
                assert_eq!(result, Err(CipherError::Authentication), "{file} {case:?}");
                assert!(data.iter().all(|byte| *byte == 0));
                bad += 1;
            } else {
                assert_eq!(result, Ok(()), "{file} {case:?}");
                assert_eq!(data, case.bytes("PT"), "{file} {case:?}");
                good += 1;
            }
        }
    }
    assert!(good > 1000 && bad > 1000, "{good} and {bad} cases");
}
