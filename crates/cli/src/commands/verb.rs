//! `cryptand verb`: any verb of the table, as JSON.

use super::{print, table};
use crate::args::Verb as Typed;
use crate::failure::Failure;
use crate::parameters::{Owned, answer};
use crate::session;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use wire::verb::{Class, TABLE, Verb};

/// Longest parameter file, in bytes: a longest text in hexadecimal, and the rest.
const PARAMETERS_BYTES_MAX: u64 = 3 << 20;

/// Lists the table, or calls a verb.
pub fn run(asked: Option<&Path>, typed: &Typed) -> Result<(), Failure> {
    let Some(name) = &typed.name else { return list() };
    let verb = Verb::from_name(name)
        .ok_or_else(|| Failure::Usage(format!("no verb is called {name}; `cryptand verb` lists them")))?;
    let text = parameters_text(&typed.parameters)?;
    let object: Value =
        serde_json::from_str(&text).map_err(|error| Failure::Usage(format!("parameters: {error}")))?;
    let object =
        object.as_object().ok_or_else(|| Failure::Usage("parameters: expected a JSON object".to_owned()))?;
    let owned = Owned::read(verb, object)?;
    let facility = session::connect(asked)?;
    let reply = facility.call(typed.domain, &owned.arguments())?;
    let codes = reply.codes();
    let shown = if codes.is_complete() { Some(reply.arguments()) } else { None };
    let text = serde_json::to_string_pretty(&answer(codes, shown.as_ref()))
        .map_err(|error| Failure::io("write JSON")(error.into()))?;
    print(&(text + "\n"))?;
    if codes.is_complete() { Ok(()) } else { Err(Failure::Verb { verb: verb.entry().name, codes }) }
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
    let Some(path) = typed.strip_prefix('@') else { return Ok(typed.to_owned()) };
    let mut text = String::new();
    let read = if path == "-" {
        std::io::stdin().lock().take(PARAMETERS_BYTES_MAX).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(PARAMETERS_BYTES_MAX).read_to_string(&mut text))
    };
    read.map_err(Failure::io(format!("read {path}")))?;
    Ok(text)
}
