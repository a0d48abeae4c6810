//! Attacks by key blocks that were published or that the standard warns of (TR-31:2018, annex B; X9.143), each in a role where it works first,
//! then in the owner's. docs/keyblocks.md has the points.

use token::{DesToken, KeyType};
use wire::code;
use wire::point::Point;
use wire::verb::{clear_pin_generate, key_export};

use crate::key_block::requests::*;
use crate::key_block::twin;
use crate::peer;
use crate::pin;
use crate::support::imported;

const VALUE: [u8; 16] = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128.to_be_bytes();

/// A key that left in a block of version B leaves in one of A, where whoever edits a header has to meet four bytes.
#[test]
fn a_key_does_not_leave_again_in_a_weaker_version() {
    let mut keys = Keys::new();
    let text = twin::seal(Keys::value('B'), "B0000P0TE00E0000", &VALUE);
    let key = token(&keys.import(&text, &[]).ok(&mut keys.processor));
    for (method, point) in [("VARXOR-A", Point::Tr31ExportA), ("VARXOR-C", Point::Tr31ExportC)] {
        let request = keys.export(&key, &[method, "PINENC", "ENC-ONLY"]);
        let weaker = block(&request.clone().points(with_points(&[point])).ok(&mut keys.processor));
        assert!(weaker.len() < text.len());
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
    }
}

/// A header whose mode and exportability are edited, with a MAC that meets the four bytes of A and C: a key that verifies PINs and may not leave
/// becomes one that makes them, and may. The MAC, which is found in 2^32 tries, is computed here; under B and D the header is bound by a MAC
/// of eight and sixteen bytes.
#[test]
fn an_edited_header_with_four_right_bytes_turns_a_verifying_key_into_one_that_makes_pins() {
    let mut keys = Keys::new();
    for (version, point) in [('A', Point::Tr31ImportA), ('C', Point::Tr31ImportC)] {
        let verifying = twin::seal(Keys::value(version), &format!("{version}0000V1TV00N0000"), &pin::KEY);
        let edited = twin::with_header(Keys::value(version), &verifying, |header| {
            header.replace("V1TV00N", "V1TG00E")
        });
        assert_eq!(verifying[16..verifying.len() - 8], edited[16..edited.len() - 8]);
        let request = keys.import(&edited, &[]);
        let lifted = with_points(&[point]);
        let key = token(&request.clone().points(lifted).ok(&mut keys.processor));
        assert!(DesToken::parse(&key).unwrap().control_vector().may(token::usage::Use::Export));
        let data = [pin::TABLE, "1122334455667788", ""];
        let reply = pin::generate(&key, "IBM-PIN", (4, 4), data).ok(&mut keys.processor);
        assert!(reply.bytes(clear_pin_generate::RETURNED_RESULT).starts_with(b"3413"));
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        // Without the protection key one MAC in 2^32 is right.
        let wrong = format!("{}{:08X}", &edited[..edited.len() - 8], 0);
        keys.import(&wrong, &[]).points(lifted).refused(&mut keys.processor, code::RSA_BLOCK);
    }
    for version in ['B', 'D'] {
        let pin_key = twin::seal(Keys::value(version), &format!("{version}0000P0TE00E0000"), &VALUE);
        for (from, to) in [("P0TE", "D0TB"), ("00E0", "00S0"), ("TE00", "TD00")] {
            keys.import(&pin_key.replacen(from, to, 1), &[]).refused(&mut keys.processor, code::RSA_BLOCK);
        }
        // Nor is it a block of another version: the method follows from the letter.
        for other in ['A', 'C'].iter().filter(|_| version == 'B') {
            let lifted = with_points(&[Point::Tr31ImportA, Point::Tr31ImportC]);
            let text = format!("{other}{}", &pin_key[1..]);
            let codes = keys.import(&text, &[]).points(lifted).told(&mut keys.processor).codes;
            assert_eq!(codes.return_code, 8, "{codes}");
        }
    }
}

/// A verifying PIN key of a maker whose blocks do not say more than N becomes one that makes PINs.
#[test]
fn a_key_that_verifies_pins_does_not_come_in_as_one_that_makes_them() {
    let mut keys = Keys::new();
    for usage in ["V0", "V1", "V2"] {
        let text = twin::seal(Keys::value('B'), &format!("B0000{usage}TN00E0000"), &pin::KEY);
        let request = keys.import(&text, &["PINGEN"]);
        let lifted = with_points(&[Point::Tr31PinAnyMode]);
        let key = token(&request.clone().points(lifted).ok(&mut keys.processor));
        assert_eq!(KeyType::of(DesToken::parse(&key).unwrap().control_vector()), Some(KeyType::PinGen));
        if usage == "V1" {
            let data = [pin::TABLE, "1122334455667788", ""];
            let reply = pin::generate(&key, "IBM-PIN", (4, 4), data).ok(&mut keys.processor);
            assert!(reply.bytes(clear_pin_generate::RETURNED_RESULT).starts_with(b"3413"));
        }
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        keys.import(&text, &["PINVER"]).refused(&mut keys.processor, code::ACCESS_DENIED);
    }
}

/// The keys of a block of version B follow from what a block of zeros is enciphered to under the protection key. A clear key of zeros that is
/// exported without a control vector would be that: it leaves as another, with odd parity.
#[test]
fn no_exported_key_tells_what_zeros_are_enciphered_to() {
    let mut keys = Keys::new();
    let zeros = imported(&mut keys.processor, "DES", &[0; 16]);
    let mut token = DesToken::parse(&zeros).unwrap();
    assert!(!token.control_vector().is_zero());
    // A key without a control vector, by the token that the new key is to have.
    token =
        DesToken::skeleton(token::des::Origin::Internal, token.form(), token::ControlVector::ZERO).unwrap();
    let zeros = crate::support::import("DES", &[0; 16])
        .bytes(wire::verb::clear_key_import_multiple::TARGET_KEY_IDENTIFIER, token.to_bytes());
    let zeros = zeros.answers(&mut keys.processor, code::PARITY_NOT_ODD);
    let zeros = zeros.bytes(wire::verb::clear_key_import_multiple::TARGET_KEY_IDENTIFIER);
    assert!(DesToken::parse(&zeros).unwrap().control_vector().is_zero());
    let exporter = keys.exporter.clone();
    let exported = crate::support::Request::new(wire::Verb::KeyExport)
        .bytes(key_export::KEY_TYPE, "TOKEN   ")
        .bytes(key_export::SOURCE_KEY_IDENTIFIER, &zeros)
        .bytes(key_export::EXPORTER_KEY_IDENTIFIER, &exporter)
        .ok(&mut keys.processor)
        .bytes(key_export::TARGET_KEY_TOKEN);
    let of = |block: [u8; 8]| peer::des(Keys::value('B'), true, &block);
    assert_eq!(exported[16..24], of([1; 8]));
    assert_ne!(exported[16..24], of([0; 8]));
}
