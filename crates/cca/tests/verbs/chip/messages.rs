//! Secure_Messaging_for_Keys, Secure_Messaging_for_PINs and PIN_Change_Unblock.

use super::*;
use crate::pin::{iso0, under};
use verb_requests::peer;
use verb_requests::support::{entered, processor, skeleton};
use wire::code;
use wire::point::{Point, PointSet};
use wire::verb::{pin_change_unblock, secure_messaging_for_keys, secure_messaging_for_pins};

const PAN_12: &str = "401234567890";
const VECTOR: [u8; 8] = [9, 8, 7, 6, 5, 4, 3, 2];

/// The owner's role with these points.
fn with(points: &[Point]) -> &'static PointSet {
    let mut set = wire::role::BUILT_IN[0].points;
    points.iter().for_each(|point| set.allow(*point));
    Box::leak(Box::new(set))
}

fn cbc(data: &[u8]) -> Vec<u8> {
    peer::des_cbc(&ISSUER, &VECTOR, data)
}

#[test]
fn a_key_goes_into_a_message_whole_where_it_may_leave() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let role = with(&[Point::SecureMessagingForKeys]);
    let text = [1; 32];
    let mut clear = text;
    clear[8..24].copy_from_slice(&OTHER_ISSUER);
    let key = entered(&mut processor, "MAC", &["DOUBLE"], &OTHER_ISSUER);
    let request = message_of_key(&key, &chips.key_messages, &[], &text, 8).points(role);
    let reply = request.ok(&mut processor);
    assert_eq!(reply.bytes(secure_messaging_for_keys::CIPHER_TEXT), cbc(&clear), "counted from zero");
    let request = message_of_key(&key, &chips.key_messages, &[], &text, 9).points(role);
    let reply = request.ok(&mut processor);
    assert_eq!(reply.bytes(secure_messaging_for_keys::CIPHER_TEXT), cbc(&clear));
    let last = cbc(&clear)[24..].to_vec();
    assert_eq!(reply.bytes(secure_messaging_for_keys::OUTPUT_CHAINING_VALUE), last);
    let request = message_of_key(&key, &chips.key_messages, &["TDES-ECB"], &text, 9).points(role);
    let reply = request.ok(&mut processor);
    assert_eq!(reply.bytes(secure_messaging_for_keys::CIPHER_TEXT), peer::des(&ISSUER, true, &clear));
    assert_eq!(reply.bytes(secure_messaging_for_keys::OUTPUT_CHAINING_VALUE), [0; 8]);
    message_of_key(&key, &chips.key_messages, &["TDES-CBC"], &text, 1).points(role).ok(&mut processor);

    let split = message_of_key(&key, &chips.key_messages, &[], &text, 4);
    split.clone().points(role).refused(&mut processor, code::ACCESS_DENIED);
    let any = with(&[Point::SecureMessagingForKeys, Point::SecureMessagingAnyPlace]);
    split.points(any).ok(&mut processor);
    let kept = entered(&mut processor, "MAC", &["DOUBLE", "NO-XPORT"], &OTHER_ISSUER);
    for (key, session, codes) in [
        (&kept, &chips.key_messages, code::KEY_USAGE),
        (&key, &chips.pin_messages, code::KEY_USAGE),
        (&chips.mac_single, &chips.key_messages, code::TOKEN_INVALID),
    ] {
        message_of_key(key, session, &[], &text, 9).points(role).refused(&mut processor, codes);
    }
    for (text, offset, codes) in [
        (&[1; 32][..], 0, code::OUT_OF_AREA),
        (&[1; 32], 18, code::OUT_OF_AREA),
        (&[1; 32], -1, code::OUT_OF_AREA),
        (&[1; 31], 1, code::TEXT_LENGTH),
        (&[], 1, code::TEXT_LENGTH),
        (&[1; 4104], 1, code::TEXT_LENGTH),
    ] {
        let request = message_of_key(&key, &chips.key_messages, &[], text, offset).points(any);
        request.refused(&mut processor, codes);
    }
    let vector = secure_messaging_for_keys::INITIALIZATION_VECTOR;
    let without = message_of_key(&key, &chips.key_messages, &[], &text, 9).bytes(vector, []);
    without.points(role).refused(&mut processor, code::INVALID_PARAMETER);
}

#[test]
fn a_pin_goes_into_the_forms_of_chip_cards_alone() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let role = with(&[Point::SecureMessagingForPins]);
    let inbound = entered(&mut processor, "IPINENC", &[], &OTHER_ISSUER);
    let clear = iso0("1234", PAN_12);
    let block = under(&OTHER_ISSUER, &clear);
    let emv = [0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0];
    let visa = [8, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0];
    let request = |words: &[&str], text: &[u8], offset: i64| {
        message_of_pin((&inbound, &chips.pin_messages), words, &block, ["ISO-0", "ISO-0"], text, offset)
    };
    // The offset is counted from zero, as CCA Basic Services says, or from one.
    let places =
        [(&emv[..], 1, 0), (&emv, 0, 0), (&visa, 2, 1), (&visa, 1, 1), (&[0; 8], 1, 0), (&[0; 8], 0, 0)];
    for (text, offset, at) in places {
        let reply = request(&[], text, offset).points(role).ok(&mut processor);
        let mut message = text.to_vec();
        message[at..][..8].copy_from_slice(&clear);
        assert_eq!(reply.bytes(secure_messaging_for_pins::CIPHER_TEXT), cbc(&message));
        let words = ["TDES-ECB", "CLEARPIN"];
        let reply = request(&words, text, offset).points(role).ok(&mut processor);
        let expected = peer::des(&ISSUER, true, &message);
        assert_eq!(reply.bytes(secure_messaging_for_pins::CIPHER_TEXT), expected);
        assert_eq!(reply.bytes(secure_messaging_for_pins::OUTPUT_CHAINING_VALUE), [0; 8]);
    }
    request(&["TDES-CBC"], &emv, 1).points(role).ok(&mut processor);
    let any = with(&[Point::SecureMessagingForPins, Point::SecureMessagingAnyPlace]);
    for (text, offset) in [
        (&emv[..], 2),
        (&visa, 3),
        (&[0; 8], 1),
        (&[0; 16], 9),
        (&[7; 24], 4),
        (&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0], 2),
    ] {
        if text.len() > 8 {
            request(&[], text, offset).points(role).refused(&mut processor, code::ACCESS_DENIED);
        }
        request(&[], text, offset).points(any).ok(&mut processor);
    }
    // Whoever may use any place counts from one.
    let reply = request(&[], &visa, 1).points(any).ok(&mut processor);
    let message = [&clear[..], &visa[8..]].concat();
    assert_eq!(reply.bytes(secure_messaging_for_pins::CIPHER_TEXT), cbc(&message));
    request(&[], &emv, 0).points(any).refused(&mut processor, code::OUT_OF_AREA);
    for offset in [-1, 3, 9, 10, i64::MAX, i64::MIN] {
        let codes = if offset == 3 || offset == 9 { code::ACCESS_DENIED } else { code::OUT_OF_AREA };
        request(&[], &emv, offset).points(role).refused(&mut processor, codes);
    }
    for words in [["AES-CBC"], ["AES-ECB"], ["SELFENC"]] {
        request(&words, &emv, 1).points(role).refused(&mut processor, code::KEYWORD);
    }
    // What a translation refuses is refused here, and a wrong block has its one answer.
    let formats = |to| message_of_pin((&inbound, &chips.pin_messages), &[], &block, ["ISO-0", to], &emv, 1);
    for to in ["ISO-1", "ISO-2", "3624", "ECI-2"] {
        formats(to).points(role).refused(&mut processor, code::ACCESS_DENIED);
    }
    let wrong = message_of_pin((&inbound, &chips.pin_messages), &[], &[7; 8], ["ISO-0", "ISO-0"], &emv, 1);
    wrong.points(role).refused(&mut processor, code::PIN_BLOCK);
    let swapped = message_of_pin((&chips.pin_messages, &inbound), &[], &block, ["ISO-0", "ISO-0"], &emv, 1);
    swapped.points(role).refused(&mut processor, code::KEY_USAGE);
    let keys = message_of_pin((&inbound, &chips.key_messages), &[], &block, ["ISO-0", "ISO-0"], &emv, 1);
    keys.points(role).refused(&mut processor, code::KEY_USAGE);
}

/// The block of a new PIN under the card's key, and the message, by OpenSSL.
fn changed(card: &[u8], session: &[u8], new: &str, current: Option<&str>) -> Vec<u8> {
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let mut block = hex(&format!("{:02X}{new:F<14}", new.len()));
    block ^= u64::from(u32::from_be_bytes(card[4..8].try_into().unwrap()));
    if let Some(current) = current {
        block ^= hex(&format!("{current:0<16}"));
    }
    let message = [&[8][..], &block.to_be_bytes(), &[0x80, 0, 0, 0, 0, 0, 0]].concat();
    peer::des(session, true, &message)
}

#[test]
fn a_new_pin_is_for_one_card_and_one_session() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let counter = [0x00, 0x1C];
    let data = [&CARD[..], &counter].concat();
    let card_of_pins = odd(&peer::des(&OTHER_ISSUER, true, &CARD));
    let mut xored = card_of_pins.clone();
    for (at, byte) in [(6, 0x00), (7, 0x1C), (14, 0xFF), (15, 0xE3)] {
        xored[at] ^= byte;
    }
    let encipherment = entered(&mut processor, "DKYGENKY", &["DKYL0", "DMPIN"], &OTHER_ISSUER);
    let inbound = entered(&mut processor, "IPINENC", &[], &OTHER_ISSUER);
    let outbound = entered(&mut processor, "OPINENC", &[], &OTHER_ISSUER);
    let block = |pin: &str| under(&OTHER_ISSUER, &iso0(pin, PAN_12));
    let (new, current) = (block("4321"), block("98765"));
    for key in [&inbound, &outbound] {
        for words in [&["VISAPCU1"][..], &["VISAPCU1", "TDES-XOR"]] {
            let keys = [&chips.cryptograms, &encipherment, key, &inbound].map(|key| &key[..]);
            let reply = pin_change(keys, words, &data, (&new, &current)).ok(&mut processor);
            let made = reply.bytes(pin_change_unblock::OUTPUT_PIN_MESSAGE);
            assert_eq!(made, changed(&CARD_KEY, &odd(&xored), "4321", None), "{words:?}");
        }
        let keys = [&chips.cryptograms, &encipherment, &inbound, key].map(|key| &key[..]);
        let reply = pin_change(keys, &["VISAPCU2"], &data, (&new, &current)).ok(&mut processor);
        let made = reply.bytes(pin_change_unblock::OUTPUT_PIN_MESSAGE);
        assert_eq!(made, changed(&CARD_KEY, &odd(&xored), "4321", Some("98765")));
    }
    // Keys of sessions by the trees are those that are derived.
    let keys = [&chips.cryptograms, &encipherment, &inbound, &inbound].map(|key| &key[..]);
    for word in ["TDESEMV2", "TDESEMV4"] {
        let made = skeleton(&mut processor, "SECMSG", &["SMPIN"]);
        let session = derived(&derive(&encipherment, &[word], &data, &made), &mut processor);
        let reply = pin_change(keys, &["VISAPCU1", word], &data, (&new, &current)).ok(&mut processor);
        let found = reply.bytes(pin_change_unblock::OUTPUT_PIN_MESSAGE);
        // The same message by the verb that enciphers any text with a PIN block in it.
        let plain = changed(&CARD_KEY, &ISSUER, "4321", None);
        let plain = peer::des(&ISSUER, false, &plain);
        let role = with(&[
            Point::SecureMessagingForKeys,
            Point::SecureMessagingForPins,
            Point::SecureMessagingAnyPlace,
            Point::PinUnrestricted,
            Point::PinAnyBlock,
            Point::PanChange,
        ]);
        let mut text = plain[..16].to_vec();
        text.extend([0; 8]);
        let request =
            message_of_pin((&inbound, &session), &["TDES-ECB"], &new, ["ISO-0", "ISO-0"], &text, 17);
        let reply = request.points(role).ok(&mut processor);
        assert_eq!(found, reply.bytes(secure_messaging_for_pins::CIPHER_TEXT)[..16]);
    }
    let mut denied = wire::role::BUILT_IN[0].points;
    denied.deny(Point::PinChangeInbound);
    let request = pin_change(keys, &["VISAPCU1"], &data, (&new, &current));
    request.points(Box::leak(Box::new(denied))).refused(&mut processor, code::ACCESS_DENIED);
}

#[test]
fn what_is_wrong_of_a_pin_change_is_refused() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let data = [&CARD[..], &[0, 1]].concat();
    let encipherment = entered(&mut processor, "DKYGENKY", &["DKYL0", "DMPIN"], &OTHER_ISSUER);
    let inbound = entered(&mut processor, "IPINENC", &[], &OTHER_ISSUER);
    let block = under(&OTHER_ISSUER, &iso0("4321", PAN_12));
    let keys = [&chips.cryptograms, &encipherment, &inbound, &inbound].map(|key| &key[..]);
    let good = |words: &[&str]| pin_change(keys, words, &data, (&block, &block));
    for words in [&["AMEXPCU1"][..], &["AMEXPCU2"], &["EMV-PCU1"], &["VISAPCU1", "AES-EMV1"]] {
        good(words).refused(&mut processor, code::KEYWORD);
    }
    use pin_change_unblock::*;
    good(&["VISAPCU1"])
        .bytes(OUTPUT_PIN_PROFILE, "VISAPCU2NONE            ")
        .refused(&mut processor, code::PIN_FORMAT);
    good(&["VISAPCU1"])
        .bytes(OUTPUT_PIN_PROFILE, "VISAPCU1SOME            ")
        .refused(&mut processor, code::FORMAT_CONTROL);
    good(&["VISAPCU1"])
        .bytes(OUTPUT_PIN_PROFILE, "VISAPCU1NONE           F")
        .refused(&mut processor, code::PAD_DIGIT);
    good(&["VISAPCU1"])
        .integer(OUTPUT_PIN_MESSAGE_LENGTH, 15)
        .refused(&mut processor, code::BUFFER_TOO_SMALL);
    for length in [0, 16, 17, 26] {
        let request = pin_change(keys, &["VISAPCU1"], &vec![3; length], (&block, &block));
        request.refused(&mut processor, code::TEXT_LENGTH);
    }
    pin_change(keys, &["VISAPCU1"], &data, (&[7; 8], &block)).refused(&mut processor, code::PIN_BLOCK);
    pin_change(keys, &["VISAPCU2"], &data, (&block, &[7; 8])).refused(&mut processor, code::PIN_BLOCK);
    good(&["VISAPCU2"]).bytes(CURRENT_REF_PIN_BLOCK, []).refused(&mut processor, code::INVALID_PARAMETER);
    good(&["VISAPCU2"]).bytes(CURRENT_REF_PIN_PROFILE, []).refused(&mut processor, code::INVALID_PARAMETER);
    for at in 0..4 {
        let mut wrong = keys;
        wrong[at] = &chips.mac;
        pin_change(wrong, &["VISAPCU2"], &data, (&block, &block)).refused(&mut processor, code::KEY_USAGE);
    }
    let swapped = [keys[1], keys[0], keys[2], keys[3]];
    pin_change(swapped, &["VISAPCU1"], &data, (&block, &block)).refused(&mut processor, code::KEY_USAGE);
}

/// Cards of EMV and MasterCard take a block of ISO-2, by OpenSSL and by pyemv 1.5.0.
#[test]
fn a_new_pin_goes_to_other_cards_in_a_block_of_iso_2() {
    let mut processor = processor();
    let chips = Chips::new(&mut processor);
    let pins = entered(&mut processor, "DKYGENKY", &["DKYL0", "DMPIN"], &OTHER_ISSUER);
    let block = under(&ISSUER, &iso0("1234", PAN_12));
    let cryptogram = 0x500F_F70D_D2FA_F812u64.to_be_bytes();
    let data = [&CARD[..], &cryptogram].concat();
    let keys = [&[][..], &pins, &chips.inbound, &[]];
    let request = |words: &[&str], data: &[u8]| pin_change(keys, words, data, (&block, &[]));
    let session = common(&odd(&peer::des(&OTHER_ISSUER, true, &CARD)), cryptogram);
    let field = 0x2412_34FF_FFFF_FFFFu64.to_be_bytes();
    let published = 0x5B45_B413_66CB_4F94_055D_459D_E5DE_8071u128.to_be_bytes();
    for (word, clear) in [("ISO2-EMV", filled(&field)), ("ISO2-MC", field.to_vec())] {
        let reply = request(&[word, "EMVCSK"], &data).ok(&mut processor);
        let message = reply.bytes(pin_change_unblock::OUTPUT_PIN_MESSAGE);
        assert_eq!(message, peer::des_cbc(&session, &[0; 8], &clear), "{word}");
        assert_eq!(message, published[..clear.len()], "{word}");
        assert_eq!(reply.integer(pin_change_unblock::OUTPUT_PIN_MESSAGE_LENGTH), clear.len() as i64);
        let room = |bytes| {
            request(&[word, "EMVCSK"], &data).integer(pin_change_unblock::OUTPUT_PIN_MESSAGE_LENGTH, bytes)
        };
        room(clear.len() as i64).ok(&mut processor);
        room(clear.len() as i64 - 1).refused(&mut processor, code::BUFFER_TOO_SMALL);
    }
    let counter = [&CARD[..], &[0x00, 0x1C]].concat();
    let trees = ["TDESEMV2", "TDESEMV4"].map(|tree| {
        let reply = request(&["ISO2-EMV", tree], &counter).ok(&mut processor);
        reply.bytes(pin_change_unblock::OUTPUT_PIN_MESSAGE)
    });
    assert!(trees[0].len() == 16 && trees[1].len() == 16 && trees[0] != trees[1]);

    for words in [
        &["ISO2-EMV"][..],
        &["ISO2-EMV", "TDES-XOR"],
        &["ISO2-MC"],
        &["ISO2-MC", "TDESEMV2"],
        &["VISAPCU1", "EMVCSK"],
        &["VISAPCU2", "EMVCSK"],
    ] {
        request(words, &data).refused(&mut processor, code::KEYWORD_COMBINATION);
    }
    for length in [0, 16, 18, 23] {
        request(&["ISO2-EMV", "EMVCSK"], &data[..length]).refused(&mut processor, code::TEXT_LENGTH);
    }
    let long = [&data[..], &[0]].concat();
    request(&["ISO2-MC", "EMVCSK"], &long).refused(&mut processor, code::TEXT_LENGTH);
    // Nothing of such a block comes of the key for cryptograms.
    let given = [&chips.cryptograms[..], &pins, &chips.inbound, &[]];
    let request = |keys, block: &[u8]| pin_change(keys, &["ISO2-EMV", "EMVCSK"], &data, (block, &[]));
    request(given, &block).refused(&mut processor, code::INVALID_PARAMETER);
    let other = [&[][..], &chips.cryptograms, &chips.inbound, &[]];
    request(other, &block).refused(&mut processor, code::KEY_USAGE);
    request(keys, &[7; 8]).refused(&mut processor, code::PIN_BLOCK);
    for pin in ["123", "1234567890123"] {
        let block = under(&ISSUER, &iso0(pin, PAN_12));
        request(keys, &block).refused(&mut processor, code::PIN_BLOCK);
    }
}
