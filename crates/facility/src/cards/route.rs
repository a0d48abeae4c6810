//! Which card a request goes to: the one that promises its answer first.
//!
//! A card takes up to a certain number of requests into a *pass*, and answers all of them at its end. A card's promise
//! is the time until the end of the pass that a new request would be part of:
//!
//! | card | promise |
//! |---|---|
//! | idle: it has no requests | the time to wake it up + a pass; half a pass more if no processor is free |
//! | about to begin: requests of this process wait, no pass runs, fewer than half of the lanes | a pass |
//! | busy | half a pass, the average rest of the running one + a pass for each whole pass of requests that go before + a pass with the new request + the time by which the running pass is late |
//!
//! The second row is for verbs with lanes whose passes are long (RSA, signatures by elliptic curves, long texts).
//! Requests that are sent together share a pass: half of a card's lanes are filled before another card is woken, since
//! a pass over half of them takes little more than half of the time. Answers that lie there to be collected are no
//! requests of the card. For these verbs a process that has the cards for itself also prefers a card that does not
//! sleep. So few cards do the work of many at the same rate, and each answer brings its next request to the same card.
//!
//! No processor is free if as many cards are busy as there are processors. One more would take processor time from
//! them; it is better to wait half a pass and join one of theirs.
//!
//! The requests that go before a new one are those that are ahead in the card's turns, not all that wait: turns give
//! every process the same share of a card. A process with many requests on one card therefore has its next answer
//! sooner from another card, and processes with the same load come to use all cards alike.
//!
//! Many processes read the same status pages, which are a pass old. Where other processes load the cards, only
//! [`DRAWN`] cards drawn at random are compared: if all were, every process would choose the same one at once.
//! Otherwise the card chosen last stays, unless another promises clearly less.

use wire::control::Personality;
use wire::verb::{Entry, Executor, Verb};

/// What waking a card up costs, in nanoseconds.
const WAKE_NS: u64 = 10_000;
/// The promise of the card chosen last is reduced by one part in this many, of at most two passes:
/// a long queue is no reason to stay.
const STAYS: u64 = 8;
/// The promise of a card that is about to begin a pass with free lanes is divided by this: fuller passes take longer,
/// and an idle card that had few requests of late would seem faster.
const FILLS: u64 = 2;
/// Upper bound of the requests that fill half of a pass: passes of many short requests take longer the more they have.
const FILLED_MAX: u64 = 8;
/// Beyond the time of a pass, how long requests wait at most for the pass to begin that they are for, in nanoseconds:
/// the card may have to be woken, and waits for further requests.
const BEGINS_NS: u64 = 100_000;
/// How many cards a choice compares if other processes load them.
const DRAWN: u64 = 3;
/// Passes longer than this, in nanoseconds, are filled before another card is woken.
const LONG_PASS_NS: u64 = 50_000;
/// The assumed time of a pass if none is known of any card, in nanoseconds.
const UNKNOWN_NS: u64 = 1;

/// What is known about one card at the moment of the choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Requests on the card, own and others'.
    pub before: u64,
    /// Requests of other processes among `before`.
    pub others: u64,
    /// Requests that go before a further one by the card's turns.
    pub ahead: u64,
    /// How long a pass takes, in nanoseconds; 0 if unknown.
    pub pass_ns: u64,
    /// Whether `pass_ns` has not been renewed for long.
    pub is_stale: bool,
    /// Requests that fit one pass.
    pub together: u64,
    /// Requests of this process among `before` that wait: no pass has begun with them. 0 if unknown.
    pub waiting: u64,
    /// Answers for this process that were not collected yet, of requests that are not among `before`. 0 if unknown.
    pub uncollected: u64,
    /// Whether the card does not sleep; false if unknown.
    pub is_awake: bool,
    /// How long requests have waited of which the card took none meanwhile, in nanoseconds.
    pub waited_ns: u64,
    /// Whether its queues have no slot free: it is chosen only where all are full.
    pub is_full: bool,
    /// How long the running pass has taken, if that is far longer than usual, in nanoseconds.
    pub late_ns: u64,
    /// A bit for the processor that the card runs on; 0 if unknown.
    pub processor: u64,
}

/// What a process's own queues to a card say of the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// Answers that were not collected yet.
    pub uncollected: u64,
    /// Requests that the card has not taken.
    pub waiting: u64,
    /// How long requests have waited of which the card took none meanwhile, in nanoseconds.
    pub waited_ns: u64,
    /// Whether the card sleeps.
    pub is_asleep: bool,
}

impl Candidate {
    /// The same card with what its queues say. They are asked only where passes take longer than [`LONG_PASS_NS`]: for
    /// shorter ones it would cost more than it saves.
    pub fn with_words(self, words: impl FnOnce() -> Words) -> Self {
        if self.pass_ns < LONG_PASS_NS || self.together <= 1 {
            return self;
        }
        let Words { uncollected, waiting, waited_ns, is_asleep } = words();
        let uncollected = uncollected.min(self.before.saturating_sub(self.others));
        let before = self.before - uncollected;
        let ahead = self.ahead.saturating_sub(uncollected).min(before);
        Self {
            before,
            ahead,
            waiting: waiting.min(before),
            uncollected,
            waited_ns,
            is_awake: !is_asleep,
            ..self
        }
    }
}

/// The rest of the input of a choice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around {
    /// Processors that this process may use.
    pub processors: u64,
    /// Threads of this process that compute on their own.
    pub running: u64,
    /// Index of the card chosen last.
    pub stay: Option<usize>,
    /// A random number.
    pub dice: u64,
}

/// The chosen card, and its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// Index of the candidate.
    pub index: usize,
    /// The card's promise, in nanoseconds.
    pub promise_ns: u64,
    /// The time of a pass on that card, in nanoseconds.
    pub pass_ns: u64,
    /// What a further card would promise, idle and as fast as the best of the candidates.
    pub another_ns: u64,
}

/// Figures of all candidates together.
#[derive(Clone, Copy)]
struct Whole {
    count: usize,
    at_work: u64,
    processors: u64,
    least_ns: u64,
    is_shared: bool,
    /// Requests for each card that may run at once: those on cards, the new one, and those that are likely to follow
    /// answers that are there.
    each: u64,
}

impl Whole {
    fn of(candidates: &[Candidate], around: &Around) -> Self {
        let (count, mut at_work, mut seen, mut least_ns, mut is_shared) =
            (candidates.len(), 0, 0u64, 0, false);
        let mut requests = 1u64;
        for candidate in candidates {
            at_work += u64::from(candidate.before > 0);
            seen |= candidate.processor;
            is_shared |= candidate.others > 0;
            requests = requests.saturating_add(candidate.before).saturating_add(candidate.uncollected);
            let pass_ns = candidate.pass_ns;
            if pass_ns > 0 && !candidate.is_stale && (least_ns == 0 || pass_ns < least_ns) {
                least_ns = pass_ns;
            }
        }
        let processors = around.processors.max(u64::from(seen.count_ones())).max(1);
        let each = requests / processors.saturating_sub(around.running).min(count as u64).max(1);
        Self { count, at_work: at_work + around.running, processors, least_ns, is_shared, each }
    }

    /// The promise of an idle card that is awake, whose pass takes this long.
    fn idle_ns(&self, pass_ns: u64) -> u64 {
        // More than riding along in a pass that is not full, and less than waiting for a whole one.
        let shared_ns = if self.at_work < self.processors { 0 } else { pass_ns / 2 };
        pass_ns.saturating_add(shared_ns)
    }

    /// The time of a pass: an unknown or aged one is that of the best card, so that it is tried.
    fn pass_ns(&self, candidate: &Candidate) -> u64 {
        let known = match candidate.pass_ns {
            0 => self.least_ns,
            aged if candidate.is_stale => aged.max(self.least_ns),
            known => known,
        };
        known.max(UNKNOWN_NS)
    }

    /// Whether a pass is to begin that gains by one more request: it has half of its lanes free, or any where there are
    /// requests for all lanes of as many cards as can run at once.
    fn fills(&self, candidate: &Candidate) -> bool {
        let all = candidate.together.max(1);
        let lanes = if self.each >= all { all } else { all.div_ceil(2).min(FILLED_MAX) };
        let has_room = !self.is_shared || self.at_work < self.processors;
        // Otherwise the card is late with it, or stopped.
        let is_soon = candidate.late_ns == 0
            && candidate.waited_ns <= self.pass_ns(candidate).saturating_add(BEGINS_NS);
        has_room
            && is_soon
            && candidate.waiting > 0
            && candidate.waiting == candidate.before
            && candidate.waiting < lanes
    }

    fn promise_ns(&self, candidate: &Candidate) -> u64 {
        let pass_ns = self.pass_ns(candidate);
        if candidate.before == 0 {
            let is_up = candidate.is_awake && !self.is_shared;
            return self.idle_ns(pass_ns).saturating_add(if is_up { 0 } else { WAKE_NS });
        }
        if self.fills(candidate) {
            return pass_ns;
        }
        let passes = candidate.ahead / candidate.together.max(1);
        let promise_ns = pass_ns.saturating_mul(passes.saturating_add(1)).saturating_add(pass_ns / 2);
        promise_ns.saturating_add(candidate.late_ns)
    }
}

/// The candidate that promises the answer first. None without candidates.
pub(crate) fn choose(candidates: &[Candidate], around: &Around) -> Option<Chosen> {
    let whole = Whole::of(candidates, around);
    let count = whole.count as u64;
    // If others load the cards, consecutive cards from a random first one are compared.
    let first = if whole.is_shared { around.dice % count.max(1) } else { 0 };
    let order = |index: usize| (index as u64 + count - first) % count;
    let stays = |index| around.stay == Some(index) && !whole.is_shared;
    let looked_at = |index| !whole.is_shared || order(index) < DRAWN;
    let has_room = |(index, candidate): &(usize, &Candidate)| looked_at(*index) && !candidate.is_full;
    let is_room = candidates.iter().enumerate().any(|candidate| has_room(&candidate));
    // Full ones are passed over where another one has room.
    let compared =
        |candidate: &(usize, &Candidate)| has_room(candidate) || (!is_room && looked_at(candidate.0));
    let promises = candidates.iter().enumerate().filter(compared).map(|(index, candidate)| {
        let promise_ns = whole.promise_ns(candidate);
        let pass_ns = whole.pass_ns(candidate);
        let less_ns = promise_ns.min(pass_ns.saturating_mul(2)) / STAYS;
        let weighed_ns = match stays(index) {
            _ if whole.fills(candidate) => promise_ns / FILLS,
            true => promise_ns - less_ns,
            false => promise_ns,
        };
        (weighed_ns, order(index), index, promise_ns, pass_ns)
    });
    let (.., index, promise_ns, pass_ns) = promises.min()?;
    let another_ns = whole.idle_ns(whole.least_ns.max(UNKNOWN_NS)).saturating_add(WAKE_NS);
    Some(Chosen { index, promise_ns, pass_ns, another_ns })
}

/// Which cards a facility may use; all if nothing is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only cards of this personality.
    pub personality: Option<Personality>,
    /// Only cards whose bit, counted by index, is set.
    pub cards: Option<u64>,
}

impl Selection {
    /// Only this card.
    ///
    /// # Panics
    /// If the index is not below [`wire::bounds::CARDS_MAX`].
    pub fn card(index: u32) -> Self {
        assert!((index as usize) < wire::bounds::CARDS_MAX, "a home has no card {index}");
        Self { personality: None, cards: Some(1 << index) }
    }

    /// Only cards of this personality.
    pub fn personality(personality: Personality) -> Self {
        Self { personality: Some(personality), cards: None }
    }

    /// The index of the card, where there is but one in the selection.
    pub fn only_card(&self) -> Option<u32> {
        self.cards.filter(|cards| cards.count_ones() == 1).map(u64::trailing_zeros)
    }

    /// Whether a card is in the selection.
    pub fn admits(&self, index: u32, personality: Personality) -> bool {
        self.personality.is_none_or(|wanted| wanted == personality)
            && self.cards.is_none_or(|cards| cards.checked_shr(index).is_some_and(|bits| bits & 1 == 1))
    }
}

/// The personalities that serve a verb, in the order in which their cards are attached. Empty for verbs
/// of the daemon.
pub(crate) fn personalities(entry: &Entry) -> &'static [Personality] {
    use Personality::{Accelerator, Coprocessor};
    match (entry.executor, entry.verb) {
        (Executor::Daemon, _) => &[],
        (Executor::Coprocessor, _) => &[Coprocessor],
        (Executor::AnyCard, Verb::ClearRsaPrivate | Verb::ClearRsaPublic) => &[Accelerator, Coprocessor],
        (Executor::AnyCard, _) => &[Coprocessor, Accelerator],
    }
}

#[cfg(test)]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(before: u64, pass_ns: u64) -> Candidate {
        Candidate { before, ahead: before, pass_ns, together: 8, ..Candidate::default() }
    }

    fn chosen(candidates: &[Candidate], around: Around) -> Option<usize> {
        choose(candidates, &around).map(|chosen| chosen.index)
    }

    const US: u64 = 1_000;
    const MANY: Around = Around { processors: 64, running: 0, stay: None, dice: 0 };
    const TWO: Around = Around { processors: 2, ..MANY };

    #[test]
    fn the_least_promise_wins_and_ties_go_to_the_first() {
        let cases: &[(&[Candidate], Around, Option<usize>)] = &[
            (&[], MANY, None),
            (&[at(3, 0)], MANY, Some(0)),
            (&[at(0, 0), at(0, 0)], MANY, Some(0)),
            (&[at(1, 400 * US), at(0, 400 * US)], MANY, Some(1)),
            // Thrice as slow, and idle: behind one pass of the fast one it is worth it from two on.
            (&[at(1, 100 * US), at(0, 300 * US)], MANY, Some(0)),
            (&[at(8, 100 * US), at(0, 300 * US)], MANY, Some(0)),
            (&[at(16, 100 * US), at(0, 300 * US)], MANY, Some(1)),
            // Half as slow again.
            (&[at(8, 100 * US), at(0, 150 * US)], MANY, Some(1)),
            // An unknown one is taken for as good as the best, and tried.
            (&[at(1, 100 * US), at(0, 0)], MANY, Some(1)),
            // What waits there counts, whoever sent it.
            (&[at(9, 100 * US), at(7, 100 * US)], MANY, Some(1)),
        ];
        for (candidates, around, expected) in cases {
            assert_eq!(chosen(candidates, *around), *expected, "{candidates:?}");
        }
    }

    #[test]
    fn passes_are_filled_before_more_cards_are_woken_than_there_are_processors() {
        let cards = |first, second| [at(first, 400 * US), at(second, 400 * US), at(0, 400 * US)];
        assert_eq!(chosen(&cards(0, 0), TWO), Some(0));
        assert_eq!(chosen(&cards(1, 0), TWO), Some(1));
        assert_eq!(chosen(&cards(1, 1), TWO), Some(0));
        assert_eq!(chosen(&cards(8, 7), TWO), Some(1));
        assert_eq!(chosen(&cards(8, 8), TWO), Some(2));
        // A thread of this process that computes takes a processor as well.
        assert_eq!(chosen(&cards(1, 0), Around { running: 1, ..TWO }), Some(0));
        // Cards that run on more processors than this process show that there are more.
        let elsewhere = |card: u32, before| Candidate { processor: 1 << card, ..at(before, 400 * US) };
        assert_eq!(chosen(&[elsewhere(0, 1), elsewhere(1, 1), elsewhere(2, 0)], TWO), Some(2));
    }

    #[test]
    fn the_last_card_stays_unless_another_is_clearly_better() {
        let stay = |index| Around { stay: Some(index), ..MANY };
        assert_eq!(chosen(&[at(0, 100 * US), at(0, 100 * US)], stay(1)), Some(1));
        assert_eq!(chosen(&[at(0, 95 * US), at(0, 100 * US)], stay(1)), Some(1));
        assert_eq!(chosen(&[at(0, 80 * US), at(0, 100 * US)], stay(1)), Some(0));
    }

    /// A card with this many requests, of which these are answered, or wait.
    fn with(before: u64, uncollected: u64, waiting: u64, is_asleep: bool) -> Candidate {
        at(before, 400 * US).with_words(|| Words { uncollected, waiting, waited_ns: 0, is_asleep })
    }

    #[test]
    fn half_of_the_lanes_are_filled_before_another_card_is_woken() {
        let first_of = |first: Candidate| chosen(&[with(0, 0, 0, true), first], MANY) == Some(1);
        // About to begin with up to half of the lanes.
        assert!((1..=3).all(|waiting| first_of(with(waiting, 0, waiting, false))));
        assert!((4..=8).all(|waiting| !first_of(with(waiting, 0, waiting, false))));
        // A pass runs there, of this process or of another.
        assert!(!first_of(with(3, 0, 2, false)) && !first_of(with(2, 0, 0, false)));
        // Answers that lie there are no requests: the card is idle, or about to begin.
        assert!(first_of(with(7, 7, 0, false)) && first_of(with(8, 7, 1, false)));
        assert!(!first_of(with(7, 7, 0, true)), "both sleep: the first one is taken");
        assert!(!first_of(with(7, 6, 0, false)), "a pass runs with the last of them");
        // It was to begin long ago.
        assert!(!first_of(Candidate { late_ns: 800 * US, ..with(2, 0, 2, false) }));
        assert!(first_of(Candidate { waited_ns: 500 * US, ..with(2, 0, 2, false) }));
        assert!(!first_of(Candidate { waited_ns: 501 * US, ..with(2, 0, 2, false) }));
        // A hostile card may claim anything.
        assert!(with(1, u64::MAX, u64::MAX, false).before == 0 && with(1, 0, u64::MAX, false).waiting == 1);
    }

    #[test]
    fn full_cards_are_passed_over_and_still_count_as_busy() {
        let full = |before| Candidate { is_full: true, ..at(before, 400 * US) };
        assert_eq!(chosen(&[full(1), at(30, 400 * US)], MANY), Some(1));
        assert_eq!(chosen(&[full(9), full(1)], MANY), Some(1));
        // Two processors are busy with them: no third card is woken.
        assert_eq!(chosen(&[full(64), at(1, 400 * US), at(0, 400 * US)], TWO), Some(1));
        let others = Candidate { others: 64, ..full(64) };
        let cards: Vec<_> = std::iter::once(others).chain([at(0, 400 * US); 11]).collect();
        let drawn: std::collections::BTreeSet<_> =
            (0..12).filter_map(|dice| chosen(&cards, Around { dice, ..MANY })).collect();
        assert!(drawn.len() > 6 && !drawn.contains(&0), "others load them: {drawn:?}");
    }

    #[test]
    fn passes_of_many_short_requests_are_filled_to_a_bound() {
        let card = |waiting| Candidate { together: 64, waiting, ..at(waiting, 400 * US) };
        assert_eq!(chosen(&[at(0, 400 * US), card(7)], MANY), Some(1));
        assert_eq!(chosen(&[at(0, 400 * US), card(8)], MANY), Some(0));
    }

    #[test]
    fn where_others_load_the_cards_a_card_that_is_awake_is_no_better() {
        let other = Candidate { others: 1, ..with(5, 0, 0, false) };
        let cards = |awake: bool| [with(0, 0, 0, true), with(0, 0, 0, !awake), other];
        assert_eq!(chosen(&cards(true), MANY), Some(0));
        assert_eq!(chosen(&cards(false), MANY), Some(0));
        // A pass that is about to begin is, while a processor is free.
        assert_eq!(chosen(&[with(0, 0, 0, true), with(1, 0, 1, false), other], MANY), Some(1));
    }

    #[test]
    fn queues_are_asked_only_where_passes_are_long_and_take_several() {
        let unasked = |candidate: Candidate| {
            assert_eq!(candidate.with_words(|| unreachable!()), candidate);
        };
        unasked(at(3, LONG_PASS_NS - 1));
        unasked(Candidate { together: 1, ..at(3, 400 * US) });
    }

    #[test]
    fn a_card_stuck_in_a_pass_is_left_alone_and_a_stale_time_is_tried() {
        let stuck = Candidate { late_ns: 50_000 * US, ..at(1, 100 * US) };
        assert_eq!(chosen(&[stuck, at(9, 100 * US)], MANY), Some(1));
        let aged = Candidate { is_stale: true, ..at(0, 1) };
        assert_eq!(chosen(&[at(1, 100 * US), aged], MANY), Some(1));
        // Not better than the best because it is old.
        assert_eq!(chosen(&[at(0, 100 * US), aged], MANY), Some(0));
    }

    #[test]
    fn on_cards_that_others_load_not_everybody_chooses_the_same() {
        let loaded = |before| Candidate { others: before, ..at(before, 100 * US) };
        let cards: Vec<_> = (0..12).map(|card| loaded(if card == 7 { 0 } else { 24 })).collect();
        let chosen_by = |dice: u64| chosen(&cards, Around { dice, ..MANY }).unwrap();
        let random = |seed: u64| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let best = (1..=600).filter(|seed| chosen_by(random(*seed)) == 7).count();
        // Three of twelve are looked at.
        assert!((110..=190).contains(&best), "{best} of 600");
        // Alone with the cards, the best is taken.
        let own = cards.iter().map(|card| Candidate { others: 0, ..*card }).collect::<Vec<_>>();
        assert_eq!(chosen(&own, MANY), Some(7));
    }

    #[test]
    fn a_selection_admits_what_it_names() {
        use Personality::{Accelerator, Coprocessor};
        assert!(Selection::default().admits(63, Accelerator));
        assert!(Selection::card(3).admits(3, Coprocessor) && !Selection::card(3).admits(2, Coprocessor));
        assert!(!Selection::card(3).admits(64, Coprocessor));
        assert!(!Selection::personality(Accelerator).admits(0, Coprocessor));
    }

    #[test]
    fn every_verb_has_a_place() {
        for entry in wire::verb::TABLE {
            let served = !personalities(entry).is_empty();
            assert_eq!(served, entry.executor != Executor::Daemon, "{}", entry.name);
        }
    }

    proptest! {
        // Requests that are handed out one at a time spread evenly over equal cards, up to a pass.
        #[test]
        fn equal_cards_get_equal_shares(cards in 1usize..12, requests in 0u64..200, processors in 1u64..16) {
            let mut before = vec![0u64; cards];
            for _ in 0..requests {
                let candidates: Vec<_> = before.iter().map(|before| at(*before, 100_000)).collect();
                before[chosen(&candidates, Around { processors, ..MANY }).unwrap()] += 1;
            }
            let (least, most) = (before.iter().min().unwrap(), before.iter().max().unwrap());
            prop_assert!(most - least <= 8, "{before:?}");
        }

        #[test]
        fn whatever_cards_say_something_is_chosen(
            said in proptest::collection::vec(any::<(u64, u64, u64, u64)>(), 1..20),
            words in any::<(u64, u64, u64, bool)>(),
            dice in any::<u64>(),
        ) {
            let candidates: Vec<_> = said.iter().map(|(before, pass_ns, together, late_ns)| Candidate {
                before: *before,
                ahead: *before,
                others: *before / 2,
                pass_ns: *pass_ns,
                together: *together,
                late_ns: *late_ns,
                is_full: late_ns % 3 == 0,
                ..Candidate::default()
            }.with_words(|| {
                let (uncollected, waiting, waited_ns, is_asleep) = words;
                Words { uncollected, waiting, waited_ns, is_asleep }
            })).collect();
            let chosen = choose(&candidates, &Around { dice, stay: Some(3), ..TWO }).unwrap();
            prop_assert!(chosen.index < said.len());
        }
    }
}
