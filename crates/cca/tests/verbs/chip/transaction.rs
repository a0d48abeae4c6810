//! EMV_Transaction.

use super::*;
use verb_requests::key_block;
use verb_requests::keys::TRANSPORT;
use verb_requests::peer;
use verb_requests::support::{entered, processor, processor_with};
use verb_requests::twin;
use wire::code;
use wire::point::{Point, PointSet};
use wire::verb::emv_transaction;

const TEXT: &[u8; 33] = &[
    0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x24, 0x00, 0x00, 0x08,
    0x00, 0x01, 0x24, 0x11, 0x03, 0x09, 0x00, 0x38, 0x04, 0x82, 0x3E, 0x58, 0x00, 0x00, 0x01, 0x07,
];
const COUNTER: [u8; 2] = [0x00, 0x1C];

/// The owner's role, and the point of responses to what is not verified.
fn lifted() -> &'static PointSet {
    let mut set = wire::role::BUILT_IN[0].points;
    set.allow(Point::EmvRespond);
    Box::leak(Box::new(set))
}

fn asked<'a>(words: &'a [&'a str], cryptogram: [u8; 8]) -> Asked<'a> {
    Asked { words, pan: PAN, text: TEXT, counter: COUNTER, code: b"00", cryptogram, own: &[] }
}

/// A scheme, the key of its cryptogram, how its text is filled, and the key of its response.
type Scheme = (Vec<&'static str>, Vec<u8>, Vec<u8>, Vec<u8>);

/// The schemes, by OpenSSL.
fn schemes() -> Vec<Scheme> {
    let zeros = [&TEXT[..], &[0; 7]].concat();
    let [counter, number] = [&COUNTER[..], &UNPREDICTABLE[..]].map(<[u8]>::to_vec);
    let session = common(&CARD_KEY, [&counter[..], &[0; 6]].concat().try_into().unwrap());
    let diversifier = [&counter[..], &[0, 0], &number].concat();
    let mastercard = common(&CARD_KEY, diversifier.try_into().unwrap());
    vec![
        (vec!["VISA"], CARD_KEY.to_vec(), zeros, CARD_KEY.to_vec()),
        (vec!["MC"], mastercard, filled(TEXT), CARD_KEY.to_vec()),
        (vec!["EMV", "EMVCSK"], session.clone(), filled(TEXT), session),
    ]
}

#[test]
fn right_cryptograms_verify_and_get_their_response_and_wrong_ones_one_answer() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    for (scheme, key, text, response_key) in schemes() {
        let right = retail(&key, &text);
        let mut block = right;
        block[0] ^= b'0';
        block[1] ^= b'0';
        let response = peer::des(&response_key, true, &block);
        for issuer in [&chips.cryptograms, &chips.cryptograms_above] {
            let words = |action: &'static str| [&["TDES", action, "APPANSEQ"], &scheme[..]].concat();
            let keys = (&issuer[..], &[][..]);
            let verify = words("VERARQC");
            let reply = transaction(keys, asked(&verify, right)).ok(&mut processor);
            assert!(reply.bytes(emv_transaction::ARPC).is_empty());
            let both = words("VERGEN");
            let reply = transaction(keys, asked(&both, right)).ok(&mut processor);
            assert_eq!(reply.bytes(emv_transaction::ARPC), response, "{scheme:?}");
            for at in 0..8 {
                let mut wrong = right;
                wrong[at] ^= 1;
                for words in [&verify, &both] {
                    let reply = transaction(keys, asked(words, wrong))
                        .answers(&mut processor, code::VERIFICATION_FAILED);
                    assert!(reply.bytes(emv_transaction::ARPC).is_empty());
                }
            }
            let respond = words("GENARPC");
            let alone = transaction(keys, Asked { text: &[], ..asked(&respond, right) });
            alone.refused(&mut processor, code::ACCESS_DENIED);
            let reply = alone.points(lifted()).ok(&mut processor);
            assert_eq!(reply.bytes(emv_transaction::ARPC), response);
        }
    }
}

#[test]
fn texts_are_padded_as_a_keyword_says_or_are_whole_blocks_already() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let keys = (&chips.cryptograms[..], &[][..]);
    let zeros = [&TEXT[..], &[0; 7]].concat();
    for (scheme, key, ..) in schemes() {
        let words = |padding: &'static str| [&["VERGEN", "APPANSEQ", padding], &scheme[..]].concat();
        let (by_zeros, by_bit) = (retail(&key, &zeros), retail(&key, &filled(TEXT)));
        for (padding, text, right, wrong) in [
            ("PADZEROS", &TEXT[..], by_zeros, by_bit),
            ("PADBIT", TEXT, by_bit, by_zeros),
            ("PADNONE", &zeros, by_zeros, by_bit),
            ("PADNONE", &filled(TEXT), by_bit, by_zeros),
            // Whole blocks get no zeros behind them, but always a bit.
            ("PADZEROS", &filled(TEXT), by_bit, by_zeros),
            ("PADBIT", &zeros, retail(&key, &filled(&zeros)), by_zeros),
        ] {
            let words = words(padding);
            let asked = |cryptogram| Asked { text, ..asked(&words, cryptogram) };
            transaction(keys, asked(right)).ok(&mut processor);
            transaction(keys, asked(wrong)).answers(&mut processor, code::VERIFICATION_FAILED);
        }
        for text in [TEXT, &TEXT[..7], &TEXT[..9]] {
            let words = words("PADNONE");
            let request = transaction(keys, Asked { text, ..asked(&words, by_bit) });
            request.refused(&mut processor, code::TEXT_LENGTH);
        }
    }
    for padding in ["PADZEROS", "PADBIT", "PADNONE"] {
        let words = ["GENARPC", "EMV", "EMVCSK", padding];
        let request = transaction(keys, Asked { text: &[], ..asked(&words, [7; 8]) }).points(lifted());
        request.refused(&mut processor, code::KEYWORD_COMBINATION);
    }
    let both = ["VERARQC", "EMV", "EMVCSK", "PADBIT", "PADNONE"];
    transaction(keys, asked(&both, [7; 8])).refused(&mut processor, code::KEYWORD_COMBINATION);
}

/// The trees by the session keys of the verb that derives them.
#[test]
fn keys_of_the_trees_are_those_that_are_derived() {
    use verb_requests::support::mac;
    use wire::verb::mac_generate;
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    for (word, words) in [
        ("TDESEMV2", &["VERGEN", "EMV"][..]),
        ("TDESEMV2", &["VERGEN", "EMV", "TDESEMV2"]),
        ("TDESEMV4", &["VERGEN", "EMV", "TDESEMV4"]),
    ] {
        let data = [&CARD[..], &COUNTER].concat();
        let session =
            derived(&derive(&chips.cryptograms, &[word], &data, &chips.mac_skeleton), &mut processor);
        let made = mac(&session, &["X9.19OPT", "MACLEN8"], &filled(TEXT)).ok(&mut processor);
        let right = made.bytes(mac_generate::MAC).try_into().unwrap();
        let words = [words, &["APPANSEQ", "METHOD-1", "OPTION-A"]].concat();
        let reply = transaction((&chips.cryptograms, &[]), asked(&words, right)).ok(&mut processor);
        assert_eq!(reply.bytes(emv_transaction::ARPC).len(), 8);
    }
}

#[test]
fn responses_of_method_2_are_of_the_status_update_and_the_issuers_own() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let (_, key, text, _) = schemes().pop().unwrap();
    let right = retail(&key, &text);
    let words = ["VERGEN", "EMV", "EMVCSK", "APPANSEQ", "METHOD-2"];
    for own in [&[][..], &[1], &[1, 2, 3, 4, 5, 6, 7, 8]] {
        let update = [3, 2, 1, 0];
        let request =
            transaction((&chips.cryptograms, &[]), Asked { code: &update, own, ..asked(&words, right) });
        let reply = request.ok(&mut processor).bytes(emv_transaction::ARPC);
        let expected = retail(&key, &filled(&[&right[..], &update, own].concat()));
        assert_eq!(reply, [&expected[..4], &[0; 4]].concat());
    }
    let nine = Asked { code: &[0; 4], own: &[0; 9], ..asked(&words, right) };
    transaction((&chips.cryptograms, &[]), nine).refused(&mut processor, code::RESERVED_LENGTH);
    let short = Asked { code: &[0; 3], ..asked(&words, right) };
    transaction((&chips.cryptograms, &[]), short).refused(&mut processor, code::INVALID_PARAMETER);
}

#[test]
fn a_response_of_mastercard_may_have_a_key_of_its_own() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let other = entered(&mut processor, "DKYGENKY", &["DKYL1", "DMAC"], &OTHER_ISSUER);
    let (_, key, text, _) = schemes().remove(1);
    let right = retail(&key, &text);
    let words = ["VERGEN", "MC", "APPANSEQ"];
    let reply = transaction((&chips.cryptograms, &other), asked(&words, right)).ok(&mut processor);
    let card = odd(&peer::des(&OTHER_ISSUER, true, &CARD));
    let mut block = right;
    block[0] ^= b'0';
    block[1] ^= b'0';
    assert_eq!(reply.bytes(emv_transaction::ARPC), peer::des(&card, true, &block));
    for words in [&["VERARQC", "MC"][..], &["VERGEN", "VISA"], &["VERGEN", "EMV"]] {
        transaction((&chips.cryptograms, &other), asked(words, right))
            .refused(&mut processor, code::INVALID_PARAMETER);
    }
}

#[test]
fn option_b_is_of_long_pans_alone() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let key = 0xAD40_6D7F_6D75_7091_6D75_E5DC_AB8C_F737u128.to_be_bytes();
    let text = [&TEXT[..], &[0; 7]].concat();
    let words = ["VERARQC", "VISA", "APPANSEQ", "OPTION-B"];
    let long = Asked { pan: "12345678901234567", ..asked(&words, retail(&key, &text)) };
    transaction((&chips.cryptograms, &[]), long).ok(&mut processor);
    let words = ["VERARQC", "VISA", "APPANSEQ"];
    let long = Asked { words: &words, ..long };
    transaction((&chips.cryptograms, &[]), long).answers(&mut processor, code::VERIFICATION_FAILED);
}

#[test]
fn what_is_wrong_is_refused() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let keys = (&chips.cryptograms[..], &[][..]);
    let words = ["VERARQC", "VISA"];
    let good = asked(&words, [0; 8]);
    transaction(keys, Asked { text: &[], ..good }).refused(&mut processor, code::TEXT_LENGTH);
    transaction(keys, Asked { text: &[0; 1025], ..good }).refused(&mut processor, code::TEXT_LENGTH);
    transaction(keys, Asked { own: &[1], ..good }).refused(&mut processor, code::RESERVED_LENGTH);
    transaction(keys, Asked { pan: "1234567", ..good }).refused(&mut processor, code::PAN);
    let respond = ["GENARPC", "VISA"];
    transaction(keys, asked(&respond, [0; 8])).points(lifted()).refused(&mut processor, code::TEXT_LENGTH);
    let sequence = ["VERARQC", "VISA", "APPANSEQ"];
    transaction(keys, asked(&sequence, [0; 8]))
        .bytes(emv_transaction::PAN_SEQ_NUMBER, "")
        .refused(&mut processor, code::SEQUENCE_NUMBER);
    let mastercard = ["VERARQC", "MC"];
    transaction(keys, asked(&mastercard, [0; 8]))
        .bytes(emv_transaction::UNPREDICTABLE_NUMBER, "")
        .refused(&mut processor, code::INVALID_PARAMETER);
    for words in [
        &["VERARQC", "VISA", "TDESEMV2"][..],
        &["VERARQC", "MC", "EMVCSK"],
        &["VERGEN", "VISA", "METHOD-2"],
        &["VERARQC", "EMV", "METHOD-1"],
        &["VERARQC", "EMV", "METHOD-2"],
    ] {
        transaction(keys, asked(words, [0; 8])).refused(&mut processor, code::KEYWORD_COMBINATION);
    }
    for key in [&chips.pins_above, &chips.data_above, &chips.mac, &chips.single] {
        transaction((key, &[]), good).refused(&mut processor, code::KEY_USAGE);
    }
    let level = entered(&mut processor, "DKYGENKY", &["DKYL2", "DMAC"], &ISSUER);
    transaction((&level, &[]), good).refused(&mut processor, code::KEY_USAGE);
    transaction((&chips.any, &[]), good).refused(&mut processor, code::ACCESS_DENIED);
    let mut processor = processor_with(false);
    let equal = with_equal_halves(&mut processor, &chips.below_skeleton);
    transaction((&equal, &[]), good).refused(&mut processor, code::KEY_REPLICATED);
}

/// An issuer's key with equal halves, of which public values exist: in a home that permits weak algorithms it comes in
/// and makes them, elsewhere it is refused when it comes in, by the same answer that each verb would give.
#[test]
fn an_issuers_key_with_equal_halves_works_where_weak_algorithms_do() {
    const HALVES: [u8; 16] = 0x1234_5678_1234_5678_1234_5678_1234_5678u128.to_be_bytes();
    let data = hex_bytes("000000010000000000001000084000000010800840980704001111111158003456A08003242000");
    for (weak, expected) in [(false, code::KEY_REPLICATED), (true, code::OK)] {
        let mut processor = processor_with(weak);
        let kek = entered(&mut processor, "IMPORTER", &[], &TRANSPORT);
        for usage in ["E0", "E1", "E2", "E3", "E4"] {
            let text = twin::seal(&TRANSPORT, &format!("B0000{usage}TX00E0000"), &HALVES);
            let request = key_block::import(&text, &kek, &["INTERNAL"]);
            match expected {
                code::OK => drop(request.ok(&mut processor)),
                codes => request.refused(&mut processor, codes),
            }
        }
        if !weak {
            continue;
        }
        let text = twin::seal(&TRANSPORT, "B0000E0TX00E0000", &HALVES);
        let issuer =
            key_block::token(&key_block::import(&text, &kek, &["INTERNAL", "DKYL1"]).ok(&mut processor));
        let of_card = Asked {
            words: &[],
            pan: "1234567890123456",
            text: &data,
            counter: [0x34, 0x56],
            code: &[],
            cryptogram: [0; 8],
            own: &[],
        };
        for (words, cryptogram) in [
            (&["TDES", "VERARQC", "VISA", "APPANSEQ"][..], "26C8A1042D1CAF3E"),
            (&["TDES", "VERARQC", "MC", "APPANSEQ"], "AC8074C9E62EE6EF"),
            (&["TDES", "VERARQC", "EMV", "EMVCSK", "APPANSEQ"], "55BE45DD2C9E0CBF"),
        ] {
            let cryptogram = hex_bytes(cryptogram).try_into().unwrap();
            let asked = Asked { words, cryptogram, ..of_card };
            let request = transaction((&issuer, &[]), asked)
                .bytes(emv_transaction::PAN_SEQ_NUMBER, "00")
                .bytes(emv_transaction::UNPREDICTABLE_NUMBER, [0x11; 4]);
            request.ok(&mut processor);
        }
    }
}

fn hex_bytes(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
