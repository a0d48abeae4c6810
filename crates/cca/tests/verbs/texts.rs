//! Code_Conversion, Cryptographic_Variable_Encipher and Key_Encryption_Translate.

use token::control_vector::KeyForm;
use token::des::Origin;
use token::{ControlVector, DesToken};
use verb_requests::peer;
use verb_requests::support::{
    DOMAIN, EMPTY_DOMAIN, OLDER_DOMAIN, Request, entered, generate, generated, imported, processor, text,
};
use wire::code;
use wire::verb::key_generate;
use wire::verb::{
    Verb, code_conversion as xea, cryptographic_variable_encipher as cve, data_key_import,
    key_encryption_translate as ket,
};

fn converted(keyword: &str, text: &[u8], table: &[u8]) -> Request {
    Request::new(Verb::CodeConversion)
        .rules(&[keyword])
        .counted(xea::TEXT_LENGTH, xea::SOURCE_TEXT, text)
        .counted(xea::CODE_TABLE_LENGTH, xea::CODE_TABLE, table)
}

#[test]
fn texts_are_converted_both_ways_and_by_tables() {
    let mut processor = processor();
    let ascii = b"Cryptand [0-9] {a^z}";
    // Code page 1047, read from its chart.
    let ebcdic = [
        0xC3, 0x99, 0xA8, 0x97, 0xA3, 0x81, 0x95, 0x84, 0x40, 0xAD, 0xF0, 0x60, 0xF9, 0xBD, 0x40, 0xC0, 0x81,
        0x5F, 0xA9, 0xD0,
    ];
    let found = converted("TOEBCDIC", ascii, &[]).ok(&mut processor).bytes(xea::TARGET_TEXT);
    assert_eq!(found, ebcdic);
    let found = converted("TOASCII", &ebcdic, &[]).ok(&mut processor).bytes(xea::TARGET_TEXT);
    assert_eq!(found, ascii);
    let every: Vec<u8> = (0..=255).collect();
    for (there, back) in [("TOASCII", "TOEBCDIC"), ("TOEBCDIC", "TOASCII")] {
        let other = converted(there, &every, &[]).ok(&mut processor).bytes(xea::TARGET_TEXT);
        assert_ne!(other, every);
        let again = converted(back, &other, &[]).ok(&mut processor).bytes(xea::TARGET_TEXT);
        assert_eq!(again, every);
    }
    let table: Vec<u8> = every.iter().map(|byte| !byte).collect();
    for surplus in [0, 16] {
        let longer = [&table[..], &vec![0xEE; surplus]].concat();
        let found = converted("USETABLE", ascii, &longer).ok(&mut processor).bytes(xea::TARGET_TEXT);
        assert_eq!(found, ascii.map(|byte| !byte));
    }
    for bytes in [0, 1, 255, 257, 271, 273] {
        converted("USETABLE", ascii, &vec![0; bytes]).refused(&mut processor, code::INVALID_PARAMETER);
    }
    converted("TOASCII", &[], &[]).refused(&mut processor, code::TEXT_LENGTH);
    converted("A-TO-E", ascii, &[]).refused(&mut processor, code::KEYWORD);
}

fn variable(token: &[u8], text: &[u8]) -> Request {
    Request::new(Verb::CryptographicVariableEncipher)
        .bytes(cve::CVARENC_KEY_ID, token)
        .counted(cve::TEXT_LENGTH, cve::PLAIN_TEXT, text)
        .bytes(cve::INIT_VECTOR, [5; 8])
}

#[test]
fn a_cvarenc_key_enciphers_and_no_other_does() {
    let mut processor = processor();
    let token = generated(&mut processor, "CVARENC", "SINGLE");
    for length in [8, 16, 256, 1024] {
        let message = text(length);
        let whole = variable(&token, &message).ok(&mut processor).bytes(cve::CIPHER_TEXT);
        assert_eq!(whole.len(), length);
        // CBC: the first block decides the second, and so on.
        let first = variable(&token, &message[..8]).ok(&mut processor).bytes(cve::CIPHER_TEXT);
        assert_eq!(whole[..8], first);
        let rest = variable(&token, &message[8..]).bytes(cve::INIT_VECTOR, &first);
        if length > 8 {
            assert_eq!(rest.ok(&mut processor).bytes(cve::CIPHER_TEXT), whole[8..]);
        }
    }
    for length in [0, 1, 7, 9] {
        variable(&token, &text(length)).refused(&mut processor, code::TEXT_LENGTH);
    }
    // The other types of cryptographic variables among them.
    for (key_type, length) in [
        ("CVARDEC", "SINGLE"),
        ("CVARPINE", "SINGLE"),
        ("CVARXCVL", "SINGLE"),
        ("CVARXCVR", "SINGLE"),
        ("DATA", "SINGLE"),
        ("ENCIPHER", "DOUBLE"),
        ("MAC", "SINGLE"),
    ] {
        let other = generated(&mut processor, key_type, length);
        variable(&other, &text(8)).refused(&mut processor, code::KEY_USAGE);
    }
    variable(&token, &text(8)).domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    let old = generate("CVARENC", "SINGLE").domain(OLDER_DOMAIN).ok(&mut processor);
    let old = old.bytes(key_generate::GENERATED_KEY_IDENTIFIER_1);
    let reply = variable(&old, &text(8)).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    let again = variable(&reply.bytes(cve::CVARENC_KEY_ID), &text(8)).domain(DOMAIN).ok(&mut processor);
    assert_eq!(again.bytes(cve::CIPHER_TEXT), reply.bytes(cve::CIPHER_TEXT));
}

const TRANSPORT: [u8; 16] =
    [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE];

fn changed(keyword: &str, kek: &[u8], key: &[u8]) -> Request {
    Request::new(Verb::KeyEncryptionTranslate)
        .rules(&[keyword])
        .counted(ket::KEK_IDENTIFIER_LENGTH, ket::KEK_IDENTIFIER, kek)
        .counted(ket::KEY_IN_LENGTH, ket::KEY_IN, key)
        .integer(ket::KEY_OUT_LENGTH, 64)
}

/// An external token with a control vector of zeros over these blocks.
fn external(blocks: &[u8], vector: ControlVector) -> Vec<u8> {
    let skeleton = DesToken::skeleton(Origin::External, KeyForm::Double, vector).unwrap();
    skeleton.with_key([0; 8], blocks).unwrap().to_bytes().to_vec()
}

#[test]
fn a_data_key_changes_between_a_block_and_a_token() {
    let mut processor = processor();
    let importer = entered(&mut processor, "IMPORTER", &["IMPORT"], &TRANSPORT);
    let exporter = entered(&mut processor, "EXPORTER", &["EXPORT"], &TRANSPORT);
    // With odd parity, as every key without a control vector leaves.
    let odd = |byte: u8| byte ^ u8::from(byte.count_ones().is_multiple_of(2));
    let key = text(16).iter().map(|byte| odd(byte ^ 0x35)).collect::<Vec<_>>();
    let block = peer::des_cbc(&TRANSPORT, &[0; 8], &key);
    let token = external(&peer::des(&TRANSPORT, true, &key), ControlVector::ZERO);
    let made = changed("CBCTOECB", &importer, &block).ok(&mut processor).bytes(ket::KEY_OUT);
    assert_eq!(made, token);
    assert_eq!(changed("ECBTOCBC", &exporter, &made).ok(&mut processor).bytes(ket::KEY_OUT), block);
    // The key in it is the key: it comes in and enciphers.
    let importing = Request::new(Verb::DataKeyImport)
        .bytes(data_key_import::SOURCE_KEY_TOKEN, &made)
        .bytes(data_key_import::IMPORTER_KEY_IDENTIFIER, &importer)
        .bytes(data_key_import::TARGET_KEY_IDENTIFIER, [0; 64]);
    let codes = importing.run(&mut processor).codes;
    assert!(codes.has_output(), "{codes}");

    for bytes in [0, 8, 15, 17, 64] {
        changed("CBCTOECB", &importer, &vec![1; bytes]).refused(&mut processor, code::INVALID_PARAMETER);
    }
    changed("CBCTOECB", &importer, &block)
        .integer(ket::KEY_OUT_LENGTH, 63)
        .refused(&mut processor, code::BUFFER_TOO_SMALL);
    changed("ECBTOCBC", &exporter, &made)
        .integer(ket::KEY_OUT_LENGTH, 15)
        .refused(&mut processor, code::BUFFER_TOO_SMALL);
}

#[test]
fn it_takes_no_other_key_and_no_other_type() {
    let mut processor = processor();
    let importer = entered(&mut processor, "IMPORTER", &["IMPORT"], &TRANSPORT);
    let exporter = entered(&mut processor, "EXPORTER", &["EXPORT"], &TRANSPORT);
    let translating = entered(&mut processor, "IMPORTER", &["XLATE"], &TRANSPORT);
    let data = imported(&mut processor, "DES", &TRANSPORT);
    for kek in [&exporter, &translating, &data] {
        changed("CBCTOECB", kek, &[1; 16]).refused(&mut processor, code::KEY_USAGE);
    }
    let token = external(&[7; 16], ControlVector::ZERO);
    for kek in [&importer, &translating, &data] {
        changed("ECBTOCBC", kek, &token).refused(&mut processor, code::KEY_USAGE);
    }
    // A token whose control vector says a type: its key is under another variant, and would come out as that.
    for key_type in ["MAC", "DATA", "EXPORTER"] {
        let vector = token::KeyType::from_name(key_type.as_bytes()).unwrap();
        let other = external(&[7; 16], vector.default_vector(KeyForm::Double).unwrap());
        changed("ECBTOCBC", &exporter, &other).refused(&mut processor, code::CONTROL_VECTOR_NOT_DATA);
    }
    changed("ECBTOCBC", &exporter, &data).refused(&mut processor, code::TOKEN_INVALID);
}
