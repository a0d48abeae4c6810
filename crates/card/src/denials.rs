//! Refusals for want of a right that the daemon is told of, for its auditor.
//!
//! A tenant can be refused a million times a second. So refusals are counted by kind, [`KINDS_MAX`] kinds of a tenant
//! one by one and the others as one, and the daemon is told of all since the last time at most once in
//! [`TELL_EVERY_NS`]. No tenant's refusals take the place of another's while there are rows, and those without a row
//! are counted together.

use crate::admit::denied_by;
use link::ns_to_tsc;
use wire::bounds::DENIALS_PER_NOTICE_MAX;
use wire::control::{CardNotice, Denial, Denied, DeniedBy};
use wire::grant::Grant;
use wire::key::KeyReference;
use wire::point::PointSet;

/// Upper bound of the kinds of refusals of one tenant and user that are told apart at a time.
const KINDS_MAX: usize = 4;
/// Upper bound of the tenants and users that are told apart at a time.
const ROWS_MAX: usize = 256;
/// Shortest time between two notices to the daemon, in nanoseconds.
const TELL_EVERY_NS: u64 = 100_000_000;

/// The refusals since the last notice to the daemon.
pub struct Denials {
    /// The refusals by tenant and user, with room for all rows from the start: a refusal allocates nothing.
    rows: Vec<Row>,
    /// Number of refusals of tenants and users for which no row was left.
    others: u64,
    /// When the daemon was last told, by the time-stamp counter.
    told: Option<u64>,
}

/// Refusals of one tenant and user.
struct Row {
    tenant: u32,
    user: u32,
    kinds: [Option<(Denied, u64)>; KINDS_MAX],
    beyond: u64,
}

impl Default for Denials {
    fn default() -> Self {
        Self { rows: Vec::with_capacity(ROWS_MAX), others: 0, told: None }
    }
}

impl Denials {
    /// Counts a request of this verb that its admission refused. `payload` is its payload without appended tokens,
    /// `refused` the key reference whose label does not allow it.
    pub fn refused(
        &mut self,
        grant: &Grant,
        verb: u16,
        payload: &[u8],
        points: &PointSet,
        refused: Option<KeyReference>,
    ) {
        let (by, key) = denied_by(verb, payload, points, refused);
        self.note(grant, Denied { verb, by, key });
    }

    /// Counts a request of this verb that the verb itself answered as not permitted.
    pub fn answered(&mut self, grant: &Grant, verb: u16, key: Option<KeyReference>) {
        self.note(grant, Denied { verb, by: DeniedBy::Answer, key });
    }

    fn note(&mut self, grant: &Grant, what: Denied) {
        let (tenant, user) = (grant.tenant, grant.user);
        let found = self.rows.iter().position(|row| (row.tenant, row.user) == (tenant, user));
        let at = match found {
            Some(at) => at,
            None if self.rows.len() < ROWS_MAX => {
                self.rows.push(Row { tenant, user, kinds: [None; KINDS_MAX], beyond: 0 });
                self.rows.len() - 1
            }
            None => {
                self.others = self.others.saturating_add(1);
                return;
            }
        };
        let row = &mut self.rows[at];
        let is_its = |kind: &&mut Option<(Denied, u64)>| kind.is_none_or(|(known, _)| known == what);
        match row.kinds.iter_mut().find(is_its) {
            Some(kind) => *kind = Some((what, kind.map_or(1, |(_, times)| times.saturating_add(1)))),
            None => row.beyond = row.beyond.saturating_add(1),
        }
    }

    /// Whether no refusal waits to be told.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the daemon is to be told now.
    pub fn is_due(&self, now: u64) -> bool {
        let is_late = |told: u64| now.wrapping_sub(told) >= ns_to_tsc(TELL_EVERY_NS);
        !self.is_empty() && self.told.is_none_or(is_late)
    }

    /// Takes refusals for one notice at this time of the time-stamp counter, as many as a notice may hold.
    pub fn take(&mut self, now: u64) -> CardNotice {
        let mut kinds = Vec::with_capacity(DENIALS_PER_NOTICE_MAX);
        while kinds.len() + KINDS_MAX < DENIALS_PER_NOTICE_MAX
            && let Some(Row { tenant, user, kinds: of, beyond }) = self.rows.pop()
        {
            let one = |what, times| Denial { tenant, user, times, what };
            kinds.extend(of.into_iter().flatten().map(|(what, times)| one(Some(what), times)));
            kinds.extend((beyond != 0).then(|| one(None, beyond)));
        }
        self.told = Some(now);
        CardNotice::Denied { kinds, others: std::mem::take(&mut self.others) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::tenant::{Confinement, Limits};

    fn grant(tenant: u32) -> Grant {
        Grant {
            queue: 1,
            user: 1000,
            tenant,
            domain: 0,
            role: 0,
            account: 0,
            share_percent: 0,
            confinement: Confinement::None,
            limits: Limits::default(),
        }
    }

    #[test]
    fn a_flood_of_one_tenant_is_counted_and_takes_nothing_from_another() {
        let mut denials = Denials::default();
        for number in 0..1_000_000_u32 {
            let key = KeyReference { slot: number % 1000, generation: 1 };
            denials.answered(&grant(7), 0x1234, Some(key));
        }
        denials.answered(&grant(8), 0x1234, None);
        let CardNotice::Denied { kinds: told, others: 0 } = denials.take(0) else { panic!() };
        assert_eq!(told.len(), KINDS_MAX + 2);
        let of = |tenant| told.iter().filter(move |denial| denial.tenant == tenant);
        assert_eq!(of(7).map(|denial| denial.times).sum::<u64>(), 1_000_000);
        assert_eq!(of(7).filter(|denial| denial.what.is_none()).count(), 1);
        assert_eq!(of(8).map(|denial| denial.times).collect::<Vec<_>>(), [1]);
        assert!(denials.is_empty());
    }

    #[test]
    fn every_tenant_is_told_of_in_messages_of_bounded_length_and_not_too_often() {
        let mut denials = Denials::default();
        for tenant in 0..ROWS_MAX as u32 + 5 {
            for verb in 0..KINDS_MAX as u16 + 3 {
                denials.answered(&grant(tenant), verb, None);
            }
        }
        assert!(denials.is_due(0));
        let (mut tenants, mut messages, mut beyond) = (std::collections::BTreeSet::new(), 0, 0);
        while !denials.is_empty() {
            let CardNotice::Denied { kinds, others } = denials.take(5) else { panic!() };
            assert!(kinds.len() <= DENIALS_PER_NOTICE_MAX);
            tenants.extend(kinds.iter().map(|denial| denial.tenant));
            (messages, beyond) = (messages + 1, beyond + others);
        }
        assert_eq!((tenants.len(), beyond), (ROWS_MAX, 5 * (KINDS_MAX as u64 + 3)));
        assert!(messages > 1);
        denials.answered(&grant(1), 1, None);
        assert!(!denials.is_due(6));
        assert!(denials.is_due(5 + ns_to_tsc(TELL_EVERY_NS)));
    }
}
