//! CVV_Key_Combine.

use crate::pin;
use token::control_vector::{KeyForm, bit};
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::{DesToken, KeyType};
use verb_requests::key_block::{combine, of_vector, with_points};
use verb_requests::support::{Reply, entered, generated, processor};
use wire::point::Point;
use wire::verb::cvv_generate;
use wire::verb::cvv_key_combine::{OUTPUT_KEY_IDENTIFIER, OUTPUT_KEY_IDENTIFIER_LENGTH};
use wire::{Codes, code};

fn token(reply: &Reply) -> Vec<u8> {
    reply.bytes(OUTPUT_KEY_IDENTIFIER)
}

fn half(processor: &mut cca::Processor, key_type: &str, words: &[&str], from: usize) -> Vec<u8> {
    let mut value = [0; 16];
    value[..8].copy_from_slice(&pin::KEY[from..from + 8]);
    entered(processor, key_type, &[&["SINGLE"], words].concat(), &value)
}

#[test]
fn a_combined_key_makes_the_values_of_its_pair() {
    let mut processor = processor();
    for (one, other) in [(["CVVKEY-A"], ["CVVKEY-B"]), (["ANY-MAC"], ["ANY-MAC"])] {
        let one = half(&mut processor, "MAC", &one, 0);
        let other = half(&mut processor, "MAC", &other, 8);
        let key = token(&combine(&one, &other, &[]).ok(&mut processor));
        let vector = DesToken::parse(&key).unwrap().control_vector();
        assert_eq!((vector.method_bits(), vector.form().unwrap().is_unique()), (2, true));
        let card = ["4123456789012345", "8701", "101"];
        let reply = pin::value((&key, &[0; 64]), &["PAN-16", "CVV-3"], card).ok(&mut processor);
        assert_eq!(reply.bytes(cvv_generate::CVV_VALUE), b"561  ");
    }
    let one = half(&mut processor, "MACVER", &["CVVKEY-A"], 0);
    let other = half(&mut processor, "MACVER", &["CVVKEY-B"], 8);
    let key = token(&combine(&one, &other, &["WRAP-ENH", "ENH-ONLY"]).ok(&mut processor));
    assert!(DesToken::parse(&key).unwrap().control_vector().is_enhanced_only());
    let card = ["4123456789012345", "8701", "101"];
    pin::verified((&key, &[0; 64]), &["PAN-16", "CVV-3"], card, "561").ok(&mut processor);
    pin::value((&key, &[0; 64]), &["PAN-16"], card).refused(&mut processor, code::KEY_USAGE);
    for word in ["USECONFG", "WRAP-ECB", "WRAP-ENH"] {
        combine(&one, &other, &[word]).ok(&mut processor);
    }
    combine(&one, &other, &["ENH-ONLY"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    // A key that asks for the enhanced wrapping does not lose it in a pair.
    let bound = half(&mut processor, "MACVER", &["CVVKEY-A", "ENH-ONLY"], 0);
    combine(&bound, &other, &["WRAP-ECB"]).refused(&mut processor, code::WRAPPING_BIT);
    combine(&bound, &other, &["WRAP-ENH"]).ok(&mut processor);
}

#[test]
fn keys_that_are_no_pair_are_not_combined() {
    let mut processor = processor();
    let a = half(&mut processor, "MAC", &["CVVKEY-A"], 0);
    let b = half(&mut processor, "MAC", &["CVVKEY-B"], 8);
    let any = half(&mut processor, "MAC", &["ANY-MAC"], 8);
    let data = generated(&mut processor, "DATA", "SINGLE");
    let mixed = with_points(&[Point::CombinedMixed]);
    let mut refused = |one: &[u8], other: &[u8], is_mixed: bool, codes: Codes| {
        let request = combine(one, other, &[]);
        let request = if is_mixed { request.points(mixed) } else { request };
        request.refused(&mut processor, codes);
    };
    refused(&b, &a, true, code::KEY_USAGE);
    refused(&a, &a, true, code::KEY_USAGE);
    refused(&b, &b, true, code::KEY_USAGE);
    refused(&any, &a, true, code::KEY_USAGE);
    refused(&a, &any, false, code::ACCESS_DENIED);
    refused(&any, &b, false, code::ACCESS_DENIED);
    refused(&data, &data, false, code::ACCESS_DENIED);
    // Equal halves are one key of single length.
    refused(&any, &any, false, code::KEY_REPLICATED);
    let kept = half(&mut processor, "MAC", &["CVVKEY-B", "NO-XPORT"], 8);
    let vector = KeyType::Mac.vector_with(KeyForm::Single, ["CVVKEY-B"]).unwrap();
    let vector = vector.with_bits(bit(CONTROL_VECTOR_BIT_NO_TR31), true).unwrap();
    let inside = of_vector(&mut processor, KeyForm::Single, vector, &pin::OTHER);
    let verifying = half(&mut processor, "MACVER", &["CVVKEY-B"], 8);
    let double = entered(&mut processor, "MAC", &["DOUBLE", "CVVKEY-A"], &pin::KEY);
    let x99 = half(&mut processor, "MAC", &["ANSIX9.9"], 0);
    for (one, other) in
        [(&a, &kept), (&a, &inside), (&a, &verifying), (&double, &b), (&a, &double), (&x99, &b)]
    {
        combine(one, other, &[]).points(mixed).refused(&mut processor, code::KEY_USAGE);
    }
    combine(&a, &any, &[]).points(mixed).ok(&mut processor);
    combine(&a, &data, &[]).points(mixed).ok(&mut processor);
    let kept_a = half(&mut processor, "MAC", &["CVVKEY-A", "NO-XPORT"], 0);
    let key = token(&combine(&kept_a, &kept, &[]).ok(&mut processor));
    assert!(!DesToken::parse(&key).unwrap().control_vector().bit(17));
    combine(&a, &b, &[])
        .integer(OUTPUT_KEY_IDENTIFIER_LENGTH, 63)
        .refused(&mut processor, code::BUFFER_TOO_SMALL);
}
