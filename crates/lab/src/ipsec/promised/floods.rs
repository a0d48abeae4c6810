//! The processor time that a data plane spends on packets that it must refuse, at its sockets.

use super::sides::Bench;
use crate::experiment::promise::{Measure, Promise};
use crate::ipsec::flood::{Packets, flood};
use crate::ipsec::suite::Suite;
use crate::ipsec::tunnel::{Tunnel, TunnelKind};
use crate::kit::statistics::compare;
use crate::load::LabError;
use std::sync::atomic::Ordering;

/// Bytes that a flood may add to the log: some lines, whatever the number of packets.
const LOG_BYTES_MAX: f64 = 4096.0;
const SUITE: Suite = Suite::Gcm;

/// Rows of the processor time of each kind of packet beside that of a good one, and of the growth of the log.
pub(super) fn floods(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let mut times: [Vec<f64>; Packets::ALL.len()] = Default::default();
    let mut handled = [0; Packets::ALL.len()];
    let mut logs = Vec::new();
    for round in 0..bench.effort.rounds {
        for turn in 0..Packets::ALL.len() {
            let at = (turn + round) % Packets::ALL.len();
            if bench.stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            // A new tunnel each time: sequence numbers begin anew.
            let tunnel = Tunnel::start(&bench.desk, TunnelKind::ours(SUITE))?;
            let flooded = flood(&tunnel, SUITE, Packets::ALL[at], bench.effort.seconds)?;
            times[at].push(1e9 * flooded.processor_s / flooded.packets as f64);
            handled[at] += flooded.packets;
            logs.push(flooded.log_bytes as f64);
        }
    }
    let name = |what: &str| format!("floods on a socket, datagrams of 64 bytes, {}: {what}", SUITE.name());
    let [good, ..] = &times;
    let mut rows = Vec::new();
    for ((packets, own), handled) in Packets::ALL.into_iter().zip(&times).zip(handled) {
        let is_good = packets == Packets::Good;
        let promise = (!is_good).then_some(Promise::RatioAtMost(1.0));
        let row = Measure::alone(&name(packets.name()), "ns a packet", own, promise);
        let row = if is_good { row } else { row.against(Packets::Good.name(), compare(own, good)) };
        rows.push(row.bounded_by(format!(
            "{handled} packets in all rounds, as many as go, 64 a call as a network card brings them; all that the data plane used, its calls included"
        )));
    }
    let longest = logs.into_iter().fold(0.0, f64::max);
    rows.push(
        Measure::alone(&name("growth of the log"), "bytes", &[longest], Some(Promise::Below(LOG_BYTES_MAX)))
            .bounded_by("the most by one flood"),
    );
    Ok(rows)
}
