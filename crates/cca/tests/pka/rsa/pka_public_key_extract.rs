//! PKA_Public_Key_Extract: the same public token from every token of a key.

use verb_requests::pka::*;
use wire::code;

#[test]
fn every_token_of_a_key_gives_its_public_token() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let public = public_token(&mut processor, key);
    assert_eq!(public_key_extract(&mut processor, &public, CAPACITY).unwrap(), public);
    for kind in ["RSA-PRIV", "RSA-CRT", "RSA-AESM", "RSA-AESC"] {
        let clear = clear_token(&mut processor, kind, "SIG-ONLY", key);
        assert_eq!(public_key_extract(&mut processor, &clear, CAPACITY).unwrap(), public);
        let internal = key_import(&mut processor, &clear).unwrap();
        assert_eq!(public_key_extract(&mut processor, &internal, CAPACITY).unwrap(), public);
        // No master key is needed.
        let mut empty = with_keys(false, &[0; 4], &[0; 4]);
        assert_eq!(public_key_extract(&mut empty, &internal, CAPACITY).unwrap(), public);
    }
}

#[test]
fn refusals() {
    let mut processor = processor();
    let public = public_token(&mut processor, openssl_key(1024));
    let capacity = public.len() as i64;
    assert!(public_key_extract(&mut processor, &public, capacity).is_ok());
    let short = public_key_extract(&mut processor, &public, capacity - 1);
    assert_eq!(short.unwrap_err(), code::BUFFER_TOO_SMALL);
    let skeleton = token_build(&mut processor, &["RSA-CRT"], &generate_structure(1024, true), &[]).unwrap();
    for wrong in [&skeleton[..], &[0; 64], &[]] {
        let refused = public_key_extract(&mut processor, wrong, CAPACITY).unwrap_err();
        assert_eq!(refused, code::TOKEN_INVALID);
    }
    let label = public_key_extract(&mut processor, &[b'A'; 64], CAPACITY);
    assert_eq!(label.unwrap_err(), code::LABEL_NOT_FOUND);
}
