//! A case of an experiment: a house of cards and tenants, and what each tenant asks of it.

use super::models::{TimedCard, timing_text};
use crate::load::operation::Operation;
use crate::load::tenants::sharing;
use serde::{Deserialize, Serialize};
use wire::control::PollMode;
use wire::tenant::{Limits, Tenant};

/// Index of the first card that carries load; the coprocessor before it makes the keys.
pub const FIRST_CARD: u32 = 1;

/// Answers of each job that a window of a second holds, at the least.
const ROUNDS_PER_SECOND: f64 = 20.0;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// One tenant on shared cards, and on cards of its own.
    Shared,
    /// One tenant, and many.
    Tenants,
    /// Two cards: which gets how much.
    Balance,
    /// How the rate grows with the jobs.
    Jobs,
    /// How cards and callers wait.
    Waiting,
}

impl Experiment {
    /// Every one, in the order of the report.
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

/// A house: cards that carry load, how everyone waits, and the tenants that it knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rig {
    /// Accelerators, the first at [`FIRST_CARD`]; none is a card as it is.
    pub cards: Vec<Option<TimedCard>>,
    /// How the cards wait.
    pub poll: PollMode,
    /// How callers wait.
    pub caller_poll: PollMode,
    /// Its tenants.
    pub tenants: Vec<Tenant>,
}

impl Rig {
    /// So many equal cards for one tenant without limits, everyone waiting as is the default.
    pub fn of(cards: usize, card: Option<TimedCard>) -> Self {
        Self {
            cards: vec![card; cards],
            poll: PollMode::Adaptive,
            caller_poll: PollMode::Adaptive,
            tenants: vec![sharing("tenant", Limits::default())],
        }
    }

    /// Whether the same processes serve another rig: tenants are changed while they run.
    pub fn is_served_like(&self, other: &Self) -> bool {
        let processes = |rig: &Self| (rig.cards.clone(), rig.poll, rig.caller_poll);
        processes(self) == processes(other)
    }

    /// Whether any of its cards is timed.
    pub fn is_timed(&self) -> bool {
        self.cards.iter().any(Option::is_some)
    }

    /// What the timed program reads.
    pub fn timing_text(&self) -> String {
        timing_text(FIRST_CARD, &self.cards)
    }

    /// The timing of the card at an index.
    pub fn card(&self, index: u32) -> Option<TimedCard> {
        let place = index.checked_sub(FIRST_CARD)?;
        self.cards.get(place as usize).copied().flatten()
    }

    /// The first cards that carry load, as bits by index.
    pub fn first(cards: usize) -> u64 {
        (FIRST_CARD..).take(cards).fold(0, |bits, index| bits | 1 << index)
    }
}

/// The indexes of cards that are given as bits.
pub(super) fn bits(cards: u64) -> Vec<u32> {
    (0..u64::BITS).filter(|index| cards >> index & 1 == 1).collect()
}

/// What one tenant asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Index of the tenant within its rig.
    pub tenant: usize,
    /// What is done.
    pub operation: Operation,
    /// Requests that it keeps under way.
    pub jobs: usize,
    /// Cards that it uses, as bits by index.
    pub cards: u64,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it belongs to.
    pub experiment: Experiment,
    /// Its name within the experiment.
    pub name: String,
    /// The house.
    pub rig: Rig,
    /// Who asks for what, all at once.
    pub loads: Vec<Load>,
}

impl Case {
    /// The name among all cases.
    pub fn id(&self) -> String {
        format!("{}/{}", self.experiment, self.name)
    }

    /// How long the timed cards take to answer all that is under way once, in seconds; 0 for cards as they are.
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

    /// How long is measured where so many seconds are asked for: as long as many tenants need to have
    /// [`ROUNDS_PER_SECOND`] answers of each job in a second that is asked for.
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
