//! Invalid requests: each is answered with a clear code, and no card is harmed.

use facility::{Facility, FacilityError};
use seeded::Random;
use system_tests::{
    Installation, expected_mac, mac_key, mac_of, mac_request, null, rsa_generate, rsa_skeleton, settings,
};
use wire::bounds::TEXT_BYTES_MAX;
use wire::code;
use wire::control::CardRow;
use wire::frame::Arguments;
use wire::verb::{
    AesAlgorithm, AesKeyRule, AesMethod, AesPosition, Direction, Executor, Filled, HashMethod, Key,
    KeyAlgorithm, Kind, Length, Room, SignatureFormat, SignatureHash, TABLE, TypedAsk, Verb,
    clear_key_import_multiple, digital_signature_generate, mac_generate, one_way_hash,
    symmetric_algorithm_encipher,
};
use wire::{Codes, KeyReference, Label};

/// Asserts that the cards are the processes that they were.
fn are_unharmed(installation: &Installation, cards: &[CardRow]) {
    for (before, after) in cards.iter().zip(installation.until_ready()) {
        assert_eq!((before.pid, after.restarts), (after.pid, before.restarts));
    }
}

fn codes(facility: &Facility, ask: &impl TypedAsk) -> Codes {
    facility.ask(0, ask).unwrap().codes()
}

/// The codes of a request that is changed before it is sent.
fn changed(facility: &Facility, ask: &impl TypedAsk, change: impl Fn(&mut Arguments<'_>)) -> Codes {
    let mut filled = Filled::default();
    let mut arguments = ask.arguments(&mut filled);
    change(&mut arguments);
    facility.call(0, &arguments).unwrap().codes()
}

#[test]
fn wrong_lengths_and_keywords_have_their_codes() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    let text = [1; 16];
    let mac = mac_request(&key, &text);
    for length in [-1, 17, i64::MAX, i64::MIN, TEXT_BYTES_MAX as i64 + 1] {
        let answer = changed(&facility, &mac, |arguments| {
            arguments.set_integer(mac_generate::TEXT_LENGTH, length);
        });
        assert!(answer.return_code >= 8, "text_length {length}: {answer}");
    }
    let unknown = changed(&facility, &mac, |arguments| {
        arguments.set_bytes(mac_generate::RULE_ARRAY, b"X9.9-1  ONLY    WHATEVER");
    });
    assert_eq!(unknown, code::KEYWORD);
    let twice = changed(&facility, &mac, |arguments| {
        arguments.set_bytes(mac_generate::RULE_ARRAY, b"ONLY    FIRST   MACLEN8 ");
    });
    assert_eq!(twice, code::KEYWORD_COMBINATION);
    for count in [-1, 0x1_0000_0003, 17, i64::MAX] {
        let answer = changed(&facility, &mac, |arguments| {
            arguments.set_integer(mac_generate::RULE_ARRAY_COUNT, count);
        });
        assert!(answer.return_code >= 8, "rule_array_count {count}: {answer}");
    }
    let unknown = changed(&facility, &one_way_hash::Ask::new(HashMethod::Sha1), |arguments| {
        arguments.set_bytes(one_way_hash::RULE_ARRAY, b"SHA-0   ");
    });
    assert_eq!(unknown, code::KEYWORD);
    assert_eq!(mac_of(&facility.ask(0, &mac_request(&key, &text)).unwrap()), expected_mac(&text));
    are_unharmed(&installation, &cards);
}

#[test]
fn every_flipped_byte_of_a_token_is_noticed() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    for at in 0..key.len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut token = key.clone();
            token[at] ^= flip;
            match facility.ask(0, &mac_request(&token, b"text")) {
                // The first byte makes it a label.
                Ok(reply) => {
                    assert!(reply.codes().return_code >= 8, "byte {at} ^ {flip:#x}: {}", reply.codes())
                }
                Err(error) => panic!("byte {at} ^ {flip:#x}: {error}"),
            }
            // With the validation value mended, other checks have to see it; a changed key or control
            // vector unwraps to another key.
            let mut token: [u8; 64] = token.try_into().unwrap();
            token::tvv::seal(&mut token);
            if at < 60
                && let Ok(reply) = facility.ask(0, &mac_request(&token, b"text"))
                && reply.codes().has_output()
            {
                // The bit that forbids exporting a key does not change what it is.
                let forbids_export = (at, flip) == (6, 0x01);
                let is_same = mac_of(&reply) == expected_mac(b"text");
                assert_eq!(is_same, forbids_export, "byte {at} ^ {flip:#x}");
            }
        }
    }
    are_unharmed(&installation, &cards);
}

#[test]
fn every_flipped_byte_of_an_aes_token_is_noticed() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let import = clear_key_import_multiple::Ask {
        algorithm: Some(KeyAlgorithm::Aes),
        clear_key: &[0x2B; 16],
        ..clear_key_import_multiple::Ask::new()
    };
    let reply = facility.ask(0, &import).unwrap();
    assert!(reply.codes().has_output(), "Clear_Key_Import_Multiple: {}", reply.codes());
    let key = reply.got().target_key_identifier.to_vec();
    let encipher = |token: &[u8]| {
        let ask = symmetric_algorithm_encipher::Ask {
            method: Some(AesMethod::Cbc),
            key_rule: Some(AesKeyRule::Identifier),
            part: Some(AesPosition::Initial),
            key_identifier: token.into(),
            block_size: 16,
            initialization_vector: &[0; 16],
            chain_data: Room::from(&[0; 32][..]),
            clear_text: &[1; 16],
            cipher_text: 16,
            ..symmetric_algorithm_encipher::Ask::new(AesAlgorithm::Aes)
        };
        codes(&facility, &ask)
    };
    assert_eq!(encipher(&key), code::OK);
    for at in 0..key.len() {
        let mut token = key.clone();
        token[at] ^= 1 << (at % 8);
        let answer = encipher(&token);
        assert!(answer.return_code >= 8, "byte {at}: {answer}");
    }
    are_unharmed(&installation, &cards);
}

#[test]
fn every_flipped_byte_of_a_private_key_is_noticed() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let skeleton = rsa_skeleton(&facility, 1024);
    let reply = facility.ask(0, &rsa_generate(&skeleton)).unwrap();
    assert!(reply.codes().has_output(), "PKA_Key_Generate: {}", reply.codes());
    let key = reply.got().generated_key_identifier.to_vec();
    let sign = |token: &[u8]| {
        let ask = digital_signature_generate::Ask {
            format: Some(SignatureFormat::X931),
            hash_method: Some(SignatureHash::Sha1),
            pka_private_key_id: token.into(),
            hash: &[3; 20],
            signature_field: 256,
            ..digital_signature_generate::Ask::new()
        };
        let reply = facility.ask(0, &ask).unwrap();
        (reply.codes(), reply.got().signature_field.to_vec())
    };
    let (codes, signature) = sign(&key);
    assert!(codes.has_output() && !signature.is_empty(), "Digital_Signature_Generate: {codes}");
    for at in 0..key.len() {
        let mut token = key.clone();
        token[at] ^= 1 << (at % 8);
        let (codes, _) = sign(&token);
        assert!(codes.return_code >= 8, "byte {at} of {}: {codes}", key.len());
    }
    assert_eq!(sign(&key), (codes, signature));
    are_unharmed(&installation, &cards);
}

#[test]
fn a_token_of_another_master_key_is_refused() {
    let mut other = settings(1, 0);
    other.development = other.development.map(|mut development| {
        development.insecure_seed += 1;
        development
    });
    let mut elsewhere = Installation::stopped(&other);
    elsewhere.start();
    elsewhere.until_ready();
    let foreign = mac_key(&elsewhere.facility());
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    assert_eq!(codes(&facility, &mac_request(&foreign, b"text")), code::MASTER_KEY_MISMATCH);
    are_unharmed(&installation, &cards);
}

#[test]
fn references_of_ones_own_making_open_nothing() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let (key, mut random) = (mac_key(&facility), Random(3));
    for round in 0..200 {
        let slot = if round % 2 == 0 { random.number() as u32 % 8 } else { random.number() as u32 };
        let generation = if round % 3 == 0 { random.number() % 16 } else { random.number() };
        let key_identifier = Key::Reference(KeyReference { slot, generation });
        let ask = mac_generate::Ask { key_identifier, ..mac_request(&key, b"text") };
        let error = facility.ask(0, &ask).unwrap_err();
        assert!(matches!(error, FacilityError::StaleKey { .. }), "{error}");
    }
    are_unharmed(&installation, &cards);
}

/// Arguments of the right kinds, of lengths and contents that are not.
fn noise<'a>(verb: Verb, random: &mut Random, material: &'a [u8]) -> Arguments<'a> {
    let mut arguments = Arguments::new(verb);
    for (position, parameter) in verb.entry().parameters.iter().enumerate() {
        if parameter.direction == Direction::Out {
            continue;
        }
        let start = random.below(64);
        let length = match (parameter.kind, random.below(4)) {
            (Kind::Integer, 0) => {
                arguments.set_integer(position, random.number() as i64);
                continue;
            }
            (Kind::Integer, _) => {
                arguments.set_integer(position, random.below(200) as i64 - 20);
                continue;
            }
            (Kind::Bytes(Length::Fixed(bytes)) | Kind::Key { length: Length::Fixed(bytes), .. }, 0..3) => {
                bytes
            }
            _ => random.below(300),
        };
        arguments.set_bytes(position, &material[start..start + length.min(2048)]);
    }
    arguments
}

#[test]
fn noise_for_every_verb_is_answered_and_harms_no_card() {
    let installation = Installation::new(1, 1);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let (key, mut random) = (mac_key(&facility), Random(4));
    let mut answered = 0;
    for entry in
        TABLE.iter().filter(|entry| entry.executor != Executor::Daemon && !entry.parameters.is_empty())
    {
        for round in 0..60 {
            let mut material = random.bytes(4096);
            if round % 2 == 0 {
                // Tokens rather than labels: the first byte of every field is a token's.
                material[..64].copy_from_slice(&key);
            }
            let arguments = noise(entry.verb, &mut random, &material);
            match facility.call(0, &arguments) {
                Ok(_) => answered += 1,
                Err(error @ (FacilityError::CardDied { .. } | FacilityError::NoCard { .. })) => {
                    panic!("{} in round {round}: {error}", entry.name)
                }
                Err(_) => {}
            }
        }
    }
    assert!(answered > 1000, "{answered}");
    are_unharmed(&installation, &cards);
    let bad = Label::new("NO.SUCH.KEY").unwrap().to_field();
    assert_eq!(codes(&facility, &mac_request(&bad, b"text")), code::LABEL_NOT_FOUND);
    assert_eq!(codes(&facility, &null()), code::OK);
}
