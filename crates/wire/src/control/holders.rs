//! Who holds queues, and which bounds kept tenants from more of them.

use serde::{Deserialize, Serialize};

/// A bound on queues. None of them is a setting: docs/understand/queues.md says what each of them is, and what makes
/// room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueBound {
    /// Queues of one tenant of guests on one card.
    TenantQueues,
    /// Queues of one user of guests on one card.
    UserQueues,
    /// Queues of all guests on one card, by the length of the message that tells a later daemon of them.
    GuestsQueues,
    /// Queues on one card.
    CardQueues,
    /// Memory of the queues of one tenant of guests.
    TenantMemory,
    /// Memory of the queues of one user of guests.
    UserMemory,
    /// Memory of the queues of all guests.
    GuestsMemory,
    /// Tenants with queues.
    Tenants,
}

impl QueueBound {
    /// Every bound.
    pub const ALL: [Self; 8] = [
        Self::TenantQueues,
        Self::UserQueues,
        Self::GuestsQueues,
        Self::CardQueues,
        Self::TenantMemory,
        Self::UserMemory,
        Self::GuestsMemory,
        Self::Tenants,
    ];

    /// Name of the bound in kebab case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TenantQueues => "tenant-queues",
            Self::UserQueues => "user-queues",
            Self::GuestsQueues => "guests-queues",
            Self::CardQueues => "card-queues",
            Self::TenantMemory => "tenant-memory",
            Self::UserMemory => "user-memory",
            Self::GuestsMemory => "guests-memory",
            Self::Tenants => "tenants",
        }
    }

    /// What there may be no more of, in words for people, as a [`Refusal::Full`](super::Refusal::Full) says it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::TenantQueues => "queues of this tenant on this card",
            Self::UserQueues => "queues of this user on this card",
            Self::GuestsQueues => "queues of guests on this card",
            Self::CardQueues => "queues on this card",
            Self::TenantMemory => {
                "bytes of memory for queues of this tenant, until some of its processes end"
            }
            Self::UserMemory => "bytes of memory for queues of this user, until some of its processes end",
            Self::GuestsMemory => "bytes of memory for queues of all guests, until some of its processes end",
            Self::Tenants => "tenants with queues",
        }
    }

    /// Whether the bound is a number of bytes.
    pub const fn is_memory(self) -> bool {
        matches!(self, Self::TenantMemory | Self::UserMemory | Self::GuestsMemory)
    }
}

/// What one process holds of a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessQueues {
    /// The tenant of its connections; for a user who is a tenant alone, the name or number of the user. A process that
    /// shows several credentials has a row for each tenant.
    pub tenant: String,
    /// Its process id, in the daemon's namespace: 0 for processes that have none there.
    pub pid: u32,
    /// Number of its connections: one, and one for each event loop; 0 while it has not come back to a new daemon.
    pub connections: u32,
    /// Number of its queues.
    pub queues: u32,
    /// Number of cards that it has queues on.
    pub cards: u32,
    /// Number of its queues on the card where it has the most: shares, event loops, and what these attached more.
    pub queues_on_one_card: u32,
    /// Memory of its queues with all their pages touched, in bytes.
    pub memory_bytes: u64,
}

/// How often a bound kept the processes of one tenant from a further queue, since the daemon began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRefusals {
    /// The tenant's name, or the name or number of a user; none for tenants that are no longer counted one by one.
    pub tenant: Option<String>,
    /// The bound.
    pub bound: QueueBound,
    /// The greatest number allowed: of queues, of tenants, or of bytes.
    pub limit: u64,
    /// Number of refusals.
    pub times: u64,
    /// When the last of them was, in seconds since 1970.
    pub last_unix_s: u64,
}

/// Who holds queues, and who was kept from more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueHolders {
    /// Processes with queues, those with the most first, at most [`crate::bounds::HOLDERS_LISTED_MAX`].
    pub processes: Vec<ProcessQueues>,
    /// Number of processes with queues that are not listed.
    pub unlisted: u32,
    /// Refusals by tenant and bound, the latest first.
    pub refused: Vec<QueueRefusals>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_names_and_words_of_their_own() {
        for (at, bound) in QueueBound::ALL.into_iter().enumerate() {
            let others = || QueueBound::ALL[at + 1..].iter();
            assert!(others().all(|other| other.name() != bound.name() && other.words() != bound.words()));
            assert_eq!(bound.is_memory(), bound.words().contains("bytes"));
        }
    }
}
