//! Key_Token_Build.

use token::{AesToken, DesToken};
use verb_requests::support::{Request, compatible_processor, generated, processor, skeleton};
use wire::code;
use wire::verb::Verb;
use wire::verb::key_token_build::{
    CONTROL_VECTOR, KEY_TOKEN, KEY_TYPE, KEY_VALUE, MASTER_KEY_VERIFICATION_NUMBER,
};

fn build(key_type: &str, keywords: &[&str]) -> Request {
    Request::new(Verb::KeyTokenBuild).bytes(KEY_TYPE, format!("{key_type:8}")).rules(keywords)
}

#[test]
fn skeletons_by_type_and_keywords() {
    let mut processor = processor();
    for (key_type, keywords, vector) in [
        ("MAC", vec!["DES", "KEYLN8"], 0x0005_4D00_0300_0000),
        ("MAC", vec!["DOUBLE"], 0x0005_4D00_0341_0000u64),
        ("MAC", vec![], 0x0005_4D00_0300_0000),
        ("MAC", vec!["ANSIX9.9", "KEYLN16"], 0x1105_4D00_0341_0000),
        ("IPINENC", vec!["TRANSLAT"], 0x0021_4400_0341_0000),
        ("EXPORTER", vec!["NO-XPORT", "OPEX"], 0x0041_1100_0341_0000),
        ("KEYGENKY", vec!["UKPT"], token::unconfirmed::KEYGENKY_UKPT),
        ("DKYGENKY", vec!["DKYL2", "DDATA"], 0x0074_4200_0341_0000),
        ("SECMSG", vec!["SMKEY"], 0x000A_6000_0341_0000),
        ("SECMSG", vec!["SMPIN", "NO-XPORT"], 0x000A_1100_0341_0000),
        ("MAC", vec!["MIXED", "USECONFG"], 0x0005_4D00_0341_0000),
        ("DATA", vec!["TRIPLE"], 0x0000_7D00_0360_0000),
        ("DATA", vec!["TRIPLE-O"], 0x0000_7D00_03E1_0000),
        ("DATA", vec!["DOUBLE-O"], 0x0000_7D00_03C0_0000),
    ] {
        let bytes = skeleton(&mut processor, key_type, &keywords);
        assert_eq!(bytes[32..40], vector.to_be_bytes(), "{key_type} {keywords:?}");
        let token = DesToken::parse(&bytes).unwrap();
        assert!(token.wrapped().is_none());
        assert_eq!((bytes[0], bytes[6]), (1, 0x40));
    }
    let external = build("MAC", &["EXTERNAL", "DOUBLE", "WRAP-ECB"]).ok(&mut processor).bytes(KEY_TOKEN);
    assert_eq!(external[0], 2);
}

#[test]
fn a_given_control_vector_and_a_wrapped_key() {
    let mut processor = compatible_processor();
    let token = generated(&mut processor, "MAC", "DOUBLE");
    let request = build("USE-CV", &["INTERNAL", "CV", "KEY"])
        .bytes(CONTROL_VECTOR, &token[32..48])
        .bytes(KEY_VALUE, &token[16..32])
        .bytes(MASTER_KEY_VERIFICATION_NUMBER, &token[8..16]);
    assert_eq!(request.ok(&mut processor).bytes(KEY_TOKEN), token);
    let left_alone = request.clone().bytes(CONTROL_VECTOR, &token[32..40]);
    assert_eq!(left_alone.ok(&mut processor).bytes(KEY_TOKEN), token);
    request.clone().bytes(KEY_VALUE, &token[16..31]).refused(&mut processor, code::INVALID_PARAMETER);
    request.clone().bytes(CONTROL_VECTOR, &token[33..49]).refused(&mut processor, code::KEY_USAGE);
    request.bytes(CONTROL_VECTOR, &token[32..44]).refused(&mut processor, code::INVALID_PARAMETER);
}

#[test]
fn aes_tokens() {
    let mut processor = processor();
    for (length, bytes) in [("KEYLN16", 16usize), ("KEYLN24", 24), ("KEYLN32", 32)] {
        let request = build("DATA", &["INTERNAL", "AES", "KEY-CLR", length]).bytes(KEY_VALUE, [9; 32]);
        let token = AesToken::parse(&request.ok(&mut processor).bytes(KEY_TOKEN)).unwrap();
        assert!(token == AesToken::clear(&vec![9; bytes]).unwrap());
        let bare = build("DATA", &["INTERNAL", "AES", "NO-KEY", length]).ok(&mut processor).bytes(KEY_TOKEN);
        assert!(AesToken::parse(&bare).unwrap() == AesToken::skeleton(bytes).unwrap());
    }
    build("DATA", &["INTERNAL", "AES", "KEY-CLR"]).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    build("DATA", &["INTERNAL", "AES", "KEYLN8"]).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    build("DATA", &["EXTERNAL", "AES"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("DATA", &["INTERNAL", "AES", "NO-CV"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("DATA", &["INTERNAL", "AES", "XPORT-OK"]).refused(&mut processor, code::KEYWORD);
    build("MAC", &["INTERNAL", "AES"]).refused(&mut processor, code::KEYWORD);
    build("DATA", &["INTERNAL", "AES", "KEY", "KEYLN16"]).refused(&mut processor, code::KEYWORD_COMBINATION);
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    build("MAC", &["DOUBLE"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("MAC", &[]).refused(&mut processor, code::KEYWORD_COUNT);
    build("MAC", &["INTERNAL", "EXTERNAL"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("MAC", &["INTERNAL", "CLR8-ENC"]).refused(&mut processor, code::KEYWORD);
    for word in ["NOT31XPT", "T31XPTOK", "COMP-TAG", "NOCMPTAG"] {
        build("MAC", &["INTERNAL", word]).refused(&mut processor, code::KEYWORD);
    }
    build("SECMSG", &["INTERNAL"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("MAC", &["INTERNAL", "CVVKEY-A", "CVVKEY-B"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("DKYGENKY", &["INTERNAL", "KEYLN24"]).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    build("MAC", &["INTERNAL", "KEYLN24", "WRAP-ECB"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("EXPORTER", &["INTERNAL", "KBPK", "EXPORT"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("MAC", &["INTERNAL", "KBPK"]).refused(&mut processor, code::KEYWORD);
    build("MAC", &["INTERNAL", "KEY-CLR"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("MAC", &["INTERNAL", "CV", "ANY-MAC"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("KEYGENKY", &["INTERNAL"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    build("NOTYPE", &["INTERNAL"]).refused(&mut processor, code::KEYWORD);
}
