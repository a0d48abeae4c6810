//! Key serial numbers in profiles, as programs for CCA and as this system's own give them.

use verb_requests::pin::*;
use verb_requests::pin2::{compare, translate2};
use wire::code;
use wire::verb::encrypted_pin_translate::PIN_BLOCK_OUT;
use wire::verb::encrypted_pin_translate2;

const PAN: &str = "401234567890";
/// ANSI X9.24-1:2009, annex A.4: PIN 1234 under the key of this transaction.
const SERIAL: &str = "FFFF9876543210E00001";
const BLOCK: &str = "1B9C1845EB993A7A";

/// A profile of ISO-0 with this field behind it.
fn with(field: &[u8]) -> Vec<u8> {
    [&profile("ISO-0", "")[..], field].concat()
}

/// The field of a serial number in the first bytes, and this behind it.
fn filled(number: &[u8], filling: u8) -> Vec<u8> {
    let mut field = number.to_vec();
    field.resize(24, filling);
    field
}

/// Fields that are neither 20 digits nor ten bytes: other lengths of either, and fillings that are not of one kind.
fn malformed() -> Vec<Vec<u8>> {
    let (digits, bytes) = (SERIAL.as_bytes(), hex::<10>(SERIAL));
    let mut fields = vec![
        [digits, b"  \0\0"].concat(),
        [digits, b"0000"].concat(),
        [&bytes[..], b"       ", &[0; 7]].concat(),
        filled(b"FFFF9876543210E0000G", b' '),
        filled(&[&bytes[..], &[1, 2]].concat(), b' '),
        filled(&[&bytes[..], &[0xFF; 6]].concat(), 0),
        filled(&[bytes, bytes].concat(), b' '),
        // Counters of zero, and of eleven bits.
        filled(b"FFFF9876543210E00000", b' '),
        filled(b"FFFF9876543210E007FF", 0),
    ];
    for length in [8, 10, 12, 16] {
        fields.extend([filled(&digits[20 - length..], b' '), filled(&digits[20 - length..], 0)]);
    }
    fields
}

#[test]
fn a_serial_number_is_read_in_characters_and_in_bytes() {
    let mut keys = Keys::new();
    let (block, clear_block) = (hex::<8>(BLOCK), iso0("1234", PAN));
    let zero = profile("ISO-0", "");
    let given = under(&KEY, &clear_block);
    let bytes = hex::<10>(SERIAL);
    for field in [
        filled(SERIAL.as_bytes(), b' '),
        filled(SERIAL.as_bytes(), 0),
        filled(SERIAL.to_lowercase().as_bytes(), b' '),
        filled(&bytes, b' '),
        filled(&bytes, 0),
    ] {
        let derived = with(&field);
        let pans = (PAN, PAN);
        let into = (&keys.deriving[..], &keys.other_outbound[..]);
        let request = translate(into, &["REFORMAT", "DUKPT-IP"], (&derived, &zero), pans, &block);
        let there = request.ok(&mut keys.processor).bytes(PIN_BLOCK_OUT);
        assert_eq!(clear(&OTHER, &there), clear_block, "{field:02X?}");
        let out_of = (&keys.inbound[..], &keys.deriving[..]);
        let request = translate(out_of, &["TRANSLAT", "DUKPT-OP"], (&zero, &derived), pans, &given);
        assert_eq!(request.ok(&mut keys.processor).bytes(PIN_BLOCK_OUT), block, "{field:02X?}");
        let both = ((&keys.deriving[..], &keys.deriving[..]), (&derived[..], &derived[..]), pans);
        let request = translate2(&["TRANSLAT", "DUKPT-BH"], both, &block);
        let there = request.ok(&mut keys.processor).bytes(encrypted_pin_translate2::OUTPUT_PIN_BLOCK);
        assert_eq!(there, block, "{field:02X?}");
        let own = (&keys.deriving[..], &derived[..], PAN, &block[..]);
        let fixed = (&keys.inbound[..], &zero[..], PAN, &given[..]);
        compare(&["REFPIN", "DUKPT"], &["DUKPT"], own, own, 0).ok(&mut keys.processor);
        compare(&["REFPIN"], &["DUKPT"], fixed, own, 0).ok(&mut keys.processor);
    }
}

#[test]
fn a_field_that_is_no_serial_number_is_refused_by_each_verb() {
    let mut keys = Keys::new();
    let (block, zero) = (hex::<8>(BLOCK), profile("ISO-0", ""));
    let fixed_block = under(&KEY, &iso0("1234", PAN));
    for field in malformed() {
        let derived = with(&field);
        let pans = (PAN, PAN);
        let one = translate(
            (&keys.deriving, &keys.outbound),
            &["TRANSLAT", "DUKPT-IP"],
            (&derived, &zero),
            pans,
            &block,
        );
        let other = translate(
            (&keys.inbound, &keys.deriving),
            &["TRANSLAT", "DUKPT-OP"],
            (&zero, &derived),
            pans,
            &fixed_block,
        );
        let sides = ((&keys.deriving[..], &keys.outbound[..]), (&derived[..], &zero[..]), pans);
        let second = translate2(&["TRANSLAT", "DUKPT-IP"], sides, &block);
        let pair = (&keys.deriving[..], &keys.verifying[..]);
        let data = ["401234567891", "0000", ""];
        let verified = verify(pair, &["VISA-PVV", "DUKPT-IP"], &derived, PAN, &block, 4, data);
        let own = (&keys.deriving[..], &derived[..], PAN, &block[..]);
        let fixed = (&keys.inbound[..], &zero[..], PAN, &fixed_block[..]);
        let compared = compare(&["REFPIN"], &["DUKPT"], fixed, own, 0);
        for request in [one, other, second, verified, compared] {
            request.refused(&mut keys.processor, code::SERIAL_COUNTER);
        }
    }
    // A field that is cut short, or goes on.
    for field in [&SERIAL.as_bytes()[..9], &[b'1'; 25]] {
        let derived = with(field);
        let own = (&keys.deriving[..], &derived[..], PAN, &block[..]);
        compare(&["REFPIN", "DUKPT"], &["DUKPT"], own, own, 0)
            .refused(&mut keys.processor, code::INVALID_PARAMETER);
    }
}

/// What is no PIN is no wrong one.
#[test]
fn a_field_that_is_no_serial_number_counts_as_no_wrong_pin() {
    use super::counting::{counted, one};
    let mut keys = Keys::new();
    counted(&mut keys.processor);
    let block = hex::<8>(BLOCK);
    let pair = (&keys.deriving.clone()[..], &keys.verifying.clone()[..]);
    let request = |field: &[u8]| {
        let data = ["401234567891", "0000", ""];
        verify(pair, &["VISA-PVV", "DUKPT-IP"], &with(field), PAN, &block, 4, data)
    };
    for field in malformed() {
        let answer = one(&mut keys.processor, &request(&field));
        assert_eq!((answer.codes, answer.count), (code::SERIAL_COUNTER, None), "{field:02X?}");
    }
    // Of a wrong PIN a failure is counted, in either form.
    let answer = one(&mut keys.processor, &request(&filled(SERIAL.as_bytes(), b' ')));
    assert_eq!(answer.codes, code::PIN_NOT_VERIFIED);
    assert!(answer.count.is_some());
}
