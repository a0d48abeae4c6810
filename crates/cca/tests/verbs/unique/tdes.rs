//! Keys by DUKPT with TDES.

use crate::chip::odd;
use crate::pin::hex;
use token::control_vector::bit;
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::{DesToken, KeyType};
use verb_requests::support::{compatible_processor, entered, skeleton};
use verb_requests::twin;
use verb_requests::unique::*;
use verb_requests::uses::ways::TRANSPORT;
use wire::code;
use wire::point::Point;
use wire::verb::unique_key_derive::*;

/// ANSI X9.24-1:2009, annex A.4.
#[test]
fn keys_are_the_published_ones() {
    let mut keys = Keys::new();
    let fields = [keys.des("CIPHER", &[]), keys.des("MAC", &[]), keys.des("IPINENC", &[])];
    let fields = fields.each_ref().map(|field| &field[..]);
    let request = unique(&["K1DATA", "K2MAC", "K3PIN"], &keys.base, &SERIAL, fields, &[]);
    let made = tokens(&request.ok(&mut keys.processor));
    for ((token, skeleton), expected) in made.iter().zip(fields).zip([
        "448D3F076D8304036A55A3D7E0055A78",
        "042666B4918430A368DE9628D03984C9",
        "042666B49184CF5C68DE9628D0397B36",
    ]) {
        assert_eq!(value(token), odd(&hex::<16>(expected)));
        let vector = |token: &[u8]| DesToken::parse(token).unwrap().control_vector();
        assert_eq!(vector(token), vector(skeleton));
    }
    // The order of keywords does not matter, and each makes its key alone.
    for (at, word) in ["K1DATA", "K2MAC", "K3PIN"].iter().enumerate() {
        let alone = tokens(&unique(&["DES", word], &keys.base, &SERIAL, fields, &[]).ok(&mut keys.processor));
        assert_eq!(value(&alone[at]), value(&made[at]));
        assert!((0..3).all(|other| other == at || alone[other].is_empty()));
    }
}

#[test]
fn an_initial_key_leaves_in_a_block_that_says_whose_it_is() {
    let mut keys = Keys::new();
    let words = ["K3IPEK", "TR31-TOK"];
    // Whatever the counter says, zero and too many bits too.
    for low in [[0xE0, 0, 0], [0xE0, 0, 1], [0xFF, 0xFF, 0xFF]] {
        let mut serial = SERIAL;
        serial[7..].copy_from_slice(&low);
        let request = unique(&words, &keys.base, &serial, [&[]; 3], &keys.exporter);
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        let text = block(&request.points(everything()).ok(&mut keys.processor));
        assert_eq!(&text[..40], "B0104B1TX00N0100KS18FFFF9876543210E00000");
        let payload = twin::opened(&TRANSPORT, &text);
        assert_eq!(payload[..18], [&[0, 128][..], &hex::<16>("6AC292FAA1315B4D858AB3A3D7D5933A")].concat());
        assert_eq!(payload.len(), 24);
    }
    let request = unique(&words, &keys.base, &SERIAL, [&[]; 3], &keys.exporter).points(everything());
    let (length, _) = FIELDS[2];
    let short = request.clone().integer(length, 103).answers(&mut keys.processor, code::BUFFER_TOO_SMALL);
    assert_eq!(short.integer(length), 104);
    request
        .clone()
        .bytes(GENERATED_KEY_IDENTIFIER3, label())
        .refused(&mut keys.processor, code::LABEL_NOT_FOUND);
    // Under a key that imports, one of AES, and none.
    let importer = entered(&mut keys.processor, "IMPORTER", &[], &TRANSPORT);
    let under = |kek: &[u8]| unique(&words, &keys.base, &SERIAL, [&[]; 3], kek).points(everything());
    let (base, requests) = (keys.base.clone(), [under(&importer), under(&keys.aes_exporter), under(&[])]);
    for (request, codes) in requests.iter().zip([code::KEY_USAGE, code::TOKEN_INVALID, code::TOKEN_INVALID]) {
        request.refused(&mut keys.processor, codes);
    }
    // Without the initial key there is no transport key.
    let field = keys.des("MAC", &[]);
    let fields = in_field("K2MAC", &field);
    unique(&["K2MAC"], &base, &SERIAL, fields, &keys.exporter)
        .refused(&mut keys.processor, code::TOKEN_INVALID);
}

#[test]
fn what_a_base_key_keeps_its_keys_keep() {
    let mut keys = Keys::new();
    let free = keys.des("MAC", &[]);
    let kept = keys.des("MAC", &["NO-XPORT"]);
    let base = entered(&mut keys.processor, "KEYGENKY", &["UKPT", "NO-XPORT"], &BASE);
    let of = |base: &[u8], field: &[u8]| unique(&["K2MAC"], base, &SERIAL, in_field("K2MAC", field), &[]);
    of(&base, &free).refused(&mut keys.processor, code::KEY_USAGE);
    let token = tokens(&of(&base, &kept).ok(&mut keys.processor))[1].clone();
    assert!(!DesToken::parse(&token).unwrap().control_vector().bit(17));
    let initial = |base: &[u8]| {
        unique(&["K3IPEK", "TR31-TOK"], base, &SERIAL, [&[]; 3], &keys.exporter).points(everything())
    };
    let (initial_kept, mut in_tokens) = (initial(&base), DesToken::parse(&keys.base).unwrap());
    initial_kept.refused(&mut keys.processor, code::KEY_USAGE);
    // One that may leave in tokens and not in blocks.
    let vector = in_tokens.control_vector().with_bits(bit(CONTROL_VECTOR_BIT_NO_TR31), true).unwrap();
    in_tokens = in_tokens.without_key().with_vector(vector).unwrap();
    let base = verb_requests::key_block::of_vector(&mut keys.processor, in_tokens.form(), vector, &BASE);
    initial(&base).refused(&mut keys.processor, code::KEY_USAGE);
    let token = tokens(&of(&base, &free).ok(&mut keys.processor))[1].clone();
    assert!(DesToken::parse(&token).unwrap().control_vector().bit(CONTROL_VECTOR_BIT_NO_TR31));
}

#[test]
fn tokens_are_of_the_keywords_types_and_of_double_length() {
    let mut keys = Keys::new();
    for key_type in KeyType::ALL {
        let field = match key_type {
            KeyType::Cipher | KeyType::Encipher | KeyType::Decipher | KeyType::Mac | KeyType::MacVer => {
                keys.des(key_type.name(), &[])
            }
            KeyType::Data => keys.des("DATA", &[]),
            _ => {
                let (form, origin) = (key_type.default_form(), token::des::Origin::Internal);
                let Ok(vector) = key_type.vector_with(form, []) else { continue };
                // A transport key has no plain token.
                let Ok(token) = DesToken::skeleton(origin, form, vector) else { continue };
                token.to_bytes().to_vec()
            }
        };
        for (word, types) in [
            ("K1DATA", &["CIPHER", "ENCIPHER", "DECIPHER"][..]),
            ("K2MAC", &["MAC", "MACVER"]),
            ("K3PIN", &["IPINENC", "OPINENC"]),
        ] {
            let request = keys.one(word, &SERIAL, &field);
            if types.contains(&key_type.name()) {
                request.ok(&mut keys.processor);
            } else {
                request.refused(&mut keys.processor, code::KEY_USAGE);
            }
        }
    }
    let single = skeleton(&mut keys.processor, "MAC", &["SINGLE"]);
    keys.one("K2MAC", &SERIAL, &single).refused(&mut keys.processor, code::KEY_USAGE);
    for (field, codes) in [
        (vec![0; 64], code::TOKEN_INVALID),
        (Vec::new(), code::TOKEN_INVALID),
        (aes(token::variable::VariableType::Mac, &["GENERATE", "CMAC"]), code::TOKEN_INVALID),
        (label(), code::LABEL_NOT_FOUND),
    ] {
        keys.one("K2MAC", &SERIAL, &field).refused(&mut keys.processor, codes);
    }
    let field = keys.des("MAC", &[]);
    let (length, _) = FIELDS[1];
    keys.one("K2MAC", &SERIAL, &field)
        .integer(length, 63)
        .refused(&mut keys.processor, code::BUFFER_TOO_SMALL);
    let not_base = entered(&mut keys.processor, "KEYGENKY", &["CLR8-ENC"], &BASE);
    unique(&["K2MAC"], &not_base, &SERIAL, in_field("K2MAC", &field), &[])
        .refused(&mut keys.processor, code::KEY_USAGE);
    unique(&["K2MAC"], &[0; 64], &SERIAL, in_field("K2MAC", &field), &[])
        .refused(&mut keys.processor, code::TOKEN_INVALID);
}

#[test]
fn serial_numbers_are_of_transactions() {
    let mut keys = Keys::new();
    let field = keys.des("OPINENC", &[]);
    for (low, codes) in [
        ([0xE0, 0, 0], code::SERIAL_COUNTER),
        ([0xE0, 0x07, 0xFF], code::SERIAL_COUNTER),
        ([0xE0, 3, 0xFF], code::OK),
    ] {
        let mut serial = SERIAL;
        serial[7..].copy_from_slice(&low);
        let reply = keys.one("K3PIN", &serial, &field).told(&mut keys.processor);
        assert_eq!(reply.codes, codes, "{low:?}");
    }
    for length in [0, 9, 11, 20] {
        keys.one("K3PIN", &vec![1; length], &field).refused(&mut keys.processor, code::KEY_SERIAL);
    }
    unique(&["K3IPEK", "TR31-TOK"], &keys.base, &SERIAL[..9], [&[]; 3], &keys.exporter)
        .points(everything())
        .refused(&mut keys.processor, code::KEY_SERIAL);
}

#[test]
fn keywords_that_do_not_go_together_are_refused() {
    let mut keys = Keys::new();
    let cases: [(&[&str], _); 15] = [
        (&[], code::KEYWORD_COUNT),
        (&["DES"], code::KEYWORD_COMBINATION),
        (&["K3IPEK"], code::KEYWORD_COMBINATION),
        (&["K3PIN", "TR31-TOK"], code::KEYWORD_COMBINATION),
        (&["K3IPEK", "TDES-TOK"], code::KEYWORD),
        (&["K3IPEK", "TR31-TOK", "K1DATA"], code::KEYWORD_COMBINATION),
        (&["K3IPEK", "TR31-TOK", "K2MAC"], code::KEYWORD_COMBINATION),
        (&["K3IPEK", "TR31-TOK", "WRAP-ENH"], code::KEYWORD_COMBINATION),
        (&["K3PIN", "K3IPEK"], code::KEYWORD_COMBINATION),
        (&["K2MAC", "PIN-DATA"], code::KEYWORD_COMBINATION),
        (&["A-DUKPT", "K1DATA", "K2MAC"], code::KEYWORD_COMBINATION),
        (&["A-DUKPT", "K2MAC", "K3PIN"], code::KEYWORD_COMBINATION),
        (&["A-DUKPT", "K3PIN", "PIN-DATA"], code::KEYWORD_COMBINATION),
        (&["K2MAC", "WRAPENH2"], code::WRAPPING_TYPE),
        (&["K2MAC", "WRAPENH3"], code::WRAPPING_TYPE),
    ];
    for (words, codes) in cases {
        let request = unique(words, &keys.base, &SERIAL, [&[]; 3], &[]).points(everything());
        let reply = request.told(&mut keys.processor);
        assert_eq!(reply.codes, codes, "{words:?}");
    }
}

#[test]
fn wrapping_is_that_of_token_or_keyword() {
    let mut keys = Keys::new();
    keys.processor = compatible_processor();
    let base = entered(&mut keys.processor, "KEYGENKY", &["UKPT"], &BASE);
    let field = keys.des("MAC", &[]);
    let expected = odd(&hex::<16>("042666B4918430A368DE9628D03984C9"));
    for (words, byte) in [
        (&["K2MAC"][..], 0),
        (&["K2MAC", "USECONFG"], 0),
        (&["K2MAC", "WRAP-ECB"], 0),
        (&["K2MAC", "WRAP-ENH"], 0x20),
    ] {
        let request = unique(words, &base, &SERIAL, in_field("K2MAC", &field), &[]);
        let token = tokens(&request.ok(&mut keys.processor))[1].clone();
        assert_eq!((token[7], value(&token)), (byte, expected.clone()), "{words:?}");
        let mut denied = wire::role::BUILT_IN[0].points;
        denied.deny(Point::UniqueKeyWrapping);
        let request = request.points(Box::leak(Box::new(denied)));
        let codes =
            if words.iter().any(|word| word.starts_with("WRAP")) { code::ACCESS_DENIED } else { code::OK };
        assert_eq!(request.told(&mut keys.processor).codes, codes);
    }
    let only = DesToken::parse(&field).unwrap();
    let vector = only.control_vector().with_bits(bit(56), true).unwrap();
    let only = only.with_vector(vector).unwrap().to_bytes();
    unique(&["K2MAC", "WRAP-ECB"], &base, &SERIAL, in_field("K2MAC", &only), &[])
        .refused(&mut keys.processor, code::WRAPPING_BIT);
}
