//! Manual pages and completions, made from the definitions in [`crate::args`].

use crate::args::Arguments;
use crate::failure::Failure;
use clap::CommandFactory;
use std::path::Path;

/// Prints a shell's completions.
pub fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "cryptand", &mut text);
    super::print(&String::from_utf8_lossy(&text))
}

/// Writes a manual page for each command into a folder.
pub fn manual(folder: &Path) -> Result<(), Failure> {
    clap_mangen::generate_to(Arguments::command(), folder)
        .map_err(Failure::io(format!("write manual pages into {}", folder.display())))
}
