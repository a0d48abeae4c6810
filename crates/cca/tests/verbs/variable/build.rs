//! Key_Token_Build2.

use super::{build2, parsed, skeleton2};
use token::variable::{PayloadVersion, VariableKey, VariableType};
use verb_requests::support::processor;
use wire::code;
use wire::verb::key_token_build2::{
    CLEAR_KEY_BIT_LENGTH, CLEAR_KEY_VALUE, KEY_NAME, KEY_NAME_LENGTH, RESERVED, RESERVED_LENGTH,
    TARGET_KEY_TOKEN, TARGET_KEY_TOKEN_LENGTH, TOKEN_DATA, TOKEN_DATA_LENGTH, USER_ASSOCIATED_DATA,
    USER_ASSOCIATED_DATA_LENGTH,
};

#[test]
fn a_skeleton_is_the_one_that_cards_make_whatever_the_order_of_keywords() {
    let mut processor = processor();
    let mut keywords = [
        "INTERNAL", "NO-KEY", "AES", "CIPHER", "ANY-MODE", "NOEX-SYM", "NOEXAASY", "NOEXUASY", "XPRTCPAC",
        "NOEX-RAW", "NOEX-DES", "NOEX-AES", "NOEX-RSA",
    ];
    let made = skeleton2(&mut processor, &keywords);
    assert_eq!((made.len(), &made[44..52]), (56, &[2, 0xC0, 0, 0xFF, 0, 3, 0x08, 0xC8][..]));
    keywords.reverse();
    assert_eq!(skeleton2(&mut processor, &keywords), made);
}

#[test]
fn what_clients_ask_for() {
    let mut processor = processor();
    // openCryptoki, for keys to be generated and imported; zkey, for keys that are reformatted or agreed upon.
    for (keywords, key_type) in [
        (&["INTERNAL", "HMAC", "MAC", "GENERATE"][..], VariableType::Hmac),
        (&["INTERNAL", "NO-KEY", "HMAC", "MAC", "GENERATE"], VariableType::Hmac),
        (&["INTERNAL", "AES", "CIPHER", "NO-KEY", "ANY-MODE"], VariableType::Cipher),
        (&["INTERNAL", "AES", "XPRTCPAC", "CIPHER"], VariableType::Cipher),
        (&["INTERNAL", "AES", "IMPORTER"], VariableType::Importer),
    ] {
        let token = parsed(&skeleton2(&mut processor, keywords));
        assert_eq!((token.key_type(), token.payload_version()), (key_type, PayloadVersion::Variable));
        assert!(matches!(token.key(), VariableKey::Absent));
    }
    let mac = parsed(&skeleton2(&mut processor, &["INTERNAL", "AES", "MAC", "VERIFY"]));
    assert_eq!(mac.payload_version(), PayloadVersion::Fixed);
    let long = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER", "V1PYLD"]);
    assert_eq!((long[28], long.len()), (1, 56));
    assert_eq!(skeleton2(&mut processor, &["EXTERNAL", "AES", "EXPORTER"])[0], 2);
}

#[test]
fn a_clear_key_a_name_and_the_owners_data() {
    let mut processor = processor();
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    let request = build2(&["INTERNAL", "KEY-CLR", "HMAC", "MAC", "GENERATE"])
        .integer(CLEAR_KEY_BIT_LENGTH, 160)
        .bytes(CLEAR_KEY_VALUE, [7; 20])
        .counted(KEY_NAME_LENGTH, KEY_NAME, label)
        .counted(USER_ASSOCIATED_DATA_LENGTH, USER_ASSOCIATED_DATA, b"of mine");
    let token = parsed(&request.ok(&mut processor).bytes(TARGET_KEY_TOKEN));
    assert!(matches!(token.key(), VariableKey::Clear(key) if key[..] == [7; 20]));
    assert_eq!(token.attributes().name(), Some(&label));
    assert_eq!(token.attributes().user_data(), b"of mine");

    for (bits, bytes) in [(159, 20), (161, 21), (72, 9), (2056, 257), (0, 0)] {
        let wrong =
            request.clone().integer(CLEAR_KEY_BIT_LENGTH, bits).bytes(CLEAR_KEY_VALUE, vec![7; bytes]);
        wrong.refused(&mut processor, code::KEY_BITS);
    }
    let cipher = build2(&["INTERNAL", "KEY-CLR", "AES", "CIPHER"]);
    for (bits, bytes) in [(120, 15), (136, 17), (160, 20)] {
        let wrong = cipher.clone().integer(CLEAR_KEY_BIT_LENGTH, bits).bytes(CLEAR_KEY_VALUE, vec![7; bytes]);
        wrong.refused(&mut processor, code::KEY_BITS);
    }
    let none = build2(&["INTERNAL", "AES", "CIPHER"]).integer(CLEAR_KEY_BIT_LENGTH, 128);
    none.clone().bytes(CLEAR_KEY_VALUE, [7; 16]).refused(&mut processor, code::KEY_BITS);
    none.refused(&mut processor, code::KEY_BITS);
    request
        .clone()
        .counted(KEY_NAME_LENGTH, KEY_NAME, &label[1..])
        .refused(&mut processor, code::INVALID_PARAMETER);
    request
        .clone()
        .counted(KEY_NAME_LENGTH, KEY_NAME, [b'a'; 64])
        .refused(&mut processor, code::LABEL_FORMAT);
    let data = request.clone().counted(USER_ASSOCIATED_DATA_LENGTH, USER_ASSOCIATED_DATA, [1; 256]);
    data.refused(&mut processor, code::INVALID_PARAMETER);
    request.clone().counted(RESERVED_LENGTH, RESERVED, [0]).refused(&mut processor, code::RESERVED_LENGTH);
    request.integer(TARGET_KEY_TOKEN_LENGTH, 40).refused(&mut processor, code::BUFFER_TOO_SMALL);
}

/// Byte 41 of a token is its algorithm, and 42 its type.
#[test]
fn keys_for_pins_and_messages() {
    let mut processor = processor();
    for (keywords, number, fields) in [
        (&["PINPROT", "ENCRYPT", "CBC", "CPINENC", "ISO-4"][..], 5, vec![0x8000, 0x0020, 0, 0x0100]),
        (&["PINPROT", "DECRYPT", "CBC", "EPINVER", "DKPINOP"], 5, vec![0x4000, 0x0010, 0x0101]),
        (&["PINCALC", "GENONLY", "CBC", "DKPINOP"], 6, vec![0x8000, 0, 0x0101]),
        (&["PINPRW", "VERIFY", "CMAC", "DKPINOP"], 7, vec![0x4000, 0x0100, 0x0101]),
        (&["SECMSG", "SMPIN", "ANY-USE"], 10, vec![0, 0]),
    ] {
        let token = skeleton2(&mut processor, &[&["INTERNAL", "AES"], keywords].concat());
        assert_eq!(token[41..44], [2, 0, number], "{keywords:?}");
        assert_eq!(parsed(&token).attributes().usage(), fields, "{keywords:?}");
    }
}

#[test]
fn keywords_that_do_not_go_together() {
    let mut processor = processor();
    for (keywords, codes) in [
        (&["INTERNAL", "AES", "CIPHER", "CBC", "GCM"][..], code::KEYWORD_COMBINATION),
        (&["INTERNAL", "AES", "CIPHER", "GENERATE"], code::KEYWORD),
        (&["INTERNAL", "AES", "CIPHER", "COMP-TAG"], code::KEYWORD),
        (&["INTERNAL", "AES", "MAC"], code::KEYWORD_REQUIRED),
        (&["INTERNAL", "HMAC", "MAC", "SHA-256"], code::KEYWORD_REQUIRED),
        (&["INTERNAL", "HMAC", "CIPHER"], code::KEYWORD_COMBINATION),
        (&["INTERNAL", "HMAC", "MAC", "GENERATE", "V1PYLD"], code::KEYWORD_COMBINATION),
        (&["INTERNAL", "AES", "MAC", "VERIFY", "V0PYLD"], code::KEYWORD_COMBINATION),
        (&["INTERNAL", "AES", "MAC", "VERIFY", "KEY-CLR"], code::KEYWORD_COMBINATION),
        (&["INTERNAL", "AES", "EXPORTER", "KEY-CLR"], code::KEYWORD_COMBINATION),
        (&["INTERNAL", "AES", "KDKGENKY"], code::KEYWORD),
        (&["INTERNAL", "EXTERNAL", "AES", "CIPHER"], code::KEYWORD_COMBINATION),
        (&["INTERNAL", "AES", "ANY-MODE"], code::KEYWORD_COMBINATION),
        (&["INTERNAL", "AES"], code::KEYWORD_COUNT),
    ] {
        build2(keywords).refused(&mut processor, codes);
    }
}

#[test]
fn a_key_that_derives_keys_names_what_they_may_do() {
    let mut processor = processor();
    let derived = skeleton2(&mut processor, &["INTERNAL", "AES", "MAC", "GENONLY"]);
    let request = build2(&["INTERNAL", "AES", "DKYGENKY", "D-MAC", "KUF-MBE", "DKYL0"]);
    let with = request.clone().counted(TOKEN_DATA_LENGTH, TOKEN_DATA, &derived);
    let token = parsed(&with.ok(&mut processor).bytes(TARGET_KEY_TOKEN));
    assert_eq!(token.attributes().usage(), [0x0200, 0x8000, 0x8000, 0x0100]);
    request.refused(&mut processor, code::INVALID_PARAMETER);
    let other = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER"]);
    with.clone().bytes(TOKEN_DATA, &other).refused(&mut processor, code::INVALID_PARAMETER);
    with.counted(TOKEN_DATA_LENGTH, TOKEN_DATA, &derived[1..]).refused(&mut processor, code::TOKEN_INVALID);
}
