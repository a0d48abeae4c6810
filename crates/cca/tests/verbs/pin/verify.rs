//! Encrypted_PIN_Verify.

use verb_requests::pin::*;
use verb_requests::support::{Request, entered};
use wire::code;
use wire::point::Point;
use wire::verb::clear_pin_generate;

const PAN: &str = "112233445566";
const VALIDATION: &str = "1122334455667788";

/// A request for a PIN in a block of ISO-0, with no control lifted.
fn asked(keys: &Keys, method: &str, pin: &str, checked: i64, elements: [&str; 3]) -> Request {
    let block = under(&KEY, &iso0(pin, PAN));
    verify((&keys.inbound, &keys.verifying), &[method], &profile("ISO-0", ""), PAN, &block, checked, elements)
}

#[test]
fn right_pins_verify_and_each_wrong_digit_does_not() {
    let mut keys = Keys::new();
    let cases: [(&str, &str, i64, [&str; 3]); 9] = [
        ("IBM-PIN", "3413", 4, [TABLE, VALIDATION, ""]),
        ("IBM-PIN", "341317257611", 12, [TABLE, VALIDATION, ""]),
        ("IBM-PINO", "4422", 4, [TABLE, VALIDATION, "1019"]),
        ("IBM-PINO", "34142", 4, [TABLE, VALIDATION, "0011"]),
        ("GBP-PIN", "1317", 4, [TABLE, VALIDATION, ""]),
        ("GBP-PINO", "2206", 4, [TABLE, VALIDATION, "1999"]),
        ("VISA-PVV", "4524", 4, ["334455667783", "4021", ""]),
        ("VISAPVV4", "4524", 4, ["334455667783", "4021", ""]),
        ("INBK-PIN", "9994", 4, ["3344556677861234", "", ""]),
    ];
    for (method, pin, checked, elements) in cases {
        asked(&keys, method, pin, checked, elements).ok(&mut keys.processor);
        let checked = checked as usize;
        for at in 0..pin.len() {
            let mut wrong = pin.as_bytes().to_vec();
            wrong[at] = b'0' + (wrong[at] - b'0' + 1) % 10;
            let wrong = String::from_utf8(wrong).unwrap();
            let request = asked(&keys, method, &wrong, checked as i64, elements);
            if at < pin.len() - checked {
                request.ok(&mut keys.processor);
            } else {
                request.answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
            }
        }
    }
}

#[test]
fn the_length_of_a_pin_counts_where_the_method_says() {
    let mut keys = Keys::new();
    let visa = ["334455667783", "4021", ""];
    asked(&keys, "VISA-PVV", "45249", 4, visa).ok(&mut keys.processor);
    asked(&keys, "VISAPVV4", "45249", 4, visa).answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
    let elements = [TABLE, VALIDATION, ""];
    asked(&keys, "GBP-PIN", "13170", 4, elements).answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
    asked(&keys, "IBM-PIN", "3413", 5, elements).answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
    let interbank = ["3344556677861234", "", ""];
    asked(&keys, "INBK-PIN", "99940", 4, interbank).answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
}

#[test]
fn a_pin_of_a_derived_key_is_verified() {
    let mut keys = Keys::new();
    let derived = derived_profile("ISO-0", "", "FFFF9876543210E00001");
    let block = hex::<8>("1B9C1845EB993A7A");
    // The PIN is 1234: its PVV, and its offset to the assigned PIN.
    let generating = keys.generating.clone();
    let pvv = generate(&generating, "VISA-PVV", (4, 4), ["4012345678911234", "", ""]).ok(&mut keys.processor);
    let pvv = String::from_utf8(pvv.bytes(clear_pin_generate::RETURNED_RESULT)).unwrap();
    let request = |pvv: &str| {
        let (pair, pan) = ((&keys.deriving[..], &keys.verifying[..]), "401234567890");
        verify(pair, &["VISA-PVV", "DUKPT-IP"], &derived, pan, &block, 4, ["401234567891", pvv, ""])
    };
    let (right, wrong) = (request(pvv.trim_end()), request("0000"));
    right.ok(&mut keys.processor);
    wrong.answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
}

#[test]
fn arguments_are_refused_by_name() {
    let mut keys = Keys::new();
    let elements = [TABLE, VALIDATION, "1234"];
    let cases: [(&str, i64, [&str; 3], wire::Codes); 9] = [
        ("IBM-PIN", 3, elements, code::PIN_CHECK_LENGTH),
        ("IBM-PIN", 17, elements, code::PIN_CHECK_LENGTH),
        ("IBM-PIN", 4, ["9876543210987654", VALIDATION, ""], code::DECIMALISATION_TABLE),
        ("IBM-PIN", 4, [TABLE, "1122", ""], code::VALIDATION_DATA),
        ("IBM-PINO", 5, elements, code::PIN_OFFSET),
        ("GBP-PINO", 4, [TABLE, VALIDATION, "123"], code::PIN_OFFSET),
        ("VISA-PVV", 4, ["334455667783", "402", ""], code::PVV),
        ("VISA-PVV", 4, ["3344556677834524", "4021", ""], code::TRANSACTION_SECURITY),
        ("INBK-PIN", 4, ["334455667786123", "", ""], code::TRANSACTION_SECURITY),
    ];
    for (method, checked, elements, codes) in cases {
        asked(&keys, method, "1234", checked, elements).refused(&mut keys.processor, codes);
    }
    asked(&keys, "NL-PIN-1", "1234", 4, elements).refused(&mut keys.processor, code::KEYWORD);
    for (word, codes) in [("UKPTIPIN", code::KEYWORD), ("ADUKPTIP", code::INVALID_PARAMETER)] {
        let derived = asked(&keys, "IBM-PIN", "1234", 4, elements).rules(&["IBM-PIN", word]);
        derived.refused(&mut keys.processor, codes);
    }
    let table = asked(&keys, "IBM-PIN", "1234", 4, ["9876543210987654", VALIDATION, ""]);
    let any = table.points(with_points(&[Point::PinAnyTable]));
    any.answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
    for key in [keys.generating.clone(), keys.verifying.clone(), keys.outbound.clone(), keys.deriving.clone()]
    {
        let block = under(&KEY, &iso0("1234", PAN));
        let wrong =
            verify((&key, &keys.verifying), &["IBM-PIN"], &profile("ISO-0", ""), PAN, &block, 4, elements);
        wrong.refused(&mut keys.processor, code::KEY_USAGE);
        let narrow = entered(&mut keys.processor, "PINGEN", &["CPINGEN"], &KEY);
        let wrong =
            verify((&keys.inbound, &narrow), &["IBM-PIN"], &profile("ISO-0", ""), PAN, &block, 4, elements);
        wrong.refused(&mut keys.processor, code::KEY_USAGE);
    }
}
