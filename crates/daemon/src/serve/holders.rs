//! Who holds queues, and who was kept from more of them, as a status shows it.

use super::Daemon;
use super::client::Client;
use crate::queue_refusals::RefusalCount;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use wire::bounds::HOLDERS_LISTED_MAX;
use wire::control::{ProcessQueues, QueueHolders, QueueRefusals};
use wire::tenant::NAMED_TENANT;

/// What a process of a tenant holds.
#[derive(Default)]
struct Held {
    connections: u32,
    queues: u32,
    bytes: u64,
    /// Queues on each card.
    cards: BTreeMap<u32, u32>,
}

impl Daemon {
    /// Processes with queues and refusals of queues: all if the client may see all, otherwise those of its own user in
    /// its own tenant, and that tenant's.
    pub(super) fn queue_holders(&mut self, client: u64) -> QueueHolders {
        let Some(client) = self.clients.get(&client) else { return QueueHolders::default() };
        let (all, own_tenant, own_user) = (client.sees_all(), client.tenant(), client.user);
        let may_see = |tenant, user| all || (tenant, user) == (own_tenant, own_user);
        let mut held: BTreeMap<(u32, u32), Held> = BTreeMap::new();
        for queue in self.queues.values().filter(|queue| may_see(queue.grant.tenant, queue.grant.user)) {
            let pid = match queue.client() {
                Some(client) => self.clients.get(&client).map(|client| client.pid),
                None => queue.adopted_pid(),
            };
            let Some(pid) = pid else { continue };
            let of_process = held.entry((queue.grant.tenant, pid)).or_default();
            of_process.queues += 1;
            of_process.bytes += queue.bytes();
            *of_process.cards.entry(queue.card).or_default() += 1;
        }
        let may_see_client = |client: &&Client| client.greeted && may_see(client.tenant(), client.user);
        for client in self.clients.values().filter(may_see_client) {
            if let Some(of_process) = held.get_mut(&(client.tenant(), client.pid)) {
                of_process.connections += 1;
            }
        }
        let mut held: Vec<_> = held.into_iter().collect();
        held.sort_by_key(|(_, held)| Reverse((held.queues, held.bytes)));
        let unlisted = held.len().saturating_sub(HOLDERS_LISTED_MAX);
        held.truncate(HOLDERS_LISTED_MAX);
        let mut refused = self.queue_refusals.all();
        refused.retain(|(_, tenant, _)| all || *tenant == Some(own_tenant));
        let mut processes = Vec::with_capacity(held.len());
        for ((tenant, pid), held) in held {
            processes.push(ProcessQueues {
                tenant: self.name_of(tenant),
                pid,
                connections: held.connections,
                queues: held.queues,
                cards: u32::try_from(held.cards.len()).unwrap_or(u32::MAX),
                queues_on_one_card: held.cards.values().copied().max().unwrap_or(0),
                memory_bytes: held.bytes,
            });
        }
        let row = |(bound, tenant, count): (_, Option<u32>, RefusalCount)| QueueRefusals {
            tenant: tenant.map(|tenant| self.name_of(tenant)),
            bound,
            limit: count.limit,
            times: count.times,
            last_unix_s: count.last_unix_ms / 1_000,
        };
        let refused = refused.into_iter().map(row).collect();
        QueueHolders { processes, unlisted: u32::try_from(unlisted).unwrap_or(u32::MAX), refused }
    }

    /// The name of a tenant. Users' names are looked up once a minute: a lookup may go to another machine.
    fn name_of(&mut self, tenant: u32) -> String {
        match self.tenants.by_id(tenant) {
            None if tenant < NAMED_TENANT => self.user_names.of(tenant),
            _ => self.tenant_name(tenant),
        }
    }
}
