//! Readings of all cards of a home, and the differences between two readings: the data of `top` and `metrics`.
//!
//! A card's pages are requested once and read each time. Without a daemon the known cards
//! are still read; cards that come and go meanwhile are found when a daemon is back.

mod load;

use crate::words::{personality, state};
use facility::observe::{Counts, Histogram, RowSamples, Snapshot};
use facility::{Facility, FacilityError, Observation, Options};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wire::control::{CardRow, CardState, Status};

pub use load::HomeLoad;
use load::{LaneTime, LoadSum};

/// Looks at the cards of a home, again and again.
pub struct Watcher {
    folder: PathBuf,
    facility: Option<Facility>,
    rows: Vec<CardRow>,
    observations: BTreeMap<u32, Observation>,
    names: BTreeMap<u32, String>,
    status: Option<Status>,
}

/// Readings of all cards at one time.
pub struct Look {
    /// Time of the readings.
    pub at: Instant,
    /// Why the daemon did not answer, for people; `None` if it did.
    pub trouble: Option<String>,
    /// The cards, by index.
    pub cards: Vec<CardLook>,
    /// Names of tenants by account.
    pub names: BTreeMap<u32, String>,
    /// The daemon's last status; none before its first answer.
    pub status: Option<Status>,
}

/// A reading of one card.
pub struct CardLook {
    /// The daemon's last row for the card.
    pub row: CardRow,
    /// The card's samples; none while the card has no process.
    pub snapshot: Option<Snapshot>,
}

impl Watcher {
    /// A watcher of the home in this folder, before its first look.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            facility: None,
            rows: Vec::new(),
            observations: BTreeMap::new(),
            names: BTreeMap::new(),
            status: None,
        }
    }

    /// Looks at every card, and fails where the daemon does not answer.
    ///
    /// # Errors
    /// [`FacilityError`], also where the caller may not observe.
    pub fn first_look(&mut self) -> Result<Look, FacilityError> {
        self.meet()?;
        Ok(self.read(None))
    }

    /// Looks at every card; without a daemon, at the known cards.
    pub fn look(&mut self) -> Look {
        let trouble = self.meet().err().map(|error| error.to_string());
        self.read(trouble)
    }

    /// Asks the daemon for cards and names, and for the pages of processes that are new.
    fn meet(&mut self) -> Result<(), FacilityError> {
        let facility = match self.facility.take() {
            Some(facility) => facility,
            None => Facility::open(&self.folder, Options { observe: true, ..Options::default() })?,
        };
        let facility = self.facility.insert(facility);
        self.rows = facility.cards_now()?;
        // A tenant that is gone for the moment keeps its name.
        self.names.extend(facility.account_names()?);
        self.status = Some(facility.status()?);
        let rows = &self.rows;
        self.observations.retain(|_, seen| rows.iter().any(|row| seen.is_of(row)));
        for row in rows.iter().filter(|row| row.pid != 0) {
            if self.observations.contains_key(&row.index) {
                continue;
            }
            match facility.observe(row.index) {
                Ok(observation) => {
                    self.observations.insert(row.index, observation);
                }
                // The card is starting or restarting: the next look finds its page.
                Err(FacilityError::Refused { .. } | FacilityError::Io { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read(&self, trouble: Option<String>) -> Look {
        let cards = self.rows.iter().map(|row| {
            let snapshot = self.observations.get(&row.index).map(Observation::snapshot);
            let mut row = row.clone();
            if trouble.is_some() {
                row.state = match snapshot.as_ref().and_then(|seen| seen.counters.state) {
                    // The card's process is gone: its page holds only its last state.
                    _ if !runs(row.pid) => CardState::Created,
                    Some(state) => state,
                    None => row.state,
                };
            }
            CardLook { row, snapshot }
        });
        let (names, status) = (self.names.clone(), self.status.clone());
        Look { at: Instant::now(), cards: cards.collect(), trouble, names, status }
    }
}

impl Look {
    /// Names of the accounts that have records, each unique. An account without a name, or with another's name, is
    /// named by its number.
    pub fn account_names(&self) -> BTreeMap<u32, String> {
        let accounts = self.cards.iter().filter_map(|card| card.snapshot.as_ref());
        let mut accounts: Vec<u32> =
            accounts.flat_map(|seen| seen.accounts.iter().map(|(account, _)| *account)).collect();
        accounts.sort_unstable();
        accounts.dedup();
        let mut taken = std::collections::BTreeSet::new();
        let named = accounts.into_iter().map(|account| {
            let name = match self.names.get(&account) {
                Some(name) if taken.insert(name.clone()) => name.clone(),
                Some(name) => format!("{name}#{account}"),
                None => format!("#{account}"),
            };
            (account, name)
        });
        named.collect()
    }
}

/// Whether a process has this number. It may be another process by now; then the card keeps its last state.
fn runs(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

/// Percentiles and maximum of durations, in microseconds; none without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// The median duration.
    pub p50: Option<f64>,
    /// The 99th percentile of the durations.
    pub p99: Option<f64>,
    /// The longest duration.
    pub max: Option<f64>,
}

impl Times {
    fn of(times: &Histogram) -> Self {
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        Self {
            p50: us(times.quantile_ns(0.5)),
            p99: us(times.quantile_ns(0.99)),
            max: us(times.longest_ns()),
        }
    }
}

/// Counts and times, in an interval or since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Requests answered.
    pub requests: u64,
    /// Requests refused before they ran.
    pub refused: u64,
    /// Average number of requests in a batch.
    pub fill: Option<f64>,
    /// Share of the lanes that batches filled, 0 to 1, of verbs whose kernels have lanes; none for tenants.
    pub lane_fill: Option<f64>,
    /// Waiting times.
    pub queue_us: Times,
    /// Service times.
    pub service_us: Times,
}

impl Figures {
    fn of(records: &RowSamples, lanes: &LaneTime) -> Self {
        let Counts { requests, refused, batches, fill_sum, .. } = records.counts;
        Self {
            requests,
            refused,
            fill: (batches != 0).then(|| fill_sum as f64 / batches as f64),
            lane_fill: lanes.fill(),
            queue_us: Times::of(&records.queue),
            service_us: Times::of(&records.service),
        }
    }
}

/// Activity in an interval, beside the totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Activity {
    /// Requests a second.
    pub requests_per_s: f64,
    /// Share of the time spent on batches; of tenants and verbs, summed over cards.
    pub utilisation: f64,
    /// Rate divided by utilisation: requests per second of a card that did only this, without a pause.
    pub itr_per_s: Option<f64>,
    /// Requests refused a second.
    pub refused_per_s: f64,
    /// Payload bytes taken in a second.
    pub bytes_in_per_s: f64,
    /// Payload bytes given out a second.
    pub bytes_out_per_s: f64,
    /// Counts and times of the interval.
    #[serde(flatten)]
    pub interval: Figures,
    /// Counts and times since the cards' processes began.
    pub since_start: Figures,
}

impl Activity {
    fn of([interval, start]: [&RowSamples; 2], lanes: &[LaneTime; 2], busy_share: f64, seconds: f64) -> Self {
        let per_s = |count: u64| count as f64 / seconds;
        let requests_per_s = per_s(interval.counts.requests);
        Self {
            requests_per_s,
            utilisation: busy_share,
            itr_per_s: (busy_share > 0.0).then(|| requests_per_s / busy_share),
            refused_per_s: per_s(interval.counts.refused),
            bytes_in_per_s: per_s(interval.counts.bytes_in),
            bytes_out_per_s: per_s(interval.counts.bytes_out),
            interval: Figures::of(interval, &lanes[0]),
            since_start: Figures::of(start, &lanes[1]),
        }
    }
}

/// One card in an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CardActivity {
    /// The card's index.
    pub card: u32,
    /// Name of the card's personality.
    pub personality: &'static str,
    /// Name of the card's state.
    pub state: &'static str,
    /// Number that tells the card's successive processes apart.
    pub generation: u64,
    /// Queues attached.
    pub queues: u32,
    /// Requests that wait or run in the card.
    pub queue_length: u64,
    /// Sweeps over the queues a second.
    pub polls_per_s: f64,
    /// How many times per second the card went to sleep.
    pub sleeps_per_s: f64,
    /// How many times per second the card was woken.
    pub wakeups_per_s: f64,
    /// The card's activity; zeros while it has no process.
    #[serde(flatten)]
    pub activity: Activity,
}

/// A tenant, or a verb, over all cards in an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedActivity {
    /// The tenant's or the verb's name.
    pub name: String,
    /// Number of cards that have served the tenant or verb.
    pub cards: usize,
    /// Activity of the tenant or verb, summed over cards.
    #[serde(flatten)]
    pub activity: Activity,
}

/// The differences between two looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// Length of the interval in seconds.
    pub interval_s: f64,
    /// Why the daemon did not answer; none if it did.
    pub trouble: Option<String>,
    /// The load of all cards together.
    pub load: HomeLoad,
    /// The cards, by index.
    pub cards: Vec<CardActivity>,
    /// Tenants, by account.
    pub tenants: Vec<NamedActivity>,
    /// Verbs, in the order of the table.
    pub verbs: Vec<NamedActivity>,
}

/// Samples of one tenant or verb, gathered over cards.
#[derive(Default)]
struct Gathered {
    cards: usize,
    interval: RowSamples,
    start: RowSamples,
    /// Of a verb: the time in its lanes, in the interval and since the start.
    lanes: [LaneTime; 2],
}

impl Gathered {
    fn add<K: Ord>(
        into: &mut BTreeMap<K, Self>,
        key: K,
        interval: &RowSamples,
        start: &RowSamples,
        lanes: u16,
    ) {
        let gathered = into.entry(key).or_default();
        gathered.cards += 1;
        gathered.interval.merge(interval);
        gathered.start.merge(start);
        gathered.lanes[0].add(&interval.counts, lanes);
        gathered.lanes[1].add(&start.counts, lanes);
    }

    fn named(&self, name: String, seconds: f64) -> NamedActivity {
        let busy_share = self.interval.counts.busy_ns as f64 / 1e9 / seconds;
        let activity = Activity::of([&self.interval, &self.start], &self.lanes, busy_share, seconds);
        NamedActivity { name, cards: self.cards, activity }
    }
}

impl Interval {
    /// The interval from one look to the next. A process that is new in the second look counts with all of its
    /// activity.
    pub fn between(before: &Look, now: &Look) -> Self {
        let elapsed = now.at.saturating_duration_since(before.at);
        let seconds = elapsed.max(Duration::from_micros(1)).as_secs_f64();
        let (mut tenants, mut verbs) = (BTreeMap::new(), BTreeMap::new());
        let mut cards = Vec::new();
        let mut load = LoadSum::new(seconds);
        let nothing = Snapshot::default();
        for card in &now.cards {
            let seen = card.snapshot.as_ref().unwrap_or(&nothing);
            let earlier = before.cards.iter().find(|earlier| earlier.row.index == card.row.index);
            let earlier = earlier.and_then(|earlier| earlier.snapshot.as_ref());
            let same = |earlier: &&Snapshot| earlier.counters.generation == seen.counters.generation;
            let earlier = earlier.filter(same).unwrap_or(&nothing);
            for (account, records) in &seen.accounts {
                let since = records.since(&find(&earlier.accounts, *account));
                // A tenant's requests are of all kernels.
                Gathered::add(&mut tenants, *account, &since, records, 1);
            }
            let (mut lane_time, mut of_verbs) = ([LaneTime::default(); 2], Vec::new());
            for (verb, records) in &seen.verbs {
                let since = records.since(&find(&earlier.verbs, *verb));
                let lanes = seen.lanes.get(verb).copied().unwrap_or(1);
                lane_time[0].add(&since.counts, lanes);
                lane_time[1].add(&records.counts, lanes);
                Gathered::add(&mut verbs, *verb, &since, records, lanes);
                of_verbs.push((*verb, since.counts, lanes));
            }
            load.add_card(of_verbs.iter().map(|(verb, counts, lanes)| (*verb, counts, *lanes)));
            cards.push(card_activity(&card.row, [earlier, seen], &lane_time, seconds));
        }
        let names = now.account_names();
        let verb_name =
            |slot: usize| wire::verb::Entry::of_slot(slot).map_or("", |entry| entry.name).to_owned();
        Self {
            interval_s: seconds,
            trouble: now.trouble.clone(),
            load: load.load(processors()),
            cards,
            tenants: tenants
                .iter()
                .map(|(account, of)| of.named(names.get(account).cloned().unwrap_or_default(), seconds))
                .collect(),
            verbs: verbs.iter().map(|(verb, of)| of.named(verb_name(*verb), seconds)).collect(),
        }
    }
}

fn find<K: PartialEq>(rows: &[(K, RowSamples)], key: K) -> RowSamples {
    rows.iter().find(|(found, _)| *found == key).map(|(_, records)| records.clone()).unwrap_or_default()
}

/// Processors that this process may use: those of the machine, unless it is confined to some.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn card_activity(
    row: &CardRow,
    [before, now]: [&Snapshot; 2],
    lanes: &[LaneTime; 2],
    seconds: f64,
) -> CardActivity {
    let (from, to) = (&before.counters, &now.counters);
    let per_s = |from: u64, to: u64| to.saturating_sub(from) as f64 / seconds;
    let busy_share = (per_s(from.busy_ns, to.busy_ns) / 1e9).min(1.0);
    // Batches and fill are the card's own: in the sum of tenants, a shared batch counts for each.
    let interval = with_batches(now.total.since(&before.total), to.batches.saturating_sub(from.batches));
    let start = with_batches(now.total.clone(), to.batches);
    CardActivity {
        card: row.index,
        personality: personality(row.personality),
        state: state(row.state),
        generation: row.generation,
        queues: row.queues,
        queue_length: to.queue_length,
        polls_per_s: per_s(from.polls, to.polls),
        sleeps_per_s: per_s(from.sleeps, to.sleeps),
        wakeups_per_s: per_s(from.wakeups, to.wakeups),
        activity: Activity::of([&interval, &start], lanes, busy_share, seconds),
    }
}

fn with_batches(mut records: RowSamples, batches: u64) -> RowSamples {
    (records.counts.batches, records.counts.fill_sum) = (batches, records.counts.requests);
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use facility::CardCounters;
    use wire::control::Personality;

    /// The row of a verb whose kernel has lanes.
    fn row_of_verb() -> usize {
        wire::Verb::ClearRsaPrivate.slot()
    }

    fn records(requests: u64, busy_ns: u64) -> RowSamples {
        let counts =
            Counts { requests, batches: requests, fill_sum: 2 * requests, busy_ns, ..Counts::default() };
        let mut records = RowSamples { counts, ..RowSamples::default() };
        for _ in 0..requests {
            records.queue.record(5_000);
            records.service.record(20_000);
        }
        records
    }

    fn card(index: u32, generation: u64, requests: u64) -> CardLook {
        let row = CardRow {
            index,
            generation,
            personality: Personality::Accelerator,
            state: CardState::Ready,
            pid: 1,
            level: "avx512".to_owned(),
            lanes: 8,
            queues: 1,
            isolation: Default::default(),
            start_us: 1,
            restarts: 0,
            poll: Default::default(),
            processors: None,
            dedicated: Vec::new(),
        };
        let busy_ns = requests * 1_000_000;
        let snapshot = Snapshot {
            counters: CardCounters {
                generation,
                requests,
                batches: requests / 4,
                busy_ns,
                wakeups: requests,
                ..CardCounters::default()
            },
            registers: wire::registers::HeldRegisters::NONE,
            total: records(requests, busy_ns),
            accounts: vec![(3, records(requests, busy_ns))],
            verbs: vec![(row_of_verb(), records(requests, busy_ns))],
            lanes: [(row_of_verb(), 8)].into(),
        };
        CardLook { row, snapshot: Some(snapshot) }
    }

    fn look(at: Instant, cards: Vec<CardLook>) -> Look {
        Look { at, trouble: None, cards, names: [(3, "bank".to_owned())].into(), status: None }
    }

    #[test]
    fn rates_are_differences_over_time() {
        let begin = Instant::now();
        let before = look(begin, vec![card(0, 1, 100), card(1, 1, 40)]);
        let now = look(begin + Duration::from_secs(2), vec![card(0, 1, 500), card(1, 1, 40)]);
        let interval = Interval::between(&before, &now);
        let [busy, idle] = &interval.cards[..] else { panic!("{interval:?}") };
        let activity = &busy.activity;
        assert_eq!((activity.requests_per_s, activity.utilisation), (200.0, 0.2));
        assert_eq!((activity.itr_per_s, activity.interval.fill), (Some(1_000.0), Some(4.0)));
        assert_eq!((busy.wakeups_per_s, activity.interval.requests), (200.0, 400));
        assert!(activity.interval.queue_us.p99.is_some_and(|us| (5.0..5.4).contains(&us)));
        assert_eq!((idle.activity.itr_per_s, idle.activity.interval.fill), (None, None));
        assert_eq!(idle.activity.interval.service_us, Times::default());
        assert_eq!(idle.activity.since_start.requests, 40);
        let [tenant] = &interval.tenants[..] else { panic!("{interval:?}") };
        assert_eq!((tenant.name.as_str(), tenant.cards), ("bank", 2));
        assert_eq!((tenant.activity.requests_per_s, tenant.activity.interval.fill), (200.0, Some(2.0)));
        assert_eq!((tenant.activity.utilisation, tenant.activity.itr_per_s), (0.2, Some(1_000.0)));
        assert_eq!(interval.verbs[0].activity.since_start.requests, 540);
        // Each pass held one request, in one of eight lanes.
        assert_eq!((activity.interval.lane_fill, idle.activity.interval.lane_fill), (Some(0.125), None));
        assert_eq!(idle.activity.since_start.lane_fill, Some(0.125));
        assert_eq!(interval.verbs[0].activity.interval.lane_fill, Some(0.125));
        assert_eq!(tenant.activity.interval.lane_fill, None);
        assert_eq!((interval.load.busy, interval.load.cards), (0.2, 1));
    }

    #[test]
    fn a_process_that_is_new_did_all_that_it_did_in_the_interval() {
        let begin = Instant::now();
        let before = look(begin, vec![card(0, 1, 1_000)]);
        let down = CardLook { snapshot: None, ..card(5, 9, 0) };
        let now = look(begin + Duration::from_secs(1), vec![card(0, 2, 30), down]);
        let interval = Interval::between(&before, &now);
        assert_eq!(interval.cards[0].activity.requests_per_s, 30.0);
        assert_eq!(interval.tenants[0].activity.requests_per_s, 30.0);
        assert_eq!(interval.cards[1].activity, Activity::default());
        // Two looks at the same instant give finite rates.
        let same = Interval::between(&now, &now);
        assert!(same.cards.iter().all(|card| card.activity.requests_per_s.is_finite()));
    }
}
