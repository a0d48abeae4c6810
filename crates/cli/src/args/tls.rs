//! `cryptand tls`, as typed.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cryptand tls settings > tls.toml        a settings file that is the manual of all of them
  cryptand tls serve --check-config tls.toml
  cryptand tls serve tls.toml

SIGHUP reads the file and all certificates again, SIGTERM stops once connections have ended. The
home of labels is in the file, not in --home. A guide is in docs/tls.md.";

/// `cryptand tls`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Tls {
    /// Serve TLS, until stopped
    Serve(TlsServe),
    /// Print a settings file that is the manual of all of them
    Settings,
}

/// `cryptand tls serve`.
#[derive(Args, Debug)]
pub struct TlsServe {
    /// Read the file and everything that it names, say what is wrong with file, line and key, and serve nothing
    #[arg(long)]
    pub check_config: bool,
    /// The settings file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}
