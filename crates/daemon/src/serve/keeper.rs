//! The keeper: starting and adopting it, forwarding officers' orders to it, restarting it when it dies.

use super::Daemon;
use super::cards::{ADOPT_WAIT, KILL_WAIT, START_WAIT, STOP_WAIT};
use super::records::Continuation;
use crate::outbox::Outbox;
use crate::poller::{Happened, Interest, Source};
use crate::storage::Task;
use crate::supervise::backoff::End;
use crate::supervise::card::{Card, Phase, ProcessRow, Running};
use crate::supervise::keeper::{Ask, Changes, Ordered, Spreading};
use crate::supervise::process::{Identity, is_stopped};
use link::{Channel, ChannelError, Listener, world};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use wire::bounds::CARDS_MAX;
use wire::control::{
    CONTROL_VERSION, ClientReply, KeeperNotice, KeeperOrder, OfficerOrder, OfficerReply, Personality,
    Refusal, RegisterRow, Served, Unattended, Unseal, Unsealing,
};

/// The keeper's row in the file of processes.
pub(super) const KEEPER_ROW: u32 = CARDS_MAX as u32;

impl Daemon {
    /// Stops a keeper whose specification is not what the settings ask for, so that it is replaced.
    pub(super) fn want_keeper(&mut self) {
        let fits = self.keeper.running_as.is_none_or(|running| running == self.keeper.wanted);
        if !fits && matches!(self.keeper.phase, Phase::Starting(_) | Phase::Serving) {
            tracing::warn!(
                "the keeper is replaced, since domains or seed changed; a secure home needs unsealing"
            );
            self.stop_keeper();
        }
    }

    pub(super) fn stop_keeper(&mut self) {
        if self.service.is_some() {
            // The keeper of a service is not the daemon's to stop: only the connection to it ends.
            self.lose_keeper(world::now());
        }
        if self.keeper.process.is_none() {
            self.keeper.phase = Phase::Down(None);
            return;
        }
        self.keeper.phase = Phase::Stopping(world::now() + STOP_WAIT);
        if let Some(process) = &mut self.keeper.process {
            process.channel.send(KeeperOrder::Stop, Vec::new());
        }
        self.watch_keeper();
    }

    pub(super) fn keeper_on_time(&mut self, now: Instant) {
        if self.keeper.is_serving() && !self.keeper.asks.is_empty() && now >= self.keeper.asked + ANSWER_WAIT
        {
            self.keeper.asked = now;
            return self.kill_keeper("it does not answer", now);
        }
        if self.keeper.phase.due().is_none_or(|at| at > now) {
            return;
        }
        if let Phase::Down(_) = self.keeper.phase {
            self.start_keeper(now);
        } else {
            self.kill_keeper("it does not answer", now);
        }
    }

    pub(super) fn kill_keeper(&mut self, why: &str, now: Instant) {
        let Some(process) = &self.keeper.process else { return };
        if self.service.is_some() {
            tracing::warn!(pid = process.identity.pid, "keeper left: {why}");
            return self.lose_keeper(now);
        }
        tracing::warn!(pid = process.identity.pid, "keeper killed: {why}");
        if let Err(error) = process.pidfd.kill() {
            tracing::error!("keeper not killed: {error}");
        }
        self.keeper.phase = match self.keeper.phase {
            Phase::Starting(_) => Phase::Starting(now + KILL_WAIT),
            Phase::Adopting(_) => Phase::Adopting(now + KILL_WAIT),
            Phase::Stopping(_) => Phase::Stopping(now + KILL_WAIT),
            other => other,
        };
    }

    fn start_keeper(&mut self, now: Instant) {
        if self.service.is_some() {
            if let Err(error) = self.join_keeper(now) {
                let wait = self.keeper.backoff.after(End::AT_START, now).min(now + JOIN_WAIT_MAX);
                tracing::warn!("the keeper of the service is not reached: {error}");
                self.keeper.phase = Phase::Down(Some(wait));
            }
            return;
        }
        self.keeper.generation += 1;
        if let Err(error) = self.spawn_keeper(now) {
            tracing::error!("keeper not started: {error}");
            self.keeper.phase = Phase::Down(Some(self.keeper.backoff.after(End::AT_START, now)));
        }
    }

    fn spawn_keeper(&mut self, now: Instant) -> io::Result<()> {
        let wanted = self.keeper.wanted;
        let listener = Listener::bind(&self.home.keeper_listener())?;
        let (ours, theirs) = Channel::pair()?;
        let log = self.home.logs().join("keeper.log");
        let child = self.program.start(&["--keeper"], theirs.into_fd(), self.settings.cards.level, &log)?;
        let (identity, pidfd) =
            self.watch_child(child, &ours, [Source::KeeperChannel, Source::KeeperProcess])?;
        let generation = self.keeper.generation;
        let row = ProcessRow {
            identity,
            generation,
            card: None,
            keeper: Some(wanted),
            keeper_generation: generation,
            restarts: 0,
            program: self.program.mark(),
        };
        self.keeper.program = row.program;
        if let Err(error) = self.process_rows.write(KEEPER_ROW, &row) {
            tracing::warn!("a later daemon will not find the keeper: {error}");
        }
        tracing::info!(pid = identity.pid, generation, "keeper started");
        let channel = Outbox::new(ours);
        self.keeper.process = Some(Running::new(identity, pidfd, channel, now));
        self.keeper.running_as = Some(wanted);
        let (unattended, credential) = self.unattended();
        // Deriving the key takes as long as an officer's unsealing does.
        let wait = if credential.is_some() { ANSWER_WAIT } else { START_WAIT };
        self.keeper.trying = credential.is_some();
        self.keeper.phase = Phase::Starting(now + wait);
        let order = KeeperOrder::Start {
            version: CONTROL_VERSION,
            domains: wanted.domains,
            insecure_seed: wanted.insecure_seed,
            service: false,
            unattended,
        };
        let descriptors = std::iter::once(listener.into_fd()).chain(credential).collect();
        self.keeper.order(order, descriptors, Ask::Ready, now);
        Ok(())
    }

    /// The means by which a keeper that starts now unseals itself. If the attempt before ended the keeper, for want of
    /// memory, say, the next one stays sealed: otherwise the keeper would be started again and again.
    fn unattended(&self) -> (Option<Unattended>, Option<OwnedFd>) {
        if self.settings.unseal == Unseal::Attended || self.settings.development.is_some() {
            return (None, None);
        }
        if self.keeper.trying {
            let why = "the attempt before this one ended the keeper: is there memory for it (MemoryMax= of the unit)?";
            return (Some(Unattended::Nothing(why.to_owned())), None);
        }
        let (unattended, credential) = crate::unattended::find(&self.home.sealed_registers());
        (Some(unattended), credential)
    }

    fn note_unsealing(&mut self, unsealing: Unsealing) {
        if unsealing == self.keeper.unsealing {
            return;
        }
        match &unsealing {
            Unsealing::Attended => {}
            Unsealing::Unattended => tracing::info!("the keeper has unsealed itself, by the credential"),
            Unsealing::Failed(why) => {
                tracing::warn!(
                    "SEALED: the keeper has not unsealed itself: {why}; `cryptand unseal` does it"
                );
            }
        }
        self.keeper.unsealing = unsealing;
    }

    /// Connects to the keeper of the service, which then reports what it holds.
    fn join_keeper(&mut self, now: Instant) -> io::Result<()> {
        let Some(service) = &self.service else { return Ok(()) };
        let channel = service.meet_keeper()?;
        let pidfd = channel.peer_pidfd()?;
        let identity = Identity::of(channel.peer()?.pid).ok_or(io::ErrorKind::NotFound)?;
        self.poller.watch(&channel, Source::KeeperChannel, Interest::Reading)?;
        let rows = self.process_rows.load().unwrap_or_default();
        let before = rows.iter().find(|(index, _)| *index == KEEPER_ROW).map(|(_, row)| row.identity);
        if before != Some(identity) || self.keeper.generation == 0 {
            self.keeper.generation += 1;
        }
        let generation = self.keeper.generation;
        let row = ProcessRow {
            identity,
            generation,
            card: None,
            keeper: None,
            keeper_generation: generation,
            restarts: 0,
            program: None,
        };
        if let Err(error) = self.process_rows.write(KEEPER_ROW, &row) {
            tracing::warn!("a later daemon will take the keeper for another one: {error}");
        }
        tracing::info!(pid = identity.pid, generation, "keeper of the service met");
        self.keeper.process = Some(Running::new(identity, pidfd, Outbox::new(channel), now));
        self.keeper.phase = Phase::Adopting(now + ADOPT_WAIT);
        Ok(())
    }

    /// Drops the connection to the keeper of the service, to connect again later.
    fn lose_keeper(&mut self, now: Instant) {
        if let Some(process) = &self.keeper.process {
            self.poller.forget(&process.channel);
        }
        self.keeper.note_end(None, now);
        if self.stopping {
            self.keeper.phase = Phase::Down(None);
        }
    }

    /// Takes a report of the service's keeper, which it sends at first and after each change.
    fn keeper_shows(&mut self, registers: Vec<RegisterRow>, cards: Vec<(Served, bool)>, now: Instant) {
        let holds_any = !registers.is_empty();
        self.keeper.registers = registers;
        self.meet_served(cards);
        if let Phase::Adopting(_) = self.keeper.phase {
            self.keeper.phase = Phase::Serving;
            if let Some(process) = &mut self.keeper.process {
                process.serving = Some(now);
            }
            let waits = |card: &&mut Card| {
                let wanted = card.wanted.as_ref();
                wanted.is_some_and(|of| of.personality == Personality::Coprocessor)
                    && matches!(card.phase, Phase::Down(Some(_)))
            };
            self.cards.values_mut().filter(waits).for_each(|card| card.phase = Phase::Down(Some(now)));
        }
        // A card that an earlier keeper gave nothing never gets anything.
        let current = self.keeper.generation;
        let is_lost = |card: &&Card| {
            let runs = matches!(card.phase, Phase::Starting(_) | Phase::Serving) && card.process.is_some();
            runs && ![0, current].contains(&card.keeper_generation) && !card.is_served
        };
        let lost: Vec<u32> = self.cards.values().filter(is_lost).map(|card| card.index).collect();
        lost.into_iter().for_each(|index| self.stop_card(index));
        // A card of an earlier keeper gets no changes: it is replaced once this keeper holds any keys.
        if holds_any && self.renewals.is_empty() {
            self.renew_cards();
        }
    }

    /// Connects to the keeper that an earlier daemon started, to adopt it; kills the keeper if that fails.
    pub(super) fn meet_keeper(&mut self, row: &ProcessRow, now: Instant) {
        let Some(pidfd) = row.identity.open() else { return };
        let pid = row.identity.pid;
        let met = (|| -> io::Result<Channel> {
            let channel = Channel::connect(&self.home.keeper_listener())?;
            self.poller.watch(&channel, Source::KeeperChannel, Interest::Reading)?;
            self.poller.watch(&pidfd, Source::KeeperProcess, Interest::Reading)?;
            Ok(channel)
        })();
        match met {
            Ok(channel) => {
                tracing::info!(pid, "keeper met");
                let (identity, channel) = (row.identity, Outbox::new(channel));
                self.keeper.process = Some(Running::new(identity, pidfd, channel, now));
                self.keeper.running_as = row.keeper;
                self.keeper.program = row.program;
                let until = if is_stopped(pid) { now } else { now + ADOPT_WAIT };
                self.keeper.phase = Phase::Adopting(until);
                self.keeper.order(KeeperOrder::Adopt, Vec::new(), Ask::Ready, now);
            }
            Err(error) => {
                tracing::warn!(pid, "keeper killed: not met: {error}");
                self.poller.forget(&pidfd);
                let _ = pidfd.kill();
                let _ = pidfd.wait_dead(Some(KILL_WAIT));
            }
        }
    }

    /// Orders the keeper to hand the registers to a coprocessor that starts, at once or when the keeper is ready.
    pub(super) fn serve_card(&mut self, index: u32, end: OwnedFd, now: Instant) {
        if !self.keeper.is_serving() {
            self.keeper.awaiting.push((index, end));
            return;
        }
        let keeper = self.keeper.generation;
        let Some(card) = self.cards.get_mut(&index) else { return };
        card.keeper_generation = keeper;
        let served = Served { card: index, generation: card.generation };
        self.note_card(index);
        self.keeper.order(KeeperOrder::Serve(served), vec![end], Ask::Serve, now);
        self.watch_keeper();
    }

    /// Passes an officer's order on to the keeper. An order to set master keys waits until cards of an earlier keeper
    /// are replaced.
    pub(super) fn officer(
        &mut self,
        client: u64,
        order: OfficerOrder,
        sealed_registers: Option<Vec<u8>>,
    ) -> Result<(), Refusal> {
        if !self.keeper.is_serving() {
            return Err(Refusal::NoKeeper);
        }
        if self.keeper.asks.len() >= ASKS_MAX {
            let what = "orders that wait for the keeper".into();
            return Err(Refusal::Full { what, limit: ASKS_MAX as u64 });
        }
        let ordered = Ordered { client, order, sealed_registers };
        if matches!(ordered.order, OfficerOrder::Set { .. }) && self.strangers().next().is_some() {
            if self.keeper.held.is_some() {
                return Err(Refusal::Invalid("another officer sets master keys".into()));
            }
            // Those cards would not get the new key, and would refuse tokens that others wrap under it.
            self.keeper.held = Some(ordered);
            self.renew_cards();
            return Ok(());
        }
        self.pass_on(ordered);
        Ok(())
    }

    fn pass_on(&mut self, Ordered { client, order, sealed_registers }: Ordered) {
        let ask = Ask::Officer { client, changes: Changes::of(&order) };
        let seal_memory_mib = self.settings.seal_memory_mib;
        let order = KeeperOrder::Officer { order, sealed_registers, seal_memory_mib, officer: None };
        self.keeper.order(order, Vec::new(), ask, world::now());
        self.watch_keeper();
    }

    /// Running coprocessors that got their keys from an earlier process of the keeper: they do not get changes.
    fn strangers(&self) -> impl Iterator<Item = u32> {
        let current = self.keeper.generation;
        let is_strange = move |card: &&Card| card.is_of_another_keeper(current);
        self.cards.values().filter(is_strange).map(|card| card.index)
    }

    /// Passes on the order that waited, once no card is left that would not get the change.
    pub(super) fn settle_keeper(&mut self) {
        if self.keeper.held.is_some()
            && self.strangers().next().is_none()
            && let Some(ordered) = self.keeper.held.take()
        {
            self.pass_on(ordered);
        }
    }

    pub(super) fn keeper_channel_event(&mut self, event: Happened) {
        for _ in 0..NOTICES_MAX {
            let Some(process) = &mut self.keeper.process else { return };
            let is_joined = self.service.is_some();
            if event.writable {
                process.channel.flush();
            }
            match process.channel.receive::<KeeperNotice>() {
                Ok((notice, _)) => self.keeper_notice(notice),
                Err(ChannelError::WouldBlock) => break,
                Err(ChannelError::Closed) if is_joined => {
                    tracing::warn!("the keeper of the service is gone; cards keep their keys");
                    return self.lose_keeper(world::now());
                }
                Err(ChannelError::Closed) => {
                    self.poller.forget(&process.channel);
                    process.closed.get_or_insert_with(world::now);
                    return;
                }
                Err(error) => {
                    self.kill_keeper(&error.to_string(), world::now());
                    return;
                }
            }
        }
        self.watch_keeper();
    }

    fn watch_keeper(&mut self) {
        let Some(process) = &mut self.keeper.process else { return };
        if process.closed.is_some() {
            return;
        }
        if process.channel.is_broken() {
            return self.kill_keeper("it takes no orders", world::now());
        }
        let interest = if process.channel.is_waiting() { Interest::Both } else { Interest::Reading };
        if std::mem::replace(&mut process.watched, interest) == interest {
            return;
        }
        if let Err(error) = self.poller.watch(&process.channel, Source::KeeperChannel, interest) {
            self.kill_keeper(&format!("its channel is not watched: {error}"), world::now());
        }
    }

    fn keeper_notice(&mut self, notice: KeeperNotice) {
        let now = world::now();
        let notice = match notice {
            KeeperNotice::Holds(served) => return self.card_holds(served),
            KeeperNotice::Spread { domain } => return self.keys_spread(domain),
            KeeperNotice::Lagging(cards) => return self.cards_lag(&cards, now),
            KeeperNotice::Ready { isolation, registers, cards, unsealing } if self.service.is_some() => {
                self.keeper.isolation = isolation;
                self.note_unsealing(unsealing);
                return self.keeper_shows(registers, cards, now);
            }
            answer => answer,
        };
        match (self.keeper.answered(now), notice) {
            (Some(Ask::Ready), KeeperNotice::Ready { isolation, registers, cards, unsealing }) => {
                self.keeper.trying = false;
                self.note_unsealing(unsealing);
                tracing::info!(missing = ?isolation.missing, registers = registers.len(), "keeper ready");
                self.keeper.isolation = isolation;
                self.keeper.registers = registers;
                self.meet_served(cards);
                if matches!(self.keeper.phase, Phase::Starting(_) | Phase::Adopting(_)) {
                    self.keeper.phase = Phase::Serving;
                    if let Some(process) = &mut self.keeper.process {
                        process.serving = Some(now);
                    }
                }
                self.want_keeper();
                for (index, end) in std::mem::take(&mut self.keeper.awaiting) {
                    self.serve_card(index, end, now);
                }
            }
            // The card counts as served when it holds the keys that it is handed (`Holds`).
            (Some(Ask::Serve), KeeperNotice::Done) => {}
            (Some(Ask::Officer { client, changes }), KeeperNotice::Officer { reply, store, spreads }) => {
                self.officer_reply(client, changes, reply, store, spreads);
            }
            (Some(Ask::Refresh { client, reply }), KeeperNotice::Officer { reply: registers, .. }) => {
                if let OfficerReply::Registers(rows) = registers {
                    self.keeper.registers = rows;
                }
                self.reply(client, &reply, &[]);
            }
            (ask, _) => {
                if let Some(client) = ask.as_ref().and_then(Ask::client) {
                    self.refuse(client, Refusal::NoKeeper);
                }
                self.kill_keeper("it answers what was not asked", now);
            }
        }
    }

    /// The card that the keeper names, if its process is still the same.
    fn served(&mut self, served: Served) -> Option<&mut Card> {
        self.cards
            .get_mut(&served.card)
            .filter(|card| card.generation == served.generation && card.process.is_some())
    }

    fn card_holds(&mut self, served: Served) {
        if let Some(card) = self.served(served) {
            card.is_served = true;
        }
    }

    /// Compares the cards that an adopted keeper is connected to with the adopted cards. The two may differ: an earlier
    /// daemon may have ended before its order reached the keeper.
    fn meet_served(&mut self, cards: Vec<(Served, bool)>) {
        for (served, holds) in &cards {
            if *holds {
                self.card_holds(*served);
            }
        }
        self.keeper.cards = cards.into_iter().map(|(served, _)| served).collect();
        let indexes: Vec<u32> = self.cards.keys().copied().collect();
        indexes.into_iter().for_each(|index| self.check_served(index));
    }

    /// Replaces a card that was adopted as this keeper's and that the keeper does not know.
    pub(super) fn check_served(&mut self, index: u32) {
        let Some(card) = self.cards.get(&index) else { return };
        let served = Served { card: index, generation: card.generation };
        let is_its_own = card.keeper_generation == self.keeper.generation && card.adopted;
        if is_its_own && card.phase == Phase::Serving && !self.keeper.cards.contains(&served) {
            tracing::info!(card = index, "replaced: its keeper does not know it");
            self.stop_card(index);
        }
    }

    /// Kills cards that do not take their keys: they hold all others up.
    fn cards_lag(&mut self, cards: &[Served], now: Instant) {
        for served in cards {
            if self.served(*served).is_some() {
                self.kill_card(served.card, "it does not take its master keys", now);
            }
        }
    }

    /// Notes that every card has the new keys of a domain. After the last domain the officer's order is answered.
    fn keys_spread(&mut self, domain: u16) {
        tracing::info!(domain, "master keys are with all cards");
        let spreading = std::mem::take(&mut self.keeper.spreading);
        let left = |spreading: &Spreading| spreading.domains & !1_u16.checked_shl(domain.into()).unwrap_or(0);
        for of in spreading {
            match left(&of) {
                0 => self.refresh(of.client, of.reply),
                domains => self.keeper.spreading.push(Spreading { domains, ..of }),
            }
        }
    }

    fn officer_reply(
        &mut self,
        client: u64,
        changes: Changes,
        reply: OfficerReply,
        store: Option<Vec<u8>>,
        spreads: u16,
    ) {
        let refused = matches!(reply, OfficerReply::Refused(_));
        if let Some(blob) = store {
            let _ = self.give(Task::Seal { blob }, Continuation::Sealed { client, reply });
            return;
        }
        if let OfficerReply::Registers(rows) = &reply {
            self.keeper.registers = rows.clone();
        }
        let reply = ClientReply::Officer(reply);
        if refused || changes == Changes::Nothing {
            return self.reply(client, &reply, &[]);
        }
        if changes == Changes::Current {
            self.renew_cards();
        }
        if spreads != 0 {
            return self.keeper.spreading.push(Spreading { client, reply, domains: spreads });
        }
        self.refresh(client, reply);
    }

    /// Tells the keeper that its sealed copy was not stored: it must not take its keys for sealed.
    pub(super) fn not_stored(&mut self) {
        if let Some(process) = &mut self.keeper.process {
            process.channel.send(KeeperOrder::NotStored, Vec::new());
        }
        self.watch_keeper();
    }

    pub(super) fn refresh(&mut self, client: u64, reply: ClientReply) {
        // The reply waits for the registers, so that a status asked for next shows what was done.
        let order = KeeperOrder::Officer {
            order: OfficerOrder::Registers,
            sealed_registers: None,
            seal_memory_mib: self.settings.seal_memory_mib,
            officer: None,
        };
        self.keeper.order(order, Vec::new(), Ask::Refresh { client, reply: Box::new(reply) }, world::now());
        self.watch_keeper();
    }

    /// Replaces coprocessors that do not get changes, one after the other.
    fn renew_cards(&mut self) {
        self.renewals = self.strangers().collect();
    }

    pub(super) fn keeper_process_event(&mut self) {
        let now = world::now();
        let Some(process) = &self.keeper.process else { return };
        if !process.pidfd.is_dead() {
            return;
        }
        self.poller.forget(&process.channel);
        self.poller.forget(&process.pidfd);
        let ended = process.pidfd.reap().ok().flatten();
        let pid = process.identity.pid;
        for ask in self.keeper.note_end(ended, now) {
            match ask {
                Ask::Officer { client, .. } => self.refuse(client, Refusal::NoKeeper),
                // The officer's order was carried out; only the registers were still asked for.
                Ask::Refresh { client, reply } => self.reply(client, &reply, &[]),
                Ask::Ready | Ask::Serve => {}
            }
        }
        let spreading = std::mem::take(&mut self.keeper.spreading).into_iter().map(|of| of.client);
        let held = self.keeper.held.take().map(|ordered| ordered.client);
        for client in spreading.chain(held).collect::<Vec<_>>() {
            self.refuse(client, Refusal::NoKeeper);
        }
        if let Err(error) = self.process_rows.clear(KEEPER_ROW) {
            tracing::warn!("the keeper's row was not cleared: {error}");
        }
        if self.stopping {
            self.keeper.phase = Phase::Down(None);
            return;
        }
        let wait = self.keeper.phase.due().map(|at| at.saturating_duration_since(now));
        tracing::warn!(pid, ?ended, ?wait, "keeper ended; log/keeper.log may say why");
        if self.settings.development.is_none() {
            tracing::warn!(
                "the new keeper has no master keys: run `cryptand unseal`; running cards keep theirs"
            );
        }
        // A coprocessor that was promised the registers and may not have got them starts again.
        let unserved = self.cards.values().filter(|card| !card.is_served && card.keeper_generation != 0);
        let unserved: Vec<u32> = unserved.map(|card| card.index).collect();
        for index in unserved {
            self.stop_card(index);
        }
    }
}

impl Ask {
    fn client(&self) -> Option<u64> {
        match self {
            Self::Officer { client, .. } | Self::Refresh { client, .. } => Some(*client),
            Self::Ready | Self::Serve => None,
        }
    }
}

const NOTICES_MAX: usize = 64;
/// Longest wait before the keeper of a service is looked for again.
const JOIN_WAIT_MAX: Duration = Duration::from_millis(500);
/// Upper bound of the orders that the keeper has not answered, beyond which officers are refused.
const ASKS_MAX: usize = 4 * CARDS_MAX;
/// How long the keeper may take with an answer; deriving a key from a passphrase takes seconds.
const ANSWER_WAIT: Duration = Duration::from_secs(60);
