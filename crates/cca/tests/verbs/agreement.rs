//! EC_Diffie-Hellman into external tokens, and with private keys in them. What it agrees on is in
//! `tests/pka/curves/agreement`.

use crate::pka_transport_aes::{exporter, importer};
use crate::variable::parsed;
use token::des::Origin;
use token::variable::{Attributes, Pedigree, VariableType};
use token::{DesToken, VariableToken};
use verb_requests::book::{foreign_ecc, opened_ecc};
use verb_requests::support::{EMPTY_DOMAIN, OLDER_DOMAIN, Request, aes_key};
use verb_requests::uses::ways::{
    AES_TRANSPORT, Others, deriving_skeleton, entered2, generate_under, import_under, public_part,
};
use verb_requests::wrapped::{plain, unwrapped};
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{Verb, ec_diffie_hellman as edh, key_export as kex, pka_key_generate as pkg};

/// A request for the DES key that the third of the deriving keys makes with the first.
fn agreed(others: &Others, words: &[&str], kek: &[u8], output: &[u8]) -> Request {
    others
        .ways(Verb::EcDiffieHellman, edh::PRIVATE_KEY_IDENTIFIER, &others.deriving[2])
        .remove(2)
        .rules(&[&["DERIV02", "SHA-256"], words].concat())
        .counted(edh::OUTPUT_KEK_KEY_IDENTIFIER_LENGTH, edh::OUTPUT_KEK_KEY_IDENTIFIER, kek)
        .bytes(edh::OUTPUT_KEY_IDENTIFIER, output)
}

#[test]
fn an_external_token_holds_the_key_that_an_internal_one_holds() {
    let mut others = Others::new();
    let internal = agreed(&others, &[], &[], &[]).ok(&mut others.processor).bytes(edh::OUTPUT_KEY_IDENTIFIER);
    let exported = Request::new(Verb::KeyExport)
        .bytes(kex::KEY_TYPE, "TOKEN   ")
        .bytes(kex::SOURCE_KEY_IDENTIFIER, &internal)
        .bytes(kex::EXPORTER_KEY_IDENTIFIER, &others.exporter)
        .ok(&mut others.processor)
        .bytes(kex::TARGET_KEY_TOKEN);
    let external = DesToken::parse(&exported).unwrap().without_key();
    assert_eq!(external.origin(), Origin::External);
    let external = external.to_bytes();
    for kek in [others.exporter.clone(), others.importer.clone()] {
        for words in [&[][..], &["OKEK-DES", "KEY-DES"]] {
            let request = agreed(&others, words, &kek, &external);
            let made = request.ok(&mut others.processor).bytes(edh::OUTPUT_KEY_IDENTIFIER);
            assert_eq!(made, exported, "{words:?}");
        }
    }
    // A key-encrypting key and no token for it, and the reverse.
    let kek = others.exporter.clone();
    for (kek, output) in [(&kek[..], &[][..]), (&kek, &internal), (&[], &external)] {
        agreed(&others, &[], kek, output).refused(&mut others.processor, code::TOKEN_INVALID);
    }
}

/// A request for the AES CIPHER key that this private key makes with a public one.
fn cipher(words: &[&str], private: &[u8], public: &[u8]) -> Request {
    Request::new(Verb::EcDiffieHellman)
        .rules(&[&["DERIV02", "SHA-256"], words].concat())
        .counted(edh::PRIVATE_KEY_IDENTIFIER_LENGTH, edh::PRIVATE_KEY_IDENTIFIER, private)
        .counted(edh::PUBLIC_KEY_IDENTIFIER_LENGTH, edh::PUBLIC_KEY_IDENTIFIER, public)
        .integer(edh::KEY_BIT_LENGTH, 128)
        .integer(edh::OUTPUT_KEY_IDENTIFIER_LENGTH, 2500)
        .bytes(edh::OUTPUT_KEY_IDENTIFIER, [])
}

fn into(request: Request, kek: &[u8], output: &[u8]) -> Request {
    request
        .counted(edh::OUTPUT_KEK_KEY_IDENTIFIER_LENGTH, edh::OUTPUT_KEK_KEY_IDENTIFIER, kek)
        .bytes(edh::OUTPUT_KEY_IDENTIFIER, output)
}

fn by(request: Request, kek: &[u8]) -> Request {
    request.counted(edh::PRIVATE_KEK_KEY_IDENTIFIER_LENGTH, edh::PRIVATE_KEK_KEY_IDENTIFIER, kek)
}

fn external(key_type: VariableType, words: &[&str]) -> Vec<u8> {
    let attributes = Attributes::new(key_type, words.iter().copied(), None).unwrap();
    let payload = VariableToken::default_payload(key_type);
    VariableToken::skeleton(Origin::External, payload, attributes).unwrap().to_bytes().to_vec()
}

#[test]
fn an_aes_key_goes_under_an_aes_key_as_under_the_master_key() {
    let mut others = Others::new();
    let [private, public] = [others.deriving[1].clone(), others.deriving[0].clone()];
    let processor = &mut others.processor;
    let inside = cipher(&[], &private, &public).ok(processor).bytes(edh::OUTPUT_KEY_IDENTIFIER);
    let key = unwrapped(&aes_key(false), &inside).unwrap();
    let output = external(VariableType::Cipher, &["GCM", "NOEX-SYM"]);
    for kek in [
        exporter(processor, &["GEN-OPEX"], &AES_TRANSPORT),
        importer(processor, &["GEN-OPIM"], &AES_TRANSPORT),
    ] {
        for words in [&[][..], &["OKEK-AES"], &["KEY-AES", "OKEK-AES"]] {
            let reply = into(cipher(words, &private, &public), &kek, &output).ok(processor);
            let made = reply.bytes(edh::OUTPUT_KEY_IDENTIFIER);
            assert_eq!(reply.integer(edh::OUTPUT_KEY_IDENTIFIER_LENGTH), made.len() as i64);
            assert_eq!(plain(&AES_TRANSPORT, &made, 30), Some(key.clone()));
            let expected = parsed(&output).attributes().clone();
            let expected = expected.made(Pedigree::Agreement, token::variable::Completeness::Complete);
            assert_eq!(parsed(&made).attributes(), &expected);
        }
        let short = into(cipher(&[], &private, &public), &kek, &output)
            .integer(edh::OUTPUT_KEY_IDENTIFIER_LENGTH, 119);
        short.refused(processor, code::BUFFER_TOO_SMALL);
        for words in [&["OKEK-DES"][..], &["KEY-DES", "OKEK-DES"]] {
            let refused = into(cipher(words, &private, &public), &kek, &output).told(processor).codes;
            assert!([code::TOKEN_INVALID, code::KEY_USAGE].contains(&refused), "{words:?} {refused:?}");
        }
        // Not into another type than the private key says, nor without a token that says it.
        for (output, codes) in [
            (external(VariableType::Exporter, &[]), code::KEY_USAGE),
            (external(VariableType::Hmac, &["GENERATE"]), code::KEY_USAGE),
            (Vec::new(), code::TOKEN_INVALID),
            (inside.clone(), code::TOKEN_INVALID),
        ] {
            into(cipher(&[], &private, &public), &kek, &output).refused(processor, codes);
        }
        let request = into(cipher(&[], &private, &public), &kek, &output);
        request.clone().domain(OLDER_DOMAIN).refused(processor, code::MASTER_KEY_MISMATCH);
        request.domain(EMPTY_DOMAIN).refused(processor, code::MASTER_KEY_NOT_LOADED);
    }
    // Keys that do not make keys for others, or wrap none of this kind, and those of DES.
    let des = others.exporter.clone();
    let processor = &mut others.processor;
    let wrong = [
        (exporter(processor, &["EXPORT", "TRANSLAT", "GEN-PUB"], &AES_TRANSPORT), code::KEY_USAGE),
        (importer(processor, &["IMPORT", "GEN-IMEX"], &AES_TRANSPORT), code::KEY_USAGE),
        (exporter(processor, &["GEN-OPEX", "WR-KEK", "WR-AES"], &AES_TRANSPORT), code::KEY_USAGE),
        (exporter(processor, &["GEN-OPEX", "WR-DATA", "WR-ECC"], &AES_TRANSPORT), code::KEY_USAGE),
        (entered2(processor, VariableType::Cipher, &[], &AES_TRANSPORT), code::KEY_USAGE),
        (des, code::TOKEN_INVALID),
        (Vec::new(), code::TOKEN_INVALID),
    ];
    for (kek, codes) in wrong {
        into(cipher(&[], &private, &public), &kek, &output).refused(processor, codes);
    }
}

#[test]
fn a_private_key_outside_agrees_on_what_the_other_side_has() {
    let mut others = Others::new();
    let theirs = others.deriving[1].clone();
    let des = others.importer.clone();
    let processor = &mut others.processor;
    let their_public = public_part(processor, &theirs);
    let carrying = importer(processor, &["GEN-PUB", "IMPORT"], &AES_TRANSPORT);
    let skeleton = deriving_skeleton(processor, 2, 4);
    let mine = generate_under(&skeleton, &carrying).ok(processor).bytes(pkg::GENERATED_KEY_IDENTIFIER);
    let public = public_part(processor, &mine);
    let into = importer(processor, &["IMPORT"], &AES_TRANSPORT);
    let request = cipher(&[], &mine, &their_public);
    let one = by(request.clone(), &into).ok(processor).bytes(edh::OUTPUT_KEY_IDENTIFIER);
    let two = cipher(&[], &theirs, &public).ok(processor).bytes(edh::OUTPUT_KEY_IDENTIFIER);
    let [one, two] = [one, two].map(|token| unwrapped(&aes_key(false), &token).unwrap());
    assert_eq!(one, two);
    // An external token is a public one as well.
    let three = cipher(&[], &theirs, &mine).ok(processor).bytes(edh::OUTPUT_KEY_IDENTIFIER);
    assert_eq!(unwrapped(&aes_key(false), &three), Some(two));

    let wrong = [
        (exporter(processor, &["EXPORT"], &AES_TRANSPORT), code::KEY_USAGE),
        (importer(processor, &["GEN-PUB", "TRANSLAT"], &AES_TRANSPORT), code::KEY_USAGE),
        (importer(processor, &["IMPORT", "WR-RSA", "WR-AES"], &AES_TRANSPORT), code::KEY_USAGE),
        (importer(processor, &["IMPORT"], &[0x6B; 32]), code::TOKEN_INVALID),
        (importer(processor, &["IMPORT"], &AES_TRANSPORT[..24]), code::TOKEN_INVALID),
        (des, code::TOKEN_INVALID),
        (Vec::new(), code::TOKEN_INVALID),
    ];
    for (kek, codes) in wrong {
        by(request.clone(), &kek).refused(processor, codes);
    }
    by(request.clone(), &into).domain(OLDER_DOMAIN).refused(processor, code::MASTER_KEY_MISMATCH);
    // A key-encrypting key beside a private key that is under none.
    by(cipher(&[], &theirs, &public), &into).refused(processor, code::TOKEN_INVALID);
    // Whoever may not bring such keys in may not use them either.
    let points: &'static PointSet = Box::leak(Box::new({
        let mut points = BUILT_IN[0].points;
        points.deny(Point::PkaKeyImportTransported);
        points
    }));
    by(request, &into).points(points).refused(processor, code::ACCESS_DENIED);
    for at in 0..mine.len() {
        let mut changed = mine.clone();
        changed[at] ^= 1;
        let codes = by(cipher(&[], &changed, &their_public), &into).told(processor).codes;
        assert_eq!(codes.return_code, 8, "byte {at}");
    }
}

/// Of a private key that came in nothing is derived: somebody has it. So it is of one that is used outside, and its
/// token cannot be made to say otherwise without the transport key.
#[test]
fn what_was_not_generated_derives_nothing() {
    let mut others = Others::new();
    let theirs = others.deriving[1].clone();
    let processor = &mut others.processor;
    let into = importer(processor, &["IMPORT", "GEN-PUB"], &AES_TRANSPORT);
    let known = foreign_ecc(&AES_TRANSPORT, None);
    assert!(opened_ecc(&AES_TRANSPORT, &known).is_some());
    by(cipher(&[], &known, &theirs), &into).refused(processor, code::KEY_USAGE);
    let shown = by(cipher(&[], &known, &theirs), &into).rules(&["PASSTHRU"]);
    shown.refused(processor, code::ACCESS_DENIED);
    shown.points(&PointSet::EVERYTHING).ok(processor);
    // With derivation data at its end, and the word of a card that generated it.
    let mut claiming = known.clone();
    (claiming[8 + 1], claiming[8 + 11], claiming[8 + 76 + 12]) = (1, 0x24, 1);
    claiming.extend([0x23, 0, 0, 8, 2, 4, 0, 128]);
    let length = (claiming.len() as u16).to_be_bytes();
    claiming[2..4].copy_from_slice(&length);
    by(cipher(&[], &claiming, &theirs), &into).refused(processor, code::TOKEN_INVALID);
    import_under(&claiming, &into).refused(processor, code::TOKEN_INVALID);
    // A transport key of what derives CIPHER keys.
    let skeleton = deriving_skeleton(processor, 2, 4);
    let mine = generate_under(&skeleton, &into).ok(processor).bytes(pkg::GENERATED_KEY_IDENTIFIER);
    let mut exchanged = mine.clone();
    let at = mine.len() - 3;
    exchanged[at] = 2;
    by(cipher(&[], &exchanged, &theirs), &into).refused(processor, code::TOKEN_INVALID);
    // Once it is imported, a key is one that came in.
    let inside =
        import_under(&mine, &into).ok(processor).bytes(wire::verb::pka_key_import::TARGET_KEY_IDENTIFIER);
    cipher(&[], &inside, &theirs).refused(processor, code::KEY_USAGE);
}
