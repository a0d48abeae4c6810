//! Transaction_Validation: card security codes.

use verb_requests::peer;
use verb_requests::pin::*;
use verb_requests::support::{Request, entered, generated, imported, processor};
use wire::point::Point;
use wire::verb::transaction_validation::{VALIDATION_VALUES, VALIDATION_VALUES_LENGTH};
use wire::{Codes, code};

/// Of a calculator that is not ours, under [`KEY`]: version, card, and the codes of five, four and three digits.
const PUBLISHED: [(&str, &str, [&str; 3]); 2] = [
    ("CSC-V1", "9912371234567890123", ["61247", "8720", "552"]),
    ("CSC-V2", "9912371234567890123702", ["21334", "5068", "221"]),
];

/// The owner's role with codes that no value of another system confirms.
fn unconfirmed() -> &'static wire::point::PointSet {
    with_points(&[Point::SecurityCodeUnconfirmed])
}

/// Each keyword and its digits of three codes.
fn each(codes: [&str; 3]) -> [(&'static str, String); 4] {
    let [five, four, three] = codes;
    [
        ("CSC-5", five.to_owned()),
        ("CSC-4", four.to_owned()),
        ("CSC-3", three.to_owned()),
        ("CSC-345", codes.concat()),
    ]
}

#[test]
fn codes_are_the_published_ones() {
    let mut processor = processor();
    let own = entered(&mut processor, "MAC", &["DOUBLE", "AMEX-CSC"], &KEY);
    let any = entered(&mut processor, "MAC", &["DOUBLE"], &KEY);
    let verifying = entered(&mut processor, "MACVER", &["DOUBLE", "AMEX-CSC"], &KEY);
    let verifying_any = entered(&mut processor, "MACVER", &["DOUBLE", "ANY-MAC"], &KEY);
    for (version, card, codes) in PUBLISHED {
        for (word, digits) in each(codes) {
            for key in [&own, &any] {
                let request = codes_of(key, &["GENERATE", word, version], card).points(unconfirmed());
                let reply = request.ok(&mut processor);
                assert_eq!(reply.bytes(VALIDATION_VALUES), digits.as_bytes());
                assert_eq!(reply.integer(VALIDATION_VALUES_LENGTH), digits.len() as i64);
            }
            for key in [&own, &any, &verifying, &verifying_any] {
                let asked = |digits: &str| {
                    code_verified(key, &["VERIFY", word, version], card, digits).points(unconfirmed())
                };
                let reply = asked(&digits).ok(&mut processor);
                assert_eq!(reply.bytes(VALIDATION_VALUES), b"", "what is compared does not come back");
                for at in 0..digits.len() {
                    let mut wrong = digits.clone().into_bytes();
                    wrong[at] ^= 1;
                    let wrong = String::from_utf8(wrong).unwrap();
                    asked(&wrong).answers(&mut processor, code::VERIFICATION_FAILED);
                }
            }
        }
    }
}

#[test]
fn keywords_that_are_left_out_are_verify_and_the_first_version() {
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["DOUBLE", "AMEX-CSC"], &KEY);
    let (_, card, [five, ..]) = PUBLISHED[0];
    code_verified(&key, &["CSC-5"], card, five).ok(&mut processor);
    code_verified(&key, &["CSC-V1", "CSC-5"], card, five).ok(&mut processor);
    code_verified(&key, &["CSC-5"], card, "61248").answers(&mut processor, code::VERIFICATION_FAILED);
    let reply = codes_of(&key, &["CSC-5", "GENERATE"], card).ok(&mut processor);
    assert_eq!(reply.bytes(VALIDATION_VALUES), five.as_bytes());
    for words in [&["VERIFY"][..], &["CSC-V2", "GENERATE"], &["CSC-5", "CSC-4"], &["GENERATE", "VERIFY"]] {
        let codes = codes_of(&key, words, card).points(unconfirmed()).run(&mut processor).codes;
        assert!([code::KEYWORD_COMBINATION, code::KEYWORD].contains(&codes), "{words:?}: {codes}");
    }
    let words = ["GENERATE", "CSC-5", "CSC-V1", "CSC-V1"];
    codes_of(&key, &words, card).refused(&mut processor, code::KEYWORD_COUNT);
    codes_of(&key, &[], card).refused(&mut processor, code::KEYWORD_COUNT);
}

/// Random cards of both prefixes beside TDES by OpenSSL and the digits taken from text.
#[test]
fn codes_of_random_cards_are_those_of_a_twin() {
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["DOUBLE", "AMEX-CSC"], &OTHER);
    let mut state = 1_u64;
    let mut number = |below: u64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 20) % below
    };
    for case in 0..200 {
        let (date, middle, last) = (number(10_000), number(1_000_000_000_000), number(10));
        let (prefix, service) = (["34", "37"][case % 2], number(1000));
        let (date, middle, service) =
            (format!("{date:04}"), format!("{middle:012}"), format!("{service:03}"));
        let is_second = case % 4 > 1;
        let first = if prefix == "37" { format!("{date}{middle}") } else { format!("{middle}{date}") };
        let mut result = peer::des(&OTHER, true, &hex::<8>(&first));
        if is_second {
            let second = hex::<8>(&format!("{service:0<16}"));
            result = peer::des(&OTHER, true, &peer::xor(&result, &second));
        }
        let digits = twin(&result);
        let (version, service) = if is_second { ("CSC-V2", service.as_str()) } else { ("CSC-V1", "") };
        let card = format!("{date}{prefix}{middle}{last}{service}");
        let request = codes_of(&key, &["GENERATE", "CSC-345", version], &card).points(unconfirmed());
        assert_eq!(request.ok(&mut processor).bytes(VALIDATION_VALUES), digits.as_bytes(), "{card}");
        for (word, at) in [("CSC-5", 0..5), ("CSC-4", 5..9), ("CSC-3", 9..12), ("CSC-345", 0..12)] {
            let request = codes_of(&key, &["GENERATE", word, version], &card).points(unconfirmed());
            let shown = request.ok(&mut processor).bytes(VALIDATION_VALUES);
            assert_eq!(shown, &digits.as_bytes()[at.clone()], "{card} {word}");
            code_verified(&key, &[word, version], &card, &digits[at])
                .points(unconfirmed())
                .ok(&mut processor);
        }
    }
}

fn twin(result: &[u8]) -> String {
    let text: String = result.iter().map(|byte| format!("{byte:02X}")).collect();
    let letters =
        text.char_indices().filter(|(_, digit)| digit.is_ascii_uppercase()).map(|(place, letter)| {
            let table = if place < 5 { b"123456" } else { b"678901" };
            char::from(table[letter as usize - 'A' as usize])
        });
    text.chars().filter(char::is_ascii_digit).chain(letters).take(12).collect()
}

#[test]
fn what_is_no_card_no_code_and_no_key_is_refused_by_name() {
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["DOUBLE", "AMEX-CSC"], &KEY);
    let (_, card, [five, ..]) = PUBLISHED[0];
    let cards: [(&str, &str, Codes); 12] = [
        ("CSC-V1", "", code::INVALID_PARAMETER),
        ("CSC-V1", "991237123456789012", code::INVALID_PARAMETER),
        ("CSC-V1", "99123712345678901234", code::INVALID_PARAMETER),
        ("CSC-V1", "9912371234567890123702", code::INVALID_PARAMETER),
        ("CSC-V2", "9912371234567890123", code::INVALID_PARAMETER),
        ("CSC-V2", "99123712345678901237021", code::INVALID_PARAMETER),
        ("CSC-V1", "99A2371234567890123", code::EXPIRATION_DATE),
        ("CSC-V1", "991237123456789012 ", code::PAN),
        ("CSC-V1", "9912351234567890123", code::PAN),
        ("CSC-V1", "9912471234567890123", code::PAN),
        ("CSC-V2", "9912411111111111111702", code::PAN),
        ("CSC-V2", "99123712345678901237/2", code::SERVICE_CODE),
    ];
    for (version, wrong, codes) in cards {
        codes_of(&key, &["GENERATE", "CSC-5", version], wrong).refused(&mut processor, codes);
        code_verified(&key, &["VERIFY", "CSC-5", version], wrong, five).refused(&mut processor, codes);
    }
    for wrong in ["", "6124", "612470", "6124A", "6124 ", "612478720552"] {
        code_verified(&key, &["CSC-5"], card, wrong).refused(&mut processor, code::CVV);
    }
    for (word, wrong) in [("CSC-3", "61247"), ("CSC-4", "552"), ("CSC-345", "61247")] {
        let request = code_verified(&key, &[word], card, wrong).points(unconfirmed());
        request.refused(&mut processor, code::CVV);
    }
    // A field may have more room, and not less.
    let made =
        |room: i64| codes_of(&key, &["GENERATE", "CSC-5"], card).integer(VALIDATION_VALUES_LENGTH, room);
    assert_eq!(made(64).ok(&mut processor).integer(VALIDATION_VALUES_LENGTH), 5);
    assert_eq!(made(5).ok(&mut processor).bytes(VALIDATION_VALUES), five.as_bytes());
    for room in [4, 0, -1] {
        made(room).refused(&mut processor, code::BUFFER_TOO_SMALL);
    }
}

#[test]
fn keys_for_other_purposes_make_and_verify_none() {
    let mut processor = processor();
    let (_, card, [five, ..]) = PUBLISHED[0];
    let made = |key: &[u8]| codes_of(key, &["GENERATE", "CSC-5"], card);
    let verified = |key: &[u8]| code_verified(key, &["CSC-5"], card, five);
    // What verifies makes none.
    let verifying = entered(&mut processor, "MACVER", &["DOUBLE", "AMEX-CSC"], &KEY);
    made(&verifying).refused(&mut processor, code::KEY_USAGE);
    verified(&verifying).ok(&mut processor);
    let others: [(&str, &[&str]); 7] = [
        ("DATA", &["DOUBLE"]),
        ("MAC", &["DOUBLE", "ANSIX9.9"]),
        ("MAC", &["DOUBLE", "CVVKEY-A"]),
        ("MAC", &["DOUBLE", "CVVKEY-B"]),
        ("CIPHER", &["DOUBLE"]),
        ("PINGEN", &[]),
        ("DKYGENKY", &["DKYL0", "DMAC"]),
    ];
    for (key_type, words) in others {
        let wrong = entered(&mut processor, key_type, words, &KEY);
        made(&wrong).refused(&mut processor, code::KEY_USAGE);
        verified(&wrong).refused(&mut processor, code::KEY_USAGE);
    }
    // A key of single length is no key of two equal parts.
    for words in [&["SINGLE"][..], &["SINGLE", "AMEX-CSC"]] {
        let single = entered(&mut processor, "MAC", words, &KEY);
        made(&single).refused(&mut processor, code::KEY_USAGE);
        verified(&single).refused(&mut processor, code::KEY_USAGE);
    }
    let aes = imported(&mut processor, "AES", &[7; 16]);
    assert_eq!(verified(&aes).told(&mut processor).codes.return_code, 8);
    let another = generated(&mut processor, "MAC", "DOUBLE");
    let reply = made(&another).ok(&mut processor).bytes(VALIDATION_VALUES);
    assert!(reply.len() == 5 && reply.iter().all(u8::is_ascii_digit));
}

/// Each point is asked for what it says, and nothing else.
#[test]
fn points_are_asked_for_what_is_made_and_verified() {
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["DOUBLE", "AMEX-CSC"], &KEY);
    let (_, card, codes) = PUBLISHED[0];
    let of_34 = card.replace("9912371", "9912341");
    let verifies = [Point::SecurityCodeVerify3, Point::SecurityCodeVerify4, Point::SecurityCodeVerify5];
    let mut all = vec![Point::SecurityCodeGenerate, Point::SecurityCodeUnconfirmed];
    all.extend(verifies);
    let mut asked = |request: Request, needed: &[Point]| {
        for point in &all {
            let mut points = *unconfirmed();
            points.deny(*point);
            let request = request.clone().points(Box::leak(Box::new(points)));
            let codes = request.told(&mut processor).codes;
            let expected = if needed.contains(point) { code::ACCESS_DENIED } else { code::OK };
            assert_eq!(codes, expected, "{point:?} {:?}", request.payload());
        }
    };
    use Point::{SecurityCodeGenerate as Generate, SecurityCodeUnconfirmed as Unconfirmed};
    let [three, four, five] = verifies;
    let needed: [&[Point]; 4] =
        [&[five], &[four, Unconfirmed], &[three, Unconfirmed], &[three, four, five, Unconfirmed]];
    for ((word, digits), needed) in each(codes).into_iter().zip(needed) {
        asked(code_verified(&key, &[word], card, &digits), needed);
        let is_confirmed = word == "CSC-5";
        let needed = if is_confirmed { &[Generate][..] } else { &[Generate, Unconfirmed] };
        asked(codes_of(&key, &["GENERATE", word], card), needed);
    }
    asked(codes_of(&key, &["GENERATE", "CSC-5"], &of_34), &[Generate, Unconfirmed]);
    asked(code_verified(&key, &["CSC-5"], &of_34, "36186"), &[five, Unconfirmed]);
}
