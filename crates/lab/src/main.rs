//! The program `cryptand-lab`, which `cryptand speed`, `report` and `bench` start.
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

mod commands;

use clap::{CommandFactory, FromArgMatches, Parser};
use measuring::{LevelName, Measuring};
use std::path::PathBuf;
use std::process::ExitCode;

/// The laboratory of cryptand: measures this machine, and sets it beside others.
///
/// `cryptand` starts this program for the commands `speed`, `report` and `bench`, and hands its command line over.
#[derive(Parser, Debug)]
#[command(name = "cryptand", version, max_term_width = 110)]
struct Arguments {
    /// Measure cards of this home; without it, of a home that is made for the measurement
    #[arg(long, global = true, env = "CRYPTAND_HOME", value_name = "DIR")]
    home: Option<PathBuf>,
    /// Highest instruction-set level that is measured (default: CRYPTAND_LEVEL, else the machine's best)
    #[arg(long, global = true, value_name = "LEVEL")]
    level: Option<LevelName>,
    /// What to measure
    #[command(subcommand)]
    command: Measuring,
}

fn main() -> ExitCode {
    lab::serve_if_asked();
    let matches = measuring::with_negative_values(Arguments::command()).get_matches();
    let arguments = Arguments::from_arg_matches(&matches)
        .unwrap_or_else(|error| error.format(&mut Arguments::command()).exit());
    let asked = arguments.level.map(Into::into);
    let done =
        level::hold(asked).map_err(commands::Failure::from).and_then(|level| match &arguments.command {
            Measuring::Speed(typed) => commands::speed(arguments.home.as_deref(), typed, level),
            Measuring::Report(typed) => commands::report(typed),
            Measuring::Bench(typed) => commands::bench(typed),
        });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that went away (`| head`) is no failure.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("cryptand: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
