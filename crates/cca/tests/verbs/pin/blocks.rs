//! Blocks that are none: one answer, whatever is wrong with them.

use verb_requests::pin::*;
use verb_requests::support::Request;
use wire::code;
use wire::point::Point;
use wire::verb::{clear_pin_encrypt, clear_pin_generate_alternate, encrypted_pin_translate};

const PAN: &str = "401234567890";

/// Clear blocks that no format of the profile reads.
fn wrong_blocks() -> Vec<[u8; 8]> {
    let right = iso0("1234", PAN);
    let with = |at: usize, value: u8| {
        let mut block = right;
        block[at] = value;
        block
    };
    vec![
        with(0, 0x14), // control of another format
        with(0, 0x03), // too few digits
        with(0, 0x0D), // too many
        with(0, 0x00),
        with(3, 0xFF), // filling that is none
        with(7, 0x00),
        [0; 8],
        [0xFF; 8],
    ]
}

#[test]
fn every_wrong_block_has_one_answer() {
    let mut keys = Keys::new();
    let profile = profile("ISO-0", "");
    let fine = with_points(&[Point::PinFineCodes]);
    for block in wrong_blocks() {
        let given = under(&KEY, &block);
        let requests = [
            translate(
                (&keys.inbound, &keys.other_outbound),
                &["REFORMAT"],
                (&profile, &profile),
                (PAN, PAN),
                &given,
            ),
            verify(
                (&keys.inbound, &keys.verifying),
                &["IBM-PIN"],
                &profile,
                PAN,
                &given,
                4,
                [TABLE, "1122334455667788", ""],
            ),
            alternate(
                (&keys.inbound, &keys.generating),
                &["VISA-PVV"],
                &profile,
                PAN,
                &given,
                4,
                ["334455667783", "", ""],
            ),
        ];
        for request in requests {
            request.refused(&mut keys.processor, code::PIN_BLOCK);
            request.points(fine).refused(&mut keys.processor, code::PIN_BLOCK_INCONSISTENT);
        }
    }
}

/// With wrong digits of a PAN the PIN reads as another, of digits that need not be decimal: nothing tells which.
#[test]
fn digits_of_a_pin_that_are_not_decimal_are_not_told() {
    let mut keys = Keys::new();
    let profile = profile("ISO-0", "");
    let given = under(&KEY, &iso0("1279", PAN));
    for first in 0..10 {
        let pan = format!("{first}{}", &PAN[1..]);
        let request = translate(
            (&keys.inbound, &keys.other_outbound),
            &["REFORMAT"],
            (&profile, &profile),
            (&pan, &pan),
            &given,
        );
        let reply = request.ok(&mut keys.processor);
        let block = reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT);
        assert_eq!(clear(&OTHER, &block), iso0("1279", PAN), "the block is what it was");
        let pair = (&keys.inbound[..], &keys.verifying[..]);
        let verified = verify(pair, &["IBM-PIN"], &profile, &pan, &given, 4, [TABLE, "1122334455667788", ""]);
        verified.answers(&mut keys.processor, code::PIN_NOT_VERIFIED);
    }
}

#[test]
fn every_extraction_method_reads_the_pin() {
    let mut keys = Keys::new();
    let cases: [(&str, &str, &str, &str, &str); 10] = [
        ("3624", "E", "PADDIGIT", "12345EEEEEEEEEEE", "12345"),
        ("3624", "E", "HEXDIGIT", "12345BBBBBBBBBBB", "12345"),
        ("3624", "E", "PADEXIST", "12345CCCCCCCCCCC", "12345"),
        ("3624", "E", "PINLEN04", "1234567890123456", "1234"),
        ("3624", "E", "PINLEN12", "1234567890123456", "123456789012"),
        ("3621", "E", "PADDIGIT", "000112345EEEEEEE", "12345"),
        ("3621", "E", "PINLEN06", "0001123456789012", "123456"),
        ("ECI-2", "", "PINLEN04", "1234567890123456", "1234"),
        ("ISO-0", "", "PINBLOCK", "041274EDCBA9876F", "1234"),
        ("VISA-3", "", "PINBLOCK", "12345F0000000000", "12345"),
    ];
    for (format, pad, word, block, pin) in cases {
        let profiles = (&profile(format, pad)[..], &profile("ISO-0", "")[..]);
        let given = under(&KEY, &hex::<8>(block));
        let pair = (&keys.inbound[..], &keys.other_outbound[..]);
        let request = translate(pair, &["REFORMAT", word], profiles, (PAN, PAN), &given).points(NO_CONTROL);
        let reply = request.ok(&mut keys.processor);
        let made = clear(&OTHER, &reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT));
        assert_eq!(made, iso0(pin, PAN), "{format} {word}");
    }
}

/// A PIN of as many digits as a keyword says, 1234 where it says none, and a block of 3624 or another format with it.
fn extracted(word: &str) -> (&'static str, String, [u8; 8]) {
    let digits = "3413172576111483";
    match word.strip_prefix("PINLEN") {
        Some(length) => ("3624", digits[..length.parse().unwrap()].into(), hex(digits)),
        None if word == "PINBLOCK" => ("ISO-0", "3413".into(), iso0("3413", PAN)),
        None => ("3624", "3413".into(), hex("3413EEEEEEEEEEEE")),
    }
}

#[test]
fn every_extraction_method_is_one_of_every_verb_that_reads_blocks() {
    let mut keys = Keys::new();
    let words = wire::verb::PinExtraction::WORDS;
    let validation = [TABLE, "1122334455667788", ""];
    for word in words.iter().map(|word| word.text) {
        let (format, pin, block) = extracted(word);
        let (profile, given) =
            (profile(format, if format == "3624" { "E" } else { "" }), under(&KEY, &block));
        let pair = (&keys.inbound[..], &keys.other_outbound[..]);
        let fixed = verb_requests::pin::profile("3624", "F");
        let request = translate(pair, &["REFORMAT", word], (&profile, &fixed), (PAN, PAN), &given);
        let reply = request.points(NO_CONTROL).ok(&mut keys.processor);
        let made = clear(&OTHER, &reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT));
        assert_eq!(made, hex::<8>(&format!("{pin:F<16}")), "{word}");
        // The PIN is the assigned one, so that it verifies, and its offset is zero.
        let pair = (&keys.inbound[..], &keys.verifying[..]);
        let checked = pin.len() as i64;
        let request = verify(pair, &["IBM-PIN", word], &profile, PAN, &given, checked, validation);
        request.points(with_points(&[Point::PinAnyBlock])).ok(&mut keys.processor);
        let pair = (&keys.inbound[..], &keys.generating[..]);
        let request = alternate(pair, &["IBM-PINO", word], &profile, PAN, &given, checked, validation);
        let reply = request.ok(&mut keys.processor);
        let offset = reply.bytes(clear_pin_generate_alternate::RETURNED_RESULT);
        assert_eq!(offset, format!("{:16}", "0".repeat(pin.len())).into_bytes(), "{word}");
    }
}

#[test]
fn clear_pins_and_random_ones_go_into_blocks() {
    let mut keys = Keys::new();
    let outbound = keys.outbound.clone();
    let clear_pin = |words: &[&str], pin: &str| {
        encrypt(&outbound, words, pin, &profile("ISO-0", ""), PAN)
            .points(with_points(&[Point::ClearPinEncrypt]))
    };
    let block = |request: Request, keys: &mut Keys| {
        clear(&KEY, &request.ok(&mut keys.processor).bytes(clear_pin_encrypt::ENCRYPTED_PIN_BLOCK))
    };
    assert_eq!(block(clear_pin(&[], "1234"), &mut keys), iso0("1234", PAN));
    assert_eq!(block(clear_pin(&["ENCRYPT"], "123456789012"), &mut keys), iso0("123456789012", PAN));
    let mut seen = [0; 10];
    for _ in 0..200 {
        let made = block(clear_pin(&["RANDOM"], "000000"), &mut keys);
        let field = u64::from_be_bytes(made.try_into().unwrap()) ^ u64::from_str_radix(PAN, 16).unwrap();
        let text = format!("{field:016X}");
        assert!(text.starts_with("06") && text.ends_with("FFFFFFFF"), "{text}");
        text[2..8].chars().for_each(|digit| seen[digit.to_digit(10).unwrap() as usize] += 1);
    }
    assert!(seen.iter().all(|count| (60..180).contains(count)), "{seen:?}");
    for wrong in ["", "123", "12 4", "12345678901234567", "123A"] {
        let codes = if wrong.len() == 17 { code::INVALID_PARAMETER } else { code::CLEAR_PIN };
        clear_pin(&[], wrong).refused(&mut keys.processor, codes);
    }
    clear_pin(&[], "1234567890123").refused(&mut keys.processor, code::PIN_LENGTH);
    assert!(!wire::role::BUILT_IN[0].points.permits(Point::ClearPinEncrypt));
}
