//! Requests of payments: keys are entered in parts, blocks are made on the card, and answers are compared with the
//! inverse. Other programs get the same cases with clear keys.

use super::{Expected, Maker, Request, TOKEN_BYTES, VARIABLE_TOKEN_ROOM};
use crate::load::operation::Payment;
use crate::load::{LabError, keys};
use wire::verb::{self, Verb};

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
fn translate(keys: [&[u8]; 2], profiles: [Vec<u8>; 2], block: &[u8], words: &[&str]) -> Request {
    use verb::encrypted_pin_translate::*;
    let [from, to] = profiles;
    super::Request::new(Verb::EncryptedPinTranslate, Expected::Done)
        .bytes(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, keys[0])
        .bytes(OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, keys[1])
        .bytes(INPUT_PIN_PROFILE, from)
        .bytes(PAN_DATA_IN, *PAN)
        .bytes(PIN_BLOCK_IN, block)
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, words)
        .bytes(OUTPUT_PIN_PROFILE, to)
        .bytes(PAN_DATA_OUT, *PAN)
        .integer(SEQUENCE_NUMBER, 0)
}

/// A request that translates a PIN block of ISO-4 from one key to another.
fn translate2(keys: [&[u8]; 2], profiles: [Vec<u8>; 2], block: &[u8], words: &[&str]) -> Request {
    use verb::encrypted_pin_translate2::*;
    let [from, to] = profiles;
    super::Request::new(Verb::EncryptedPinTranslate2, Expected::Done)
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, words)
        .counted(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH, INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, keys[0])
        .counted(OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH, OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, keys[1])
        .counted(INPUT_PIN_PROFILE_LENGTH, INPUT_PIN_PROFILE, from)
        .counted(INPUT_PAN_DATA_LENGTH, INPUT_PAN_DATA, *WHOLE_PAN)
        .counted(INPUT_PIN_BLOCK_LENGTH, INPUT_PIN_BLOCK, block)
        .counted(OUTPUT_PIN_PROFILE_LENGTH, OUTPUT_PIN_PROFILE, to)
        .counted(OUTPUT_PAN_DATA_LENGTH, OUTPUT_PAN_DATA, *WHOLE_PAN)
        .integer(OUTPUT_PIN_BLOCK_LENGTH, block.len())
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
        use verb::encrypted_pin_translate::PIN_BLOCK_OUT;
        let (ours, theirs) = (self.pair(job, 0)?, self.pair(job, 1)?);
        let block = self.pin_block(&ours.outbound, job)?;
        let profiles = || [profile("ISO-0", false), profile("ISO-0", false)];
        let request = translate([&ours.inbound, &theirs.outbound], profiles(), &block, &["TRANSLAT"]);
        let made = self.call(&request, PIN_BLOCK_OUT)?;
        let back = translate([&theirs.inbound, &ours.outbound], profiles(), &made, &["TRANSLAT"]);
        self.leads_back(&back, &block)?;
        let given = [&ours.value[..], &theirs.value, &block, CHECKED_PAN];
        let request = request.beside(&given, made.clone());
        Ok(Request { expected: Expected::Bytes(PIN_BLOCK_OUT, made), ..request })
    }

    /// The answer is filled with digits that only the card knows: programs get the card's block, and must find the same
    /// PIN in it.
    fn pin_reformat(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate::PIN_BLOCK_OUT;
        let (ours, theirs) = (self.pair(job, 0)?, self.pair(job, 1)?);
        let block = self.pin_block(&ours.outbound, job)?;
        let profiles = [profile("ISO-0", false), profile("ISO-3", false)];
        let request = translate([&ours.inbound, &theirs.outbound], profiles, &block, &["REFORMAT"]);
        let made = self.call(&request, PIN_BLOCK_OUT)?;
        let profiles = [profile("ISO-3", false), profile("ISO-0", false)];
        let back = translate([&theirs.inbound, &ours.outbound], profiles, &made, &["REFORMAT"]);
        self.leads_back(&back, &block)?;
        let given = [&ours.value[..], &theirs.value, &block, CHECKED_PAN, &made];
        let request = request.beside(&given, *RIGHT);
        Ok(Request { expected: Expected::Bytes(PIN_BLOCK_OUT, made), ..request })
    }

    fn pin_translate_dukpt(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate::PIN_BLOCK_OUT;
        let values = [0, 1].map(|number| keys::payment_key(job, number));
        let (ours, theirs) = (self.base_key(&values[0])?, self.base_key(&values[1])?);
        // A key derived from our base key enciphers this block; its content does not matter.
        let block = *b"a block!";
        let profiles = || [profile("ISO-0", true), profile("ISO-0", true)];
        let words = ["TRANSLAT", "DUKPT-BH"];
        let request = translate([&ours, &theirs], profiles(), &block, &words);
        let made = self.call(&request, PIN_BLOCK_OUT)?;
        self.leads_back(&translate([&theirs, &ours], profiles(), &made, &words), &block)?;
        let request = request.beside(&[&values[0], &values[1], &SERIAL, &block], made.clone());
        Ok(Request { expected: Expected::Bytes(PIN_BLOCK_OUT, made), ..request })
    }

    fn pin_verify_dukpt(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate::PIN_BLOCK_OUT;
        use verb::encrypted_pin_verify::*;
        let pair = self.pair(job, 0)?;
        let (base, method) = (keys::payment_key(job, 1), keys::payment_key(job, 2));
        let (deriving, generating) = (self.base_key(&base)?, self.entered("PINGEN", &[], &method)?);
        let checked = checked_pan(job);
        let pan = &checked[..PAN.len()];
        let fixed = self.pin_block_of(&generating, &pair.outbound, pan)?;
        let profiles = [profile("ISO-0", false), profile("ISO-0", true)];
        let into = translate([&pair.inbound, &deriving], profiles, &fixed, &["TRANSLAT", "DUKPT-OP"]);
        let block = self.call(&into, PIN_BLOCK_OUT)?;
        let given = [&base[..], &SERIAL, &method, &block, &checked, METHOD_DATA];
        Ok(super::Request::new(Verb::EncryptedPinVerify, Expected::Done)
            .beside(&given, *RIGHT)
            .bytes(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, deriving)
            .bytes(PIN_VERIFYING_KEY_IDENTIFIER, generating)
            .bytes(INPUT_PIN_PROFILE, profile("ISO-0", true))
            .bytes(PAN_DATA, pan)
            .bytes(ENCRYPTED_PIN_BLOCK, block)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["IBM-PIN", "DUKPT-IP"])
            .integer(PIN_CHECK_LENGTH, 4)
            .bytes(DATA_ARRAY, *METHOD_DATA))
    }

    /// The offset of the generated PIN must be zero in each digit.
    fn pin_generate(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::clear_pin_generate::*;
        let key = self.entered("PINGEN", &[], &keys::payment_key(job, 0))?;
        let asked = |method: &str, data: &[u8]| {
            super::Request::new(Verb::ClearPinGenerate, Expected::Done)
                .bytes(PIN_GENERATING_KEY_IDENTIFIER, key.clone())
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &[method])
                .integer(PIN_LENGTH, 16)
                .integer(PIN_CHECK_LENGTH, 16)
                .bytes(DATA_ARRAY, data)
        };
        let request = asked("IBM-PIN", METHOD_DATA);
        let pin = self.call(&request, RETURNED_RESULT)?;
        let with_pin = [&METHOD_DATA[..32], &pin].concat();
        if self.call(&asked("IBM-PINO", &with_pin), RETURNED_RESULT)? != [b'0'; 16] {
            return Err(LabError::facility("make the offset of a PIN")("it is not zero"));
        }
        Ok(super::Request { expected: Expected::Bytes(RETURNED_RESULT, pin), ..request })
    }

    /// The offset of the PIN that the key itself generates must be zero in each digit.
    fn pin_generate_alternate(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::clear_pin_generate_alternate::*;
        let pair = self.pair(job, 0)?;
        let key = self.entered("PINGEN", &[], &keys::payment_key(job, 1))?;
        let block = self.pin_block_of(&key, &pair.outbound, PAN)?;
        Ok(super::Request::new(
            Verb::ClearPinGenerateAlternate,
            Expected::Bytes(RETURNED_RESULT, b"0000            ".to_vec()),
        )
        .bytes(PIN_ENCRYPTION_KEY_IDENTIFIER, pair.inbound)
        .bytes(PIN_GENERATION_KEY_IDENTIFIER, key)
        .bytes(PIN_PROFILE, profile("ISO-0", false))
        .bytes(PAN_DATA, *PAN)
        .bytes(ENCRYPTED_PIN_BLOCK, block)
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["IBM-PINO"])
        .integer(PIN_CHECK_LENGTH, 4)
        .bytes(DATA_ARRAY, *METHOD_DATA))
    }

    fn cvv_verify(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::cvv_verify::*;
        let value = keys::payment_key(job, 0);
        let key = self.entered("MAC", &["DOUBLE", "CVVKEY-A"], &value)?;
        let mut pan = *CARD_PAN;
        let number = pan.len() - 8;
        pan[number..].copy_from_slice(&digits_of(job));
        let card = |verb: Verb| {
            super::Request::new(verb, Expected::Done)
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["PAN-16", "CVV-3"])
                .bytes(PAN_DATA, pan)
                .bytes(EXPIRATION_DATE, *EXPIRES)
                .bytes(SERVICE_CODE, *SERVICE)
                .bytes(CVV_KEY_A_IDENTIFIER, key.clone())
                .bytes(CVV_KEY_B_IDENTIFIER, [0; TOKEN_BYTES])
        };
        // Both verbs have their parameters at the same places.
        let found = self.call(&card(Verb::CvvGenerate), verb::cvv_generate::CVV_VALUE)?;
        let digits = found.get(..3).unwrap_or_default().to_vec();
        let request = card(Verb::CvvVerify).bytes(CVV_VALUE, found);
        Ok(request.beside(&[&value, &pan, EXPIRES, SERVICE], digits))
    }

    /// The cryptogram is a MAC by another verb, under a session key that is derived step by step.
    fn arqc_verify(&mut self, job: usize) -> Result<super::Request, LabError> {
        use verb::emv_transaction::*;
        let base = ["INTERNAL", "DES", "NO-KEY"];
        let value = keys::payment_key(job, 0);
        let issuer = self.entered("DKYGENKY", &["DKYL1", "DMAC"], &value)?;
        let below = self.key_skeleton("DKYGENKY", &[&base[..], &["DKYL0", "DMAC"]].concat())?;
        let mac = self.key_skeleton("MAC", &[&base[..], &["DOUBLE"]].concat())?;
        let number = [0x45, 0x67, 0x89, 0x01, 0x23, 0x01, 0x23, 0x01];
        let card = self.derived(&issuer, &[number, number.map(|byte: u8| !byte)].concat(), &below)?;
        let session = [[0, 7, 0xF0, 0, 0, 0, 0, 0], [0, 7, 0x0F, 0, 0, 0, 0, 0]].concat();
        let session = self.derived(&card, &session, &mac)?;
        let cryptogram = self.emv_mac(&session)?;
        let request = super::Request::new(Verb::EmvTransaction, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["VERGEN", "EMV", "EMVCSK", "APPANSEQ"])
            .counted(ISSUER_MASTER_KEY_IDENTIFIER_LENGTH, ISSUER_MASTER_KEY_IDENTIFIER, issuer)
            .counted(PAN_LENGTH, PAN, *CHIP_PAN)
            .bytes(PAN_SEQ_NUMBER, *CHIP_SEQUENCE)
            .counted(CRYPTOGRAM_INFO_LENGTH, CRYPTOGRAM_INFO, TRANSACTION)
            .bytes(ATC, CHIP_COUNTER)
            .bytes(ARC, *RESPONSE_CODE)
            .bytes(ARQC, cryptogram.clone());
        let response = self.call(&request, ARPC)?;
        let given =
            [&value[..], CHIP_PAN, CHIP_SEQUENCE, &CHIP_COUNTER, &TRANSACTION, &cryptogram, RESPONSE_CODE];
        let request = request.beside(&given, response.get(..8).unwrap_or_default());
        Ok(super::Request { expected: Expected::Bytes(ARPC, response), ..request })
    }

    /// A key derived by enciphering `data` under the key-generating key, in place of the token `made`.
    fn derived(&self, generating: &[u8], data: &[u8], made: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::diversified_key_generate::*;
        let request = super::Request::new(Verb::DiversifiedKeyGenerate, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["TDES-ENC"])
            .bytes(GENERATING_KEY_ID, generating)
            .counted(DATA_LENGTH, DATA, data)
            .bytes(DECRYPTING_KEY_ID, [0; TOKEN_BYTES])
            .bytes(GENERATED_KEY_ID, made);
        self.call(&request, GENERATED_KEY_ID)
    }

    /// The MAC of the transaction's data, as chip cards compute it.
    fn emv_mac(&self, key: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::mac_generate::*;
        let request = super::Request::new(Verb::MacGenerate, Expected::Done)
            .bytes(KEY_IDENTIFIER, key)
            .counted(TEXT_LENGTH, TEXT, TRANSACTION)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["EMVMACD", "MACLEN8"])
            .bytes(CHAINING_VECTOR, [0; 18]);
        let mac = self.call(&request, MAC)?;
        Ok(mac[..8].to_vec())
    }

    fn pin_translate_aes_dukpt(&mut self) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate2::OUTPUT_PIN_BLOCK;
        let base = self.variable_keys(&[&["DKYGENKY", "D-ALL", "A-DUKPT"]], 128)?.remove(0);
        let sides: [&[&str]; 2] =
            [&["PINPROT", "ENCRYPT", "PINXLATE", "ISO-4"], &["PINPROT", "DECRYPT", "PINXLATE", "ISO-4"]];
        let [outbound, inbound] = self.variable_pair(sides)?;
        let derived = [&b"ISO-4   NONE            "[..], &AES_DERIVATION].concat();
        // A key derived from our base key enciphers this block; its content does not matter.
        let block = *b"a block of ISO-4";
        let words = ["TRANSLAT", "ADUKPTIP"];
        let profiles = [derived.clone(), profile("ISO-4", false)];
        let request = translate2([&base, &outbound], profiles, &block, &words);
        let made = self.call(&request, OUTPUT_PIN_BLOCK)?;
        let profiles = [profile("ISO-4", false), derived];
        let back = translate2([&inbound, &base], profiles, &made, &["TRANSLAT", "ADUKPTOP"]);
        if self.call(&back, OUTPUT_PIN_BLOCK)? != block {
            return Err(LabError::facility("translate a PIN block back")("another block came back"));
        }
        Ok(Request { expected: Expected::Bytes(OUTPUT_PIN_BLOCK, made), ..request })
    }

    fn ff1(&mut self, job: usize) -> Result<Request, LabError> {
        use verb::format_preserving_encipher::*;
        let text = *b"4012345678909123";
        let value = keys::test_bytes(0xFF1, job, 32);
        let key = self.entered_variable(&["CIPHER", "FF1"], &value)?;
        let request = super::Request::new(Verb::FormatPreservingEncipher, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["FF1", "AES", "BASE10"])
            .counted(KEY_IDENTIFIER_LENGTH, KEY_IDENTIFIER, key.clone())
            .counted(PLAINTEXT_LENGTH, PLAINTEXT, text)
            .integer(CIPHERTEXT_LENGTH, text.len());
        let made = self.call(&request, CIPHERTEXT)?;
        let back = {
            use verb::format_preserving_decipher::*;
            super::Request::new(Verb::FormatPreservingDecipher, Expected::Done)
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["FF1", "AES", "BASE10"])
                .counted(KEY_IDENTIFIER_LENGTH, KEY_IDENTIFIER, key)
                .counted(CIPHERTEXT_LENGTH, CIPHERTEXT, made.clone())
                .integer(PLAINTEXT_LENGTH, text.len())
        };
        if self.call(&back, verb::format_preserving_decipher::PLAINTEXT)? != text {
            return Err(LabError::facility("decipher a text again")("another text came back"));
        }
        let request = request.beside(&[&value, &text], made.clone());
        Ok(super::Request { expected: Expected::Bytes(CIPHERTEXT, made), ..request })
    }

    /// AES keys of these types and usages, each with a value of its own.
    fn variable_keys(&self, kinds: &[&[&str]], bits: usize) -> Result<Vec<Vec<u8>>, LabError> {
        use verb::key_generate2::*;
        let make = |words: &&[&str]| {
            let request = super::Request::new(Verb::KeyGenerate2, Expected::Done)
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["AES", "OP"])
                .integer(CLEAR_KEY_BIT_LENGTH, bits)
                .bytes(KEY_TYPE_1, *b"TOKEN   ")
                .bytes(KEY_TYPE_2, *b"        ")
                .integer(GENERATED_KEY_IDENTIFIER_1_LENGTH, VARIABLE_TOKEN_ROOM)
                .bytes(GENERATED_KEY_IDENTIFIER_1, self.variable_skeleton(words)?);
            self.call(&request, GENERATED_KEY_IDENTIFIER_1)
        };
        kinds.iter().map(make).collect()
    }

    /// Two AES-128 keys with the same value, of these types and usages.
    fn variable_pair(&self, [one, two]: [&[&str]; 2]) -> Result<[Vec<u8>; 2], LabError> {
        use verb::key_generate2::*;
        let request = super::Request::new(Verb::KeyGenerate2, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["AES", "OPOP"])
            .integer(CLEAR_KEY_BIT_LENGTH, 128_usize)
            .bytes(KEY_TYPE_1, *b"TOKEN   ")
            .bytes(KEY_TYPE_2, *b"TOKEN   ")
            .integer(GENERATED_KEY_IDENTIFIER_1_LENGTH, VARIABLE_TOKEN_ROOM)
            .bytes(GENERATED_KEY_IDENTIFIER_1, self.variable_skeleton(one)?)
            .integer(GENERATED_KEY_IDENTIFIER_2_LENGTH, VARIABLE_TOKEN_ROOM)
            .bytes(GENERATED_KEY_IDENTIFIER_2, self.variable_skeleton(two)?);
        self.call_for(&request, [GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2])
    }

    pub(super) fn variable_skeleton(&self, words: &[&str]) -> Result<Vec<u8>, LabError> {
        use verb::key_token_build2::*;
        let words = [&["INTERNAL", "AES"][..], words].concat();
        let request = super::Request::new(Verb::KeyTokenBuild2, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &words)
            .integer(TARGET_KEY_TOKEN_LENGTH, VARIABLE_TOKEN_ROOM);
        self.call(&request, TARGET_KEY_TOKEN)
    }

    /// Fails if a request does not give back the original block: such a request is not measured.
    fn leads_back(&self, back: &Request, block: &[u8]) -> Result<(), LabError> {
        let found = self.call(back, verb::encrypted_pin_translate::PIN_BLOCK_OUT)?;
        if found == block {
            return Ok(());
        }
        Err(LabError::facility("translate a PIN block back")("another block came back"))
    }

    /// A block of ISO-0 with a PIN that the job's own key generates.
    fn pin_block(&mut self, outbound: &[u8], job: usize) -> Result<Vec<u8>, LabError> {
        let generating = self.entered("PINGEN", &[], &keys::payment_key(job, 2))?;
        self.pin_block_of(&generating, outbound, PAN)
    }

    fn pin_block_of(&self, generating: &[u8], outbound: &[u8], pan: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::encrypted_pin_generate::*;
        let request = super::Request::new(Verb::EncryptedPinGenerate, Expected::Done)
            .bytes(PIN_GENERATING_KEY_IDENTIFIER, generating)
            .bytes(OUTBOUND_PIN_ENCRYPTING_KEY_IDENTIFIER, outbound)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["IBM-PIN"])
            .integer(PIN_LENGTH, 4)
            .bytes(DATA_ARRAY, *METHOD_DATA)
            .bytes(PIN_PROFILE, profile("ISO-0", false))
            .bytes(PAN_DATA, pan)
            .integer(SEQUENCE_NUMBER, 0);
        self.call(&request, ENCRYPTED_PIN_BLOCK)
    }

    /// An OPINENC and an IPINENC key with the same value.
    fn pair(&self, job: usize, number: u64) -> Result<Pair, LabError> {
        let value = keys::payment_key(job, number);
        let [outbound, inbound] = ["OPINENC", "IPINENC"].map(|key_type| self.entered(key_type, &[], &value));
        Ok(Pair { outbound: outbound?, inbound: inbound?, value })
    }

    /// A KEYGENKY key of this value for DUKPT.
    fn base_key(&self, value: &[u8]) -> Result<Vec<u8>, LabError> {
        self.entered("KEYGENKY", &["DOUBLE", "UKPT"], value)
    }
}
