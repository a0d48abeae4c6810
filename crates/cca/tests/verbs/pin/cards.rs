//! CVV_Generate and CVV_Verify.

use verb_requests::peer;
use verb_requests::pin::*;
use verb_requests::support::{entered, generated, processor};
use wire::point::Point;
use wire::verb::cvv_generate;
use wire::{Codes, code};

/// The first of the Python package psec 1.3.0 and of Java's jPOS 2.1.9, the second of psec.
const PUBLISHED: [([&str; 3], &str); 2] =
    [(["4123456789012345", "8701", "101"], "561"), (["1234567890123456", "9912", "220"], "170")];

#[test]
fn values_are_the_published_ones() {
    let mut processor = processor();
    let double = entered(&mut processor, "MAC", &["DOUBLE", "CVVKEY-A"], &KEY);
    let any = entered(&mut processor, "MAC", &["DOUBLE"], &KEY);
    let half = |processor: &mut cca::Processor, word, from: usize| {
        let mut value = [0; 16];
        value[..8].copy_from_slice(&KEY[from..from + 8]);
        entered(processor, "MAC", &["SINGLE", word], &value)
    };
    let (a, b) = (half(&mut processor, "CVVKEY-A", 0), half(&mut processor, "CVVKEY-B", 8));
    let (any_a, any_b) = (half(&mut processor, "ANY-MAC", 0), half(&mut processor, "ANY-MAC", 8));
    let none = [0; 64];
    let keys = [(&double, &none[..]), (&any, &none), (&a, &b), (&any_a, &any_b)];
    for ((one, two), (card, published)) in
        keys.iter().flat_map(|keys| PUBLISHED.iter().map(move |published| (*keys, *published)))
    {
        let reply = value((one, two), &["PAN-16", "CVV-3"], card).ok(&mut processor);
        assert_eq!(reply.bytes(cvv_generate::CVV_VALUE), format!("{published:5}").into_bytes());
        verified((one, two), &["PAN-16", "CVV-3"], card, published).ok(&mut processor);
        for at in 0..3 {
            let mut wrong = published.as_bytes().to_vec();
            wrong[at] ^= 1;
            let wrong = String::from_utf8(wrong).unwrap();
            let request = verified((one, two), &["PAN-16", "CVV-3"], card, &wrong);
            request.answers(&mut processor, code::VERIFICATION_FAILED);
        }
    }
    let swapped = value((&b, &a), &["PAN-16"], PUBLISHED[0].0);
    swapped.refused(&mut processor, code::KEY_USAGE);
}

#[test]
fn every_length_of_a_pan_and_of_a_value() {
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["DOUBLE", "CVVKEY-A"], &KEY);
    let digits = "4123456789012345678";
    for length in 13..=19 {
        let words: &[String] = &[format!("PAN-{length}"), "CVV-5".into()];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // X9.19 by OpenSSL, and its digits before its letters less ten.
        let text = format!("{:0<32}", format!("{}8701101", &digits[..length]));
        let mac = peer::retail_mac(&KEY, &hex::<16>(&text));
        let all: String = mac.iter().map(|byte| format!("{byte:02X}")).collect();
        let (decimal, letters): (Vec<char>, Vec<char>) = all.chars().partition(char::is_ascii_digit);
        let letters = letters.iter().map(|letter| char::from(b'0' + *letter as u8 - b'A'));
        let expected: String = decimal.into_iter().chain(letters).take(5).collect();
        let card = [&digits[..length], "8701", "101"];
        let reply = value((&key, &[0; 64]), &words, card).ok(&mut processor);
        assert_eq!(reply.bytes(cvv_generate::CVV_VALUE), expected.as_bytes());
        for (count, word) in ["CVV-1", "CVV-2", "CVV-3", "CVV-4", "CVV-5"].into_iter().enumerate() {
            let shown = format!("{:5}", &expected[..count + 1]);
            let words = [words[0], word];
            let reply = value((&key, &[0; 64]), &words, card).ok(&mut processor);
            assert_eq!(reply.bytes(cvv_generate::CVV_VALUE), shown.as_bytes());
            let request = verified((&key, &[0; 64]), &words, card, &shown);
            if count < 2 {
                request.refused(&mut processor, code::ACCESS_DENIED);
            }
            request.points(with_points(&[Point::CardValueShort])).ok(&mut processor);
        }
    }
    let defaults = value((&key, &[0; 64]), &[], [&digits[..13], "8701", "101"]).ok(&mut processor);
    assert_eq!(defaults.bytes(cvv_generate::CVV_VALUE).iter().filter(|byte| **byte == b' ').count(), 4);
}

#[test]
fn what_is_no_card_and_what_is_no_key_is_refused_by_name() {
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["DOUBLE", "CVVKEY-A"], &KEY);
    let verifying = entered(&mut processor, "MACVER", &["DOUBLE", "CVVKEY-A"], &KEY);
    let none = [0; 64];
    let right = PUBLISHED[0].0;
    let refused = |processor: &mut cca::Processor, card: [&str; 3], codes: Codes| {
        value((&key, &none), &["PAN-16"], card).refused(processor, codes);
    };
    refused(&mut processor, ["412345678901234A", right[1], right[2]], code::PAN);
    refused(&mut processor, ["412345678901234", right[1], right[2]], code::PAN);
    refused(&mut processor, [right[0], "87A1", right[2]], code::EXPIRATION_DATE);
    refused(&mut processor, [right[0], right[1], "1 1"], code::SERVICE_CODE);
    for wrong in ["", "5 1", "5611", "56A"] {
        let request = verified((&key, &none), &["PAN-16", "CVV-3"], right, wrong);
        request.refused(&mut processor, code::CVV);
    }
    // What verifies makes none, and keys for texts, PINs or the other half do neither.
    value((&verifying, &none), &["PAN-16"], right).refused(&mut processor, code::KEY_USAGE);
    verified((&verifying, &none), &["PAN-16", "CVV-3"], right, "561").ok(&mut processor);
    let others: [(&str, &[&str]); 5] = [
        ("DATA", &["DOUBLE"]),
        ("MAC", &["DOUBLE", "ANSIX9.9"]),
        ("MAC", &["DOUBLE", "CVVKEY-B"]),
        ("MAC", &["DOUBLE", "AMEX-CSC"]),
        ("PINGEN", &[]),
    ];
    for (key_type, words) in others {
        let wrong = entered(&mut processor, key_type, words, &KEY);
        value((&wrong, &none), &["PAN-16"], right).refused(&mut processor, code::KEY_USAGE);
    }
    // Half a pair is none.
    let single = generated(&mut processor, "MAC", "SINGLE");
    value((&single, &none), &["PAN-16"], right).refused(&mut processor, code::TOKEN_INVALID);
    value((&single, &key), &["PAN-16"], right).refused(&mut processor, code::KEY_USAGE);
}
