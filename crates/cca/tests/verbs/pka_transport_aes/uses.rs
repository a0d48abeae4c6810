//! Which AES transport keys carry private keys, and which private keys they are strong enough for.

use super::{curve_skeleton, exported, exporter, importer};
use cca::Processor;
use openssl::rsa::Rsa;
use token::AesToken;
use token::variable::VariableType;
use verb_requests::book::{foreign_rsa, opened_ecc};
use verb_requests::support::{EMPTY_DOMAIN, OLDER_DOMAIN, Request, generated, processor};
use verb_requests::uses::ways::{
    AES_TRANSPORT, curve_token, entered2, generate_under, import_under, part2, rsa_skeleton, skeleton_of,
};
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{Verb, key_part_import2, pka_key_generate as pkg};

/// A role with one more point.
fn with(point: Point) -> &'static PointSet {
    let mut points = BUILT_IN[0].points;
    points.allow(point);
    Box::leak(Box::new(points))
}

#[test]
fn each_use_of_a_transport_key_is_its_own() {
    let mut processor = processor();
    let rsa = rsa_skeleton(&mut processor, "RSA-AESC", 512);
    let ecc = curve_skeleton(&mut processor, 0, 256);
    let full = exporter(&mut processor, &["GEN-PUB"], &AES_TRANSPORT);
    let (rsa_token, ecc_token) =
        (exported(&mut processor, &rsa, &full), exported(&mut processor, &ecc, &full));
    let check = |processor: &mut Processor, words: &[&str], side: VariableType, expected: [bool; 4]| {
        let key = entered2(processor, side, words, &AES_TRANSPORT);
        let requests = [
            generate_under(&rsa, &key),
            generate_under(&ecc, &key),
            import_under(&rsa_token, &key),
            import_under(&ecc_token, &key),
        ];
        for (request, is_permitted) in requests.iter().zip(expected) {
            let codes = request.told(processor).codes;
            let expected = if is_permitted { code::OK } else { code::KEY_USAGE };
            assert_eq!(codes, expected, "{side:?} {words:?} {:?}", request.verb());
        }
    };
    let (sending, receiving) = (VariableType::Exporter, VariableType::Importer);
    check(&mut processor, &[], sending, [true, true, false, false]);
    check(&mut processor, &[], receiving, [true, true, true, true]);
    for word in ["EXPORT", "TRANSLAT", "GEN-OPEX", "GEN-IMEX", "GEN-EXEX"] {
        check(&mut processor, &[word], sending, [false; 4]);
    }
    check(&mut processor, &["GEN-PUB"], sending, [true, true, false, false]);
    check(&mut processor, &["GEN-PUB"], receiving, [true, true, false, false]);
    check(&mut processor, &["IMPORT"], receiving, [false, false, true, true]);
    for word in ["TRANSLAT", "GEN-OPIM", "GEN-IMEX", "GEN-IMIM"] {
        check(&mut processor, &[word], receiving, [false; 4]);
    }
    let both = |of: &'static str| ["GEN-PUB", "IMPORT", of, "WR-DATA"];
    check(&mut processor, &both("WR-RSA"), receiving, [true, false, true, false]);
    check(&mut processor, &both("WR-ECC"), receiving, [false, true, false, true]);
    for word in ["WR-DES", "WR-AES", "WR-HMAC", "WR-QSA"] {
        check(&mut processor, &both(word), receiving, [false; 4]);
    }
    check(&mut processor, &["GEN-PUB", "IMPORT", "UDX-ONLY"], receiving, [false; 4]);
    check(&mut processor, &["GEN-PUB", "UDX-ONLY"], sending, [false; 4]);
    check(&mut processor, &[], VariableType::Cipher, [false; 4]);
}

#[test]
fn transport_keys_of_the_other_algorithm_and_what_is_no_key_are_refused() {
    let mut processor = processor();
    let into = importer(&mut processor, &[], &AES_TRANSPORT);
    let des = generated(&mut processor, "EXPORTER", "DOUBLE");
    let imp_pka = crate::pka_transport::imp_pka(&mut processor, b"another value...");
    let old = rsa_skeleton(&mut processor, "RSA-CRT", 512);
    let rsa = rsa_skeleton(&mut processor, "RSA-AESC", 512);
    let ecc = curve_skeleton(&mut processor, 0, 256);
    let tokens = [&rsa, &ecc].map(|skeleton| exported(&mut processor, skeleton, &into));
    generate_under(&old, &into).refused(&mut processor, code::TOKEN_VERSION);
    for skeleton in [&rsa, &ecc] {
        generate_under(skeleton, &des).refused(&mut processor, code::TOKEN_VERSION);
        let named = generate_under(skeleton, &into).rules(&["XPORT", "OKEK-DES"]);
        named.refused(&mut processor, code::TOKEN_VERSION);
        let named = generate_under(skeleton, &into).rules(&["MASTER", "OKEK-AES"]);
        assert_eq!(named.told(&mut processor).codes, code::KEYWORD_COMBINATION);
    }
    // A field that is left out is a null token.
    let bare = Request::new(Verb::PkaKeyGenerate)
        .counted(pkg::SKELETON_KEY_TOKEN_LENGTH, pkg::SKELETON_KEY_TOKEN, &ecc)
        .integer(pkg::GENERATED_KEY_IDENTIFIER_LENGTH, 2500);
    bare.ok(&mut processor);
    let by_des = generate_under(&old, &des).rules(&["XPORT", "OKEK-DES"]).ok(&mut processor);
    let by_des = by_des.bytes(pkg::GENERATED_KEY_IDENTIFIER);
    generate_under(&old, &des).rules(&["XPORT", "OKEK-AES"]).refused(&mut processor, code::TOKEN_VERSION);
    import_under(&by_des, &into).refused(&mut processor, code::TOKEN_VERSION);
    let [rsa_token, ecc_token] = &tokens;
    for token in &tokens {
        import_under(token, &imp_pka).refused(&mut processor, code::TOKEN_VERSION);
        import_under(token, &[0; 64]).refused(&mut processor, code::TOKEN_INVALID);
        import_under(token, &[b'A'; 64]).refused(&mut processor, code::LABEL_NOT_FOUND);
        import_under(token, &into).domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
        import_under(token, &into).domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    }
    import_under(rsa_token, &into).rules(&["IKEK-DES"]).refused(&mut processor, code::TOKEN_VERSION);
    import_under(ecc_token, &into).rules(&["IKEK-DES"]).refused(&mut processor, code::TOKEN_VERSION);
    import_under(ecc_token, &into)
        .rules(&["ECC", "IKEK-DES"])
        .refused(&mut processor, code::KEYWORD_COMBINATION);
    import_under(rsa_token, &into).rules(&["ECC"]).refused(&mut processor, code::TOKEN_INVALID);
    import_under(ecc_token, &into).rules(&["RSA"]).refused(&mut processor, code::TOKEN_INVALID);
    // Clear keys come without a transport key, and are none; nor are keys that were not opened, and tokens of another
    // kind.
    let clear = curve_token(&mut processor, "KEY-MGMT", Some("CLEAR"));
    import_under(&clear, &into).refused(&mut processor, code::TOKEN_INVALID);
    let skeleton = skeleton_of(VariableType::Importer, &[]);
    let first = part2("AES", &["FIRST"], &AES_TRANSPORT, &skeleton).ok(&mut processor);
    let part = first.bytes(key_part_import2::KEY_IDENTIFIER);
    let data = AesToken::clear(&[7; 32]).unwrap().to_bytes();
    for (kek, codes) in
        [(&part[..], code::KEY_USAGE), (&skeleton, code::TOKEN_INVALID), (&data, code::TOKEN_INVALID)]
    {
        import_under(rsa_token, kek).refused(&mut processor, codes);
        generate_under(&ecc, kek).refused(&mut processor, codes);
    }
    // A role may be refused either.
    let without = |point: Point| -> &'static PointSet {
        let mut points = BUILT_IN[0].points;
        points.deny(point);
        Box::leak(Box::new(points))
    };
    let (makes, takes) = (Point::PkaKeyGenerateTransported, Point::PkaKeyImportTransported);
    for (skeleton, token) in [(&rsa, rsa_token), (&ecc, ecc_token)] {
        generate_under(skeleton, &into).points(without(makes)).refused(&mut processor, code::ACCESS_DENIED);
        import_under(token, &into).points(without(takes)).refused(&mut processor, code::ACCESS_DENIED);
    }
}

#[test]
fn what_is_stronger_than_its_transport_key_is_refused() {
    let mut processor = processor();
    let values = [&AES_TRANSPORT[..16], &AES_TRANSPORT[..24], &AES_TRANSPORT];
    let keks = values.map(|value| importer(&mut processor, &[], value));
    for (kind, bits, least) in [(0, 256, 0), (3, 256, 0), (2, 255, 0), (0, 384, 1), (1, 384, 1), (0, 521, 2)]
    {
        let skeleton = curve_skeleton(&mut processor, kind, bits);
        for (at, kek) in keks.iter().enumerate() {
            let request = generate_under(&skeleton, kek);
            if at >= least {
                request.ok(&mut processor);
                continue;
            }
            request.refused(&mut processor, code::STRENGTH);
            let made = request.points(with(Point::WeakTransport)).ok(&mut processor);
            let made = made.bytes(pkg::GENERATED_KEY_IDENTIFIER);
            assert!(opened_ecc(values[at], &made).is_some());
            import_under(&made, kek).refused(&mut processor, code::STRENGTH);
            import_under(&made, kek).points(with(Point::WeakImport)).ok(&mut processor);
        }
    }
    let key = Rsa::generate(3080).unwrap();
    let [weak, fair] = [0, 1].map(|at| foreign_rsa(&key, 0x31, values[at]));
    import_under(&weak, &keks[0]).refused(&mut processor, code::STRENGTH);
    import_under(&weak, &keks[0]).points(with(Point::WeakImport)).ok(&mut processor);
    import_under(&fair, &keks[1]).ok(&mut processor);
    let fits = foreign_rsa(&Rsa::generate(3072).unwrap(), 0x31, values[0]);
    import_under(&fits, &keks[0]).ok(&mut processor);
}
