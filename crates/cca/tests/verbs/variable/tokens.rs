//! What is done to tokens of variable length: changed, combined, under other master keys, and unwrapped with what
//! the master key does elsewhere.

use super::cipher::encipher;
use super::{generate2, generated2, parsed};
use cca::Processor;
use token::VariableToken;
use token::variable::{PayloadVersion, Wrapper};
use verb_requests::support::{
    DOMAIN, EMPTY_DOMAIN, OLDER_DOMAIN, aes_key, compatible_processor, import, imported, processor,
};
use verb_requests::wrapped::{plain, unwrapped};
use wire::code;
use wire::verb::symmetric_algorithm_encipher as sae;
use wire::verb::{clear_key_import_multiple, key_generate2};

/// A token that enciphers in every mode.
fn cipher(processor: &mut Processor, bits: i64, keywords: &[&str]) -> Vec<u8> {
    generated2(processor, "AES", bits, &[&["CIPHER", "ANY-MODE"], keywords].concat())
}

/// What the key of a token does: its name, as it were.
fn shown(processor: &mut Processor, token: &[u8]) -> Vec<u8> {
    encipher(token, "ECB").ok(processor).bytes(sae::CIPHER_TEXT)
}

#[test]
fn a_payload_is_aeskw_under_a_derived_key_with_a_hash_of_all_in_front() {
    let mut processor = processor();
    for (bits, payload) in
        [(128, "V0PYLD"), (192, "V0PYLD"), (256, "V0PYLD"), (128, "V1PYLD"), (256, "V1PYLD")]
    {
        let token = cipher(&mut processor, bits, &[payload]);
        let key = unwrapped(&aes_key(false), &token).expect("as the head of the file says");
        assert_eq!(key.len() as i64, bits / 8);
        let own = parsed(&token);
        let clear = VariableToken::skeleton(own.origin(), PayloadVersion::Variable, own.attributes().clone());
        let clear = clear.unwrap().with_clear_key(&key).unwrap().to_bytes();
        assert_eq!(shown(&mut processor, &token), shown(&mut processor, &clear));
        // Neither is it what is wrapped under the master key itself, or for others.
        assert_eq!(plain(&aes_key(false), &token, 0), None);
        assert_eq!(plain(&aes_key(false), &token, 30), None);
    }
}

#[test]
fn every_changed_byte_of_every_token_is_refused() {
    let mut processor = processor();
    for (bits, payload) in [(128, "V0PYLD"), (256, "V0PYLD"), (192, "V1PYLD"), (256, "V1PYLD")] {
        let token = cipher(&mut processor, bits, &[payload]);
        assert!(encipher(&token, "ECB").run(&mut processor).codes.is_ok());
        for index in 0..token.len() {
            for change in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF] {
                let mut changed = token.clone();
                changed[index] ^= change;
                let reply = encipher(&changed, "ECB").run(&mut processor);
                assert_eq!(reply.codes.return_code, 8, "byte {index} xor {change:02X} of {bits} {payload}");
            }
        }
        for length in 0..token.len() {
            assert_eq!(
                encipher(&token[..length], "ECB").run(&mut processor).codes.return_code,
                8,
                "{length}"
            );
        }
    }
}

/// Attributes of one token over the payload of another: more uses, another type, another version.
#[test]
fn parts_of_two_tokens_make_no_third() {
    let mut processor = processor();
    let narrow = generated2(&mut processor, "AES", 256, &["CIPHER", "ENCRYPT", "ECB", "V1PYLD"]);
    let wide = cipher(&mut processor, 256, &["V1PYLD"]);
    let mac = generated2(&mut processor, "AES", 256, &["MAC", "GENERATE"]);
    let short = cipher(&mut processor, 128, &["V1PYLD"]);
    for (one, two) in [(&narrow, &wide), (&wide, &narrow), (&mac, &wide), (&wide, &mac), (&short, &wide)] {
        let (head, payload) = (&one[..56], &two[56..]);
        assert_eq!((head.len(), payload.len()), (56, 80));
        let spliced = [&wide[..30], &head[30..], payload].concat();
        for spliced in [[head, payload].concat(), spliced] {
            if spliced == **one || spliced == **two {
                continue;
            }
            assert_eq!(encipher(&spliced, "ECB").run(&mut processor).codes.return_code, 8);
        }
    }
    // A payload of 80 bytes is that of a long key in both versions.
    let long = cipher(&mut processor, 256, &["V0PYLD"]);
    let fixed = VariableToken::skeleton(
        parsed(&long).origin(),
        PayloadVersion::Fixed,
        parsed(&long).attributes().clone(),
    );
    let pattern = long[10..18].try_into().unwrap();
    let confused =
        fixed.unwrap().with_payload(Wrapper::Master(pattern), long[56..].to_vec()).unwrap().to_bytes();
    encipher(&confused, "ECB").refused(&mut processor, code::TOKEN_INVALID);
    // As is the key of HMAC that an AES key would be.
    let hmac = generated2(&mut processor, "HMAC", 256, &["MAC", "GENERATE"]);
    assert_eq!(hmac.len(), long.len());
    let spliced = [&long[..56], &hmac[56..]].concat();
    encipher(&spliced, "ECB").refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn old_foreign_and_missing_master_keys() {
    let mut processor = processor();
    let made = generate2("AES", 256, "CIPHER", &[]).domain(OLDER_DOMAIN).ok(&mut processor);
    let token = made.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
    let key = unwrapped(&aes_key(true), &token).unwrap();
    assert!(encipher(&token, "CBC").domain(OLDER_DOMAIN).run(&mut processor).codes.is_ok());
    // Under the old key of the domain: served, and given back under the current one.
    let reply = encipher(&token, "CBC").domain(DOMAIN).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    let renewed = reply.bytes(sae::KEY_IDENTIFIER);
    assert_eq!(unwrapped(&aes_key(false), &renewed), Some(key));
    assert_eq!(parsed(&renewed).attributes(), parsed(&token).attributes());
    assert_eq!(renewed.len(), token.len());
    let again = encipher(&renewed, "CBC").ok(&mut processor);
    assert!(again.bytes(sae::KEY_IDENTIFIER).is_empty());
    // Under a key that the domain never had.
    encipher(&renewed, "CBC").domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    encipher(&renewed, "CBC").domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
}

/// Where compatible tokens are made, a clear key that is imported comes back as blocks under the master key: who can
/// also have keys taken out has both directions of it. A token that was wrapped under the master key would open; this
/// one does not.
#[test]
fn single_blocks_under_the_master_key_open_no_token() {
    let mut processor = compatible_processor();
    let token = cipher(&mut processor, 128, &[]);
    let clear = [0x5A; 32];
    let compatible = imported(&mut processor, "AES", &clear);
    // The oracle is real: the field is CBC under the master key.
    let block = |key: &[u8], block: &[u8]| {
        let mut out = [0; 32];
        let cipher = openssl::symm::Cipher::aes_256_ecb();
        let mut crypter =
            openssl::symm::Crypter::new(cipher, openssl::symm::Mode::Encrypt, key, None).unwrap();
        crypter.pad(false);
        crypter.update(block, &mut out).unwrap();
        out[..16].to_vec()
    };
    assert_eq!(compatible[16..32], block(&aes_key(false), &clear[..16]));
    assert_eq!(plain(&aes_key(false), &token, 0), None);
    assert_eq!(plain(&aes_key(false), &token, 30), None);
    assert!(unwrapped(&aes_key(false), &token).is_some());
    let request = import("AES", &clear).bytes(clear_key_import_multiple::TARGET_KEY_IDENTIFIER, &token[..64]);
    request.refused(&mut processor, code::TOKEN_INVALID);
}
