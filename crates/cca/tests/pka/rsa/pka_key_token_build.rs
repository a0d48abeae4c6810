//! PKA_Key_Token_Build: every kind of token, and every refusal.

use openssl::sha::{sha1, sha256};
use token::pka::{Form, PkaToken, PrivateValues, Usage};
use verb_requests::pka::*;
use wire::Codes;
use wire::code;

#[test]
fn numbers_stand_in_the_token() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let mut name = [b' '; 64];
    name[..6].copy_from_slice(b"MY.KEY");
    for (kind, form) in [
        ("RSA-PRIV", Form::Me1024),
        ("RSA-CRT", Form::Crt),
        ("RSA-AESM", Form::MeAes),
        ("RSA-AESC", Form::CrtAes),
    ] {
        let values = if form.is_crt() { crt_structure(key) } else { me_structure(key, true) };
        let words = [kind, "KM-ONLY", "XLATE-OK"];
        let token = token_build(&mut processor, &words, &values, &name).unwrap();
        let fixed = token_build(&mut processor, &[kind, "KM-ONLY", "NO-XLATE"], &values, &name).unwrap();
        let view = PkaToken::parse(&fixed, &(sha1, sha256)).unwrap();
        assert!(!view.private().unwrap().translatable);
        let view = PkaToken::parse(&token, &(sha1, sha256)).unwrap();
        let private = view.private().unwrap();
        assert_eq!(
            (private.form, private.usage, private.translatable),
            (form, Usage::KeyManagementOnly, true)
        );
        assert_eq!(view.name(), Some(&name));
        assert_eq!(view.modulus(), number(key.n()));
        match private.values {
            PrivateValues::ClearMe { d } => assert_eq!(openssl::bn::BigNum::from_slice(d).unwrap(), *key.d()),
            PrivateValues::ClearCrt(c) => {
                assert_eq!((c.p, c.u), (&number(key.p().unwrap())[..], &number(key.iqmp().unwrap())[..]));
            }
            _ => panic!("{kind}: clear values"),
        }
        // Without usage keywords a key may only sign, and may not be translated.
        let token = token_build(&mut processor, &[kind], &values, &[]).unwrap();
        let view = PkaToken::parse(&token, &(sha1, sha256)).unwrap();
        assert_eq!(view.private().unwrap().usage, Usage::SignatureOnly);
        assert!(!view.private().unwrap().translatable && view.name().is_none());
        let skeleton = generate_structure(1024, form.is_crt());
        let token = token_build(&mut processor, &[kind, "KEY-MGMT"], &skeleton, &[]).unwrap();
        let view = PkaToken::parse(&token, &(sha1, sha256)).unwrap();
        assert!(matches!(view.private().unwrap().values, PrivateValues::Skeleton));
        assert_eq!(view.modulus_bits(), 1024);
    }
    let public = public_token(&mut processor, key);
    assert_eq!(PkaToken::parse(&public, &(sha1, sha256)).unwrap().modulus(), number(key.n()));
}

#[test]
fn what_is_no_key_is_refused() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let me = me_structure(key, true);
    let crt = crt_structure(key);
    let public = me_structure(key, false);
    let mut check = |words: &[&str], structure: &[u8], name: &[u8], codes: Codes| {
        let answer = token_build(&mut processor, words, structure, name);
        assert_eq!(answer.unwrap_err(), codes, "{words:?}");
    };
    check(&[], &me, &[], code::KEYWORD_COUNT);
    check(&["KEY-MGMT"], &me, &[], code::KEYWORD_COMBINATION);
    for kind in ["QSA-PUBL", "QSA-PAIR", "RSAMEVAR", "RSA-OPT"] {
        check(&[kind], &me, &[], code::KEYWORD);
        check(&[kind, "KEY-MGMT"], &me, &[], code::KEYWORD);
    }
    check(&["RSA-AESM", "RSA-AESC"], &me, &[], code::KEYWORD_COMBINATION);
    check(&["RSA-AESM", "KEY-MGMT", "SIG-ONLY"], &me, &[], code::KEYWORD_COMBINATION);
    check(&["ECC-PAIR"], &me, &[], code::PKA_FIELD);
    check(&["RSA-AESM", "ECC-PAIR"], &me, &[], code::KEYWORD_COMBINATION);
    check(&["RSA-AESM", "ECC-VER1"], &me, &[], code::KEYWORD_COMBINATION);
    check(&["RSA-PUBL", "KEY-MGMT"], &public, &[], code::KEYWORD_COMBINATION);
    check(&["RSA-AESM"], &me, &[b'A'; 63], code::INVALID_PARAMETER);
    check(&["RSA-AESM"], &me, &[b'a'; 64], code::LABEL_FORMAT);
    check(&["RSA-AESM"], &me[..7], &[], code::OUT_OF_AREA);
    check(&["RSA-AESM"], &me[..me.len() - 1], &[], code::OUT_OF_AREA);
    check(&["RSA-AESM"], &public, &[], code::PKA_FIELD);
    check(&["RSA-PUBL"], &me, &[], code::PKA_FIELD);
    check(&["RSA-CRT"], &crt[..30], &[], code::OUT_OF_AREA);
    check(&["RSA-PRIV"], &me_structure(openssl_key(2048), true), &[], code::PKA_FIELD);
    check(&["RSA-CRT"], &generate_structure(504, true), &[], code::PKA_FIELD);
    check(&["RSA-CRT"], &generate_structure(4104, true), &[], code::PKA_FIELD);
    let mut bits = me.clone();
    bits[1] ^= 8;
    check(&["RSA-AESM"], &bits, &[], code::PKA_FIELD);
}

#[test]
fn unused_parameters_and_short_outputs_are_refused() {
    use wire::verb::pka_key_token_build::*;
    let mut processor = processor();
    let structure = me_structure(openssl_key(1024), true);
    let rules = keywords(&["RSA-AESM"]);
    for unused in [RESERVED_3_LENGTH, RESERVED_4_LENGTH, RESERVED_5_LENGTH] {
        let mut arguments = build_arguments(1, &rules, &structure, &[]);
        arguments.set_integer(unused, 1);
        assert_eq!(ask(&mut processor, &arguments, TOKEN).0, code::INVALID_PARAMETER);
    }
    for (length, unused) in
        [(CUSTOMER_DATA_LENGTH, CUSTOMER_DATA), (KEY_DERIVATION_DATA_LENGTH, KEY_DERIVATION_DATA)]
    {
        let mut arguments = build_arguments(1, &rules, &structure, &[]);
        arguments.set_integer(length, 4).set_bytes(unused, &[2, 1, 1, 0]);
        assert_eq!(ask(&mut processor, &arguments, TOKEN).0, code::INVALID_PARAMETER);
    }
    let mut arguments = build_arguments(1, &rules, &structure, &[]);
    let needed = ask(&mut processor, &arguments, TOKEN).1.len() as i64;
    arguments.set_integer(TOKEN_LENGTH, needed);
    assert_eq!(ask(&mut processor, &arguments, TOKEN).0, code::OK);
    arguments.set_integer(TOKEN_LENGTH, needed - 1);
    let (_, codes, payload) = run(&mut processor, &arguments);
    assert_eq!(codes, code::BUFFER_TOO_SMALL);
    let reply = wire::frame::Arguments::read_reply(arguments.verb(), &payload).unwrap();
    assert_eq!((reply.integer(TOKEN_LENGTH), reply.bytes(TOKEN)), (needed, &[][..]));
}
