//! `cryptand ipsec`, as typed, and as it is passed on.

use clap::{Args, Subcommand, ValueHint};
use serde::Serialize;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cryptand ipsec check                        what this kernel has, and what to do
  cryptand ipsec up                           serve a data plane in this network namespace
  cryptand ipsec run -- /usr/lib/ipsec/charon an IKE daemon that uses it in place of the kernel's ESP
  cryptand ipsec run -- ip xfrm state         any program that asks the kernel's XFRM
  cryptand ipsec status
  cryptand ipsec top
  cryptand ipsec down

The data plane seals and opens packets of ESP (RFC 4303) that enter and leave a TUN device. SAs come from an
IKE daemon: strongSwan, Libreswan; or from `ip xfrm`. A guide is in docs/ipsec.md.";

/// `cryptand ipsec`.
#[derive(Subcommand, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub enum Ipsec {
    /// Say what of IPsec this kernel has, and whether its own ESP is the better choice
    Check(IpsecCheck),
    /// Serve a data plane in this network namespace, in the background
    Up(IpsecUp),
    /// End the data plane, and take its device, rules and routes away
    Down(IpsecPlace),
    /// Run a program whose XFRM requests, to the kernel, go to the data plane
    Run(IpsecRun),
    /// Show how the data plane stands: packets, drops by reason, threads
    Status(IpsecShow),
    /// Show what SAs carry, every second
    Top(IpsecTop),
    /// Security associations
    #[command(subcommand)]
    Sa(IpsecList),
    /// Policies
    #[command(subcommand)]
    Policy(IpsecList),
    /// Capture packets outside, with the keys that open them, for Wireshark
    Capture(IpsecCapture),
    /// Show what SAs, policies and threads do, for Prometheus
    Metrics(IpsecMetrics),
}

/// Where a data plane is.
#[derive(Args, Debug, Clone, Serialize)]
pub struct IpsecPlace {
    /// Folder of its sockets [default: /run/cryptand-esp]
    #[arg(long, value_name = "DIR", env = "CRYPTAND_ESP", value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
}

/// `cryptand ipsec check`.
#[derive(Args, Debug, Serialize)]
pub struct IpsecCheck {
    /// Where a data plane would be
    #[command(flatten)]
    #[serde(flatten)]
    pub place: IpsecPlace,
    /// One JSON object in place of text
    #[arg(long)]
    pub json: bool,
}

/// `cryptand ipsec up`.
#[derive(Args, Debug, Serialize)]
pub struct IpsecUp {
    /// Where it is
    #[command(flatten)]
    #[serde(flatten)]
    pub place: IpsecPlace,
    /// How it serves
    #[command(flatten)]
    #[serde(flatten)]
    pub how: IpsecHow,
    /// Serve in the foreground, until SIGTERM or SIGINT
    #[arg(long)]
    pub foreground: bool,
    /// Leave rules and routes where it ends by a signal: what policies protect is dropped until the next one serves
    #[arg(long)]
    pub keep: bool,
}

/// How a data plane serves.
#[derive(Args, Debug, Serialize)]
pub struct IpsecHow {
    /// Name of its TUN device
    #[arg(long, value_name = "NAME", default_value = "cryptand0")]
    pub device: String,
    /// MTU of the device, in bytes [default: the least of all links, less 100]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1280..=65_000))]
    pub mtu: Option<u32>,
    /// Threads, each with a queue of the device [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Accept 3DES, whose blocks are short, and NULL, which enciphers nothing
    #[arg(long)]
    pub weak_suites: bool,
}

/// `cryptand ipsec run`.
#[derive(Args, Debug, Serialize)]
pub struct IpsecRun {
    /// Where it is
    #[command(flatten)]
    #[serde(flatten)]
    pub place: IpsecPlace,
    /// Begin a data plane for the program, and end it when the program ends
    #[arg(long)]
    pub up: bool,
    /// How that serves
    #[command(flatten)]
    #[serde(flatten)]
    pub how: IpsecHow,
    /// The program, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    #[serde(skip)]
    pub program: Vec<OsString>,
}

/// `cryptand ipsec status`.
#[derive(Args, Debug, Serialize)]
pub struct IpsecShow {
    /// Where it is
    #[command(flatten)]
    #[serde(flatten)]
    pub place: IpsecPlace,
    /// JSON in place of text
    #[arg(long)]
    pub json: bool,
}

/// `cryptand ipsec sa` and `cryptand ipsec policy`.
#[derive(Subcommand, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IpsecList {
    /// List them
    List(IpsecShow),
}

/// `cryptand ipsec top`.
#[derive(Args, Debug, Serialize)]
pub struct IpsecTop {
    /// Where it is
    #[command(flatten)]
    #[serde(flatten)]
    pub place: IpsecPlace,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub every: u64,
    /// So many looks, and then end [default: until stopped]
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// A JSON object for each look
    #[arg(long)]
    pub json: bool,
}

/// `cryptand ipsec capture`.
#[derive(Args, Debug, Serialize)]
pub struct IpsecCapture {
    /// Where it is
    #[command(flatten)]
    #[serde(flatten)]
    pub place: IpsecPlace,
    /// Say that whoever has the folder can read, and forge, everything that the SAs of this moment carry
    #[arg(long, required = true)]
    pub give_keys_away: bool,
    /// The link outside [default: all]
    #[arg(long, value_name = "NAME", default_value = "any")]
    pub interface: String,
    /// How long packets are captured
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// A folder that is not there yet
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub into: PathBuf,
}

/// `cryptand ipsec metrics`.
#[derive(Args, Debug, Serialize)]
pub struct IpsecMetrics {
    /// Where it is
    #[command(flatten)]
    #[serde(flatten)]
    pub place: IpsecPlace,
    /// Serve them at http://ADDRESS/metrics, until stopped [default: print them once]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
}
