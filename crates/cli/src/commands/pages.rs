//! Manual pages and completions, made from the definitions in [`crate::args`].

use crate::args::Arguments;
use crate::failure::Failure;
use crate::output::print;
use clap::CommandFactory;
use home::{Programs, Settings};
use std::path::Path;

/// Prints a shell's completions.
pub fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "cryptand", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Writes a manual page for each command, and one of the settings, into a folder.
pub fn manual(folder: &Path) -> Result<(), Failure> {
    let failed = |cause| Failure::io(format!("write manual pages into {}", folder.display()))(cause);
    clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)?;
    let programs = Programs {
        daemon: "/usr/local/libexec/cryptand/cryptand-daemon".into(),
        card: "/usr/local/libexec/cryptand/cryptand-card".into(),
        manifest: None,
    };
    let settings = Settings::new(programs).to_text().map_err(|error| Failure::Usage(error.to_string()))?;
    let own = settings_page(OF_HOME, &settings);
    std::fs::write(folder.join("cryptand-settings.5"), own).map_err(failed)?;
    let tls = settings_page(OF_TLS, include_str!("../../../terminator/src/settings/manual.toml"));
    std::fs::write(folder.join("cryptand-tls-settings.5"), tls).map_err(failed)
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

/// A page of settings: the file is its own manual.
fn settings_page((above, below): (&str, &str), settings: &str) -> String {
    let mut page = above.to_owned();
    for line in settings.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // At the begin of a line these two would be commands.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        page.push_str(&format!("{guard}{line}\n"));
    }
    page + below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_settings_are_text_and_no_commands() {
        let page = settings_page(OF_HOME, "# a-b \\n\n.so /etc/passwd\n'x\n");
        assert!(page.contains("\n# a\\-b \\en\n\\&.so /etc/passwd\n\\&'x\n.fi\n"), "{page}");
    }
}
