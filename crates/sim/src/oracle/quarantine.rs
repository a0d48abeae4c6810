//! What must hold for a tenant whose requests kill cards: it is refused after so many deaths, for so long, and no other
//! is.
//!
//! Its poisoned requests are known by their numbers, which no code under test can see.

use crate::plan::Plan;
use facility::FacilityError;
use home::Quarantine;
use std::collections::BTreeSet;
use wire::control::Refusal;
use wire::tenant::{ConfinedRow, Confinement};

/// Name of the tenant.
pub const NAME: &str = "hostile";
/// From the daemon's saying that it is refused to that no card takes anything of it, where nothing holds them up.
const TOLD_NS: u64 = 1_000_000_000;

/// When tenants of this plan are refused: after so many deaths, for so long.
pub fn rules(plan: &Plan) -> Quarantine {
    Quarantine { deaths: 1 + plan.seed as u32 % 3, window_s: 600, first_s: 4, longest_s: 20 }
}

/// Whether an error says that the tenant is in quarantine.
pub fn is_quarantine(error: &FacilityError) -> bool {
    matches!(
        error,
        FacilityError::Quarantined { .. }
            | FacilityError::Refused { refusal: Refusal::Quarantined { .. }, .. }
    )
}

/// What is known of the hostile tenant.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    poisoned: BTreeSet<u64>,
    /// Cards that died with poisoned requests and nothing else, and with others' beside.
    pub alone: u32,
    /// Cards that died with others' requests beside.
    pub in_company: u32,
    /// Quarantines that were seen, each with the time from which on nothing of it may run, and until when.
    seen: Vec<(u32, u64, u64)>,
}

impl Watched {
    /// A request of which cards die.
    pub fn poison(&mut self, number: u64) {
        self.poisoned.insert(number);
    }

    /// A card runs these requests: whether it dies of them.
    pub fn runs(&mut self, batch: &[u64]) -> bool {
        let poisoned = batch.iter().filter(|number| self.poisoned.contains(number)).count();
        match poisoned {
            0 => return false,
            count if count == batch.len() => self.alone += 1,
            _ => self.in_company += 1,
        }
        true
    }

    /// What is wrong with a poisoned request's running at this time, in a plan where nothing else goes wrong.
    pub fn wrong(&self, batch: &[u64], now_ns: u64) -> Option<String> {
        let number = batch.iter().find(|number| self.poisoned.contains(number))?;
        let in_quarantine = |(_, from, until): &&(u32, u64, u64)| (*from..*until).contains(&now_ns);
        let (quarantine, ..) = self.seen.iter().find(in_quarantine)?;
        Some(format!("request {number} ran in quarantine {quarantine} of its tenant"))
    }

    /// The daemon says this of it. What is wrong with that.
    pub fn seen(&mut self, row: &ConfinedRow, rules: &Quarantine, now_ns: u64) -> Option<String> {
        if row.confinement != Confinement::Refused {
            return None;
        }
        if row.name != NAME {
            return Some(format!("tenant {} is in quarantine, and ended no card", row.name));
        }
        let (said, expected) =
            (row.until_unix_s - row.since_unix_s, rules.span(row.quarantines - 1).as_secs());
        // Both ends are said in whole seconds.
        if !(expected..=expected + 1).contains(&said) {
            return Some(format!("quarantine {} is of {said} s instead of {expected}", row.quarantines));
        }
        if !self.seen.iter().any(|(quarantine, ..)| *quarantine == row.quarantines) {
            let until_ns = (row.until_unix_s - 1).saturating_sub(1_800_000_000) * 1_000_000_000;
            self.seen.push((row.quarantines, now_ns + TOLD_NS, until_ns));
        }
        None
    }

    /// How many quarantines were seen.
    pub fn quarantines(&self) -> usize {
        self.seen.len()
    }

    /// What is wrong with the number of cards that died, in a plan where nothing else goes wrong: each quarantine takes
    /// one more, and what cards had taken before they were told.
    pub fn judge(&self, plan: &Plan) -> Option<String> {
        let cards = plan.coprocessors + plan.accelerators;
        // A quarantine that was over before somebody looked is one, too.
        let most = rules(plan).deaths + (plan.hostile / 2 + 1) * (1 + cards);
        let (alone, seen) = (self.alone, self.quarantines());
        let is_too_many = alone > most || (alone > rules(plan).deaths + cards && seen == 0);
        is_too_many.then(|| {
            format!("{alone} cards died of a tenant's requests alone, which was refused {seen} times")
        })
    }
}
