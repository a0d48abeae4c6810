//! Prepared keys: bounded, found by the whole token, gone with the master keys.

use cca::{Batch, Incoming};
use verb_requests::pka::*;
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

/// Bytes for some tens of keys.
const BYTES: usize = 256 << 10;

#[test]
fn the_bound_holds() {
    let mut processor = processor();
    processor.set_prepared_bytes(BYTES);
    let key = openssl_key(512);
    let clear_key = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    // Every wrapping of one key is another token, and a public key with another exponent another key.
    let mut tokens = Vec::new();
    for _ in 0..300 {
        let internal = key_import(&mut processor, &clear_key).unwrap();
        sign(&mut processor, &["PKCS-1.1"], &internal, b"text").unwrap();
        tokens.push(internal);
        assert!(processor.prepared_bytes() <= BYTES);
    }
    let private = processor.contexts(0).unwrap();
    assert!((10..200).contains(&private), "{private}");
    for exponent in 0..300_u32 {
        let e = (2 * exponent + 3).to_be_bytes();
        let public = token::pka::public_token(&number(key.n()), &e).unwrap();
        clear(&mut processor, Verb::ClearRsaPublic, &public, &[5]).unwrap();
        assert!(processor.prepared_bytes() <= BYTES);
    }
    // Public keys take a quarter at most, however many there are.
    let has = tokens.iter().filter(|token| processor.has_prepared(0, token)).count();
    assert!(has >= private / 2);
    // The first key gave way; it works as before.
    assert!(!processor.has_prepared(0, &tokens[0]));
    let expected = power(b"text", key.d(), key.n());
    assert_eq!(sign(&mut processor, &["ZERO-PAD"], &tokens[0], b"text").unwrap(), expected);
    assert!(processor.has_prepared(0, &tokens[0]));
}

#[test]
fn a_key_that_is_used_stays_beside_a_neighbour_who_uses_thousands() {
    let mut processor = processor();
    processor.set_prepared_bytes(BYTES);
    let clear_key = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", openssl_key(512));
    let own = key_import(&mut processor, &clear_key).unwrap();
    let mut prepared_again = 0;
    for _ in 0..1000 {
        prepared_again += usize::from(!processor.has_prepared(0, &own));
        sign(&mut processor, &["PKCS-1.1"], &own, b"text").unwrap();
        let neighbours = key_import(&mut processor, &clear_key).unwrap();
        sign(&mut processor, &["PKCS-1.1"], &neighbours, b"text").unwrap();
    }
    assert_eq!(prepared_again, 1);
}

#[test]
fn of_two_domains_the_one_that_has_most_gives_way() {
    let mut processor = processor();
    processor.set_prepared_bytes(BYTES);
    let clear_key = clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", openssl_key(512));
    // Clear keys are prepared in the domain of the request.
    let mut in_domain = |domain: u16, exponent: u32| {
        let e = (2 * exponent + 3).to_be_bytes();
        let public = token::pka::public_token(&number(openssl_key(512).n()), &e).unwrap();
        let mut batch = Batch::new();
        for (verb, key) in [(Verb::ClearRsaPublic, &public), (Verb::ClearRsaPrivate, &clear_key)] {
            let mut payload = Vec::new();
            clear_arguments(verb, key, &[5]).write_request(&mut payload).unwrap();
            batch.push(&Incoming { verb, domain, points: OWNER, payload: &payload }).unwrap();
        }
        processor.run(&mut batch);
        assert!(batch.answers().iter().all(|answer| answer.codes == code::OK));
        (processor.contexts(0).unwrap(), processor.contexts(1).unwrap())
    };
    let (_, few) = in_domain(1, 0);
    let last = (0..500).map(|exponent| in_domain(0, exponent)).last().unwrap();
    assert!(last.0 > 10 && last.1 == few, "{last:?}");
}
