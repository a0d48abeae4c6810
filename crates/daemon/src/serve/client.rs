//! Clients: connections, greetings, and dispatching requests.
//!
//! A connection has one request in progress at a time; meanwhile nothing more is read from it, so
//! that replies come in order and a client that floods it waits only for itself. A client that
//! does not read its replies is disconnected at the first one that finds no room.

use super::Daemon;
use super::audit::Asker;
use super::health::{Audience, Records};
use super::records::{Continuation, Listing};
use crate::access::{
    ADMINISTRATORS_CONNECTIONS, Door, GUEST_CONNECTIONS_MAX, GUEST_USER_CONNECTIONS_MAX, Standing,
};
use crate::audit::{Act, Ended};
use crate::labels::Opener;
use crate::poller::{Happened, Interest, Source};
use crate::rights::{Rights, Who};
use crate::storage::Task;
use crate::store::{Census, Job, Pattern};
use crate::supervise::card::{Card, Phase};
use crate::supervise::process::{self, Identity};
use crate::tenants::{CredentialHash, hash};
use home::StoppedBy;
use home::limits::Limited;
use link::{Channel, ChannelError, Completion, world};
use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wire::bounds::{CONNECTIONS_MAX, LIST_ROWS_MAX};
use wire::control::{
    Apart, CONTROL_VERSION, CardRow, CardState, ClientReply, ClientRequest, MasterKeyName, MessageError,
    OfficerOrder, OfficerReply, Outdated, RecordsOfKey, RecordsUnder, Refusal, RegisterRow, Status, Store,
};
use wire::pin::FailureCount;
use wire::point::Point;
use wire::{Label, Verb, code};

/// A connection of a client, and what the daemon knows of it.
pub(super) struct Client {
    channel: Channel,
    pub(super) pid: u32,
    /// Identity of its process, once determined; see [`Client::identify`].
    pub(super) identity: Option<Identity>,
    pub(super) user: u32,
    pub(super) group: u32,
    /// The socket that it came through.
    pub(super) door: Door,
    /// What the client may do, or the refusal of its first message; a credential lifts a refusal for want of rights.
    pub(super) standing: Result<Standing, Refusal>,
    pub(super) greeted: bool,
    /// SHA-256 of the credential that it showed.
    pub(super) credential: Option<CredentialHash>,
    /// The tenant that its queues belong to: a named one, or its user.
    tenant: u32,
    since: Instant,
    /// Whether a request is under way.
    busy: bool,
    /// The events that its channel is watched for.
    watched: Interest,
    /// The request under way, as an auditor's line names it.
    act: Option<Act>,
    /// Whether the client waits for the end of the daemon.
    pub(super) awaits_stop: bool,
    pub(super) queues: BTreeSet<u64>,
    /// The card that refused the queue last handed out, and its reason.
    pub(super) rejected: Option<(u32, String)>,
    /// The cards' end of its completion socket; `None` unless the client asked for one, as an event loop does.
    pub(super) completion: Option<OwnedFd>,
}

impl Client {
    /// The tenant that its queues belong to.
    pub(super) fn tenant(&self) -> u32 {
        self.tenant
    }

    /// The client as [`crate::rights`] identifies it.
    pub(super) fn who(&self) -> Who {
        Who { tenant: self.tenant, owner: self.administers() && self.credential.is_none() }
    }

    /// Whether the client may administer the home.
    pub(super) fn administers(&self) -> bool {
        self.standing.as_ref().is_ok_and(|standing| standing.administers)
    }

    /// Whether the client is shown what all tenants do.
    pub(super) fn sees_all(&self) -> bool {
        self.standing.as_ref().is_ok_and(|standing| standing.administers || standing.observes)
    }

    /// Whether the client may only observe: its other requests are refused.
    fn only_observes(&self) -> bool {
        self.standing.as_ref().is_ok_and(|standing| standing.observes)
    }

    /// The client as the opener of a label.
    pub(super) fn opener(&self) -> Opener {
        if self.administers() { Opener::Administrator } else { Opener::Guest(Some(self.user)) }
    }

    /// The request that has ended, and the client's identity, for the audit line.
    fn ends(&mut self) -> Option<(Asker, Act)> {
        let (user, pid, tenant) = (self.user, Some(self.pid), self.tenant);
        let asker = Asker { user, pid, tenant, administers: self.administers() };
        Some((asker, self.act.take()?))
    }

    /// The process at the other end, in the form that a later daemon can identify; none if it has ended.
    pub(super) fn identify(&self) -> Option<Identity> {
        // The process id is this process's if the process still lives after its identity was read.
        let alive = self.channel.peer_pidfd().ok()?;
        let identity = Identity::of(self.pid)?;
        (!alive.is_dead()).then_some(identity)
    }
}

impl Daemon {
    pub(super) fn accept(&mut self, door: Door) {
        for _ in 0..ACCEPTS_MAX {
            let channel = match self.doors.accept(door, &mut self.poller) {
                Ok(Some(channel)) => channel,
                Ok(None) => return,
                Err(error) => {
                    // No descriptor left, most likely: the connection stays in the backlog for a while.
                    tracing::warn!("no connection was accepted: {}", Limited(&error));
                    self.doors.close(&mut self.poller);
                    return;
                }
            };
            self.admit(channel, door);
        }
    }

    fn admit(&mut self, channel: Channel, door: Door) {
        let Ok(peer) = channel.peer() else { return };
        let refused = self.clients.values().filter(|client| client.standing.is_err()).count();
        let full =
            |limit: usize| Err(Refusal::Full { what: "client connections".into(), limit: limit as u64 });
        let is_ungreeted = |client: &&Client| client.user == peer.uid && !client.greeted;
        let ungreeted = || self.clients.values().filter(is_ungreeted).count();
        let standing = match self.access.standing_at(door, peer.uid, peer.gid) {
            None => Err(Refusal::Denied),
            Some(_) if self.clients.len() - refused >= CONNECTIONS_MAX => full(CONNECTIONS_MAX),
            Some(guest) if !guest.administers && self.guests() >= GUESTS_CONNECTIONS_MAX => {
                full(GUESTS_CONNECTIONS_MAX)
            }
            Some(guest) if !guest.administers && ungreeted() >= GUEST_CONNECTIONS_MAX => {
                full(GUEST_CONNECTIONS_MAX)
            }
            Some(standing) => Ok(standing),
        };
        if standing.is_err() && (refused >= REFUSED_MAX || ungreeted() >= REFUSED_OF_USER_MAX) {
            return;
        }
        self.next_client += 1;
        let id = self.next_client;
        if let Err(error) = self.poller.watch(&channel, Source::Client(id), Interest::Reading) {
            tracing::warn!("a connection was not watched: {error}");
            return;
        }
        let client = Client {
            channel,
            pid: peer.pid,
            identity: None,
            user: peer.uid,
            group: peer.gid,
            door,
            standing,
            greeted: false,
            credential: None,
            tenant: peer.uid,
            since: world::now(),
            busy: false,
            watched: Interest::Reading,
            act: None,
            awaits_stop: false,
            queues: BTreeSet::new(),
            rejected: None,
            completion: None,
        };
        self.clients.insert(id, client);
    }

    /// Number of connections, not refused, of clients who do not administer the home.
    fn guests(&self) -> usize {
        let is_guest =
            |client: &&Client| client.standing.as_ref().is_ok_and(|standing| !standing.administers);
        self.clients.values().filter(is_guest).count()
    }

    pub(super) fn client_event(&mut self, id: u64, event: Happened) {
        let Some(client) = self.clients.get(&id) else { return };
        if client.busy {
            // Nothing is read while a request is under way; a client that has gone is disconnected.
            if event.closed {
                self.disconnect(id);
            }
            return;
        }
        // One request per turn: no client keeps the others waiting by asking faster.
        match client.channel.try_recv::<ClientRequest>() {
            Ok((request, _unwanted_descriptors)) => self.request(id, request),
            Err(ChannelError::WouldBlock) if !event.closed => {}
            Err(ChannelError::Message(MessageError::Version(version))) if !client.greeted => {
                let refusal = Refusal::Version { daemon: CONTROL_VERSION, client: version };
                self.warn_of(id, format_args!("refused: {refusal}"));
                self.refuse(id, refusal);
                self.disconnect(id);
            }
            Err(error @ (ChannelError::Message(_) | ChannelError::Descriptors)) => {
                self.warn_of(id, format_args!("disconnected: {error}"));
                self.disconnect(id);
            }
            Err(_) => self.disconnect(id),
        }
    }

    fn request(&mut self, id: u64, request: ClientRequest) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.act = Some(Act::of(&request));
        if !client.greeted {
            if let Err(refusal) = self.greet(id, request) {
                // A refusal for want of a right gets an auditor's line instead.
                if refusal != Refusal::Denied {
                    self.warn_of(id, format_args!("refused: {refusal}"));
                }
                self.refuse(id, refusal);
                self.disconnect(id);
            }
            return;
        }
        client.busy = true;
        if let Err(refusal) = self.begin(id, request) {
            self.refuse(id, refusal);
        }
        self.watch_client(id);
    }

    fn greet(&mut self, id: u64, request: ClientRequest) -> Result<(), Refusal> {
        let client = self.clients.get(&id).ok_or(Refusal::Denied)?;
        let ClientRequest::Hello { version, credential, completions } = request else {
            client.standing.clone()?;
            return Err(Refusal::Invalid("the first message of a connection is its greeting".into()));
        };
        if credential.is_none() {
            client.standing.clone()?;
        }
        if version != CONTROL_VERSION {
            return Err(Refusal::Version { daemon: CONTROL_VERSION, client: version });
        }
        let shown = credential.as_ref().map(hash);
        // A credential makes a guest of whoever shows it, and guests come through another socket.
        if shown.is_some() && client.door == Door::Observers {
            return Err(Refusal::Denied);
        }
        let found = match client.only_observes() {
            true => None,
            false => self.tenants.find_as(client.administers(), client.user, client.group, shown.as_ref())?,
        };
        let (tenant, tenant_name) = match found {
            Some(named) => (named.id(), named.tenant.name.clone()),
            None => (client.user, self.user_names.of(client.user)),
        };
        // A client that shows a credential is a guest of its tenant and nothing more, even the home's owner.
        let standing = match client.standing.clone() {
            Ok(_) | Err(Refusal::Denied) if shown.is_some() => Standing::GUEST,
            standing => standing?,
        };
        let of_tenant = |client: &&Client| client.greeted && client.tenant == tenant;
        let connections = self.clients.values().filter(of_tenant).count();
        if !standing.administers && connections >= GUEST_CONNECTIONS_MAX {
            let what = "client connections".into();
            return Err(Refusal::Full { what, limit: GUEST_CONNECTIONS_MAX as u64 });
        }
        let user = client.user;
        let of_user = |client: &&Client| client.greeted && client.user == user && !client.administers();
        if !standing.administers
            && self.clients.values().filter(of_user).count() >= GUEST_USER_CONNECTIONS_MAX
        {
            let what = "client connections of this user".into();
            return Err(Refusal::Full { what, limit: GUEST_USER_CONNECTIONS_MAX as u64 });
        }
        let was_guest = client.standing.as_ref().is_ok_and(|standing| !standing.administers);
        if !standing.administers && !was_guest && self.guests() >= GUESTS_CONNECTIONS_MAX {
            let what = "client connections".into();
            return Err(Refusal::Full { what, limit: GUESTS_CONNECTIONS_MAX as u64 });
        }
        let no_descriptor = |error: std::io::Error| Refusal::Storage {
            operation: "make a completion socket".into(),
            cause: Limited(&error).to_string(),
        };
        let completion = completions.then(Completion::pair).transpose().map_err(no_descriptor)?;
        let (for_client, for_cards) = completion.unzip();
        if let Some(client) = self.clients.get_mut(&id) {
            (client.greeted, client.standing) = (true, Ok(standing));
            (client.tenant, client.credential) = (tenant, shown);
            client.completion = for_cards;
        }
        let who = self.clients.get(&id).map(Client::who).ok_or(Refusal::Denied)?;
        let role = if standing.observes { OBSERVER } else { &self.rights.role(who).name };
        let welcome = ClientReply::Welcome {
            version: CONTROL_VERSION,
            tenant,
            tenant_name,
            role: role.to_owned(),
            insecure_dev: self.settings.development.is_some(),
            tsc_hz: link::tsc_hz(),
        };
        let for_client: Vec<OwnedFd> = for_client.into_iter().map(Completion::into_fd).collect();
        self.reply(id, &welcome, &for_client);
        Ok(())
    }

    /// Begins a request: answers it, or leaves it under way.
    fn begin(&mut self, id: u64, request: ClientRequest) -> Result<(), Refusal> {
        use ClientRequest as R;
        let is_observing = matches!(request, R::Status | R::Tenants { .. } | R::Observe { .. });
        if !is_observing && self.clients.get(&id).is_none_or(Client::only_observes) {
            return Err(Refusal::Denied);
        }
        // Requests under way are finished; new ones are left to the next daemon.
        if (self.stopping || self.replacing.is_some()) && !matches!(request, R::Shutdown { .. }) {
            return Err(Refusal::Stopping);
        }
        if is_of_owner(&request) {
            self.need_owner(id)?;
        }
        match request {
            R::Hello { .. } => Err(Refusal::Invalid("this connection was greeted already".into())),
            R::Attach { card, domain, slots, blocks } => self.attach(id, card, domain, [slots, blocks]),
            R::Call { domain, card, verb, payload } => self.call(id, verb, &payload, (domain, card)),
            // What there is.
            R::Cards => self.tell_cards(id),
            R::Tenants { after } => self.tell(id, &ClientReply::Tenants(self.tenant_rows(id, after))),
            R::Observe { card } => self.tell_samples(id, card),
            R::Status => self.begin_status(id),
            R::Tables => self.tell(id, &ClientReply::Tables(self.settings.pin.tables.clone())),
            R::Failures { after, refused } => {
                self.tell(id, &ClientReply::Failures(self.failure_rows(after, refused)?))
            }
            // Records and their chains.
            R::OpenLabel { label } => self.open_label(id, label),
            R::RecordList { store, pattern, after } => self.begin_list(id, store, &pattern, after),
            R::TokenList { pattern, after, but } => self.token_list(id, &pattern, after, but),
            R::TokenReplace { replacements, lose_keys } => {
                self.need_sealed(lose_keys, "records under them are lost if the keeper ends")?;
                self.token_replace(id, replacements)
            }
            R::ChainRead { label } => self.begin_chain(id, label),
            R::ChainWrite { label, chain } => {
                self.need_labels(id, Verb::PkaKeyRecordWrite, std::iter::once(&label))?;
                self.give(Task::Job(Job::SetChain { label, chain }), Continuation::Reply { client: id })
            }
            // The home.
            R::ClearFailures { digest } => self.clear_failures(id, digest),
            R::Change(change) => self.change(id, change),
            R::Lift { tenant } => {
                self.lift(&tenant)?;
                self.tell(id, &ClientReply::Done)
            }
            R::Upgrade(step) => self.upgrade(id, step),
            R::Reload => self.reload_for(id),
            R::Shutdown { lose_keys } => self.shut_down(id, lose_keys),
            R::Backup { folder } => {
                let folder = PathBuf::from(folder);
                self.give(Task::Backup { folder }, Continuation::BackedUp { client: id })
            }
            R::Officer(order) => self.begin_order(id, order),
        }
    }

    /// Answers a request without descriptors.
    fn tell(&mut self, id: u64, reply: &ClientReply) -> Result<(), Refusal> {
        self.reply(id, reply, &[]);
        Ok(())
    }

    /// The cards that the client's tenant may use.
    fn tell_cards(&mut self, id: u64) -> Result<(), Refusal> {
        let tenant = self.clients.get(&id).map_or(0, Client::tenant);
        let mut rows = self.card_rows(id);
        rows.retain(|row| self.may_use(tenant, row.index));
        self.reply(id, &ClientReply::Cards(rows), &[]);
        // Identified now, while the client has something to do: it is about to attach.
        if let Some(client) = self.clients.get_mut(&id).filter(|client| client.identity.is_none()) {
            client.identity = client.identify();
        }
        Ok(())
    }

    /// The memory of a card's samples, for observers of all tenants: the samples tell of every tenant.
    fn tell_samples(&mut self, id: u64, card: u32) -> Result<(), Refusal> {
        if !self.clients.get(&id).is_some_and(Client::sees_all) {
            return Err(Refusal::Denied);
        }
        let (generation, pages) = self.pages_of(card)?;
        self.reply(id, &ClientReply::Observed { generation }, &pages);
        Ok(())
    }

    fn begin_status(&mut self, id: u64) -> Result<(), Refusal> {
        let sees_all = self.clients.get(&id).is_some_and(Client::sees_all);
        let keys = if sees_all { self.master_keys() } else { Vec::new() };
        let job = Job::Census { keys: keys.clone() };
        self.give(Task::Job(job), Continuation::Status { client: id, keys })
    }

    fn begin_list(
        &mut self,
        id: u64,
        store: Option<Store>,
        pattern: &str,
        after: Option<Label>,
    ) -> Result<(), Refusal> {
        self.need(id, Point::RecordList)?;
        let pattern = Pattern::new(pattern).map_err(|_| Refusal::Verb(code::LABEL_FORMAT))?;
        let asked = Listing { client: id, store, pattern: pattern.clone(), rows: Vec::new() };
        let job = Job::List { store, pattern, after, rows_max: LIST_ROWS_MAX };
        self.give(Task::Job(job), Continuation::List(asked))
    }

    fn begin_chain(&mut self, id: u64, label: Label) -> Result<(), Refusal> {
        let who = self.clients.get(&id).map(Client::who).ok_or(Refusal::Denied)?;
        // As in opening a label: a client without the right does not learn whether the record exists.
        if self.rights.may_open(who, &label).is_none() {
            return Err(Refusal::Verb(code::ACCESS_DENIED));
        }
        self.give(Task::Job(Job::Chain { label }), Continuation::Reply { client: id })
    }

    fn reload_for(&mut self, id: u64) -> Result<(), Refusal> {
        self.reload(Some(id))?;
        self.reply(id, &ClientReply::Done, &[]);
        // The client may now belong to another tenant and be disconnected, so it was answered first.
        self.review_clients(None);
        Ok(())
    }

    fn shut_down(&mut self, id: u64, lose_keys: bool) -> Result<(), Refusal> {
        self.may_end_keeper(lose_keys, "stopping the home loses them")?;
        tracing::info!("stopping: told by a client");
        if let Some(client) = self.clients.get_mut(&id) {
            client.awaits_stop = true;
        }
        self.stop(StoppedBy::Command);
        Ok(())
    }

    /// Begins an order about master keys.
    fn begin_order(&mut self, id: u64, order: OfficerOrder) -> Result<(), Refusal> {
        if !self.keeper.is_serving() {
            return Err(Refusal::NoKeeper);
        }
        if self.service.is_some() {
            return match order {
                OfficerOrder::Registers => {
                    let rows = OfficerReply::Registers(self.keeper.registers.clone());
                    self.tell(id, &ClientReply::Officer(rows))
                }
                _ => Err(Refusal::Invalid(OFFICERS_THEMSELVES.into())),
            };
        }
        match order {
            order if order.needs_sealed() => {
                self.give(Task::Sealed, Continuation::WithSealed { client: id, order })
            }
            order => self.officer(id, order, None),
        }
    }

    pub(super) fn need(&self, id: u64, point: Point) -> Result<(), Refusal> {
        let who = self.clients.get(&id).map(Client::who).ok_or(Refusal::Denied)?;
        if self.rights.role(who).points.permits(point) { Ok(()) } else { Err(Refusal::Denied) }
    }

    /// Refuses a request for which the client's role, or its rights to one of the labels, lack the verb.
    pub(super) fn need_labels<'a>(
        &self,
        id: u64,
        verb: Verb,
        mut labels: impl Iterator<Item = &'a Label>,
    ) -> Result<(), Refusal> {
        let who = self.clients.get(&id).map(Client::who).ok_or(Refusal::Denied)?;
        if labels.all(|label| self.rights.may(who, verb, label)) { Ok(()) } else { Err(Refusal::Denied) }
    }

    fn need_owner(&self, id: u64) -> Result<(), Refusal> {
        if self.clients.get(&id).is_some_and(Client::administers) { Ok(()) } else { Err(Refusal::Denied) }
    }

    /// Refuses requests that were received but not begun, before the connections end, so that no client is in doubt
    /// about its request. From here on, clients' attempts to send fail.
    pub(super) fn refuse_unread(&mut self) {
        let all: Vec<u64> = self.clients.keys().copied().collect();
        for id in all {
            let shut = |client: &Client| rustix::net::shutdown(&client.channel, rustix::net::Shutdown::Read);
            if self.clients.get(&id).is_none_or(|client| client.awaits_stop || shut(client).is_err()) {
                continue;
            }
            for _ in 0..UNREAD_MAX {
                let read = self.clients.get(&id).map(|client| client.channel.try_recv::<ClientRequest>());
                if !matches!(read, Some(Ok(_))) {
                    break;
                }
                self.refuse(id, Refusal::Stopping);
            }
        }
    }

    /// Answers the request under way, and writes its auditor's line.
    pub(super) fn reply(&mut self, id: u64, reply: &ClientReply, descriptors: &[OwnedFd]) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if let Some((asker, act)) = client.ends() {
            self.audit(&asker, &act, &Ended::by(reply));
        }
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.busy = false;
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        match client.channel.try_send(reply, &borrowed) {
            Ok(()) => self.watch_client(id),
            Err(error) => {
                match error {
                    ChannelError::Closed => {}
                    ChannelError::WouldBlock => {
                        self.warn_of(id, format_args!("disconnected: takes no replies"))
                    }
                    error => self.warn_of(id, format_args!("disconnected: {error}")),
                }
                self.disconnect(id);
            }
        }
    }

    /// Logs a warning that a client caused, within the bounds of its user.
    pub(super) fn warn_of(&mut self, id: u64, text: std::fmt::Arguments<'_>) {
        if let Some(client) = self.clients.get(&id) {
            self.strangers.warn(client.user, Some(client.pid), world::now(), text);
        }
    }

    /// Refuses the request under way.
    pub(super) fn refuse(&mut self, id: u64, refusal: Refusal) {
        self.reply(id, &ClientReply::Refused(refusal), &[]);
    }

    fn watch_client(&mut self, id: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let interest = if client.busy { Interest::Closing } else { Interest::Reading };
        if client.watched == interest {
            return;
        }
        client.watched = interest;
        if let Err(error) = self.poller.watch(&client.channel, Source::Client(id), interest) {
            self.warn_of(id, format_args!("disconnected: not watched: {error}"));
            self.disconnect(id);
        }
    }

    /// Ends a connection and gives its queues back.
    pub(super) fn disconnect(&mut self, id: u64) {
        let Some(mut client) = self.clients.remove(&id) else { return };
        self.someone_left = true;
        self.labels.let_go(id);
        if let Some((asker, act)) = client.ends() {
            let how = "not known: who asked has gone".to_owned();
            self.audit(&asker, &act, &Ended { how, denied: false });
        }
        self.poller.forget(&client.channel);
        for queue in client.queues {
            self.give_back(queue);
        }
        self.listen_again();
    }

    pub(super) fn clients_on_time(&mut self, now: Instant) {
        let silent =
            |client: &Client| !client.greeted && now.saturating_duration_since(client.since) >= GREETING_WAIT;
        let silent: Vec<_> =
            self.clients.iter().filter(|(_, client)| silent(client)).map(|(id, _)| *id).collect();
        for id in silent {
            self.disconnect(id);
        }
    }

    /// The cards as a client sees them: administrators see all and their tenants, others the
    /// cards that they may use and their own share of each.
    fn card_rows(&self, client: u64) -> Vec<CardRow> {
        let Some(client) = self.clients.get(&client) else { return Vec::new() };
        let (all, tenant) = (client.sees_all(), client.tenant());
        let name = self.tenants.by_id(tenant).map(|named| named.tenant.name.as_str());
        let may_use = |domain| all || self.check_domain(tenant, domain).is_ok();
        let rows = self.cards.values().filter_map(|card| {
            let row = card.row(may_use)?;
            Some(CardRow { state: self.told_state(card, row.state), ..row })
        });
        rows.filter(|row| all || self.may_use(tenant, row.index))
            .map(|row| {
                let mut dedicated = self.settings.dedicated_to(row.index);
                dedicated.retain(|(of, _)| all || name == Some(of));
                CardRow { dedicated, ..row }
            })
            .collect()
    }

    /// The state of a card as clients are told it. By its own page a card serves once it has tested itself. A client
    /// told so would ask for a queue in vain, again and again, until a slow keeper has handed the card its keys.
    fn told_state(&self, card: &Card, state: CardState) -> CardState {
        match card.phase {
            _ if !state.serves() || self.serves(card) => state,
            Phase::Stopping(_) => CardState::Quiescing,
            _ if card.quiesced => CardState::Quiescing,
            _ => CardState::Created,
        }
    }

    /// Names of the master keys that the keeper hands to cards, sorted, each once.
    fn master_keys(&self) -> Vec<MasterKeyName> {
        let mut keys: Vec<_> = self.keeper.registers.iter().flat_map(RegisterRow::keys).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    pub(super) fn status(&mut self, client: u64, keys: &[MasterKeyName], census: &Census) -> Status {
        let holders = self.queue_holders(client);
        let under = census.under.iter().sum::<u64>() + census.keyless;
        let sees_all = self.clients.get(&client).is_some_and(Client::sees_all);
        let records_under = match sees_all {
            true => RecordsUnder {
                held: keys
                    .iter()
                    .zip(&census.under)
                    .map(|(key, records)| RecordsOfKey { key: *key, records: *records })
                    .collect(),
                elsewhere: census.records.saturating_sub(under),
                keyless: census.keyless,
            },
            false => RecordsUnder::default(),
        };
        let peer = self.clients.get(&client);
        let may_see = |domain| {
            peer.is_some_and(|peer| peer.sees_all() || self.check_domain(peer.tenant(), domain).is_ok())
        };
        let mut registers = self.keeper.registers.clone();
        registers.retain(|row| may_see(row.domain));
        let findings = peer.map_or_else(Vec::new, |peer| {
            self.findings(match sees_all {
                // Before the keeper holds any master key it is not known which records those keys open.
                true => Audience::All(Some(Records {
                    all: census.records,
                    without_key: Some(records_under.elsewhere).filter(|_| !keys.is_empty()),
                })),
                false => Audience::Tenant(peer.tenant()),
            })
        });
        Status {
            daemon_pid: world::pid(),
            keeper_pid: self.keeper.process.as_ref().map(|process| process.identity.pid),
            keeper_isolation: Box::new(self.keeper.isolation.clone()),
            insecure_dev: self.settings.development.is_some(),
            weak_algorithms: self.settings.weak_algorithms,
            daemon_resident_bytes: process::resident_bytes(),
            cards: self.card_rows(client),
            registers,
            records: census.records,
            records_under,
            connections: u32::try_from(self.clients.len()).unwrap_or(u32::MAX),
            queue_memory: self.queue_memory(client),
            holders: Box::new(holders),
            confined: peer.map_or_else(Vec::new, |peer| self.confined_rows(peer.tenant(), peer.sees_all())),
            pin_failures: if sees_all { self.failure_count() } else { FailureCount::default() },
            program_verified: self.program.is_verified(),
            unsealing: self.keeper.unsealing.clone(),
            outdated: if peer.is_some_and(Client::sees_all) { self.outdated() } else { Outdated::default() },
            apart: self.service.as_ref().map(|service| Apart {
                daemon: rustix::process::geteuid().as_raw(),
                keeper: service.users().keeper,
                cards: service.users().cards,
            }),
            findings,
            backup_unix_s: self.backup_unix_s.filter(|_| sees_all),
            space: self.space().filter(|_| sees_all),
        }
    }
}

/// The daemon of a system service refuses officers' orders: it could substitute its own public key for the keeper's.
const OFFICERS_THEMSELVES: &str = "officers of a system service give their orders to its keeper, not through the daemon: run \
    `cryptand master-key` as an officer of the service, without --home";
/// The role name shown to observers; it is not a role of the settings.
const OBSERVER: &str = "observer";
/// Upper bound of the unread requests of a connection that are refused at its end: more than a client sends without an
/// answer.
const UNREAD_MAX: usize = 32;
/// Upper bound of the connections of all guests together.
const GUESTS_CONNECTIONS_MAX: usize = CONNECTIONS_MAX - ADMINISTRATORS_CONNECTIONS;
/// Upper bound of the connections accepted before other events are handled.
const ACCEPTS_MAX: usize = 16;
/// Upper bound of the connections of users who are not named, kept until they show a credential or are refused.
const REFUSED_MAX: usize = 128;
/// Upper bound of such connections of one user.
const REFUSED_OF_USER_MAX: usize = 32;
/// How long a connection may wait with its greeting.
const GREETING_WAIT: Duration = Duration::from_secs(10);

/// Whether a request is for the home's owner alone.
fn is_of_owner(request: &ClientRequest) -> bool {
    use ClientRequest as R;
    match request {
        R::Tables
        | R::Failures { .. }
        | R::ClearFailures { .. }
        | R::Change(_)
        | R::TokenList { .. }
        | R::TokenReplace { .. }
        | R::Lift { .. }
        | R::Upgrade(_)
        | R::Reload
        | R::Shutdown { .. }
        | R::Backup { .. }
        | R::Officer(_) => true,
        R::Hello { .. }
        | R::Attach { .. }
        | R::Tenants { .. }
        | R::Observe { .. }
        | R::Cards
        | R::OpenLabel { .. }
        | R::Call { .. }
        | R::RecordList { .. }
        | R::ChainRead { .. }
        | R::ChainWrite { .. }
        | R::Status => false,
    }
}
