//! PKA_Key_Import: a clear key becomes an internal one, or is refused.

use openssl::sha::{sha1, sha256};
use token::pka::{Attributes, ClearKey, CrtComponents, Form, Origin, PkaToken, PrivateValues, Source, Usage};
use verb_requests::pka::*;
use wire::code;
use wire::verb::{Filled, Room, TypedAsk};

#[test]
fn imported_keys_are_the_same_keys() {
    let mut processor = processor();
    for bits in [512, 1024, 2048] {
        let key = openssl_key(bits);
        for kind in ["RSA-PRIV", "RSA-CRT", "RSA-AESM", "RSA-AESC"] {
            if kind == "RSA-PRIV" && bits > 1024 {
                continue;
            }
            let mut source = clear_token(&mut processor, kind, "KEY-MGMT", key);
            // Callers give the length of their buffer.
            source.resize(2500, 0);
            let token = key_import(&mut processor, &source).unwrap();
            let view = PkaToken::parse(&token, &(sha1, sha256)).unwrap();
            let private = view.private().unwrap();
            let is_crt = kind == "RSA-CRT" || kind == "RSA-AESC";
            assert_eq!(private.form, if is_crt { Form::CrtAes } else { Form::MeAes });
            assert_eq!((view.origin(), private.source), (Origin::Internal, Some(Source::ExternalClear)));
            assert_eq!(private.usage, Usage::KeyManagement);
            assert!(matches!(private.values, PrivateValues::Wrapped(_)));
            let mut sealed = vec![0; key.size() as usize];
            key.public_encrypt(b"text", &mut sealed, openssl::rsa::Padding::PKCS1).unwrap();
            let opened = decrypt(&mut processor, &["PKCS-1.2"], &token, &sealed).unwrap();
            assert_eq!(opened, b"text", "{kind} {bits}");
        }
    }
}

#[test]
fn wrapping_is_different_each_time_and_hides_the_key() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let source = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let first = key_import(&mut processor, &source).unwrap();
    let second = key_import(&mut processor, &source).unwrap();
    assert_ne!(first, second);
    for part in [key.p(), key.q(), key.dmp1(), key.dmq1(), key.iqmp(), Some(key.d())] {
        let part = number(part.unwrap());
        assert!(!first.windows(16).any(|window| window == &part[..16]));
    }
}

#[test]
fn numbers_that_are_no_key_are_refused() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let (n, e) = (number(key.n()), number(key.e()));
    let parts = [key.p(), key.q(), key.dmp1(), key.dmq1(), key.iqmp()].map(|part| number(part.unwrap()));
    let build = |parts: &[Vec<u8>; 5], n: &[u8], e: &[u8]| {
        let [p, q, dp, dq, u] = parts;
        let key = ClearKey::Crt { n, e, components: CrtComponents { p, q, dp, dq, u } };
        token::pka::clear_token(Form::Crt, &key, &Attributes::default(), &(sha1, sha256)).unwrap()
    };
    assert!(key_import(&mut processor, &build(&parts, &n, &e)).is_ok());
    for index in 0..5 {
        let mut wrong = parts.clone();
        *wrong[index].last_mut().unwrap() ^= 2;
        let refused = key_import(&mut processor, &build(&wrong, &n, &e)).unwrap_err();
        assert_eq!(refused, code::PKA_FIELD, "part {index}");
    }
    let mut wrong = n.clone();
    wrong[70] ^= 1;
    assert_eq!(key_import(&mut processor, &build(&parts, &wrong, &e)).unwrap_err(), code::PKA_FIELD);
    assert_eq!(key_import(&mut processor, &build(&parts, &n, &[3])).unwrap_err(), code::PKA_FIELD);

    let mut d = number(key.d());
    for form in [Form::Me1024, Form::MeAes] {
        let good = ClearKey::Me { n: &n, e: &e, d: &d };
        let token = token::pka::clear_token(form, &good, &Attributes::default(), &(sha1, sha256)).unwrap();
        assert!(key_import(&mut processor, &token).is_ok());
    }
    d[40] ^= 1;
    for form in [Form::Me1024, Form::MeAes] {
        let bad = ClearKey::Me { n: &n, e: &e, d: &d };
        let token = token::pka::clear_token(form, &bad, &Attributes::default(), &(sha1, sha256)).unwrap();
        assert_eq!(key_import(&mut processor, &token).unwrap_err(), code::PKA_FIELD);
    }
}

#[test]
fn refusals() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let clear = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let internal = key_import(&mut processor, &clear).unwrap();
    let public = public_token(&mut processor, key);
    let skeleton = token_build(&mut processor, &["RSA-CRT"], &generate_structure(1024, true), &[]).unwrap();
    for wrong in [&internal, &public, &skeleton, &vec![0; 64], &Vec::new()] {
        assert_eq!(key_import(&mut processor, wrong).unwrap_err(), code::TOKEN_INVALID);
    }
    assert_eq!(key_import(&mut processor, &[b'A'; 64]).unwrap_err(), code::LABEL_NOT_FOUND);
    assert_eq!(key_import_into(&mut processor, &clear, 100).unwrap_err(), code::BUFFER_TOO_SMALL);
    let small = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", openssl_key(512));
    let mut strong = with_keys(false, &[1, 2, 3, 4], &[0; 4]);
    assert_eq!(key_import(&mut strong, &small).unwrap_err(), code::WEAK_ALGORITHM);
    let mut empty = with_keys(true, &[1, 2, 3, 0], &[0; 4]);
    assert_eq!(key_import(&mut empty, &clear).unwrap_err(), code::MASTER_KEY_NOT_LOADED);

    use wire::verb::pka_key_import::*;
    let target_key_identifier = Room::of(CAPACITY as usize);
    let request = Ask { source_key_token: (&clear).into(), target_key_identifier, ..Ask::new() };
    let mut filled = Filled::default();
    let mut arguments = request.arguments(&mut filled);
    arguments.set_bytes(IMPORTER_KEY_IDENTIFIER, &[1; 64]);
    assert_eq!(ask(&mut processor, &arguments, TARGET_KEY_IDENTIFIER).0, code::TOKEN_INVALID);
    let rules = keywords(&["MASTER"]);
    arguments.set_bytes(IMPORTER_KEY_IDENTIFIER, &[0; 64]);
    arguments.set_integer(RULE_ARRAY_COUNT, 1).set_bytes(RULE_ARRAY, &rules);
    assert_eq!(ask(&mut processor, &arguments, TARGET_KEY_IDENTIFIER).0, code::KEYWORD);
}
