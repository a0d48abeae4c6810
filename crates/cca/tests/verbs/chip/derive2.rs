//! Diversified_Key_Generate2.

use super::*;
use cca::Processor;
use token::variable::Attributes;
use token::variable::VariableType;
use verb_requests::peer;
use verb_requests::support::processor;
use wire::code;
use wire::point::{Point, PointSet};
use wire::verb::{Verb, diversified_key_generate2, key_part_import2, mac_generate2};

/// A key of this skeleton with this value.
fn entered2(processor: &mut Processor, skeleton: &[u8], value: &[u8]) -> Vec<u8> {
    use key_part_import2::*;
    let step = |words: &[&str], part: &[u8], token: &[u8]| {
        verb_requests::support::Request::new(Verb::KeyPartImport2)
            .rules(words)
            .integer(CLEAR_KEY_PART_LENGTH, 8 * part.len() as i64)
            .bytes(CLEAR_KEY_PART, part)
            .integer(KEY_IDENTIFIER_LENGTH, 725)
            .bytes(KEY_IDENTIFIER, token)
    };
    let first = step(&["AES", "FIRST", "MIN1PART"], value, skeleton).ok(processor).bytes(KEY_IDENTIFIER);
    step(&["AES", "COMPLETE"], &[], &first).ok(processor).bytes(KEY_IDENTIFIER)
}

fn mac_attributes(words: &[&str]) -> Attributes {
    Attributes::new(VariableType::Mac, words.iter().copied(), None).unwrap()
}

/// The CMAC of a text of one block under a token, beside that by OpenSSL.
fn is_key(processor: &mut Processor, token: &[u8], key: &[u8]) {
    use mac_generate2::*;
    let text = b"sixteen bytes...";
    let made = verb_requests::support::Request::new(Verb::MacGenerate2)
        .rules(&["AES"])
        .counted(KEY_IDENTIFIER_LENGTH, KEY_IDENTIFIER, token)
        .counted(MESSAGE_TEXT_LENGTH, MESSAGE_TEXT, text)
        .integer(MAC_LENGTH, 16)
        .ok(processor)
        .bytes(MAC_TEXT);
    let zero = peer::aes_ecb(key, true, &[0; 16]);
    let doubled = u128::from_be_bytes(zero.clone().try_into().unwrap()) << 1;
    let subkey = doubled ^ if zero[0] & 0x80 != 0 { 0x87 } else { 0 };
    assert_eq!(made, peer::aes_ecb(key, true, &peer::xor(text, &subkey.to_be_bytes())));
}

#[test]
fn keys_of_every_length_are_derived_as_by_another_program() {
    let mut processor = processor();
    let mac = mac_attributes(&["GENERATE", "CMAC"]);
    let data: [u8; 16] = std::array::from_fn(|at| 0x10 + at as u8);
    for bytes in [16, 24, 32] {
        let value: Vec<u8> = (0..bytes).map(|at| 0x40 + 3 * at as u8).collect();
        let issuer = entered2(&mut processor, &aes_deriving(&["D-MAC", "DKYL1"], Some(&mac)), &value);
        let below = aes_deriving(&["D-MAC", "DKYL0"], Some(&mac));
        let reply = derive2(&issuer, &["MK-OPTC"], &data, &below).ok(&mut processor);
        let card = reply.bytes(diversified_key_generate2::GENERATED_KEY_ID1);
        let complement = data.map(|byte| !byte);
        let card_key = peer::aes_ecb(&value, true, &[data, complement].concat())[..bytes].to_vec();
        let session = derive2(&card, &["SESS-ENC"], &data, &aes_mac_skeleton()).ok(&mut processor);
        let session = session.bytes(diversified_key_generate2::GENERATED_KEY_ID1);
        let (mut one, mut two) = (data, data);
        if bytes > 16 {
            (one[2], two[2]) = (0xF0, 0x0F);
        }
        let expected = peer::aes_ecb(&card_key, true, &[one, two].concat())[..bytes].to_vec();
        is_key(&mut processor, &session, &expected);
    }
}

#[test]
fn what_a_key_does_not_derive_is_refused() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let good = || derive2(&chips.aes, &["SESS-ENC"], &CARD, &chips.aes_skeleton);
    good().ok(&mut processor);
    for words in
        [&["KDFFM-DK"][..], &["MK-OPTC", "KLEN128"], &["MK-OPTC", "KLEN192"], &["MK-OPTC", "KLEN256"]]
    {
        good().rules(words).refused(&mut processor, code::KEYWORD);
    }
    for length in [0, 15] {
        derive2(&chips.aes, &["MK-OPTC"], &CARD[..length], &chips.aes_skeleton)
            .refused(&mut processor, code::TEXT_LENGTH);
    }
    let cipher = Attributes::new(VariableType::Cipher, ["ENCRYPT", "CBC"], None).unwrap();
    derive2(&chips.aes, &["MK-OPTC"], &CARD, &aes_skeleton(cipher)).refused(&mut processor, code::KEY_USAGE);
    derive2(&chips.aes, &["MK-OPTC"], &CARD, &[0; 64]).refused(&mut processor, code::TOKEN_INVALID);
    derive2(&chips.aes, &["MK-OPTC"], &CARD, format!("{:64}", "A.LABEL").as_bytes())
        .refused(&mut processor, code::LABEL_NOT_FOUND);
    derive2(&chips.cryptograms, &["MK-OPTC"], &CARD, &chips.aes_skeleton)
        .refused(&mut processor, code::TOKEN_INVALID);
    let generating = aes_key(&mut processor, &chips.aes_skeleton, 128);
    derive2(&generating, &["MK-OPTC"], &CARD, &chips.aes_skeleton).refused(&mut processor, code::KEY_USAGE);
    let room = diversified_key_generate2::GENERATED_KEY_ID1_LENGTH;
    good().integer(room, 70).refused(&mut processor, code::BUFFER_TOO_SMALL);
    use wire::verb::diversified_key_generate2::{GENERATED_KEY_ID2, GENERATED_KEY_ID2_LENGTH};
    good().counted(GENERATED_KEY_ID2_LENGTH, GENERATED_KEY_ID2, [0]).told(&mut processor);
}

#[test]
fn a_key_that_derives_every_type_needs_a_role_that_names_it() {
    let mut processor = processor();
    let any = aes_key(&mut processor, &aes_deriving(&["D-ALL", "DKYL0"], None), 256);
    let request = derive2(&any, &["MK-OPTC"], &CARD, &aes_mac_skeleton());
    request.refused(&mut processor, code::ACCESS_DENIED);
    let mut lifted = wire::role::BUILT_IN[0].points;
    lifted.allow(Point::DiversifyAny2);
    let lifted: &'static PointSet = Box::leak(Box::new(lifted));
    request.points(lifted).ok(&mut processor);
}
