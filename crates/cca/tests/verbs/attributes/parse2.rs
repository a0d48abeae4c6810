//! Key_Token_Parse2: what it says of a token builds the token again.

use crate::variable::{build2, generated2};
use token::variable::{VariableKey, VariableToken, VariableType};
use verb_requests::support::*;
use wire::code;
use wire::verb::{Verb, key_token_build2 as ktb2, key_token_parse2 as ktp2};

/// A request with room for everything.
pub fn parse(token: &[u8]) -> Request {
    Request::new(Verb::KeyTokenParse2)
        .counted(ktp2::KEY_TOKEN_LENGTH, ktp2::KEY_TOKEN, token)
        .integer(ktp2::RULE_ARRAY_COUNT, 64)
        .integer(ktp2::PAYLOAD_BIT_LENGTH, 8 * 1024)
        .integer(ktp2::KEY_VERIFICATION_PATTERN_LENGTH, 16)
        .integer(ktp2::KEY_NAME_LENGTH, 64)
        .integer(ktp2::TLVDATA_LENGTH, 0)
        .integer(ktp2::USER_ASSOC_DATA_LENGTH, 255)
}

fn words(reply: &Reply) -> Vec<String> {
    let words = reply.bytes(ktp2::RULE_ARRAY);
    assert_eq!(reply.integer(ktp2::RULE_ARRAY_COUNT) as usize, words.len() / 8);
    words.chunks(8).map(|word| String::from_utf8(word.to_vec()).unwrap().trim_end().to_owned()).collect()
}

#[test]
fn what_is_parsed_builds_the_same_skeleton() {
    let mut processor = processor();
    for (origin, algorithm, own) in [
        ("INTERNAL", "AES", &["CIPHER"][..]),
        ("EXTERNAL", "AES", &["CIPHER", "ENCRYPT", "C-XLATE", "NOEX-SYM"]),
        ("INTERNAL", "AES", &["CIPHER", "V1PYLD", "ANY-MODE", "XPRT-RAW"]),
        ("INTERNAL", "AES", &["MAC", "GENERATE", "CMAC"]),
        ("INTERNAL", "AES", &["EXPORTER", "EXPORT", "GEN-PUB", "WR-AES", "WR-RSA"]),
        ("INTERNAL", "AES", &["IMPORTER", "IMPORT", "WR-HMAC", "NOEXAASY"]),
        ("INTERNAL", "HMAC", &["MAC", "VERIFY", "SHA-256", "SHA-512", "NOEXUASY"]),
        ("EXTERNAL", "HMAC", &["MAC", "GENERATE"]),
    ] {
        let name = format!("{:64}", "A.NAME");
        let build = build2(&[&[origin, algorithm], own].concat())
            .counted(ktb2::KEY_NAME_LENGTH, ktb2::KEY_NAME, name.as_bytes())
            .counted(ktb2::USER_ASSOCIATED_DATA_LENGTH, ktb2::USER_ASSOCIATED_DATA, b"owner's data");
        let token = build.ok(&mut processor).bytes(ktb2::TARGET_KEY_TOKEN);
        let reply = parse(&token).domain(EMPTY_DOMAIN).ok(&mut processor);
        let said = words(&reply);
        assert_eq!((&said[0][..], &said[1][..], &said[3][..]), (origin, "NO-KEY", algorithm));
        assert_eq!(reply.bytes(ktp2::KEY_NAME), name.as_bytes());
        assert_eq!(reply.bytes(ktp2::USER_ASSOC_DATA), b"owner's data");
        let kind = String::from_utf8(reply.bytes(ktp2::KEY_TYPE)).unwrap();
        let numbers = [
            ktp2::KEY_MATERIAL_STATE,
            ktp2::KEY_VERIFICATION_TYPE,
            ktp2::KEY_WRAPPING_METHOD,
            ktp2::KEY_HASH_METHOD,
            ktp2::PAYLOAD_BIT_LENGTH,
            ktp2::KEY_VERIFICATION_PATTERN_LENGTH,
        ];
        assert_eq!(numbers.map(|position| reply.integer(position)), [0; 6]);
        let again: Vec<&str> = said.iter().map(String::as_str).chain([kind.trim_end()]).collect();
        let built = build2(&again)
            .counted(ktb2::KEY_NAME_LENGTH, ktb2::KEY_NAME, name.as_bytes())
            .counted(ktb2::USER_ASSOCIATED_DATA_LENGTH, ktb2::USER_ASSOCIATED_DATA, b"owner's data")
            .ok(&mut processor)
            .bytes(ktb2::TARGET_KEY_TOKEN);
        assert_eq!(built, token, "{said:?}");
    }
}

#[test]
fn fields_of_keys_are_as_the_token_has_them() {
    let mut processor = processor();
    let token = generated2(&mut processor, "AES", 192, &["CIPHER"]);
    let parsed = VariableToken::parse(&token).unwrap();
    let VariableKey::Wrapped { payload, .. } = parsed.key() else { panic!("a wrapped key") };
    let reply = parse(&token).ok(&mut processor);
    assert_eq!(reply.bytes(ktp2::PAYLOAD), *payload);
    assert_eq!(reply.integer(ktp2::PAYLOAD_BIT_LENGTH) as usize, 8 * payload.len());
    assert_eq!(reply.bytes(ktp2::KEY_VERIFICATION_PATTERN), token[10..18]);
    let numbers = [ktp2::KEY_MATERIAL_STATE, ktp2::KEY_VERIFICATION_TYPE, ktp2::KEY_WRAPPING_METHOD];
    assert_eq!(numbers.map(|position| reply.integer(position)), [3, 1, 2]);
    assert!(!words(&reply).iter().any(|word| word == "NO-KEY" || word == "KEY-CLR"));
    // A clear key is its payload.
    let clear = build2(&["INTERNAL", "AES", "CIPHER", "KEY-CLR"])
        .integer(ktb2::CLEAR_KEY_BIT_LENGTH, 128)
        .bytes(ktb2::CLEAR_KEY_VALUE, [0x5A; 16])
        .ok(&mut processor)
        .bytes(ktb2::TARGET_KEY_TOKEN);
    let reply = parse(&clear).ok(&mut processor);
    assert_eq!((reply.bytes(ktp2::PAYLOAD), reply.integer(ktp2::KEY_MATERIAL_STATE)), (vec![0x5A; 16], 1));
    assert_eq!(words(&reply)[1], "KEY-CLR");
    // Fields without room.
    let most = words(&reply).len() as i64;
    let reply = parse(&clear).integer(ktp2::RULE_ARRAY_COUNT, most - 1);
    let reply = reply.answers(&mut processor, code::RULE_ARRAY_TOO_SMALL);
    assert_eq!(reply.integer(ktp2::RULE_ARRAY_COUNT), most);
    assert!(reply.bytes(ktp2::PAYLOAD).is_empty());
    let short = parse(&clear).integer(ktp2::PAYLOAD_BIT_LENGTH, 127);
    short.refused(&mut processor, code::BUFFER_TOO_SMALL);
    parse(&clear).integer(ktp2::PAYLOAD_BIT_LENGTH, 128).ok(&mut processor);
}

#[test]
fn what_keywords_do_not_say_is_told_and_what_is_no_such_token_refused() {
    let mut processor = processor();
    let derived = VariableToken::skeleton(
        token::des::Origin::Internal,
        VariableToken::default_payload(VariableType::Mac),
        token::variable::Attributes::new(VariableType::Mac, ["GENERATE", "CMAC"], None).unwrap(),
    );
    let derived = derived.unwrap().to_bytes();
    let key = build2(&["INTERNAL", "AES", "DKYGENKY", "D-MAC", "DKYL0"])
        .counted(ktb2::TOKEN_DATA_LENGTH, ktb2::TOKEN_DATA, &derived)
        .ok(&mut processor)
        .bytes(ktb2::TARGET_KEY_TOKEN);
    parse(&key).answers(&mut processor, code::VECTOR_NOT_PARSED);
    let des = generated(&mut processor, "MAC", "DOUBLE");
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    for other in [&des[..], &label, &[], &[0; 64], &[0x1F; 64]] {
        let reply = parse(other).told(&mut processor);
        assert!(!reply.codes.has_output(), "{}", reply.codes);
    }
    let token = generated2(&mut processor, "HMAC", 256, &["MAC", "GENERATE"]);
    for length in [0, 1, 45, token.len() - 1] {
        assert!(!parse(&token[..length]).told(&mut processor).codes.has_output(), "{length}");
    }
}
