//! Holding this program to an instruction-set level: by `--level`, or by `CRYPTAND_LEVEL`.

use crate::failure::Failure;
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};
use std::env;
use wire::control::LevelLimit;

/// Names the highest level to every program of the project.
const VARIABLE: &str = "CRYPTAND_LEVEL";

/// Sees to it that this process, from its first instruction on, keeps to the level asked for, else
/// to that of the environment; where that takes it, the program becomes itself anew.
pub fn hold(asked: Option<LevelLimit>) -> Result<(), Failure> {
    let level = match (asked, env::var(VARIABLE)) {
        (Some(level), _) => level,
        (None, Ok(name)) => LevelLimit::deserialize(StrDeserializer::<Error>::new(&name))
            .map_err(|error| Failure::Usage(format!("{VARIABLE}={name}: {error}")))?,
        (None, Err(_)) => return Ok(()),
    };
    Ok(lab::helper::hold_to(level)?)
}
