//! Blocks of a private key under a transport key of DES, given out as DES keys.

use crate::exchange::Keks;
use crate::pka_transport::{BOTH, enciphered, foreign, imp_pka, opened};
use openssl::rsa::Rsa;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{ControlVector, DesToken, KeyType};
use verb_requests::peer;
use verb_requests::support::{Request, entered, processor, text};
use verb_requests::uses::ways::{TRANSPORT, generate_under, import_under as import, rsa_skeleton};
use wire::code;
use wire::role::BUILT_IN;
use wire::verb::{
    Verb, data_key_import as dkm, encipher as enc, key_generate as kgn, key_import as kim,
    key_test_extended as kytx, key_test2 as kyt2, key_translate as ktr, pka_key_generate as pkg,
    prohibit_export_extended as pexx,
};

/// A DES DATA key of single length in an external token without a control vector.
fn as_data_key(block: &[u8]) -> Vec<u8> {
    let skeleton = DesToken::skeleton(Origin::External, KeyForm::Single, ControlVector::ZERO).unwrap();
    skeleton.with_key([0; 8], block).unwrap().to_bytes().to_vec()
}

/// What private numbers are enciphered to, brought in block by block as DES keys: each is a number xor a block that is
/// known.
#[test]
fn blocks_of_a_private_key_are_no_des_keys() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let importer = imp_pka(&mut processor, &TRANSPORT);
    let key = Rsa::generate(512).unwrap();
    let token = foreign(&key, 0x08);
    let area = enciphered(&token);
    let (before, block) = (&token[area.start..area.start + 8], &token[area.start + 8..area.start + 16]);
    let stolen = as_data_key(block);

    // Under a key that imports both, the first 8 bytes of a prime are a DATA key.
    let data_key = |importer: &[u8]| {
        Request::new(Verb::DataKeyImport)
            .bytes(dkm::SOURCE_KEY_TOKEN, &stolen)
            .bytes(dkm::IMPORTER_KEY_IDENTIFIER, importer)
            .bytes(dkm::TARGET_KEY_IDENTIFIER, [0; 64])
    };
    import(&token, &keks.importer).points(BOTH).ok(&mut processor);
    let data = data_key(&keks.importer).points(BOTH).run(&mut processor);
    assert!(data.codes.has_output());
    let secret = peer::xor(&key.p().unwrap().to_vec()[..8], before);
    let shown = Request::new(Verb::Encipher)
        .bytes(enc::KEY_IDENTIFIER, data.bytes(dkm::TARGET_KEY_IDENTIFIER))
        .counted(enc::TEXT_LENGTH, enc::PLAINTEXT, text(8))
        .bytes(enc::INITIALIZATION_VECTOR, [0; 8])
        .integer(enc::PAD_CHARACTER, 0)
        .run(&mut processor);
    assert_eq!(shown.bytes(enc::CIPHERTEXT), peer::des(&secret, true, &text(8)), "the attack bites");

    // So that key does not carry private keys, and one that does imports, tests, translates and makes nothing else.
    import(&token, &keks.importer).refused(&mut processor, code::KEY_USAGE);
    import(&token, &importer).ok(&mut processor);
    data_key(&importer).refused(&mut processor, code::KEY_USAGE);
    for points in [&BUILT_IN[0].points, BOTH] {
        data_key(&importer).points(points).refused(&mut processor, code::KEY_USAGE);
        Request::new(Verb::KeyImport)
            .points(points)
            .bytes(kim::KEY_TYPE, "TOKEN   ")
            .bytes(kim::SOURCE_KEY_TOKEN, &stolen)
            .bytes(kim::IMPORTER_KEY_IDENTIFIER, &importer)
            .bytes(kim::TARGET_KEY_IDENTIFIER, [0; 64])
            .refused(&mut processor, code::KEY_USAGE);
        Request::new(Verb::KeyTestExtended)
            .points(points)
            .rules(&["GENERATE", "ENC-ZERO"])
            .bytes(kytx::KEY_IDENTIFIER, &stolen)
            .bytes(kytx::KEK_KEY_IDENTIFIER, &importer)
            .refused(&mut processor, code::KEY_USAGE);
        for (from, to) in [(&importer, &keks.exporter), (&keks.importer, &importer)] {
            Request::new(Verb::KeyTranslate)
                .points(points)
                .bytes(ktr::INPUT_KEY_TOKEN, &stolen)
                .bytes(ktr::INPUT_KEK_KEY_IDENTIFIER, from)
                .bytes(ktr::OUTPUT_KEK_KEY_IDENTIFIER, to)
                .refused(&mut processor, code::KEY_USAGE);
        }
        Request::new(Verb::ProhibitExportExtended)
            .points(points)
            .bytes(pexx::SOURCE_KEY_TOKEN, &stolen)
            .bytes(pexx::KEK_KEY_IDENTIFIER, &importer)
            .refused(&mut processor, code::KEY_USAGE);
        for form in ["IM  ", "OPIM", "IMIM"] {
            let request = Request::new(Verb::KeyGenerate)
                .points(points)
                .bytes(kgn::KEY_FORM, form)
                .bytes(kgn::KEY_LENGTH, "DOUBLE  ")
                .bytes(kgn::KEY_TYPE_1, "DATA    ")
                .bytes(kgn::KEY_TYPE_2, if form == "IM  " { "        " } else { "DATA    " })
                .bytes(kgn::GENERATED_KEY_IDENTIFIER_1, [0; 64])
                .bytes(kgn::GENERATED_KEY_IDENTIFIER_2, [0; 64])
                .bytes(kgn::KEK_KEY_IDENTIFIER_1, &importer)
                .bytes(kgn::KEK_KEY_IDENTIFIER_2, &importer);
            assert_eq!(request.run(&mut processor).codes.return_code, 8, "{form}");
        }
    }
    // An IMPORTER key with no use but IMPORT that stays here is such a key by its control vector.
    let narrow = entered(&mut processor, "IMPORTER", &["IMPORT", "NO-XPORT"], &TRANSPORT);
    assert_eq!(narrow[32..48], importer[32..48]);
    data_key(&narrow).refused(&mut processor, code::KEY_USAGE);
}

/// The same on the side that private keys leave from: there no verb makes a block a key, and a pattern of one would be
/// enough for a search of DES keys.
#[test]
fn blocks_of_a_private_key_are_not_tested_as_des_keys() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let crt = rsa_skeleton(&mut processor, "RSA-CRT", 512);
    let token = generate_under(&crt, &keks.exporter).ok(&mut processor).bytes(pkg::GENERATED_KEY_IDENTIFIER);
    let area = enciphered(&token);
    let (before, block) = (&token[area.start..area.start + 8], &token[area.start + 8..area.start + 16]);
    let extended = |stolen: &[u8], kek: &[u8]| {
        Request::new(Verb::KeyTestExtended)
            .rules(&["GENERATE", "ENC-ZERO"])
            .bytes(kytx::KEY_IDENTIFIER, stolen)
            .bytes(kytx::KEK_KEY_IDENTIFIER, kek)
    };
    let second = |stolen: &[u8], kek: &[u8], method: &'static str| {
        Request::new(Verb::KeyTest2)
            .rules(&["DES", "GENERATE", method])
            .counted(kyt2::KEY_IDENTIFIER_LENGTH, kyt2::KEY_IDENTIFIER, stolen)
            .counted(kyt2::KEK_KEY_IDENTIFIER_LENGTH, kyt2::KEK_KEY_IDENTIFIER, kek)
            .integer(kyt2::VERIFICATION_PATTERN_LENGTH, 16)
    };
    // What the pattern tells: the first bytes of a prime, by whoever tries every DES key.
    let secret = peer::xor(&opened(&token).p().unwrap().to_vec()[..8], before);
    let shown = extended(&as_data_key(block), &keks.importer).ok(&mut processor);
    assert_eq!(
        shown.bytes(kytx::VERIFICATION_PATTERN)[..4],
        peer::des(&secret, true, &[0; 8])[..4],
        "it bites"
    );

    // Of one, two or three blocks, wherever they lie, by either verb and any method.
    let exporting = entered(&mut processor, "EXPORTER", &["EXPORT"], &TRANSPORT);
    for kek in [&keks.exporter, &exporting] {
        for (form, bytes) in [(KeyForm::Single, 8), (KeyForm::Double, 16), (KeyForm::Triple, 24)] {
            let skeleton = DesToken::skeleton(Origin::External, form, ControlVector::ZERO).unwrap();
            for at in (area.start..area.end - bytes + 1).step_by(8) {
                let stolen = skeleton.with_key([0; 8], &token[at..at + bytes]).unwrap().to_bytes();
                extended(&stolen, kek).refused(&mut processor, code::KEY_USAGE);
                second(&stolen, kek, "ENC-ZERO").refused(&mut processor, code::KEY_USAGE);
                second(&stolen, kek, "CMACZERO").refused(&mut processor, code::KEY_USAGE);
            }
        }
        // The token of the private key itself, and its blocks where the token of a DES key has none, are no DES keys at
        // all.
        extended(&token[..64], kek).refused(&mut processor, code::TOKEN_INVALID);
        second(&token, kek, "ENC-ZERO").refused(&mut processor, code::TOKEN_INVALID);
        let null = [&[0; 16][..], block, &[0; 40]].concat();
        assert_eq!(extended(&null, kek).told(&mut processor).codes.return_code, 8);
        assert_eq!(second(&null, kek, "ENC-ZERO").told(&mut processor).codes.return_code, 8);
        // A control vector changes what the block is deciphered by, and so does the enhanced wrapping: nothing of it is
        // told.
        let mac = KeyType::Mac.default_vector(KeyForm::Single).unwrap();
        for (vector, is_enhanced) in [(mac, false), (mac, true), (ControlVector::ZERO, true)] {
            let skeleton = DesToken::skeleton(Origin::External, KeyForm::Single, vector).unwrap();
            let stolen = skeleton.with_enhanced(is_enhanced).with_key([0; 8], block).unwrap().to_bytes();
            let told = extended(&stolen, kek).ok(&mut processor).bytes(kytx::VERIFICATION_PATTERN);
            assert_ne!(told[..4], peer::des(&secret, true, &[0; 8])[..4]);
        }
    }
    // Keys that carry no private keys test what they tested.
    for kek in [
        entered(&mut processor, "OKEYXLAT", &[], &TRANSPORT),
        entered(&mut processor, "EXPORTER", &["OPEX"], &TRANSPORT),
    ] {
        generate_under(&crt, &kek).refused(&mut processor, code::KEY_USAGE);
        extended(&as_data_key(block), &kek).ok(&mut processor);
        second(&as_data_key(block), &kek, "ENC-ZERO").ok(&mut processor);
    }
}
