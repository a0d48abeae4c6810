//! Queues: made for a client at a card, watched until one of the two is gone, then released.
//!
//! ```text
//! Asked --the order has gone out, or Attached--> Attached --client is gone--> Detaching --Detached--> none
//!   '--client is gone--> Abandoned --Attached-------------------------------------^
//!                        Adopted --its process is gone----------------------------^
//! any --the card is gone--> none
//! ```
//! The client gets its queue as soon as the order to serve it has been sent to the card, and may put requests there
//! before the card has mapped it: the card looks into a new queue before it sleeps again. If the card refuses the
//! queue, the client finds it ended, and is told why at its next attach there.
//!
//! A queue that its tenant may no longer have is ended while its client uses it. The client sees that in the queue's
//! memory, sends requests that the card had not taken elsewhere, and attaches again.

use super::Daemon;
use crate::access::{
    ADMINISTRATORS_QUEUES, Door, GUEST_QUEUE_BYTES_MAX, GUEST_QUEUES_MAX, GUEST_USER_QUEUE_BYTES_MAX,
    GUESTS_GRANTS_BYTES_MAX, GUESTS_QUEUE_BYTES_MAX,
};
use crate::card_roles::NO_ROLE;
use crate::poller::{Interest, Source};
use crate::rows::RowValue;
use crate::supervise::card::Card;
use crate::supervise::process::Identity;
use crate::tenants::{CredentialMark, mark};
use home::limits::Limited;
use link::{Doorbell, PidFd, QueueMemory, world};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use wire::bounds::{BULK_BLOCKS, QUEUE_SLOTS_DEFAULT, QUEUE_SLOTS_MAX, QUEUES_PER_CARD_MAX};
use wire::control::{CardOrder, ClientReply, QueueBound, QueueMemoryUse, Refusal};
use wire::grant::Grant;
use wire::tenant::Limits;

/// A queue at a card.
pub(super) struct Queue {
    pub(super) card: u32,
    /// The grant for this queue that the card was last sent.
    pub(super) grant: Grant,
    slots: u32,
    /// Length of the grant in the card's message to a later daemon, in bytes.
    grant_bytes: usize,
    /// Length of the queue's memory, in bytes.
    bytes: u64,
    state: State,
    /// The queue's row in the file for a later daemon; `None` if it has none.
    row: Option<u32>,
    /// Whether the queue belongs to an administrator of the home.
    pub(super) is_administrators: bool,
}

impl Queue {
    /// The connection that the queue belongs to; `None` if it has none.
    pub(super) fn client(&self) -> Option<u64> {
        match self.state {
            State::Asked { client, .. } | State::Attached { client, .. } => Some(client),
            _ => None,
        }
    }

    /// How its process was admitted, for a queue whose connection is not known.
    pub(super) fn entry(&self) -> Entry {
        match self.state {
            State::Adopted { entry, .. } => entry,
            _ => Entry::UNKNOWN,
        }
    }

    /// The process of a queue that an earlier daemon handed out; `None` for other queues.
    pub(super) fn adopted_pid(&self) -> Option<u32> {
        match &self.state {
            State::Adopted { owner: Some((identity, _)), .. } => Some(identity.pid),
            _ => None,
        }
    }

    /// Length of the queue's memory, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the queue is ending already.
    pub(super) fn is_ending(&self) -> bool {
        matches!(self.state, State::Abandoned | State::Detaching)
    }
}

/// The memory of a queue, with the descriptors that a card gets of it.
pub(super) struct Ready {
    slots: u32,
    blocks: u32,
    queue: u64,
    memory: QueueMemory,
    for_card: [OwnedFd; 2],
}

impl Ready {
    fn make(slots: u32, blocks: u32, queue: u64) -> io::Result<Self> {
        let memory = QueueMemory::create_with(slots, blocks, queue)?;
        let for_card = memory.for_card()?;
        Ok(Self { slots, blocks, queue, memory, for_card })
    }

    fn is_of(&self, queue: u64, slots: u32, blocks: u32) -> bool {
        (self.queue, self.slots, self.blocks) == (queue, slots, blocks)
    }
}

enum State {
    /// The order to serve it is sent to the card as soon as there is room for it.
    Asked { client: u64, memory: QueueMemory },
    /// As [`State::Asked`], but the client has gone meanwhile.
    Abandoned,
    /// Handed out to this connection. The memory is kept until the card confirms that it serves the queue.
    Attached { client: u64, unconfirmed: Option<QueueMemory> },
    /// Served since before this daemon started, for this process.
    Adopted { owner: Option<(Identity, PidFd)>, entry: Entry },
    /// The card was asked to end it.
    Detaching,
}

/// How the process of a queue was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The credential by which its tenant was determined; none if it was the user or a group.
    pub(super) shown: Option<CredentialMark>,
    is_guest: bool,
}

impl Entry {
    /// The entry of a queue for which no row was found.
    const UNKNOWN: Self = Self { shown: None, is_guest: true };

    /// The socket that the process came through.
    pub(super) fn door(self) -> Door {
        if self.is_guest { Door::Guests } else { Door::Administrators }
    }

    /// Whether the queue is an administrator's; `is_owner` says whether its user is the owner or root.
    fn administers(self, is_owner: bool) -> bool {
        is_owner && !self.is_guest && self.shown.is_none()
    }
}

/// A bound on queues that is reached, and the greatest number that it allows.
#[derive(Clone, Copy, Debug)]
struct Reached {
    bound: QueueBound,
    limit: u64,
}

/// A queue's row in the file for a later daemon: whose the queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QueueRow {
    queue: u64,
    card: u32,
    generation: u64,
    owner: Identity,
    entry: Entry,
    bytes: u64,
}

impl RowValue for QueueRow {
    const BYTES: usize = 64;
}

impl Daemon {
    pub(super) fn attach(
        &mut self,
        client: u64,
        index: u32,
        domain: u16,
        [slots, blocks]: [u32; 2],
    ) -> Result<(), Refusal> {
        if self.stopping {
            return Err(Refusal::Stopping);
        }
        if !slots.is_power_of_two() || slots as usize > QUEUE_SLOTS_MAX {
            return Err(Refusal::Invalid(format!(
                "a queue of {slots} slots; allowed are powers of two up to {QUEUE_SLOTS_MAX}"
            )));
        }
        if blocks as usize > BULK_BLOCKS {
            return Err(Refusal::Invalid(format!(
                "a queue of {blocks} bulk blocks; allowed are up to {BULK_BLOCKS}"
            )));
        }
        self.check_home_domain(domain)?;
        let peer = self.clients.get_mut(&client).ok_or(Refusal::Denied)?;
        if let Some(why) = peer.rejected.take_if(|(card, _)| *card == index).map(|(_, why)| why) {
            return Err(Refusal::Invalid(format!("card {index} refused the queue: {why}")));
        }
        let peer = self.clients.get(&client).ok_or(Refusal::Denied)?;
        let (user, tenant, standing) = (peer.user, peer.tenant(), peer.standing.clone()?);
        let points = self.points_of(peer.who()).ok_or(Refusal::Denied)?;
        let entry =
            Entry { shown: peer.credential.as_ref().map(mark), is_guest: peer.door != Door::Administrators };
        let owner = peer.identity.or_else(|| peer.identify());
        self.check_quarantine(tenant, standing.administers)?;
        self.check_domain(tenant, domain)?;
        self.check_card(tenant, index)?;
        let bytes = QueueMemory::bytes_of(slots, blocks);
        self.check_places(index).map_err(|reached| self.full(tenant, reached))?;
        if !standing.administers {
            self.check_guest_places(index, tenant, user).map_err(|reached| self.full(tenant, reached))?;
            self.check_guest_memory(tenant, user, bytes).map_err(|reached| self.full(tenant, reached))?;
        }
        // A queue that a card claimed and that is being ended may have this number.
        while self.queues.contains_key(&self.next_queue) {
            self.next_queue += 1;
        }
        let queue = self.next_queue;
        let account = self.give_account(tenant).map_err(|refusal| match refusal {
            Refusal::Full { limit, .. } => self.full(tenant, Reached { bound: QueueBound::Tenants, limit }),
            refusal => refusal,
        })?;
        let bare = Grant {
            queue,
            user,
            tenant,
            domain,
            role: NO_ROLE,
            account,
            share_percent: 0,
            confinement: self.confinement(tenant, standing.administers),
            limits: Limits::default(),
        };
        let grant = self.grant(&bare, points, index);
        let completion = self.clients.get(&client).and_then(|client| client.completion.as_ref());
        let spare = self.spare.take().filter(|spare| spare.is_of(queue, slots, blocks));
        let made = spare.map_or_else(|| Ready::make(slots, blocks, queue), Ok).and_then(|ready| {
            let mut for_card = Vec::from(ready.for_card);
            for_card.extend(completion.map(OwnedFd::try_clone).transpose()?);
            Ok((for_card, ready.memory))
        });
        let (for_card, memory) = made.map_err(|error| no_memory(&error))?;
        self.next_queue += 1;
        let state = State::Asked { client, memory };
        let grant_bytes = encoded_bytes(&grant);
        let is_administrators = standing.administers;
        let made = Queue {
            card: index,
            grant: grant.clone(),
            slots,
            grant_bytes,
            is_administrators,
            bytes,
            state,
            row: None,
        };
        self.queues.insert(queue, made);
        // Noted before the card has the queue: whenever this daemon dies, a later one knows whose the queue is.
        if let (Some(owner), Some(card)) = (owner, self.cards.get(&index)) {
            let generation = card.generation;
            self.note_queue(queue, QueueRow { queue, card: index, generation, owner, entry, bytes });
        }
        self.order_card(index, CardOrder::Attach { grant, slots }, for_card);
        if let Some(card) = self.cards.get_mut(&index) {
            card.queues += 1;
        }
        if let Some(peer) = self.clients.get_mut(&client) {
            peer.queues.insert(queue);
        }
        // An order that waits here would be lost with this daemon, and the client would wait for a card that does not
        // know the queue.
        let process = self.cards.get(&index).and_then(|card| card.process.as_ref());
        if process.is_some_and(|process| process.channel.is_empty()) {
            self.hand_over(queue, false);
        }
        // Memory for the next queue, which nobody waits for yet. If it cannot be made now, the client that asks for it
        // is told.
        if self.spare.is_none() {
            self.spare = Ready::make(QUEUE_SLOTS_DEFAULT as u32, 0, self.next_queue).ok();
        }
        Ok(())
    }

    /// The refusal of a queue that a bound keeps a tenant from, counted. Clients go on with the queues that they have,
    /// and say nothing.
    fn full(&mut self, tenant: u32, Reached { bound, limit }: Reached) -> Refusal {
        self.queue_refusals.note(tenant, bound, limit, world::unix_ms());
        Refusal::Full { what: bound.words().into(), limit }
    }

    /// Refuses one more queue on a card that has as many as it may.
    fn check_places(&self, index: u32) -> Result<(), Reached> {
        match self.cards.get(&index) {
            Some(card) if card.queues >= QUEUES_PER_CARD_MAX => {
                Err(Reached { bound: QueueBound::CardQueues, limit: QUEUES_PER_CARD_MAX as u64 })
            }
            _ => Ok(()),
        }
    }

    /// Refuses a guest one more queue on a card if its tenant, its user or all guests have as many as they may:
    /// administrators must find a place.
    fn check_guest_places(&self, index: u32, tenant: u32, user: u32) -> Result<(), Reached> {
        let on_card = || self.queues.values().filter(|queue| queue.card == index);
        let full = |bound, limit: usize| Reached { bound, limit: limit as u64 };
        if on_card().filter(|queue| queue.grant.tenant == tenant).count() >= GUEST_QUEUES_MAX {
            return Err(full(QueueBound::TenantQueues, GUEST_QUEUES_MAX));
        }
        if on_card().filter(|queue| queue.grant.user == user).count() >= GUEST_QUEUES_MAX {
            return Err(full(QueueBound::UserQueues, GUEST_QUEUES_MAX));
        }
        let told: usize =
            on_card().filter(|queue| !queue.is_administrators).map(|queue| queue.grant_bytes).sum();
        if told + GRANT_BYTES_MAX > GUESTS_GRANTS_BYTES_MAX {
            let guests = on_card().filter(|queue| !queue.is_administrators).count();
            return Err(full(QueueBound::GuestsQueues, guests));
        }
        let places = QUEUES_PER_CARD_MAX - ADMINISTRATORS_QUEUES;
        match self.cards.get(&index) {
            Some(card) if card.queues >= places => Err(full(QueueBound::CardQueues, places)),
            _ => Ok(()),
        }
    }

    /// Refuses a guest `bytes` more memory for queues if its tenant, its user or all guests would have too much.
    fn check_guest_memory(&self, tenant: u32, user: u32, bytes: u64) -> Result<(), Reached> {
        let [of_tenant, of_user, of_guests] = self.guest_memory(tenant, user);
        let bounds = [
            (QueueBound::TenantMemory, of_tenant, GUEST_QUEUE_BYTES_MAX),
            (QueueBound::UserMemory, of_user, GUEST_USER_QUEUE_BYTES_MAX),
            (QueueBound::GuestsMemory, of_guests, GUESTS_QUEUE_BYTES_MAX),
        ];
        match bounds.into_iter().find(|(_, taken, limit)| taken + bytes > *limit) {
            None => Ok(()),
            Some((bound, _, limit)) => Err(Reached { bound, limit }),
        }
    }

    /// Memory of the queues of a tenant of guests, of a user of guests, and of all guests, in bytes.
    fn guest_memory(&self, tenant: u32, user: u32) -> [u64; 3] {
        let of_guests = self.queues.values().filter(|queue| !queue.is_administrators);
        of_guests.fold([0; 3], |[of_tenant, of_user, all], queue| {
            let share = |is_its: bool| if is_its { queue.bytes } else { 0 };
            [
                of_tenant + share(queue.grant.tenant == tenant),
                of_user + share(queue.grant.user == user),
                all + queue.bytes,
            ]
        })
    }

    /// The memory of queues as a client's status shows it.
    pub(super) fn queue_memory(&self, client: u64) -> QueueMemoryUse {
        let Some(client) = self.clients.get(&client) else { return QueueMemoryUse::default() };
        let its = self.queues.values().filter(|queue| queue.grant.tenant == client.tenant());
        let [.., guests] = self.guest_memory(client.tenant(), client.user);
        QueueMemoryUse {
            own: its.map(|queue| queue.bytes).sum(),
            tenant_max: GUEST_QUEUE_BYTES_MAX,
            user_max: GUEST_USER_QUEUE_BYTES_MAX,
            guests: if client.sees_all() { guests } else { 0 },
            guests_max: GUESTS_QUEUE_BYTES_MAX,
        }
    }

    /// Refuses a domain that the home does not have.
    fn check_home_domain(&self, domain: u16) -> Result<(), Refusal> {
        let domains = self.settings.cards.domains;
        if domain < domains {
            return Ok(());
        }
        Err(Refusal::Invalid(format!("domain {domain}; this home has the domains 0 to {}", domains - 1)))
    }

    /// Refuses a domain that the home does not have, or that the tenant may not use.
    pub(super) fn check_domain_of(&self, tenant: u32, domain: u16) -> Result<(), Refusal> {
        self.check_home_domain(domain)?;
        self.check_domain(tenant, domain)
    }

    pub(super) fn check_domain(&self, tenant: u32, domain: u16) -> Result<(), Refusal> {
        let Some(named) = self.tenants.by_id(tenant).map(|named| &named.tenant) else { return Ok(()) };
        if named.domains.is_empty() || named.domains.contains(&domain) {
            return Ok(());
        }
        let its: Vec<String> = named.domains.iter().map(ToString::to_string).collect();
        let (name, its) = (&named.name, its.join(", "));
        Err(Refusal::Invalid(format!("domain {domain}: tenant {name} may use the domains {its}")))
    }

    /// Gives a tenant its row in the accounts. If all rows are taken, a row is reused whose tenant has nothing left; as
    /// long as a card has not reported its queues, no tenant counts as such.
    fn give_account(&mut self, tenant: u32) -> Result<u32, Refusal> {
        let is_silent = self.cards.values().any(|card| card.process.is_some() && card.status.is_none());
        let (clients, queues, tenants) = (&self.clients, &self.queues, &self.tenants);
        self.account_rows.give(tenant, |other| {
            is_silent
                || tenants.by_id(other).is_some()
                || clients.values().any(|client| client.tenant() == other)
                || queues.values().any(|queue| queue.grant.tenant == other)
        })
    }

    /// Refuses a card on which no queue of this tenant can be made now.
    fn check_card(&self, tenant: u32, index: u32) -> Result<(), Refusal> {
        let exists = |card: &&Card| card.running_as.is_some() || card.wanted.is_some();
        let card = self.cards.get(&index).filter(exists).ok_or(Refusal::NoSuchCard)?;
        if !self.may_use(tenant, index) {
            return Err(Refusal::NoSuchCard);
        }
        if !self.serves(card) {
            return Err(Refusal::NoCardReady);
        }
        Ok(())
    }

    /// Notes that the card serves a queue from now on, and hands the queue to a client that waits for it.
    pub(super) fn queue_attached(&mut self, number: u64) {
        match self.queues.get_mut(&number).map(|queue| &mut queue.state) {
            Some(State::Asked { .. }) => self.hand_over(number, true),
            Some(State::Attached { unconfirmed, .. }) => *unconfirmed = None,
            Some(State::Abandoned) => self.end(number),
            _ => {}
        }
    }

    /// Gives the client that asked for a queue the client's side of it.
    fn hand_over(&mut self, number: u64, is_served: bool) {
        let Some(queue) = self.queues.get_mut(&number) else { return };
        match std::mem::replace(&mut queue.state, State::Abandoned) {
            State::Asked { client, memory } => {
                let handed = self.hand_out(number, client, &memory);
                if let Some(queue) = self.queues.get_mut(&number)
                    && matches!(queue.state, State::Abandoned)
                {
                    queue.state = State::Attached { client, unconfirmed: (!is_served).then_some(memory) };
                }
                if let Err(refusal) = handed {
                    self.give_back(number);
                    self.refuse(client, refusal);
                }
            }
            other => queue.state = other,
        }
    }

    fn hand_out(&mut self, number: u64, client: u64, memory: &QueueMemory) -> Result<(), Refusal> {
        let Some(queue) = self.queues.get(&number) else { return Err(Refusal::NoCardReady) };
        let (index, slots) = (queue.card, queue.slots);
        let bell = match Doorbell::connect(&self.home.card_doorbell(index)) {
            // No card is behind the doorbell any more: it has died since it took the queue.
            Err(error) if is_unheard(&error) => return Err(Refusal::NoCardReady),
            bell => bell,
        };
        let peer = self.clients.get(&client).map(|peer| (peer.sees_all(), peer.tenant()));
        let may_use =
            |domain| peer.is_some_and(|(all, tenant)| all || self.check_domain(tenant, domain).is_ok());
        let Some((row, descriptors)) = self.cards.get(&index).and_then(|card| {
            let process = card.process.as_ref()?;
            let (status, _) = card.status.as_ref()?;
            let gathered = (|| -> io::Result<Vec<OwnedFd>> {
                let mut descriptors = Vec::from(memory.for_client()?);
                descriptors.push(bell?);
                descriptors.push(status.try_clone()?);
                descriptors.push(process.pidfd.try_clone()?.into_fd());
                Ok(descriptors)
            })();
            Some((card.row(may_use)?, gathered))
        }) else {
            return Err(Refusal::NoCardReady);
        };
        let descriptors = descriptors.map_err(|error| no_memory(&error))?;
        self.reply(client, &ClientReply::Attached { queue: number, card: row, slots }, &descriptors);
        Ok(())
    }

    /// Forgets a queue that the card does not serve, or no longer serves, and lets its client know.
    pub(super) fn queue_rejected(&mut self, number: u64, why: &str) {
        let Some(queue) = self.forget_queue(number) else { return };
        let text = format_args!("card {} refused queue {number}: {why}", queue.card);
        self.strangers.warn(queue.grant.user, None, world::now(), text);
        match queue.state {
            State::Asked { client, .. } => {
                self.refuse(
                    client,
                    Refusal::Invalid(format!("card {} refused the queue: {why}", queue.card)),
                );
            }
            State::Attached { client, unconfirmed } => {
                if let Some(Err(error)) = unconfirmed.map(|memory| memory.end()) {
                    tracing::warn!(queue = number, "its client was not told: {error}");
                    return self.disconnect(client);
                }
                if let Some(client) = self.clients.get_mut(&client) {
                    client.rejected = Some((queue.card, why.to_owned()));
                }
            }
            _ => {}
        }
    }

    /// Forgets a queue that the card has unmapped.
    pub(super) fn queue_detached(&mut self, number: u64) {
        self.forget_queue(number);
    }

    /// Forgets a queue that the card ended because its client broke the rules. The client is disconnected, so that it
    /// does not wait for replies that cannot come.
    pub(super) fn queue_offended(&mut self, number: u64, rule: &str) {
        let Some(queue) = self.forget_queue(number) else { return };
        let text = format_args!("the client of queue {number} at card {} broke a rule: {rule}", queue.card);
        self.strangers.warn(queue.grant.user, None, world::now(), text);
        if let State::Attached { client, .. } = queue.state {
            self.disconnect(client);
        }
    }

    /// Ends a queue whose client is gone.
    pub(super) fn give_back(&mut self, number: u64) {
        match self.queues.get_mut(&number) {
            Some(queue) if matches!(queue.state, State::Asked { .. }) => queue.state = State::Abandoned,
            Some(Queue { state: State::Detaching, .. }) | None => {}
            Some(_) => self.end(number),
        }
    }

    /// Ends a queue that its tenant may no longer have; its client sees that in the queue's memory.
    pub(super) fn withdraw(&mut self, number: u64) {
        if self.queues.get(&number).is_none_or(Queue::is_ending) {
            return;
        }
        let client = self.queues.get(&number).and_then(Queue::client);
        let is_asked = matches!(self.queues.get(&number), Some(Queue { state: State::Asked { .. }, .. }));
        if let Some(client) = client.and_then(|client| self.clients.get_mut(&client)) {
            client.queues.remove(&number);
        }
        self.give_back(number);
        if let (Some(client), true) = (client, is_asked) {
            self.refuse(client, Refusal::NoCardReady);
        }
    }

    /// Sends a card the new grant of a queue, if it differs.
    pub(super) fn regrant(&mut self, number: u64, grant: Grant) {
        let Some(queue) = self.queues.get_mut(&number) else { return };
        if queue.grant != grant && !queue.is_ending() {
            (queue.grant, queue.grant_bytes) = (grant.clone(), encoded_bytes(&grant));
            let index = queue.card;
            self.order_card(index, CardOrder::Regrant { grant }, Vec::new());
        }
    }

    fn end(&mut self, number: u64) {
        let Some(queue) = self.queues.get_mut(&number) else { return };
        let index = queue.card;
        let before = std::mem::replace(&mut queue.state, State::Detaching);
        if let State::Adopted { owner: Some((_, pidfd)), .. } = before {
            self.poller.forget(&pidfd);
        }
        self.order_card(index, CardOrder::Detach { queue: number }, Vec::new());
    }

    /// Forgets the queues of a card whose process is gone, and refuses clients that still wait for one.
    pub(super) fn drop_queues(&mut self, index: u32) {
        let of_card = self.queues.iter().filter(|(_, queue)| queue.card == index);
        let numbers: Vec<u64> = of_card.map(|(number, _)| *number).collect();
        for number in numbers {
            if let Some(State::Asked { client, .. }) = self.forget_queue(number).map(|queue| queue.state) {
                self.refuse(client, Refusal::NoCardReady);
            }
        }
    }

    fn forget_queue(&mut self, number: u64) -> Option<Queue> {
        let queue = self.queues.remove(&number)?;
        self.someone_left = true;
        if let State::Adopted { owner: Some((_, pidfd)), .. } = &queue.state {
            self.poller.forget(pidfd);
        }
        if let State::Asked { client, .. } | State::Attached { client, .. } = queue.state
            && let Some(client) = self.clients.get_mut(&client)
        {
            client.queues.remove(&number);
        }
        if let Some(card) = self.cards.get_mut(&queue.card) {
            card.queues = card.queues.saturating_sub(1);
        }
        if let Some(row) = queue.row {
            self.free_rows.push(row);
            if let Err(error) = self.queue_rows.clear(row) {
                tracing::warn!("the row of queue {number} was not cleared: {error}");
            }
        }
        Some(queue)
    }

    fn note_queue(&mut self, number: u64, noted: QueueRow) {
        let row = self.free_rows.pop().unwrap_or(self.next_row);
        self.next_row = self.next_row.max(row + 1);
        if let Err(error) = self.queue_rows.write(row, &noted) {
            // A later daemon will end the queue; its client then attaches another.
            tracing::warn!("the row of queue {number} was not written: {error}");
        }
        if let Some(queue) = self.queues.get_mut(&number) {
            queue.row = Some(row);
        }
    }

    /// Takes over the queues of a card that an earlier daemon started. A queue whose process is gone is ended. So is a
    /// queue whose process is not known: the earlier daemon ended before it handed the queue out, or could not note it.
    /// In the second case the client finds its queue ended, and attaches another.
    pub(super) fn adopt_queues(&mut self, index: u32, generation: u64, grants: Vec<Grant>) {
        let rows = self.queue_rows.load().unwrap_or_default();
        for grant in grants {
            let known = rows
                .iter()
                .find(|(_, row)| (row.queue, row.card, row.generation) == (grant.queue, index, generation));
            let owner = known.map(|(_, row)| row.owner);
            let alive = owner.and_then(|owner| Some((owner, owner.open()?)));
            let is_gone = alive.is_none();
            if let (Some((row, _)), Some((_, pidfd))) = (known, &alive) {
                let watched = self.poller.watch(pidfd, Source::Owner(*row), Interest::Reading);
                if let Err(error) = watched {
                    tracing::warn!("the owner of queue {} is not watched: {error}", grant.queue);
                }
            }
            let number = grant.queue;
            // A card's claim to a queue that was never noted does not keep an account row for its tenant.
            let is_known = !is_gone && self.account_rows.learn(grant.tenant, grant.account);
            let entry = known.map_or(Entry::UNKNOWN, |(_, row)| row.entry);
            let queue = Queue {
                card: index,
                grant_bytes: encoded_bytes(&grant),
                bytes: known.map_or(0, |(_, row)| row.bytes),
                is_administrators: entry.administers(self.access.is_owner(grant.user)),
                grant,
                slots: 0,
                state: State::Adopted { owner: alive, entry },
                row: known.map(|(row, _)| *row),
            };
            self.queues.insert(number, queue);
            if let Some(card) = self.cards.get_mut(&index) {
                card.queues += 1;
            }
            if !is_known {
                // Its process is gone, or its row in the accounts is another tenant's, or its tenant has another row.
                self.end(number);
            }
        }
        self.review_queues();
        self.clear_rows(Some(index));
    }

    /// Clears the rows of queues that no longer exist: of this card, except adopted queues; or, if no card is given, of
    /// the cards that were not met.
    pub(super) fn clear_rows(&mut self, index: Option<u32>) {
        for (row, noted) in self.queue_rows.load().unwrap_or_default() {
            self.next_row = self.next_row.max(row + 1);
            // Whatever the clock says: a number that a card may still hold is not given again.
            self.next_queue = self.next_queue.max(noted.queue.saturating_add(1));
            let is_stale = match index {
                Some(index) => noted.card == index && !self.queues.contains_key(&noted.queue),
                None => self.cards.get(&noted.card).is_none_or(|card| card.process.is_none()),
            };
            if is_stale && self.queue_rows.clear(row).is_ok() {
                self.free_rows.push(row);
            }
        }
    }

    /// Ends an adopted queue, given by its row, whose process is gone.
    pub(super) fn owner_event(&mut self, row: u32) {
        let owned = self.queues.iter().find(|(_, queue)| queue.row == Some(row)).map(|(number, _)| *number);
        if let Some(number) = owned {
            self.end(number);
        }
    }
}

fn encoded_bytes(grant: &Grant) -> usize {
    wire::control::encode(grant).map_or(GRANT_BYTES_MAX, |bytes| bytes.len())
}

/// Upper bound of a grant's encoding in bytes: a number of ten bytes, seven of five, two of three, and one byte.
const GRANT_BYTES_MAX: usize = 64;

/// Whether an error says that a doorbell has no card behind it, or none yet.
fn is_unheard(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
}

fn no_memory(error: &io::Error) -> Refusal {
    Refusal::Storage { operation: "make the memory of a queue".into(), cause: Limited(error).to_string() }
}
