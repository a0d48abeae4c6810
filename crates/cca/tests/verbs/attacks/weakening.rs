//! Keys under weaker keys, and keys cut shorter: what is left is a search of a shorter key.
//!
//! The default role is that of guests, who send and bring in no key. In other roles the point `weak-transport-key`
//! (CCA's 0328, off unless it is named) keeps a key from going under a weaker one, `symmetric-key-import2-weak` (032B)
//! from coming so; what a key is and how long stands in its token and is bound to it.

use super::denied;
use crate::exchange::Keks;
use crate::variable::{encipher, parsed};
use cca::Processor;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::variable::VariableType;
use token::{ControlVector, DesToken, KeyType};
use verb_requests::peer;
use verb_requests::support::{Request, entered, generate, imported, mac, processor, skeleton, sym_key, text};
use verb_requests::uses::ways::{
    AES_TRANSPORT, Others, TRANSPORT, entered2, export2, generate_under, generate2, import2, rsa_skeleton,
};
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::{BUILT_IN, BuiltIn, GUEST};
use wire::verb::{
    Verb, clear_key_import_multiple as ckm, data_key_import as dkm, key_generate as kgn,
    key_generate2 as kgn2, key_translate as ktr, symmetric_key_export as syx, symmetric_key_import as syi,
};

fn guest() -> &'static PointSet {
    &BuiltIn::from_name(GUEST).unwrap().points
}

fn with(point: Point) -> &'static PointSet {
    let mut points = BUILT_IN[0].points;
    points.allow(point);
    Box::leak(Box::new(points))
}

fn without(point: Point) -> &'static PointSet {
    let mut points = BUILT_IN[0].points;
    points.deny(point);
    Box::leak(Box::new(points))
}

/// A DATA key as a partner sends it under the transport key, without a control vector.
fn sent(key: &[u8]) -> Vec<u8> {
    let form = [KeyForm::Single, KeyForm::Double, KeyForm::Triple][key.len() / 8 - 1];
    let wrapped = peer::wrap_des(&TRANSPORT, [[0; 8]; 3], key);
    let skeleton = DesToken::skeleton(Origin::External, form, ControlVector::ZERO).unwrap();
    skeleton.with_key([0; 8], &wrapped).unwrap().to_bytes().to_vec()
}

/// A DATA key of triple length.
fn triple(processor: &mut Processor) -> Vec<u8> {
    let vector = KeyType::Data.default_vector(KeyForm::Triple).unwrap();
    let skeleton = DesToken::skeleton(Origin::Internal, KeyForm::Triple, vector).unwrap().to_bytes();
    let request = generate("TOKEN", "").bytes(kgn::GENERATED_KEY_IDENTIFIER_1, skeleton);
    request.ok(processor).bytes(kgn::GENERATED_KEY_IDENTIFIER_1)
}

#[test]
fn a_key_goes_under_no_weaker_one() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let triple = triple(&mut processor);
    let aes = generate2("AES", 256, "CIPHER", &[]).ok(&mut processor);
    let aes = aes.bytes(kgn2::GENERATED_KEY_IDENTIFIER_1);
    let short =
        entered2(&mut processor, VariableType::Exporter, &["EXPORT", "GEN-PUB"], &AES_TRANSPORT[..16]);
    let (crt, aes_rsa) =
        (rsa_skeleton(&mut processor, "RSA-CRT", 2056), rsa_skeleton(&mut processor, "RSA-AESC", 3080));
    let passing = entered(&mut processor, "IMPORTER", &["XLATE"], &TRANSPORT);
    let translated = Request::new(Verb::KeyTranslate)
        .bytes(ktr::INPUT_KEY_TOKEN, sent(&text(24)))
        .bytes(ktr::INPUT_KEK_KEY_IDENTIFIER, &passing)
        .bytes(ktr::OUTPUT_KEK_KEY_IDENTIFIER, &keks.exporter);
    let requests = [
        ("a triple-length key under a double-length one", keks.export("TOKEN", &triple)),
        ("the same from one partner to another", translated),
        ("AES-256 under AES-128", export2("AES", &aes, &short)),
        ("RSA above 2048 bits under TDES", generate_under(&crt, &keks.exporter)),
        ("RSA above 3072 bits under AES-128", generate_under(&aes_rsa, &short)),
    ];
    for (what, request) in requests {
        request.refused(&mut processor, code::STRENGTH);
        denied(&mut processor, &request, guest());
        // It would bite; the costly one is not made.
        if !what.starts_with("RSA above 3072") {
            request.points(with(Point::WeakTransport)).ok(&mut processor);
        }
    }
    // The reverse way, where the token of a key says what it was under.
    let weak = entered2(&mut processor, VariableType::Importer, &["IMPORT"], &AES_TRANSPORT[..16]);
    let out = export2("AES", &aes, &short).points(with(Point::WeakTransport)).ok(&mut processor);
    let out = out.bytes(syx::RSA_ENCIPHERED_KEY);
    assert_eq!(parsed(&out).attributes().management()[1], 0x0004, "its history says so");
    import2("AES", &out, &weak).refused(&mut processor, code::STRENGTH);
    denied(&mut processor, &import2("AES", &out, &weak), guest());
}

/// The halves of a key without a control vector, brought in as keys of single length, each of which a search finds.
#[test]
fn halves_of_a_key_are_no_keys_where_a_role_makes_none_of_single_length() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let secret: Vec<u8> =
        (0..16u8).map(|at| (2 * (at ^ 0x35)) | u8::from((at ^ 0x35).count_ones() % 2 == 0)).collect();
    let external = sent(&secret);
    let skeleton = DesToken::skeleton(Origin::External, KeyForm::Single, ControlVector::ZERO).unwrap();
    for (at, half) in secret.chunks(8).enumerate() {
        let cut = skeleton.with_key([0; 8], &external[16 + 8 * at..24 + 8 * at]).unwrap().to_bytes();
        let request = Request::new(Verb::DataKeyImport)
            .bytes(dkm::SOURCE_KEY_TOKEN, cut)
            .bytes(dkm::IMPORTER_KEY_IDENTIFIER, &keks.importer)
            .bytes(dkm::TARGET_KEY_IDENTIFIER, [0; 64]);
        let token = request.run(&mut processor).bytes(dkm::TARGET_KEY_IDENTIFIER);
        assert_eq!(peer::unwrap_token(&sym_key(false), &token), half, "it bites");
        denied(&mut processor, &request, guest());
        denied(&mut processor, &request, without(Point::SingleLengthDes));
    }
    // With a control vector each half is under another key, and none of single length has that of a half.
    let token = generate("DATA", "DOUBLE").ok(&mut processor).bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
    let external = keks.exported(&mut processor, &token);
    let whole = peer::unwrap_token(&sym_key(false), &token);
    for at in [16, 24] {
        for vector in [ControlVector::ZERO, KeyType::Data.default_vector(KeyForm::Single).unwrap()] {
            let skeleton = DesToken::skeleton(Origin::External, KeyForm::Single, vector).unwrap();
            let cut = skeleton.with_key([0; 8], &external[at..at + 8]).unwrap().to_bytes();
            let key = keks.imported(&mut processor, &cut);
            let key = peer::unwrap_token(&sym_key(false), &key);
            assert!(whole.chunks(8).all(|half| half != key));
        }
    }
}

/// Under the master key no token gives a shorter key: its length is bound to the key.
#[test]
fn no_internal_token_is_cut_shorter() {
    let mut processor = processor();
    let cut = |token: &[u8], change: &dyn Fn(&mut [u8; 64])| {
        let mut token: [u8; 64] = token.try_into().unwrap();
        change(&mut token);
        token::tvv::seal(&mut token);
        token
    };
    let refused = |processor: &mut Processor, token: &[u8]| {
        mac(token, &["X9.9-1"], &text(16)).refused(processor, code::TOKEN_INVALID);
    };
    let single = KeyType::Data.default_vector(KeyForm::Single).unwrap();
    let [left, right] = [single.left().to_be_bytes(), [0; 8]];
    let double = generate("DATA", "DOUBLE").ok(&mut processor).bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
    for token in [double, triple(&mut processor)] {
        let short = cut(&token, &|token| {
            token[32..40].copy_from_slice(&left);
            token[40..48].copy_from_slice(&right);
        });
        refused(&mut processor, &short);
        // Without what follows the half.
        refused(&mut processor, &cut(&short, &|token| token[24..32].fill(0)));
        refused(&mut processor, &cut(&short, &|token| (token[24..32].fill(0), token[48..56].fill(0)).0));
    }
    let zero = skeleton(&mut processor, "DATA", &["NO-CV", "DOUBLE"]);
    let zero = generate("TOKEN", "DOUBLE").bytes(kgn::GENERATED_KEY_IDENTIFIER_1, zero).ok(&mut processor);
    let zero = zero.bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
    assert_eq!(zero[59], 0x10, "its length is there, without a control vector");
    refused(&mut processor, &cut(&zero, &|token| token[59] = 0));
    // AES of fixed and of variable length.
    let fixed = Request::new(Verb::ClearKeyImportMultiple)
        .rules(&["AES"])
        .counted(ckm::CLEAR_KEY_LENGTH, ckm::CLEAR_KEY, text(32))
        .bytes(ckm::TARGET_KEY_IDENTIFIER, [0; 64])
        .ok(&mut processor)
        .bytes(ckm::TARGET_KEY_IDENTIFIER);
    for bits in [128u16, 192] {
        let short = cut(&fixed, &|token| token[56..58].copy_from_slice(&bits.to_be_bytes()));
        encipher(&short, "ECB").refused(&mut processor, code::TOKEN_INVALID);
    }
    let long =
        generate2("AES", 256, "CIPHER", &[]).ok(&mut processor).bytes(kgn2::GENERATED_KEY_IDENTIFIER_1);
    for bytes in [8, 16] {
        let mut short = long[..long.len() - bytes].to_vec();
        let (whole, payload) = ((short.len() as u16).to_be_bytes(), (640 - 8 * bytes as u16).to_be_bytes());
        short[2..4].copy_from_slice(&whole);
        short[38..40].copy_from_slice(&payload);
        encipher(&short, "CBC").refused(&mut processor, code::TOKEN_INVALID);
    }
}

/// A block of RSA without a format says nothing of the length of its key: a keyword does, and what lies before it must
/// be zero.
#[test]
fn a_block_without_a_format_gives_no_end_of_a_key() {
    let mut others = Others::new();
    let token = imported(&mut others.processor, "DES", &text(24));
    let block = Request::new(Verb::SymmetricKeyExport)
        .rules(&["DES", "ZERO-PAD"])
        .counted(syx::SOURCE_KEY_IDENTIFIER_LENGTH, syx::SOURCE_KEY_IDENTIFIER, &token)
        .counted(syx::RSA_PUBLIC_KEY_IDENTIFIER_LEN, syx::RSA_PUBLIC_KEY_IDENTIFIER, &others.public)
        .integer(syx::RSA_ENCIPHERED_KEY_LENGTH, 512)
        .ok(&mut others.processor)
        .bytes(syx::RSA_ENCIPHERED_KEY);
    let bring = |keyword: &'static str| {
        Request::new(Verb::SymmetricKeyImport)
            .rules(&["DES", "ZERO-PAD", keyword])
            .counted(syi::RSA_ENCIPHERED_KEY_LENGTH, syi::RSA_ENCIPHERED_KEY, &block)
            .counted(syi::RSA_PRIVATE_KEY_IDENTIFIER_LEN, syi::RSA_PRIVATE_KEY_IDENTIFIER, &others.transport)
            .integer(syi::TARGET_KEY_IDENTIFIER_LENGTH, 64)
            .bytes(syi::TARGET_KEY_IDENTIFIER, [0; 64])
    };
    let requests = ["KEYLN24", "KEYLN16", "KEYLN8"].map(bring);
    let [whole, shorter, shortest] = requests;
    assert!(whole.told(&mut others.processor).codes.has_output());
    for request in [shorter, shortest] {
        request.refused(&mut others.processor, code::RSA_BLOCK);
        denied(&mut others.processor, &request, guest());
    }
}
