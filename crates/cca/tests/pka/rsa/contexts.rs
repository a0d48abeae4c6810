//! Prepared keys: bounded, found by the whole token, gone with the master keys.

use verb_requests::pka::*;
use wire::bounds::CONTEXTS_PER_DOMAIN_MAX;
use wire::{Verb, code};

#[test]
fn a_token_is_prepared_once_and_forgotten_with_the_master_keys() {
    let mut processor = processor();
    let clear_key = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", openssl_key(1024));
    assert_eq!(processor.contexts(0), Some(0));
    let internal = key_import(&mut processor, &clear_key).unwrap();
    assert_eq!(processor.contexts(0), Some(1), "the import prepared the clear token");
    for _ in 0..3 {
        sign(&mut processor, &["PKCS-1.1"], &internal, b"text").unwrap();
        assert_eq!(processor.contexts(0), Some(2));
    }
    // Bytes after the token do not make another one.
    let longer = [&internal[..], &[0; 100]].concat();
    sign(&mut processor, &["PKCS-1.1"], &longer, b"text").unwrap();
    assert_eq!(processor.contexts(0), Some(2));
    clear(&mut processor, Verb::ClearRsaPublic, &clear_key, &[5]).unwrap();
    assert_eq!(
        (processor.contexts(0), processor.contexts(1), processor.contexts(2)),
        (Some(3), Some(0), None)
    );

    processor.forget_contexts();
    assert_eq!(processor.contexts(0), Some(0));
    sign(&mut processor, &["PKCS-1.1"], &internal, b"text").unwrap();
    clear(&mut processor, Verb::ClearRsaPublic, &clear_key, &[5]).unwrap();
    assert_eq!(processor.contexts(0), Some(2), "prepared anew");

    processor.load(&handout(1, &[5, 6, 7, 8], &[0; 4])).unwrap();
    assert_eq!(processor.contexts(0), Some(2), "another domain's keys changed");
    processor.load(&handout(0, &[1, 2, 3, 5], &[0; 4])).unwrap();
    assert_eq!(processor.contexts(0), Some(0));
    let refused = sign(&mut processor, &["PKCS-1.1"], &internal, b"text").unwrap_err();
    assert_eq!(refused, code::MASTER_KEY_MISMATCH);
    clear(&mut processor, Verb::ClearRsaPrivate, &clear_key, &[5]).unwrap();
    processor.zeroize();
    assert_eq!(processor.contexts(0), Some(0));
    let refused = sign(&mut processor, &["PKCS-1.1"], &internal, b"text").unwrap_err();
    assert_eq!(refused, code::MASTER_KEY_NOT_LOADED);
}

#[test]
fn the_bound_holds() {
    let mut processor = processor();
    let key = openssl_key(512);
    let clear_key = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    // Every wrapping of one key is another token, and a public key with another exponent another key.
    let mut tokens = Vec::new();
    for _ in 0..CONTEXTS_PER_DOMAIN_MAX + 10 {
        let internal = key_import(&mut processor, &clear_key).unwrap();
        sign(&mut processor, &["PKCS-1.1"], &internal, b"text").unwrap();
        tokens.push(internal);
        assert!(processor.contexts(0).unwrap() <= CONTEXTS_PER_DOMAIN_MAX);
    }
    for exponent in 0..CONTEXTS_PER_DOMAIN_MAX {
        let e = (2 * exponent as u32 + 3).to_be_bytes();
        let public = token::pka::public_token(&number(key.n()), &e).unwrap();
        clear(&mut processor, Verb::ClearRsaPublic, &public, &[5]).unwrap();
    }
    assert_eq!(processor.contexts(0), Some(CONTEXTS_PER_DOMAIN_MAX));
    // The first key gave way; it works as before.
    let expected = power(b"text", key.d(), key.n());
    assert_eq!(sign(&mut processor, &["ZERO-PAD"], &tokens[0], b"text").unwrap(), expected);
    assert_eq!(processor.contexts(0), Some(CONTEXTS_PER_DOMAIN_MAX));
}
