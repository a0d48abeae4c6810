//! Cards: started, adopted, listened to, watched, replaced.

use super::Daemon;
use crate::access::Door;
use crate::card_roles::CardRoles;
use crate::outbox::Outbox;
use crate::poller::{Happened, Interest, Source};
use crate::service::Link;
use crate::supervise::backoff::End;
use crate::supervise::card::{Card, Phase, ProcessRow, Renewal, Running};
use crate::supervise::plan::{Specification, wanted};
use crate::supervise::process::{Identity, is_stopped};
use crate::supervise::program::Started;
use home::limits::Limited;
use link::{
    Channel, ChannelError, Doorbell, Listener, PidFd, Samples, SamplesView, StatusPage, StatusView, world,
};
use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use wire::bounds::QUEUES_PER_CARD_MAX;
use wire::control::{CardNotice, CardOrder, CardStart, CardState, Personality, Refusal};
use wire::grant::Grant;

impl Daemon {
    /// Makes the cards match the settings: those that match continue, others are replaced.
    pub(super) fn want_cards(&mut self) {
        let now = world::now();
        let mut wanted = wanted(&self.settings);
        for index in wanted.keys() {
            self.cards.entry(*index).or_insert_with(|| Card::new(*index, None, now));
        }
        let indexes: Vec<u32> = self.cards.keys().copied().collect();
        for index in indexes {
            let Some(card) = self.cards.get_mut(&index) else { continue };
            let (specification, quiesced) = wanted.remove(&index).unzip();
            card.wanted = specification;
            let was_quiesced = std::mem::replace(&mut card.quiesced, quiesced.unwrap_or(false));
            let fits = card.running_as == card.wanted;
            match card.phase {
                Phase::Starting(_) | Phase::Serving if !fits => self.stop_card(index),
                Phase::Serving if was_quiesced != card.quiesced => card.order_quiesced(),
                // The settings were read anew: what was given up is tried again.
                Phase::Broken if card.process.is_none() => card.phase = Phase::Down(Some(now)),
                Phase::Broken => self.stop_card(index),
                Phase::Down(None) if card.wanted.is_some() => card.phase = Phase::Down(Some(now)),
                _ => {}
            }
        }
        self.cards.retain(|_, card| card.wanted.is_some() || card.process.is_some());
        let running: Vec<u32> = self.cards.keys().copied().collect();
        running.into_iter().for_each(|index| self.watch_card(index));
    }

    pub(super) fn order_card(&mut self, index: u32, order: CardOrder, descriptors: Vec<OwnedFd>) {
        let Some(card) = self.cards.get_mut(&index) else { return };
        card.order(order, descriptors);
        self.watch_card(index);
    }

    /// Tells a running coprocessor which decimalisation tables are stored.
    pub(super) fn tell_tables(&mut self, index: u32) {
        let is_coprocessor = |card: &Card| {
            card.running_as.as_ref().is_some_and(|of| of.personality == Personality::Coprocessor)
        };
        if self.cards.get(&index).is_some_and(|card| card.process.is_some() && is_coprocessor(card)) {
            self.order_card(index, CardOrder::Tables(self.settings.pin.tables.clone()), Vec::new());
        }
    }

    /// Begins to stop a card: it finishes what it took, wipes its secrets and exits; it is killed if it does not.
    pub(super) fn stop_card(&mut self, index: u32) {
        let Some(card) = self.cards.get_mut(&index) else { return };
        if card.process.is_none() {
            card.phase = Phase::Down(None);
            return;
        }
        card.phase = Phase::Stopping(world::now() + STOP_WAIT);
        card.order(CardOrder::Quiesce, Vec::new());
        card.order(CardOrder::Stop, Vec::new());
        self.watch_card(index);
    }

    /// Whether queues may be attached to a card: not while the card is quiesced, nor before a keeper that serves has
    /// handed it the master keys.
    pub(super) fn serves(&self, card: &Card) -> bool {
        card.is_ready() && !card.quiesced && (card.is_served || !self.keeper.is_serving())
    }

    pub(super) fn cards_on_time(&mut self, now: Instant) {
        let due: Vec<(u32, Phase)> = self
            .cards
            .values()
            .filter(|card| card.phase.due().is_some_and(|at| at <= now))
            .map(|card| (card.index, card.phase))
            .collect();
        for (index, phase) in due {
            match phase {
                Phase::Down(_) => self.start_card(index, now),
                _ => self.kill_card(index, "it does not answer", now),
            }
        }
    }

    pub(super) fn kill_card(&mut self, index: u32, why: &str, now: Instant) {
        let Some(card) = self.cards.get_mut(&index) else { return };
        let Some(process) = &mut card.process else { return };
        if process.killed.is_some_and(|killed| now.saturating_duration_since(killed) < KILL_WAIT) {
            return;
        }
        process.killed = Some(now);
        tracing::warn!(card = index, pid = process.identity.pid, "killed: {why}");
        if let Err(error) = end_process(self.service.as_ref(), process.identity.pid, &process.pidfd) {
            tracing::error!(card = index, "not killed: {error}");
        }
        // The process's descriptor reports its end; the phase is due again only after [`KILL_WAIT`].
        card.phase = match card.phase {
            Phase::Starting(_) => Phase::Starting(now + KILL_WAIT),
            Phase::Adopting(_) => Phase::Adopting(now + KILL_WAIT),
            Phase::Stopping(_) => Phase::Stopping(now + KILL_WAIT),
            other => other,
        };
    }

    fn start_card(&mut self, index: u32, now: Instant) {
        let Some(card) = self.cards.get_mut(&index) else { return };
        let Some(specification) = card.wanted.clone() else {
            card.phase = Phase::Down(None);
            return;
        };
        let needs_keeper = self.service.is_some() && specification.personality == Personality::Coprocessor;
        if needs_keeper && !self.keeper.is_serving() {
            // The card would find no keeper, and end.
            (card.ended, card.phase) = (now, Phase::Down(Some(card.backoff.after(End::AT_START, now))));
            return;
        }
        let generation = self.generations.next(index);
        card.generation = generation;
        match self.spawn_card(index, generation, &specification, now) {
            Ok(()) => self.watch_card(index),
            Err(error) => {
                tracing::error!(card = index, "not started: {error}");
                if let Some(card) = self.cards.get_mut(&index) {
                    card.ended = now;
                    card.phase = Phase::Down(Some(card.backoff.after(End::AT_START, now)));
                }
            }
        }
    }

    fn spawn_card(
        &mut self,
        index: u32,
        generation: u64,
        specification: &Specification,
        now: Instant,
    ) -> io::Result<()> {
        let doorbell = Doorbell::bind(&self.home.card_doorbell(index))?;
        let listener = Listener::bind(&self.home.card_listener(index))?;
        let page = StatusPage::create(generation)?;
        let view = StatusPage::read_only(page.as_fd())?;
        let joined = StatusView::join(view.as_fd()).map_err(io::Error::other)?;
        let (table, accounts) = (self.key_table.read_only()?, self.accounts.for_card()?);
        let samples = Samples::create(generation)?;
        let samples_fd = Samples::read_only(samples.as_fd())?;
        let samples_view = SamplesView::join(samples_fd.as_fd()).map_err(io::Error::other)?;
        let mut descriptors = vec![doorbell.into_fd(), listener.into_fd(), page, table, accounts, samples];
        if self.service.is_some() {
            descriptors.extend([view.try_clone()?, samples_fd.try_clone()?]);
        }
        let is_coprocessor = specification.personality == Personality::Coprocessor;
        // A coprocessor of a service connects to the keeper itself.
        let keeper_end = if is_coprocessor && self.service.is_none() {
            let (for_card, for_keeper) = Channel::pair()?;
            descriptors.push(for_card.into_fd());
            Some(for_keeper.into_fd())
        } else {
            None
        };
        let (ours, theirs) = Channel::pair()?;
        let log = self.home.logs().join(format!("card-{index}.log"));
        let child = match &self.service {
            Some(service) => service.start(theirs.into_fd(), specification.level)?.into(),
            None => self.program.start(&[], theirs.into_fd(), specification.level, &log)?,
        };
        let sources = [Source::CardChannel(index), Source::CardProcess(index)];
        let (identity, pidfd) = self.watch_child(child, &ours, sources)?;
        tracing::info!(card = index, generation, pid = identity.pid, "started");
        let Some(card) = self.cards.get_mut(&index) else { return Ok(()) };
        let channel = Outbox::new(ours);
        card.process = Some(Running::new(identity, pidfd, channel, now));
        card.status = Some((view, joined));
        card.samples = Some((samples_fd, samples_view));
        card.running_as = Some(specification.clone());
        card.program = if self.service.is_some() { None } else { self.program.mark() };
        card.phase = Phase::Starting(now + START_WAIT);
        card.state = CardState::Created;
        card.heartbeat = (0, now);
        card.is_served = !is_coprocessor;
        card.keeper_generation =
            if is_coprocessor && self.service.is_some() { self.keeper.generation } else { 0 };
        self.note_card(index);
        self.order_card(index, CardOrder::Start(specification.start(index, generation)), descriptors);
        self.tell_tables(index);
        self.tell_counting(index);
        if let Some(end) = keeper_end {
            self.serve_card(index, end, now);
        }
        Ok(())
    }

    /// Watches the channel and the end of a child that was just started. If that fails, most likely for want of
    /// a descriptor, the child is killed and reaped: nobody else would do it.
    pub(super) fn watch_child(
        &self,
        child: Started,
        channel: &Channel,
        [of_channel, of_process]: [Source; 2],
    ) -> io::Result<(Identity, PidFd)> {
        let watched = known(child.pid).and_then(|(identity, pidfd)| {
            self.poller.watch(channel, of_channel, Interest::Reading)?;
            self.poller.watch(&pidfd, of_process, Interest::Reading)?;
            Ok((identity, pidfd))
        });
        if watched.is_err() {
            child.abandon();
        }
        watched
    }

    /// Writes down what a later daemon must know of a card.
    pub(super) fn note_card(&mut self, index: u32) {
        let Some(card) = self.cards.get(&index) else { return };
        let Some(process) = &card.process else { return };
        let row = ProcessRow {
            identity: process.identity,
            generation: card.generation,
            card: card.running_as.clone(),
            keeper: None,
            keeper_generation: card.keeper_generation,
            restarts: card.restarts,
            program: card.program,
        };
        if let Err(error) = self.process_rows.write(index, &row) {
            tracing::warn!(card = index, "a later daemon will not find it: {error}");
        }
    }

    /// Connects to a card that an earlier daemon started, and asks it what it serves; kills the card if that fails.
    pub(super) fn meet_card(&mut self, index: u32, row: &ProcessRow, now: Instant) {
        let mut card = Card::new(index, None, now);
        card.generation = row.generation;
        card.restarts = row.restarts;
        self.generations.met(index, row.generation);
        let pid = row.identity.pid;
        let Some(pidfd) = row.identity.open() else {
            self.cards.insert(index, card);
            return;
        };
        let met = (|| -> io::Result<Channel> {
            let channel = Channel::connect(&self.home.card_listener(index))?;
            self.poller.watch(&channel, Source::CardChannel(index), Interest::Reading)?;
            Ok(channel)
        })();
        let watched = self.poller.watch(&pidfd, Source::CardProcess(index), Interest::Reading);
        match (met, watched) {
            (Ok(channel), Ok(())) => {
                tracing::info!(card = index, pid, "met");
                let channel = Outbox::new(channel);
                let identity = row.identity;
                card.process = Some(Running::new(identity, pidfd, channel, now));
                card.phase = Phase::Adopting(now + ADOPT_WAIT);
                card.running_as = row.card.clone();
                card.program = row.program;
                card.keeper_generation = row.keeper_generation;
                card.order(CardOrder::Adopt, Vec::new());
                if is_stopped(pid) {
                    card.phase = Phase::Adopting(now);
                }
            }
            (met, watched) => {
                let error = met.err().or(watched.err());
                tracing::warn!(card = index, pid, "killed: not met: {error:?}");
                self.poller.forget(&pidfd);
                let _ = end_process(self.service.as_ref(), pid, &pidfd);
                let _ = pidfd.wait_dead(Some(KILL_WAIT));
            }
        }
        self.cards.insert(index, card);
    }

    pub(super) fn card_channel_event(&mut self, index: u32, event: Happened) {
        for _ in 0..NOTICES_MAX {
            let Some(process) = self.cards.get_mut(&index).and_then(|card| card.process.as_mut()) else {
                return;
            };
            if event.writable {
                process.channel.flush();
            }
            match process.channel.receive::<CardNotice>() {
                Ok((notice, descriptors)) => self.card_notice(index, notice, descriptors),
                Err(ChannelError::WouldBlock) => break,
                Err(ChannelError::Closed) => {
                    // The process's descriptor will report its end; until then there is nothing to read.
                    self.poller.forget(&process.channel);
                    process.closed.get_or_insert_with(world::now);
                    return;
                }
                Err(error) => {
                    self.kill_card(index, &error.to_string(), world::now());
                    return;
                }
            }
        }
        self.watch_card(index);
    }

    fn watch_card(&mut self, index: u32) {
        let Some(process) = self.cards.get_mut(&index).and_then(|card| card.process.as_mut()) else { return };
        if process.closed.is_some() {
            return;
        }
        if process.channel.is_broken() {
            return self.kill_card(index, "it takes no orders", world::now());
        }
        let interest = if process.channel.is_waiting() { Interest::Both } else { Interest::Reading };
        if std::mem::replace(&mut process.watched, interest) == interest {
            return;
        }
        if let Err(error) = self.poller.watch(&process.channel, Source::CardChannel(index), interest) {
            self.kill_card(index, &format!("its channel is not watched: {error}"), world::now());
        }
    }

    fn card_notice(&mut self, index: u32, notice: CardNotice, descriptors: Vec<OwnedFd>) {
        let Some(card) = self.cards.get_mut(&index) else { return };
        match notice {
            CardNotice::Ready { level, lanes, isolation } => {
                let Phase::Starting(_) = card.phase else { return };
                let since = card.process.as_ref().map_or_else(world::now, |process| process.since);
                card.start_us = u64::try_from(world::elapsed(since).as_micros()).unwrap_or(u64::MAX);
                tracing::info!(card = index, start_us = card.start_us, %level, lanes, "ready");
                (card.level, card.lanes, card.isolation) = (level, lanes, isolation);
                card.state = CardState::Ready;
                card.note_serving(world::now());
                if card.quiesced {
                    card.order_quiesced();
                }
            }
            CardNotice::Failed { why } => {
                card.note_failed();
                let is_used_again = card.phase != Phase::Broken;
                tracing::error!(card = index, is_used_again, "failed: {why}");
                // Its queues are about to be forgotten.
                let present = self.present_in(index);
                if let Some(process) = self.cards.get_mut(&index).and_then(|card| card.process.as_mut()) {
                    process.present = Some(present);
                }
                self.drop_queues(index);
            }
            CardNotice::Attached { queue } => self.queue_attached(queue),
            CardNotice::Rejected { queue, why } => self.queue_rejected(queue, &why),
            CardNotice::Detached { queue } => self.queue_detached(queue),
            CardNotice::Offence { queue, rule } => self.queue_offended(queue, &rule),
            CardNotice::Guesses(told) => self.guesses(index, told),
            CardNotice::Denied { kinds, others } => self.denied(index, &kinds, others),
            CardNotice::State(state) => card.state = state,
            CardNotice::Adopted { start, state, level, lanes, isolation, holds_registers, roles, queues } => {
                (card.level, card.lanes, card.isolation) = (level, lanes, isolation);
                card.is_served = holds_registers;
                self.card_roles.insert(index, CardRoles::adopted(card.generation, &roles));
                self.adopt_card(index, &start, state, queues, descriptors);
            }
        }
    }

    fn adopt_card(
        &mut self,
        index: u32,
        start: &CardStart,
        state: CardState,
        queues: Vec<Grant>,
        descriptors: Vec<OwnedFd>,
    ) {
        let Some(card) = self.cards.get_mut(&index) else { return };
        let Phase::Adopting(_) = card.phase else { return };
        let mut descriptors = descriptors.into_iter();
        let (page, samples) = (descriptors.next(), descriptors.next());
        let page = page.and_then(|page| StatusView::join(page.as_fd()).ok().map(|view| (page, view)));
        let samples =
            samples.and_then(|samples| SamplesView::join(samples.as_fd()).ok().map(|view| (samples, view)));
        let told = card.running_as.as_ref().map(|of| of.start(index, card.generation));
        // A coprocessor that no keeper was told of, or whose keeper died before it handed out all, never gets a key.
        let keeper = self.keeper.process.as_ref().map_or(0, |_alive| self.keeper.generation);
        let will_be_served = card.keeper_generation != 0 && card.keeper_generation == keeper;
        let has_been_served = card.keeper_generation != 0 && card.is_served;
        let is_linked = start.personality == Personality::Accelerator || will_be_served || has_been_served;
        let same = told.as_ref() == Some(start) && is_linked;
        if !same
            || page.is_none()
            || samples.is_none()
            || !matches!(state, CardState::Ready | CardState::Quiescing)
        {
            tracing::info!(card = index, ?state, same, "met, but not kept");
            return self.stop_card(index);
        }
        if !self.can_be_its(&queues) {
            return self.kill_card(index, "it claims queues that cannot be its own", world::now());
        }
        let Some(card) = self.cards.get_mut(&index) else { return };
        tracing::info!(card = index, queues = queues.len(), "adopted");
        let generation = card.generation;
        card.status = page;
        card.samples = samples;
        card.state = state;
        card.note_serving(world::now());
        card.adopted = true;
        // A card that an earlier daemon was about to stop goes on.
        if (state == CardState::Quiescing) != card.quiesced {
            card.order_quiesced();
        }
        self.adopt_queues(index, generation, queues);
        self.tell_tables(index);
        self.tell_counting(index);
        if self.keeper.is_serving() {
            self.check_served(index);
        }
        // The settings may have changed while no daemon ran.
        self.want_cards();
    }

    /// Whether a card's claim to these queues is plausible: no queue twice, and none of another card.
    fn can_be_its(&self, queues: &[Grant]) -> bool {
        let mut seen = HashSet::new();
        queues.len() <= QUEUES_PER_CARD_MAX
            && queues.iter().all(|of| seen.insert(of.queue) && !self.queues.contains_key(&of.queue))
    }

    /// The status page and the samples of a card's running process, and its generation.
    pub(super) fn pages_of(&self, index: u32) -> Result<(u64, [OwnedFd; 2]), Refusal> {
        let card = self.cards.get(&index).ok_or(Refusal::NoSuchCard)?;
        let (Some((page, _)), Some((samples, _))) = (&card.status, &card.samples) else {
            return Err(Refusal::NoCardReady);
        };
        let copy = |fd: &OwnedFd| {
            fd.try_clone().map_err(|cause| Refusal::Storage {
                operation: format!("hand out the pages of card {index}"),
                cause: Limited(&cause).to_string(),
            })
        };
        Ok((card.generation, [copy(page)?, copy(samples)?]))
    }

    pub(super) fn card_process_event(&mut self, index: u32) {
        let now = world::now();
        let Some(card) = self.cards.get_mut(&index) else { return };
        let Some(process) = &card.process else { return };
        if !process.pidfd.is_dead() {
            return;
        }
        // Its last notices, such as why it failed, are still in the channel.
        self.card_channel_event(index, LAST_WORDS);
        let Some(card) = self.cards.get_mut(&index) else { return };
        let mut ended = None;
        if let Some(process) = &card.process {
            self.poller.forget(&process.channel);
            self.poller.forget(&process.pidfd);
            // A card that an earlier daemon started is no child of this process: another process reaps it.
            ended = process.pidfd.reap().ok().flatten();
        }
        let pid = card.process.as_ref().map_or(0, |process| process.identity.pid);
        let noted = card.process.as_mut().and_then(|process| process.present.take());
        let died_of_work = card.died_of_work(ended);
        if died_of_work {
            let present = noted.unwrap_or_else(|| self.present_in(index));
            self.hold_against(index, &present);
        }
        let Some(card) = self.cards.get_mut(&index) else { return };
        if card.note_end(ended, now) {
            let wait = card.phase.due().map(|at| at.saturating_duration_since(now));
            tracing::warn!(card = index, pid, ?ended, ?wait, "ended; log/card-{index}.log may say why");
        } else {
            tracing::info!(card = index, pid, "stopped");
        }
        if let Err(error) = self.process_rows.clear(index) {
            tracing::warn!(card = index, "its row was not cleared: {error}");
        }
        self.keeper.awaiting.retain(|(card, _)| *card != index);
        self.accounts.clear_card(index);
        self.drop_queues(index);
        if self.stopping {
            if let Some(card) = self.cards.get_mut(&index) {
                card.phase = Phase::Down(None);
            }
        } else {
            self.cards.retain(|_, card| card.wanted.is_some() || card.process.is_some());
        }
    }

    /// Kills suspended cards, which answer nobody and block their clients, so that they are replaced; resumes a
    /// suspended keeper.
    pub(super) fn look_for_stopped(&mut self) {
        let now = world::now();
        let running = self.cards.values().filter_map(|card| Some((card.index, card.process.as_ref()?)));
        let stopped: Vec<u32> =
            running.filter(|(_, process)| is_stopped(process.identity.pid)).map(|(index, _)| index).collect();
        for index in stopped {
            self.kill_card(index, "it was stopped by a signal", now);
        }
        if let Some(process) = self.keeper.process.as_ref().filter(|_| self.service.is_none())
            && is_stopped(process.identity.pid)
        {
            // Killed, it would take the unsealed master keys with it; a card has a successor.
            tracing::warn!(pid = process.identity.pid, "keeper was stopped by a signal: resumed");
            if let Err(error) = process.pidfd.resume() {
                tracing::error!("keeper not resumed: {error}");
            }
        }
    }

    /// Kills cards that hang: awake, with requests, and without progress for [`STUCK_WAIT`]. Also kills cards and a
    /// keeper that closed their channel and live on: they can be given no orders.
    pub(super) fn look_for_stuck(&mut self, now: Instant) {
        let mut stuck = Vec::new();
        if self.keeper.process.as_ref().is_some_and(|process| process.is_deaf(now)) {
            self.kill_keeper("it closed its channel", now);
        }
        for card in self.cards.values_mut() {
            if card.process.as_ref().is_some_and(|process| process.is_deaf(now)) {
                stuck.push(card.index);
                continue;
            }
            let Some((_, view)) = &card.status else { continue };
            let beat = view.heartbeat();
            if beat != card.heartbeat.0 || view.is_asleep() || view.queue_length() == 0 {
                card.heartbeat = (beat, now);
            } else if now.saturating_duration_since(card.heartbeat.1) >= STUCK_WAIT {
                stuck.push(card.index);
            }
        }
        for index in stuck {
            if let Some(process) = self.cards.get_mut(&index).and_then(|card| card.process.as_mut()) {
                process.hangs = process.closed.is_none();
            }
            self.kill_card(index, "it no longer gets anywhere", now);
        }
    }

    /// If no card of a kind serves, shortens the wait of that kind's cards for their restart.
    pub(super) fn hasten_missed(&mut self) {
        for kind in [Personality::Coprocessor, Personality::Accelerator] {
            let is_of_kind =
                |card: &Card| card.wanted.as_ref().is_some_and(|wanted| wanted.personality == kind);
            if !self.cards.values().any(|card| is_of_kind(card) && card.phase == Phase::Serving) {
                self.cards.values_mut().filter(|card| is_of_kind(card)).for_each(Card::hasten);
            }
        }
    }

    /// Replaces the next coprocessor whose keeper is gone, once the previous one is back.
    pub(super) fn renew_next(&mut self) {
        let Some(&index) = self.renewals.last() else { return };
        // This card may be the last that holds keys, as long as keys are on their way to other cards.
        if !self.keeper.spreading.is_empty() {
            return;
        }
        match self.cards.get(&index).map(|card| card.renewal(self.keeper.generation)) {
            Some(Renewal::Replace) => {
                tracing::info!(card = index, "replaced: its keeper is gone");
                self.stop_card(index);
            }
            Some(Renewal::Wait) => {}
            Some(Renewal::Done) | None => {
                self.renewals.pop();
            }
        }
    }
}

/// Kills a process of a card; in a system service, where it runs as another user, through the launcher.
fn end_process(service: Option<&Link>, pid: u32, pidfd: &PidFd) -> io::Result<()> {
    match service {
        Some(service) => service.end(pid),
        None => pidfd.kill(),
    }
}

/// The identity and descriptor of a child that was just started.
fn known(pid: u32) -> io::Result<(Identity, PidFd)> {
    // The child is reaped only after its end was seen here: until then its process id is not reused.
    let pidfd = PidFd::open(pid)?;
    let identity = Identity::of(pid).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    Ok((identity, pidfd))
}

const LAST_WORDS: Happened =
    Happened { source: Source::Listener(Door::Guests), readable: true, writable: false, closed: false };
/// Upper bound of the notices read from one card before other events are handled.
const NOTICES_MAX: usize = 64;
/// How long a card may take from its start to ready, on a busy machine.
pub(super) const START_WAIT: Duration = Duration::from_secs(30);
/// How long a running process may take to answer a new daemon.
pub(super) const ADOPT_WAIT: Duration = Duration::from_secs(10);
/// How long a process may take to stop.
pub(super) const STOP_WAIT: Duration = Duration::from_secs(5);
/// How long a killed process may take to end before it is killed again.
pub(super) const KILL_WAIT: Duration = Duration::from_secs(2);
/// How long one batch may take: far more than the longest, a batch of RSA-4096 key generations.
const STUCK_WAIT: Duration = Duration::from_secs(300);
