//! Private and symmetric keys under one AES transport key: none of them opens as another, and no part of one token in
//! another.

use crate::pka_transport_aes::{exporter, importer};
use openssl::rsa::Rsa;
use token::VariableToken;
use token::des::Origin;
use token::variable::{Attributes, PayloadVersion, VariableType, Wrapper};
use verb_requests::book::{foreign_ecc, foreign_rsa, half, layout};
use verb_requests::support::{Request, processor, text};
use verb_requests::uses::ways::{AES_TRANSPORT, generate2, import_under, import2};
use verb_requests::wrapped::{made, pattern, plain};
use wire::code;
use wire::verb::{Verb, key_generate2, key_test2, key_translate2 as ktr2, pka_key_import as pki};

/// What one token has does not open in another, of the same key or under the same transport key.
#[test]
fn parts_of_two_tokens_are_no_token() {
    let mut processor = processor();
    let into = importer(&mut processor, &["IMPORT"], &AES_TRANSPORT);
    let (one, two) = (Rsa::generate(512).unwrap(), Rsa::generate(512).unwrap());
    let [one, two] = [one, two].map(|key| foreign_rsa(&key, 0x30, &AES_TRANSPORT));
    let (opk_at, modulus_at, n, _) = layout(&one[8..]);
    for range in [8 + modulus_at..8 + modulus_at + n, 8 + modulus_at + n..8 + half(&one, 10)] {
        let mut mixed = one.clone();
        mixed[range.clone()].copy_from_slice(&two[range]);
        import_under(&mixed, &into).refused(&mut processor, code::TOKEN_INVALID);
    }
    // With the key field of the other: both happen to hold one key here, and the payload is bound to its own modulus.
    let mut mixed = one.clone();
    mixed[8 + opk_at..8 + opk_at + 48].copy_from_slice(&two[8 + opk_at..8 + opk_at + 48]);
    import_under(&mixed, &into).ok(&mut processor);
    let other = foreign_rsa(&Rsa::generate(512).unwrap(), 0x30, &[0x6B; 32]);
    import_under(&other, &into).refused(&mut processor, code::TOKEN_INVALID);
}

/// Numbers of private keys brought in as symmetric keys under the same transport key, or the reverse: what DES let in
/// block by block is bound here to what it is.
#[test]
fn what_is_under_a_transport_key_opens_as_nothing_else() {
    let mut processor = processor();
    let into = importer(&mut processor, &["IMPORT", "TRANSLAT", "GEN-PUB"], &AES_TRANSPORT);
    let rsa = foreign_rsa(&Rsa::generate(512).unwrap(), 0x31, &AES_TRANSPORT);
    let (opk_at, modulus_at, n, _) = layout(&rsa[8..]);
    let opk = &rsa[8 + opk_at..8 + opk_at + 48];
    let values = &rsa[8 + modulus_at + n..8 + half(&rsa, 10)];
    let ecc = foreign_ecc(&AES_TRANSPORT, None);
    let payload_at = 8 + 76 + 16;
    let scalar = &ecc[payload_at..payload_at + 80];
    let symmetric = made(
        &AES_TRANSPORT,
        &Attributes::new(VariableType::Cipher, [], None).unwrap(),
        PayloadVersion::Variable,
        &text(32),
    );
    // The payloads in tokens of symmetric keys of every length, type and version that fits.
    let mut tried = 0;
    for (key_type, words) in [
        (VariableType::Cipher, &["ANY-MODE"][..]),
        (VariableType::Hmac, &["GENERATE"]),
        (VariableType::Exporter, &[]),
    ] {
        for version in [PayloadVersion::Variable, PayloadVersion::Fixed] {
            let attributes = Attributes::new(key_type, words.iter().copied(), None).unwrap();
            let Ok(skeleton) = VariableToken::skeleton(Origin::External, version, attributes) else {
                continue;
            };
            for stolen in [opk, values, scalar] {
                let Ok(token) = skeleton.with_payload(Wrapper::Key(pattern(&AES_TRANSPORT)), stolen.to_vec())
                else {
                    continue;
                };
                tried += 1;
                let token = token.to_bytes();
                let algorithm = if key_type.is_aes() { "AES" } else { "HMAC" };
                import2(algorithm, &token, &into).refused(&mut processor, code::TOKEN_INVALID);
                let test = Request::new(Verb::KeyTest2)
                    .rules(&[algorithm, "GENERATE"])
                    .counted(key_test2::KEY_IDENTIFIER_LENGTH, key_test2::KEY_IDENTIFIER, &token)
                    .counted(key_test2::KEK_KEY_IDENTIFIER_LENGTH, key_test2::KEK_KEY_IDENTIFIER, &into)
                    .integer(key_test2::VERIFICATION_PATTERN_LENGTH, 16);
                test.refused(&mut processor, code::TOKEN_INVALID);
                let out = exporter(&mut processor, &["TRANSLAT"], &[0x6B; 32]);
                let moved = Request::new(Verb::KeyTranslate2)
                    .rules(&[algorithm])
                    .counted(ktr2::INPUT_KEY_TOKEN_LENGTH, ktr2::INPUT_KEY_TOKEN, &token)
                    .counted(ktr2::INPUT_KEK_KEY_IDENTIFIER_LENGTH, ktr2::INPUT_KEK_KEY_IDENTIFIER, &into)
                    .counted(ktr2::OUTPUT_KEK_KEY_IDENTIFIER_LENGTH, ktr2::OUTPUT_KEK_KEY_IDENTIFIER, &out)
                    .integer(ktr2::OUTPUT_KEY_TOKEN_LENGTH, 725);
                moved.refused(&mut processor, code::TOKEN_INVALID);
            }
        }
    }
    assert!(tried >= 4, "{tried} payloads had the length of a symmetric key's");
    // And a symmetric key as the value of a curve, or a curve's as an object protection key, cut to its length.
    assert_eq!(plain(&AES_TRANSPORT, &symmetric, 30), Some(text(32)));
    let key_payload = &symmetric[parsed_head(&symmetric)..];
    let mut as_scalar = ecc.clone();
    as_scalar[payload_at..payload_at + 80].copy_from_slice(key_payload);
    import_under(&as_scalar, &into).refused(&mut processor, code::TOKEN_INVALID);
    for stolen in [key_payload, scalar] {
        let mut as_opk = rsa.clone();
        as_opk[8 + opk_at..8 + opk_at + 48].copy_from_slice(&stolen[..48]);
        import_under(&as_opk, &into).refused(&mut processor, code::TOKEN_INVALID);
    }
    // An internal token of a curve does not pass for an external one, nor the reverse.
    let inside = import_under(&ecc, &into).ok(&mut processor).bytes(pki::TARGET_KEY_IDENTIFIER);
    let mut turned = inside.clone();
    turned[0] = 0x1E;
    assert_eq!(import_under(&turned, &into).told(&mut processor).codes.return_code, 8);
    let mut turned = ecc.clone();
    turned[0] = 0x1F;
    assert_eq!(import_under(&turned, &into).told(&mut processor).codes.return_code, 8);
    let again = generate2("AES", 256, "CIPHER", &[]).ok(&mut processor);
    let internal_key = again.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
    import2("AES", &internal_key, &into).refused(&mut processor, code::TOKEN_INVALID);
}

/// Where the payload of a token of variable length begins.
fn parsed_head(token: &[u8]) -> usize {
    30 + half(token, 32)
}
