//! The command `cryptand`: parses the command line ([`args`]), finds the home, and calls the
//! command's module in [`commands`].
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

mod args;
mod commands;
mod describe;
mod encoded;
mod failure;
mod gnupg;
mod keywords;
mod kind;
mod labels;
mod messages;
mod output;
mod parameters;
mod prompt;
mod session;
mod signals;
mod suggested;
mod undumpable;
mod version;
mod watch;
mod words;

use clap::FromArgMatches;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// Ends the program because of what was typed: with help where a command lacks its subcommand, else with the error.
fn wrong_line(error: clap::Error) -> ! {
    let is_unknown = matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand);
    if let Some((flag, ours)) = is_unknown.then(|| gnupg::instead(std::env::args_os())).flatten() {
        eprintln!("cryptand: {flag} is gpg's; here it is `{ours}`\n");
    }
    let typed: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = args::command();
    command.build();
    if error.kind() == ErrorKind::MissingSubcommand {
        eprint!("{}", suggested::reached(&command, &typed).0.clone().render_help());
        std::process::exit(error.exit_code());
    }
    suggested::with_suggestions(error, &command, &typed).exit()
}

fn main() -> ExitCode {
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => wrong_line(error),
    };
    let arguments = match args::Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.format(&mut args::command()).exit(),
    };
    // Every command does this: nearly all of them read a secret at some point.
    let run = || {
        // The laboratory's program holds itself to the level that was typed.
        if let args::Command::Measure(_) = arguments.command {
            return commands::measure();
        }
        undumpable::enter()?;
        level::hold(arguments.level.map(Into::into))?;
        commands::run(&arguments)
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that went away (`| head`) is no failure of this program.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        // The printed text already says it.
        Err(failure @ failure::Failure::Unwell(_)) => ExitCode::from(failure.exit_code()),
        Err(failure) => {
            eprintln!("cryptand: {}", keyring::store::printable_lines(&failure.to_string()));
            ExitCode::from(failure.exit_code())
        }
    }
}
