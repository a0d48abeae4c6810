//! Which cards the settings ask for, and what each is told at its start.

use home::Settings;
use serde::{Deserialize, Serialize};
use wire::control::{CONTROL_VERSION, CardStart, LevelLimit, Personality, PollMode};

/// What a card is, but for its index and generation. A card whose specification changes is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Specification {
    /// What it is for.
    pub personality: Personality,
    /// Domains, from 0.
    pub domains: u16,
    /// How it waits.
    pub poll: PollMode,
    /// Keep requests of different tenants out of one batch.
    pub separate_tenants: bool,
    /// Serve weak algorithms.
    pub weak_algorithms: bool,
    /// Processors that it may use; none for all.
    pub processors: Option<Vec<u32>>,
    /// Highest instruction-set level; not part of [`CardStart`] but of the card's environment.
    pub level: Option<LevelLimit>,
}

impl Specification {
    /// What a card of this specification is told at its start.
    pub fn start(&self, index: u32, generation: u64) -> CardStart {
        CardStart {
            version: CONTROL_VERSION,
            index,
            generation,
            personality: self.personality,
            domains: self.domains,
            poll: self.poll,
            separate_tenants: self.separate_tenants,
            weak_algorithms: self.weak_algorithms,
            processors: self.processors.clone(),
        }
    }
}

/// The cards that the settings ask for: coprocessors from index 0, then accelerators.
pub fn wanted(settings: &Settings) -> Vec<Specification> {
    let cards = &settings.cards;
    let specification = |personality| Specification {
        personality,
        domains: cards.domains,
        poll: cards.poll,
        separate_tenants: cards.separate_tenants,
        weak_algorithms: settings.weak_algorithms,
        processors: cards.processors.clone(),
        level: cards.level,
    };
    let coprocessors = (0..cards.coprocessors).map(|_| specification(Personality::Coprocessor));
    let accelerators = (0..cards.accelerators).map(|_| specification(Personality::Accelerator));
    coprocessors.chain(accelerators).collect()
}

/// Holds the cards that the settings ask for to a level, unless they are held to a lower one.
pub fn limit(settings: &mut Settings, level: Option<LevelLimit>) {
    let set = settings.cards.level;
    settings.cards.level = set.into_iter().chain(level).min();
}

/// Chooses among ready cards, given as index and number of queues: the one with the fewest queues,
/// and of these the one of the lowest index.
pub fn fewest_queues(ready: impl Iterator<Item = (u32, usize)>) -> Option<u32> {
    ready.min_by_key(|(index, queues)| (*queues, *index)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use home::Programs;

    #[test]
    fn coprocessors_have_the_lowest_indexes() {
        let programs = Programs { daemon: "/d".into(), card: "/c".into(), manifest: None };
        let mut settings = Settings::new(programs);
        (settings.cards.coprocessors, settings.cards.accelerators) = (2, 3);
        let wanted = wanted(&settings);
        let coprocessors = wanted.iter().take_while(|card| card.personality == Personality::Coprocessor);
        assert_eq!((coprocessors.count(), wanted.len()), (2, 5));
        let start = wanted[1].start(1, 9);
        assert_eq!((start.index, start.generation, start.version), (1, 9, CONTROL_VERSION));
    }

    #[test]
    fn the_lower_of_two_limits_counts() {
        use LevelLimit::{Avx2, Avx512, Portable};
        let programs = Programs { daemon: "/d".into(), card: "/c".into(), manifest: None };
        let mut settings = Settings::new(programs);
        for (set, level, expected) in [
            (None, None, None),
            (None, Some(Avx2), Some(Avx2)),
            (Some(Portable), Some(Avx2), Some(Portable)),
            (Some(Avx512), Some(Avx2), Some(Avx2)),
            (Some(Avx2), None, Some(Avx2)),
        ] {
            settings.cards.level = set;
            limit(&mut settings, level);
            assert_eq!(wanted(&settings)[0].level, expected, "{set:?} {level:?}");
        }
    }

    #[test]
    fn queues_go_where_the_fewest_are() {
        assert_eq!(fewest_queues([(0, 3), (1, 1), (2, 1)].into_iter()), Some(1));
        assert_eq!(fewest_queues(std::iter::empty()), None);
    }
}
