//! Tenants: which queues are theirs, their limits and cards, and changes of these.
//!
//! A tenant is named in the settings. A process is known as a tenant's at attach: by its user, by
//! one of its groups, or by a credential that it shows. A user who may use the home and belongs to
//! no named tenant is a tenant alone, without limits.

use crate::card::{Personality, PollMode};
use crate::level::LevelLimit;
use crate::pattern::LabelRule;
use crate::pin::DecimalisationTable;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Numbers of named tenants have this bit; a tenant without it is a user, by its number.
pub const NAMED_TENANT: u32 = 0x8000_0000;

/// A secret of 32 random bytes that a process shows at its greeting; settings hold its SHA-256.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Credential(pub [u8; 32]);

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credential(..)")
    }
}

/// A tenant, as settings and messages describe it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// Name of the tenant: letters, digits, `-` and `_`, up to
    /// [`crate::bounds::TENANT_NAME_BYTES_MAX`].
    pub name: String,
    /// Number of the tenant, never reused for another one; below [`NAMED_TENANT`].
    pub number: u32,
    /// Names of users whose processes belong to the tenant.
    #[serde(default)]
    pub users: Vec<String>,
    /// Names of groups whose members' processes belong to the tenant.
    #[serde(default)]
    pub groups: Vec<String>,
    /// SHA-256 of the credential that the tenant's processes show, in hexadecimal; none for a
    /// tenant without a credential.
    #[serde(default)]
    pub credential_sha256: Option<String>,
    /// SHA-256 of the former credential while it is being replaced: both credentials are accepted.
    /// None at any other time.
    #[serde(default)]
    pub former_credential_sha256: Option<String>,
    /// Domains that the tenant may use; empty for all.
    #[serde(default)]
    pub domains: Vec<u16>,
    /// Name of the tenant's role; none for a guest's.
    #[serde(default)]
    pub role: Option<String>,
    /// Labels that the tenant may open, and the uses of their keys. Empty: those of its role.
    #[serde(default)]
    pub labels: Vec<LabelRule>,
    /// Limits of the tenant's use of cards.
    #[serde(default)]
    pub limits: Limits,
    /// Cards, or shares of cards, that are dedicated to the tenant. Empty: the tenant shares the
    /// cards that are not dedicated.
    #[serde(default)]
    pub dedicated: Vec<Dedicated>,
    /// Whether the tenant uses shared cards beside its dedicated ones.
    #[serde(default)]
    pub also_shared: bool,
}

impl Tenant {
    /// A tenant without users, with a guest's role, every domain and no limit.
    pub fn new(name: impl Into<String>, number: u32) -> Self {
        Self {
            name: name.into(),
            number,
            users: Vec::new(),
            groups: Vec::new(),
            credential_sha256: None,
            former_credential_sha256: None,
            domains: Vec::new(),
            role: None,
            labels: Vec::new(),
            limits: Limits::default(),
            dedicated: Vec::new(),
            also_shared: false,
        }
    }
}

/// Limits of a tenant's use of cards; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The tenant's weight when tenants take turns on a shared card; 1 is one equal share.
    pub weight: u32,
    /// Requests in flight over all cards, at the most.
    pub in_flight_max: u32,
    /// Requests in flight on one card, at the most.
    pub in_flight_per_card_max: u32,
    /// Requests a second over all cards, at the most.
    pub per_second_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { weight: 1, in_flight_max: 0, in_flight_per_card_max: 0, per_second_max: 0 }
    }
}

/// How a tenant's requests are confined after cards died with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confinement {
    /// The requests are not confined.
    #[default]
    None,
    /// The requests run in passes without other tenants, so that a further death shows whether they
    /// caused it.
    Apart,
    /// The requests are refused: the tenant is in quarantine.
    Refused,
}

/// A tenant that cards have died with, and its confinement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinedRow {
    /// The tenant as grants name it: see [`TenantRow::id`].
    pub tenant: u32,
    /// The tenant's name; for a user who is a tenant alone, the name or number of the user.
    pub name: String,
    /// How the tenant's requests are confined now.
    pub confinement: Confinement,
    /// Deaths of cards that ran requests of this tenant and of nobody else.
    pub deaths: u32,
    /// Deaths of cards that also ran requests of other tenants: they count against nobody.
    pub shared_deaths: u32,
    /// How often the tenant was in quarantine.
    pub quarantines: u32,
    /// When the present confinement began, in seconds since 1970.
    pub since_unix_s: u64,
    /// When the present confinement ends, in seconds since 1970.
    pub until_unix_s: u64,
}

/// A card, or a share of one, that is a tenant's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dedicated {
    /// Index of the card.
    pub card: u32,
    /// Percent of the card's time, 1 to 100. With 100 nobody else attaches to the card. With less,
    /// the tenant gets this much whenever it has work; others get what it leaves unused.
    pub share_percent: u8,
}

/// A tenant of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantRow {
    /// The tenant; for a user who is a tenant alone, a tenant with the name or number of the user.
    pub tenant: Tenant,
    /// The number by which grants and key references name it: a user id, or [`NAMED_TENANT`] and the tenant's number.
    pub id: u32,
    /// The tenant's row in the accounts and in the samples of cards; none if it has had no queue
    /// yet.
    pub account: Option<u32>,
    /// Number of connections of the tenant's processes.
    pub connections: u32,
    /// Number of the tenant's queues.
    pub queues: u32,
}

/// Options of one card; none leaves an option unchanged, or as for all cards of the home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CardChange {
    /// The card's personality.
    pub personality: Option<Personality>,
    /// How the card waits for requests.
    pub poll: Option<PollMode>,
    /// Processors that the card may run on; an empty list for all.
    pub processors: Option<Vec<u32>>,
    /// Highest instruction-set level that the card uses.
    pub level: Option<LevelLimit>,
}

/// A change of cards, tenants or decimalisation tables at run time. The daemon checks a change as a
/// whole, writes it to the settings, and then carries it out. A change that would leave a tenant
/// without a card that it needs is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A new tenant; with number 0 the daemon chooses a number.
    TenantAdd(Tenant),
    /// Replaces all settings of the tenant of this name; its number stays.
    TenantSet(Tenant),
    /// Ends a tenant and its queues.
    TenantRemove {
        /// Name of the tenant.
        name: String,
    },
    /// A new card, at the lowest free index.
    CardAdd(CardChange),
    /// Quiesces a card, wipes its secrets, and starts it again with changed options.
    CardSet {
        /// Index of the card within its home.
        card: u32,
        /// The options that change.
        change: CardChange,
    },
    /// Ends a card for good.
    CardRemove {
        /// Index of the card within its home.
        card: u32,
    },
    /// Has a card finish what it took and take nothing new.
    CardQuiesce {
        /// Index of the card within its home.
        card: u32,
    },
    /// Has a quiesced card serve again.
    CardResume {
        /// Index of the card within its home.
        card: u32,
    },
    /// Stores a decimalisation table: PIN verbs then accept it from every role.
    TableAdd {
        /// The table to store.
        table: DecimalisationTable,
    },
    /// Removes a stored decimalisation table.
    TableRemove {
        /// The table to remove.
        table: DecimalisationTable,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{ClientReply, ClientRequest, decode, encode};
    use crate::pattern::LabelPattern;
    use crate::uses::Uses;

    fn tenant() -> Tenant {
        Tenant {
            name: "web".into(),
            number: 7,
            users: vec!["a".into(), "b".into()],
            groups: vec!["g".into()],
            credential_sha256: Some("00".repeat(32)),
            former_credential_sha256: Some("1".repeat(64)),
            domains: vec![0, 3],
            role: Some("trusted".into()),
            labels: vec![LabelRule { pattern: LabelPattern::every(), uses: Uses::ALL }],
            limits: Limits { weight: 2, in_flight_max: 8, in_flight_per_card_max: 0, per_second_max: 100 },
            dedicated: vec![Dedicated { card: 1, share_percent: 40 }],
            also_shared: true,
        }
    }

    #[test]
    fn every_change_reads_back() {
        let set = CardChange { level: Some(LevelLimit::Avx2), ..CardChange::default() };
        let all = CardChange {
            personality: Some(Personality::Coprocessor),
            poll: Some(PollMode::Every { interval_us: 10 }),
            processors: Some(vec![]),
            level: None,
        };
        let changes = [
            Change::TenantAdd(tenant()),
            Change::TenantSet(tenant()),
            Change::TenantRemove { name: "web".into() },
            Change::CardAdd(CardChange::default()),
            Change::CardAdd(all),
            Change::CardSet { card: 3, change: set },
            Change::CardRemove { card: 1 },
            Change::CardQuiesce { card: 2 },
            Change::CardResume { card: 2 },
            Change::TableAdd { table: DecimalisationTable::DEFAULT },
            Change::TableRemove { table: DecimalisationTable::DEFAULT },
        ];
        for change in changes {
            let request = ClientRequest::Change(change);
            assert_eq!(decode::<ClientRequest>(&encode(&request).unwrap()).unwrap(), request);
        }
        let row =
            TenantRow { tenant: tenant(), id: NAMED_TENANT | 7, account: Some(3), connections: 1, queues: 2 };
        let reply = ClientReply::Tenants(vec![row]);
        assert_eq!(decode::<ClientReply>(&encode(&reply).unwrap()).unwrap(), reply);
    }

    #[test]
    fn a_credential_is_not_printed() {
        assert_eq!(format!("{:?}", Credential([0xAB; 32])), "Credential(..)");
    }
}
