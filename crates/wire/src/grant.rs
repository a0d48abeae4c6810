//! What a queue may do: decided by the daemon at attach, enforced by the card on every request.

use crate::tenant::{Confinement, Limits};
use serde::{Deserialize, Serialize};

/// What the daemon tells a card about a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Number of the queue within the daemon; names it in orders and samples.
    pub queue: u64,
    /// Real user id of the client.
    pub user: u32,
    /// Tenant that the queue belongs to; key-table entries are bound to it.
    pub tenant: u32,
    /// Domain whose master keys the queue uses, below [`crate::bounds::DOMAINS_MAX`].
    pub domain: u16,
    /// Its role: a number that the card was told of by [`crate::control::CardOrder::Role`]. Under one that it was not
    /// told of, nothing is permitted.
    pub role: u16,
    /// The tenant's row in the accounts and the samples, below [`crate::bounds::TENANTS_MAX`].
    pub account: u32,
    /// Percent of the card's time that are the tenant's own; 0 where it has no part of its own here.
    pub share_percent: u8,
    /// Whether requests of the queue run beside others', in passes of their own, or not at all.
    pub confinement: Confinement,
    /// The tenant's limits. The card enforces those over all cards together with the other cards, over
    /// the accounts that they share.
    pub limits: Limits,
}
