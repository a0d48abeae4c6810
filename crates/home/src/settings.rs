//! What an operator decides: `settings.toml`.
//!
//! The file that [`Settings::to_text`] writes is the manual: every option stands in it with its
//! unit, its default and its danger. Unknown keys are errors.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;
use wire::bounds::{CARDS_MAX, DOMAINS_MAX};
use wire::control::{LevelLimit, PollMode};

/// Everything in `settings.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The cards of the home.
    #[serde(default)]
    pub cards: Cards,
    /// Programs that the home starts.
    pub programs: Programs,
    /// Who else than the owner may use the home.
    #[serde(default)]
    pub access: Access,
    /// Serve single DES, RSA below 1024 bits, MD5 and RC4.
    #[serde(default)]
    pub weak_algorithms: bool,
    /// Present in development homes only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub development: Option<Development>,
}

/// The cards of a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cards {
    /// Cards of the coprocessor personality; they have the lowest indexes.
    pub coprocessors: u32,
    /// Cards of the accelerator personality; their indexes follow.
    pub accelerators: u32,
    /// Domains of every coprocessor, each with master keys of its own.
    pub domains: u16,
    /// How cards wait for requests.
    pub poll: PollMode,
    /// Keep requests of different tenants out of one batch.
    pub separate_tenants: bool,
    /// Processors that cards may run on; none for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<Vec<u32>>,
    /// Highest instruction-set level of cards; none for the best of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<LevelLimit>,
}

impl Default for Cards {
    fn default() -> Self {
        Self {
            coprocessors: 1,
            accelerators: 1,
            domains: 1,
            poll: PollMode::Adaptive,
            separate_tenants: false,
            processors: None,
            level: None,
        }
    }
}

/// Programs that a home starts; never looked for in PATH.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// `cryptand-daemon`.
    pub daemon: PathBuf,
    /// `cryptand-card`.
    pub card: PathBuf,
    /// The manifest with the hash of the card program; none where it was not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<PathBuf>,
}

/// Who else than the owner may use a home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Access {
    /// User names.
    pub users: Vec<String>,
    /// Group names.
    pub groups: Vec<String>,
}

/// Marks a development home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Development {
    /// Master keys are derived from this number: anyone can know them.
    pub insecure_seed: u64,
}

/// What is wrong with settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// Not TOML, an unknown key, or a value of another type; the text names line and key.
    Syntax(String),
    /// More cards than a home has.
    Cards {
        /// Coprocessors and accelerators together.
        cards: u64,
    },
    /// Domains outside of 1 to [`DOMAINS_MAX`].
    Domains(u16),
    /// A program's path is not absolute.
    RelativePath(PathBuf),
    /// A timer interval of zero.
    Interval,
    /// An empty list of processors.
    Processors,
    /// A seed that TOML cannot hold.
    Seed(u64),
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Syntax(cause) => f.write_str(cause.trim_end()),
            Self::Cards { cards } => {
                write!(f, "[cards] asks for {cards} cards; a home has at most {CARDS_MAX}")
            }
            Self::Domains(domains) => {
                write!(f, "[cards] domains = {domains}; allowed are 1 to {DOMAINS_MAX}")
            }
            Self::RelativePath(path) => write!(f, "[programs] {}: the path must be absolute", path.display()),
            Self::Interval => f.write_str("[cards] poll: interval_us must be at least 1"),
            Self::Seed(seed) => write!(f, "[development] insecure_seed = {seed}; at most {}", i64::MAX),
            Self::Processors => {
                f.write_str("[cards] processors: the list is empty; leave it out for all processors")
            }
        }
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Default settings with these programs.
    pub fn new(programs: Programs) -> Self {
        Self {
            cards: Cards::default(),
            programs,
            access: Access::default(),
            weak_algorithms: false,
            development: None,
        }
    }

    /// Reads and checks settings.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn from_text(text: &str) -> Result<Self, SettingsError> {
        let settings: Self =
            toml::from_str(text).map_err(|error| SettingsError::Syntax(error.to_string()))?;
        settings.check()?;
        Ok(settings)
    }

    /// The settings as the commented file.
    ///
    /// # Errors
    /// [`SettingsError`] where they are not valid.
    pub fn to_text(&self) -> Result<String, SettingsError> {
        self.check()?;
        let mut text = String::new();
        let cards = &self.cards;
        let lines: &[(&str, Option<String>)] = &[
            (
                "# Settings of a Cryptand home. Change them and run `cryptand reload`; unknown keys are errors.\n",
                None,
            ),
            (
                "# Serve single DES, RSA below 1024 bits, MD5 and RC4, which are breakable. Default: false.",
                None,
            ),
            ("weak_algorithms", Some(value(&self.weak_algorithms))),
            ("\n[cards]\n# Secure-key cards (0 to 64 cards in all). Default: 1.", None),
            ("coprocessors", Some(value(&cards.coprocessors))),
            ("# Clear-key RSA cards. Default: 1.", None),
            ("accelerators", Some(value(&cards.accelerators))),
            ("# Domains of each coprocessor, 1 to 16, each with master keys of its own. Default: 1.", None),
            ("domains", Some(value(&cards.domains))),
            (
                "# How cards wait: \"adaptive\" (spin a few microseconds, then sleep; the default), \"spin\" (a whole\n\
                 # processor per card), \"sleep\", or { every = { interval_us = N } } (a timer; up to N us of delay).",
                None,
            ),
            ("poll", Some(value(&cards.poll))),
            (
                "# Keep tenants out of each other's batches: batching is a timing channel between them. Costs\n\
                 # throughput where tenants share a card. Default: false.",
                None,
            ),
            ("separate_tenants", Some(value(&cards.separate_tenants))),
            ("# Processors that cards may run on, by number. Unset: all.", None),
            ("processors", cards.processors.as_ref().map(value)),
            (
                "# Highest instruction set of cards: \"portable\", \"avx2\" or \"avx512\". Where CRYPTAND_LEVEL in the daemon's\n\
                 # environment names one too, the lower counts. Unset: the machine's best.",
                None,
            ),
            ("level", cards.level.as_ref().map(value)),
            ("\n[programs]\n# Absolute paths; PATH is never searched.", None),
            ("daemon", Some(value(&self.programs.daemon))),
            ("card", Some(value(&self.programs.card))),
            (
                "# Manifest with the SHA-256 of the card program, checked before each start. Unset: not checked.",
                None,
            ),
            ("manifest", self.programs.manifest.as_ref().map(value)),
            (
                "\n[access]\n# Users and groups, besides the owner, who may attach queues and use keys; they can not import\n\
                 # or export keys, change key records or stop the daemon. Default: nobody.",
                None,
            ),
            ("users", Some(value(&self.access.users))),
            ("groups", Some(value(&self.access.groups))),
        ];
        for (line, set) in lines {
            let _ = match (line.contains('#'), set) {
                (true, _) => writeln!(text, "{line}"),
                (false, Some(set)) => writeln!(text, "{line} = {set}"),
                (false, None) => writeln!(text, "# {line} ="),
            };
        }
        if let Some(development) = self.development {
            let _ = write!(
                text,
                "\n# INSECURE: a development home. Its master keys are derived from this number, so anyone can know\n\
                 # them. Never put a real key into it.\n[development]\ninsecure_seed = {}\n",
                development.insecure_seed
            );
        }
        Ok(text)
    }

    fn check(&self) -> Result<(), SettingsError> {
        let cards = u64::from(self.cards.coprocessors) + u64::from(self.cards.accelerators);
        if cards > CARDS_MAX as u64 {
            return Err(SettingsError::Cards { cards });
        }
        if self.cards.domains == 0 || usize::from(self.cards.domains) > DOMAINS_MAX {
            return Err(SettingsError::Domains(self.cards.domains));
        }
        if self.cards.poll == (PollMode::Every { interval_us: 0 }) {
            return Err(SettingsError::Interval);
        }
        if self.cards.processors.as_ref().is_some_and(Vec::is_empty) {
            return Err(SettingsError::Processors);
        }
        if let Some(seed) = self.development.map(|development| development.insecure_seed)
            && i64::try_from(seed).is_err()
        {
            return Err(SettingsError::Seed(seed));
        }
        let programs =
            [Some(&self.programs.daemon), Some(&self.programs.card), self.programs.manifest.as_ref()];
        match programs.into_iter().flatten().find(|path| !path.is_absolute()) {
            Some(path) => Err(SettingsError::RelativePath(path.clone())),
            None => Ok(()),
        }
    }
}

/// A value as TOML on one line. What comes here serializes: integers, booleans, lists, inline
/// tables, and paths, which are UTF-8 as they were read from TOML or checked by the caller.
fn value<T: Serialize>(value: &T) -> String {
    toml::Value::try_from(value).map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn programs() -> Programs {
        Programs { daemon: "/opt/cryptand-daemon".into(), card: "/opt/cryptand-card".into(), manifest: None }
    }

    fn any_settings() -> impl Strategy<Value = Settings> {
        let poll = prop_oneof![
            Just(PollMode::Spin),
            Just(PollMode::Adaptive),
            Just(PollMode::Sleep),
            (1u32..1_000_000).prop_map(|interval_us| PollMode::Every { interval_us }),
        ];
        let level = proptest::option::of(prop_oneof![
            Just(LevelLimit::Portable),
            Just(LevelLimit::Avx2),
            Just(LevelLimit::Avx512)
        ]);
        let processors = proptest::option::of(proptest::collection::vec(0u32..64, 1..4));
        let cards = (0u32..32, 0u32..32, 1u16..=16, poll, any::<bool>(), processors, level).prop_map(
            |(coprocessors, accelerators, domains, poll, separate_tenants, processors, level)| Cards {
                coprocessors,
                accelerators,
                domains,
                poll,
                separate_tenants,
                processors,
                level,
            },
        );
        let names = proptest::collection::vec("[a-z\" \\\\]{0,8}", 0..3);
        (cards, names.clone(), names, any::<bool>(), proptest::option::of(0u64..=i64::MAX as u64)).prop_map(
            |(cards, users, groups, weak_algorithms, seed)| Settings {
                cards,
                programs: programs(),
                access: Access { users, groups },
                weak_algorithms,
                development: seed.map(|insecure_seed| Development { insecure_seed }),
            },
        )
    }

    proptest! {
        #[test]
        fn written_settings_read_back(settings in any_settings()) {
            let text = settings.to_text().unwrap();
            prop_assert_eq!(Settings::from_text(&text).unwrap(), settings, "{}", text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a-z_=\\[\\]\"0-9 \n]{0,200}") {
            let _ = Settings::from_text(&text);
        }
    }

    #[test]
    fn bad_settings_are_refused_by_name() {
        let good = Settings::new(programs()).to_text().unwrap();
        let cases: [(&str, &str, &str); 7] = [
            ("domains = 1", "domains = 0", "domains = 0"),
            ("domains = 1", "domains = 17", "1 to 16"),
            ("coprocessors = 1", "coprocessors = 64", "65 cards"),
            ("coprocessors = 1", "coprocesors = 1", "coprocesors"),
            ("coprocessors = 1", "coprocessors = \"one\"", "expected u32"),
            ("poll = \"adaptive\"", "poll = { every = { interval_us = 0 } }", "interval_us"),
            ("\"/opt/cryptand-card\"", "\"cryptand-card\"", "absolute"),
        ];
        for (from, to, expected) in cases {
            assert!(good.contains(from), "{good}");
            let error = Settings::from_text(&good.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }
}
