//! Attacks on keys of chip cards, each in a role where it works first, then in the owner's.

use crate::chip::{Asked, CARD_KEY, Chips, PAN, common, derive, filled, retail, transaction};
use verb_requests::key_block;
use verb_requests::keys::TRANSPORT;
use verb_requests::peer;
use verb_requests::support::{processor, skeleton};
use wire::code;
use wire::point::{Point, PointSet};
use wire::verb::emv_transaction;

fn lifted(points: &[Point]) -> &'static PointSet {
    let mut set = wire::role::BUILT_IN[0].points;
    points.iter().for_each(|point| set.allow(*point));
    Box::leak(Box::new(set))
}

/// A response of method 1 under the card's key is a block of the caller's choice, enciphered. Two of them are the key
/// of a session, with which the caller makes cryptograms of any transaction, as if the card had.
#[test]
fn responses_to_chosen_cryptograms_show_the_key_of_a_session() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let respond = ["GENARPC", "VISA", "APPANSEQ"];
    let asked = |cryptogram| Asked {
        words: &respond,
        pan: PAN,
        text: &[],
        counter: [0, 0x1C],
        code: &[0, 0],
        cryptogram,
        own: &[],
    };
    let mut key = Vec::new();
    for half in [0xF0, 0x0F] {
        let request = transaction((&chips.cryptograms, &[]), asked([0, 0x1C, half, 0, 0, 0, 0, 0]));
        request.refused(&mut processor, code::ACCESS_DENIED);
        let reply = request.points(lifted(&[Point::EmvRespond])).ok(&mut processor);
        key.extend(reply.bytes(emv_transaction::ARPC));
    }
    let key = crate::chip::odd(&key);
    assert_eq!(key, common(&CARD_KEY, [0, 0x1C, 0, 0, 0, 0, 0, 0]));
    let forged = retail(&key, &filled(b"pay 1000000"));
    let words = ["VERARQC", "EMV", "EMVCSK", "APPANSEQ"];
    let transfer = Asked { words: &words, text: b"pay 1000000", ..asked(forged) };
    transaction((&chips.cryptograms, &[]), transfer).ok(&mut processor);

    // What leaves to the owner is the encipherment of right cryptograms.
    let words = ["VERGEN", "VISA", "APPANSEQ"];
    let chosen = Asked { words: &words, text: b"pay 1000000", ..asked([0, 0x1C, 0xF0, 0, 0, 0, 0, 0]) };
    let reply =
        transaction((&chips.cryptograms, &[]), chosen).answers(&mut processor, code::VERIFICATION_FAILED);
    assert!(reply.bytes(emv_transaction::ARPC).is_empty());
}

/// The response to a cryptogram is the right cryptogram of a text of one block, the cryptogram and the response code:
/// responses to such texts would be a walk of encipherments under the card's key. Such a text is verified, and has no
/// response.
#[test]
fn a_response_is_no_cryptogram_that_has_a_response() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let asked = |words, text, cryptogram| Asked {
        words,
        pan: PAN,
        text,
        counter: [0, 0x1C],
        code: &[0x30, 0x30],
        cryptogram,
        own: &[],
    };
    let text = [7; 16];
    let first: [u8; 8] = retail(&CARD_KEY, &text);
    let of_card = asked(&["VERGEN", "VISA", "APPANSEQ"], &text, first);
    let response = transaction((&chips.cryptograms, &[]), of_card).ok(&mut processor);
    let response: [u8; 8] = response.bytes(emv_transaction::ARPC).try_into().unwrap();
    let mut block = first;
    (block[0], block[1]) = (block[0] ^ 0x30, block[1] ^ 0x30);
    for padding in ["PADNONE", "PADZEROS"] {
        for (word, answer) in [("VERARQC", code::OK), ("VERGEN", code::TEXT_LENGTH)] {
            let words = [word, "VISA", "APPANSEQ", padding];
            let given = Asked {
                words: &words,
                pan: PAN,
                text: &block,
                counter: [0, 0x1C],
                code: if word == "VERGEN" { &[0x30, 0x30] } else { &[] },
                cryptogram: response,
                own: &[],
            };
            let request = transaction((&chips.cryptograms, &[]), given);
            match answer {
                code::OK => drop(request.ok(&mut processor)),
                codes => request.refused(&mut processor, codes),
            }
        }
    }
}

/// A block of E5 does not say which keys its key derives: taken as one of data and as one of PIN messages, it gives
/// keys of one value for two purposes.
#[test]
fn a_key_that_personalizes_cards_does_not_come_in_for_two_purposes() {
    let mut processor = processor();
    let kek = verb_requests::support::entered(&mut processor, "IMPORTER", &[], &TRANSPORT);
    let role = lifted(&[Point::DiversifyAny]);
    for usage in ["E5", "E6"] {
        let text =
            verb_requests::twin::seal(&TRANSPORT, &format!("B0000{usage}TX00E0000"), &crate::chip::ISSUER);
        let import = |word| key_block::import(&text, &kek, &["INTERNAL", word]);
        for word in ["DDATA", "DMPIN"] {
            import(word).points(role).ok(&mut processor);
            import(word).refused(&mut processor, code::ACCESS_DENIED);
        }
        import("DMAC").ok(&mut processor);
    }
}

/// A key that derives every type makes of the same data a key that verifies PINs and one that enciphers texts: what a
/// method does to a PIN is then computed outside.
#[test]
fn a_key_for_every_type_gives_one_value_for_two_purposes() {
    use wire::verb::{diversified_key_generate::GENERATED_KEY_ID, encipher};
    let mut processor = processor();
    let any =
        verb_requests::support::entered(&mut processor, "DKYGENKY", &["DKYL0", "DALL"], &crate::chip::ISSUER);
    let role = lifted(&[Point::DiversifyAny]);
    let [pin, data] = ["PINVER", "DATA"].map(|key_type| {
        let words: &[&str] = if key_type == "DATA" { &["DOUBLE"] } else { &[] };
        let made = skeleton(&mut processor, key_type, words);
        let request = derive(&any, &["TDES-ENC"], &[0x11; 16].map(|byte| byte), &made);
        request.refused(&mut processor, code::ACCESS_DENIED);
        let request = derive(&any, &["TDES-ENC"], &crate::chip::CARD, &made).points(role);
        request.ok(&mut processor).bytes(GENERATED_KEY_ID)
    });
    let block = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
    let text = verb_requests::support::Request::new(wire::verb::Verb::Encipher)
        .rules(&["CBC"])
        .bytes(encipher::KEY_IDENTIFIER, &data)
        .counted(encipher::TEXT_LENGTH, encipher::PLAINTEXT, block)
        .bytes(encipher::INITIALIZATION_VECTOR, [0; 8])
        .bytes(encipher::CHAINING_VECTOR, [0; 18])
        .ok(&mut processor)
        .bytes(encipher::CIPHERTEXT);
    assert_eq!(text[..8], peer::des(&CARD_KEY, true, &block));
    assert_ne!(pin, data);
    // A key for one use makes no other.
    let one =
        verb_requests::support::entered(&mut processor, "DKYGENKY", &["DKYL0", "DPVR"], &crate::chip::ISSUER);
    let made = skeleton(&mut processor, "DATA", &["DOUBLE"]);
    derive(&one, &["TDES-ENC"], &crate::chip::CARD, &made)
        .points(role)
        .refused(&mut processor, code::KEY_USAGE);
}

/// A million keys that differ from one by what is known are searched for together. SESS-XOR makes them; here it is
/// shown that what it makes is that, and that the owner's role does not.
#[test]
fn keys_that_differ_by_what_is_known_are_made_where_the_role_names_it_alone() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let role = lifted(&[Point::DiversifyDifference]);
    for difference in [2u8, 4, 6] {
        let data = [difference; 16];
        let request = derive(&chips.mac, &["SESS-XOR"], &data, &chips.mac_skeleton);
        request.refused(&mut processor, code::ACCESS_DENIED);
        let token = crate::chip::derived(&request.points(role), &mut processor);
        let text = b"sixteen bytes...";
        let made = verb_requests::support::mac(&token, &["X9.19OPT", "MACLEN8"], text).ok(&mut processor);
        let key = crate::chip::odd(&peer::xor(&crate::chip::ISSUER, &data));
        assert_eq!(made.bytes(wire::verb::mac_generate::MAC), retail(&key, text));
    }
}

/// Adida, Bond, Clulow and others (2005 to 2007): a PIN block in a place of the caller's choice shares a block with
/// text of the caller's. One that ends in the first bytes of a PIN block, of which all but the last are known, is one
/// of 256, which the caller has enciphered too.
#[test]
fn a_pin_at_a_chosen_place_is_looked_up_byte_by_byte() {
    use crate::chip::message_of_pin;
    use crate::pin::{iso0, under};
    use wire::verb::secure_messaging_for_pins::CIPHER_TEXT;
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let secret = under(&crate::chip::ISSUER, &iso0("4731", "401234567890"));
    let role = lifted(&[Point::SecureMessagingForPins, Point::SecureMessagingAnyPlace]);
    let plain = lifted(&[Point::SecureMessagingForPins]);
    let mut tries = 0;
    let mut enciphered = |text: &[u8], offset: usize| {
        let keys = (&chips.inbound[..], &chips.pin_messages[..]);
        let formats = ["ISO-0", "ISO-0"];
        let request = message_of_pin(keys, &["TDES-ECB"], &secret, formats, text, offset as i64);
        request.refused(&mut processor, code::ACCESS_DENIED);
        request.clone().points(plain).refused(&mut processor, code::ACCESS_DENIED);
        tries += 1;
        request.points(role).ok(&mut processor).bytes(CIPHER_TEXT)
    };
    let mut found: Vec<u8> = Vec::new();
    for known in 0..4 {
        // Zeros, and then as much of the secret as is known, and one byte more.
        let front = vec![0; 7 - known];
        let shared = enciphered(&[0; 16], front.len() + 1)[..8].to_vec();
        let candidates: Vec<u8> =
            (0..=255u8).flat_map(|byte| [&front[..], &found, &[byte]].concat()).collect();
        let text = [&candidates[..], &[0; 8]].concat();
        let all = enciphered(&text, candidates.len() + 1);
        found.push(all.chunks(8).position(|block| block == shared).unwrap() as u8);
    }
    assert_eq!(found, iso0("4731", "401234567890")[..4]);
    assert_eq!(tries, 8);
}
