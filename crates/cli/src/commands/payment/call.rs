//! One request of a payment verb, owned, and what its answer says.

use super::hints::{Said, hint};
use crate::failure::Failure;
use crate::prompt::to_hexadecimal;
use facility::Reply;
use serde_json::{Value, json};
use wire::bounds::KEYWORD_BYTES;
use wire::frame::Arguments;
use wire::point::Point;
use wire::verb::{Kind, Verb};
use wire::{Codes, Label, code};
use zeroize::Zeroizing;

/// A key of a request: by which option it comes, and what it has to be.
pub type Taken = (&'static str, &'static str);

/// A request.
pub struct Call {
    verb: Verb,
    values: Vec<(usize, Field)>,
    reading: Reading,
    /// What its keys have to be, for messages.
    takes: Vec<Taken>,
    /// By which option each label came, for messages.
    labels: Vec<(&'static str, String)>,
    /// The points that what it asks for needs beside those of its keywords, for messages.
    controls: Vec<Point>,
}

enum Field {
    Integer(i64),
    Bytes(Zeroizing<Vec<u8>>),
}

/// What an answer is read as.
#[derive(Clone, Copy)]
pub enum Reading {
    /// Bytes under this name.
    Bytes(&'static str, usize),
    /// Characters with blanks behind them, under this name.
    Digits(&'static str, usize),
    /// Whether this verifies.
    Verified(&'static str),
}

/// What was answered.
pub enum Answer {
    /// Something was made, and is called so.
    Made(&'static str, Zeroizing<String>),
    /// Something is right, or it is not.
    Verified {
        /// Which.
        is_right: bool,
        /// Of what.
        what: &'static str,
        /// The codes.
        codes: Codes,
        /// The verb's name.
        verb: &'static str,
    },
}

impl Answer {
    /// For programs.
    pub fn json(&self) -> Value {
        match self {
            Self::Made(name, value) => json!({ *name: value.as_str() }),
            Self::Verified { is_right, .. } => json!({ "verified": is_right }),
        }
    }

    /// In a line.
    pub fn text(&self) -> &str {
        match self {
            Self::Made(_, value) => value,
            Self::Verified { is_right: true, .. } => "verified",
            Self::Verified { .. } => "not verified",
        }
    }
}

impl Call {
    /// A request without values.
    pub fn new(verb: Verb, reading: Reading) -> Self {
        Self {
            verb,
            values: Vec::with_capacity(16),
            reading,
            takes: Vec::new(),
            labels: Vec::new(),
            controls: Vec::new(),
        }
    }

    /// Sets an integer.
    pub fn integer(mut self, position: usize, value: i64) -> Self {
        self.values.push((position, Field::Integer(value)));
        self
    }

    /// Sets bytes.
    pub fn bytes(mut self, position: usize, value: impl AsRef<[u8]>) -> Self {
        self.values.push((position, Field::Bytes(Zeroizing::new(value.as_ref().to_vec()))));
        self
    }

    /// Sets bytes where there are some.
    pub fn maybe(self, position: usize, value: Option<impl AsRef<[u8]>>) -> Self {
        match value {
            Some(value) => self.bytes(position, value),
            None => self,
        }
    }

    /// Sets keywords.
    pub fn keywords(self, position: usize, words: &[&str]) -> Self {
        let array: String = words.iter().map(|word| format!("{word:8}")).collect();
        self.bytes(position, array)
    }

    /// Sets the key of a label, which an option gives, and which has to be such a key.
    pub fn key(mut self, position: usize, label: &Label, taken: Taken) -> Self {
        self.labels.push((taken.0, label.to_string()));
        self.takes(taken).bytes(position, label.to_field())
    }

    /// Remembers what an option takes, for a refusal of keys.
    pub fn takes(mut self, taken: Taken) -> Self {
        self.takes.push(taken);
        self
    }

    /// Remembers points that this request needs by what is in it.
    pub fn controls(mut self, points: Vec<Point>) -> Self {
        self.controls.extend(points);
        self
    }

    /// The values as arguments, with what follows from them.
    pub fn arguments(&self) -> Arguments<'_> {
        let mut arguments = Arguments::new(self.verb);
        for (position, value) in &self.values {
            match value {
                Field::Integer(value) => drop(arguments.set_integer(*position, *value)),
                Field::Bytes(bytes) => drop(arguments.set_bytes(*position, bytes)),
            }
        }
        facility::fill_in(&mut arguments);
        arguments
    }

    /// What a reply says.
    ///
    /// # Errors
    /// [`Failure::Payment`] where the verb refuses.
    pub fn answer(&self, reply: &Reply) -> Result<Answer, Failure> {
        let codes = reply.codes();
        let verb = self.verb.entry().name;
        let is_wrong = codes == code::VERIFICATION_FAILED || codes == code::PIN_NOT_VERIFIED;
        if let (Reading::Verified(what), true) = (self.reading, codes.return_code == 0 || is_wrong) {
            return Ok(Answer::Verified { is_right: !is_wrong, what, codes, verb });
        }
        if codes.return_code != 0 {
            let said = Said { takes: &self.takes, labels: &self.labels, controls: &self.controls };
            let hint = hint(self.verb, &self.words(), codes, &said);
            return Err(Failure::Payment { verb, codes, hint });
        }
        let arguments = reply.arguments();
        Ok(match self.reading {
            Reading::Bytes(name, at) => {
                Answer::Made(name, Zeroizing::new(to_hexadecimal(arguments.bytes(at))))
            }
            Reading::Digits(name, at) => {
                let text = Zeroizing::new(String::from_utf8_lossy(arguments.bytes(at)).into_owned());
                Answer::Made(name, Zeroizing::new(text.trim_end().to_owned()))
            }
            Reading::Verified(_) => return Err(Failure::Unexpected(verb)),
        })
    }

    fn words(&self) -> Vec<[u8; KEYWORD_BYTES]> {
        let parameters = self.verb.entry().parameters;
        let is_array = |position: usize| matches!(parameters[position].kind, Kind::Keywords(_));
        let arrays = self.values.iter().filter(|(position, _)| is_array(*position));
        let bytes = arrays.filter_map(|(_, value)| match value {
            Field::Bytes(bytes) => Some(bytes.as_chunks::<KEYWORD_BYTES>().0.to_vec()),
            Field::Integer(_) => None,
        });
        bytes.flatten().collect()
    }
}
