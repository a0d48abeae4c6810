//! Symmetric_Key_Export and _Import: keys travel to OpenSSL and back.

use openssl::rsa::Padding;
use token::control_vector::{KeyForm, bit};
use token::des::Origin;
use token::{AesToken, DesToken, KeyType};
use verb_requests::pka::*;
use wire::{Codes, code};

/// Bytes of odd parity.
fn odd(length: usize) -> Vec<u8> {
    (0..length as u8)
        .map(|at| {
            let byte = at.wrapping_mul(59).wrapping_add(3) & 0xFE;
            byte | u8::from(byte.count_ones() % 2 == 0)
        })
        .collect()
}

#[test]
fn keys_go_to_openssl_and_back() {
    let mut processor = processor();
    for bits in [512, 1024, 2048] {
        let rsa = openssl_key(bits);
        let public = public_token(&mut processor, rsa);
        let private = internal_token(&mut processor, "RSA-AESC", "KM-ONLY", rsa);
        let reading = internal_token(&mut processor, "RSA-AESC", "KEY-MGMT", rsa);
        for (algorithm, lengths) in
            [(&[][..], [8, 16, 24]), (&["DES"], [8, 16, 24]), (&["AES"], [16, 24, 32])]
        {
            for length in lengths {
                let key = odd(length);
                for (format, padding) in [("PKCS-1.2", Padding::PKCS1), ("PKCSOAEP", Padding::PKCS1_OAEP)] {
                    if padding == Padding::PKCS1_OAEP && length + 42 > bits as usize / 8 {
                        continue;
                    }
                    // SHA-1 is what PKCSOAEP takes where no hash is named.
                    let hash: &[&str] = if format == "PKCSOAEP" { &["SHA-1"] } else { &[] };
                    let words = [algorithm, &[format], hash].concat();
                    let mut theirs = vec![0; bits as usize / 8];
                    rsa.public_encrypt(&key, &mut theirs, padding).unwrap();
                    let token = import(&mut processor, &words, &theirs, &private).unwrap();
                    check_token(&token, algorithm == ["AES"], length);
                    let ours = export(&mut processor, &words, &token, &public).unwrap();
                    let mut opened = vec![0; bits as usize / 8];
                    let size = rsa.private_decrypt(&ours, &mut opened, padding).unwrap();
                    assert_eq!(&opened[..size], key, "{words:?} {length}");
                }
                // SHA-256 needs two digests of room.
                if length + 66 <= bits as usize / 8 {
                    let words = [algorithm, &["PKCSOAEP", "SHA-256"]].concat();
                    let theirs = encrypt(&mut processor, &words[algorithm.len()..], &public, &key).unwrap();
                    let token = import(&mut processor, &words, &theirs, &private).unwrap();
                    let ours = export(&mut processor, &words, &token, &public).unwrap();
                    let opened = decrypt(&mut processor, &words[algorithm.len()..], &reading, &ours).unwrap();
                    assert_eq!(opened, key);
                }
                let words = [algorithm, &["ZERO-PAD"]].concat();
                let length_word = format!("KEYLN{length}");
                let with_length = [&words[..], &[&length_word]].concat();
                let theirs = power(&key, rsa.e(), rsa.n());
                let token = import(&mut processor, &with_length, &theirs, &private).unwrap();
                assert_eq!(export(&mut processor, &words, &token, &public).unwrap(), theirs);
                let default = if algorithm == ["AES"] { 16 } else { 8 };
                let without = import(&mut processor, &words, &theirs, &private);
                assert_eq!(
                    without.is_ok(),
                    length == default,
                    "a longer key does not pass for a shorter one"
                );
            }
        }
    }
}

fn check_token(token: &[u8], is_aes: bool, length: usize) {
    if is_aes {
        assert_eq!(AesToken::parse(token).unwrap().key_bytes(), length);
    } else {
        let token = DesToken::parse(token).unwrap();
        let form = [KeyForm::Single, KeyForm::Double, KeyForm::Triple][length / 8 - 1];
        assert_eq!((token.form(), token.origin()), (form, Origin::Internal));
        assert_eq!(Some(token.control_vector()), KeyType::Data.default_vector(form));
    }
}

#[test]
fn oaep_has_two_hashes() {
    let mut processor = processor();
    let rsa = openssl_key(1024);
    let private = internal_token(&mut processor, "RSA-CRT", "KM-ONLY", rsa);
    let public = public_token(&mut processor, rsa);
    for hash in ["SHA-224", "SHA-384", "SHA-512"] {
        let words = ["PKCSOAEP", hash];
        let refused = export(&mut processor, &words, &[0; 64], &public);
        assert_eq!(refused, Err(code::KEYWORD_COMBINATION));
        let refused = import(&mut processor, &words, &[0; 128], &private);
        assert_eq!(refused, Err(code::KEYWORD_COMBINATION));
    }
}

#[test]
fn even_parity_is_said() {
    let mut processor = processor();
    let rsa = openssl_key(1024);
    let private = internal_token(&mut processor, "RSA-CRT", "KM-ONLY", rsa);
    let reading = internal_token(&mut processor, "RSA-CRT", "KEY-MGMT", rsa);
    let public = public_token(&mut processor, rsa);
    let mut key = odd(16);
    key[9] ^= 1;
    let sealed = encrypt(&mut processor, &["PKCS-1.2"], &public, &key).unwrap();
    let (codes, token) = import_codes(&mut processor, &["PKCS-1.2"], &sealed, &private, 64);
    assert_eq!(codes, code::PARITY_NOT_ODD);
    let ours = export(&mut processor, &["PKCS-1.2"], &token, &public).unwrap();
    assert_eq!(decrypt(&mut processor, &["PKCS-1.2"], &reading, &ours).unwrap(), key);
    let (codes, _) = import_codes(&mut processor, &["AES", "PKCS-1.2"], &sealed, &private, 64);
    assert_eq!(codes, code::OK);
}

#[test]
fn blocks_without_a_key_have_one_answer() {
    let mut processor = processor();
    let rsa = openssl_key(1024);
    let private = internal_token(&mut processor, "RSA-CRT", "KM-ONLY", rsa);
    let public = public_token(&mut processor, rsa);
    let mut check = |words: &[&str], block: &[u8]| {
        let refused = import(&mut processor, words, block, &private).unwrap_err();
        assert_eq!(refused, code::RSA_BLOCK, "{words:?}");
    };
    let raw = power(&[9; 100], rsa.e(), rsa.n());
    for words in
        [&["PKCS-1.2"][..], &["PKCSOAEP"], &["ZERO-PAD"], &["ZERO-PAD", "KEYLN24"], &["AES", "ZERO-PAD"]]
    {
        check(words, &raw);
    }
    let mut sealed = Vec::new();
    for length in [0, 7, 9, 15, 17, 31, 33] {
        let mut other = verb_requests::pka::processor();
        sealed.push(encrypt(&mut other, &["PKCS-1.2"], &public, &vec![1; length]).unwrap());
    }
    for block in &sealed {
        check(&["PKCS-1.2"], block);
        check(&["AES", "PKCS-1.2"], block);
    }
}

#[test]
fn refusals_of_export() {
    let mut processor = processor();
    let rsa = openssl_key(1024);
    let public = public_token(&mut processor, rsa);
    let private = internal_token(&mut processor, "RSA-CRT", "KM-ONLY", rsa);
    let sealed = encrypt(&mut processor, &["PKCS-1.2"], &public, &odd(16)).unwrap();
    let des = import(&mut processor, &["DES", "PKCS-1.2"], &sealed, &private).unwrap();
    let aes = import(&mut processor, &["AES", "PKCS-1.2"], &sealed, &private).unwrap();
    let pattern = DesToken::parse(&des).unwrap().wrapped().unwrap().pattern;
    let of_vector = |vector| {
        let token = DesToken::skeleton(Origin::Internal, KeyForm::Double, vector).unwrap();
        token.with_key(pattern, &[5; 16]).unwrap().to_bytes()
    };
    let data = KeyType::Data.default_vector(KeyForm::Double).unwrap();
    let mac = of_vector(KeyType::Mac.default_vector(KeyForm::Double).unwrap());
    let verifying = of_vector(KeyType::DataMv.default_vector(KeyForm::Double).unwrap());
    let fixed = of_vector(data.with_bits(bit(17), false).unwrap());
    let skeleton = DesToken::skeleton(Origin::Internal, KeyForm::Double, data).unwrap().to_bytes();
    let clear_aes = AesToken::clear(&[1; 16]).unwrap().to_bytes();
    let mut damaged = des.clone();
    damaged[20] ^= 1;
    let mut check = |words: &[&str], key: &[u8], rsa: &[u8], codes: Codes| {
        assert_eq!(export(&mut processor, words, key, rsa).unwrap_err(), codes, "{words:?}");
    };
    check(&["PKCS-1.2"], &mac, &public, code::CONTROL_VECTOR_NOT_DATA);
    check(&["PKCS-1.2"], &verifying, &public, code::CONTROL_VECTOR_NOT_DATA);
    check(&["PKCS-1.2"], &fixed, &public, code::KEY_USAGE);
    check(&["PKCS-1.2"], &skeleton, &public, code::TOKEN_INVALID);
    check(&["PKCS-1.2"], &damaged, &public, code::INTERNAL_TVV);
    check(&["PKCS-1.2"], &aes, &public, code::TOKEN_INVALID);
    check(&["AES", "PKCS-1.2"], &des, &public, code::TOKEN_INVALID);
    check(&["AES", "PKCS-1.2"], &clear_aes, &public, code::TOKEN_INVALID);
    check(&["PKCS-1.2"], &des[..63], &public, code::OUT_OF_AREA);
    check(&["PKCS-1.2"], &[b'A'; 64], &public, code::LABEL_NOT_FOUND);
    check(&["PKCS-1.2"], &des, &[0; 64], code::TOKEN_INVALID);
    check(&[], &des, &public, code::KEYWORD_COUNT);
    check(&["DES"], &des, &public, code::KEYWORD_COMBINATION);
    check(&["DES", "AES", "PKCS-1.2"], &des, &public, code::KEYWORD_COMBINATION);
    check(&["PKOAEP2"], &des, &public, code::KEYWORD_COMBINATION);
    check(&["PKCS-1.2", "PKOAEP2"], &des, &public, code::KEYWORD_COMBINATION);
    check(&["PKCS-1.2", "KEYLN8"], &des, &public, code::KEYWORD);
    check(&["MRP"], &des, &public, code::KEYWORD_COMBINATION);

    let mut other = with_keys(true, &[9, 2, 8, 4], &[0; 4]);
    let words = ["PKCS-1.2"];
    assert_eq!(export(&mut other, &words, &des, &public).unwrap_err(), code::MASTER_KEY_MISMATCH);
    let words = ["AES", "PKCS-1.2"];
    assert_eq!(export(&mut other, &words, &aes, &public).unwrap_err(), code::MASTER_KEY_MISMATCH);
}

#[test]
fn refusals_of_import() {
    let mut processor = processor();
    let rsa = openssl_key(1024);
    let public = public_token(&mut processor, rsa);
    let private = internal_token(&mut processor, "RSA-CRT", "KM-ONLY", rsa);
    let signing = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", rsa);
    let reading = internal_token(&mut processor, "RSA-CRT", "KEY-MGMT", rsa);
    let sealed = encrypt(&mut processor, &["PKCS-1.2"], &public, &odd(16)).unwrap();
    let mut check = |words: &[&str], block: &[u8], rsa: &[u8], codes: Codes| {
        assert_eq!(import(&mut processor, words, block, rsa).unwrap_err(), codes, "{words:?}");
    };
    check(&["PKCS-1.2"], &sealed, &signing, code::KEY_USAGE);
    check(&["PKCS-1.2"], &sealed, &reading, code::KEY_USAGE);
    check(&["PKCS-1.2"], &sealed, &public, code::TOKEN_INVALID);
    check(&["PKCS-1.2"], &[0; 129], &private, code::TEXT_LENGTH);
    check(&["PKCS-1.2"], &number(rsa.n()), &private, code::TEXT_LENGTH);
    check(&["PKCS-1.2", "KEYLN16"], &sealed, &private, code::KEYWORD_COMBINATION);
    check(&["DES", "ZERO-PAD", "KEYLN32"], &sealed, &private, code::KEYWORD_COMBINATION);
    check(&["AES", "ZERO-PAD", "KEYLN8"], &sealed, &private, code::KEYWORD_COMBINATION);
    check(&["PKA92"], &sealed, &private, code::KEYWORD_COMBINATION);
    check(&[], &sealed, &private, code::KEYWORD_COUNT);
    let (codes, _) = import_codes(&mut processor, &["PKCS-1.2"], &sealed, &private, 63);
    assert_eq!(codes, code::BUFFER_TOO_SMALL);
    let mut empty = with_keys(true, &[0, 2, 0, 4], &[0; 4]);
    for words in [&["PKCS-1.2"][..], &["AES", "PKCS-1.2"]] {
        let refused = import(&mut empty, words, &sealed, &private).unwrap_err();
        assert_eq!(refused, code::MASTER_KEY_NOT_LOADED);
    }
}
