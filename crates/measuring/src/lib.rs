//! The command lines of `cryptand speed`, `report` and `bench`.
//!
//! `cryptand` starts the program `cryptand-lab` for these commands and links nothing of the lab. Both programs parse
//! the command line with the definitions of this crate: `cryptand` for its help, manual pages, completions and errors,
//! `cryptand-lab` to carry the command out.
#![forbid(unsafe_code)]

mod bench;
mod names;
mod report;
mod speed;

pub use bench::{Bench, BenchPart};
pub use names::{InterfaceName, LevelName, PersonalityName};
pub use report::{Report, ReportCommand, ReportPart};
pub use speed::Speed;

use clap::{Command, Subcommand};

/// The commands that measure.
#[derive(Subcommand, Debug)]
pub enum Measuring {
    /// Measure operations by name; `speed list` shows all
    Speed(Speed),
    /// Measure the published sweeps and write a report; compare two
    Report(Report),
    /// Measure what the project promises (`make bench`)
    Bench(Bench),
}

/// The definitions of a program, whose options take a negative number that follows them for their value: then an option
/// that has no negative values refuses it by its name and its range. As clap has it, `-1` would be an unknown option.
#[must_use]
pub fn with_negative_values(command: Command) -> Command {
    let changed = command.mut_args(|argument| {
        let is_option = !argument.is_positional() && argument.get_action().takes_values();
        if is_option { argument.allow_negative_numbers(true) } else { argument }
    });
    changed.mut_subcommands(with_negative_values)
}
