//! Which card a request goes to.
//!
//! Among the cards that serve the verb, the one with the least work: requests waiting, times what
//! one takes there. Service times count only where they differ by more than
//! [`TIMES_DIFFER`]: a card's time per request falls with the fill of its batches, and weighing
//! small differences would starve the card that happens to run emptier ones. Ties go to the card
//! that comes first, so that a lonely caller stays with one card, which is awake.

use wire::control::Personality;
use wire::verb::{Entry, Place, Verb};

/// Service times whose ratio is below this are taken as equal.
const TIMES_DIFFER: u64 = 2;

/// What is known of one card at the moment of the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Requests in its queues, own and others'.
    pub waiting: u64,
    /// Service time of one request of the verb's kind in nanoseconds; 0 where it is not known.
    pub service_ns: u64,
}

/// Index of the candidate with the least expected wait.
pub(crate) fn choose(candidates: impl Iterator<Item = Candidate> + Clone) -> Option<usize> {
    let times = candidates.clone().map(|candidate| candidate.service_ns);
    let (mut least, mut most) = (u64::MAX, 0);
    for time in times {
        least = least.min(time);
        most = most.max(time);
    }
    let weighed = least > 0 && most >= least.saturating_mul(TIMES_DIFFER);
    let cost = |candidate: Candidate| {
        let time = if weighed { candidate.service_ns } else { 1 };
        (candidate.waiting + 1).saturating_mul(time)
    };
    candidates.enumerate().min_by_key(|(_, candidate)| cost(*candidate)).map(|(index, _)| index)
}

/// Which cards a facility may use; everything where nothing is set.
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

    /// Whether a card is in the selection.
    pub fn admits(&self, index: u32, personality: Personality) -> bool {
        self.personality.is_none_or(|wanted| wanted == personality)
            && self.cards.is_none_or(|cards| cards.checked_shr(index).is_some_and(|bits| bits & 1 == 1))
    }
}

/// The personalities that serve a verb, in order of preference: a later one is used only while
/// there is no card of an earlier one. Empty for verbs of the daemon.
pub(crate) fn personalities(entry: &Entry) -> &'static [&'static [Personality]] {
    use Personality::{Accelerator, Coprocessor};
    match (entry.place, entry.verb) {
        (Place::Daemon, _) => &[],
        (Place::Coprocessor, _) => &[&[Coprocessor]],
        (Place::AnyCard, Verb::ClearRsaPrivate | Verb::ClearRsaPublic) => &[&[Accelerator], &[Coprocessor]],
        (Place::AnyCard, _) => &[&[Coprocessor, Accelerator]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(waiting: u64, service_ns: u64) -> Candidate {
        Candidate { waiting, service_ns }
    }

    #[test]
    fn the_least_work_wins_and_ties_go_to_the_first() {
        let cases: &[(&[Candidate], Option<usize>)] = &[
            (&[], None),
            (&[at(3, 0)], Some(0)),
            (&[at(0, 0), at(0, 0)], Some(0)),
            (&[at(1, 0), at(0, 0)], Some(1)),
            // 30 % slower counts as equal; four times slower does not.
            (&[at(0, 130), at(0, 100)], Some(0)),
            (&[at(0, 400), at(2, 100)], Some(1)),
            (&[at(0, 400), at(4, 100)], Some(0)),
            // One unknown time: only the waiting requests count.
            (&[at(1, 0), at(0, 900)], Some(1)),
        ];
        for (candidates, expected) in cases {
            assert_eq!(choose(candidates.iter().copied()), *expected, "{candidates:?}");
        }
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
            let served = personalities(entry).iter().any(|group| !group.is_empty());
            assert_eq!(served, entry.place != Place::Daemon, "{}", entry.name);
        }
    }

    proptest! {
        // Requests that are handed out one at a time spread evenly over equal cards.
        #[test]
        fn equal_cards_get_equal_shares(cards in 1usize..12, requests in 0u64..200) {
            let mut waiting = vec![0u64; cards];
            for _ in 0..requests {
                let chosen = choose(waiting.iter().map(|waiting| at(*waiting, 100))).unwrap();
                waiting[chosen] += 1;
            }
            let (least, most) = (waiting.iter().min().unwrap(), waiting.iter().max().unwrap());
            prop_assert!(most - least <= 1);
        }
    }
}
