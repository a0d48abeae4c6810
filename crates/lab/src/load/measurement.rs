//! The result of one workload.

use super::pacing::LoadOutcome;
use super::{Interface, Workload};
use crate::load::operation::Operation;
use serde::{Deserialize, Serialize};
use wire::control::Personality;

/// Processor time of callers, daemon and cards, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorSeconds {
    /// The threads of the workload.
    pub caller: f64,
    /// The daemon.
    pub daemon: f64,
    /// The cards.
    pub cards: f64,
}

impl ProcessorSeconds {
    /// The sum of all three, in seconds.
    pub fn total(&self) -> f64 {
        self.caller + self.daemon + self.cards
    }
}

/// The figures of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The operation.
    pub operation: Operation,
    /// Length of the data of one operation in bytes.
    pub bytes: usize,
    /// Requests in flight.
    pub jobs: usize,
    /// Threads that carried the jobs.
    pub processors: usize,
    /// How the operation was reached.
    pub interface: Interface,
    /// Level that did the work: of the engine, or of the cards.
    pub level: String,
    /// Requests that the engine prefers in one batch.
    pub lanes: usize,
    /// Cards that shared the jobs; 0 without cards.
    pub cards: usize,
    /// Personality of the cards; none without cards.
    pub personality: Option<Personality>,
    /// Operations per second.
    pub ops_per_s: f64,
    /// Bytes per second, 0 for operations without data.
    pub bytes_per_s: f64,
    /// Half of the requests took at most this long, in nanoseconds.
    pub p50_ns: u64,
    /// 99 of 100 requests took at most this long, in nanoseconds.
    pub p99_ns: u64,
    /// Number of operations in the run.
    pub operations: u64,
    /// Answers that were compared in full with the expected ones.
    pub answers_compared: u64,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// Intended requests per second of an open loop; none for the closed loop.
    pub rate: Option<f64>,
    /// Whether clear keys were prepared once.
    pub prepared: bool,
    /// Processor time during the run.
    pub processor_s: ProcessorSeconds,
    /// Processor time as a share of all processors that are online.
    pub utilisation: f64,
    /// Internal throughput rate: operations per second at full utilisation, `ops_per_s / utilisation`.
    pub itr: f64,
}

impl Measurement {
    pub(crate) fn new(workload: &Workload, outcome: &LoadOutcome, level: &str, lanes: usize) -> Self {
        let (caller, daemon, cards) = (outcome.caller_s, outcome.daemon_s, outcome.cards_s);
        let processor_s = ProcessorSeconds { caller, daemon, cards };
        let on_card = workload.interface == Interface::Card;
        let online = crate::kit::machine::processors_online() as f64;
        let utilisation = if outcome.seconds > 0.0 {
            (processor_s.total() / (outcome.seconds * online)).min(1.0)
        } else {
            0.0
        };
        let bytes = if workload.operation.takes_bytes() { workload.bytes } else { 0 };
        Self {
            operation: workload.operation,
            bytes,
            jobs: workload.jobs,
            processors: workload.processors,
            interface: workload.interface,
            level: level.to_owned(),
            lanes,
            cards: if on_card { workload.cards } else { 0 },
            personality: on_card.then(|| workload.personality()),
            ops_per_s: outcome.ops_per_s,
            bytes_per_s: outcome.ops_per_s * bytes as f64,
            p50_ns: outcome.latency_ns.value_at_quantile(0.5),
            p99_ns: outcome.latency_ns.value_at_quantile(0.99),
            operations: outcome.operations,
            answers_compared: outcome.answers_compared,
            seconds: outcome.seconds,
            rate: workload.rate,
            prepared: workload.prepared,
            processor_s,
            utilisation,
            itr: if utilisation > 0.0 { outcome.ops_per_s / utilisation } else { 0.0 },
        }
    }
}
