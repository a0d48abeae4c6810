//! The sides of all rows: tunnels side by side, each driven in turn.

use crate::experiment::groups::Effort;
use crate::experiment::promise::{Measure, Promise};
use crate::ipsec::desk::Desk;
use crate::ipsec::tunnel::{Tunnel, TunnelKind};
use crate::kit::statistics::{compare, median};
use crate::load::LabError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use traffic::namespaces::End;
use traffic::{Load, ProcessTime, Report};

/// Warm-up of a side as a share of its time; it is not counted.
const WARM_SHARE: f64 = 0.25;
/// Longest time of a side in a round, in seconds, where a tunnel uses its keys up ([`TunnelKind::uses_keys_up`]): with
/// the time before it enough for 800,000 packets a second.
pub(super) const KEY_SECONDS_MAX: f64 = 1.0;

/// The programs of the part, and the rounds and seconds of each side.
pub(super) struct Bench {
    pub desk: Desk,
    pub effort: Effort,
    pub stop: Arc<AtomicBool>,
}

/// The runs of a tunnel, in the order of the rounds.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub kind: TunnelKind,
    pub runs: Vec<Report>,
    /// The reason if there are no runs.
    pub why: String,
}

/// A figure of a run.
pub(super) type Figure = fn(&Report) -> f64;

/// Bits a second both ways, in 10^9.
pub(super) fn gbit(report: &Report) -> f64 {
    report.gbit_per_second
}

/// Processor time of both data planes for 10^9 bytes, in seconds.
pub(super) fn seconds_a_gb(report: &Report) -> f64 {
    report.processor_s_per_gb.unwrap_or(f64::NAN)
}

/// Transactions or datagrams a second.
pub(super) fn rate(report: &Report) -> f64 {
    report.per_second
}

/// Processor time of a data plane for a datagram, in microseconds: each passes both ends.
pub(super) fn us_a_packet_and_end(report: &Report) -> f64 {
    report.processor_us_per_transaction.map_or(f64::NAN, |us| us / 2.0)
}

/// The median time of a transaction, in microseconds.
pub(super) fn p50(report: &Report) -> f64 {
    report.latency_us.map_or(f64::NAN, |times| times.p50)
}

impl Bench {
    /// A load for as long as a side works in a round.
    pub fn timed(&self, load: &Load) -> Load {
        Load { seconds: self.effort.seconds, warm_up: self.effort.seconds * WARM_SHARE, ..load.clone() }
    }

    /// Drives tunnels in turn; each round begins with the next tunnel. A tunnel whose program is missing or refuses is
    /// a side without runs. If it is the first, which the row is about, that is an error.
    pub fn sides(&self, kinds: &[TunnelKind], load: &Load) -> Result<Vec<Side>, LabError> {
        let mut load = self.timed(load);
        if kinds.iter().any(|kind| kind.uses_keys_up()) {
            load.seconds = load.seconds.min(KEY_SECONDS_MAX);
            load.warm_up = load.seconds * WARM_SHARE;
        }
        let (mut tunnels, mut sides) = (Vec::new(), Vec::new());
        for (at, kind) in kinds.iter().enumerate() {
            let mut side = Side { kind: *kind, runs: Vec::new(), why: String::new() };
            match Tunnel::start(&self.desk, *kind) {
                Ok(tunnel) => tunnels.push((tunnel, at)),
                Err(LabError::Program(why)) if at > 0 => side.why = why,
                Err(error) => return Err(error),
            }
            sides.push(side);
        }
        for round in 0..self.effort.rounds {
            for turn in 0..tunnels.len() {
                let place = (turn + round) % tunnels.len();
                let (tunnel, at) = &mut tunnels[place];
                if round > 0 && tunnel.kind().uses_keys_up() {
                    *tunnel = Tunnel::start(&self.desk, tunnel.kind())?;
                }
                let run = tunnel.drive(&load, &self.stop)?;
                sides[*at].runs.push(run);
            }
        }
        Ok(sides)
    }
}

impl Side {
    /// A figure of each run, in the order of the rounds.
    pub fn of_runs(&self, of: impl Fn(&Report) -> f64) -> Vec<f64> {
        self.runs.iter().map(of).collect()
    }

    pub fn values(&self, figure: Figure) -> Vec<f64> {
        self.of_runs(figure)
    }

    /// The kernel's share of the processor time of both data planes, 0 to 1.
    fn kernel_share(&self) -> f64 {
        let shares = self.runs.iter().map(|run| {
            let (user, system) = (sum(run, |one| one.user_s), sum(run, |one| one.system_s));
            system / (user + system).max(1e-9)
        });
        median(&shares.collect::<Vec<_>>())
    }

    /// A text on where the processor time went, as the kernel booked it.
    pub fn where_it_goes(&self) -> String {
        let kernel = 100.0 * self.kernel_share();
        let busy = self.runs.iter().map(|run| sum(run, ProcessTime::total_s) / run.seconds.max(1e-9));
        let busy = median(&busy.collect::<Vec<_>>());
        format!(
            "{kernel:.0} % of the time of both data planes in the kernel's calls, {:.0} % in the program; they used {busy:.2} processors",
            100.0 - kernel
        )
    }
}

/// Processor time of the data plane of an end, in seconds: in the kernel if `is_kernel`, else in the program.
pub(super) fn processor_s(report: &Report, end: End, is_kernel: bool) -> f64 {
    let of_end = report.processes.iter().filter(|process| process.name == end.name());
    of_end.filter_map(|process| if is_kernel { process.system_s } else { process.user_s }).sum()
}

/// The sum of a figure over the processes of a run; 0 for processes without it.
fn sum(report: &Report, of: fn(&ProcessTime) -> Option<f64>) -> f64 {
    report.processes.iter().filter_map(of).sum()
}

/// The side of this kind; none if no side has it.
pub(super) fn of(sides: &[Side], kind: TunnelKind) -> Option<&Side> {
    sides.iter().find(|side| side.kind == kind)
}

/// A row of the first side beside another one.
pub(super) fn row(
    case: &str,
    unit: &str,
    figure: Figure,
    (ours, peer): (&Side, Option<&Side>),
    promise: Option<(Promise, f64)>,
) -> Measure {
    let own = ours.values(figure);
    let alone = Measure::alone(case, unit, &own, promise.map(|(promise, _)| promise));
    let alone = Measure { stretch: promise.map(|(_, stretch)| stretch), ..alone };
    match peer {
        Some(peer) if !peer.runs.is_empty() => {
            alone.against(&peer.kind.name(), compare(&own, &peer.values(figure)))
        }
        Some(peer) => Measure { peer: peer.why.clone(), ..alone },
        None => alone,
    }
}
