//! Turns among the tenants of a shared card, by estimated cost.
//!
//! A deficit round robin: each tenant has a credit of processor time. A tenant whose credit is used
//! up is passed over until all who have work have used theirs; then each gets a new share by its
//! weight. A cost is known only when a request has been taken, so a tenant may overdraw by one
//! request, which its next share pays for. A tenant without work keeps no credit: being idle saves
//! nothing up.
//!
//! Pure bookkeeping: no clock, no queue; a tenant is a small index given out by [`Turns::join`].

/// One share of weight 1, in the unit of the costs (nanoseconds).
const SHARE: i64 = 50_000;

#[derive(Clone, Copy, Debug)]
struct Member {
    tenant: u32,
    weight: u32,
    queues: u32,
    credit: i64,
}

/// The credits of all tenants that have a queue on the card.
#[derive(Debug, Default)]
pub struct Turns {
    members: Vec<Option<Member>>,
    next: usize,
}

impl Turns {
    /// A queue of this tenant comes; returns the index that stands for the tenant. The weight is
    /// the largest that any of its queues was given.
    pub fn join(&mut self, tenant: u32, weight: u32) -> usize {
        let known =
            self.members.iter().position(|member| member.is_some_and(|member| member.tenant == tenant));
        let index = known.or_else(|| self.members.iter().position(Option::is_none)).unwrap_or_else(|| {
            self.members.push(None);
            self.members.len() - 1
        });
        let member = self.members[index].get_or_insert(Member { tenant, weight: 1, queues: 0, credit: 0 });
        member.queues += 1;
        member.weight = member.weight.max(weight).max(1);
        index
    }

    /// A queue of the tenant at this index goes.
    pub fn leave(&mut self, index: usize) {
        if let Some(Some(member)) = self.members.get_mut(index) {
            member.queues -= 1;
            if member.queues == 0 {
                self.members[index] = None;
            }
        }
    }

    /// Tenants that have a queue.
    pub fn tenants(&self) -> usize {
        self.members.iter().flatten().count()
    }

    /// Which tenant takes next, of those that `has_work` names by index; `None` if none has work.
    /// The same tenant goes on while its credit lasts.
    pub fn next(&mut self, has_work: impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.members.len();
        for shared_out in [false, true] {
            for step in 0..count {
                let index = (self.next + step) % count;
                let Some(member) = &mut self.members[index] else { continue };
                if !has_work(index) {
                    member.credit = member.credit.min(0);
                } else if member.credit > 0 {
                    self.next = index;
                    return Some(index);
                }
            }
            if shared_out || !self.share_out(&has_work) {
                return None;
            }
        }
        None
    }

    /// The tenant at this index has taken a request of this estimated cost.
    pub fn charge(&mut self, index: usize, cost: u64) {
        if let Some(Some(member)) = self.members.get_mut(index) {
            member.credit = member.credit.saturating_sub_unsigned(cost);
            if member.credit <= 0 {
                self.next = index + 1;
            }
        }
    }

    /// Gives everyone with work as many shares as it takes until one of them has credit again.
    fn share_out(&mut self, has_work: impl Fn(usize) -> bool) -> bool {
        let waiting = |(index, member): (usize, &Option<Member>)| member.filter(|_| has_work(index));
        let shares_needed = |member: Member| -member.credit / (SHARE * i64::from(member.weight)) + 1;
        let Some(shares) = self.members.iter().enumerate().filter_map(waiting).map(shares_needed).min()
        else {
            return false;
        };
        for (index, member) in self.members.iter_mut().enumerate() {
            if let Some(member) = member
                && has_work(index)
            {
                member.credit = member.credit.saturating_add(shares * SHARE * i64::from(member.weight));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time that each tenant got when tenant `i` always has requests of cost `costs[i]`.
    fn run(weights: &[u32], costs: &[u64], total: u64) -> Vec<u64> {
        let mut turns = Turns::default();
        let indices: Vec<_> =
            weights.iter().enumerate().map(|(i, weight)| turns.join(i as u32, *weight)).collect();
        assert_eq!(indices, (0..weights.len()).collect::<Vec<_>>());
        let mut got = vec![0; weights.len()];
        while got.iter().sum::<u64>() < total {
            let index = turns.next(|_| true).unwrap();
            turns.charge(index, costs[index]);
            got[index] += costs[index];
        }
        got
    }

    #[test]
    fn equal_tenants_get_equal_time_whatever_they_ask() {
        let got = run(&[1, 1, 1], &[2_000, 700_000, 45_000], 300_000_000);
        for time in &got {
            assert!((*time as f64 / 100e6 - 1.0).abs() < 0.05, "{got:?}");
        }
    }

    #[test]
    fn weights_are_shares() {
        let got = run(&[1, 3], &[10_000, 10_000], 40_000_000);
        assert!((got[1] as f64 / got[0] as f64 - 3.0).abs() < 0.1, "{got:?}");
    }

    #[test]
    fn idleness_saves_nothing_up() {
        let mut turns = Turns::default();
        let (a, b) = (turns.join(1, 1), turns.join(2, 1));
        for _ in 0..1000 {
            assert_eq!(turns.next(|index| index == a), Some(a));
            turns.charge(a, 10_000);
        }
        let mut got = [0u64; 2];
        for _ in 0..1000 {
            let index = turns.next(|_| true).unwrap();
            turns.charge(index, 10_000);
            got[index] += 1;
        }
        assert!(got[b].abs_diff(got[a]) <= 10, "{got:?}");
    }

    #[test]
    fn only_those_with_work_are_named() {
        let mut turns = Turns::default();
        assert_eq!(turns.next(|_| true), None);
        let (a, b) = (turns.join(1, 1), turns.join(2, 1));
        assert_eq!(turns.next(|_| false), None);
        for _ in 0..100 {
            assert_eq!(turns.next(|index| index == b), Some(b));
            turns.charge(b, 1_000_000_000);
        }
        assert_eq!(turns.next(|index| index == a), Some(a));
    }

    #[test]
    fn a_tenant_stays_while_it_has_a_queue_and_its_place_is_given_on() {
        let mut turns = Turns::default();
        let first = turns.join(5, 1);
        assert_eq!(turns.join(5, 1), first);
        assert_eq!(turns.tenants(), 1);
        turns.leave(first);
        assert_eq!(turns.tenants(), 1);
        turns.leave(first);
        assert_eq!(turns.tenants(), 0);
        assert_eq!(turns.next(|_| true), None);
        assert_eq!(turns.join(6, 1), first);
    }
}
