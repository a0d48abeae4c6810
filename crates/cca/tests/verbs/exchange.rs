//! Key_Import, Key_Export, their forms for DATA keys, Key_Translate, Key_Test_Extended, the forms of Key_Generate under
//! key-encrypting keys, and the verbs that forbid export.

use cca::Processor;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{DesToken, KeyType};
use verb_requests::peer;
use verb_requests::support::{
    OLDER_DOMAIN, Request, entered, generate, generated, imported, mac, processor, skeleton, sym_key, text,
};
use verb_requests::uses::ways::TRANSPORT;
use wire::code;
use wire::verb::{
    Verb, data_key_export as dkx, data_key_import as dkm, key_export as kex, key_generate as kgn,
    key_import as kim, key_test_extended as kytx, key_translate as ktr, prohibit_export as pex,
    prohibit_export_extended as pexx,
};

/// The key-encrypting keys of a system that exchanges keys.
pub struct Keks {
    pub importer: Vec<u8>,
    pub exporter: Vec<u8>,
}

impl Keks {
    pub fn new(processor: &mut Processor) -> Self {
        let importer =
            entered(processor, "IMPORTER", &["OPIM", "IMEX", "IMIM", "IMPORT", "XLATE"], &TRANSPORT);
        let exporter =
            entered(processor, "EXPORTER", &["OPEX", "IMEX", "EXEX", "EXPORT", "XLATE"], &TRANSPORT);
        Self { importer, exporter }
    }

    pub fn export(&self, key_type: &str, source: &[u8]) -> Request {
        Request::new(Verb::KeyExport)
            .bytes(kex::KEY_TYPE, format!("{key_type:8}"))
            .bytes(kex::SOURCE_KEY_IDENTIFIER, source)
            .bytes(kex::EXPORTER_KEY_IDENTIFIER, &self.exporter)
    }

    pub fn import(&self, key_type: &str, source: &[u8]) -> Request {
        Request::new(Verb::KeyImport)
            .bytes(kim::KEY_TYPE, format!("{key_type:8}"))
            .bytes(kim::SOURCE_KEY_TOKEN, source)
            .bytes(kim::IMPORTER_KEY_IDENTIFIER, &self.importer)
            .bytes(kim::TARGET_KEY_IDENTIFIER, [0; 64])
    }

    pub fn exported(&self, processor: &mut Processor, source: &[u8]) -> Vec<u8> {
        self.export("TOKEN", source).ok(processor).bytes(kex::TARGET_KEY_TOKEN)
    }

    pub fn imported(&self, processor: &mut Processor, source: &[u8]) -> Vec<u8> {
        self.import("TOKEN", source).ok(processor).bytes(kim::TARGET_KEY_IDENTIFIER)
    }
}

/// The key of an external token, by another library.
fn opened(token: &[u8]) -> Vec<u8> {
    assert_eq!((token[0], &token[8..16]), (2, &[0; 8][..]));
    // The peer reads a wrapping key of three parts.
    peer::unwrap_token(&[&TRANSPORT[..], &TRANSPORT[..8]].concat(), token)
}

fn key_of(token: &[u8]) -> Vec<u8> {
    peer::unwrap_token(&sym_key(false), token)
}

#[test]
fn every_type_goes_out_by_the_book_and_comes_back_the_same() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    for key_type in KeyType::ALL.iter().copied() {
        for form in [KeyForm::Single, KeyForm::Double, KeyForm::DoubleUnique] {
            let vector = match key_type {
                KeyType::KeyGenKy if form == KeyForm::Double => key_type.vector_with(form, ["UKPT"]).ok(),
                KeyType::SecMsg if form == KeyForm::Double => key_type.vector_with(form, ["SMPIN"]).ok(),
                _ => key_type.default_vector(form),
            };
            let Some(vector) = vector.filter(|vector| vector.bit(17)) else { continue };
            let form = vector.form().unwrap();
            let asked = DesToken::skeleton(Origin::Internal, form, vector).unwrap().to_bytes();
            let token =
                generate("TOKEN", "").bytes(kgn::GENERATED_KEY_IDENTIFIER_1, asked).ok(&mut processor);
            let token = token.bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
            let external =
                keks.export(key_type.name(), &token).ok(&mut processor).bytes(kex::TARGET_KEY_TOKEN);
            assert_eq!(external[32..48], token[32..48], "{key_type:?} {form:?}");
            assert_eq!(opened(&external), key_of(&token), "{key_type:?} {form:?}");
            let back = keks.import(key_type.name(), &external).ok(&mut processor);
            let back = back.bytes(kim::TARGET_KEY_IDENTIFIER);
            assert_eq!((key_of(&back), &back[32..48]), (key_of(&token), &token[32..48]));
        }
    }
}

#[test]
fn data_keys_go_with_and_without_a_control_vector() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let zero = skeleton(&mut processor, "DATA", &["NO-CV", "DOUBLE"]);
    let zero = generate("TOKEN", "DOUBLE").bytes(kgn::GENERATED_KEY_IDENTIFIER_1, zero).ok(&mut processor);
    let zero = zero.bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
    let single = imported(&mut processor, "DES", &[0x13; 8]);
    for token in [zero, single] {
        let external = Request::new(Verb::DataKeyExport)
            .bytes(dkx::SOURCE_KEY_IDENTIFIER, &token)
            .bytes(dkx::EXPORTER_KEY_IDENTIFIER, &keks.exporter)
            .ok(&mut processor)
            .bytes(dkx::TARGET_KEY_TOKEN);
        assert_eq!(opened(&external), key_of(&token));
        let back = Request::new(Verb::DataKeyImport)
            .bytes(dkm::SOURCE_KEY_TOKEN, &external)
            .bytes(dkm::IMPORTER_KEY_IDENTIFIER, &keks.importer)
            .bytes(dkm::TARGET_KEY_IDENTIFIER, [0; 64])
            .ok(&mut processor)
            .bytes(dkm::TARGET_KEY_IDENTIFIER);
        assert_eq!(key_of(&back), key_of(&token));
    }
    let cipher = generated(&mut processor, "CIPHER", "DOUBLE");
    let external = keks.exported(&mut processor, &cipher);
    Request::new(Verb::DataKeyExport)
        .bytes(dkx::SOURCE_KEY_IDENTIFIER, &cipher)
        .bytes(dkx::EXPORTER_KEY_IDENTIFIER, &keks.exporter)
        .refused(&mut processor, code::CONTROL_VECTOR_NOT_DATA);
    Request::new(Verb::DataKeyImport)
        .bytes(dkm::SOURCE_KEY_TOKEN, &external)
        .bytes(dkm::IMPORTER_KEY_IDENTIFIER, &keks.importer)
        .bytes(dkm::TARGET_KEY_IDENTIFIER, [0; 64])
        .refused(&mut processor, code::TYPE_AND_VECTOR);
}

#[test]
fn a_null_token_has_a_key_of_single_length_at_offset_16() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let key = [0x13, 0x25, 0x37, 0x49, 0x5B, 0x6D, 0x7F, 0x80];
    for (key_type, left) in [("DATA", 0u64), ("MAC", 0x0005_4D00_0300_0000)] {
        let mut source = [0; 64];
        let wrapped = peer::wrap_des(&TRANSPORT, [left.to_be_bytes(); 3], &key);
        source[16..24].copy_from_slice(&wrapped);
        let token = keks.import(key_type, &source).ok(&mut processor).bytes(kim::TARGET_KEY_IDENTIFIER);
        assert_eq!((key_of(&token), &token[32..40]), (key.to_vec(), &left.to_be_bytes()[..]));
        keks.import("TOKEN", &source).refused(&mut processor, code::NO_CONTROL_VECTOR);
        keks.import("IMPORTER", &source).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    }
}

/// Tokens of a key form, by the key-encrypting keys.
fn generated_as(keks: &Keks, form: &str, one: &str, two: &str) -> Request {
    let kek = |place: &str| if place == "IM" { keks.importer.clone() } else { keks.exporter.clone() };
    let request = generate(one, "DOUBLE")
        .bytes(kgn::KEY_FORM, format!("{form:4}"))
        .bytes(kgn::KEY_TYPE_2, format!("{two:8}"))
        .bytes(kgn::GENERATED_KEY_IDENTIFIER_2, [0; 64]);
    let request = request.bytes(kgn::KEK_KEY_IDENTIFIER_1, kek(&form[..2]));
    if form.len() == 4 { request.bytes(kgn::KEK_KEY_IDENTIFIER_2, kek(&form[2..])) } else { request }
}

#[test]
fn each_key_form_puts_one_key_where_it_says() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let value = |token: &[u8]| if token[0] == 2 { opened(token) } else { key_of(token) };
    for form in ["OPOP", "OPIM", "OPEX", "IMIM", "IMEX", "EXEX"] {
        let reply = generated_as(&keks, form, "MAC", "MACVER").ok(&mut processor);
        let tokens =
            [kgn::GENERATED_KEY_IDENTIFIER_1, kgn::GENERATED_KEY_IDENTIFIER_2].map(|at| reply.bytes(at));
        assert_eq!(value(&tokens[0]), value(&tokens[1]), "{form}");
        for (token, place) in tokens.iter().zip([&form[..2], &form[2..]]) {
            assert_eq!(token[0], if place == "OP" { 1 } else { 2 }, "{form}");
        }
        let vector = |key_type: KeyType| key_type.default_vector(KeyForm::Double).unwrap().to_bytes();
        assert_eq!(tokens[0][32..48], vector(KeyType::Mac));
        assert_eq!(tokens[1][32..48], vector(KeyType::MacVer));
    }
    for form in ["IM", "EX"] {
        let reply = generated_as(&keks, form, "DATA", "").ok(&mut processor);
        assert_eq!(opened(&reply.bytes(kgn::GENERATED_KEY_IDENTIFIER_1)).len(), 16);
        assert!(reply.bytes(kgn::GENERATED_KEY_IDENTIFIER_2).is_empty());
        generated_as(&keks, form, "EXPORTER", "").refused(&mut processor, code::KEYWORD_COMBINATION);
        generated_as(&keks, form, "AESDATA", "").refused(&mut processor, code::KEYWORD_COMBINATION);
    }
}

#[test]
fn a_skeleton_says_what_an_external_key_is() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let vector = KeyType::Exporter.vector_with(KeyForm::Double, ["EXPORT", "NO-XPORT"]).unwrap();
    let skeleton =
        |origin, vector| DesToken::skeleton(origin, KeyForm::Double, vector).unwrap().to_bytes().to_vec();
    let importer = KeyType::Importer.default_vector(KeyForm::Double).unwrap();
    let request = generated_as(&keks, "OPEX", "TOKEN", "TOKEN")
        .bytes(kgn::KEY_LENGTH, "        ")
        .bytes(kgn::GENERATED_KEY_IDENTIFIER_1, skeleton(Origin::Internal, vector))
        .bytes(kgn::GENERATED_KEY_IDENTIFIER_2, skeleton(Origin::External, importer));
    let reply = request.ok(&mut processor);
    let one = reply.bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
    assert_eq!(one[32..48], vector.to_bytes());
    assert_eq!(key_of(&one), opened(&reply.bytes(kgn::GENERATED_KEY_IDENTIFIER_2)));
    // An internal skeleton where an external one belongs, and two types that do not go together.
    let wrong = request.clone().bytes(kgn::GENERATED_KEY_IDENTIFIER_2, skeleton(Origin::Internal, importer));
    wrong.refused(&mut processor, code::TOKEN_INVALID);
    let mac = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
    let wrong = request.bytes(kgn::GENERATED_KEY_IDENTIFIER_2, skeleton(Origin::External, mac));
    wrong.refused(&mut processor, code::KEYWORD_COMBINATION);
}

/// Every pair of types in every form: what table 2 of Key_Generate's usage notes has. CVAR keys are left out.
#[test]
fn pairs_of_types_are_those_of_the_table() {
    const ALL: [&str; 6] = ["OPEX", "EXEX", "OPIM", "OPOP", "IMIM", "IMEX"];
    const APART: [&str; 3] = ["OPEX", "EXEX", "IMEX"];
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let own = ["CIPHER", "DATA", "DATAC", "DATAM", "MAC", "DKYGENKY"];
    let together = [
        ("CIPHER", "DECIPHER"),
        ("CIPHER", "ENCIPHER"),
        ("DECIPHER", "ENCIPHER"),
        ("DATAM", "DATAMV"),
        ("MAC", "MACVER"),
        ("IPINENC", "OPINENC"),
    ];
    let apart = [
        ("EXPORTER", "IMPORTER"),
        ("EXPORTER", "IKEYXLAT"),
        ("OKEYXLAT", "IMPORTER"),
        ("OKEYXLAT", "IKEYXLAT"),
        ("PINGEN", "PINVER"),
    ];
    let is_in = |pairs: &[(&str, &str)], one, two| pairs.contains(&(one, two)) || pairs.contains(&(two, one));
    let names: Vec<&str> = KeyType::ALL.iter().map(|key_type| key_type.name()).collect();
    let names = names.iter().copied().filter(|name| !["KEYGENKY", "SECMSG"].contains(name));
    let mut served = 0;
    for (one, two) in names.clone().flat_map(|one| names.clone().map(move |two| (one, two))) {
        for form in ALL {
            let is_everywhere = (one == two && own.contains(&one)) || is_in(&together, one, two);
            let is_served = is_everywhere || (APART.contains(&form) && is_in(&apart, one, two));
            let codes = generated_as(&keks, form, one, two).run(&mut processor).codes;
            assert_eq!(codes == code::OK, is_served, "{form} {one} {two}: {codes}");
            served += usize::from(is_served);
        }
    }
    assert_eq!(served, 6 * (6 + 12) + 3 * 10);
    // Keys for cryptographic variables, which have single length, go to another system, and none of the pair stays for
    // its reverse.
    let variables =
        [("CVARDEC", "CVARENC"), ("CVARDEC", "CVARPINE"), ("CVARENC", "CVARXCVL"), ("CVARENC", "CVARXCVR")];
    for (one, two) in names.clone().flat_map(|one| names.clone().map(move |two| (one, two))) {
        if !one.starts_with("CVAR") {
            continue;
        }
        for form in ALL {
            let is_served = ["OPEX", "EXEX"].contains(&form) && is_in(&variables, one, two);
            let request = generated_as(&keks, form, one, two).bytes(kgn::KEY_LENGTH, "        ");
            let codes = request.told(&mut processor).codes;
            assert_eq!(codes == code::OK, is_served, "{form} {one} {two}: {codes}");
        }
    }
}

#[test]
fn a_translation_changes_what_wraps_the_key_and_nothing_else() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let other: [u8; 16] = std::array::from_fn(|at| 0x20 + 2 * at as u8);
    let output = entered(&mut processor, "OKEYXLAT", &[], &other);
    let mac_key = generated(&mut processor, "MAC", "DOUBLE");
    let external = keks.exported(&mut processor, &mac_key);
    let translate = |source: &[u8]| {
        Request::new(Verb::KeyTranslate)
            .bytes(ktr::INPUT_KEY_TOKEN, source)
            .bytes(ktr::INPUT_KEK_KEY_IDENTIFIER, &keks.importer)
            .bytes(ktr::OUTPUT_KEK_KEY_IDENTIFIER, &output)
    };
    let translated = translate(&external).ok(&mut processor).bytes(ktr::OUTPUT_KEY_TOKEN);
    assert_eq!(translated[..16], external[..16]);
    assert_eq!(translated[32..48], external[32..48]);
    let key: Vec<u8> = other.iter().map(|byte| byte ^ u8::from(byte.count_ones() % 2 == 0)).collect();
    let wrapping = [&key[..], &key[..8]].concat();
    assert_eq!(peer::unwrap_token(&wrapping, &translated), key_of(&mac_key));
    translate(&mac_key).refused(&mut processor, code::TOKEN_INVALID);
    let no_xlate = generated(&mut processor, "EXPORTER", "");
    translate(&external)
        .bytes(ktr::OUTPUT_KEK_KEY_IDENTIFIER, no_xlate)
        .refused(&mut processor, code::KEY_USAGE);
}

fn tested(keks: &Keks, rules: &[&str], token: &[u8]) -> Request {
    Request::new(Verb::KeyTestExtended)
        .rules(rules)
        .bytes(kytx::KEY_IDENTIFIER, token)
        .bytes(kytx::KEK_KEY_IDENTIFIER, &keks.importer)
}

#[test]
fn a_pattern_is_that_of_the_key_wherever_it_is() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let mac_key = generated(&mut processor, "MAC", "DOUBLE");
    let external = keks.exported(&mut processor, &mac_key);
    let inside = tested(&keks, &["GENERATE", "ENC-ZERO"], &mac_key).ok(&mut processor);
    let outside = tested(&keks, &["GENERATE", "ENC-ZERO", "KEY-ENCD"], &external).ok(&mut processor);
    let expected = peer::des(&key_of(&mac_key), true, &[0; 8]);
    assert_eq!(outside.bytes(kytx::VERIFICATION_PATTERN)[..4], expected[..4]);
    assert_eq!(inside.payload, outside.payload);
    let made = tested(&keks, &["GENERATE"], &external).ok(&mut processor);
    let verify = |token: &[u8], pattern: &[u8]| {
        tested(&keks, &["VERIFY"], token)
            .bytes(kytx::RANDOM_NUMBER, made.bytes(kytx::RANDOM_NUMBER))
            .bytes(kytx::VERIFICATION_PATTERN, pattern)
    };
    let mut pattern = made.bytes(kytx::VERIFICATION_PATTERN);
    verify(&mac_key, &pattern).ok(&mut processor);
    for source in ["KEY-ENC", "TOKEN"] {
        for parity in ["ADJUST", "NOADJUST"] {
            // Cards make keys of odd parity.
            verify(&external, &pattern).rules(&["VERIFY", source, parity]).ok(&mut processor);
        }
    }
    verify(&external, &pattern).ok(&mut processor);
    pattern[7] ^= 1;
    verify(&external, &pattern).answers(&mut processor, code::VERIFICATION_FAILED);
    let without = tested(&keks, &["GENERATE"], &external).bytes(kytx::KEK_KEY_IDENTIFIER, [0; 64]);
    without.refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn export_once_forbidden_stays_so() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let mac_key = generated(&mut processor, "MAC", "DOUBLE");
    let external = keks.exported(&mut processor, &mac_key);
    let kept = Request::new(Verb::ProhibitExport).bytes(pex::KEY_IDENTIFIER, &mac_key).ok(&mut processor);
    let kept = kept.bytes(pex::KEY_IDENTIFIER);
    let vector = DesToken::parse(&kept).unwrap().control_vector();
    assert_eq!(vector.left(), 0x0005_0C00_0341_0000);
    assert_eq!(key_of(&kept), key_of(&mac_key));
    mac(&kept, &["X9.19OPT"], &text(16)).ok(&mut processor);
    keks.export("TOKEN", &kept).refused(&mut processor, code::KEY_USAGE);
    for kek in [&keks.importer, &keks.exporter] {
        let sent = Request::new(Verb::ProhibitExportExtended)
            .bytes(pexx::SOURCE_KEY_TOKEN, &external)
            .bytes(pexx::KEK_KEY_IDENTIFIER, kek)
            .ok(&mut processor)
            .bytes(pexx::SOURCE_KEY_TOKEN);
        assert_eq!(opened(&sent), key_of(&mac_key));
        let received = keks.imported(&mut processor, &sent);
        assert_eq!(received[32..48], kept[32..48]);
        keks.export("TOKEN", &received).refused(&mut processor, code::KEY_USAGE);
    }
    let zero = skeleton(&mut processor, "DATA", &["NO-CV", "DOUBLE"]);
    let zero = generate("TOKEN", "DOUBLE").bytes(kgn::GENERATED_KEY_IDENTIFIER_1, zero).ok(&mut processor);
    let zero = zero.bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
    Request::new(Verb::ProhibitExport)
        .bytes(pex::KEY_IDENTIFIER, zero)
        .refused(&mut processor, code::KEY_USAGE);
}

#[test]
fn tokens_under_the_old_master_key_are_used_and_come_back_renewed() {
    let mut processor = processor();
    // The current master keys of the other domain are the old ones of this.
    let older = |request: Request| request.domain(OLDER_DOMAIN);
    let start = skeleton(&mut processor, "EXPORTER", &[]);
    use wire::verb::key_part_import::KEY_IDENTIFIER;
    let part = |token: &[u8], word, value: &[u8]| older(verb_requests::support::part(token, word, value));
    let first = part(&start, "FIRST", &TRANSPORT).ok(&mut processor).bytes(KEY_IDENTIFIER);
    let exporter = part(&first, "LAST", &[0; 16]).ok(&mut processor).bytes(KEY_IDENTIFIER);
    let mac_key = older(generate("MAC", "DOUBLE")).ok(&mut processor);
    let mac_key = mac_key.bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
    let keks = Keks { exporter, importer: Vec::new() };
    let reply = keks.export("MAC", &mac_key).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    let renewed = [kex::SOURCE_KEY_IDENTIFIER, kex::EXPORTER_KEY_IDENTIFIER].map(|at| reply.bytes(at));
    assert_eq!(opened(&reply.bytes(kex::TARGET_KEY_TOKEN)), key_of(&renewed[0]));
    let keks = Keks { exporter: renewed[1].clone(), importer: Vec::new() };
    keks.export("MAC", &renewed[0]).ok(&mut processor);
    // A part is renewed by the verb that adds to it.
    let reply = verb_requests::support::part(&first, "LAST", &text(16)).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    assert_ne!(reply.bytes(KEY_IDENTIFIER)[8..16], first[8..16]);
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let mac_key = generated(&mut processor, "MAC", "DOUBLE");
    let external = keks.exported(&mut processor, &mac_key);
    keks.export("SECRET", &mac_key).refused(&mut processor, code::KEYWORD);
    keks.export("DATA", &mac_key).refused(&mut processor, code::TYPE_AND_VECTOR);
    keks.import("MACVER", &external).refused(&mut processor, code::TYPE_AND_VECTOR);
    keks.export("TOKEN", &external).refused(&mut processor, code::TOKEN_INVALID);
    keks.import("TOKEN", &mac_key).refused(&mut processor, code::TOKEN_INVALID);
    // The verbs of DATA keys take no other, and those that change a token none that is a record's, a part or without a
    // vector.
    let request = Request::new(Verb::DataKeyImport)
        .bytes(dkm::SOURCE_KEY_TOKEN, &external)
        .bytes(dkm::IMPORTER_KEY_IDENTIFIER, &keks.importer)
        .bytes(dkm::TARGET_KEY_IDENTIFIER, [0; 64]);
    request.clone().refused(&mut processor, code::TYPE_AND_VECTOR);
    let enciphering = generated(&mut processor, "DATAC", "DOUBLE");
    let enciphering = keks.exported(&mut processor, &enciphering);
    let enciphering = request.bytes(dkm::SOURCE_KEY_TOKEN, enciphering);
    enciphering.refused(&mut processor, code::CONTROL_VECTOR_NOT_DATA);
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    let prohibit = Request::new(Verb::ProhibitExport).bytes(pex::KEY_IDENTIFIER, label);
    prohibit.refused(&mut processor, code::LABEL_NOT_FOUND);
    let zero = skeleton(&mut processor, "DATA", &["NO-CV", "DOUBLE"]);
    let zero = generate("TOKEN", "DOUBLE").bytes(kgn::GENERATED_KEY_IDENTIFIER_1, zero).ok(&mut processor);
    let zero = keks.exported(&mut processor, &zero.bytes(kgn::GENERATED_KEY_IDENTIFIER_1));
    let prohibit = Request::new(Verb::ProhibitExportExtended)
        .bytes(pexx::SOURCE_KEY_TOKEN, zero)
        .bytes(pexx::KEK_KEY_IDENTIFIER, &keks.exporter);
    prohibit.refused(&mut processor, code::KEY_USAGE);
    keks.import("TOKEN", &external)
        .bytes(kim::TARGET_KEY_IDENTIFIER, generated(&mut processor, "DATA", "DOUBLE"))
        .refused(&mut processor, code::TYPE_AND_VECTOR);
    keks.export("TOKEN", &mac_key)
        .bytes(kex::EXPORTER_KEY_IDENTIFIER, &keks.importer)
        .refused(&mut processor, code::KEY_USAGE);
    keks.import("TOKEN", &external)
        .bytes(kim::IMPORTER_KEY_IDENTIFIER, &keks.exporter)
        .refused(&mut processor, code::KEY_USAGE);
    for at in 0..64 {
        let mut changed = external.clone();
        changed[at] ^= 1;
        let codes = keks.import("TOKEN", &changed).run(&mut processor).codes;
        assert!(codes.return_code == 8, "{at}: {codes}");
    }
}
