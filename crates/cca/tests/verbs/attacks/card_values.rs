//! Attacks on card verification values, each where it works first, then where it is stopped.

use crate::pin::{KEY, hex, value, verified};
use verb_requests::support::{entered, mac, processor};
use wire::code;
use wire::verb::mac_generate::MAC;

/// Of the Python package psec 1.3.0 and of Java's jPOS 2.1.9.
const CARD: [&str; 3] = ["4123456789012345", "8701", "101"];
const VALUE: &str = "561";

/// A value is the digits of a MAC of two blocks: who has that MAC needs no verb for values. A key that is for values
/// alone makes none, nor does any half of a pair.
#[test]
fn a_mac_of_the_card_is_the_value_and_a_key_of_values_makes_no_mac() {
    let mut processor = processor();
    let text = hex::<16>(&format!("{:0<32}", CARD.concat()));
    let any = entered(&mut processor, "MAC", &["DOUBLE"], &KEY);
    let reply = mac(&any, &["X9.19OPT", "ONLY", "MACLEN8"], &text).ok(&mut processor);
    let shown: String = reply.bytes(MAC).iter().map(|byte| format!("{byte:02X}")).collect();
    let found: String = shown.chars().filter(char::is_ascii_digit).take(VALUE.len()).collect();
    assert_eq!(found, VALUE);
    let (own, none) = (entered(&mut processor, "MAC", &["DOUBLE", "CVVKEY-A"], &KEY), [0; 64]);
    verified((&own, &none), &["PAN-16", "CVV-3"], CARD, &found).ok(&mut processor);
    value((&own, &none), &["PAN-16", "CVV-3"], CARD).ok(&mut processor);
    for method in ["X9.19OPT", "TDES-MAC"] {
        mac(&own, &[method, "ONLY", "MACLEN8"], &text).refused(&mut processor, code::KEY_USAGE);
    }
    for half in ["CVVKEY-A", "CVVKEY-B"] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&KEY[..8]);
        let half = entered(&mut processor, "MAC", &["SINGLE", half], &key);
        mac(&half, &["X9.9-1", "ONLY", "MACLEN8"], &text).refused(&mut processor, code::KEY_USAGE);
    }
}
