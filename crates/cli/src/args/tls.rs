//! `cryptand tls`, as typed.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cryptand tls settings > tls.toml        a settings file that is the manual of all of them
  cryptand tls serve --check-config tls.toml
  cryptand tls serve tls.toml
  cryptand tls status                     of the service; `cryptand tls status tls.toml` of another one

SIGHUP reads the file and all certificates again, SIGTERM stops once connections have ended. The
home of labels is in the file, not in --home. A guide is in docs/tls.md.";

/// `cryptand tls`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Tls {
    /// Serve TLS, until stopped
    Serve(TlsServe),
    /// Show what a running server serves, to whom and how fast, and where its keys are
    Status(TlsStatus),
    /// Print a settings file that is the manual of all of them
    Settings,
    /// Put a new key before those of a file of keys for tickets, which machines share
    TicketKey(TlsTicketKey),
}

/// `cryptand tls ticket-key`.
#[derive(Args, Debug)]
pub struct TlsTicketKey {
    /// How many keys the file keeps, the new one too
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub keep: u8,
    /// The file; it is made if there is none
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
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

/// `cryptand tls status`.
#[derive(Args, Debug)]
pub struct TlsStatus {
    /// The settings file of the running server [default: that of the service]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Ask at this Unix socket instead
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, conflicts_with = "file")]
    pub socket: Option<PathBuf>,
    /// Count handshakes for so many seconds, for their rate; 0: show no rate
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub over: u64,
    /// One JSON object in place of text
    #[arg(long)]
    pub json: bool,
}
