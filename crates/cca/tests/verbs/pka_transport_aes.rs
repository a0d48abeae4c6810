//! RSA and elliptic-curve private keys under AES transport keys: PKA_Key_Generate with XPORT, PKA_Key_Import, opened and made by
//! OpenSSL by the layouts alone; and what such keys, and what is under the same transport key, must not be taken for.

use cca::Processor;
use openssl::aes::{AesKey, unwrap_key, wrap_key};
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey, EcPoint, PointConversionForm};
use openssl::nid::Nid;
use openssl::pkey::Private;
use openssl::rsa::Rsa;
use openssl::sha::sha256;
use token::des::Origin;
use token::variable::{Attributes, PayloadVersion, VariableType, Wrapper};
use token::{AesToken, VariableToken};
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{
    Verb, digital_signature_generate as dsg, digital_signature_verify as dsv, key_generate2,
    key_part_import2, key_test2, key_translate2 as ktr2, pka_key_generate as pkg, pka_key_import as pki,
    pka_key_token_build as pkb,
};

use crate::support::{EMPTY_DOMAIN, OLDER_DOMAIN, Request, generated, processor, text};
use crate::uses::ways::{
    AES_TRANSPORT, curve_token, entered2, generate_under, generate2, import_under, import2, part2,
    public_part, rsa_skeleton, skeleton_of,
};
use crate::uses::wrapped::{made, pattern, plain};

/// The key that a payload of AESKW holds behind this hash; of no hash behind eight random bytes.
fn unwrapped(key: &[u8], payload: &[u8], hash: Option<[u8; 32]>, bytes: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; payload.len() - 8];
    let front = if hash.is_some() { 36 } else { 8 };
    let padding = out.len().checked_sub(front + bytes)?;
    let initial = match hash {
        Some(_) => [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 8 * padding as u8, 32],
        None => [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0, 0],
    };
    unwrap_key(&AesKey::new_decrypt(key).unwrap(), Some(initial), &mut out, payload).ok()?;
    let is_bound = hash.is_none_or(|hash| out[..4] == [0; 4] && out[4..36] == hash);
    (is_bound && out[front + bytes..].iter().all(|byte| *byte == 0))
        .then(|| out[front..front + bytes].to_vec())
}

fn wrapped(key: &[u8], value: &[u8], hash: Option<[u8; 32]>) -> Vec<u8> {
    let front = hash.map_or(vec![0xC3; 8], |hash| [&[0; 4][..], &hash].concat());
    let padding = (front.len() + value.len()).next_multiple_of(8) - front.len() - value.len();
    let kind = if hash.is_some() { 32 } else { 0 };
    let initial = [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 8 * padding as u8, kind];
    let rest = [&front[..], value, &vec![0; padding]].concat();
    let mut out = vec![0; rest.len() + 8];
    wrap_key(&AesKey::new_encrypt(key).unwrap(), Some(initial), &mut out, &rest).unwrap();
    out
}

fn half(token: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([token[at], token[at + 1]]))
}

/// Offsets in a section of X'30' or X'31': end of the associated data and begin of the key field, begin of the modulus, its length,
/// length of the private values.
fn layout(section: &[u8]) -> (usize, usize, usize, usize) {
    match section[0] {
        0x30 => (56, 122, half(section, 52), half(section, 54)),
        0x31 => (68, 134, half(section, 62), (0..5).map(|index| half(section, 52 + 2 * index)).sum()),
        other => panic!("section {other:#x}"),
    }
}

/// The private values of an external RSA token under a transport key, by another library.
fn opened_rsa(kek: &[u8], token: &[u8]) -> Option<Vec<u8>> {
    let section = &token[8..8 + half(token, 10)];
    let (opk_at, modulus_at, n, bytes) = layout(section);
    assert_eq!(section[opk_at + 48..opk_at + 64], pattern(kek), "the pattern of the transport key");
    let opk = unwrapped(kek, &section[opk_at..opk_at + 48], None, 32)?;
    let public = &token[8 + section.len()..];
    let e = &public[12..12 + half(public, 6)];
    let hash = sha256(&[&section[10..opk_at], &section[modulus_at..modulus_at + n], e].concat());
    unwrapped(&opk, &section[modulus_at + n..], Some(hash), bytes)
}

/// An external token of an RSA key, made by another library.
fn foreign_rsa(key: &Rsa<Private>, section: u8, kek: &[u8]) -> Vec<u8> {
    let (n, e) = (key.n().to_vec(), key.e().to_vec());
    let values: Vec<Vec<u8>> = match section {
        0x30 => vec![key.d().to_vec()],
        _ => [key.p(), key.q(), key.dmp1(), key.dmq1(), key.iqmp()].map(|part| part.unwrap().to_vec()).into(),
    };
    let (opk_at, lengths_at): (usize, usize) = if section == 0x30 { (56, 54) } else { (68, 52) };
    let mut bytes = vec![0; opk_at];
    bytes[0] = section;
    bytes[5] = opk_at as u8 - 10;
    (bytes[10], bytes[11]) = if section == 0x30 { (2, 0x82) } else { (3, 0x42) };
    bytes[14] = 2;
    bytes[50] = 0x80;
    for (index, value) in values.iter().enumerate() {
        bytes[lengths_at + 2 * index..][..2].copy_from_slice(&(value.len() as u16).to_be_bytes());
    }
    let n_at = if section == 0x30 { 52 } else { 62 };
    bytes[n_at..n_at + 2].copy_from_slice(&(n.len() as u16).to_be_bytes());
    let opk = [0x5A; 32];
    let hash = sha256(&[&bytes[10..], &n, &e].concat());
    let payload = wrapped(&opk, &values.concat(), Some(hash));
    bytes[6..8].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    let mut section = [&bytes[..], &wrapped(kek, &opk, None), &pattern(kek), &[0; 2], &n, &payload].concat();
    let length = section.len() as u16;
    section[2..4].copy_from_slice(&length.to_be_bytes());
    let public = [&[4, 0, 0, 12 + e.len() as u8, 0, 0, 0, e.len() as u8][..]].concat();
    let public = [&public[..], &((8 * n.len()) as u16).to_be_bytes(), &[0, 0], &e].concat();
    let whole = 8 + section.len() + public.len();
    [&[0x1E, 0][..], &(whole as u16).to_be_bytes(), &[0; 4], &section, &public].concat()
}

/// The private value of an external token of a curve under a transport key, by another library.
fn opened_ecc(kek: &[u8], token: &[u8]) -> Option<Vec<u8>> {
    let section = &token[8..8 + half(token, 10)];
    assert_eq!((section[0], section[4], section[5], section[10], section[11]), (0x20, 1, 2, 0x42, 0));
    assert_eq!(section[16..24], pattern(kek)[..8]);
    assert_eq!(section[24..72], [0; 48], "no key field outside");
    let payload_at = 76 + half(section, 72);
    let following = &token[8 + section.len()..];
    let hash = sha256(&[&section[76..payload_at], &section[11..12], following].concat());
    unwrapped(kek, &section[payload_at..], Some(hash), half(section, 12).div_ceil(8))
}

/// A role with one more point.
fn with(point: Point) -> &'static PointSet {
    let mut points = BUILT_IN[0].points;
    points.allow(point);
    Box::leak(Box::new(points))
}

fn importer(processor: &mut Processor, words: &[&str], value: &[u8]) -> Vec<u8> {
    entered2(processor, VariableType::Importer, words, value)
}

fn exporter(processor: &mut Processor, words: &[&str], value: &[u8]) -> Vec<u8> {
    entered2(processor, VariableType::Exporter, words, value)
}

fn exported(processor: &mut Processor, skeleton: &[u8], transport: &[u8]) -> Vec<u8> {
    generate_under(skeleton, transport).ok(processor).bytes(pkg::GENERATED_KEY_IDENTIFIER)
}

/// A skeleton of a curve's key: its type, the bits of its prime.
fn curve_skeleton(processor: &mut Processor, kind: u8, bits: u16) -> Vec<u8> {
    let structure = [&[kind, 0][..], &bits.to_be_bytes(), &[0; 4]].concat();
    Request::new(Verb::PkaKeyTokenBuild)
        .rules(&["ECC-PAIR", "KEY-MGMT"])
        .counted(pkb::KEY_VALUES_STRUCTURE_LENGTH, pkb::KEY_VALUES_STRUCTURE, structure)
        .integer(pkb::TOKEN_LENGTH, 2500)
        .ok(processor)
        .bytes(pkb::TOKEN)
}

#[test]
fn generated_rsa_keys_open_by_the_book_and_come_back() {
    let mut processor = processor();
    for kek in [&AES_TRANSPORT[..16], &AES_TRANSPORT[..24], &AES_TRANSPORT] {
        let into = importer(&mut processor, &[], kek);
        let out = exporter(&mut processor, &["GEN-PUB"], kek);
        for kind in ["RSA-AESM", "RSA-AESC"] {
            let skeleton = rsa_skeleton(&mut processor, kind, 1024);
            for transport in [&out, &into] {
                let token = exported(&mut processor, &skeleton, transport);
                assert_eq!((token[0], token[8]), (0x1E, if kind == "RSA-AESM" { 0x30 } else { 0x31 }));
                let values = opened_rsa(kek, &token).unwrap();
                let public = public_part(&mut processor, &token);
                if kind == "RSA-AESC" {
                    let [p, q] =
                        [&values[..64], &values[64..128]].map(|part| BigNum::from_slice(part).unwrap());
                    assert!(public.ends_with(&(&p * &q).to_vec()));
                }
                for rules in [&[][..], &["RSA"], &["RSA", "IKEK-AES"], &["IKEK-AES"]] {
                    let reply = import_under(&token, &into).rules(rules).ok(&mut processor);
                    let internal = reply.bytes(pki::TARGET_KEY_IDENTIFIER);
                    assert_eq!((internal[0], internal[8], internal[20]), (0x1F, token[8], 0x22));
                    assert_eq!(public_part(&mut processor, &internal), public);
                }
            }
        }
        let skeleton = rsa_skeleton(&mut processor, "RSA-AESC", 1024);
        let named = generate_under(&skeleton, &out).rules(&["XPORT", "OKEK-AES"]);
        named.ok(&mut processor);
    }
}

#[test]
fn rsa_tokens_of_another_system_come_in() {
    let mut processor = processor();
    let into = importer(&mut processor, &["IMPORT"], &AES_TRANSPORT);
    for (section, bits) in [(0x30, 512), (0x30, 1024), (0x31, 1024), (0x31, 2048)] {
        let key = Rsa::generate(bits).unwrap();
        let token = foreign_rsa(&key, section, &AES_TRANSPORT);
        assert!(opened_rsa(&AES_TRANSPORT, &token).is_some());
        let internal = import_under(&token, &into).ok(&mut processor).bytes(pki::TARGET_KEY_IDENTIFIER);
        let public = public_part(&mut processor, &internal);
        assert!(public.ends_with(&key.n().to_vec()));
    }
}

#[test]
fn keys_of_every_curve_open_by_the_book_and_come_back() {
    let mut processor = processor();
    let into = importer(&mut processor, &["IMPORT"], &AES_TRANSPORT);
    let out = exporter(&mut processor, &["GEN-PUB"], &AES_TRANSPORT);
    for (kind, bits, nid) in [
        (0, 224, Some(Nid::SECP224R1)),
        (0, 256, Some(Nid::X9_62_PRIME256V1)),
        (0, 384, Some(Nid::SECP384R1)),
        (0, 521, Some(Nid::SECP521R1)),
        (1, 256, Some(Nid::BRAINPOOL_P256R1)),
        (1, 384, Some(Nid::BRAINPOOL_P384R1)),
        (2, 255, None),
        (3, 256, Some(Nid::SECP256K1)),
    ] {
        let skeleton = curve_skeleton(&mut processor, kind, bits);
        let token = exported(&mut processor, &skeleton, &out);
        let value = opened_ecc(&AES_TRANSPORT, &token).unwrap();
        let public = public_part(&mut processor, &token);
        if let Some(nid) = nid {
            let group = EcGroup::from_curve_name(nid).unwrap();
            let mut context = BigNumContext::new().unwrap();
            let mut point = EcPoint::new(&group).unwrap();
            point.mul_generator2(&group, &BigNum::from_slice(&value).unwrap(), &mut context).unwrap();
            let form = PointConversionForm::UNCOMPRESSED;
            assert!(public.ends_with(&point.to_bytes(&group, form, &mut context).unwrap()));
        }
        for rules in [&[][..], &["ECC"], &["ECC", "IKEK-AES"]] {
            let reply = import_under(&token, &into).rules(rules).ok(&mut processor);
            let internal = reply.bytes(pki::TARGET_KEY_IDENTIFIER);
            assert_eq!((internal[0], internal[8], internal[19]), (0x1F, 0x20, 0x22));
            assert_eq!(public_part(&mut processor, &internal), public);
            if kind == 2 {
                continue;
            }
            let signed = Request::new(Verb::DigitalSignatureGenerate)
                .rules(&["ECDSA"])
                .counted(dsg::PKA_PRIVATE_KEY_ID_LENGTH, dsg::PKA_PRIVATE_KEY_ID, &internal)
                .counted(dsg::HASH_LENGTH, dsg::HASH, [7; 32])
                .integer(dsg::SIGNATURE_FIELD_LENGTH, 200)
                .ok(&mut processor)
                .bytes(dsg::SIGNATURE_FIELD);
            Request::new(Verb::DigitalSignatureVerify)
                .rules(&["ECDSA"])
                .counted(dsv::PKA_PUBLIC_KEY_ID_LENGTH, dsv::PKA_PUBLIC_KEY_ID, &token)
                .counted(dsv::HASH_LENGTH, dsv::HASH, [7; 32])
                .counted(dsv::SIGNATURE_FIELD_LENGTH, dsv::SIGNATURE_FIELD, &signed)
                .ok(&mut processor);
        }
        // The token itself signs nothing.
        let signed = Request::new(Verb::DigitalSignatureGenerate)
            .rules(&["ECDSA"])
            .counted(dsg::PKA_PRIVATE_KEY_ID_LENGTH, dsg::PKA_PRIVATE_KEY_ID, &token)
            .counted(dsg::HASH_LENGTH, dsg::HASH, [7; 32])
            .integer(dsg::SIGNATURE_FIELD_LENGTH, 200);
        signed.refused(&mut processor, code::TOKEN_INVALID);
    }
}

/// A P-256 key of another library, under the transport key.
pub fn foreign_ecc(kek: &[u8], point_of: Option<&EcKey<Private>>) -> Vec<u8> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = EcKey::generate(&group).unwrap();
    let mut context = BigNumContext::new().unwrap();
    let form = PointConversionForm::UNCOMPRESSED;
    let shown = point_of.unwrap_or(&key).public_key().to_bytes(&group, form, &mut context).unwrap();
    let mut associated = [0; 16];
    (associated[3], associated[8], associated[10], associated[11]) = (16, 1, 0x80, 0x42);
    let public = [&[0x21, 0, 0, 79, 0, 0, 0, 0, 0, 0, 1, 0, 0, 65][..], &shown].concat();
    let hash = sha256(&[&associated[..], &[0], &public].concat());
    let payload = wrapped(kek, &key.private_key().to_vec_padded(32).unwrap(), Some(hash));
    let mut section = vec![0; 76];
    (section[0], section[4], section[5], section[8], section[10]) = (0x20, 1, 2, 0x80, 0x42);
    (section[12], section[15], section[73], section[75]) = (1, 16, 16, payload.len() as u8);
    section[16..24].copy_from_slice(&pattern(kek)[..8]);
    section.extend_from_slice(&associated);
    section.extend_from_slice(&payload);
    section[3] = section.len() as u8;
    let whole = 8 + section.len() + public.len();
    [&[0x1E, 0][..], &(whole as u16).to_be_bytes(), &[0; 4], &section, &public].concat()
}

#[test]
fn keys_of_curves_of_another_system_come_in_and_are_those_of_their_public_keys() {
    let mut processor = processor();
    let into = importer(&mut processor, &["IMPORT"], &AES_TRANSPORT);
    let token = foreign_ecc(&AES_TRANSPORT, None);
    assert!(opened_ecc(&AES_TRANSPORT, &token).is_some());
    import_under(&token, &into).ok(&mut processor);
    // Bound to a public key that is another one's by who has the transport key.
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let other = EcKey::generate(&group).unwrap();
    let token = foreign_ecc(&AES_TRANSPORT, Some(&other));
    assert!(opened_ecc(&AES_TRANSPORT, &token).is_some());
    import_under(&token, &into).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn every_changed_byte_is_refused() {
    let mut processor = processor();
    let into = importer(&mut processor, &["IMPORT"], &AES_TRANSPORT);
    let key = Rsa::generate(512).unwrap();
    let tokens = [
        foreign_rsa(&key, 0x30, &AES_TRANSPORT),
        foreign_rsa(&key, 0x31, &AES_TRANSPORT),
        foreign_ecc(&AES_TRANSPORT, None),
    ];
    for token in tokens {
        import_under(&token, &into).ok(&mut processor);
        let end = 8 + half(&token, 10);
        let sealed = match token[8] {
            0x20 => end - 80..end,
            _ => 8 + layout(&token[8..]).0..8 + layout(&token[8..]).0 + 64,
        };
        for at in 0..token.len() {
            for bit in [0x01, 0x40] {
                let mut changed = token.clone();
                changed[at] ^= bit;
                let codes = import_under(&changed, &into).told(&mut processor).codes;
                assert_eq!(codes.return_code, 8, "{:#x} {at}", token[8]);
                // Patterns of less than their field, and what lies in the clear, are refused as such.
                if sealed.contains(&at) && at < sealed.start + 56 {
                    assert_eq!(codes, code::TOKEN_INVALID, "{:#x} {at}: one refusal for all of it", token[8]);
                }
            }
        }
        for length in [0, 7, 8, token.len() - 1] {
            let codes = import_under(&token[..length], &into).told(&mut processor).codes;
            assert_eq!(codes.return_code, 8, "{length}");
        }
    }
}

/// What one token has does not open in another, of the same key or under the same transport key.
#[test]
fn parts_of_two_tokens_are_no_token() {
    let mut processor = processor();
    let into = importer(&mut processor, &["IMPORT"], &AES_TRANSPORT);
    let (one, two) = (Rsa::generate(512).unwrap(), Rsa::generate(512).unwrap());
    let [one, two] = [one, two].map(|key| foreign_rsa(&key, 0x30, &AES_TRANSPORT));
    let (opk_at, modulus_at, n, _) = layout(&one[8..]);
    for range in [8 + modulus_at..8 + modulus_at + n, 8 + modulus_at + n..8 + half(&one, 10)] {
        let mut mixed = one.clone();
        mixed[range.clone()].copy_from_slice(&two[range]);
        import_under(&mixed, &into).refused(&mut processor, code::TOKEN_INVALID);
    }
    // With the key field of the other: both happen to hold one key here, and the payload is bound to its own modulus.
    let mut mixed = one.clone();
    mixed[8 + opk_at..8 + opk_at + 48].copy_from_slice(&two[8 + opk_at..8 + opk_at + 48]);
    import_under(&mixed, &into).ok(&mut processor);
    let other = foreign_rsa(&Rsa::generate(512).unwrap(), 0x30, &[0x6B; 32]);
    import_under(&other, &into).refused(&mut processor, code::TOKEN_INVALID);
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
    // Clear keys come without a transport key, and are none; nor are keys that were not opened, and tokens of another kind.
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

/// Numbers of private keys brought in as symmetric keys under the same transport key, or the reverse: what DES let in block by block
/// is bound here to what it is.
#[test]
fn what_is_under_a_transport_key_opens_as_nothing_else() {
    let mut processor = processor();
    let into = importer(&mut processor, &["IMPORT", "TRANSLAT", "GEN-PUB"], &AES_TRANSPORT);
    let rsa = foreign_rsa(&Rsa::generate(512).unwrap(), 0x31, &AES_TRANSPORT);
    let (opk_at, modulus_at, n, _) = layout(&rsa[8..]);
    let opk = &rsa[8 + opk_at..8 + opk_at + 48];
    let values = &rsa[8 + modulus_at + n..8 + half(&rsa, 10)];
    let ecc = foreign_ecc(&AES_TRANSPORT, None);
    let payload_at = 8 + 76 + 16;
    let scalar = &ecc[payload_at..payload_at + 80];
    let symmetric = made(
        &AES_TRANSPORT,
        &Attributes::new(VariableType::Cipher, [], None).unwrap(),
        PayloadVersion::Variable,
        &text(32),
    );
    // The payloads in tokens of symmetric keys of every length, type and version that fits.
    let mut tried = 0;
    for (key_type, words) in [
        (VariableType::Cipher, &["ANY-MODE"][..]),
        (VariableType::Hmac, &["GENERATE"]),
        (VariableType::Exporter, &[]),
    ] {
        for version in [PayloadVersion::Variable, PayloadVersion::Fixed] {
            let attributes = Attributes::new(key_type, words.iter().copied(), None).unwrap();
            let Ok(skeleton) = VariableToken::skeleton(Origin::External, version, attributes) else {
                continue;
            };
            for stolen in [opk, values, scalar] {
                let Ok(token) = skeleton.with_payload(Wrapper::Key(pattern(&AES_TRANSPORT)), stolen.to_vec())
                else {
                    continue;
                };
                tried += 1;
                let token = token.to_bytes();
                let algorithm = if key_type.is_aes() { "AES" } else { "HMAC" };
                import2(algorithm, &token, &into).refused(&mut processor, code::TOKEN_INVALID);
                let test = Request::new(Verb::KeyTest2)
                    .rules(&[algorithm, "GENERATE"])
                    .counted(key_test2::KEY_IDENTIFIER_LENGTH, key_test2::KEY_IDENTIFIER, &token)
                    .counted(key_test2::KEK_KEY_IDENTIFIER_LENGTH, key_test2::KEK_KEY_IDENTIFIER, &into)
                    .integer(key_test2::VERIFICATION_PATTERN_LENGTH, 16);
                test.refused(&mut processor, code::TOKEN_INVALID);
                let out = exporter(&mut processor, &["TRANSLAT"], &[0x6B; 32]);
                let moved = Request::new(Verb::KeyTranslate2)
                    .rules(&[algorithm])
                    .counted(ktr2::INPUT_KEY_TOKEN_LENGTH, ktr2::INPUT_KEY_TOKEN, &token)
                    .counted(ktr2::INPUT_KEK_KEY_IDENTIFIER_LENGTH, ktr2::INPUT_KEK_KEY_IDENTIFIER, &into)
                    .counted(ktr2::OUTPUT_KEK_KEY_IDENTIFIER_LENGTH, ktr2::OUTPUT_KEK_KEY_IDENTIFIER, &out)
                    .integer(ktr2::OUTPUT_KEY_TOKEN_LENGTH, 725);
                moved.refused(&mut processor, code::TOKEN_INVALID);
            }
        }
    }
    assert!(tried >= 4, "{tried} payloads had the length of a symmetric key's");
    // And a symmetric key as the value of a curve, or a curve's as an object protection key, cut to its length.
    assert_eq!(plain(&AES_TRANSPORT, &symmetric, 30), Some(text(32)));
    let key_payload = &symmetric[parsed_head(&symmetric)..];
    let mut as_scalar = ecc.clone();
    as_scalar[payload_at..payload_at + 80].copy_from_slice(key_payload);
    import_under(&as_scalar, &into).refused(&mut processor, code::TOKEN_INVALID);
    for stolen in [key_payload, scalar] {
        let mut as_opk = rsa.clone();
        as_opk[8 + opk_at..8 + opk_at + 48].copy_from_slice(&stolen[..48]);
        import_under(&as_opk, &into).refused(&mut processor, code::TOKEN_INVALID);
    }
    // An internal token of a curve does not pass for an external one, nor the reverse.
    let inside = import_under(&ecc, &into).ok(&mut processor).bytes(pki::TARGET_KEY_IDENTIFIER);
    let mut turned = inside.clone();
    turned[0] = 0x1E;
    assert_eq!(import_under(&turned, &into).told(&mut processor).codes.return_code, 8);
    let mut turned = ecc.clone();
    turned[0] = 0x1F;
    assert_eq!(import_under(&turned, &into).told(&mut processor).codes.return_code, 8);
    let again = generate2("AES", 256, "CIPHER", &[]).ok(&mut processor);
    let internal_key = again.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
    import2("AES", &internal_key, &into).refused(&mut processor, code::TOKEN_INVALID);
}

/// Where the payload of a token of variable length begins.
fn parsed_head(token: &[u8]) -> usize {
    30 + half(token, 32)
}
