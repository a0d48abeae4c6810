//! The answers to observers, as JSON: a connection to `observe.sock` asks with one line, and closes with the answer. No
//! answer has a key in it.

use serde::{Deserialize, Serialize};

/// The questions of observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Asks for the [`Status`].
    Status,
    /// Asks for a list of [`SaRow`].
    Sas,
    /// Asks for a list of [`PolicyRow`].
    Policies,
    /// Asks for metrics as text for Prometheus.
    Metrics,
}

impl Question {
    const ALL: [Question; 4] = [Question::Status, Question::Sas, Question::Policies, Question::Metrics];

    /// The line that asks this question.
    pub fn line(self) -> &'static str {
        match self {
            Question::Status => "status\n",
            Question::Sas => "sas\n",
            Question::Policies => "policies\n",
            Question::Metrics => "metrics\n",
        }
    }

    /// The question of a line; None for an unknown line.
    pub fn read(line: &[u8]) -> Option<Question> {
        Question::ALL.into_iter().find(|question| question.line().as_bytes() == line)
    }
}

/// The state of a data plane.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Status {
    /// Version of the data plane's program.
    pub version: String,
    /// Process number of the worker.
    pub pid: u32,
    /// Seconds since this worker began.
    pub seconds: f64,
    /// Workers that ended before this one.
    pub restarts: u64,
    /// Name of the TUN device.
    pub device: String,
    /// Instruction-set level of the engine.
    pub level: String,
    /// Parts of the sandbox that this machine lacks.
    pub lacks: Vec<String>,
    /// The worker's memory for secrets, in bytes: its size, then its used part.
    pub memory_bytes: usize,
    /// The used part of that memory, in bytes.
    pub memory_used_bytes: usize,
    /// Whether 3DES and NULL may be used.
    pub weak_suites: bool,
    /// Whether an egress filter keeps programs that name a link from bypassing policies: one is asked for, the kernel
    /// takes it, and it matches the policies.
    pub egress_filter: bool,
    /// Number of SAs, with those whose SPI is only reserved.
    pub sas: usize,
    /// Number of policies.
    pub policies: usize,
    /// Number of programs connected to the XFRM socket.
    pub clients: usize,
    /// Counts of each thread.
    pub threads: Vec<ThreadRow>,
    /// Sum of the counts of all threads.
    pub totals: ThreadRow,
    /// Dropped packets by reason; a reason without packets is left out.
    pub drops: Vec<Drops>,
}

/// Counts of a thread since the worker began.
#[derive(Serialize, Deserialize, Clone, Copy, Default, Debug)]
pub struct ThreadRow {
    /// Packets sealed.
    pub sealed: u64,
    /// Bytes of these packets before they were sealed.
    pub sealed_bytes: u64,
    /// Packets opened.
    pub opened: u64,
    /// Bytes of these packets after they were opened.
    pub opened_bytes: u64,
    /// Packets that passed in clear, since no policy matched them.
    pub bypassed: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Batches that were sealed or opened: packets divided by batches is their mean size.
    pub batches: u64,
}

/// Number of packets dropped for one reason.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Drops {
    /// Name of the reason, as in docs/understand/ipsec.md.
    pub reason: String,
    /// Number of packets dropped for this reason.
    pub packets: u64,
}

/// A security association, as observers see it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct SaRow {
    /// The SPI of the SA.
    pub spi: u32,
    /// `in` or `out`.
    pub direction: String,
    /// `tunnel` or `transport`.
    pub mode: String,
    /// Name of the SA's suite.
    pub suite: String,
    /// Address of the end that seals.
    pub source: String,
    /// Address of the end that opens.
    pub destination: String,
    /// Present address of the other end, with its port if packets travel in UDP.
    pub peer: String,
    /// Whether packets travel in UDP.
    pub in_udp: bool,
    /// Whether sequence numbers have 64 bits (ESN).
    pub extended: bool,
    /// The number by which policies name the SA (reqid).
    pub request: u32,
    /// Bytes of the packets inside ESP.
    pub bytes: u64,
    /// Packets that the SA sealed or opened.
    pub packets: u64,
    /// The last sequence number that was sent or received.
    pub sequence: u64,
    /// Size of the replay window in sequence numbers.
    pub window: u32,
    /// Packets dropped as replays of an earlier packet.
    pub replayed: u64,
    /// Packets dropped because they came too late for the window.
    pub too_old: u64,
    /// Packets whose ICV was wrong.
    pub unauthenticated: u64,
    /// Seconds since the SA was added.
    pub age_seconds: u64,
    /// Limits of the SA, in words; empty for none.
    pub limits: String,
}

/// A policy, as observers see it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct PolicyRow {
    /// Index of the policy.
    pub index: u32,
    /// `in`, `out` or `fwd`.
    pub direction: String,
    /// The selector: addresses, protocol and ports.
    pub selector: String,
    /// Priority: of the matching policies the lowest wins.
    pub priority: u32,
    /// `protect`, `bypass` or `discard`.
    pub action: String,
    /// The SA that it asks for, in words; empty for none.
    pub template: String,
    /// Packets that the policy let pass: to an SA, inbound, or in clear.
    pub packets: u64,
    /// Bytes of these packets: before they were sealed, or after they were opened.
    pub bytes: u64,
    /// Packets that the policy dropped, by reason; a reason without packets is left out.
    pub drops: Vec<Drops>,
}
