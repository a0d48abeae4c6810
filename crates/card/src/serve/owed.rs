//! Waiting for tenants that are owed turns.
//!
//! A tenant of cheap requests is answered sooner than its program can send the next request. A card that always began
//! the next pass with whatever is there would therefore serve it only now and then between the expensive passes of
//! another tenant, however far its clock is behind. So before a long pass a card waits a moment for the tenants that it
//! has just answered, if they are first in turn.

use super::{Server, There};
use crate::attached::{Attached, Tier};
use crate::turns::Turns;
use link::{ns_to_tsc, tsc, tsc_to_ns};
use std::time::Duration;
use wire::control::PollMode;

/// A tenant that is owed turns is waited for no longer than this part of the pass that would begin.
const WAIT_SHARE: u64 = 16;
/// Upper bound of that wait, in nanoseconds.
const WAIT_NS_MAX: u64 = 1_000_000;
/// Lower bound of that wait, in nanoseconds: a shorter one would cost more for going to sleep and waking up, and is
/// left out.
const WAIT_NS_MIN: u64 = 20_000;

/// The tenants that the last pass answered, each with what one of its requests cost there, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Answered(Vec<(usize, u64)>);

impl Answered {
    /// Notes the requests that a pass answered, each with its tenant and cost; at most as many as a batch takes.
    pub fn set(&mut self, requests: impl Iterator<Item = (usize, u64)>) {
        self.0.clear();
        self.0.extend(requests);
        self.0.dedup_by_key(|(tenant, _)| *tenant);
    }

    /// Forgets a tenant that does not exist any more.
    pub fn forget(&mut self, tenant: usize) {
        self.0.retain(|(other, _)| *other != tenant);
    }

    /// Whether one of these tenants has no work now and is behind all tenants that have work, by more than the cost of
    /// one request, since turns are never more even than that. Tenants whose requests limits hold back do not count.
    pub(super) fn any_is_owed(
        &self,
        turns: &Turns,
        with_work: impl Iterator<Item = usize> + Clone,
        pushes: impl Fn(usize) -> bool,
    ) -> bool {
        let is_owed = |(tenant, cost): &(usize, u64)| {
            !pushes(*tenant)
                && !with_work.clone().any(|other| other == *tenant)
                && turns.behind(*tenant, with_work.clone()) > *cost
        };
        self.0.iter().any(is_owed)
    }
}

impl Server {
    /// Before a long pass, waits for tenants that the last pass answered and whose turn is before that of all tenants
    /// with work. The wait is at most a sixteenth of the pass that would begin and a millisecond. The card sleeps
    /// meanwhile, if its poll mode lets it, so that clients have this processor. Returns the requests that are there
    /// then.
    pub(super) fn wait_for_owed(&mut self, mut there: There) -> There {
        let poll = match self.start.poll {
            PollMode::Every { .. } => return there,
            PollMode::Spin => PollMode::Spin,
            PollMode::Adaptive | PollMode::Sleep => PollMode::Sleep,
        };
        let mut until = None;
        while there.all() != 0 && there.of(Tier::Cheap) == 0 && self.is_owed() {
            let now = tsc();
            let until = *until.get_or_insert_with(|| {
                let span_ns = (self.longest_ns(there.of(Tier::Dear)) / WAIT_SHARE).min(WAIT_NS_MAX);
                now.saturating_add(if span_ns < WAIT_NS_MIN { 0 } else { ns_to_tsc(span_ns) })
            });
            if now >= until {
                break;
            }
            let left = Duration::from_nanos(tsc_to_ns(until - now));
            let pending = || self.queues.iter().any(Attached::has_newer);
            if self.doorbell.wait(&self.status, poll, false, &[], Some(left), pending).is_err() {
                break;
            }
            there = self.sweep();
        }
        there
    }

    fn is_owed(&self) -> bool {
        let with_work = self.collecting.active.iter().map(|index| self.queues[*index].tenant);
        self.pacing.answered.any_is_owed(&self.turns, with_work, |tenant| self.limits.pushes(tenant))
    }

    /// How long the longest pass would take, among the kinds that wait first in a queue, with `there` requests, in
    /// nanoseconds.
    pub(super) fn longest_ns(&self, there: usize) -> u64 {
        let pass = |index: &usize| {
            let attached = &self.queues[*index];
            let kind = attached.next(Tier::Dear, None).and_then(|slot| attached.dear_kind(slot));
            let ns = |kind| {
                self.accounting
                    .costs
                    .ns(kind)
                    .saturating_mul(there.min(self.accounting.costs.lanes(kind)) as u64)
            };
            kind.map_or(0, ns)
        };
        self.collecting.active.iter().map(pass).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_answered_and_is_behind_is_owed() {
        let mut turns = Turns::default();
        let (cheap, dear, other) = (turns.join(1, 1, 0), turns.join(2, 1, 0), turns.join(3, 1, 0));
        turns.begin(&[cheap, dear, other]);
        turns.charge(cheap, 70_000);
        turns.charge(dear, 2_800_000);
        turns.charge(other, 75_000);
        let mut answered = Answered::default();
        let is_owed = |answered: &Answered, with_work: &[usize]| {
            answered.any_is_owed(&turns, with_work.iter().copied(), |_| false)
        };
        assert!(!is_owed(&answered, &[dear]), "nobody was answered");
        answered.set([(cheap, 9_000), (cheap, 9_000)].into_iter());
        assert!(is_owed(&answered, &[dear]));
        assert!(!is_owed(&answered, &[dear, cheap]), "it is there");
        assert!(!is_owed(&answered, &[other]), "less than one request behind");
        assert!(!answered.any_is_owed(&turns, [dear].into_iter(), |tenant| tenant == cheap), "held back");
        answered.set([(dear, 350_000), (cheap, 9_000)].into_iter());
        assert!(!is_owed(&answered, &[other, cheap]) && is_owed(&answered, &[dear]));
        answered.forget(cheap);
        assert!(!is_owed(&answered, &[dear]));
    }
}
