//! The rates of one card as its jobs rise, beside the same rows measured with the programs of another build.
//!
//! Every figure comes out of `cryptand speed`, run as a program: so a build of another revision is measured
//! by its own client library and its own cards, in turn with this one, round by round. Caller and card have a
//! processor each, where there are two. Every answer is checked by the program that measures.

mod side;

use super::{bound, own};
use crate::experiment::promise::{Measure, Options, Other, Part, Promise};
use crate::kit::records;
use crate::kit::statistics::{Summary, compare, median};
use crate::load::LabError;
use peers::openssl_ffi::openssl;
use serde::Deserialize;
use side::{Run, Side};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Name of the other build in a row.
pub(crate) const BEFORE: &str = "the other build";
/// A run of a row is this many times as long as a run of an engine row.
const LONGER: f64 = 5.0;
/// How [`Row::beside`] names OpenSSL's generation of an RSA key, before its bits.
const OPENSSL_RSA: &str = "openssl-rsa";
/// Requests at a time that the engine is given beside a row with more jobs.
const ENGINE_JOBS_MAX: usize = 64;
/// Numbers of jobs at which RSA is looked at.
const RSA_JOBS: [usize; 6] = [8, 16, 24, 32, 64, 96];
/// Sizes of RSA keys, in bits.
const RSA_BITS: [usize; 2] = [1024, 2048];
/// Which figure of a run a row shows, by its unit.
#[derive(Clone, Copy, Deserialize)]
enum Figure {
    #[serde(rename = "ops/s")]
    Rate,
    #[serde(rename = "MB/s")]
    Megabytes,
    /// The median time of one request; less is better.
    #[serde(rename = "ns, median")]
    Latency,
}

/// A row of `data/rates.csv`: the arguments of `cryptand speed`, and the promise.
#[derive(Deserialize)]
struct Row {
    case: String,
    operation: String,
    bytes: usize,
    jobs: usize,
    figure: Figure,
    /// The peer of the row on the card's processor: an operation of the engine with a clear key and as many requests at
    /// a time, or `openssl-rsa` and a size for OpenSSL's generation of a key. Empty for no peer. With a peer the other
    /// build is left out.
    beside: String,
    /// `x>=` and the ratio to the peer that is promised, or the figure hoped for. Empty for neither.
    promise: String,
    bound: String,
}

impl Row {
    fn promise(&self) -> Option<Promise> {
        self.promise.strip_prefix("x>=")?.parse().map(Promise::RatioAtLeast).ok()
    }

    fn stretch(&self) -> Option<f64> {
        self.promise.parse().ok()
    }
}

/// Rows with a figure of their own.
fn rows() -> impl Iterator<Item = Row> {
    records(include_str!("../../data/rates.csv"))
}

/// Runs the rows that match the filter; `progress` is told the name of the next row.
///
/// # Errors
/// [`LabError`] of the first row that fails, or of a build whose programs do not start.
pub fn run(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    progress("one card: starting");
    let ours = Side::of_this_build(own(1))?;
    let other =
        options.beside.as_deref().map(|folder| Side::start(folder.join("cryptand"), own(1))).transpose()?;
    let effort = Effort {
        ours: &ours,
        other: other.as_ref(),
        rounds: options.rounds,
        seconds: options.seconds * LONGER,
        stop,
    };
    let mut out = Vec::new();
    for row in rows().filter(|row| options.wants(&row.case)) {
        progress(&row.case);
        out.push(effort.row(&row)?);
    }
    for bits in RSA_BITS {
        let name = format!("RSA-{bits} on one card");
        if options.wants(&name) {
            progress(&name);
            out.extend(effort.rsa(bits)?);
        }
    }
    out.iter_mut().for_each(|row| row.part = Part::Rates);
    Ok(out)
}

struct Effort<'a> {
    ours: &'a Side,
    other: Option<&'a Side>,
    rounds: usize,
    seconds: f64,
    stop: &'a AtomicBool,
}

impl Effort<'_> {
    /// Runs both builds in each round, the other build first in every second round; gives the figures of this build,
    /// then the other's.
    fn both(&self, run: &Run<'_>, figure: Figure) -> Result<(Vec<f64>, Vec<f64>), LabError> {
        let (mut ours, mut other) = (Vec::new(), Vec::new());
        for round in 0..self.rounds.max(1) {
            for first in [round % 2 == 0, round % 2 != 0] {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(LabError::Interrupted);
                }
                match (first, self.other) {
                    (true, _) => ours.push(self.one(self.ours, run, figure)?),
                    (false, Some(side)) => other.push(self.one(side, run, figure)?),
                    (false, None) => {}
                }
            }
        }
        Ok((ours, other))
    }

    fn one(&self, side: &Side, run: &Run<'_>, figure: Figure) -> Result<f64, LabError> {
        let measured = side.speed(run, self.seconds, own(0))?;
        Ok(match figure {
            Figure::Rate => measured.ops_per_s,
            Figure::Megabytes => measured.bytes_per_s / 1e6,
            Figure::Latency => measured.p50_ns as f64,
        })
    }

    fn row(&self, row: &Row) -> Result<Measure, LabError> {
        let Row { bytes, jobs, figure, .. } = *row;
        let run = Run { operation: &row.operation, bytes, jobs, interface: "card", personality: None };
        let unit = match figure {
            Figure::Rate => "ops/s",
            Figure::Megabytes => "MB/s",
            Figure::Latency => "ns, median",
        };
        let measure = if row.beside.is_empty() {
            let (ours, other) = self.both(&run, figure)?;
            let measure = Measure::alone(&row.case, unit, &ours, row.promise());
            Measure { others: before(&ours, &other), ..measure }
        } else {
            let (mut ours, mut peers) = (Vec::new(), Vec::new());
            for _ in 0..self.rounds.max(1) {
                ours.push(self.one(self.ours, &run, figure)?);
                peers.push(self.peer(row)?);
            }
            let name = if row.beside.starts_with(OPENSSL_RSA) { "OpenSSL" } else { "engine, clear key" };
            Measure::compared(&row.case, unit, name, compare(&ours, &peers), row.promise())
        };
        Ok(Measure { bound: row.bound.clone(), stretch: row.stretch(), ..measure })
    }

    /// The rate of a row's peer, on the processor that the card has.
    fn peer(&self, row: &Row) -> Result<f64, LabError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        let Some(bits) = row.beside.strip_prefix(OPENSSL_RSA).and_then(|bits| bits.parse().ok()) else {
            // No more requests at a time than one pass has lanes: further jobs only repeat the pass.
            let (operation, bytes, jobs) = (&row.beside[..], row.bytes, row.jobs.min(ENGINE_JOBS_MAX));
            let run = Run { operation, bytes, jobs, interface: "native", personality: None };
            return Ok(self.ours.speed(&run, self.seconds, own(1))?.ops_per_s);
        };
        // Without the library there is no ratio: the row says that it is missing.
        let Ok(library) = openssl() else { return Ok(0.0) };
        Ok(bound(own(1), || {
            let (begin, mut keys) = (Instant::now(), 0);
            while keys == 0 || begin.elapsed().as_secs_f64() < self.seconds {
                library.rsa_generate(bits);
                keys += 1;
            }
            f64::from(keys) / begin.elapsed().as_secs_f64()
        }))
    }

    /// A row for each number of jobs, beside the best of them.
    fn rsa(&self, bits: usize) -> Result<Vec<Measure>, LabError> {
        let operation = if bits == 1024 { "rsa1024-crt" } else { "rsa2048-crt" };
        let mut all = Vec::new();
        for jobs in RSA_JOBS {
            let run = Run { operation, bytes: 0, jobs, interface: "card", personality: Some("accelerator") };
            all.push((jobs, self.both(&run, Figure::Rate)?));
        }
        let best = all.iter().map(|(_, (ours, _))| median(ours)).fold(0.0, f64::max);
        let measure = |(jobs, (ours, other)): &(usize, (Vec<f64>, Vec<f64>))| {
            let lonely = bits == 1024 && *jobs == RSA_JOBS[0];
            let promise = Promise::RatioAtLeast(if lonely { 0.9 } else { 0.95 });
            let case = format!("RSA-{bits} CRT, clear key, one card, {jobs} jobs");
            let row =
                Measure::alone(&case, "ops/s", ours, Some(promise)).beside("the best of these counts", best);
            let bound = if lonely {
                "the card waits for its caller, who sends the next eight"
            } else {
                "lanes that stay empty"
            };
            Measure { others: before(ours, other), bound: bound.to_owned(), ..row }
        };
        Ok(all.iter().map(measure).collect())
    }
}

/// The other build's figure, and our ratio to it round by round; empty without another build.
fn before(ours: &[f64], other: &[f64]) -> Vec<Other> {
    let compared = compare(ours, other);
    let spread = Summary::of(other).map(|summary| (summary.min, summary.max));
    let row = compared.map(|compared| Other {
        name: BEFORE.to_owned(),
        value: compared.peer.median,
        ratio: compared.ratio.median,
        spread,
        ratio_spread: Some((compared.ratio.min, compared.ratio.max)),
    });
    row.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::operation::Operation;

    #[test]
    fn the_other_build_stands_beside_ours_round_by_round() {
        let [other] = before(&[20.0, 30.0, 50.0], &[10.0, 10.0, 40.0]).try_into().unwrap();
        assert_eq!((other.value, other.ratio, other.spread), (10.0, 2.0, Some((10.0, 40.0))));
        assert!(before(&[20.0], &[]).is_empty());
    }

    #[test]
    fn every_row_can_be_measured_and_says_what_it_promises() {
        for row in rows() {
            let says = row.promise().is_some() || row.stretch().is_some();
            assert_eq!(says, !row.promise.is_empty(), "{}", row.case);
            let is_ratio = matches!(row.promise(), Some(Promise::RatioAtLeast(_)));
            assert!(!is_ratio || !row.beside.is_empty(), "{}: a ratio to nothing", row.case);
            row.operation.parse::<Operation>().expect("the operation of a row");
            match row.beside.strip_prefix(OPENSSL_RSA) {
                Some(bits) => drop(bits.parse::<usize>().expect("a size of an RSA key")),
                None if row.beside.is_empty() => {}
                None => drop(row.beside.parse::<Operation>().expect("what a row is set beside")),
            }
        }
    }

    #[test]
    fn a_row_of_one_build_runs() {
        let Ok(side) = Side::of_this_build(own(1)) else {
            // The programs of the workspace are not beside this test; `make test` builds them first.
            panic!("build the programs first: make build");
        };
        let run = Run { operation: "null", bytes: 0, jobs: 2, interface: "card", personality: None };
        assert!(side.speed(&run, 0.02, own(0)).unwrap().ops_per_s > 0.0);
        let unknown = Run { operation: "no-such-operation", ..run };
        let refused = side.speed(&unknown, 0.02, None).unwrap_err();
        assert!(refused.to_string().contains("no-such-operation"), "{refused}");
    }
}
