//! Manual pages and completions, made from the definitions in [`crate::args`].

use crate::args::Arguments;
use crate::failure::{Exit, Failure};
use crate::output::print;
use clap::{Command, CommandFactory};
use home::{Programs, Settings};
use std::io;
use std::path::Path;

/// Prints a shell's completions.
pub fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "cryptand", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Writes a manual page for each command, and one for each file of settings, into a folder.
pub fn manual(folder: &Path) -> Result<(), Failure> {
    let failed = |cause| Failure::io(format!("write manual pages into {}", folder.display()))(cause);
    let mut command = Arguments::command();
    command.build();
    commands(&command, None, folder).map_err(failed)?;
    let programs = Programs {
        daemon: "/usr/local/libexec/cryptand/cryptand-daemon".into(),
        card: "/usr/local/libexec/cryptand/cryptand-card".into(),
        manifest: None,
    };
    let settings = Settings::new(programs).to_text().map_err(|error| Failure::Usage(error.to_string()))?;
    for (name, around, settings) in [
        ("cryptand-settings.5", OF_HOME, settings.as_str()),
        ("cryptand-tls-settings.5", OF_TLS, include_str!("../../../terminator/src/settings/manual.toml")),
        ("cryptand-service-settings.5", OF_SERVICE, include_str!("../../../../packaging/service.toml")),
    ] {
        let text = settings_page(around, &settings.replace("@PREFIX@", "/usr/local"));
        std::fs::write(folder.join(name), text).map_err(failed)?;
    }
    Ok(())
}

/// Writes the page of a command, and those of the commands below it.
fn commands(command: &Command, above: Option<&str>, folder: &Path) -> io::Result<()> {
    let man = clap_mangen::Man::new(command.clone());
    let name = man.get_filename();
    let own = name.strip_suffix(".1").unwrap_or(&name).to_owned();
    for below in shown(command) {
        commands(below, Some(&own), folder)?;
    }
    std::fs::write(folder.join(&name), page(&man, command, above)?)
}

/// The commands below one that its help lists.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

/// The manual page of a command, with the sections that readers of such pages look for.
fn page(man: &clap_mangen::Man, command: &Command, above: Option<&str>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().any(|option| !option.is_hide_set()) {
        man.render_options_section(&mut text)?;
    }
    if shown(command).next().is_some() {
        man.render_subcommands_section(&mut text)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    let is_of_examples = |block: &&str| block.starts_with("Examples");
    let (examples, notes): (Vec<&str>, Vec<&str>) = after.split("\n\n").partition(is_of_examples);
    if !examples.is_empty() {
        text.extend(section("EXAMPLES", &examples.join("\n\n")).bytes());
    }
    let notes: Vec<&str> = notes.into_iter().filter(|block| !block.trim().is_empty()).collect();
    if !notes.is_empty() {
        text.extend(section("NOTES", &notes.join("\n\n")).bytes());
    }
    text.extend(listed("EXIT STATUS", exit_status()).bytes());
    text.extend(listed("ENVIRONMENT", ENVIRONMENT.iter().map(owned)).bytes());
    text.extend(listed("FILES", FILES.iter().map(owned)).bytes());
    let below = shown(command).map(|below| below.get_display_name().unwrap_or(below.get_name()).to_owned());
    let others = above.map(str::to_owned).into_iter().chain(below);
    let mut also: Vec<String> = others.map(|name| format!(".BR {} (1)", guarded(&name))).collect();
    also.extend(["cryptand\\-settings", "cryptand\\-tls\\-settings"].map(|name| format!(".BR {name} (5)")));
    text.extend(format!(".SH \"SEE ALSO\"\n{}\n", also.join(",\n")).bytes());
    text.extend(b".PP\n`cryptand help topics` lists the pages of the documentation.\n");
    Ok(text)
}

const fn owned(row: &(&'static str, &'static str)) -> (&'static str, &'static str) {
    *row
}

/// Exit codes, without the marks of the page that lists them too.
fn exit_status() -> impl Iterator<Item = (String, String)> {
    let codes =
        Exit::ALL.into_iter().map(|(exit, meaning)| ((exit as u8).to_string(), meaning.replace("**", "")));
    std::iter::once(("0".to_owned(), "done".to_owned())).chain(codes)
}

/// Variables of the environment that commands read.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("CRYPTAND_HOME", "The home, where --home names none."),
    ("CRYPTAND_LEVEL", "The highest instruction-set level: portable, avx2 or avx512."),
    ("CRYPTAND_CREDENTIAL_FILE", "The file of a tenant's credential: the command runs as that tenant."),
    ("CRYPTAND_KEYRING", "The folder of OpenPGP keys, where --keyring names none."),
    ("CRYPTAND_AGENT", "The socket of the agent; set and empty, no agent is used."),
    ("CRYPTAND_ESP", "The folder of an IPsec data plane, where --folder names none."),
    (
        "XDG_DATA_HOME",
        "The folder below which home and keys are looked for: ~/.local/share where it is not set.",
    ),
    ("PAGER", "The program that shows pages of `cryptand help`."),
];

/// Files that commands read.
const FILES: &[(&str, &str)] = &[
    ("~/.local/share/cryptand/home", "The home of a user, with its settings.toml."),
    ("~/.local/share/cryptand/pgp", "The OpenPGP keys of a user."),
    ("/etc/cryptand/service.toml", "Users, paths and officers of the system service."),
    ("/etc/cryptand/tls.toml", "Settings of the TLS service."),
];

/// A section of lines that stay as they are.
fn section(name: &str, text: &str) -> String {
    format!(".SH {name}\n.nf\n{}.fi\n", lines(text))
}

/// A section of terms with what each means.
fn listed<T: AsRef<str>>(name: &str, rows: impl Iterator<Item = (T, T)>) -> String {
    let row =
        |(term, meaning): (T, T)| format!(".TP\n.B {}\n{}", guarded(term.as_ref()), lines(meaning.as_ref()));
    format!(".SH \"{name}\"\n{}", rows.map(row).collect::<String>())
}

/// Text above and below the settings in the manual page of a home's settings: the header, and "see also".
const OF_HOME: (&str, &str) = (
    ".TH CRYPTAND-SETTINGS 5 \"\" Cryptand\n.SH NAME\nsettings.toml \\- settings of a home\n.SH DESCRIPTION\n\
     The file\n.I settings.toml\nin a home, as\n.B cryptand init\nwrites it: every setting with its unit, its default and \
     its danger.\n.B cryptand reload\ntakes a change over; a file that is not valid is refused, and the running settings \
     stay.\n.SH FILE\n.nf\n",
    ".fi\n.SH SEE ALSO\n.BR cryptand (1),\n.BR cryptand-daemon (8)\n",
);

/// Text above and below the settings in the manual page of `cryptand tls serve`.
const OF_TLS: (&str, &str) = (
    ".TH CRYPTAND-TLS-SETTINGS 5 \"\" Cryptand\n.SH NAME\ntls.toml \\- settings of cryptand tls serve\n.SH DESCRIPTION\n\
     The file that\n.B cryptand tls serve\nis given, as\n.B cryptand tls settings\nprints it.\n.SH FILE\n.nf\n",
    ".fi\n.SH SEE ALSO\n.BR cryptand-tls (1),\n.BR cryptand-tls-serve (1)\n",
);

/// Text above and below the settings in the manual page of the system service.
const OF_SERVICE: (&str, &str) = (
    ".TH CRYPTAND-SERVICE-SETTINGS 5 \"\" Cryptand\n.SH NAME\nservice.toml \\- users, paths and officers of the system \
     service\n.SH DESCRIPTION\nThe file\n.I /etc/cryptand/service.toml\nthat\n.B cryptand init --service\nis given, and \
     that keeper, launcher, daemon and officers read when they start.\n.SH FILE\n.nf\n",
    ".fi\n.SH SEE ALSO\n.BR cryptand-init (1),\n.BR cryptand-master-key (1),\n.BR cryptand-settings (5)\n",
);

/// A page of settings: the file is its own manual.
fn settings_page((above, below): (&str, &str), settings: &str) -> String {
    above.to_owned() + &lines(settings) + below
}

/// Text as lines of a manual page.
fn lines(text: &str) -> String {
    let line = |line: &str| {
        // At the begin of a line these two would be commands.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        format!("{guard}{}\n", guarded(line))
    };
    text.lines().map(line).collect()
}

/// Text without what a manual page would read as a command or as a hyphen of a divided word.
fn guarded(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_settings_are_text_and_no_commands() {
        let page = settings_page(OF_HOME, "# a-b \\n\n.so /etc/passwd\n'x\n");
        assert!(page.contains("\n# a\\-b \\en\n\\&.so /etc/passwd\n\\&'x\n.fi\n"), "{page}");
    }

    #[test]
    fn every_command_has_the_sections_that_readers_look_for() {
        let mut command = Arguments::command();
        command.build();
        let mut seen = 0;
        let mut left = vec![(&command, None)];
        while let Some((command, above)) = left.pop() {
            let text =
                String::from_utf8(page(&clap_mangen::Man::new(command.clone()), command, above).unwrap())
                    .unwrap();
            let sections: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
            for name in ["\"EXIT STATUS\"", "\"ENVIRONMENT\"", "\"FILES\"", "\"SEE ALSO\""] {
                assert!(sections.contains(&name), "{}: {sections:?}", command.get_name());
            }
            let after = command.get_after_long_help().or(command.get_after_help());
            let has_examples = after.is_some_and(|text| text.to_string().contains("Examples"));
            assert_eq!(sections.contains(&"EXAMPLES"), has_examples, "{}", command.get_name());
            assert!(text.contains(".TP\n.B 7\nthere is no such thing"), "{text}");
            seen += 1;
            left.extend(shown(command).map(|below| (below, command.get_display_name())));
        }
        assert!(seen > 100, "{seen} pages");
    }
}
