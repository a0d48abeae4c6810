//! What a derived key may be: both parties have one key of every type, and none that the private key does not say.

use super::*;
use cca::Processor;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::pka::ecc::EccCurve;
use token::variable::{Attributes, Completeness, Pedigree, VariableType};
use token::{AesToken, ControlVector, DesToken, KeyType, VariableToken};
use wire::{Codes, code};

/// The keys of both parties of an agreement between two cards.
fn both(
    processor: &mut Processor,
    words: &[&str],
    derivation: [u8; 4],
    output: &[u8],
) -> [Result<Vec<u8>, Codes>; 2] {
    let parties = [0, 1].map(|_| deriving(processor, EccCurve::P521, derivation));
    let bits = i64::from(u16::from_be_bytes([derivation[2], derivation[3]]));
    [(0, 1), (1, 0)].map(|(mine, theirs)| {
        let (private, public) = (&parties[mine].0, &parties[theirs].1);
        Agreement { party: b"A and B", output, ..Agreement::new(words, private, public, bits) }.run(processor)
    })
}

#[test]
fn both_parties_have_one_key_of_every_aes_type() {
    let mut processor = processor();
    let skeleton = |key_type: VariableType, words: &[&str]| {
        let attributes = Attributes::new(key_type, words.iter().copied(), None).unwrap();
        let payload = VariableToken::default_payload(key_type);
        VariableToken::skeleton(Origin::Internal, payload, attributes).unwrap().to_bytes().to_vec()
    };
    for bits in [128u16, 192, 256] {
        let data = AesToken::skeleton(usize::from(bits / 8)).unwrap().to_bytes().to_vec();
        for (number, key_type, outputs) in [
            (AES_DATA, None, vec![vec![], vec![0; 64], data]),
            (
                CIPHER,
                Some(VariableType::Cipher),
                vec![vec![], skeleton(VariableType::Cipher, &["ANY-MODE", "NOEX-RAW"])],
            ),
            (EXPORTER, Some(VariableType::Exporter), vec![vec![], skeleton(VariableType::Exporter, &[])]),
            (IMPORTER, Some(VariableType::Importer), vec![vec![], skeleton(VariableType::Importer, &[])]),
        ] {
            for output in outputs {
                let words = ["DERIV02", "SHA-256"];
                let [one, two] = both(&mut processor, &words, derivation(2, number, bits), &output);
                let (one, two) = (one.unwrap(), two.unwrap());
                let Some(key_type) = key_type else {
                    let [one, two] = [one, two].map(|token| aes(&mut processor, &token).unwrap());
                    assert_eq!(one, two);
                    continue;
                };
                for token in [&one, &two] {
                    let token = VariableToken::parse(token).unwrap();
                    assert_eq!(token.key_type(), key_type);
                    let expected = match output.is_empty() {
                        true => Attributes::new(key_type, [], None).unwrap(),
                        false => VariableToken::parse(&output).unwrap().attributes().clone(),
                    };
                    let expected = expected.made(Pedigree::Agreement, Completeness::Complete);
                    assert_eq!(token.attributes(), &expected);
                }
                if output.len() > 64 && key_type == VariableType::Cipher {
                    let [one, two] = [one, two].map(|token| aes(&mut processor, &token).unwrap());
                    assert_eq!(one, two);
                }
            }
        }
    }
}

#[test]
fn both_parties_have_one_key_of_every_des_type() {
    let mut processor = processor();
    for (number, key_type, lengths) in [
        (AES_DATA, KeyType::Data, &[64u16, 128, 192][..]),
        (CIPHER, KeyType::Cipher, &[64, 128]),
        (EXPORTER, KeyType::Exporter, &[128]),
        (IMPORTER, KeyType::Importer, &[128]),
    ] {
        for bits in lengths {
            let form = match bits {
                64 => KeyForm::Single,
                128 => KeyForm::Double,
                _ => KeyForm::Triple,
            };
            let vector = key_type.default_vector(form).unwrap();
            let skeleton = DesToken::skeleton(Origin::Internal, form, vector).unwrap().to_bytes().to_vec();
            let mut outputs = vec![(vec![], vector), (skeleton, vector)];
            if key_type == KeyType::Data {
                let zero = DesToken::skeleton(Origin::Internal, KeyForm::Single, ControlVector::ZERO);
                outputs.push((zero.unwrap().to_bytes().to_vec(), ControlVector::ZERO));
            }
            for (output, vector) in outputs {
                let words = ["DERIV02", "KEY-DES", "SHA-384", "USECONFG"];
                let agreed = both(&mut processor, &words, derivation(1, number, *bits), &output);
                let [one, two] = agreed.map(|token| {
                    let token = token.unwrap();
                    let parsed = DesToken::parse(&token).unwrap();
                    assert_eq!(parsed.control_vector(), vector, "{key_type:?} {bits}");
                    assert_eq!(parsed.form().key_bytes(), usize::from(bits / 8));
                    des_pattern(&mut processor, &token)
                });
                assert_eq!(one, two, "{key_type:?} {bits}");
            }
        }
    }
}

#[test]
fn what_a_private_key_does_not_say_is_not_derived() {
    let mut processor = processor();
    let (curve, words) = (EccCurve::P521, ["DERIV02", "SHA-256"]);
    let public = Peer::new(curve).public(&mut processor);
    let mut refused = |agreed: &Agreement<'_>, codes: Codes, what: &str| {
        let agreed = Agreement { public: &public, ..agreed.clone() };
        assert_eq!(agreed.run(&mut processor).unwrap_err(), codes, "{what}");
    };
    let mut others = verb_requests::pka::processor();
    let (data, _) = deriving(&mut others, curve, derivation(2, AES_DATA, 256));
    let (cipher, _) = deriving(&mut others, curve, derivation(2, CIPHER, 256));
    let (des, _) = deriving(&mut others, curve, derivation(1, CIPHER, 128));
    let data_request = Agreement::new(&words, &data, &[], 256);
    for bits in [0, 128, 192, 255, 257, 512, -1, i64::MAX, i64::MIN] {
        refused(&Agreement { bits, ..data_request.clone() }, code::KEY_BITS, "another length");
    }
    refused(
        &Agreement { words: &["DERIV02", "SHA-256", "KEY-DES"], ..data_request.clone() },
        code::KEY_USAGE,
        "DES",
    );
    let variable = |key_type: VariableType, words: &[&str]| {
        let attributes = Attributes::new(key_type, words.iter().copied(), None).unwrap();
        let payload = VariableToken::default_payload(key_type);
        VariableToken::skeleton(Origin::Internal, payload, attributes).unwrap().to_bytes().to_vec()
    };
    let exporter = variable(VariableType::Exporter, &[]);
    let cipher_token = variable(VariableType::Cipher, &[]);
    let hmac = variable(VariableType::Hmac, &["GENERATE"]);
    let aes_128 = AesToken::skeleton(16).unwrap().to_bytes();
    let des_token = |key_type: KeyType, form, origin| {
        let vector = key_type.default_vector(form).unwrap();
        DesToken::skeleton(origin, form, vector).unwrap().to_bytes()
    };
    let des_cipher = des_token(KeyType::Cipher, KeyForm::Double, Origin::Internal);
    for (output, codes, what) in [
        (&cipher_token[..], code::KEY_USAGE, "CIPHER of DATA"),
        (&exporter, code::KEY_USAGE, "EXPORTER of DATA"),
        (&hmac, code::KEY_USAGE, "HMAC of DATA"),
        (&aes_128, code::KEY_BITS, "AES-128 of AES-256"),
        (&des_cipher, code::TOKEN_INVALID, "DES of AES"),
        (&[0xFF; 64], code::TOKEN_INVALID, "no token"),
    ] {
        refused(&Agreement { output, ..data_request.clone() }, codes, what);
    }
    let cipher_request = Agreement { private: &cipher, ..data_request.clone() };
    for (output, what) in
        [(&exporter[..], "EXPORTER of CIPHER"), (&hmac, "HMAC of CIPHER"), (&aes_128, "DATA of CIPHER")]
    {
        refused(&Agreement { output, ..cipher_request.clone() }, code::KEY_USAGE, what);
    }
    let des_request = Agreement { private: &des, bits: 128, ..data_request.clone() };
    for (key_type, form, codes) in [
        (KeyType::Exporter, KeyForm::Double, code::KEY_USAGE),
        (KeyType::Importer, KeyForm::Double, code::KEY_USAGE),
        (KeyType::Mac, KeyForm::Double, code::KEY_USAGE),
        (KeyType::Data, KeyForm::Double, code::KEY_USAGE),
        (KeyType::Cipher, KeyForm::Single, code::KEY_BITS),
    ] {
        let output = &des_token(key_type, form, Origin::Internal)[..];
        refused(&Agreement { output, ..des_request.clone() }, codes, key_type.name());
    }
    let part = KeyType::Cipher.vector_with(KeyForm::Double, ["KEY-PART"]).unwrap();
    let output = &DesToken::skeleton(Origin::Internal, KeyForm::Double, part).unwrap().to_bytes()[..];
    refused(&Agreement { output, ..des_request.clone() }, code::KEY_USAGE, "a part of a key");
    let output = &des_token(KeyType::Cipher, KeyForm::Double, Origin::External)[..];
    refused(
        &Agreement { output, ..des_request },
        code::TOKEN_INVALID,
        "an external token without a key for it",
    );
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    refused(&Agreement { output: &label, ..data_request.clone() }, code::LABEL_NOT_FOUND, "a label");
    refused(&Agreement { party: &[7; 257], ..data_request.clone() }, code::INVALID_PARAMETER, "257 bytes");
    // Where the key stands that shows it: no derived key is told by the secret.
    let passing = Agreement { words: &["PASSTHRU"], points: ALL, ..data_request };
    refused(&passing, code::KEY_USAGE, "PASSTHRU of a key that derives");
}
