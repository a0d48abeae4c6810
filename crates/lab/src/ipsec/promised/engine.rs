//! Rows of the protocol alone, without sockets: packets together and one at a time, and look-ups. They are measured by
//! examples of the crate `ipsec`, which check every packet.

use super::sides::{Bench, of, us_a_packet_and_end};
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Promise};
use crate::ipsec::desk::beside;
use crate::ipsec::suite::Suite;
use crate::ipsec::tunnel::TunnelKind;
use crate::kit::statistics::{compare, median};
use crate::load::LabError;
use serde::de::DeserializeOwned;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use traffic::{Load, Workload};

const PACKETS: &str = "examples/packets";
const LOOKUPS: &str = "examples/lookups";
/// Bytes of a packet, and the number of packets together: about as many as one read of a TUN brings.
const BYTES: usize = 1424;
const TOGETHER: usize = 47;
/// Other numbers of packets together.
const BATCHES: [usize; 4] = [2, 8, 16, 64];
/// Rounds of the examples in each round here.
const ROUNDS: usize = 20;
/// Names of the suites in the examples' rows.
const GCM: &str = "AES-GCM-16-128";
const CBC: &str = "AES-CBC-128 with HMAC-SHA-1-96";
const TDES: &str = "3DES-CBC with HMAC-SHA-1-96";

/// A suite, a direction, nanoseconds a packet together and one at a time.
type Line = (String, String, f64, f64);

/// Runs an example and reads its lines.
fn run<T: DeserializeOwned>(bench: &Bench, name: &str, arguments: &[String]) -> Result<Vec<T>, LabError> {
    let Some(program) = beside(name) else {
        let how = "`cargo build --release -p ipsec --examples` builds it, as `make bench` does";
        return Err(LabError::Program(format!("{name} is not beside this program: {how}")));
    };
    if bench.stop.load(Ordering::Relaxed) {
        return Err(LabError::Interrupted);
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let output = bound(own(1), || command.output()).map_err(LabError::io("run an example of IPsec"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(LabError::Program(format!("{name}: {}", said.trim())));
    }
    let reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&output.stdout[..]);
    let lines: Result<Vec<T>, _> = reader.into_deserialize().collect();
    lines.map_err(LabError::io("read what packets take"))
}

/// Nanoseconds that a packet of a stream takes to be sealed and to be opened, in cryptography alone, [`TOGETHER`]
/// packets at a time, by suite.
pub(super) fn crypto(bench: &Bench) -> Result<impl Fn(Suite) -> [f64; 2], LabError> {
    let runs = packets(bench, TOGETHER)?;
    Ok(move |suite: Suite| {
        let suite = suite.of_library().to_string();
        ["seal", "open"].map(|direction| {
            let lines = runs.iter().flatten().filter(|line| line.0 == suite && line.1 == direction);
            median(&lines.map(|line| line.2).collect::<Vec<_>>())
        })
    })
}

/// Runs the example on packets, `together` at a time.
fn packets(bench: &Bench, together: usize) -> Result<Vec<Vec<Line>>, LabError> {
    let arguments = [together.to_string(), BYTES.to_string(), ROUNDS.to_string(), "csv".to_owned()];
    (0..bench.effort.rounds).map(|_| run(bench, PACKETS, &arguments)).collect()
}

/// Packets a second, together and one at a time, by run.
fn rates(runs: &[Vec<Line>], suite: &str, direction: &str) -> (Vec<f64>, Vec<f64>) {
    let lines = runs.iter().flatten().filter(|line| line.0 == suite && line.1 == direction);
    lines.map(|line| (1e9 / line.2, 1e9 / line.3)).unzip()
}

/// Rows of 47 packets together against one at a time, and of other numbers of packets.
pub(super) fn together(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let runs = packets(bench, TOGETHER)?;
    let promised = |least, stretch| Some((Promise::RatioAtLeast(least), stretch));
    let one = "one at a time";
    let mut rows = Vec::new();
    for (suite, direction, peer, promise) in [
        (CBC, "seal", one, promised(5.0, 6.5)),
        (CBC, "open", one, promised(3.0, 3.5)),
        (TDES, "seal beside OpenSSL", "OpenSSL, one at a time", promised(20.0, 30.0)),
        (TDES, "open beside OpenSSL", "OpenSSL, one at a time", promised(20.0, 60.0)),
        (TDES, "seal", one, None),
        (TDES, "open", one, None),
        (GCM, "seal", one, None),
        (GCM, "open", one, None),
    ] {
        let (ours, theirs) = rates(&runs, suite, direction);
        let direction = direction.split(' ').next().unwrap_or_default();
        let case =
            format!("engine, {TOGETHER} packets of {BYTES} bytes, {suite}: {direction} against {peer}");
        let row = Measure::alone(&case, "packets/s", &ours, promise.map(|(promise, _)| promise));
        rows.push(Measure {
            stretch: promise.map(|(_, stretch)| stretch),
            ..row.against(peer, compare(&ours, &theirs))
        });
    }
    for batch in BATCHES {
        let runs = packets(bench, batch)?;
        for (suite, direction) in
            [(GCM, "seal"), (GCM, "open"), (CBC, "seal"), (CBC, "open"), (TDES, "seal"), (TDES, "open")]
        {
            let (ours, theirs) = rates(&runs, suite, direction);
            let case = format!("engine, {batch} packets together, {suite}: {direction}");
            rows.push(Measure::alone(&case, "packets/s", &ours, None).against(one, compare(&ours, &theirs)));
        }
    }
    Ok(rows)
}

/// Look-up of replay window, policy and SA, with 1,000 of each, as a share of a packet's whole time at an end.
pub(super) fn lookups(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let arguments = [(5 * ROUNDS).to_string(), "csv".to_owned()];
    let runs: Vec<Vec<(String, f64, f64)>> =
        (0..bench.effort.rounds).map(|_| run(bench, LOOKUPS, &arguments)).collect::<Result<_, _>>()?;
    let kind = TunnelKind::ours(Suite::Gcm);
    let load = Load { workload: Workload::Udp, request: Some(1372), ..Load::default() };
    let sides = bench.sides(&[kind], &load)?;
    let whole = of(&sides, kind).map_or(f64::NAN, |side| 1e3 * median(&side.values(us_a_packet_and_end)));
    let name = "look-ups with 1,000 SAs, AES-128-GCM, 1,400 bytes";
    let figure = |run: &[(String, f64, f64)], row: &str, is_first: bool| {
        let line = run.iter().find(|line| line.0.starts_with(row));
        line.map_or(f64::NAN, |line| if is_first { line.1 } else { line.2 })
    };
    let inbound = ["SA of a packet that came", "window, before and after", "policy of a packet that came"];
    let outbound = ["policy and SA of a packet that goes out"];
    let mut rows = Vec::new();
    for (title, parts, step) in [("goes out", &outbound[..], "seal"), ("came", &inbound[..], "open")] {
        for (which, is_first) in [("in the caches", false), ("not in the caches", true)] {
            let sums: Vec<f64> =
                runs.iter().map(|run| parts.iter().map(|part| figure(run, part, is_first)).sum()).collect();
            let crypto = median(&runs.iter().map(|run| figure(run, step, false)).collect::<Vec<_>>());
            let shares: Vec<f64> = sums.iter().map(|sum| 100.0 * sum / whole).collect();
            let case = format!("{name}: share of the time of a packet that {title}, tables {which}");
            let promise = (!is_first).then_some(Promise::Below(15.0));
            rows.push(Measure { stretch: promise.map(|_| 8.0), ..Measure::alone(&case, "%", &shares, promise) }.bounded_by(format!(
                "{:.0} ns of {whole:.0} ns, which is the processor time of a packet of 1,400 bytes at an end, calls of the kernel included; to {step} it \
                 takes {crypto:.0} ns",
                median(&sums)
            )));
        }
    }
    Ok(rows)
}
