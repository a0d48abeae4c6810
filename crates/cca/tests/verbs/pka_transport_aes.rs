//! RSA and elliptic-curve private keys under AES transport keys: PKA_Key_Generate with XPORT, PKA_Key_Import, opened
//! and made by OpenSSL by the layouts alone.

mod uses;

use cca::Processor;
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey, EcPoint, PointConversionForm};
use openssl::nid::Nid;
use openssl::rsa::Rsa;
use token::variable::VariableType;
use verb_requests::book::{foreign_ecc, foreign_rsa, half, layout, opened_ecc, opened_rsa};
use verb_requests::support::{Request, processor};
use verb_requests::uses::ways::{
    AES_TRANSPORT, entered2, generate_under, import_under, public_part, rsa_skeleton,
};
use wire::code;
use wire::verb::{
    Verb, digital_signature_generate as dsg, digital_signature_verify as dsv, pka_key_generate as pkg,
    pka_key_import as pki, pka_key_token_build as pkb,
};

pub fn importer(processor: &mut Processor, words: &[&str], value: &[u8]) -> Vec<u8> {
    entered2(processor, VariableType::Importer, words, value)
}

pub fn exporter(processor: &mut Processor, words: &[&str], value: &[u8]) -> Vec<u8> {
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
