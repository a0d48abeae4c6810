//! Requests at the extremes of what a guest may choose, for what measures a card's passes over them.
//!
//! They are made of the kept requests: each of those as it is; with each other keyword of its verb; with its texts as
//! long as the verb takes; with integers at their ends; with RSA keys of 4,096 bits and public exponents as long, and
//! keys of every curve, in the place of each PKA key.

use crate::keys::Keys;
use crate::keywords::padded;
use crate::verbs::request_of;
use cca::{Batch, BatchStep, Incoming};
use engine::{Curve, EcPrivateKey, Ed25519Key, Level};
use lab::load::keys::rsa_test_key;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use token::pka::ecc::{self, EccCurve};
use token::pka::{self, Attributes, ClearKey, CrtComponents, Form, Usage};
use wire::bounds::{RANDOM_BYTES_MAX, TEXT_BYTES_MAX};
use wire::frame::{Arguments, Outcome};
use wire::point::PointSet;
use wire::verb::{Direction, Entry, Executor, Kind, Length, TABLE, Verb};

/// The longest public exponent of a 4,096-bit key, in bits; another one below it; and the longest that FIPS 186-5 has.
const EXPONENT_BITS: [usize; 3] = [4095, 1024, 256];
/// Lengths of texts that are tried.
const TEXT_LENGTHS: [usize; 4] = [512, 4096, 64 << 10, TEXT_BYTES_MAX];

/// A request, and others that differ from it in their keys alone, so that each is prepared anew.
pub struct Extreme {
    /// Its verb.
    pub verb: Verb,
    /// What is extreme about it.
    pub name: String,
    /// What it is made of.
    base: Rc<Vec<u8>>,
    changes: Vec<Change>,
}

impl Extreme {
    /// Whether its texts are short, and it is made fast.
    pub fn is_short(&self) -> bool {
        let is_long = |change: &Change| matches!(change, Change::Stretched(_, bytes) if *bytes > 4096);
        let has_keys = |change: &Change| matches!(change, Change::Value(_, values) if values.len() > 1);
        !self.changes.iter().any(|change| is_long(change) || has_keys(change))
    }

    /// The payloads of one or several requests; none where no request can say this.
    pub fn payloads(&self) -> Vec<Vec<u8>> {
        if self.changes.is_empty() {
            return vec![self.base.to_vec()];
        }
        let Ok(base) = Arguments::read_request(self.verb, &self.base) else { return Vec::new() };
        (0..variants(&self.changes)).filter_map(|at| changed(&base, &self.changes, at)).collect()
    }
}

/// What a pass did.
pub struct Ran {
    /// How long it took, in processor time: other processes do not count.
    pub time: Duration,
    /// How often each kind of kernel work was called for.
    pub kernels: usize,
    /// Codes of the first answer.
    pub codes: wire::Codes,
    /// Whether the first request ran.
    pub is_answered: bool,
}

/// A processor, and the requests.
pub struct Passes {
    keys: Keys,
    /// What stands for PKA keys, by name: one token, or several of the same kind.
    pka: Vec<(String, Rc<Vec<Vec<u8>>>)>,
}

impl Passes {
    /// With kernels of this level, or of the best one of this machine.
    pub fn new(level: Option<Level>) -> Self {
        let mut keys = Keys::with_level(level);
        let pka = pka_keys(&mut keys);
        Self { keys, pka }
    }

    /// The level of its kernels.
    pub fn level(&self) -> Level {
        self.keys.processor.engine().level()
    }

    /// Runs so many requests as one pass, which finds no key prepared.
    pub fn run(&mut self, verb: Verb, payloads: &[Vec<u8>], count: usize) -> Ran {
        let mut batch = Batch::new();
        for payload in payloads.iter().cycle().take(count) {
            let incoming = Incoming { verb, domain: 0, points: &PointSet::EVERYTHING, payload };
            batch.push(&incoming).expect("no more than a batch has");
        }
        self.keys.processor.forget_contexts();
        let mut kernels = 0;
        let begin = processor_time();
        self.keys
            .processor
            .run_watched(&mut batch, |step| kernels += usize::from(matches!(step, BatchStep::Kernel(_))));
        let time = processor_time().saturating_sub(begin);
        let answer = &batch.answers()[0];
        Ran { time, kernels, codes: answer.codes, is_answered: answer.outcome == Outcome::Answered }
    }

    /// The requests, of the kept ones in this folder.
    pub fn extremes(&self, corpus: &Path) -> Vec<Extreme> {
        let mut files: Vec<_> =
            std::fs::read_dir(corpus).expect("the kept requests").flatten().map(|file| file.path()).collect();
        files.sort();
        let mut found = Vec::new();
        for path in files {
            let data = std::fs::read(&path).expect("a kept request");
            let Some((verb, payload)) = request_of(&self.keys, &data) else { continue };
            if verb == Verb::PkaKeyGenerate || verb.entry().executor == Executor::Daemon {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let base = Rc::new(payload);
            if let Ok(arguments) = Arguments::read_request(verb, &base) {
                self.of_request(&name, &base, &arguments, &mut found);
            }
            found.push(Extreme { verb, name, base, changes: Vec::new() });
        }
        found
    }

    /// What is extreme about this request.
    fn of_request(&self, name: &str, payload: &Rc<Vec<u8>>, base: &Arguments<'_>, found: &mut Vec<Extreme>) {
        let verb = base.verb();
        let entry = verb.entry();
        let rules = rule_position(entry).map(|at| base.bytes(at).to_vec()).unwrap_or_default();
        let mut arrays = vec![(String::new(), rules.clone())];
        for at in 0..rules.len() / 8 {
            for word in entry.keywords.words() {
                let mut other = rules.clone();
                other[8 * at..8 * at + 8].copy_from_slice(&padded(word.text));
                if other != rules {
                    arrays.push((format!(" {} in place {at}", word.text), other));
                }
            }
        }
        let mut push = |what: String, changes: &[Change]| {
            let (name, base) = (format!("{name}{what}"), Rc::clone(payload));
            found.push(Extreme { verb, name, base, changes: changes.to_vec() });
        };
        let texts = texts(entry);
        for (word, array) in &arrays {
            let keyword: Vec<_> = rule_position(entry)
                .map(|at| Change::Value(at, Rc::new(vec![array.clone()])))
                .into_iter()
                .collect();
            if !word.is_empty() {
                push(word.clone(), &keyword);
            }
            for length in TEXT_LENGTHS {
                let text = |at: &usize| Change::Stretched(*at, length);
                for at in &texts {
                    let what = format!("{word} {} of {length}", entry.parameters[*at].name);
                    push(what, &[&keyword[..], &[text(at)]].concat());
                }
                if texts.len() > 1 && word.is_empty() {
                    let all: Vec<_> = texts.iter().map(text).collect();
                    push(format!(" all texts of {length}"), &all);
                }
            }
        }
        for (at, parameter) in entry.parameters.iter().enumerate() {
            match parameter.kind {
                Kind::Integer if parameter.direction != Direction::Out => {
                    for value in [0, RANDOM_BYTES_MAX as i64, i64::from(i32::MAX)] {
                        push(format!(" {} {value}", parameter.name), &[Change::Integer(at, value)]);
                    }
                }
                Kind::Key { .. } if parameter.direction != Direction::Out => {
                    for (key, tokens) in &self.pka {
                        let keys = Change::Value(at, Rc::clone(tokens));
                        push(format!(" {} {key}", parameter.name), std::slice::from_ref(&keys));
                        // The text, or what is enciphered, as long as the modulus.
                        for text in &texts {
                            let block = Change::Value(*text, Rc::new(vec![block(base.bytes(*text))]));
                            push(format!(" {} {key}, block", parameter.name), &[keys.clone(), block]);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

#[derive(Clone)]
enum Change {
    Integer(usize, i64),
    /// One value, or one for each of several requests; its length goes with it.
    Value(usize, Rc<Vec<Vec<u8>>>),
    /// The text that is there, so many bytes long.
    Stretched(usize, usize),
}

fn variants(changes: &[Change]) -> usize {
    let of = |change: &Change| if let Change::Value(_, values) = change { values.len() } else { 1 };
    changes.iter().map(of).max().unwrap_or(1)
}

fn changed(base: &Arguments<'_>, changes: &[Change], variant: usize) -> Option<Vec<u8>> {
    let stretched: Vec<Vec<u8>> = changes
        .iter()
        .map(|change| match change {
            Change::Stretched(at, bytes) => stretched(base.bytes(*at), *bytes),
            _ => Vec::new(),
        })
        .collect();
    let mut request = base.clone();
    for (change, stretched) in changes.iter().zip(&stretched) {
        match change {
            Change::Integer(at, value) => drop(request.set_integer(*at, *value)),
            Change::Value(at, _) | Change::Stretched(at, _) => {
                let value = match change {
                    Change::Value(_, values) => &values[variant % values.len()],
                    _ => stretched,
                };
                request.set_bytes(*at, value);
                match base.verb().entry().parameters[*at].kind {
                    Kind::Bytes(Length::By(length)) | Kind::Key { length: Length::By(length), .. } => {
                        request.set_integer(length, value.len() as i64);
                    }
                    Kind::Bytes(Length::Bits(length)) => {
                        request.set_integer(length, 8 * value.len() as i64);
                    }
                    _ => {}
                }
            }
        }
    }
    // As much room for what comes back as there can be.
    let mut rooms = HashMap::new();
    for parameter in base.verb().entry().parameters {
        if let (Direction::Out, Kind::Bytes(Length::By(at))) = (parameter.direction, parameter.kind) {
            rooms.insert(at, (TEXT_BYTES_MAX + 64) as i64);
        }
    }
    for (at, room) in rooms {
        let is_room = |change: &Change| matches!(change, Change::Integer(of, _) if *of == at);
        if !changes.iter().any(is_room) && base.integer(at) >= 0 {
            request.set_integer(at, room);
        }
    }
    let mut payload = Vec::new();
    request.write_request(&mut payload).ok().map(|()| payload)
}

fn rule_position(entry: &Entry) -> Option<usize> {
    let is_array = |kind: &Kind| matches!(kind, Kind::Keywords(_));
    entry.parameters.iter().position(|of| is_array(&of.kind) && of.direction != Direction::Out)
}

/// The positions of texts whose length a caller gives.
fn texts(entry: &Entry) -> Vec<usize> {
    let is_text = |at: &usize| {
        let parameter = &entry.parameters[*at];
        let is_of_length = matches!(parameter.kind, Kind::Bytes(Length::By(_) | Length::Bits(_)));
        is_of_length && parameter.direction != Direction::Out
    };
    (0..entry.parameters.len()).filter(is_text).collect()
}

/// So many bytes of the characters of a text.
fn stretched(text: &[u8], bytes: usize) -> Vec<u8> {
    let text = if text.is_empty() { b"0123456789" } else { text };
    text.iter().cycle().take(bytes).copied().collect()
}

/// A block of an RSA-4096 key, below every modulus.
fn block(text: &[u8]) -> Vec<u8> {
    let mut block = stretched(text, 512);
    block[0] = 0;
    block
}

/// RSA keys of 4,096 bits, public, clear and internal, with short and long exponents; and keys of every curve.
fn pka_keys(keys: &mut Keys) -> Vec<(String, Rc<Vec<Vec<u8>>>)> {
    let mut found: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
    let all: Vec<_> = (0..15).filter_map(|job| rsa_test_key(4096, job)).collect();
    for bits in [2].into_iter().chain(EXPONENT_BITS) {
        let tokens = (0..64).map(|variant: u8| {
            let mut exponent = vec![0xFF; bits.div_ceil(8)];
            exponent[0] = if bits % 8 == 0 { 0xFF } else { (1 << (bits % 8)) - 1 };
            if bits > 16 {
                exponent[1] = variant;
            }
            pka::public_token(&all[usize::from(variant) % all.len()].n, &exponent).expect("a public token")
        });
        found.push((format!("public RSA-4096, e of {bits} bits"), tokens.collect()));
    }
    let hashes = (engine::sha1, engine::sha256);
    for (form, name) in [(Form::CrtAes, "CRT"), (Form::MeAes, "ME")] {
        let clear: Vec<Vec<u8>> = (0..64)
            .map(|variant: u8| {
                let key = &all[usize::from(variant) % all.len()];
                let components =
                    CrtComponents { p: &key.p, q: &key.q, dp: &key.dp, dq: &key.dq, u: &key.qinv };
                let clear = match form.is_crt() {
                    true => ClearKey::Crt { n: &key.n, e: &key.e, components },
                    false => ClearKey::Me { n: &key.n, e: &key.e, d: &key.d },
                };
                let mut name = [b' '; 64];
                name[0] = b'A' + variant % 26;
                name[1] = b'A' + variant / 26;
                let attributes =
                    Attributes { usage: Usage::KeyManagement, name: Some(name), ..Attributes::default() };
                pka::clear_token(form, &clear, &attributes, &hashes).expect("a clear token").to_vec()
            })
            .collect();
        let internal: Vec<_> = clear.iter().map(|token| keys.private(token)).collect();
        found.push((format!("clear RSA-4096, {name}"), clear));
        found.push((format!("internal RSA-4096, {name}"), internal));
    }
    for curve in EccCurve::ALL {
        let pairs: Vec<_> = (0..32).map(|_| pair(curve)).collect();
        let public = pairs.iter().map(|(_, point)| ecc::public_token(curve, point).expect("a public token"));
        found.push((format!("public {}", curve.name()), public.collect()));
        let clear: Vec<_> = pairs
            .iter()
            .map(|(value, point)| ecc::clear_token(curve, value, point, &Default::default()))
            .map(|token| token.expect("a clear token").to_vec())
            .collect();
        let internal = clear.iter().map(|token| keys.private(token)).collect();
        found.push((format!("clear {}", curve.name()), clear));
        found.push((format!("internal {}", curve.name()), internal));
    }
    found.into_iter().map(|(name, tokens)| (name, Rc::new(tokens))).collect()
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// A private value and the public key.
fn pair(curve: EccCurve) -> (Vec<u8>, Vec<u8>) {
    let curve = match curve {
        EccCurve::P224 => Curve::P224,
        EccCurve::P256 => Curve::P256,
        EccCurve::P384 => Curve::P384,
        EccCurve::P521 => Curve::P521,
        EccCurve::BrainpoolP256r1 => Curve::BrainpoolP256r1,
        EccCurve::BrainpoolP384r1 => Curve::BrainpoolP384r1,
        EccCurve::Secp256k1 => Curve::Secp256k1,
        EccCurve::Ed25519 => {
            let key = Ed25519Key::generate();
            return (key.to_seed().to_vec(), key.public().to_vec());
        }
    };
    let key = EcPrivateKey::generate(curve).expect("a key");
    (key.to_bytes().to_vec(), key.public_bytes())
}

/// Verbs of cards that no kept request is of.
pub fn without_request(found: &[Extreme]) -> Vec<&'static str> {
    let is_missing = |entry: &&Entry| {
        entry.executor != Executor::Daemon
            && entry.verb != Verb::PkaKeyGenerate
            && !found.iter().any(|extreme| extreme.verb == entry.verb)
    };
    TABLE.iter().filter(is_missing).map(|entry| entry.name).collect()
}
