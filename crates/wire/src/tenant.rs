//! Tenants: whose queues are whose, what each may use of the cards, and how that is changed.
//!
//! A tenant is named in the settings and met at attach: by the user or a group of the process, or by a
//! credential that it shows. A user who may use the home and belongs to no named tenant is a tenant of
//! its own, without limits.

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
    /// Its name: letters, digits, `-` and `_`, up to [`crate::bounds::TENANT_NAME_BYTES_MAX`].
    pub name: String,
    /// Its number, never reused for another tenant; below [`NAMED_TENANT`].
    pub number: u32,
    /// User names whose processes belong to it.
    #[serde(default)]
    pub users: Vec<String>,
    /// Group names whose members' processes belong to it.
    #[serde(default)]
    pub groups: Vec<String>,
    /// SHA-256 of the credential that its processes show, in hexadecimal; none where it has none.
    #[serde(default)]
    pub credential_sha256: Option<String>,
    /// SHA-256 of the credential before that one, while it is replaced: both let processes in. None where there is one
    /// at the most.
    #[serde(default)]
    pub former_credential_sha256: Option<String>,
    /// Domains that it may use; empty for all.
    #[serde(default)]
    pub domains: Vec<u16>,
    /// Name of its role; none for a guest's.
    #[serde(default)]
    pub role: Option<String>,
    /// Labels that it may open. Empty: those of its role.
    #[serde(default)]
    pub labels: Vec<LabelRule>,
    /// What it may use of the cards.
    #[serde(default)]
    pub limits: Limits,
    /// Its dedicated cards, or shares of cards. Empty: it shares the cards that are not dedicated.
    #[serde(default)]
    pub dedicated: Vec<Dedicated>,
    /// Whether it uses shared cards beside those of its own.
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

/// What a tenant may use of the cards; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Share in turns against other tenants of a shared card; 1 is one equal share.
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
    /// They are not.
    #[default]
    None,
    /// They run in passes of their own tenant, so that a further death shows whether they caused it.
    Apart,
    /// They are refused: the tenant is in quarantine.
    Refused,
}

/// A tenant that cards have died with, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinedRow {
    /// What grants name the tenant by.
    pub tenant: u32,
    /// Its name; of a tenant that is only a user, the user's name or number.
    pub name: String,
    /// What its requests are held to now.
    pub confinement: Confinement,
    /// Deaths of cards that ran requests of this tenant and of nobody else.
    pub deaths: u32,
    /// Deaths of cards that ran requests of others as well: they count against nobody.
    pub shared_deaths: u32,
    /// Times that it was in quarantine.
    pub quarantines: u32,
    /// Since when it is held to that, in seconds since 1970.
    pub since_unix_s: u64,
    /// Until when.
    pub until_unix_s: u64,
}

/// A card, or a share of one, that is a tenant's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dedicated {
    /// Index of the card.
    pub card: u32,
    /// Percent of the card's time, 1 to 100. 100: nobody else attaches to it. Less: that much whenever
    /// the tenant has work; what it leaves unused goes to the others.
    pub share_percent: u8,
}

/// A tenant of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantRow {
    /// The tenant; of one that is only a user, with the user's name or number.
    pub tenant: Tenant,
    /// The number by which grants and key references name it: a user id, or [`NAMED_TENANT`] and the tenant's number.
    pub id: u32,
    /// Its row in the accounts and in the samples of cards; none while it has had no queue.
    pub account: Option<u32>,
    /// Connections of its processes.
    pub connections: u32,
    /// Its queues.
    pub queues: u32,
}

/// Options of one card; none leaves an option unchanged, or as for all cards of the home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CardChange {
    /// What it is for.
    pub personality: Option<Personality>,
    /// How it waits.
    pub poll: Option<PollMode>,
    /// Processors that it may run on; an empty list for all.
    pub processors: Option<Vec<u32>>,
    /// Highest instruction-set level.
    pub level: Option<LevelLimit>,
}

/// A change of cards, tenants or decimalisation tables at run time. It is checked as a whole, written to the settings,
/// and then carried out; a change that would leave a tenant without a card that it needs is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A new tenant; its number is given by the daemon where it is 0.
    TenantAdd(Tenant),
    /// All of a tenant anew, by its name; the number stays.
    TenantSet(Tenant),
    /// Ends a tenant and its queues.
    TenantRemove {
        /// Its name.
        name: String,
    },
    /// A new card, at the lowest free index.
    CardAdd(CardChange),
    /// Quiesces a card, wipes it, and starts it again as asked.
    CardSet {
        /// Its index.
        card: u32,
        /// What changes.
        change: CardChange,
    },
    /// Ends a card for good.
    CardRemove {
        /// Its index.
        card: u32,
    },
    /// Has a card finish what it took and take nothing new.
    CardQuiesce {
        /// Its index.
        card: u32,
    },
    /// Has a quiesced card serve again.
    CardResume {
        /// Its index.
        card: u32,
    },
    /// Stores a decimalisation table: PIN verbs take it from every role.
    TableAdd {
        /// The table.
        table: DecimalisationTable,
    },
    /// Takes a stored decimalisation table away.
    TableRemove {
        /// The table.
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
