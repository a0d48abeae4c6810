//! The load driver as a program: its options, and its report of a run.

use crate::cards::bound;
use crate::load::LabError;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of the driver's error text that are kept.
const COMPLAINT_BYTES_MAX: usize = 2000;

/// Protocol versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Version {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

impl Version {
    /// The version as an option of the driver.
    pub const fn typed(self) -> &'static str {
        match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        }
    }

    /// The version in the driver's report.
    pub const fn said(self) -> &'static str {
        match self {
            Self::Tls12 => "TLSv1.2",
            Self::Tls13 => "TLSv1.3",
        }
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// After this many seconds.
    Seconds(f64),
    /// After this many transactions.
    Transactions(u64),
}

/// The data of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Data {
    /// No data: a transaction is a handshake.
    None,
    /// A request of HTTP, whose path makes it `send` bytes long; the answer ends by its length.
    Http {
        /// Bytes of the request.
        send: usize,
    },
    /// Messages of fixed lengths each way, `messages` of them on a connection.
    Messages {
        /// Bytes that the client sends.
        send: u64,
        /// Bytes that the client receives.
        receive: u64,
        /// Messages of a connection.
        messages: u32,
        /// Writes that a message is split into.
        packets: u32,
    },
}

/// The way in which sessions are resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResumeBy {
    /// By ticket.
    Ticket,
    /// By session ID.
    SessionId,
}

/// The options of one run of the driver.
#[derive(Clone, Debug)]
pub struct Drive {
    /// The address of the server.
    pub address: String,
    /// Connections in flight.
    pub connections: usize,
    /// Threads of the driver.
    pub threads: usize,
    /// When the run ends.
    pub length: Length,
    /// Warm-up in seconds, which is not counted.
    pub warm_up: f64,
    /// Connections a second; none for as many as the server accepts.
    pub rate: Option<f64>,
    /// Per cent of the connections that resume a session, and how.
    pub resume: Option<(u8, ResumeBy)>,
    /// Certificate and key of the client.
    pub client: Option<(PathBuf, PathBuf)>,
    /// The data of a connection.
    pub data: Data,
    /// Requests of HTTP on a connection; none for one.
    pub messages: Option<u32>,
    /// The version of TLS.
    pub version: Version,
    /// The cipher suite: for TLS 1.3 its name in the standard, for TLS 1.2 OpenSSL's.
    pub suite: String,
    /// The key exchange group; none if the suite has its own key exchange.
    pub group: Option<String>,
    /// Whether GnuTLS is the client, for suites that s2n-tls does not offer.
    pub is_gnutls: bool,
    /// The trusted certificate: the server's own, or the one that signs it.
    pub trusted: PathBuf,
    /// The server name that is asked for.
    pub name: String,
    /// Processes whose processor time is booked, by pid and name.
    pub processes: Vec<(u32, String)>,
    /// Processor that the driver is bound to; none leaves it to the system.
    pub processor: Option<u32>,
}

/// Mean, maximum and percentiles of a time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// The 50th percentile.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

/// Negotiated parameters, and the number of handshakes with them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Negotiated {
    /// The version of TLS.
    pub version: String,
    /// The cipher suite.
    pub suite: String,
    /// The key exchange group; empty without one.
    pub group: Option<String>,
    /// Number of handshakes.
    pub count: u64,
}

/// The driver's own processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Own {
    /// Processor time in seconds, in the program.
    pub user_s: f64,
    /// Processor time in seconds, in the kernel.
    pub system_s: f64,
    /// Share of the time that its threads were busy, 0 to 1.
    pub busy: f64,
    /// Whether the driver limited the rate.
    pub limit: bool,
}

/// A process whose processor time is booked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Booked {
    /// Process ID.
    pub pid: u32,
    /// Name under which it is booked.
    pub name: String,
    /// Processor time in seconds, in the program.
    pub user_s: f64,
    /// Processor time in seconds, in the kernel.
    pub system_s: f64,
}

/// The driver's report of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Driven {
    /// The counted time, in seconds.
    pub seconds: f64,
    /// Completed transactions.
    pub transactions: u64,
    /// Transactions a second.
    pub per_second: f64,
    /// Number of full handshakes.
    pub full: u64,
    /// Number of resumed handshakes.
    pub resumed: u64,
    /// Messages that were answered.
    pub messages: u64,
    /// Bytes sent within TLS.
    pub bytes_sent: u64,
    /// Bytes received within TLS.
    pub bytes_received: u64,
    /// Failures by kind.
    pub errors: BTreeMap<String, u64>,
    /// The negotiated parameters.
    pub negotiated: Vec<Negotiated>,
    /// Time from the connection to the end of the handshake, in microseconds.
    pub handshake_us: Times,
    /// Time from the begin (in open loops the intended one) to the end of the handshake or the last answer, in
    /// microseconds.
    pub transaction_us: Times,
    /// The driver's own processor time.
    pub driver: Own,
    /// Processes that were booked.
    pub processes: Vec<Booked>,
}

impl Drive {
    /// Full handshakes by TLS 1.3 with X25519 and AES-128-GCM, 64 in flight.
    pub fn handshakes(address: &str, trusted: &Path, length: Length) -> Self {
        Self {
            address: address.to_owned(),
            connections: 64,
            threads: 1,
            length,
            warm_up: 0.0,
            rate: None,
            resume: None,
            client: None,
            data: Data::None,
            messages: None,
            version: Version::Tls13,
            suite: "TLS_AES_128_GCM_SHA256".to_owned(),
            group: Some("X25519".to_owned()),
            is_gnutls: false,
            trusted: trusted.to_owned(),
            name: super::desk::NAME.to_owned(),
            processes: Vec::new(),
            processor: None,
        }
    }

    /// The options as arguments of the driver.
    pub fn arguments(&self) -> Vec<String> {
        let mut out: Vec<String> = vec![self.address.clone(), "--json".to_owned()];
        let mut add = |name: &str, value: String| out.extend([format!("--{name}"), value]);
        add("connections", self.connections.to_string());
        add("threads", self.threads.to_string());
        match self.length {
            Length::Seconds(seconds) => add("seconds", seconds.to_string()),
            Length::Transactions(count) => add("transactions", count.to_string()),
        }
        if self.warm_up > 0.0 {
            add("warm-up", self.warm_up.to_string());
        }
        if let Some(rate) = self.rate {
            add("rate", rate.to_string());
        }
        if let Some((percent, by)) = self.resume {
            add("resume", percent.to_string());
            let by = if by == ResumeBy::Ticket { "ticket" } else { "session-id" };
            add("resume-by", by.to_owned());
        }
        if let Some((chain, key)) = &self.client {
            add("client-certificate", chain.display().to_string());
            add("client-key", key.display().to_string());
        }
        match self.data {
            Data::None => {}
            Data::Http { send } => {
                add("http", http_path(send, &self.name));
                if let Some(messages) = self.messages {
                    add("messages", messages.to_string());
                }
            }
            Data::Messages { send, receive, messages, packets } => {
                add("send", send.to_string());
                add("receive", receive.to_string());
                add("messages", messages.to_string());
                add("packets", packets.to_string());
            }
        }
        add("tls", self.version.typed().to_owned());
        add("suite", self.suite.clone());
        if let Some(group) = &self.group {
            add("group", group.clone());
        }
        if self.is_gnutls {
            add("library", "gnutls".to_owned());
        }
        add("ca", self.trusted.display().to_string());
        add("sni", self.name.clone());
        for (pid, name) in &self.processes {
            add("pid", format!("{pid}={name}"));
        }
        out
    }

    /// Runs the driver, and checks that the run was as asked.
    ///
    /// # Errors
    /// [`LabError::Program`] where it fails, something failed on the way, or something else was agreed on than asked;
    /// [`LabError::Interrupted`], [`LabError::Io`].
    pub fn run(&self, cryptand: &Path, stop: &AtomicBool) -> Result<Driven, LabError> {
        self.run_beside(cryptand, stop, |_| ()).map(|(driven, ())| driven)
    }

    /// As [`Drive::run`], with a closure that runs beside the driver. It gets the driver's process, and must let the
    /// driver end.
    ///
    /// # Errors
    /// As [`Drive::run`].
    pub fn run_beside<T>(
        &self,
        cryptand: &Path,
        stop: &AtomicBool,
        beside: impl FnOnce(Pid) -> T,
    ) -> Result<(Driven, T), LabError> {
        let what = "run the load driver";
        let mut command = Command::new(cryptand);
        command.args(["tls", "drive"]).args(self.arguments());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = bound(self.processor, || command.spawn()).map_err(LabError::io(what))?;
        let done = beside(Pid::from_child(&child));
        let output = child.wait_with_output().map_err(LabError::io(what))?;
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        if !output.status.success() {
            let mut complaint = output.stderr;
            complaint.truncate(COMPLAINT_BYTES_MAX);
            let complaint = String::from_utf8_lossy(&complaint);
            return Err(LabError::Program(format!("the load driver failed: {}", complaint.trim())));
        }
        let driven: Driven = serde_json::from_slice(&output.stdout).map_err(|error| LabError::Io {
            what: "read what the load driver says",
            cause: io::Error::other(error),
        })?;
        self.check(&driven)?;
        Ok((driven, done))
    }

    /// Checks that a run was as asked: figures of any other run are worthless.
    ///
    /// # Errors
    /// [`LabError::Program`].
    pub fn check(&self, driven: &Driven) -> Result<(), LabError> {
        let wrong = |why: String| Err(LabError::Program(format!("{}: {why}", self.address)));
        if !driven.errors.values().all(|count| *count == 0) {
            let kinds: Vec<String> =
                driven.errors.iter().map(|(kind, count)| format!("{kind} {count} times")).collect();
            return wrong(format!("connections failed: {}", kinds.join(", ")));
        }
        // Connections that are kept longer than the run complete no transaction.
        if driven.transactions == 0 && driven.messages == 0 {
            return wrong("nothing was done".to_owned());
        }
        for one in &driven.negotiated {
            let is_version = one.version == self.version.said();
            let is_group = self.group.is_none() || one.group == self.group;
            let is_suite = self.is_gnutls || one.suite == self.suite;
            if !(is_version && is_group && is_suite) {
                return wrong(format!(
                    "agreed on {} {} {} in place of {} {} {}",
                    one.version,
                    one.suite,
                    one.group.as_deref().unwrap_or_default(),
                    self.version.said(),
                    self.suite,
                    self.group.as_deref().unwrap_or_default()
                ));
            }
        }
        // The first sessions are made by full handshakes, one for each connection in flight; the rest must resume.
        let full = driven.full.saturating_sub(self.connections as u64);
        if self.resume.is_some_and(|(percent, _)| percent == 100)
            && (driven.resumed == 0 || full * 10 > full + driven.resumed)
        {
            return wrong(format!(
                "{} of {} handshakes were full",
                driven.full,
                driven.full + driven.resumed
            ));
        }
        if self.resume.is_none() && driven.resumed > 0 {
            return wrong(format!("{} handshakes were resumed", driven.resumed));
        }
        let least = match self.data {
            Data::None => 0,
            Data::Http { .. } => 1,
            Data::Messages { receive, .. } => receive,
        };
        if driven.bytes_received < least * driven.messages {
            return wrong(format!(
                "{} bytes came back in {} messages of {least}",
                driven.bytes_received, driven.messages
            ));
        }
        // A connection that ends within the counted time may have had its answer before.
        let in_flight = self.connections as u64;
        if !matches!(self.data, Data::None) && driven.messages + in_flight < driven.transactions {
            return wrong(format!("{} messages in {} transactions", driven.messages, driven.transactions));
        }
        Ok(())
    }
}

/// A path that makes a request of HTTP about `bytes` bytes long.
fn http_path(bytes: usize, name: &str) -> String {
    let around = "GET / HTTP/1.1\r\nHost: \r\n\r\n".len() + name.len();
    format!("/{}", "x".repeat(bytes.saturating_sub(around)))
}

impl Driven {
    /// Processor time of all booked processes, in seconds.
    pub fn booked_s(&self) -> f64 {
        self.processes.iter().map(|one| one.user_s + one.system_s).sum()
    }

    /// Processor time of the processes booked under names that begin with `name`, in seconds.
    pub fn booked_of(&self, name: &str) -> f64 {
        let of = self.processes.iter().filter(|one| one.name.starts_with(name));
        of.map(|one| one.user_s + one.system_s).sum()
    }

    /// Processor time in the kernel of the processes booked under names that begin with `name`, in seconds.
    pub fn system_of(&self, name: &str) -> f64 {
        self.processes.iter().filter(|one| one.name.starts_with(name)).map(|one| one.system_s).sum()
    }

    /// Processor time of all booked processes for one transaction, in microseconds.
    pub fn us_per_transaction(&self) -> f64 {
        1e6 * self.booked_s() / self.transactions.max(1) as f64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A report of the driver.
    pub(crate) const SAMPLE: &str = r#"{"target":"127.0.0.1:1","library":"s2n","seconds":1.5,"connections":64,"transactions":3000,
        "per_second":2000.0,"full":3000,"resumed":0,"messages":3000,"bytes_sent":6144000,"bytes_received":6144000,"errors":{},
        "negotiated":[{"version":"TLSv1.3","suite":"TLS_AES_128_GCM_SHA256","group":"X25519","count":3000}],
        "connect_us":{"p50":20,"p90":30,"p99":40,"p999":50,"max":60,"mean":25.5},
        "handshake_us":{"p50":500,"p90":900,"p99":1000,"p999":1100,"max":1200,"mean":600},"first_byte_us":{},"transaction_us":{},
        "driver":{"user_s":0.5,"system_s":0.25,"busy":0.5,"limit":false},
        "processes":[{"pid":1,"name":"server","user_s":0.2,"system_s":0.1},{"pid":2,"name":"card 0","user_s":0.3,"system_s":0.0}]}"#;

    fn sample() -> (Drive, Driven) {
        (Drive::handshakes("s", Path::new("ca"), Length::Seconds(1.0)), serde_json::from_str(SAMPLE).unwrap())
    }

    #[test]
    fn what_the_driver_says_is_read_and_booked() {
        let (drive, driven) = sample();
        drive.check(&driven).unwrap();
        assert_eq!((driven.handshake_us.p50, driven.driver.busy, driven.negotiated.len()), (500.0, 0.5, 1));
        assert!((driven.us_per_transaction() - 200.0).abs() < 1e-9);
        assert!(
            (driven.booked_of("card") - 0.3).abs() < 1e-9 && (driven.booked_of("server") - 0.3).abs() < 1e-9
        );
    }

    #[test]
    fn what_was_not_asked_for_is_no_figure() {
        let (drive, driven) = sample();
        let refused = |drive: &Drive, driven: &Driven| drive.check(driven).unwrap_err().to_string();
        let failed = Driven { errors: [("reset".to_owned(), 2)].into(), ..driven.clone() };
        assert!(refused(&drive, &failed).contains("reset 2 times"));
        assert!(
            refused(&drive, &Driven { transactions: 0, messages: 0, ..driven.clone() }).contains("nothing")
        );
        assert!(refused(&drive, &Driven { resumed: 1, ..driven.clone() }).contains("resumed"));
        let other = |change: fn(&mut Negotiated)| {
            let mut driven = driven.clone();
            change(&mut driven.negotiated[0]);
            refused(&drive, &driven)
        };
        assert!(other(|one| one.version = "TLSv1.2".to_owned()).contains("agreed on TLSv1.2"));
        assert!(other(|one| one.group = Some("P-256".to_owned())).contains("P-256"));
        assert!(other(|one| one.suite = "TLS_AES_256_GCM_SHA384".to_owned()).contains("in place of"));
        let resumes = Drive { resume: Some((100, ResumeBy::Ticket)), ..drive.clone() };
        assert!(refused(&resumes, &driven).contains("were full"));
        // Those in flight at first have nothing to resume, however short the run.
        resumes.check(&Driven { full: 64, resumed: 10, ..driven.clone() }).unwrap();
        assert!(refused(&resumes, &Driven { full: 76, resumed: 99, ..driven.clone() }).contains("were full"));
        let data = Data::Messages { send: 1, receive: 4096, messages: 1, packets: 1 };
        assert!(refused(&Drive { data, ..drive.clone() }, &driven).contains("bytes came back"));
        let data = Data::Messages { send: 1, receive: 1, messages: 1, packets: 1 };
        let exchanges = Drive { data, ..drive };
        // Connections that were in flight when counting began may have had their answers.
        exchanges.check(&Driven { messages: 2936, ..driven.clone() }).unwrap();
        assert!(refused(&exchanges, &Driven { messages: 2935, ..driven }).contains("messages in"));
    }

    #[test]
    fn the_driver_is_told_everything() {
        let (drive, _) = sample();
        let data = Data::Messages { send: 100, receive: 200, messages: 3, packets: 2 };
        let drive = Drive {
            data,
            resume: Some((50, ResumeBy::SessionId)),
            client: Some(("c.pem".into(), "c.key".into())),
            processes: vec![(7, "card 0".to_owned())],
            rate: Some(100.0),
            warm_up: 0.25,
            group: None,
            is_gnutls: true,
            ..drive
        };
        let text = drive.arguments().join(" ");
        for part in [
            "s --json --connections 64 --threads 1 --seconds 1 --warm-up 0.25 --rate 100 --resume 50 --resume-by session-id",
            "--client-certificate c.pem --client-key c.key --send 100 --receive 200 --messages 3 --packets 2 --tls 1.3",
            "--library gnutls --ca ca --sni localhost --pid 7=card 0",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("--group"));
        let http = Drive { data: Data::Http { send: 2048 }, ..drive };
        let arguments = http.arguments();
        let at = arguments.iter().position(|argument| argument == "--http").unwrap();
        assert_eq!(format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", arguments[at + 1]).len(), 2048);
    }
}
