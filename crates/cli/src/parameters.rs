//! A verb's parameters and answer as JSON, made from the verb table.
//!
//! Bytes are written `"hex:00FF"` or `"text:ABC"`, a key also `"label:A.B"`, a rule array as a list of keywords, which
//! are checked against the table's groups before anything is sent. Lengths and counts are filled in where they are left
//! out; fixed fields are padded (text with blanks, bytes with zeros); an output field without a length gets room
//! enough.

use crate::failure::Failure;
use crate::keywords;
use crate::prompt::{hexadecimal, to_hexadecimal};
use serde_json::{Map, Value};
use wire::bounds::{KEYWORD_BYTES, LABEL_BYTES};
use wire::frame::{Argument, Arguments};
use wire::verb::{Direction, Kind, Length, Parameter, Verb};
use zeroize::Zeroizing;

/// Values of one call, owned; [`Owned::arguments`] borrows them as arguments.
pub struct Owned {
    verb: Verb,
    values: Vec<Slot>,
}

enum Slot {
    Absent,
    Integer(i64),
    Bytes(Zeroizing<Vec<u8>>),
}

impl Owned {
    /// Reads the parameters of a verb.
    pub fn read(verb: Verb, object: &Map<String, Value>) -> Result<Self, Failure> {
        let parameters = verb.entry().parameters;
        if let Some(name) =
            object.keys().find(|name| !parameters.iter().any(|parameter| parameter.name == **name))
        {
            let known: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
            let known = known.join(", ");
            return Err(Failure::Usage(format!(
                "{} has no parameter {name}; it has: {known}",
                verb.entry().name
            )));
        }
        let mut values = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            values.push(match object.get(parameter.name) {
                Some(value) => read_value(parameter, value)?,
                None => Slot::Absent,
            });
        }
        let owned = Self { verb, values };
        owned.check_keywords()?;
        Ok(owned)
    }

    /// The values as arguments; lengths and counts that were left out are filled in.
    pub fn arguments(&self) -> Arguments<'_> {
        let mut arguments = Arguments::new(self.verb);
        for (position, value) in self.values.iter().enumerate() {
            match value {
                Slot::Absent => {}
                Slot::Integer(value) => drop(arguments.set_integer(position, *value)),
                Slot::Bytes(bytes) => drop(arguments.set_bytes(position, bytes)),
            }
        }
        facility::fill_in(&mut arguments);
        arguments
    }

    fn check_keywords(&self) -> Result<(), Failure> {
        for (parameter, value) in self.verb.entry().parameters.iter().zip(&self.values) {
            if matches!(parameter.kind, Kind::Keywords(_)) && parameter.direction != Direction::Out {
                let rule_array = if let Slot::Bytes(bytes) = value { &bytes[..] } else { &[] };
                let words: Vec<u64> = wire::verb::words(rule_array).into_iter().flatten().collect();
                keywords::check(self.verb.entry(), &words)?;
            }
        }
        Ok(())
    }
}

fn read_value(parameter: &Parameter, value: &Value) -> Result<Slot, Failure> {
    let refuse = |expected: &str| Failure::Usage(format!("{}: expected {expected}", parameter.name));
    match parameter.kind {
        Kind::Integer => value.as_i64().map(Slot::Integer).ok_or_else(|| refuse("an integer")),
        Kind::Keywords(_) => {
            let mut bytes = Zeroizing::new(Vec::new());
            for keyword in value.as_array().ok_or_else(|| refuse("a list of keywords"))? {
                let keyword = keyword.as_str().ok_or_else(|| refuse("keywords as text"))?;
                if keyword.len() > KEYWORD_BYTES || !keyword.is_ascii() {
                    return Err(refuse("keywords of at most 8 characters"));
                }
                bytes.extend_from_slice(format!("{keyword:<8}").as_bytes());
            }
            Ok(Slot::Bytes(bytes))
        }
        Kind::Bytes(length) | Kind::Key { length, .. } => {
            let text = value.as_str().ok_or_else(|| refuse("\"hex:...\" or \"text:...\""))?;
            let is_key = matches!(parameter.kind, Kind::Key { .. }) || parameter.name == "key_label";
            let (mut bytes, padding) = if let Some(digits) = text.strip_prefix("hex:") {
                (
                    hexadecimal(digits)
                        .map_err(|error| Failure::Usage(format!("{}: {error}", parameter.name)))?,
                    0,
                )
            } else if let Some(text) = text.strip_prefix("text:") {
                (Zeroizing::new(text.as_bytes().to_vec()), b' ')
            } else if let (true, Some(label)) = (is_key, text.strip_prefix("label:")) {
                let label =
                    wire::Label::new(label).map_err(|error| refuse(&format!("a label, but {error}")))?;
                (Zeroizing::new(label.to_field().to_vec()), b' ')
            } else {
                return Err(refuse(if is_key {
                    "\"hex:...\" or \"label:...\""
                } else {
                    "\"hex:...\" or \"text:...\""
                }));
            };
            if let Length::Fixed(fixed) = length {
                if bytes.len() > fixed && !(is_key && bytes.len() == LABEL_BYTES) {
                    return Err(refuse(&format!("at most {fixed} bytes")));
                }
                let missing = fixed.saturating_sub(bytes.len());
                bytes.extend(std::iter::repeat_n(padding, missing));
            }
            Ok(Slot::Bytes(bytes))
        }
    }
}

/// The answer of a verb as a JSON object.
pub fn answer(codes: wire::Codes, arguments: Option<&Arguments<'_>>) -> Value {
    let mut object = Map::new();
    object.insert("return_code".into(), codes.return_code.into());
    object.insert("reason_code".into(), codes.reason_code.into());
    if let Some(text) = codes.meaning() {
        object.insert("meaning".into(), text.into());
    }
    for (position, parameter) in
        arguments.map_or(&[][..], |arguments| arguments.verb().entry().parameters).iter().enumerate()
    {
        let value = match arguments.map(|arguments| arguments.at(position)) {
            Some(Argument::Bytes(bytes)) if matches!(parameter.kind, Kind::Keywords(_)) => {
                bytes.chunks(KEYWORD_BYTES).map(element).collect()
            }
            Some(Argument::Integer(value)) => Value::from(value),
            Some(Argument::Bytes(bytes)) => Value::from(format!("hex:{}", to_hexadecimal(bytes))),
            _ => continue,
        };
        object.insert(parameter.name.into(), value);
    }
    Value::Object(object)
}

/// An element of a rule array without trailing blanks, or in hexadecimal if it is not text.
fn element(bytes: &[u8]) -> Value {
    let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    match std::str::from_utf8(bytes) {
        Ok(text) if is_text => text.trim_end().into(),
        _ => format!("hex:{}", to_hexadecimal(bytes)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wire::verb::{encipher, key_generate2, key_part_import2, mac_generate};

    fn read(verb: Verb, value: Value) -> Result<Owned, Failure> {
        Owned::read(verb, value.as_object().unwrap())
    }

    #[test]
    fn lengths_and_padding_are_filled_in() {
        let owned = read(
            Verb::MacGenerate,
            json!({"key_identifier": "label:A.B", "text": "text:hello", "rule_array": ["X9.19OPT"]}),
        )
        .unwrap();
        let arguments = owned.arguments();
        assert_eq!(arguments.integer(mac_generate::TEXT_LENGTH), 5);
        assert_eq!(arguments.integer(mac_generate::RULE_ARRAY_COUNT), 1);
        assert_eq!(arguments.bytes(mac_generate::RULE_ARRAY), b"X9.19OPT");
        assert_eq!(arguments.bytes(mac_generate::KEY_IDENTIFIER).len(), 64);
        assert_eq!(arguments.bytes(mac_generate::CHAINING_VECTOR), [0; 18]);

        let owned = read(Verb::Encipher, json!({"plaintext": "hex:0001020304050607"})).unwrap();
        assert_eq!(owned.arguments().integer(encipher::TEXT_LENGTH), 8);

        // Room for what is made, none for a key-encrypting key that is not there; bits of a clear part.
        let words = json!(["AES", "OP"]);
        let owned =
            read(Verb::KeyGenerate2, json!({"rule_array": words, "clear_key_bit_length": 256})).unwrap();
        let arguments = owned.arguments();
        assert!(arguments.integer(key_generate2::GENERATED_KEY_IDENTIFIER_1_LENGTH) > 0);
        assert_eq!(arguments.integer(key_generate2::KEK_KEY_IDENTIFIER_1_LENGTH), 0);
        let words = json!(["AES", "FIRST"]);
        let owned =
            read(Verb::KeyPartImport2, json!({"rule_array": words, "clear_key_part": "hex:0102"})).unwrap();
        assert_eq!(owned.arguments().integer(key_part_import2::CLEAR_KEY_PART_LENGTH), 16);
    }

    #[test]
    fn what_does_not_fit_the_table_is_refused_by_name() {
        let cases = [
            (json!({"texts": "text:a"}), "no parameter texts"),
            (json!({"text": 5}), "text: expected"),
            (json!({"text": "hello"}), "text: expected"),
            (json!({"text_length": "x"}), "text_length: expected an integer"),
            (json!({"rule_array": "X9.9-1"}), "rule_array: expected a list"),
            (json!({"rule_array": ["TOOLONGWORD"]}), "at most 8"),
            (json!({"chaining_vector": format!("hex:{}", "00".repeat(19))}), "at most 18"),
            (json!({"key_identifier": "label:a"}), "label"),
            (
                json!({"rule_array": ["X9.9-1", "CBC"]}),
                "mac-generate: the keyword CBC is not known; at most one of",
            ),
        ];
        for (value, expected) in cases {
            let error = read(Verb::MacGenerate, value.clone()).err().unwrap().to_string();
            assert!(error.contains(expected), "{value}: {error}");
        }
    }
}
