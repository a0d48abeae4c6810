//! Attacks on keys of transactions, each in a role where it works first, then in the owner's.

use super::denied;
use crate::pin::{iso0, under};
use crate::unique::{Keys, SERIAL, aes, block, data, everything, in_field, tokens, unique};
use verb_requests::support::Request;
use wire::code;
use wire::point::{Point, PointSet};
use wire::verb::{Verb, decipher};

const PAN: &str = "401234567890";
/// The PIN key of [`SERIAL`], by ANSI X9.24-1.
const PIN_KEY: [u8; 16] = 0x0426_66B4_9184_CF5C_68DE_9628_D039_7B36u128.to_be_bytes();

fn owner() -> &'static PointSet {
    &wire::role::BUILT_IN[0].points
}

/// The key of PIN blocks as a DATA key deciphers them, which no key of PIN blocks does.
#[test]
fn a_key_of_pin_blocks_that_is_a_data_key_deciphers_pins() {
    let mut keys = Keys::new();
    let secret = under(&PIN_KEY, &iso0("4731", PAN));
    let field = keys.des("DATA", &[]);
    let request = unique(&["K3PIN", "PIN-DATA"], &keys.base, &SERIAL, in_field("K3PIN", &field), &[]);
    denied(&mut keys.processor, &request, owner());
    let token = tokens(&request.points(everything()).ok(&mut keys.processor))[2].clone();
    let clear = Request::new(Verb::Decipher)
        .rules(&["CBC"])
        .bytes(decipher::KEY_IDENTIFIER, &token)
        .counted(decipher::TEXT_LENGTH, decipher::CIPHERTEXT, &secret)
        .bytes(decipher::INITIALIZATION_VECTOR, [0; 8])
        .bytes(decipher::CHAINING_VECTOR, [0; 18])
        .ok(&mut keys.processor)
        .bytes(decipher::PLAINTEXT);
    assert_eq!(clear, iso0("4731", PAN));
    // With that keyword the key is of no other type, and without it no keyword makes it one of data.
    for (words, key_type) in
        [(&["K3PIN", "PIN-DATA"][..], "CIPHER"), (&["K3PIN", "PIN-DATA"], "IPINENC"), (&["K3PIN"], "DATA")]
    {
        let field = keys.des(key_type, &[]);
        unique(words, &keys.base, &SERIAL, in_field("K3PIN", &field), &[])
            .points(everything())
            .refused(&mut keys.processor, code::KEY_USAGE);
    }
}

/// Who has the initial key of a terminal has every key of it. It comes out where a role names the point, under a key
/// that exports, and in a block that does not come in here as anything.
#[test]
fn an_initial_key_comes_out_for_roles_that_name_it_alone_and_in_nothing_that_comes_back() {
    use verb_requests::key_block::{PROTECTS, import};
    use verb_requests::uses::ways::{AES_TRANSPORT, TRANSPORT, entered2};
    let mut keys = Keys::new();
    let importer = verb_requests::support::entered(&mut keys.processor, "IMPORTER", &[], &TRANSPORT);
    let of_aes = token::variable::VariableType::Importer;
    let aes_importer = entered2(&mut keys.processor, of_aes, PROTECTS, &AES_TRANSPORT);
    for (words, base, data, kek, importer) in [
        (&["K3IPEK", "TR31-TOK"][..], &keys.base, SERIAL.to_vec(), &keys.exporter, &importer),
        (
            &["A-DUKPT", "K3IPEK", "TR31-TOK"],
            &keys.aes_base,
            data("8001", "00020080", 0),
            &keys.aes_exporter,
            &aes_importer,
        ),
    ] {
        let request = unique(words, base, &data, [&[]; 3], kek);
        for role in &wire::role::BUILT_IN {
            let points: &'static PointSet = Box::leak(Box::new(role.points));
            denied(&mut keys.processor, &request, points);
        }
        // Nor does that of data in PIN keys.
        let mut other = *owner();
        other.allow(Point::UniqueKeyPinAsData);
        denied(&mut keys.processor, &request, Box::leak(Box::new(other)));
        let text = block(&request.points(everything()).ok(&mut keys.processor));
        for words in [&["INTERNAL"][..], &["INTERNAL", "OPINENC"], &["INTERNAL", "DDATA"]] {
            let reply =
                import(&text, importer, words).points(&PointSet::EVERYTHING).told(&mut keys.processor);
            assert!(reply.codes.return_code == 8 && reply.codes != code::RSA_BLOCK, "{}", reply.codes);
        }
    }
}

/// Counters that no terminal gets to: zero is the initial key itself, which is the same for a terminal's life, and more
/// than ten bits are those of keys that a terminal skips.
#[test]
fn counters_of_no_transaction_make_no_keys_of_one() {
    let mut keys = Keys::new();
    let field = keys.des("OPINENC", &[]);
    let verifies = aes(token::variable::VariableType::Mac, &["VERIFY", "CMAC"]);
    for counter in [0_u32, 0x7FF, 0x1F_FFFF] {
        let mut serial = SERIAL;
        serial[7..].copy_from_slice(&(0xE0_0000 | counter).to_be_bytes()[1..]);
        keys.one("K3PIN", &serial, &field)
            .points(everything())
            .refused(&mut keys.processor, code::SERIAL_COUNTER);
    }
    for counter in [0, 0x1FFFF, 0xFFFF_0001, u32::MAX] {
        keys.aes_one("K2MAC", &data("2000", "00020080", counter), &verifies)
            .points(everything())
            .refused(&mut keys.processor, code::SERIAL_COUNTER);
    }
}

/// A key of MACs and one of PIN blocks differ by bits that are known: the one as the other would make and open PIN
/// blocks.
#[test]
fn no_key_comes_under_the_type_of_another_purpose() {
    let mut keys = Keys::new();
    let types = ["CIPHER", "ENCIPHER", "DECIPHER", "MAC", "MACVER", "IPINENC", "OPINENC", "DATA"];
    let own = [("K1DATA", &types[..3]), ("K2MAC", &types[3..5]), ("K3PIN", &types[5..7])];
    for name in types {
        let field = keys.des(name, &[]);
        for (word, allowed) in own {
            let request = keys.one(word, &SERIAL, &field).points(everything());
            let expected = if allowed.contains(&name) { code::OK } else { code::KEY_USAGE };
            assert_eq!(request.told(&mut keys.processor).codes, expected, "{word} {name}");
        }
    }
    // By AES the data say the purpose, and no keyword another one.
    for (word, usage) in [("K1DATA", "1000"), ("K2MAC", "1000"), ("K3PIN", "3002"), ("K3PIN", "2002")] {
        for kind in ["00000080", "00020080"] {
            let field = keys.des("CIPHER", &[]);
            keys.aes_one(word, &data(usage, kind, 1), &field)
                .points(everything())
                .refused(&mut keys.processor, code::KEY_SERIAL);
        }
    }
}
