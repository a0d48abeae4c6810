//! Symmetric_Key_Export writes no control vector: what comes in again is a DATA key for every use, so only such a key
//! may go out.

use token::control_vector::KeyForm;
use token::des::Origin;
use token::usage::Use;
use token::{ControlVector, DesToken, KeyType};
use verb_requests::support::{Request, generate, mac, text};
use verb_requests::uses::ways::Others;
use wire::code;
use wire::verb::{Verb, key_generate, symmetric_key_export, symmetric_key_import};

const USES: [Use; 4] = [Use::Encipher, Use::Decipher, Use::MacGenerate, Use::MacVerify];
const FORMS: [KeyForm; 3] = [KeyForm::Single, KeyForm::Double, KeyForm::Triple];

/// Whether export and import would give a key a use that it has not.
fn gains(vector: ControlVector) -> bool {
    USES.iter().any(|usage| !vector.may(*usage))
}

/// Every vector that types, lengths and up to two keywords make.
fn vectors() -> Vec<(String, KeyForm, ControlVector)> {
    let keywords = [
        &[][..],
        &["XPORT-OK"],
        &["NO-XPORT"],
        &["ANY-MAC"],
        &["ANSIX9.9"],
        &["UKPT"],
        &["CLR8-ENC"],
        &["UKPT", "XPORT-OK"],
        &["ANY-MAC", "NO-XPORT"],
    ];
    let mut vectors = Vec::new();
    for key_type in KeyType::ALL.iter().copied() {
        for form in FORMS {
            for words in keywords {
                if let Ok(vector) = key_type.vector_with(form, words.iter().copied()) {
                    let form = vector.form().unwrap_or(form);
                    vectors.push((format!("{} {form:?} {words:?}", key_type.name()), form, vector));
                }
            }
        }
    }
    vectors.extend(FORMS.map(|form| (format!("{form:?} without vector"), form, ControlVector::ZERO)));
    vectors
}

fn export(others: &mut Others, token: &[u8]) -> verb_requests::support::Reply {
    use symmetric_key_export::{
        RSA_ENCIPHERED_KEY_LENGTH, RSA_PUBLIC_KEY_IDENTIFIER, RSA_PUBLIC_KEY_IDENTIFIER_LEN,
        SOURCE_KEY_IDENTIFIER, SOURCE_KEY_IDENTIFIER_LENGTH,
    };
    Request::new(Verb::SymmetricKeyExport)
        .rules(&["PKCS-1.2"])
        .counted(SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_KEY_IDENTIFIER, token)
        .counted(RSA_PUBLIC_KEY_IDENTIFIER_LEN, RSA_PUBLIC_KEY_IDENTIFIER, &others.public)
        .integer(RSA_ENCIPHERED_KEY_LENGTH, 512)
        .run(&mut others.processor)
}

#[test]
fn a_key_that_goes_out_may_do_all_that_it_may_where_it_comes_in() {
    let mut others = Others::new();
    let (mut out, mut kept) = (0, 0);
    for (name, form, vector) in vectors() {
        let skeleton = DesToken::skeleton(Origin::Internal, form, vector).unwrap();
        let token = generate("TOKEN", "")
            .bytes(key_generate::GENERATED_KEY_IDENTIFIER_1, skeleton.to_bytes())
            .ok(&mut others.processor)
            .bytes(key_generate::GENERATED_KEY_IDENTIFIER_1);
        let codes = export(&mut others, &token).codes;
        if codes.has_output() {
            assert!(!gains(vector) && (vector.is_zero() || vector.may(Use::Export)), "{name}");
            out += 1;
        } else {
            let expected = if gains(vector) { code::CONTROL_VECTOR_NOT_DATA } else { code::KEY_USAGE };
            assert_eq!(codes, expected, "{name}");
            kept += 1;
        }
    }
    assert!(out >= 6 && kept >= 40, "{out} {kept}");
}

/// What the rule keeps from: the type alone would let keys out that verify MACs, and they come in to make them.
#[test]
fn a_key_that_verifies_does_not_come_back_as_one_that_makes_macs() {
    let is_data = |vector: ControlVector| vector.type_bits() == (0, 0) && vector.may(Use::Export);
    let by_type = vectors().into_iter().filter(|(_, _, vector)| is_data(*vector));
    let gaining: Vec<_> = by_type.filter(|(_, _, vector)| gains(*vector)).map(|(name, ..)| name).collect();
    for key_type in ["DATAC ", "DATAM ", "DATAMV "] {
        assert!(gaining.iter().any(|name| name.starts_with(key_type)), "{key_type}");
    }

    let mut others = Others::new();
    let round = |others: &mut Others, key_type: &str| {
        let token = generate(key_type, "DOUBLE").ok(&mut others.processor);
        let block = export(others, &token.bytes(key_generate::GENERATED_KEY_IDENTIFIER_1));
        if !block.codes.has_output() {
            return Err(block.codes);
        }
        use symmetric_key_import::{
            RSA_ENCIPHERED_KEY, RSA_ENCIPHERED_KEY_LENGTH, RSA_PRIVATE_KEY_IDENTIFIER,
            RSA_PRIVATE_KEY_IDENTIFIER_LEN, TARGET_KEY_IDENTIFIER, TARGET_KEY_IDENTIFIER_LENGTH,
        };
        let block = block.bytes(symmetric_key_export::RSA_ENCIPHERED_KEY);
        let token = Request::new(Verb::SymmetricKeyImport)
            .rules(&["PKCS-1.2"])
            .counted(RSA_ENCIPHERED_KEY_LENGTH, RSA_ENCIPHERED_KEY, block)
            .counted(RSA_PRIVATE_KEY_IDENTIFIER_LEN, RSA_PRIVATE_KEY_IDENTIFIER, &others.transport)
            .counted(TARGET_KEY_IDENTIFIER_LENGTH, TARGET_KEY_IDENTIFIER, [0; 64])
            .ok(&mut others.processor)
            .bytes(TARGET_KEY_IDENTIFIER);
        mac(&token, &["X9.19OPT"], &text(16)).ok(&mut others.processor);
        Ok(())
    };
    assert_eq!(round(&mut others, "DATA"), Ok(()));
    for key_type in ["DATAC", "DATAM", "DATAMV"] {
        assert_eq!(round(&mut others, key_type), Err(code::CONTROL_VECTOR_NOT_DATA), "{key_type}");
    }
}
