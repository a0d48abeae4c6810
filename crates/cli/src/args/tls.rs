//! `cryptand tls`, as typed.

use clap::{Args, Subcommand, ValueHint};
use options::tls::{Drive, Status, TicketKey};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cryptand tls settings > tls.toml        a settings file that is the manual of all of them
  cryptand tls serve --check-config tls.toml
  cryptand tls serve tls.toml
  cryptand tls status                     of the service; `cryptand tls status tls.toml` of another one
  cryptand tls drive 127.0.0.1:443 --seconds 10

SIGHUP reads the file and all certificates again, SIGTERM stops once connections have ended. The
home of labels is in the file, not in --home. A guide: `cryptand help tls.md`.";

/// `cryptand tls`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Tls {
    /// Serve TLS, until stopped
    Serve(TlsServe),
    /// Show what a running server serves, to whom and how fast, and where its keys are
    Status(Status),
    /// Put load on a TLS server, ours or another one, and say what became of it
    Drive(Box<Drive>),
    /// Print a settings file that is the manual of all of them
    Settings,
    /// Put a new key before those of a file of keys for tickets, which machines share
    TicketKey(TicketKey),
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
