//! Turns among the tenants of a shared card, by estimated cost.
//!
//! Each tenant has a clock that advances by the cost of its requests, divided by its weight;
//! the tenant whose clock is furthest behind is next. So that idle time saves nothing up, the clock of a tenant that
//! returns is advanced to where the clock furthest behind was [`ABSENT`] batches ago: a tenant that was answered
//! by one of the last batches is about to send again rather than idle, and keeps its turns.
//!
//! A tenant with a share of the card, in percent, is scheduled against all others, who
//! together count as one: they get the rest, and divide it by their weights. What one of them leaves
//! unused goes to the others.
//!
//! ```text
//! card -- tenant with 30 percent: clock
//!      -- tenant with 20 percent: clock
//!      -- all others, 50 percent: clock -- tenant of weight 1: clock
//!                                       -- tenant of weight 3: clock
//! ```
//! A cost is known only after a request was taken, so a turn may be too long by one request, for
//! which its tenant waits afterwards. This is pure bookkeeping: it uses no machine clock and no queue; a tenant is a
//! small index given out by [`Turns::join`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The whole card, in hundredths of a percent.
const WHOLE: u32 = 10_000;
/// The least part of the card for tenants without a share, in hundredths of a percent, even if shares add up to all of
/// it.
const REST_MIN: u32 = 50;
/// Binary digits of a clock's fraction of a nanosecond, so that division by a weight loses nothing.
const FRACTION_BITS: u32 = 32;

/// Number of batches for which a tenant without waiting requests loses no turn.
const ABSENT: usize = 4;

/// Clock readings with the indices of their tenants, the earliest first.
type Line = BinaryHeap<Reverse<(u128, usize)>>;

#[derive(Clone, Copy, Debug)]
struct Member {
    tenant: u32,
    weight: u32,
    percent: u32,
    queues: u32,
    clock: u128,
}

/// The clocks of all tenants that have a queue on the card.
#[derive(Debug, Default)]
pub struct Turns {
    members: Vec<Option<Member>>,
    tenants: usize,
    /// The clock of all tenants without a share, together.
    others_clock: u128,
    /// Sum of the shares, in percent.
    percent: u32,
    /// The clocks furthest behind at the last batches: among tenants with a share and all others together, and
    /// (`others_floors`) among the others.
    own_floors: Floors,
    others_floors: Floors,
    /// Tenants with a share that have work for the batch that is being put together; `others` are those without a
    /// share.
    own: Line,
    others: Line,
}

/// The clocks furthest behind at the last batches.
#[derive(Debug, Default)]
struct Floors {
    clocks: [u128; ABSENT],
    /// Index of the oldest clock.
    at: usize,
}

impl Floors {
    fn oldest(&self) -> u128 {
        self.clocks[self.at]
    }

    fn push(&mut self, clock: u128) {
        self.clocks[self.at] = clock;
        self.at = (self.at + 1) % ABSENT;
    }
}

impl Turns {
    /// Adds a queue of this tenant, and returns the index that stands for the tenant. Weight and share (in percent, 0
    /// for none) hold for all of its queues.
    pub fn join(&mut self, tenant: u32, weight: u32, percent: u8) -> usize {
        let known =
            self.members.iter().position(|member| member.is_some_and(|member| member.tenant == tenant));
        let index = known.or_else(|| self.members.iter().position(Option::is_none)).unwrap_or_else(|| {
            self.members.push(None);
            self.members.len() - 1
        });
        let new = Member { tenant, weight: 1, percent: 0, queues: 0, clock: 0 };
        let member = self.members[index].get_or_insert(new);
        member.queues += 1;
        self.tenants += usize::from(member.queues == 1);
        self.set(index, weight, percent);
        index
    }

    /// Sets weight and share of the tenant at this index. A weight of 0 counts as 1, a share beyond the whole card as
    /// the whole.
    pub fn set(&mut self, index: usize, weight: u32, percent: u8) {
        let Some(Some(member)) = self.members.get_mut(index) else { return };
        let percent = u32::from(percent.min(100));
        if (member.percent == 0) != (percent == 0) {
            // A clock among the others does not compare with the clocks of tenants with a share.
            member.clock = 0;
        }
        self.percent = self.percent - member.percent + percent;
        (member.weight, member.percent) = (weight.max(1), percent);
    }

    /// Removes a queue of the tenant at this index, and returns whether it was its last.
    pub fn leave(&mut self, index: usize) -> bool {
        let Some(Some(member)) = self.members.get_mut(index) else { return false };
        member.queues -= 1;
        if member.queues != 0 {
            return false;
        }
        self.percent -= member.percent;
        self.tenants -= 1;
        self.members[index] = None;
        true
    }

    /// Number of tenants that have a queue.
    pub fn tenants(&self) -> usize {
        self.tenants
    }

    /// One more than the largest index given out.
    pub fn indices(&self) -> usize {
        self.members.len()
    }

    /// Lines up the tenants at these indices, each once, for a batch.
    pub fn begin(&mut self, with_work: &[usize]) {
        self.own.clear();
        self.others.clear();
        for index in with_work {
            let Some(Some(member)) = self.members.get_mut(*index) else { continue };
            let (line, floor) = match member.percent {
                0 => (&mut self.others, self.others_floors.oldest()),
                _ => (&mut self.own, self.own_floors.oldest()),
            };
            member.clock = member.clock.max(floor);
            line.push(Reverse((member.clock, *index)));
        }
        let first = |line: &Line| line.peek().map(|first| first.0.0);
        let others = first(&self.others);
        if let Some(clock) = others {
            self.others_floors.push(clock);
            self.others_clock = self.others_clock.max(self.own_floors.oldest());
        }
        let together = others.map(|_| self.others_clock);
        if let Some(clock) = first(&self.own).into_iter().chain(together).min() {
            self.own_floors.push(clock);
        }
    }

    /// The tenant among those at these indices whose turn would be next if they were lined up.
    pub fn first(&self, tenants: impl Iterator<Item = usize>) -> Option<usize> {
        let (mut own, mut others) = (None, None);
        for index in tenants {
            let Some(Some(member)) = self.members.get(index) else { continue };
            let (first, floor) = match member.percent {
                0 => (&mut others, self.others_floors.oldest()),
                _ => (&mut own, self.own_floors.oldest()),
            };
            let here = (member.clock.max(floor), index);
            *first = Some(first.map_or(here, |first: (u128, usize)| first.min(here)));
        }
        let others_clock = self.others_clock.max(self.own_floors.oldest());
        match (own, others) {
            (Some((clock, own)), Some((_, other))) => Some(if clock <= others_clock { own } else { other }),
            (own, other) => own.or(other).map(|(_, index)| index),
        }
    }

    /// How far the clock of a tenant without a share is behind those of others without one, in nanoseconds of cost; 0
    /// if it is not behind, or if there are no others.
    pub fn behind(&self, index: usize, others: impl Iterator<Item = usize>) -> u64 {
        let of =
            |index: usize| self.members.get(index).copied().flatten().filter(|member| member.percent == 0);
        let Some(member) = of(index) else { return 0 };
        let first = others.filter_map(|other| Some(of(other)?.clock.max(self.others_floors.oldest()))).min();
        let clock = member.clock.max(self.others_floors.oldest());
        let behind = first.map_or(0, |first| first.saturating_sub(clock));
        u64::try_from(behind.saturating_mul(u128::from(member.weight)) >> FRACTION_BITS).unwrap_or(u64::MAX)
    }

    /// The tenant in line whose turn is next; `None` if nobody is left.
    pub fn next(&self) -> Option<usize> {
        let first = |line: &Line| line.peek().map(|first| first.0);
        match (first(&self.own), first(&self.others)) {
            (Some((clock, own)), Some((_, other))) => {
                Some(if clock <= self.others_clock { own } else { other })
            }
            (own, other) => own.or(other).map(|(_, index)| index),
        }
    }

    /// Charges the tenant that [`Turns::next`] names with a request of this estimated cost in nanoseconds, and lines it
    /// up again.
    pub fn taken(&mut self, cost: u64) {
        let Some(index) = self.step_back() else { return };
        self.charge(index, cost);
        self.line_up(index);
    }

    /// Takes the tenant that [`Turns::next`] names out of the line: it takes no more requests of this batch.
    pub fn pass_over(&mut self) {
        self.step_back();
    }

    /// Charges the tenant at this index with a request of this estimated cost in nanoseconds that was taken out of
    /// turn.
    pub fn charge(&mut self, index: usize, cost: u64) {
        self.charge_instead(index, 0, cost);
    }

    /// Corrects a charge from `estimated` to `cost`, both in nanoseconds.
    pub fn charge_instead(&mut self, index: usize, estimated: u64, cost: u64) {
        let Some(Some(member)) = self.members.get_mut(index) else { return };
        let move_on = |clock: &mut u128, part: u32| {
            let count = |ns: u64| (u128::from(ns) << FRACTION_BITS) / u128::from(part);
            *clock = (*clock + count(cost)).saturating_sub(count(estimated));
        };
        if member.percent != 0 {
            move_on(&mut member.clock, member.percent * (WHOLE / 100));
        } else {
            move_on(&mut member.clock, member.weight);
            let rest = WHOLE.saturating_sub(self.percent.saturating_mul(WHOLE / 100)).max(REST_MIN);
            move_on(&mut self.others_clock, rest);
        }
    }

    fn step_back(&mut self) -> Option<usize> {
        let index = self.next()?;
        let line = if self.has_share(index) { &mut self.own } else { &mut self.others };
        line.pop();
        Some(index)
    }

    fn line_up(&mut self, index: usize) {
        let Some(Some(member)) = self.members.get(index) else { return };
        let line = if member.percent != 0 { &mut self.own } else { &mut self.others };
        line.push(Reverse((member.clock, index)));
    }

    fn has_share(&self, index: usize) -> bool {
        self.members.get(index).copied().flatten().is_some_and(|member| member.percent != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time that each tenant got, of the last half of `total`, where tenant `i` has weight and share
    /// `parts[i]` and always has requests of cost `costs[i]`, in batches of `lanes`; `works` says in
    /// which batch it has any.
    fn run(
        parts: &[(u32, u8)],
        costs: &[u64],
        lanes: usize,
        total: u64,
        works: impl Fn(usize, u64) -> bool,
    ) -> Vec<u64> {
        let mut turns = Turns::default();
        for (index, (weight, percent)) in parts.iter().enumerate() {
            assert_eq!(turns.join(index as u32, *weight, *percent), index);
        }
        let (mut got, mut sum) = (vec![0; parts.len()], 0);
        for batch in 0.. {
            let with_work: Vec<_> = (0..parts.len()).filter(|index| works(*index, batch)).collect();
            turns.begin(&with_work);
            for _ in 0..lanes {
                let index = turns.next().unwrap();
                turns.taken(costs[index]);
                sum += costs[index];
                got[index] += if sum > total / 2 { costs[index] } else { 0 };
            }
            if sum >= total {
                break;
            }
        }
        got
    }

    fn always(_: usize, _: u64) -> bool {
        true
    }

    fn assert_parts(got: &[u64], parts: &[f64], tolerance: f64) {
        let sum = got.iter().sum::<u64>() as f64;
        for (time, part) in got.iter().zip(parts) {
            assert!((*time as f64 / sum / part - 1.0).abs() < tolerance, "{got:?} for {parts:?}");
        }
    }

    #[test]
    fn equal_tenants_get_equal_time_whatever_they_ask() {
        for lanes in [1, 8, 64] {
            let costs = [2_000, 700_000, 45_000];
            let got = run(&[(1, 0); 3], &costs, lanes, 600_000_000, always);
            assert_parts(&got, &[1.0 / 3.0; 3], 0.02);
        }
        let costs: Vec<u64> = (0..120).map(|index| [500, 80_000, 9_000][index % 3]).collect();
        let got = run(&[(1, 0); 120], &costs, 8, 3_000_000_000, always);
        assert_parts(&got, &[1.0 / 120.0; 120], 0.02);
    }

    #[test]
    fn weights_are_shares() {
        let got = run(&[(1, 0), (3, 0), (0, 0)], &[10_000; 3], 8, 80_000_000, always);
        assert_parts(&got, &[0.2, 0.6, 0.2], 0.02);
        let heaviest = run(&[(u32::MAX, 0), (1, 0)], &[10_000; 2], 8, 80_000_000, always);
        assert!(heaviest[0] > 100 * heaviest[1].max(1));
    }

    #[test]
    fn a_share_is_kept_against_any_number_of_others() {
        let mut parts = vec![(7, 30), (1, 20)];
        parts.extend([(1, 0), (3, 0)].repeat(20));
        let mut expected = vec![0.3, 0.2];
        expected.extend([0.5 / 80.0, 1.5 / 80.0].repeat(20));
        let costs: Vec<u64> = (0..parts.len()).map(|index| [3_000, 60_000][index % 2]).collect();
        let got = run(&parts, &costs, 8, 4_000_000_000, always);
        assert_parts(&got, &expected, 0.03);
    }

    #[test]
    fn an_unused_share_is_for_those_with_work() {
        let parts = [(1, 60), (1, 20), (1, 0), (1, 0)];
        let got = run(&parts, &[20_000; 4], 8, 400_000_000, |index, _| index != 0);
        assert_eq!(got[0], 0);
        assert_parts(&got[1..], &[0.5, 0.25, 0.25], 0.02);
        let got = run(&parts, &[20_000; 4], 8, 400_000_000, |index, _| index == 3);
        assert_eq!((got[0], got[1], got[2]), (0, 0, 0));
        // Now and then is enough to be owed no more than the share.
        let got = run(&parts, &[20_000; 4], 8, 400_000_000, |index, batch| index != 0 || batch % 4 == 0);
        assert!(got[0] as f64 / got.iter().sum::<u64>() as f64 <= 0.6, "{got:?}");
    }

    #[test]
    fn shares_beyond_the_card_leave_a_little_to_the_others_and_do_no_harm() {
        let got = run(&[(1, 100), (1, 100), (1, 0)], &[10_000; 3], 8, 400_000_000, always);
        assert!(got[2] > 0 && got[0].abs_diff(got[1]) * 50 < got[0], "{got:?}");
        let got = run(&[(1, u8::MAX), (1, 0)], &[10_000; 2], 8, 400_000_000, always);
        assert!(got[0] as f64 / got.iter().sum::<u64>() as f64 >= 0.99, "{got:?}");
    }

    #[test]
    fn idleness_saves_nothing_up() {
        for parts in [[(1, 0), (1, 0)], [(1, 50), (1, 0)], [(1, 30), (1, 30)]] {
            // The second one is idle for a thousand batches, then both have work.
            let mut turns = Turns::default();
            let (a, b) = (turns.join(1, parts[0].0, parts[0].1), turns.join(2, parts[1].0, parts[1].1));
            for _ in 0..1000 {
                turns.begin(&[a]);
                assert_eq!(turns.next(), Some(a));
                turns.taken(10_000);
            }
            let mut got = [0u64; 2];
            for _ in 0..1000 {
                turns.begin(&[a, b]);
                got[turns.next().unwrap()] += 1;
                turns.taken(10_000);
            }
            assert!(got[b].abs_diff(got[a]) <= 10, "{got:?} for {parts:?}");
        }
    }

    #[test]
    fn who_is_away_for_some_batches_loses_no_turn() {
        for parts in [[(1, 0), (1, 0)], [(3, 0), (1, 0)], [(1, 50), (1, 0)], [(1, 30), (1, 30)]] {
            for away in 1..ABSENT as u64 {
                let there = |index, batch| index == 0 || batch % (2 * (away + 1)) >= away;
                let got = run(&parts, &[10_000; 2], 8, 400_000_000, there);
                let owed = if parts[0] == (3, 0) { [0.75, 0.25] } else { [0.5, 0.5] };
                assert_parts(&got, &owed, 0.05);
            }
        }
    }

    #[test]
    fn how_far_one_is_behind_is_told_in_its_own_time() {
        let mut turns = Turns::default();
        let (a, b, c) = (turns.join(1, 1, 0), turns.join(2, 2, 0), turns.join(3, 1, 50));
        turns.begin(&[a, b, c]);
        turns.charge(a, 9_000);
        turns.charge(b, 6_000);
        turns.charge(c, 1_000_000);
        // At a weight of two, 6 us moved its clock by three: two times six are owed to it.
        assert_eq!(turns.behind(b, [a, c].into_iter()), 12_000);
        assert_eq!(turns.behind(a, [b].into_iter()), 0);
        assert_eq!((turns.behind(c, [a].into_iter()), turns.behind(a, [c].into_iter())), (0, 0));
        assert_eq!((turns.behind(b, std::iter::empty()), turns.behind(77, [a].into_iter())), (0, 0));
    }

    #[test]
    fn what_turned_out_cheaper_or_dearer_is_charged_as_that() {
        for percent in [0, 40] {
            let mut turns = Turns::default();
            let (a, b) = (turns.join(1, 1, percent), turns.join(2, 1, percent));
            let mut got = [0u64; 2];
            for _ in 0..4000 {
                turns.begin(&[a, b]);
                let index = turns.next().unwrap();
                turns.taken(10_000);
                // Those of the first cost half, those of the second three times as much.
                let cost = [5_000, 30_000][index];
                turns.charge_instead(index, 10_000, cost);
                got[index] += cost;
            }
            assert_parts(&got, &[0.5, 0.5], 0.02);
        }
    }

    #[test]
    fn who_would_be_first_is_who_takes_first_once_all_are_lined_up() {
        for shares in [[0, 0, 0], [30, 0, 0], [30, 20, 0], [30, 20, 50]] {
            let mut turns = Turns::default();
            let members: Vec<_> =
                (1..).zip(shares).map(|(tenant, share)| turns.join(tenant, 1, share)).collect();
            for batch in 0..500 {
                // Now and then some are away.
                let there: Vec<_> =
                    members.iter().copied().filter(|index| (batch / 7 + index) % 3 != 0).collect();
                let first = turns.first(there.iter().copied());
                turns.begin(&there);
                assert_eq!(first, turns.next());
                turns.taken(3_000 * (1 + batch as u64 % 5));
            }
        }
        let turns = Turns::default();
        assert_eq!((turns.first(std::iter::empty()), turns.first([7].into_iter())), (None, None));
    }

    #[test]
    fn only_those_in_line_are_named_until_they_are_passed_over() {
        let mut turns = Turns::default();
        turns.begin(&[]);
        assert_eq!(turns.next(), None);
        let (a, b, c) = (turns.join(1, 1, 0), turns.join(2, 1, 0), turns.join(3, 1, 10));
        turns.begin(&[b]);
        for _ in 0..100 {
            assert_eq!(turns.next(), Some(b));
            turns.taken(1_000_000_000);
        }
        turns.begin(&[a, b, c]);
        let mut named = Vec::new();
        while let Some(index) = turns.next() {
            named.push(index);
            turns.pass_over();
        }
        named.sort();
        assert_eq!(named, [a, b, c]);
        turns.taken(5);
        turns.pass_over();
        turns.begin(&[77]);
        assert_eq!(turns.next(), None);
    }

    #[test]
    fn what_is_granted_anew_holds_from_the_next_turn() {
        let mut turns = Turns::default();
        let (a, b) = (turns.join(1, 1, 0), turns.join(2, 1, 0));
        let run = |turns: &mut Turns| {
            let mut got = [0u64; 2];
            for _ in 0..4000 {
                turns.begin(&[a, b]);
                got[turns.next().unwrap()] += 1;
                turns.taken(10_000);
            }
            got
        };
        assert_parts(&run(&mut turns), &[0.5, 0.5], 0.02);
        turns.set(b, 3, 0);
        assert_parts(&run(&mut turns), &[0.25, 0.75], 0.02);
        turns.set(b, 3, 10);
        assert_parts(&run(&mut turns), &[0.9, 0.1], 0.02);
        turns.set(a, 1, 90);
        turns.set(b, 1, 0);
        assert_parts(&run(&mut turns), &[0.9, 0.1], 0.02);
        turns.set(a, 0, 0);
        assert_parts(&run(&mut turns), &[0.5, 0.5], 0.02);
        turns.set(77, 1, 1);
    }

    #[test]
    fn a_tenant_stays_while_it_has_a_queue_and_its_place_is_given_on() {
        let mut turns = Turns::default();
        let first = turns.join(5, 1, 40);
        assert_eq!(turns.join(5, 1, 40), first);
        assert_eq!(turns.tenants(), 1);
        assert!(!turns.leave(first));
        assert_eq!(turns.tenants(), 1);
        assert!(turns.leave(first));
        assert_eq!((turns.tenants(), turns.percent), (0, 0));
        assert!(!turns.leave(first) && !turns.leave(9));
        turns.begin(&[first]);
        assert_eq!(turns.next(), None);
        assert_eq!(turns.join(6, 1, 0), first);
    }
}
