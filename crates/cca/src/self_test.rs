//! Known answers for every kernel that this crate uses, through the verbs that use them.
//!
//! The values were computed with another library from the definitions; the two patterns and the X9.9
//! text are also published. Nothing here touches the registers of the processor under test.

mod pka;

use crate::batch::{Batch, Incoming};
use crate::patterns;
use crate::processor::Processor;
use engine::Engine;
use wire::control::{Handout, MasterKeyPair, Register, TokenForm, TokenForms};
use wire::frame::{Arguments, Outcome};
use wire::point::PointSet;
use wire::verb::{
    AesAlgorithm, AesKeyRule, AesMethod, AesPosition, Filled, HashMethod, KeyAlgorithm, MacFormat, MacMethod,
    Room, TypedAsk, TypedGot, clear_key_import_multiple as import, decipher, encipher, mac_generate,
    one_way_hash, random_number_generate, symmetric_algorithm_encipher as aes,
};
use wire::{Codes, code};

/// A known answer came out wrong: the card must not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfTestFailure {
    /// The operation that gave the wrong answer.
    pub operation: &'static str,
}

impl std::fmt::Display for SelfTestFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the known answer of {} came out wrong; the card must not serve", self.operation)
    }
}

impl std::error::Error for SelfTestFailure {}

impl Processor {
    /// Runs the known-answer tests on the engine of this processor, with registers of their own.
    ///
    /// # Errors
    /// [`SelfTestFailure`] names the first answer that is wrong.
    pub fn self_test(&mut self) -> Result<(), SelfTestFailure> {
        let engine = *self.engine();
        test_patterns(&engine)?;
        let mut test = Test::new(engine)?;
        for form in [TokenForm::Compatible, TokenForm::Authenticated] {
            test.processor
                .set_token_forms(TokenForms { form, open_compatible: form == TokenForm::Compatible });
            test.des(form)?;
            test.aes(form)?;
        }
        test.hash_and_random()?;
        pka::run(engine)
    }
}

fn test_patterns(engine: &Engine) -> Result<(), SelfTestFailure> {
    let pattern =
        |register, key: &[u8]| u64::from_be_bytes(patterns::master_key_pattern(engine, register, key).name());
    expect(pattern(Register::Aes, &[2; 32]) == 0xF138_6FFF_8B06_AC98, "the AES master-key pattern")?;
    let parts = [[2; 8], [4; 8], [7; 8]].concat();
    expect(pattern(Register::Sym, &parts) == 0x50B4_7267_A9CD_AAB6, "the SYM master-key pattern")?;
    expect(pattern(Register::Asym, &parts) == 0x239A_5381_96C7_EA6F, "the ASYM master-key pattern")?;
    let key_test = u64::from_be_bytes(patterns::key_test(engine, &DES_KEY, &[0; 8]));
    expect(key_test == 0xBA0D_1338_80AE_14EC, "the pattern of Key_Test")
}

fn expect(fits: bool, operation: &'static str) -> Result<(), SelfTestFailure> {
    if fits { Ok(()) } else { Err(SelfTestFailure { operation }) }
}

/// A processor with known master keys in domain 0 and none in domain 1.
struct Test {
    processor: Processor,
    batch: Batch,
}

impl Test {
    fn new(engine: Engine) -> Result<Self, SelfTestFailure> {
        let mut processor = Processor::new(engine, 2);
        let counted = |from: u8, length: u8| (from..from + length).collect::<Vec<u8>>();
        let mut keys: [MasterKeyPair; 4] = Default::default();
        keys[0].current = counted(1, 24);
        keys[2].current = counted(0x40, 32);
        let loaded = processor.load(&Handout { domain: 0, keys });
        expect(loaded.is_ok(), "loading master keys")?;
        Ok(Self { processor, batch: Batch::new() })
    }

    fn des(&mut self, form: TokenForm) -> Result<(), SelfTestFailure> {
        let token = self.import(KeyAlgorithm::Des, &DES_KEY);
        let parts: &[_] = match form {
            TokenForm::Authenticated => &[16..32, 48..56, 1..4, 5..6, 56..59],
            TokenForm::Compatible => &[16..32, 48..56],
        };
        let wrapped: &[u8] = match form {
            TokenForm::Authenticated => &AUTHENTICATED_DES,
            TokenForm::Compatible => &COMPATIBLE_DES,
        };
        let field: Vec<u8> =
            parts.iter().flat_map(|part| token.get(part.clone()).unwrap_or_default()).copied().collect();
        expect(field == wrapped, "wrapping a DES key")?;

        let request = mac_generate::Ask {
            key_identifier: (&token).into(),
            text: TEXT,
            method: Some(MacMethod::X919),
            format: Some(MacFormat::Bytes8),
            chaining_vector: Some(&[0; 18]),
            ..mac_generate::Ask::new()
        };
        let answer = self.ask(0, &request, |got| got.mac);
        expect(answer == (code::OK, X919.to_vec()), "unwrapping a DES key and the X9.19 MAC")?;
        let codes = self.ask(1, &request, |got| got.mac).0;
        expect(codes == code::MASTER_KEY_NOT_LOADED, "refusing a key without its master key")?;

        let mut padded = [0; 32];
        padded[..TEXT.len()].copy_from_slice(TEXT);
        let request = encipher::Ask {
            key_identifier: (&token).into(),
            plaintext: &padded,
            initialization_vector: Some(&[0; 8]),
            chaining_vector: Some(&[0; 18]),
            ..encipher::Ask::new()
        };
        let answer = self.ask(0, &request, |got| got.ciphertext);
        expect(answer == (code::OK, TDES_CBC.to_vec()), "TDES encipherment")?;
        let request = decipher::Ask {
            key_identifier: (&token).into(),
            ciphertext: &TDES_CBC,
            initialization_vector: Some(&[0; 8]),
            chaining_vector: Some(&[0; 18]),
            ..decipher::Ask::new()
        };
        let answer = self.ask(0, &request, |got| got.plaintext);
        expect(answer == (code::OK, padded.to_vec()), "TDES decipherment")
    }

    fn aes(&mut self, form: TokenForm) -> Result<(), SelfTestFailure> {
        let token = self.import(KeyAlgorithm::Aes, &AES_KEY);
        let wrapped: &[u8] = match form {
            TokenForm::Authenticated => &AUTHENTICATED_AES,
            TokenForm::Compatible => &COMPATIBLE_AES,
        };
        expect(token.get(16..16 + wrapped.len()) == Some(wrapped), "wrapping an AES key")?;

        let mut request = aes::Ask {
            key_identifier: (&token).into(),
            key_rule: Some(AesKeyRule::Identifier),
            part: Some(AesPosition::Only),
            block_size: 16,
            initialization_vector: &[0; 16],
            clear_text: &AES_TEXT,
            cipher_text: 16,
            ..aes::Ask::new(AesAlgorithm::Aes)
        };
        let answer = self.ask(0, &request, |got| got.cipher_text);
        expect(answer == (code::OK, AES_CBC.to_vec()), "unwrapping an AES key and AES-CBC")?;

        (request.method, request.part) = (Some(AesMethod::Gcm), None);
        (request.initialization_vector, request.key_parms) = (&[0; 12], Room::from(&[0; 16][..]));
        let answer = self.ask(0, &request, |got| got.cipher_text);
        expect(answer == (code::OK, AES_GCM[..16].to_vec()), "AES-GCM encipherment")?;
        let answer = self.ask(0, &request, |got| got.key_parms);
        expect(answer == (code::OK, AES_GCM[16..].to_vec()), "the AES-GCM tag")
    }

    fn hash_and_random(&mut self) -> Result<(), SelfTestFailure> {
        let request = one_way_hash::Ask {
            text: b"abc",
            hash: Room::of(32),
            ..one_way_hash::Ask::new(HashMethod::Sha256)
        };
        let (codes, digest) = self.ask(0, &request, |got| got.hash);
        let fits = codes == code::OK && digest.get(..8) == Some(&0xBA78_16BF_8F01_CFEAu64.to_be_bytes()[..]);
        expect(fits, "SHA-256")?;
        let request = random_number_generate::Ask { form: b"RANDOM  ", ..random_number_generate::Ask::new() };
        let one = self.ask(0, &request, |got| got.random_number);
        let two = self.ask(0, &request, |got| got.random_number);
        expect(one.0 == code::OK && one.1.len() == 8 && one.1 != two.1, "random numbers that differ")
    }

    fn import(&mut self, algorithm: KeyAlgorithm, key: &[u8]) -> Vec<u8> {
        let request = import::Ask { algorithm: Some(algorithm), clear_key: key, ..import::Ask::new() };
        self.ask(0, &request, |got| got.target_key_identifier).1
    }

    /// Codes and an output of one request; 16/336 and no output stand for anything that is not an answer.
    fn ask<A: TypedAsk>(
        &mut self,
        domain: u16,
        ask: &A,
        output: impl for<'g> FnOnce(&'g A::Got<'_>) -> &'g [u8],
    ) -> (Codes, Vec<u8>) {
        let none = (code::SELF_CHECK, Vec::new());
        let mut payload = Vec::new();
        if ask.arguments(&mut Filled::default()).write_request(&mut payload).is_err() {
            return none;
        }
        self.batch.clear();
        let incoming = Incoming { verb: A::VERB, domain, points: &PointSet::EVERYTHING, payload: &payload };
        if self.batch.push(&incoming).is_err() {
            return none;
        }
        self.processor.run(&mut self.batch);
        let answer = &self.batch.answers()[0];
        match Arguments::read_reply(A::VERB, &answer.payload) {
            Ok(reply) if answer.outcome == Outcome::Answered => {
                (answer.codes, output(&A::Got::of(&reply)).to_vec())
            }
            _ => none,
        }
    }
}

const DES_KEY: [u8; 16] = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128.to_be_bytes();
const COMPATIBLE_DES: [u8; 24] = [
    0xC1, 0xA0, 0x30, 0x11, 0xC5, 0xB3, 0x9D, 0x25, 0x02, 0x28, 0xC8, 0x68, 0x03, 0xA1, 0x7B, 0xC6, 0, 0, 0,
    0, 0, 0, 0, 0,
];
/// The expected bytes of the key field and the reserved bytes.
const AUTHENTICATED_DES: [u8; 31] = [
    0x05, 0x49, 0xB2, 0xCC, 0x0D, 0x2D, 0x2F, 0xD3, 0x9A, 0xD6, 0xA3, 0x2D, 0xA1, 0x98, 0x73, 0x78, 0xDB,
    0xF5, 0xAD, 0x23, 0x03, 0xBE, 0x18, 0xEE, 0x14, 0x01, 0xE7, 0x63, 0x22, 0xFB, 0x0A,
];
const TEXT: &[u8; 28] = b"7654321 Now is the time for ";
const X919: [u8; 8] = 0xAE4B_45B1_B527_642Fu64.to_be_bytes();
const TDES_CBC: [u8; 32] = [
    0x4D, 0x13, 0x32, 0xE4, 0x9F, 0x38, 0x0E, 0x23, 0x9B, 0x91, 0x05, 0x83, 0xDB, 0xF8, 0x1A, 0x91, 0x5D,
    0x48, 0xAD, 0x1C, 0x61, 0x5A, 0xFC, 0x05, 0xE5, 0xE7, 0xA4, 0x13, 0xC3, 0xE3, 0xF4, 0xB5,
];
const AES_KEY: [u8; 16] = 0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0Fu128.to_be_bytes();
/// The expected bytes of the key field and the place of the control vector.
const AUTHENTICATED_AES: [u8; 40] = [
    0xFC, 0x6A, 0x2B, 0x24, 0x0A, 0x9A, 0x41, 0xBC, 0xBA, 0x2B, 0xA7, 0x8B, 0x5E, 0xF2, 0xC7, 0xAE, 0x59,
    0xE4, 0xC4, 0xBE, 0xB9, 0xC6, 0x45, 0xEA, 0x1D, 0x47, 0xAC, 0x4A, 0x49, 0x24, 0xBC, 0x6F, 0x44, 0xFE,
    0x4A, 0x80, 0x2E, 0x66, 0x50, 0xE5,
];
const COMPATIBLE_AES: [u8; 32] = [
    0xD0, 0x5D, 0x67, 0xE0, 0x03, 0xC8, 0xA3, 0x74, 0xA5, 0x89, 0xEF, 0x35, 0x96, 0xF3, 0xA1, 0xA4, 0x79,
    0x9A, 0xE7, 0x15, 0x54, 0xD9, 0x91, 0xE0, 0x98, 0xF1, 0x1D, 0xB6, 0x00, 0x67, 0x69, 0x59,
];
const AES_TEXT: [u8; 16] = 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFFu128.to_be_bytes();
const AES_CBC: [u8; 16] = 0x69C4_E0D8_6A7B_0430_D8CD_B780_70B4_C55Au128.to_be_bytes();
/// The expected ciphertext and tag under a nonce of 12 zeros.
const AES_GCM: [u8; 32] = [
    0x49, 0xC7, 0xA5, 0x60, 0xDD, 0xCE, 0xC0, 0xFB, 0x6B, 0x10, 0xD0, 0xD3, 0xAC, 0x5C, 0x5E, 0x62, 0x00,
    0x9A, 0x3D, 0xDD, 0xE6, 0xA6, 0xDE, 0x55, 0x2A, 0x34, 0x92, 0xDA, 0x41, 0x1B, 0x7C, 0x38,
];
