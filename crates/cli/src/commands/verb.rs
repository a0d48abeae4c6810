//! `cryptand verb`: calls any verb of the table, with JSON.
//!
//! | need | module |
//! |---|---|
//! | describe a verb's parameters, for people | [`describe`] |
//! | a call for each line of standard input | [`lines`] |

mod describe;
mod lines;

use crate::args::Verb as Typed;
use crate::failure::Failure;
use crate::output::{print, table};
use crate::parameters::{Owned, answer};
use crate::session;
use facility::Facility;
use serde_json::{Map, Value};
use std::io::Read;
use std::path::{Path, PathBuf};
use wire::Codes;
use wire::frame::Argument;
use wire::verb::{Class, Direction, Kind, TABLE, Verb};

/// Longest parameter file, in bytes: a longest text in hexadecimal, and the rest.
const PARAMETERS_BYTES_MAX: u64 = 3 << 20;

/// Lists the table, describes a verb, or calls one or many.
pub fn run(asked: Option<&Path>, typed: &Typed) -> Result<(), Failure> {
    if typed.lines {
        return lines::serve(&session::connect(asked)?, typed.domain);
    }
    let Some(name) = &typed.name else { return list() };
    let verb = find(name)?;
    let Some(parameters) = &typed.parameters else { return print(&describe::describe(verb.entry())) };
    let files = files(verb, &typed.out)?;
    let text = parameters_text(parameters)?;
    let object: Value =
        serde_json::from_str(&text).map_err(|error| Failure::Usage(format!("parameters: {error}")))?;
    let object =
        object.as_object().ok_or_else(|| Failure::Usage("parameters: expected a JSON object".to_owned()))?;
    let (mut answer, codes) = call(&session::connect(asked)?, verb, typed.domain, object, &files)?;
    // Parameters that went into files are not printed.
    if let Some(fields) = answer.as_object_mut() {
        fields.retain(|field, _| {
            !files.iter().any(|(position, _)| verb.entry().parameters[*position].name == field)
        });
    }
    let text =
        serde_json::to_string_pretty(&answer).map_err(|error| Failure::io("write JSON")(error.into()))?;
    print(&(text + "\n"))?;
    if codes.is_ok() { Ok(()) } else { Err(Failure::Verb { verb: verb.entry().name, codes }) }
}

fn find(name: &str) -> Result<Verb, Failure> {
    Verb::from_name(name)
        .ok_or_else(|| Failure::Usage(format!("no verb is called {name}; `cryptand verb` lists them")))
}

/// Calls a verb; returns its answer as JSON, and its codes. Output parameters at the positions in `files` go into
/// files.
pub(super) fn call(
    facility: &Facility,
    verb: Verb,
    domain: u16,
    parameters: &Map<String, Value>,
    files: &[(usize, PathBuf)],
) -> Result<(Value, Codes), Failure> {
    let owned = Owned::read(verb, parameters)?;
    let reply = facility.call(domain, &owned.arguments())?;
    let codes = reply.codes();
    let shown = if codes.has_output() { Some(reply.arguments()) } else { None };
    for (position, path) in files {
        if let Some(Argument::Bytes(bytes)) = shown.as_ref().map(|arguments| arguments.at(*position)) {
            std::fs::write(path, bytes).map_err(Failure::io(format!("write {}", path.display())))?;
        }
    }
    Ok((answer(codes, shown.as_ref()), codes))
}

/// Positions of output parameters and the files that they go to.
fn files(verb: Verb, typed: &[String]) -> Result<Vec<(usize, PathBuf)>, Failure> {
    let parameters = verb.entry().parameters;
    let is_written = |parameter: &wire::verb::Parameter| {
        parameter.direction != Direction::In && parameter.kind != Kind::Integer
    };
    let position =
        |name: &str| parameters.iter().position(|parameter| parameter.name == name && is_written(parameter));
    let file = |text: &String| {
        let (name, path) = text
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("--output {text}: expected PARAMETER=FILE")))?;
        let position = position(name).ok_or_else(|| {
            let known: Vec<_> = parameters.iter().filter(|of| is_written(of)).map(|of| of.name).collect();
            Failure::Usage(format!(
                "--output: {} gives no bytes as {name}; it gives: {}",
                verb.entry().name,
                known.join(", ")
            ))
        })?;
        Ok((position, PathBuf::from(path)))
    };
    typed.iter().map(file).collect()
}

fn list() -> Result<(), Failure> {
    let rows = TABLE.iter().map(|entry| {
        let class = if entry.class == Class::Pure { "pure" } else { "once" };
        let names: Vec<_> = entry.parameters.iter().map(|parameter| parameter.name).collect();
        vec![entry.name.to_owned(), entry.entry_point.to_owned(), class.to_owned(), names.join(" ")]
    });
    print(&table(&["verb", "entry", "class", "parameters"], rows))
}

fn parameters_text(typed: &str) -> Result<String, Failure> {
    let path = match typed.strip_prefix('@') {
        Some(path) => path,
        None if typed == "-" => typed,
        None => return Ok(typed.to_owned()),
    };
    let mut text = String::new();
    let read = if path == "-" {
        std::io::stdin().lock().take(PARAMETERS_BYTES_MAX).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(PARAMETERS_BYTES_MAX).read_to_string(&mut text))
    };
    read.map_err(Failure::io(format!("read {path}")))?;
    Ok(text)
}
