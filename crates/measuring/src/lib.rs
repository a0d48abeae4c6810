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

use clap::Subcommand;

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
