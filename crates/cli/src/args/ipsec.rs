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
  cryptand ipsec run -- /usr/lib/ipsec/charon an IKE daemon that uses it, not the kernel's ESP
  cryptand ipsec run -- ip xfrm state         any program that asks the kernel's XFRM
  cryptand ipsec status
  cryptand ipsec top
  cryptand ipsec down

The data plane seals and opens packets of ESP (RFC 4303) that enter and leave a TUN device. SAs come
from an IKE daemon: strongSwan, Libreswan; or from `ip xfrm`. A guide is in docs/ipsec.md.";

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
    /// Put load on a network or a tunnel, and say what became of it
    #[command(subcommand)]
    #[serde(skip)]
    Drive(Box<IpsecDrive>),
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
    /// Threads, each with a queue of the device [default: one for each processor, 64 at most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: Option<u16>,
    /// Accept 3DES, whose blocks are short, and NULL, which enciphers nothing
    #[arg(long)]
    pub weak_suites: bool,
    /// Do without rules of nf_tables, where a kernel has none: programs that name a link then send in clear past
    /// policies
    #[arg(long)]
    pub no_egress_filter: bool,
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

const DRIVE_EXAMPLES: &str = "\
Examples:
  cryptand ipsec drive serve [::]:7007                  the other end, for all workloads
  cryptand ipsec drive rr 10.2.0.1:7007 --request 200 --response 32768 --connections 8
  cryptand ipsec drive crr 10.2.0.1:7007 --rate 2000 --seconds 30 --json
  cryptand ipsec drive stream --namespaces              in two namespaces that are made and removed
  cryptand ipsec drive ping 10.2.0.1:7007 --pid \"$(pgrep cryptand-esp-wo)\"=plane

Every byte is checked at the end that receives it.";

/// `cryptand ipsec drive`.
#[derive(Subcommand, Debug)]
#[command(after_help = DRIVE_EXAMPLES)]
pub enum IpsecDrive {
    /// Requests and responses over connections that stay
    Rr(IpsecLoad),
    /// A connection for each request and its response
    Crr(IpsecLoad),
    /// One way to the server, as fast as it goes
    Stream(IpsecLoad),
    /// One way from the server, as fast as it goes
    Download(IpsecLoad),
    /// Datagrams to the server, with what was lost
    Udp(IpsecLoad),
    /// One request at a time over one connection
    Ping(IpsecLoad),
    /// The other end, for all workloads, until stopped
    Serve(IpsecServe),
}

/// Load, as it is passed on.
#[derive(Args, Debug, Serialize)]
pub struct IpsecLoad {
    /// The server: host:port; left out with --namespaces
    #[arg(
        value_name = "ADDRESS",
        required_unless_present = "namespaces",
        default_value = "",
        hide_default_value = true
    )]
    pub target: String,
    /// Bytes of a request, or of a datagram [default: 200; 64 of crr and udp]
    #[arg(long, value_name = "BYTES")]
    pub request: Option<u32>,
    /// Bytes of a response [default: 1000; 8192 of crr, 200 of ping]
    #[arg(long, value_name = "BYTES")]
    pub response: Option<u32>,
    /// Connections in flight
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub connections: u32,
    /// Threads; each has its share of the connections
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub threads: u32,
    /// How long is measured
    #[arg(long, default_value_t = 10.0, value_name = "S")]
    pub seconds: f64,
    /// What runs before and is not counted, in seconds
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    pub warm_up: f64,
    /// Open loop: so many begin in a second, whether others have ended or not; times count from when each was to begin
    #[arg(long, value_name = "R")]
    pub rate: Option<f64>,
    /// Longest time of a transaction, in seconds
    #[arg(long, default_value_t = 10.0, value_name = "S")]
    pub timeout: f64,
    /// Book the processor time of this process; may be given often
    #[arg(long, value_name = "PID[=NAME]")]
    pub pid: Vec<String>,
    /// Book processes that those have started with them
    #[arg(long, requires = "pid")]
    pub with_children: bool,
    /// How long the server may take to be reached at first, in seconds
    #[arg(long, default_value_t = 0.0, value_name = "S")]
    pub wait: f64,
    /// Load and server in two network namespaces with a wire between them, made for it and removed
    #[arg(long)]
    pub namespaces: bool,
    /// A command of the shell that makes a tunnel, run at each end; END, OUTER_LOCAL, OUTER_REMOTE, INNER_LOCAL and
    /// INNER_REMOTE tell it where it is
    #[arg(long, value_name = "COMMAND", requires = "namespaces")]
    pub both_ends: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `cryptand ipsec drive serve`, as it is passed on.
#[derive(Args, Debug, Serialize)]
pub struct IpsecServe {
    /// host:port, for TCP and UDP
    #[arg(value_name = "ADDRESS", default_value = "[::]:7007")]
    pub address: String,
    /// Threads
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub threads: u32,
    /// Most connections at a time
    #[arg(long, default_value_t = 4096, value_name = "N")]
    pub connections: u32,
}

impl IpsecDrive {
    /// The words by which the program is asked, and its options.
    pub fn passed(&self) -> (&'static str, serde_json::Result<serde_json::Value>) {
        let (workload, load) = match self {
            IpsecDrive::Serve(serve) => return ("drive-serve", serde_json::to_value(serve)),
            IpsecDrive::Rr(load) => ("rr", load),
            IpsecDrive::Crr(load) => ("crr", load),
            IpsecDrive::Stream(load) => ("stream", load),
            IpsecDrive::Download(load) => ("download", load),
            IpsecDrive::Udp(load) => ("udp", load),
            IpsecDrive::Ping(load) => ("ping", load),
        };
        let typed = serde_json::to_value(load).map(|mut typed| {
            typed["workload"] = workload.into();
            typed
        });
        ("drive", typed)
    }
}
