//! Requests to cards: one for each job, with a key of its own and the answer that it must get.
//!
//! Keys become secure keys as programs make them: through verbs of a coprocessor, clear test keys are imported and
//! skeletons built. Clear-key RSA takes a token that a coprocessor has built.

mod key_blocks;
mod payments;

use super::native::{CipherJob, EcdsaJob, GcmJob, MacJob, RsaJob, TextJob, rsa_private_key};
use super::{LabError, Workload, keys};
use crate::load::operation::{
    Cipher, Direction, Hash, Mac, Mode, Operation, RSA_BITS, RsaForm, RsaKey, is_aes,
};
use engine::{
    EcPublicKey, EcdsaVerifyItem, Engine, HashAlgorithm, RsaPrivateKey, digest_info_prefix,
    pkcs1_v15_encrypt_pad, pkcs1_v15_encrypt_unpad, pkcs1_v15_sign_pad_raw,
};
use facility::{Facility, Reply, Selection};
use std::collections::HashMap;
use std::sync::Arc;
use wire::Codes;
use wire::control::Personality;
use wire::frame::{Argument, Arguments};
use wire::verb::{self, Verb};

/// Length of a symmetric key token.
const TOKEN_BYTES: usize = 64;
/// Room for a token of variable length.
const VARIABLE_TOKEN_ROOM: usize = 900;
/// Bits of the prime of P-256, as key-values structures name the curve.
const P256_BITS: usize = 256;
/// Key-derivation data of a private key (section X'23'): the algorithm AES, the type CIPHER, 128 bits.
const DERIVES_AES_CIPHER_128: [u8; 4] = [2, 4, 0, 128];
/// Domain whose master keys wrap the keys of workloads.
pub(crate) const DOMAIN: u16 = 0;
/// One answer in this many is checked in full if the check is costly.
const DEEP_CHECK: u64 = 64;

/// One argument of a request.
#[derive(Clone)]
enum Value {
    Integer(i64),
    Bytes(Vec<u8>),
}

/// The expected answer.
#[derive(Clone)]
enum Expected {
    /// Codes of zero only.
    Done,
    /// The argument at this position begins with these bytes.
    Bytes(usize, Vec<u8>),
    /// The argument at this position has this many bytes, and differs from the last answer.
    Fresh(usize, usize),
    /// The argument at this position is a token that begins with this byte, and differs from the last answer.
    Token(usize, u8),
    /// The argument at this position is PKCS #1 v1.5, and this key opens it to this value.
    Sealed(usize, Arc<RsaPrivateKey>, Vec<u8>),
    /// The argument at this position is a signature of this digest, and this key verifies it.
    Signed(usize, Arc<EcPublicKey>, Vec<u8>),
}

/// A request of one job.
#[derive(Clone)]
pub(crate) struct Request {
    verb: Verb,
    values: Vec<(usize, Value)>,
    expected: Expected,
    last: Vec<u8>,
    answers: u64,
    case: Option<Case>,
}

/// The same request for a program other than a card: with clear keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// The fields for the program, in the order that it expects.
    pub given: Vec<Vec<u8>>,
    /// The answer that the program must give.
    pub answer: Vec<u8>,
}

impl Request {
    fn new(verb: Verb, expected: Expected) -> Self {
        Self { verb, values: Vec::new(), expected, last: Vec::new(), answers: 0, case: None }
    }

    /// The request with a case for other programs: their fields, and their expected answer.
    fn beside(self, given: &[&[u8]], answer: impl Into<Vec<u8>>) -> Self {
        let given = given.iter().map(|field| field.to_vec()).collect();
        Self { case: Some(Case { given, answer: answer.into() }), ..self }
    }

    /// The case for other programs; none if the request has none.
    pub fn case(&self) -> Option<&Case> {
        self.case.as_ref()
    }

    /// The bytes of the argument at this position; empty if the request has no such argument.
    pub fn given(&self, position: usize) -> &[u8] {
        let found = self.values.iter().find(|(at, _)| *at == position);
        match found {
            Some((_, Value::Bytes(bytes))) => bytes,
            _ => &[],
        }
    }

    fn integer(mut self, position: usize, value: usize) -> Self {
        self.values.push((position, Value::Integer(value as i64)));
        self
    }

    fn bytes(mut self, position: usize, bytes: impl Into<Vec<u8>>) -> Self {
        self.values.push((position, Value::Bytes(bytes.into())));
        self
    }

    fn counted(self, length: usize, position: usize, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        self.integer(length, bytes.len()).bytes(position, bytes)
    }

    fn rules(self, count: usize, position: usize, words: &[&str]) -> Self {
        let array: Vec<u8> = words.iter().flat_map(|word| format!("{word:8}").into_bytes()).collect();
        self.integer(count, words.len()).bytes(position, array)
    }

    /// The arguments as the facility takes them.
    pub fn arguments(&self) -> Arguments<'_> {
        let mut arguments = Arguments::new(self.verb);
        for (position, value) in &self.values {
            match value {
                Value::Integer(value) => arguments.set(*position, Argument::Integer(*value)),
                Value::Bytes(bytes) => arguments.set(*position, Argument::Bytes(bytes)),
            };
        }
        arguments
    }

    /// Compares an answer with the expected one; tells whether it was compared in full.
    pub fn check(
        &mut self,
        engine: &Engine,
        workload: &Workload,
        job: usize,
        reply: &Reply,
    ) -> Result<bool, LabError> {
        done(reply)?;
        self.answers += 1;
        let wrong = |what| LabError::WrongAnswer { operation: workload.operation, job, what };
        let answer = reply.arguments();
        match &self.expected {
            Expected::Done => Ok(true),
            Expected::Bytes(position, expected) => {
                if answer.bytes(*position).get(..expected.len()) == Some(&expected[..]) {
                    Ok(true)
                } else {
                    Err(wrong("the answer is not what it must be"))
                }
            }
            Expected::Fresh(position, length) => {
                let got = answer.bytes(*position);
                if got.len() != *length {
                    return Err(wrong("the answer is not as long as it must be"));
                }
                self.fresh(got.to_vec()).then_some(true).ok_or(wrong("two answers are the same"))
            }
            Expected::Token(position, first) => {
                let got = answer.bytes(*position);
                if got.len() < TOKEN_BYTES || got[0] != *first {
                    return Err(wrong("the answer is not a token of its kind"));
                }
                self.fresh(got.to_vec()).then_some(true).ok_or(wrong("two answers are the same"))
            }
            Expected::Sealed(position, key, expected) => {
                let got = answer.bytes(*position);
                if got.len() != key.modulus_bytes() {
                    return Err(wrong("the answer is not as long as the modulus"));
                }
                if self.answers % DEEP_CHECK != 1 {
                    return Ok(false);
                }
                let mut opened = vec![0; got.len()];
                let opens = engine.rsa_private(key, got, &mut opened).is_ok()
                    && pkcs1_v15_encrypt_unpad(&opened).is_ok_and(|value| value[..] == expected[..]);
                opens.then_some(true).ok_or(wrong("the answer does not open to what was sealed"))
            }
            Expected::Signed(position, key, digest) => {
                if self.answers % DEEP_CHECK != 1 {
                    return Ok(false);
                }
                let mut verify = [EcdsaVerifyItem::new(key, digest, answer.bytes(*position))];
                engine.ecdsa_verify_batch(&mut verify);
                verify[0].result.is_ok().then_some(true).ok_or(wrong("the signature does not verify"))
            }
        }
    }

    fn fresh(&mut self, answer: Vec<u8>) -> bool {
        let before = std::mem::replace(&mut self.last, answer);
        before != self.last
    }
}

/// An error unless the verb ended with codes of zero.
fn done(reply: &Reply) -> Result<(), LabError> {
    let codes = reply.codes();
    if codes == Codes::new(0, 0) {
        Ok(())
    } else {
        Err(LabError::Codes { verb: reply.verb().entry().name, codes })
    }
}

/// Makes the requests of workloads; secure keys are made once for each job and kept.
pub(crate) struct Maker<'a> {
    engine: &'a Engine,
    facility: Facility,
    tokens: &'a mut Tokens,
}

/// The keys and requests made so far for workloads on a home.
#[derive(Default)]
pub(crate) struct Tokens {
    /// Tokens of test keys, by kind and job.
    tokens: HashMap<(String, usize), Vec<u8>>,
    /// Private keys for tests: several services are measured with each.
    privates: HashMap<(u32, RsaForm, usize), Arc<RsaPrivateKey>>,
    /// Requests that carry no text: each pass of a report asks for them again.
    requests: HashMap<(Operation, usize), Request>,
}

impl<'a> Maker<'a> {
    pub fn new(engine: &'a Engine, facility: &Facility, tokens: &'a mut Tokens) -> Self {
        let facility = facility.with_selection(Selection::personality(Personality::Coprocessor));
        Self { engine, facility, tokens }
    }

    /// The request of a job.
    pub fn request(&mut self, workload: &Workload, job: usize) -> Result<Request, LabError> {
        // A text may be long, and a size without test keys gets a new key each time a workload starts.
        let has_test_key = workload.rsa().is_none_or(|(bits, _)| RSA_BITS.contains(&bits));
        let is_kept = has_test_key && !workload.operation.takes_bytes();
        if let Some(kept) = self.tokens.requests.get(&(workload.operation, job)) {
            return Ok(kept.clone());
        }
        let request = self.make(workload, job)?;
        if is_kept {
            self.tokens.requests.insert((workload.operation, job), request.clone());
        }
        Ok(request)
    }

    /// The clear token of a test key.
    pub fn clear_rsa_token(&mut self, bits: u32, form: RsaForm, job: usize) -> Result<Vec<u8>, LabError> {
        let private = self.private(bits, form, job).map_err(LabError::facility("make a key"))?;
        self.rsa_token(&private, bits, form, None, job)
    }

    fn private(&mut self, bits: u32, form: RsaForm, job: usize) -> Result<Arc<RsaPrivateKey>, String> {
        if let Some(kept) = self.tokens.privates.get(&(bits, form, job)) {
            return Ok(Arc::clone(kept));
        }
        let private = Arc::new(rsa_private_key(bits, form, job)?);
        if RSA_BITS.contains(&bits) {
            self.tokens.privates.insert((bits, form, job), Arc::clone(&private));
        }
        Ok(private)
    }

    fn make(&mut self, workload: &Workload, job: usize) -> Result<Request, LabError> {
        let refused = super::native::refused(workload.operation);
        let bytes = workload.bytes;
        match workload.operation {
            Operation::Cipher { cipher, mode: Mode::Gcm, direction } => {
                let made = GcmJob::new(self.engine, cipher, direction, job, bytes).map_err(refused)?;
                let key = self.data_key(&made.key, true, job)?;
                Ok(gcm(made, key, direction))
            }
            Operation::Cipher { cipher, mode, direction } => {
                let made =
                    CipherJob::new(self.engine, (cipher, mode, direction), job, bytes).map_err(refused)?;
                let key = self.data_key(&made.key, is_aes(cipher), job)?;
                Ok(if is_aes(cipher) { aes(made, key, mode, direction) } else { des(made, key, direction) })
            }
            Operation::Mac(mac) => {
                let made = MacJob::new(self.engine, mac, job, bytes).map_err(refused)?;
                let key = self.data_key(&made.key, false, job)?;
                Ok(mac_generate(made, key, mac))
            }
            Operation::Hash(hash) => {
                Ok(one_way_hash(TextJob::hash(self.engine, hash, job, bytes).map_err(refused)?, hash))
            }
            Operation::Rsa { bits, form } => self.clear_rsa(workload, bits, form, job),
            Operation::Verb { verb, key: Some(key) } => self.rsa_verb(workload, verb, key, job),
            Operation::Verb { verb, key: None } => self.plain_verb(workload, verb, job),
            Operation::EcdsaP256Sign => self.ecdsa(EcdsaJob::new(job).map_err(refused)?),
            Operation::EcdhP256 => self.ecdh(),
            Operation::Payment(payment) => self.payment(payment, job),
            Operation::KeyGenerate2Opex => self.key_generate2_opex(),
            Operation::Hmac(_) => {
                let (operation, personality) = (workload.operation, workload.personality());
                Err(super::Refusal::Personality { operation, personality }.into())
            }
        }
    }

    fn plain_verb(&mut self, workload: &Workload, verb: Verb, job: usize) -> Result<Request, LabError> {
        use verb::{key_generate, key_test, random_number_generate, random_number_generate_long};
        match verb {
            Verb::RandomNumberGenerate => {
                let expected = Expected::Fresh(random_number_generate::RANDOM_NUMBER, 8);
                Ok(self::Request::new(verb, expected).bytes(random_number_generate::FORM, *b"RANDOM  "))
            }
            Verb::RandomNumberGenerateLong => {
                use random_number_generate_long::{
                    RANDOM_NUMBER, RANDOM_NUMBER_LENGTH, RULE_ARRAY, RULE_ARRAY_COUNT,
                };
                Ok(self::Request::new(verb, Expected::Fresh(RANDOM_NUMBER, workload.bytes))
                    .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["RANDOM"])
                    .integer(RANDOM_NUMBER_LENGTH, workload.bytes))
            }
            Verb::KeyGenerate => {
                use key_generate::*;
                // As in the published table: an operational DES KEYGENKY, from its skeleton.
                let expected = Expected::Token(GENERATED_KEY_IDENTIFIER_1, 0x01);
                Ok(self::Request { expected, ..generate_from(self.deriving_skeleton()?) })
            }
            // An AES-256 key in a token of variable length.
            Verb::KeyGenerate2 => {
                use verb::key_generate2::GENERATED_KEY_IDENTIFIER_1;
                Ok(generate2("OP", "CIPHER", Expected::Token(GENERATED_KEY_IDENTIFIER_1, 0x01)))
            }
            // A MAC key of double length under an EXPORTER key; each job has keys of its own.
            Verb::KeyExport => {
                use verb::key_export::*;
                let exporter = self.generated("EXPORTER")?;
                let request = self::Request::new(verb, Expected::Done)
                    .bytes(KEY_TYPE, *b"TOKEN   ")
                    .bytes(SOURCE_KEY_IDENTIFIER, self.generated("MAC")?)
                    .bytes(EXPORTER_KEY_IDENTIFIER, exporter);
                let external = self.call(&request, TARGET_KEY_TOKEN)?;
                Ok(self::Request { expected: Expected::Bytes(TARGET_KEY_TOKEN, external), ..request })
            }
            Verb::KeyTest => {
                use key_test::{KEY_IDENTIFIER, RULE_ARRAY, RULE_ARRAY_COUNT, VALUE_1, VALUE_2};
                let key = keys::des_key(job, 24);
                let zeros = CipherJob::over(self.engine, Cipher::Tdes3, &key, &[0; 8])
                    .map_err(super::native::refused(workload.operation))?;
                let token = self.data_key(&key, false, job)?;
                Ok(self::Request::new(verb, Expected::Bytes(VALUE_2, zeros[..4].to_vec()))
                    .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["GENERATE", "ENC-ZERO"])
                    .bytes(KEY_IDENTIFIER, token)
                    .bytes(VALUE_1, [0; 8])
                    .bytes(VALUE_2, [0; 8]))
            }
            _ => Ok(self::Request::new(verb, Expected::Done)),
        }
    }

    fn clear_rsa(
        &mut self,
        workload: &Workload,
        bits: u32,
        form: RsaForm,
        job: usize,
    ) -> Result<Request, LabError> {
        use verb::clear_rsa_private;
        let made = RsaJob::new(bits, form, job).map_err(super::native::refused(workload.operation))?;
        let token = self.rsa_token(&made.private, bits, form, None, job)?;
        let result_bytes = made.expected.len();
        let verb = if form == RsaForm::Public { Verb::ClearRsaPublic } else { Verb::ClearRsaPrivate };
        use clear_rsa_private::*;
        Ok(self::Request::new(verb, Expected::Bytes(RESULT, made.expected))
            .counted(KEY_LENGTH, KEY, token)
            .counted(DATA_LENGTH, DATA, made.input)
            .integer(RESULT_LENGTH, result_bytes))
    }

    /// An AES-256 key in two copies, one under an EXPORTER key; each job has an EXPORTER key of its own.
    fn key_generate2_opex(&mut self) -> Result<Request, LabError> {
        use verb::key_generate2::*;
        let exporter = self.call(&generate2("OP", "EXPORTER", Expected::Done), GENERATED_KEY_IDENTIFIER_1)?;
        Ok(generate2("OPEX", "CIPHER", Expected::Token(GENERATED_KEY_IDENTIFIER_2, 0x02))
            .bytes(KEY_TYPE_2, *b"CIPHER  ")
            .counted(KEK_KEY_IDENTIFIER_2_LENGTH, KEK_KEY_IDENTIFIER_2, exporter)
            .integer(GENERATED_KEY_IDENTIFIER_2_LENGTH, VARIABLE_TOKEN_ROOM))
    }

    /// An AES-128 key that two keys of P-256 agree on; the other party must get the same key.
    fn ecdh(&mut self) -> Result<Request, LabError> {
        use verb::ec_diffie_hellman::{KEY_BIT_LENGTH, OUTPUT_KEY_IDENTIFIER};
        let (ours, theirs) = (self.deriving_key()?, self.deriving_key()?);
        let derive =
            |private: &[u8], public: Vec<u8>| agreement(private, public).integer(KEY_BIT_LENGTH, 128);
        let expected = self.call(&derive(&theirs, self.public_part(&ours)?), OUTPUT_KEY_IDENTIFIER)?;
        let request = derive(&ours, self.public_part(&theirs)?);
        Ok(self::Request { expected: Expected::Bytes(OUTPUT_KEY_IDENTIFIER, expected), ..request })
    }

    /// A new private key of P-256 from which AES CIPHER keys of 128 bits are derived.
    fn deriving_key(&self) -> Result<Vec<u8>, LabError> {
        use verb::pka_key_generate::*;
        use verb::pka_key_token_build::{self as build, KEY_DERIVATION_DATA, KEY_DERIVATION_DATA_LENGTH};
        let asked = self::Request::new(Verb::PkaKeyTokenBuild, Expected::Done)
            .rules(build::RULE_ARRAY_COUNT, build::RULE_ARRAY, &["ECC-PAIR", "KM-ONLY", "ECC-VER1"])
            .counted(
                build::KEY_VALUES_STRUCTURE_LENGTH,
                build::KEY_VALUES_STRUCTURE,
                p256_structure(&[&[], &[]]),
            )
            .counted(KEY_DERIVATION_DATA_LENGTH, KEY_DERIVATION_DATA, DERIVES_AES_CIPHER_128)
            .integer(build::TOKEN_LENGTH, wire::bounds::PKA_TOKEN_BYTES_MAX);
        let skeleton = self.call(&asked, build::TOKEN)?;
        let request = self::Request::new(Verb::PkaKeyGenerate, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["MASTER"])
            .counted(SKELETON_KEY_TOKEN_LENGTH, SKELETON_KEY_TOKEN, skeleton)
            .bytes(TRANSPORT_KEY_IDENTIFIER, [0; TOKEN_BYTES])
            .integer(GENERATED_KEY_IDENTIFIER_LENGTH, wire::bounds::PKA_TOKEN_BYTES_MAX);
        self.call(&request, GENERATED_KEY_IDENTIFIER)
    }

    /// The public key of a private key's token.
    fn public_part(&self, token: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::pka_public_key_extract::*;
        let request = self::Request::new(Verb::PkaPublicKeyExtract, Expected::Done)
            .counted(SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_KEY_IDENTIFIER, token)
            .integer(TARGET_KEY_TOKEN_LENGTH, wire::bounds::PKA_TOKEN_BYTES_MAX);
        self.call(&request, TARGET_KEY_TOKEN)
    }

    /// A signature of a digest under an imported key of P-256.
    fn ecdsa(&mut self, job: EcdsaJob) -> Result<Request, LabError> {
        use verb::digital_signature_generate::*;
        let (value, point) = (job.private.to_bytes(), job.private.public_bytes());
        let clear = self.build_pka(&p256_structure(&[&value, &point]), &["ECC-PAIR", "SIG-ONLY"])?;
        let token = self.import_pka(clear)?;
        let signature_bytes = 2 * value.len();
        let expected = Expected::Signed(SIGNATURE_FIELD, Arc::new(job.public), job.digest.clone());
        Ok(self::Request::new(Verb::DigitalSignatureGenerate, expected)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["ECDSA"])
            .counted(PKA_PRIVATE_KEY_ID_LENGTH, PKA_PRIVATE_KEY_ID, token)
            .counted(HASH_LENGTH, HASH, job.digest)
            .integer(SIGNATURE_FIELD_LENGTH, signature_bytes))
    }

    fn rsa_verb(
        &mut self,
        workload: &Workload,
        verb: Verb,
        key: RsaKey,
        job: usize,
    ) -> Result<Request, LabError> {
        let refused = super::native::refused(workload.operation);
        let RsaKey { bits, form } = key;
        if verb == Verb::PkaKeyGenerate {
            return self.pka_key_generate(bits, form);
        }
        let private = self.private(bits, form, job).map_err(refused)?;
        let modulus_bytes = private.modulus_bytes();
        let raise = |block: &[u8]| -> Result<Vec<u8>, LabError> {
            let public = private.public_key().map_err(|error| refused(error.to_string()))?;
            let mut out = vec![0; modulus_bytes];
            self.engine.rsa_public(&public, block, &mut out).map_err(|error| refused(error.to_string()))?;
            Ok(out)
        };
        let padded = |message: &[u8]| {
            pkcs1_v15_encrypt_pad(message, modulus_bytes).map_err(|error| refused(error.to_string()))
        };
        // A digest as the caller encodes it: SHA-1, which also fits 512 bits.
        let hash = [digest_info_prefix(HashAlgorithm::Sha1), &keys::test_bytes(0x516, job, 20)].concat();
        match verb {
            Verb::DigitalSignatureGenerate | Verb::DigitalSignatureVerify => {
                let block = pkcs1_v15_sign_pad_raw(&hash, modulus_bytes)
                    .map_err(|error| refused(error.to_string()))?;
                let mut signature = vec![0; modulus_bytes];
                self.engine
                    .rsa_private(&private, &block, &mut signature)
                    .map_err(|error| refused(error.to_string()))?;
                if verb == Verb::DigitalSignatureGenerate {
                    use verb::digital_signature_generate::*;
                    let token = self.rsa_token(&private, bits, form, Some("SIG-ONLY"), job)?;
                    Ok(self::Request::new(verb, Expected::Bytes(SIGNATURE_FIELD, signature))
                        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["PKCS-1.1"])
                        .counted(PKA_PRIVATE_KEY_ID_LENGTH, PKA_PRIVATE_KEY_ID, token)
                        .counted(HASH_LENGTH, HASH, hash)
                        .integer(SIGNATURE_FIELD_LENGTH, modulus_bytes))
                } else {
                    use verb::digital_signature_verify::*;
                    let token = self.rsa_token(&private, bits, RsaForm::Public, None, job)?;
                    Ok(self::Request::new(verb, Expected::Done)
                        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["PKCS-1.1"])
                        .counted(PKA_PUBLIC_KEY_ID_LENGTH, PKA_PUBLIC_KEY_ID, token)
                        .counted(HASH_LENGTH, HASH, hash)
                        .counted(SIGNATURE_FIELD_LENGTH, SIGNATURE_FIELD, signature))
                }
            }
            Verb::PkaEncrypt => {
                use verb::pka_encrypt::*;
                let value = keys::test_bytes(0xE2C, job, 16);
                let token = self.rsa_token(&private, bits, RsaForm::Public, None, job)?;
                Ok(self::Request::new(
                    verb,
                    Expected::Sealed(RSA_ENCIPHER, Arc::clone(&private), value.clone()),
                )
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["PKCS-1.2"])
                .counted(KEY_VALUE_LENGTH, KEY_VALUE, value)
                .counted(RSA_PUBLIC_KEY_LENGTH, RSA_PUBLIC_KEY, token)
                .integer(RSA_ENCIPHER_LENGTH, modulus_bytes))
            }
            Verb::PkaDecrypt => {
                use verb::pka_decrypt::*;
                let value = keys::test_bytes(0xDEC, job, 16);
                let enciphered = raise(&padded(&value)?)?;
                let token = self.rsa_token(&private, bits, form, Some("KEY-MGMT"), job)?;
                Ok(self::Request::new(verb, Expected::Bytes(KEY_VALUE, value))
                    .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["PKCS-1.2"])
                    .counted(ENCIPHERED_KEY_LENGTH, ENCIPHERED_KEY, enciphered)
                    .counted(RSA_PRIVATE_KEY_LENGTH, RSA_PRIVATE_KEY, token)
                    .integer(KEY_VALUE_LENGTH, modulus_bytes))
            }
            _ => {
                use verb::symmetric_key_import::*;
                // The expected token: the same clear key, imported in the clear.
                let clear = keys::des_key(job, 16);
                let enciphered = raise(&padded(&clear)?)?;
                let expected = self.data_key(&clear, false, job)?;
                let token = self.rsa_token(&private, bits, form, Some("KM-ONLY"), job)?;
                Ok(self::Request::new(verb, Expected::Bytes(TARGET_KEY_IDENTIFIER, expected))
                    .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["DES", "PKCS-1.2"])
                    .counted(RSA_ENCIPHERED_KEY_LENGTH, RSA_ENCIPHERED_KEY, enciphered)
                    .counted(RSA_PRIVATE_KEY_IDENTIFIER_LEN, RSA_PRIVATE_KEY_IDENTIFIER, token)
                    .counted(TARGET_KEY_IDENTIFIER_LENGTH, TARGET_KEY_IDENTIFIER, [0; TOKEN_BYTES]))
            }
        }
    }

    /// As in the published tables: an external token in CRT form, or an internal token in ME form.
    fn pka_key_generate(&mut self, bits: u32, form: RsaForm) -> Result<Request, LabError> {
        use verb::pka_key_generate::*;
        const GENERATED_BYTES: usize = wire::bounds::PKA_TOKEN_BYTES_MAX;
        let skeleton = self.build_rsa(&generate_structure(bits, form), form, Some("KEY-MGMT"), false)?;
        let (rule, first) = if form == RsaForm::Crt { ("CLEAR", 0x1E) } else { ("MASTER", 0x1F) };
        Ok(self::Request::new(Verb::PkaKeyGenerate, Expected::Token(GENERATED_KEY_IDENTIFIER, first))
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &[rule])
            .counted(SKELETON_KEY_TOKEN_LENGTH, SKELETON_KEY_TOKEN, skeleton)
            .bytes(TRANSPORT_KEY_IDENTIFIER, [0; TOKEN_BYTES])
            .counted(GENERATED_KEY_IDENTIFIER_LENGTH, GENERATED_KEY_IDENTIFIER, [0; GENERATED_BYTES]))
    }

    /// The internal token of a clear symmetric key.
    pub fn data_key(&mut self, clear: &[u8], aes: bool, job: usize) -> Result<Vec<u8>, LabError> {
        use verb::clear_key_import_multiple::*;
        let name = (format!("{}{}", if aes { "aes" } else { "des" }, clear.len()), job);
        if let Some(token) = self.tokens.tokens.get(&name) {
            return Ok(token.clone());
        }
        let request = self::Request::new(Verb::ClearKeyImportMultiple, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &[if aes { "AES" } else { "DES" }])
            .counted(CLEAR_KEY_LENGTH, CLEAR_KEY, clear)
            .bytes(TARGET_KEY_IDENTIFIER, [0; TOKEN_BYTES]);
        let token = self.call(&request, TARGET_KEY_IDENTIFIER)?;
        self.tokens.tokens.insert(name, token.clone());
        Ok(token)
    }

    /// A random DES key of double length.
    fn generated(&mut self, key_type: &str) -> Result<Vec<u8>, LabError> {
        use verb::key_generate::*;
        let request = self::Request::new(Verb::KeyGenerate, Expected::Done)
            .bytes(KEY_FORM, *b"OP  ")
            .bytes(KEY_LENGTH, *b"DOUBLE  ")
            .bytes(KEY_TYPE_1, format!("{key_type:8}"))
            .bytes(KEY_TYPE_2, *b"        ")
            .bytes(GENERATED_KEY_IDENTIFIER_1, [0; TOKEN_BYTES]);
        self.call(&request, GENERATED_KEY_IDENTIFIER_1)
    }

    /// The skeleton of a KEYGENKY key for DUKPT.
    fn deriving_skeleton(&self) -> Result<Vec<u8>, LabError> {
        self.key_skeleton("KEYGENKY", &["INTERNAL", "DES", "NO-KEY", "DOUBLE", "UKPT"])
    }

    fn key_skeleton(&self, key_type: &str, rules: &[&str]) -> Result<Vec<u8>, LabError> {
        use verb::key_token_build::*;
        let request = self::Request::new(Verb::KeyTokenBuild, Expected::Done)
            .bytes(KEY_TYPE, format!("{key_type:8}"))
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, rules);
        self.call(&request, KEY_TOKEN)
    }

    /// A token of an RSA key: clear, or imported with a usage if one is given.
    fn rsa_token(
        &mut self,
        key: &RsaPrivateKey,
        bits: u32,
        form: RsaForm,
        imported: Option<&str>,
        job: usize,
    ) -> Result<Vec<u8>, LabError> {
        let name = (format!("rsa{bits}-{}-{imported:?}", form.name()), job);
        if let Some(token) = self.tokens.tokens.get(&name) {
            return Ok(token.clone());
        }
        let clear = self.build_rsa(&structure(key, form), form, imported, imported.is_some())?;
        let token = if imported.is_some() { self.import_pka(clear)? } else { clear };
        // A size without test keys gets a new key each time a workload starts.
        if keys::rsa_test_key(bits, job).is_some() {
            self.tokens.tokens.insert(name, token.clone());
        }
        Ok(token)
    }

    fn build_rsa(
        &mut self,
        structure: &[u8],
        form: RsaForm,
        usage: Option<&str>,
        is_imported: bool,
    ) -> Result<Vec<u8>, LabError> {
        let mut rules = vec![match form {
            RsaForm::Public => "RSA-PUBL",
            // An imported key has one of the newer sections, X'30' or X'31', under the APKA master key.
            RsaForm::Crt if is_imported => "RSA-AESC",
            RsaForm::Crt => "RSA-CRT",
            RsaForm::Me => "RSA-AESM",
        }];
        rules.extend(usage);
        self.build_pka(structure, &rules)
    }

    /// Builds a token of a key-values structure; a key in it stays clear.
    fn build_pka(&mut self, structure: &[u8], rules: &[&str]) -> Result<Vec<u8>, LabError> {
        use verb::pka_key_token_build::*;
        let request = self::Request::new(Verb::PkaKeyTokenBuild, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, rules)
            .counted(KEY_VALUES_STRUCTURE_LENGTH, KEY_VALUES_STRUCTURE, structure)
            .integer(TOKEN_LENGTH, wire::bounds::PKA_TOKEN_BYTES_MAX);
        self.call(&request, TOKEN)
    }

    /// The internal token of a clear private key.
    fn import_pka(&mut self, clear: Vec<u8>) -> Result<Vec<u8>, LabError> {
        use verb::pka_key_import::*;
        let room = [0; wire::bounds::PKA_TOKEN_BYTES_MAX];
        let request = self::Request::new(Verb::PkaKeyImport, Expected::Done)
            .counted(SOURCE_KEY_TOKEN_LENGTH, SOURCE_KEY_TOKEN, clear)
            .bytes(IMPORTER_KEY_IDENTIFIER, [0; TOKEN_BYTES])
            .counted(TARGET_KEY_IDENTIFIER_LENGTH, TARGET_KEY_IDENTIFIER, room);
        self.call(&request, TARGET_KEY_IDENTIFIER)
    }

    fn call(&self, request: &Request, output: usize) -> Result<Vec<u8>, LabError> {
        self.call_for(request, [output]).map(|[output]| output)
    }

    /// Calls a request; gives its outputs at these positions.
    fn call_for<const N: usize>(
        &self,
        request: &Request,
        outputs: [usize; N],
    ) -> Result<[Vec<u8>; N], LabError> {
        let what = "make the keys of the workload";
        let reply = self.facility.call(DOMAIN, &request.arguments()).map_err(LabError::facility(what))?;
        done(&reply)?;
        Ok(outputs.map(|output| reply.arguments().bytes(output).to_vec()))
    }
}

/// A request for a DES key that fits a skeleton.
fn generate_from(skeleton: Vec<u8>) -> self::Request {
    use verb::key_generate::*;
    self::Request::new(Verb::KeyGenerate, Expected::Done)
        .bytes(KEY_FORM, *b"OP  ")
        .bytes(KEY_LENGTH, *b"        ")
        .bytes(KEY_TYPE_1, *b"TOKEN   ")
        .bytes(KEY_TYPE_2, *b"        ")
        .bytes(KEK_KEY_IDENTIFIER_1, [0; TOKEN_BYTES])
        .bytes(KEK_KEY_IDENTIFIER_2, [0; TOKEN_BYTES])
        .bytes(GENERATED_KEY_IDENTIFIER_1, skeleton)
        .bytes(GENERATED_KEY_IDENTIFIER_2, [0; TOKEN_BYTES])
}

/// A request for an AES-256 key of this type in the first of the tokens that Key_Generate2 makes.
fn generate2(form: &str, key_type: &str, expected: Expected) -> self::Request {
    use verb::key_generate2::*;
    self::Request::new(Verb::KeyGenerate2, expected)
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["AES", form])
        .integer(CLEAR_KEY_BIT_LENGTH, 256_usize)
        .bytes(KEY_TYPE_1, format!("{key_type:8}"))
        .bytes(KEY_TYPE_2, *b"        ")
        .integer(GENERATED_KEY_IDENTIFIER_1_LENGTH, VARIABLE_TOKEN_ROOM)
}

/// A request for the key that these keys agree on, by ANSI X9.63 with SHA-256.
fn agreement(private: &[u8], public: Vec<u8>) -> self::Request {
    use verb::ec_diffie_hellman::*;
    self::Request::new(Verb::EcDiffieHellman, Expected::Done)
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["DERIV02", "SHA-256"])
        .counted(PRIVATE_KEY_IDENTIFIER_LENGTH, PRIVATE_KEY_IDENTIFIER, private)
        .counted(PUBLIC_KEY_IDENTIFIER_LENGTH, PUBLIC_KEY_IDENTIFIER, public)
        .integer(OUTPUT_KEY_IDENTIFIER_LENGTH, VARIABLE_TOKEN_ROOM)
}

/// The key-values structure of PKA_Key_Token_Build for a key of P-256: two bytes for the curve, its bits, the lengths
/// of the numbers, then the numbers.
fn p256_structure(numbers: &[&[u8]]) -> Vec<u8> {
    let mut structure = vec![0, 0];
    for number in [P256_BITS].into_iter().chain(numbers.iter().map(|number| number.len())) {
        structure.extend_from_slice(&(number as u16).to_be_bytes());
    }
    structure.extend(numbers.concat());
    structure
}

/// The key-values structure of PKA_Key_Token_Build: lengths of the numbers, then the numbers.
fn structure(key: &RsaPrivateKey, form: RsaForm) -> Vec<u8> {
    let secret = |value: Option<engine::SecretBytes>| value.map_or(Vec::new(), |value| value.to_vec());
    let (n, e) = (key.n(), key.e());
    let mut numbers: Vec<Vec<u8>> = vec![n, e];
    match form {
        RsaForm::Public => numbers.push(Vec::new()),
        RsaForm::Me => numbers.push(key.d().to_vec()),
        RsaForm::Crt => {
            numbers.push(Vec::new());
            numbers.extend([key.p(), key.q(), key.dp(), key.dq(), key.qinv()].map(secret));
        }
    }
    let mut out = (key.bits() as u16).to_be_bytes().to_vec();
    for number in &numbers {
        out.extend_from_slice(&(number.len() as u16).to_be_bytes());
    }
    numbers.iter().for_each(|number| out.extend_from_slice(number));
    out
}

/// The structure that asks for a key to be generated: bits, and the exponent 65537.
fn generate_structure(bits: u32, form: RsaForm) -> Vec<u8> {
    let lengths: &[u16] = if form == RsaForm::Crt { &[0, 3, 0, 0, 0, 0, 0, 0] } else { &[0, 3, 0] };
    let mut out = (bits as u16).to_be_bytes().to_vec();
    lengths.iter().for_each(|length| out.extend_from_slice(&length.to_be_bytes()));
    out.extend_from_slice(&[1, 0, 1]);
    out
}

/// The verbs of both directions have their input and their output at the same places.
const _: () = {
    use verb::{clear_rsa_private as private, clear_rsa_public as public};
    use verb::{
        decipher, encipher, symmetric_algorithm_decipher as from, symmetric_algorithm_encipher as to,
    };
    assert!(
        private::KEY == public::KEY && private::DATA == public::DATA && private::RESULT == public::RESULT
    );
    assert!(encipher::PLAINTEXT == decipher::CIPHERTEXT && encipher::RULE_ARRAY == decipher::RULE_ARRAY);
    assert!(to::CLEAR_TEXT == from::CIPHER_TEXT && to::CIPHER_TEXT == from::CLEAR_TEXT);
    assert!(to::OPTIONAL_DATA == from::OPTIONAL_DATA);
};

fn des(job: CipherJob, key: Vec<u8>, direction: Direction) -> Request {
    use verb::encipher::*;
    let (verb, output) = match direction {
        Direction::Encipher => (Verb::Encipher, CIPHERTEXT),
        Direction::Decipher => (Verb::Decipher, verb::decipher::PLAINTEXT),
    };
    let request = self::Request::new(verb, Expected::Bytes(output, job.expected))
        .bytes(KEY_IDENTIFIER, key)
        .counted(TEXT_LENGTH, PLAINTEXT, job.input)
        .bytes(INITIALIZATION_VECTOR, job.iv)
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["CBC", "INITIAL"]);
    match direction {
        Direction::Encipher => request.integer(PAD_CHARACTER, 0).bytes(CHAINING_VECTOR, [0; 18]),
        Direction::Decipher => request.bytes(verb::decipher::CHAINING_VECTOR, [0; 18]),
    }
}

fn aes(job: CipherJob, key: Vec<u8>, mode: Mode, direction: Direction) -> Request {
    let (rule, iv) = if mode == Mode::Ecb { ("ECB", Vec::new()) } else { ("CBC", job.iv) };
    symmetric(direction, rule, key, iv, job.input, job.expected, &[], &[])
}

fn gcm(job: GcmJob, key: Vec<u8>, direction: Direction) -> Request {
    let tag = if direction == Direction::Encipher { [0; 16] } else { job.tag };
    symmetric(direction, "GCM", key, job.nonce, job.input, job.expected, &tag, &job.aad)
}

#[allow(clippy::too_many_arguments)] // the verb has as many
fn symmetric(
    direction: Direction,
    rule: &str,
    key: Vec<u8>,
    iv: Vec<u8>,
    input: Vec<u8>,
    expected: Vec<u8>,
    parms: &[u8],
    aad: &[u8],
) -> Request {
    use verb::symmetric_algorithm_encipher::*;
    let verb = match direction {
        Direction::Encipher => Verb::SymmetricAlgorithmEncipher,
        Direction::Decipher => Verb::SymmetricAlgorithmDecipher,
    };
    let length = input.len();
    self::Request::new(verb, Expected::Bytes(CIPHER_TEXT, expected))
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["AES", rule, "KEYIDENT", "ONLY"])
        .counted(KEY_LENGTH, KEY_IDENTIFIER, key)
        .counted(KEY_PARMS_LENGTH, KEY_PARMS, parms)
        .integer(BLOCK_SIZE, 16)
        .counted(INITIALIZATION_VECTOR_LENGTH, INITIALIZATION_VECTOR, iv)
        .counted(CHAIN_DATA_LENGTH, CHAIN_DATA, [0; 32])
        .counted(CLEAR_TEXT_LENGTH, CLEAR_TEXT, input)
        .integer(CIPHER_TEXT_LENGTH, length)
        .counted(OPTIONAL_DATA_LENGTH, OPTIONAL_DATA, aad)
}

fn mac_generate(job: MacJob, key: Vec<u8>, mac: Mac) -> Request {
    use verb::mac_generate::*;
    let method = if mac == Mac::X99 { "X9.9-1" } else { "X9.19OPT" };
    self::Request::new(Verb::MacGenerate, Expected::Bytes(MAC, job.expected))
        .bytes(KEY_IDENTIFIER, key)
        .counted(TEXT_LENGTH, TEXT, job.data)
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &[method, "ONLY", "MACLEN8"])
        .bytes(CHAINING_VECTOR, [0; 18])
}

fn one_way_hash(job: TextJob, hash: Hash) -> Request {
    use verb::one_way_hash::*;
    let rule = hash.name();
    let digest_bytes = hash.digest_bytes();
    self::Request::new(Verb::OneWayHash, Expected::Bytes(HASH, job.expected))
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &[rule, "ONLY"])
        .counted(TEXT_LENGTH, TEXT, job.data)
        .counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, [0; engine::HASH_STATE_BYTES])
        .counted(HASH_LENGTH, HASH, vec![0; digest_bytes])
}
