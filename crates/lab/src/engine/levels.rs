//! The rows of the engine at a level below this process's: by a process of this program that is held to it.

use crate::experiment::promise::{Measure, Options};
use crate::load::{LabError, child};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::control::LevelLimit;

/// Environment variable that tells this program to measure the engine; its value is the options as JSON.
const BENCH: &str = "CRYPTAND_LAB_BENCH";

/// A line of a process that measures the engine for the bench.
#[derive(Serialize, Deserialize)]
enum Line {
    Next(String),
    Measured(Box<Measure>),
}

/// Measures the engine if this process was started for it; none otherwise.
pub(crate) fn serve_if_asked() -> Option<Result<(), LabError>> {
    Some(serve(&std::env::var(BENCH).ok()?))
}

fn serve(options: &str) -> Result<(), LabError> {
    let what = "measure the engine for another process";
    let options = child::read(what, options)?;
    // If a line cannot be written, its reader is gone, and this process stops.
    let stop = AtomicBool::new(false);
    let heard = |said: Result<(), LabError>| {
        stop.fetch_or(said.is_err(), Ordering::Relaxed);
    };
    super::run(
        &options,
        &stop,
        &mut |next| heard(child::say(what, &Line::Next(next.to_owned()))),
        &mut |measure| heard(child::say(what, &Line::Measured(Box::new(measure)))),
    )
}

/// Starts a process of this program that is held to a level and measures the engine.
///
/// # Errors
/// [`LabError::Io`] where it does not start or ends badly: what it said stands on standard error.
pub fn bench_at(
    level: LevelLimit,
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let what = "measure the engine at another level";
    let mut command = child::this()?;
    level::held(&mut command, level).env(BENCH, child::line(what, options)?);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(LabError::io(what))?;
    let mut rows = Vec::new();
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        match child::read(what, &line.map_err(LabError::io(what))?)? {
            Line::Next(next) => progress(&next),
            Line::Measured(measure) => rows.push(*measure),
        }
    }
    let status = child.wait().map_err(LabError::io(what))?;
    if status.success() {
        Ok(rows)
    } else {
        Err(LabError::Io { what, cause: std::io::Error::other(status.to_string()) })
    }
}
