//! How often bounds kept tenants from a further queue. Clients whose threads share the queues that they have hear of it
//! and go on, so nobody else would know.

use std::collections::BTreeMap;
use wire::bounds::HOLDERS_LISTED_MAX;
use wire::control::QueueBound;

/// Refusals by tenant and bound, since the daemon began.
#[derive(Debug, Default)]
pub struct RefusalCounts {
    counts: BTreeMap<(QueueBound, Option<u32>), RefusalCount>,
}

/// The refusals of one tenant by one bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusalCount {
    /// The greatest number allowed, as it was told last.
    pub limit: u64,
    /// Number of refusals.
    pub times: u64,
    /// When the last one was, in milliseconds since 1970.
    pub last_unix_ms: u64,
}

impl RefusalCounts {
    /// Counts a refusal. At most [`HOLDERS_LISTED_MAX`] counts are of one tenant: a further one takes the place of that
    /// whose last refusal is the longest ago, which is added to the count of its bound without a tenant.
    pub fn note(&mut self, tenant: u32, bound: QueueBound, limit: u64, now_unix_ms: u64) {
        let key = (bound, Some(tenant));
        let of_tenants = || self.counts.iter().filter(|((_, tenant), _)| tenant.is_some());
        if !self.counts.contains_key(&key) && of_tenants().count() >= HOLDERS_LISTED_MAX {
            let oldest = of_tenants().min_by_key(|(_, count)| count.last_unix_ms).map(|(key, _)| *key);
            if let Some((oldest, gone)) = oldest.and_then(|key| self.counts.remove_entry(&key)) {
                self.add((oldest.0, None), gone);
            }
        }
        self.add(key, RefusalCount { limit, times: 1, last_unix_ms: now_unix_ms });
    }

    fn add(&mut self, key: (QueueBound, Option<u32>), more: RefusalCount) {
        let count = self.counts.entry(key).or_insert(RefusalCount { times: 0, ..more });
        count.times = count.times.saturating_add(more.times);
        count.limit = more.limit;
        count.last_unix_ms = count.last_unix_ms.max(more.last_unix_ms);
    }

    /// Every count, with bound and tenant, the latest first.
    pub fn all(&self) -> Vec<(QueueBound, Option<u32>, RefusalCount)> {
        let rows = self.counts.iter().map(|((bound, tenant), count)| (*bound, *tenant, *count));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(.., count)| std::cmp::Reverse(count.last_unix_ms));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use QueueBound::{CardQueues, TenantMemory};

    #[test]
    fn refusals_count_by_tenant_and_bound() {
        let mut counts = RefusalCounts::default();
        counts.note(7, TenantMemory, 1_000, 5);
        counts.note(7, TenantMemory, 1_000, 9);
        counts.note(7, CardQueues, 64, 10);
        counts.note(8, TenantMemory, 1_000, 8);
        let count = |limit, times, last_unix_ms| RefusalCount { limit, times, last_unix_ms };
        assert_eq!(
            counts.all(),
            [
                (CardQueues, Some(7), count(64, 1, 10)),
                (TenantMemory, Some(7), count(1_000, 2, 9)),
                (TenantMemory, Some(8), count(1_000, 1, 8)),
            ]
        );
    }

    #[test]
    fn however_many_tenants_are_refused_few_are_counted_and_no_refusal_is_lost() {
        let mut counts = RefusalCounts::default();
        counts.note(5_000, CardQueues, 64, 0);
        for tenant in 0..1_000 {
            counts.note(tenant, TenantMemory, 1_000, u64::from(tenant));
            // The first one asks again and again, and stays.
            counts.note(0, TenantMemory, 1_000, u64::from(tenant));
        }
        let all = counts.all();
        assert_eq!(all.len(), HOLDERS_LISTED_MAX + 2);
        assert_eq!(all.iter().map(|(.., count)| count.times).sum::<u64>(), 2_001);
        let of = |bound, tenant| all.iter().find(|row| (row.0, row.1) == (bound, tenant));
        let times = |bound, tenant| of(bound, tenant).map(|row| row.2.times);
        assert_eq!((times(TenantMemory, Some(0)), times(TenantMemory, Some(999))), (Some(1_001), Some(1)));
        assert_eq!((times(TenantMemory, Some(1)), times(CardQueues, None)), (None, Some(1)));
        let gone = 2_000 - 1_001 - (HOLDERS_LISTED_MAX as u64 - 1);
        assert_eq!(times(TenantMemory, None), Some(gone));
    }
}
