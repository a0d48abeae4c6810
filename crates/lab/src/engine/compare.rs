//! The sides of a row in turn: answers compared, times taken, a measure made.

use super::rows::{Against, Row, Work};
use super::sides::RowSide;
use super::{AWS_LC, IPSEC_MB, LOOK, OPENSSL, Stage, failed, seconds};
use crate::experiment::promise::{Limit, Measure, Other, Part, Promise};
use crate::kit::statistics::{Summary, median};
use crate::load::LabError;

impl Stage<'_> {
    /// Compares the answers of all sides, times them in turn, compares again, and sums up.
    pub(super) fn compare(
        &self,
        row: &Row,
        units: f64,
        ours: &mut dyn RowSide,
        peers: &mut [(&str, Box<dyn RowSide + '_>)],
    ) -> Result<Measure, LabError> {
        agree(row, ours, peers)?;
        let (rounds, length) = (self.options.rounds.max(1), self.options.seconds);
        let calls: Vec<usize> = std::iter::once(calls(ours, length))
            .chain(peers.iter_mut().map(|(_, side)| calls(side.as_mut(), length)))
            .collect();
        let mut rates = vec![Vec::with_capacity(rounds); calls.len()];
        for round in 0..rounds {
            for turn in 0..calls.len() {
                let at = (round + turn) % calls.len();
                let side: &mut dyn RowSide = if at == 0 { ours } else { peers[at - 1].1.as_mut() };
                rates[at].push(units * calls[at] as f64 / timed(side, calls[at]));
            }
        }
        agree(row, ours, peers)?;
        let names: Vec<&str> = peers.iter().map(|(name, _)| *name).collect();
        Ok(self.sum_up(row, &names, &rates))
    }

    fn sum_up(&self, row: &Row, names: &[&str], rates: &[Vec<f64>]) -> Measure {
        let ours = &rates[0];
        let in_bytes = !matches!(
            row.work,
            Work::Retail { .. }
                | Work::Pin { .. }
                | Work::RsaPrivate { .. }
                | Work::RsaPublic { .. }
                | Work::RsaGenerate { .. }
                | Work::EcdsaSign { .. }
                | Work::X25519 { .. }
                | Work::X25519Public { .. }
        );
        let (scale, unit) = if in_bytes { (1e-6, "MB/s") } else { (1.0, "ops/s") };
        let scaled = |rates: &[f64]| rates.iter().map(|rate| rate * scale).collect::<Vec<f64>>();
        let limit = self.ports.limit(row.work, self.level);
        let (promise, stretch) = row.promise_at(self.level, limit.is_some());
        let mut measure = Measure::alone(row.case, unit, &scaled(ours), promise);
        let ratios = |peer: &[f64]| ours.iter().zip(peer).map(|(a, b)| a / b).collect::<Vec<f64>>();
        for (name, peer) in names.iter().zip(&rates[1..]) {
            let spread = Summary::of(&scaled(peer)).map(|summary| (summary.min, summary.max));
            let (value, ratios) = (median(&scaled(peer)), ratios(peer));
            let ratio_spread = Summary::of(&ratios).map(|summary| (summary.min, summary.max));
            let name = (*name).to_owned();
            measure.others.push(Other { name, value, ratio: median(&ratios), spread, ratio_spread });
        }
        // Of the single-stream libraries, the best leaves the smallest ratio.
        let eligible = measure.others.iter().filter(|other| match row.against {
            Against::OpenSsl => other.name == OPENSSL,
            Against::AwsLc => other.name == AWS_LC,
            Against::IpsecMb => other.name == IPSEC_MB,
            Against::BestSingle => other.name != IPSEC_MB,
        });
        let judge = eligible.min_by(|a, b| a.ratio.total_cmp(&b.ratio)).cloned();
        match judge {
            Some(judge) => {
                (measure.peer, measure.peer_value, measure.ratio) =
                    (judge.name, Some(judge.value), Some(judge.ratio));
            }
            // A missing peer is named all the same: the tables say that it is missing.
            None if promise.is_some_and(Promise::is_ratio) => {
                measure.peer = if row.against == Against::IpsecMb { IPSEC_MB } else { OPENSSL }.to_owned();
            }
            None => {}
        }
        measure.stretch = stretch;
        (measure.part, measure.level) = (Part::Engine, self.level.name().to_owned());
        measure.limit = limit.map(|limit| {
            let value = limit * scale;
            Limit { value, share: measure.ours / value }
        });
        measure
    }
}

/// Checks that every side gives the same answers from the same start.
pub(super) fn agree(
    row: &Row,
    ours: &mut dyn RowSide,
    peers: &mut [(&str, Box<dyn RowSide + '_>)],
) -> Result<(), LabError> {
    let expected = ours.answers();
    for (name, side) in peers {
        if side.answers() != expected {
            return Err(failed(row, &format!("the answers of the engine and of {name} differ")));
        }
    }
    Ok(())
}

/// The number of calls that take about `length` seconds; at least one.
fn calls(side: &mut dyn RowSide, length: f64) -> usize {
    let mut calls = 1;
    loop {
        let took = timed(side, calls);
        if took >= LOOK.min(length) {
            return ((length / took * calls as f64).round() as usize).max(1);
        }
        calls *= 2;
    }
}

fn timed(side: &mut dyn RowSide, calls: usize) -> f64 {
    let start = seconds();
    for _ in 0..calls {
        side.call();
    }
    (seconds() - start).max(1e-9)
}
