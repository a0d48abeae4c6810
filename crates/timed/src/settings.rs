//! How fast the cards of a lab home are: the file beside the program.
//!
//! ```toml
//! [[card]]
//! index = 1        # within its home; a card without an entry answers at once
//! depth = 8        # requests that it holds, those that are done and not yet visible included
//! poll_us = 0      # answers become visible at multiples of it; 0: as soon as they are due
//! [card.verbs]     # a verb without an entry is answered at once
//! clear-rsa-private = { service_us = 4878.0, parallelism = 5.33 }
//! ```
//! A request takes `service_us`; `parallelism` requests run side by side, so that a full card gives
//! `parallelism / service_us` of them. It need not be whole: a published card is known by its rate with one
//! job and its rate when full, and no whole number of lanes has both.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wire::bounds::{CARDS_MAX, QUEUE_SLOTS_MAX};
use wire::verb::Verb;

/// Longest settings file in bytes.
pub const SETTINGS_BYTES_MAX: u64 = 64 * 1024;
/// Longest service time in microseconds: ten seconds.
pub const SERVICE_US_MAX: f64 = 1e7;
/// Longest poll interval in microseconds.
pub const POLL_US_MAX: f64 = 1e6;
/// At most this many requests are held by a card at once.
pub const DEPTH_MAX: usize = QUEUE_SLOTS_MAX;

/// The timings of a home's cards.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// One entry for each timed card.
    #[serde(default, rename = "card")]
    cards: Vec<Card>,
}

/// The timing of one card.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The card's index within its home.
    pub index: u32,
    /// Requests that the card holds at once, 1 to [`DEPTH_MAX`].
    pub depth: usize,
    /// Answers become visible at multiples of this time, in microseconds; 0: as soon as they are due.
    #[serde(default)]
    pub poll_us: f64,
    /// Pace of each verb, by the verb's name in kebab case; a verb without an entry is answered at once.
    #[serde(default)]
    pub verbs: BTreeMap<String, Pace>,
}

/// How fast a card does one verb.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Service time of one request, in microseconds: at most [`SERVICE_US_MAX`].
    pub service_us: f64,
    /// Number of requests that run side by side, not necessarily whole: 1 to [`DEPTH_MAX`].
    pub parallelism: f64,
}

/// Why settings cannot be used.
#[derive(Debug)]
pub enum SettingsError {
    /// The file cannot be read, or is longer than [`SETTINGS_BYTES_MAX`].
    File(PathBuf, std::io::Error),
    /// The text is not TOML, has an unknown key or a value of another type.
    Syntax(String),
    /// Two entries for one card, or an index that no home has.
    Index(u32),
    /// A figure of a card is out of its range.
    Range {
        /// Index of the card.
        card: u32,
        /// Name of the figure.
        what: String,
        /// The refused value.
        value: f64,
    },
    /// No verb has this name.
    Verb(String),
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path, cause) => write!(f, "reading {}: {cause}", path.display()),
            Self::Syntax(cause) => f.write_str(cause.trim_end()),
            Self::Index(index) => {
                write!(f, "card {index}: an index below {CARDS_MAX} that no other entry has is needed")
            }
            Self::Range { card, what, value } => write!(f, "card {card}: {what} = {value} is out of range"),
            Self::Verb(name) => write!(f, "no verb is called {name:?}"),
        }
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Reads and checks the settings file.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let failed = |cause| SettingsError::File(path.to_owned(), cause);
        let length = std::fs::metadata(path).map_err(failed)?.len();
        if length > SETTINGS_BYTES_MAX {
            let cause = format!("{length} bytes, at most {SETTINGS_BYTES_MAX} are read");
            return Err(failed(std::io::Error::other(cause)));
        }
        Self::from_text(&std::fs::read_to_string(path).map_err(failed)?)
    }

    /// Reads and checks settings.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn from_text(text: &str) -> Result<Self, SettingsError> {
        let settings: Self =
            toml::from_str(text).map_err(|error| SettingsError::Syntax(error.to_string()))?;
        for (place, card) in settings.cards.iter().enumerate() {
            let twice = settings.cards[..place].iter().any(|other| other.index == card.index);
            if twice || card.index as usize >= CARDS_MAX {
                return Err(SettingsError::Index(card.index));
            }
            card.check()?;
        }
        Ok(settings)
    }

    /// The entry of the card with this index; `None` if there is no entry, so that the card answers at once.
    pub fn card(&self, index: u32) -> Option<&Card> {
        self.cards.iter().find(|card| card.index == index)
    }
}

impl Card {
    fn check(&self) -> Result<(), SettingsError> {
        let within = |what: &str, value: f64, low: f64, high: f64| {
            // NaN is in no range.
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(SettingsError::Range { card: self.index, what: what.to_owned(), value })
        };
        within("depth", self.depth as f64, 1.0, DEPTH_MAX as f64)?;
        within("poll_us", self.poll_us, 0.0, POLL_US_MAX)?;
        for (name, pace) in &self.verbs {
            Verb::from_name(name).ok_or_else(|| SettingsError::Verb(name.clone()))?;
            within(&format!("{name} service_us"), pace.service_us, 0.0, SERVICE_US_MAX)?;
            within(&format!("{name} parallelism"), pace.parallelism, 1.0, DEPTH_MAX as f64)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "[[card]]\nindex = 1\ndepth = 8\npoll_us = 550\n[card.verbs]\n\
                        clear-rsa-private = { service_us = 4878.0, parallelism = 5.33 }\n\
                        [[card]]\nindex = 2\ndepth = 1\n";

    #[test]
    fn settings_name_the_pace_of_each_card() {
        let settings = Settings::from_text(GOOD).unwrap();
        let card = settings.card(1).unwrap();
        assert_eq!((card.depth, card.poll_us), (8, 550.0));
        let pace = Pace { service_us: 4878.0, parallelism: 5.33 };
        assert_eq!(card.verbs["clear-rsa-private"], pace);
        assert_eq!(settings.card(2).unwrap().poll_us, 0.0);
        assert!(settings.card(3).is_none());
        assert_eq!(Settings::from_text("").unwrap(), Settings::default());
    }

    #[test]
    fn bad_settings_are_refused_by_name() {
        for (from, to, expected) in [
            ("index = 2", "index = 1", "card 1"),
            ("index = 2", "index = 64", "card 64"),
            ("depth = 8", "depth = 0", "depth = 0"),
            ("depth = 8", "depth = 65", "depth = 65"),
            ("depth = 8", "deep = 8", "deep"),
            ("poll_us = 550", "poll_us = -1", "poll_us = -1"),
            ("poll_us = 550", "poll_us = nan", "poll_us = NaN"),
            ("4878.0", "inf", "service_us = inf"),
            ("5.33", "0.9", "parallelism = 0.9"),
            ("clear-rsa-private", "clear-rsa", "clear-rsa"),
            ("index = 2", "index = \"two\"", "u32"),
        ] {
            assert!(GOOD.contains(from));
            let error = Settings::from_text(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_missing_or_too_long_is_refused() {
        let path = std::env::temp_dir().join(format!("cryptand-timed-{}.toml", std::process::id()));
        assert!(Settings::read(&path).unwrap_err().to_string().contains("cryptand-timed-"));
        std::fs::write(&path, "#".repeat(SETTINGS_BYTES_MAX as usize + 1)).unwrap();
        assert!(Settings::read(&path).unwrap_err().to_string().contains("65537 bytes"));
        std::fs::write(&path, GOOD).unwrap();
        assert!(Settings::read(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z_=\\[\\]{}\".,0-9 \n-]{0,200}") {
            let _ = Settings::from_text(&text);
        }
    }
}
