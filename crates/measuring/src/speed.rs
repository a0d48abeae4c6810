//! `cryptand speed`.

use super::{InterfaceName, PersonalityName};
use clap::{ArgGroup, Args};

/// `cryptand speed`.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, group = ArgGroup::new("what").required(true).multiple(true))]
pub struct Speed {
    /// What to measure, with a row for each of the usual lengths; `list` names all operations
    #[arg(value_name = "NAME", group = "what")]
    pub names: Vec<String>,
    /// One more operation; alone, it is measured at one length and reported in full
    #[arg(long, value_name = "NAME", group = "what")]
    pub operation: Option<String>,
    /// Lengths of the text of one request, in bytes (default: 16, 64, 256, 1024, 8192 and 16384; with --operation
    /// alone 64)
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub bytes: Vec<usize>,
    /// Requests always in flight, each with a key of its own
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub jobs: usize,
    /// Where to call
    #[arg(long, default_value = "native")]
    pub interface: InterfaceName,
    /// How long to measure each row
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    pub seconds: f64,
    /// Threads of the caller, among which the jobs are divided
    #[arg(long = "threads", visible_alias = "processors", default_value_t = 1, value_name = "N")]
    pub processors: usize,
    /// Cards to spread over (interface card)
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub cards: u32,
    /// Personality of those cards (default: accelerator for clear-key RSA, else coprocessor)
    #[arg(long)]
    pub personality: Option<PersonalityName>,
    /// Open loop: this many requests a second, latency from the intended start
    #[arg(long, value_name = "R")]
    pub rate: Option<f64>,
    /// Find the highest rate whose 99th percentile stays below --p99
    #[arg(long, requires = "p99")]
    pub find_knee: bool,
    /// Bound for --find-knee, in microseconds
    #[arg(long, value_name = "US")]
    pub p99: Option<f64>,
    /// Prepare clear keys once instead of passing them with each call
    #[arg(long)]
    pub prepared: bool,
    /// Print a line of JSON for each row
    #[arg(long)]
    pub json: bool,
}

/// Below the help of `cryptand speed`.
const EXAMPLES: &str = "\
Examples:
  cryptand speed list
  cryptand speed aes128-gcm-encipher sha256
  cryptand speed tdes-mac --bytes 64,4096 --jobs 8 --interface card
  cryptand speed --operation rsa2048-crt --seconds 5";
