//! Holding this program to an instruction-set level: by `--level`, or by `CRYPTAND_LEVEL`.

use crate::failure::Failure;
use lab::target::works_at;
use std::env;
use wire::control::{LEVEL_VARIABLE, LevelLimit};

/// Sees to it that this process, from its first instruction on, keeps to the level asked for, else
/// to that of the environment; where that takes it, the program becomes itself anew. Returns the level that
/// measurements are to name, if any.
pub fn hold(asked: Option<LevelLimit>) -> Result<Option<LevelLimit>, Failure> {
    let limit = LevelLimit::from_variable(env::var_os(LEVEL_VARIABLE).as_deref())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let Some(level) = asked.or(limit) else { return Ok(None) };
    lab::helper::hold_to(level)?;
    // The environment limits: above what the machine has it says nothing. What was typed is to be had.
    let reached = !LevelLimit::ALL.into_iter().any(|lower| lower < level && works_at(lower));
    Ok(asked.or(limit.filter(|_| reached)))
}
