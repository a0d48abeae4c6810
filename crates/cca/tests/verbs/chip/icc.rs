//! Derive_ICC_MK.

use super::*;
use token::DesToken;
use token::derivation::{Derived, Deriving};
use token::des::Origin;
use verb_requests::peer;
use verb_requests::support::{entered, mac, processor};
use wire::code;
use wire::point::{Point, PointSet};
use wire::verb::{Verb, derive_icc_mk, mac_generate};

#[test]
fn keys_of_cards_are_those_of_another_program() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    // Of pyemv 1.5.0, as crates/payments has them.
    for (pan, words, expected) in [
        (PAN, &["AC", "APPANSEQ"][..], CARD_KEY),
        (
            "12345678901234567",
            &["TDES", "AC", "APPANSEQ", "OPTION-A"],
            0x73AD_5468_8CEF_2934_B097_9857_E3C7_19F1u128.to_be_bytes(),
        ),
        (
            "12345678901234567",
            &["MAC", "APPANSEQ", "OPTION-B"],
            0xAD40_6D7F_6D75_7091_6D75_E5DC_AB8C_F737u128.to_be_bytes(),
        ),
        (
            "12345678901234567",
            &["AC", "OPTION-B"],
            0x1C13_AE23_B54A_F7BA_49FB_E091_92C8_7983u128.to_be_bytes(),
        ),
    ] {
        let reply = card_key(&chips.cryptograms_above, words, pan, &[]).ok(&mut processor);
        let card = reply.bytes(derive_icc_mk::ICC_MASTER_KEY_IDENTIFIER);
        let session = derived(&derive(&card, &["TDES-ENC"], &CARD, &chips.mac_skeleton), &mut processor);
        let text = b"sixteen bytes...";
        let made = mac(&session, &["X9.19OPT", "MACLEN8"], text).ok(&mut processor);
        let key = odd(&peer::des(&expected, true, &CARD));
        assert_eq!(made.bytes(mac_generate::MAC), retail(&key, text), "{pan} {words:?}");
    }
}

#[test]
fn a_key_is_for_what_the_issuers_is() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let keys = [
        (chips.cryptograms_above.clone(), Derived::Mac),
        (chips.pins_above.clone(), Derived::PinMessages),
        (chips.data_above.clone(), Derived::Data),
    ];
    for (issuer, own) in &keys {
        for (word, derived) in [
            ("AC", Derived::Mac),
            ("MAC", Derived::Mac),
            ("ENC", Derived::PinMessages),
            ("DATA", Derived::Data),
        ] {
            let request = card_key(issuer, &[word], PAN, &[]);
            if derived != *own {
                request.refused(&mut processor, code::KEY_USAGE);
                continue;
            }
            let token = request.ok(&mut processor).bytes(derive_icc_mk::ICC_MASTER_KEY_IDENTIFIER);
            let token = DesToken::parse(&token).unwrap();
            let made = Deriving::of(token.control_vector()).unwrap();
            assert_eq!((made.level, made.derived), (0, *own));
        }
    }
    // Of a key of the lowest level none is derived, of one for every type one for the use that is named.
    card_key(&chips.cryptograms, &["AC"], PAN, &[]).refused(&mut processor, code::KEY_USAGE);
    let any = card_key(&chips.any, &["AC"], PAN, &[]);
    any.refused(&mut processor, code::ACCESS_DENIED);
    let mut lifted = wire::role::BUILT_IN[0].points;
    lifted.allow(Point::DiversifyAny);
    let lifted: &'static PointSet = Box::leak(Box::new(lifted));
    let token = any.points(lifted).ok(&mut processor).bytes(derive_icc_mk::ICC_MASTER_KEY_IDENTIFIER);
    let vector = DesToken::parse(&token).unwrap().control_vector();
    assert_eq!(Deriving::of(vector).unwrap().derived, Derived::Mac);
}

#[test]
fn under_an_exporter_a_key_leaves_where_the_issuers_may() {
    use wire::verb::key_import;
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let exporter = entered(&mut processor, "EXPORTER", &["EXPORT"], &OTHER_ISSUER);
    let importer = entered(&mut processor, "IMPORTER", &["IMPORT"], &OTHER_ISSUER);
    let request = card_key(&chips.cryptograms_above, &["AC", "APPANSEQ"], PAN, &exporter);
    let token = request.ok(&mut processor).bytes(derive_icc_mk::ICC_MASTER_KEY_IDENTIFIER);
    assert_eq!(DesToken::parse(&token).unwrap().origin(), Origin::External);
    let imported = verb_requests::support::Request::new(Verb::KeyImport)
        .bytes(key_import::KEY_TYPE, "TOKEN   ")
        .bytes(key_import::SOURCE_KEY_TOKEN, &token)
        .bytes(key_import::IMPORTER_KEY_IDENTIFIER, &importer)
        .bytes(key_import::TARGET_KEY_IDENTIFIER, [0; 64])
        .ok(&mut processor)
        .bytes(key_import::TARGET_KEY_IDENTIFIER);
    let session = derived(&derive(&imported, &["TDES-ENC"], &CARD, &chips.mac_skeleton), &mut processor);
    let text = b"sixteen bytes...";
    let made = mac(&session, &["X9.19OPT", "MACLEN8"], text).ok(&mut processor);
    assert_eq!(made.bytes(mac_generate::MAC), retail(&odd(&peer::des(&CARD_KEY, true, &CARD)), text));

    let kept = entered(&mut processor, "DKYGENKY", &["DKYL1", "DMAC", "NO-XPORT"], &ISSUER);
    card_key(&kept, &["AC"], PAN, &exporter).refused(&mut processor, code::KEY_USAGE);
    let inside = card_key(&kept, &["AC"], PAN, &[]).ok(&mut processor);
    let inside = DesToken::parse(&inside.bytes(derive_icc_mk::ICC_MASTER_KEY_IDENTIFIER)).unwrap();
    assert!(!inside.control_vector().bit(17));
    card_key(&chips.cryptograms_above, &["AC"], PAN, &importer).refused(&mut processor, code::KEY_USAGE);
    let mut denied = wire::role::BUILT_IN[0].points;
    denied.deny(Point::DeriveIccMkTransported);
    request.points(Box::leak(Box::new(denied))).refused(&mut processor, code::ACCESS_DENIED);
}

#[test]
fn what_is_no_card_is_refused() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    for pan in ["1234567", "12345678901234567890", "123456789012345X", ""] {
        card_key(&chips.cryptograms_above, &["AC"], pan, &[]).refused(&mut processor, code::PAN);
    }
    let good = || card_key(&chips.cryptograms_above, &["AC", "APPANSEQ"], PAN, &[]);
    good().bytes(derive_icc_mk::PAN_SEQ_NUMBER, "0X").refused(&mut processor, code::SEQUENCE_NUMBER);
    good().bytes(derive_icc_mk::PAN_SEQ_NUMBER, "").refused(&mut processor, code::SEQUENCE_NUMBER);
    good()
        .integer(derive_icc_mk::ICC_MASTER_KEY_IDENTIFIER_LENGTH, 63)
        .refused(&mut processor, code::BUFFER_TOO_SMALL);
}
