//! Symmetric_Key_Generate: both copies are of one key, which another library and the verb that imports them find.

use crate::exchange::Keks;
use openssl::rsa::{Padding, Rsa};
use openssl::sha::{sha1, sha256};
use token::pka::{Attributes, ClearKey, Form, Usage, clear_token};
use verb_requests::peer;
use verb_requests::support::{
    EMPTY_DOMAIN, OLDER_DOMAIN, Request, aes_key, entered, generated, processor, sym_key,
};
use verb_requests::uses::ways::{TRANSPORT, generate_for as request, internal, public_part};
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{Verb, symmetric_key_generate as syg, symmetric_key_import as syi};
use wire::{Codes, code};

/// The clear token of an RSA key.
fn clear(key: &Rsa<openssl::pkey::Private>) -> Vec<u8> {
    let (n, e, d) = (key.n().to_vec(), key.e().to_vec(), key.d().to_vec());
    let attributes = Attributes { usage: Usage::KeyManagement, ..Attributes::default() };
    let key = ClearKey::Me { n: &n, e: &e, d: &d };
    clear_token(Form::MeAes, &key, &attributes, &(sha1, sha256)).unwrap().to_vec()
}

/// The key of an internal token that this system made, by another library.
fn key_of(token: &[u8]) -> Vec<u8> {
    match token[4] {
        4 => {
            let bits = usize::from(u16::from_be_bytes([token[56], token[57]]));
            peer::unwrap_aes_token(&aes_key(false), token)[..bits / 8].to_vec()
        }
        _ => peer::unwrap_token(&sym_key(false), token),
    }
}

#[test]
fn both_copies_hold_the_same_key() {
    let mut processor = processor();
    let rsa = Rsa::generate(1024).unwrap();
    let clear = clear(&rsa);
    let public = public_part(&mut processor, &clear);
    let private = internal(&mut processor, &clear, Usage::KeyManagementOnly);
    let open = |padding, block: &[u8]| {
        let mut out = vec![0; 128];
        let length = rsa.private_decrypt(block, &mut out, padding).unwrap();
        out.truncate(length);
        out
    };
    let lengths: &[(&str, &[&str], usize)] = &[
        ("DES", &[], 8),
        ("DES", &["SINGLE"], 8),
        ("DES", &["KEYLN8"], 8),
        ("DES", &["DOUBLE"], 16),
        ("DES", &["KEYLN16", "OP"], 16),
        ("AES", &[], 16),
        ("AES", &["KEYLN16"], 16),
        ("AES", &["KEYLN24"], 24),
        ("AES", &["OP", "KEYLN32"], 32),
    ];
    for (algorithm, words, bytes) in lengths {
        for format in [
            &["PKCS-1.2"][..],
            &["PKCSOAEP"],
            &["PKCSOAEP", "SHA-1"],
            &["PKCSOAEP", "SHA-256"],
            &["ZERO-PAD"],
        ] {
            let all = [&[*algorithm][..], format, words].concat();
            let reply = request(&all, &public).ok(&mut processor);
            let (local, block) = (reply.bytes(syg::LOCENC_KEY), reply.bytes(syg::RSAENC_KEY));
            assert_eq!(
                (reply.integer(syg::LOCENC_KEY_LENGTH), reply.integer(syg::RSAENC_KEY_LENGTH)),
                (64, 128)
            );
            let key = key_of(&local);
            assert_eq!(key.len(), *bytes, "{all:?}");
            match format {
                ["PKCS-1.2"] => assert_eq!(open(Padding::PKCS1, &block), key),
                ["PKCSOAEP"] | ["PKCSOAEP", "SHA-1"] => assert_eq!(open(Padding::PKCS1_OAEP, &block), key),
                ["ZERO-PAD"] => assert_eq!(open(Padding::NONE, &block)[128 - bytes..], key),
                _ => {}
            }
            if *algorithm == "DES" {
                assert!(key.iter().all(|byte| byte.count_ones() % 2 == 1));
            }
            // What goes with ZERO-PAD alone.
            let length = format!("KEYLN{bytes}");
            let length = (*format == ["ZERO-PAD"]).then_some(length.as_str());
            let words: Vec<&str> =
                [*algorithm].into_iter().chain(format.iter().copied()).chain(length).collect();
            let back = Request::new(Verb::SymmetricKeyImport)
                .rules(&words)
                .counted(syi::RSA_ENCIPHERED_KEY_LENGTH, syi::RSA_ENCIPHERED_KEY, &block)
                .counted(syi::RSA_PRIVATE_KEY_IDENTIFIER_LEN, syi::RSA_PRIVATE_KEY_IDENTIFIER, &private)
                .counted(syi::TARGET_KEY_IDENTIFIER_LENGTH, syi::TARGET_KEY_IDENTIFIER, [0; 64])
                .ok(&mut processor)
                .bytes(syi::TARGET_KEY_IDENTIFIER);
            assert_eq!((key_of(&back), &back[32..48]), (key, &local[32..48]));
        }
    }
}

#[test]
fn a_des_key_may_stay_under_a_key_encrypting_key() {
    let mut processor = processor();
    let rsa = Rsa::generate(1024).unwrap();
    let public = public_part(&mut processor, &clear(&rsa));
    let keks = Keks::new(&mut processor);
    for (form, kek) in [("EX", &keks.exporter), ("IM", &keks.importer)] {
        for length in ["SINGLE", "DOUBLE"] {
            let request = request(&["PKCS-1.2", form, length], &public).bytes(syg::KEY_ENCRYPTING_KEY, kek);
            let reply = request.ok(&mut processor);
            let local = reply.bytes(syg::LOCENC_KEY);
            assert_eq!(local[0], 2, "an external token");
            let mut out = vec![0; 128];
            let length =
                rsa.private_decrypt(&reply.bytes(syg::RSAENC_KEY), &mut out, Padding::PKCS1).unwrap();
            let whole = [&TRANSPORT[..], &TRANSPORT[..8]].concat();
            assert_eq!(peer::unwrap_token(&whole, &local), out[..length]);
            let back = keks.imported(&mut processor, &local);
            assert_eq!(key_of(&back), out[..length]);
        }
    }
    // The key-encrypting key must be for generated keys, and of the side.
    let exports = entered(&mut processor, "EXPORTER", &["EXPORT"], &TRANSPORT);
    for (form, kek) in [("EX", &keks.importer), ("IM", &keks.exporter), ("EX", &exports)] {
        let request = request(&["PKCS-1.2", form], &public).bytes(syg::KEY_ENCRYPTING_KEY, kek);
        request.refused(&mut processor, code::KEY_USAGE);
    }
    request(&["PKCS-1.2", "EX"], &public).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn refusals() {
    let mut processor = processor();
    let rsa = clear(&Rsa::generate(1024).unwrap());
    let public = public_part(&mut processor, &rsa);
    for words in [&["PKA92"][..], &["NL-EPP-5"], &["PKCS-1.2", "SINGLE-R"], &["PKCS-1.2", "WRAP-ENH"]] {
        request(words, &public).refused(&mut processor, code::KEYWORD);
    }
    for words in [
        &["PKCS-1.2", "SHA-1"][..],
        &["ZERO-PAD", "SHA-256"],
        &["PKCSOAEP", "SHA-224"],
        &["PKCSOAEP", "SHA-384"],
        &["PKCSOAEP", "SHA-512"],
        &["PKCS-1.2", "KEYLN24"],
        &["PKCS-1.2", "AES", "DOUBLE"],
        &["PKCS-1.2", "AES", "EX"],
    ] {
        request(words, &public).refused(&mut processor, code::KEYWORD_COMBINATION);
    }
    let good = || request(&["PKCS-1.2", "DOUBLE"], &public);
    good().integer(syg::RSAENC_KEY_LENGTH, 127).refused(&mut processor, code::BUFFER_TOO_SMALL);
    good().integer(syg::LOCENC_KEY_LENGTH, 63).refused(&mut processor, code::BUFFER_TOO_SMALL);
    good().domain(OLDER_DOMAIN).ok(&mut processor);
    good().domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    let des = generated(&mut processor, "DATA", "DOUBLE");
    request(&["PKCS-1.2"], &des).refused(&mut processor, code::TOKEN_INVALID);

    // Each of its points is asked, and none of the roles for others has the verb.
    let without = |point: Point| -> &'static PointSet {
        let mut points = BUILT_IN[0].points;
        points.deny(point);
        Box::leak(Box::new(points))
    };
    let denied: &[(&[&str], Point)] = &[
        (&["PKCS-1.2", "DOUBLE"], Point::GenerateDes),
        (&["ZERO-PAD", "DOUBLE"], Point::GenerateDesZeroPad),
        (&["PKCSOAEP", "AES"], Point::GenerateAes),
        (&["ZERO-PAD", "AES"], Point::GenerateAesZeroPad),
        (&["PKCS-1.2", "EX", "DOUBLE"], Point::KeyGenerateTransported),
        (&["PKCS-1.2"], Point::SingleLengthDes),
    ];
    for (words, point) in denied {
        request(words, &public).points(without(*point)).refused(&mut processor, code::ACCESS_DENIED);
    }
    for role in BUILT_IN.iter().filter(|role| role.name != "owner") {
        let codes: Codes = good().points(Box::leak(Box::new(role.points))).run(&mut processor).codes;
        assert_eq!(codes, code::ACCESS_DENIED, "{}", role.name);
    }
}
