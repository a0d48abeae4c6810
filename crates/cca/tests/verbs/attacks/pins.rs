//! Attacks on PINs that were published, each in a role where it works first, then in the owner's, where the control that is
//! named stops it. docs/pins.md has the papers.

use wire::code;
use wire::point::Point;
use wire::verb::{clear_pin_encrypt, clear_pin_generate_alternate, encrypted_pin_translate};

use crate::pin::{
    KEY, Keys, NO_CONTROL, TABLE, alternate, encrypt, iso0, profile, translate, under, verify, with_points,
};

const PAN: &str = "401234567890";
const VALIDATION: &str = "1122334455667788";

/// Bond and Zielinski, UCAM-CL-TR-560: a verification under a table of one digit and zeros tells whether the PIN has that digit,
/// with an offset where it has it. All that is needed is one block of the PIN 0000.
#[test]
fn decimalisation_tables_of_the_callers_find_a_pin_in_two_dozen_tries() {
    let mut keys = Keys::new();
    let zero = under(&KEY, &iso0("0000", PAN));
    let lifted = with_points(&[Point::PinAnyTable]);
    let mut tries = 0;
    let mut has = |keys: &mut Keys, digit: u8, places: &[bool; 4]| {
        tries += 1;
        let table: String = TABLE.bytes().map(|own| if own == b'0' + digit { '1' } else { '0' }).collect();
        // One plus nine is zero.
        let offset: String = places.iter().map(|is_there| if *is_there { '9' } else { '0' }).collect();
        let request = verify(
            (&keys.inbound, &keys.verifying),
            &["IBM-PINO"],
            &profile("ISO-0", ""),
            PAN,
            &zero,
            4,
            [&table, VALIDATION, &offset],
        );
        request.refused(&mut keys.processor, code::DECIMALISATION_TABLE);
        let codes = request.points(lifted).told(&mut keys.processor).codes;
        assert!(codes == code::OK || codes == code::PIN_NOT_VERIFIED);
        codes == code::OK
    };
    let digits: Vec<u8> = (0..10).filter(|digit| !has(&mut keys, *digit, &[false; 4])).collect();
    let mut found = [None; 4];
    for (number, digit) in digits.iter().enumerate() {
        let free: Vec<usize> = (0..4).filter(|at| found[*at].is_none()).collect();
        let is_last = number + 1 == digits.len();
        let mut subsets: Vec<u32> = (1..1 << free.len()).collect();
        subsets.sort_by_key(|subset| subset.count_ones());
        let subset = subsets.into_iter().find(|subset| {
            let mut places = [false; 4];
            for (bit, at) in free.iter().enumerate() {
                places[*at] = subset >> bit & 1 == 1;
            }
            is_last && subset.count_ones() as usize == free.len() || has(&mut keys, *digit, &places)
        });
        for (bit, at) in free.iter().enumerate() {
            if subset.unwrap() >> bit & 1 == 1 {
                found[*at] = Some(*digit);
            }
        }
    }
    // The intermediate PIN is 3413172576111483.
    assert_eq!(found.map(Option::unwrap), [3, 4, 1, 3]);
    assert!(tries <= 24, "{tries}");
}

/// Clulow; Berkman and Ostrovsky: a PIN that is taken out of its PAN is looked up in a list of all PINs' blocks.
#[test]
fn a_block_without_a_pan_is_found_in_a_list_of_all_pins() {
    let mut keys = Keys::new();
    let secret = under(&KEY, &iso0("7294", PAN));
    for format in ["ISO-1", "3624", "VISA-3"] {
        let bare = profile(format, "F");
        let zero = profile("ISO-0", "");
        let out_of = translate(
            (&keys.inbound, &keys.other_outbound),
            &["REFORMAT"],
            (&zero, &bare),
            (PAN, PAN),
            &secret,
        );
        out_of.refused(&mut keys.processor, code::ACCESS_DENIED);
        let reply = out_of.points(NO_CONTROL).ok(&mut keys.processor);
        let block = reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT);
        if format == "ISO-1" {
            continue; // filled with random digits: found by its PIN alone once it is verified
        }
        let mut list = (0..10_000).map(|pin| {
            let pin = format!("{pin:04}");
            let made = encrypt(&keys.other_outbound, &[], &pin, &bare, PAN).points(NO_CONTROL);
            (pin, made.ok(&mut keys.processor).bytes(clear_pin_encrypt::ENCRYPTED_PIN_BLOCK))
        });
        assert_eq!(list.find(|(_, made)| *made == block).unwrap().0, "7294");
    }
    let one = encrypt(&keys.other_outbound, &[], "7294", &profile("ISO-0", ""), PAN);
    assert!(!wire::role::BUILT_IN[0].points.permits(one.verb().entry().point));
}

/// Clulow: a PAN that differs in a digit makes of a digit of the PIN another, and ten tries, of which those above nine are
/// refused, leave fewer digits that it can be: half of them where the digit of the PAN is one of the lower.
#[test]
fn refusals_of_digits_above_nine_tell_the_third_and_fourth() {
    let mut keys = Keys::new();
    let zero = profile("ISO-0", "");
    let checks = with_points(&[Point::PinCheckDigits]);
    for pin in ["1200", "1255", "1289", "1273"] {
        let secret = under(&KEY, &iso0(pin, PAN));
        for place in 0..2 {
            let digit = pin.as_bytes()[2 + place] - b'0';
            let own = PAN.as_bytes()[place] - b'0';
            let mut left: Vec<u8> = (0..10).collect();
            for change in 0..16u8 {
                if own ^ change > 9 {
                    continue;
                }
                let mut pan = PAN.as_bytes().to_vec();
                pan[place] = b'0' + (own ^ change);
                let pan = String::from_utf8(pan).unwrap();
                let request = translate(
                    (&keys.inbound, &keys.other_outbound),
                    &["REFORMAT"],
                    (&zero, &zero),
                    (&pan, &pan),
                    &secret,
                );
                request.ok(&mut keys.processor);
                let is_taken = request.points(checks).told(&mut keys.processor).codes == code::OK;
                left.retain(|guess| (guess ^ change < 10) == is_taken);
            }
            assert!(left.contains(&digit) && left.len() <= 6, "{pin} {place} {left:?}");
        }
    }
}

/// The same, with the digit written into a block of another PAN: what is made for the one opens for the other.
#[test]
fn a_pan_is_not_changed_for_another() {
    let mut keys = Keys::new();
    let zero = profile("ISO-0", "");
    let secret = under(&KEY, &iso0("7294", PAN));
    let request = translate(
        (&keys.inbound, &keys.other_outbound),
        &["REFORMAT"],
        (&zero, &zero),
        (PAN, "401234567891"),
        &secret,
    );
    request.refused(&mut keys.processor, code::ACCESS_DENIED);
    request.points(with_points(&[Point::PanChange])).ok(&mut keys.processor);
}

/// Bond and Zielinski: with one digit to check, ten guesses find it, and another ten the next.
#[test]
fn one_digit_after_the_other_is_not_checked() {
    let mut keys = Keys::new();
    let secret = under(&KEY, &iso0("7294", PAN));
    let few = with_points(&[Point::PinAnyDigits]);
    let mut found = String::new();
    for checked in 1..=4usize {
        let guess = (0..10).map(|digit| format!("{digit}{found}")).find(|offset| {
            let request = verify(
                (&keys.inbound, &keys.verifying),
                &["IBM-PINO"],
                &profile("ISO-0", ""),
                PAN,
                &secret,
                checked as i64,
                [TABLE, VALIDATION, offset],
            );
            if checked < 4 {
                request.refused(&mut keys.processor, code::PIN_CHECK_LENGTH);
            }
            request.points(few).told(&mut keys.processor).codes == code::OK
        });
        found = guess.unwrap();
    }
    // 3413 and the offset are the PIN.
    let pin: String = "3413"
        .bytes()
        .zip(found.bytes())
        .map(|(own, more)| char::from((own + more - 96) % 10 + b'0'))
        .collect();
    assert_eq!(pin, "7294");
}

/// Clulow: a PVV of a block without a PAN can be had for each PIN, and a PVV is looked up in their list.
#[test]
fn pvvs_are_made_of_blocks_that_hold_a_pan() {
    let mut keys = Keys::new();
    let card = ["334455667783", "", ""];
    for format in
        ["ISO-1", "ISO-2", "VISA-2", "VISA-3", "VISA-4", "ECI-2", "ECI-3", "3621", "3624", "4704-EPP"]
    {
        let pad = if format == "VISA-2" { "0" } else { "F" };
        let made = encrypt(&keys.outbound, &[], "4524", &profile(format, pad), PAN)
            .integer(clear_pin_encrypt::SEQUENCE_NUMBER, 1)
            .points(NO_CONTROL)
            .ok(&mut keys.processor)
            .bytes(clear_pin_encrypt::ENCRYPTED_PIN_BLOCK);
        let pair = (&keys.inbound[..], &keys.generating[..]);
        let request = alternate(pair, &["VISA-PVV"], &profile(format, pad), PAN, &made, 4, card);
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        let reply = request.points(NO_CONTROL).ok(&mut keys.processor);
        assert_eq!(&reply.bytes(clear_pin_generate_alternate::RETURNED_RESULT)[..4], b"4021");
    }
}
