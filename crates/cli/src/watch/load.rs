//! How full the lanes of kernels are, and how many cards would do for the load of an interval. docs/howto/observing.md
//! has the definitions.

use facility::observe::Counts;
use serde::Serialize;
use wire::verb::{Entry, Kernel};

/// How much of a card's time may be taken up by passes where its cards are said to do.
const BUSY_MAX: f64 = 0.8;
/// The least that the work of passes over a few lanes is taken for, as a share of their time: a lone operation under an
/// RSA key takes a third of what eight of them take.
const WORK_LEAST: f64 = 3.0 / 8.0;
/// What rounding may add to a sum of shares of time.
const ROUNDING: f64 = 1e-9;

/// Time in kernels with lanes, and the part of it in lanes that were filled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneTime {
    in_kernels_ns: f64,
    in_filled_ns: f64,
}

impl LaneTime {
    /// Adds what a verb was counted, whose kernel has these lanes; a kernel without lanes adds nothing.
    pub fn add(&mut self, counts: &Counts, lanes: u16) {
        if let Some(fill) = fill(counts, lanes) {
            self.in_kernels_ns += counts.busy_ns as f64;
            self.in_filled_ns += counts.busy_ns as f64 * fill;
        }
    }

    /// The share of the lanes that was filled, 0 to 1; none where no kernel with lanes ran.
    pub fn fill(&self) -> Option<f64> {
        (self.in_kernels_ns > 0.0).then(|| self.in_filled_ns / self.in_kernels_ns)
    }
}

/// The share of a kernel's lanes that passes filled, as if all of them had held the same number of requests; none
/// without passes, and for kernels that take one request at a time.
fn fill(counts: &Counts, lanes: u16) -> Option<f64> {
    let offered = counts.batches as f64 * f64::from(lanes);
    (lanes > 1 && offered > 0.0).then(|| (counts.requests as f64 / offered).min(1.0))
}

/// The load of a home in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HomeLoad {
    /// Time in passes, of all cards together, divided by the interval.
    pub busy: f64,
    /// The same, if passes that filled fewer than half of their lanes had filled half of them, and if no more cards
    /// than there are processors had been in passes at once.
    pub work: f64,
    /// Number of cards that would do this work in four fifths of their time; 0 without a load.
    pub cards: u64,
}

/// The sum of what cards did in an interval.
pub struct LoadSum {
    interval_ns: f64,
    busy: f64,
    work: f64,
}

impl LoadSum {
    /// Nothing yet, in an interval of this many seconds.
    pub fn new(seconds: f64) -> Self {
        Self { interval_ns: seconds * 1e9, busy: 0.0, work: 0.0 }
    }

    /// Adds one card: what each of its verbs was counted in the interval, with the slot in the verb table and the lanes
    /// of the kernel.
    pub fn add_card<'a>(&mut self, verbs: impl Iterator<Item = (usize, &'a Counts, u16)>) {
        let (mut busy, mut work) = (0.0, 0.0);
        for (slot, counts, lanes) in verbs {
            let share = counts.busy_ns as f64 / self.interval_ns;
            busy += share;
            work += share * work_of(Entry::of_slot(slot).map(|entry| entry.kernel), fill(counts, lanes));
        }
        // A pass that began before the interval counts in it as a whole.
        let within = if busy > 1.0 { 1.0 / busy } else { 1.0 };
        self.busy += busy * within;
        self.work += work * within;
    }

    /// The load on a machine with this many processors.
    pub fn load(&self, processors: usize) -> HomeLoad {
        // Cards that share processors are in their passes for longer than these take.
        let at_once = (processors.max(1) as f64 / self.busy.max(f64::MIN_POSITIVE)).min(1.0);
        let work = self.work * at_once;
        HomeLoad { busy: self.busy, work, cards: (work / BUSY_MAX - ROUNDING).ceil().max(0.0) as u64 }
    }
}

/// The work in passes of a kernel that filled this share of their lanes, as a share of their time. Half-filled passes
/// of RSA take half as long as full ones, and less filled ones hardly less than half-filled ones. Other kernels take
/// few requests by forms that are faster, so that nothing is known to be gained.
fn work_of(kernel: Option<Kernel>, fill: Option<f64>) -> f64 {
    match (kernel, fill) {
        (Some(Kernel::RsaPrivate | Kernel::RsaPublic), Some(fill)) => (2.0 * fill).clamp(WORK_LEAST, 1.0),
        _ => 1.0,
    }
}

impl HomeLoad {
    /// How many of a home's cards would do, in words.
    pub fn words(&self, cards: usize) -> String {
        match self.cards {
            0 => format!("no load on {cards} card(s)"),
            needed if needed > cards as u64 => {
                format!("{needed} card(s) would do, at 80 % of their time; there are {cards}")
            }
            needed => format!("{needed} of {cards} card(s) would do, at 80 % of their time"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Verb;

    const SECONDS: f64 = 2.0;
    const LANES: u16 = 8;

    fn counts(busy_share: f64, batches: u64, requests: u64) -> Counts {
        let busy_ns = (busy_share * SECONDS * 1e9) as u64;
        Counts { requests, batches, busy_ns, ..Counts::default() }
    }

    /// The load of cards that did the same, on a machine with many processors.
    fn load(cards: usize, verb: Verb, counts: &Counts, lanes: u16) -> HomeLoad {
        load_on(64, cards, verb, counts, lanes)
    }

    fn load_on(processors: usize, cards: usize, verb: Verb, counts: &Counts, lanes: u16) -> HomeLoad {
        let mut sum = LoadSum::new(SECONDS);
        for _ in 0..cards {
            sum.add_card([(verb.slot(), counts, lanes)].into_iter());
        }
        sum.load(processors)
    }

    #[test]
    fn without_a_load_no_card_is_needed() {
        assert_eq!(load(8, Verb::ClearRsaPrivate, &Counts::default(), LANES), HomeLoad::default());
        assert_eq!(load(0, Verb::Null, &Counts::default(), 1), HomeLoad::default());
        assert_eq!(HomeLoad::default().words(8), "no load on 8 card(s)");
    }

    #[test]
    fn full_lanes_are_as_much_work_as_they_take_time() {
        let whole = load(1, Verb::ClearRsaPrivate, &counts(1.0, 1_000, 8_000), LANES);
        assert_eq!(whole, HomeLoad { busy: 1.0, work: 1.0, cards: 2 });
        assert_eq!(whole.words(1), "2 card(s) would do, at 80 % of their time; there are 1");
        // Just what one card may do, and a little.
        let enough = load(1, Verb::ClearRsaPrivate, &counts(0.8, 1_000, 8_000), LANES);
        assert_eq!(
            (enough.cards, enough.words(1).as_str()),
            (1, "1 of 1 card(s) would do, at 80 % of their time")
        );
        assert_eq!(load(1, Verb::ClearRsaPrivate, &counts(0.001, 1, 8), LANES).cards, 1);
        // Several fillings in one pass are full lanes, and no more.
        assert_eq!(load(1, Verb::ClearRsaPrivate, &counts(0.8, 100, 3_200), LANES).work, 0.8);
    }

    #[test]
    fn eight_cards_with_a_quarter_of_their_lanes_are_the_work_of_four() {
        let quarter = load(8, Verb::ClearRsaPrivate, &counts(1.0, 1_000, 2_000), LANES);
        assert_eq!(quarter, HomeLoad { busy: 8.0, work: 4.0, cards: 5 });
        let half = load(8, Verb::ClearRsaPrivate, &counts(1.0, 1_000, 4_000), LANES);
        assert_eq!((half.work, half.cards), (8.0, 10), "nothing is gained for certain");
        let lone = load(8, Verb::ClearRsaPrivate, &counts(1.0, 1_000, 1_000), LANES);
        assert_eq!((lone.work, lone.cards), (3.0, 4));
    }

    #[test]
    fn kernels_without_lanes_and_those_that_have_forms_for_few_are_their_time() {
        assert_eq!(load(3, Verb::Null, &counts(0.5, 10, 10), 1), HomeLoad { busy: 1.5, work: 1.5, cards: 2 });
        assert_eq!(load(3, Verb::MacGenerate, &counts(0.5, 10, 10), 64).work, 1.5);
        // RSA without lanes, as below AVX-512.
        assert_eq!(load(3, Verb::ClearRsaPrivate, &counts(0.5, 10, 10), 1).work, 1.5);
    }

    #[test]
    fn cards_that_share_processors_are_no_more_than_these() {
        let full = counts(1.0, 1_000, 8_000);
        let load = load_on(2, 8, Verb::ClearRsaPrivate, &full, LANES);
        assert_eq!(load, HomeLoad { busy: 8.0, work: 2.0, cards: 3 });
        // A pass that began before the interval.
        assert_eq!(load_on(64, 1, Verb::Null, &counts(3.0, 1, 1), 1).busy, 1.0);
        assert_eq!(load_on(0, 1, Verb::Null, &counts(0.5, 1, 1), 1).cards, 1);
    }

    #[test]
    fn the_fill_of_several_verbs_is_that_of_their_time() {
        let mut time = LaneTime::default();
        assert_eq!(time.fill(), None);
        time.add(&counts(0.5, 10, 10), 1);
        assert_eq!(time.fill(), None, "a kernel without lanes has no fill");
        time.add(&counts(0.25, 100, 200), LANES);
        assert_eq!(time.fill(), Some(0.25));
        time.add(&counts(0.75, 100, 800), LANES);
        assert_eq!(time.fill(), Some(0.8125));
        time.add(&Counts::default(), LANES);
        assert_eq!(time.fill(), Some(0.8125));
    }

    #[test]
    fn whatever_a_card_claims_is_counted() {
        let claimed =
            Counts { requests: u64::MAX, batches: u64::MAX, busy_ns: u64::MAX, ..Counts::default() };
        let load = load(64, Verb::ClearRsaPrivate, &claimed, u16::MAX);
        assert!(load.busy <= 64.0 + ROUNDING && load.cards <= 80, "{load:?}");
        let mut time = LaneTime::default();
        time.add(&claimed, u16::MAX);
        assert!(time.fill().is_some_and(|fill| (0.0..=1.0).contains(&fill)));
    }
}
