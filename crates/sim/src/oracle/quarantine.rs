//! What must hold for a tenant whose requests kill cards: the tenant is refused after a number of deaths, for a time,
//! and no other tenant is.
//!
//! Its poisoned requests are known by their numbers, which no code under test can see.

use crate::plan::Plan;
use facility::FacilityError;
use home::Quarantine;
use std::collections::BTreeSet;
use wire::control::Refusal;
use wire::tenant::{ConfinedRow, Confinement};

/// Name of the hostile tenant.
pub const NAME: &str = "hostile";
/// Longest time from the daemon's report of a quarantine until no card takes a request of the tenant, if nothing delays
/// the cards, in nanoseconds.
const TOLD_NS: u64 = 1_000_000_000;

/// The rules of quarantine in this plan: after how many deaths, and for how long.
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

/// Requests, deaths and quarantines of the hostile tenant.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    poisoned: BTreeSet<u64>,
    /// Cards that died with poisoned requests and nothing else.
    pub alone: u32,
    /// Cards that died with poisoned requests and requests of others.
    pub in_company: u32,
    /// Quarantines that were seen: number, time from which on no request of the tenant may run, and end.
    seen: Vec<(u32, u64, u64)>,
}

impl Watched {
    /// Notes a poisoned request, of which cards die.
    pub fn poison(&mut self, number: u64) {
        self.poisoned.insert(number);
    }

    /// Notes that a card runs these requests; returns whether it dies of them.
    pub fn runs(&mut self, batch: &[u64]) -> bool {
        let poisoned = batch.iter().filter(|number| self.poisoned.contains(number)).count();
        match poisoned {
            0 => return false,
            count if count == batch.len() => self.alone += 1,
            _ => self.in_company += 1,
        }
        true
    }

    /// The violation if a poisoned request runs at this time, in a plan where nothing else goes wrong.
    pub fn wrong(&self, batch: &[u64], now_ns: u64) -> Option<String> {
        let number = batch.iter().find(|number| self.poisoned.contains(number))?;
        let in_quarantine = |(_, from, until): &&(u32, u64, u64)| (*from..*until).contains(&now_ns);
        let (quarantine, ..) = self.seen.iter().find(in_quarantine)?;
        Some(format!("request {number} ran in quarantine {quarantine} of its tenant"))
    }

    /// Notes a report of the daemon about the tenant; returns what is wrong with the report.
    pub fn seen(&mut self, row: &ConfinedRow, rules: &Quarantine, now_ns: u64) -> Option<String> {
        if row.confinement != Confinement::Refused {
            return None;
        }
        if row.name != NAME {
            return Some(format!("tenant {} is in quarantine, and ended no card", row.name));
        }
        let (said, expected) =
            (row.until_unix_s - row.since_unix_s, rules.span(row.quarantines - 1).as_secs());
        // Both ends are reported in whole seconds.
        if !(expected..=expected + 1).contains(&said) {
            return Some(format!("quarantine {} is of {said} s instead of {expected}", row.quarantines));
        }
        if !self.seen.iter().any(|(quarantine, ..)| *quarantine == row.quarantines) {
            let until_ns = (row.until_unix_s - 1).saturating_sub(1_800_000_000) * 1_000_000_000;
            self.seen.push((row.quarantines, now_ns + TOLD_NS, until_ns));
        }
        None
    }

    /// Number of quarantines that were seen.
    pub fn quarantines(&self) -> usize {
        self.seen.len()
    }

    /// The violation if too many cards died of the tenant's requests, in a plan where nothing else goes wrong. Each
    /// quarantine allows one more death, and one of each card that had taken requests before it was told.
    pub fn judge(&self, plan: &Plan) -> Option<String> {
        let cards = plan.coprocessors + plan.accelerators;
        // A quarantine that ended before anybody looked counts as well.
        let most = rules(plan).deaths + (plan.hostile / 2 + 1) * (1 + cards);
        let (alone, seen) = (self.alone, self.quarantines());
        let is_too_many = alone > most || (alone > rules(plan).deaths + cards && seen == 0);
        is_too_many.then(|| {
            format!("{alone} cards died of a tenant's requests alone, which was refused {seen} times")
        })
    }
}
