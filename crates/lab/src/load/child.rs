//! Processes of this program that do a part of a measurement: an environment variable tells each its task, and each
//! answers with a line of JSON.

use super::LabError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use std::process::Command;

/// A command that runs this program; the caller adds the variable with its task.
pub(crate) fn this() -> Result<Command, LabError> {
    std::env::current_exe().map(Command::new).map_err(LabError::io("find this program"))
}

/// A value as a line of JSON.
pub(crate) fn line(what: &'static str, value: &impl Serialize) -> Result<String, LabError> {
    serde_json::to_string(value).map(|text| text + "\n").map_err(LabError::io(what))
}

/// Reads a value from a line of JSON.
pub(crate) fn read<T: DeserializeOwned>(what: &'static str, line: &str) -> Result<T, LabError> {
    serde_json::from_str(line).map_err(LabError::io(what))
}

/// Prints a value as a line of JSON, for the process that started this one.
pub(crate) fn say(what: &'static str, value: &impl Serialize) -> Result<(), LabError> {
    let text = line(what, value)?;
    io::stdout().lock().write_all(text.as_bytes()).map_err(LabError::io(what))
}
