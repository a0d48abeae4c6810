//! PKA_Key_Translate: RSA keys under transport keys of DES come under those of AES, opened by OpenSSL by the layouts
//! alone.

use crate::exchange::Keks;
use crate::pka_transport::{BOTH, foreign_of, imp_pka};
use cca::Processor;
use openssl::bn::BigNum;
use openssl::rsa::Rsa;
use token::variable::VariableType;
use verb_requests::book::opened_rsa;
use verb_requests::support::{EMPTY_DOMAIN, Request, processor};
use verb_requests::uses::ways::{
    AES_TRANSPORT, TRANSPORT, entered2, import_under, public_part, translate_pka,
};
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{pka_key_import as pki, pka_key_translate as pkt};

/// KEY-MGMT with XLATE-OK, and without.
const TRANSLATABLE: u8 = 0x82;
const NOT_TRANSLATABLE: u8 = 0x80;

/// The owner's role without one point.
fn without(point: Point) -> &'static PointSet {
    let mut points = BUILT_IN[0].points;
    points.deny(point);
    Box::leak(Box::new(points))
}

struct Transports {
    importer: Vec<u8>,
    aes_exporter: Vec<u8>,
    aes_importer: Vec<u8>,
}

impl Transports {
    fn new(processor: &mut Processor) -> Self {
        Self {
            importer: imp_pka(processor, &TRANSPORT),
            aes_exporter: entered2(processor, VariableType::Exporter, &[], &AES_TRANSPORT),
            aes_importer: entered2(processor, VariableType::Importer, &[], &AES_TRANSPORT),
        }
    }
}

#[test]
fn keys_under_des_come_under_aes_and_open_by_the_book() {
    let mut processor = processor();
    let keys = Transports::new(&mut processor);
    for (section, bits, target) in [(0x02, 1024, 0x30), (0x08, 1024, 0x31), (0x08, 2048, 0x31)] {
        let key = Rsa::generate(bits).unwrap();
        let source = foreign_of(&key, section, TRANSLATABLE);
        for to in [&keys.aes_exporter, &keys.aes_importer] {
            let reply = translate_pka("EXTDWAKW", &source, &keys.importer, to).ok(&mut processor);
            let token = reply.bytes(pkt::TARGET_KEY_TOKEN);
            assert_eq!((token[0], token[8]), (0x1E, target));
            let values = opened_rsa(&AES_TRANSPORT, &token).unwrap();
            let secret = if section == 0x02 { key.d() } else { key.p().unwrap() };
            let length = if section == 0x02 { values.len() } else { bits as usize / 16 };
            assert_eq!(BigNum::from_slice(&values[..length]).unwrap(), *secret);
            // It comes in again, with all that it may be used for.
            let internal = import_under(&token, &keys.aes_importer).ok(&mut processor);
            let internal = internal.bytes(pki::TARGET_KEY_IDENTIFIER);
            assert_eq!(internal[8 + 50], TRANSLATABLE);
            assert!(public_part(&mut processor, &internal).ends_with(&key.n().to_vec()));
        }
    }
}

#[test]
fn what_may_not_be_translated_stays() {
    let mut processor = processor();
    let keys = Transports::new(&mut processor);
    let keks = Keks::new(&mut processor);
    let key = Rsa::generate(1024).unwrap();
    let source = foreign_of(&key, 0x08, TRANSLATABLE);
    let good = translate_pka("EXTDWAKW", &source, &keys.importer, &keys.aes_exporter);
    good.ok(&mut processor);
    // A key that says so, and transport keys that are for other things.
    let kept = foreign_of(&key, 0x08, NOT_TRANSLATABLE);
    let outside = |source: &[u8], from: &[u8], to: &[u8]| translate_pka("EXTDWAKW", source, from, to);
    outside(&kept, &keys.importer, &keys.aes_exporter).refused(&mut processor, code::KEY_USAGE);
    outside(&source, &keks.exporter, &keys.aes_exporter).refused(&mut processor, code::KEY_USAGE);
    outside(&source, &keks.importer, &keys.aes_exporter).refused(&mut processor, code::KEY_USAGE);
    outside(&source, &keks.importer, &keys.aes_exporter).points(BOTH).ok(&mut processor);
    outside(&source, &keys.importer, &keks.exporter).refused(&mut processor, code::TOKEN_VERSION);
    outside(&source, &keys.aes_importer, &keys.aes_exporter).refused(&mut processor, code::TOKEN_VERSION);
    let no_rsa = entered2(&mut processor, VariableType::Exporter, &["WR-AES"], &AES_TRANSPORT);
    outside(&source, &keys.importer, &no_rsa).refused(&mut processor, code::KEY_USAGE);
    let no_export = entered2(&mut processor, VariableType::Exporter, &["GEN-PUB"], &AES_TRANSPORT);
    outside(&source, &keys.importer, &no_export).refused(&mut processor, code::KEY_USAGE);
    // What is wrong inside is one refusal.
    for at in [8 + 4, 8 + 28 + 2, 8 + 124, 8 + 140, source.len() - 30] {
        let mut wrong = source.clone();
        wrong[at] ^= 1;
        let reply = outside(&wrong, &keys.importer, &keys.aes_exporter).told(&mut processor);
        assert!([code::TOKEN_INVALID, code::PKA_FIELD].contains(&reply.codes), "{at}: {}", reply.codes);
    }
    let mut other = TRANSPORT;
    other[3] ^= 2;
    let other = imp_pka(&mut processor, &other);
    outside(&source, &other, &keys.aes_exporter).refused(&mut processor, code::TOKEN_INVALID);
    // Internal, clear and public tokens are not for it.
    let internal = import_under(&source, &keys.importer).ok(&mut processor);
    let internal = internal.bytes(pki::TARGET_KEY_IDENTIFIER);
    outside(&internal, &keys.importer, &keys.aes_exporter).refused(&mut processor, code::TOKEN_INVALID);
    let public = public_part(&mut processor, &internal);
    outside(&public, &keys.importer, &keys.aes_exporter).refused(&mut processor, code::TOKEN_INVALID);
    translate_pka("INTDWAKW", &internal, &[], &[]).refused(&mut processor, code::TOKEN_INVALID);
    translate_pka("INTDWAKW", &source, &[], &[]).refused(&mut processor, code::TOKEN_INVALID);
    translate_pka("INTDWAKW", &internal, &keys.importer, &[])
        .refused(&mut processor, code::INVALID_PARAMETER);
    for keyword in ["SCVISA", "SCCOMME", "SCCOMCRT"] {
        let asked = translate_pka(keyword, &source, &keys.importer, &keys.aes_exporter);
        asked.refused(&mut processor, code::KEYWORD);
    }
    good.clone().domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    for point in [Point::PkaKeyTranslateExternal, Point::PkaKeyTranslateToExporter] {
        good.clone().points(without(point)).refused(&mut processor, code::ACCESS_DENIED);
    }
    let to_importer = outside(&source, &keys.importer, &keys.aes_importer);
    to_importer
        .points(without(Point::PkaKeyTranslateToImporter))
        .refused(&mut processor, code::ACCESS_DENIED);
}

#[test]
fn a_longer_key_than_its_transport_key_is_refused() {
    let mut processor = processor();
    let importer = imp_pka(&mut processor, &TRANSPORT);
    let weak = entered2(&mut processor, VariableType::Exporter, &[], &AES_TRANSPORT[..16]);
    let source = foreign_of(&Rsa::generate(3080).unwrap(), 0x08, TRANSLATABLE);
    let asked: Request = translate_pka("EXTDWAKW", &source, &importer, &weak);
    asked.clone().refused(&mut processor, code::STRENGTH);
    let mut points = BUILT_IN[0].points;
    points.allow(Point::WeakTransport);
    asked.points(Box::leak(Box::new(points))).ok(&mut processor);
}
