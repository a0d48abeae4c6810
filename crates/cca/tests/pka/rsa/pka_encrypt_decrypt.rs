//! PKA_Encrypt and PKA_Decrypt: both ways with OpenSSL, and every refusal.

use openssl::encrypt::{Decrypter, Encrypter};
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::{Padding, Rsa};
use verb_requests::pka::*;
use wire::code;

type Words = &'static [&'static str];
type Digest = fn() -> MessageDigest;

/// Keywords, the hash that they mean, its length.
const OAEP: &[(Words, Digest, usize)] = &[
    (&["PKCSOAEP"], MessageDigest::sha1, 20),
    (&["PKCSOAEP", "SHA-1"], MessageDigest::sha1, 20),
    (&["PKCSOAEP", "SHA-256"], MessageDigest::sha256, 32),
    (&["PKOAEP2"], MessageDigest::sha1, 20),
    (&["SHA-224", "PKOAEP2"], MessageDigest::sha224, 28),
    (&["PKOAEP2", "SHA-256"], MessageDigest::sha256, 32),
    (&["PKOAEP2", "SHA-384"], MessageDigest::sha384, 48),
    (&["PKOAEP2", "SHA-512"], MessageDigest::sha512, 64),
];

fn openssl_encrypt(
    key: &Rsa<openssl::pkey::Private>,
    digest: Option<MessageDigest>,
    value: &[u8],
) -> Vec<u8> {
    let key = PKey::from_rsa(key.clone()).unwrap();
    let mut encrypter = Encrypter::new(&key).unwrap();
    match digest {
        Some(digest) => {
            encrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
            encrypter.set_rsa_oaep_md(digest).unwrap();
            encrypter.set_rsa_mgf1_md(digest).unwrap();
        }
        None => encrypter.set_rsa_padding(Padding::PKCS1).unwrap(),
    }
    let mut out = vec![0; encrypter.encrypt_len(value).unwrap()];
    let length = encrypter.encrypt(value, &mut out).unwrap();
    out.truncate(length);
    out
}

fn openssl_decrypt(
    key: &Rsa<openssl::pkey::Private>,
    digest: Option<MessageDigest>,
    block: &[u8],
) -> Vec<u8> {
    let key = PKey::from_rsa(key.clone()).unwrap();
    let mut decrypter = Decrypter::new(&key).unwrap();
    match digest {
        Some(digest) => {
            decrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
            decrypter.set_rsa_oaep_md(digest).unwrap();
            decrypter.set_rsa_mgf1_md(digest).unwrap();
        }
        None => decrypter.set_rsa_padding(Padding::PKCS1).unwrap(),
    }
    let mut out = vec![0; decrypter.decrypt_len(block).unwrap()];
    let length = decrypter.decrypt(block, &mut out).unwrap();
    out.truncate(length);
    out
}

#[test]
fn formats_go_both_ways_with_openssl() {
    let mut processor = processor();
    for bits in [1024, 1025, 2048] {
        let key = openssl_key(bits);
        let bytes = (bits as usize).div_ceil(8);
        let public = public_token(&mut processor, key);
        let internal = internal_token(&mut processor, "RSA-AESC", "KEY-MGMT", key);
        let me = internal_token(&mut processor, "RSA-AESM", "KEY-MGMT", key);
        let clear = clear_token(&mut processor, "RSA-CRT", "KM-ONLY", key);
        let mut formats: Vec<(&[&str], Option<MessageDigest>, usize)> = vec![(&["PKCS-1.2"], None, 11)];
        formats.extend(OAEP.iter().map(|(words, digest, size)| (*words, Some(digest()), 2 * size + 2)));
        for (words, digest, overhead) in formats {
            if overhead > bytes {
                let refused = encrypt(&mut processor, words, &public, &[]);
                assert_eq!(refused.unwrap_err(), code::TEXT_LENGTH);
                continue;
            }
            let longest = bytes - overhead;
            for length in [0, 1, longest.min(16), longest] {
                let value: Vec<u8> = (0..length).map(|at| at as u8).collect();
                let sealed = encrypt(&mut processor, words, &public, &value).unwrap();
                assert_eq!(openssl_decrypt(key, digest, &sealed), value, "{words:?} {length}");
                // The public part of a private token will do.
                let sealed = encrypt(&mut processor, words, &internal, &value).unwrap();
                assert_eq!(openssl_decrypt(key, digest, &sealed), value);
                let sealed = openssl_encrypt(key, digest, &value);
                for token in [&internal, &me, &clear] {
                    assert_eq!(decrypt(&mut processor, words, token, &sealed).unwrap(), value, "{words:?}");
                }
            }
            let refused = encrypt(&mut processor, words, &public, &vec![1; longest + 1]);
            assert_eq!(refused.unwrap_err(), code::TEXT_LENGTH, "{words:?}");
        }
    }
}

#[test]
fn blocks_without_a_format_are_for_clear_keys() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let public = public_token(&mut processor, key);
    let clear = clear_token(&mut processor, "RSA-CRT", "KEY-MGMT", key);
    let internal = internal_token(&mut processor, "RSA-CRT", "KEY-MGMT", key);
    for word in ["ZERO-PAD", "MRP"] {
        let sealed = encrypt(&mut processor, &[word], &public, b"value").unwrap();
        assert_eq!(sealed, power(b"value", key.e(), key.n()));
        let opened = decrypt(&mut processor, &[word], &clear, &sealed).unwrap();
        assert_eq!((opened.len(), &opened[123..]), (128, &b"value"[..]));
        assert_eq!(decrypt(&mut processor, &[word], &internal, &sealed).unwrap_err(), code::KEY_USAGE);
        // Nor is a signature a way to open it.
        let sealed = encrypt(&mut processor, &["PKCS-1.2"], &public, b"value").unwrap();
        assert_eq!(sign(&mut processor, &["ZERO-PAD"], &internal, &sealed).unwrap_err(), code::KEY_USAGE);
        assert_eq!(sign(&mut processor, &["PKCS-1.0"], &internal, &sealed).unwrap_err(), code::TEXT_LENGTH);
        for words in [&["ZERO-PAD"][..], &["PKCS-1.0"], &["PKCS-1.1"]] {
            assert_eq!(sign(&mut processor, words, &internal, &[1; 20]).unwrap_err(), code::KEY_USAGE);
            assert!(sign(&mut processor, words, &clear, &[1; 37]).is_ok());
        }
        let refused = encrypt(&mut processor, &[word], &public, &number(key.n()));
        assert_eq!(refused.unwrap_err(), code::TEXT_LENGTH);
    }
}

#[test]
fn blocks_that_do_not_open_have_one_answer() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let internal = internal_token(&mut processor, "RSA-CRT", "KEY-MGMT", key);
    // A block of type 1, one without a zero, one with a short filler, all zeros, and a random one.
    let mut blocks = vec![vec![0; 128]; 5];
    blocks[0][1] = 1;
    blocks[0][2..100].fill(0xFF);
    blocks[1][1] = 2;
    blocks[1][2..].fill(0xFF);
    blocks[2][1] = 2;
    blocks[2][2..9].fill(0xFF);
    blocks[4][1..].iter_mut().enumerate().for_each(|(at, byte)| *byte = (at as u8).wrapping_mul(91));
    for block in &blocks {
        let sealed = power(block, key.e(), key.n());
        for words in [&["PKCS-1.2"][..], &["PKCSOAEP"], &["PKOAEP2", "SHA-256"]] {
            let refused = decrypt(&mut processor, words, &internal, &sealed).unwrap_err();
            assert_eq!(refused, code::RSA_BLOCK, "{words:?}");
        }
    }
    // Sealed for another hash, or another format. The second byte of OAEP is masked by chance: X'02' would begin
    // PKCS-1.2 as well.
    let sealed = std::iter::repeat_with(|| openssl_encrypt(key, Some(MessageDigest::sha1()), b"value"))
        .find(|sealed| power(sealed, key.d(), key.n())[1] != 2)
        .unwrap();
    for words in [&["PKOAEP2", "SHA-256"][..], &["PKCS-1.2"]] {
        assert_eq!(decrypt(&mut processor, words, &internal, &sealed).unwrap_err(), code::RSA_BLOCK);
    }
    assert_eq!(decrypt(&mut processor, &["PKCSOAEP"], &internal, &sealed).unwrap(), b"value");
}

#[test]
fn refusals() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let public = public_token(&mut processor, key);
    let signing = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let signing_clear = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let both = internal_token(&mut processor, "RSA-CRT", "KEY-MGMT", key);
    let transport = internal_token(&mut processor, "RSA-CRT", "KM-ONLY", key);
    let sealed = openssl_encrypt(key, None, b"value");
    for words in [
        &[][..],
        &["PKCS-1.2", "PKCSOAEP"],
        &["SHA-1"],
        &["PKCS-1.2", "SHA-1"],
        &["ZERO-PAD", "SHA-1"],
        &["PKCSOAEP", "SHA-512"],
        &["PKCSOAEP", "SHA-1", "SHA-256"],
    ] {
        let expected = if words.is_empty() { code::KEYWORD_COUNT } else { code::KEYWORD_COMBINATION };
        assert_eq!(encrypt(&mut processor, words, &public, b"v").unwrap_err(), expected, "{words:?}");
        assert_eq!(decrypt(&mut processor, words, &both, &sealed).unwrap_err(), expected, "{words:?}");
    }
    for words in [&["PKCS-1.2", "KEYIDENT"][..], &["PKCSOAEP", "MD5"], &["PKCS-1.2", "pkcs-1.2"]] {
        assert_eq!(encrypt(&mut processor, words, &public, b"v").unwrap_err(), code::KEYWORD, "{words:?}");
        assert_eq!(decrypt(&mut processor, words, &both, &sealed).unwrap_err(), code::KEYWORD, "{words:?}");
    }
    let words = ["PKCS-1.2"];
    for token in [&signing, &signing_clear, &transport] {
        assert_eq!(decrypt(&mut processor, &words, token, &sealed).unwrap_err(), code::KEY_USAGE);
    }
    assert_eq!(decrypt(&mut processor, &words, &public, &sealed).unwrap_err(), code::TOKEN_INVALID);
    assert_eq!(decrypt(&mut processor, &words, &both, &[0; 129]).unwrap_err(), code::TEXT_LENGTH);
    assert_eq!(decrypt(&mut processor, &words, &both, &number(key.n())).unwrap_err(), code::TEXT_LENGTH);
    assert_eq!(decrypt_into(&mut processor, &words, &both, &sealed, 4).unwrap_err(), code::BUFFER_TOO_SMALL);
    assert_eq!(decrypt_into(&mut processor, &words, &both, &sealed, 5).unwrap(), b"value");
    let short = encrypt_into(&mut processor, &words, &public, b"value", 127);
    assert_eq!(short.unwrap_err(), code::BUFFER_TOO_SMALL);
    assert!(encrypt_into(&mut processor, &words, &public, b"value", 128).is_ok());

    let mut other = with_keys(true, &[1, 2, 3, 5], &[0; 4]);
    assert_eq!(decrypt(&mut other, &words, &both, &sealed).unwrap_err(), code::MASTER_KEY_MISMATCH);
    let mut empty = with_keys(true, &[1, 2, 3, 0], &[0; 4]);
    assert_eq!(decrypt(&mut empty, &words, &both, &sealed).unwrap_err(), code::MASTER_KEY_NOT_LOADED);
}
