//! Requests of payments: keys are entered in parts, blocks are made on the card, and answers are compared with the
//! inverse. Other programs get the same cases with clear keys.

use super::{Expected, Maker, Request, VARIABLE_TOKEN_ROOM, fixed, words};
use crate::load::operation::Payment;
use crate::load::{LabError, keys};
use wire::verb::{
    self, CvvDigits, CvvPan, Diversification, EmvAction, EmvScheme, EmvSequence, EmvSession, FormatAlgorithm,
    FormatAlphabets, FormatMethod, MacFormat, MacMethod, PinAlternateMethod, PinDerivation, PinDerivationOut,
    PinDerivations, PinEncryptedMethod, PinMethod, PinTranslation, PinVerifyMethod, Room, TokenLength,
    TokenOrigin, VariableAlgorithm, VariableKeyForm, VariableKeyType, encrypted_pin_translate,
    encrypted_pin_translate2,
};

const PAN: &[u8; 12] = b"401234567890";
/// The PAN with a check digit, which blocks of ISO-0 do not have.
const CHECKED_PAN: &[u8; 13] = b"4012345678909";

/// The PAN of a job, with its check digit: verifications of one card are judged one after the other, so each job has a
/// card of its own. (No verb looks at check digits.)
fn checked_pan(job: usize) -> [u8; CHECKED_PAN.len()] {
    let mut pan = *CHECKED_PAN;
    pan[4..12].copy_from_slice(&digits_of(job));
    pan
}

/// The number of a job as eight digits.
fn digits_of(job: usize) -> [u8; 8] {
    let (mut digits, mut left) = ([b'0'; 8], job);
    for digit in digits.iter_mut().rev() {
        *digit += (left % 10) as u8;
        left /= 10;
    }
    digits
}

/// The answer of a program that finds the expected result.
const RIGHT: &[u8; 1] = b"1";
/// Decimalisation table and validation data of IBM 3624.
const METHOD_DATA: &[u8; 48] = b"01234567890123451122334455667788                ";
/// The PAN of the card verification value.
const CARD_PAN: &[u8; 16] = b"4123456789012345";
/// Profile of PIN blocks of ISO-0 under a key that is not derived.
const ISO_0: &[u8; 24] = b"ISO-0   NONE            ";
const EXPIRES: &[u8; 4] = b"8701";
const SERVICE: &[u8; 3] = b"101";
/// A chip card: PAN, sequence number and transaction counter; and the authorisation response code.
const CHIP_PAN: &[u8; 19] = b"4012345678901230123";
const CHIP_SEQUENCE: &[u8; 2] = b"01";
const CHIP_COUNTER: [u8; 2] = [0, 7];
const RESPONSE_CODE: &[u8; 2] = b"00";
/// A PAN with all its digits, for blocks of ISO-4.
const WHOLE_PAN: &[u8; 16] = b"4012345678909123";
/// A key serial number whose counter has five bits set.
const SERIAL: [u8; 10] = [0xFF, 0xFF, 0x98, 0x76, 0x54, 0x32, 0x10, 0xE0, 0x00, 0x1F];
/// The data of a cryptogram: amounts, country, results, currency, date, type, number and counter, and the card's data.
const TRANSACTION: [u8; 33] = [7; 33];
/// Derivation data of a PIN key of AES-128, of a counter with five bits set.
const AES_DERIVATION: [u8; 20] =
    [1, 1, 0x10, 0, 0, 2, 0, 0x80, 0x12, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56, 0, 0, 0, 0x1F];

/// A PIN profile of this format, with a key serial number for derived keys.
fn profile(format: &str, is_derived: bool) -> Vec<u8> {
    let mut profile = format!("{format:8}NONE            ").into_bytes();
    if is_derived {
        profile.extend_from_slice(&SERIAL);
        profile.resize(48, b' ');
    }
    profile
}

/// A request that translates a PIN block from one key to another.
fn translate<'a>(
    keys: [&'a [u8]; 2],
    profiles: [&'a [u8]; 2],
    block: &'a [u8; 8],
    translation: PinTranslation,
    derivations: Option<PinDerivations>,
) -> encrypted_pin_translate::Ask<'a> {
    encrypted_pin_translate::Ask {
        derivations,
        input_pin_encrypting_key_identifier: keys[0].into(),
        output_pin_encrypting_key_identifier: keys[1].into(),
        input_pin_profile: profiles[0],
        pan_data_in: Some(PAN),
        pin_block_in: block,
        output_pin_profile: profiles[1],
        pan_data_out: Some(PAN),
        ..encrypted_pin_translate::Ask::new(translation)
    }
}

/// A request that translates a PIN block of ISO-4 from one key to another.
fn translate2<'a>(
    keys: [&'a [u8]; 2],
    profiles: [&'a [u8]; 2],
    block: &'a [u8],
) -> encrypted_pin_translate2::Ask<'a> {
    encrypted_pin_translate2::Ask {
        input_pin_encrypting_key_identifier: keys[0].into(),
        output_pin_encrypting_key_identifier: keys[1].into(),
        input_pin_profile: profiles[0],
        input_pan_data: WHOLE_PAN,
        input_pin_block: block,
        output_pin_profile: profiles[1],
        output_pan_data: WHOLE_PAN,
        output_pin_block: block.len(),
        ..encrypted_pin_translate2::Ask::new(PinTranslation::Translate)
    }
}

/// The measured request of a translation, which must give this block.
fn translating(ask: &encrypted_pin_translate::Ask<'_>, block: &[u8; 8]) -> Request {
    let expected = Expected::Bytes(encrypted_pin_translate::PIN_BLOCK_OUT, block.to_vec());
    Request::new(ask, expected)
}

/// An outbound and an inbound PIN key of one value, with that value.
struct Pair {
    value: Vec<u8>,
    outbound: Vec<u8>,
    inbound: Vec<u8>,
}

impl Maker<'_> {
    pub(super) fn payment(&mut self, payment: Payment, job: usize) -> Result<Request, LabError> {
        match payment {
            Payment::PinTranslate => self.pin_translate(job),
            Payment::PinTranslateThreeParts => self.pin_translate_three_parts(job),
            Payment::PinReformat => self.pin_reformat(job),
            Payment::PinTranslateDukpt => self.pin_translate_dukpt(job),
            Payment::PinVerifyDukpt => self.pin_verify_dukpt(job),
            Payment::PinGenerate => self.pin_generate(job),
            Payment::PinGenerateAlternate => self.pin_generate_alternate(job),
            Payment::CvvVerify => self.cvv_verify(job),
            Payment::Tr31ImportB => self.tr31_import_b(job),
            Payment::Tr31ImportD => self.tr31_import_d(job),
            Payment::ArqcVerify => self.arqc_verify(job),
            Payment::PinTranslateAesDukpt => self.pin_translate_aes_dukpt(),
            Payment::Ff1 => self.ff1(job),
        }
    }

    fn pin_translate(&mut self, job: usize) -> Result<Request, LabError> {
        let (ours, theirs) = (self.pair(job, 0)?, self.pair(job, 1)?);
        let block = self.pin_block(&ours.outbound, job)?;
        let keys = [&ours.inbound[..], &theirs.outbound];
        let ask = translate(keys, [ISO_0; 2], &block, PinTranslation::Translate, None);
        let made = self.translated(&ask)?;
        let keys = [&theirs.inbound[..], &ours.outbound];
        let back = translate(keys, [ISO_0; 2], &made, PinTranslation::Translate, None);
        self.leads_back(&back, &block)?;
        let given = [&ours.value[..], &theirs.value, &block, CHECKED_PAN];
        Ok(translating(&ask, &made).beside(&given, made))
    }

    fn pin_translate_three_parts(&mut self, job: usize) -> Result<Request, LabError> {
        let (ours, theirs) = (self.pair_of_three_parts(job, 0)?, self.pair_of_three_parts(job, 1)?);
        let block = self.pin_block(&ours.outbound, job)?;
        let keys = [&ours.inbound[..], &theirs.outbound];
        let ask = translate(keys, [ISO_0; 2], &block, PinTranslation::Translate, None);
        let made = self.translated(&ask)?;
        let keys = [&theirs.inbound[..], &ours.outbound];
        let back = translate(keys, [ISO_0; 2], &made, PinTranslation::Translate, None);
        self.leads_back(&back, &block)?;
        Ok(translating(&ask, &made))
    }

    /// The answer is filled with digits that only the card knows: programs get the card's block, and must find the same
    /// PIN in it.
    fn pin_reformat(&mut self, job: usize) -> Result<Request, LabError> {
        let (ours, theirs) = (self.pair(job, 0)?, self.pair(job, 1)?);
        let block = self.pin_block(&ours.outbound, job)?;
        let iso_3 = &profile("ISO-3", false)[..];
        let keys = [&ours.inbound[..], &theirs.outbound];
        let ask = translate(keys, [ISO_0, iso_3], &block, PinTranslation::Reformat, None);
        let made = self.translated(&ask)?;
        let keys = [&theirs.inbound[..], &ours.outbound];
        let back = translate(keys, [iso_3, ISO_0], &made, PinTranslation::Reformat, None);
        self.leads_back(&back, &block)?;
        let given = [&ours.value[..], &theirs.value, &block, CHECKED_PAN, &made];
        Ok(translating(&ask, &made).beside(&given, *RIGHT))
    }

    fn pin_translate_dukpt(&mut self, job: usize) -> Result<Request, LabError> {
        let values = [0, 1].map(|number| keys::payment_key(job, number));
        let (ours, theirs) = (self.base_key(&values[0])?, self.base_key(&values[1])?);
        // A key derived from our base key enciphers this block; its content does not matter.
        let block = *b"a block!";
        let derived = &profile("ISO-0", true)[..];
        let (whole, both) = (PinTranslation::Translate, Some(PinDerivations::Both));
        let ask = translate([&ours, &theirs], [derived; 2], &block, whole, both);
        let made = self.translated(&ask)?;
        self.leads_back(&translate([&theirs, &ours], [derived; 2], &made, whole, both), &block)?;
        let given = [&values[0][..], &values[1], &SERIAL, &block];
        Ok(translating(&ask, &made).beside(&given, made))
    }

    fn pin_verify_dukpt(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::encrypted_pin_verify::*;
        let pair = self.pair(job, 0)?;
        let (base, method) = (keys::payment_key(job, 1), keys::payment_key(job, 2));
        let (deriving, generating) = (self.base_key(&base)?, self.entered("PINGEN", None, &[], &method)?);
        let checked = checked_pan(job);
        let pan: [u8; PAN.len()] = fixed(&checked[..PAN.len()])?;
        let under_pair = self.pin_block_of(&generating, &pair.outbound, &pan)?;
        let derived = profile("ISO-0", true);
        let (keys, profiles) = ([&pair.inbound[..], &deriving], [&ISO_0[..], &derived]);
        let derivations = Some(PinDerivations::Out);
        let into = translate(keys, profiles, &under_pair, PinTranslation::Translate, derivations);
        let block = self.translated(&into)?;
        let ask = Ask {
            derivation: Some(PinDerivation::In),
            input_pin_encrypting_key_identifier: (&deriving).into(),
            pin_verifying_key_identifier: (&generating).into(),
            input_pin_profile: &derived,
            pan_data: Some(&pan),
            encrypted_pin_block: &block,
            pin_check_length: 4,
            data_array: METHOD_DATA,
            ..Ask::new(PinVerifyMethod::Ibm)
        };
        let given = [&base[..], &SERIAL, &method, &block, &checked, METHOD_DATA];
        Ok(super::Request::new(&ask, Expected::Done).beside(&given, *RIGHT))
    }

    /// The offset of the generated PIN must be zero in each digit.
    fn pin_generate(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::clear_pin_generate::*;
        let key = self.entered("PINGEN", None, &[], &keys::payment_key(job, 0))?;
        let ask = Ask {
            pin_generating_key_identifier: (&key).into(),
            pin_length: 16,
            pin_check_length: 16,
            data_array: METHOD_DATA,
            ..Ask::new(PinMethod::Ibm)
        };
        let pin: [u8; 16] = fixed(self.ask(&ask)?.got().returned_result)?;
        let mut with_pin = *METHOD_DATA;
        with_pin[32..].copy_from_slice(&pin);
        let offset = self.ask(&Ask { method: PinMethod::IbmOffset, data_array: &with_pin, ..ask })?;
        if offset.got().returned_result != [b'0'; 16] {
            return Err(LabError::facility("make the offset of a PIN")("it is not zero"));
        }
        Ok(super::Request::new(&ask, Expected::Bytes(RETURNED_RESULT, pin.to_vec())))
    }

    /// The offset of the PIN that the key itself generates must be zero in each digit.
    fn pin_generate_alternate(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::clear_pin_generate_alternate::*;
        let pair = self.pair(job, 0)?;
        let key = self.entered("PINGEN", None, &[], &keys::payment_key(job, 1))?;
        let block = self.pin_block_of(&key, &pair.outbound, PAN)?;
        let ask = Ask {
            pin_encryption_key_identifier: (&pair.inbound).into(),
            pin_generation_key_identifier: (&key).into(),
            pin_profile: ISO_0,
            pan_data: Some(PAN),
            encrypted_pin_block: &block,
            pin_check_length: 4,
            data_array: METHOD_DATA,
            ..Ask::new(PinAlternateMethod::IbmOffset)
        };
        let expected = Expected::Bytes(RETURNED_RESULT, b"0000            ".to_vec());
        Ok(super::Request::new(&ask, expected))
    }

    fn cvv_verify(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::{cvv_generate as generate, cvv_verify as verify};
        let value = keys::payment_key(job, 0);
        let key = self.entered("MAC", Some(TokenLength::Double), &["CVVKEY-A"], &value)?;
        let mut pan = *CARD_PAN;
        let number = pan.len() - 8;
        pan[number..].copy_from_slice(&digits_of(job));
        let generate = generate::Ask {
            pan_digits: Some(CvvPan::Digits16),
            cvv_digits: Some(CvvDigits::Three),
            pan_data: &pan,
            expiration_date: EXPIRES,
            service_code: SERVICE,
            cvv_key_a_identifier: (&key).into(),
            ..generate::Ask::new()
        };
        let found: [u8; 5] = fixed(self.ask(&generate)?.got().cvv_value)?;
        let verify = verify::Ask {
            pan_digits: generate.pan_digits,
            cvv_digits: generate.cvv_digits,
            pan_data: generate.pan_data,
            expiration_date: generate.expiration_date,
            service_code: generate.service_code,
            cvv_key_a_identifier: generate.cvv_key_a_identifier,
            cvv_value: &found,
            ..verify::Ask::new()
        };
        let request = super::Request::new(&verify, Expected::Done);
        Ok(request.beside(&[&value, &pan, EXPIRES, SERVICE], &found[..3]))
    }

    /// The cryptogram is a MAC by another verb, under a session key that is derived step by step.
    fn arqc_verify(&mut self, job: usize) -> Result<super::Request, LabError> {
        use verb::emv_transaction::*;
        let value = keys::payment_key(job, 0);
        let issuer = self.entered("DKYGENKY", None, &["DKYL1", "DMAC"], &value)?;
        let below = self.key_skeleton("DKYGENKY", None, &["DKYL0", "DMAC"])?;
        let mac = self.key_skeleton("MAC", Some(TokenLength::Double), &[])?;
        let number = [0x45, 0x67, 0x89, 0x01, 0x23, 0x01, 0x23, 0x01];
        let card = self.derived(&issuer, &[number, number.map(|byte: u8| !byte)].concat(), &below)?;
        let session = [[0, 7, 0xF0, 0, 0, 0, 0, 0], [0, 7, 0x0F, 0, 0, 0, 0, 0]].concat();
        let session = self.derived(&card, &session, &mac)?;
        let cryptogram = self.emv_mac(&session)?;
        let ask = Ask {
            session: Some(EmvSession::Common),
            sequence: Some(EmvSequence::Appended),
            issuer_master_key_identifier: (&issuer).into(),
            pan: CHIP_PAN,
            pan_seq_number: Some(CHIP_SEQUENCE),
            cryptogram_info: &TRANSACTION,
            atc: &CHIP_COUNTER,
            arc: RESPONSE_CODE,
            arqc: &cryptogram,
            ..Ask::new(EmvAction::Both, EmvScheme::Emv)
        };
        let response = self.ask(&ask)?.got().arpc.to_vec();
        let given =
            [&value[..], CHIP_PAN, CHIP_SEQUENCE, &CHIP_COUNTER, &TRANSACTION, &cryptogram, RESPONSE_CODE];
        let answer = response.get(..8).unwrap_or_default().to_vec();
        Ok(super::Request::new(&ask, Expected::Bytes(ARPC, response)).beside(&given, answer))
    }

    /// A key derived by enciphering `data` under the key-generating key, in place of the token `made`.
    fn derived(&self, generating: &[u8], data: &[u8], made: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::diversified_key_generate::*;
        let derived = self.ask(&Ask {
            generating_key_id: generating.into(),
            data,
            generated_key_id: made.into(),
            ..Ask::new(Diversification::Encipher)
        })?;
        Ok(derived.got().generated_key_id.to_vec())
    }

    /// The MAC of the transaction's data, as chip cards compute it.
    fn emv_mac(&self, key: &[u8]) -> Result<[u8; 8], LabError> {
        use verb::mac_generate::*;
        let mac = self.ask(&Ask {
            method: Some(MacMethod::EmvDouble),
            format: Some(MacFormat::Bytes8),
            key_identifier: key.into(),
            text: &TRANSACTION,
            chaining_vector: Some(&[0; 18]),
            ..Ask::new()
        })?;
        fixed(mac.got().mac)
    }

    fn pin_translate_aes_dukpt(&mut self) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate2::{Ask, OUTPUT_PIN_BLOCK};
        let base = self.variable_key(VariableKeyType::DkyGenKy, &["D-ALL", "A-DUKPT"])?;
        let [outbound, inbound] =
            self.pin_pair([["ENCRYPT", "PINXLATE", "ISO-4"], ["DECRYPT", "PINXLATE", "ISO-4"]])?;
        let iso_4 = profile("ISO-4", false);
        let derived = [&iso_4[..], &AES_DERIVATION].concat();
        // A key derived from our base key enciphers this block; its content does not matter.
        let block = *b"a block of ISO-4";
        let ask = Ask {
            derivation_in: Some(PinDerivation::AesIn),
            ..translate2([&base, &outbound], [&derived, &iso_4], &block)
        };
        let made = self.ask(&ask)?.got().output_pin_block.to_vec();
        let back = self.ask(&Ask {
            derivation_out: Some(PinDerivationOut::AesOut),
            ..translate2([&inbound, &base], [&iso_4, &derived], &made)
        })?;
        if back.got().output_pin_block != block {
            return Err(LabError::facility("translate a PIN block back")("another block came back"));
        }
        Ok(super::Request::new(&ask, Expected::Bytes(OUTPUT_PIN_BLOCK, made)))
    }

    fn ff1(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::{format_preserving_decipher as from, format_preserving_encipher as to};
        let text = *b"4012345678909123";
        let value = keys::test_bytes(0xFF1, job, 32);
        let key = self.entered_variable(VariableKeyType::Cipher, &["FF1"], &value)?;
        let (method, algorithm) = (FormatMethod::Ff1, FormatAlgorithm::Aes);
        let ask = to::Ask {
            key_identifier: (&key).into(),
            plaintext: &text,
            ciphertext: text.len(),
            ..to::Ask::new(method, algorithm, FormatAlphabets::Digits)
        };
        let made = self.ask(&ask)?.got().ciphertext.to_vec();
        let back = self.ask(&from::Ask {
            key_identifier: (&key).into(),
            ciphertext: &made,
            plaintext: text.len(),
            ..from::Ask::new(method, algorithm, FormatAlphabets::Digits)
        })?;
        if back.got().plaintext != text {
            return Err(LabError::facility("decipher a text again")("another text came back"));
        }
        let request = super::Request::new(&ask, Expected::Bytes(to::CIPHERTEXT, made.clone()));
        Ok(request.beside(&[&value, &text], made))
    }

    /// An AES-128 key of this type and usage.
    fn variable_key(&self, key_type: VariableKeyType, usage: &[&str]) -> Result<Vec<u8>, LabError> {
        use verb::key_generate2::*;
        let skeleton = self.variable_skeleton(key_type, usage)?;
        let generated = self.ask(&Ask {
            clear_key_bit_length: 128,
            key_type_1: b"TOKEN   ",
            key_type_2: b"        ",
            generated_key_identifier_1: Room { given: &skeleton, bytes: VARIABLE_TOKEN_ROOM },
            ..Ask::new(VariableAlgorithm::Aes, VariableKeyForm::Op)
        })?;
        Ok(generated.got().generated_key_identifier_1.to_vec())
    }

    /// Two PINPROT keys of AES-128 with the same value and these usages.
    fn pin_pair(&self, [one, two]: [[&str; 3]; 2]) -> Result<[Vec<u8>; 2], LabError> {
        use verb::key_generate2::*;
        let [one, two] = [one, two].map(|usage| self.variable_skeleton(VariableKeyType::PinProt, &usage));
        let generated = self.ask(&Ask {
            clear_key_bit_length: 128,
            key_type_1: b"TOKEN   ",
            key_type_2: b"TOKEN   ",
            generated_key_identifier_1: Room { given: &one?, bytes: VARIABLE_TOKEN_ROOM },
            generated_key_identifier_2: Room { given: &two?, bytes: VARIABLE_TOKEN_ROOM },
            ..Ask::new(VariableAlgorithm::Aes, VariableKeyForm::Opop)
        })?;
        let got = generated.got();
        Ok([got.generated_key_identifier_1, got.generated_key_identifier_2].map(<[u8]>::to_vec))
    }

    /// The skeleton of an AES key of this type and usage.
    pub(super) fn variable_skeleton(
        &self,
        key_type: VariableKeyType,
        usage: &[&str],
    ) -> Result<Vec<u8>, LabError> {
        use verb::key_token_build2::*;
        let built = self.ask(&Ask {
            usage: &words(usage),
            target_key_token: VARIABLE_TOKEN_ROOM,
            ..Ask::new(TokenOrigin::Internal, VariableAlgorithm::Aes, key_type)
        })?;
        Ok(built.got().target_key_token.to_vec())
    }

    /// The block that a translation gives.
    fn translated(&self, ask: &encrypted_pin_translate::Ask<'_>) -> Result<[u8; 8], LabError> {
        fixed(self.ask(ask)?.got().pin_block_out)
    }

    /// Fails if a request does not give back the original block: such a request is not measured.
    fn leads_back(&self, back: &encrypted_pin_translate::Ask<'_>, block: &[u8; 8]) -> Result<(), LabError> {
        if self.translated(back)? == *block {
            return Ok(());
        }
        Err(LabError::facility("translate a PIN block back")("another block came back"))
    }

    /// A block of ISO-0 with a PIN that the job's own key generates.
    fn pin_block(&mut self, outbound: &[u8], job: usize) -> Result<[u8; 8], LabError> {
        let generating = self.entered("PINGEN", None, &[], &keys::payment_key(job, 2))?;
        self.pin_block_of(&generating, outbound, PAN)
    }

    fn pin_block_of(&self, generating: &[u8], outbound: &[u8], pan: &[u8; 12]) -> Result<[u8; 8], LabError> {
        use verb::encrypted_pin_generate::*;
        let generated = self.ask(&Ask {
            pin_generating_key_identifier: generating.into(),
            outbound_pin_encrypting_key_identifier: outbound.into(),
            pin_length: 4,
            data_array: METHOD_DATA,
            pin_profile: ISO_0,
            pan_data: Some(pan),
            ..Ask::new(PinEncryptedMethod::Ibm)
        })?;
        fixed(generated.got().encrypted_pin_block)
    }

    /// An OPINENC and an IPINENC key with the same value.
    fn pair(&self, job: usize, number: u64) -> Result<Pair, LabError> {
        let value = keys::payment_key(job, number);
        let [outbound, inbound] =
            ["OPINENC", "IPINENC"].map(|key_type| self.entered(key_type, None, &[], &value));
        Ok(Pair { outbound: outbound?, inbound: inbound?, value })
    }

    fn pair_of_three_parts(&self, job: usize, number: u64) -> Result<Pair, LabError> {
        let mut value = keys::payment_key(job, number);
        value.extend_from_slice(&keys::payment_key(job, number + 2)[..8]);
        let [outbound, inbound] = ["OPINENC", "IPINENC"]
            .map(|key_type| self.entered(key_type, Some(TokenLength::Triple), &[], &value));
        Ok(Pair { outbound: outbound?, inbound: inbound?, value })
    }

    /// A KEYGENKY key of this value for DUKPT.
    fn base_key(&self, value: &[u8]) -> Result<Vec<u8>, LabError> {
        self.entered("KEYGENKY", Some(TokenLength::Double), &["UKPT"], value)
    }
}
