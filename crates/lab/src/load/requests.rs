//! Requests to cards: one for each job, with a key of its own and the answer that it must get.
//!
//! Keys become secure keys as programs make them: through verbs of a coprocessor, clear test keys are imported and
//! skeletons built. Clear-key RSA takes a token that a coprocessor has built.

mod ciphers;
mod curves;
mod key_blocks;
mod key_management;
mod key_tokens;
mod payments;
mod rsa;

use super::{LabError, Workload};
use crate::load::operation::{Operation, RSA_BITS, RsaForm};
use engine::{EcPublicKey, EcdsaVerifyItem, Engine, RsaPrivateKey, pkcs1_v15_encrypt_unpad};
use facility::{Answered, Facility, Reply, Selection};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use wire::bounds::KEYWORD_BYTES;
use wire::control::Personality;
use wire::frame::{Argument, Arguments};
use wire::verb::{self, Filled, RandomForm, Room, TypedAsk, Verb};
use wire::{Codes, KeyReference};

/// Length of a symmetric key token.
const TOKEN_BYTES: usize = 64;
/// Room for a token of variable length.
const VARIABLE_TOKEN_ROOM: usize = 900;
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

    fn make(&mut self, workload: &Workload, job: usize) -> Result<Request, LabError> {
        match workload.operation {
            Operation::Cipher { cipher, mode, direction } => {
                self.cipher(workload, (cipher, mode, direction), job)
            }
            Operation::Mac(mac) => self.mac(workload, mac, job),
            Operation::Hash(hash) => self.hash(workload, hash, job),
            Operation::Rsa { bits, form } => self.clear_rsa(workload, bits, form, job),
            Operation::Verb { verb, key: Some(key) } => self.rsa_verb(workload, verb, key, job),
            Operation::Verb { verb, key: None } => self.plain_verb(workload, verb, job),
            Operation::EcdsaP256Sign => self.ecdsa(job, 1).map(|(request, _)| request),
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
            Verb::KeyGenerate => self.key_generate(),
            Verb::KeyGenerate2 => self.key_generate2(),
            Verb::KeyExport => self.key_export(),
            Verb::KeyTest => self.key_test(workload, job),
            _ => Err(not_served(workload)),
        }
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
