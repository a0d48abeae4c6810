//! `cryptand bench`.

use clap::{Args, ValueEnum, ValueHint};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `cryptand bench`.
#[derive(Args, Debug)]
pub struct Bench {
    /// Keep the parts in docs/measured/KIND.json below this folder, KIND being that of this processor, and write the
    /// pages of all kinds there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub write: Option<PathBuf>,
    /// Measure nothing: write the pages of docs/measured/*.json below this folder, and print which parts are older than
    /// their code
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "write")]
    pub pages: Option<PathBuf>,
    /// Only this part
    #[arg(long, value_name = "PART")]
    pub only: Option<BenchPart>,
    /// Only measurements whose name contains this text (cards: none; queues: groups of rows)
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Rounds of each row of engine and queues; at the levels below, at most 3
    #[arg(long, default_value_t = 7, value_name = "N", value_parser = rounds)]
    pub rounds: usize,
    /// How long each side of a row works in each round, 0.1 s if not given (queues: five times as long); at the levels
    /// below, at most 0.03 s. With `--only kills`, how long cards are killed
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Leave out the levels below this machine's, or below --level
    #[arg(long)]
    pub one_level: bool,
    /// Compare the part `rates` with another build, whose programs are in this folder (`scripts/beside REV` builds one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub beside: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Parts of `cryptand bench`.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BenchPart {
    /// The engine compared with OpenSSL, AWS-LC and ipsec-mb
    Engine,
    /// Whether the time of a call depends on secrets
    Timing,
    /// The facility and cards
    #[default]
    Cards,
    /// One card with a growing number of jobs; with --beside, alternating with another build
    Rates,
    /// Cards that are full, shared, limited, unequal or called by one job
    Queues,
    /// Threads, tickets, loops, processes, cards and keys beside fewer of them, and the share of linear growth
    Scale,
    /// Cards killed one after the other under full load
    Kills,
    /// OpenPGP files compared with gpg, sq and rPGP
    Openpgp,
    /// TLS with keys on cards compared with nginx
    Tls,
    /// Tunnels of IPsec compared with strongSwan's libipsec and wireguard-go
    Ipsec,
    /// PINs, key blocks, card values and chip cards through a card, compared with open packages
    Payments,
}

fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds @ 1..=1000) => Ok(rounds),
        _ => Err("rounds are 1 to 1000".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a side works 0.001 to 60 seconds in a round, cards are killed for 1 to 3600".to_owned()),
    }
}
