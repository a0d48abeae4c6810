//! PKA_Key_Generate: generated keys work, and stay what their skeleton says.

use openssl::sha::{sha1, sha256};
use token::pka::{Form, Origin, PkaToken, PrivateValues, Source, Usage};
use verb_requests::pka::*;
use wire::verb::{Filled, Room, TypedAsk};
use wire::{Verb, code};

fn skeleton(processor: &mut cca::Processor, kind: &str, bits: i32) -> Vec<u8> {
    let structure = generate_structure(bits, kind == "RSA-CRT" || kind == "RSA-AESC");
    token_build(processor, &[kind, "KEY-MGMT", "XLATE-OK"], &structure, &[]).unwrap()
}

/// A digest as callers encode it: SHA-1, which fits a third of 512 bits.
fn digest_info() -> Vec<u8> {
    [engine::digest_info_prefix(engine::HashAlgorithm::Sha1), &[7; 20]].concat()
}

#[test]
fn internal_keys_sign_and_decipher() {
    let mut processor = processor();
    for (kind, form) in [
        ("RSA-PRIV", Form::MeAes),
        ("RSA-CRT", Form::CrtAes),
        ("RSA-AESM", Form::MeAes),
        ("RSA-AESC", Form::CrtAes),
    ] {
        for (bits, words) in [(512, &["MASTER"][..]), (520, &[]), (1024, &["MASTER"])] {
            let skeleton = skeleton(&mut processor, kind, bits);
            let token = key_generate(&mut processor, words, &skeleton).unwrap();
            let view = PkaToken::parse(&token, &(sha1, sha256)).unwrap();
            let private = view.private().unwrap();
            assert_eq!(
                (view.origin(), private.form, view.modulus_bits()),
                (Origin::Internal, form, bits as usize)
            );
            assert_eq!((private.usage, private.translatable), (Usage::KeyManagement, true));
            assert_eq!(private.source, Some(Source::Random));
            let signature = sign(&mut processor, &["PKCS-1.1"], &token, &digest_info()).unwrap();
            let verified = verify(&mut processor, &["PKCS-1.1"], &token, &digest_info(), &signature);
            assert_eq!(verified, code::OK, "{kind} {bits}");
            let sealed = encrypt(&mut processor, &["PKCS-1.2"], &token, b"secret").unwrap();
            assert_eq!(decrypt(&mut processor, &["PKCS-1.2"], &token, &sealed).unwrap(), b"secret");
        }
    }
}

#[test]
fn clear_keys_are_openssl_keys() {
    let mut processor = processor();
    for kind in ["RSA-PRIV", "RSA-CRT", "RSA-AESM", "RSA-AESC"] {
        let skeleton = skeleton(&mut processor, kind, 1024);
        let token = key_generate(&mut processor, &["CLEAR"], &skeleton).unwrap();
        let view = PkaToken::parse(&token, &(sha1, sha256)).unwrap();
        assert_eq!(view.origin(), Origin::External);
        let number = |bytes: &[u8]| openssl::bn::BigNum::from_slice(bytes).unwrap();
        match view.private().unwrap().values {
            PrivateValues::ClearCrt(c) => {
                let (e, mut context) = (number(&[1, 0, 1]), openssl::bn::BigNumContext::new().unwrap());
                let mut phi = openssl::bn::BigNum::new().unwrap();
                let (mut p, mut q) = (number(c.p), number(c.q));
                p.sub_word(1).unwrap();
                q.sub_word(1).unwrap();
                phi.checked_mul(&p, &q, &mut context).unwrap();
                let mut d = openssl::bn::BigNum::new().unwrap();
                d.mod_inverse(&e, &phi, &mut context).unwrap();
                let key = openssl::rsa::Rsa::from_private_components(
                    number(view.modulus()),
                    e,
                    d,
                    number(c.p),
                    number(c.q),
                    number(c.dp),
                    number(c.dq),
                    number(c.u),
                );
                assert!(key.unwrap().check_key().unwrap(), "{kind}");
            }
            PrivateValues::ClearMe { .. } => {
                let value = [7; 100];
                let sealed = clear(&mut processor, Verb::ClearRsaPublic, &token, &value).unwrap();
                let opened = clear(&mut processor, Verb::ClearRsaPrivate, &token, &sealed).unwrap();
                assert_eq!(opened[28..], value);
            }
            _ => panic!("{kind}: clear values"),
        }
    }
}

#[test]
fn every_call_makes_another_key() {
    let mut processor = processor();
    let skeleton = skeleton(&mut processor, "RSA-AESC", 512);
    let first = key_generate(&mut processor, &[], &skeleton).unwrap();
    let second = key_generate(&mut processor, &[], &skeleton).unwrap();
    assert_ne!(
        PkaToken::parse(&first, &(sha1, sha256)).unwrap().modulus(),
        PkaToken::parse(&second, &(sha1, sha256)).unwrap().modulus()
    );
}

#[test]
fn a_4096_bit_token_is_written_and_used() {
    let mut processor = processor();
    let skeleton = skeleton(&mut processor, "RSA-AESC", 4096);
    let token = key_generate(&mut processor, &[], &skeleton).unwrap();
    assert!(token.len() <= wire::bounds::PKA_TOKEN_BYTES_MAX);
    let signature = sign(&mut processor, &["PKCS-1.1"], &token, &digest_info()).unwrap();
    assert_eq!(verify(&mut processor, &["PKCS-1.1"], &token, &digest_info(), &signature), code::OK);
}

#[test]
fn other_exponents_are_kept() {
    let mut processor = processor();
    // 3 * 5 * 7 * 11 * 13 * 17 * 19 * 23 * 29, under which primes are rare; a long one; the shortest.
    for e in [&[0xC0u8, 0xCF, 0xD7, 0x97][..], &[0x01, 0, 0, 0, 0, 0, 0, 0, 0x0D], &[3]] {
        for kind in ["RSA-AESC", "RSA-AESM"] {
            let structure = if kind == "RSA-AESC" {
                [&[2, 0, 0, 0, 0, e.len() as u8][..], &[0; 12], e].concat()
            } else {
                [&[2, 0, 0, 0, 0, e.len() as u8, 0, 0][..], e].concat()
            };
            let skeleton = token_build(&mut processor, &[kind], &structure, &[]).unwrap();
            let token = key_generate(&mut processor, &[], &skeleton).unwrap();
            assert_eq!(PkaToken::parse(&token, &(sha1, sha256)).unwrap().exponent(), e);
            let signature = sign(&mut processor, &["PKCS-1.1"], &token, b"text").unwrap();
            assert_eq!(verify(&mut processor, &["PKCS-1.1"], &token, b"text", &signature), code::OK);
        }
    }
}

#[test]
fn refusals() {
    let mut processor = processor();
    let small = skeleton(&mut processor, "RSA-CRT", 512);
    for (words, codes) in [
        (&["XPORT"][..], code::INVALID_PARAMETER),
        (&["RETAIN"], code::KEYWORD),
        (&["MASTER", "CLEAR"], code::KEYWORD_COMBINATION),
        (&["RETAIN", "CLONE"], code::KEYWORD),
        (&["MASTER", "OKEK-AES", "CLONE", "X"], code::KEYWORD_COUNT),
    ] {
        assert_eq!(key_generate(&mut processor, words, &small).unwrap_err(), codes, "{words:?}");
    }
    let key = openssl_key(1024);
    let clear = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let public = public_token(&mut processor, key);
    let internal = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    for wrong in [&clear, &public, &internal, &vec![0; 64]] {
        assert_eq!(key_generate(&mut processor, &[], wrong).unwrap_err(), code::TOKEN_INVALID);
    }
    assert_eq!(key_generate_into(&mut processor, &[], &small, 0).unwrap_err(), code::BUFFER_TOO_SMALL);
    assert_eq!(key_generate_into(&mut processor, &[], &small, 300).unwrap_err(), code::BUFFER_TOO_SMALL);
    let odd = token_build(&mut processor, &["RSA-CRT"], &generate_structure(1023, true), &[]).unwrap();
    assert_eq!(key_generate(&mut processor, &[], &odd).unwrap_err(), code::RSA_KEY_LENGTH);

    let mut strong = with_keys(false, &[1, 2, 3, 4], &[0; 4]);
    assert_eq!(key_generate(&mut strong, &[], &small).unwrap_err(), code::WEAK_ALGORITHM);
    let mut empty = with_keys(true, &[1, 2, 3, 0], &[0; 4]);
    assert_eq!(key_generate(&mut empty, &[], &small).unwrap_err(), code::MASTER_KEY_NOT_LOADED);
    assert!(key_generate(&mut empty, &["CLEAR"], &small).is_ok());
}

#[test]
fn regeneration_data_and_a_transport_key_of_a_master_key_are_refused() {
    use wire::verb::pka_key_generate::*;
    let mut processor = processor();
    let small = skeleton(&mut processor, "RSA-CRT", 512);
    let generated_key_identifier = Room::of(CAPACITY as usize);
    let request = Ask { skeleton_key_token: (&small).into(), generated_key_identifier, ..Ask::new() };
    let mut filled = Filled::default();
    let mut arguments = request.arguments(&mut filled);
    assert_eq!(ask(&mut processor, &arguments, GENERATED_KEY_IDENTIFIER).0, code::OK);
    arguments.set_bytes(TRANSPORT_KEY_IDENTIFIER, &[1; 64]);
    assert_eq!(ask(&mut processor, &arguments, GENERATED_KEY_IDENTIFIER).0, code::INVALID_PARAMETER);
    arguments.set_bytes(TRANSPORT_KEY_IDENTIFIER, &[0; 64]);
    arguments.set_integer(REGENERATION_DATA_LENGTH, 8).set_bytes(REGENERATION_DATA, &[1; 8]);
    assert_eq!(ask(&mut processor, &arguments, GENERATED_KEY_IDENTIFIER).0, code::INVALID_PARAMETER);
}
