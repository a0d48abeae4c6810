//! Ticket keys, made anew for each period. All loops have the same keys, and each policy has its own. So no session of
//! a weak policy can be resumed at a listener with a strong one.

use crate::sessions::{CacheSettings, SessionCache};
use crate::ticket_file::{FileKey, fill};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tls::{Policy, SessionStore, Sessions, TicketKey, TicketKeys};
use zeroize::Zeroizing;

/// The period that the library is given for keys of a file: five years. In fact a key is the newest until the file
/// changes.
const FILE_PERIOD: Duration = Duration::from_secs(5 * 365 * 86_400);

/// The ticket keys of all policies, and the cache of kept sessions.
#[derive(Clone, Default)]
pub(crate) struct Tickets {
    by_policy: HashMap<Policy, TicketKeys>,
    kept: Option<(Arc<SessionCache>, Sessions)>,
}

impl Tickets {
    /// Makes the keys that are due: a first one for each of these policies, and a next one once the newest is a period
    /// old. Forgets keys that are of no more use. Without a period there are no keys. Returns whether anything changed.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub(crate) fn refresh(
        &mut self,
        period: Option<Duration>,
        policies: impl Iterator<Item = Policy>,
        now: u64,
    ) -> io::Result<bool> {
        let Some(period) = period else {
            return Ok(!std::mem::take(&mut self.by_policy).is_empty());
        };
        let mut is_changed = false;
        for policy in policies {
            let keys = self.by_policy.entry(policy).or_insert(TicketKeys { period, keys: Vec::new() });
            is_changed |= keys.period != period;
            keys.period = period;
            let is_due = |newest: &TicketKey| newest.since + period.as_secs() <= now;
            if keys.keys.last().is_none_or(is_due) {
                keys.keys.push(new_key(now)?);
                is_changed = true;
            }
            let kept = u64::from(TicketKeys::PERIODS) * period.as_secs();
            keys.keys.retain(|key| key.since + kept > now);
        }
        Ok(is_changed)
    }

    /// Takes the keys of a file, the newest first: new tickets are made with that one, while tickets of all keys are
    /// accepted.
    pub(crate) fn take_file(&mut self, file: &[FileKey], policies: impl Iterator<Item = Policy>, now: u64) {
        let period = FILE_PERIOD.as_secs();
        // The other keys are too old for new tickets to be made with them, and not too old for their tickets to be
        // accepted.
        let older = now.saturating_sub(2 * period + 86_400);
        self.by_policy = policies
            .map(|policy| {
                let since = std::iter::once(now.saturating_sub(1)).chain(std::iter::repeat(older));
                let mut keys: Vec<TicketKey> =
                    file.iter().zip(since).filter_map(|(key, since)| key.of(policy, since)).collect();
                keys.reverse();
                (policy, TicketKeys { period: FILE_PERIOD, keys })
            })
            .collect();
    }

    /// Keeps sessions as the settings say; sessions kept so far stay if the settings are the same.
    pub(crate) fn keep(&mut self, settings: Option<CacheSettings>, with_tickets: bool) {
        let before = self.kept.take().map(|(cache, _)| cache);
        self.kept = settings.map(|settings| {
            let cache = before
                .filter(|cache| cache.settings() == settings)
                .unwrap_or_else(|| Arc::new(SessionCache::new(settings)));
            let store: Arc<dyn SessionStore> = Arc::<SessionCache>::clone(&cache);
            (cache, Sessions { store, with_tickets })
        });
    }

    /// Where sessions are kept; `None` if none are.
    pub(crate) fn sessions(&self) -> Option<&Sessions> {
        self.kept.as_ref().map(|(_, sessions)| sessions)
    }

    /// The ticket keys of a policy; `None` if it has none.
    pub(crate) fn of(&self, policy: Policy) -> Option<&TicketKeys> {
        self.by_policy.get(&policy)
    }

    /// When the newest key of each policy was made, in seconds since 1970.
    pub(crate) fn newest(&self) -> impl Iterator<Item = (Policy, u64)> {
        self.by_policy.iter().filter_map(|(policy, keys)| Some((*policy, keys.keys.last()?.since)))
    }

    /// Time until the next key is due; `None` without keys.
    pub(crate) fn due_in(&self, now: u64) -> Option<Duration> {
        let newest = self.by_policy.values().filter_map(|keys| Some((keys.keys.last()?.since, keys.period)));
        newest
            .map(|(since, period)| Duration::from_secs((since + period.as_secs()).saturating_sub(now)))
            .min()
    }
}

fn new_key(now: u64) -> io::Result<TicketKey> {
    let mut key = TicketKey { name: [0; 16], key: Zeroizing::new([0; 32]), since: now };
    fill(&mut key.name)?;
    fill(&mut key.key[..])?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_with_periods_and_go_after_three() {
        const HOUR: u64 = 3600;
        let mut tickets = Tickets::default();
        let period = Some(Duration::from_secs(HOUR));
        let mut refresh = |period, now| {
            let is_changed = tickets.refresh(period, [Policy::Modern].into_iter(), now).unwrap();
            let keys = tickets.of(Policy::Modern).cloned().map(|keys| keys.keys).unwrap_or_default();
            (is_changed, keys, tickets.due_in(now))
        };
        let (is_changed, first, due) = refresh(period, 1000);
        assert_eq!((is_changed, first.len(), due), (true, 1, Some(Duration::from_secs(HOUR))));
        let (is_changed, same, due) = refresh(period, 1000 + HOUR - 1);
        assert_eq!((is_changed, &same, due), (false, &first, Some(Duration::from_secs(1))));
        let (is_changed, two, _) = refresh(period, 1000 + HOUR);
        assert!(is_changed && two.len() == 2 && two[0] == first[0] && two[1] != first[0]);
        assert_eq!(refresh(period, 1000 + 2 * HOUR).1.len(), 3);
        let (_, three, _) = refresh(period, 1000 + 3 * HOUR);
        assert!(three.len() == 3 && three[0] == two[1], "the first is of no use any more");
        assert_eq!(refresh(None, 1000 + 3 * HOUR), (true, Vec::new(), None));
        assert!(!refresh(None, 1000 + 3 * HOUR).0);
    }
}
