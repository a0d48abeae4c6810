//! A case of an experiment: a house of cards and tenants, and the load of each tenant.

use super::models::{TimedCard, timing_text};
use crate::load::operation::Operation;
use crate::load::tenants::sharing;
use serde::{Deserialize, Serialize};
use wire::control::PollMode;
use wire::tenant::{Limits, Tenant};

/// Index of the first card that carries load; the coprocessor before it makes the keys.
pub const FIRST_CARD: u32 = 1;

/// Minimum of answers of each job in a window, for each second that is asked for.
const ROUNDS_PER_SECOND: f64 = 20.0;

/// The subject of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// One tenant on shared cards, and on cards of its own.
    Shared,
    /// One tenant, and many.
    Tenants,
    /// The share of two cards that each system gets.
    Balance,
    /// How the rate grows with the jobs.
    Jobs,
    /// How cards and callers wait.
    Waiting,
}

impl Experiment {
    /// Every experiment, in the order of the report.
    pub const ALL: [Self; 5] = [Self::Shared, Self::Tenants, Self::Balance, Self::Jobs, Self::Waiting];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Tenants => "tenants",
            Self::Balance => "balance",
            Self::Jobs => "jobs",
            Self::Waiting => "waiting",
        }
    }
}

impl std::fmt::Display for Experiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A house: cards that carry load, the way that cards and callers wait, and the tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rig {
    /// Accelerators, the first at index [`FIRST_CARD`]; none is a card that is not timed.
    pub cards: Vec<Option<TimedCard>>,
    /// How the cards wait.
    pub poll: PollMode,
    /// How callers wait.
    pub caller_poll: PollMode,
    /// The tenants of the house.
    pub tenants: Vec<Tenant>,
}

impl Rig {
    /// A rig of `cards` equal cards for one tenant without limits, with the default way of waiting.
    pub fn of(cards: usize, card: Option<TimedCard>) -> Self {
        Self {
            cards: vec![card; cards],
            poll: PollMode::Adaptive,
            caller_poll: PollMode::Adaptive,
            tenants: vec![sharing("tenant", Limits::default())],
        }
    }

    /// Whether the same processes can serve another rig: tenants may differ, because they are changed while the
    /// processes run.
    pub fn is_served_like(&self, other: &Self) -> bool {
        let processes = |rig: &Self| (rig.cards.clone(), rig.poll, rig.caller_poll);
        processes(self) == processes(other)
    }

    /// Whether any card of the rig is timed.
    pub fn is_timed(&self) -> bool {
        self.cards.iter().any(Option::is_some)
    }

    /// The text of the cards' timings for the program of timed cards.
    pub fn timing_text(&self) -> String {
        timing_text(FIRST_CARD, &self.cards)
    }

    /// The timing of the card at an index; none if it is not timed.
    pub fn card(&self, index: u32) -> Option<TimedCard> {
        let place = index.checked_sub(FIRST_CARD)?;
        self.cards.get(place as usize).copied().flatten()
    }

    /// The first `cards` cards that carry load, as bits by index.
    pub fn first(cards: usize) -> u64 {
        (FIRST_CARD..).take(cards).fold(0, |bits, index| bits | 1 << index)
    }
}

/// The indexes of cards that are given as bits.
pub(super) fn bits(cards: u64) -> Vec<u32> {
    (0..u64::BITS).filter(|index| cards >> index & 1 == 1).collect()
}

/// The load of one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Index of the tenant within its rig.
    pub tenant: usize,
    /// The operation.
    pub operation: Operation,
    /// Requests that the tenant keeps in flight.
    pub jobs: usize,
    /// Cards that the tenant uses, as bits by index.
    pub cards: u64,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The experiment of the case.
    pub experiment: Experiment,
    /// Name of the case within the experiment.
    pub name: String,
    /// The house that the case needs.
    pub rig: Rig,
    /// The loads of the tenants, which all run at once.
    pub loads: Vec<Load>,
}

impl Case {
    /// Name of the case among all experiments.
    pub fn id(&self) -> String {
        format!("{}/{}", self.experiment, self.name)
    }

    /// Seconds that the timed cards take to answer all requests in flight once; 0 without timed cards.
    pub fn round_seconds(&self) -> f64 {
        let cards = |load: &Load| {
            bits(load.cards)
                .into_iter()
                .filter_map(|index| self.rig.card(index)?.rates(load.operation))
                .map(|rates| rates.full)
                .sum::<f64>()
        };
        let of = |load: &Load| if cards(load) > 0.0 { load.jobs as f64 / cards(load) } else { 0.0 };
        self.loads.iter().map(of).sum()
    }

    /// Length of the window in seconds if `seconds` are asked for: longer with many tenants, so that each job gets
    /// [`ROUNDS_PER_SECOND`] answers for each second asked for.
    pub fn window_seconds(&self, seconds: f64) -> f64 {
        seconds.max(self.round_seconds() * ROUNDS_PER_SECOND * seconds)
    }

    /// Cards that carry load, as bits by index.
    pub fn cards(&self) -> u64 {
        self.loads.iter().fold(0, |bits, load| bits | load.cards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::models::Model;

    #[test]
    fn cards_are_counted_from_the_first_that_carries_load() {
        let rig = Rig::of(2, Some(TimedCard::of(Model::Pcica)));
        assert_eq!(
            (rig.card(0), rig.card(1).is_some(), rig.card(2).is_some(), rig.card(3)),
            (None, true, true, None)
        );
        assert_eq!((Rig::first(0), Rig::first(1), Rig::first(3)), (0, 0b10, 0b1110));
        let load =
            Load { tenant: 0, operation: crate::queues::models::PRIVATE, jobs: 16, cards: Rig::first(2) };
        let case =
            Case { experiment: Experiment::Jobs, name: String::new(), rig: rig.clone(), loads: vec![load] };
        assert!((case.round_seconds() - 8.0 / 1093.0).abs() < 1e-9);
        let many = Case { loads: vec![Load { jobs: 960, ..case.loads[0].clone() }], ..case.clone() };
        assert_eq!(case.window_seconds(0.5), 0.5);
        assert!((many.window_seconds(0.5) - 10.0 * 480.0 / 1093.0).abs() < 1e-9);
        assert_eq!(Case { rig: Rig::of(2, None), ..case }.round_seconds(), 0.0);
        assert!(rig.is_timed() && !Rig::of(2, None).is_timed());
    }
}
