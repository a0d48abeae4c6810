//! Roles at work: sending a queue's role to its card.

use super::Daemon;
use crate::card_roles::NO_ROLE;
use crate::rights::{Rights, Who};
use wire::control::CardOrder;
use wire::point::PointSet;

impl Daemon {
    /// The points of a peer's role; `None` if it permits nothing.
    pub(super) fn points_of(&self, who: Who) -> Option<PointSet> {
        let points = self.rights.role(who).points;
        (!points.permits_nothing()).then_some(points)
    }

    /// The number of a set of points at a card; the set is sent to the card first if the card does not know it.
    pub(super) fn role_at(&mut self, index: u32, points: PointSet) -> u16 {
        let Some(card) = self.cards.get(&index) else { return NO_ROLE };
        let queues = self.queues.values();
        let used = || queues.filter(|queue| queue.card == index).map(|queue| queue.grant.role).collect();
        let roles = self.card_roles.entry(index).or_default();
        let numbered = roles.number(card.generation, points, used);
        if numbered.number == NO_ROLE {
            tracing::error!(card = index, "no role is free; nothing is permitted to the queue");
        }
        if numbered.is_new {
            let role = wire::role::Role { number: numbered.number, points };
            self.order_card(index, CardOrder::Role(role), Vec::new());
        }
        numbered.number
    }
}
