//! Key_Token_Parse: what it says of a token builds the token again.

use token::control_vector::{KeyForm, bit};
use token::des::Origin;
use token::{ControlVector, DesToken, KeyType};
use verb_requests::support::*;
use wire::code;
use wire::verb::{Verb, key_token_build, key_token_parse as ktp};

fn parse(token: &[u8], room: i64) -> Request {
    Request::new(Verb::KeyTokenParse).bytes(ktp::KEY_TOKEN, token).integer(ktp::RULE_ARRAY_COUNT, room)
}

fn words(reply: &Reply) -> Vec<String> {
    let words = reply.bytes(ktp::RULE_ARRAY);
    assert_eq!(reply.integer(ktp::RULE_ARRAY_COUNT) as usize, words.len() / 8);
    words.chunks(8).map(|word| String::from_utf8(word.to_vec()).unwrap().trim_end().to_owned()).collect()
}

#[test]
fn what_is_parsed_builds_the_same_token() {
    let mut processor = processor();
    let mut tried = 0;
    for key_type in KeyType::ALL.iter().copied() {
        for form in
            [KeyForm::Single, KeyForm::Double, KeyForm::DoubleUnique, KeyForm::Triple, KeyForm::TripleUnique]
        {
            let vector = match key_type {
                KeyType::KeyGenKy => key_type.vector_with(form, ["UKPT"]).ok(),
                _ => key_type.default_vector(form),
            };
            let Some(vector) = vector else { continue };
            let form = vector.form().unwrap();
            for origin in [Origin::Internal, Origin::External] {
                let skeleton = DesToken::skeleton(origin, form, vector).unwrap();
                let full = skeleton.with_key([0xAB; 8], &vec![7; form.key_bytes()]).unwrap();
                for token in [skeleton, full] {
                    let bytes = token.to_bytes();
                    let reply = parse(&bytes, 32).ok(&mut processor);
                    let found = words(&reply);
                    assert_eq!(found[0] == "INTERNAL", origin == Origin::Internal);
                    assert_eq!(found.contains(&"KEY".to_owned()), token.wrapped().is_some());
                    assert_eq!(reply.bytes(ktp::CONTROL_VECTOR), vector.to_bytes());
                    let (pattern, value) =
                        (reply.bytes(ktp::MASTER_KEY_VERIFICATION_PATTERN_V00), reply.bytes(ktp::KEY_VALUE));
                    assert_eq!((&pattern[..], &value[..]), (&bytes[8..16], &bytes[16..32]));
                    let said = reply.bytes(ktp::KEY_TYPE);
                    assert_eq!(KeyType::from_name(&said), KeyType::of(vector));
                    let again: Vec<&str> =
                        found.iter().map(String::as_str).filter(|word| *word != "CV").collect();
                    let built = Request::new(Verb::KeyTokenBuild)
                        .bytes(key_token_build::KEY_TYPE, &said)
                        .rules(&again)
                        .bytes(key_token_build::KEY_VALUE, [&bytes[16..32], &bytes[48..56]].concat())
                        .bytes(key_token_build::MASTER_KEY_VERIFICATION_NUMBER, pattern)
                        .ok(&mut processor)
                        .bytes(key_token_build::KEY_TOKEN);
                    assert_eq!(built, bytes, "{key_type:?} {form:?} {found:?}");
                    let (most, short) = (found.len() as i64, found.len() as i64 - 1);
                    assert_eq!(words(&parse(&bytes, most).ok(&mut processor)), found);
                    let reply = parse(&bytes, short).answers(&mut processor, code::RULE_ARRAY_TOO_SMALL);
                    assert_eq!(reply.integer(ktp::RULE_ARRAY_COUNT), most);
                    assert!(
                        reply.bytes(ktp::RULE_ARRAY).is_empty() && reply.bytes(ktp::KEY_VALUE).is_empty()
                    );
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn what_keywords_do_not_say_is_told_and_what_is_no_des_token_refused() {
    let mut processor = processor();
    let mac = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
    let unsaid = (0..64).filter_map(|at| mac.with_bits(bit(at), true).ok());
    let mut unsaid =
        unsaid.filter(|vector| KeyType::of(*vector).and_then(|of| of.keywords_of(*vector)).is_none());
    let odd = unsaid.find(|vector| vector.form() == Some(KeyForm::Double)).unwrap();
    let token = DesToken::skeleton(Origin::Internal, KeyForm::Double, odd).unwrap().to_bytes();
    let reply = parse(&token, 32).answers(&mut processor, code::VECTOR_NOT_PARSED);
    assert_eq!(words(&reply), ["INTERNAL", "NO-KEY", "CV", "DOUBLE"]);
    assert_eq!(reply.bytes(ktp::CONTROL_VECTOR), odd.to_bytes());
    let zero = DesToken::skeleton(Origin::Internal, KeyForm::Double, ControlVector::ZERO).unwrap();
    let reply = parse(&zero.to_bytes(), 32).ok(&mut processor);
    assert_eq!(
        (words(&reply), reply.bytes(ktp::KEY_TYPE)),
        (vec!["INTERNAL".into(), "NO-KEY".into(), "NO-CV".into(), "DOUBLE".into()], b"DATA    ".to_vec())
    );
    // A key in this system's own form is not wrapped in a way that has a keyword.
    let own = generated(&mut processor, "MAC", "DOUBLE");
    let found = words(&parse(&own, 32).domain(EMPTY_DOMAIN).ok(&mut processor));
    assert_eq!(found, ["INTERNAL", "KEY", "CV", "DOUBLE", "XPORT-OK", "ANY-MAC"]);
    let aes = imported(&mut processor, "AES", &[5; 16]);
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    for other in [&aes[..], &label, &[0; 64], &[0x1F; 64]] {
        let codes = parse(other, 32).told(&mut processor).codes;
        assert!(
            codes == code::TOKEN_INVALID || codes == code::INTERNAL_TVV || codes == code::TOKEN_VERSION,
            "{codes}"
        );
    }
    parse(&label, 32).refused(&mut processor, code::TOKEN_INVALID);
    let mut changed = own.clone();
    changed[9] ^= 1;
    parse(&changed, 32).refused(&mut processor, code::INTERNAL_TVV);
}
