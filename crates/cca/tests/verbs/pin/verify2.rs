//! Encrypted_PIN_Verify2 and Recover_PIN_From_Offset.

use super::translate2::{AesKeys, BASE, aes_profile, transaction_key};
use verb_requests::pin::{
    KEY, Keys, NO_CONTROL, OTHER, TABLE, clear, derived_profile, hex, iso0, profile, under, with_points,
};
use verb_requests::pin2::*;
use verb_requests::support::{Request, entered};
use wire::code;
use wire::point::Point;
use wire::verb::recover_pin_from_offset;

const OTHER_PAN: &str = "112233445566";
const VALIDATION: &str = "1122334455667788";

fn compared(keys: &Keys, words: &[&str], pins: [&str; 2], checked: i64) -> Request {
    let zero = profile("ISO-0", "");
    let (one, two) = (under(&KEY, &iso0(pins[0], TWELVE)), under(&OTHER, &iso0(pins[1], OTHER_PAN)));
    let own = (&keys.inbound[..], &zero[..], TWELVE, &one[..]);
    let other = (&keys.other_inbound[..], &zero[..], OTHER_PAN, &two[..]);
    compare(words, &[], own, other, checked)
}

#[test]
fn pins_are_the_same_whole_or_at_their_end() {
    let mut keys = Keys::new();
    for pin in ["1234", "98765", "123456789012"] {
        compared(&keys, &["REFPIN"], [pin, pin], 0).ok(&mut keys.processor);
        for at in 0..pin.len() {
            let mut wrong = pin.as_bytes().to_vec();
            wrong[at] = b'0' + (wrong[at] - b'0' + 1) % 10;
            let wrong = String::from_utf8(wrong).unwrap();
            let request = compared(&keys, &["REFPIN"], [&wrong, pin], 0);
            request.answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
            let request = compared(&keys, &["TRUNCPIN"], [pin, &wrong], 4);
            let expected = if at < pin.len() - 4 { code::OK } else { code::PIN_NOT_VERIFIED };
            request.answers(&mut keys.processor, expected);
        }
    }
    for (pins, checked, expected) in [
        (["3456", "123456"], 4, code::OK),
        (["1234", "123456"], 4, code::PIN_NOT_VERIFIED),
        (["3456", "123456"], 5, code::PIN_NOT_VERIFIED),
        (["23456", "123456"], 5, code::OK),
    ] {
        compared(&keys, &["TRUNCPIN"], pins, checked).answers(&mut keys.processor, expected);
    }
    let request = compared(&keys, &["REFPIN"], ["3456", "123456"], 4);
    request.answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
    for checked in [0, 3, 17, -1] {
        let request = compared(&keys, &["TRUNCPIN"], ["1234", "1234"], checked);
        request.refused(&mut keys.processor, code::PIN_CHECK_LENGTH);
    }
}

#[test]
fn either_block_may_be_under_a_derived_key() {
    let mut all = AesKeys::new();
    let zero = profile("ISO-0", "");
    let tdes = derived_profile("ISO-0", "", "FFFF9876543210E00001");
    let published = hex::<8>("1B9C1845EB993A7A");
    let aes = aes_profile("ISO-0", "00000080", 3);
    let id = [0x12, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56];
    let working = transaction_key(&BASE, &id, 3, (0, 16));
    let by_aes = verb_requests::peer::des(&working, true, &iso0("1234", TWELVE));
    let fixed = under(&KEY, &iso0("1234", TWELVE));
    let wrong = under(&KEY, &iso0("1243", TWELVE));
    let sides: [(Side<'_>, Option<&str>); 3] = [
        ((&all.keys.inbound, &zero, TWELVE, &fixed), None),
        ((&all.keys.deriving, &tdes, TWELVE, &published), Some("DUKPT")),
        ((&all.base, &aes, TWELVE, &by_aes), Some("ADUKPT")),
    ];
    for (own, word) in &sides {
        for (other, reference_word) in &sides {
            let words: Vec<&str> = ["REFPIN"].into_iter().chain(*word).collect();
            let reference: Vec<&str> = reference_word.iter().copied().collect();
            compare(&words, &reference, *own, *other, 0).ok(&mut all.keys.processor);
            let other = (&all.keys.inbound[..], &zero[..], TWELVE, &wrong[..]);
            let request = compare(&words, &[], *own, other, 0);
            request.answers(&mut all.keys.processor, code::PIN_NOT_VERIFIED);
        }
    }
    // A role that does not derive does not for the reference either.
    let mut points = wire::role::BUILT_IN[0].points;
    points.deny(Point::PinDukpt);
    let points = Box::leak(Box::new(points));
    let request = compare(&["REFPIN"], &["DUKPT"], sides[0].0, sides[1].0, 0);
    request.points(points).refused(&mut all.keys.processor, code::ACCESS_DENIED);
}

#[test]
fn every_format_and_method_is_compared() {
    let mut keys = Keys::new();
    let zero = profile("ISO-0", "");
    let padded = profile("3624", "F");
    let points = with_points(&[Point::PinAnyBlock]);
    let lengths = (4..=16).map(|length| (format!("PINLEN{length:02}"), length));
    let named = ["PADDIGIT", "HEXDIGIT", "PADEXIST"].map(|word| (word.to_owned(), 6));
    for (word, length) in lengths.chain(named) {
        let pin = &"1234567890123456"[..length];
        let clear = if word.starts_with("PINLEN") { "1234567890123456" } else { "123456FFFFFFFFFF" };
        let block = under(&KEY, &hex::<8>(clear));
        let own = (&keys.inbound[..], &padded[..], "", &block[..]);
        let request = compare(&["REFPIN", &word], &[&word], own, own, 0);
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        request.points(points).ok(&mut keys.processor);
        if length <= 12 {
            let reference = under(&OTHER, &iso0(pin, OTHER_PAN));
            let other = (&keys.other_inbound[..], &zero[..], OTHER_PAN, &reference[..]);
            compare(&["REFPIN", &word], &[], own, other, 0).points(points).ok(&mut keys.processor);
            compare(&["REFPIN"], &[&word], other, own, 0).points(points).ok(&mut keys.processor);
        }
    }
    let block = under(&KEY, &iso0("1234", TWELVE));
    let own = (&keys.inbound[..], &zero[..], TWELVE, &block[..]);
    compare(&["REFPIN", "PINBLOCK"], &["PINBLOCK"], own, own, 0).ok(&mut keys.processor);
    // A wrong block on either side has one answer.
    let wrong = under(&KEY, &[0x77; 8]);
    let other = (&keys.inbound[..], &zero[..], TWELVE, &wrong[..]);
    for (one, two) in [(own, other), (other, own), (other, other)] {
        let request = compare(&["REFPIN"], &[], one, two, 0);
        request.refused(&mut keys.processor, code::PIN_BLOCK);
        let fine = request.points(with_points(&[Point::PinFineCodes]));
        fine.refused(&mut keys.processor, code::PIN_BLOCK_INCONSISTENT);
    }
}

#[test]
fn comparisons_are_refused_by_name() {
    let mut keys = Keys::new();
    let zero = profile("ISO-0", "");
    let block = under(&KEY, &iso0("1234", TWELVE));
    let inbound = keys.inbound.clone();
    let own = (&inbound[..], &zero[..], TWELVE, &block[..]);
    for (words, codes) in [
        (&["UKPT"][..], code::KEYWORD),
        (&["REFPIN"], code::KEYWORD),
        (&["DUKPT", "ADUKPT"], code::KEYWORD_COMBINATION),
        (&["PINLEN04", "PINLEN05"], code::KEYWORD_COMBINATION),
        (&["DUKPT", "PINBLOCK", "PINBLOCK"], code::KEYWORD_COUNT),
    ] {
        compare(&["REFPIN"], words, own, own, 0).refused(&mut keys.processor, codes);
    }
    compare(&["REFPIN", "UKPT"], &[], own, own, 0).refused(&mut keys.processor, code::KEYWORD);
    let four = profile("ISO-4", "");
    let long = (&inbound[..], &four[..], TWELVE, &block[..]);
    compare(&["REFPIN"], &[], long, own, 0).refused(&mut keys.processor, code::PIN_FORMAT);
    compare(&["REFPIN"], &[], own, long, 0).refused(&mut keys.processor, code::PIN_FORMAT);
    let narrow = entered(&mut keys.processor, "IPINENC", &["REFORMAT"], &KEY);
    for key in [narrow, keys.outbound.clone(), keys.verifying.clone(), keys.deriving.clone()] {
        let wrong = (&key[..], &zero[..], TWELVE, &block[..]);
        compare(&["REFPIN"], &[], wrong, own, 0).refused(&mut keys.processor, code::KEY_USAGE);
        compare(&["REFPIN"], &[], own, wrong, 0).refused(&mut keys.processor, code::KEY_USAGE);
    }
    assert!(!wire::role::BUILT_IN[1].points.permits(Point::EncryptedPinVerify2));
    assert!(!wire::role::BUILT_IN[2].points.permits(Point::EncryptedPinVerify2));
}

/// The intermediate PIN is 3413172576111483.
#[test]
fn an_offset_leads_to_its_pin() {
    let mut keys = Keys::new();
    let pair = (keys.outbound.clone(), keys.generating.clone());
    let elements = [TABLE, VALIDATION, ""];
    let zero = profile("ISO-0", "");
    for (offset, pin) in
        [("0000", "3413"), ("1019", "4422"), ("00001", "34132"), ("999999999999", "230206146500")]
    {
        let request = recover((&pair.0, &pair.1), &zero, TWELVE, offset, elements);
        let reply = request.ok(&mut keys.processor);
        let block = reply.bytes(recover_pin_from_offset::ENCRYPTED_PIN_BLK);
        assert_eq!(clear(&KEY, &block), iso0(pin, TWELVE), "{offset}");
    }
    for format in ["ISO-1", "ISO-2", "3624", "VISA-3", "VISA-4"] {
        let bare = profile(format, "F");
        let request = recover((&pair.0, &pair.1), &bare, TWELVE, "0000", elements);
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        request.points(NO_CONTROL).ok(&mut keys.processor);
    }
    let mut refused = |offset: &str, elements, codes| {
        recover((&pair.0, &pair.1), &zero, TWELVE, offset, elements).refused(&mut keys.processor, codes);
    };
    for offset in ["", "123", "12x4", "12 4", " 1234", "1234567890123"] {
        refused(offset, elements, code::PIN_OFFSET);
    }
    refused("1234", ["9876543210987654", VALIDATION, ""], code::DECIMALISATION_TABLE);
    refused("1234", [TABLE, "1122", ""], code::VALIDATION_DATA);
    let four = recover((&pair.0, &pair.1), &profile("ISO-4", ""), TWELVE, "1234", elements);
    four.refused(&mut keys.processor, code::PIN_FORMAT);
    let short = recover((&pair.0, &pair.1), &zero, TWELVE, "1234", elements);
    let short = short.integer(recover_pin_from_offset::ENCRYPTED_PIN_BLK_LENGTH, 7);
    short.refused(&mut keys.processor, code::BUFFER_TOO_SMALL);
    let (no_offset, clear_only) = (
        entered(&mut keys.processor, "PINGEN", &["NOOFFSET"], &KEY),
        entered(&mut keys.processor, "PINGEN", &["CPINGEN"], &KEY),
    );
    for key in [&no_offset, &clear_only, &keys.verifying.clone(), &keys.inbound.clone()] {
        let request = recover((&pair.0, key), &zero, TWELVE, "1234", elements);
        request.refused(&mut keys.processor, code::KEY_USAGE);
    }
    let narrow = entered(&mut keys.processor, "OPINENC", &["REFORMAT"], &KEY);
    for key in [&narrow, &keys.inbound.clone(), &pair.1] {
        let request = recover((key, &pair.1), &zero, TWELVE, "1234", elements);
        request.refused(&mut keys.processor, code::KEY_USAGE);
    }
}
