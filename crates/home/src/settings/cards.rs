//! The cards of a home: `[cards]` for all of them, with changes for one card in `[[card]]`.

use super::{Settings, SettingsError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use wire::bounds::{CARDS_MAX, PROCESSORS_LISTED_MAX};
use wire::control::{LevelLimit, Personality, PollMode};
use wire::tenant::CardChange;

/// Options of one card; an option that is none has the value in [`super::Cards`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardSettings {
    /// Index of the card, below [`CARDS_MAX`].
    pub index: u32,
    /// The card's personality; required for a card that [`super::Cards`] does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
    /// How the card waits for requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<PollMode>,
    /// Processors that the card may run on; an empty list for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<Vec<u32>>,
    /// Highest instruction-set level that the card uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<LevelLimit>,
    /// Whether the card takes no requests until it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiesced: bool,
    /// Whether the card does not exist, though [`super::Cards`] counts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// A card that the settings ask for, with all of its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardPlan {
    /// The card's personality.
    pub personality: Personality,
    /// How the card waits for requests.
    pub poll: PollMode,
    /// Processors that the card may run on; none for all.
    pub processors: Option<Vec<u32>>,
    /// Highest instruction-set level that the card uses; none for the machine's best.
    pub level: Option<LevelLimit>,
    /// Whether the card takes no requests until it is resumed.
    pub quiesced: bool,
}

impl CardSettings {
    /// Applies the options of a change; options that are none in the change stay.
    pub fn apply(&mut self, change: &CardChange) {
        let CardChange { personality, poll, processors, level } = change.clone();
        self.personality = personality.or(self.personality);
        self.poll = poll.or(self.poll);
        self.processors = processors.or(self.processors.take());
        self.level = level.or(self.level);
    }

    /// Whether the table has only the options of a card without a table.
    pub fn is_plain(&self) -> bool {
        *self == Self { index: self.index, ..Self::default() }
    }
}

impl Settings {
    /// The configured cards, by index. Of the cards that `[cards]` counts, coprocessors come first.
    pub fn wanted_cards(&self) -> BTreeMap<u32, CardPlan> {
        let mut wanted = BTreeMap::new();
        for index in 0..self.counted_cards() {
            wanted.insert(index, self.plan(self.counted_personality(index), None));
        }
        for card in &self.card {
            let counted = (card.index < self.counted_cards()).then(|| self.counted_personality(card.index));
            match card.personality.or(counted) {
                Some(personality) if !card.removed => {
                    wanted.insert(card.index, self.plan(personality, Some(card)));
                }
                _ => {
                    wanted.remove(&card.index);
                }
            }
        }
        wanted
    }

    /// The table of a card; an empty table if the card has none.
    pub fn card_settings(&self, index: u32) -> CardSettings {
        let found = self.card.iter().find(|card| card.index == index);
        found.cloned().unwrap_or(CardSettings { index, ..CardSettings::default() })
    }

    /// Replaces the table for the same card; a table without options is removed.
    pub fn put_card(&mut self, card: CardSettings) {
        match self.card.iter().position(|other| other.index == card.index) {
            Some(at) if card.is_plain() => drop(self.card.remove(at)),
            Some(at) => self.card[at] = card,
            None if card.is_plain() => {}
            None => self.card.push(card),
        }
    }

    /// Number of cards that `[cards]` counts; their indexes are below it.
    pub fn counted_cards(&self) -> u32 {
        self.cards.coprocessors.saturating_add(self.cards.accelerators).min(CARDS_MAX as u32)
    }

    fn counted_personality(&self, index: u32) -> Personality {
        if index < self.cards.coprocessors { Personality::Coprocessor } else { Personality::Accelerator }
    }

    fn plan(&self, personality: Personality, card: Option<&CardSettings>) -> CardPlan {
        let all = &self.cards;
        let processors = card.and_then(|card| card.processors.clone()).or_else(|| all.processors.clone());
        CardPlan {
            personality,
            poll: card.and_then(|card| card.poll).unwrap_or(all.poll),
            processors: processors.filter(|list| !list.is_empty()),
            level: card.and_then(|card| card.level).or(all.level),
            quiesced: card.is_some_and(|card| card.quiesced),
        }
    }

    pub(super) fn check_cards(&self) -> Result<(), SettingsError> {
        let mut seen = BTreeSet::new();
        for card in &self.card {
            let wrong = |key, cause: String| Err(SettingsError::Card { index: card.index, key, cause });
            if card.index as usize >= CARDS_MAX {
                return wrong("index", format!("cards have the indexes 0 to {}", CARDS_MAX - 1));
            }
            if !seen.insert(card.index) {
                return wrong("index", "there are two tables for this card".into());
            }
            if card.index >= self.counted_cards() && card.personality.is_none() && !card.removed {
                return wrong("personality", "a card that [cards] does not count needs one".into());
            }
            if card.poll == Some(PollMode::Every { interval_us: 0 }) {
                return wrong("poll", "interval_us must be at least 1".into());
            }
        }
        let lists = self.wanted_cards().into_values().filter_map(|card| card.processors);
        let numbers = lists.map(|list| list.len()).sum();
        if numbers > PROCESSORS_LISTED_MAX {
            return Err(SettingsError::ProcessorLists(numbers));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Programs, Settings};

    fn settings(coprocessors: u32, accelerators: u32) -> Settings {
        let programs = Programs { daemon: "/d".into(), card: "/c".into(), manifest: None };
        let mut settings = Settings::new(programs);
        (settings.cards.coprocessors, settings.cards.accelerators) = (coprocessors, accelerators);
        settings
    }

    #[test]
    fn coprocessors_have_the_lowest_indexes_and_tables_change_one_card() {
        let mut settings = settings(2, 1);
        settings.cards.processors = Some(vec![1]);
        settings.put_card(CardSettings { index: 1, removed: true, ..CardSettings::default() });
        settings.put_card(CardSettings {
            index: 5,
            personality: Some(Personality::Coprocessor),
            processors: Some(vec![]),
            quiesced: true,
            ..CardSettings::default()
        });
        settings.check().unwrap();
        let wanted = settings.wanted_cards();
        let personalities: Vec<_> = wanted.iter().map(|(index, card)| (*index, card.personality)).collect();
        use Personality::{Accelerator, Coprocessor};
        assert_eq!(personalities, [(0, Coprocessor), (2, Accelerator), (5, Coprocessor)]);
        assert_eq!((&wanted[&0].processors, &wanted[&5].processors), (&Some(vec![1]), &None));
        assert!(wanted[&5].quiesced && !wanted[&0].quiesced);
    }

    #[test]
    fn a_table_that_says_nothing_goes() {
        let mut settings = settings(1, 0);
        let mut card = settings.card_settings(0);
        card.apply(&CardChange { poll: Some(PollMode::Spin), ..CardChange::default() });
        settings.put_card(card.clone());
        card.apply(&CardChange { level: Some(LevelLimit::Avx2), ..CardChange::default() });
        assert_eq!((card.poll, card.level), (Some(PollMode::Spin), Some(LevelLimit::Avx2)));
        settings.put_card(CardSettings { index: 0, ..CardSettings::default() });
        assert_eq!(settings.card, []);
    }

    #[test]
    fn bad_tables_are_refused_by_index_and_key() {
        let at = |index| CardSettings { index, ..CardSettings::default() };
        let interval = CardSettings { poll: Some(PollMode::Every { interval_us: 0 }), ..at(0) };
        let cases: [(Vec<CardSettings>, &str); 4] = [
            (
                vec![CardSettings { personality: Some(Personality::Accelerator), ..at(64) }],
                "index = 64, index",
            ),
            (vec![CardSettings { quiesced: true, ..at(0) }, at(0)], "two tables"),
            (vec![CardSettings { quiesced: true, ..at(1) }], "index = 1, personality"),
            (vec![interval], "index = 0, poll"),
        ];
        for (tables, expected) in cases {
            let mut settings = settings(1, 0);
            settings.card = tables;
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
