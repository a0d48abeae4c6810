//! Diversified_Key_Generate.

use super::*;
use cca::Processor;
use token::control_vector::bit;
use token::des::Origin;
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::{ControlVector, DesToken, KeyType};
use verb_requests::peer;
use verb_requests::support::{entered, mac, processor, processor_with, skeleton};
use wire::code;
use wire::point::{Group, Point, PointSet};
use wire::verb::{diversified_key_generate, mac_generate};

/// The owner's role with these points.
fn with(points: &[Point]) -> &'static PointSet {
    let mut set = wire::role::BUILT_IN[0].points;
    for point in points {
        assert!(point.entry().group.is_legacy() || point.entry().group == Group::Weak);
        set.allow(*point);
    }
    Box::leak(Box::new(set))
}

/// The MAC of a text under a token, beside that under the key by OpenSSL.
fn is_key(processor: &mut Processor, token: &[u8], key: &[u8]) {
    let text = b"sixteen bytes...";
    let made = mac(token, &["X9.19OPT", "MACLEN8"], text).ok(processor).bytes(mac_generate::MAC);
    assert_eq!(made, retail(key, text));
}

#[test]
fn a_key_of_a_card_is_derived_and_keys_of_sessions_from_it() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let card = derived(
        &derive(&chips.cryptograms_above, &["TDES-ENC"], &CARD, &chips.below_skeleton),
        &mut processor,
    );
    let session = derived(&derive(&card, &["TDES-ENC"], &CARD, &chips.mac_skeleton), &mut processor);
    is_key(&mut processor, &session, &odd(&peer::des(&CARD_KEY, true, &CARD)));
    let own = derived(&derive(&chips.cryptograms, &["TDES-ENC"], &CARD, &chips.mac_skeleton), &mut processor);
    is_key(&mut processor, &own, &CARD_KEY);
    let back =
        derived(&derive(&chips.cryptograms, &["TDES-DEC"], &CARD, &chips.mac_skeleton), &mut processor);
    is_key(&mut processor, &back, &odd(&peer::des(&ISSUER, false, &CARD)));
    let chained =
        derived(&derive(&chips.cryptograms, &["TDES-CBC"], &CARD, &chips.mac_skeleton), &mut processor);
    is_key(&mut processor, &chained, &odd(&peer::des_cbc(&ISSUER, &[0; 8], &CARD)));
}

/// The session keys of the counter 001C of the documentation of pyemv 1.5.0, whose card has the key of ISSUER; here it
/// is what enciphers to that key.
#[test]
fn keys_of_sessions_are_those_of_another_program() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let blocks = peer::des(&ISSUER, false, &ISSUER);
    let data = |rest: &[u8]| [&blocks[..], &[0, 0x1C], rest].concat();
    for (word, rest, expected) in [
        ("TDES-XOR", &[][..], 0x0123_4567_89AB_CDF2_FEDC_BA98_7654_CDF2u128),
        ("TDESEMV4", &[], 0xE5BF_6D10_67F1_94B0_A89B_7F5D_83BC_64A2),
        ("TDESEMV2", &[], 0x5BD6_9B26_76F4_64F4_B3D3_D549_C173_7C61),
        ("TDESEMV4", &[0; 16], 0xE5BF_6D10_67F1_94B0_A89B_7F5D_83BC_64A2),
    ] {
        let request = derive(&chips.cryptograms, &[word], &data(rest), &chips.mac_skeleton);
        let token = derived(&request, &mut processor);
        is_key(&mut processor, &token, &expected.to_be_bytes());
    }
    let vector: Vec<u8> = (0..16).collect();
    let data = [&blocks[..], &[0xA5, 0xC3], &vector].concat();
    let request = derive(&chips.cryptograms, &["TDESEMV4"], &data, &chips.mac_skeleton);
    let token = derived(&request, &mut processor);
    is_key(&mut processor, &token, &0x07BA_C1EC_751C_34B6_F72F_85C4_68E0_57E6u128.to_be_bytes());
}

#[test]
fn keys_of_single_length_and_differences_need_a_role_that_names_them() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let single = derive(&chips.single, &["CLR8-ENC"], &CARD[..8], &chips.mac_single);
    let token = derived(&single, &mut processor);
    let text = b"eight by";
    let made = mac(&token, &["X9.9-1", "MACLEN8"], text).ok(&mut processor).bytes(mac_generate::MAC);
    let key = peer::des(&ISSUER, true, &CARD[..8]);
    assert_eq!(made, peer::des(&odd(&key), true, text));
    let mut denied = wire::role::BUILT_IN[0].points;
    denied.deny(Point::SingleLengthDes);
    single.points(Box::leak(Box::new(denied))).refused(&mut processor, code::ACCESS_DENIED);

    // A key that stays out of blocks makes none that a token without a control vector could not keep out of them.
    let vector = KeyType::KeyGenKy.vector_with(token::control_vector::KeyForm::Double, ["CLR8-ENC"]).unwrap();
    let vector = vector.with_bits(bit(CONTROL_VECTOR_BIT_NO_TR31), true).unwrap();
    let kept = verb_requests::key_block::of_vector(
        &mut processor,
        token::control_vector::KeyForm::Double,
        vector,
        &ISSUER,
    );
    let zero = skeleton(&mut processor, "DATA", &["NO-CV", "SINGLE"]);
    derive(&kept, &["CLR8-ENC"], &CARD[..8], &zero).refused(&mut processor, code::KEY_USAGE);
    let token = derived(&derive(&kept, &["CLR8-ENC"], &CARD[..8], &chips.mac_single), &mut processor);
    assert!(DesToken::parse(&token).unwrap().control_vector().bit(CONTROL_VECTOR_BIT_NO_TR31));

    let difference = derive(&chips.mac, &["SESS-XOR"], &CARD, &chips.mac_skeleton);
    difference.refused(&mut processor, code::ACCESS_DENIED);
    let lifted = with(&[Point::DiversifyDifference]);
    let token = derived(&difference.points(lifted), &mut processor);
    is_key(&mut processor, &token, &odd(&peer::xor(&ISSUER, &CARD)));

    let equal = [&CARD[..8], &CARD[..8]].concat();
    let mut kept = wire::role::BUILT_IN[0].points;
    kept.deny(Point::DiversifyEqualHalves);
    let kept: &'static PointSet = Box::leak(Box::new(kept));
    let halves = derive(&chips.cryptograms, &["TDES-ENC"], &equal, &chips.mac_skeleton).points(kept);
    halves.refused(&mut processor, code::KEY_REPLICATED);
    let short = derive(&chips.cryptograms, &["TDES-ENC"], &CARD[..8], &chips.mac_single).points(kept);
    short.refused(&mut processor, code::ACCESS_DENIED);
    derived(&short.points(&PointSet::EVERYTHING), &mut processor);
}

#[test]
fn a_key_that_derives_every_type_needs_a_role_that_names_it() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let below = skeleton(&mut processor, "DKYGENKY", &["DKYL0", "DALL"]);
    let request = derive(&chips.any, &["TDES-ENC"], &CARD, &below);
    request.refused(&mut processor, code::ACCESS_DENIED);
    let lifted = with(&[Point::DiversifyAny]);
    let card = derived(&request.points(lifted), &mut processor);
    let request = derive(&card, &["TDES-ENC"], &CARD, &chips.mac_skeleton);
    request.refused(&mut processor, code::ACCESS_DENIED);
    derived(&request.points(lifted), &mut processor);
}

#[test]
fn tokens_have_the_wrapping_that_is_asked_for() {
    let mut processor = verb_requests::support::compatible_processor();
    let chips = Chips::new(&mut processor);
    let of = |processor: &mut Processor, words: &[&str]| {
        let words = [&["TDES-ENC"], words].concat();
        let request = derive(&chips.cryptograms, &words, &CARD, &chips.mac_skeleton);
        DesToken::parse(&derived(&request, processor)).unwrap()
    };
    assert!(!of(&mut processor, &[]).is_enhanced());
    assert!(
        !of(&mut processor, &["USECONFG"]).is_enhanced() && !of(&mut processor, &["WRAP-ECB"]).is_enhanced()
    );
    assert!(of(&mut processor, &["WRAP-ENH"]).is_enhanced());
    let bound = of(&mut processor, &["WRAP-ENH", "ENH-ONLY"]);
    assert!(bound.control_vector().is_enhanced_only() && bound.origin() == Origin::Internal);
    let enhanced = skeleton(&mut processor, "MAC", &["DOUBLE", "ENH-ONLY"]);
    derive(&chips.cryptograms, &["TDES-ENC", "WRAP-ECB"], &CARD, &enhanced)
        .refused(&mut processor, code::WRAPPING_BIT);
    derive(&chips.cryptograms, &["TDES-ENC", "ENH-ONLY"], &CARD, &enhanced)
        .refused(&mut processor, code::KEYWORD_COMBINATION);
    for word in ["WRAPENH2", "WRAPENH3"] {
        derive(&chips.cryptograms, &["TDES-ENC", word], &CARD, &enhanced)
            .refused(&mut processor, code::WRAPPING_TYPE);
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let good = || derive(&chips.cryptograms, &["TDES-ENC"], &CARD, &chips.mac_skeleton);
    for word in ["A28OWFCL", "A28OWFEC", "A28XOREC"] {
        good().rules(&[word]).refused(&mut processor, code::KEYWORD);
    }
    for length in [0, 8, 15] {
        derive(&chips.cryptograms, &["TDES-ENC"], &CARD[..length], &chips.mac_skeleton)
            .refused(&mut processor, code::TEXT_LENGTH);
    }
    for (word, length) in
        [("TDES-XOR", 34), ("TDES-XOR", 17), ("TDESEMV2", 26), ("TDESEMV4", 10), ("TDESEMV4", 35)]
    {
        derive(&chips.cryptograms, &[word], &vec![3; length], &chips.mac_skeleton)
            .refused(&mut processor, code::TEXT_LENGTH);
    }
    let generated = diversified_key_generate::GENERATED_KEY_ID;
    good().bytes(generated, [0; 64]).refused(&mut processor, code::TOKEN_INVALID);
    good().bytes(generated, format!("{:64}", "A.LABEL")).refused(&mut processor, code::LABEL_NOT_FOUND);
    good().bytes(generated, &chips.below_skeleton).refused(&mut processor, code::KEY_USAGE);
    let data = skeleton(&mut processor, "DATA", &["DOUBLE"]);
    good().bytes(generated, &data).refused(&mut processor, code::KEY_USAGE);
    // Nor do keys of a level above make those of a session.
    for word in ["TDES-ENC", "TDES-XOR", "TDESEMV2"] {
        let data = if word == "TDES-ENC" { &CARD[..] } else { &[3; 18] };
        derive(&chips.cryptograms_above, &[word], data, &chips.mac_skeleton)
            .refused(&mut processor, code::KEY_USAGE);
        derive(&chips.mac, &[word], data, &chips.mac_skeleton).refused(&mut processor, code::KEY_USAGE);
        derive(&chips.single, &[word], data, &chips.mac_skeleton).refused(&mut processor, code::KEY_USAGE);
    }
    derive(&chips.single, &["CLR8-ENC"], &CARD[..8], &chips.mac_skeleton)
        .refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    let triple =
        DesToken::skeleton(Origin::Internal, token::control_vector::KeyForm::Triple, ControlVector::ZERO);
    let data_above = entered(&mut processor, "DKYGENKY", &["DKYL0", "DDATA"], &ISSUER);
    derive(&data_above, &["TDES-ENC"], &CARD, &triple.unwrap().to_bytes())
        .refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    // A key with equal halves makes no keys of sessions, unless the home permits weak algorithms.
    let mut processor = processor_with(false);
    let equal = with_equal_halves(&mut processor, &chips.below_skeleton);
    for (word, data) in [("TDES-XOR", &[3; 18][..]), ("TDES-ENC", &CARD), ("TDES-CBC", &CARD)] {
        derive(&equal, &[word], data, &chips.mac_skeleton).refused(&mut processor, code::KEY_REPLICATED);
    }
}
