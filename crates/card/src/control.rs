//! The control channels of a card: the daemon's, the keeper's, and the listener for a later daemon.
//!
//! The daemon may go away; the card continues to serve, and a later daemon connects to the listener and takes over with
//! [`CardOrder::Adopt`]. A process that connects must have the card's own user id. In a system service it need only
//! reach the listener, which the file's mode keeps to the daemon. No channel can block the card: notices are sent
//! without waiting, or kept until there is room for them, and a daemon that does not read [`NOTICES_MAX`] of them is
//! treated as gone.

use link::{Channel, ChannelError, EXTRA_DESCRIPTORS_MAX, Listener};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use wire::bounds::QUEUES_PER_CARD_MAX;
use wire::control::{
    CardNotice, CardOrder, CardStart, CardState, Delivery, Isolation, Personality, Received,
};
use wire::grant::Grant;
use wire::role::Role;

/// Upper bound of the connections that are open without having adopted the card.
const NEWCOMERS_MAX: usize = 4;
/// Upper bound of the notices kept while the daemon has much else to do: answers to each of its orders about each
/// queue, and some more.
const NOTICES_MAX: usize = 3 * QUEUES_PER_CARD_MAX;
/// Longest sleep of an idle card; with notices that wait for room it is [`SLEEP_WAITING_MAX`].
const SLEEP_MAX: Duration = Duration::from_secs(1);
const SLEEP_WAITING_MAX: Duration = Duration::from_millis(5);
/// Upper bound of the messages handled from one channel before requests are served again.
pub(crate) const MESSAGES_MAX: usize = 16;

const _: () = assert!(NEWCOMERS_MAX + 3 <= EXTRA_DESCRIPTORS_MAX);

/// Identity of a card, as it reports it to a daemon.
pub struct Identity {
    /// Name of the engine's instruction-set level.
    pub level: String,
    /// Number of requests that the card would like in one batch.
    pub lanes: u32,
    /// How the card's process is confined.
    pub isolation: Isolation,
    /// Id of the only user that may adopt the card: its own. `None` in a system service, where the daemon has another
    /// user: there any process may that reaches the listener, which the file's mode keeps to the daemon.
    pub user: Option<u32>,
}

/// The state of a card that serves, for a later daemon.
pub(crate) struct Standing {
    /// The start order that the card got.
    pub start: CardStart,
    /// The state of the card in its life.
    pub state: CardState,
    /// Roles that its grants name.
    pub roles: Vec<Role>,
    /// The grants of its queues.
    pub queues: Vec<Grant>,
}

/// The control channels of a card.
pub struct Control {
    daemon: Option<Channel>,
    /// Notices to the daemon that wait for room, in order.
    waiting: VecDeque<CardNotice>,
    keeper: Option<Channel>,
    /// Domains whose registers the keeper has handed over, one bit each.
    handed: u16,
    /// Acknowledgements for the keeper that its socket had no room for: one per domain.
    owed: Vec<Received>,
    listener: Listener,
    newcomers: Vec<Channel>,
    identity: Identity,
    /// Descriptors of the status page and the samples, for a later daemon.
    views: [OwnedFd; 2],
}

impl Control {
    /// The control channels of a card that was started on the channel `daemon`.
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

    /// Whether any channel can be read. It takes one system call.
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
            // No other error can be mended here: reading the channels tells what is wrong with them.
            Ok(_) | Err(_) => true,
        }
    }

    /// How long an idle card may sleep.
    pub fn sleep_max(&self) -> Duration {
        if self.waiting.is_empty() && self.owed.is_empty() { SLEEP_MAX } else { SLEEP_WAITING_MAX }
    }

    /// Whether there is a keeper to get registers from.
    pub(crate) fn has_keeper(&self) -> bool {
        self.keeper.is_some()
    }

    /// Whether the keeper has handed over the registers of this many domains.
    pub(crate) fn has_registers(&self, domains: u16) -> bool {
        self.handed.count_ones() >= u32::from(domains)
    }

    /// Notifies the daemon that the card is ready.
    pub fn ready(&mut self) {
        let Identity { level, lanes, isolation, .. } = &self.identity;
        self.notify(CardNotice::Ready { level: level.clone(), lanes: *lanes, isolation: isolation.clone() });
    }

    /// Notifies the daemon that the card will not serve any more, and why.
    pub fn failed(&mut self, why: String) {
        self.notify(CardNotice::Failed { why });
    }

    /// Reports that a queue was ended because its client broke a rule of the link.
    pub fn offence(&mut self, queue: u64, rule: String) {
        self.notify(CardNotice::Offence { queue, rule });
    }

    /// The next delivery of the keeper, if there is one. The keeper waits for the answer, [`Control::received`].
    pub(crate) fn hear_keeper(&mut self) -> Option<Delivery> {
        match self.keeper.as_ref()?.try_recv::<Delivery>() {
            Ok((delivery, _)) => {
                self.handed |= 1_u16.checked_shl(delivery.handout.domain.into()).unwrap_or(0);
                return Some(delivery);
            }
            Err(ChannelError::WouldBlock) => {}
            // The keeper is gone: the card keeps what it has.
            Err(_) => self.keeper = None,
        }
        None
    }

    /// Tells the keeper that all requests from here on run under the keys of this delivery.
    pub(crate) fn received(&mut self, delivery: &Delivery) {
        let domain = delivery.handout.domain;
        self.owed.retain(|owed| owed.domain != domain);
        self.owed.push(Received { domain, serial: delivery.serial });
        self.tell_keeper();
    }

    /// The next order of the daemon, if there is one, with its descriptors.
    pub(crate) fn hear_daemon(&mut self) -> Option<(CardOrder, Vec<OwnedFd>)> {
        match self.daemon.as_ref()?.try_recv::<CardOrder>() {
            Ok(order) => return Some(order),
            Err(ChannelError::WouldBlock) => {}
            Err(_) => self.daemon = None,
        }
        None
    }

    /// Tells the keeper which deliveries were received, as far as its socket has room.
    fn tell_keeper(&mut self) {
        let Some(keeper) = &self.keeper else { return self.owed.clear() };
        let mut is_full = false;
        self.owed.retain(|received| {
            // Other errors do not matter: a keeper that is gone is noticed when its channel is read.
            is_full = is_full || matches!(keeper.try_send(received, &[]), Err(ChannelError::WouldBlock));
            is_full
        });
    }

    /// Lets peers in that have connected and may adopt the card, up to [`NEWCOMERS_MAX`].
    pub(crate) fn admit_newcomers(&mut self) {
        while let Ok(Some(newcomer)) = self.listener.try_accept() {
            let adopts = |user| newcomer.peer().is_ok_and(|peer| peer.uid == user);
            let known = self.identity.user.is_none_or(adopts);
            if known && self.newcomers.len() < NEWCOMERS_MAX {
                self.newcomers.push(newcomer);
            }
        }
    }

    /// Whether a newcomer at `place` or after it adopts the card; that one is the daemon from here on. A newcomer's
    /// first message must be the adoption.
    pub(crate) fn is_adopted(&mut self, place: &mut usize) -> bool {
        while *place < self.newcomers.len() {
            match self.newcomers[*place].try_recv::<CardOrder>() {
                Err(ChannelError::WouldBlock) => *place += 1,
                Ok((CardOrder::Adopt, _)) => {
                    self.daemon = Some(self.newcomers.swap_remove(*place));
                    // The new daemon is told of everything at once, and has given no order that these notices answer.
                    self.waiting.clear();
                    return true;
                }
                _ => drop(self.newcomers.swap_remove(*place)),
            }
        }
        false
    }

    /// Tells a daemon that adopts the card the card's state.
    pub(crate) fn adopted(&mut self, standing: Standing) {
        let Identity { level, lanes, isolation, .. } = &self.identity;
        let Standing { start, state, roles, queues } = standing;
        let notice = CardNotice::Adopted {
            holds_registers: self.has_registers(start.domains)
                || start.personality == Personality::Accelerator,
            start,
            state,
            level: level.clone(),
            lanes: *lanes,
            isolation: isolation.clone(),
            roles,
            queues,
        };
        if let Some(daemon) = &self.daemon
            && daemon.try_send(&notice, &self.views.each_ref().map(OwnedFd::as_fd)).is_err()
        {
            self.daemon = None;
        }
    }

    /// Whether a daemon is connected, and no notice to it waits for room.
    pub(crate) fn has_room(&self) -> bool {
        self.daemon.is_some() && self.waiting.is_empty()
    }

    /// Sends the daemon a notice as soon as there is room; without a daemon the notice is dropped.
    pub(crate) fn notify(&mut self, notice: CardNotice) {
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
                // The orders that the daemon gave before its end are still to be read: clients were told that they are
                // carried out.
                Err(ChannelError::Closed) => return self.waiting.clear(),
                Err(_) => self.daemon = None,
            }
        }
        if self.daemon.is_none() {
            self.waiting.clear();
        }
    }
}
