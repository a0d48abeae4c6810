//! The list of commands in groups, by task.

use super::Arguments;
use clap::{Command, CommandFactory};
use std::fmt::Write as _;

/// Commands under their headings, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    ("OpenPGP files", &["encrypt", "decrypt", "sign", "verify", "pgp", "agent"]),
    ("Keys on cards", &["key", "keyblock", "token", "verb", "role", "tenant"]),
    ("Payments", &["pin", "dukpt", "terminal", "cvv", "emv", "mac", "fpe"]),
    ("A home and its cards", &["init", "serve", "stop", "reload", "upgrade", "card", "backup", "restore"]),
    ("Master keys", &["unseal", "master-key"]),
    ("Watching", &["status", "health", "top", "metrics"]),
    ("Serving TLS", &["tls", "cert"]),
    ("Networks", &["ipsec"]),
    ("Measuring", &["speed", "report", "bench"]),
    ("Reading", &["help"]),
];

/// The definitions, with the commands of the help in groups, and with negative numbers for their options to judge.
pub fn command() -> Command {
    let command = measuring::with_negative_values(Arguments::command());
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        listed(&command)
    );
    let command = command.help_template(template);
    // The level is asked of the processor, and the revision of a file: for who wants to know alone.
    let is_asked = std::env::args_os().any(|word| word == "--version" || word == "-V");
    if is_asked { command.version(&*crate::version::text().leak()) } else { command }
}

fn listed(command: &Command) -> String {
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{heading}:");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:<width$}  {about}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of a usual terminal.
    const COLUMNS: usize = 80;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Arguments::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
        let mut shown: Vec<_> = shown.collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.to_vec()).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }

    #[test]
    fn a_command_is_a_line_of_a_usual_terminal() {
        for line in listed(&Arguments::command()).lines() {
            assert!(line.len() <= COLUMNS, "{} columns: {line}", line.len());
        }
    }
}
