//! What was typed, and what it means.

use crate::header::{DATAGRAM_HEAD_BYTES, Header, Workload};
use pacing::usage;
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// Most connections in flight.
const CONNECTIONS_MAX: u32 = 1 << 16;
const THREADS_MAX: u32 = 256;
/// Starts a second of an open loop.
const RATE_MIN: f64 = 0.001;
const RATE_MAX: f64 = 1e7;
/// Most processes whose time is booked.
const BOOKED_MAX: usize = 256;

/// The options as a command hands them on: one object of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Typed {
    /// What is measured.
    pub workload: Workload,
    /// `host:port` of a server of these workloads.
    pub target: String,
    /// Bytes of a request, or of a datagram; 200 where nothing is said, 64 of *crr* and *udp*.
    pub request: Option<u32>,
    /// Bytes of a response; 1,000 where nothing is said, 8,192 of *crr*, 200 of *ping*.
    pub response: Option<u32>,
    /// Connections in flight; 1 of *ping* and *udp*.
    pub connections: u32,
    /// Threads, each with its share of the connections.
    pub threads: u32,
    /// How long is measured.
    pub seconds: f64,
    /// What runs before and is not counted, in seconds.
    pub warm_up: f64,
    /// Transactions or datagrams that begin in a second, whether others have ended or not; without it each begins when
    /// another one ends.
    pub rate: Option<f64>,
    /// Longest time of a transaction, and how long a stream waits for its end, in seconds.
    pub timeout: f64,
    /// Processes whose processor time is booked: `PID` or `PID=NAME`.
    pub pid: Vec<String>,
    /// Processes that booked ones have started are booked with them.
    pub with_children: bool,
    /// How long the server may take to be reached at first, in seconds.
    pub wait: f64,
    /// Load and server run in two namespaces that are made for it and removed; the target is left out, or an address
    /// there.
    pub namespaces: bool,
    /// With `namespaces`: a command of the shell that makes a tunnel, run at each end. It is told where it is by
    /// environment variables: `END` (`a` or `b`), `OUTER_LOCAL`, `OUTER_REMOTE`, `INNER_LOCAL`, `INNER_REMOTE`. Its
    /// processor time, and that of what it starts, is booked.
    pub both_ends: Option<String>,
    /// Whether programs read the result.
    pub json: bool,
}

impl Default for Typed {
    fn default() -> Self {
        Self {
            workload: Workload::Rr,
            target: String::new(),
            request: None,
            response: None,
            connections: 1,
            threads: 1,
            seconds: 10.0,
            warm_up: 1.0,
            rate: None,
            timeout: 10.0,
            pid: Vec::new(),
            with_children: false,
            wait: 0.0,
            namespaces: false,
            both_ends: None,
            json: false,
        }
    }
}

/// A process whose processor time is booked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booked {
    /// Its number.
    pub pid: u32,
    /// What it is called in the report.
    pub name: String,
}

/// A run that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) workload: Workload,
    pub(crate) target: SocketAddr,
    pub(crate) target_text: String,
    pub(crate) request: u32,
    pub(crate) response: u32,
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    pub(crate) seconds: Duration,
    pub(crate) warm_up: Duration,
    pub(crate) rate: Option<f64>,
    pub(crate) timeout: Duration,
    pub(crate) booked: Vec<Booked>,
    pub(crate) is_json: bool,
}

impl Plan {
    /// Makes sense of what was typed; looks up the name of a host.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(typed: &Typed) -> Result<Self, String> {
        let target = address(&typed.target)?;
        let mut booked = typed.pid.iter().map(|text| booked(text)).collect::<Result<Vec<_>, _>>()?;
        if typed.with_children {
            for pid in usage::descendants(&booked.iter().map(|booked| booked.pid).collect::<Vec<_>>()) {
                booked.extend(usage::name(pid).map(|name| Booked { pid, name }));
            }
        }
        Self::at(typed, target, booked)
    }

    /// The same without asking the machine: with the address and the processes that it names.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn at(typed: &Typed, target: SocketAddr, booked: Vec<Booked>) -> Result<Self, String> {
        let (request, response) = lengths(typed)?;
        let connections = within("--connections", typed.connections, 1, CONNECTIONS_MAX)?;
        let threads = within("--threads", typed.threads, 1, THREADS_MAX)?;
        if threads > connections {
            return Err("--threads: each thread has a connection at least".to_owned());
        }
        if matches!(typed.workload, Workload::Ping | Workload::Udp) && connections > 1 {
            return Err(format!("--connections: {} has one", typed.workload));
        }
        if typed.rate.is_some_and(|rate| !(RATE_MIN..=RATE_MAX).contains(&rate)) {
            return Err(format!("--rate: {RATE_MIN} to {RATE_MAX} a second"));
        }
        if typed.rate.is_some() && matches!(typed.workload, Workload::Stream | Workload::Download) {
            return Err(format!("--rate: {} goes as fast as it can", typed.workload));
        }
        if booked.len() > BOOKED_MAX {
            return Err(format!("--pid: {BOOKED_MAX} processes at the most"));
        }
        Ok(Self {
            workload: typed.workload,
            target,
            target_text: typed.target.clone(),
            request,
            response,
            connections: connections as usize,
            threads: threads as usize,
            seconds: time("--seconds", typed.seconds, 0.01)?,
            warm_up: time("--warm-up", typed.warm_up, 0.0)?,
            rate: typed.rate,
            timeout: time("--timeout", typed.timeout, 0.001)?,
            booked,
            is_json: typed.json,
        })
    }

    /// What a connection begins with.
    #[must_use]
    pub fn header(&self, seed: u64) -> Header {
        Header { workload: self.workload, request: self.request, response: self.response, seed }
    }
}

/// Bytes of a request and a response.
fn lengths(typed: &Typed) -> Result<(u32, u32), String> {
    let usual = match typed.workload {
        Workload::Rr => (200, 1000),
        Workload::Crr => (64, 8192),
        Workload::Ping => (200, 200),
        Workload::Udp => (64, 0),
        Workload::Stream | Workload::Download => (0, 0),
    };
    let (request, response) = (typed.request.unwrap_or(usual.0), typed.response.unwrap_or(usual.1));
    let header = Header { workload: typed.workload, request, response, seed: 0 };
    match header.checked() {
        Ok(_) => Ok((request, response)),
        Err(_) => Err(match typed.workload {
            Workload::Rr | Workload::Ping => {
                format!("--request, --response: 1 to {} bytes", crate::header::MESSAGE_BYTES_MAX)
            }
            Workload::Crr => format!(
                "--request, --response: requests of crr have {} to {} bytes, responses 1 to as many",
                crate::header::HEADER_BYTES,
                crate::header::MESSAGE_BYTES_MAX
            ),
            Workload::Udp => format!(
                "--request: datagrams have {DATAGRAM_HEAD_BYTES} to {} bytes; they have no responses",
                crate::header::DATAGRAM_BYTES_MAX
            ),
            Workload::Stream | Workload::Download => {
                format!("--request, --response: {} has neither", typed.workload)
            }
        }),
    }
}

fn within(option: &str, value: u32, least: u32, most: u32) -> Result<u32, String> {
    if (least..=most).contains(&value) { Ok(value) } else { Err(format!("{option}: {least} to {most}")) }
}

fn time(option: &str, seconds: f64, least: f64) -> Result<Duration, String> {
    if (least..=1e6).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("{option}: {least} to 1000000 seconds"))
    }
}

/// The first address of `host:port`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let mut found = text.to_socket_addrs().map_err(|error| format!("{text:?} is no host:port: {error}"))?;
    found.next().ok_or_else(|| format!("{text:?}: no such host"))
}

fn booked(text: &str) -> Result<Booked, String> {
    let (number, name) = text.split_once('=').map_or((text, None), |(number, name)| (number, Some(name)));
    let pid = number.parse().map_err(|_| format!("--pid {text:?}: PID or PID=NAME"))?;
    let own = usage::name(pid).ok_or_else(|| format!("--pid {text}: there is no such process"))?;
    Ok(Booked { pid, name: name.map_or(own, str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(workload: Workload) -> Typed {
        Typed { workload, target: "127.0.0.1:7".to_owned(), ..Typed::default() }
    }

    #[test]
    fn workloads_have_their_usual_lengths() {
        for (workload, lengths) in [
            (Workload::Rr, (200, 1000)),
            (Workload::Crr, (64, 8192)),
            (Workload::Ping, (200, 200)),
            (Workload::Udp, (64, 0)),
            (Workload::Stream, (0, 0)),
            (Workload::Download, (0, 0)),
        ] {
            let plan = Plan::new(&typed(workload)).unwrap();
            assert_eq!((plan.request, plan.response), lengths);
            assert_eq!(plan.header(3).checked(), Ok(plan.header(3)));
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let wrong = |typed: Typed, said: &str| {
            let why = Plan::new(&typed).unwrap_err();
            assert!(why.contains(said), "{why}");
        };
        let rr = typed(Workload::Rr);
        wrong(Typed { target: "nowhere".to_owned(), ..rr.clone() }, "nowhere");
        wrong(Typed { request: Some(0), ..rr.clone() }, "--request");
        wrong(Typed { response: Some(u32::MAX), ..rr.clone() }, "--response");
        wrong(Typed { connections: 0, ..rr.clone() }, "--connections");
        wrong(Typed { threads: 2, ..rr.clone() }, "--threads");
        wrong(Typed { seconds: 0.0, ..rr.clone() }, "--seconds");
        wrong(Typed { seconds: f64::NAN, ..rr.clone() }, "--seconds");
        wrong(Typed { warm_up: -1.0, ..rr.clone() }, "--warm-up");
        wrong(Typed { rate: Some(0.0), ..rr.clone() }, "--rate");
        wrong(Typed { timeout: f64::INFINITY, ..rr.clone() }, "--timeout");
        wrong(Typed { pid: vec!["x".to_owned()], ..rr.clone() }, "--pid");
        wrong(Typed { pid: vec![u32::MAX.to_string()], ..rr }, "no such process");
        wrong(Typed { request: Some(23), ..typed(Workload::Crr) }, "crr");
        wrong(Typed { request: Some(15), ..typed(Workload::Udp) }, "datagrams");
        wrong(Typed { request: Some(1), ..typed(Workload::Stream) }, "stream");
        wrong(Typed { rate: Some(1.0), ..typed(Workload::Download) }, "--rate");
        wrong(Typed { connections: 2, ..typed(Workload::Ping) }, "--connections");
    }

    #[test]
    fn options_are_an_object_of_json() {
        let text = serde_json::to_string(&typed(Workload::Crr)).unwrap();
        let read: Typed = serde_json::from_str(&text).unwrap();
        assert_eq!((read.workload, read.target.as_str()), (Workload::Crr, "127.0.0.1:7"));
        assert!(serde_json::from_str::<Typed>(r#"{"workload": "rr", "sizes": 1}"#).is_err());
        assert!(serde_json::from_str::<Typed>(r#"{"workload": "sr"}"#).is_err());
    }
}
