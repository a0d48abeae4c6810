//! What observers are shown, as JSON: a line asks for it on `observe.sock`, the answer ends with the connection. No key
//! is in it.

use serde::{Deserialize, Serialize};

/// What can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// [`Status`].
    Status,
    /// A list of [`SaRow`].
    Sas,
    /// A list of [`PolicyRow`].
    Policies,
    /// Text for Prometheus.
    Metrics,
}

impl Question {
    const ALL: [Question; 4] = [Question::Status, Question::Sas, Question::Policies, Question::Metrics];

    /// The line that asks.
    pub fn line(self) -> &'static str {
        match self {
            Question::Status => "status\n",
            Question::Sas => "sas\n",
            Question::Policies => "policies\n",
            Question::Metrics => "metrics\n",
        }
    }

    /// What a line asks for.
    pub fn read(line: &[u8]) -> Option<Question> {
        Question::ALL.into_iter().find(|question| question.line().as_bytes() == line)
    }
}

/// How a data plane stands.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Status {
    /// Its version.
    pub version: String,
    /// Process of the worker.
    pub pid: u32,
    /// How long this worker has served, in seconds.
    pub seconds: f64,
    /// Workers that ended before this one.
    pub restarts: u64,
    /// The device.
    pub device: String,
    /// Instruction-set level of the engine.
    pub level: String,
    /// What of the sandbox the machine does not give.
    pub lacks: Vec<String>,
    /// Memory of the worker, in bytes: all that it has, and what of it is used.
    pub memory_bytes: usize,
    /// See above.
    pub memory_used_bytes: usize,
    /// Whether 3DES and NULL may be used.
    pub weak_suites: bool,
    /// Whether an egress filter keeps programs that name a link from sending past policies: there is to be one, the
    /// kernel takes it, and it is as policies say.
    pub egress_filter: bool,
    /// SAs, those whose SPI is only reserved among them.
    pub sas: usize,
    /// Policies.
    pub policies: usize,
    /// Programs that are connected as to XFRM.
    pub clients: usize,
    /// What each thread has done.
    pub threads: Vec<ThreadRow>,
    /// All threads together.
    pub totals: ThreadRow,
    /// Packets that were dropped, by reason; those without any are left out.
    pub drops: Vec<Drops>,
}

/// What a thread has done since the worker began.
#[derive(Serialize, Deserialize, Clone, Copy, Default, Debug)]
pub struct ThreadRow {
    /// Packets sealed.
    pub sealed: u64,
    /// Their bytes, before they were sealed.
    pub sealed_bytes: u64,
    /// Packets opened.
    pub opened: u64,
    /// Their bytes, after they were opened.
    pub opened_bytes: u64,
    /// Packets that passed in clear, since no policy was for them.
    pub bypassed: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Batches that were sealed and opened: packets by batches is how many were together.
    pub batches: u64,
}

/// Packets of one reason.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Drops {
    /// Its name, as in docs/ipsec.md.
    pub reason: String,
    /// How many.
    pub packets: u64,
}

/// An SA.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct SaRow {
    /// Its SPI.
    pub spi: u32,
    /// `in` or `out`.
    pub direction: String,
    /// `tunnel` or `transport`.
    pub mode: String,
    /// Its suite.
    pub suite: String,
    /// The end that seals.
    pub source: String,
    /// The end that opens.
    pub destination: String,
    /// Where the other end is now, with its port where packets travel in UDP.
    pub peer: String,
    /// Whether packets travel in UDP.
    pub in_udp: bool,
    /// Whether sequence numbers have 64 bits.
    pub extended: bool,
    /// By which policies know it.
    pub request: u32,
    /// Bytes of packets inside.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// The last sequence number.
    pub sequence: u64,
    /// Numbers of the replay window.
    pub window: u32,
    /// Packets that came again.
    pub replayed: u64,
    /// Packets that came too late for the window.
    pub too_old: u64,
    /// Packets whose ICV was wrong.
    pub unauthenticated: u64,
    /// Seconds since it was added.
    pub age_seconds: u64,
    /// Its limits, in words; empty for none.
    pub limits: String,
}

/// A policy.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct PolicyRow {
    /// Its index.
    pub index: u32,
    /// `in`, `out` or `fwd`.
    pub direction: String,
    /// Which traffic.
    pub selector: String,
    /// The lowest wins.
    pub priority: u32,
    /// `protect`, `bypass` or `discard`.
    pub action: String,
    /// The SA that it asks for, in words; empty for none.
    pub template: String,
    /// Packets that it let by: to an SA, in, or in clear.
    pub packets: u64,
    /// Their bytes: before they were sealed, or after they were opened.
    pub bytes: u64,
    /// Packets that it dropped, by reason; those without any are left out.
    pub drops: Vec<Drops>,
}
