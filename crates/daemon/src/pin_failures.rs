//! Counts of wrong PINs for all cards of a home, and the verifications that are refused for them.
//!
//! | rows | count | refused |
//! |---|---|---|
//! | of a subject, a block or a caller ([`Guess`]) | failures of the last day | from [`PER_DAY`] on, until they are fewer |
//! | of a key, and of a key for a tenant | failures of the last hour, by minutes | from the number in the settings on |
//! | of a tenant | rows that its failures made | from its share on: all its verifications, until its rows are fewer |
//! | all | rows | from [`PIN_FAILURE_ROWS_MAX`] on: everybody's verifications |
//!
//! No row is given up for another: otherwise somebody who fills the table could have guesses forgotten. A row is
//! removed when its failures are old, or when an administrator clears it. Clearing also removes these failures from the
//! other rows that count them, except rows of keys.
//!
//! Half of the rows are divided into equal parts for the tenants that settings name, or that have rows. Another quarter
//! is a pool, of which a tenant may take up to half. So tenants that fill their shares stop only themselves, however
//! many they are. The last quarter is for failures that cards found before they learnt of a refusal.
//!
//! Times are seconds since 1970. A clock that is set back makes refusals last longer, and never shorter.

pub mod log;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wire::bounds::PIN_FAILURE_ROWS_MAX;
use wire::pin::{Digest, FailureCount, FailureOf, FailureRow, Guess, Standing};

/// Failures within a day from which on a subject, a block or a caller is refused.
pub const PER_DAY: usize = 10;
/// Rows that are divided among the tenants.
const DIVIDED_ROWS: usize = PIN_FAILURE_ROWS_MAX / 2;
/// Rows of the pool, which tenants take beyond their parts.
const POOLED_ROWS: usize = PIN_FAILURE_ROWS_MAX / 4;
/// Lower bound of the number of parts: users of the machine are tenants too, as soon as they come.
const PARTS_MIN: usize = 16;

const DAY: u64 = 24 * 3600;
const MINUTE: u64 = 60;
/// Minutes of an hour: failures of keys are counted by whole minutes.
const MINUTES: u64 = 60;

/// An event that changes the counts, as the file holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A PIN was wrong.
    Failed {
        /// The digests that the failure is counted under.
        guess: Guess,
        /// The tenant whose request it was.
        tenant: u32,
    },
    /// Failures under one digest, from a file that was written anew, or by an earlier version.
    Counted {
        /// The digest of the row.
        digest: Digest,
        /// Whose digest it is, with the failures counted for it.
        of: Counted,
        /// The tenant whose failure made the row.
        tenant: u32,
    },
    /// An administrator cleared the row of this digest, or all rows (`None`).
    Cleared(Option<Digest>),
}

/// Whose digest it is, with the failures under it at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// One failure of a subject, a block or a caller.
    Subject {
        /// Which of the three it is.
        of: FailureOf,
        /// The key of its last failure.
        key: Digest,
        /// A mark of the failure, the same in all rows that count it.
        tag: u64,
    },
    /// Failures of a key.
    Key {
        /// Digest of the key if these are failures of one tenant; `None` if they are of all tenants.
        shared: Option<Digest>,
        /// Number of failures.
        failures: u32,
    },
}

/// Failures of a key within an hour from which on it is refused; 0 for no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyBounds {
    /// Failures of all tenants together.
    pub all: u32,
    /// Failures of one tenant.
    pub tenant: u32,
}

/// A row of the table: the failures counted under one digest.
#[derive(Clone, Debug)]
struct Row {
    /// The tenant whose failure made the row.
    tenant: u32,
    of: Of,
}

#[derive(Clone, Debug)]
enum Of {
    /// The last failures, in order, at most [`PER_DAY`].
    Subject { of: FailureOf, key: Digest, failures: Vec<Failure> },
    /// Failures of the last hour, by minutes since 1970; `shared` is the key's digest if the row is of one tenant.
    Key { shared: Option<Digest>, minutes: BTreeMap<u64, u32>, last: u64 },
}

/// One failure, with its time in seconds since 1970.
#[derive(Clone, Copy, Debug)]
struct Failure {
    at: u64,
    /// A mark of the failure, the same in all rows that count it.
    tag: u64,
}

/// The table: all rows, and who is refused for them.
#[derive(Debug, Default)]
pub struct Failures {
    rows: BTreeMap<Digest, Row>,
    of_tenant: HashMap<u32, usize>,
    /// When rows change by time alone, in seconds since 1970, each with its digest.
    due: BTreeSet<(u64, Digest)>,
    refused: u64,
    /// Keys with at least a tenth of the failures from which on they are refused.
    near: BTreeSet<Digest>,
    keys: KeyBounds,
    /// Number of tenants that settings name.
    tenants: usize,
    /// Tenants that made more rows than their share.
    stopped: BTreeSet<u32>,
    /// Changes of standing since [`Failures::changes`] was last called.
    changes: Vec<(Digest, Standing)>,
}

impl Failures {
    /// An empty table with these bounds of keys.
    pub fn new(keys: KeyBounds) -> Self {
        Self { keys, ..Self::default() }
    }

    /// Sets the bounds of keys, and reviews all rows of keys.
    pub fn set_keys(&mut self, bounds: KeyBounds) {
        if self.keys == bounds {
            return;
        }
        let keys = self.rows.iter().filter(|(_, row)| matches!(row.of, Of::Key { .. }));
        let keys: Vec<Digest> = keys.map(|(digest, _)| *digest).collect();
        let before: Vec<Standing> = keys.iter().map(|digest| self.standing(digest)).collect();
        self.keys = bounds;
        for (digest, before) in keys.iter().zip(before) {
            self.note(*digest, before);
            self.review_key(digest);
        }
    }

    /// Sets the number of tenants that settings name: each of them has a part of the rows.
    pub fn set_tenants(&mut self, tenants: usize) {
        self.tenants = tenants;
    }

    /// Applies an event that happened at `at`; times are seconds since 1970.
    pub fn apply(&mut self, event: &Event, at: u64, now: u64) {
        // `at` is later than `now` if the clock was ahead then.
        let at = at.min(now);
        match *event {
            Event::Failed { guess, tenant } => {
                let tag = tag(&guess);
                let key = guess.key;
                for (digest, of) in
                    guess.rows().zip([FailureOf::Subject, FailureOf::Block, FailureOf::Caller])
                {
                    self.fail(digest, Counted::Subject { of, key, tag }, tenant, at, now);
                }
                for (digest, shared) in [(key, None), (key.by_tenant(tenant), Some(key))] {
                    self.fail(digest, Counted::Key { shared, failures: 1 }, tenant, at, now);
                }
            }
            Event::Counted { digest, of, tenant } => self.fail(digest, of, tenant, at, now),
            Event::Cleared(Some(digest)) => self.clear(&digest),
            Event::Cleared(None) => {
                let all: Vec<Digest> = self.rows.keys().copied().collect();
                all.iter().for_each(|digest| self.remove(digest));
            }
        }
    }

    /// Forgets failures that are old at `now`, in seconds since 1970, and removes empty rows.
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

    /// The digests whose standing changed since the last call, in order.
    pub fn changes(&mut self) -> Vec<(Digest, Standing)> {
        self.review_shares();
        std::mem::take(&mut self.changes)
    }

    /// Whether the table has no room for further rows, so that everybody's verifications are refused.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= PIN_FAILURE_ROWS_MAX
    }

    /// Numbers of rows: all, those refused, and keys near their bound.
    pub fn count(&self) -> FailureCount {
        FailureCount {
            counted: self.rows.len() as u64,
            refused: self.refused + self.stopped.len() as u64,
            near: self.near.len() as u64,
            is_closed: self.is_full(),
        }
    }

    /// The tenant of this digest, if it is refused because it made more rows than its share.
    pub fn stopped(&self, digest: &Digest) -> Option<u32> {
        self.stopped.iter().copied().find(|tenant| Digest::of_tenant(*tenant) == *digest)
    }

    /// Whether there is a row under this digest.
    pub fn has(&self, digest: &Digest) -> bool {
        self.rows.contains_key(digest)
    }

    /// At most `most` rows after this digest, in order of digests; with `refused_only`, refused rows alone.
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
                    of: row.of.of(),
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
        self.rows.iter().flat_map(|(digest, row)| {
            let event = |of| Event::Counted { digest: *digest, of, tenant: row.tenant };
            let events: Vec<(u64, Event)> = match &row.of {
                Of::Subject { of, key, failures } => failures
                    .iter()
                    .map(|failure| {
                        (failure.at, event(Counted::Subject { of: *of, key: *key, tag: failure.tag }))
                    })
                    .collect(),
                Of::Key { shared, minutes, .. } => minutes
                    .iter()
                    .map(|(minute, failures)| {
                        (minute * MINUTE, event(Counted::Key { shared: *shared, failures: *failures }))
                    })
                    .collect(),
            };
            events
        })
    }

    fn fail(&mut self, digest: Digest, counted: Counted, tenant: u32, at: u64, now: u64) {
        let before = self.standing(&digest);
        if let Entry::Vacant(place) = self.rows.entry(digest) {
            let of = match counted {
                Counted::Subject { of, key, .. } => Of::Subject { of, key, failures: Vec::new() },
                Counted::Key { shared, .. } => Of::Key { shared, minutes: BTreeMap::new(), last: 0 },
            };
            place.insert(Row { tenant, of });
            *self.of_tenant.entry(tenant).or_default() += 1;
        }
        let Some(row) = self.rows.get_mut(&digest) else { return };
        if let Some(due) = row.of.due() {
            self.due.remove(&(due, digest));
        }
        row.of.add(counted, at);
        if row.of.forget(now) {
            self.settle(&digest, before);
        } else {
            self.remove_known(&digest, before);
        }
    }

    /// Removes a row, and removes its failures from all other rows except those of keys.
    fn clear(&mut self, digest: &Digest) {
        let tags: BTreeSet<u64> = match self.rows.get(digest).map(|row| &row.of) {
            Some(Of::Subject { failures, .. }) => failures.iter().map(|failure| failure.tag).collect(),
            _ => BTreeSet::new(),
        };
        self.remove(digest);
        let is_one = |failure: &Failure| tags.contains(&failure.tag);
        let others = self.rows.iter().filter(|(_, row)| match &row.of {
            Of::Subject { failures, .. } => failures.iter().any(is_one),
            Of::Key { .. } => false,
        });
        let others: Vec<Digest> = others.map(|(digest, _)| *digest).collect();
        for digest in others {
            let before = self.standing(&digest);
            let Some(row) = self.rows.get_mut(&digest) else { continue };
            if let Some(due) = row.of.due() {
                self.due.remove(&(due, digest));
            }
            let Of::Subject { failures, .. } = &mut row.of else { continue };
            failures.retain(|failure| !is_one(failure));
            if failures.is_empty() {
                self.remove_known(&digest, before);
            } else {
                self.settle(&digest, before);
            }
        }
    }

    /// Determines which tenants made more rows than their share, and notes changes of that.
    fn review_shares(&mut self) {
        let parts = PARTS_MIN.max(self.tenants).max(self.of_tenant.len());
        let part = DIVIDED_ROWS / parts;
        let pooled = |rows: usize| rows.saturating_sub(part);
        let taken: usize = self.of_tenant.values().map(|rows| pooled(*rows)).sum();
        let is_over = |rows: usize| rows >= part && (taken >= POOLED_ROWS || pooled(rows) >= POOLED_ROWS / 2);
        let over = self.of_tenant.iter().filter(|(_, rows)| is_over(**rows));
        let stopped: BTreeSet<u32> = over.map(|(tenant, _)| *tenant).collect();
        let told = |tenant: &u32, standing| (Digest::of_tenant(*tenant), standing);
        let begun = stopped.difference(&self.stopped).map(|tenant| told(tenant, Standing::Refused));
        let ended = self.stopped.difference(&stopped).map(|tenant| told(tenant, Standing::Clean));
        self.changes.extend(begun.chain(ended));
        self.stopped = stopped;
    }

    /// Notes when a row changes next by time alone, and its standing if that differs from `before`.
    fn settle(&mut self, digest: &Digest, before: Standing) {
        if let Some(due) = self.rows.get(digest).and_then(|row| row.of.due()) {
            self.due.insert((due, *digest));
        }
        self.note(*digest, before);
        self.review_key(digest);
    }

    /// Notes whether a key has a tenth of the failures from which on it is refused, so that guessing is reported before
    /// it is refused.
    fn review_key(&mut self, digest: &Digest) {
        let is_near = |row: &Row| {
            matches!(row.of, Of::Key { shared: None, .. })
                && self.keys.all != 0
                && row.of.failures() >= self.keys.all.div_ceil(10)
        };
        match self.rows.get(digest).is_some_and(is_near) {
            true => self.near.insert(*digest),
            false => self.near.remove(digest),
        };
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

    /// Removes a row whose standing was `before` until its failures were forgotten.
    fn remove_known(&mut self, digest: &Digest, before: Standing) {
        let Some(row) = self.rows.remove(digest) else { return };
        if let Some(due) = row.of.due() {
            self.due.remove(&(due, *digest));
        }
        self.note(*digest, before);
        self.review_key(digest);
        let Some(rows) = self.of_tenant.get_mut(&row.tenant) else { return };
        *rows -= 1;
        if *rows == 0 {
            self.of_tenant.remove(&row.tenant);
        }
    }

    fn standing(&self, digest: &Digest) -> Standing {
        let Some(row) = self.rows.get(digest) else { return Standing::Clean };
        let most = self.most(&row.of);
        if most != 0 && row.of.failures() >= most { Standing::Refused } else { Standing::Counted }
    }

    /// Number of failures from which on a row is refused; 0 for never.
    fn most(&self, of: &Of) -> u32 {
        match of {
            Of::Subject { .. } => PER_DAY as u32,
            Of::Key { shared: None, .. } => self.keys.all,
            Of::Key { shared: Some(_), .. } => self.keys.tenant,
        }
    }

    /// When a refused row has few enough failures again, in seconds since 1970.
    fn refused_until(&self, row: &Row) -> u64 {
        match &row.of {
            Of::Subject { failures, .. } => failures.first().map_or(0, |first| first.at + DAY),
            Of::Key { minutes, .. } => {
                let mut left = row.of.failures();
                for (minute, count) in minutes {
                    left = left.saturating_sub(*count);
                    if left < self.most(&row.of) {
                        return (minute + MINUTES) * MINUTE;
                    }
                }
                0
            }
        }
    }
}

/// The mark that the failures of one guess bear in all rows, made from the digests of the guess.
fn tag(guess: &Guess) -> u64 {
    let first = |digest: Digest| digest.0.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    guess.rows().fold(0, |tag: u64, digest| tag.rotate_left(21) ^ first(digest))
}

impl Of {
    fn add(&mut self, counted: Counted, at: u64) {
        match (self, counted) {
            (Self::Subject { key, failures, .. }, Counted::Subject { key: own, tag, .. }) => {
                let place = failures.partition_point(|failure| failure.at <= at);
                if place == failures.len() {
                    *key = own;
                }
                failures.insert(place, Failure { at, tag });
                if failures.len() > PER_DAY {
                    failures.remove(0);
                }
            }
            (Self::Key { minutes, last, .. }, Counted::Key { failures, .. }) => {
                let count = minutes.entry(at / MINUTE).or_default();
                *count = count.saturating_add(failures);
                *last = at.max(*last);
            }
            // A digest stands for one thing: if a file says otherwise, its first record counts.
            (Self::Subject { .. }, Counted::Key { .. }) | (Self::Key { .. }, Counted::Subject { .. }) => {}
        }
    }

    /// Forgets old failures, and returns whether any are left.
    fn forget(&mut self, now: u64) -> bool {
        match self {
            Self::Subject { failures, .. } => {
                failures.retain(|failure| failure.at + DAY > now);
                !failures.is_empty()
            }
            Self::Key { minutes, .. } => {
                minutes.retain(|minute, _| (minute + MINUTES) * MINUTE > now);
                !minutes.is_empty()
            }
        }
    }

    /// When the oldest failure is forgotten, in seconds since 1970.
    fn due(&self) -> Option<u64> {
        match self {
            Self::Subject { failures, .. } => failures.first().map(|first| first.at + DAY),
            Self::Key { minutes, .. } => minutes.keys().next().map(|minute| (minute + MINUTES) * MINUTE),
        }
    }

    fn of(&self) -> FailureOf {
        match self {
            Self::Subject { of, .. } => *of,
            Self::Key { shared: None, .. } => FailureOf::Key,
            Self::Key { shared: Some(_), .. } => FailureOf::TenantKey,
        }
    }

    fn key(&self) -> Option<Digest> {
        match self {
            Self::Subject { key, .. } => Some(*key),
            Self::Key { shared, .. } => *shared,
        }
    }

    fn failures(&self) -> u32 {
        match self {
            Self::Subject { failures, .. } => failures.len() as u32,
            Self::Key { minutes, .. } => minutes.values().fold(0, |sum, count| sum.saturating_add(*count)),
        }
    }

    fn last(&self) -> u64 {
        match self {
            Self::Subject { failures, .. } => failures.last().map_or(0, |failure| failure.at),
            Self::Key { last, .. } => *last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::pin::BlockGuess;

    const NOW: u64 = 1_800_000_000;

    fn digest(number: u64) -> Digest {
        Digest((u128::from(number) << 64 | 1).to_be_bytes())
    }

    fn failed(key: u64, subject: u64, tenant: u32) -> Event {
        Event::Failed { guess: Guess { key: digest(key), subject: digest(subject), block: None }, tenant }
    }

    /// As [`failed`], with a block, and the tenant's digest of it.
    fn failed_in(key: u64, subject: u64, block: u64, tenant: u32) -> Event {
        let block =
            BlockGuess { block: digest(block), caller: digest(block + 1_000_000 * u64::from(1 + tenant)) };
        let guess = Guess { key: digest(key), subject: digest(subject), block: Some(block) };
        Event::Failed { guess, tenant }
    }

    const NO_BOUND: KeyBounds = KeyBounds { all: 0, tenant: 0 };

    fn row(failures: &Failures, number: u64) -> FailureRow {
        let all = failures.rows(None, false, usize::MAX);
        *all.iter().find(|row| row.digest == digest(number)).unwrap()
    }

    fn of(failures: &Failures, number: u64) -> Standing {
        failures.standing(&digest(number))
    }

    #[test]
    fn ten_failures_within_a_day_refuse_a_subject_and_no_other() {
        let mut failures = Failures::new(NO_BOUND);
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
    fn a_block_counts_whatever_it_is_compared_with_under_whichever_key() {
        let mut failures = Failures::new(NO_BOUND);
        let caller = 500 + 1_000_000;
        for number in 0..9 {
            failures.apply(&failed_in(1, 100 + number, 500, 0), NOW, NOW);
        }
        assert_eq!((of(&failures, 500), of(&failures, caller)), (Standing::Counted, Standing::Counted));
        failures.apply(&failed_in(2, 109, 600, 7), NOW, NOW);
        failures.apply(&failed_in(1, 109, 500, 0), NOW, NOW);
        assert_eq!((of(&failures, 500), of(&failures, caller)), (Standing::Refused, Standing::Refused));
        // Each subject but one had one of them.
        assert_eq!((row(&failures, 103).failures, row(&failures, 109).failures), (1, 2));
        assert_eq!(
            [500, caller, 103, 1].map(|number| row(&failures, number).of),
            [FailureOf::Block, FailureOf::Caller, FailureOf::Subject, FailureOf::Key]
        );
        // Who clears any of them has cleared these failures everywhere, and no others.
        failures.apply(&Event::Cleared(Some(digest(caller))), NOW, NOW);
        assert_eq!([500, caller, 103].map(|number| of(&failures, number)), [Standing::Clean; 3]);
        assert_eq!((row(&failures, 109).failures, row(&failures, 600).failures), (1, 1));
        assert_eq!(row(&failures, 1).failures, 10);
    }

    #[test]
    fn one_tenant_is_refused_a_key_before_all_are() {
        let mut failures = Failures::new(KeyBounds { all: 12, tenant: 5 });
        let mut fail = |subject, tenant| {
            failures.apply(&failed(1, subject, tenant), NOW, NOW);
            [failures.standing(&digest(1)), failures.standing(&digest(1).by_tenant(tenant))]
        };
        for number in 0..4 {
            assert_eq!(fail(100 + number, 66), [Standing::Counted; 2]);
        }
        assert_eq!(fail(104, 66), [Standing::Counted, Standing::Refused]);
        for number in 0..4 {
            assert_eq!(fail(200 + number, 7), [Standing::Counted; 2]);
        }
        (0..2).for_each(|number| assert_eq!(fail(300 + number, 8), [Standing::Counted; 2]));
        assert_eq!(fail(302, 8), [Standing::Refused, Standing::Counted]);
        assert_eq!(failures.count().refused, 2);
        // After an hour the key is as before.
        failures.on_time(NOW + 3600 + MINUTE);
        assert_eq!((of(&failures, 1), of(&failures, 101)), (Standing::Clean, Standing::Counted));
    }

    #[test]
    fn another_number_for_keys_holds_at_once() {
        let mut failures = Failures::new(NO_BOUND);
        (0..5).for_each(|at| failures.apply(&failed(1, 100 + at, 0), NOW, NOW));
        for (number, expected) in
            [(5, Standing::Refused), (6, Standing::Counted), (1, Standing::Refused), (0, Standing::Counted)]
        {
            failures.set_keys(KeyBounds { all: number, tenant: 0 });
            assert_eq!(of(&failures, 1), expected, "{number}");
        }
        assert_eq!(failures.count().refused, 0);
    }

    #[test]
    fn a_key_is_near_from_a_tenth_of_its_bound_on_until_its_failures_are_old() {
        let mut failures = Failures::new(KeyBounds { all: 50, tenant: 0 });
        for at in 0..4 {
            failures.apply(&failed(1, 100 + at, 0), NOW, NOW);
            assert_eq!(failures.count().near, 0);
        }
        failures.apply(&failed(1, 104, 0), NOW, NOW);
        assert_eq!((failures.count().near, failures.count().refused), (1, 0));
        for (all, near) in [(51, 0), (0, 0), (50, 1)] {
            failures.set_keys(KeyBounds { all, tenant: 0 });
            assert_eq!(failures.count().near, near, "{all}");
        }
        failures.on_time(NOW + MINUTES * MINUTE + MINUTE);
        assert_eq!(failures.count().near, 0);
    }

    #[test]
    fn what_is_cleared_is_forgotten() {
        let mut failures = Failures::new(NO_BOUND);
        (0..10).for_each(|_| failures.apply(&failed(1, 100, 0), NOW, NOW));
        (0..10).for_each(|_| failures.apply(&failed(1, 101, 0), NOW, NOW));
        failures.apply(&Event::Cleared(Some(digest(100))), NOW, NOW);
        assert_eq!((of(&failures, 100), of(&failures, 101)), (Standing::Clean, Standing::Refused));
        failures.apply(&Event::Cleared(None), NOW, NOW);
        assert_eq!((failures.count(), failures.due.len()), (FailureCount::default(), 0));
    }

    /// The tenants that are refused; changes that were reported of them must say the same.
    fn stopped(failures: &mut Failures) -> BTreeSet<u32> {
        for (digest, standing) in failures.changes() {
            let is_its = failures.stopped.iter().any(|tenant| Digest::of_tenant(*tenant) == digest);
            assert!(!is_its || standing == Standing::Refused);
        }
        failures.stopped.clone()
    }

    #[test]
    fn tenants_that_fill_their_shares_stop_themselves_however_many_they_are() {
        let mut failures = Failures::new(NO_BOUND);
        failures.apply(&failed(1, 100, 7), NOW, NOW);
        let mut next = 1_000;
        for hostile in 60..70 {
            while !stopped(&mut failures).contains(&hostile) {
                for _ in 0..512 {
                    failures.apply(&failed(2, next, hostile), NOW, NOW);
                    next += 1;
                }
            }
        }
        // Nothing of others is gone, and there is room for them: a part of half of the rows.
        assert_eq!(of(&failures, 100), Standing::Counted);
        let part = DIVIDED_ROWS / PARTS_MIN;
        for number in 0..part as u64 - 10 {
            failures.apply(&failed(3, 10_000_000 + number, 7), NOW, NOW);
        }
        assert_eq!(stopped(&mut failures), BTreeSet::from_iter(60..70));
        assert!(!failures.is_full());
        failures.on_time(NOW + DAY);
        assert_eq!(stopped(&mut failures), BTreeSet::new());
        assert!(failures.of_tenant.is_empty() && failures.due.is_empty());
    }

    #[test]
    fn one_tenant_takes_more_than_its_part_while_there_is_room() {
        let mut failures = Failures::new(NO_BOUND);
        failures.set_tenants(64);
        let most = DIVIDED_ROWS / 64 + POOLED_ROWS / 2;
        for number in 0..most as u64 {
            assert!(number % 4096 != 0 || stopped(&mut failures).is_empty(), "{number}");
            failures.apply(&failed(1, 100 + number, 7), NOW, NOW);
        }
        assert_eq!(stopped(&mut failures), BTreeSet::from([7]));
    }

    #[test]
    fn a_full_table_is_said_to_be() {
        let mut failures = Failures::new(NO_BOUND);
        let of = Counted::Subject { of: FailureOf::Subject, key: digest(1), tag: 1 };
        for number in 0..PIN_FAILURE_ROWS_MAX as u64 {
            assert!(!failures.is_full());
            failures.fail(digest(10 + number), of, number as u32, NOW, NOW);
        }
        assert!(failures.is_full() && failures.count().is_closed);
    }

    #[test]
    fn the_events_of_rows_lead_to_the_same_rows() {
        let mut failures = Failures::new(KeyBounds { all: 8, tenant: 5 });
        for at in 0..40 {
            let event = failed_in(1 + at % 2, 100 + at % 7, 200 + at % 5, at as u32 % 3);
            failures.apply(&event, NOW + 50 * at, NOW + 50 * at);
        }
        failures.apply(&Event::Cleared(Some(digest(102))), NOW + 2000, NOW + 2000);
        // What is cleared of a key does not come back by its subjects.
        failures.apply(&Event::Cleared(Some(digest(2))), NOW + 2000, NOW + 2000);
        let mut again = Failures::new(KeyBounds { all: 8, tenant: 5 });
        for (at, event) in failures.events() {
            again.apply(&event, at, NOW + 2000);
        }
        let counted = |failures: &Failures| -> Vec<_> {
            let rows = failures.rows(None, false, 99).into_iter();
            rows.map(|row| (row.digest, row.of, row.key, row.failures, row.refused_until_unix_s)).collect()
        };
        assert_eq!(counted(&again), counted(&failures));
        // Who clears one of them then, clears the same.
        for failures in [&mut again, &mut failures] {
            failures.apply(&Event::Cleared(Some(digest(203))), NOW + 2000, NOW + 2000);
        }
        assert_eq!(counted(&again), counted(&failures));
        assert_eq!(again.count(), failures.count());
    }

    #[test]
    fn a_clock_that_was_ahead_refuses_nobody_for_ever() {
        let mut failures = Failures::new(NO_BOUND);
        (0..10).for_each(|_| failures.apply(&failed(1, 100, 0), NOW + 1000 * DAY, NOW));
        assert_eq!(failures.rows(None, true, 9)[0].refused_until_unix_s, Some(NOW + DAY));
    }
}
