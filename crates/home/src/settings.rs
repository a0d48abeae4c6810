//! The operator's settings of a home: `settings.toml`.
//!
//! The file that [`Settings::to_text`] writes is the manual: it holds every option with its unit,
//! its default and its danger. Unknown keys are errors.

mod cards;
mod file;
mod lines;
mod pin;
mod quarantine;
mod roles;
mod tenants;
mod text;

use crate::FILE_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use wire::bounds::{
    CARDS_MAX, DOMAINS_MAX, LABELS, LABELS_DEFAULT, PREPARED_KEYS_BYTES, PROCESSORS_LISTED_MAX, ROLES_MAX,
    TENANTS_MAX,
};
use wire::control::{LevelLimit, PollMode, TokenForm, TokenForms, Unseal};
use wire::tenant::{NAMED_TENANT, Tenant};

pub use cards::{CardPlan, CardSettings};
pub use file::SettingsFile;
pub use pin::PinSettings;
pub use quarantine::Quarantine;
pub use roles::{Decision, Labels, PointItem, Resolved, RoleSettings};
pub use tenants::share_percent;

/// The content of `settings.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The number that the next new tenant gets: numbers are never reused.
    #[serde(default = "first_number")]
    pub tenant_number_next: u32,
    /// Path of the file of the system service that the home belongs to; its daemon then uses the
    /// keeper and launcher of that service. None for a home of one user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<PathBuf>,
    /// The cards of the home.
    #[serde(default)]
    pub cards: Cards,
    /// The daemon of the home.
    #[serde(default)]
    pub daemon: DaemonSettings,
    /// Programs that the home starts.
    pub programs: Programs,
    /// Users other than the owner who may use the home.
    #[serde(default)]
    pub access: Access,
    /// Whether single DES, RSA below 1024 bits, MD5 and RC4 are served.
    #[serde(default)]
    pub weak_algorithms: bool,
    /// Memory for deriving the key of the sealed master keys from their passphrase, in MiB, at
    /// most.
    #[serde(default = "seal_memory")]
    pub seal_memory_mib: u32,
    /// Who unseals the master keys after each start of the keeper. In a home of the system service
    /// its file decides.
    #[serde(default)]
    pub unseal: Unseal,
    /// The form of internal tokens that cards make, and the forms that they accept. A file without
    /// this table belongs to a home that has compatible tokens.
    #[serde(default)]
    pub tokens: TokenForms,
    /// When and for how long a tenant whose requests end cards is put into quarantine.
    #[serde(default)]
    pub quarantine: Quarantine,
    /// Settings about PINs.
    #[serde(default)]
    pub pin: PinSettings,
    /// Marks a development home; none in any other home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub development: Option<Development>,
    /// Cards with options other than those of [`Cards`], one table `[[card]]` each.
    #[serde(default, rename = "card", skip_serializing_if = "Vec::is_empty")]
    pub card: Vec<CardSettings>,
    /// Roles in addition to the built-in ones, one table `[[role]]` each.
    #[serde(default, rename = "role", skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleSettings>,
    /// Tenants, one table `[[tenant]]` each.
    #[serde(default, rename = "tenant", skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<Tenant>,
}

/// The cards of a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cards {
    /// Number of cards of the coprocessor personality; they have the lowest indexes.
    pub coprocessors: u32,
    /// Number of cards of the accelerator personality; their indexes follow.
    pub accelerators: u32,
    /// Number of domains of every coprocessor, each with master keys of its own.
    pub domains: u16,
    /// How cards wait for requests.
    pub poll: PollMode,
    /// Whether requests of different tenants are kept out of one batch.
    pub separate_tenants: bool,
    /// Processors that cards may run on; none for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<Vec<u32>>,
    /// Highest instruction-set level of cards; none for the best of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<LevelLimit>,
    /// Memory of each card for prepared keys, in MiB.
    pub prepared_keys_mib: u32,
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
            prepared_keys_mib: prepared_keys(),
        }
    }
}

/// The daemon of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DaemonSettings {
    /// Labels that the home's key table has room for, of keys as long as private RSA keys of 2,048 bits; of shorter
    /// keys it takes up to four times as many.
    pub labels: u32,
    /// Whether a program that needs the daemon may start it if none runs. None means yes, unless a
    /// service manager started the last daemon, or the home is of a system service. See
    /// [`Home::may_autostart`](crate::Home::may_autostart).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autostart: Option<bool>,
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self { labels: LABELS_DEFAULT, autostart: None }
    }
}

/// Programs that a home starts; never looked for in PATH.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// Path of `cryptand-daemon`.
    pub daemon: PathBuf,
    /// Path of `cryptand-card`.
    pub card: PathBuf,
    /// Path of the manifest with the hash of the card program; none if the program was not
    /// installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<PathBuf>,
}

/// Users other than the owner who may use a home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Access {
    /// Names of users who may use the home.
    pub users: Vec<String>,
    /// Names of groups whose members may use the home.
    pub groups: Vec<String>,
    /// Users who may observe cards and tenants, and nothing else.
    pub observers: Vec<String>,
    /// Name of the role of users without a tenant; none for the guest role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// Marks a development home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Development {
    /// Master keys are derived from this number: anyone can compute them.
    pub insecure_seed: u64,
}

/// Why settings are not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// Not TOML, an unknown key, or a value of another type; the text names line and key.
    Syntax(String),
    /// More cards than a home has.
    Cards {
        /// Coprocessors and accelerators together.
        cards: u64,
    },
    /// The number of domains is outside of 1 to [`DOMAINS_MAX`].
    Domains(u16),
    /// A program's path is not absolute.
    RelativePath(PathBuf),
    /// A timer interval of zero.
    Interval,
    /// The memory for the passphrase is outside of [`SEAL_MEMORY_MIB`].
    SealMemory(u32),
    /// The memory for prepared keys is outside of [`PREPARED_KEYS_MIB`].
    PreparedKeys(u32),
    /// The number of labels is outside of [`LABELS`].
    Labels(u32),
    /// A development home, whose keys anyone can compute, in a system service.
    Service,
    /// Compatible tokens are made but not opened.
    Tokens,
    /// A list of processors is empty.
    Processors,
    /// TOML cannot hold a number as large as this seed.
    Seed(u64),
    /// The lists of processors of all cards together are too long: their length.
    ProcessorLists(usize),
    /// An error in a table `[[card]]`.
    Card {
        /// The card's index.
        index: u32,
        /// The wrong key.
        key: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// An error in a table `[[tenant]]`.
    Tenant {
        /// The tenant's name.
        name: String,
        /// The wrong key.
        key: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// An error in a table `[[role]]`.
    Role {
        /// The role's name.
        name: String,
        /// The wrong key.
        key: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// An error in the table `[access]`.
    Access {
        /// The wrong key.
        key: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// An error in the table `[quarantine]`.
    Quarantine {
        /// The wrong key.
        key: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// An error in the table `[pin]`.
    Pin {
        /// The wrong key.
        key: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// More roles than a home may have: their number.
    Roles(usize),
    /// Another error, with its place in the file.
    AtLine {
        /// The line of the error, from 1.
        line: usize,
        /// The error in that line.
        error: Box<SettingsError>,
    },
    /// A tenant has no card that it may use.
    Stranded {
        /// Name of the tenant.
        name: String,
    },
    /// The text is longer than may be read back: its length in bytes.
    TooLong(usize),
    /// More tenants than a home may have: their number.
    Tenants(usize),
    /// The number for the next tenant was given already, or is not allowed.
    NumberNext {
        /// The number in the settings.
        next: u32,
        /// The least number allowed.
        least: u32,
    },
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
            Self::SealMemory(mib) => write!(
                f,
                "seal_memory_mib = {mib}; allowed are {} to {}",
                SEAL_MEMORY_MIB.start(),
                SEAL_MEMORY_MIB.end()
            ),
            Self::PreparedKeys(mib) => write!(
                f,
                "[cards] prepared_keys_mib = {mib}; allowed are {} to {}",
                PREPARED_KEYS_MIB.start(),
                PREPARED_KEYS_MIB.end()
            ),
            Self::Labels(labels) => write!(
                f,
                "[daemon] labels = {labels}; allowed are {} to {}",
                LABELS.start(),
                LABELS.end()
            ),
            Self::Service => f.write_str(
                "service and [development]: a system service has master keys of officers, not those that anyone knows",
            ),
            Self::Tokens => f.write_str(
                "[tokens] form = \"compatible\" with open_compatible = false: no key that is made could be used",
            ),
            Self::Interval => f.write_str("[cards] poll: interval_us must be at least 1"),
            Self::Seed(seed) => write!(f, "[development] insecure_seed = {seed}; at most {}", i64::MAX),
            Self::Processors => {
                f.write_str("[cards] processors: the list is empty; leave it out for all processors")
            }
            Self::ProcessorLists(numbers) => write!(
                f,
                "[cards] and [[card]] processors: the lists of all cards hold {numbers} numbers; \
                 at most {PROCESSORS_LISTED_MAX}"
            ),
            Self::Card { index, key, cause } => write!(f, "[[card]] index = {index}, {key}: {cause}"),
            Self::Tenant { name, key, cause } => write!(f, "[[tenant]] name = {name:?}, {key}: {cause}"),
            Self::Role { name, key, cause } => write!(f, "[[role]] name = {name:?}, {key}: {cause}"),
            Self::Access { key, cause } => write!(f, "[access] {key}: {cause}"),
            Self::Quarantine { key, cause } => write!(f, "[quarantine] {key}: {cause}"),
            Self::Pin { key, cause } => write!(f, "[pin] {key}: {cause}"),
            Self::Roles(count) => write!(
                f,
                "[[role]]: {count} roles with those that every home has; a home has at most {ROLES_MAX}"
            ),
            Self::AtLine { line, error } => write!(f, "line {line}: {error}"),
            Self::Stranded { name } => write!(
                f,
                "[[tenant]] name = {name:?}, dedicated: no card is left that it could use: none is shared"
            ),
            Self::TooLong(bytes) => {
                write!(f, "the settings would be {bytes} bytes long; at most {FILE_BYTES_MAX}")
            }
            Self::Tenants(count) => {
                write!(f, "[[tenant]]: {count} tenants; a home has at most {NAMED_TENANTS_MAX}")
            }
            Self::NumberNext { next, least } => write!(
                f,
                "tenant_number_next = {next}; it must be above every number given, at least {least} and below {NAMED_TENANT}"
            ),
        }
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Default settings with these programs.
    pub fn new(programs: Programs) -> Self {
        Self {
            cards: Cards::default(),
            daemon: DaemonSettings::default(),
            programs,
            access: Access::default(),
            weak_algorithms: false,
            seal_memory_mib: seal_memory(),
            unseal: Unseal::default(),
            tokens: TokenForms { form: TokenForm::Authenticated, open_compatible: false },
            quarantine: Quarantine::default(),
            pin: PinSettings::default(),
            development: None,
            service: None,
            tenant_number_next: first_number(),
            card: Vec::new(),
            roles: Vec::new(),
            tenants: Vec::new(),
        }
    }

    /// Reads and checks settings from their text.
    ///
    /// # Errors
    /// [`SettingsError`] names the first key that is wrong, with its line if it is known.
    pub fn from_text(text: &str) -> Result<Self, SettingsError> {
        let settings: Self =
            toml::from_str(text).map_err(|error| SettingsError::Syntax(error.to_string()))?;
        settings.check().map_err(|error| lines::with_line(error, text))?;
        Ok(settings)
    }

    /// Returns a text that is short enough to be read back.
    fn bounded(text: String) -> Result<String, SettingsError> {
        if text.len() > FILE_BYTES_MAX { Err(SettingsError::TooLong(text.len())) } else { Ok(text) }
    }

    /// Checks the settings as a whole.
    ///
    /// # Errors
    /// [`SettingsError`] names the first key that is wrong.
    pub fn check(&self) -> Result<(), SettingsError> {
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
        if !SEAL_MEMORY_MIB.contains(&self.seal_memory_mib) {
            return Err(SettingsError::SealMemory(self.seal_memory_mib));
        }
        if !PREPARED_KEYS_MIB.contains(&self.cards.prepared_keys_mib) {
            return Err(SettingsError::PreparedKeys(self.cards.prepared_keys_mib));
        }
        if !LABELS.contains(&self.daemon.labels) {
            return Err(SettingsError::Labels(self.daemon.labels));
        }
        if self.service.is_some() && self.development.is_some() {
            return Err(SettingsError::Service);
        }
        if let Some(path) = self.service.as_ref().filter(|path| !path.is_absolute()) {
            return Err(SettingsError::RelativePath(path.clone()));
        }
        if self.tokens == (TokenForms { form: TokenForm::Compatible, open_compatible: false }) {
            return Err(SettingsError::Tokens);
        }
        if self.cards.processors.as_ref().is_some_and(Vec::is_empty) {
            return Err(SettingsError::Processors);
        }
        self.check_quarantine()?;
        self.check_pin()?;
        self.check_cards()?;
        self.check_tenants()?;
        self.check_roles()?;
        self.check_reach()?;
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

/// Memory that sealing may take, in MiB: from RFC 9106's second recommended option to its first.
pub const SEAL_MEMORY_MIB: std::ops::RangeInclusive<u32> = 64..=2048;

/// Memory that a card may have for prepared keys, in MiB: from some 400 private RSA keys of 2,048 bits to 400,000.
pub const PREPARED_KEYS_MIB: std::ops::RangeInclusive<u32> = 4..=4096;

/// The default of `prepared_keys_mib`.
fn prepared_keys() -> u32 {
    (PREPARED_KEYS_BYTES >> 20) as u32
}

/// The default of `seal_memory_mib`.
pub(crate) fn seal_memory() -> u32 {
    *SEAL_MEMORY_MIB.end()
}

/// The default of `tenant_number_next`.
fn first_number() -> u32 {
    1
}

/// At most this many named tenants in one home: rows for the same number of users remain.
pub(crate) const NAMED_TENANTS_MAX: usize = TENANTS_MAX / 2;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::tenant::{Dedicated, Limits};

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
                prepared_keys_mib: 4 + coprocessors,
            },
        );
        let names = proptest::collection::vec("[a-z\" \\\\]{0,8}", 0..3);
        let people = (cards, any_card(), names.clone(), names, any_tenants());
        let tokens = prop_oneof![
            Just(TokenForms::default()),
            Just(TokenForms { form: TokenForm::Authenticated, open_compatible: false }),
            Just(TokenForms { form: TokenForm::Compatible, open_compatible: true }),
        ];
        let quarantine = (0u32..=16, 1u64..1_000_000, 1u64..1_000, 1_000u64..100_000).prop_map(
            |(deaths, window_s, first_s, longest_s)| Quarantine { deaths, window_s, first_s, longest_s },
        );
        let seed = proptest::option::of(0u64..=i64::MAX as u64);
        let rest = (any::<bool>(), seed, any::<bool>(), tokens, quarantine);
        (people, rest).prop_map(
            |((cards, card, users, groups, tenants), (weak_algorithms, seed, role, tokens, quarantine))| {
                Settings {
                    cards: Cards {
                        coprocessors: cards.coprocessors.max(1),
                        accelerators: cards.accelerators.max(1),
                        ..cards
                    },
                    daemon: DaemonSettings {
                        labels: LABELS.start() + seed.unwrap_or(0) as u32 % (LABELS.end() - LABELS.start()),
                        autostart: seed.map(|seed| seed % 2 == 0),
                    },
                    programs: programs(),
                    access: Access { users, groups, observers: vec![], role: role.then(|| "trusted".into()) },
                    weak_algorithms,
                    seal_memory_mib: 64 + seed.unwrap_or(0) as u32 % 1985,
                    unseal: if weak_algorithms { Unseal::Unattended } else { Unseal::Attended },
                    tokens,
                    quarantine,
                    pin: if role { any_pin() } else { PinSettings::default() },
                    tenant_number_next: 100,
                    development: seed.map(|insecure_seed| Development { insecure_seed }),
                    service: None,
                    card,
                    roles: if role { vec![any_role()] } else { Vec::new() },
                    tenants,
                }
            },
        )
    }

    fn any_pin() -> PinSettings {
        let table = wire::pin::DecimalisationTable::new("9876543210123456").unwrap();
        PinSettings { tables: vec![table], key_failures_per_hour: 7, tenant_key_failures_per_hour: 5 }
    }

    fn any_role() -> RoleSettings {
        let items = |names: &[&str]| names.iter().map(|name| PointItem::new(name).unwrap()).collect();
        RoleSettings {
            name: "shop".into(),
            base: Some("guest".into()),
            allow: items(&["tokens", "pka-decrypt"]),
            deny: items(&["mac-x9.9"]),
            labels: vec![label_rule()],
        }
    }

    fn label_rule() -> wire::pattern::LabelRule {
        let pattern = wire::pattern::LabelPattern::new("SHOP.*").unwrap();
        wire::pattern::LabelRule { pattern, uses: wire::uses::Uses::MAC_VERIFY }
    }

    fn any_card() -> impl Strategy<Value = Vec<CardSettings>> {
        use wire::control::Personality::{Accelerator, Coprocessor};
        let personality = prop_oneof![Just(Accelerator), Just(Coprocessor)];
        let poll = proptest::option::of(prop_oneof![
            Just(PollMode::Sleep),
            Just(PollMode::Every { interval_us: 50 })
        ]);
        let processors = proptest::option::of(proptest::collection::vec(0u32..64, 0..4));
        let card = (personality, poll, processors, any::<bool>()).prop_map(
            |(personality, poll, processors, quiesced)| CardSettings {
                personality: Some(personality),
                poll,
                processors,
                quiesced,
                ..CardSettings::default()
            },
        );
        proptest::collection::vec(card, 0..4).prop_map(|mut cards| {
            (0u32..).zip(&mut cards).for_each(|(at, card)| card.index = at * 20 + 1);
            cards
        })
    }

    fn any_tenants() -> impl Strategy<Value = Vec<Tenant>> {
        let limits = (1u32..=1000, 0u32..9, 0u32..9, any::<u32>()).prop_map(
            |(weight, in_flight_max, in_flight_per_card_max, per_second_max)| Limits {
                weight,
                in_flight_max,
                in_flight_per_card_max,
                per_second_max,
            },
        );
        let share = proptest::option::of(1u8..=20);
        let hash = proptest::option::of(any::<[u8; 16]>());
        let parts = (limits, share, hash, any::<bool>(), any::<bool>());
        proptest::collection::vec(parts, 0..5).prop_map(|tenants| {
            let made = |(at, (limits, share, hash, also_shared, domain))| {
                tenant(at, limits, share, hash, also_shared, domain)
            };
            (1u32..).zip(tenants).map(made).collect()
        })
    }

    fn tenant(
        number: u32,
        limits: Limits,
        share: Option<u8>,
        hash: Option<[u8; 16]>,
        also_shared: bool,
        domain: bool,
    ) -> Tenant {
        let hash = hash.map(|hash| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        Tenant {
            name: format!("t{number}"),
            number,
            users: vec![format!("user \"{number}")],
            groups: Vec::new(),
            credential_sha256: hash.as_ref().map(|hash| format!("{hash}{number:032x}")),
            former_credential_sha256: hash.filter(|_| domain).map(|hash| format!("{number:032x}{hash}")),
            domains: if domain { vec![0] } else { Vec::new() },
            role: also_shared.then(|| "trusted".into()),
            labels: if domain { vec![label_rule()] } else { Vec::new() },
            limits,
            dedicated: share.map(|share_percent| Dedicated { card: 0, share_percent }).into_iter().collect(),
            also_shared,
        }
    }

    proptest! {
        #[test]
        fn written_settings_read_back(settings in any_settings()) {
            let text = settings.to_text().unwrap();
            prop_assert_eq!(Settings::from_text(&text).unwrap(), settings, "{}", text);
        }

        // Whatever was added, changed and removed is read back, from the commented file.
        #[test]
        fn a_change_writes_what_is_wanted(before in any_settings(), after in any_settings()) {
            let file = SettingsFile::from_text(&before.to_text().unwrap()).unwrap();
            let kept = |tenant: &&Tenant| after.tenants.iter().any(|other| other.name == tenant.name);
            let mut wanted = Settings { card: Vec::new(), tenants: Vec::new(), ..before.clone() };
            wanted.tenants = before.tenants.iter().filter(kept).cloned().collect();
            for tenant in &after.tenants {
                match wanted.tenants.iter_mut().find(|other| other.name == tenant.name) {
                    Some(place) => *place = Tenant { domains: place.domains.clone(), ..tenant.clone() },
                    None => wanted.tenants.push(Tenant { domains: Vec::new(), ..tenant.clone() }),
                }
            }
            wanted.card = before.card.clone();
            after.card.iter().for_each(|card| wanted.put_card(card.clone()));
            let text = file.changed(&wanted).unwrap();
            prop_assert_eq!(Settings::from_text(&text).unwrap(), wanted, "{}", text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a-z_=\\[\\]\"0-9 \n]{0,200}") {
            let _ = Settings::from_text(&text);
        }
    }

    #[test]
    fn bad_settings_are_refused_by_name() {
        let good = Settings::new(programs()).to_text().unwrap();
        let cases: [(&str, &str, &str); 13] = [
            ("domains = 1", "domains = 0", "domains = 0"),
            ("labels = 16384", "labels = 1023", "[daemon] labels = 1023; allowed are 1024 to 131072"),
            ("labels = 16384", "labels = 131073", "[daemon] labels = 131073"),
            ("labels = 16384", "labels = -1", "-1"),
            ("domains = 1", "domains = 17", "1 to 16"),
            ("coprocessors = 1", "coprocessors = 64", "65 cards"),
            ("coprocessors = 1", "coprocesors = 1", "coprocesors"),
            ("coprocessors = 1", "coprocessors = \"one\"", "expected u32"),
            ("poll = \"adaptive\"", "poll = { every = { interval_us = 0 } }", "interval_us"),
            ("\"/opt/cryptand-card\"", "\"cryptand-card\"", "absolute"),
            ("deaths = 3", "deaths = 17", "at most 16"),
            ("window_s = 600", "window_s = 0", "window_s: 0; allowed are 1"),
            ("first_s = 60", "first_s = 86401", "longer than longest_s"),
        ];
        for (from, to, expected) in cases {
            assert!(good.contains(from), "{good}");
            let error = Settings::from_text(&good.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }
}
