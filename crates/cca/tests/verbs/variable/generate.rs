//! Key_Generate2, and what is done to the tokens that it makes.

use super::{ROOM, generate2, generated2, parsed, skeleton2};
use token::variable::{Attributes, Completeness, PayloadVersion, VariableKey, VariableType, Wrapper};
use verb_requests::support::processor;
use wire::code;
use wire::verb::key_generate2::{
    GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_1_LENGTH, GENERATED_KEY_IDENTIFIER_2,
    GENERATED_KEY_IDENTIFIER_2_LENGTH, KEY_NAME_1, KEY_NAME_1_LENGTH, KEY_TYPE_2, USER_ASSOCIATED_DATA_1,
    USER_ASSOCIATED_DATA_1_LENGTH,
};

#[test]
fn tokens_are_those_that_clients_look_for() {
    let mut processor = processor();
    let pattern = processor.patterns(0).unwrap().register(wire::control::Register::Aes).current.unwrap();
    for (bits, bytes, payload) in [(128, 120, 512u16), (192, 128, 576), (256, 136, 640)] {
        let token = generated2(&mut processor, "AES", bits, &["CIPHER", "NO-KEY", "ANY-MODE"]);
        assert_eq!(token.len(), bytes);
        assert_eq!((token[0], token[4], token[8], token[26], token[27], token[28]), (1, 5, 3, 2, 2, 0));
        assert_eq!((token[41], &token[42..44]), (2, &[0, 1][..]));
        assert_eq!(token[38..40], payload.to_be_bytes());
        assert_eq!(token[10..18], pattern);
        // Random, as it was and as it is.
        assert_eq!(token[54..56], [2, 2]);
    }
    for bits in [80, 160, 2048] {
        let token = generated2(&mut processor, "HMAC", bits, &["MAC", "GENERATE"]);
        assert_eq!((token[41], &token[42..44], token[28]), (3, &[0, 2][..], 0));
        let payload = u16::from_be_bytes([token[38], token[39]]);
        assert!((80..=2432).contains(&payload), "{payload}");
    }
    let mac = generated2(&mut processor, "AES", 128, &["MAC", "GENERATE"]);
    assert_eq!((mac[28], mac.len()), (1, 136));
}

#[test]
fn types_by_their_names() {
    let mut processor = processor();
    for (algorithm, bits, name, key_type, usage) in [
        ("AES", 128, "CIPHER", VariableType::Cipher, &[0xC000, 0][..]),
        ("AES", 256, "EXPORTER", VariableType::Exporter, &[0xFC00, 0, 0xFC00, 0xFC00]),
        ("AES", 256, "IMPORTER", VariableType::Importer, &[0xFC00, 0, 0xFC00, 0xFC00]),
        ("HMAC", 256, "MAC", VariableType::Hmac, &[0xC000, 0xF800]),
        ("HMAC", 256, "MACVER", VariableType::Hmac, &[0x4000, 0xF800]),
    ] {
        let token = generate2(algorithm, bits, name, &[0; 64]).ok(&mut processor);
        let token = parsed(&token.bytes(GENERATED_KEY_IDENTIFIER_1));
        assert_eq!((token.key_type(), token.attributes().usage()), (key_type, usage));
        assert_eq!(token.attributes().completeness(), Completeness::Complete);
    }
    for (algorithm, name, codes) in [
        ("AES", "MAC", code::KEYWORD_COMBINATION),
        ("AES", "DKYGENKY", code::KEYWORD_COMBINATION),
        ("AES", "MACVER", code::KEYWORD),
        ("HMAC", "CIPHER", code::KEYWORD),
        ("HMAC", "cipher", code::KEYWORD),
        ("AES", "", code::KEYWORD),
    ] {
        generate2(algorithm, 128, name, &[]).refused(&mut processor, codes);
    }
    for bits in [0, -8, 120, 127, 129, 264, i64::MIN, i64::MAX] {
        generate2("AES", bits, "CIPHER", &[]).refused(&mut processor, code::KEY_BITS);
    }
    for bits in [72, 81, 2056] {
        generate2("HMAC", bits, "MAC", &[]).refused(&mut processor, code::KEY_BITS);
    }
}

#[test]
fn a_token_decides_what_its_key_is_and_names_replace_its_own() {
    let mut processor = processor();
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER", "GCM", "NOEX-SYM", "V1PYLD"]);
    let named = generate2("AES", 192, "TOKEN", &skeleton)
        .counted(KEY_NAME_1_LENGTH, KEY_NAME_1, label)
        .counted(USER_ASSOCIATED_DATA_1_LENGTH, USER_ASSOCIATED_DATA_1, b"of mine");
    let bytes = named.ok(&mut processor).bytes(GENERATED_KEY_IDENTIFIER_1);
    let token = parsed(&bytes);
    assert_eq!(token.payload_version(), PayloadVersion::Fixed);
    assert_eq!(token.attributes().usage(), [0xC000, 0x0400]);
    assert_eq!(token.attributes().management()[0], 0x6000);
    assert_eq!((token.attributes().name(), token.attributes().user_data()), (Some(&label), &b"of mine"[..]));
    // The key in a token is replaced, and all else kept.
    let again = generate2("AES", 256, "TOKEN", &bytes).ok(&mut processor).bytes(GENERATED_KEY_IDENTIFIER_1);
    let of = |token: &[u8]| -> Attributes { parsed(token).attributes().clone() };
    assert_eq!(of(&again), of(&bytes));
    assert_ne!(again, bytes);

    generate2("HMAC", 160, "TOKEN", &skeleton).refused(&mut processor, code::TOKEN_INVALID);
    generate2("AES", 128, "TOKEN", &[]).refused(&mut processor, code::TOKEN_INVALID);
    generate2("AES", 128, "CIPHER", &skeleton).refused(&mut processor, code::TOKEN_INVALID);
    generate2("AES", 128, "TOKEN", &label).refused(&mut processor, code::LABEL_NOT_FOUND);
    let external = skeleton2(&mut processor, &["EXTERNAL", "AES", "CIPHER"]);
    generate2("AES", 128, "TOKEN", &external).refused(&mut processor, code::TOKEN_INVALID);
    let short = generate2("AES", 128, "TOKEN", &skeleton).integer(GENERATED_KEY_IDENTIFIER_1_LENGTH, 135);
    let reply = short.run(&mut processor);
    assert_eq!(
        (reply.codes, reply.integer(GENERATED_KEY_IDENTIFIER_1_LENGTH)),
        (code::BUFFER_TOO_SMALL, 136)
    );
    generate2("AES", 128, "CIPHER", &[]).domain(2).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
}

#[test]
fn one_key_in_two_tokens_of_types_that_go_together() {
    let mut processor = processor();
    let mut pair = |algorithm: &str, bits, one: &[&str], two: &[&str]| {
        let mut of =
            |keywords: &[&str]| skeleton2(&mut processor, &[&["INTERNAL", algorithm], keywords].concat());
        let (one, two) = (of(one), of(two));
        let request = generate2(algorithm, bits, "TOKEN", &one)
            .rules(&[algorithm, "OPOP"])
            .bytes(KEY_TYPE_2, "TOKEN   ")
            .integer(GENERATED_KEY_IDENTIFIER_2_LENGTH, ROOM)
            .bytes(GENERATED_KEY_IDENTIFIER_2, two);
        let reply = request.told(&mut processor);
        (reply.codes, reply)
    };
    let (codes, reply) = pair("HMAC", 256, &["MAC", "GENERATE"], &["MAC", "VERIFY"]);
    assert_eq!(codes, code::OK);
    let usage = |position| parsed(&reply.bytes(position)).attributes().usage()[0];
    assert_eq!((usage(GENERATED_KEY_IDENTIFIER_1), usage(GENERATED_KEY_IDENTIFIER_2)), (0x8000, 0x4000));
    assert_eq!(pair("AES", 128, &["CIPHER", "ENCRYPT"], &["CIPHER", "DECRYPT"]).0, code::OK);
    assert_eq!(pair("AES", 128, &["MAC", "GENONLY"], &["MAC", "VERIFY"]).0, code::OK);
    for (one, two) in [
        (&["CIPHER"][..], &["MAC", "GENERATE"][..]),
        (&["EXPORTER"], &["IMPORTER"]),
        (&["IMPORTER"], &["EXPORTER"]),
        (&["EXPORTER"], &["CIPHER"]),
        (&["EXPORTER"], &["EXPORTER"]),
        (&["DKYGENKY", "D-ALL"], &["DKYGENKY", "D-ALL"]),
    ] {
        assert_eq!(pair("AES", 128, one, two).0, code::KEYWORD_COMBINATION, "{one:?} {two:?}");
    }
    let lonely = generate2("AES", 128, "CIPHER", &[]);
    lonely.clone().bytes(KEY_TYPE_2, "CIPHER  ").refused(&mut processor, code::KEYWORD_COMBINATION);
}

#[test]
fn a_payload_is_in_no_token_but_its_own() {
    let mut processor = processor();
    // Regenerated tokens of equal lengths: their heads are equal, their payloads are not.
    let one = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    let two = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    assert_eq!(one[..56], two[..56]);
    assert_ne!(one[56..], two[56..]);
    let VariableKey::Wrapped { under: Wrapper::Master(_), .. } = parsed(&one).key().clone() else {
        panic!("a key under the master key");
    };
}
