//! Python's values as arguments of a verb, and its answer as Python's values.
//!
//! | parameter | is given as |
//! |---|---|
//! | integer | `int` |
//! | rule array | list or tuple of `str` |
//! | bytes | `bytes`; or `str` of ASCII characters, filled up with blanks |
//! | key | `bytes` of a token; `str`: a label |

use crate::errors;
use facility::wire::bounds::{KEYWORD_BYTES, LABEL_BYTES};
use facility::wire::verb::{Kind, Length, Parameter, Verb};
use facility::{Argument, Arguments, Label, Reply};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString};
use zeroize::Zeroizing;

/// The values of one request; [`Values::arguments`] borrows them.
pub(crate) struct Values<'py> {
    verb: Verb,
    values: Vec<Value<'py>>,
}

enum Value<'py> {
    Absent,
    Integer(i64),
    Given(Bound<'py, PyBytes>),
    Made(Zeroizing<Vec<u8>>),
}

impl<'py> Values<'py> {
    /// Reads a dictionary whose keys are names of parameters. `None` is as good as absent.
    pub(crate) fn read(verb: Verb, given: &Bound<'py, PyDict>) -> PyResult<Self> {
        let parameters = verb.entry().parameters;
        let mut values = Vec::with_capacity(parameters.len());
        let mut known = 0;
        for parameter in parameters {
            values.push(match given.get_item(parameter.name)? {
                None => Value::Absent,
                Some(value) => {
                    known += 1;
                    if value.is_none() { Value::Absent } else { read(verb, parameter, &value)? }
                }
            });
        }
        if known != given.len() {
            return Err(unknown(verb, given));
        }
        Ok(Self { verb, values })
    }

    /// The values as arguments, with the lengths and counts that follow from them filled in.
    pub(crate) fn arguments(&self) -> Arguments<'_> {
        let mut arguments = Arguments::new(self.verb);
        for (position, value) in self.values.iter().enumerate() {
            match value {
                Value::Absent => {}
                Value::Integer(value) => drop(arguments.set_integer(position, *value)),
                Value::Given(bytes) => drop(arguments.set_bytes(position, bytes.as_bytes())),
                Value::Made(bytes) => drop(arguments.set_bytes(position, bytes)),
            }
        }
        facility::fill_in(&mut arguments);
        arguments
    }
}

fn unknown(verb: Verb, given: &Bound<'_, PyDict>) -> PyErr {
    let entry = verb.entry();
    let has = |name: &str| entry.parameters.iter().any(|parameter| parameter.name == name);
    let names = given.keys();
    let name = names.iter().map(|name| name.to_string()).find(|name| !has(name)).unwrap_or_default();
    let known: Vec<_> = entry.parameters.iter().map(|parameter| parameter.name).collect();
    errors::argument(format!("{} has no parameter {name}; it has: {}", entry.name, known.join(", ")))
}

fn read<'py>(verb: Verb, parameter: &Parameter, value: &Bound<'py, PyAny>) -> PyResult<Value<'py>> {
    let refuse = |expected: &str| {
        errors::argument(format!("{}, {}: expected {expected}", verb.entry().name, parameter.name))
    };
    match parameter.kind {
        Kind::Integer => Ok(Value::Integer(value.extract().map_err(|_| refuse("an integer of 64 bits"))?)),
        Kind::Keywords(_) => {
            let mut bytes = Zeroizing::new(Vec::new());
            for keyword in value.try_iter().map_err(|_| refuse("a list of keywords"))? {
                let keyword = keyword?;
                let text: &Bound<'_, PyString> =
                    keyword.cast().map_err(|_| refuse("keywords of at most 8 characters"))?;
                let text = text.to_cow()?;
                if text.len() > KEYWORD_BYTES || !text.is_ascii() {
                    return Err(refuse("keywords of at most 8 characters"));
                }
                bytes.extend_from_slice(format!("{text:<8}").as_bytes());
            }
            Ok(Value::Made(bytes))
        }
        Kind::Bytes(length) | Kind::Key { length, .. } => {
            let is_key = matches!(parameter.kind, Kind::Key { .. }) || parameter.name == "key_label";
            let fixed = if let Length::Fixed(bytes) = length { Some(bytes) } else { None };
            let check = |bytes: usize| match fixed {
                Some(fixed) if bytes > fixed && !(is_key && bytes == LABEL_BYTES) => {
                    Err(refuse(&format!("at most {fixed} bytes, not {bytes}")))
                }
                _ => Ok(()),
            };
            if let Ok(bytes) = value.cast::<PyBytes>() {
                let given = bytes.as_bytes();
                check(given.len())?;
                return Ok(match fixed {
                    Some(fixed) if given.len() < fixed => Value::Made(filled(given, fixed, 0)),
                    _ => Value::Given(bytes.clone()),
                });
            }
            let text: &Bound<'_, PyString> = value.cast().map_err(|_| {
                refuse(if is_key { "bytes, or a label or a key block as str" } else { "bytes or str" })
            })?;
            let text = text.to_cow()?;
            if is_key {
                return match Label::new(&text) {
                    Ok(label) => Ok(Value::Made(Zeroizing::new(label.to_field().to_vec()))),
                    Err(_) if token::tr31::begins(text.as_bytes()) => {
                        Ok(Value::Made(Zeroizing::new(text.as_bytes().to_vec())))
                    }
                    Err(error) => Err(refuse(&format!("a label, but {error}"))),
                };
            }
            if !text.is_ascii() {
                return Err(refuse("characters of ASCII, or bytes"));
            }
            check(text.len())?;
            Ok(Value::Made(filled(text.as_bytes(), fixed.unwrap_or_default(), b' ')))
        }
    }
}

fn filled(given: &[u8], bytes: usize, with: u8) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::with_capacity(bytes.max(given.len())));
    out.extend_from_slice(given);
    out.extend(std::iter::repeat_n(with, bytes.saturating_sub(given.len())));
    out
}

/// The outputs of an answer by name; none where its return code says that there are none.
pub(crate) fn outputs<'py>(py: Python<'py>, reply: &Reply) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    if !reply.codes().has_output() {
        return Ok(out);
    }
    let arguments = reply.arguments();
    for (position, parameter) in arguments.verb().entry().parameters.iter().enumerate() {
        match arguments.at(position) {
            Argument::Bytes(bytes) if matches!(parameter.kind, Kind::Keywords(_)) => {
                let elements = bytes
                    .chunks(KEYWORD_BYTES)
                    .map(|element| String::from_utf8_lossy(element).trim_end().to_owned());
                out.set_item(parameter.name, PyList::new(py, elements)?)?;
            }
            Argument::Bytes(bytes) => out.set_item(parameter.name, PyBytes::new(py, bytes))?,
            Argument::Integer(value) => out.set_item(parameter.name, PyInt::new(py, value))?,
            _ => {}
        }
    }
    Ok(out)
}
