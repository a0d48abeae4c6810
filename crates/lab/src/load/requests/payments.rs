//! Requests of payments: keys are generated, blocks made on the card, and what comes back is compared with what leads back.

use super::{Expected, Maker, Request, TOKEN_BYTES};
use crate::load::LabError;
use crate::load::operation::Payment;
use wire::verb::{self, Verb};

const PAN: &[u8; 12] = b"401234567890";
/// Decimalisation table and validation data of IBM 3624.
const METHOD_DATA: &[u8; 48] = b"01234567890123451122334455667788                ";
/// A key serial number whose counter has five bits set.
const SERIAL: [u8; 10] = [0xFF, 0xFF, 0x98, 0x76, 0x54, 0x32, 0x10, 0xE0, 0x00, 0x1F];

/// What a cryptogram is of: amounts, country, results, currency, date, type, number and counter, and what the card says.
const TRANSACTION: [u8; 33] = [7; 33];

/// A profile of this format; with a key serial number, where the key is derived.
fn profile(format: &str, is_derived: bool) -> Vec<u8> {
    let mut profile = format!("{format:8}NONE            ").into_bytes();
    if is_derived {
        profile.extend_from_slice(&SERIAL);
        profile.resize(48, b' ');
    }
    profile
}

/// A PIN block from under one key under another.
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

/// Keys of one value for blocks that go out and that come in.
struct Pair {
    outbound: Vec<u8>,
    inbound: Vec<u8>,
}

impl Maker<'_> {
    pub(super) fn payment(&mut self, payment: Payment) -> Result<Request, LabError> {
        match payment {
            Payment::PinTranslate => self.pin_translate(),
            Payment::PinReformat => self.pin_reformat(),
            Payment::PinTranslateDukpt => self.pin_translate_dukpt(),
            Payment::PinVerifyDukpt => self.pin_verify_dukpt(),
            Payment::CvvVerify => self.cvv_verify(),
            Payment::Tr31ImportB => self.tr31_import_b(),
            Payment::Tr31ImportD => self.tr31_import_d(),
            Payment::ArqcVerify => self.arqc_verify(),
        }
    }

    fn pin_translate(&mut self) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate::PIN_BLOCK_OUT;
        let (ours, theirs) = (self.pair()?, self.pair()?);
        let block = self.pin_block(&ours.outbound)?;
        let profiles = || [profile("ISO-0", false), profile("ISO-0", false)];
        let request = translate([&ours.inbound, &theirs.outbound], profiles(), &block, &["TRANSLAT"]);
        let made = self.call(&request, PIN_BLOCK_OUT)?;
        let back = translate([&theirs.inbound, &ours.outbound], profiles(), &made, &["TRANSLAT"]);
        self.leads_back(&back, &block)?;
        Ok(Request { expected: Expected::Bytes(PIN_BLOCK_OUT, made), ..request })
    }

    /// The block that comes out is filled with random digits.
    fn pin_reformat(&mut self) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate::PIN_BLOCK_OUT;
        let (ours, theirs) = (self.pair()?, self.pair()?);
        let block = self.pin_block(&ours.outbound)?;
        let profiles = [profile("ISO-0", false), profile("ISO-3", false)];
        let request = translate([&ours.inbound, &theirs.outbound], profiles, &block, &["REFORMAT"]);
        let made = self.call(&request, PIN_BLOCK_OUT)?;
        let profiles = [profile("ISO-3", false), profile("ISO-0", false)];
        let back = translate([&theirs.inbound, &ours.outbound], profiles, &made, &["REFORMAT"]);
        self.leads_back(&back, &block)?;
        Ok(Request { expected: Expected::Fresh(PIN_BLOCK_OUT, block.len()), ..request })
    }

    fn pin_translate_dukpt(&mut self) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate::PIN_BLOCK_OUT;
        let (ours, theirs) = (self.deriving()?, self.deriving()?);
        // A key derived of ours enciphers it, whatever it is.
        let block = *b"a block!";
        let profiles = || [profile("ISO-0", true), profile("ISO-0", true)];
        let words = ["TRANSLAT", "DUKPT-BH"];
        let request = translate([&ours, &theirs], profiles(), &block, &words);
        let made = self.call(&request, PIN_BLOCK_OUT)?;
        self.leads_back(&translate([&theirs, &ours], profiles(), &made, &words), &block)?;
        Ok(Request { expected: Expected::Bytes(PIN_BLOCK_OUT, made), ..request })
    }

    fn pin_verify_dukpt(&mut self) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate::PIN_BLOCK_OUT;
        use verb::encrypted_pin_verify::*;
        let (pair, deriving, generating) = (self.pair()?, self.deriving()?, self.generated("PINGEN")?);
        let fixed = self.pin_block_of(&generating, &pair.outbound)?;
        let profiles = [profile("ISO-0", false), profile("ISO-0", true)];
        let into = translate([&pair.inbound, &deriving], profiles, &fixed, &["TRANSLAT", "DUKPT-OP"]);
        let block = self.call(&into, PIN_BLOCK_OUT)?;
        Ok(super::Request::new(Verb::EncryptedPinVerify, Expected::Done)
            .bytes(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, deriving)
            .bytes(PIN_VERIFYING_KEY_IDENTIFIER, generating)
            .bytes(INPUT_PIN_PROFILE, profile("ISO-0", true))
            .bytes(PAN_DATA, *PAN)
            .bytes(ENCRYPTED_PIN_BLOCK, block)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["IBM-PIN", "DUKPT-IP"])
            .integer(PIN_CHECK_LENGTH, 4)
            .bytes(DATA_ARRAY, *METHOD_DATA))
    }

    fn cvv_verify(&mut self) -> Result<Request, LabError> {
        use verb::cvv_verify::*;
        let skeleton = self.key_skeleton("MAC", &["INTERNAL", "DES", "NO-KEY", "DOUBLE", "CVVKEY-A"])?;
        let key = self.generated_from(skeleton)?;
        let card = |verb: Verb| {
            super::Request::new(verb, Expected::Done)
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["PAN-16", "CVV-3"])
                .bytes(PAN_DATA, *b"4123456789012345")
                .bytes(EXPIRATION_DATE, *b"8701")
                .bytes(SERVICE_CODE, *b"101")
                .bytes(CVV_KEY_A_IDENTIFIER, key.clone())
                .bytes(CVV_KEY_B_IDENTIFIER, [0; TOKEN_BYTES])
        };
        // Both verbs have their parameters at the same places.
        let value = self.call(&card(Verb::CvvGenerate), verb::cvv_generate::CVV_VALUE)?;
        Ok(card(Verb::CvvVerify).bytes(CVV_VALUE, value))
    }

    /// The cryptogram is the MAC of another verb, under the key of the session that is derived step by step.
    fn arqc_verify(&mut self) -> Result<super::Request, LabError> {
        use verb::emv_transaction::*;
        let base = ["INTERNAL", "DES", "NO-KEY"];
        let above = self.key_skeleton("DKYGENKY", &[&base[..], &["DKYL1", "DMAC"]].concat())?;
        let issuer = self.generated_from(above)?;
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
            .counted(PAN_LENGTH, PAN, *b"4012345678901230123")
            .bytes(PAN_SEQ_NUMBER, *b"01")
            .counted(CRYPTOGRAM_INFO_LENGTH, CRYPTOGRAM_INFO, TRANSACTION)
            .bytes(ATC, [0, 7])
            .bytes(ARC, *b"00")
            .bytes(ARQC, cryptogram);
        let response = self.call(&request, ARPC)?;
        Ok(super::Request { expected: Expected::Bytes(ARPC, response), ..request })
    }

    /// A key that is derived by enciphering data, in the place of this one.
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

    /// The MAC of the data of a transaction, as chip cards make it.
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

    /// Refuses to measure what does not give the block that it began with.
    fn leads_back(&self, back: &Request, block: &[u8]) -> Result<(), LabError> {
        let found = self.call(back, verb::encrypted_pin_translate::PIN_BLOCK_OUT)?;
        if found == block {
            return Ok(());
        }
        Err(LabError::facility("translate a PIN block back")("another block came back"))
    }

    /// A block of ISO-0 with a PIN that a new key makes.
    fn pin_block(&mut self, outbound: &[u8]) -> Result<Vec<u8>, LabError> {
        let generating = self.generated("PINGEN")?;
        self.pin_block_of(&generating, outbound)
    }

    fn pin_block_of(&self, generating: &[u8], outbound: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::encrypted_pin_generate::*;
        let request = super::Request::new(Verb::EncryptedPinGenerate, Expected::Done)
            .bytes(PIN_GENERATING_KEY_IDENTIFIER, generating)
            .bytes(OUTBOUND_PIN_ENCRYPTING_KEY_IDENTIFIER, outbound)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["IBM-PIN"])
            .integer(PIN_LENGTH, 4)
            .bytes(DATA_ARRAY, *METHOD_DATA)
            .bytes(PIN_PROFILE, profile("ISO-0", false))
            .bytes(PAN_DATA, *PAN)
            .integer(SEQUENCE_NUMBER, 0);
        self.call(&request, ENCRYPTED_PIN_BLOCK)
    }

    /// An OPINENC and an IPINENC key of one value (Key_Generate, OPOP).
    fn pair(&self) -> Result<Pair, LabError> {
        use verb::key_generate::*;
        let request = super::Request::new(Verb::KeyGenerate, Expected::Done)
            .bytes(KEY_FORM, *b"OPOP")
            .bytes(KEY_LENGTH, *b"DOUBLE  ")
            .bytes(KEY_TYPE_1, *b"OPINENC ")
            .bytes(KEY_TYPE_2, *b"IPINENC ")
            .bytes(KEK_KEY_IDENTIFIER_1, [0; TOKEN_BYTES])
            .bytes(KEK_KEY_IDENTIFIER_2, [0; TOKEN_BYTES])
            .bytes(GENERATED_KEY_IDENTIFIER_1, [0; TOKEN_BYTES])
            .bytes(GENERATED_KEY_IDENTIFIER_2, [0; TOKEN_BYTES]);
        let [outbound, inbound] =
            self.call_for(&request, [GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2])?;
        Ok(Pair { outbound, inbound })
    }

    /// A KEYGENKY key for DUKPT.
    fn deriving(&self) -> Result<Vec<u8>, LabError> {
        self.generated_from(self.deriving_skeleton()?)
    }

    fn generated_from(&self, skeleton: Vec<u8>) -> Result<Vec<u8>, LabError> {
        self.call(&super::generate_from(skeleton), verb::key_generate::GENERATED_KEY_IDENTIFIER_1)
    }
}
