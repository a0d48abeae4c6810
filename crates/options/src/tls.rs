//! What is typed after `cryptand tls`.

use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Keys for tickets that a file keeps where nothing else is said.
pub const TICKET_KEYS: u8 = 3;
/// Most keys for tickets in a file.
pub const TICKET_KEYS_MAX: u8 = 16;
/// How long load is measured, in seconds, where neither a time nor a number of transactions is typed.
pub const DRIVE_SECONDS: f64 = 10.0;

/// `cryptand tls ticket-key`.
#[derive(Args, Clone, Debug)]
pub struct TicketKey {
    /// How many keys the file keeps, the new one too
    #[arg(long, default_value_t = TICKET_KEYS, value_parser = clap::value_parser!(u8).range(1..=i64::from(TICKET_KEYS_MAX)))]
    pub keep: u8,
    /// The file; it is made if there is none
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

/// `cryptand tls status`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Status {
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

const DRIVE_EXAMPLES: &str = "\
Examples:
  cryptand tls drive www.example.org:443 --http / --seconds 10
  cryptand tls drive 127.0.0.1:4433 --tls 1.3 --connections 64 --warm-up 1 --pid 4711=server
  cryptand tls drive 127.0.0.1:4433 --tls 1.2 --suite AES128-GCM-SHA256 --send 2048 --receive 2048
  cryptand tls drive 127.0.0.1:4433 --resume 90 --sni @names.txt --json
  cryptand tls drive 127.0.0.1:4433 --rate 2000 --connections 500
  cryptand tls drive 127.0.0.1:4433 --find-knee --within 10 --connections 500 --warm-up 1 --seconds 5

A transaction is one connection from its begin to the last byte of the last answer. Certificates are
not checked unless --ca says by which roots. A guide: `cryptand help tls-drive`.";

/// `cryptand tls drive`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
#[command(after_help = DRIVE_EXAMPLES)]
pub struct Drive {
    /// The server: host:port or unix:/path
    #[arg(value_name = "ADDRESS")]
    pub target: String,
    /// Connections in flight
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub connections: u32,
    /// Threads; each has its share of the connections
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub threads: u32,
    /// How long is measured; 10 s unless --transactions is given
    #[arg(long, value_name = "S", conflicts_with = "transactions")]
    pub seconds: Option<f64>,
    /// How many transactions are measured
    #[arg(long, value_name = "N")]
    pub transactions: Option<u64>,
    /// What runs before and is not counted, in seconds
    #[arg(long, default_value_t = 0.0, value_name = "S")]
    pub warm_up: f64,
    /// Open loop: so many connections begin in a second, whether others have ended or not; times count from when each
    /// was to begin
    #[arg(long, value_name = "R")]
    pub rate: Option<f64>,
    /// Search the highest rate at which 99 of 100 transactions stay within --within and none fails
    #[arg(long, conflicts_with = "transactions")]
    pub find_knee: bool,
    /// What they may take, in milliseconds
    #[arg(long, default_value_t = 20.0, value_name = "MS", requires = "find_knee")]
    pub within: f64,
    /// Share of connections that are to go on with a session from before, in percent
    #[arg(long, default_value_t = 0.0, value_name = "PERCENT")]
    pub resume: f64,
    /// How: `ticket` or `session-id`
    #[arg(long, default_value = "ticket", value_name = "HOW", value_parser = ["ticket", "session-id"])]
    pub resume_by: String,
    /// Sessions that are kept; the oldest one goes first
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub cache_size: usize,
    /// How long a session is kept, in seconds
    #[arg(long, default_value_t = 7200.0, value_name = "S")]
    pub cache_lifetime: f64,
    /// Show this certificate, with those above it, to a server that asks for one
    #[arg(long, value_name = "CHAIN.pem", value_hint = ValueHint::FilePath, requires = "client_key")]
    pub client_certificate: Option<PathBuf>,
    /// Its private key, RSA or P-256
    #[arg(long, value_name = "KEY.pem", value_hint = ValueHint::FilePath, requires = "client_certificate")]
    pub client_key: Option<PathBuf>,
    /// Bytes of a message
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub send: u64,
    /// Bytes of its answer
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub receive: u64,
    /// Messages in a connection
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub messages: u64,
    /// Writes that a message is split into
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub packets: u64,
    /// Ask for this path by HTTP/1.1 in place of messages
    #[arg(long, value_name = "PATH", conflicts_with_all = ["send", "receive", "packets"])]
    pub http: Option<String>,
    /// Version: 1.2 or 1.3
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"])]
    pub tls: Option<String>,
    /// The only suite that counts, by OpenSSL's name; others are errors
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,
    /// The only group that counts: X25519, X25519MLKEM768, P-256, P-384; others are errors
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Names to ask for in turn: NAME[,NAME...], or @FILE with one a line
    #[arg(long, value_name = "NAMES")]
    pub sni: Option<String>,
    /// Check certificates by the roots in this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
    /// The client's TLS library: GnuTLS, if it is installed, offers a suite alone, and old ones: RC4, 3DES
    #[arg(long, default_value = "s2n", value_name = "NAME", value_parser = ["s2n", "gnutls"])]
    pub library: String,
    /// GnuTLS's priority string, in place of --tls, --suite and --group
    #[arg(long, value_name = "STRING", conflicts_with_all = ["tls", "suite", "group"])]
    pub priority: Option<String>,
    /// Longest time of a connection's handshake, and of each message, in seconds
    #[arg(long, default_value_t = 10.0, value_name = "S")]
    pub timeout: f64,
    /// Book the processor time of this process; may be given often
    #[arg(long, value_name = "PID[=NAME]")]
    pub pid: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Default for Drive {
    fn default() -> Self {
        crate::usual()
    }
}
