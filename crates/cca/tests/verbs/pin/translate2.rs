//! Encrypted_PIN_Translate2, and keys that are derived by AES in the other PIN verbs.

use token::variable::VariableType;
use wire::code;
use wire::point::Point;
use wire::verb::encrypted_pin_translate2::*;
use wire::verb::{clear_pin_encrypt, encrypted_pin_translate};

pub use verb_requests::pin2::*;

use verb_requests::peer::aes_ecb;
use verb_requests::pin::{
    KEY, Keys, NO_CONTROL, OTHER, TABLE, clear, derived_profile, encrypt, hex, iso0, profile, translate,
    under, verify, with_points,
};
use verb_requests::support::{Reply, Request};
use verb_requests::uses::ways::entered2;

/// The value of the fixed key that blocks come from.
pub const FIRST: [u8; 16] = 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF_u128.to_be_bytes();
const SECOND: [u8; 32] = *b"another key, of thirty-two bytes";
/// ANSI X9.24-3.
pub const BASE: [u8; 16] = 0xFEDC_BA98_7654_3210_F1F1_F1F1_F1F1_F1F1_u128.to_be_bytes();

/// Tokens of known keys of AES.
pub struct AesKeys {
    pub keys: Keys,
    /// PINPROT keys of [`FIRST`], by their keywords, and of [`SECOND`].
    pub from_first: Vec<u8>,
    to_first: Vec<u8>,
    pub to_second: Vec<u8>,
    from_second: Vec<u8>,
    /// DKYGENKY of [`BASE`] for AES DUKPT.
    pub base: Vec<u8>,
    /// MAC keys of one value: one that proves changes, one that makes MACs.
    proving: Vec<u8>,
}

const IN: &[&str] = &["DECRYPT", "PINXLATE", "REFORMAT", "RFMT4TO1", "ISO-4"];
const OUT: &[&str] = &["ENCRYPT", "PINXLATE", "REFORMAT", "RFMT1TO4", "ISO-4"];
const PROVING: [u8; 16] = *b"proves a change.";

impl AesKeys {
    pub fn new() -> Self {
        let mut keys = Keys::new();
        let processor = &mut keys.processor;
        let mut protects = |words, value: &[u8]| entered2(processor, VariableType::PinProt, words, value);
        Self {
            from_first: protects(IN, &FIRST),
            to_first: protects(OUT, &FIRST),
            from_second: protects(IN, &SECOND),
            to_second: protects(OUT, &SECOND),
            base: entered2(processor, VariableType::DkyGenKy, &["D-ALL", "A-DUKPT"], &BASE),
            proving: entered2(processor, VariableType::Mac, &["VERIFY", "PTR2AUTH"], &PROVING),
            keys,
        }
    }
}

fn made(reply: &Reply) -> Vec<u8> {
    reply.bytes(OUTPUT_PIN_BLOCK)
}

/// PyPI psec, whose values these are.
#[test]
fn the_published_block_is_read() {
    let mut all = AesKeys::new();
    let (four, zero) = (profile("ISO-4", ""), profile("ISO-0", ""));
    let pan = "1234567890123456";
    let block = hex::<16>("E4BE5B623AF7E006AC319E5B93544564");
    let out = all.keys.other_outbound.clone();
    let sides = ((&all.from_first[..], &out[..]), (&four[..], &zero[..]), (pan, "456789012345"));
    let reply = translate2(&["REFORMAT"], sides, &block).ok(&mut all.keys.processor);
    assert_eq!(clear(&OTHER, &made(&reply)), iso0("1234", "456789012345"));
    assert_eq!(reply.integer(OUTPUT_PIN_BLOCK_LENGTH), 8);
    assert_eq!(pan_field("112233445566778899"), hex::<16>("61122334455667788990000000000000"));
}

#[test]
fn blocks_of_iso_4_go_under_another_key_as_they_are() {
    let mut all = AesKeys::new();
    let four = profile("ISO-4", "");
    for pan in ["40123456", "401234567890", "4012345678909", "4012345678901234567"] {
        for field in [field4("1234", 7), field4("123456789012", u64::MAX), [0xA7; 16]] {
            let given = under4(&FIRST, pan, &field);
            let sides = ((&all.from_first[..], &all.to_second[..]), (&four[..], &four[..]), (pan, pan));
            let reply = translate2(&["TRANSLAT"], sides, &given).ok(&mut all.keys.processor);
            assert_eq!(clear4(&SECOND, pan, &made(&reply)), field);
            let back = ((&all.from_second[..], &all.to_first[..]), (&four[..], &four[..]), (pan, pan));
            let reply = translate2(&["TRANSLAT"], back, &made(&reply)).ok(&mut all.keys.processor);
            assert_eq!(made(&reply), given);
        }
    }
}

#[test]
fn a_pin_goes_to_and_from_iso_4_in_every_format_that_is_served() {
    let mut all = AesKeys::new();
    let formats = ["ISO-0", "ISO-1", "ISO-2", "ISO-3", "3624", "ISO-4"];
    let pan = |format: &str| if format == "ISO-4" { PAN } else { TWELVE };
    let pad = |format: &str| if format == "3624" { "F" } else { "" };
    for from in formats {
        for into in formats {
            let block = if from == "ISO-4" {
                under4(&FIRST, PAN, &field4("19862", 9))
            } else {
                let request = encrypt(&all.keys.outbound, &[], "19862", &profile(from, pad(from)), TWELVE);
                let reply = request.points(NO_CONTROL).ok(&mut all.keys.processor);
                reply.bytes(clear_pin_encrypt::ENCRYPTED_PIN_BLOCK)
            };
            let key_in = if from == "ISO-4" { &all.from_first } else { &all.keys.inbound };
            let key_out = if into == "ISO-4" { &all.to_second } else { &all.keys.other_outbound };
            let (one, two) = (profile(from, pad(from)), profile(into, pad(into)));
            let sides = ((&key_in[..], &key_out[..]), (&one[..], &two[..]), (pan(from), pan(into)));
            let request = translate2(&["REFORMAT"], sides, &block);
            let is_permitted =
                matches!((from, into), ("ISO-0" | "ISO-3" | "ISO-4", "ISO-0" | "ISO-3" | "ISO-4"));
            if !is_permitted {
                request.refused(&mut all.keys.processor, code::ACCESS_DENIED);
            }
            let request = if is_permitted { request } else { request.points(NO_CONTROL) };
            let there = made(&request.ok(&mut all.keys.processor));
            assert_eq!(there.len(), if into == "ISO-4" { 16 } else { 8 });
            if into == "ISO-4" {
                assert_eq!(clear4(&SECOND, PAN, &there)[..8], field4("19862", 0)[..8], "{from}");
                continue;
            }
            let zero = profile("ISO-0", "");
            let keys = (&all.keys.other_inbound[..], &all.keys.outbound[..]);
            let back = translate2(&["REFORMAT"], (keys, (&two, &zero), (TWELVE, TWELVE)), &there);
            let back = made(&back.points(NO_CONTROL).ok(&mut all.keys.processor));
            assert_eq!(clear(&KEY, &back), iso0("19862", TWELVE), "{from} {into}");
        }
    }
}

#[test]
fn blocks_of_8_bytes_are_translated_as_by_the_older_verb() {
    let mut all = AesKeys::new();
    let keys = (&all.keys.inbound[..], &all.keys.other_outbound[..]);
    let zero = profile("ISO-0", "");
    let given = under(&KEY, &iso0("1234", TWELVE));
    for word in ["TRANSLAT", "REFORMAT"] {
        let request = translate2(&[word], (keys, (&zero, &zero), (TWELVE, TWELVE)), &given);
        let made = made(&request.ok(&mut all.keys.processor));
        assert_eq!(clear(&OTHER, &made), iso0("1234", TWELVE));
    }
    // By every method that finds the end of a PIN.
    let padded = |pin: &str| under(&KEY, &hex::<8>(&format!("{pin:F<16}")));
    let lengths = (4..=16).map(|length| (format!("PINLEN{length:02}"), length.min(12)));
    let named = ["PADDIGIT", "HEXDIGIT", "PADEXIST"].map(|word| (word.to_owned(), 6));
    for (word, length) in lengths.chain(named) {
        let pin = "1234567890123456";
        let given = padded(if word.starts_with("PINLEN") { pin } else { &pin[..length] });
        let pair = (&profile("3624", "F")[..], &zero[..]);
        let request = translate2(&["REFORMAT", &word], (keys, pair, (TWELVE, TWELVE)), &given);
        let made = made(&request.points(NO_CONTROL).ok(&mut all.keys.processor));
        assert_eq!(clear(&OTHER, &made), iso0(&pin[..length], TWELVE), "{word}");
    }
    let request = translate2(&["REFORMAT", "PINBLOCK"], (keys, (&zero, &zero), (TWELVE, TWELVE)), &given);
    request.ok(&mut all.keys.processor);
}

/// ANSI X9.24-3, as the tests of openemv/dukpt repeat it.
#[test]
fn the_block_of_the_published_transaction_is_read_and_made() {
    let mut all = AesKeys::new();
    let pan = "4111111111111111";
    let block = hex::<16>("A912150391AB65A67E52883D81CE2D15");
    let field = hex::<16>("441234AAAAAAAAAA2F69ADDE2E9E7ACE");
    let (derived, fixed) = (aes_profile("ISO-4", "00020080", 1), profile("ISO-4", ""));
    for word in ["TRANSLAT", "REFORMAT"] {
        let sides = ((&all.base[..], &all.to_second[..]), (&derived[..], &fixed[..]), (pan, pan));
        let out_of = translate2(&[word, "ADUKPTIP"], sides, &block).ok(&mut all.keys.processor);
        let found = clear4(&SECOND, pan, &made(&out_of));
        let same = if word == "TRANSLAT" { 16 } else { 8 };
        assert_eq!(found[..same], field[..same]);
        let given = under4(&FIRST, pan, &field);
        let sides = ((&all.from_first[..], &all.base[..]), (&fixed[..], &derived[..]), (pan, pan));
        let into = translate2(&[word, "ADUKPTOP"], sides, &given).ok(&mut all.keys.processor);
        let working = hex::<16>("AF8CB133A78F8DC2D1359F18527593FB");
        assert_eq!(clear4(&working, pan, &made(&into))[..same], field[..same]);
    }
    let sides = ((&all.base[..], &all.base[..]), (&derived[..], &derived[..]), (pan, pan));
    let both = translate2(&["TRANSLAT", "ADUKPTBH"], sides, &block).ok(&mut all.keys.processor);
    assert_eq!(made(&both), block);
}

#[test]
fn each_side_may_be_derived_by_another_method() {
    let mut all = AesKeys::new();
    // X9.24-1, annex A.4: PIN 1234.
    let tdes = derived_profile("ISO-0", "", "FFFF9876543210E00001");
    let block = hex::<8>("1B9C1845EB993A7A");
    let aes = aes_profile("ISO-4", "00020080", 1);
    let working = hex::<16>("AF8CB133A78F8DC2D1359F18527593FB");
    let keys = (&all.keys.deriving[..], &all.base[..]);
    let pans = (TWELVE, PAN);
    let request = translate2(&["REFORMAT", "DUKPT-IP", "ADUKPTOP"], (keys, (&tdes, &aes), pans), &block);
    let there = made(&request.ok(&mut all.keys.processor));
    assert_eq!(clear4(&working, PAN, &there)[..8], field4("1234", 0)[..8]);
    let (keys, pans) = ((&all.base[..], &all.keys.deriving[..]), (PAN, TWELVE));
    let request = translate2(&["REFORMAT", "ADUKPTIP", "DUKPT-OP"], (keys, (&aes, &tdes), pans), &there);
    assert_eq!(made(&request.ok(&mut all.keys.processor)), block);
    let (keys, pans) = ((&all.keys.deriving[..], &all.keys.deriving[..]), (TWELVE, TWELVE));
    let request = translate2(&["TRANSLAT", "DUKPT-BH"], (keys, (&tdes, &tdes), pans), &block);
    assert_eq!(made(&request.ok(&mut all.keys.processor)), block);
    for (words, codes) in [
        (&["TRANSLAT", "DUKPT-BH", "ADUKPTIP"][..], code::KEYWORD_COMBINATION),
        (&["TRANSLAT", "ADUKPTBH", "DUKPT-OP"], code::KEYWORD_COMBINATION),
        (&["TRANSLAT", "DUKPT-IP", "ADUKPTIP"], code::KEYWORD_COMBINATION),
        (&["TRANSLAT", "UKPTIPIN"], code::KEYWORD),
        (&["TRANSLAT", "UKPTOPIN"], code::KEYWORD),
        (&["TRANSLAT", "UKPTBOTH"], code::KEYWORD),
    ] {
        let request = translate2(words, (keys, (&tdes, &tdes), pans), &block);
        request.refused(&mut all.keys.processor, codes);
    }
}

/// The working key of a transaction, from the rules of ANSI X9.24-3 by OpenSSL.
pub fn transaction_key(base: &[u8], id: &[u8; 8], counter: u32, kind: (u16, usize)) -> Vec<u8> {
    let derive = |key: &[u8], usage: u16, kind: (u16, usize), data: [u8; 8]| {
        let mut out = Vec::new();
        for block in 1..=kind.1.div_ceil(16) as u8 {
            let head = [&[1, block][..], &usage.to_be_bytes(), &kind.0.to_be_bytes()].concat();
            let bits = (8 * kind.1 as u16).to_be_bytes();
            out.extend(aes_ecb(key, true, &[&head[..], &bits, &data].concat()));
        }
        out.truncate(kind.1);
        out
    };
    let own = (base.len() as u16 / 8, base.len());
    let data = |counter: u32| {
        let mut data = [0; 8];
        data[..4].copy_from_slice(&id[4..]);
        data[4..].copy_from_slice(&counter.to_be_bytes());
        data
    };
    let mut key = derive(base, 0x8001, own, *id);
    let mut so_far = 0;
    for bit in (0..32).rev().map(|bit| 1 << bit).filter(|bit| counter & bit != 0) {
        so_far |= bit;
        key = derive(&key, 0x8000, own, data(so_far));
    }
    derive(&key, 0x1000, kind, data(counter))
}

#[test]
fn keys_of_every_kind_are_derived_from_base_keys_of_every_length() {
    let mut all = AesKeys::new();
    let id = [0x12, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56];
    for bytes in [16, 24, 32] {
        let value: Vec<u8> = (0..bytes as u8).map(|byte| byte.wrapping_mul(37) ^ 5).collect();
        let processor = &mut all.keys.processor;
        let base = entered2(processor, VariableType::DkyGenKy, &["D-ALL", "A-DUKPT"], &value);
        for (kind, text) in [
            ((0, 16), "00000080"),
            ((1, 24), "000100C0"),
            ((2, 16), "00020080"),
            ((3, 24), "000300C0"),
            ((4, 32), "00040100"),
        ] {
            for counter in [1, 0x8001, 0xFFFF_0000] {
                let key = transaction_key(&value, &id, counter, kind);
                let is_aes = kind.0 >= 2;
                let format = if is_aes { "ISO-4" } else { "ISO-0" };
                let derived = aes_profile(format, text, counter);
                let zero = profile("ISO-0", "");
                let (block, pan) = if is_aes {
                    (under4(&key, PAN, &field4("9876", 1)), PAN)
                } else {
                    (verb_requests::peer::des(&key, true, &iso0("9876", TWELVE)), TWELVE)
                };
                let keys = (&base[..], &all.keys.other_outbound[..]);
                let sides = (keys, (&derived[..], &zero[..]), (pan, TWELVE));
                let request = translate2(&["REFORMAT", "ADUKPTIP"], sides, &block);
                if is_aes && kind.1 > bytes {
                    request.refused(&mut all.keys.processor, code::STRENGTH);
                    continue;
                }
                let made = made(&request.ok(&mut all.keys.processor));
                assert_eq!(clear(&OTHER, &made), iso0("9876", TWELVE), "{bytes} {text} {counter:X}");
                if is_aes {
                    continue;
                }
                // The older verbs have blocks of 8 bytes alone.
                let pans = (TWELVE, TWELVE);
                let request = translate(keys, &["REFORMAT", "ADUKPTIP"], (&derived, &zero), pans, &block);
                let reply = request.ok(&mut all.keys.processor);
                let found = reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT);
                assert_eq!(clear(&OTHER, &found), iso0("9876", TWELVE));
                let given = under(&KEY, &iso0("9876", TWELVE));
                let keys = (&all.keys.inbound[..], &base[..]);
                let into = translate(keys, &["TRANSLAT", "ADUKPTOP"], (&zero, &derived), pans, &given);
                let reply = into.ok(&mut all.keys.processor);
                assert_eq!(reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT), block);
                let both =
                    translate((&base, &base), &["TRANSLAT", "ADUKPTBH"], (&derived, &derived), pans, &block);
                let reply = both.ok(&mut all.keys.processor);
                assert_eq!(reply.bytes(encrypted_pin_translate::PIN_BLOCK_OUT), block);
                let right = ["9876", "9877"].map(|pin| {
                    let block = verb_requests::peer::des(&key, true, &iso0(pin, TWELVE));
                    let keys = (&base[..], &all.keys.verifying[..]);
                    let data = [TABLE, "1122334455667788", "6463"];
                    verify(keys, &["IBM-PINO", "ADUKPTIP"], &derived, TWELVE, &block, 4, data)
                });
                right[0].ok(&mut all.keys.processor);
                right[1].answers(&mut all.keys.processor, code::PIN_NOT_VERIFIED);
            }
        }
    }
}

#[test]
fn derivation_data_are_those_of_a_pin_key() {
    let mut all = AesKeys::new();
    let (fixed, right) = (profile("ISO-4", ""), aes_profile("ISO-4", "00020080", 1));
    let block = [7; 16];
    let asked = |profile: &[u8]| {
        let keys = (&all.base[..], &all.to_second[..]);
        translate2(&["TRANSLAT", "ADUKPTIP"], (keys, (profile, &fixed), (PAN, PAN)), &block)
    };
    let mut cases = vec![
        (right[..43].to_vec(), code::INVALID_PARAMETER),
        (aes_profile("ISO-4", "00020080", 0), code::SERIAL_COUNTER),
        (aes_profile("ISO-4", "00020080", 0x1_FFFF), code::SERIAL_COUNTER),
        (aes_profile("ISO-4", "00020080", 0xFFFF_0001), code::SERIAL_COUNTER),
        (aes_profile("ISO-4", "000200C0", 1), code::KEY_SERIAL),
        (aes_profile("ISO-4", "00000080", 1), code::KEY_SERIAL),
        (aes_profile("ISO-4", "00050080", 1), code::KEY_SERIAL),
        (derived_profile("ISO-4", "", "FFFF9876543210E00001"), code::KEY_SERIAL),
    ];
    for at in 24..32 {
        let mut wrong = right.clone();
        wrong[at] ^= 0x40;
        cases.push((wrong, code::KEY_SERIAL));
    }
    let requests: Vec<_> = cases.iter().map(|(profile, codes)| (asked(profile), *codes)).collect();
    for (request, codes) in requests {
        request.refused(&mut all.keys.processor, codes);
    }
    // Keys of TDES encipher no block of ISO-4, keys of AES none of 8 bytes.
    let keys = (&all.keys.deriving[..], &all.to_second[..]);
    let serial = derived_profile("ISO-4", "", "FFFF9876543210E00001");
    let request = translate2(&["TRANSLAT", "DUKPT-IP"], (keys, (&serial, &fixed), (PAN, PAN)), &block);
    request.refused(&mut all.keys.processor, code::KEYWORD_COMBINATION);
    let (zero, aes) = (profile("ISO-0", ""), aes_profile("ISO-0", "00020080", 1));
    let keys = (&all.base[..], &all.keys.other_outbound[..]);
    let request = translate2(&["REFORMAT", "ADUKPTIP"], (keys, (&aes, &zero), (TWELVE, TWELVE)), &[7; 8]);
    request.refused(&mut all.keys.processor, code::KEY_SERIAL);
}

/// Of the bytes in a clear field each is wrong in turn; so are the PAN, and lengths that no PIN has.
#[test]
fn every_wrong_clear_block_has_one_answer() {
    let mut all = AesKeys::new();
    let (four, zero) = (profile("ISO-4", ""), profile("ISO-0", ""));
    let mut wrong: Vec<[u8; 16]> = Vec::new();
    for nibble in (0..16).filter(|nibble| *nibble != 4) {
        let mut field = field4("123456", 5);
        field[0] = nibble << 4 | 6;
        wrong.push(field);
    }
    for length in [0, 1, 2, 3, 4, 5, 7, 11, 12, 13, 14, 15] {
        let mut field = field4("123456", 5);
        field[0] = 0x40 | length;
        wrong.push(field);
    }
    for at in 1..4 {
        let mut field = field4("123456", 5);
        field[at] |= 0xA0;
        wrong.push(field);
    }
    for at in 4..8 {
        let mut field = field4("123456", 5);
        field[at] = 0xAB;
        wrong.push(field);
    }
    for out in ["ISO-0", "ISO-4"] {
        let (key, profile, pan) = match out {
            "ISO-4" => (all.to_second.clone(), &four, PAN),
            _ => (all.keys.other_outbound.clone(), &zero, TWELVE),
        };
        let sides = ((&all.from_first[..], &key[..]), (&four[..], &profile[..]), (PAN, pan));
        for field in &wrong {
            let request = translate2(&["REFORMAT"], sides, &under4(&FIRST, PAN, field));
            request.refused(&mut all.keys.processor, code::PIN_BLOCK);
            let fine = with_points(&[Point::PinFineCodes]);
            request.points(fine).refused(&mut all.keys.processor, code::PIN_BLOCK_INCONSISTENT);
        }
        let of_other = under4(&FIRST, "4012345678917", &field4("123456", 5));
        let request = translate2(&["REFORMAT"], sides, &of_other);
        request.refused(&mut all.keys.processor, code::PIN_BLOCK);
    }
    let sides = ((&all.keys.inbound[..], &all.to_second[..]), (&zero[..], &four[..]), (TWELVE, PAN));
    let request = translate2(&["REFORMAT"], sides, &[0x77; 8]);
    request.refused(&mut all.keys.processor, code::PIN_BLOCK);
}

/// A CMAC of the old PAN and the new one.
fn proof(key: &[u8; 16], text: &[u8]) -> Vec<u8> {
    verb_requests::peer::cmac_aes(key, text)
}

fn change<'a>(
    all: &'a AesKeys,
    words: &[&str],
    pans: (&'a str, &'a str),
    proving: &[u8],
    mac: &[u8],
) -> Request {
    let four = profile("ISO-4", "");
    let keys = (&all.from_first[..], &all.to_second[..]);
    let block = under4(&FIRST, pans.0, &field4("7294", 3));
    translate2(words, (keys, (&four, &four), pans), &block)
        .counted(AUTHENTICATION_KEY_IDENTIFIER_LENGTH, AUTHENTICATION_KEY_IDENTIFIER, proving)
        .counted(AUTHENTICATION_DATA_LENGTH, AUTHENTICATION_DATA, mac)
}

#[test]
fn a_pan_becomes_another_where_a_cmac_of_both_proves_it() {
    let mut all = AesKeys::new();
    let (old, new) = (PAN, "4012345678917");
    let fields = |old, new| [pan_field(old), pan_field(new)].concat();
    let by_fields = proof(&PROVING, &fields(old, new));
    let by_characters = proof(&PROVING, format!("{old}{new}").as_bytes());
    let (i4, characters) = (["REFORMAT", "PAN-CHG", "PANAUTI4"], ["REFORMAT", "PAN-CHG", "PANAUTAS"]);
    for (words, mac) in [(&i4, &by_fields), (&characters, &by_characters)] {
        let request = change(&all, words, (old, new), &all.proving, mac);
        let reply = request.ok(&mut all.keys.processor);
        assert_eq!(clear4(&SECOND, new, &made(&reply))[..8], field4("7294", 0)[..8]);
        // No other pair, order, form or CMAC.
        for bit in 0..128 {
            let mut wrong = mac.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let request = change(&all, words, (old, new), &all.proving, &wrong);
            request.refused(&mut all.keys.processor, code::VERIFICATION_FAILED);
        }
        for pans in [(new, old), (old, "4012345678925"), ("4012345678925", new), (old, old)] {
            let request = change(&all, words, pans, &all.proving, mac);
            request.refused(&mut all.keys.processor, code::VERIFICATION_FAILED);
        }
        for length in [0, 8, 15] {
            let request = change(&all, words, (old, new), &all.proving, &mac[..length]);
            request.refused(&mut all.keys.processor, code::INVALID_PARAMETER);
        }
    }
    for (words, mac) in [(&characters, &by_fields), (&i4, &by_characters)] {
        let request = change(&all, words, (old, new), &all.proving, mac);
        request.refused(&mut all.keys.processor, code::VERIFICATION_FAILED);
    }
    // PANs of different lengths, as fields alone.
    let long = "401234567890912";
    let mac = proof(&PROVING, &fields(old, long));
    change(&all, &i4, (old, long), &all.proving, &mac).ok(&mut all.keys.processor);
    let mac = proof(&PROVING, format!("{old}{long}").as_bytes());
    let request = change(&all, &characters, (old, long), &all.proving, &mac);
    request.refused(&mut all.keys.processor, code::PAN);
    // A key that makes MACs, or that is for other MACs, proves nothing.
    for words in [&["VERIFY"][..], &["GENERATE", "PTR2AUTH"], &["GENONLY", "PTR2AUTH"], &["GENERATE"]] {
        let other = entered2(&mut all.keys.processor, VariableType::Mac, words, &PROVING);
        let request = change(&all, &i4, (old, new), &other, &by_fields);
        request.refused(&mut all.keys.processor, code::KEY_USAGE);
    }
    change(&all, &i4, (old, new), &[], &by_fields).refused(&mut all.keys.processor, code::TOKEN_INVALID);
    for (words, codes) in [
        (&["REFORMAT", "PAN-CHG"][..], code::KEYWORD_COMBINATION),
        (&["REFORMAT", "PANAUTI4"], code::KEYWORD_COMBINATION),
        (&["REFORMAT", "PANAUTAS"], code::KEYWORD_COMBINATION),
        (&["TRANSLAT", "PAN-CHG", "PANAUTI4"], code::KEYWORD_COMBINATION),
        (&["REFORMAT"], code::ACCESS_DENIED),
        (&["TRANSLAT"], code::ACCESS_DENIED),
    ] {
        let request = change(&all, words, (old, new), &all.proving, &by_fields);
        request.refused(&mut all.keys.processor, codes);
    }
    // Without a proof a role may permit it that permits any change.
    let request = change(&all, &["REFORMAT"], (old, new), &all.proving, &by_fields);
    request.points(with_points(&[Point::PanChange])).ok(&mut all.keys.processor);
    let zero = profile("ISO-0", "");
    let keys = (&all.from_first[..], &all.keys.other_outbound[..]);
    let four = profile("ISO-4", "");
    let block = under4(&FIRST, old, &field4("7294", 3));
    let request = translate2(&i4, (keys, (&four, &zero), (old, TWELVE)), &block);
    request.refused(&mut all.keys.processor, code::PIN_FORMAT);
}

#[test]
fn keys_serve_the_side_and_the_way_that_they_are_for() {
    let mut all = AesKeys::new();
    let processor = &mut all.keys.processor;
    let mut key = |key_type, words: &[&str]| entered2(processor, key_type, words, &FIRST);
    let pin = VariableType::PinProt;
    let (xlate_in, reformat_in, one_in) = (
        key(pin, &["DECRYPT", "PINXLATE", "ISO-4"]),
        key(pin, &["DECRYPT", "REFORMAT", "ISO-4"]),
        key(pin, &["DECRYPT", "REFORMAT", "RFMT4TO1", "ISO-4"]),
    );
    let (xlate_out, reformat_out, one_out) = (
        key(pin, &["ENCRYPT", "PINXLATE", "ISO-4"]),
        key(pin, &["ENCRYPT", "REFORMAT", "ISO-4"]),
        key(pin, &["ENCRYPT", "REFORMAT", "RFMT1TO4", "ISO-4"]),
    );
    let others = [
        key(pin, &["DECRYPT", "EPINVER", "CPINGENA", "ISO-4"]),
        key(pin, &["ENCRYPT", "EPINGEN", "CPINENC", "ISO-4"]),
        key(pin, &["DECRYPT", "PINXLATE", "REFORMAT", "UDX-ONLY", "ISO-4"]),
        key(pin, &["DECRYPT", "PINXLATE", "REFORMAT"]),
        key(pin, &["DECRYPT", "PINXLATE", "DKPINOP"]),
        key(VariableType::Cipher, &["ANY-MODE"]),
        key(VariableType::DkyGenKy, &["D-ALL"]),
        key(VariableType::DkyGenKy, &["D-ALL", "A-DUKPT"]),
        all.proving.clone(),
    ];
    let four = profile("ISO-4", "");
    let given = under4(&FIRST, PAN, &field4("7294", 3));
    let short = |format: &str| match format {
        "ISO-0" => under(&KEY, &iso0("7294", TWELVE)),
        _ => under(&KEY, &hex::<8>("147294ABCDEF0123")),
    };
    // Between two blocks of ISO-4.
    for word in ["TRANSLAT", "REFORMAT"] {
        let asked = |one: &[u8], two: &[u8]| {
            translate2(&[word], ((one, two), (&four, &four), (PAN, PAN)), &given).points(NO_CONTROL)
        };
        asked(&xlate_in, &xlate_out).ok(&mut all.keys.processor);
        for wrong in [&reformat_in, &one_in, &xlate_out].into_iter().chain(&others) {
            asked(wrong, &xlate_out).refused(&mut all.keys.processor, code::KEY_USAGE);
        }
        for wrong in [&reformat_out, &one_out, &xlate_in].into_iter().chain(&others) {
            asked(&xlate_in, wrong).refused(&mut all.keys.processor, code::KEY_USAGE);
        }
        asked(&all.keys.inbound.clone(), &xlate_out).refused(&mut all.keys.processor, code::TOKEN_INVALID);
        let des = all.keys.outbound.clone();
        asked(&xlate_in, &des).refused(&mut all.keys.processor, code::TOKEN_INVALID);
    }
    // Out of ISO-4, and into it.
    for (format, right, wrong) in
        [("ISO-0", [&reformat_in, &one_in], &xlate_in), ("ISO-1", [&one_in, &one_in], &reformat_in)]
    {
        let other = profile(format, "");
        let outbound = all.keys.outbound.clone();
        let asked = |one: &[u8]| {
            let sides = ((one, &outbound[..]), (&four[..], &other[..]), (PAN, TWELVE));
            translate2(&["REFORMAT"], sides, &given).points(NO_CONTROL)
        };
        for key in right {
            asked(key).ok(&mut all.keys.processor);
        }
        asked(wrong).refused(&mut all.keys.processor, code::KEY_USAGE);
    }
    for (format, right, wrong) in
        [("ISO-0", [&reformat_out, &one_out], &xlate_out), ("ISO-1", [&one_out, &one_out], &reformat_out)]
    {
        let other = profile(format, "");
        let block = short(format);
        let inbound = all.keys.inbound.clone();
        let asked = |two: &[u8]| {
            let sides = ((&inbound[..], two), (&other[..], &four[..]), (TWELVE, PAN));
            translate2(&["REFORMAT"], sides, &block).points(NO_CONTROL)
        };
        for key in right {
            asked(key).ok(&mut all.keys.processor);
        }
        asked(wrong).refused(&mut all.keys.processor, code::KEY_USAGE);
    }
    // Keys that are derived are for what their base key says.
    let derived = aes_profile("ISO-4", "00020080", 1);
    let level =
        entered2(&mut all.keys.processor, VariableType::DkyGenKy, &["D-ALL", "A-DUKPT", "DKYL1"], &BASE);
    for wrong in [&all.from_first.clone(), &others[6], &level, &all.proving.clone()] {
        let sides = ((&wrong[..], &all.to_second[..]), (&derived[..], &four[..]), (PAN, PAN));
        let request = translate2(&["TRANSLAT", "ADUKPTIP"], sides, &given);
        request.refused(&mut all.keys.processor, code::KEY_USAGE);
    }
}

#[test]
fn arguments_are_refused_by_name() {
    let mut all = AesKeys::new();
    let (four, zero) = (profile("ISO-4", ""), profile("ISO-0", ""));
    let given = under4(&FIRST, PAN, &field4("7294", 3));
    let (one, two) = (all.from_first.clone(), all.to_second.clone());
    let mut refused = |words: &[&str], profiles: (&[u8], &[u8]), pans: (&str, &str), block: &[u8], codes| {
        let request = translate2(words, ((&one, &two), profiles, pans), block);
        request.refused(&mut all.keys.processor, codes);
    };
    for format in ["VISA-2", "VISA-3", "VISA-4", "ECI-2", "ECI-3", "3621", "4704-EPP", "ISO-9"] {
        let other = profile(format, "F");
        refused(&["REFORMAT"], (&other, &four), (TWELVE, PAN), &given[..8], code::PIN_FORMAT);
        refused(&["REFORMAT"], (&four, &other), (PAN, TWELVE), &given, code::PIN_FORMAT);
    }
    refused(&["TRANSLAT"], (&four, &zero), (PAN, TWELVE), &given, code::PIN_FORMAT);
    refused(&["TRANSLAT"], (&four[..23], &four), (PAN, PAN), &given, code::INVALID_PARAMETER);
    refused(&["TRANSLAT"], (&four, b"ISO-4   PBVC            "), (PAN, PAN), &given, code::FORMAT_CONTROL);
    refused(&["TRANSLAT"], (&profile("ISO-4", "F"), &four), (PAN, PAN), &given, code::PAD_DIGIT);
    refused(&["REFORMAT", "PADDIGIT"], (&four, &four), (PAN, PAN), &given, code::PIN_EXTRACTION);
    for pan in ["", "4012345", "40123456789090123456", "401234567890x", "401234567890 "] {
        refused(&["TRANSLAT"], (&four, &four), (pan, PAN), &given, code::PAN);
        refused(&["TRANSLAT"], (&four, &four), (PAN, pan), &given, code::PAN);
    }
    for pan in ["", "40123456789", PAN] {
        refused(&["REFORMAT"], (&zero, &four), (pan, PAN), &given[..8], code::PAN);
    }
    for length in [0, 8, 15] {
        refused(&["TRANSLAT"], (&four, &four), (PAN, PAN), &given[..length], code::INVALID_PARAMETER);
    }
    refused(&["REFORMAT"], (&zero, &four), (TWELVE, PAN), &given, code::INVALID_PARAMETER);
    let short = translate2(&["TRANSLAT"], ((&one, &two), (&four, &four), (PAN, PAN)), &given);
    short.integer(OUTPUT_PIN_BLOCK_LENGTH, 15).refused(&mut all.keys.processor, code::BUFFER_TOO_SMALL);
}

/// Each of the points asks for what it says.
#[test]
fn roles_permit_each_way_by_itself() {
    let mut all = AesKeys::new();
    let (four, zero) = (profile("ISO-4", ""), profile("ISO-0", ""));
    let given = under4(&FIRST, PAN, &field4("7294", 3));
    let block = under(&KEY, &iso0("7294", TWELVE));
    let aes = ((&all.from_first[..], &all.to_second[..]), (&four[..], &four[..]), (PAN, PAN));
    let des =
        ((&all.keys.inbound[..], &all.keys.other_outbound[..]), (&zero[..], &zero[..]), (TWELVE, TWELVE));
    let requests = [
        (Point::PinTranslate2, translate2(&["TRANSLAT"], aes, &given)),
        (Point::PinReformat2, translate2(&["REFORMAT"], aes, &given)),
        (Point::PinTranslate, translate2(&["TRANSLAT"], des, &block)),
        (Point::PinReformat, translate2(&["REFORMAT"], des, &block)),
    ];
    for (point, request) in &requests {
        let mut points = wire::role::BUILT_IN[0].points;
        points.deny(*point);
        let points = Box::leak(Box::new(points));
        for (other, asked) in &requests {
            let asked = asked.clone().points(points);
            if other == point {
                asked.refused(&mut all.keys.processor, code::ACCESS_DENIED);
            } else {
                asked.ok(&mut all.keys.processor);
            }
        }
        request.ok(&mut all.keys.processor);
    }
}
