//! What a queue may do: decided by the daemon at attach, enforced by the card on every request.

use crate::tenant::Limits;
use serde::{Deserialize, Serialize};

/// A set of rights; each verb needs one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights(u32);

impl Rights {
    /// No right at all.
    pub const NONE: Self = Self(0);
    /// Verbs that touch no secret key: hashes, token building, public keys, random numbers.
    pub const PUBLIC: Self = Self(1);
    /// Encipher and decipher under secure keys.
    pub const CIPHER: Self = Self(1 << 1);
    /// Make and verify MACs under secure keys.
    pub const MAC: Self = Self(1 << 2);
    /// Generate secure keys.
    pub const GENERATE: Self = Self(1 << 3);
    /// Import keys that are clear on the way in.
    pub const IMPORT_CLEAR: Self = Self(1 << 4);
    /// Import and export keys under transport keys.
    pub const TRANSPORT: Self = Self(1 << 5);
    /// Sign with secure private keys.
    pub const SIGN: Self = Self(1 << 6);
    /// Decipher with secure private keys.
    pub const PKA_DECIPHER: Self = Self(1 << 7);
    /// Clear-key RSA.
    pub const CLEAR_RSA: Self = Self(1 << 8);
    /// Read key records.
    pub const RECORD_READ: Self = Self(1 << 9);
    /// Create, write and delete key records.
    pub const RECORD_WRITE: Self = Self(1 << 10);
    /// Pass key tokens as bytes rather than by label.
    pub const TOKEN_BYTES: Self = Self(1 << 11);
    /// Every right of this list.
    pub const ALL: Self = Self((1 << 12) - 1);

    /// The rights in either set.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every right of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What the daemon tells a card about a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Number of the queue within the daemon; names it in orders and records.
    pub queue: u64,
    /// Real user id of the client.
    pub user: u32,
    /// Tenant that the queue belongs to; key-table entries are bound to it.
    pub tenant: u32,
    /// Domain whose master keys the queue uses, below [`crate::bounds::DOMAINS_MAX`].
    pub domain: u16,
    /// Verbs that the queue may call.
    pub rights: Rights,
    /// The tenant's row in the accounts and the records, below [`crate::bounds::TENANTS_MAX`].
    pub account: u32,
    /// Percent of the card's time that are the tenant's own; 0 where it has no part of its own here.
    pub share_percent: u8,
    /// The tenant's limits. The card enforces those over all cards together with the other cards, over
    /// the accounts that they share.
    pub limits: Limits,
}
