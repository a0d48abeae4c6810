//! The control channels of a card: the daemon's, the keeper's, and the listener for a later daemon.
//!
//! The daemon may go away; the card continues to serve, and a later daemon connects to the listener and
//! takes over with [`CardOrder::Adopt`]. Whoever connects must be the user the card runs as, or in a system service reach
//! the listener, which its file's mode keeps to the daemon. No
//! channel can block the card: notices are sent without waiting, or kept until there is room for
//! them, and a daemon that does not read [`NOTICES_MAX`] of them is treated as gone.

use crate::serve::Server;
use link::world::Event;
use link::{
    CardParts, CardQueue, Channel, ChannelError, EXTRA_DESCRIPTORS_MAX, FailureView, Listener, tsc, world,
};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use wire::bounds::{CARD_ROLES_MAX, CONTROL_BYTES_MAX, QUEUES_PER_CARD_MAX, TENANTS_MAX};
use wire::control::{CardNotice, CardOrder, CardState, Delivery, Isolation, Personality, Received, Register};
use wire::grant::Grant;
use wire::pin::CountingKey;
use wire::registers::RegisterSet;

/// Connections that may be open without having adopted the card.
const NEWCOMERS_MAX: usize = 4;
/// Notices kept while the daemon has much else to do: each of its orders about each queue answered, and some more.
const NOTICES_MAX: usize = 3 * QUEUES_PER_CARD_MAX;
/// Longest sleep of an idle card, without and with notices that wait for room.
const SLEEP_MAX: Duration = Duration::from_secs(1);
const SLEEP_WAITING_MAX: Duration = Duration::from_millis(5);
/// How long a card that starts waits for its keeper: that of a home takes as long to start as a card.
const KEEPER_WAIT: Duration = Duration::from_secs(10);
/// Messages handled from one channel before requests are served again.
const MESSAGES_MAX: usize = 16;

/// Roles of a message in bytes: each has four words of at most ten bytes, and its number.
const ROLES_BYTES_MAX: usize = CARD_ROLES_MAX * 48;
/// Bytes of the adoption message for grants; the rest of the message has the other fields.
const GRANTS_BYTES_MAX: usize = CONTROL_BYTES_MAX - ROLES_BYTES_MAX - 4096;

const _: () = assert!(NEWCOMERS_MAX + 3 <= EXTRA_DESCRIPTORS_MAX);

/// What a card says about itself to a daemon.
pub struct Identity {
    /// Name of the engine's level.
    pub level: String,
    /// Requests that it would like in one batch.
    pub lanes: u32,
    /// How it is confined.
    pub isolation: Isolation,
    /// User id that the card runs as: the only one that may adopt it. In a system service, where the daemon has another,
    /// none: whoever reaches the listener may, which the daemon's file mode keeps to itself.
    pub user: Option<u32>,
}

/// The control channels.
pub struct Control {
    daemon: Option<Channel>,
    /// Notices to the daemon that there was no room for, in order.
    waiting: VecDeque<CardNotice>,
    keeper: Option<Channel>,
    /// Domains whose registers the keeper has handed over, one bit each.
    handed: u16,
    /// Acknowledgements for the keeper that its socket had no room for: one per domain.
    owed: Vec<Received>,
    listener: Listener,
    newcomers: Vec<Channel>,
    identity: Identity,
    /// The status page and the samples, for a later daemon.
    views: [OwnedFd; 2],
}

impl Control {
    /// With the channel that the card was started on.
    pub fn new(
        daemon: Channel,
        keeper: Option<Channel>,
        listener: Listener,
        identity: Identity,
        views: [OwnedFd; 2],
    ) -> Self {
        let (daemon, waiting, newcomers) = (Some(daemon), VecDeque::new(), Vec::new());
        Self { daemon, waiting, keeper, handed: 0, owed: Vec::new(), listener, newcomers, identity, views }
    }

    /// The descriptors that a waiting card polls beside its doorbell, and their number.
    pub fn descriptors(&self) -> ([BorrowedFd<'_>; EXTRA_DESCRIPTORS_MAX], usize) {
        let mut descriptors = [self.listener.as_fd(); EXTRA_DESCRIPTORS_MAX];
        let mut count = 1;
        for channel in self.daemon.iter().chain(&self.keeper).chain(&self.newcomers) {
            descriptors[count] = channel.as_fd();
            count += 1;
        }
        (descriptors, count)
    }

    /// Whether any channel has something to say. One system call.
    pub fn is_ready(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Waits until a channel is readable; `false` after the timeout or a signal.
    pub fn wait(&self, timeout: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec};
        let (descriptors, count) = self.descriptors();
        let mut watched = descriptors.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        match link::world::poll(&mut watched[..count], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => false,
            // Nothing of another error can be mended here; the channels tell what is wrong with them.
            Ok(_) | Err(_) => true,
        }
    }

    /// How long an idle card may sleep.
    pub fn sleep_max(&self) -> Duration {
        if self.waiting.is_empty() && self.owed.is_empty() { SLEEP_MAX } else { SLEEP_WAITING_MAX }
    }

    /// Takes the registers of every domain before the first request, if the card has a keeper: a card that
    /// served without them would refuse what another card carries out. Without an answer the card continues
    /// after [`KEEPER_WAIT`], for requests with clear keys. Breaks if the daemon ordered the end.
    pub fn await_registers(&mut self, server: &mut Server, domains: u16) -> ControlFlow<()> {
        let is_linked = self.keeper.is_some();
        let end = world::now() + KEEPER_WAIT;
        loop {
            if self.is_ready() {
                self.attend(server)?;
            }
            let is_handed = self.has_registers(domains);
            let left = end.saturating_duration_since(world::now());
            if !is_linked || is_handed || left.is_zero() {
                return ControlFlow::Continue(());
            }
            self.wait(left);
        }
    }

    fn has_registers(&self, domains: u16) -> bool {
        self.handed.count_ones() >= u32::from(domains)
    }

    /// Says that the card is ready.
    pub fn ready(&mut self) {
        let Identity { level, lanes, isolation, .. } = &self.identity;
        self.notify(CardNotice::Ready { level: level.clone(), lanes: *lanes, isolation: isolation.clone() });
    }

    /// Says that the card will not serve any more.
    pub fn failed(&mut self, why: String) {
        self.notify(CardNotice::Failed { why });
    }

    /// Reports that a queue was ended because its client broke a rule of the link.
    pub fn offence(&mut self, queue: u64, rule: String) {
        self.notify(CardNotice::Offence { queue, rule });
    }

    /// Handles received messages. Breaks if the daemon ordered the end.
    pub fn attend(&mut self, server: &mut Server) -> ControlFlow<()> {
        // Master keys first: a daemon that has just had them handed out may send work next.
        self.hear_keeper(server);
        self.admit_newcomers();
        for _ in 0..MESSAGES_MAX {
            let Some(daemon) = &self.daemon else { break };
            match daemon.try_recv::<CardOrder>() {
                Ok((CardOrder::Stop, _)) => {
                    self.tell_denials_of(server);
                    return ControlFlow::Break(());
                }
                Ok((order, descriptors)) => self.obey(server, order, descriptors),
                Err(ChannelError::WouldBlock) => break,
                Err(_) => self.daemon = None,
            }
        }
        self.hear_newcomers(server);
        ControlFlow::Continue(())
    }

    fn hear_keeper(&mut self, server: &mut Server) {
        for _ in 0..MESSAGES_MAX {
            let Some(keeper) = &self.keeper else { return };
            match keeper.try_recv::<Delivery>() {
                Ok((delivery, _)) => {
                    let domain = delivery.handout.domain;
                    self.handed |= 1_u16.checked_shl(domain.into()).unwrap_or(0);
                    // What is wiped stays wiped; a domain that the card does not have is not its own.
                    if server.life.state() != CardState::Zeroized {
                        let _ = server.processor.load_with_next(&delivery.handout, &delivery.next);
                        server.tell_registers();
                        if domain == 0 {
                            let registers = Register::ALL.iter().zip(&delivery.next);
                            let expected = registers.filter(|(_, key)| !key.is_empty());
                            let expected =
                                expected.fold(RegisterSet::NONE, |set, (register, _)| set.with(*register));
                            world::saw(Event::Expects(expected));
                        }
                    }
                    // Whatever runs from here on runs under these keys: passes and orders have one thread.
                    self.owed.retain(|owed| owed.domain != domain);
                    self.owed.push(Received { domain, serial: delivery.serial });
                    self.tell_keeper();
                }
                Err(ChannelError::WouldBlock) => return,
                // The keeper is gone: the card keeps what it has.
                Err(_) => self.keeper = None,
            }
        }
    }

    /// Tells the keeper what was received, as far as there is room.
    fn tell_keeper(&mut self) {
        let Some(keeper) = &self.keeper else { return self.owed.clear() };
        let mut is_full = false;
        self.owed.retain(|received| {
            // Of a keeper that is gone it is heard when it is read from.
            is_full = is_full || matches!(keeper.try_send(received, &[]), Err(ChannelError::WouldBlock));
            is_full
        });
    }

    fn obey(&mut self, server: &mut Server, order: CardOrder, descriptors: Vec<OwnedFd>) {
        let notice = match order {
            CardOrder::Attach { grant, slots } => attach(server, grant, slots, descriptors),
            CardOrder::Detach { queue } => {
                server.end_queue(queue);
                CardNotice::Detached { queue }
            }
            CardOrder::Quiesce => {
                // Before the move: what was taken of limits while the card served is given back.
                if server.life.serves() {
                    server.end_searches();
                }
                if server.life.quiesce().is_ok() {
                    server.processor.forget_contexts();
                }
                self.moved(server)
            }
            CardOrder::Resume => {
                let _ = server.life.resume();
                self.moved(server)
            }
            CardOrder::Zeroize => {
                server.end_searches();
                if server.life.zeroize().is_ok() {
                    server.show_all();
                    server.zeroize();
                }
                self.moved(server)
            }
            CardOrder::Tables(tables) => return server.processor.set_tables(&tables),
            CardOrder::Counting { key } => return count(server, &key, descriptors),
            CardOrder::Counted { number } => return server.counted(number),
            CardOrder::Role(role) => return server.define_role(role),
            CardOrder::Regrant { grant } => return server.regrant(grant),
            CardOrder::Adopt => return self.adopted(server),
            // A second start, or the end that `attend` has dealt with: no order for a card that runs.
            CardOrder::Start(_) | CardOrder::Stop => return,
        };
        self.notify(notice);
    }

    fn moved(&self, server: &Server) -> CardNotice {
        server.status.set_state(server.life.state());
        CardNotice::State(server.life.state())
    }

    fn admit_newcomers(&mut self) {
        while let Ok(Some(newcomer)) = self.listener.try_accept() {
            let adopts = |user| newcomer.peer().is_ok_and(|peer| peer.uid == user);
            let known = self.identity.user.is_none_or(adopts);
            if known && self.newcomers.len() < NEWCOMERS_MAX {
                self.newcomers.push(newcomer);
            }
        }
    }

    /// A newcomer's first message must be the adoption.
    fn hear_newcomers(&mut self, server: &mut Server) {
        let mut index = 0;
        while index < self.newcomers.len() {
            match self.newcomers[index].try_recv::<CardOrder>() {
                Err(ChannelError::WouldBlock) => index += 1,
                Ok((CardOrder::Adopt, _)) => {
                    self.daemon = Some(self.newcomers.swap_remove(index));
                    // It is told of everything at once, and knows of no order that they answer.
                    self.waiting.clear();
                    self.adopted(server);
                }
                _ => drop(self.newcomers.swap_remove(index)),
            }
        }
    }

    fn adopted(&mut self, server: &mut Server) {
        let Identity { level, lanes, isolation, .. } = &self.identity;
        let notice = CardNotice::Adopted {
            start: server.start.clone(),
            state: server.life.state(),
            level: level.clone(),
            lanes: *lanes,
            isolation: isolation.clone(),
            holds_registers: self.has_registers(server.start.domains)
                || server.start.personality == Personality::Accelerator,
            roles: server.roles.among(server.queues.iter().map(|attached| attached.grant.role)),
            queues: server.queues.iter().map(|attached| attached.grant.clone()).collect(),
        };
        server.counting.tell_again();
        if let Some(daemon) = &self.daemon
            && daemon.try_send(&notice, &self.views.each_ref().map(OwnedFd::as_fd)).is_err()
        {
            self.daemon = None;
        }
    }

    /// Tells what became of verifications of PINs, as far as there is room and somebody to hear it.
    pub fn tell_guesses(&mut self, server: &mut Server) {
        self.flush();
        while self.daemon.is_some() && self.waiting.is_empty() && server.counting.has_unsent() {
            self.notify(CardNotice::Guesses(server.counting.next_told()));
        }
    }

    /// Tells of refusals for want of a right, from time to time, as far as there is room and somebody to hear it.
    pub fn tell_denials(&mut self, server: &mut Server) {
        if server.denials.is_due(tsc()) {
            self.flush();
            self.tell_denials_of(server);
        }
    }

    fn tell_denials_of(&mut self, server: &mut Server) {
        while self.daemon.is_some() && self.waiting.is_empty() && !server.denials.is_empty() {
            self.notify(server.denials.take(tsc()));
        }
    }

    fn notify(&mut self, notice: CardNotice) {
        if self.daemon.is_some() {
            self.waiting.push_back(notice);
            self.flush();
        }
    }

    /// Sends the notices and answers that there is room for.
    pub fn flush(&mut self) {
        if !self.owed.is_empty() {
            self.tell_keeper();
        }
        while let (Some(daemon), Some(notice)) = (&self.daemon, self.waiting.front()) {
            match daemon.try_send(notice, &[]) {
                Ok(()) => drop(self.waiting.pop_front()),
                Err(ChannelError::WouldBlock) if self.waiting.len() < NOTICES_MAX => return,
                // What it ordered before its end is still to be read: clients have been told that it was done.
                Err(ChannelError::Closed) => return self.waiting.clear(),
                Err(_) => self.daemon = None,
            }
        }
        if self.daemon.is_none() {
            self.waiting.clear();
        }
    }
}

/// Begins to count. Without a table that it can join the card goes on as before: it judges no PIN that it does not count.
fn count(server: &mut Server, key: &CountingKey, descriptors: Vec<OwnedFd>) {
    let table = descriptors.into_iter().next().and_then(|table| FailureView::join(table.as_fd()).ok());
    if let Some(table) = table {
        server.begin_counting(key, table);
    }
}

/// Joins a new queue. Descriptors: request memory, reply memory, and where the client waits on
/// events the card's end of the completion socket.
fn attach(server: &mut Server, grant: Grant, slots: u32, descriptors: Vec<OwnedFd>) -> CardNotice {
    let queue = grant.queue;
    let rejected = |why: String| CardNotice::Rejected { queue, why };
    let mut descriptors = descriptors.into_iter();
    let (Some(request), Some(reply)) = (descriptors.next(), descriptors.next()) else {
        return rejected("a queue comes with its request and its reply memory".to_owned());
    };
    let parts = CardParts { request, reply, completion: descriptors.next(), slots, queue };
    let joined = match CardQueue::join(parts) {
        Ok(joined) => joined,
        Err(cause) => return rejected(cause.to_string()),
    };
    let grant_bytes = wire::control::encode(&grant).map_or(usize::MAX, |bytes| bytes.len());
    match unserved(server, &grant, grant_bytes) {
        None => {
            server.begin_queue(joined, grant, grant_bytes);
            CardNotice::Attached { queue }
        }
        Some(why) => {
            // The client may have it already: this tells it that the queue has ended.
            drop(joined);
            rejected(why)
        }
    }
}

/// Why a queue with this grant, which takes this many bytes in a message, is refused; none if it is not.
fn unserved(server: &Server, grant: &Grant, grant_bytes: usize) -> Option<String> {
    let told = || server.queues.iter().map(|attached| attached.grant_bytes).sum::<usize>();
    if !matches!(server.life.state(), CardState::Ready | CardState::Quiescing) {
        Some(format!("the card is {:?}", server.life.state()))
    } else if server.queues.len() >= QUEUES_PER_CARD_MAX {
        Some(format!("the card has {QUEUES_PER_CARD_MAX} queues, the most it may"))
    } else if !server.has_room_for_queue() {
        Some("the card's secret memory is full".to_owned())
    } else if grant.domain >= server.start.domains {
        Some(format!("the card has {} domains, not domain {}", server.start.domains, grant.domain))
    } else if grant.account as usize >= TENANTS_MAX {
        Some(format!("account {} is none of the {TENANTS_MAX} that there are", grant.account))
    } else if server.queues.iter().any(|attached| attached.grant.queue == grant.queue) {
        Some(format!("queue {} is attached already", grant.queue))
    } else if told().saturating_add(grant_bytes) > GRANTS_BYTES_MAX {
        Some("the card could not tell a later daemon of any more queues".to_owned())
    } else {
        None
    }
}
