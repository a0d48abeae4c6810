//! ClearRsaPrivate and ClearRsaPublic: the raw operation, as OpenSSL's arithmetic has it.

use verb_requests::pka::*;
use wire::{Verb, code};

#[test]
fn results_are_those_of_arithmetic() {
    // No master key: this is what an accelerator serves.
    let mut processor = with_keys(true, &[0; 4], &[0; 4]);
    for bits in [512, 1024, 1025, 1030, 1536, 2048] {
        let key = openssl_key(bits);
        let public = public_token(&mut processor, key);
        let mut minus_one = number(key.n());
        *minus_one.last_mut().unwrap() -= 1;
        // Begins with a zero byte, so that it is below every modulus.
        let full: Vec<u8> = (0..(bits as usize).div_ceil(8)).map(|at| (at as u8).wrapping_mul(37)).collect();
        for kind in ["RSA-PRIV", "RSA-CRT", "RSA-AESM", "RSA-AESC"] {
            if kind == "RSA-PRIV" && bits > 1024 {
                continue;
            }
            let token = clear_token(&mut processor, kind, "SIG-ONLY", key);
            for value in [&[][..], &[0], &[1], &[2], b"some text", &full, &minus_one] {
                let private = clear(&mut processor, Verb::ClearRsaPrivate, &token, value).unwrap();
                assert_eq!(private, power(value, key.d(), key.n()), "{kind} {bits}");
                for token in [&token, &public] {
                    let opened = clear(&mut processor, Verb::ClearRsaPublic, token, value).unwrap();
                    assert_eq!(opened, power(value, key.e(), key.n()), "{kind} {bits}");
                }
            }
        }
    }
}

#[test]
fn refusals() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let token = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let public = public_token(&mut processor, key);
    let internal = key_import(&mut processor, &token).unwrap();
    let mut check = |verb, token: &[u8], data: &[u8], codes| {
        assert_eq!(clear(&mut processor, verb, token, data).unwrap_err(), codes);
    };
    for verb in [Verb::ClearRsaPrivate, Verb::ClearRsaPublic] {
        check(verb, &token, &number(key.n()), code::TEXT_LENGTH);
        check(verb, &token, &[0xFF; 128], code::TEXT_LENGTH);
        check(verb, &token, &[0; 129], code::TEXT_LENGTH);
        check(verb, &[], &[1], code::TOKEN_INVALID);
        check(verb, &[0; 64], &[1], code::TOKEN_INVALID);
        check(verb, &token[..token.len() - 1], &[1], code::OUT_OF_AREA);
    }
    check(Verb::ClearRsaPrivate, &public, &[1], code::TOKEN_INVALID);
    check(Verb::ClearRsaPrivate, &internal, &[1], code::TOKEN_INVALID);
    for verb in [Verb::ClearRsaPrivate, Verb::ClearRsaPublic] {
        use wire::verb::clear_rsa_private::*;
        let mut arguments = clear_arguments(verb, &token, &[5]);
        arguments.set_integer(RESULT_LENGTH, 127);
        assert_eq!(ask(&mut processor, &arguments, RESULT).0, code::BUFFER_TOO_SMALL);
        arguments.set_integer(RESULT_LENGTH, 128);
        assert_eq!(ask(&mut processor, &arguments, RESULT).0, code::OK);
        arguments.set_integer(DATA_LENGTH, 2);
        assert_eq!(ask(&mut processor, &arguments, RESULT).0, code::INVALID_PARAMETER);
    }
    let small = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", openssl_key(512));
    let mut strong = with_keys(false, &[0; 4], &[0; 4]);
    for verb in [Verb::ClearRsaPrivate, Verb::ClearRsaPublic] {
        assert_eq!(clear(&mut strong, verb, &small, &[5]).unwrap_err(), code::WEAK_ALGORITHM);
        assert!(clear(&mut strong, verb, &token, &[5]).is_ok());
    }
}
