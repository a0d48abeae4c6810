//! One request of a payment verb, owned, and its answer.

use super::hints::{Said, hint};
use crate::failure::Failure;
use crate::labels::such_as;
use crate::prompt::to_hexadecimal;
use facility::{Facility, Reply};
use serde_json::{Value, json};
use wire::bounds::KEYWORD_BYTES;
use wire::frame::Arguments;
use wire::point::Point;
use wire::verb::{Kind, Verb};
use wire::{Codes, Label, code};
use zeroize::Zeroizing;

/// A key's option, and the key types that the option takes.
pub type Taken = (&'static str, &'static str);

/// A request of a payment verb, with what messages about a refusal need.
pub struct Call {
    verb: Verb,
    values: Vec<(usize, Field)>,
    reading: Reading,
    /// Options of the request's keys, and the key types that they take, for messages.
    takes: Vec<Taken>,
    /// The option that each label came from, for messages.
    labels: Vec<(&'static str, String)>,
    /// Access-control points needed besides those of the keywords, for messages.
    controls: Vec<Point>,
}

enum Field {
    Integer(i64),
    Bytes(Zeroizing<Vec<u8>>),
}

/// How a reply is turned into an answer.
#[derive(Clone, Copy)]
pub enum Reading {
    /// Bytes, shown under this name; with the position of their parameter.
    Bytes(&'static str, usize),
    /// Text padded with blanks, shown under this name; with the position of its parameter.
    Digits(&'static str, usize),
    /// Text of ISO 8859-1, shown under this name as it is; with the position of its parameter.
    Characters(&'static str, usize),
    /// A verdict, on the thing of this name.
    Verified(&'static str),
}

/// The answer to a request.
pub enum Answer {
    /// A value that the verb made, with its name.
    Made(&'static str, Zeroizing<String>),
    /// A verdict of the verb.
    Verified {
        /// Whether the value verifies.
        is_right: bool,
        /// Name of the verified value.
        what: &'static str,
        /// Return code and reason code.
        codes: Codes,
        /// The verb's name.
        verb: &'static str,
    },
}

impl Answer {
    /// The answer as JSON: an object with one member.
    pub fn json(&self) -> Value {
        match self {
            Self::Made(name, value) => json!({ *name: value.as_str() }),
            Self::Verified { is_right, .. } => json!({ "verified": is_right }),
        }
    }

    /// The answer as one line of text.
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

    /// Sets bytes, if there are any.
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

    /// Sets the key of a label; `taken` is its option, and the key types that the option takes.
    pub fn key(mut self, position: usize, label: &Label, taken: Taken) -> Self {
        self.labels.push((taken.0, label.to_string()));
        self.takes(taken).bytes(position, label.to_field())
    }

    /// Notes an option and the key types that it takes, for the message about a refused key.
    pub fn takes(mut self, taken: Taken) -> Self {
        self.takes.push(taken);
        self
    }

    /// Notes access-control points that this request needs besides those of its keywords.
    pub fn controls(mut self, points: Vec<Point>) -> Self {
        self.controls.extend(points);
        self
    }

    /// The values as arguments; lengths and counts are filled in. They are set by position: a card refuses keywords
    /// that its verb lacks, with its own codes.
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

    /// The answer in a reply, read as [`Reading`] says.
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
            Reading::Characters(name, at) => Answer::Made(
                name,
                Zeroizing::new(arguments.bytes(at).iter().copied().map(char::from).collect()),
            ),
            Reading::Verified(_) => return Err(Failure::Unexpected(verb)),
        })
    }

    /// The failure with the records that may have been meant, where a label has none.
    pub fn with_near(&self, facility: &Facility, failure: Failure) -> Failure {
        match failure {
            Failure::Payment { verb, codes, hint } if codes == code::LABEL_NOT_FOUND => {
                let labels = self.labels.iter().map(|(_, label)| label.as_str());
                let hint = hint + &such_as(facility, labels);
                Failure::Payment { verb, codes, hint }
            }
            failure => failure,
        }
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
