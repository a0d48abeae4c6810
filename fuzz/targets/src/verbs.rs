//! Whole verbs, as a card runs what a client sent.
//!
//! The first byte chooses the verb, by its slot in the verb table; the second whether the rest is the payload as
//! it stands, or a script from which a well-formed payload is made. A script reaches inside the verbs:
//! its keys are tokens that open under the processor's master keys, its keywords are real ones, and its
//! lengths are right unless it says otherwise.

use crate::keys::Keys;
use crate::keywords::padded;
use cca::{Batch, Incoming};
use std::cell::RefCell;
use wire::code;
use wire::frame::{Arguments, Outcome};
use wire::verb::{
    Direction, Filled, Kind, Length, MacMethod, Parameter, TypedAsk, Verb, mac_generate as mgn,
};

thread_local! {
    static KEYS: RefCell<Keys> = RefCell::new(Keys::new());
}

/// Set in the second byte where the rest of the input is a script.
pub(crate) const SCRIPT: u8 = 0x80;
/// Longest text that a script makes, in bytes.
const TEXT_BYTES_MAX: usize = 4096;
/// The double-length MAC key among the tokens.
const MAC_KEY: usize = 3;

/// Any verb with any request, between two that are right: those must not notice.
pub fn verb(data: &[u8]) {
    verb_answer(data);
}

/// The request that an input stands for; none where it stands for none.
pub(crate) fn request_of(keys: &Keys, data: &[u8]) -> Option<(Verb, Vec<u8>)> {
    let ([choice, form], rest) = data.split_first_chunk()?;
    let verb = crate::chosen(*choice).verb;
    let Keys { tokens, exported, external, .. } = keys;
    let payload = match form & SCRIPT {
        0 => rest.to_vec(),
        _ => Script { data: rest, tokens, exported, external }.payload(verb),
    };
    Some((verb, payload))
}

/// What [`verb`] does; tells which verb it was, and whether it came to an end with a result.
pub fn verb_answer(data: &[u8]) -> Option<(Verb, bool)> {
    let entry = crate::chosen(*data.first()?);
    if entry.verb == Verb::PkaKeyGenerate {
        return None; // seconds each: its parts are reached by the other verbs and by key_token
    }
    KEYS.with_borrow_mut(|keys| {
        let (_, made) = request_of(keys, data)?;
        let payload = &made[..];
        let neighbour = mac_request(&keys.tokens[MAC_KEY]);
        let requests =
            [(Verb::MacGenerate, &neighbour[..]), (entry.verb, payload), (Verb::MacGenerate, &neighbour)];
        let mut batch = Batch::new();
        for (verb, payload) in requests {
            batch
                .push(&Incoming { verb, domain: 0, points: &wire::point::PointSet::EVERYTHING, payload })
                .expect("an empty batch has room");
        }
        keys.processor.run(&mut batch);
        let [before, answer, after] = batch.answers() else { panic!("every request is answered") };
        assert_eq!((before.outcome, before.codes), (Outcome::Answered, code::OK));
        assert_eq!(before.payload, after.payload, "the request between them disturbed neither");
        assert_eq!(after.codes, code::OK);
        if answer.outcome == Outcome::Answered && answer.codes.has_output() {
            let reply = Arguments::read_reply(entry.verb, &answer.payload);
            within_fields(payload, &reply.expect("a card's answer is well formed"));
        }
        let holds = |bytes: &[u8], secret: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
        for secret in &keys.secrets {
            assert!(!holds(&answer.payload, secret) || holds(payload, secret), "a secret left in the clear");
        }
        Some((entry.verb, answer.outcome == Outcome::Answered && answer.codes.has_output()))
    })
}

/// No output is longer than the field that the verb table gives it, where the request is one that a caller's fields
/// can make.
pub(crate) fn within_fields(payload: &[u8], reply: &Arguments<'_>) {
    let verb = reply.verb();
    let request = Arguments::read_request(verb, payload).expect("what was answered can be read");
    let parameters = verb.entry().parameters;
    let is_given = |parameter: &Parameter| parameter.direction != Direction::Out;
    let rules = parameters.iter().position(|of| matches!(of.kind, Kind::Keywords(_)) && is_given(of));
    let rules = rules.map_or(&[][..], |position| request.bytes(position));
    let words: Vec<u64> = wire::verb::words(rules).into_iter().flatten().collect();
    let field = |position: usize| {
        let length = match parameters[position].kind {
            Kind::Bytes(length) | Kind::Key { length, .. } => length,
            Kind::Keywords(count) if parameters[position].direction != Direction::In => {
                let (array, direction) = (&verb.entry().keywords, parameters[position].direction);
                return Some(
                    array.room(direction, usize::try_from(request.integer(count)).ok()?, &words) * 8,
                );
            }
            _ => return None,
        };
        let header = || request.bytes(position).first_chunk().copied().unwrap_or_default();
        length.bytes(|at| request.integer(at), &words, header)
    };
    let is_field = |position: usize| {
        let is_keywords = matches!(parameters[position].kind, Kind::Keywords(_));
        let is_input = parameters[position].direction != Direction::Out && !is_keywords;
        !is_input || field(position).is_none_or(|bytes| bytes == request.bytes(position).len())
    };
    if !(0..parameters.len()).all(is_field) {
        return;
    }
    for (position, parameter) in parameters.iter().enumerate() {
        if let (Some(bytes), true) = (field(position), parameter.direction != Direction::In) {
            let given = reply.bytes(position).len();
            assert!(given <= bytes, "{verb:?}: {given} bytes for {}, which has {bytes}", parameter.name);
        }
    }
}

fn mac_request(token: &[u8]) -> Vec<u8> {
    let request = mgn::Ask {
        key_identifier: token.into(),
        text: b"a good text",
        method: Some(MacMethod::X919),
        chaining_vector: Some(&[0; 18]),
        ..mgn::Ask::new()
    };
    let mut payload = Vec::new();
    request.arguments(&mut Filled::default()).write_request(&mut payload).expect("a request that fits");
    payload
}

/// What makes a payload; at its end it reads zeros.
struct Script<'a> {
    data: &'a [u8],
    tokens: &'a [Vec<u8>],
    exported: &'a [u8],
    external: &'a [u8],
}

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.data.split_first() else { return 0 };
        self.data = rest;
        *first
    }

    /// One byte: which integer parameter is set wrong, if it is the number of one. Then the parameters
    /// in order. Then the wrong integer.
    fn payload(mut self, verb: Verb) -> Vec<u8> {
        let parameters = verb.entry().parameters;
        let wrong = usize::from(self.byte());
        let mut integers = vec![0; parameters.len()];
        let mut values = vec![Vec::new(); parameters.len()];
        for (position, parameter) in parameters.iter().enumerate() {
            match parameter.kind {
                Kind::Integer if !gives_a_length(parameters, position) => integers[position] = self.integer(),
                Kind::Integer => {}
                Kind::Keywords(at) if parameter.direction == Direction::Out => {
                    integers[at] = i64::from(self.byte());
                }
                Kind::Keywords(at) => {
                    values[position] = self.keywords(verb);
                    integers[at] = (values[position].len() / 8) as i64;
                }
                _ if parameter.direction == Direction::Out => {
                    if let Kind::Bytes(Length::By(at)) | Kind::Key { length: Length::By(at), .. } =
                        parameter.kind
                    {
                        integers[at] = i64::from(self.byte()) * 16;
                    }
                    if let Kind::Bytes(Length::Bits(at)) = parameter.kind {
                        integers[at] = i64::from(self.byte()) * 128;
                    }
                }
                // The verbs of clear keys take an external token as plain bytes.
                Kind::Bytes(_) if parameter.name == "key" => values[position] = self.key(),
                Kind::Bytes(length) => values[position] = fitted(self.text(), length),
                // A key block is text, and none of the tokens.
                Kind::Key { length, .. } if parameter.name.starts_with("tr31_key") => {
                    values[position] = fitted(self.text(), length);
                }
                Kind::Key { length, .. } => values[position] = fitted(self.key(), length),
            }
            if let Kind::Bytes(Length::Words(at)) = parameter.kind {
                integers[at] = (values[position].len() / 8) as i64;
            }
            if let (Kind::Bytes(Length::By(at)) | Kind::Key { length: Length::By(at), .. }, false) =
                (parameter.kind, parameter.direction == Direction::Out)
            {
                integers[at] = values[position].len() as i64;
            }
        }
        if parameters.get(wrong).is_some_and(|parameter| parameter.kind == Kind::Integer) {
            integers[wrong] = self.integer();
        }
        let mut request = Arguments::new(verb);
        for (position, parameter) in parameters.iter().enumerate() {
            match parameter.kind {
                Kind::Integer => drop(request.set_integer(position, integers[position])),
                _ if parameter.direction == Direction::Out => {}
                _ => drop(request.set_bytes(position, &values[position])),
            }
        }
        let mut payload = Vec::new();
        match request.write_request(&mut payload) {
            Ok(()) => payload,
            Err(_) => Vec::new(),
        }
    }

    /// One byte as it is, signed; the lowest one announces four bytes.
    fn integer(&mut self) -> i64 {
        match self.byte() as i8 {
            i8::MIN => i64::from(i32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])),
            small => i64::from(small),
        }
    }

    /// A count, then each keyword.
    fn keywords(&mut self, verb: Verb) -> Vec<u8> {
        let count = self.byte() % 8;
        (0..count).flat_map(|_| self.keyword(verb)).collect()
    }

    /// A byte: which keyword of the verb, in the order of its groups. Beyond their number it announces eight bytes.
    fn keyword(&mut self, verb: Verb) -> [u8; 8] {
        let index = usize::from(self.byte());
        match verb.entry().keywords.words().nth(index) {
            Some(keyword) => padded(keyword.text),
            None => std::array::from_fn(|_| self.byte()),
        }
    }

    /// To 0xBF: that many bytes. 0xDE: a key that was exported under an AES key. 0xDF: one under RSA. Else a longer
    /// text of one value.
    fn text(&mut self) -> Vec<u8> {
        match self.byte() {
            length @ 0..=0xBF => (0..length).map(|_| self.byte()).collect(),
            0xDE => self.external.to_vec(),
            0xDF => self.exported.to_vec(),
            long => vec![self.byte(); (usize::from(long & 0x1F) * 137).min(TEXT_BYTES_MAX)],
        }
    }

    /// A token of the list, with the high bit one byte of it changed; beyond the list any bytes.
    fn key(&mut self) -> Vec<u8> {
        let choice = self.byte();
        let Some(token) = self.tokens.get(usize::from(choice & 0x7F)) else { return self.text() };
        let mut token = token.clone();
        if choice & 0x80 != 0 {
            let at = (usize::from(self.byte()) | usize::from(self.byte()) << 8) % token.len();
            token[at] ^= self.byte();
            if let Ok(field) = <&mut [u8; token::TOKEN_BYTES]>::try_from(&mut token[..]) {
                token::tvv::seal(field);
            }
        }
        token
    }
}

fn gives_a_length(parameters: &[Parameter], position: usize) -> bool {
    parameters.iter().any(|parameter| match parameter.kind {
        Kind::Keywords(at)
        | Kind::Bytes(Length::By(at) | Length::Bits(at) | Length::Words(at))
        | Kind::Key { length: Length::By(at), .. } => at == position,
        _ => false,
    })
}

/// A value in the length that the table wants.
fn fitted(mut value: Vec<u8>, length: Length) -> Vec<u8> {
    match length {
        Length::Fixed(bytes) => value.resize(bytes, 0),
        Length::Words(_) => value.truncate(value.len() / 8 * 8),
        Length::By(_) | Length::Padded { .. } | Length::Bits(_) | Length::Own => {}
        Length::Keyed(_) => value.truncate(length.longest().unwrap_or(0)),
    }
    value
}
