//! The program `cryptand-tls`: the TLS terminator and its commands.
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use terminator::{cert, serve, settings, status, ticket_file};

const HELP: &str = "\
Terminates TLS with private keys in files or on cards, and forwards to servers. It is started by `cryptand tls serve`.

Usage: cryptand-tls serve [--check-config] FILE
       cryptand-tls settings
       cryptand-tls status JSON
       cryptand-tls ticket-key FILE [KEYS]
       cryptand-tls cert JSON
       cryptand-tls drive JSON

  serve           serves what FILE says, until SIGTERM; SIGHUP reads FILE again
  --check-config  reads FILE and everything that it names, says what is wrong, and ends
  status          does what `cryptand tls status` passes on: asks a program that serves, and prints what it tells
  ticket-key      puts a new key for tickets before those of FILE, and keeps KEYS of them (3)
  cert            does what `cryptand cert` passes on
  drive           does what `cryptand tls drive` passes on
  settings        prints a settings file that is the manual of all of them
";

/// Exit code for arguments that make no sense.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let done = match words.as_slice() {
        ["--help" | "-h"] => {
            return saying::answer("cryptand-tls", format_args!("{HELP}"));
        }
        ["--version"] => {
            let version = env!("CARGO_PKG_VERSION");
            return saying::answer("cryptand-tls", format_args!("cryptand-tls {version}\n"));
        }
        ["settings"] => {
            return saying::answer("cryptand-tls", format_args!("{}", settings::MANUAL));
        }
        ["ticket-key", _] => {
            return ticket_key(&PathBuf::from(&arguments[1]), &options::tls::TICKET_KEYS.to_string());
        }
        ["ticket-key", _, kept] => return ticket_key(&PathBuf::from(&arguments[1]), kept),
        ["cert", json] => {
            return match cert::run(json) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => {
                    eprintln!("cryptand cert: {failure}");
                    ExitCode::from(failure.exit_code())
                }
            };
        }
        ["status", json] => {
            return match status::run(json) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => {
                    eprintln!("cryptand tls status: {failure}");
                    ExitCode::from(failure.exit_code())
                }
            };
        }
        ["drive", json] => {
            return match driver::run(json) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => {
                    eprintln!("cryptand tls drive: {failure}");
                    ExitCode::from(failure.exit_code())
                }
            };
        }
        ["serve", "--check-config", _] => serve::check(&PathBuf::from(&arguments[2])),
        ["serve", file] if !file.starts_with("--") => serve::serve(&PathBuf::from(&arguments[1])),
        _ => {
            eprint!("cryptand-tls: unknown arguments {arguments:?}\n\n{HELP}");
            return ExitCode::from(USAGE);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("cryptand-tls: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Makes or rotates a file of keys for tickets.
fn ticket_key(file: &Path, kept: &str) -> ExitCode {
    let most = ticket_file::KEYS_MAX;
    let Some(kept) = kept.parse().ok().filter(|kept| (1..=most).contains(kept)) else {
        eprintln!("cryptand-tls: {kept} is no number of keys from 1 to {most}");
        return ExitCode::from(USAGE);
    };
    match ticket_file::rotate(file, kept) {
        Ok(count) => {
            // The keys are in the file: a failure to print this changes nothing.
            let said = format!("{}: keys {count}, the first one is new\n", file.display());
            let _ = io::stdout().write_all(said.as_bytes());
            ExitCode::SUCCESS
        }
        Err(cause) => {
            eprintln!("cryptand-tls: {}: {cause}", file.display());
            ExitCode::FAILURE
        }
    }
}
