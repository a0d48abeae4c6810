//! The cost of a pass, and the tenants that it is charged to.

use super::collect::Collecting;
use super::{Server, Taken};
use crate::cost::Costs;
use crate::held::Until;
use crate::lanes::Lanes;
use crate::samples::Sampler;
use link::{Counter, Samples, tsc_to_ns};

/// Number of requests that share the fixed cost of a pass, at least, on a busy card.
const SHARES_MIN: usize = 8;

/// The estimates of costs, and the writer of samples.
pub(super) struct Accounting {
    pub costs: Costs,
    pub samples: Sampler,
}

impl Accounting {
    /// Estimates for kernels with these lanes, and a writer into these samples, in which the lanes are published.
    pub fn new(lanes: Lanes, samples: Samples) -> Self {
        // At most [`BATCH_MAX`](wire::bounds::BATCH_MAX).
        samples.set_lanes(|slot| lanes.of(slot) as u16);
        Self { costs: Costs::new(lanes), samples: Sampler::new(samples) }
    }
}

/// The cost of a pass.
#[derive(Clone, Copy, Debug)]
struct Cost {
    ns: u64,
    /// Whether `ns` is processor time, rather than time by the clock, which also passes while the card is interrupted.
    is_processor_time: bool,
}

impl Cost {
    /// The part of this cost, in nanoseconds, for a request estimated at `ns` among requests estimated at `estimated`
    /// in all.
    fn share(self, ns: u64, estimated: u64) -> u64 {
        (u128::from(self.ns) * u128::from(ns) / u128::from(estimated.max(1))) as u64
    }

    /// The charge, in nanoseconds, for a tenant whose `count` requests had the pass for themselves. If processor time
    /// is not known, it is at most the estimate of a full pass: an interruption of the card is not held against the
    /// tenant.
    fn whole(self, estimated: u64, lanes: usize, count: usize) -> u64 {
        let unfilled = (lanes as u64).div_ceil(count.max(1) as u64);
        let full = if self.is_processor_time { u64::MAX } else { estimated.saturating_mul(unfilled) };
        self.ns.min(full)
    }
}

impl Server {
    /// Books a pass. For a dear pass `worked` is the processor time that it took, in nanoseconds, and that is its cost:
    /// what others take of this processor meanwhile makes no request dear.
    pub(super) fn account(&mut self, begin: u64, end: u64, worked: Option<u64>) {
        if self.holding.has_own_lanes() {
            return self.account_lanes(begin);
        }
        let (searched_tsc, searched_ns) = self.searched();
        let span = end.wrapping_sub(begin);
        let count = self.collecting.taken.len() as u64;
        let pass_ns = tsc_to_ns(span);
        let estimated: u64 = self.collecting.kinds.iter().map(|kind| self.accounting.costs.ns(*kind)).sum();
        // The search for a key is part of what its request took.
        self.tell_services(pass_ns.saturating_add(searched_ns), estimated);
        let (kinds, costs) = (&self.collecting.kinds, &self.accounting.costs);
        let bytes = self
            .accounting
            .samples
            .passed(begin.wrapping_sub(searched_tsc), end, |place| costs.ns(kinds[place]));
        self.count_bytes(bytes);
        let cost = Cost { ns: worked.unwrap_or(pass_ns), is_processor_time: worked.is_some() };
        self.settle(estimated, cost);
        if !self.collecting.runs_alone {
            let Collecting { kinds, refused, .. } = &self.collecting;
            self.accounting.costs.learn(kinds, |place| refused[place], cost.ns);
        }
        let with_cost = self.collecting.taken.iter().zip(&self.collecting.kinds);
        let queues = &self.queues;
        self.pacing.answered.set(
            with_cost.map(|(taken, kind)| (queues[taken.queue].tenant, self.accounting.costs.ns(*kind))),
        );
        let free = |taken: &Taken| !self.limits.pushes(self.queues[taken.queue].tenant);
        self.pacing.answered_free_tsc = if self.collecting.taken.iter().any(free) { end } else { 0 };
        let waits = (0..self.collecting.taken.len()).filter(|place| self.holding.until(*place) != Until::Now);
        self.status.add(Counter::Requests, count - waits.count() as u64 - self.collecting.parked);
        self.status.add(Counter::Batches, 1);
        self.status.add(Counter::FillSum, count);
        self.status.add(Counter::BusyTsc, span);
        self.status.set_pass(pass_ns);
        self.pacing.pass_ns = pass_ns;
        self.limits.set_pass(pass_ns);
    }

    /// Tells clients how long verbs take, by which they choose among cards. Refused requests tell nothing of that, as
    /// they tell nothing of costs: otherwise a tenant could have others sent elsewhere, or here, by requests that fail.
    /// Their part of the pass is not known, so the time told of the answered requests is within the bounds that this
    /// leaves.
    fn tell_services(&self, pass_ns: u64, estimated: u64) {
        let Collecting { taken, kinds, refused, .. } = &self.collecting;
        let costs = &self.accounting.costs;
        let answered_in = |places: std::ops::Range<usize>| {
            let answered = places.filter(|place| !refused[*place]);
            answered.fold((0, 0), |(count, ns), place| (count + 1, ns + costs.ns(kinds[place])))
        };
        let (_, answered) = answered_in(0..taken.len());
        let took = time_of_answered(pass_ns, answered, estimated - answered);
        let mut first = 0;
        for run in taken.chunk_by(|a, b| a.verb_slot == b.verb_slot) {
            let (count, share) = answered_in(first..first + run.len());
            first += run.len();
            if count == 0 {
                continue;
            }
            let ns = (u128::from(took) * u128::from(share) / u128::from(answered.max(1))) as u64 / count;
            match count == run.len() as u64 {
                true => self.status.add_services(run[0].verb_slot, count, ns),
                false => self.status.count_services(run[0].verb_slot, count, ns),
            }
        }
    }

    /// Charges a tenant that had a pass for itself with that pass, rather than with what its requests cost at the
    /// average fill: the lanes that it leaves empty are its own, also if its client wishes to share no pass. Tenants
    /// that shared a pass of known processor time divide that time. Tenants that shared a pass of cheap requests, whose
    /// processor time is not measured, are charged the estimates alone.
    fn settle(&mut self, estimated: u64, cost: Cost) {
        let tenant_of = |taken: &Taken| self.queues[taken.queue].tenant;
        let Some(tenant) = self.collecting.taken.first().map(tenant_of) else { return };
        if self.collecting.taken.iter().any(|taken| tenant_of(taken) != tenant) {
            if cost.is_processor_time {
                for (taken, kind) in self.collecting.taken.iter().zip(&self.collecting.kinds) {
                    let ns = self.accounting.costs.ns(*kind);
                    self.turns.charge_instead(tenant_of(taken), ns, cost.share(ns, estimated));
                }
            }
            return;
        }
        let whole = if self.collecting.runs_alone {
            cost.ns
        } else {
            let first = self.collecting.kinds.first();
            let lanes = first.map_or(1, |kind| self.accounting.costs.lanes(*kind)).max(SHARES_MIN);
            cost.whole(estimated, lanes, self.collecting.taken.len())
        };
        self.turns.charge_instead(tenant, estimated, whole);
    }

    fn count_bytes(&self, (bytes_in, bytes_out): (u64, u64)) {
        self.status.add(Counter::BytesIn, bytes_in);
        self.status.add(Counter::BytesOut, bytes_out);
    }

    /// Books a pass of a card with lanes of its own. A request costs its time divided by the number of requests under
    /// way together, so that the costs of a busy card add up to the time that goes by. Clients read instead how soon a
    /// full card is done with a request: by the cost, a card that has few requests would seem slow, get fewer, and seem
    /// slower still.
    fn account_lanes(&mut self, begin: u64) {
        let together = self.holding.len().max(1) as u64;
        let due: Vec<u64> =
            (0..self.collecting.taken.len()).map(|place| self.holding.due(place, begin)).collect();
        let (mut sum, mut longest) = (0, 0);
        for ((taken, due), is_refused) in self.collecting.taken.iter().zip(&due).zip(&self.collecting.refused)
        {
            let span = due - begin;
            sum += span / together;
            longest = span.max(longest);
            if *is_refused {
                continue;
            }
            let apart = match self.holding.spacing(taken.verb_slot) {
                0 => span / together,
                known => known,
            };
            self.status.add_services(taken.verb_slot, 1, tsc_to_ns(apart));
        }
        let bytes = self.accounting.samples.held(begin, &due, together);
        self.count_bytes(bytes);
        let Collecting { kinds, refused, .. } = &self.collecting;
        self.accounting.costs.learn(kinds, |place| refused[place], tsc_to_ns(sum));
        self.status.add(Counter::Batches, 1);
        self.status.add(Counter::FillSum, self.collecting.taken.len() as u64);
        self.status.add(Counter::BusyTsc, sum);
        self.pacing.pass_ns = tsc_to_ns(longest);
        self.limits.set_pass(self.pacing.pass_ns);
        self.status.set_pass(self.pacing.pass_ns);
    }
}

/// The time that the answered requests of a pass took, in nanoseconds. `answered` and `refused` are the estimates of
/// its answered and its refused requests; the refused ones took anything up to theirs.
fn time_of_answered(pass_ns: u64, answered: u64, refused: u64) -> u64 {
    answered.clamp(pass_ns.saturating_sub(refused), pass_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_says_nothing_of_what_was_answered_beside_it() {
        // Nothing was refused: the whole pass is that of the answered requests.
        assert_eq!([10, 1_000, 0].map(|pass_ns| time_of_answered(pass_ns, 500, 0)), [10, 1_000, 0]);
        // Failing requests of others make it seem neither slow nor fast.
        assert_eq!([500, 600, 4_000].map(|pass_ns| time_of_answered(pass_ns, 500, 3_500)), [500; 3]);
        // No more than the pass, and no less than the others can have left.
        assert_eq!([400, 4_500].map(|pass_ns| time_of_answered(pass_ns, 500, 3_500)), [400, 1_000]);
    }

    #[test]
    fn processor_time_is_charged_whatever_was_estimated() {
        let cost = Cost { ns: 5_000_000_000, is_processor_time: true };
        assert_eq!(cost.whole(1_000_000, 8, 1), 5_000_000_000);
        let interrupted = Cost { is_processor_time: false, ..cost };
        assert_eq!((interrupted.whole(3_000, 8, 1), interrupted.whole(24_000, 8, 8)), (24_000, 24_000));
        let short = Cost { ns: 10_000, is_processor_time: false };
        assert_eq!(short.whole(3_000, 8, 1), 10_000);
    }

    #[test]
    fn shares_of_a_pass_add_up_to_it() {
        let cost = Cost { ns: 800_000, is_processor_time: true };
        let estimates = [1_000, 1_000, 6_000];
        let shares = estimates.map(|ns| cost.share(ns, 8_000));
        assert_eq!(shares, [100_000, 100_000, 600_000]);
        assert_eq!(cost.share(0, 0), 0);
    }
}
