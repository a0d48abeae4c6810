//! MACs that tries find.

use crate::pin::KEY;
use crate::variable::{cmac_key, hmac_key};
use verb_requests::support::{Request, entered, mac, processor, verify};
use verb_requests::uses::ways::{hmac, mac2, verify_hmac, verify_mac2};
use wire::code;
use wire::point::PointSet;
use wire::role::{BuiltIn, GUEST};
use wire::verb::{hmac_generate, mac_generate, mac_generate2};

/// As many wrong values as are tried here. What they are told does not change with their number.
const TRIES: u32 = 1_000;

/// Nothing counts wrong MACs, and those of four bytes are found in an hour: who may not take that is told nothing of
/// them, be they right or wrong.
#[test]
fn a_mac_of_four_bytes_is_tried_by_those_alone_who_may() {
    let guest: &'static PointSet = &BuiltIn::from_name(GUEST).unwrap().points;
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["DOUBLE"], &KEY);
    for format in ["MACLEN4", "HEX-8", "HEX-9", "MACLEN6", "MACLEN8"] {
        let words = ["X9.19OPT", "ONLY", format];
        let made = mac(&key, &words, b"pay 10").ok(&mut processor).bytes(mac_generate::MAC);
        let right = verify(&key, &words, b"pay 10", &made);
        right.ok(&mut processor);
        let is_short = !format.starts_with("MACLEN6") && !format.starts_with("MACLEN8");
        let mut ask =
            |request: Request, codes| assert_eq!(request.points(guest).told(&mut processor).codes, codes);
        if !is_short {
            ask(right, code::OK);
            continue;
        }
        ask(right, code::ACCESS_DENIED);
        ask(verify(&key, &words, b"pay 99", &made), code::ACCESS_DENIED);
    }
    // Who may, tries as often as he likes.
    for number in 0..TRIES {
        let wrong = verify(&key, &["X9.19OPT", "ONLY", "MACLEN4"], b"pay 99", &number.to_be_bytes());
        assert_eq!(wrong.told(&mut processor).codes, code::VERIFICATION_FAILED);
    }
}

/// The caller says how much of these is compared.
#[test]
fn an_hmac_and_a_cmac_are_compared_in_eight_bytes_at_least() {
    let mut processor = processor();
    let of_hmac = hmac_key(&mut processor, &[7; 32]);
    let of_cmac = cmac_key(&mut processor, &["GENERATE"], &[7; 16]);
    let made = hmac(&of_hmac, &["SHA-256"], b"pay 10").ok(&mut processor).bytes(hmac_generate::MAC_TEXT);
    let cmac = mac2(&of_cmac, &["AES"], b"pay 10").ok(&mut processor).bytes(mac_generate2::MAC_TEXT);
    for length in [1, 4, 7, 8, 16] {
        let expected = if length < 8 { code::INVALID_PARAMETER } else { code::OK };
        for right in [
            verify_hmac(&of_hmac, &["SHA-256"], b"pay 10", &made[..length]),
            verify_mac2(&of_cmac, &["AES"], b"pay 10", &cmac[..length]),
        ] {
            assert_eq!(right.told(&mut processor).codes, expected, "{length}");
        }
    }
}
