//! The result of a run of a case, and the summary of several runs.

use super::case::{Case, Experiment};
use crate::kit::statistics::{Summary, compare, median};
use crate::load::ProcessorSeconds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The measured time, in seconds.
    pub seconds: f64,
    /// One entry for each load of the case.
    pub loads: Vec<LoadRun>,
    /// The cards that carried load.
    pub cards: Vec<CardRun>,
    /// Processor time of callers, daemon and cards.
    pub processor_s: ProcessorSeconds,
    /// Answers that were compared with the expected ones.
    pub answers_compared: u64,
}

/// The result of one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRun {
    /// Operations a second.
    pub ops_per_s: f64,
    /// Half of its requests took at most this long, in nanoseconds.
    pub p50_ns: u64,
    /// The 99th percentile of its requests' times, in nanoseconds.
    pub p99_ns: u64,
    /// Operations a second by card.
    pub by_card: BTreeMap<u32, f64>,
}

/// The work of one card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CardRun {
    /// Index of the card.
    pub card: u32,
    /// Operations a second.
    pub ops_per_s: f64,
    /// Share of the time that the card was at work; for a timed card, its rate over the published full rate.
    pub utilisation: f64,
    /// Requests of a batch, on average.
    pub fill: f64,
}

impl Run {
    /// Operations a second of all tenants.
    pub fn ops_per_s(&self) -> f64 {
        self.loads.iter().map(|load| load.ops_per_s).sum()
    }

    fn rates(&self) -> Vec<f64> {
        self.loads.iter().map(|load| load.ops_per_s).collect()
    }

    fn mean_of_cards(&self, value: fn(&CardRun) -> f64) -> f64 {
        if self.cards.is_empty() {
            return 0.0;
        }
        self.cards.iter().map(value).sum::<f64>() / self.cards.len() as f64
    }

    /// Requests of a batch, on average over the cards that ran any.
    fn fill(&self) -> f64 {
        let ran = self.cards.iter().filter(|card| card.ops_per_s > 0.0 && card.fill > 0.0);
        // A card's batches a second are its rate over its fill.
        let (rate, batches) = ran.fold((0.0, 0.0), |(rate, batches), card| {
            (rate + card.ops_per_s, batches + card.ops_per_s / card.fill)
        });
        if batches > 0.0 { rate / batches } else { 0.0 }
    }

    /// Processor time of an operation, in nanoseconds.
    fn per_operation_ns(&self, seconds: f64) -> f64 {
        let operations = self.ops_per_s() * self.seconds;
        if operations > 0.0 { seconds * 1e9 / operations } else { 0.0 }
    }
}

/// Jain's index of fairness: 1 if all shares are equal, 1 / n if one of n has everything.
pub fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 }
}

/// The largest share over the smallest; none if a share is 0.
pub fn max_over_min(shares: &[f64]) -> Option<f64> {
    let (min, max) = shares.iter().fold((f64::INFINITY, 0.0f64), |(min, max), x| (min.min(*x), max.max(*x)));
    (min > 0.0 && min.is_finite()).then(|| max / min)
}

/// A case with all of its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueOutcome {
    /// The experiment of the case.
    pub experiment: Experiment,
    /// Name of the case within the experiment.
    pub name: String,
    /// Whether timed cards took part.
    pub timed: bool,
    /// Number of tenants with a load.
    pub tenants: usize,
    /// Requests that the tenants kept in flight.
    pub jobs: usize,
    /// Operations a second of all tenants.
    pub ops_per_s: Summary,
    /// Median latency in nanoseconds, median over the tenants.
    pub p50_ns: Summary,
    /// 99th percentile of latency in nanoseconds, median over the tenants.
    pub p99_ns: Summary,
    /// 99th percentile of latency in nanoseconds, of the tenant for which it is longest.
    pub p99_worst_ns: Summary,
    /// Share of their time that the cards were at work, on average.
    pub utilisation: Summary,
    /// Requests of a batch, on average.
    pub fill: Summary,
    /// Jain's index of the tenants' rates.
    pub jain: Summary,
    /// Largest over smallest rate of a tenant; none if a tenant got nothing in some run.
    pub max_over_min: Option<Summary>,
    /// Processor time of the callers for one operation, in nanoseconds; median.
    pub caller_ns: f64,
    /// Processor time of the daemon for one operation, in nanoseconds; median.
    pub daemon_ns: f64,
    /// Processor time of the cards for one operation, in nanoseconds; median.
    pub cards_ns: f64,
    /// Rates of each load, medians, in the order of the case.
    pub each: Vec<Each>,
    /// Operations a second of each run, in the order of the passes.
    pub rates: Vec<f64>,
    /// Answers that were compared with what they must be, in all runs.
    pub answers_compared: u64,
}

/// One load of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Each {
    /// Name of the tenant.
    pub tenant: String,
    /// Operations a second.
    pub ops_per_s: f64,
    /// Median latency in nanoseconds.
    pub p50_ns: f64,
    /// 99th percentile of latency in nanoseconds.
    pub p99_ns: f64,
    /// Share of its operations that each card did.
    pub shares: BTreeMap<u32, Summary>,
}

impl QueueOutcome {
    /// Sums up the runs of a case; none without runs.
    pub fn new(case: &Case, runs: &[Run]) -> Option<Self> {
        let values = |value: &dyn Fn(&Run) -> f64| runs.iter().map(value).collect::<Vec<f64>>();
        let summary = |value: &dyn Fn(&Run) -> f64| Summary::of(&values(value));
        let over_loads = |value: fn(&LoadRun) -> f64| {
            move |run: &Run| median(&run.loads.iter().map(value).collect::<Vec<f64>>())
        };
        let worst = |run: &Run| run.loads.iter().map(|load| load.p99_ns).max().unwrap_or(0) as f64;
        let apart: Option<Vec<f64>> = runs.iter().map(|run| max_over_min(&run.rates())).collect();
        Some(Self {
            experiment: case.experiment,
            name: case.name.clone(),
            timed: case.rig.is_timed(),
            tenants: case.loads.len(),
            jobs: case.loads.iter().map(|load| load.jobs).sum(),
            ops_per_s: summary(&Run::ops_per_s)?,
            p50_ns: summary(&over_loads(|load| load.p50_ns as f64))?,
            p99_ns: summary(&over_loads(|load| load.p99_ns as f64))?,
            p99_worst_ns: summary(&worst)?,
            utilisation: summary(&|run| run.mean_of_cards(|card| card.utilisation))?,
            fill: summary(&Run::fill)?,
            jain: summary(&|run| jain(&run.rates()))?,
            max_over_min: apart.and_then(|ratios| Summary::of(&ratios)),
            caller_ns: median(&values(&|run| run.per_operation_ns(run.processor_s.caller))),
            daemon_ns: median(&values(&|run| run.per_operation_ns(run.processor_s.daemon))),
            cards_ns: median(&values(&|run| run.per_operation_ns(run.processor_s.cards))),
            each: case
                .loads
                .iter()
                .enumerate()
                .map(|(index, load)| each(case, load.tenant, index, runs))
                .collect(),
            rates: values(&Run::ops_per_s),
            answers_compared: runs.iter().map(|run| run.answers_compared).sum(),
        })
    }

    /// The rate over that of another case, by the ratios of neighbouring runs.
    pub fn over(&self, other: &Self) -> Option<Summary> {
        Some(compare(&self.rates, &other.rates)?.ratio)
    }
}

fn each(case: &Case, tenant: usize, index: usize, runs: &[Run]) -> Each {
    let loads = || runs.iter().filter_map(|run| run.loads.get(index));
    let of = |value: fn(&LoadRun) -> f64| median(&loads().map(value).collect::<Vec<f64>>());
    let cards = loads().flat_map(|load| load.by_card.keys().copied());
    let share = |card: u32| {
        let shares = loads().filter(|load| load.ops_per_s > 0.0);
        let shares = shares.map(|load| load.by_card.get(&card).copied().unwrap_or(0.0) / load.ops_per_s);
        Some((card, Summary::of(&shares.collect::<Vec<f64>>())?))
    };
    Each {
        tenant: case.rig.tenants.get(tenant).map(|tenant| tenant.name.clone()).unwrap_or_default(),
        ops_per_s: of(|load| load.ops_per_s),
        p50_ns: of(|load| load.p50_ns as f64),
        p99_ns: of(|load| load.p99_ns as f64),
        shares: cards.collect::<std::collections::BTreeSet<_>>().into_iter().filter_map(share).collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run in which each load had these operations a second by card.
    pub fn run(loads: &[&[(u32, f64)]]) -> Run {
        let load = |by_card: &&[(u32, f64)]| LoadRun {
            ops_per_s: by_card.iter().map(|(_, rate)| rate).sum(),
            p50_ns: 1_000_000,
            p99_ns: 2_000_000,
            by_card: by_card.iter().copied().collect(),
        };
        let cards: std::collections::BTreeSet<u32> =
            loads.iter().flat_map(|load| load.iter().map(|(card, _)| *card)).collect();
        let rate = |card| {
            loads
                .iter()
                .flat_map(|load| load.iter())
                .filter(|(at, _)| *at == card)
                .map(|(_, rate)| rate)
                .sum()
        };
        Run {
            seconds: 1.0,
            loads: loads.iter().map(load).collect(),
            cards: cards
                .into_iter()
                .map(|card| CardRun { card, ops_per_s: rate(card), utilisation: 0.5, fill: 2.0 })
                .collect(),
            processor_s: ProcessorSeconds { caller: 0.1, daemon: 0.0, cards: 0.2 },
            answers_compared: 10,
        }
    }

    #[test]
    fn fairness_is_one_where_all_get_the_same() {
        assert_eq!(jain(&[3.0; 7]), 1.0);
        assert!((jain(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
        assert_eq!(
            (max_over_min(&[2.0, 3.0]), max_over_min(&[0.0, 3.0]), max_over_min(&[])),
            (Some(1.5), None, None)
        );
    }

    #[test]
    fn runs_are_summed_up() {
        let case = crate::queues::balance::cases(crate::queues::Extent::Full).remove(0);
        assert_eq!(case.loads.len(), 2);
        let runs = [
            run(&[&[(1, 60.0), (2, 40.0)], &[(1, 50.0), (2, 50.0)]]),
            run(&[&[(1, 80.0), (2, 20.0)], &[(2, 100.0)]]),
        ];
        let outcome = QueueOutcome::new(&case, &runs).unwrap();
        assert_eq!((outcome.ops_per_s.median, outcome.ops_per_s.runs, outcome.jain.median), (200.0, 2, 1.0));
        assert_eq!(outcome.max_over_min.unwrap().max, 1.0);
        assert_eq!(outcome.each[0].shares[&1].median, 0.7);
        assert_eq!((outcome.each[1].shares[&1].min, outcome.each[1].shares[&2].max), (0.0, 1.0));
        assert_eq!((outcome.caller_ns, outcome.cards_ns), (5e5, 1e6));
        assert_eq!(outcome.over(&outcome).unwrap().median, 1.0);
        let mut uneven = runs[0].clone();
        (uneven.cards[0].fill, uneven.cards[1].fill) = (1.0, 0.0);
        assert_eq!((outcome.fill.median, uneven.fill()), (2.0, 1.0));
        assert!(QueueOutcome::new(&case, &[]).is_none());
        let again: QueueOutcome = serde_json::from_str(&serde_json::to_string(&outcome).unwrap()).unwrap();
        assert_eq!(again, outcome);
    }
}
