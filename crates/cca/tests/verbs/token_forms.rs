//! The two forms of internal tokens: what they are made of, and what becomes of tokens that were changed or put
//! together.
//!
//! Every attack is mounted on compatible tokens first, where it works, so that it is known to bite.

use cca::{Batch, Processor};
use token::DesToken;
use verb_requests::peer;
use verb_requests::support::{
    DOMAIN, Reply, Request, aes_key, compatible_processor, generate, generated, import, imported, mac,
    processor, skeleton, sym_key, text,
};
use wire::control::{TokenForm, TokenForms};
use wire::frame::{Argument, Arguments, Walk, place_token};
use wire::point::{Point, PointSet};
use wire::verb::{
    Verb, clear_key_import_multiple, encipher, key_generate, key_test, mac_generate,
    symmetric_algorithm_encipher as aes,
};
use wire::{Codes, KeyReference, code};

const FIRST: usize = key_generate::GENERATED_KEY_IDENTIFIER_1;
const ENHANCED: u8 = 0x20;
const AUTHENTICATED: u8 = 0xC0;
const UNCHECKED: u8 = 0xE0;

/// A processor that makes authenticated tokens and takes no others.
fn strict_processor() -> Processor {
    let mut processor = processor();
    processor.set_token_forms(TokenForms { form: TokenForm::Authenticated, open_compatible: false });
    processor
}

fn mend(token: &mut [u8]) {
    let token: &mut [u8; 64] = token.try_into().unwrap();
    token::tvv::seal(token);
}

/// A copy with some bytes from elsewhere, and the right validation value.
fn changed(token: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut token = token.to_vec();
    change(&mut token);
    mend(&mut token);
    token
}

fn des_encipher(token: &[u8], text: &[u8]) -> Request {
    Request::new(Verb::Encipher)
        .bytes(encipher::KEY_IDENTIFIER, token)
        .counted(encipher::TEXT_LENGTH, encipher::PLAINTEXT, text)
        .bytes(encipher::INITIALIZATION_VECTOR, [0; 8])
        .rules(&["CBC"])
        .bytes(encipher::CHAINING_VECTOR, [0; 18])
}

fn aes_encipher(token: &[u8], text: &[u8]) -> Request {
    Request::new(Verb::SymmetricAlgorithmEncipher)
        .rules(&["AES", "KEYIDENT", "ECB"])
        .counted(aes::KEY_LENGTH, aes::KEY_IDENTIFIER, token)
        .integer(aes::BLOCK_SIZE, 16)
        .counted(aes::CLEAR_TEXT_LENGTH, aes::CLEAR_TEXT, text)
        .integer(aes::CIPHER_TEXT_LENGTH, text.len() as i64)
}

/// What opens any symmetric key, and says something about it.
fn test(token: &[u8]) -> Request {
    Request::new(Verb::KeyTest)
        .rules(&["GENERATE", "ENC-ZERO"])
        .bytes(key_test::KEY_IDENTIFIER, token)
        .bytes(key_test::VALUE_1, [0; 8])
        .bytes(key_test::VALUE_2, [0; 8])
}

/// A DATA key whose control vector is zero.
fn zero_vector(processor: &mut Processor, length: &str) -> Vec<u8> {
    let zero = skeleton(processor, "DATA", &["NO-CV"]);
    generate("TOKEN", length).bytes(FIRST, &zero).ok(processor).bytes(FIRST)
}

#[test]
fn authenticated_tokens_are_one_wide_block() {
    let mut processor = processor();
    let key: Vec<u8> = (1..33u8).map(|byte| 2 * byte + u8::from(byte.count_ones() % 2 == 0)).collect();
    let none = skeleton(&mut processor, "DATA", &["NO-CV"]);
    for length in [8, 16, 24] {
        for target in [&[0; 64][..], &none] {
            let request = import("DES", &key[..length]);
            let request = request.bytes(clear_key_import_multiple::TARGET_KEY_IDENTIFIER, target);
            let token = request.ok(&mut processor).bytes(clear_key_import_multiple::TARGET_KEY_IDENTIFIER);
            let compatible = request.ok(&mut compatible_processor());
            let compatible = compatible.bytes(clear_key_import_multiple::TARGET_KEY_IDENTIFIER);
            // All but the method and the key fields is as in a compatible token.
            assert_eq!((token[7], compatible[7]), (AUTHENTICATED, 0));
            for same in [0..1, 4..5, 6..7, 8..16, 32..48, 59..60] {
                assert_eq!(token[same.clone()], compatible[same]);
            }
            let (rest, message) = peer::des_message(&token);
            let padded = [&key[..length], &vec![0; 31 - length]].concat();
            let wide = peer::derived(&sym_key(false), b"cryptand internal DES token");
            assert_eq!(peer::hctr2(&wide, true, &rest, &padded), message, "{length}");
            assert_eq!(peer::unwrap_token(&sym_key(false), &token), key[..length]);
        }
    }
    for length in [16, 24, 32] {
        let token = imported(&mut processor, "AES", &key[..length]);
        let compatible = imported(&mut compatible_processor(), "AES", &key[..length]);
        assert_eq!((token[7], compatible[7]), (AUTHENTICATED, 0));
        for same in [0..7, 8..16, 56..60] {
            assert_eq!(token[same.clone()], compatible[same]);
        }
        let (rest, message) = peer::aes_message(&token);
        let padded = [&key[..length], &vec![0; 40 - length]].concat();
        let wide = peer::derived(&aes_key(false), b"cryptand internal AES token");
        assert_eq!(message, peer::hctr2(&wide, true, &rest, &padded));
    }
}

/// The left part in the place of the right one, which no control vector keeps apart: the key is single DES.
fn double_key_becomes_single(processor: &mut Processor) -> bool {
    let token = zero_vector(processor, "KEYLN16");
    let half = peer::unwrap_token(&sym_key(false), &token)[..8].to_vec();
    let spliced = changed(&token, |token| token.copy_within(16..24, 24));
    gives(des_encipher(&spliced, &text(32)).run(processor), &peer::des_cbc(&half, &[0; 8], &text(32)))
}

/// The same with the parts of a key of triple length, which have one control vector.
fn triple_key_becomes_single(processor: &mut Processor) -> bool {
    let token = generated(processor, "DATA", "KEYLN24");
    let third = peer::unwrap_token(&sym_key(false), &token)[16..].to_vec();
    let spliced = changed(&token, |token| token.copy_within(16..24, 24));
    gives(des_encipher(&spliced, &text(32)).run(processor), &peer::des_cbc(&third, &[0; 8], &text(32)))
}

/// The right part of a key that the attacker knows beside the left one of a key that he does not.
fn half_of_a_key_becomes_known(processor: &mut Processor) -> bool {
    let token = generated(processor, "DATA", "DOUBLE");
    let half = peer::unwrap_token(&sym_key(false), &token)[..8].to_vec();
    let known = imported(processor, "DES", &[0x20; 16]);
    let spliced = changed(&token, |token| token[24..32].copy_from_slice(&known[24..32]));
    let key = [half, vec![0x20; 8]].concat();
    gives(des_encipher(&spliced, &text(32)).run(processor), &peer::des_cbc(&key, &[0; 8], &text(32)))
}

/// An AES-128 key passes as an AES-256 key: its padding is the rest.
fn short_key_passes_as_long(processor: &mut Processor) -> bool {
    let token = imported(processor, "AES", &text(16));
    let longer = changed(&token, |token| token[56..58].copy_from_slice(&[1, 0]));
    let key = [text(16), vec![0; 16]].concat();
    gives_aes(aes_encipher(&longer, &text(32)).run(processor), &peer::aes_ecb(&key, true, &text(32)))
}

/// A bit of the first block of an AES-256 key in CBC changes the same bit of its second half.
fn half_of_a_key_is_changed(processor: &mut Processor) -> bool {
    let token = imported(processor, "AES", &text(32));
    let other = changed(&token, |token| token[16] ^= 0x80);
    let opened = peer::unwrap_aes_token(&aes_key(false), &other);
    let mut half = text(32)[16..].to_vec();
    half[0] ^= 0x80;
    opened[16..] == half
        && gives_aes(aes_encipher(&other, &text(32)).run(processor), &peer::aes_ecb(&opened, true, &text(32)))
}

/// The flag that forbids export is in no control vector.
fn export_is_allowed(processor: &mut Processor) -> bool {
    let target = changed(&skeleton(processor, "DATA", &["DOUBLE"]), |token| token[6] |= 0x01);
    let token = generate("TOKEN", "").bytes(FIRST, &target).ok(processor).bytes(FIRST);
    assert!(DesToken::parse(&token).unwrap().export_prohibited());
    let allowed = changed(&token, |token| token[6] &= !0x01);
    let key = peer_encipher(&token);
    gives(des_encipher(&allowed, &text(32)).run(processor), &key)
}

/// A key-encrypting key that must use control vectors takes none.
fn control_vectors_are_left_out(processor: &mut Processor) -> bool {
    let token = generated(processor, "EXPORTER", "DOUBLE");
    let other = changed(&token, |token| token[6] |= 0x20);
    test(&other).run(processor).codes == code::OK
}

fn peer_encipher(token: &[u8]) -> Vec<u8> {
    peer::des_cbc(&peer::unwrap_token(&sym_key(false), token), &[0; 8], &text(32))
}

fn gives(reply: Reply, ciphertext: &[u8]) -> bool {
    reply.codes == code::OK && reply.bytes(encipher::CIPHERTEXT) == ciphertext
}

fn gives_aes(reply: Reply, ciphertext: &[u8]) -> bool {
    reply.codes == code::OK && reply.bytes(aes::CIPHER_TEXT) == ciphertext
}

type Attack = (&'static str, fn(&mut Processor) -> bool);

const ATTACKS: [Attack; 6] = [
    ("double key becomes single", double_key_becomes_single),
    ("triple key becomes single", triple_key_becomes_single),
    ("half of a key becomes known", half_of_a_key_becomes_known),
    ("short key passes as long", short_key_passes_as_long),
    ("export is allowed", export_is_allowed),
    ("half of a key is changed", half_of_a_key_is_changed),
];

#[test]
fn attacks_work_on_compatible_tokens_alone() {
    for (name, attack) in ATTACKS {
        assert!(attack(&mut compatible_processor()), "{name} does not bite");
        assert!(!attack(&mut processor()), "{name} works on authenticated tokens");
        assert!(!attack(&mut strict_processor()), "{name} works on authenticated tokens");
    }
    // The token of a key-encrypting key is authenticated in every home.
    for mut processor in [compatible_processor(), processor(), strict_processor()] {
        assert!(!control_vectors_are_left_out(&mut processor));
    }
}

/// Keys of every length, and whether a key fills its field, so that nothing of it is redundant but what stands behind
/// the field.
fn keys(processor: &mut Processor) -> Vec<(Vec<u8>, bool)> {
    let mut keys = Vec::new();
    for length in ["KEYLN8", "KEYLN16", "KEYLN24"] {
        let is_full = length == "KEYLN24";
        keys.push((zero_vector(processor, length), is_full));
        keys.push((generated(processor, "DATA", length), is_full));
        keys.push((generated(processor, "DATA", length), is_full));
    }
    for (key_type, length) in
        [("MAC", "KEYLN8"), ("MAC", "DOUBLE"), ("CIPHER", "DOUBLE"), ("EXPORTER", "DOUBLE")]
    {
        keys.push((generated(processor, key_type, length), false));
    }
    for length in ["KEYLN16", "KEYLN24", "KEYLN32"] {
        for _ in 0..2 {
            keys.push((generated(processor, "AESDATA", length), length == "KEYLN32"));
        }
    }
    keys
}

/// The parts of a key, eight bytes each, by a peer; `None` where it does not open.
fn parts(token: &[u8]) -> Vec<[u8; 8]> {
    let key = match token[4] {
        4 => peer::unwrap_aes_token(&aes_key(false), token),
        _ => peer::unwrap_token(&sym_key(false), token),
    };
    key.as_chunks().0.to_vec()
}

/// Whether a token is refused, for good reason, or, where its field is full, opens to a key that has no part with the
/// others in common.
fn is_harmless(processor: &mut Processor, token: &[u8], is_full: bool, of: &[&[u8]]) -> Result<(), Codes> {
    let reply = test(token).run(processor);
    if reply.codes.return_code >= 8 {
        return Ok(());
    }
    let related = || {
        let parts = parts(token);
        of.iter().flat_map(|token| self::parts(token)).any(|part| parts.contains(&part))
    };
    if is_full && !related() { Ok(()) } else { Err(reply.codes) }
}

/// The point without which such bytes are no key.
fn without_unchecked() -> &'static PointSet {
    let mut points = PointSet::EVERYTHING;
    points.deny(Point::TokenUnchecked);
    Box::leak(Box::new(points))
}

/// Every bit of every kind of token, the validation value made right: nothing opens.
#[test]
fn every_changed_bit_is_refused() {
    let mut processor = strict_processor();
    for (token, _) in keys(&mut processor) {
        assert_eq!(token[7], AUTHENTICATED);
        for bit in 0..60 * 8 {
            let damaged = {
                let mut token = token.clone();
                token[bit / 8] ^= 0x80 >> (bit % 8);
                token
            };
            assert_eq!(test(&damaged).run(&mut processor).codes.return_code, 8, "bit {bit}");
            let changed = changed(&damaged, |_| {});
            let codes = test(&changed).run(&mut processor).codes;
            assert_eq!(codes.return_code, 8, "bit {bit} of {token:02X?}");
        }
    }
}

/// Tokens of the method whose wide block ends with the key field. A key that is shorter has zeros behind it; of one
/// that fills the field any bit may be changed, or the length, and another key opens: in a role that may bring such
/// tokens over. In other roles they are no keys but where they come from records.
#[test]
fn tokens_without_redundancy_open_from_records_and_to_bring_them_over() {
    let mut processor = strict_processor();
    for (token, is_full) in keys(&mut processor) {
        let is_aes = token[4] == 4;
        let master = if is_aes { aes_key(false) } else { sym_key(false) };
        let key: Vec<u8> = match is_aes {
            true => peer::unwrap_aes_token(&master, &token)
                [..usize::from(token[56]) * 32 + usize::from(token[57]) / 8]
                .to_vec(),
            false => peer::unwrap_token(&master, &token),
        };
        let old = peer::unchecked(&master, &token, &key);
        assert_eq!((old[7], &old[8..16]), (UNCHECKED, &token[8..16]));
        let pattern = |reply: &Reply| reply.bytes(key_test::VALUE_2);
        let right = pattern(&test(&token).ok(&mut processor));
        let reply = test(&old).ok(&mut processor);
        assert_eq!(pattern(&reply), right);
        // Whoever uses it gets the token that tells of changes.
        let renewed = reply.bytes(key_test::KEY_IDENTIFIER);
        assert_eq!(renewed, token);
        let guarded = test(&old).points(without_unchecked());
        if !is_full {
            guarded.ok(&mut processor);
            continue;
        }
        guarded.refused(&mut processor, code::ACCESS_DENIED);
        let (mut opened, mut bits) = (0, 0);
        for bit in (16 * 8..32 * 8).chain(48 * 8..if is_aes { 48 * 8 } else { 56 * 8 }) {
            let other = changed(&old, |token| token[bit / 8] ^= 0x80 >> (bit % 8));
            // The parity of a key does not matter, its parts may not be equal.
            let reply = test(&other).run(&mut processor);
            opened += usize::from(reply.codes.return_code < 8 && pattern(&reply) != right);
            bits += 1;
            test(&other).points(without_unchecked()).refused(&mut processor, code::ACCESS_DENIED);
        }
        assert_eq!(opened, bits, "the attack works where it may");
        assert_eq!(of_record(&mut processor, &old), right);
    }
    // A shorter key that says that it is longer.
    let token = imported(&mut processor, "AES", &text(16));
    let old = peer::unchecked(&aes_key(false), &token, &text(16));
    let longer = |token: &[u8]| changed(token, |token| token[56..58].copy_from_slice(&[1, 0]));
    test(&longer(&old)).ok(&mut processor);
    test(&longer(&old)).points(without_unchecked()).refused(&mut processor, code::ACCESS_DENIED);
    test(&longer(&token)).refused(&mut processor, code::TOKEN_INVALID);
    let token = imported(&mut processor, "AES", &text(32));
    let shorter = changed(&token, |token| token[56..58].copy_from_slice(&[0, 128]));
    test(&shorter).refused(&mut processor, code::TOKEN_INVALID);
    // A token does not pass as one of the other method.
    let downgraded = changed(&token, |token| token[7] = UNCHECKED);
    test(&downgraded).refused(&mut processor, code::TOKEN_INVALID);
    let downgraded = changed(&token, |token| {
        token[7] = UNCHECKED;
        token[48..56].fill(0);
    });
    test(&downgraded).ok(&mut processor);
    test(&downgraded).points(without_unchecked()).refused(&mut processor, code::ACCESS_DENIED);
}

/// The pattern of the key of a token that came from a record, in a role that may not name such as bytes.
fn of_record(processor: &mut Processor, token: &[u8]) -> Vec<u8> {
    let payload = test(token).payload();
    let mut arguments = Arguments::read_request(Verb::KeyTest, &payload).unwrap();
    let reference = KeyReference { slot: 0, generation: 0 };
    arguments.set(key_test::KEY_IDENTIFIER, Argument::Reference(reference));
    let mut referring = Vec::new();
    arguments.write_request(&mut referring).unwrap();
    let mut fields = Walk::request(Verb::KeyTest, &referring).map(Result::unwrap);
    let at = fields.find(|field| field.position == key_test::KEY_IDENTIFIER).unwrap().range.start;
    assert!(place_token(&mut referring, at, 0..token.len()));
    let mut batch = Batch::new();
    batch.lend().unwrap().extend([&referring[..], token].concat());
    batch.keep(Verb::KeyTest, (0, DOMAIN), without_unchecked(), referring.len());
    processor.run(&mut batch);
    let answer = &batch.answers()[0];
    assert_eq!(answer.codes, code::OK);
    Arguments::read_reply(Verb::KeyTest, &answer.payload).unwrap().bytes(key_test::VALUE_2).to_vec()
}

/// Every way to put the parts of two tokens together: what is beside the key fields of either, and of each eight bytes
/// of the key fields those of either.
#[test]
fn parts_of_two_tokens_do_not_make_a_third() {
    let mut processor = strict_processor();
    let keys = keys(&mut processor);
    let (des, aes): (Vec<_>, Vec<_>) = keys.iter().partition(|(token, _)| token[4] != 4);
    for (keys, places) in [(des, &[16, 24, 48][..]), (aes, &[16, 24, 32, 40])] {
        for (one, _) in &keys {
            for (two, _) in keys.iter().filter(|(two, _)| two != one) {
                for mask in 1..1 << places.len() {
                    let spliced = changed(one, |token| {
                        for (_, at) in places.iter().enumerate().filter(|(index, _)| mask >> index & 1 == 1) {
                            token[*at..at + 8].copy_from_slice(&two[*at..at + 8]);
                        }
                    });
                    // Where all else is equal too, it is the other token.
                    if spliced == *two {
                        continue;
                    }
                    let harmless = is_harmless(&mut processor, &spliced, false, &[one, two]);
                    assert_eq!(harmless, Ok(()), "{mask:b} of {two:02X?} in {one:02X?}");
                }
            }
            // Parts of one token in another order.
            for (from, to) in places.iter().flat_map(|from| places.iter().map(move |to| (*from, *to))) {
                let spliced = changed(one, |token| {
                    let part: [u8; 8] = token[to..to + 8].try_into().unwrap();
                    token.copy_within(from..from + 8, to);
                    token[from..from + 8].copy_from_slice(&part);
                });
                if from != to {
                    assert_eq!(is_harmless(&mut processor, &spliced, false, &[one]), Ok(()));
                }
            }
        }
    }
}

/// A token does not pass as one of the other form, whether what is left over is kept or zero.
#[test]
fn a_form_is_not_taken_for_the_other() {
    let mut both = processor();
    for (token, _) in keys(&mut processor()) {
        let start = if token[4] == 4 { 48 } else { 16 + parts(&token).len().min(2) * 8 };
        for clear_rest in [false, true] {
            let compatible = changed(&token, |token| {
                token[7] = 0;
                if token[4] == 4 {
                    token[48..56].fill(0);
                } else {
                    [1, 2, 3, 5, 56, 57, 58].iter().for_each(|at| token[*at] = 0);
                }
                if clear_rest && token[4] != 4 {
                    token[start..32].fill(0);
                    if start == 32 && token[37] & 0x60 == 0x40 {
                        token[48..56].fill(0);
                    }
                }
            });
            // Without redundancy it opens, by another method under another key.
            assert_eq!(is_harmless(&mut both, &compatible, true, &[&token]), Ok(()), "{token:02X?}");
        }
    }
    let is_compatible = |(token, _): &(Vec<u8>, bool)| token[7] == 0;
    for (token, is_full) in keys(&mut compatible_processor()).into_iter().filter(is_compatible) {
        let other = changed(&token, |token| token[7] = AUTHENTICATED);
        assert_eq!(is_harmless(&mut both, &other, false, &[&token]), Ok(()), "{token:02X?}");
        let other = changed(&token, |token| token[7] = UNCHECKED);
        assert_eq!(is_harmless(&mut both, &other, is_full, &[&token]), Ok(()), "{token:02X?}");
        for method in (0x20..AUTHENTICATED).step_by(0x20) {
            let other = changed(&token, |token| token[7] = method);
            if method == ENHANCED && token[4] != 4 {
                // Without redundancy it opens, by another method under another key.
                assert_eq!(is_harmless(&mut both, &other, true, &[&token]), Ok(()), "{token:02X?}");
            } else {
                test(&other).refused(&mut both, code::WRAPPING_TYPE);
            }
        }
    }
}

#[test]
fn compatible_tokens_open_where_they_may_and_come_back_authenticated() {
    let (mut old, mut both, mut strict) = (compatible_processor(), processor(), strict_processor());
    let token = generated(&mut old, "MAC", "DOUBLE");
    let key = peer::unwrap_token(&sym_key(false), &token);
    let request = |token: &[u8]| mac(token, &["X9.19OPT", "MACLEN8"], &text(64));
    let same = request(&token).ok(&mut old);
    assert!(same.bytes(mac_generate::KEY_IDENTIFIER).is_empty());
    let reply = request(&token).ok(&mut both);
    assert_eq!(reply.bytes(mac_generate::MAC), peer::retail_mac(&key, &text(64)));
    let renewed = reply.bytes(mac_generate::KEY_IDENTIFIER);
    assert_eq!(renewed[7], AUTHENTICATED);
    assert_eq!(peer::unwrap_token(&sym_key(false), &renewed), key);
    let again = request(&renewed).ok(&mut both);
    assert!(again.bytes(mac_generate::KEY_IDENTIFIER).is_empty(), "a token that did not change stays away");
    request(&token).refused(&mut strict, code::TOKEN_VERSION);
    // Authenticated ones open wherever their master key is.
    for processor in [&mut old, &mut both, &mut strict] {
        let reply = request(&renewed).ok(processor);
        assert_eq!(reply.bytes(mac_generate::MAC), peer::retail_mac(&key, &text(64)));
        assert!(reply.bytes(mac_generate::KEY_IDENTIFIER).is_empty());
    }

    let token = imported(&mut old, "AES", &text(24));
    aes_encipher(&token, &text(16)).refused(&mut strict, code::TOKEN_VERSION);
    let reply = aes_encipher(&token, &text(16)).ok(&mut both);
    let renewed = reply.bytes(aes::KEY_IDENTIFIER);
    assert_eq!(peer::unwrap_aes_token(&aes_key(false), &renewed)[..24], text(24));
    assert_eq!(renewed[7], AUTHENTICATED);
    aes_encipher(&renewed, &text(16)).ok(&mut strict);
}

/// Who names a key by its label has no field for a token, and may not be one who sees tokens.
#[test]
fn a_key_that_was_named_by_its_label_does_not_come_back() {
    let token = generated(&mut compatible_processor(), "MAC", "DOUBLE");
    let payload = mac(&token, &["X9.19OPT", "MACLEN8"], &text(64)).payload();
    let mut arguments = Arguments::read_request(Verb::MacGenerate, &payload).unwrap();
    let reference = KeyReference { slot: 0, generation: 0 };
    arguments.set(mac_generate::KEY_IDENTIFIER, Argument::Reference(reference));
    let mut referring = Vec::new();
    arguments.write_request(&mut referring).unwrap();
    let mut fields = Walk::request(Verb::MacGenerate, &referring).map(Result::unwrap);
    let at = fields.find(|field| field.position == mac_generate::KEY_IDENTIFIER).unwrap().range.start;
    assert!(place_token(&mut referring, at, 0..token.len()));
    let mut batch = Batch::new();
    batch.lend().unwrap().extend([&referring[..], &token].concat());
    batch.keep(Verb::MacGenerate, (0, DOMAIN), &PointSet::EVERYTHING, referring.len());
    processor().run(&mut batch);
    let answer = &batch.answers()[0];
    let reply = Arguments::read_reply(Verb::MacGenerate, &answer.payload).unwrap();
    assert_eq!(answer.codes, code::OK);
    let key = peer::unwrap_token(&sym_key(false), &token);
    assert_eq!(reply.bytes(mac_generate::MAC), peer::retail_mac(&key, &text(64)));
    assert!(reply.bytes(mac_generate::KEY_IDENTIFIER).is_empty());
}

/// A form that guarantees parts that differ is held to it, in either form of the token.
#[test]
fn keys_that_are_single_des_are_refused_where_their_form_forbids_it() {
    let mut old = compatible_processor();
    let token = generated(&mut old, "DATA", "TRIPLE-O");
    for (from, to) in [(16, 24), (24, 48), (48, 16)] {
        let spliced = changed(&token, |token| token.copy_within(from..from + 8, to));
        test(&spliced).refused(&mut old, code::KEY_REPLICATED);
        test(&spliced).refused(&mut processor(), code::KEY_REPLICATED);
    }
    let token = generated(&mut old, "DATA", "DOUBLE-O");
    let halves = [&token[32..40], &token[40..48], &[0; 8]].map(|half| half.try_into().unwrap());
    // Parity bits alone do not make two keys.
    for right in [0x20, 0x21] {
        let wrapped = peer::wrap_des(&sym_key(false), halves, &[[0x20; 8], [right; 8]].concat());
        let replicated = changed(&token, |token| token[16..32].copy_from_slice(&wrapped));
        test(&replicated).refused(&mut old, code::KEY_REPLICATED);
    }
    let wide = peer::derived(&sym_key(false), b"cryptand internal DES token");
    let token = generated(&mut processor(), "DATA", "DOUBLE-O");
    let (rest, _) = peer::des_message(&token);
    let field = peer::hctr2(&wide, true, &rest, &[&[0x20; 16][..], &[0; 15]].concat());
    let replicated = changed(&token, |token| {
        token[16..32].copy_from_slice(&field[..16]);
        token[48..56].copy_from_slice(&field[16..24]);
        token[1..4].copy_from_slice(&field[24..27]);
        token[5] = field[27];
        token[56..59].copy_from_slice(&field[28..]);
    });
    test(&replicated).refused(&mut strict_processor(), code::KEY_REPLICATED);
    // The form of SINGLE-R says that its halves may be equal.
    test(&generated(&mut processor(), "DATA", "SINGLE-R")).ok(&mut strict_processor());
}
