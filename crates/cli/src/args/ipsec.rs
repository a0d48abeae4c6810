//! `cryptand ipsec`, as typed.

use clap::{Args, Subcommand};
use options::ipsec::{Asked, FolderOption, Load, Serve, Workload};
use std::net::SocketAddr;

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
from an IKE daemon: strongSwan, Libreswan; or from `ip xfrm`. A guide: `cryptand help ipsec.md`.";

/// `cryptand ipsec`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Ipsec {
    #[command(flatten)]
    Asked(Asked),
    /// Put load on a network or a tunnel, and say what became of it
    #[command(subcommand)]
    Drive(Box<IpsecDrive>),
    /// Show what SAs, policies and threads do, for Prometheus
    Metrics(IpsecMetrics),
}

/// `cryptand ipsec metrics`.
#[derive(Args, Debug)]
pub struct IpsecMetrics {
    /// Where it is
    #[command(flatten)]
    pub plane: FolderOption,
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
    Rr(Load),
    /// A connection for each request and its response
    Crr(Load),
    /// One way to the server, as fast as it goes
    Stream(Load),
    /// One way from the server, as fast as it goes
    Download(Load),
    /// Datagrams to the server, with what was lost
    Udp(Load),
    /// One request at a time over one connection
    Ping(Load),
    /// The other end, for all workloads, until stopped
    Serve(Serve),
}

impl IpsecDrive {
    /// The words by which the program is asked, and its options.
    pub fn passed(&self) -> (&'static str, serde_json::Result<serde_json::Value>) {
        let (workload, load) = match self {
            IpsecDrive::Serve(serve) => return ("drive-serve", serde_json::to_value(serve)),
            IpsecDrive::Rr(load) => (Workload::Rr, load),
            IpsecDrive::Crr(load) => (Workload::Crr, load),
            IpsecDrive::Stream(load) => (Workload::Stream, load),
            IpsecDrive::Download(load) => (Workload::Download, load),
            IpsecDrive::Udp(load) => (Workload::Udp, load),
            IpsecDrive::Ping(load) => (Workload::Ping, load),
        };
        ("drive", serde_json::to_value(Load { workload, ..load.clone() }))
    }
}
