//! Keys by DUKPT with AES.

use crate::chip::odd;
use crate::pin::hex;
use crate::variable::{encipher, parsed};
use token::variable::{Attributes, VariableType};
use verb_requests::peer::cmac_aes;
use verb_requests::pin::{OTHER, iso0, profile};
use verb_requests::pin2::{aes_profile, translate2};
use verb_requests::support::{entered, skeleton};
use verb_requests::twin;
use verb_requests::unique::*;
use verb_requests::uses::ways::{AES_TRANSPORT, entered2, mac2};
use wire::code;
use wire::verb::encrypted_pin_translate2::OUTPUT_PIN_BLOCK;

const AES_128: &str = "00020080";

/// ANSI X9.24-3, as the tests of openemv/dukpt repeat it.
#[test]
fn keys_are_the_published_ones() {
    use wire::verb::{mac_generate2, symmetric_algorithm_encipher};
    let mut keys = Keys::new();
    // The published key is one with which the terminal makes MACs: here it verifies them.
    let verifies = aes(VariableType::Mac, &["VERIFY", "CMAC"]);
    let token = tokens(&keys.aes_one("K2MAC", &data("2000", AES_128, 1), &verifies).ok(&mut keys.processor));
    let mac = cmac_aes(&hex::<16>("A2DC23DE6FDE0824A2BC321E08E4B8B7"), b"a message");
    verb_requests::uses::ways::verify_mac2(&token[1], &["AES"], b"a message", &mac).ok(&mut keys.processor);
    mac2(&token[1], &["AES"], b"a message").refused(&mut keys.processor, code::KEY_USAGE);
    // The same of data.
    let deciphers = aes(VariableType::Cipher, &["DECRYPT", "ECB"]);
    let request = keys.aes_one("K1DATA", &data("3000", AES_128, 1), &deciphers);
    let token = tokens(&request.ok(&mut keys.processor))[0].clone();
    encipher(&token, "ECB").refused(&mut keys.processor, code::KEY_USAGE);
    let both = aes(VariableType::Cipher, &["ENCRYPT", "DECRYPT", "ECB"]);
    let token = tokens(&keys.aes_one("K1DATA", &data("3002", AES_128, 1), &both).ok(&mut keys.processor));
    let reply = encipher(&token[0], "ECB").ok(&mut keys.processor);
    assert_eq!(reply.bytes(symmetric_algorithm_encipher::CIPHER_TEXT).len() % 16, 0);
    let both = aes(VariableType::Mac, &["GENERATE", "CMAC"]);
    let token = tokens(&keys.aes_one("K2MAC", &data("2002", AES_128, 1), &both).ok(&mut keys.processor));
    assert_eq!(
        mac2(&token[1], &["AES"], b"text").ok(&mut keys.processor).bytes(mac_generate2::MAC_TEXT).len(),
        16
    );
    // PIN keys of both directions, and of TDES into tokens of DES.
    for words in [PIN_IN, PIN_OUT] {
        let field = aes(VariableType::PinProt, words);
        let reply = keys.aes_one("K3PIN", &data("1000", AES_128, 1), &field).ok(&mut keys.processor);
        let made = parsed(&tokens(&reply)[2]);
        assert_eq!(made.attributes().usage(), parsed(&field).attributes().usage());
    }
    let field = keys.des("IPINENC", &[]);
    let reply = keys.aes_one("K3PIN", &data("1000", "00000080", 1), &field).ok(&mut keys.processor);
    let one = value(&tokens(&reply)[2]);
    assert!(one.len() == 16 && one == odd(&one));
}

/// A key of TDES of three parts goes into a token of three parts, and is the one under which PIN verbs take its blocks.
#[test]
fn a_key_of_three_parts_has_a_token_of_three() {
    const PAN: &str = "401234567890";
    let kind = "000100C0";
    let mut keys = Keys::new();
    let triple = skeleton(&mut keys.processor, "IPINENC", &["TRIPLE"]);
    let reply = keys.aes_one("K3PIN", &data("1000", kind, 1), &triple).ok(&mut keys.processor);
    let key = value(&tokens(&reply)[2]);
    assert_eq!(key.len(), 24);
    let outbound = entered(&mut keys.processor, "OPINENC", &[], &OTHER);
    let clear_block = iso0("1234", PAN);
    let block = verb_requests::pin::under(&key, &clear_block);
    let profiles = (&aes_profile("ISO-0", kind, 1)[..], &profile("ISO-0", "")[..]);
    let sides = ((&keys.aes_base[..], &outbound[..]), profiles, (PAN, PAN));
    let there = translate2(&["TRANSLAT", "ADUKPTIP"], sides, &block).ok(&mut keys.processor);
    assert_eq!(there.bytes(OUTPUT_PIN_BLOCK), verb_requests::pin::under(&OTHER, &clear_block));
    keys.aes_one("K3PIN", &data("1000", "00000080", 1), &triple)
        .refused(&mut keys.processor, code::KEY_LENGTH_KEYWORD);
}

#[test]
fn an_initial_key_leaves_in_a_block_that_says_whose_it_is() {
    let mut keys = Keys::new();
    let words = ["A-DUKPT", "K3IPEK", "TR31-TOK"];
    let of = |keys: &Keys, base: &[u8], data: &[u8]| {
        unique(&words, base, data, [&[]; 3], &keys.aes_exporter).points(everything())
    };
    let good = data("8001", AES_128, 0);
    unique(&words, &keys.aes_base, &good, [&[]; 3], &keys.aes_exporter)
        .refused(&mut keys.processor, code::ACCESS_DENIED);
    let text = block(&of(&keys, &keys.aes_base, &good).ok(&mut keys.processor));
    assert_eq!(&text[..36], "D0176B1AX00N0200IK141234567890123456");
    let payload = twin::opened(&AES_TRANSPORT, &text);
    assert_eq!(payload[..18], [&[0, 128][..], &hex::<16>("1273671EA26AC29AFA4D1084127652A1")].concat());
    // As long as for the longest key.
    assert_eq!(payload.len(), 48);
    for (data, codes) in [
        (data("8001", AES_128, 1), code::SERIAL_COUNTER),
        (data("1000", AES_128, 1), code::KEY_SERIAL),
        (data("8000", AES_128, 1), code::KEY_SERIAL),
        // A key of another length than the base key, and of TDES.
        (data("8001", "00040100", 0), code::KEY_SERIAL),
        (data("8001", "00000080", 0), code::KEY_SERIAL),
        (good[..16].to_vec(), code::KEY_SERIAL),
    ] {
        of(&keys, &keys.aes_base, &data).refused(&mut keys.processor, codes);
    }
    // From an initial key follow keys for everything: a base key for one type gives none, nor one that may not leave.
    let pins = Attributes::new(VariableType::PinProt, PIN_IN.iter().copied(), None).unwrap();
    let one = of_type(&mut keys, &["D-PPROT", "A-DUKPT"], &pins);
    of(&keys, &one, &good).refused(&mut keys.processor, code::KEY_USAGE);
    let kept = ["D-ALL", "A-DUKPT", "NOEX-SYM"];
    let kept = entered2(&mut keys.processor, VariableType::DkyGenKy, &kept, &AES_BASE);
    of(&keys, &kept, &good).refused(&mut keys.processor, code::KEY_USAGE);
    // Under a key that protects no blocks, and one of DES.
    let other = entered2(&mut keys.processor, VariableType::Exporter, &["KEK-RAW"], &AES_TRANSPORT);
    for (kek, codes) in [(other, code::KEY_USAGE), (keys.exporter.clone(), code::TOKEN_INVALID)] {
        unique(&words, &keys.aes_base, &good, [&[]; 3], &kek)
            .points(everything())
            .refused(&mut keys.processor, codes);
    }
    // A key of 256 bits under one of 128.
    let long = entered2(&mut keys.processor, VariableType::DkyGenKy, &["D-ALL", "A-DUKPT"], &[7; 32]);
    let weak = entered2(&mut keys.processor, VariableType::Exporter, &["WR-TR31"], &[8; 16]);
    let request = unique(&words, &long, &data("8001", "00040100", 0), [&[]; 3], &weak);
    request.points(everything()).refused(&mut keys.processor, code::STRENGTH);
}

/// A base key of one type.
fn of_type(keys: &mut Keys, words: &[&str], derived: &Attributes) -> Vec<u8> {
    use token::VariableToken;
    use token::des::Origin;
    use wire::verb::key_part_import2::KEY_IDENTIFIER;
    let attributes = Attributes::new(VariableType::DkyGenKy, words.iter().copied(), Some(derived)).unwrap();
    let payload = VariableToken::default_payload(VariableType::DkyGenKy);
    let skeleton = VariableToken::skeleton(Origin::Internal, payload, attributes).unwrap().to_bytes();
    let part = verb_requests::uses::ways::part2("AES", &["FIRST", "MIN1PART"], &AES_BASE, &skeleton);
    let token = part.ok(&mut keys.processor).bytes(KEY_IDENTIFIER);
    let whole = verb_requests::uses::ways::part2("AES", &["COMPLETE"], &[], &token);
    whole.ok(&mut keys.processor).bytes(KEY_IDENTIFIER)
}

#[test]
fn data_and_token_are_of_the_keyword() {
    let mut keys = Keys::new();
    let verifies = aes(VariableType::Mac, &["VERIFY", "CMAC"]);
    let makes = aes(VariableType::Mac, &["GENONLY", "CMAC"]);
    let changes = aes(VariableType::Mac, &["VERIFY", "CMAC", "PTR2AUTH"]);
    let pins = aes(VariableType::PinProt, PIN_IN);
    let formats = aes(VariableType::Cipher, &["ENCRYPT", "FF1"]);
    let (inbound, mac, data_key) = (keys.des("IPINENC", &[]), keys.des("MAC", &[]), keys.des("DATA", &[]));
    let macver = keys.des("MACVER", &[]);
    for (word, usage, kind, field, codes) in [
        ("K2MAC", "2000", AES_128, &verifies, code::OK),
        ("K2MAC", "2000", AES_128, &makes, code::KEY_USAGE),
        ("K2MAC", "2001", AES_128, &makes, code::OK),
        ("K2MAC", "2001", AES_128, &verifies, code::KEY_USAGE),
        ("K2MAC", "2002", AES_128, &changes, code::KEY_USAGE),
        ("K2MAC", "1000", AES_128, &verifies, code::KEY_SERIAL),
        ("K3PIN", "2000", AES_128, &pins, code::KEY_SERIAL),
        ("K1DATA", "1000", AES_128, &pins, code::KEY_SERIAL),
        ("K3PIN", "8001", AES_128, &pins, code::KEY_SERIAL),
        ("K3PIN", "1000", AES_128, &verifies, code::KEY_USAGE),
        ("K1DATA", "3002", AES_128, &formats, code::KEY_USAGE),
        ("K3PIN", "1000", AES_128, &inbound, code::TOKEN_INVALID),
        ("K3PIN", "1000", "00000080", &pins, code::TOKEN_INVALID),
        ("K3PIN", "1000", "00000080", &inbound, code::OK),
        ("K3PIN", "1000", "000100C0", &inbound, code::KEY_LENGTH_KEYWORD),
        ("K3PIN", "1000", "00000080", &data_key, code::KEY_USAGE),
        ("K2MAC", "2002", "00000080", &mac, code::OK),
        ("K2MAC", "2000", "00000080", &mac, code::KEY_USAGE),
        ("K2MAC", "2000", "00000080", &macver, code::OK),
        ("K2MAC", "2000", "00040100", &verifies, code::STRENGTH),
    ] {
        let counter = u32::from(usage != "8001");
        let reply = keys.aes_one(word, &data(usage, kind, counter), field).told(&mut keys.processor);
        assert_eq!(reply.codes, codes, "{word} {usage} {kind}");
    }
    keys.aes_one("K2MAC", &data("2000", AES_128, 0), &verifies)
        .refused(&mut keys.processor, code::SERIAL_COUNTER);
    keys.aes_one("K2MAC", &data("2000", AES_128, 0x1FFFF), &verifies)
        .refused(&mut keys.processor, code::SERIAL_COUNTER);
    let words = ["A-DUKPT", "K2MAC", "WRAP-ENH"];
    let fields = in_field("K2MAC", &verifies);
    unique(&words, &keys.aes_base, &data("2000", AES_128, 1), fields, &[])
        .refused(&mut keys.processor, code::KEYWORD_COMBINATION);
    let long = aes(VariableType::Mac, &["VERIFY", "CMAC"]);
    let (length, _) = FIELDS[1];
    keys.aes_one("K2MAC", &data("2000", AES_128, 1), &long)
        .integer(length, 60)
        .refused(&mut keys.processor, code::BUFFER_TOO_SMALL);
}

#[test]
fn what_a_base_key_says_its_keys_heed() {
    let mut keys = Keys::new();
    let of = |base: &[u8], word: &str, usage: &str, kind: &str, field: &[u8]| {
        unique(&["A-DUKPT", word], base, &data(usage, kind, 1), in_field(word, field), &[])
    };
    // One that derives keys of one type derives those, with fields that permit no more.
    let pins = Attributes::new(VariableType::PinProt, PIN_IN.iter().copied(), None).unwrap();
    let base = of_type(&mut keys, &["D-PPROT", "A-DUKPT"], &pins);
    of(&base, "K3PIN", "1000", AES_128, &aes(VariableType::PinProt, PIN_IN)).ok(&mut keys.processor);
    let verifies = aes(VariableType::Mac, &["VERIFY", "CMAC"]);
    let inbound = keys.des("IPINENC", &[]);
    for (word, usage, kind, field) in [
        ("K3PIN", "1000", AES_128, aes(VariableType::PinProt, PIN_OUT)),
        ("K2MAC", "2000", AES_128, verifies.clone()),
        ("K3PIN", "1000", "00000080", inbound),
    ] {
        of(&base, word, usage, kind, &field).refused(&mut keys.processor, code::KEY_USAGE);
    }
    // One that does not leave derives none that does.
    let kept = ["D-ALL", "A-DUKPT", "NOEX-SYM", "NOEXUASY"];
    let kept = entered2(&mut keys.processor, VariableType::DkyGenKy, &kept, &AES_BASE);
    of(&kept, "K2MAC", "2000", AES_128, &verifies).refused(&mut keys.processor, code::KEY_USAGE);
    let stays = aes(VariableType::Mac, &["VERIFY", "CMAC", "NOEX-SYM", "NOEXUASY"]);
    of(&kept, "K2MAC", "2000", AES_128, &stays).ok(&mut keys.processor);
    let free = keys.des("MACVER", &[]);
    of(&kept, "K2MAC", "2000", "00000080", &free).refused(&mut keys.processor, code::KEY_USAGE);
    let stays = keys.des("MACVER", &["NO-XPORT"]);
    of(&kept, "K2MAC", "2000", "00000080", &stays).ok(&mut keys.processor);
    // One without A-DUKPT is for other derivations.
    let other = entered2(&mut keys.processor, VariableType::DkyGenKy, &["D-ALL"], &AES_BASE);
    of(&other, "K2MAC", "2000", AES_128, &verifies).refused(&mut keys.processor, code::KEY_USAGE);
    of(&keys.base, "K2MAC", "2000", AES_128, &verifies).refused(&mut keys.processor, code::TOKEN_INVALID);
}
