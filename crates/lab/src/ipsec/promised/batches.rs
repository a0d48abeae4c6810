//! Datagrams at rising rates: packets of a batch, and processor time of a packet.

use super::sides::{Bench, rate, us_a_packet_and_end};
use crate::experiment::promise::Measure;
use crate::ipsec::suite::Suite;
use crate::ipsec::tunnel::{Tunnel, TunnelKind};
use crate::kit::statistics::median;
use crate::load::LabError;
use traffic::namespaces::End;
use traffic::{Load, Workload};

/// Datagrams a second that are offered; none for as many as the tunnel takes.
const RATES: [Option<f64>; 4] = [Some(10_000.0), Some(50_000.0), Some(200_000.0), None];
const BYTES: u32 = 64;

/// Packets a second and processor time by batch.
pub(super) fn batches(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let tunnel = Tunnel::start(&bench.desk, TunnelKind::ours(Suite::Gcm))?;
    let mut rows = Vec::new();
    for offered in RATES {
        let load = Load { workload: Workload::Udp, request: Some(BYTES), rate: offered, ..Load::default() };
        let load = bench.timed(&load);
        let (mut runs, mut together) = (Vec::new(), [Vec::new(), Vec::new()]);
        for _ in 0..bench.effort.rounds {
            let before = End::BOTH.map(|end| tunnel.status(end));
            runs.push(tunnel.drive(&load, &bench.stop)?);
            for ((before, end), together) in before.into_iter().zip(End::BOTH).zip(&mut together) {
                together.push(tunnel.status(end)?.together_since(&before?));
            }
        }
        let offered = offered.map_or("as many as go".to_owned(), |rate| format!("{rate} a second offered"));
        let case = format!("UDP by batch: {BYTES} bytes, {offered}, AES-128-GCM");
        let [sealed, opened] = together.map(|runs| median(&runs));
        let bound = format!(
            "a look brought {sealed:.1} packets where they are sealed, {opened:.1} where they are opened"
        );
        for (what, unit, figure) in [
            ("", "packets/s", rate as fn(&_) -> f64),
            (": processor time", "us a packet and end", us_a_packet_and_end),
        ] {
            let values: Vec<f64> = runs.iter().map(figure).collect();
            rows.push(Measure::alone(&format!("{case}{what}"), unit, &values, None).bounded_by(&bound));
        }
    }
    Ok(rows)
}
