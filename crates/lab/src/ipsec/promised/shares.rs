//! The shares of a packet's processor time: calls of TUN and sockets, cryptography, and the rest; and how far their sum
//! is from the least possible.

use super::engine;
use super::sides::{Bench, Side, of, processor_s};
use crate::experiment::promise::Measure;
use crate::ipsec::suite::Suite;
use crate::ipsec::tunnel::TunnelKind;
use crate::kit::statistics::median;
use crate::load::LabError;
use traffic::namespaces::End;
use traffic::{Load, Report, Workload};

/// Bytes of TCP in a segment of a tunnel's stream: packets of 1,422 bytes with headers of 52.
const SEGMENT_BYTES: f64 = 1370.0;

/// Nanoseconds of a packet at an end, by share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shares {
    /// The kernel, in calls of TUN and sockets.
    calls: f64,
    /// Sealing or opening, as measured without sockets.
    crypto: f64,
    /// The rest of the program.
    rest: f64,
}

impl Shares {
    /// The shares from the time in the kernel, the time in the program, and the time of the cryptography alone.
    fn of(kernel: f64, program: f64, crypto: f64) -> Self {
        // Two measurements of nearly the same time: the rest is at least 0.
        let crypto = crypto.min(program);
        Self { calls: kernel, crypto, rest: program - crypto }
    }

    fn all(self) -> f64 {
        self.calls + self.crypto + self.rest
    }
}

/// The shares of one stream under three suites.
pub(super) fn shares(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let crypto = engine::crypto(bench)?;
    let mut rows = Vec::new();
    for suite in [Suite::Gcm, Suite::CbcSha1, Suite::TdesSha1] {
        let kind = TunnelKind::ours(suite);
        let sides = bench.sides(&[kind], &Load { workload: Workload::Stream, ..Load::default() })?;
        if let Some(side) = of(&sides, kind) {
            rows.extend(of_suite(suite, side, crypto(suite)));
        }
    }
    Ok(rows)
}

/// The rows of a suite: the first end seals, the second opens.
fn of_suite(suite: Suite, side: &Side, crypto: [f64; 2]) -> Vec<Measure> {
    let packets = |run: &Report| (run.bytes_sent as f64 / SEGMENT_BYTES).max(1.0);
    let time = |end: End, is_kernel: bool| {
        median(&side.of_runs(|run| 1e9 * processor_s(run, end, is_kernel) / packets(run)))
    };
    let [sealing, opening] = [(End::A, crypto[0]), (End::B, crypto[1])]
        .map(|(end, crypto)| Shares::of(time(end, true), time(end, false), crypto));
    let case = format!("where a packet's time goes, one TCP stream, {}", suite.name());
    let all = side.of_runs(|run| {
        let ends = End::BOTH.map(|end| processor_s(run, end, true) + processor_s(run, end, false));
        1e9 * ends.iter().sum::<f64>() / packets(run)
    });
    rows(&case, &all, sealing, opening)
}

fn rows(case: &str, all: &[f64], sealing: Shares, opening: Shares) -> Vec<Measure> {
    const UNIT: &str = "ns a packet";
    let whole = (sealing.all() + opening.all()).max(f64::MIN_POSITIVE);
    let mut rows = vec![Measure::alone(&format!("{case}: all"), UNIT, all, None).bounded_by(format!(
        "the processor time of both data planes: {:.0} where it is sealed, {:.0} where it is opened; what goes back, acknowledgements, is in it",
        sealing.all(),
        opening.all()
    ))];
    let of = [
        ("calls of TUN and sockets", sealing.calls, opening.calls, "the kernel's, as it booked them"),
        ("cryptography", sealing.crypto, opening.crypto, "as many packets together, measured alone"),
        ("the rest", sealing.rest, opening.rest, "of the program: routing, cutting, putting together"),
    ];
    for (name, seal, open, what) in of {
        let bound = format!(
            "{:.0} % of all: {seal:.0} where it is sealed, {open:.0} where it is opened; {what}",
            100.0 * (seal + open) / whole
        );
        rows.push(Measure::alone(&format!("{case}: {name}"), UNIT, &[seal + open], None).bounded_by(bound));
    }
    let rest = sealing.rest + opening.rest;
    let share = 100.0 * (whole - rest) / whole;
    rows.push(
        Measure::alone(&format!("{case}: of the limit"), "%", &[share], None)
            .bounded_by(format!("{:.0} ns, if the rest were free", whole - rest)),
    );
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_of_the_time_and_none_is_below_nothing() {
        let sealing = Shares::of(700.0, 300.0, 200.0);
        assert_eq!(sealing, Shares { calls: 700.0, crypto: 200.0, rest: 100.0 });
        // The cryptography alone took longer than the whole program.
        let opening = Shares::of(800.0, 200.0, 250.0);
        assert_eq!(opening, Shares { calls: 800.0, crypto: 200.0, rest: 0.0 });
        let rows = rows("a stream", &[2000.0], sealing, opening);
        let sum: f64 = rows[1..4].iter().map(|row| row.ours).sum();
        assert_eq!((rows.len(), sum, rows[4].ours), (5, 2000.0, 95.0));
        assert!(rows[1].bound.starts_with("75 % of all: 700 where it is sealed"), "{}", rows[1].bound);
    }
}
