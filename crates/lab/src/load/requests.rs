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
use facility::{Answered, Facility, Reply, Selection};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use wire::bounds::{KEYWORD_BYTES, PKA_TOKEN_BYTES_MAX};
use wire::control::Personality;
use wire::frame::{Argument, Arguments};
use wire::verb::{
    self, AesAlgorithm, AesKeyRule, AesMethod, AesPosition, AgreementHash, DesChaining, DesMethod,
    EccVersion, Filled, HashMethod, Key, KeyAgreement, KeyAlgorithm, MacFormat, MacMethod, PkaOutput,
    PkaTokenKind, PkaUsage, RandomForm, Room, RsaFormat, Segment, SignatureFormat, TestAlgorithm,
    TestProcess, TokenContent, TokenLength, TokenOrigin, TransportFormat, TypedAsk, VariableAlgorithm,
    VariableKeyForm, Verb,
};
use wire::{Codes, KeyReference};

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

/// An argument of a request.
#[derive(Clone)]
enum Field {
    Integer(i64),
    Reference(KeyReference),
    /// Where the bytes stand in the payload.
    Bytes(Range<usize>),
}

/// A request of one job.
#[derive(Clone)]
pub(crate) struct Request {
    verb: Verb,
    /// The payload that the verb's own type wrote, and its arguments by position: a call that is measured does not read
    /// it anew.
    payload: Vec<u8>,
    fields: Vec<(usize, Field)>,
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
    fn new<A: TypedAsk>(ask: &A, expected: Expected) -> Self {
        let (mut filled, mut payload) = (Filled::default(), Vec::new());
        let written = ask.arguments(&mut filled).write_request(&mut payload);
        written.expect("the type of a verb has the kinds of its row");
        let arguments = Arguments::read_request(A::VERB, &payload);
        let arguments = arguments.expect("a payload that was written is whole");
        let field = |position| match arguments.at(position) {
            Argument::Absent => None,
            Argument::Integer(value) => Some((position, Field::Integer(value))),
            Argument::Reference(reference) => Some((position, Field::Reference(reference))),
            Argument::Bytes([]) => Some((position, Field::Bytes(0..0))),
            Argument::Bytes(bytes) => {
                let first = bytes.as_ptr() as usize - payload.as_ptr() as usize;
                Some((position, Field::Bytes(first..first + bytes.len())))
            }
        };
        let fields = (0..A::VERB.entry().parameters.len()).filter_map(field).collect();
        Self { verb: A::VERB, payload, fields, expected, last: Vec::new(), answers: 0, case: None }
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
        self.arguments().bytes(position)
    }

    /// The arguments as the facility takes them.
    pub fn arguments(&self) -> Arguments<'_> {
        let mut arguments = Arguments::new(self.verb);
        for (position, field) in &self.fields {
            let argument = match field {
                Field::Integer(value) => Argument::Integer(*value),
                Field::Reference(reference) => Argument::Reference(*reference),
                Field::Bytes(range) => Argument::Bytes(&self.payload[range.clone()]),
            };
            arguments.set(*position, argument);
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

    /// A token of a test key for signatures, imported anew: each token of a key is another one.
    pub fn signing_token(&mut self, bits: u32, job: usize) -> Result<Vec<u8>, LabError> {
        let form = RsaForm::Crt;
        let key = self.private(bits, form, job).map_err(LabError::facility("make a key"))?;
        let clear = self.build_rsa(&structure(&key, form), form, Some(PkaUsage::Signature), true)?;
        self.import_pka(&clear)
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
                Ok(gcm(made, &key, direction))
            }
            Operation::Cipher { cipher, mode, direction } => {
                let made =
                    CipherJob::new(self.engine, (cipher, mode, direction), job, bytes).map_err(refused)?;
                let key = self.data_key(&made.key, is_aes(cipher), job)?;
                Ok(if is_aes(cipher) { aes(made, &key, mode, direction) } else { des(made, &key, direction) })
            }
            Operation::Mac(mac) => {
                let made = MacJob::new(self.engine, mac, job, bytes).map_err(refused)?;
                let key = self.data_key(&made.key, false, job)?;
                Ok(mac_generate(made, &key, mac))
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
            Operation::Hmac(_) => Err(not_served(workload)),
        }
    }

    fn plain_verb(&mut self, workload: &Workload, verb: Verb, job: usize) -> Result<Request, LabError> {
        match verb {
            Verb::Null => Ok(self::Request::new(&verb::null::Ask::new(), Expected::Done)),
            Verb::RandomNumberGenerate => {
                use verb::random_number_generate::*;
                let ask = Ask { form: b"RANDOM  ", ..Ask::new() };
                Ok(self::Request::new(&ask, Expected::Fresh(RANDOM_NUMBER, 8)))
            }
            Verb::RandomNumberGenerateLong => {
                use verb::random_number_generate_long::*;
                let ask = Ask { random_number: workload.bytes, ..Ask::new(RandomForm::Random) };
                Ok(self::Request::new(&ask, Expected::Fresh(RANDOM_NUMBER, workload.bytes)))
            }
            Verb::KeyGenerate => {
                use verb::key_generate::*;
                // As in the published table: an operational DES KEYGENKY, from its skeleton.
                let skeleton = self.deriving_skeleton()?;
                let ask = Ask {
                    key_form: b"OP  ",
                    key_length: b"        ",
                    key_type_1: b"TOKEN   ",
                    key_type_2: b"        ",
                    generated_key_identifier_1: (&skeleton).into(),
                    ..Ask::new()
                };
                Ok(self::Request::new(&ask, Expected::Token(GENERATED_KEY_IDENTIFIER_1, 0x01)))
            }
            // An AES-256 key in a token of variable length.
            Verb::KeyGenerate2 => {
                use verb::key_generate2::*;
                let ask = generate2(VariableKeyForm::Op, b"CIPHER  ");
                Ok(self::Request::new(&ask, Expected::Token(GENERATED_KEY_IDENTIFIER_1, 0x01)))
            }
            // A MAC key of double length under an EXPORTER key; each job has keys of its own.
            Verb::KeyExport => {
                use verb::key_export::*;
                let (exporter, source) = (self.generated(b"EXPORTER")?, self.generated(b"MAC     ")?);
                let ask = Ask {
                    key_type: b"TOKEN   ",
                    source_key_identifier: (&source).into(),
                    exporter_key_identifier: (&exporter).into(),
                    ..Ask::new()
                };
                let external = self.ask(&ask)?.got().target_key_token.to_vec();
                Ok(self::Request::new(&ask, Expected::Bytes(TARGET_KEY_TOKEN, external)))
            }
            Verb::KeyTest => {
                use verb::key_test::*;
                let key = keys::des_key(job, 24);
                let zeros = CipherJob::over(self.engine, Cipher::Tdes3, &key, &[0; 8])
                    .map_err(super::native::refused(workload.operation))?;
                let token = self.data_key(&key, false, job)?;
                let ask = Ask {
                    algorithm: Some(TestAlgorithm::EncZero),
                    key_identifier: (&token).into(),
                    value_1: Some(&[0; 8]),
                    value_2: Some(&[0; 8]),
                    ..Ask::new(TestProcess::Generate)
                };
                Ok(self::Request::new(&ask, Expected::Bytes(VALUE_2, zeros[..4].to_vec())))
            }
            _ => Err(not_served(workload)),
        }
    }

    fn clear_rsa(
        &mut self,
        workload: &Workload,
        bits: u32,
        form: RsaForm,
        job: usize,
    ) -> Result<Request, LabError> {
        use verb::{clear_rsa_private as private, clear_rsa_public as public};
        let made = RsaJob::new(bits, form, job).map_err(super::native::refused(workload.operation))?;
        let token = self.rsa_token(&made.private, bits, form, None, job)?;
        let (key, data, result) = (&token[..], &made.input[..], made.expected.len());
        Ok(if form == RsaForm::Public {
            let ask = public::Ask { key, data, result, ..public::Ask::new() };
            self::Request::new(&ask, Expected::Bytes(public::RESULT, made.expected))
        } else {
            let ask = private::Ask { key, data, result, ..private::Ask::new() };
            self::Request::new(&ask, Expected::Bytes(private::RESULT, made.expected))
        })
    }

    /// An AES-256 key in two copies, one under an EXPORTER key; each job has an EXPORTER key of its own.
    fn key_generate2_opex(&mut self) -> Result<Request, LabError> {
        use verb::key_generate2::*;
        let exporter = self.ask(&generate2(VariableKeyForm::Op, b"EXPORTER"))?;
        let ask = Ask {
            key_type_2: b"CIPHER  ",
            kek_key_identifier_2: exporter.got().generated_key_identifier_1.into(),
            generated_key_identifier_2: Room::of(VARIABLE_TOKEN_ROOM),
            ..generate2(VariableKeyForm::Opex, b"CIPHER  ")
        };
        Ok(self::Request::new(&ask, Expected::Token(GENERATED_KEY_IDENTIFIER_2, 0x02)))
    }

    /// An AES-128 key that two keys of P-256 agree on; the other party must get the same key.
    fn ecdh(&mut self) -> Result<Request, LabError> {
        use verb::ec_diffie_hellman::OUTPUT_KEY_IDENTIFIER;
        let (ours, theirs) = (self.deriving_key()?, self.deriving_key()?);
        let (our_part, their_part) = (self.public_part(&ours)?, self.public_part(&theirs)?);
        let theirs = self.ask(&agreement(&theirs, &our_part))?;
        let expected = theirs.got().output_key_identifier.to_vec();
        let expected = Expected::Bytes(OUTPUT_KEY_IDENTIFIER, expected);
        Ok(self::Request::new(&agreement(&ours, &their_part), expected))
    }

    /// A new private key of P-256 from which AES CIPHER keys of 128 bits are derived.
    fn deriving_key(&self) -> Result<Vec<u8>, LabError> {
        use verb::{pka_key_generate as generate, pka_key_token_build as build};
        let skeleton = self.ask(&build::Ask {
            usage: Some(PkaUsage::KeyManagementOnly),
            version: Some(EccVersion::One),
            key_values_structure: &p256_structure(&[&[], &[]]),
            key_derivation_data: &DERIVES_AES_CIPHER_128,
            token: PKA_TOKEN_BYTES_MAX,
            ..build::Ask::new(PkaTokenKind::EccPair)
        })?;
        let generated = self.ask(&generate::Ask {
            output: Some(PkaOutput::Master),
            skeleton_key_token: skeleton.got().token.into(),
            transport_key_identifier: Key::Bytes(&[0; TOKEN_BYTES]),
            generated_key_identifier: Room::of(PKA_TOKEN_BYTES_MAX),
            ..generate::Ask::new()
        })?;
        Ok(generated.got().generated_key_identifier.to_vec())
    }

    /// The public key of a private key's token.
    fn public_part(&self, token: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::pka_public_key_extract::*;
        let extracted = self.ask(&Ask {
            source_key_identifier: token.into(),
            target_key_token: PKA_TOKEN_BYTES_MAX,
            ..Ask::new()
        })?;
        Ok(extracted.got().target_key_token.to_vec())
    }

    /// A signature of a digest under an imported key of P-256.
    fn ecdsa(&mut self, job: EcdsaJob) -> Result<Request, LabError> {
        use verb::digital_signature_generate::*;
        let (value, point) = (job.private.to_bytes(), job.private.public_bytes());
        let structure = p256_structure(&[&value, &point]);
        let clear = self.build_pka(&structure, PkaTokenKind::EccPair, Some(PkaUsage::Signature))?;
        let token = self.import_pka(&clear)?;
        let ask = Ask {
            format: Some(SignatureFormat::Ecdsa),
            pka_private_key_id: (&token).into(),
            hash: &job.digest,
            signature_field: 2 * value.len(),
            ..Ask::new()
        };
        let expected = Expected::Signed(SIGNATURE_FIELD, Arc::new(job.public), job.digest.clone());
        Ok(self::Request::new(&ask, expected))
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
                    let token = self.rsa_token(&private, bits, form, Some(PkaUsage::Signature), job)?;
                    let ask = Ask {
                        format: Some(SignatureFormat::Pkcs11),
                        pka_private_key_id: (&token).into(),
                        hash: &hash,
                        signature_field: modulus_bytes,
                        ..Ask::new()
                    };
                    Ok(self::Request::new(&ask, Expected::Bytes(SIGNATURE_FIELD, signature)))
                } else {
                    use verb::digital_signature_verify::*;
                    let token = self.rsa_token(&private, bits, RsaForm::Public, None, job)?;
                    let ask = Ask {
                        format: Some(SignatureFormat::Pkcs11),
                        pka_public_key_id: (&token).into(),
                        hash: &hash,
                        signature_field: &signature,
                        ..Ask::new()
                    };
                    Ok(self::Request::new(&ask, Expected::Done))
                }
            }
            Verb::PkaEncrypt => {
                use verb::pka_encrypt::*;
                let value = keys::test_bytes(0xE2C, job, 16);
                let token = self.rsa_token(&private, bits, RsaForm::Public, None, job)?;
                let ask = Ask {
                    key_value: &value,
                    rsa_public_key: (&token).into(),
                    rsa_encipher: modulus_bytes,
                    ..Ask::new(RsaFormat::Pkcs1)
                };
                let expected = Expected::Sealed(RSA_ENCIPHER, Arc::clone(&private), value.clone());
                Ok(self::Request::new(&ask, expected))
            }
            Verb::PkaDecrypt => {
                use verb::pka_decrypt::*;
                let value = keys::test_bytes(0xDEC, job, 16);
                let enciphered = raise(&padded(&value)?)?;
                let token = self.rsa_token(&private, bits, form, Some(PkaUsage::KeyManagement), job)?;
                let ask = Ask {
                    enciphered_key: &enciphered,
                    rsa_private_key: (&token).into(),
                    key_value: modulus_bytes,
                    ..Ask::new(RsaFormat::Pkcs1)
                };
                Ok(self::Request::new(&ask, Expected::Bytes(KEY_VALUE, value)))
            }
            Verb::SymmetricKeyImport => {
                use verb::symmetric_key_import::*;
                // The expected token: the same clear key, imported in the clear.
                let clear = keys::des_key(job, 16);
                let enciphered = raise(&padded(&clear)?)?;
                let expected = self.data_key(&clear, false, job)?;
                let token = self.rsa_token(&private, bits, form, Some(PkaUsage::KeyManagementOnly), job)?;
                let ask = Ask {
                    algorithm: Some(KeyAlgorithm::Des),
                    rsa_enciphered_key: &enciphered,
                    rsa_private_key_identifier: (&token).into(),
                    target_key_identifier: zeros::<TOKEN_BYTES>(),
                    ..Ask::new(TransportFormat::Pkcs1)
                };
                Ok(self::Request::new(&ask, Expected::Bytes(TARGET_KEY_IDENTIFIER, expected)))
            }
            _ => Err(not_served(workload)),
        }
    }

    /// As in the published tables: an external token in CRT form, or an internal token in ME form.
    fn pka_key_generate(&mut self, bits: u32, form: RsaForm) -> Result<Request, LabError> {
        use verb::pka_key_generate::*;
        let structure = generate_structure(bits, form);
        let skeleton = self.build_rsa(&structure, form, Some(PkaUsage::KeyManagement), false)?;
        let (output, first) =
            if form == RsaForm::Crt { (PkaOutput::Clear, 0x1E) } else { (PkaOutput::Master, 0x1F) };
        let ask = Ask {
            output: Some(output),
            skeleton_key_token: (&skeleton).into(),
            transport_key_identifier: Key::Bytes(&[0; TOKEN_BYTES]),
            generated_key_identifier: zeros::<PKA_TOKEN_BYTES_MAX>(),
            ..Ask::new()
        };
        Ok(self::Request::new(&ask, Expected::Token(GENERATED_KEY_IDENTIFIER, first)))
    }

    /// The internal token of a clear symmetric key.
    pub fn data_key(&mut self, clear: &[u8], aes: bool, job: usize) -> Result<Vec<u8>, LabError> {
        use verb::clear_key_import_multiple::*;
        let name = (format!("{}{}", if aes { "aes" } else { "des" }, clear.len()), job);
        if let Some(token) = self.tokens.tokens.get(&name) {
            return Ok(token.clone());
        }
        let algorithm = Some(if aes { KeyAlgorithm::Aes } else { KeyAlgorithm::Des });
        let token = self.ask(&Ask { algorithm, clear_key: clear, ..Ask::new() })?;
        let token = token.got().target_key_identifier.to_vec();
        self.tokens.tokens.insert(name, token.clone());
        Ok(token)
    }

    /// A random DES key of double length.
    fn generated(&mut self, key_type: &[u8; KEYWORD_BYTES]) -> Result<Vec<u8>, LabError> {
        use verb::key_generate::*;
        let generated = self.ask(&Ask {
            key_form: b"OP  ",
            key_length: b"DOUBLE  ",
            key_type_1: key_type,
            key_type_2: b"        ",
            ..Ask::new()
        })?;
        Ok(generated.got().generated_key_identifier_1.to_vec())
    }

    /// The skeleton of a KEYGENKY key for DUKPT.
    fn deriving_skeleton(&self) -> Result<Vec<u8>, LabError> {
        self.key_skeleton("KEYGENKY", Some(TokenLength::Double), &["UKPT"])
    }

    /// The skeleton of a DES key of this type, length and usage.
    fn key_skeleton(
        &self,
        key_type: &str,
        length: Option<TokenLength>,
        usage: &[&str],
    ) -> Result<Vec<u8>, LabError> {
        use verb::key_token_build::*;
        let built = self.ask(&Ask {
            algorithm: Some(verb::TokenAlgorithm::Des),
            content: Some(TokenContent::None),
            length,
            key_type: Some(&word(key_type)),
            usage: &words(usage),
            ..Ask::new(TokenOrigin::Internal)
        })?;
        Ok(built.got().key_token.to_vec())
    }

    /// A token of an RSA key: clear, or imported with a usage if one is given.
    fn rsa_token(
        &mut self,
        key: &RsaPrivateKey,
        bits: u32,
        form: RsaForm,
        imported: Option<PkaUsage>,
        job: usize,
    ) -> Result<Vec<u8>, LabError> {
        let name = (format!("rsa{bits}-{}-{imported:?}", form.name()), job);
        if let Some(token) = self.tokens.tokens.get(&name) {
            return Ok(token.clone());
        }
        let clear = self.build_rsa(&structure(key, form), form, imported, imported.is_some())?;
        let token = if imported.is_some() { self.import_pka(&clear)? } else { clear };
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
        usage: Option<PkaUsage>,
        is_imported: bool,
    ) -> Result<Vec<u8>, LabError> {
        let kind = match form {
            RsaForm::Public => PkaTokenKind::Public,
            // An imported key has one of the newer sections, X'30' or X'31', under the APKA master key.
            RsaForm::Crt if is_imported => PkaTokenKind::AesCrt,
            RsaForm::Crt => PkaTokenKind::Crt,
            RsaForm::Me => PkaTokenKind::AesPrivate,
        };
        self.build_pka(structure, kind, usage)
    }

    /// Builds a token of a key-values structure; a key in it stays clear.
    fn build_pka(
        &mut self,
        structure: &[u8],
        kind: PkaTokenKind,
        usage: Option<PkaUsage>,
    ) -> Result<Vec<u8>, LabError> {
        use verb::pka_key_token_build::*;
        let built = self.ask(&Ask {
            usage,
            key_values_structure: structure,
            token: PKA_TOKEN_BYTES_MAX,
            ..Ask::new(kind)
        })?;
        Ok(built.got().token.to_vec())
    }

    /// The internal token of a clear private key.
    fn import_pka(&mut self, clear: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::pka_key_import::*;
        let imported = self.ask(&Ask {
            source_key_token: clear.into(),
            importer_key_identifier: Key::Bytes(&[0; TOKEN_BYTES]),
            target_key_identifier: Room::of(PKA_TOKEN_BYTES_MAX),
            ..Ask::new()
        })?;
        Ok(imported.got().target_key_identifier.to_vec())
    }

    /// Asks a verb for what workloads need.
    fn ask<A: TypedAsk>(&self, ask: &A) -> Result<Answered<A::Of>, LabError> {
        let what = "make the keys of the workload";
        let answered = self.facility.ask(DOMAIN, ask).map_err(LabError::facility(what))?;
        done(answered.as_ref())?;
        Ok(answered)
    }
}

/// No card serves the operation.
fn not_served(workload: &Workload) -> LabError {
    let (operation, personality) = (workload.operation, workload.personality());
    super::Refusal::Personality { operation, personality }.into()
}

/// A field of zeros, for the answer to fill.
const fn zeros<const N: usize>() -> Room<'static> {
    Room { given: &[0; N], bytes: N }
}

/// A keyword, padded with blanks.
fn word(text: &str) -> [u8; KEYWORD_BYTES] {
    let mut padded = [b' '; KEYWORD_BYTES];
    padded.iter_mut().zip(text.bytes()).for_each(|(place, letter)| *place = letter);
    padded
}

fn words(texts: &[&str]) -> Vec<[u8; KEYWORD_BYTES]> {
    texts.iter().map(|text| word(text)).collect()
}

/// An output of fixed length, for an input of that length.
fn fixed<const N: usize>(output: &[u8]) -> Result<[u8; N], LabError> {
    let wrong = |_| LabError::facility("make the keys of the workload")("an output of another length");
    output.try_into().map_err(wrong)
}

/// A request for an AES-256 key of this type in the first of the tokens that Key_Generate2 makes.
fn generate2(form: VariableKeyForm, key_type: &[u8; KEYWORD_BYTES]) -> verb::key_generate2::Ask<'_> {
    use verb::key_generate2::*;
    Ask {
        clear_key_bit_length: 256,
        key_type_1: key_type,
        key_type_2: b"        ",
        generated_key_identifier_1: Room::of(VARIABLE_TOKEN_ROOM),
        ..Ask::new(VariableAlgorithm::Aes, form)
    }
}

/// A request for the AES-128 key that these keys agree on, by ANSI X9.63 with SHA-256.
fn agreement<'a>(private: &'a [u8], public: &'a [u8]) -> verb::ec_diffie_hellman::Ask<'a> {
    use verb::ec_diffie_hellman::*;
    Ask {
        hash: Some(AgreementHash::Sha256),
        private_key_identifier: private.into(),
        public_key_identifier: public.into(),
        key_bit_length: 128,
        output_key_identifier: Room::of(VARIABLE_TOKEN_ROOM),
        ..Ask::new(KeyAgreement::Derive2)
    }
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

fn des(job: CipherJob, key: &[u8], direction: Direction) -> Request {
    use verb::{decipher as from, encipher as to};
    let (method, chaining) = (Some(DesMethod::Cbc), Some(DesChaining::Initial));
    let (key_identifier, initialization_vector) = (key.into(), job.iv.as_slice().try_into().ok());
    let chaining_vector = Some(&[0; 18]);
    match direction {
        Direction::Encipher => {
            let ask = to::Ask {
                method,
                chaining,
                key_identifier,
                plaintext: &job.input,
                initialization_vector,
                chaining_vector,
                ..to::Ask::new()
            };
            self::Request::new(&ask, Expected::Bytes(to::CIPHERTEXT, job.expected))
        }
        Direction::Decipher => {
            let ask = from::Ask {
                method,
                chaining,
                key_identifier,
                ciphertext: &job.input,
                initialization_vector,
                chaining_vector,
                ..from::Ask::new()
            };
            self::Request::new(&ask, Expected::Bytes(from::PLAINTEXT, job.expected))
        }
    }
}

fn aes(job: CipherJob, key: &[u8], mode: Mode, direction: Direction) -> Request {
    let (method, iv) =
        if mode == Mode::Ecb { (AesMethod::Ecb, &[][..]) } else { (AesMethod::Cbc, &job.iv[..]) };
    let ask = symmetric(method, key, iv, &job.input);
    in_direction(&ask, direction, job.expected)
}

fn gcm(job: GcmJob, key: &[u8], direction: Direction) -> Request {
    let tag = if direction == Direction::Encipher { [0; 16] } else { job.tag };
    let ask = verb::symmetric_algorithm_encipher::Ask {
        key_parms: Room::from(&tag[..]),
        optional_data: &job.aad,
        ..symmetric(AesMethod::Gcm, key, &job.nonce, &job.input)
    };
    in_direction(&ask, direction, job.expected)
}

/// A request that enciphers a text whole, under a key in a token.
fn symmetric<'a>(
    method: AesMethod,
    key: &'a [u8],
    iv: &'a [u8],
    text: &'a [u8],
) -> verb::symmetric_algorithm_encipher::Ask<'a> {
    use verb::symmetric_algorithm_encipher::*;
    Ask {
        method: Some(method),
        key_rule: Some(AesKeyRule::Identifier),
        part: Some(AesPosition::Only),
        key_identifier: key.into(),
        block_size: 16,
        initialization_vector: iv,
        chain_data: zeros::<32>(),
        clear_text: text,
        cipher_text: text.len(),
        ..Ask::new(AesAlgorithm::Aes)
    }
}

/// The request in this direction: its text is enciphered, or deciphered.
fn in_direction(
    ask: &verb::symmetric_algorithm_encipher::Ask<'_>,
    direction: Direction,
    expected: Vec<u8>,
) -> Request {
    use verb::{symmetric_algorithm_decipher as from, symmetric_algorithm_encipher as to};
    if direction == Direction::Encipher {
        return self::Request::new(ask, Expected::Bytes(to::CIPHER_TEXT, expected));
    }
    let ask = from::Ask {
        method: ask.method,
        key_rule: ask.key_rule,
        part: ask.part,
        key_identifier: ask.key_identifier,
        key_parms: ask.key_parms,
        block_size: ask.block_size,
        initialization_vector: ask.initialization_vector,
        chain_data: ask.chain_data,
        cipher_text: ask.clear_text,
        clear_text: ask.cipher_text,
        optional_data: ask.optional_data,
        ..from::Ask::new(ask.algorithm)
    };
    self::Request::new(&ask, Expected::Bytes(from::CLEAR_TEXT, expected))
}

fn mac_generate(job: MacJob, key: &[u8], mac: Mac) -> Request {
    use verb::mac_generate::*;
    let ask = Ask {
        method: Some(if mac == Mac::X99 { MacMethod::X99 } else { MacMethod::X919 }),
        segment: Some(Segment::Only),
        format: Some(MacFormat::Bytes8),
        key_identifier: key.into(),
        text: &job.data,
        chaining_vector: Some(&[0; 18]),
        ..Ask::new()
    };
    self::Request::new(&ask, Expected::Bytes(MAC, job.expected))
}

fn one_way_hash(job: TextJob, hash: Hash) -> Request {
    use verb::one_way_hash::*;
    let method = match hash {
        Hash::Md5 => HashMethod::Md5,
        Hash::Sha1 => HashMethod::Sha1,
        Hash::Ripemd160 => HashMethod::Ripemd160,
        Hash::Sha224 => HashMethod::Sha224,
        Hash::Sha256 => HashMethod::Sha256,
        Hash::Sha384 => HashMethod::Sha384,
        Hash::Sha512 => HashMethod::Sha512,
        Hash::Sha3_224 => HashMethod::Sha3_224,
        Hash::Sha3_256 => HashMethod::Sha3_256,
        Hash::Sha3_384 => HashMethod::Sha3_384,
        Hash::Sha3_512 => HashMethod::Sha3_512,
    };
    let digest = vec![0; hash.digest_bytes()];
    let ask = Ask {
        segment: Some(Segment::Only),
        text: &job.data,
        chaining_vector: zeros::<{ engine::HASH_STATE_BYTES }>(),
        hash: Room::from(&digest[..]),
        ..Ask::new(method)
    };
    self::Request::new(&ask, Expected::Bytes(HASH, job.expected))
}
