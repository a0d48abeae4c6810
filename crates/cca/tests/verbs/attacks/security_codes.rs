//! Attacks on card security codes, each where it works first, then where it is stopped.

use super::denied;
use crate::pin::{KEY, code_verified, codes_of, hex, with_points};
use verb_requests::support::{entered, mac, processor};
use wire::code;
use wire::point::{Point, PointSet};
use wire::verb::mac_generate::MAC;
use wire::verb::transaction_validation::VALIDATION_VALUES;

const CARD: &str = "9912371234567890123";
const CODE: &str = "61247";

/// A code is the digits of a MAC of one block: who has that MAC needs no verb for codes. A key that is for codes alone
/// makes none.
#[test]
fn a_mac_of_the_block_is_the_code_and_a_key_of_codes_makes_no_mac() {
    let mut processor = processor();
    let block = hex::<8>("9912123456789012");
    let any = entered(&mut processor, "MAC", &["DOUBLE"], &KEY);
    let reply = mac(&any, &["TDES-MAC", "ONLY", "MACLEN8"], &block).ok(&mut processor);
    let shown: String = reply.bytes(MAC).iter().map(|byte| format!("{byte:02X}")).collect();
    let found: String = shown.chars().filter(char::is_ascii_digit).take(CODE.len()).collect();
    assert_eq!(found, CODE);
    let own = entered(&mut processor, "MAC", &["DOUBLE", "AMEX-CSC"], &KEY);
    for method in ["TDES-MAC", "X9.19OPT"] {
        mac(&own, &[method, "ONLY", "MACLEN8"], &block).refused(&mut processor, code::KEY_USAGE);
    }
}

/// Who may verify and not make finds a code by trying: of five digits in at most 100,000 tries, which nothing counts.
/// What he may not do is have it made, with a key of either kind.
#[test]
fn a_role_that_verifies_makes_no_codes() {
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["DOUBLE", "AMEX-CSC"], &KEY);
    let mut verifies = wire::role::BUILT_IN[0].points;
    verifies.deny(Point::SecurityCodeGenerate);
    let verifies: &PointSet = Box::leak(Box::new(verifies));
    let made = codes_of(&key, &["GENERATE", "CSC-5"], CARD);
    assert_eq!(made.ok(&mut processor).bytes(VALIDATION_VALUES), CODE.as_bytes());
    denied(&mut processor, &made, verifies);
    for near in ["61246", "61247", "61248"] {
        let request = code_verified(&key, &["CSC-5"], CARD, near).points(verifies);
        let expected = if near == CODE { code::OK } else { code::VERIFICATION_FAILED };
        assert_eq!(request.told(&mut processor).codes, expected);
    }
    // Nor do guests' roles, which do not have the point.
    for role in wire::role::BUILT_IN.iter().skip(1) {
        let points: &PointSet = Box::leak(Box::new(role.points));
        assert!(!points.permits(Point::SecurityCodeGenerate), "{}", role.name);
        denied(&mut processor, &made, points);
    }
}

/// No role of a home has what no value of another system confirms. Where a role has it, three codes that are compared
/// at once tell nothing of one of them: a guess of twelve digits is right or wrong as a whole.
#[test]
fn no_role_of_a_home_has_codes_that_are_not_confirmed() {
    let mut processor = processor();
    let key = entered(&mut processor, "MAC", &["DOUBLE", "AMEX-CSC"], &KEY);
    let of_34 = CARD.replace("9912371", "9912341");
    let requests = [
        code_verified(&key, &["CSC-3"], CARD, "552"),
        code_verified(&key, &["CSC-4"], CARD, "8720"),
        code_verified(&key, &["CSC-345"], CARD, "612478720552"),
        code_verified(&key, &["CSC-5"], &of_34, "36186"),
        codes_of(&key, &["GENERATE", "CSC-3"], CARD),
        codes_of(&key, &["GENERATE", "CSC-345"], CARD),
        codes_of(&key, &["GENERATE", "CSC-5"], &of_34),
    ];
    let lifted = with_points(&[Point::SecurityCodeUnconfirmed]);
    for request in &requests {
        request.clone().points(lifted).ok(&mut processor);
        for role in &wire::role::BUILT_IN {
            denied(&mut processor, request, Box::leak(Box::new(role.points)));
        }
    }
    // Two right codes of three have the answer of none.
    for wrong in ["612478720551", "612478721552", "612578720552", "000000000000"] {
        let request = code_verified(&key, &["CSC-345"], CARD, wrong).points(lifted);
        request.answers(&mut processor, code::VERIFICATION_FAILED);
    }
}
