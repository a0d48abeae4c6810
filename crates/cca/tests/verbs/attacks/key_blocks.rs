//! Attacks by key blocks that were published or that the standard warns of (TR-31:2018, annex B; X9.143), each in a
//! role where it works first, then in the owner's. docs/reference/keyblocks.md has the points.

use crate::pin;
use token::{DesToken, KeyType};
use verb_requests::key_block::*;
use verb_requests::peer;
use verb_requests::support::{Request, imported};
use verb_requests::twin;
use wire::code;
use wire::point::Point;
use wire::verb::{clear_pin_generate, key_export};

const VALUE: [u8; 16] = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128.to_be_bytes();

/// A key that left in a block of version B leaves in one of A, where whoever edits a header has to meet four bytes.
#[test]
fn a_key_does_not_leave_again_in_a_weaker_version() {
    let mut keys = Keys::new();
    let [key, narrow] = ['S', 'E'].map(|exportability| {
        let text = twin::seal(Keys::value('B'), &format!("B0000P0TE00{exportability}0000"), &VALUE);
        token(&keys.import(&text, &[]).ok(&mut keys.processor))
    });
    let text = twin::seal(Keys::value('B'), "B0000P0TE00S0000", &VALUE);
    for (method, point) in [("VARXOR-A", Point::Tr31ExportA), ("VARXOR-C", Point::Tr31ExportC)] {
        let request = keys.export(&key, &[method, "PINENC", "ENC-ONLY"]);
        let weaker = block(&request.clone().points(with_points(&[point])).ok(&mut keys.processor));
        assert!(weaker.len() < text.len());
        request.refused(&mut keys.processor, code::ACCESS_DENIED);
        // One that may leave in forms of X9.24 alone does not in any role.
        let narrow = keys.export(&narrow, &[method, "PINENC", "ENC-ONLY"]);
        narrow.points(with_points(&[point])).refused(&mut keys.processor, code::KEY_USAGE);
    }
}

/// A header whose mode and exportability are edited, with a MAC that meets the four bytes of A and C: a key that
/// verifies PINs and may not leave becomes one that makes them, and may. The MAC, which is found in 2^32 tries, is
/// computed here; under B and D the header is bound by a MAC of eight and sixteen bytes.
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

/// What a key may leave as.
type Way = (&'static str, fn(&mut Keys, &[u8]) -> Request);

const WAYS: [Way; 8] = [
    ("Key_Export", |keys, key| {
        verb_requests::support::Request::new(wire::Verb::KeyExport)
            .bytes(key_export::KEY_TYPE, "TOKEN   ")
            .bytes(key_export::SOURCE_KEY_IDENTIFIER, key)
            .bytes(key_export::EXPORTER_KEY_IDENTIFIER, &keys.exporter)
    }),
    ("a block with S", |keys, key| keys.export(key, &["VARDRV-B", "ATTR-CV", "EXP-ANY"])),
    ("a block of version D with S", |keys, key| keys.export(key, &["VARDRV-D", "ATTR-CV", "EXP-ANY"])),
    ("a block of version A", |keys, key| {
        keys.export(key, &["VARXOR-A", "ATTR-CV"]).points(with_points(&[Point::Tr31ExportA]))
    }),
    ("a block of version C", |keys, key| {
        keys.export(key, &["VARXOR-C", "ATTR-CV"]).points(with_points(&[Point::Tr31ExportC]))
    }),
    ("a message to a chip card", |keys, key| {
        let chips = crate::chip::Chips::new(&mut keys.processor);
        let role = with_points(&[Point::SecureMessagingForKeys]);
        crate::chip::message_of_key(key, &chips.key_messages, &[], &[1; 32], 9).points(role)
    }),
    ("Symmetric_Key_Export, of a DATA key", |_, key| {
        let others = verb_requests::uses::ways::Others::new();
        let mut ways = others.ways(wire::Verb::SymmetricKeyExport, SOURCE, key);
        ways.remove(0).counted(SOURCE_LENGTH, SOURCE, key)
    }),
    ("Data_Key_Export, after a Key_Token_Change of the DATA key", |keys, key| {
        // Whatever makes a token of it anew keeps what it says.
        let changed = verb_requests::support::Request::new(wire::Verb::KeyTokenChange)
            .rules(&["RTCMK"])
            .bytes(wire::verb::key_token_change::KEY_IDENTIFIER, key)
            .ok(&mut keys.processor);
        assert!(changed.bytes(wire::verb::key_token_change::KEY_IDENTIFIER).is_empty());
        let others = verb_requests::uses::ways::Others::new();
        others
            .ways(wire::Verb::DataKeyExport, wire::verb::data_key_export::SOURCE_KEY_IDENTIFIER, key)
            .remove(0)
            .bytes(wire::verb::data_key_export::SOURCE_KEY_IDENTIFIER, key)
            .bytes(wire::verb::data_key_export::EXPORTER_KEY_IDENTIFIER, &keys.exporter)
    }),
];
const SOURCE: usize = wire::verb::symmetric_key_export::SOURCE_KEY_IDENTIFIER;
const SOURCE_LENGTH: usize = wire::verb::symmetric_key_export::SOURCE_KEY_IDENTIFIER_LENGTH;

/// X9.143: E may leave in forms of X9.24 alone, S in others too. A key that came with E leaves with E or N, and in no
/// other way; the same key that came with S shows that each way is there.
#[test]
fn a_key_that_came_with_exportability_e_leaves_with_e_alone() {
    let mut keys = Keys::new();
    let data = imported(&mut keys.processor, "DES", &VALUE);
    let mac = verb_requests::support::entered(&mut keys.processor, "MAC", &["DOUBLE"], &VALUE);
    for (source, is_data) in [(data, true), (mac, false)] {
        let [wide, narrow] = ["EXP-ANY", "EXP-TRST"].map(|words| {
            let text = block(&keys.export(&source, &["VARDRV-B", "ATTR-CV", words]).ok(&mut keys.processor));
            token(&keys.import(&text, &[]).ok(&mut keys.processor))
        });
        let [is_wide, is_narrow] = [&wide, &narrow].map(|token| DesToken::parse(token).unwrap());
        assert_eq!(is_wide.control_vector(), is_narrow.control_vector());
        assert!(!is_wide.leaves_in_blocks_alone() && is_narrow.leaves_in_blocks_alone());
        for (name, way) in WAYS.iter().filter(|(name, _)| is_data || !name.contains("DATA")) {
            let request = way(&mut keys, &wide);
            assert_eq!(request.run(&mut keys.processor).codes, code::OK, "{name}");
            let request = way(&mut keys, &narrow);
            assert_eq!(request.run(&mut keys.processor).codes, code::KEY_USAGE, "{name}");
        }
        for (method, words, letter) in
            [("VARDRV-B", "EXP-TRST", "E"), ("VARDRV-D", "EXP-TRST", "E"), ("VARDRV-B", "EXP-NONE", "N")]
        {
            let request = keys.export(&narrow, &[method, "ATTR-CV", words]);
            let text = block(&request.ok(&mut keys.processor));
            assert_eq!(&text[11..12], letter);
            let again = token(&keys.import(&text, &[]).ok(&mut keys.processor));
            assert_eq!(peer::unwrap_token(&verb_requests::support::sym_key(false), &again), VALUE);
            let again = DesToken::parse(&again).unwrap();
            assert!(again.leaves_in_blocks_alone() == (letter == "E"));
        }
        // The flag cannot be taken off, and a home of compatible tokens binds it too.
        let forms =
            wire::control::TokenForms { form: wire::control::TokenForm::Compatible, open_compatible: true };
        keys.processor.set_token_forms(forms);
        let text = twin::seal(Keys::value('B'), "B0000M0TC00E0000", &VALUE);
        let bound = token(&keys.import(&text, &[]).ok(&mut keys.processor));
        assert_eq!(bound[7], 0xC0);
        keys.processor.set_token_forms(Default::default());
        let mut without = narrow.clone();
        without[6] &= !0x02;
        token::tvv::seal((&mut without[..]).try_into().unwrap());
        WAYS[0].1(&mut keys, &without).refused(&mut keys.processor, code::TOKEN_INVALID);
    }
}

/// The same of AES keys: under AES keys in tokens, and under RSA keys.
#[test]
fn an_aes_key_that_came_with_exportability_e_leaves_with_e_alone() {
    let mut keys = Keys::new();
    let others = verb_requests::uses::ways::Others::new();
    for (codes, words) in [("M6AG", ["ISOMAC6", "GEN-ONLY"]), ("P0AE", ["PINENC", "ENC-ONLY"])] {
        let [wide, narrow] = ['S', 'E'].map(|exportability| {
            let text = twin::seal(Keys::value('D'), &format!("D0000{codes}00{exportability}0000"), &[7; 16]);
            token(&keys.import(&text, &[]).ok(&mut keys.processor))
        });
        let token_way = |key: &[u8]| verb_requests::uses::ways::export2("AES", key, &keys.aes_exporter);
        let (wide_way, narrow_way) = (token_way(&wide), token_way(&narrow));
        wide_way.ok(&mut keys.processor);
        narrow_way.refused(&mut keys.processor, code::KEY_USAGE);
        let public_way = |key: &[u8]| {
            others
                .ways(wire::Verb::SymmetricKeyExport, SOURCE, key)
                .pop()
                .unwrap()
                .rules(&["AES", "PKOAEP2", "SHA-256"])
                .counted(SOURCE_LENGTH, SOURCE, key)
                .counted(
                    wire::verb::symmetric_key_export::RSA_PUBLIC_KEY_IDENTIFIER_LEN,
                    wire::verb::symmetric_key_export::RSA_PUBLIC_KEY_IDENTIFIER,
                    &others.public,
                )
        };
        assert_ne!(public_way(&wide).run(&mut keys.processor).codes, code::KEY_USAGE);
        public_way(&narrow).refused(&mut keys.processor, code::KEY_USAGE);
        for (export, expected) in
            [("EXP-ANY", code::KEY_USAGE), ("EXP-TRST", code::OK), ("EXP-NONE", code::OK)]
        {
            let request = keys.export(&narrow, &["VARDRV-D", words[0], words[1], export]);
            assert_eq!(request.run(&mut keys.processor).codes, expected, "{codes} {export}");
            let request = keys.export(&wide, &["VARDRV-D", words[0], words[1], export]);
            assert_eq!(request.run(&mut keys.processor).codes, code::OK, "{codes} {export}");
        }
        let mut without = narrow.clone();
        let at = token::VariableToken::parse(&narrow)
            .unwrap()
            .head()
            .windows(2)
            .rposition(|two| two == [0xE0, 0x01]);
        without[at.unwrap() + 1] = 0;
        let codes = token_way(&without).run(&mut keys.processor).codes;
        assert!(codes.return_code == 8 && codes != code::KEY_USAGE, "{codes}");
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
        // As one that verifies it comes in without the point.
        let key = token(&keys.import(&text, &["PINVER"]).ok(&mut keys.processor));
        assert_eq!(KeyType::of(DesToken::parse(&key).unwrap().control_vector()), Some(KeyType::PinVer));
    }
}

/// The keys of a block of version B follow from what a block of zeros is enciphered to under the protection key. A
/// clear key of zeros that is exported without a control vector would be that: it leaves as another, with odd parity.
#[test]
fn no_exported_key_tells_what_zeros_are_enciphered_to() {
    let mut keys = Keys::new();
    let zeros = imported(&mut keys.processor, "DES", &[0; 16]);
    let mut token = DesToken::parse(&zeros).unwrap();
    assert!(!token.control_vector().is_zero());
    // A key without a control vector, by the token that the new key is to have.
    token =
        DesToken::skeleton(token::des::Origin::Internal, token.form(), token::ControlVector::ZERO).unwrap();
    let zeros = verb_requests::support::import("DES", &[0; 16])
        .bytes(wire::verb::clear_key_import_multiple::TARGET_KEY_IDENTIFIER, token.to_bytes());
    let zeros = zeros.answers(&mut keys.processor, code::PARITY_NOT_ODD);
    let zeros = zeros.bytes(wire::verb::clear_key_import_multiple::TARGET_KEY_IDENTIFIER);
    assert!(DesToken::parse(&zeros).unwrap().control_vector().is_zero());
    let exporter = keys.exporter.clone();
    let exported = verb_requests::support::Request::new(wire::Verb::KeyExport)
        .bytes(key_export::KEY_TYPE, "TOKEN   ")
        .bytes(key_export::SOURCE_KEY_IDENTIFIER, &zeros)
        .bytes(key_export::EXPORTER_KEY_IDENTIFIER, &exporter)
        .ok(&mut keys.processor)
        .bytes(key_export::TARGET_KEY_TOKEN);
    let of = |block: [u8; 8]| peer::des(Keys::value('B'), true, &block);
    assert_eq!(exported[16..24], of([1; 8]));
    assert_ne!(exported[16..24], of([0; 8]));
}
