//! Processes of this program that do a part of a measurement: what each is to do stands in a variable of its
//! environment, and what it says is a line of JSON.

use super::LabError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use std::process::Command;

/// This program, which is to do what stands in a variable.
pub(crate) fn this() -> Result<Command, LabError> {
    std::env::current_exe().map(Command::new).map_err(LabError::io("find this program"))
}

/// A value as a line of JSON.
pub(crate) fn line(what: &'static str, value: &impl Serialize) -> Result<String, LabError> {
    serde_json::to_string(value).map(|text| text + "\n").map_err(LabError::io(what))
}

/// Reads a value of such a line.
pub(crate) fn read<T: DeserializeOwned>(what: &'static str, line: &str) -> Result<T, LabError> {
    serde_json::from_str(line).map_err(LabError::io(what))
}

/// Says a value to the process that started this one.
pub(crate) fn say(what: &'static str, value: &impl Serialize) -> Result<(), LabError> {
    let text = line(what, value)?;
    io::stdout().lock().write_all(text.as_bytes()).map_err(LabError::io(what))
}
