//! Every verb that a card runs, with one length, count, field or reference of a good request wrong by one: refused by
//! name, and nothing shown. The verb table says what there is to be wrong.

use crate::uses::NOT_READ;
use crate::variable::{build2, generate2, generated2};
use cca::{Batch, Count};
use verb_requests::published::PUBLISHED;
use verb_requests::support::{
    DOMAIN, Request, generate, generated, imported, mac, part, run_raw, skeleton, verify,
};
use verb_requests::uses::ways::{Others, hmac, mac2, translate, verify_hmac, verify_mac2};
use wire::frame::{Argument, Arguments, Outcome, Walk, place_token};
use wire::role::BUILT_IN;
use wire::verb::{
    Direction, Entry, Executor, Kind, Length, Null, Parameter, Role, TABLE, Verb, clear_key_import,
    clear_key_import_multiple, clear_pin_encrypt, clear_pin_generate, clear_rsa_private, clear_rsa_public,
    code_conversion, cryptographic_variable_encipher, cvv_generate, data_key_export, data_key_import,
    decipher, derive_icc_mk, digital_signature_generate, digital_signature_verify, diversified_key_generate,
    diversified_key_generate2, ec_diffie_hellman, emv_transaction, encipher, encrypted_pin_translate2,
    key_encryption_translate, key_export, key_generate, key_import, key_part_import2, key_test,
    key_test_extended, key_token_change, key_token_change2, key_translate, mdc_generate, one_way_hash,
    pka_decrypt, pka_encrypt, pka_key_generate, pka_key_import, pka_key_token_build, pka_key_token_change,
    pka_public_key_extract, prohibit_export, prohibit_export_extended, random_number_generate,
    random_number_generate_long, symmetric_algorithm_decipher, symmetric_algorithm_encipher,
    symmetric_key_export, symmetric_key_generate, symmetric_key_import, symmetric_key_import2, tls_premaster,
};
use wire::verb::{
    cvv_key_combine, tr31_key_export, tr31_key_import, tr31_key_token_parse, tr31_optional_data_build,
    tr31_optional_data_read,
};
use wire::verb::{
    key_test2, key_translate2, pin_change_unblock, pka_key_translate, prohibit_export2,
    restrict_key_attribute, secure_messaging_for_keys, secure_messaging_for_pins, transaction_validation,
    unique_key_derive,
};
use wire::{Codes, KeyReference, code};

const TEXT: [u8; 16] = *b"sixteen bytes...";
const CAPACITY: i64 = 2500;
/// Of TR-31, A.7.3.2.
const BLOCK: &str = PUBLISHED[3].1;

fn verbs() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().filter(|entry| entry.executor != Executor::Daemon)
}

fn is_key(parameter: &Parameter) -> bool {
    matches!(parameter.kind, Kind::Key { .. })
}

/// A request of this verb that is answered without a refusal.
fn good(others: &mut Others, verb: Verb) -> Request {
    let request = Request::new(verb);
    let key = |others: &Others, position, key: &[u8]| others.ways(verb, position, key).pop().unwrap();
    match verb {
        Verb::Null => request,
        Verb::ClearRsaPrivate => {
            use clear_rsa_private::{DATA, DATA_LENGTH, KEY, KEY_LENGTH, RESULT_LENGTH};
            let request = request.counted(KEY_LENGTH, KEY, &others.clear);
            request.counted(DATA_LENGTH, DATA, TEXT).integer(RESULT_LENGTH, CAPACITY)
        }
        Verb::ClearRsaPublic => {
            use clear_rsa_public::{DATA, DATA_LENGTH, KEY, KEY_LENGTH, RESULT_LENGTH};
            let request = request.counted(KEY_LENGTH, KEY, &others.public);
            request.counted(DATA_LENGTH, DATA, TEXT).integer(RESULT_LENGTH, CAPACITY)
        }
        Verb::KeyTokenBuild => {
            use wire::verb::key_token_build::KEY_TYPE;
            request.rules(&["INTERNAL", "DOUBLE"]).bytes(KEY_TYPE, "MAC     ")
        }
        Verb::KeyTokenBuild2 => build2(&["INTERNAL", "AES", "CIPHER"]),
        Verb::KeyGenerate => generate("MAC", "DOUBLE"),
        Verb::ControlVectorGenerate => {
            use wire::verb::control_vector_generate::KEY_TYPE;
            request.rules(&["DOUBLE"]).bytes(KEY_TYPE, "MAC     ")
        }
        Verb::KeyTestExtended => {
            let values = key(others, key_test_extended::KEK_KEY_IDENTIFIER, &others.importer);
            let values = values.bytes(key_test_extended::RANDOM_NUMBER, [0; 8]);
            values.bytes(key_test_extended::VERIFICATION_PATTERN, [0; 8])
        }
        Verb::EncryptedPinTranslate
        | Verb::EncryptedPinVerify
        | Verb::EncryptedPinVerify2
        | Verb::RecoverPinFromOffset
        | Verb::ClearPinGenerateAlternate
        | Verb::EncryptedPinGenerate => {
            let position = verb.entry().parameters.iter().position(is_key).unwrap();
            let token = match verb {
                Verb::EncryptedPinGenerate => others.pins.generating.clone(),
                Verb::RecoverPinFromOffset => others.pins.outbound.clone(),
                _ => others.pins.inbound.clone(),
            };
            key(others, position, &token)
        }
        Verb::EncryptedPinTranslate2 => {
            let token = others.pins.proving.clone();
            key(others, encrypted_pin_translate2::AUTHENTICATION_KEY_IDENTIFIER, &token)
        }
        Verb::ClearPinGenerate => {
            let token = others.pins.generating.clone();
            key(others, clear_pin_generate::PIN_GENERATING_KEY_IDENTIFIER, &token)
        }
        Verb::ClearPinEncrypt => {
            let token = others.pins.outbound.clone();
            key(others, clear_pin_encrypt::PIN_ENCRYPTING_KEY_IDENTIFIER, &token)
        }
        Verb::CvvGenerate | Verb::CvvVerify => {
            let token = others.pins.cvv_a.clone();
            key(others, cvv_generate::CVV_KEY_A_IDENTIFIER, &token)
        }
        Verb::TransactionValidation => {
            let token = others.pins.codes.clone();
            others.ways(verb, transaction_validation::TRANSACTION_KEY, &token).remove(0)
        }
        Verb::DiversifiedKeyGenerate => {
            let token = others.chips.mac_skeleton.clone();
            key(others, diversified_key_generate::GENERATED_KEY_ID, &token)
        }
        Verb::DiversifiedKeyGenerate2 => {
            let token = others.chips.aes_skeleton.clone();
            key(others, diversified_key_generate2::GENERATED_KEY_ID1, &token)
        }
        Verb::EmvTransaction => {
            let token = others.chips.cryptograms.clone();
            key(others, emv_transaction::ISSUER_MASTER_KEY_IDENTIFIER, &token)
        }
        Verb::DeriveIccMk => {
            let token = others.chips.cryptograms_above.clone();
            key(others, derive_icc_mk::ISSUER_MASTER_KEY_IDENTIFIER, &token)
        }
        Verb::PinChangeUnblock => {
            let token = others.chips.inbound.clone();
            key(others, pin_change_unblock::CURRENT_REF_PIN_KEY, &token)
        }
        Verb::SecureMessagingForKeys => {
            let token = others.chips.mac.clone();
            key(others, secure_messaging_for_keys::INPUT_KEY_IDENTIFIER, &token)
        }
        Verb::SecureMessagingForPins => {
            let token = others.chips.inbound.clone();
            key(others, secure_messaging_for_pins::IN_PIN_ENC_KEY_ID, &token)
        }
        Verb::UniqueKeyDerive => others.unique.ways(unique_key_derive::RULE_ARRAY).remove(0),
        Verb::Tr31KeyExport | Verb::Tr31KeyImport => {
            let (position, kek) = match verb {
                Verb::Tr31KeyExport => (tr31_key_export::WRAP_KEK_IDENTIFIER, others.exporter.clone()),
                _ => (tr31_key_import::UNWRAP_KEK_IDENTIFIER, others.importer.clone()),
            };
            others.ways(verb, position, &kek).remove(0)
        }
        Verb::CvvKeyCombine => {
            let token = others.pins.cvv_a.clone();
            key(others, cvv_key_combine::KEY_AIDENTIFIER, &token)
        }
        Verb::Tr31OptionalDataBuild => {
            use tr31_optional_data_build::*;
            let request =
                request.counted(OPT_BLOCKS_BFR_LENGTH, OPT_BLOCKS, [0; 64]).bytes(OPT_BLOCK_ID, "TS");
            request.counted(OPT_BLOCK_DATA_LENGTH, OPT_BLOCK_DATA, "1234")
        }
        Verb::Tr31KeyTokenParse => {
            use tr31_key_token_parse::*;
            request.counted(TR31_KEY_LENGTH, TR31_KEY, BLOCK).integer(RULE_ARRAY_COUNT, 1)
        }
        Verb::Tr31OptionalDataRead => {
            use tr31_optional_data_read::*;
            let request = request.rules(&["DATA"]).counted(TR31_KEY_LENGTH, TR31_KEY, BLOCK);
            request.bytes(OPT_BLOCK_ID, "KS").integer(OPT_BLOCK_DATA_LENGTH, 20)
        }
        Verb::KeyPartImport => {
            let token = skeleton(&mut others.processor, "MAC", &["DOUBLE"]);
            part(&token, "FIRST", &TEXT)
        }
        Verb::KeyImport => key(others, key_import::IMPORTER_KEY_IDENTIFIER, &others.importer),
        Verb::KeyExport => key(others, key_export::EXPORTER_KEY_IDENTIFIER, &others.exporter),
        Verb::DataKeyImport => key(others, data_key_import::IMPORTER_KEY_IDENTIFIER, &others.importer),
        Verb::DataKeyExport => key(others, data_key_export::EXPORTER_KEY_IDENTIFIER, &others.exporter),
        Verb::KeyTranslate => key(others, key_translate::INPUT_KEK_KEY_IDENTIFIER, &others.importer),
        Verb::ProhibitExport => key(others, prohibit_export::KEY_IDENTIFIER, &others.data),
        Verb::ProhibitExportExtended => {
            key(others, prohibit_export_extended::KEK_KEY_IDENTIFIER, &others.exporter)
        }
        Verb::KeyTokenParse => {
            use wire::verb::key_token_parse::{KEY_TOKEN, RULE_ARRAY_COUNT};
            request.bytes(KEY_TOKEN, &others.data).integer(RULE_ARRAY_COUNT, 32)
        }
        Verb::KeyTokenParse2 => crate::attributes::parse2::parse(&others.variable),
        Verb::PkaKeyTranslate => key(others, pka_key_translate::TARGET_KEY_TOKEN, &[]),
        Verb::KeyTest2 => key(others, key_test2::KEK_KEY_IDENTIFIER, &others.importer),
        Verb::RestrictKeyAttribute => {
            key(others, restrict_key_attribute::KEK_KEY_IDENTIFIER, &others.exporter)
        }
        Verb::ProhibitExport2 => key(others, prohibit_export2::KEK_KEY_IDENTIFIER, &others.exporter),
        Verb::KeyTranslate2 => key(others, key_translate2::INPUT_KEK_KEY_IDENTIFIER, &others.importer),
        Verb::KeyPartImport2 => {
            let skeleton = others.variable.clone();
            key(others, key_part_import2::KEY_IDENTIFIER, &skeleton)
        }
        Verb::KeyTokenChange2 => {
            let token = generated2(&mut others.processor, "AES", 128, &["CIPHER"]);
            key(others, key_token_change2::KEY_IDENTIFIER, &token)
        }
        Verb::KeyGenerate2 => generate2("AES", 128, "CIPHER", &[]),
        Verb::ClearKeyImport => key(others, clear_key_import::TARGET_KEY_IDENTIFIER, &[0; 64]),
        Verb::ClearKeyImportMultiple => {
            key(others, clear_key_import_multiple::TARGET_KEY_IDENTIFIER, &[0; 64])
        }
        Verb::KeyTest => {
            let values = request.rules(&["GENERATE"]).bytes(key_test::KEY_IDENTIFIER, &others.data);
            values.bytes(key_test::VALUE_1, [0; 8]).bytes(key_test::VALUE_2, [0; 8])
        }
        Verb::Encipher => {
            key(others, encipher::KEY_IDENTIFIER, &others.data).bytes(encipher::CHAINING_VECTOR, [0; 18])
        }
        Verb::Decipher => {
            key(others, decipher::KEY_IDENTIFIER, &others.data).bytes(decipher::CHAINING_VECTOR, [0; 18])
        }
        Verb::SymmetricAlgorithmEncipher => {
            let aes = imported(&mut others.processor, "AES", &TEXT);
            key(others, symmetric_algorithm_encipher::KEY_IDENTIFIER, &aes)
        }
        Verb::SymmetricAlgorithmDecipher => {
            let aes = imported(&mut others.processor, "AES", &TEXT);
            key(others, symmetric_algorithm_decipher::KEY_IDENTIFIER, &aes)
        }
        Verb::MacGenerate => mac(&others.data, &["X9.19OPT"], &TEXT),
        Verb::HmacGenerate => {
            let key = generated2(&mut others.processor, "HMAC", 256, &["MAC", "GENERATE"]);
            hmac(&key, &["SHA-256"], &TEXT)
        }
        Verb::HmacVerify => {
            let key = generated2(&mut others.processor, "HMAC", 256, &["MAC", "VERIFY"]);
            verify_hmac(&key, &["SHA-256"], &TEXT, &[0; 32])
        }
        Verb::MacGenerate2 => {
            let key = generated2(&mut others.processor, "AES", 256, &["MAC", "GENERATE"]);
            mac2(&key, &["AES"], &TEXT)
        }
        Verb::MacVerify2 => {
            let key = generated2(&mut others.processor, "AES", 256, &["MAC", "VERIFY"]);
            verify_mac2(&key, &["AES"], &TEXT, &[0; 16])
        }
        Verb::FormatPreservingEncipher | Verb::FormatPreservingDecipher | Verb::FormatPreservingTranslate => {
            let token = others.variable_key.clone();
            let position = verb.entry().parameters.iter().position(is_key).unwrap();
            others.ways(verb, position, &token).remove(0)
        }
        Verb::CipherTextTranslate2 => {
            let words = ["IKEY-DES", "I-CBC", "OKEY-DES", "O-CBC"];
            translate(&words, (&others.data, &[1; 8]), (&others.data, &[2; 8]), &TEXT)
        }
        Verb::CryptographicVariableEncipher => {
            let token = generated(&mut others.processor, "CVARENC", "SINGLE");
            key(others, cryptographic_variable_encipher::CVARENC_KEY_ID, &token)
        }
        Verb::CodeConversion => {
            use code_conversion::{CODE_TABLE, CODE_TABLE_LENGTH, SOURCE_TEXT, TEXT_LENGTH};
            let request = request.rules(&["USETABLE"]).counted(TEXT_LENGTH, SOURCE_TEXT, TEXT);
            request.counted(CODE_TABLE_LENGTH, CODE_TABLE, [7; 256])
        }
        Verb::KeyEncryptionTranslate => {
            let kek = others.exporter.clone();
            key(others, key_encryption_translate::KEK_IDENTIFIER, &kek)
        }
        Verb::MacVerify => verify(&others.data, &["X9.19OPT"], &TEXT, &[0; 4]),
        Verb::OneWayHash => {
            use one_way_hash::{CHAINING_VECTOR, CHAINING_VECTOR_LENGTH, HASH, HASH_LENGTH, TEXT_LENGTH};
            let request = request.rules(&["SHA-256", "MIDDLE"]).counted(HASH_LENGTH, HASH, [0; 32]);
            let request = request.counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, [0; 128]);
            request.counted(TEXT_LENGTH, one_way_hash::TEXT, [7; 64])
        }
        Verb::MdcGenerate => {
            use mdc_generate::{CHAINING_VECTOR, MDC, TEXT_DATA, TEXT_LENGTH};
            let request = request.rules(&["MDC-4", "LAST"]).counted(TEXT_LENGTH, TEXT_DATA, TEXT);
            request.bytes(CHAINING_VECTOR, [0; 18]).bytes(MDC, [0; 16])
        }
        Verb::RandomNumberGenerate => request.bytes(random_number_generate::FORM, "ODD     "),
        Verb::RandomNumberGenerateLong => {
            request.rules(&["ODD"]).integer(random_number_generate_long::RANDOM_NUMBER_LENGTH, 9)
        }
        Verb::PkaKeyTokenBuild => {
            use pka_key_token_build::{KEY_VALUES_STRUCTURE, KEY_VALUES_STRUCTURE_LENGTH, TOKEN_LENGTH};
            // Bits, lengths of n, e and d, then e.
            let structure = [&1024u16.to_be_bytes()[..], &[0, 0, 0, 3, 0, 0, 1, 0, 1]].concat();
            let request = request.rules(&["RSA-AESM"]).integer(TOKEN_LENGTH, CAPACITY);
            request.counted(KEY_VALUES_STRUCTURE_LENGTH, KEY_VALUES_STRUCTURE, structure)
        }
        Verb::KeyTokenChange => key(others, key_token_change::KEY_IDENTIFIER, &others.data),
        Verb::PkaKeyTokenChange => key(others, pka_key_token_change::KEY_IDENTIFIER, &others.management),
        Verb::PkaKeyGenerate => key(others, pka_key_generate::GENERATED_KEY_IDENTIFIER, &[]),
        Verb::SymmetricKeyGenerate => key(others, symmetric_key_generate::LOCENC_KEY, &[0; 64]),
        Verb::PkaKeyImport => key(others, pka_key_import::TARGET_KEY_IDENTIFIER, &[]),
        Verb::PkaPublicKeyExtract => {
            key(others, pka_public_key_extract::SOURCE_KEY_IDENTIFIER, &others.clear)
        }
        Verb::PkaEncrypt => key(others, pka_encrypt::RSA_PUBLIC_KEY, &others.public),
        Verb::PkaDecrypt => key(others, pka_decrypt::RSA_PRIVATE_KEY, &others.management),
        Verb::TlsPremaster => key(others, tls_premaster::RSA_PRIVATE_KEY, &others.tls),
        Verb::DigitalSignatureGenerate => {
            key(others, digital_signature_generate::PKA_PRIVATE_KEY_ID, &others.management)
        }
        Verb::DigitalSignatureVerify => {
            key(others, digital_signature_verify::PKA_PUBLIC_KEY_ID, &others.public)
        }
        Verb::EcDiffieHellman => {
            let private = others.deriving[0].clone();
            others.ways(verb, ec_diffie_hellman::PRIVATE_KEY_IDENTIFIER, &private).remove(0)
        }
        Verb::SymmetricKeyExport => {
            let position = symmetric_key_export::RSA_PUBLIC_KEY_IDENTIFIER;
            others.ways(verb, position, &others.public).remove(0)
        }
        Verb::SymmetricKeyImport => {
            key(others, symmetric_key_import::RSA_PRIVATE_KEY_IDENTIFIER, &others.transport)
        }
        Verb::SymmetricKeyImport2 => {
            key(others, symmetric_key_import2::RSA_PRIVATE_KEY_IDENTIFIER, &others.aes_importer)
        }
        other => panic!("{other:?}: say here how it is asked"),
    }
}

/// Runs a check over a good request of every verb of a card.
fn each(check: impl Fn(&mut Others, &'static Entry, &Request)) {
    let mut others = Others::new();
    for entry in verbs() {
        let request = good(&mut others, entry.verb);
        let reply = request.run(&mut others.processor);
        assert!(reply.codes.has_output(), "{}: {}", entry.name, reply.codes);
        check(&mut others, entry, &request);
        // What was refused left nothing behind.
        assert_eq!(request.run(&mut others.processor).codes, reply.codes, "{}", entry.name);
    }
}

/// The codes of a refusal, which shows nothing.
#[track_caller]
fn refused(others: &mut Others, request: &Request, what: &str) -> Codes {
    let reply = request.run(&mut others.processor);
    assert!(reply.codes.return_code == 8 && reply.codes.meaning().is_some(), "{what}: {}", reply.codes);
    for (position, parameter) in request.verb().entry().parameters.iter().enumerate() {
        let is_field = parameter.kind != Kind::Integer && parameter.direction != Direction::In;
        assert!(!is_field || reply.bytes(position).is_empty(), "{what} shows something");
    }
    reply.codes
}

/// The bytes of a field one longer, and one shorter where there is one to leave out.
fn off_by_one(bytes: &[u8]) -> Vec<Vec<u8>> {
    let longer = [bytes, &[0]].concat();
    let shorter = bytes.split_last().map(|(_, shorter)| shorter.to_vec());
    [longer].into_iter().chain(shorter).collect()
}

fn carried(entry: &'static Entry) -> impl Iterator<Item = (usize, &'static Parameter)> {
    entry.parameters.iter().enumerate().filter(|(_, parameter)| parameter.direction != Direction::Out)
}

#[test]
fn every_count_of_keywords_off_by_one() {
    each(|others, entry, request| {
        let payload = request.payload();
        let arguments = Arguments::read_request(entry.verb, &payload).unwrap();
        for (position, parameter) in carried(entry) {
            let Kind::Keywords(count) = parameter.kind else { continue };
            let (words, bytes) = (arguments.integer(count), arguments.bytes(position));
            for wrong in [words - 1, words + 1, -1, i64::MIN, i64::MAX] {
                let what = format!("{} with {wrong} for {words} keywords", entry.name);
                let codes = refused(others, &request.clone().integer(count, wrong), &what);
                assert_eq!(codes, code::KEYWORD_COUNT, "{what}");
            }
            let one_more = [bytes, b"NO-SUCH "].concat();
            for wrong in off_by_one(bytes).into_iter().chain([one_more]) {
                let what = format!("{} with {} bytes of {words} keywords", entry.name, wrong.len());
                let codes = refused(others, &request.clone().bytes(position, wrong), &what);
                assert_eq!(codes, code::KEYWORD_COUNT, "{what}");
            }
        }
    });
}

#[test]
fn every_length_of_a_field_off_by_one() {
    each(|others, entry, request| {
        let payload = request.payload();
        let arguments = Arguments::read_request(entry.verb, &payload).unwrap();
        for (position, parameter) in carried(entry) {
            let length = match parameter.kind {
                Kind::Bytes(Length::By(length)) if parameter.direction == Direction::In => length,
                Kind::Key { length: Length::By(length), .. } if !is_room(entry, length) => length,
                _ => continue,
            };
            let (said, bytes) = (arguments.integer(length), arguments.bytes(position));
            for wrong in [said - 1, said + 1, -1, i64::MIN, i64::MAX] {
                let what = format!("{}.{}: {wrong} for {said} bytes", entry.name, parameter.name);
                refused(others, &request.clone().integer(length, wrong), &what);
            }
            for wrong in off_by_one(bytes) {
                let what = format!("{}.{}: {} bytes for {said}", entry.name, parameter.name, wrong.len());
                refused(others, &request.clone().bytes(position, wrong), &what);
            }
        }
    });
}

/// Whether this length says how much room there is for an output.
fn is_room(entry: &Entry, length: usize) -> bool {
    entry.parameters[length].direction != Direction::In
}

/// Whether this length is that of an input.
fn is_of_input(entry: &Entry, length: usize) -> bool {
    let named = |parameter: &&Parameter| parameter.kind == Kind::Bytes(Length::By(length));
    entry.parameters.iter().filter(named).any(|parameter| parameter.direction == Direction::In)
}

#[test]
fn room_for_an_output_one_byte_too_small() {
    each(|others, entry, request| {
        let reply = request.run(&mut others.processor);
        for (position, parameter) in entry.parameters.iter().enumerate() {
            let length = match parameter.kind {
                Kind::Bytes(Length::By(length)) | Kind::Key { length: Length::By(length), .. } => length,
                _ => continue,
            };
            let needed = reply.bytes(position).len() as i64;
            // Random bytes, and bytes of an HMAC, are as many as there is room for.
            let asks = matches!(
                entry.verb,
                Verb::RandomNumberGenerateLong | Verb::HmacGenerate | Verb::MacGenerate2
            );
            // A token, or a text, that comes back in its own field has the length that it came in.
            let is_own = matches!(parameter.kind, Kind::Key { role: Role::Uses | Role::Renews, .. })
                || entry.verb == Verb::FormatPreservingTranslate;
            let is_asked = parameter.direction != Direction::In && needed != 0 && !is_own && !asks;
            if !is_asked || is_of_input(entry, length) {
                continue;
            }
            for room in [needed - 1, 0, -1, i64::MIN] {
                let what = format!("{}.{} with room for {room}", entry.name, parameter.name);
                let request = request.clone().integer(length, room);
                assert_eq!(refused(others, &request, &what), code::BUFFER_TOO_SMALL, "{what}");
                if is_room(entry, length) && room == needed - 1 {
                    let said = request.run(&mut others.processor).integer(length);
                    assert_eq!(said, needed, "{what}");
                }
            }
        }
    });
}

#[test]
fn every_field_of_a_fixed_length_off_by_one() {
    each(|others, entry, request| {
        for (position, parameter) in carried(entry) {
            let bytes = match parameter.kind {
                Kind::Bytes(Length::Fixed(bytes)) if parameter.null != Null::Ignored => bytes,
                // What its keywords ask for may be part of a longer field.
                Kind::Bytes(Length::Keyed(_)) if entry.verb == Verb::MacVerify => {
                    let what = "a MAC of 3 bytes";
                    let codes = refused(others, &request.clone().bytes(position, [0; 3]), what);
                    assert_eq!(codes, code::INVALID_PARAMETER);
                    continue;
                }
                _ => continue,
            };
            for wrong in off_by_one(&vec![0; bytes]) {
                let what = format!("{}.{} of {} bytes", entry.name, parameter.name, wrong.len());
                let codes = refused(others, &request.clone().bytes(position, wrong), &what);
                assert_eq!(codes, code::INVALID_PARAMETER, "{what}");
            }
        }
    });
}

#[test]
fn every_key_identifier_of_a_fixed_length_off_by_one() {
    each(|others, entry, request| {
        let payload = request.payload();
        let arguments = Arguments::read_request(entry.verb, &payload).unwrap();
        for (position, parameter) in carried(entry) {
            let Kind::Key { length: Length::Fixed(bytes), .. } = parameter.kind else { continue };
            let belongs_to_other_forms =
                entry.verb == Verb::KeyGenerate && position != key_generate::GENERATED_KEY_IDENTIFIER_1;
            if NOT_READ.contains(&(entry.verb, position)) || belongs_to_other_forms {
                continue;
            }
            let mut token = arguments.bytes(position).to_vec();
            token.resize(bytes, 0);
            for wrong in off_by_one(&token) {
                let what = format!("{}.{} of {} bytes", entry.name, parameter.name, wrong.len());
                refused(others, &request.clone().bytes(position, wrong), &what);
            }
        }
    });
    // The second key of a pair is read where there is a pair.
    let mut others = Others::new();
    let pair = generate("MAC", "DOUBLE").bytes(key_generate::KEY_FORM, "OPOP");
    let pair = pair.bytes(key_generate::KEY_TYPE_2, "MACVER  ");
    for wrong in off_by_one(&[0; 64]) {
        let request = pair.clone().bytes(key_generate::GENERATED_KEY_IDENTIFIER_2, wrong);
        assert_eq!(refused(&mut others, &request, "the second key of a pair"), code::TOKEN_INVALID);
    }
    // And what wraps a key, where that is not the master key.
    let forms = [("IM  ", others.importer.clone()), ("EX  ", others.exporter.clone())];
    for (form, kek) in forms {
        let request = generate("MAC", "DOUBLE").bytes(key_generate::KEY_FORM, form);
        request.clone().bytes(key_generate::KEK_KEY_IDENTIFIER_1, &kek).ok(&mut others.processor);
        for wrong in off_by_one(&kek) {
            refused(&mut others, &request.clone().bytes(key_generate::KEK_KEY_IDENTIFIER_1, wrong), form);
        }
    }
}

#[test]
fn what_a_text_goes_on_from_off_by_one() {
    let mut others = Others::new();
    let request = good(&mut others, Verb::OneWayHash);
    for wrong in off_by_one(&[0; 128]) {
        let request = request.clone().bytes(one_way_hash::CHAINING_VECTOR, wrong);
        assert_eq!(refused(&mut others, &request, "the state of a hash"), code::INVALID_PARAMETER);
    }
    let request = good(&mut others, Verb::SymmetricAlgorithmEncipher).rules(&["AES", "KEYIDENT", "CONTINUE"]);
    let request = request.integer(symmetric_algorithm_encipher::CHAIN_DATA_LENGTH, 32);
    for wrong in off_by_one(&[0; 32]) {
        let request = request.clone().bytes(symmetric_algorithm_encipher::CHAIN_DATA, wrong);
        assert_eq!(refused(&mut others, &request, "chaining data"), code::INVALID_PARAMETER);
    }
    let request = good(&mut others, Verb::SymmetricAlgorithmDecipher).rules(&["AES", "KEYIDENT", "GCM"]);
    use symmetric_algorithm_decipher::{
        INITIALIZATION_VECTOR, INITIALIZATION_VECTOR_LENGTH, KEY_PARMS, KEY_PARMS_LENGTH,
    };
    let request = request.counted(INITIALIZATION_VECTOR_LENGTH, INITIALIZATION_VECTOR, [1; 12]);
    let request = request.integer(KEY_PARMS_LENGTH, 16);
    for wrong in off_by_one(&[0; 16]) {
        let request = request.clone().bytes(KEY_PARMS, wrong);
        assert_eq!(refused(&mut others, &request, "a tag"), code::INVALID_PARAMETER);
    }
}

#[test]
fn every_payload_cut_or_longer_by_one_is_malformed() {
    each(|others, entry, request| {
        let payload = request.payload();
        let longer = [&payload[..], &[0]].concat();
        let cut = (0..payload.len()).map(|length| &payload[..length]);
        for wrong in cut.chain([&longer[..]]) {
            let (outcome, reply) = run_raw(&mut others.processor, entry.verb, DOMAIN, wrong);
            let bare = (outcome, reply.codes, reply.payload.len());
            assert_eq!(bare, (Outcome::Malformed, Codes::new(0, 0), 0), "{} {}", entry.name, wrong.len());
        }
    });
}

/// Runs a payload with tokens behind it.
fn run_with_tokens(others: &mut Others, verb: Verb, payload: &[u8], tokens: &[u8]) -> Outcome {
    let mut batch = Batch::new();
    batch.lend().unwrap().extend([payload, tokens].concat());
    batch.keep(verb, (0, DOMAIN), &BUILT_IN[0].points, payload.len());
    others.processor.run(&mut batch);
    let answer = &batch.answers()[0];
    assert!(answer.outcome == Outcome::Answered || answer.payload.is_empty());
    let outcome = answer.outcome;
    // As a card does once a wrong PIN is written down.
    if let Some(Count::Failed(guess)) = answer.count {
        others.processor.counted(&guess, 0);
    }
    outcome
}

#[test]
fn every_reference_one_beyond_the_tokens_is_not_resolved() {
    each(|others, entry, request| {
        let payload = request.payload();
        for (position, parameter) in carried(entry) {
            if !matches!(parameter.kind, Kind::Key { .. }) {
                continue;
            }
            let mut arguments = Arguments::read_request(entry.verb, &payload).unwrap();
            let token = arguments.bytes(position).to_vec();
            let reference = KeyReference { slot: 0, generation: 0 };
            arguments.set(position, Argument::Reference(reference));
            let mut referring = Vec::new();
            arguments.write_request(&mut referring).unwrap();
            let mut fields = Walk::request(entry.verb, &referring).map(Result::unwrap);
            let at = fields.find(|field| field.position == position).unwrap().range.start;
            let end = token.len();
            let what = format!("{}.{}", entry.name, parameter.name);
            if !token.is_empty() {
                assert!(place_token(&mut referring, at, 0..end));
                assert_eq!(
                    run_with_tokens(others, entry.verb, &referring, &token),
                    Outcome::Answered,
                    "{what}"
                );
            }
            for beyond in [0..end + 1, 1..end + 1, end..end + 1, end + 1..end + 2] {
                assert!(place_token(&mut referring, at, beyond.clone()));
                let outcome = run_with_tokens(others, entry.verb, &referring, &token);
                assert_eq!(outcome, Outcome::KeyReference, "{what} {beyond:?}");
            }
        }
    });
}

#[test]
fn a_reference_where_no_key_stands_is_malformed() {
    each(|others, entry, request| {
        let payload = request.payload();
        let fields: Vec<_> = Walk::request(entry.verb, &payload).map(Result::unwrap).collect();
        for field in fields {
            if field.is_key() || field.parameter.kind == Kind::Integer {
                continue;
            }
            let reference = [&u32::MAX.to_le_bytes()[..], &[0; 12]].concat();
            let (before, after) = (&payload[..field.range.start], &payload[field.range.end..]);
            let wrong = [before, &reference, after].concat();
            let outcome = run_raw(&mut others.processor, entry.verb, DOMAIN, &wrong).0;
            assert_eq!(outcome, Outcome::Malformed, "{}.{}", entry.name, field.parameter.name);
        }
    });
}
