//! The options of a run, checked and resolved.

use crate::header::{DATAGRAM_HEAD_BYTES, Header};
use options::ipsec::{Load, Workload};
use pacing::usage;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// Upper bound of connections in flight.
const CONNECTIONS_MAX: u32 = 1 << 16;
const THREADS_MAX: u32 = 256;
/// Bounds of an open loop's starts a second.
const RATE_MIN: f64 = 0.001;
const RATE_MAX: f64 = 1e7;
/// Upper bound of processes whose processor time is counted.
const BOOKED_MAX: usize = 256;

/// A process whose processor time is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booked {
    /// Process number.
    pub pid: u32,
    /// Name of the process in the report.
    pub name: String,
}

/// A run whose options are checked and resolved.
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
    /// Checks the options, and looks up the host's name.
    ///
    /// # Errors
    /// The option at fault, and why.
    pub fn new(typed: &Load) -> Result<Self, String> {
        let target = address(&typed.target)?;
        let mut booked = typed.pid.iter().map(|text| booked(text)).collect::<Result<Vec<_>, _>>()?;
        if typed.with_children {
            for pid in usage::descendants(&booked.iter().map(|booked| booked.pid).collect::<Vec<_>>()) {
                booked.extend(usage::name(pid).map(|name| Booked { pid, name }));
            }
        }
        Self::at(typed, target, booked)
    }

    /// Checks the options only; address and processes are given, so that the machine is not asked.
    ///
    /// # Errors
    /// The option at fault, and why.
    pub fn at(typed: &Load, target: SocketAddr, booked: Vec<Booked>) -> Result<Self, String> {
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

    /// The header with which the client's connections begin.
    #[must_use]
    pub fn header(&self, seed: u64) -> Header {
        Header { workload: self.workload, request: self.request, response: self.response, seed }
    }
}

/// Bytes of a request and of a response, from the options.
fn lengths(typed: &Load) -> Result<(u32, u32), String> {
    let usual = typed.workload.usual_bytes();
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

/// The first address that `host:port` resolves to.
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

    fn typed(workload: Workload) -> Load {
        Load { workload, target: "127.0.0.1:7".to_owned(), ..Load::default() }
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
        let wrong = |typed: Load, said: &str| {
            let why = Plan::new(&typed).unwrap_err();
            assert!(why.contains(said), "{why}");
        };
        let rr = typed(Workload::Rr);
        wrong(Load { target: "nowhere".to_owned(), ..rr.clone() }, "nowhere");
        wrong(Load { request: Some(0), ..rr.clone() }, "--request");
        wrong(Load { response: Some(u32::MAX), ..rr.clone() }, "--response");
        wrong(Load { connections: 0, ..rr.clone() }, "--connections");
        wrong(Load { threads: 2, ..rr.clone() }, "--threads");
        wrong(Load { seconds: 0.0, ..rr.clone() }, "--seconds");
        wrong(Load { seconds: f64::NAN, ..rr.clone() }, "--seconds");
        wrong(Load { warm_up: -1.0, ..rr.clone() }, "--warm-up");
        wrong(Load { rate: Some(0.0), ..rr.clone() }, "--rate");
        wrong(Load { timeout: f64::INFINITY, ..rr.clone() }, "--timeout");
        wrong(Load { pid: vec!["x".to_owned()], ..rr.clone() }, "--pid");
        wrong(Load { pid: vec![u32::MAX.to_string()], ..rr }, "no such process");
        wrong(Load { request: Some(23), ..typed(Workload::Crr) }, "crr");
        wrong(Load { request: Some(15), ..typed(Workload::Udp) }, "datagrams");
        wrong(Load { request: Some(1), ..typed(Workload::Stream) }, "stream");
        wrong(Load { rate: Some(1.0), ..typed(Workload::Download) }, "--rate");
        wrong(Load { connections: 2, ..typed(Workload::Ping) }, "--connections");
    }

    #[test]
    fn options_are_an_object_of_json() {
        let text = serde_json::to_string(&typed(Workload::Crr)).unwrap();
        let read: Load = serde_json::from_str(&text).unwrap();
        assert_eq!((read.workload, read.target.as_str()), (Workload::Crr, "127.0.0.1:7"));
        let changed = |fields: &str| options::changed(&read, serde_json::from_str(fields).unwrap());
        assert_eq!(changed(r#"{"workload": "rr"}"#).unwrap().workload, Workload::Rr);
        assert!(changed(r#"{"workload": "rr", "sizes": 1}"#).is_err());
        assert!(changed(r#"{"workload": "sr"}"#).is_err());
        assert!(serde_json::from_str::<Load>(r#"{"workload": "rr"}"#).is_err());
    }
}
