//! Requests by parameter, a processor with known master keys, and tokens under them.

use cca::{Answer, Batch, Count, Failures, Incoming, Processor};
use engine::{Engine, Options};
use wire::control::{Handout, MasterKeyPair, TokenForm, TokenForms};
use wire::frame::{Argument, Arguments, Outcome};
use wire::pin::{CountingKey, Digest, Standing};
use wire::point::PointSet;
use wire::role::BUILT_IN;
use wire::verb::{
    Kind, Verb, clear_key_import_multiple, key_generate, key_part_import, key_token_build, mac_generate,
    mac_verify,
};
use wire::{Codes, code};

/// Domain with current and old keys.
pub const DOMAIN: u16 = 0;
/// Domain with other keys, whose current ones are the old ones of [`DOMAIN`].
pub const OLDER_DOMAIN: u16 = 1;
/// Domain without keys.
pub const EMPTY_DOMAIN: u16 = 2;

/// The current and the old DES master key of [`DOMAIN`].
pub fn sym_key(old: bool) -> Vec<u8> {
    (0..24u8).map(|index| index.wrapping_mul(if old { 29 } else { 37 }) ^ 0xA5).collect()
}

/// The current and the old AES master key of [`DOMAIN`].
pub fn aes_key(old: bool) -> Vec<u8> {
    (0..32u8).map(|index| index.wrapping_mul(if old { 11 } else { 73 }) ^ 0x3C).collect()
}

/// Knows of no failure.
struct Unknown;

impl Failures for Unknown {
    fn standing(&self, _: &Digest) -> Standing {
        Standing::Clean
    }
}

/// A processor with three domains; weak algorithms on.
pub fn processor() -> Processor {
    processor_with(true)
}

/// A processor with three domains that makes and takes compatible tokens; weak algorithms on.
pub fn compatible_processor() -> Processor {
    let mut processor = processor();
    processor.set_token_forms(TokenForms { form: TokenForm::Compatible, open_compatible: true });
    processor
}

/// A processor with three domains.
pub fn processor_with(weak_algorithms: bool) -> Processor {
    let engine = Engine::new(Options { limit: None, weak_algorithms }).unwrap();
    let mut processor = Processor::new(engine, 3);
    processor.count_failures(&CountingKey([0x5A; 32]), Box::new(Unknown));
    let pair = |current: Vec<u8>, old: Vec<u8>| MasterKeyPair { current, old };
    processor
        .load(&Handout {
            domain: DOMAIN,
            keys: [
                pair(sym_key(false), sym_key(true)),
                pair(vec![3; 24], Vec::new()),
                pair(aes_key(false), aes_key(true)),
                pair(vec![4; 32], Vec::new()),
            ],
        })
        .unwrap();
    processor
        .load(&Handout {
            domain: OLDER_DOMAIN,
            keys: [
                pair(sym_key(true), Vec::new()),
                pair(vec![5; 24], Vec::new()),
                pair(aes_key(true), Vec::new()),
                pair(vec![6; 32], Vec::new()),
            ],
        })
        .unwrap();
    processor
}

/// A request under construction.
#[derive(Clone)]
pub struct Request {
    verb: Verb,
    /// The domain of the request.
    pub domain: u16,
    points: &'static PointSet,
    values: Vec<Value>,
}

#[derive(Clone)]
enum Value {
    Absent,
    Integer(i64),
    Bytes(Vec<u8>),
}

impl Request {
    /// A request in which every parameter is empty or 0.
    pub fn new(verb: Verb) -> Self {
        let values = vec![Value::Absent; verb.entry().parameters.len()];
        Self { verb, domain: DOMAIN, points: &BUILT_IN[0].points, values }
    }

    /// In a role with these points, rather than as the owner of the home.
    pub fn points(mut self, points: &'static PointSet) -> Self {
        self.points = points;
        self
    }

    /// In this domain.
    pub fn domain(mut self, domain: u16) -> Self {
        self.domain = domain;
        self
    }

    /// With this integer at a position.
    pub fn integer(mut self, position: usize, value: i64) -> Self {
        self.values[position] = Value::Integer(value);
        self
    }

    /// With these bytes at a position.
    pub fn bytes(mut self, position: usize, value: impl AsRef<[u8]>) -> Self {
        self.values[position] = Value::Bytes(value.as_ref().to_vec());
        self
    }

    /// With these bytes at a position, and their length at another.
    pub fn counted(self, length: usize, position: usize, value: impl AsRef<[u8]>) -> Self {
        let count = value.as_ref().len() as i64;
        self.integer(length, count).bytes(position, value)
    }

    /// Sets the rule array and its count.
    pub fn rules(self, keywords: &[&str]) -> Self {
        let find = |parameter: &wire::verb::Parameter| matches!(parameter.kind, Kind::Keywords(_));
        let position = self.verb.entry().parameters.iter().position(find).unwrap();
        let Kind::Keywords(count) = self.verb.entry().parameters[position].kind else { unreachable!() };
        let text: String = keywords.iter().map(|keyword| format!("{keyword:8}")).collect();
        self.integer(count, keywords.len() as i64).bytes(position, text)
    }

    /// The request as cards take it.
    pub fn payload(&self) -> Vec<u8> {
        let mut arguments = Arguments::new(self.verb);
        for (position, value) in self.values.iter().enumerate() {
            match value {
                Value::Absent => {}
                Value::Integer(value) => drop(arguments.set_integer(position, *value)),
                Value::Bytes(bytes) => drop(arguments.set_bytes(position, bytes)),
            }
        }
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        payload
    }

    /// The verb.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// Runs it alone; it must be answered.
    pub fn run(&self, processor: &mut Processor) -> Reply {
        let (outcome, reply) = run_as(processor, self.points, self.verb, self.domain, &self.payload());
        assert_eq!(outcome, Outcome::Answered, "{:?}", self.verb);
        reply
    }

    /// Runs it alone; it must succeed with 0/0.
    #[track_caller]
    pub fn ok(&self, processor: &mut Processor) -> Reply {
        self.answers(processor, code::OK)
    }

    /// Runs it alone; its codes are for the caller to assert.
    pub fn told(&self, processor: &mut Processor) -> Reply {
        let reply = self.run(processor);
        crate::exercised::note(self.verb, &self.payload(), reply.codes);
        reply
    }

    /// Runs it alone; it must answer with these codes.
    #[track_caller]
    pub fn answers(&self, processor: &mut Processor, codes: Codes) -> Reply {
        let reply = self.told(processor);
        assert_eq!(reply.codes, codes, "{:?}", self.verb);
        reply
    }

    /// Runs it alone; it must be refused with these codes and no byte outputs.
    #[track_caller]
    pub fn refused(&self, processor: &mut Processor, codes: Codes) {
        let reply = self.answers(processor, codes);
        for (position, _) in self.verb.entry().parameters.iter().enumerate() {
            if let Argument::Bytes(bytes) = reply.arguments().at(position) {
                assert!(bytes.is_empty(), "{:?} leaves output {position}", self.verb);
            }
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The verb.
    pub verb: Verb,
    /// Return and reason code.
    pub codes: Codes,
    /// The answer as cards give it.
    pub payload: Vec<u8>,
}

impl Reply {
    /// The answer, parameter by parameter.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments::read_reply(self.verb, &self.payload).unwrap()
    }

    /// The bytes at a position.
    pub fn bytes(&self, position: usize) -> Vec<u8> {
        self.arguments().bytes(position).to_vec()
    }

    /// The integer at a position.
    pub fn integer(&self, position: usize) -> i64 {
        self.arguments().integer(position)
    }
}

/// Runs a payload alone, as the owner of the home.
pub fn run_raw(processor: &mut Processor, verb: Verb, domain: u16, payload: &[u8]) -> (Outcome, Reply) {
    run_as(processor, &BUILT_IN[0].points, verb, domain, payload)
}

/// As a daemon that counts at once: the next verification may be judged.
pub fn note_durable(processor: &mut Processor, answer: &Answer) {
    if let Some(Count::Failed(guess)) = answer.count {
        processor.counted(&guess, 0);
    }
}

fn run_as(
    processor: &mut Processor,
    points: &PointSet,
    verb: Verb,
    domain: u16,
    payload: &[u8],
) -> (Outcome, Reply) {
    let mut batch = Batch::new();
    batch.push(&Incoming { verb, domain, points, payload }).unwrap();
    processor.run(&mut batch);
    let answer = &batch.answers()[0];
    note_durable(processor, answer);
    (answer.outcome, Reply { verb, codes: answer.codes, payload: answer.payload.clone() })
}

/// A skeleton by Key_Token_Build.
pub fn skeleton(processor: &mut Processor, key_type: &str, keywords: &[&str]) -> Vec<u8> {
    let mut rules = vec!["INTERNAL"];
    rules.extend_from_slice(keywords);
    Request::new(Verb::KeyTokenBuild)
        .bytes(key_token_build::KEY_TYPE, format!("{key_type:8}"))
        .rules(&rules)
        .ok(processor)
        .bytes(key_token_build::KEY_TOKEN)
}

/// A request for one operational key.
pub fn generate(key_type: &str, length: &str) -> Request {
    Request::new(Verb::KeyGenerate)
        .bytes(key_generate::KEY_FORM, "OP  ")
        .bytes(key_generate::KEY_LENGTH, format!("{length:8}"))
        .bytes(key_generate::KEY_TYPE_1, format!("{key_type:8}"))
        .bytes(key_generate::KEY_TYPE_2, "        ")
        .bytes(key_generate::GENERATED_KEY_IDENTIFIER_1, [0; 64])
}

/// The token of a newly generated key.
pub fn generated(processor: &mut Processor, key_type: &str, length: &str) -> Vec<u8> {
    generate(key_type, length).ok(processor).bytes(key_generate::GENERATED_KEY_IDENTIFIER_1)
}

/// A request to import a clear key.
pub fn import(algorithm: &str, key: &[u8]) -> Request {
    Request::new(Verb::ClearKeyImportMultiple)
        .rules(&[algorithm])
        .counted(clear_key_import_multiple::CLEAR_KEY_LENGTH, clear_key_import_multiple::CLEAR_KEY, key)
        .bytes(clear_key_import_multiple::TARGET_KEY_IDENTIFIER, [0; 64])
}

/// The DATA token of a clear key.
pub fn imported(processor: &mut Processor, algorithm: &str, key: &[u8]) -> Vec<u8> {
    let reply = import(algorithm, key).run(processor);
    assert!(reply.codes.has_output());
    reply.bytes(clear_key_import_multiple::TARGET_KEY_IDENTIFIER)
}

/// One part of a key for a token.
pub fn part(token: &[u8], keyword: &str, part: &[u8]) -> Request {
    let request = Request::new(Verb::KeyPartImport).rules(&[keyword]);
    let request = request.bytes(key_part_import::KEY_IDENTIFIER, token);
    if part.is_empty() { request } else { request.bytes(key_part_import::KEY_PART, part) }
}

/// The token of a key of a known value, entered in one part and a part of zeros.
pub fn entered(processor: &mut Processor, key_type: &str, keywords: &[&str], value: &[u8]) -> Vec<u8> {
    let token = skeleton(processor, key_type, keywords);
    let token = part(&token, "FIRST", value).ok(processor).bytes(key_part_import::KEY_IDENTIFIER);
    part(&token, "LAST", &vec![0; value.len()]).ok(processor).bytes(key_part_import::KEY_IDENTIFIER)
}

/// A MAC request over a text.
pub fn mac(token: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    Request::new(Verb::MacGenerate)
        .bytes(mac_generate::KEY_IDENTIFIER, token)
        .counted(mac_generate::TEXT_LENGTH, mac_generate::TEXT, text)
        .rules(keywords)
        .bytes(mac_generate::CHAINING_VECTOR, [0; 18])
}

/// A request to verify a MAC.
pub fn verify(token: &[u8], keywords: &[&str], text: &[u8], mac: &[u8]) -> Request {
    Request::new(Verb::MacVerify)
        .bytes(mac_verify::KEY_IDENTIFIER, token)
        .counted(mac_verify::TEXT_LENGTH, mac_verify::TEXT, text)
        .rules(keywords)
        .bytes(mac_verify::CHAINING_VECTOR, [0; 18])
        .bytes(mac_verify::MAC, mac)
}

/// `length` bytes that repeat only after a long while.
pub fn text(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 + index / 251) as u8).collect()
}
