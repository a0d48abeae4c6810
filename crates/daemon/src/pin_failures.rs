//! Wrong PINs, counted for all cards of a home: whose verifications are refused, and until when.
//!
//! | rows | count | refused |
//! |---|---|---|
//! | of a key and a subject (validation data, or a PAN) | failures of the last day | from [`PER_DAY`] on, until they are fewer |
//! | of a key | failures of the last hour, by minutes | from as many on as the settings say |
//! | of a tenant | rows that its failures made | from [`TENANT_ROWS_MAX`] on: its verifications, until they are fewer |
//! | all | rows | from [`PIN_FAILURE_ROWS_MAX`] on: everybody's verifications |
//!
//! No row is given up for another: whoever could fill the table would otherwise have guesses forgotten. A tenant that fills its
//! share, with keys and subjects of its own, stops itself. A row goes when its failures are old, when the PIN was right, or
//! when an administrator clears it.
//!
//! Times are seconds since 1970. A clock that is set back makes refusals last longer, and never shorter.

pub mod log;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use wire::bounds::PIN_FAILURE_ROWS_MAX;
use wire::pin::{Digest, FailureCount, FailureRow, Guess, Standing};

/// Failures of a subject within a day after which it is refused.
pub const PER_DAY: usize = 10;
/// Rows that the failures of one tenant may make.
pub const TENANT_ROWS_MAX: usize = PIN_FAILURE_ROWS_MAX / 2;

const DAY: u64 = 24 * 3600;
const MINUTE: u64 = 60;
/// Minutes of an hour, each counted whole.
const MINUTES: u64 = 60;

/// What is written down, and what changes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A PIN was wrong.
    Failed {
        /// What it is counted under; where both are the same, under the key alone.
        guess: Guess,
        /// Whose request it was.
        tenant: u32,
    },
    /// A PIN was wrong, and its key does not count it, or not any more.
    Alone {
        /// What it is counted under.
        guess: Guess,
        /// Whose request it was.
        tenant: u32,
    },
    /// A PIN was right: what was counted of its subject is forgotten.
    Right {
        /// What it is counted under.
        guess: Guess,
    },
    /// An administrator cleared this, or all.
    Cleared(Option<Digest>),
}

/// A row.
#[derive(Clone, Debug)]
struct Row {
    /// Whose failure made it.
    tenant: u32,
    of: Of,
}

#[derive(Clone, Debug)]
enum Of {
    /// Times of the last failures, in order, at most [`PER_DAY`].
    Subject { key: Digest, times: Vec<u64> },
    /// Failures of each minute since 1970, of the last hour.
    Key { minutes: BTreeMap<u64, u32>, last: u64 },
}

/// All of them.
#[derive(Debug, Default)]
pub struct Failures {
    rows: BTreeMap<Digest, Row>,
    of_tenant: HashMap<u32, usize>,
    /// When a row changes by time alone.
    due: BTreeSet<(u64, Digest)>,
    refused: u64,
    /// Failures of a key within an hour after which it is refused; 0 for never.
    key_per_hour: u32,
    /// What is known anew since it was asked for.
    changes: Vec<(Digest, Standing)>,
}

impl Failures {
    /// None, and how many of a key within an hour are too many; 0 for no number.
    pub fn new(key_per_hour: u32) -> Self {
        Self { key_per_hour, ..Self::default() }
    }

    /// Another number of failures of a key is too many.
    pub fn set_key_per_hour(&mut self, key_per_hour: u32) {
        if self.key_per_hour == key_per_hour {
            return;
        }
        let keys = self.rows.iter().filter(|(_, row)| matches!(row.of, Of::Key { .. }));
        let keys: Vec<Digest> = keys.map(|(digest, _)| *digest).collect();
        let before: Vec<Standing> = keys.iter().map(|digest| self.standing(digest)).collect();
        self.key_per_hour = key_per_hour;
        for (digest, before) in keys.iter().zip(before) {
            self.settle(digest, before);
        }
    }

    /// What follows from an event of this time.
    pub fn apply(&mut self, event: &Event, at: u64, now: u64) {
        // Of a clock that was ahead.
        let at = at.min(now);
        match event {
            Event::Failed { guess, tenant } => {
                self.fail(&guess.subject, Some(guess.key), *tenant, at, now);
                self.fail(&guess.key, None, *tenant, at, now);
            }
            Event::Alone { guess, tenant } => {
                self.fail(&guess.subject, Some(guess.key), *tenant, at, now);
            }
            Event::Right { guess } => self.remove(&guess.subject),
            Event::Cleared(Some(digest)) => self.remove(digest),
            Event::Cleared(None) => {
                let all: Vec<Digest> = self.rows.keys().copied().collect();
                all.iter().for_each(|digest| self.remove(digest));
            }
        }
    }

    /// What time has changed.
    pub fn on_time(&mut self, now: u64) {
        while let Some((at, digest)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, digest));
            let before = self.standing(&digest);
            let Some(row) = self.rows.get_mut(&digest) else { continue };
            if row.of.forget(now) {
                self.settle(&digest, before);
            } else {
                self.remove_known(&digest, before);
            }
        }
    }

    /// What changed since this was asked, in order.
    pub fn changes(&mut self) -> Vec<(Digest, Standing)> {
        std::mem::take(&mut self.changes)
    }

    /// Whether there are too many rows to count more.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= PIN_FAILURE_ROWS_MAX
    }

    /// How many there are.
    pub fn count(&self) -> FailureCount {
        FailureCount { counted: self.rows.len() as u64, refused: self.refused, is_closed: self.is_full() }
    }

    /// Whether there is something under this digest.
    pub fn has(&self, digest: &Digest) -> bool {
        self.rows.contains_key(digest)
    }

    /// Rows behind this digest, in order; only those that are refused, if told so.
    pub fn rows(&self, after: Option<Digest>, refused_only: bool, most: usize) -> Vec<FailureRow> {
        use std::ops::Bound::{Excluded, Unbounded};
        let rows = self.rows.range((after.map_or(Unbounded, Excluded), Unbounded));
        let is_asked = |digest: &Digest| !refused_only || self.standing(digest) == Standing::Refused;
        rows.filter(|(digest, _)| is_asked(digest))
            .take(most)
            .map(|(digest, row)| {
                let is_refused = self.standing(digest) == Standing::Refused;
                FailureRow {
                    digest: *digest,
                    key: row.of.key(),
                    failures: row.of.failures(),
                    last_unix_s: row.of.last(),
                    refused_until_unix_s: is_refused.then(|| self.refused_until(row)),
                }
            })
            .collect()
    }

    /// The events that lead to the same rows, each with its time: what a file needs to hold.
    pub fn events(&self) -> impl Iterator<Item = (u64, Event)> + '_ {
        // What a key counts of each minute, as far as no failure of a subject stands for it.
        let mut left: BTreeMap<(Digest, u64), (u32, u32)> = BTreeMap::new();
        for (digest, row) in &self.rows {
            if let Of::Key { minutes, .. } = &row.of {
                left.extend(minutes.iter().map(|(minute, count)| ((*digest, *minute), (*count, row.tenant))));
            }
        }
        let mut events = Vec::new();
        for (subject, row) in &self.rows {
            let Of::Subject { key, times } = &row.of else { continue };
            let (guess, tenant) = (Guess { key: *key, subject: *subject }, row.tenant);
            for at in times {
                let of_key = left.get_mut(&(*key, at / MINUTE)).filter(|(count, _)| *count > 0);
                events.push(match of_key {
                    Some((count, _)) => {
                        *count -= 1;
                        (*at, Event::Failed { guess, tenant })
                    }
                    None => (*at, Event::Alone { guess, tenant }),
                });
            }
        }
        for ((key, minute), (count, tenant)) in left {
            let event = Event::Failed { guess: Guess { key, subject: key }, tenant };
            events.extend((0..count).map(|_| (minute * MINUTE, event)));
        }
        events.into_iter()
    }

    fn fail(&mut self, digest: &Digest, key: Option<Digest>, tenant: u32, at: u64, now: u64) {
        // It is counted under the key alone.
        if key == Some(*digest) {
            return;
        }
        let before = self.standing(digest);
        if !self.rows.contains_key(digest) {
            let of = match key {
                Some(key) => Of::Subject { key, times: Vec::new() },
                None => Of::Key { minutes: BTreeMap::new(), last: 0 },
            };
            self.rows.insert(*digest, Row { tenant, of });
            let rows = self.of_tenant.entry(tenant).or_default();
            *rows += 1;
            if *rows == TENANT_ROWS_MAX {
                self.changes.push((Digest::of_tenant(tenant), Standing::Refused));
            }
        }
        let Some(row) = self.rows.get_mut(digest) else { return };
        if let Some(due) = row.of.due() {
            self.due.remove(&(due, *digest));
        }
        row.of.add(at);
        if row.of.forget(now) {
            self.settle(digest, before);
        } else {
            self.remove_known(digest, before);
        }
    }

    /// Notes when a row changes next, and what it is now.
    fn settle(&mut self, digest: &Digest, before: Standing) {
        if let Some(due) = self.rows.get(digest).and_then(|row| row.of.due()) {
            self.due.insert((due, *digest));
        }
        self.note(*digest, before);
    }

    fn note(&mut self, digest: Digest, before: Standing) {
        let after = self.standing(&digest);
        if before == after {
            return;
        }
        self.refused -= u64::from(before == Standing::Refused);
        self.refused += u64::from(after == Standing::Refused);
        self.changes.push((digest, after));
    }

    fn remove(&mut self, digest: &Digest) {
        self.remove_known(digest, self.standing(digest));
    }

    /// Removes a row that was this before what it counts was forgotten.
    fn remove_known(&mut self, digest: &Digest, before: Standing) {
        let Some(row) = self.rows.remove(digest) else { return };
        if let Some(due) = row.of.due() {
            self.due.remove(&(due, *digest));
        }
        self.note(*digest, before);
        let Some(rows) = self.of_tenant.get_mut(&row.tenant) else { return };
        *rows -= 1;
        if *rows + 1 == TENANT_ROWS_MAX {
            self.changes.push((Digest::of_tenant(row.tenant), Standing::Clean));
        }
        if *rows == 0 {
            self.of_tenant.remove(&row.tenant);
        }
    }

    fn standing(&self, digest: &Digest) -> Standing {
        match self.rows.get(digest).map(|row| &row.of) {
            None => Standing::Clean,
            Some(Of::Subject { times, .. }) if times.len() >= PER_DAY => Standing::Refused,
            Some(Of::Key { .. }) if self.is_key_refused(digest) => Standing::Refused,
            Some(_) => Standing::Counted,
        }
    }

    fn is_key_refused(&self, digest: &Digest) -> bool {
        let failures = self.rows.get(digest).map_or(0, |row| row.of.failures());
        self.key_per_hour != 0 && failures >= self.key_per_hour
    }

    /// When a refused row has few enough failures again.
    fn refused_until(&self, row: &Row) -> u64 {
        match &row.of {
            Of::Subject { times, .. } => times.first().map_or(0, |first| first + DAY),
            Of::Key { minutes, .. } => {
                let mut left = row.of.failures();
                for (minute, count) in minutes {
                    left = left.saturating_sub(*count);
                    if left < self.key_per_hour {
                        return (minute + MINUTES) * MINUTE;
                    }
                }
                0
            }
        }
    }
}

impl Of {
    fn add(&mut self, at: u64) {
        match self {
            Self::Subject { times, .. } => {
                let place = times.partition_point(|time| *time <= at);
                times.insert(place, at);
                if times.len() > PER_DAY {
                    times.remove(0);
                }
            }
            Self::Key { minutes, last } => {
                let count = minutes.entry(at / MINUTE).or_default();
                *count = count.saturating_add(1);
                *last = at.max(*last);
            }
        }
    }

    /// Forgets what is old; whether anything is left.
    fn forget(&mut self, now: u64) -> bool {
        match self {
            Self::Subject { times, .. } => {
                times.retain(|time| time + DAY > now);
                !times.is_empty()
            }
            Self::Key { minutes, .. } => {
                minutes.retain(|minute, _| (minute + MINUTES) * MINUTE > now);
                !minutes.is_empty()
            }
        }
    }

    /// When the oldest of it is old.
    fn due(&self) -> Option<u64> {
        match self {
            Self::Subject { times, .. } => times.first().map(|first| first + DAY),
            Self::Key { minutes, .. } => minutes.keys().next().map(|minute| (minute + MINUTES) * MINUTE),
        }
    }

    fn key(&self) -> Option<Digest> {
        match self {
            Self::Subject { key, .. } => Some(*key),
            Self::Key { .. } => None,
        }
    }

    fn failures(&self) -> u32 {
        match self {
            Self::Subject { times, .. } => times.len() as u32,
            Self::Key { minutes, .. } => minutes.values().fold(0, |sum, count| sum.saturating_add(*count)),
        }
    }

    fn last(&self) -> u64 {
        match self {
            Self::Subject { times, .. } => times.last().copied().unwrap_or(0),
            Self::Key { last, .. } => *last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn digest(number: u64) -> Digest {
        Digest((u128::from(number) << 64 | 1).to_be_bytes())
    }

    fn failed(key: u64, subject: u64, tenant: u32) -> Event {
        Event::Failed { guess: Guess { key: digest(key), subject: digest(subject) }, tenant }
    }

    fn of(failures: &Failures, number: u64) -> Standing {
        failures.standing(&digest(number))
    }

    #[test]
    fn ten_failures_within_a_day_refuse_a_subject_and_no_other() {
        let mut failures = Failures::new(0);
        for at in 0..9 {
            failures.apply(&failed(1, 100, 0), NOW + at * 3600, NOW + at * 3600);
            assert_eq!(of(&failures, 100), Standing::Counted);
        }
        failures.apply(&failed(1, 100, 0), NOW + DAY - 1, NOW + DAY - 1);
        assert_eq!(
            (of(&failures, 100), of(&failures, 1), of(&failures, 101)),
            (Standing::Refused, Standing::Counted, Standing::Clean)
        );
        let row = failures.rows(None, true, 9)[0];
        assert_eq!((row.failures, row.key, row.refused_until_unix_s), (10, Some(digest(1)), Some(NOW + DAY)));
        // One of them is old: nine are left, and the next is the tenth again.
        failures.on_time(NOW + DAY - 1);
        assert_eq!(of(&failures, 100), Standing::Refused);
        failures.on_time(NOW + DAY);
        assert_eq!(of(&failures, 100), Standing::Counted);
        failures.apply(&failed(1, 100, 0), NOW + DAY, NOW + DAY);
        assert_eq!(of(&failures, 100), Standing::Refused);
        failures.on_time(NOW + DAY + 3600);
        failures.on_time(NOW + 3 * DAY);
        assert_eq!(failures.count(), FailureCount::default());
        let told = failures.changes();
        assert_eq!(
            told.iter().filter(|(of, _)| *of == digest(100)).map(|(_, now)| *now).collect::<Vec<_>>(),
            [
                Standing::Counted,
                Standing::Refused,
                Standing::Counted,
                Standing::Refused,
                Standing::Counted,
                Standing::Clean
            ]
        );
    }

    #[test]
    fn a_right_pin_forgets_its_subject_and_not_its_key() {
        let mut failures = Failures::new(12);
        (0..10).for_each(|_| failures.apply(&failed(1, 100, 0), NOW, NOW));
        let guess = Guess { key: digest(1), subject: digest(100) };
        failures.apply(&Event::Right { guess }, NOW, NOW);
        assert_eq!(of(&failures, 100), Standing::Clean);
        assert_eq!(failures.rows(None, false, 9)[0].failures, 10);
        failures.apply(&failed(1, 101, 0), NOW, NOW);
        assert_eq!(of(&failures, 1), Standing::Counted);
        failures.apply(&failed(1, 102, 0), NOW, NOW);
        assert_eq!((of(&failures, 1), failures.count().refused), (Standing::Refused, 1));
        // After an hour the key is as before.
        failures.on_time(NOW + 3600 + MINUTE);
        assert_eq!((of(&failures, 1), of(&failures, 101)), (Standing::Clean, Standing::Counted));
    }

    #[test]
    fn another_number_for_keys_holds_at_once() {
        let mut failures = Failures::new(0);
        (0..5).for_each(|at| failures.apply(&failed(1, 100 + at, 0), NOW, NOW));
        for (number, expected) in
            [(5, Standing::Refused), (6, Standing::Counted), (1, Standing::Refused), (0, Standing::Counted)]
        {
            failures.set_key_per_hour(number);
            assert_eq!(of(&failures, 1), expected, "{number}");
        }
        assert_eq!(failures.count().refused, 0);
    }

    #[test]
    fn what_is_cleared_is_forgotten() {
        let mut failures = Failures::new(0);
        (0..10).for_each(|_| failures.apply(&failed(1, 100, 0), NOW, NOW));
        (0..10).for_each(|_| failures.apply(&failed(1, 101, 0), NOW, NOW));
        failures.apply(&Event::Cleared(Some(digest(100))), NOW, NOW);
        assert_eq!((of(&failures, 100), of(&failures, 101)), (Standing::Clean, Standing::Refused));
        failures.apply(&Event::Cleared(None), NOW, NOW);
        assert_eq!((failures.count(), failures.due.len()), (FailureCount::default(), 0));
    }

    #[test]
    fn a_tenant_that_fills_its_share_stops_itself() {
        let mut failures = Failures::new(0);
        let hostile = 66;
        failures.apply(&failed(1, 100, 7), NOW, NOW);
        for number in 0..TENANT_ROWS_MAX as u64 - 1 {
            failures.apply(&failed(2, 1_000 + number, hostile), NOW, NOW);
        }
        let is_its = |(of, _): &(Digest, Standing)| *of == Digest::of_tenant(hostile);
        let told: Vec<_> = failures.changes().into_iter().filter(is_its).collect();
        assert_eq!(told, [(Digest::of_tenant(hostile), Standing::Refused)]);
        // Nothing of others is gone, and there is room for them.
        assert!(of(&failures, 100) == Standing::Counted && !failures.is_full());
        failures.on_time(NOW + DAY);
        let told: Vec<_> = failures.changes().into_iter().filter(is_its).collect();
        assert_eq!(told, [(Digest::of_tenant(hostile), Standing::Clean)]);
        assert!(failures.of_tenant.is_empty() && failures.due.is_empty());
    }

    #[test]
    fn a_full_table_is_said_to_be() {
        let mut failures = Failures::new(0);
        for number in 0..PIN_FAILURE_ROWS_MAX as u64 {
            assert!(!failures.is_full());
            failures.fail(&digest(10 + number), Some(digest(1)), number as u32, NOW, NOW);
        }
        assert!(failures.is_full() && failures.count().is_closed);
    }

    #[test]
    fn the_events_of_rows_lead_to_the_same_rows() {
        let mut failures = Failures::new(8);
        for at in 0..40 {
            failures.apply(&failed(1 + at % 2, 100 + at % 7, at as u32 % 3), NOW + 50 * at, NOW + 50 * at);
        }
        let guess = Guess { key: digest(1), subject: digest(102) };
        failures.apply(&Event::Right { guess }, NOW + 2000, NOW + 2000);
        // What is cleared of a key does not come back by its subjects.
        failures.apply(&Event::Cleared(Some(digest(2))), NOW + 2000, NOW + 2000);
        let mut again = Failures::new(8);
        for (at, event) in failures.events() {
            again.apply(&event, at, NOW + 2000);
        }
        let counted = |failures: &Failures| -> Vec<_> {
            let rows = failures.rows(None, false, 99).into_iter();
            rows.map(|row| (row.digest, row.key, row.failures, row.refused_until_unix_s)).collect()
        };
        assert_eq!(counted(&again), counted(&failures));
        assert_eq!(again.count(), failures.count());
    }

    #[test]
    fn a_clock_that_was_ahead_refuses_nobody_for_ever() {
        let mut failures = Failures::new(0);
        (0..10).for_each(|_| failures.apply(&failed(1, 100, 0), NOW + 1000 * DAY, NOW));
        assert_eq!(failures.rows(None, true, 9)[0].refused_until_unix_s, Some(NOW + DAY));
    }
}
