//! Registers: patterns, old and wrong master keys, re-encipherment, zeroizing.

use cca::{LoadError, Processor};
use engine::{Engine, Options};
use verb_requests::peer;
use verb_requests::support::{
    DOMAIN, EMPTY_DOMAIN, OLDER_DOMAIN, Request, aes_key, generated, imported, mac, processor, sym_key, text,
};
use wire::code;
use wire::control::{Handout, MasterKeyPair, Register};
use wire::verb::symmetric_algorithm_encipher as aes;
use wire::verb::{Verb, mac_generate};

fn handout(domain: u16, keys: [Vec<u8>; 4]) -> Handout {
    Handout { domain, keys: keys.map(|current| MasterKeyPair { current, old: Vec::new() }) }
}

/// Values computed independently for keys of 24 and 32 bytes X'02'.
#[test]
fn known_patterns() {
    let engine = Engine::new(Options::default()).unwrap();
    let pattern = |register, key: &[u8]| {
        u64::from_be_bytes(cca::patterns::master_key_pattern(&engine, register, key).name())
    };
    assert_eq!(pattern(Register::Aes, &[2; 32]), 0xF138_6FFF_8B06_AC98);
    assert_eq!(pattern(Register::Apka, &[2; 32]), 0xF138_6FFF_8B06_AC98);
    let three: Vec<u8> = [[2; 8], [4; 8], [7; 8]].concat();
    let long = |key: &[u8]| cca::patterns::master_key_pattern(&engine, Register::Asym, key);
    assert_eq!(long(&three).bytes(), 0x239A_5381_96C7_EA6F_8671_669B_E8AE_0488_u128.to_be_bytes());
    assert_eq!(long(&[2; 24]).bytes(), 0xFB79_1739_89C9_6468_45FF_1FF9_F8B8_7833_u128.to_be_bytes());
    let hash = openssl::sha::sha1(&[&[1], three.as_slice()].concat());
    assert_eq!(pattern(Register::Sym, &three).to_be_bytes(), hash[..8]);
    let two: Vec<u8> = [[2; 8], [4; 8], [2; 8]].concat();
    let mix = |key: &[u8], value: &[u8]| peer::xor(&peer::des(key, true, value), value);
    assert_eq!(pattern(Register::Sym, &two).to_be_bytes(), mix(&mix(&[0x45; 8], &[2; 8]), &[4; 8])[..]);
}

#[test]
fn the_processor_shows_patterns_of_what_is_loaded() {
    let mut processor = processor();
    let engine = *processor.engine();
    let patterns = *processor.patterns(DOMAIN).unwrap();
    for (register, old, key) in [
        (Register::Sym, false, sym_key(false)),
        (Register::Sym, true, sym_key(true)),
        (Register::Aes, false, aes_key(false)),
        (Register::Aes, true, aes_key(true)),
    ] {
        let shown = patterns.register(register);
        let shown = if old { shown.old } else { shown.current };
        assert_eq!(shown, Some(cca::patterns::master_key_pattern(&engine, register, &key).name()));
    }
    assert_eq!(patterns.register(Register::Apka).old, None);
    assert_eq!(processor.patterns(EMPTY_DOMAIN).unwrap().register(Register::Sym).current, None);
    assert_eq!(processor.patterns(3), None);
    processor.zeroize();
    assert_eq!(processor.patterns(DOMAIN).unwrap().register(Register::Sym).current, None);
}

#[test]
fn tokens_under_the_old_key_serve_and_come_back_under_the_current_one() {
    let mut processor = processor();
    let token = {
        let request = verb_requests::support::generate("MAC", "DOUBLE").domain(OLDER_DOMAIN);
        request.ok(&mut processor).bytes(wire::verb::key_generate::GENERATED_KEY_IDENTIFIER_1)
    };
    let key = peer::unwrap_token(&sym_key(true), &token);
    let rules = ["X9.19OPT", "MACLEN8"];
    let value =
        mac(&token, &rules, &text(64)).domain(OLDER_DOMAIN).ok(&mut processor).bytes(mac_generate::MAC);
    assert_eq!(value, peer::retail_mac(&key, &text(64)));

    let reply = mac(&token, &rules, &text(64)).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    assert_eq!(reply.bytes(mac_generate::MAC), value);
    let renewed = reply.bytes(mac_generate::KEY_IDENTIFIER);
    assert_eq!(peer::unwrap_token(&sym_key(false), &renewed), key);
    let again = mac(&renewed, &rules, &text(64)).ok(&mut processor);
    assert_eq!(again.bytes(mac_generate::MAC), value);
    assert!(again.bytes(mac_generate::KEY_IDENTIFIER).is_empty(), "a token that did not change stays away");

    let token = verb_requests::support::import("AES", &text(24)).domain(OLDER_DOMAIN).ok(&mut processor);
    let token = token.bytes(wire::verb::clear_key_import_multiple::TARGET_KEY_IDENTIFIER);
    let request = Request::new(Verb::SymmetricAlgorithmEncipher)
        .rules(&["AES", "KEYIDENT", "ECB"])
        .counted(aes::KEY_LENGTH, aes::KEY_IDENTIFIER, &token)
        .integer(aes::BLOCK_SIZE, 16)
        .counted(aes::CLEAR_TEXT_LENGTH, aes::CLEAR_TEXT, text(16))
        .integer(aes::CIPHER_TEXT_LENGTH, 16);
    let reply = request.run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    assert_eq!(reply.bytes(aes::CIPHER_TEXT), peer::aes_ecb(&text(24), true, &text(16)));
    let renewed = reply.bytes(aes::KEY_IDENTIFIER);
    assert_eq!(peer::unwrap_aes_token(&aes_key(false), &renewed)[..24], text(24));
}

/// Registers with an old key beside the current one.
fn changed(domain: u16, keys: [(u8, u8); 4]) -> Handout {
    let keys = std::array::from_fn(|index| {
        let (current, old) = keys[index];
        let bytes = Register::ALL[index].key_bytes();
        MasterKeyPair { current: vec![current; bytes], old: if old == 0 { vec![] } else { vec![old; bytes] } }
    });
    Handout { domain, keys }
}

#[test]
fn tokens_of_every_kind_are_put_under_the_current_key() {
    use wire::verb::{key_token_change as ktc, pka_key_token_change as pka_ktc};
    let mut processor = processor();
    processor.load(&changed(DOMAIN, [(9, 0), (9, 0), (9, 0), (9, 0)])).unwrap();
    let change = |token: &[u8], rules: &[&str]| {
        Request::new(Verb::KeyTokenChange).rules(rules).bytes(ktc::KEY_IDENTIFIER, token)
    };
    let pka_change = |token: &[u8]| {
        Request::new(Verb::PkaKeyTokenChange).rules(&["RTCMK"]).counted(
            pka_ktc::KEY_IDENTIFIER_LENGTH,
            pka_ktc::KEY_IDENTIFIER,
            token,
        )
    };
    let symmetric = [
        (imported(&mut processor, "DES", &text(16)), "DES"),
        (generated(&mut processor, "MAC", "DOUBLE"), "DES"),
        (imported(&mut processor, "AES", &text(24)), "AES"),
    ];
    let rsa = verb_requests::uses::ways::Others::new().clear;
    let internal = |processor: &mut Processor| {
        use wire::verb::pka_key_import as import;
        Request::new(Verb::PkaKeyImport)
            .rules(&[])
            .counted(import::SOURCE_KEY_TOKEN_LENGTH, import::SOURCE_KEY_TOKEN, &rsa)
            .bytes(import::IMPORTER_KEY_IDENTIFIER, [0; 64])
            .integer(import::TARGET_KEY_IDENTIFIER_LENGTH, 3500)
            .ok(processor)
            .bytes(import::TARGET_KEY_IDENTIFIER)
    };
    let signing = internal(&mut processor);
    // Under the current key nothing changes.
    for (token, _) in &symmetric {
        assert!(change(token, &["RTCMK"]).ok(&mut processor).bytes(ktc::KEY_IDENTIFIER).is_empty());
    }
    assert!(pka_change(&signing).ok(&mut processor).bytes(pka_ktc::KEY_IDENTIFIER).is_empty());

    processor.load(&changed(DOMAIN, [(8, 9), (8, 9), (8, 9), (8, 9)])).unwrap();
    let moved: Vec<Vec<u8>> = symmetric
        .iter()
        .map(|(token, algorithm)| {
            let other = if *algorithm == "DES" { "AES" } else { "DES" };
            change(token, &["RTCMK", other]).refused(&mut processor, code::TOKEN_INVALID);
            change(token, &["RTCMK", algorithm]).ok(&mut processor).bytes(ktc::KEY_IDENTIFIER)
        })
        .collect();
    let signing_now = pka_change(&signing).ok(&mut processor).bytes(pka_ktc::KEY_IDENTIFIER);
    assert_ne!(signing_now, signing);
    let (was, is) = (token::describe(&signing).unwrap(), token::describe(&signing_now).unwrap());
    assert_ne!(was.pattern(), is.pattern());

    // Where the old key is gone, what was changed serves on, and what was not does not.
    processor.load(&changed(DOMAIN, [(8, 0), (8, 0), (8, 0), (8, 0)])).unwrap();
    for ((token, _), moved) in symmetric.iter().zip(&moved) {
        change(token, &["RTCMK"]).refused(&mut processor, code::MASTER_KEY_MISMATCH);
        change(moved, &["RTCMK"]).ok(&mut processor);
    }
    assert_eq!(peer::unwrap_token(&[8; 24], &moved[0]), text(16));
    assert_eq!(peer::unwrap_aes_token(&[8; 32], &moved[2])[..24], text(24));
    pka_change(&signing).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    pka_change(&signing_now).ok(&mut processor);
    // What is under no master key has none to be put under.
    pka_change(&rsa).refused(&mut processor, code::TOKEN_INVALID);
    change(&[0; 64], &["RTCMK"]).refused(&mut processor, code::TOKEN_INVALID);
    change(&moved[0], &["RTNMK"]).refused(&mut processor, code::REGISTER_STATE);
}

#[test]
fn a_wrong_or_missing_master_key_is_told() {
    let mut processor = processor();
    let token = generated(&mut processor, "MAC", "DOUBLE");
    let request = mac(&token, &["X9.19OPT"], &text(8));
    request.clone().domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    request.clone().domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    request.ok(&mut processor);
    processor.zeroize();
    request.refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
}

#[test]
fn a_changed_master_key_takes_its_schedules_with_it() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &[2; 16]);
    let request = mac(&token, &["X9.19OPT"], &text(8));
    request.ok(&mut processor);
    processor.load(&handout(DOMAIN, [vec![9; 24], vec![9; 24], vec![9; 32], vec![9; 32]])).unwrap();
    request.refused(&mut processor, code::MASTER_KEY_MISMATCH);
    let token = imported(&mut processor, "DES", &[2; 16]);
    assert_eq!(peer::unwrap_token(&[9; 24], &token), [2; 16]);
}

#[test]
fn bad_handouts_are_refused_and_change_nothing() {
    let mut processor = processor();
    let before = *processor.patterns(DOMAIN).unwrap();
    let good = || [vec![9; 24], vec![9; 24], vec![9; 32], vec![9; 32]];
    assert_eq!(processor.load(&handout(3, good())), Err(LoadError::Domain(3)));
    for (index, register) in Register::ALL.into_iter().enumerate() {
        let mut keys = good();
        keys[index].pop();
        let given = keys[index].len();
        assert_eq!(processor.load(&handout(DOMAIN, keys)), Err(LoadError::KeyLength { register, given }));
    }
    assert_eq!(*processor.patterns(DOMAIN).unwrap(), before);
    processor.load(&handout(DOMAIN, [vec![9; 24], Vec::new(), Vec::new(), Vec::new()])).unwrap();
}

#[test]
fn known_answers_of_every_kernel_pass() {
    let mut processor = Processor::new(Engine::new(Options::default()).unwrap(), 1);
    processor.self_test().unwrap();
    let mut loaded = self::processor();
    let before = *loaded.patterns(DOMAIN).unwrap();
    loaded.self_test().unwrap();
    assert_eq!(*loaded.patterns(DOMAIN).unwrap(), before);
}
