//! Tokens of every kind, made by verbs under known master keys, each with what it must hold.
//!
//! What a token must hold comes from the request alone: clear keys that were imported, types and names that were asked
//! for. Of a key that a card drew at random the reader checks that it is one: a private value that belongs to its
//! public key.

mod fixed;
mod pka;
mod variable;

use cca::{Batch, Incoming, Processor};
use engine::{Engine, Options};
use seeded::Random;
use serde_json::{Value, json};
use wire::Verb;
use wire::control::{Handout, MasterKeyPair, Register, TokenForm, TokenForms};
use wire::frame::{Arguments, Outcome};
use wire::point::PointSet;
use wire::verb::Kind;

/// Room for the longest token.
const ROOM: i64 = 3500;

/// What a request gives for a parameter.
pub(crate) enum Given<'a> {
    /// An integer.
    Integer(usize, i64),
    /// Bytes.
    Bytes(usize, &'a [u8]),
    /// Bytes, and their length at the first position.
    Counted(usize, usize, &'a [u8]),
    /// The rule array.
    Rules(&'a [&'a str]),
}

/// Makes a token of one kind, and says what it must hold.
type MakeOne = fn(&mut Maker) -> (Vec<u8>, Value);

/// A processor with known master keys, and random requests.
pub struct Maker {
    processor: Processor,
    random: Random,
    keys: Value,
    /// A key-encrypting key of DES, as an EXPORTER.
    exporter: Vec<u8>,
    /// Clear RSA tokens of every form.
    rsa: Vec<Vec<u8>>,
}

impl Maker {
    /// With keys and requests from this seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let engine = Engine::new(Options { weak_algorithms: true, ..Options::default() }).expect("an engine");
        let mut processor = Processor::new(engine, 1);
        let pairs = Register::ALL
            .map(|register| MasterKeyPair { current: random.bytes(register.key_bytes()), old: Vec::new() });
        let named = ["sym", "asym", "aes", "apka"].iter().zip(&pairs);
        let mut keys: serde_json::Map<_, _> =
            named.map(|(name, pair)| ((*name).to_owned(), json!(hexadecimal(&pair.current)))).collect();
        processor.load(&Handout { domain: 0, keys: pairs }).expect("keys of the right length");
        let mut maker = Self { processor, random, keys: Value::Null, exporter: Vec::new(), rsa: Vec::new() };
        let (exporter, value) = maker.exporter();
        keys.insert("kek".into(), json!(hexadecimal(&value)));
        maker.exporter = exporter;
        maker.keys = Value::Object(keys);
        maker.rsa = maker.rsa_keys();
        maker
    }

    /// The line that tells the reader of the keys.
    pub fn keys(&self) -> String {
        json!({ "keys": self.keys }).to_string()
    }

    /// Lines for tokens of every kind, so many of each, and for tokens with a byte changed that are no tokens any more.
    pub fn lines(&mut self, each: usize) -> Vec<String> {
        let kinds = [Self::des, Self::aes, Self::variable, Self::rsa_token, Self::curve] as [MakeOne; 5];
        let mut lines = Vec::new();
        for kind in kinds {
            for at in 0..each {
                let (token, mut expected) = kind(self);
                let bound = expected.as_object_mut().and_then(|fields| fields.remove("bound"));
                let bound = bound == Some(json!(true));
                lines.push(
                    json!({ "token": hexadecimal(&token), "expected": expected, "bound": bound }).to_string(),
                );
                if at % 10 == 0 && bound {
                    let mut changed = token.clone();
                    let flipped = self.random.below(token.len());
                    changed[flipped] ^= 1 << self.random.below(8);
                    lines.push(json!({ "token": hexadecimal(&changed), "refused": true }).to_string());
                }
            }
        }
        lines
    }

    /// Which form of tokens is made from now on.
    pub(crate) fn form(&mut self, form: TokenForm) {
        self.processor.set_token_forms(TokenForms { form, open_compatible: true });
    }

    /// The output of a request, which must succeed.
    pub(crate) fn call(&mut self, verb: Verb, given: &[Given<'_>], output: usize) -> Vec<u8> {
        let mut arguments = Arguments::new(verb);
        let mut rules = Vec::new();
        for value in given {
            if let Given::Rules(words) = value {
                rules = words.iter().flat_map(|word| format!("{word:8}").into_bytes()).collect();
            }
        }
        for value in given {
            match *value {
                Given::Integer(position, value) => drop(arguments.set_integer(position, value)),
                Given::Bytes(position, bytes) => drop(arguments.set_bytes(position, bytes)),
                Given::Counted(length, position, bytes) => {
                    arguments.set_integer(length, bytes.len() as i64).set_bytes(position, bytes);
                }
                Given::Rules(words) => {
                    let parameters = verb.entry().parameters;
                    let is_array = |of: &wire::verb::Parameter| matches!(of.kind, Kind::Keywords(_));
                    let position = parameters.iter().position(is_array).expect("a verb with keywords");
                    let Kind::Keywords(count) = parameters[position].kind else { unreachable!() };
                    arguments.set_integer(count, words.len() as i64).set_bytes(position, &rules);
                }
            }
        }
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).expect("a request that fits");
        let mut batch = Batch::new();
        let points = &PointSet::EVERYTHING;
        batch.push(&Incoming { verb, domain: 0, points, payload: &payload }).expect("room");
        self.processor.run(&mut batch);
        let answer = &batch.answers()[0];
        assert!(
            answer.outcome == Outcome::Answered && answer.codes.has_output(),
            "{}: {}",
            verb.entry().name,
            answer.codes
        );
        Arguments::read_reply(verb, &answer.payload).expect("a reply").bytes(output).to_vec()
    }

    /// A name of a key, in one case of two.
    pub(crate) fn name(&mut self) -> Option<String> {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let length = 1 + self.random.below(8);
        let is_named = self.random.below(2) == 0;
        let name = (0..length).map(|_| char::from(self.random.pick(letters))).collect();
        is_named.then_some(name)
    }
}

/// As the reader takes bytes.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name as a field of 64 bytes; none is empty.
pub(crate) fn name_field(name: Option<&str>) -> Vec<u8> {
    name.map(|name| format!("{name:64}").into_bytes()).unwrap_or_default()
}
