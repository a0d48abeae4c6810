//! Limits a program to an instruction-set level.
//!
//! The library bound to the engine reads its environment once, when it is loaded. A process that must stay below the
//! machine's best level therefore needs that environment from its first instruction: [`hold_to`] executes the program
//! again with it.
#![forbid(unsafe_code)]

use engine::Level;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{env, fmt, io};
use wire::control::{LEVEL_VARIABLE, LevelLimit};

/// The environment variable that marks a program as executed again. Its value is the level.
const EXECUTED_FOR: &str = "CRYPTAND_EXECUTED_FOR_LEVEL";

/// Why a program cannot be limited to a level.
#[derive(Debug)]
pub enum LevelError {
    /// The environment variable `CRYPTAND_LEVEL` names no level. The text lists the names it may have.
    Variable(String),
    /// The level is above what this machine, or the limit of this process, can give.
    NotHad {
        /// The level asked for.
        asked: &'static str,
        /// The level of this process.
        got: &'static str,
    },
    /// The program could not be executed again.
    Io(io::Error),
}

impl fmt::Display for LevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(text) => f.write_str(text),
            Self::NotHad { asked, got } => {
                write!(f, "level {asked} asked for, but what does the work runs at {got}")
            }
            Self::Io(cause) => write!(f, "cannot execute this program again for a level: {cause}"),
        }
    }
}

impl std::error::Error for LevelError {}

/// Limits this process to the level `asked`, else to the level of `CRYPTAND_LEVEL`, from its first instruction on.
/// Executes the program again if needed, so call it before anything else. Returns the level that measurements report,
/// if any.
///
/// # Errors
/// [`LevelError`].
pub fn hold(asked: Option<LevelLimit>) -> Result<Option<LevelLimit>, LevelError> {
    let limit = LevelLimit::from_variable(env::var_os(LEVEL_VARIABLE).as_deref())
        .map_err(|error| LevelError::Variable(error.to_string()))?;
    let Some(level) = asked.or(limit) else { return Ok(None) };
    hold_to(level)?;
    // `CRYPTAND_LEVEL` is only a limit: above the machine's level it changes nothing. A level in `asked` must be
    // reached.
    let reached = !LevelLimit::ALL.into_iter().any(|lower| lower < level && works_at(lower));
    Ok(asked.or(limit.filter(|_| reached)))
}

/// Executes this program again with the environment of a level, unless it runs at that level already and
/// `CRYPTAND_LEVEL` passes the level on to child processes. Returns only if nothing is to be done.
///
/// # Errors
/// [`LevelError::NotHad`], [`LevelError::Io`].
pub fn hold_to(level: LevelLimit) -> Result<(), LevelError> {
    let works = works_at(level);
    if works && env::var_os(LEVEL_VARIABLE).is_some_and(|value| value == level.name()) {
        return Ok(());
    }
    let executed = env::var_os(EXECUTED_FOR).is_some_and(|value| value == level.name());
    if executed || (engine::level_environment(engine_level(level)).is_none() && !works) {
        let got = engine::LibraryFeatures::read().level().name();
        return Err(LevelError::NotHad { asked: level.name(), got });
    }
    let mut command = Command::new(env::current_exe().map_err(LevelError::Io)?);
    held(&mut command, level).args(env::args_os().skip(1)).env(LEVEL_VARIABLE, level.name());
    Err(LevelError::Io(command.exec()))
}

/// Gives a command the environment that limits its program to a level and keeps it from executing itself again.
pub fn held(command: &mut Command, level: LevelLimit) -> &mut Command {
    command.envs(engine::level_environment(engine_level(level))).env(EXECUTED_FOR, level.name())
}

/// Whether this process already works at a level: its engine and the library bound to it.
pub fn works_at(level: LevelLimit) -> bool {
    engine::LibraryFeatures::read().level() <= engine_level(level)
}

/// Converts a level limit to the engine's [`Level`].
pub const fn engine_level(level: LevelLimit) -> Level {
    match level {
        LevelLimit::Portable => Level::Portable,
        LevelLimit::Avx2 => Level::Avx2,
        LevelLimit::Avx512 => Level::Avx512,
    }
}
