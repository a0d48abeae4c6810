//! Typed requests and answers of every verb: what each says of arguments as they must be, and wrong by one.

use proptest::prelude::*;
use wire::code::{self, Codes};
use wire::frame::{Argument, Arguments};
use wire::verb::*;
use wire::{KeyReference, Verb};

macro_rules! typed {
    ($(
        $(#[$doc:meta])*
        $verb:ident $module:ident = $number:literal slot $slot:literal $entry_point:literal $executor:ident {
            $($rest:tt)*
        }
    )*) => {
        fn read(arguments: &Arguments<'_>) -> Result<(), Fault> {
            match arguments.verb() {
                $(Verb::$verb => $module::Request::read(arguments).map(drop),)*
            }
        }

        fn write_nothing(arguments: &Arguments<'_>) -> Vec<u8> {
            let mut out = Vec::new();
            match arguments.verb() {
                $(Verb::$verb => $module::Answer::default().write(arguments, &mut out).unwrap(),)*
            }
            out
        }
    };
}

wire::for_each_verb! { typed }

const FIELD: [u8; 64] = [0; 64];
/// Length of fields that a length parameter goes with.
const BYTES: usize = 24;

/// Keywords that the verb takes: as few as may be.
fn keywords(entry: &Entry) -> String {
    let choices = entry.keywords.groups.iter().fold(vec![Vec::new()], |before, group| {
        let with = |choice: &Vec<&'static str>, text| choice.iter().copied().chain([text]).collect();
        let further =
            before.iter().flat_map(|choice| group.words.iter().map(move |word| with(choice, word.text)));
        let further: Vec<_> = further.collect();
        before.into_iter().chain(further).collect()
    });
    let takes = |choice: &&Vec<&'static str>| {
        let words: Vec<u64> = choice.iter().map(|text| wire::point::keywords::word(text)).collect();
        entry.keywords.check(&words).is_ok()
    };
    let taken =
        choices.iter().filter(takes).min_by_key(|choice| choice.len()).expect("a verb takes some keywords");
    taken.iter().map(|text| format!("{text:8}")).collect()
}

/// Arguments of a verb that hold together; what must be empty is.
fn sound<'a>(entry: &Entry, keywords: &'a str) -> Arguments<'a> {
    let mut arguments = Arguments::new(entry.verb);
    for (position, parameter) in entry.parameters.iter().enumerate() {
        let bytes: &[u8] = match parameter.kind {
            Kind::Keywords(count) => {
                arguments.set_integer(count, keywords.len() as i64 / 8);
                keywords.as_bytes()
            }
            Kind::Bytes(Length::By(length)) | Kind::Key { length: Length::By(length), .. } => {
                arguments.set_integer(length, BYTES as i64);
                &FIELD[..BYTES]
            }
            Kind::Bytes(Length::Bits(length)) => {
                arguments.set_integer(length, 8 * BYTES as i64);
                &FIELD[..BYTES]
            }
            Kind::Bytes(Length::Words(count)) => {
                arguments.set_integer(count, 2);
                b"KEYWORD KEYWORD "
            }
            Kind::Bytes(length) | Kind::Key { length, .. } => &FIELD[..length.longest().unwrap_or(0).min(64)],
            Kind::Integer => continue,
        };
        if parameter.direction != Direction::Out {
            arguments.set_bytes(position, bytes);
        }
    }
    // Those that must be empty say so themselves.
    while let Err(Fault::Refused { position, codes: code::INVALID_PARAMETER | code::RESERVED_LENGTH }) =
        read(&arguments)
    {
        let Kind::Bytes(Length::By(length)) = entry.parameters[position].kind else { break };
        arguments.set_integer(length, 0).set_bytes(position, &[]);
    }
    arguments
}

fn is_reserved(parameter: &Parameter) -> bool {
    parameter.null == Null::Ignored
}

/// What a field of the verb is refused with that is not as long as it must be.
fn expected(entry: &Entry, position: usize) -> Codes {
    match (entry.verb, entry.parameters[position].name) {
        (Verb::SymmetricAlgorithmEncipher | Verb::SymmetricAlgorithmDecipher, "key_identifier") => {
            code::KEY_LENGTH_KEYWORD
        }
        (
            Verb::OneWayHash
            | Verb::MacGenerate
            | Verb::MacVerify
            | Verb::Encipher
            | Verb::Decipher
            | Verb::SymmetricAlgorithmEncipher
            | Verb::SymmetricAlgorithmDecipher
            | Verb::HmacGenerate
            | Verb::HmacVerify,
            "text" | "message_text" | "plaintext" | "ciphertext" | "clear_text" | "cipher_text",
        ) => code::TEXT_LENGTH,
        (Verb::CipherTextTranslate2, "cipher_text_in")
        | (Verb::CryptographicVariableEncipher, "plain_text")
        | (Verb::MdcGenerate, "text_data")
        | (Verb::DiversifiedKeyGenerate, "data")
        | (Verb::DiversifiedKeyGenerate2, "derivation_data")
        | (Verb::EmvTransaction, "cryptogram_info")
        | (Verb::SecureMessagingForKeys | Verb::SecureMessagingForPins, "clear_text")
        | (Verb::PinChangeUnblock, "key_generation_data")
        | (Verb::FormatPreservingEncipher, "plaintext")
        | (Verb::FormatPreservingDecipher, "ciphertext")
        | (Verb::CodeConversion, "source_text")
        | (Verb::MacGenerate2 | Verb::MacVerify2, "message_text") => code::TEXT_LENGTH,
        (Verb::EmvTransaction | Verb::DeriveIccMk, "pan") => code::PAN,
        (Verb::UniqueKeyDerive, "derivation_data") => code::KEY_SERIAL,
        (Verb::UniqueKeyDerive, "reserved2" | "reserved3" | "reserved4" | "reserved5" | "reserved6") => {
            code::RESERVED_LENGTH
        }
        (Verb::EncryptedPinVerify2, "reference_pin_rule_array") => code::KEYWORD_COUNT,
        (Verb::KeyTokenBuild2, "clear_key_value") | (Verb::KeyPartImport2, "clear_key_part") => {
            code::KEY_BITS
        }
        (
            Verb::CipherTextTranslate2
            | Verb::DiversifiedKeyGenerate2
            | Verb::EmvTransaction
            | Verb::DeriveIccMk,
            "reserved1" | "reserved2",
        )
        | (Verb::DiversifiedKeyGenerate2, "generated_key_id2")
        | (Verb::PinChangeUnblock, "output_pin_data")
        | (Verb::KeyTokenBuild2 | Verb::KeyTest2 | Verb::KeyTokenParse2, "reserved")
        | (Verb::RestrictKeyAttribute, "opt_parameter1" | "opt_parameter2") => code::RESERVED_LENGTH,
        (Verb::EcDiffieHellman, "reserved" | "reserved2" | "reserved3" | "reserved4" | "reserved5") => {
            code::RESERVED_LENGTH
        }
        _ => code::INVALID_PARAMETER,
    }
}

#[test]
fn arguments_that_hold_together_are_read() {
    for entry in TABLE {
        let words = keywords(entry);
        let arguments = sound(entry, &words);
        assert_eq!(read(&arguments), Ok(()), "{}", entry.name);
        // A reply without outputs is one that reads.
        let reply = write_nothing(&arguments);
        let outputs = Arguments::read_reply(entry.verb, &reply).unwrap();
        for (position, parameter) in entry.parameters.iter().enumerate() {
            match (parameter.direction, parameter.kind) {
                (Direction::In, _) => assert_eq!(outputs.at(position), Argument::Absent),
                (_, Kind::Integer) => assert_eq!(outputs.integer(position), arguments.integer(position)),
                _ => assert!(outputs.bytes(position).is_empty()),
            }
        }
    }
}

#[test]
fn every_count_and_length_wrong_by_one_is_refused_by_name() {
    let mut tried = 0;
    for entry in TABLE {
        let words = keywords(entry);
        let arguments = sound(entry, &words);
        for (position, parameter) in entry.parameters.iter().enumerate() {
            let (length, codes) = match parameter.kind {
                Kind::Keywords(count) => (count, code::KEYWORD_COUNT),
                Kind::Bytes(Length::By(length) | Length::Bits(length) | Length::Words(length))
                | Kind::Key { length: Length::By(length), .. } => (length, expected(entry, position)),
                _ => continue,
            };
            // Room for an output, with what happens to be in it.
            let is_given = match parameter.kind {
                Kind::Keywords(_) => parameter.direction != Direction::Out,
                Kind::Key { .. } if entry.parameters[length].direction == Direction::In => true,
                _ => parameter.direction == Direction::In,
            };
            if !is_given {
                continue;
            }
            let value = arguments.integer(length);
            for wrong in [value - 1, value + 1, -1, i64::MIN, i64::MAX] {
                let mut changed = arguments.clone();
                changed.set_integer(length, wrong);
                let fault = read(&changed).expect_err(entry.name);
                assert_eq!(fault.codes(), Some(codes), "{}.{} {wrong}", entry.name, parameter.name);
                tried += 1;
            }
            let bytes = arguments.bytes(position);
            let longer = [bytes, b"X"].concat();
            for wrong in [Some(&longer[..]), bytes.split_last().map(|(_, shorter)| shorter)] {
                let Some(wrong) = wrong else { continue };
                let mut changed = arguments.clone();
                changed.set_bytes(position, wrong);
                let fault = read(&changed).expect_err(entry.name);
                assert_eq!(fault.codes(), Some(codes), "{}.{} {}", entry.name, parameter.name, wrong.len());
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn every_fixed_field_wrong_by_one_is_refused() {
    for entry in TABLE {
        let words = keywords(entry);
        let arguments = sound(entry, &words);
        for (position, parameter) in entry.parameters.iter().enumerate() {
            let Kind::Bytes(Length::Fixed(bytes)) = parameter.kind else { continue };
            if parameter.direction == Direction::Out || is_reserved(parameter) {
                continue;
            }
            for length in [bytes - 1, bytes + 1] {
                let field = vec![0; length];
                let mut changed = arguments.clone();
                changed.set_bytes(position, &field);
                let refused = Fault::Refused { position, codes: code::INVALID_PARAMETER };
                assert_eq!(read(&changed), Err(refused), "{}.{}", entry.name, parameter.name);
            }
        }
    }
}

#[test]
fn a_reference_that_nobody_resolved_is_named() {
    for entry in TABLE {
        let words = keywords(entry);
        let arguments = sound(entry, &words);
        for (position, parameter) in entry.parameters.iter().enumerate() {
            if !matches!(parameter.kind, Kind::Key { .. }) || parameter.direction == Direction::Out {
                continue;
            }
            let mut changed = arguments.clone();
            changed.set(position, Argument::Reference(KeyReference { slot: 0, generation: 1 }));
            let fault = read(&changed).unwrap_err();
            assert_eq!(fault, Fault::Reference { position }, "{}.{}", entry.name, parameter.name);
            assert_eq!(fault.codes(), None);
        }
    }
}

#[test]
fn a_request_has_lengths_and_defaults_filled_in() {
    let mut arguments = Arguments::new(Verb::MacGenerate);
    arguments
        .set_bytes(mac_generate::KEY_IDENTIFIER, &FIELD)
        .set_integer(mac_generate::TEXT_LENGTH, 3)
        .set_bytes(mac_generate::TEXT, b"abc")
        .set_integer(mac_generate::RULE_ARRAY_COUNT, 1)
        .set_bytes(mac_generate::RULE_ARRAY, b"HEX-9   ");
    let request = mac_generate::Request::read(&arguments).ok().unwrap();
    assert_eq!((request.text, request.key_identifier), (&b"abc"[..], &FIELD[..]));
    assert_eq!(
        (request.method, request.segment, request.format),
        (MacMethod::X99, Segment::Only, MacFormat::Hex9)
    );
    assert!(request.chaining_vector.is_none());

    let mut arguments = Arguments::new(Verb::PkaKeyTokenBuild);
    arguments
        .set_integer(pka_key_token_build::RULE_ARRAY_COUNT, 2)
        .set_bytes(pka_key_token_build::RULE_ARRAY, b"KM-ONLY RSA-CRT ")
        .set_integer(pka_key_token_build::TOKEN_LENGTH, 7);
    let request = pka_key_token_build::Request::read(&arguments).ok().unwrap();
    assert_eq!((request.kind, request.usage), (PkaTokenKind::Crt, Some(PkaUsage::KeyManagementOnly)));
    assert_eq!((request.translation, request.token.capacity()), (None, 7));
    assert!(request.token.holds(7).is_ok());
    let needed = Fault::TooSmall { position: pka_key_token_build::TOKEN_LENGTH, needed: 8 };
    assert_eq!(request.token.holds(8), Err(needed));
}

#[test]
fn an_answer_fills_in_lengths_and_needs_room_for_what_has_some() {
    use random_number_generate_long::{Answer, RANDOM_NUMBER, RANDOM_NUMBER_LENGTH};
    let answer = Answer { random_number: Some(&[3; 8]) };
    for (room, fits) in [(9, true), (8, true), (7, false), (-1, false)] {
        let mut arguments = Arguments::new(Verb::RandomNumberGenerateLong);
        arguments.set_integer(RANDOM_NUMBER_LENGTH, room);
        let mut out = Vec::new();
        let written = answer.write(&arguments, &mut out);
        if fits {
            assert_eq!(written, Ok(()));
        } else {
            assert_eq!(written, Err(Fault::TooSmall { position: RANDOM_NUMBER_LENGTH, needed: 8 }));
            assert!(out.is_empty());
            write_no_outputs(&arguments, Some((RANDOM_NUMBER_LENGTH, 8)), &mut out);
        }
        let read = Arguments::read_reply(Verb::RandomNumberGenerateLong, &out).unwrap();
        assert_eq!(read.integer(RANDOM_NUMBER_LENGTH), 8);
        assert_eq!(read.bytes(RANDOM_NUMBER), if fits { &[3; 8][..] } else { &[] });
    }
}

#[test]
fn the_length_of_an_input_is_no_room_for_an_output() {
    let mut arguments = Arguments::new(Verb::Encipher);
    arguments.set_integer(encipher::TEXT_LENGTH, 1).set_bytes(encipher::PLAINTEXT, b"a");
    let vector = [1; 18];
    let answer =
        encipher::Answer { ciphertext: Some(&[2; 8]), chaining_vector: Some(&vector), ..Default::default() };
    let mut out = Vec::new();
    answer.write(&arguments, &mut out).unwrap();
    let read = Arguments::read_reply(Verb::Encipher, &out).unwrap();
    assert_eq!((read.integer(encipher::TEXT_LENGTH), read.bytes(encipher::CIPHERTEXT)), (8, &[2; 8][..]));
    assert_eq!(read.bytes(encipher::CHAINING_VECTOR), vector);
    assert!(read.bytes(encipher::KEY_IDENTIFIER).is_empty());
}

#[test]
fn the_head_of_an_answer_stands_in_front_of_its_text() {
    use symmetric_algorithm_encipher::{Answer, CHAIN_DATA_LENGTH, CIPHER_TEXT_LENGTH, KEY_LENGTH};
    let mut arguments = Arguments::new(Verb::SymmetricAlgorithmEncipher);
    arguments
        .set_integer(KEY_LENGTH, 64)
        .set_integer(CHAIN_DATA_LENGTH, 32)
        .set_integer(CIPHER_TEXT_LENGTH, 48);
    let (token, chain, text) = ([5; 64], [6; 32], [7; 48]);
    for (key_identifier, chain_data) in [(None, None), (None, Some(&chain[..])), (Some(&token[..]), None)] {
        let answer = Answer { key_identifier, key_parms: None, chain_data, cipher_text: Some(&text) };
        let mut whole = Vec::new();
        answer.write(&arguments, &mut whole).unwrap();
        let bytes = answer.head_bytes();
        assert_eq!(bytes, Answer { cipher_text: None, ..answer }.head_bytes());
        let mut head = vec![0xEE; bytes];
        assert_eq!(answer.write_head(&arguments, &mut head), Ok(true));
        head.extend_from_slice(&text);
        assert_eq!(head, whole);
        for other in [bytes - 1, bytes + 1] {
            let mut head = vec![0xEE; other];
            assert_eq!(answer.write_head(&arguments, &mut head), Ok(false));
            assert!(head.iter().all(|byte| *byte == 0xEE));
        }
        let mut arguments = arguments.clone();
        arguments.set_integer(CIPHER_TEXT_LENGTH, 47);
        let mut head = vec![0xEE; bytes];
        let needed = Fault::TooSmall { position: CIPHER_TEXT_LENGTH, needed: 48 };
        assert_eq!(answer.write_head(&arguments, &mut head), Err(needed));
        assert!(head.iter().all(|byte| *byte == 0xEE));
    }
}

proptest! {
    #[test]
    fn any_payload_is_read_or_refused(payload in proptest::collection::vec(any::<u8>(), 0..400)) {
        for entry in TABLE {
            if let Ok(arguments) = Arguments::read_request(entry.verb, &payload)
                && let Err(fault) = read(&arguments)
            {
                prop_assert!(fault.codes().is_none_or(|codes| codes.return_code == 8), "{} {fault}", entry.name);
            }
        }
    }

    #[test]
    fn anything_in_one_argument_is_read_or_refused(
        place in any::<prop::sample::Index>(),
        integer in any::<i64>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        for entry in TABLE.iter().filter(|entry| !entry.parameters.is_empty()) {
            let words = keywords(entry);
            let mut arguments = sound(entry, &words);
            let position = place.index(entry.parameters.len());
            match entry.parameters[position].kind {
                Kind::Integer => arguments.set_integer(position, integer),
                _ => arguments.set_bytes(position, &bytes),
            };
            if let Err(fault) = read(&arguments) {
                prop_assert!(fault.codes().is_some_and(|codes| codes.return_code == 8), "{} {fault}", entry.name);
            }
        }
    }
}
