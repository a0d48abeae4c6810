//! Which cards the settings ask for, and what each is told at its start.

use home::{CardPlan, Settings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wire::control::{CONTROL_VERSION, CardStart, LevelLimit, Personality, PollMode, TokenForms};

/// The properties of a card except its index and generation. A card whose specification changes is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Specification {
    /// Coprocessor or accelerator.
    pub personality: Personality,
    /// Number of domains, which count from 0.
    pub domains: u16,
    /// How the card waits for requests.
    pub poll: PollMode,
    /// Whether requests of different tenants are kept out of one batch.
    pub separate_tenants: bool,
    /// Whether weak algorithms are served.
    pub weak_algorithms: bool,
    /// Forms of internal tokens.
    pub tokens: TokenForms,
    /// Processors that it may use; `None` for all.
    pub processors: Option<Vec<u32>>,
    /// Highest instruction-set level; not part of [`CardStart`] but of the card's environment.
    pub level: Option<LevelLimit>,
    /// Memory for prepared keys, in bytes.
    pub prepared_keys_bytes: u64,
}

impl Specification {
    /// The start order for a card of this specification.
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
            tokens: self.tokens,
            processors: self.processors.clone(),
            prepared_keys_bytes: self.prepared_keys_bytes,
        }
    }
}

/// The cards that the settings ask for, by index, and whether each is to be quiesced.
pub fn wanted(settings: &Settings) -> BTreeMap<u32, (Specification, bool)> {
    let specification = |card: &CardPlan| Specification {
        personality: card.personality,
        domains: settings.cards.domains,
        poll: card.poll,
        separate_tenants: settings.cards.separate_tenants,
        weak_algorithms: settings.weak_algorithms,
        tokens: settings.tokens,
        processors: card.processors.clone(),
        level: card.level,
        prepared_keys_bytes: u64::from(settings.cards.prepared_keys_mib) << 20,
    };
    let cards = settings.wanted_cards();
    cards.into_iter().map(|(index, card)| (index, (specification(&card), card.quiesced))).collect()
}

/// Limits the cards that the settings ask for to a level, unless they are limited to a lower one.
pub fn limit(settings: &mut Settings, level: Option<LevelLimit>) {
    let lower = |set: Option<LevelLimit>| set.into_iter().chain(level).min();
    settings.cards.level = lower(settings.cards.level);
    for card in settings.card.iter_mut().filter(|card| card.level.is_some()) {
        card.level = lower(card.level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use home::{CardSettings, Programs};

    #[test]
    fn a_card_is_told_what_the_settings_say_of_it() {
        let programs = Programs { daemon: "/d".into(), card: "/c".into(), manifest: None };
        let mut settings = Settings::new(programs);
        settings.cards.domains = 3;
        settings.cards.prepared_keys_mib = 80;
        settings.card = vec![CardSettings {
            index: 1,
            quiesced: true,
            level: Some(LevelLimit::Avx512),
            ..Default::default()
        }];
        limit(&mut settings, Some(LevelLimit::Avx2));
        let wanted = wanted(&settings);
        let (card, quiesced) = &wanted[&1];
        assert_eq!(
            (card.personality, card.level, *quiesced),
            (Personality::Accelerator, Some(LevelLimit::Avx2), true)
        );
        let start = wanted[&0].0.start(0, 9);
        assert_eq!((start.index, start.generation, start.domains), (0, 9, 3));
        assert_eq!((start.version, wanted.len()), (CONTROL_VERSION, 2));
        assert_eq!(start.prepared_keys_bytes, 80 << 20);
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
            assert_eq!(wanted(&settings)[&0].0.level, expected, "{set:?} {level:?}");
        }
    }
}
