//! DES keys of three parts: of each type that has them, in each verb that takes the type, beside OpenSSL.

use crate::exchange::Keks;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{DesToken, KeyType};
use verb_requests::key_block::{block, export, import as import_block, token};
use verb_requests::keys::TRANSPORT;
use verb_requests::peer;
use verb_requests::pin::*;
use verb_requests::support::{
    Request, entered, generate, generated, mac, part, processor, skeleton, sym_key, text,
    verify as verify_mac,
};
use verb_requests::twin;
use wire::code;
use wire::verb::{
    Verb, clear_pin_generate, clear_pin_generate_alternate, encrypted_pin_generate, encrypted_pin_translate,
    key_generate as kgn, key_import as kim, key_part_import, key_token_build, mac_generate,
};

/// Keys of three parts, with odd parity.
const THREE: [u8; 24] =
    *b"\x13\x34\x57\x79\x9B\xBC\xDF\xF1\x02\x46\x8A\xCE\x13\x57\x9B\xDF\xFE\xDC\xBA\x98\x76\x54\x32\x10";
const OTHER_THREE: [u8; 24] =
    *b"\x23\x45\x67\x89\xAB\xCD\xEF\x01\x10\x32\x54\x76\x98\xBA\xDC\xFE\x45\x67\x89\xAB\xCD\xEF\x01\x23";
const KEK: [u8; 24] =
    *b"\x01\x23\x45\x67\x89\xAB\xCD\xEF\xFE\xDC\xBA\x98\x76\x54\x32\x10\x57\x64\x89\xB5\xCE\xE3\x01\x2C";
const PAN: &str = "401234567890";

/// Types of which there are keys of three parts.
const TYPES: &[KeyType] = &[
    KeyType::Data,
    KeyType::DataC,
    KeyType::DataM,
    KeyType::DataMv,
    KeyType::Cipher,
    KeyType::Encipher,
    KeyType::Decipher,
    KeyType::Mac,
    KeyType::MacVer,
    KeyType::IPinEnc,
    KeyType::OPinEnc,
    KeyType::PinGen,
    KeyType::PinVer,
    KeyType::Exporter,
    KeyType::OKeyXlat,
    KeyType::Importer,
    KeyType::IKeyXlat,
    KeyType::ImpPka,
];

fn odd(key: &[u8]) -> Vec<u8> {
    key.iter().map(|byte| byte ^ u8::from(byte.count_ones() % 2 == 0)).collect()
}

fn key_of(token: &[u8]) -> Vec<u8> {
    peer::unwrap_token(&sym_key(false), token)
}

/// Every type that the list names, and no other, has keys of three parts: from parts and generated.
#[test]
fn each_type_has_keys_from_three_parts_or_says_that_it_has_none() {
    let mut processor = processor();
    for key_type in KeyType::ALL {
        let has_three = TYPES.contains(key_type);
        assert_eq!(key_type.default_vector(KeyForm::Triple).is_some(), has_three, "{key_type:?}");
        let built = Request::new(Verb::KeyTokenBuild)
            .bytes(key_token_build::KEY_TYPE, format!("{:8}", key_type.name()))
            .rules(match key_type {
                KeyType::KeyGenKy => &["INTERNAL", "TRIPLE", "UKPT"],
                KeyType::SecMsg => &["INTERNAL", "TRIPLE", "SMPIN"],
                _ => &["INTERNAL", "TRIPLE"],
            });
        if !has_three {
            built.refused(&mut processor, code::KEY_LENGTH_KEYWORD);
            continue;
        }
        let entered = entered(&mut processor, key_type.name(), &["TRIPLE"], &THREE);
        assert_eq!(key_of(&entered), odd(&THREE), "{key_type:?}");
        let parsed = DesToken::parse(&entered).unwrap();
        assert_eq!((parsed.form(), parsed.is_enhanced()), (KeyForm::Triple, *key_type != KeyType::Data));
        if *key_type == KeyType::ImpPka {
            continue;
        }
        for length in ["KEYLN24", "TRIPLE-O"] {
            let token = generate(key_type.name(), length);
            let token = token.ok(&mut processor).bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
            let key = key_of(&token);
            assert!(key.len() == 24 && key[..8] != key[8..16] && key[8..16] != key[16..], "{key_type:?}");
        }
    }
}

#[test]
fn pin_blocks_go_between_keys_of_three_parts_and_of_two() {
    let mut processor = processor();
    let mut make = |key_type: &str, value: &[u8]| {
        let words: &[&str] = if value.len() == 24 { &["TRIPLE"] } else { &[] };
        entered(&mut processor, key_type, words, value)
    };
    let sides: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> = [&THREE[..], &KEY, &OTHER_THREE]
        .into_iter()
        .map(|value| (make("IPINENC", value), make("OPINENC", value), value.to_vec()))
        .collect();
    let (zero, pans, clear_block) = (profile("ISO-0", ""), (PAN, PAN), iso0("1234", PAN));
    for (inbound, _, from) in &sides {
        for (_, outbound, to) in &sides {
            for word in ["TRANSLAT", "REFORMAT"] {
                let given = under(from, &clear_block);
                let request = translate((inbound, outbound), &[word], (&zero, &zero), pans, &given);
                let there = request.ok(&mut processor).bytes(encrypted_pin_translate::PIN_BLOCK_OUT);
                assert_eq!(there, under(to, &clear_block), "{word}");
            }
        }
    }
}

/// IBM 3624: the validation data are enciphered under the whole key. Visa's PVV is defined for two parts.
#[test]
fn pins_are_made_and_verified_under_keys_of_three_parts_where_the_method_has_them() {
    let mut processor = processor();
    let generating = entered(&mut processor, "PINGEN", &["TRIPLE"], &THREE);
    let verifying = entered(&mut processor, "PINVER", &["TRIPLE"], &THREE);
    let inbound = entered(&mut processor, "IPINENC", &["TRIPLE"], &OTHER_THREE);
    let outbound = entered(&mut processor, "OPINENC", &["TRIPLE"], &OTHER_THREE);
    let validation = "4012345678901234";
    let intermediate = under(&THREE, &hex::<8>(validation));
    let digits: String = intermediate
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| TABLE.as_bytes()[usize::from(nibble)] as char)
        .collect();
    let made = generate_pin(&generating, [TABLE, validation, ""]).ok(&mut processor);
    assert_eq!(made.bytes(clear_pin_generate::RETURNED_RESULT)[..4], digits.as_bytes()[..4]);
    let zero = profile("ISO-0", "");
    let given = under(&OTHER_THREE, &iso0(&digits[..4], PAN));
    let request = encrypted((&generating, &outbound), "IBM-PIN", 4, [TABLE, validation, ""], &zero, PAN);
    assert_eq!(request.ok(&mut processor).bytes(encrypted_pin_generate::ENCRYPTED_PIN_BLOCK), given);
    let pair = (&inbound[..], &verifying[..]);
    let request = verify(pair, &["IBM-PIN"], &zero, PAN, &given, 4, [TABLE, validation, ""]);
    request.ok(&mut processor);
    let wrong = under(&OTHER_THREE, &iso0("0000", PAN));
    verify(pair, &["IBM-PIN"], &zero, PAN, &wrong, 4, [TABLE, validation, ""])
        .answers(&mut processor, code::PIN_NOT_VERIFIED);
    let pvv = ["401234567891", "0000", ""];
    verify(pair, &["VISA-PVV"], &zero, PAN, &given, 4, pvv).refused(&mut processor, code::KEY_USAGE);
    let offset =
        alternate((&inbound, &generating), &["IBM-PINO"], &zero, PAN, &given, 4, [TABLE, validation, ""]);
    let offset = offset.ok(&mut processor).bytes(clear_pin_generate_alternate::RETURNED_RESULT);
    assert_eq!(offset[..4], *b"0000");
    for (method, words) in
        [("PINGEN", "VISA-PVV"), ("PINVER", "VISA-PVV"), ("MAC", "CVVKEY-A"), ("MACVER", "AMEX-CSC")]
    {
        Request::new(Verb::KeyTokenBuild)
            .bytes(key_token_build::KEY_TYPE, format!("{method:8}"))
            .rules(&["INTERNAL", "TRIPLE", words])
            .refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    }
    let any = entered(&mut processor, "MAC", &["TRIPLE"], &THREE);
    value((&any, &[0; 64]), &["CVV-5"], ["4012345678901234", "9912", "101"])
        .refused(&mut processor, code::KEY_USAGE);
    codes_of(&any, &["GENERATE", "CSC-5"], "9912371234567890123").refused(&mut processor, code::KEY_USAGE);
}

fn generate_pin(key: &[u8], elements: [&str; 3]) -> Request {
    verb_requests::pin::generate(key, "IBM-PIN", (4, 4), elements)
}

/// ISO 9797-1 algorithm 3 takes the third part for its last step, as other implementations do.
#[test]
fn macs_are_made_under_keys_of_three_parts() {
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["TRIPLE"], &THREE);
    let verifying = entered(&mut processor, "MACVER", &["TRIPLE"], &THREE);
    let own = odd(&THREE);
    for length in [1, 7, 8, 9, 16, 40, 1000] {
        let text = text(length);
        for (word, expected) in [
            ("X9.19OPT", peer::retail_mac(&own, &peer::zero_padded(&text))),
            ("EMVMACD", peer::retail_mac(&own, &peer::emv_padded(&text))),
            ("TDES-MAC", peer::cbc_mac(&own, &peer::zero_padded(&text))),
        ] {
            let words = [word, "MACLEN8"];
            let made = mac(&key, &words, &text).ok(&mut processor).bytes(mac_generate::MAC);
            assert_eq!(made, expected, "{word} {length}");
            verify_mac(&verifying, &words, &text, &made).ok(&mut processor);
            let mut wrong = made.clone();
            wrong[7] ^= 1;
            verify_mac(&verifying, &words, &text, &wrong).answers(&mut processor, code::VERIFICATION_FAILED);
        }
        mac(&key, &["X9.9-1"], &text).refused(&mut processor, code::KEY_USAGE);
    }
    // In segments, the third part comes last alone.
    let text = text(29);
    let first = mac(&key, &["X9.19OPT", "FIRST"], &text[..16]).ok(&mut processor);
    let vector = first.bytes(mac_generate::CHAINING_VECTOR);
    let last = mac(&key, &["X9.19OPT", "LAST", "MACLEN8"], &text[16..]);
    let made = last.bytes(mac_generate::CHAINING_VECTOR, vector).ok(&mut processor);
    assert_eq!(made.bytes(mac_generate::MAC), peer::retail_mac(&own, &peer::zero_padded(&text)));
}

fn keks(processor: &mut cca::Processor, value: &[u8]) -> Keks {
    let words: &[&str] = if value.len() == 24 { &["TRIPLE"] } else { &[] };
    Keks {
        importer: entered(processor, "IMPORTER", words, value),
        exporter: entered(processor, "EXPORTER", words, value),
    }
}

/// Keys leave in external tokens under a key of three parts and come back; the book's computation opens them.
#[test]
fn keys_travel_under_keys_of_three_parts() {
    let mut processor = processor();
    let three = keks(&mut processor, &KEK);
    for key_type in TYPES.iter().copied().filter(|key_type| *key_type != KeyType::ImpPka) {
        for length in ["KEYLN16", "KEYLN24"] {
            let source = generated(&mut processor, key_type.name(), length);
            let there = three.exported(&mut processor, &source);
            let parsed = DesToken::parse(&there).unwrap();
            assert_eq!(parsed.is_enhanced(), length == "KEYLN24" && key_type != KeyType::Data);
            assert_eq!(peer::unwrap_token(&odd(&KEK), &there), key_of(&source), "{key_type:?} {length}");
            let back = three.imported(&mut processor, &there);
            assert_eq!((key_of(&back), &back[32..48]), (key_of(&source), &source[32..48]), "{key_type:?}");
        }
    }
    // A key of three parts is not under one of two.
    let two = keks(&mut processor, &TRANSPORT);
    let source = generated(&mut processor, "IPINENC", "KEYLN24");
    two.export("TOKEN", &source).refused(&mut processor, code::STRENGTH);
}

/// The parts of a key in an external token may not change places or be repeated: a key of one part three times is
/// single DES, which is searched in a day.
#[test]
fn parts_of_a_key_of_three_parts_are_bound_to_each_other() {
    let mut processor = processor();
    let keks = keks(&mut processor, &KEK);
    let source = entered(&mut processor, "OPINENC", &["TRIPLE"], &THREE);
    let there = keks.exported(&mut processor, &source);
    let attempt = |order: [usize; 3], wrapping: u8| {
        let mut token = there.clone();
        let part = |at: usize| if at < 2 { 16 + 8 * at } else { 48 };
        for (to, from) in order.into_iter().enumerate() {
            token[part(to)..part(to) + 8].copy_from_slice(&there[part(from)..part(from) + 8]);
        }
        token[7] = wrapping;
        sealed(token)
    };
    // Where the original wrapping would be taken, repeated parts would be one key; it is refused from the start.
    for order in [[0, 1, 2], [0, 0, 0], [1, 1, 1], [1, 0, 2], [0, 1, 0]] {
        keks.import("TOKEN", &attempt(order, 0)).refused(&mut processor, code::WRAPPING_BIT);
    }
    let mut keys = vec![key_of(&source)];
    for order in [[0, 0, 0], [1, 1, 1], [2, 2, 2], [1, 0, 2], [0, 2, 1], [0, 1, 0], [0, 1, 1]] {
        let reply = keks.import("TOKEN", &attempt(order, there[7])).run(&mut processor);
        if !reply.codes.has_output() {
            continue;
        }
        let key = key_of(&reply.bytes(kim::TARGET_KEY_IDENTIFIER));
        let parts: Vec<&[u8]> = key.chunks(8).collect();
        assert!(parts[0] != parts[1] && parts[1] != parts[2], "{order:?}");
        assert!(!keys.contains(&key), "{order:?}");
        keys.push(key);
    }
    // The vector of a shorter key does not open it either.
    let mut shorter = there.clone();
    shorter[32..48].copy_from_slice(&KeyType::OPinEnc.default_vector(KeyForm::Double).unwrap().to_bytes());
    keks.import("TOKEN", &sealed(shorter)).refused(&mut processor, code::TOKEN_INVALID);
}

/// A control vector that states three parts for a type or a use that has two is refused when its key comes in.
#[test]
fn keys_of_types_without_three_parts_do_not_come_in_with_them() {
    let mut processor = processor();
    let keks = keks(&mut processor, &KEK);
    for (key_type, words) in [
        (KeyType::DKyGenKy, &["DKYL0", "DMAC"][..]),
        (KeyType::KeyGenKy, &["UKPT"]),
        (KeyType::Mac, &["CVVKEY-A"]),
        (KeyType::PinVer, &["VISA-PVV"]),
        (KeyType::CipherXl, &[]),
    ] {
        let vector = key_type.vector_with(KeyForm::Double, words.iter().copied()).unwrap();
        let vector = vector.with_form(KeyForm::Triple);
        assert!(!KeyType::has_length(vector));
        let token = DesToken::skeleton(Origin::External, KeyForm::Triple, vector).unwrap();
        let token = token.with_key([0; 8], &[5; 24]).unwrap().to_bytes();
        keks.import("TOKEN", &token).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    }
}

/// The token with the validation value of its bytes.
fn sealed(mut token: Vec<u8>) -> Vec<u8> {
    let sum = token[..60]
        .chunks(4)
        .fold(0u32, |sum, word| sum.wrapping_add(u32::from_be_bytes(word.try_into().unwrap())));
    token[60..].copy_from_slice(&sum.to_be_bytes());
    token
}

#[test]
fn key_encrypting_keys_have_three_different_parts() {
    let mut processor = processor();
    let same =
        |at: [usize; 3]| -> Vec<u8> { at.iter().flat_map(|at| THREE[8 * at..8 * at + 8].to_vec()).collect() };
    for order in [[0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 1, 0]] {
        let token = skeleton(&mut processor, "IMPORTER", &["TRIPLE"]);
        let first = part(&token, "FIRST", &same(order)).ok(&mut processor);
        part(&first.bytes(key_part_import::KEY_IDENTIFIER), "LAST", &[0; 24])
            .refused(&mut processor, code::KEY_REPLICATED);
    }
}

/// A block of a payment HSM under a protection key of three parts, and what comes out.
#[test]
fn blocks_come_in_and_leave_under_protection_keys_of_three_parts() {
    let mut processor = processor();
    let value = hex::<24>("260892192061C8760BDF235E1619B057B334FED0EFA74F32");
    let keks = keks(&mut processor, &value);
    let text =
        "B0096P0TE00E000087468EC5A87BB394D5A1A0BD92CE4275477108CCE6BA8446346D0ECDBAAB72C6A9D62F8F685A50F5";
    let reply = import_block(text, &keks.importer, &["INTERNAL"]).ok(&mut processor);
    let key = hex::<24>("F039121BEC83D26B169BDCD5B22AAF8FF039121BEC83D26B");
    assert_eq!(odd(&key_of(&token(&reply))), odd(&key));
    let words = ["VARDRV-B", "PINENC", "ENC-ONLY", "EXP-TRST"];
    let again = block(&export(&token(&reply), &keks.exporter, &words).ok(&mut processor));
    assert_eq!(odd(&twin::opened(&value, &again)[2..26]), odd(&key));
    // A protection key of two parts is weaker than the key.
    let two = self::keks(&mut processor, &TRANSPORT);
    export(&token(&reply), &two.exporter, &words).refused(&mut processor, code::STRENGTH);
}

/// A key that protects blocks alone (K1) does that, and wraps, opens, tests and translates no token.
#[test]
fn a_key_for_blocks_alone_wraps_no_token() {
    let mut processor = processor();
    let blocks =
        |processor: &mut cca::Processor, key_type| entered(processor, key_type, &["TRIPLE", "KBPK"], &KEK);
    let alone =
        Keks { importer: blocks(&mut processor, "IMPORTER"), exporter: blocks(&mut processor, "EXPORTER") };
    let whole = keks(&mut processor, &KEK);
    let source = generated(&mut processor, "OPINENC", "KEYLN24");
    let words = ["VARDRV-B", "PINENC", "ENC-ONLY", "EXP-ANY"];
    let text = block(&export(&source, &alone.exporter, &words).ok(&mut processor));
    let back = token(&import_block(&text, &alone.importer, &["INTERNAL"]).ok(&mut processor));
    assert_eq!(key_of(&back), key_of(&source));
    let there = whole.exported(&mut processor, &source);
    alone.export("TOKEN", &source).refused(&mut processor, code::KEY_USAGE);
    alone.import("TOKEN", &there).refused(&mut processor, code::KEY_USAGE);
    for kek in [&alone.importer, &alone.exporter] {
        use wire::verb::key_test_extended as kytx;
        Request::new(Verb::KeyTestExtended)
            .rules(&["GENERATE", "ENC-ZERO"])
            .bytes(kytx::KEY_IDENTIFIER, &there)
            .bytes(kytx::KEK_KEY_IDENTIFIER, kek)
            .refused(&mut processor, code::KEY_USAGE);
    }
    // It leaves as K1, and as that alone; a key that wraps tokens may leave as one that does not.
    for (source, usage, expected) in [
        (&alone.exporter, "KEK-WRAP", code::OK),
        (&alone.exporter, "KEK", code::KEY_USAGE),
        (&whole.exporter, "KEK-WRAP", code::OK),
    ] {
        let asked = export(source, &whole.exporter, &["VARDRV-B", usage, "ENC-ONLY", "EXP-ANY"]);
        if expected != code::OK {
            asked.refused(&mut processor, expected);
            continue;
        }
        let text = block(&asked.ok(&mut processor));
        let back = token(&import_block(&text, &whole.importer, &["INTERNAL"]).ok(&mut processor));
        assert!(DesToken::parse(&back).unwrap().control_vector().protects_blocks_alone());
    }
    let translating = entered(&mut processor, "OKEYXLAT", &["TRIPLE"], &KEK);
    export(&translating, &whole.exporter, &["VARDRV-B", "KEK-WRAP", "ENC-ONLY", "EXP-ANY"])
        .refused(&mut processor, code::KEY_USAGE);
}
