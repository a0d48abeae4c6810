//! Key_Generate.

use token::{DesToken, KeyType};
use verb_requests::peer;
use verb_requests::support::{EMPTY_DOMAIN, aes_key, generate, generated, processor, skeleton, sym_key};
use wire::code;
use wire::verb::key_generate::{
    GENERATED_KEY_IDENTIFIER_1 as FIRST, GENERATED_KEY_IDENTIFIER_2 as SECOND, KEY_FORM, KEY_TYPE_2,
};

fn is_odd(key: &[u8]) -> bool {
    key.iter().all(|byte| byte.count_ones() % 2 == 1)
}

#[test]
fn each_type_has_its_default_control_vector_and_length() {
    let mut processor = processor();
    for key_type in KeyType::ALL.iter().copied().filter(|key_type| key_type.has_default()) {
        let token = generated(&mut processor, key_type.name(), "");
        let parsed = DesToken::parse(&token).unwrap();
        assert_eq!(Some(parsed.control_vector()), key_type.default_vector(key_type.default_form()));
        let key = peer::unwrap_token(&sym_key(false), &token);
        assert_eq!(key.len(), parsed.form().key_bytes(), "{key_type:?}");
        assert!(is_odd(&key), "{key_type:?}");
        assert_ne!(generated(&mut processor, key_type.name(), ""), token);
    }
}

#[test]
fn lengths_make_their_forms() {
    let mut processor = processor();
    for (length, bytes, equal) in [
        ("SINGLE", 8, false),
        ("KEYLN8", 8, false),
        ("SINGLE-R", 16, true),
        ("DOUBLE", 16, false),
        ("KEYLN16", 16, false),
        ("DOUBLE-O", 16, false),
        ("KEYLN24", 24, false),
        ("TRIPLE-O", 24, false),
    ] {
        let token = generated(&mut processor, "DATA", length);
        let key = peer::unwrap_token(&sym_key(false), &token);
        assert_eq!(key.len(), bytes, "{length}");
        assert!(is_odd(&key));
        assert_eq!(bytes == 16 && key[..8] == key[8..16], equal, "{length}");
        assert_eq!(DesToken::parse(&token).unwrap().form().is_unique(), length.ends_with("-O"), "{length}");
    }
    generate("DATA", "KEYLN32").refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    generate("DATA", "LONG").refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    generate("IPINENC", "SINGLE").refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    generate("CVARENC", "DOUBLE").refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    generate("DKYGENKY", "KEYLN24").refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    generate("CIPHERXL", "KEYLN24").refused(&mut processor, code::KEY_LENGTH_KEYWORD);
}

#[test]
fn a_skeleton_gives_control_vector_and_length() {
    let mut processor = processor();
    let keygenky = skeleton(&mut processor, "KEYGENKY", &["CLR8-ENC"]);
    let token = generate("TOKEN", "").bytes(FIRST, &keygenky).ok(&mut processor).bytes(FIRST);
    assert_eq!(token[32..40], token::unconfirmed::KEYGENKY_CLR8_ENC.to_be_bytes());
    let key = peer::unwrap_token(&sym_key(false), &token);
    assert!(key.len() == 16 && is_odd(&key));
    let again = generate("TOKEN", "DOUBLE").bytes(FIRST, &token).ok(&mut processor).bytes(FIRST);
    assert_eq!(again[32..48], token[32..48]);
    assert_ne!(again[16..32], token[16..32]);
    generate("TOKEN", "SINGLE").bytes(FIRST, &keygenky).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    generate("TOKEN", "").refused(&mut processor, code::TOKEN_INVALID);
    generate("KEYGENKY", "").refused(&mut processor, code::KEYWORD_COMBINATION);

    let zero = skeleton(&mut processor, "DATA", &["NO-CV"]);
    let token = generate("TOKEN", "KEYLN24").bytes(FIRST, &zero).ok(&mut processor).bytes(FIRST);
    assert_eq!((token[4], token[59]), (1, 0x20));
    assert_eq!(peer::unwrap_token(&sym_key(false), &token).len(), 24);

    let part = skeleton(&mut processor, "MAC", &["DOUBLE", "KEY-PART"]);
    generate("TOKEN", "").bytes(FIRST, part).refused(&mut processor, code::KEY_USAGE);
    let mut external = keygenky.clone();
    external[0] = 2;
    external[60..].copy_from_slice(&0u32.to_be_bytes());
    generate("TOKEN", "").bytes(FIRST, external).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn aes_keys_of_each_length() {
    let mut processor = processor();
    for (length, bytes) in [("KEYLN16", 16usize), ("KEYLN24", 24), ("KEYLN32", 32)] {
        let token = generated(&mut processor, "AESDATA", length);
        let key = peer::unwrap_aes_token(&aes_key(false), &token);
        assert!(key[bytes..].iter().all(|byte| *byte == 0));
        assert!(key[..bytes].iter().any(|byte| *byte != 0));
        assert_eq!(usize::from(u16::from_be_bytes([token[56], token[57]])), bytes * 8);
        let skeleton = skeleton(&mut processor, "DATA", &["AES", length]);
        let made = generate("AESTOKEN", "").bytes(FIRST, &skeleton).ok(&mut processor).bytes(FIRST);
        assert_eq!(made[56..58], token[56..58]);
        generate("AESTOKEN", length).bytes(FIRST, &skeleton).ok(&mut processor);
        generate("AESTOKEN", "KEYLN8")
            .bytes(FIRST, &skeleton)
            .refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    }
    generate("AESDATA", "").refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    generate("AESDATA", "DOUBLE-O").refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    generate("AESTOKEN", "KEYLN16").refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn a_pair_is_one_key_under_two_control_vectors() {
    let mut processor = processor();
    let pair = |one: &str, two: &str, length: &str| {
        generate(one, length)
            .bytes(KEY_FORM, "OPOP")
            .bytes(KEY_TYPE_2, format!("{two:8}"))
            .bytes(SECOND, [0; 64])
    };
    let reply = pair("MAC", "MACVER", "DOUBLE").ok(&mut processor);
    let (one, two) = (reply.bytes(FIRST), reply.bytes(SECOND));
    assert_ne!(one[32..48], two[32..48]);
    assert_eq!(peer::unwrap_token(&sym_key(false), &one), peer::unwrap_token(&sym_key(false), &two));
    pair("DECIPHER", "ENCIPHER", "SINGLE").ok(&mut processor);
    pair("MAC", "DATA", "DOUBLE").refused(&mut processor, code::KEYWORD_COMBINATION);
    pair("MAC", "", "DOUBLE").refused(&mut processor, code::KEYWORD_COMBINATION);
    pair("AESDATA", "AESDATA", "KEYLN16").refused(&mut processor, code::KEYWORD_COMBINATION);
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    for form in ["EXIM", "EXOP", "IMOP", "op  ", "    "] {
        generate("DATA", "").bytes(KEY_FORM, form).refused(&mut processor, code::KEY_FORM);
    }
    generate("SECRET", "").refused(&mut processor, code::KEYWORD);
    generate("", "").refused(&mut processor, code::KEYWORD);
    generate("DATA", "").bytes(KEY_TYPE_2, "DATA    ").refused(&mut processor, code::KEYWORD_COMBINATION);
    generate("DATA", "").bytes(FIRST, "A.LABEL").refused(&mut processor, code::LABEL_NOT_FOUND);
    generate("DATA", "").domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
}
