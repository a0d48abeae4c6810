//! Tenants at work: listing them, and assigning processes again when the settings change.

use super::Daemon;
use super::client::Client;
use super::queues::Entry;
use crate::access::{Door, Standing, group_of};
use crate::rights::Who;
use crate::tenants::{Named, of_user};
use home::share_percent;
use std::collections::{BTreeMap, HashMap};
use wire::control::Refusal;
use wire::grant::Grant;
use wire::point::PointSet;
use wire::tenant::{Limits, NAMED_TENANT, Tenant, TenantRow};

impl Daemon {
    /// Whether a tenant may use a card.
    pub(super) fn may_use(&self, tenant: u32, card: u32) -> bool {
        let named = self.tenants.by_id(tenant).map(|named| &named.tenant);
        (tenant < NAMED_TENANT || named.is_some()) && self.settings.may_use(named, card)
    }

    /// A page of the tenants: all for administrators, only their own for others.
    pub(super) fn tenant_rows(&self, client: u64, after: Option<u32>) -> Vec<TenantRow> {
        let Some(client) = self.clients.get(&client) else { return Vec::new() };
        let mut tenants: BTreeMap<u32, Tenant> = BTreeMap::new();
        let present = self.clients.values().filter(|client| client.greeted).map(Client::tenant);
        for user in present.chain(self.queues.values().map(|queue| queue.grant.tenant)) {
            if user < NAMED_TENANT {
                tenants.entry(user).or_insert_with(|| of_user(user));
            }
        }
        tenants.extend(self.tenants.all().iter().map(|named| (named.id(), named.tenant.clone())));
        if !client.sees_all() {
            tenants.retain(|id, _| *id == client.tenant());
        }
        tenants.retain(|id, _| after.is_none_or(|after| *id > after));
        let mut bytes = 0;
        let rows = tenants.into_iter().map(|(id, tenant)| self.tenant_row(id, tenant));
        rows.take_while(|row| {
            let before = bytes;
            bytes += wire::control::encode(row).map_or(0, |encoded| encoded.len());
            before == 0 || bytes <= PAGE_BYTES_MAX
        })
        .collect()
    }

    fn tenant_row(&self, id: u32, tenant: Tenant) -> TenantRow {
        let connections = self.clients.values().filter(|client| client.greeted && client.tenant() == id);
        let queues = self.queues.values().filter(|queue| queue.grant.tenant == id);
        TenantRow {
            tenant,
            id,
            account: self.account_rows.find(id),
            connections: u32::try_from(connections.count()).unwrap_or(u32::MAX),
            queues: u32::try_from(queues.count()).unwrap_or(u32::MAX),
        }
    }

    /// Ends connections whose rights or tenant have changed since their greeting, except the one that is yet to be
    /// answered (`asking`).
    pub(super) fn review_clients(&mut self, asking: Option<u64>) {
        let mut changed = Vec::new();
        for (id, client) in &mut self.clients {
            let standing = self.access.standing_at(client.door, client.user, client.group);
            if !client.greeted {
                if !matches!(client.standing, Err(Refusal::Full { .. })) {
                    client.standing = standing.ok_or(Refusal::Denied);
                }
                continue;
            }
            let standing = if client.credential.is_some() { Some(Standing::GUEST) } else { standing };
            let administers = standing.is_some_and(|standing| standing.administers);
            let (user, group, shown) = (client.user, client.group, client.credential.as_ref());
            let found = match standing {
                Some(Standing { observes: true, .. }) => Ok(None),
                _ => self.tenants.find_as(administers, user, group, shown),
            };
            let tenant = found.map(|named| named.map_or(client.user, |named| named.id()));
            let is_same = standing == client.standing.as_ref().ok().copied();
            if asking != Some(*id) && (!is_same || tenant != Ok(client.tenant())) {
                changed.push(*id);
            }
        }
        for id in changed {
            if let Some(Client { pid, user, .. }) = self.clients.get(&id) {
                tracing::info!(pid, user, "disconnected: its access or its tenant has changed");
            }
            self.disconnect(id);
        }
    }

    /// Updates the grants of all queues to the settings. A queue that its tenant may no longer have ends; its client
    /// attaches elsewhere.
    pub(super) fn review_queues(&mut self) {
        let numbers: Vec<u64> = self.queues.keys().copied().collect();
        // Accounts are looked up once for each user, not for each queue.
        let mut left = HashMap::new();
        for number in numbers {
            let Some(queue) = self.queues.get(&number) else { continue };
            let before = queue.grant.clone();
            let (card, is_administrators) = (queue.card, queue.is_administrators);
            let who = match queue.client() {
                Some(client) => self.clients.get(&client).map(Client::who),
                None => {
                    let (tenant, user, entry) = (before.tenant, before.user, queue.entry());
                    *left.entry((tenant, user, entry)).or_insert_with(|| self.who_is(tenant, user, entry))
                }
            };
            let points = who.and_then(|who| self.points_of(who));
            let after = points.filter(|_| self.is_granted(before.tenant, before.domain, card));
            match after {
                None => {
                    tracing::info!(queue = number, card, "ended: its tenant may not use it any more");
                    self.withdraw(number);
                }
                Some(points) => {
                    let confinement = self.confinement(before.tenant, is_administrators);
                    let grant = self.grant(&Grant { confinement, ..before }, points, card);
                    self.regrant(number, grant);
                }
            }
        }
        self.revoke_removed();
    }

    /// Whether a queue of a tenant may be in a domain of a card.
    pub(super) fn is_granted(&self, tenant: u32, domain: u16, card: u32) -> bool {
        let domains = self.tenants.by_id(tenant).map(|named| &named.tenant.domains);
        self.may_use(tenant, card)
            && domain < self.settings.cards.domains
            && domains.is_none_or(|domains| domains.is_empty() || domains.contains(&domain))
    }

    /// A grant with the role, share and limits that the settings give it.
    pub(super) fn grant(&mut self, of: &Grant, points: PointSet, card: u32) -> Grant {
        let role = self.role_at(card, points);
        let tenant = self.tenants.by_id(of.tenant).map(|named| &named.tenant);
        Grant {
            role,
            share_percent: tenant.map_or(0, |tenant| share_percent(tenant, card)),
            limits: tenant.map_or_else(Limits::default, |tenant| tenant.limits),
            ..of.clone()
        }
    }

    /// Revokes the opened labels of tenants that were removed.
    pub(super) fn revoke_removed(&mut self) {
        let tenants = &self.tenants;
        let is_gone = |id| id >= NAMED_TENANT && tenants.by_id(id).is_none();
        for open in self.labels.take_tenants(is_gone) {
            self.key_table.revoke(open.reference.slot);
        }
    }

    /// The identity of a process that is known only by its queue; `None` if it may no longer use the home, or would now
    /// belong to another tenant.
    fn who_is(&self, tenant: u32, user: u32, entry: Entry) -> Option<Who> {
        let standing = match entry.door() {
            Door::Administrators => self.access.of_user(user),
            Door::Guests | Door::Observers => self.access.of_user(user).map(|_| Standing::GUEST),
        };
        let (standing, found) = match entry.shown {
            Some(shown) => (Some(Standing::GUEST), Some(self.tenants.marked(shown)?)),
            None => {
                let administers = standing.is_some_and(|standing| standing.administers);
                (standing, self.tenants.find_as(administers, user, group_of(user), None).ok()?)
            }
        };
        let is_its_own = found.map_or(user, Named::id) == tenant;
        standing.filter(|_| is_its_own).map(|standing| Who { tenant, owner: standing.administers })
    }
}

/// Upper bound of the rows of one page, in bytes: half a message, which a single row may exceed.
const PAGE_BYTES_MAX: usize = wire::bounds::CONTROL_BYTES_MAX / 2;
