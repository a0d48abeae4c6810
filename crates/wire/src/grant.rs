//! What a queue may do: decided by the daemon at attach, enforced by the card on every request.

use crate::tenant::{Confinement, Limits};
use serde::{Deserialize, Serialize};

/// The rights and limits of a queue, as the daemon tells them to a card.
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
    /// Number of the queue's role, as [`crate::control::CardOrder::Role`] has told it to the card.
    /// A role that the card was not told permits nothing.
    pub role: u16,
    /// The tenant's row in the accounts and the samples, below [`crate::bounds::TENANTS_MAX`].
    pub account: u32,
    /// Percent of the card's time that are kept for the tenant; 0 if the tenant has no share of
    /// this card.
    pub share_percent: u8,
    /// Whether requests of the queue run beside those of other tenants, in passes of their own, or
    /// not at all.
    pub confinement: Confinement,
    /// The tenant's limits. A limit over all cards is enforced by all of them together, through the
    /// accounts that they share.
    pub limits: Limits,
}
