//! Requests of payments: keys are generated, blocks made on the card, and what comes back is compared with what leads back.

use super::{Expected, Maker, Request, TOKEN_BYTES, VARIABLE_TOKEN_ROOM};
use crate::load::LabError;
use crate::load::operation::Payment;
use wire::verb::{self, Verb};

const PAN: &[u8; 12] = b"401234567890";
/// Decimalisation table and validation data of IBM 3624.
const METHOD_DATA: &[u8; 48] = b"01234567890123451122334455667788                ";
/// A PAN with all its digits, for blocks of ISO-4.
const WHOLE_PAN: &[u8; 16] = b"4012345678909123";
/// A key serial number whose counter has five bits set.
const SERIAL: [u8; 10] = [0xFF, 0xFF, 0x98, 0x76, 0x54, 0x32, 0x10, 0xE0, 0x00, 0x1F];
/// What a cryptogram is of: amounts, country, results, currency, date, type, number and counter, and what the card says.
const TRANSACTION: [u8; 33] = [7; 33];
/// Derivation data of a PIN key of AES-128, of a counter with five bits set.
const AES_DERIVATION: [u8; 20] =
    [1, 1, 0x10, 0, 0, 2, 0, 0x80, 0x12, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56, 0, 0, 0, 0x1F];

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

/// A PIN block of ISO-4 from under one key under another.
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
            Payment::PinGenerate => self.pin_generate(),
            Payment::PinGenerateAlternate => self.pin_generate_alternate(),
            Payment::CvvVerify => self.cvv_verify(),
            Payment::Tr31ImportB => self.tr31_import_b(),
            Payment::Tr31ImportD => self.tr31_import_d(),
            Payment::ArqcVerify => self.arqc_verify(),
            Payment::PinTranslateAesDukpt => self.pin_translate_aes_dukpt(),
            Payment::Ff1 => self.ff1(),
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

    /// The offset of the PIN that comes back is zero in each digit.
    fn pin_generate(&mut self) -> Result<Request, LabError> {
        use verb::clear_pin_generate::*;
        let key = self.generated("PINGEN")?;
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

    /// The offset of the PIN that the key itself makes is zero in each digit.
    fn pin_generate_alternate(&mut self) -> Result<Request, LabError> {
        use verb::clear_pin_generate_alternate::*;
        let (key, pair) = (self.generated("PINGEN")?, self.pair()?);
        let block = self.pin_block_of(&key, &pair.outbound)?;
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

    fn pin_translate_aes_dukpt(&mut self) -> Result<Request, LabError> {
        use verb::encrypted_pin_translate2::OUTPUT_PIN_BLOCK;
        let base = self.variable_keys(&[&["DKYGENKY", "D-ALL", "A-DUKPT"]], 128)?.remove(0);
        let sides: [&[&str]; 2] =
            [&["PINPROT", "ENCRYPT", "PINXLATE", "ISO-4"], &["PINPROT", "DECRYPT", "PINXLATE", "ISO-4"]];
        let [outbound, inbound] = self.variable_pair(sides)?;
        let derived = [&b"ISO-4   NONE            "[..], &AES_DERIVATION].concat();
        // A key derived of the base key enciphers it, whatever it is.
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

    fn ff1(&mut self) -> Result<Request, LabError> {
        use verb::format_preserving_encipher::*;
        let text = *b"4012345678909123";
        let key = self.variable_keys(&[&["CIPHER", "FF1"]], 256)?.remove(0);
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
        Ok(super::Request { expected: Expected::Bytes(CIPHERTEXT, made), ..request })
    }

    /// Keys of AES of these types and usages, each of its own value.
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

    /// Two keys of AES-128 of one value, of these types and usages.
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

    fn variable_skeleton(&self, words: &[&str]) -> Result<Vec<u8>, LabError> {
        use verb::key_token_build2::*;
        let words = [&["INTERNAL", "AES"][..], words].concat();
        let request = super::Request::new(Verb::KeyTokenBuild2, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &words)
            .integer(TARGET_KEY_TOKEN_LENGTH, VARIABLE_TOKEN_ROOM);
        self.call(&request, TARGET_KEY_TOKEN)
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
