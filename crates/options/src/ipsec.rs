//! What is typed after `cryptand ipsec`.

use clap::{Args, Subcommand, ValueHint};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// The variable of the environment that names the folder of a data plane. The library that is preloaded into IKE
/// daemons reads it too.
pub const FOLDER_VARIABLE: &str = "CRYPTAND_ESP";
/// The folder where the variable names none.
pub const FOLDER: &str = "/run/cryptand-esp";
/// The device where none is named.
pub const DEVICE: &str = "cryptand0";
/// Least MTU of the device, in bytes: what IPv6 asks for (RFC 8200, 5).
pub const MTU_MIN: u32 = 1280;
/// Most threads of a data plane.
pub const THREADS_MAX: u16 = 64;
/// The usual port of the other end of load.
pub const PORT: u16 = 7007;
/// Threads of the other end of load where nothing is typed.
const SERVE_THREADS: u32 = 1;
/// Connections of the other end of load where nothing is typed.
const SERVE_CONNECTIONS: u32 = 4096;

/// What the program `cryptand-esp` is asked beside load.
#[derive(Subcommand, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// Say what of IPsec this kernel has, and whether its own ESP is the better choice
    Check(Check),
    /// Serve a data plane in this network namespace, in the background
    Up(Up),
    /// End the data plane, and take its device, rules and routes away
    Down(FolderOption),
    /// Run a program whose XFRM requests, to the kernel, go to the data plane
    Run(Run),
    /// Show how the data plane stands: packets, drops by reason, threads
    Status(Show),
    /// Show what SAs carry, every second
    Top(Top),
    /// Security associations
    #[command(subcommand)]
    Sa(List),
    /// Policies
    #[command(subcommand)]
    Policy(List),
    /// Capture packets outside, with the keys that open them, for Wireshark
    Capture(Capture),
}

/// Which data plane is meant: by the folder of its sockets.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct FolderOption {
    /// Folder of its sockets [default: /run/cryptand-esp]
    #[arg(long, value_name = "DIR", env = FOLDER_VARIABLE, value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
}

/// `cryptand ipsec check`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Where a data plane would be
    #[command(flatten)]
    pub plane: FolderOption,
    /// One JSON object in place of text
    #[arg(long)]
    pub json: bool,
}

/// `cryptand ipsec up`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Up {
    /// Where it is
    #[command(flatten)]
    pub plane: FolderOption,
    /// How it serves
    #[command(flatten)]
    pub how: How,
    /// Serve in the foreground, until SIGTERM or SIGINT
    #[arg(long)]
    pub foreground: bool,
    /// Leave rules and routes where it ends by a signal: what policies protect is dropped until the next one serves
    #[arg(long)]
    pub keep: bool,
}

/// How a data plane serves.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct How {
    /// Name of its TUN device
    #[arg(long, value_name = "NAME", default_value = DEVICE)]
    pub device: String,
    /// MTU of the device, in bytes [default: the least of all links, less 100]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(i64::from(MTU_MIN)..=65_000))]
    pub mtu: Option<u32>,
    /// Threads, each with a queue of the device [default: one for each processor, 64 at most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(THREADS_MAX)))]
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
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Where it is
    #[command(flatten)]
    pub plane: FolderOption,
    /// Begin a data plane for the program, and end it when the program ends
    #[arg(long)]
    pub up: bool,
    /// How that serves
    #[command(flatten)]
    pub how: How,
    /// The program, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    #[serde(skip)]
    pub program: Vec<OsString>,
}

/// `cryptand ipsec status`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Where it is
    #[command(flatten)]
    pub plane: FolderOption,
    /// JSON in place of text
    #[arg(long)]
    pub json: bool,
}

/// `cryptand ipsec sa` and `cryptand ipsec policy`.
#[derive(Subcommand, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum List {
    /// List them
    List(Show),
}

/// `cryptand ipsec top`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Top {
    /// Where it is
    #[command(flatten)]
    pub plane: FolderOption,
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
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Where it is
    #[command(flatten)]
    pub plane: FolderOption,
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

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Requests and responses over connections that stay.
    Rr,
    /// A connection for each request, which the server closes behind its response.
    Crr,
    /// One way from client to server, as fast as it goes.
    Stream,
    /// One way from server to client.
    Download,
    /// Datagrams from client to server; the connection is for counts alone.
    Udp,
    /// One request at a time over one connection.
    Ping,
}

impl Workload {
    /// As it is typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rr => "rr",
            Self::Crr => "crr",
            Self::Stream => "stream",
            Self::Download => "download",
            Self::Udp => "udp",
            Self::Ping => "ping",
        }
    }

    /// Bytes of a request and of a response where none are typed.
    #[must_use]
    pub const fn usual_bytes(self) -> (u32, u32) {
        match self {
            Self::Rr => (200, 1000),
            Self::Crr => (64, 8192),
            Self::Ping => (200, 200),
            Self::Udp => (64, 0),
            Self::Stream | Self::Download => (0, 0),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `cryptand ipsec drive` with a workload.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// What is measured: the word before the options
    #[arg(skip = Workload::Rr)]
    pub workload: Workload,
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

impl Default for Load {
    fn default() -> Self {
        crate::usual()
    }
}

/// `cryptand ipsec drive serve`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Serve {
    /// host:port, for TCP and UDP
    #[arg(value_name = "ADDRESS", default_value_t = format!("[::]:{PORT}"))]
    pub address: String,
    /// Threads
    #[arg(long, default_value_t = SERVE_THREADS, value_name = "N")]
    pub threads: u32,
    /// Most connections at a time
    #[arg(long, default_value_t = SERVE_CONNECTIONS, value_name = "N")]
    pub connections: u32,
}

impl Serve {
    /// Serves at an address, as usual otherwise.
    #[must_use]
    pub fn at(address: String) -> Self {
        Self { address, threads: SERVE_THREADS, connections: SERVE_CONNECTIONS }
    }
}
