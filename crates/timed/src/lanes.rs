//! The lanes of a timed card: when a request that it takes may be answered.
//!
//! A request takes its service time, and a full card gives one answer in every `service / parallelism`: the *spacing*.
//! So an answer is due after the service time, and no sooner than a spacing after the one before it. Answers so spaced
//! are the *line*, which stands still while the card is idle. With `n` requests in flight the card gives `n / service`
//! up to its full rate, whatever the parallelism, whole or not. Requests of several verbs share the line in proportion
//! to what each takes of a full card.
//!
//! Times are counts of the time-stamp counter ([`link::tsc`]).

use crate::settings::Card;
use card::held::{Until, Waits};
use wire::bounds::VERB_SLOTS;
use wire::verb::Verb;

/// How long requests of one verb take, in counts: the service time, and the spacing of a full card's answers.
#[derive(Clone, Copy, Debug)]
struct Class {
    service: u64,
    spacing: u64,
}

/// The lanes of one card.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// Requests that are held at once; `None` if the card answers at once.
    depth: Option<usize>,
    /// Answers become visible at multiples of this count; 0: as soon as they are due.
    poll: u64,
    /// Times of each verb, by its slot of the verb table; `None` for a verb that is answered at once.
    classes: Vec<Option<Class>>,
    /// Count at which the last answer leaves a full card.
    line: u64,
    /// Counts at which the answers of held requests are due.
    due: Vec<u64>,
}

impl Lanes {
    /// The lanes of a card with these settings; without settings, the card answers at once.
    pub fn new(card: Option<&Card>) -> Self {
        Self::with_rate(card, link::tsc_per_us())
    }

    fn with_rate(card: Option<&Card>, tsc_per_us: f64) -> Self {
        let mut classes = vec![None; VERB_SLOTS];
        let verbs = card.map(|card| &card.verbs).into_iter().flatten();
        for (name, pace) in verbs {
            let slot = Verb::from_name(name).map(Verb::slot);
            let service = pace.service_us * tsc_per_us;
            let class = Class { service: service as u64, spacing: (service / pace.parallelism) as u64 };
            if let Some(slot) = slot {
                classes[slot] = Some(class);
            }
        }
        Self {
            depth: card.map(|card| card.depth),
            poll: card.map_or(0.0, |card| card.poll_us * tsc_per_us) as u64,
            classes,
            line: 0,
            due: Vec::new(),
        }
    }
}

impl Lanes {
    /// How many more requests the card may take at `now_tsc`; without settings `usize::MAX`. Answers that are due make
    /// room.
    pub fn free(&mut self, now_tsc: u64) -> usize {
        let Some(depth) = self.depth else { return usize::MAX };
        self.due.retain(|due| *due > now_tsc);
        depth.saturating_sub(self.due.len())
    }

    /// The count at which the answer to a request becomes visible that begins at `now_tsc`; `slot` is its verb's place
    /// in the verb table. Takes a place on the line.
    pub fn due(&mut self, now_tsc: u64, slot: usize) -> u64 {
        let Some(Some(class)) = self.classes.get(slot).copied() else { return now_tsc };
        self.line = self.line.max(now_tsc).saturating_add(class.spacing);
        let due = self.line.max(now_tsc.saturating_add(class.service));
        let visible = match self.poll {
            0 => due,
            poll => due.checked_next_multiple_of(poll).unwrap_or(u64::MAX),
        };
        self.due.push(visible);
        visible
    }
}

impl Waits for Lanes {
    fn until(&mut self, now_tsc: u64, slot: usize) -> Until {
        Until::Time(self.due(now_tsc, slot))
    }

    fn room(&mut self, now_tsc: u64) -> usize {
        self.free(now_tsc)
    }

    fn has_own_lanes(&self) -> bool {
        true
    }

    fn spacing(&self, slot: usize) -> u64 {
        self.classes.get(slot).copied().flatten().map_or(0, |class| class.spacing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use proptest::prelude::*;

    /// Counts in a microsecond.
    const RATE: f64 = 1000.0;

    fn row(verb: Verb) -> usize {
        verb.slot()
    }

    fn lanes(depth: usize, poll_us: f64, service_us: f64, parallelism: f64) -> Lanes {
        let text = format!(
            "[[card]]\nindex = 0\ndepth = {depth}\npoll_us = {poll_us:?}\n[card.verbs]\nclear-rsa-public = \
             {{ service_us = 1000.0, parallelism = 4.0 }}\nclear-rsa-private = {{ service_us = \
             {service_us:?}, parallelism = {parallelism:?} }}\n"
        );
        Lanes::with_rate(Settings::from_text(&text).unwrap().card(0), RATE)
    }

    /// Answers in a second, with `jobs` jobs of which each asks again as soon as it is answered.
    fn rate(lanes: &mut Lanes, jobs: usize, slot: usize) -> f64 {
        let (mut now, mut waiting, mut answered) = (1_000_000_000u64, jobs, 0);
        let (begin, mut held) = (now, Vec::new());
        while now < begin + 10_000_000_000 {
            while waiting > 0 && lanes.free(now) > 0 {
                held.push(lanes.due(now, slot));
                waiting -= 1;
            }
            now = *held.iter().min().unwrap();
            let before = held.len();
            held.retain(|due| *due > now);
            answered += before - held.len();
            waiting += before - held.len();
        }
        answered as f64 * RATE * 1e6 / (now - begin) as f64
    }

    #[test]
    fn one_job_waits_and_eight_fill_the_card() {
        let private = row(Verb::ClearRsaPrivate);
        for (jobs, expected) in [(1, 205.0), (2, 410.0), (5, 1025.0), (6, 1093.0), (8, 1093.0), (64, 1093.0)]
        {
            let mut lanes = lanes(8, 0.0, 1e6 / 205.0, 1093.0 / 205.0);
            let rate = rate(&mut lanes, jobs, private);
            assert!((rate / expected - 1.0).abs() < 0.01, "{jobs} jobs: {rate}");
        }
    }

    #[test]
    fn no_more_than_the_depth_is_held() {
        let mut lanes = lanes(3, 0.0, 1000.0, 3.0);
        let private = row(Verb::ClearRsaPrivate);
        let due: Vec<u64> = (0..3).map(|_| lanes.due(0, private)).collect();
        assert_eq!((due.as_slice(), lanes.free(0)), ([1_000_000; 3].as_slice(), 0));
        assert_eq!((lanes.free(999_999), lanes.free(1_000_000)), (0, 3));
    }

    #[test]
    fn answers_become_visible_at_ticks() {
        let mut lanes = lanes(8, 10_000.0, 1000.0, 1.0);
        let private = row(Verb::ClearRsaPrivate);
        assert_eq!(lanes.due(0, private), 10_000_000);
        assert_eq!(lanes.due(10_000_001, private), 20_000_000);
        assert!((rate(&mut lanes, 1, private) - 100.0).abs() < 1.0);
    }

    #[test]
    fn verbs_share_the_line_by_what_each_takes() {
        let mut lanes = lanes(8, 0.0, 2000.0, 2.0);
        let (private, public) = (row(Verb::ClearRsaPrivate), row(Verb::ClearRsaPublic));
        let due: Vec<u64> = [private, public, private, public].map(|row| lanes.due(0, row)).into();
        assert_eq!(due, [2_000_000, 1_250_000, 2_250_000, 2_500_000]);
    }

    #[test]
    fn a_card_without_settings_answers_at_once() {
        let mut lanes = Lanes::with_rate(None, RATE);
        assert_eq!((lanes.free(5), lanes.due(5, 0)), (usize::MAX, 5));
        let mut lanes = self::lanes(1, 0.0, 1000.0, 1.0);
        assert_eq!((lanes.due(5, row(Verb::Null)), lanes.free(5)), (5, 1));
        assert_eq!(lanes.due(7, usize::MAX), 7);
    }

    proptest! {
        #[test]
        fn no_answer_is_sooner_than_asked_and_no_card_faster(
            poll_us in 0.0..5000.0f64,
            service_us in 0.0..5000.0f64,
            parallelism in 1.0..8.0f64,
            steps in prop::collection::vec(0u64..3_000_000, 1..100),
        ) {
            let mut lanes = lanes(64, poll_us, service_us, parallelism);
            let (service, private) = ((service_us * RATE) as u64, row(Verb::ClearRsaPrivate));
            let spacing = (service_us * RATE / parallelism) as u64;
            let (mut now, mut first) = (0u64, None);
            for (number, step) in steps.into_iter().enumerate() {
                now += step;
                let due = lanes.due(now, private);
                prop_assert!(due >= now + service);
                let first = *first.get_or_insert(now);
                prop_assert!(due >= first + spacing * (number as u64 + 1));
                prop_assert!(due == u64::MAX || lanes.poll == 0 || due.is_multiple_of(lanes.poll));
            }
        }
    }
}
