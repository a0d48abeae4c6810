//! Which key may be used where: every key type in every key parameter of the verb table, tried.
//!
//! `uses.txt` beside this file is what came out; a change of it is a change of what keys may do, to be looked at in
//! review. `CRYPTAND_BLESS=1 cargo test --release -p cca --test verbs uses` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use token::control_vector::KeyForm;
use token::derivation::{Derived, Deriving, leaves_in_no_other_way};
use token::transaction::{TerminalSide, TransactionKey};
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::usage::{CardValueHalf, PinBlockIn, PinBlockOut, PinMethod, PinStep, Side, Use, Wrapping};
use token::variable::{Carrier, CipherMode, HmacHash, PinField, VariableUse};
use token::{ControlVector, KeyType, VariableToken};
use verb_requests::uses::samples::{Sample, SampleKind, samples};
use verb_requests::uses::ways::Others;
use wire::verb::{
    Direction, Entry, Executor, Kind, TABLE, Verb, cipher_text_translate2, clear_pin_generate_alternate,
    cvv_generate, cvv_key_combine, derive_icc_mk, diversified_key_generate, diversified_key_generate2,
    ec_diffie_hellman, encrypted_pin_generate, encrypted_pin_translate, encrypted_pin_translate2,
    encrypted_pin_verify, format_preserving_translate, key_export, key_generate2, key_import, key_test2,
    key_translate, key_translate2, pin_change_unblock, pka_key_generate, pka_key_import, pka_key_translate,
    prohibit_export2, recover_pin_from_offset, restrict_key_attribute, secure_messaging_for_keys,
    secure_messaging_for_pins, symmetric_key_export, symmetric_key_generate, symmetric_key_import,
    symmetric_key_import2, tr31_key_export, tr31_key_import, unique_key_derive,
};

/// Key parameters that a verb takes and does not look at: they belong to forms that are refused, or are written
/// over.
pub const NOT_READ: &[(Verb, usize)] = &[
    (Verb::PkaKeyGenerate, pka_key_generate::GENERATED_KEY_IDENTIFIER),
    (Verb::PkaKeyImport, pka_key_import::TARGET_KEY_IDENTIFIER),
    (Verb::PkaKeyTranslate, pka_key_translate::TARGET_KEY_TOKEN),
    (Verb::SymmetricKeyImport, symmetric_key_import::TARGET_KEY_IDENTIFIER),
    (Verb::SymmetricKeyImport2, symmetric_key_import2::TARGET_KEY_IDENTIFIER),
    (Verb::SymmetricKeyGenerate, symmetric_key_generate::LOCENC_KEY),
    (Verb::Tr31KeyImport, tr31_key_import::OUTPUT_KEY_IDENTIFIER),
    (Verb::CvvKeyCombine, cvv_key_combine::OUTPUT_KEY_IDENTIFIER),
];

/// What one key type may do in one place: 0, or the lowest code of the ways that were tried.
type Cells = BTreeMap<String, (u32, u32)>;

/// Key parameters of the verbs that a card runs.
fn places() -> impl Iterator<Item = (&'static Entry, usize)> {
    let served = TABLE.iter().filter(|entry| entry.executor != Executor::Daemon);
    served.flat_map(|entry| {
        let is_key = |position: &usize| {
            let parameter = &entry.parameters[*position];
            matches!(parameter.kind, Kind::Key { .. }) && parameter.direction != Direction::Out
        };
        (0..entry.parameters.len()).filter(is_key).map(move |position| (entry, position))
    })
}

/// The uses that the PIN verbs ask a key for in this place, as the requests have it.
fn of_pins(verb: Verb, position: usize) -> Vec<Use> {
    use encrypted_pin_translate::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER as INPUT;
    match (verb, position) {
        (Verb::EncryptedPinTranslate, INPUT) => {
            vec![Use::PinBlockIn(PinBlockIn::Translate), Use::DeriveTransactionKeys]
        }
        (Verb::EncryptedPinTranslate, _) => {
            vec![Use::PinBlockOut(PinBlockOut::Translate), Use::DeriveTransactionKeys]
        }
        (Verb::EncryptedPinTranslate2, encrypted_pin_translate2::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER) => {
            vec![Use::PinBlockIn(PinBlockIn::Translate)]
        }
        (Verb::EncryptedPinTranslate2, encrypted_pin_translate2::OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER) => {
            vec![Use::PinBlockOut(PinBlockOut::Translate)]
        }
        (Verb::RecoverPinFromOffset, recover_pin_from_offset::PIN_ENC_KEY_ID) => {
            vec![Use::PinBlockOut(PinBlockOut::Generate)]
        }
        (Verb::RecoverPinFromOffset, _) => vec![Use::Pin(PinStep::Encrypted, PinMethod::IbmOffset)],
        // Under a key of another value the block is none: 8/2514.
        (Verb::EncryptedPinVerify2, _) => Vec::new(),
        (Verb::EncryptedPinVerify, encrypted_pin_verify::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER)
        | (Verb::ClearPinGenerateAlternate, clear_pin_generate_alternate::PIN_ENCRYPTION_KEY_IDENTIFIER) => {
            Vec::new()
        }
        (Verb::EncryptedPinVerify, _) => [PinMethod::Visa, PinMethod::Interbank, PinMethod::Ibm]
            .map(|method| Use::Pin(PinStep::Verify, method))
            .to_vec(),
        (Verb::ClearPinGenerate, _) => {
            [PinMethod::Visa, PinMethod::Ibm].map(|method| Use::Pin(PinStep::Clear, method)).to_vec()
        }
        (Verb::ClearPinGenerateAlternate, _) => vec![Use::Pin(PinStep::Alternate, PinMethod::IbmOffset)],
        (Verb::EncryptedPinGenerate, encrypted_pin_generate::PIN_GENERATING_KEY_IDENTIFIER) => {
            vec![Use::Pin(PinStep::Encrypted, PinMethod::Ibm)]
        }
        (Verb::EncryptedPinGenerate, _) => vec![Use::PinBlockOut(PinBlockOut::Generate)],
        (Verb::ClearPinEncrypt, _) => vec![Use::PinBlockOut(PinBlockOut::Encrypt)],
        (Verb::CvvGenerate, cvv_generate::CVV_KEY_A_IDENTIFIER) => {
            vec![Use::CardValueGenerate(CardValueHalf::A)]
        }
        (Verb::CvvGenerate, _) => vec![Use::CardValueGenerate(CardValueHalf::B)],
        (Verb::CvvVerify, cvv_generate::CVV_KEY_A_IDENTIFIER) => {
            vec![Use::CardValueVerify(CardValueHalf::A)]
        }
        (Verb::CvvVerify, _) => vec![Use::CardValueVerify(CardValueHalf::B)],
        (Verb::TransactionValidation, _) => vec![Use::SecurityCodeGenerate, Use::SecurityCodeVerify],
        _ => Vec::new(),
    }
}

/// The uses that the PIN verbs ask a key of AES for in this place, as the requests have it.
fn of_aes_pins(verb: Verb, position: usize) -> Vec<VariableUse> {
    use encrypted_pin_translate2::*;
    match (verb, position) {
        (Verb::EncryptedPinTranslate2, INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER) => {
            let field = PinField::In(PinBlockIn::Translate);
            vec![VariableUse::PinField(field), VariableUse::DerivePinField(field)]
        }
        (Verb::EncryptedPinTranslate2, OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER) => {
            let field = PinField::Out(PinBlockOut::Translate);
            vec![VariableUse::PinField(field), VariableUse::DerivePinField(field)]
        }
        (Verb::EncryptedPinTranslate2, AUTHENTICATION_KEY_IDENTIFIER) => vec![VariableUse::PanChangeVerify],
        _ => Vec::new(),
    }
}

/// What the vector of a DES key says of the places of the verbs of chip cards, where it does.
fn of_chips(verb: Verb, position: usize, vector: ControlVector) -> Option<bool> {
    let deriving = Deriving::of(vector).filter(|deriving| deriving.derived != Derived::Any);
    match (verb, position) {
        (Verb::DiversifiedKeyGenerate, diversified_key_generate::GENERATING_KEY_ID) => {
            let mac = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
            let below = KeyType::DKyGenKy.default_vector(KeyForm::Double).unwrap();
            let makes = |deriving: Deriving| deriving.may_make(mac) || deriving.may_make(below);
            Some(deriving.is_some_and(makes) || vector.type_bits().0 == 5 && vector.bit(19))
        }
        (Verb::EmvTransaction, _) => {
            Some(deriving.is_some_and(|deriving| deriving.level < 2 && deriving.derived == Derived::Mac))
        }
        (Verb::DeriveIccMk, derive_icc_mk::ISSUER_MASTER_KEY_IDENTIFIER) => {
            let of_cards = [Derived::Mac, Derived::PinMessages, Derived::Data];
            Some(deriving.is_some_and(|deriving| deriving.level > 0 && of_cards.contains(&deriving.derived)))
        }
        (Verb::PinChangeUnblock, pin_change_unblock::AUTHENTICATION_MASTER_KEY) => {
            Some(deriving.is_some_and(|deriving| deriving.level < 2 && deriving.derived == Derived::Mac))
        }
        (Verb::PinChangeUnblock, pin_change_unblock::ISSUER_MASTER_KEY) => Some(
            deriving.is_some_and(|deriving| deriving.level < 2 && deriving.derived == Derived::PinMessages),
        ),
        (Verb::SecureMessagingForPins, secure_messaging_for_pins::SECMSG_KEY) => {
            Some(vector.may(Use::MessageOfPins))
        }
        (Verb::SecureMessagingForKeys, secure_messaging_for_keys::SESSION_KEY) => {
            Some(vector.may(Use::MessageOfKeys))
        }
        (Verb::UniqueKeyDerive, unique_key_derive::BASE_DERIVATION_KEY_IDENTIFIER) => {
            let kept = KeyType::Cipher.vector_with(KeyForm::Double, ["NO-XPORT"]).unwrap();
            Some(vector.may(Use::DeriveTransactionKeys) && leaves_in_no_other_way(vector, kept))
        }
        (Verb::UniqueKeyDerive, unique_key_derive::TRANSPORT_KEY_IDENTIFIER) => {
            Some(vector.may(Use::ProtectBlocks(Side::Sending)))
        }
        (Verb::UniqueKeyDerive, position) => {
            let key = match position {
                unique_key_derive::GENERATED_KEY_IDENTIFIER1 => TransactionKey::Data,
                unique_key_derive::GENERATED_KEY_IDENTIFIER2 => TransactionKey::Mac,
                _ => TransactionKey::Pin,
            };
            let is_double = vector.form() == Some(KeyForm::Double);
            Some(is_double && key.takes(TerminalSide::Both, vector))
        }
        (Verb::DeriveIccMk, derive_icc_mk::TRANSPORT_KEY_IDENTIFIER) => {
            Some(vector.may(Use::Wrap(Side::Sending, Wrapping::Keys)))
        }
        _ => None,
    }
}

/// What the types themselves say of a place, where they do.
fn by_type(sample: &Sample, verb: Verb, position: usize) -> Option<bool> {
    if let SampleKind::Des(vector, _) = &sample.kind
        && let Some(allowed) = of_chips(verb, position, *vector)
    {
        return Some(allowed);
    }
    match (&sample.kind, verb) {
        (SampleKind::Variable(attributes), Verb::DiversifiedKeyGenerate2)
            if position == diversified_key_generate2::GENERATING_KEY_ID =>
        {
            let made = VariableToken::parse(&crate::chip::aes_mac_skeleton()).unwrap();
            Some(attributes.derives(made.attributes()) && !attributes.derives_any())
        }
        (SampleKind::Des(vector, bytes), _) if !of_pins(verb, position).is_empty() => {
            let is_card = matches!(verb, Verb::CvvGenerate | Verb::CvvVerify);
            // Key A of double length is all of the pair, key B has a single one.
            let fits = match position {
                cvv_generate::CVV_KEY_A_IDENTIFIER if is_card => true,
                _ if is_card => *bytes == 8,
                _ => matches!(*bytes, 16 | 24),
            };
            Some(fits && of_pins(verb, position).into_iter().any(|usage| vector.may(usage)))
        }
        (SampleKind::Des(vector, bytes), verb) => {
            let (usage, fits) = match verb {
                Verb::Encipher => (Use::Encipher, true),
                Verb::Decipher => (Use::Decipher, true),
                Verb::CipherTextTranslate2 if position == cipher_text_translate2::KEY_IDENTIFIER_IN => {
                    (Use::TranslateFrom, true)
                }
                Verb::CipherTextTranslate2 => (Use::TranslateTo, true),
                Verb::CryptographicVariableEncipher => (Use::EncipherVariable, true),
                Verb::MacGenerate => (Use::MacGenerate, true),
                Verb::MacVerify => (Use::MacVerify, true),
                Verb::SymmetricKeyExport if position == symmetric_key_export::SOURCE_KEY_IDENTIFIER => {
                    (Use::TransportAsData, true)
                }
                Verb::KeyImport if position == key_import::IMPORTER_KEY_IDENTIFIER => {
                    (Use::Wrap(Side::Receiving, Wrapping::Keys), true)
                }
                Verb::KeyExport if position == key_export::EXPORTER_KEY_IDENTIFIER => {
                    (Use::Wrap(Side::Sending, Wrapping::Keys), true)
                }
                Verb::Tr31KeyImport if position == tr31_key_import::UNWRAP_KEK_IDENTIFIER => {
                    (Use::ProtectBlocks(Side::Receiving), true)
                }
                Verb::Tr31KeyExport if position == tr31_key_export::WRAP_KEK_IDENTIFIER => {
                    (Use::ProtectBlocks(Side::Sending), true)
                }
                Verb::Tr31KeyExport if position == tr31_key_export::SOURCE_KEY_IDENTIFIER => {
                    let is_kept = vector.bit(CONTROL_VECTOR_BIT_NO_TR31);
                    (Use::Export, !is_kept)
                }
                // A key of triple length is stronger than the key that would wrap it.
                Verb::KeyExport => (Use::Export, *bytes < 24),
                Verb::KeyTranslate if position == key_translate::INPUT_KEK_KEY_IDENTIFIER => {
                    (Use::Wrap(Side::Receiving, Wrapping::Translated), true)
                }
                Verb::KeyTranslate if position == key_translate::OUTPUT_KEK_KEY_IDENTIFIER => {
                    (Use::Wrap(Side::Sending, Wrapping::Translated), true)
                }
                _ => return None,
            };
            Some(fits && vector.may(usage))
        }
        (SampleKind::Variable(attributes), _) if !of_aes_pins(verb, position).is_empty() => {
            Some(of_aes_pins(verb, position).into_iter().any(|usage| attributes.may(usage)))
        }
        (SampleKind::Variable(attributes), Verb::SymmetricAlgorithmEncipher) => {
            Some(attributes.may(VariableUse::Encipher(CipherMode::Ecb)))
        }
        (SampleKind::Variable(attributes), Verb::SymmetricAlgorithmDecipher) => {
            Some(attributes.may(VariableUse::Decipher(CipherMode::Ecb)))
        }
        (SampleKind::Variable(attributes), Verb::FormatPreservingEncipher) => {
            Some(attributes.may(VariableUse::Encipher(CipherMode::Ff1)))
        }
        (SampleKind::Variable(attributes), Verb::FormatPreservingDecipher) => {
            Some(attributes.may(VariableUse::Decipher(CipherMode::Ff1)))
        }
        (SampleKind::Variable(attributes), Verb::FormatPreservingTranslate) => Some(match position {
            format_preserving_translate::INPUT_KEY_IDENTIFIER => {
                attributes.may(VariableUse::TranslateFrom(CipherMode::Ff1))
            }
            _ => attributes.may(VariableUse::TranslateTo(CipherMode::Ff1)),
        }),
        (SampleKind::Variable(attributes), Verb::CipherTextTranslate2) => {
            let usage = match position {
                cipher_text_translate2::KEY_IDENTIFIER_IN => VariableUse::TranslateFrom,
                _ => VariableUse::TranslateTo,
            };
            Some([CipherMode::Cbc, CipherMode::Ecb].into_iter().any(|mode| attributes.may(usage(mode))))
        }
        (SampleKind::Variable(attributes), Verb::MacGenerate2) => {
            let hashes = [HmacHash::Sha256, HmacHash::Sha512].map(VariableUse::HmacGenerate);
            Some(
                attributes.may(VariableUse::CmacGenerate)
                    || hashes.into_iter().any(|usage| attributes.may(usage)),
            )
        }
        (SampleKind::Variable(attributes), Verb::MacVerify2) => {
            let hashes = [HmacHash::Sha256, HmacHash::Sha512].map(VariableUse::HmacVerify);
            Some(
                attributes.may(VariableUse::CmacVerify)
                    || hashes.into_iter().any(|usage| attributes.may(usage)),
            )
        }
        (SampleKind::Variable(attributes), Verb::HmacGenerate) => {
            let hashes = [HmacHash::Sha256, HmacHash::Sha512];
            Some(hashes.into_iter().any(|hash| attributes.may(VariableUse::HmacGenerate(hash))))
        }
        (SampleKind::Variable(attributes), Verb::HmacVerify) => {
            let hashes = [HmacHash::Sha256, HmacHash::Sha512];
            Some(hashes.into_iter().any(|hash| attributes.may(VariableUse::HmacVerify(hash))))
        }
        (SampleKind::Variable(attributes), Verb::KeyGenerate2)
            if matches!(
                position,
                key_generate2::KEK_KEY_IDENTIFIER_1 | key_generate2::KEK_KEY_IDENTIFIER_2
            ) =>
        {
            let wrappings = if position == key_generate2::KEK_KEY_IDENTIFIER_1 {
                [(Side::Receiving, Wrapping::GeneratedForBoth), (Side::Sending, Wrapping::GeneratedTwice)]
            } else {
                [(Side::Receiving, Wrapping::GeneratedOnce), (Side::Sending, Wrapping::GeneratedOnce)]
            };
            let may = |(side, wrapping)| attributes.may(VariableUse::Wrap(side, wrapping));
            Some(wrappings.into_iter().any(may))
        }
        (SampleKind::Variable(attributes), Verb::SymmetricKeyExport) => Some(match position {
            symmetric_key_export::SOURCE_KEY_IDENTIFIER => attributes.may_leave(Carrier::Aes),
            _ => attributes.may(VariableUse::Wrap(Side::Sending, Wrapping::Keys)),
        }),
        (SampleKind::Variable(attributes), Verb::SymmetricKeyImport2)
            if position == symmetric_key_import2::RSA_PRIVATE_KEY_IDENTIFIER =>
        {
            Some(attributes.may(VariableUse::Wrap(Side::Receiving, Wrapping::Keys)))
        }
        (SampleKind::Variable(attributes), Verb::RestrictKeyAttribute | Verb::ProhibitExport2)
            if matches!(
                (verb, position),
                (Verb::RestrictKeyAttribute, restrict_key_attribute::KEK_KEY_IDENTIFIER)
                    | (Verb::ProhibitExport2, prohibit_export2::KEK_KEY_IDENTIFIER)
            ) =>
        {
            let sides = [Side::Sending, Side::Receiving];
            Some(sides.into_iter().any(|side| attributes.may(VariableUse::Wrap(side, Wrapping::Keys))))
        }
        (SampleKind::Variable(attributes), Verb::KeyTest2) if position == key_test2::KEK_KEY_IDENTIFIER => {
            let sides = [Side::Sending, Side::Receiving];
            Some(sides.into_iter().any(|side| attributes.may(VariableUse::Wrap(side, Wrapping::Tested))))
        }
        (SampleKind::Variable(attributes), Verb::KeyTranslate2)
            if position == key_translate2::OUTPUT_KEK_KEY_IDENTIFIER =>
        {
            Some(attributes.may(VariableUse::Wrap(Side::Sending, Wrapping::Translated)))
        }
        (SampleKind::Variable(attributes), Verb::PkaKeyGenerate)
            if position == pka_key_generate::TRANSPORT_KEY_IDENTIFIER =>
        {
            let may = |side| attributes.may(VariableUse::Wrap(side, Wrapping::GeneratedPrivateKeys));
            Some([Side::Sending, Side::Receiving].into_iter().any(may))
        }
        (SampleKind::Variable(attributes), Verb::PkaKeyImport)
            if position == pka_key_import::IMPORTER_KEY_IDENTIFIER =>
        {
            Some(attributes.may(VariableUse::Wrap(Side::Receiving, Wrapping::PrivateKeys)))
        }
        (SampleKind::Variable(attributes), Verb::PkaKeyTranslate)
            if position == pka_key_translate::TARGET_TRANSPORT_KEY_IDENTIFIER =>
        {
            let may = |side| attributes.may(VariableUse::Wrap(side, Wrapping::PrivateKeys));
            Some([Side::Sending, Side::Receiving].into_iter().any(may))
        }
        (SampleKind::Variable(attributes), Verb::EcDiffieHellman) => Some(match position {
            ec_diffie_hellman::PRIVATE_KEK_KEY_IDENTIFIER => {
                attributes.may(VariableUse::Wrap(Side::Receiving, Wrapping::PrivateKeys))
            }
            ec_diffie_hellman::OUTPUT_KEK_KEY_IDENTIFIER => {
                let may = |side| attributes.may(VariableUse::Wrap(side, Wrapping::GeneratedOnce));
                [Side::Sending, Side::Receiving].into_iter().any(may)
            }
            _ => return None,
        }),
        (SampleKind::Rsa(usage) | SampleKind::Ecc(usage), Verb::DigitalSignatureGenerate) => {
            Some(usage.may_sign())
        }
        (SampleKind::Rsa(usage), Verb::PkaDecrypt) => Some(usage.may_decipher_data()),
        (SampleKind::Rsa(usage), Verb::TlsPremaster) => Some(usage.may_open_premasters()),
        (SampleKind::Rsa(usage), Verb::SymmetricKeyImport | Verb::SymmetricKeyImport2)
            if [
                symmetric_key_import::RSA_PRIVATE_KEY_IDENTIFIER,
                symmetric_key_import2::RSA_PRIVATE_KEY_IDENTIFIER,
            ]
            .contains(&position) =>
        {
            Some(usage.may_import_keys())
        }
        _ => None,
    }
}

#[test]
fn every_key_type_in_every_key_parameter() {
    let mut others = Others::new();
    let samples = samples(&mut others);
    let mut text = String::from(
        "What becomes of every key type in every key parameter of the verb table: used, or refused with these\n\
         codes. Made by tests/verbs/uses.rs, which CRYPTAND_BLESS=1 lets write it anew.\n",
    );
    for (entry, position) in places() {
        let mut cells = Cells::new();
        for sample in &samples {
            let cell = others.cell(entry.verb, position, &sample.token);
            if let Some(allowed) = by_type(sample, entry.verb, position) {
                assert_eq!(cell == (0, 0), allowed, "{} as {} of {}", sample.name, position, entry.name);
            }
            assert!(
                cells.insert(sample.name.clone(), cell).is_none(),
                "two samples are called {}",
                sample.name
            );
        }
        let used = cells.values().filter(|cell| **cell == (0, 0)).count();
        let parameter = entry.parameters[position].name;
        if NOT_READ.contains(&(entry.verb, position)) {
            assert_eq!(used, cells.len(), "{}.{parameter} is read", entry.name);
            let _ = write!(text, "\n{}.{parameter}\n  not read\n", entry.name);
            continue;
        }
        assert!((1..cells.len()).contains(&used), "{}.{parameter}: {cells:?}", entry.name);
        let _ = write!(text, "\n{}.{parameter}\n{}", entry.name, lines(&samples, &cells));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verbs/uses.txt");
    needs::assert_committed(&path, &text, "-p cca --test verbs uses");
}

/// A line for each key, in the order of the samples: what comes of it, and its name.
fn lines(samples: &[Sample], cells: &Cells) -> String {
    let mut text = String::new();
    for sample in samples {
        let (return_code, reason_code) = cells[&sample.name];
        let outcome = match (return_code, reason_code) {
            (0, 0) => "used".to_owned(),
            _ => format!("{return_code}/{reason_code}"),
        };
        let _ = writeln!(text, "  {outcome:6} {}", sample.name);
    }
    text
}
