//! Messages on the control channels of a card that serves: keys from the keeper, orders of the daemon, and adoption by
//! another daemon.

use super::Server;
use crate::control::{Control, MESSAGES_MAX, Standing};
use link::world::{self, Event};
use link::{CardParts, CardQueue, FailureView, tsc};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use wire::bounds::{CARD_ROLES_MAX, CONTROL_BYTES_MAX, QUEUES_PER_CARD_MAX, TENANTS_MAX};
use wire::control::{CardNotice, CardOrder, CardState, Delivery, Register};
use wire::grant::Grant;
use wire::pin::CountingKey;
use wire::registers::RegisterSet;

/// How long a card that starts waits for its keeper: a home's keeper takes as long to start as a card does.
const KEEPER_WAIT: Duration = Duration::from_secs(10);
/// Upper bound of the roles in a message, in bytes: each has four words of at most ten bytes, and its number.
const ROLES_BYTES_MAX: usize = CARD_ROLES_MAX * 48;
/// Upper bound of the grants in the adoption message, in bytes; the rest of the message has the other fields.
const GRANTS_BYTES_MAX: usize = CONTROL_BYTES_MAX - ROLES_BYTES_MAX - 4096;

impl Server {
    /// Takes the registers of every domain before the first request, if the card has a keeper: a card that
    /// served without them would refuse what another card carries out. Without an answer the card continues
    /// after [`KEEPER_WAIT`], for requests with clear keys. Breaks if the daemon ordered the end.
    pub fn await_registers(&mut self, control: &mut Control) -> ControlFlow<()> {
        let is_linked = control.has_keeper();
        let end = world::now() + KEEPER_WAIT;
        loop {
            if control.is_ready() {
                self.attend(control)?;
            }
            let is_handed = control.has_registers(self.start.domains);
            let left = end.saturating_duration_since(world::now());
            if !is_linked || is_handed || left.is_zero() {
                return ControlFlow::Continue(());
            }
            control.wait(left);
        }
    }

    /// Handles received messages. Breaks if the daemon ordered the end.
    pub(super) fn attend(&mut self, control: &mut Control) -> ControlFlow<()> {
        // Master keys first: a daemon that has just had them handed out may send work next.
        for _ in 0..MESSAGES_MAX {
            let Some(delivery) = control.hear_keeper() else { break };
            self.load(&delivery);
            // Passes and orders have one thread: all passes from here on run under these keys.
            control.received(&delivery);
        }
        control.admit_newcomers();
        for _ in 0..MESSAGES_MAX {
            match control.hear_daemon() {
                Some((CardOrder::Stop, _)) => {
                    self.tell_denials_to(control);
                    return ControlFlow::Break(());
                }
                Some((order, descriptors)) => self.obey(control, order, descriptors),
                None => break,
            }
        }
        let mut place = 0;
        while control.is_adopted(&mut place) {
            self.introduce(control);
        }
        ControlFlow::Continue(())
    }

    /// Takes over the master keys of a delivery, and publishes which registers are held.
    fn load(&mut self, delivery: &Delivery) {
        // A zeroized card stays without keys. Keys of a domain that the card does not have are not taken.
        if self.life.state() == CardState::Zeroized {
            return;
        }
        let _ = self.processor.load_with_next(&delivery.handout, &delivery.next);
        self.tell_registers();
        if delivery.handout.domain == 0 {
            let registers = Register::ALL.iter().zip(&delivery.next);
            let expected = registers.filter(|(_, key)| !key.is_empty());
            let expected = expected.fold(RegisterSet::NONE, |set, (register, _)| set.with(*register));
            world::saw(Event::Expects(expected));
        }
    }

    fn obey(&mut self, control: &mut Control, order: CardOrder, descriptors: Vec<OwnedFd>) {
        let notice = match order {
            CardOrder::Attach { grant, slots } => self.attach(grant, slots, descriptors),
            CardOrder::Detach { queue } => {
                self.end_queue(queue);
                CardNotice::Detached { queue }
            }
            CardOrder::Quiesce => {
                // Before the change of state: places in limits that were taken while the card served are given back.
                if self.life.serves() {
                    self.end_searches();
                }
                if self.life.quiesce().is_ok() {
                    self.processor.forget_contexts();
                }
                self.moved()
            }
            CardOrder::Resume => {
                let _ = self.life.resume();
                self.moved()
            }
            CardOrder::Zeroize => {
                self.end_searches();
                if self.life.zeroize().is_ok() {
                    self.show_all();
                    self.zeroize();
                }
                self.moved()
            }
            CardOrder::Tables(tables) => return self.processor.set_tables(&tables),
            CardOrder::Counting { key } => return self.begin_to_count(&key, descriptors),
            CardOrder::Counted { number } => return self.counted(number),
            CardOrder::Role(role) => return self.define_role(role),
            CardOrder::Regrant { grant } => return self.regrant(grant),
            CardOrder::Adopt => return self.introduce(control),
            // A second start, or the end that `attend` has dealt with: no order for a card that runs.
            CardOrder::Start(_) | CardOrder::Stop => return,
        };
        control.notify(notice);
    }

    fn moved(&self) -> CardNotice {
        self.status.set_state(self.life.state());
        CardNotice::State(self.life.state())
    }

    /// Tells another daemon the card's state, and has failures that are not durable yet told again.
    fn introduce(&mut self, control: &mut Control) {
        self.counting.tell_again();
        control.adopted(Standing {
            start: self.start.clone(),
            state: self.life.state(),
            roles: self.roles.among(self.queues.iter().map(|attached| attached.grant.role)),
            queues: self.queues.iter().map(|attached| attached.grant.clone()).collect(),
        });
    }

    /// Tells the daemon of failed verifications of PINs, as long as there is a daemon and room for notices.
    pub(super) fn tell_guesses(&mut self, control: &mut Control) {
        control.flush();
        while control.has_room() && self.counting.has_unsent() {
            control.notify(CardNotice::Guesses(self.counting.next_told()));
        }
    }

    /// Tells the daemon of refusals for want of a right, if a notice is due, as long as there is a daemon and room for
    /// notices.
    pub(super) fn tell_denials(&mut self, control: &mut Control) {
        if self.denials.is_due(tsc()) {
            control.flush();
            self.tell_denials_to(control);
        }
    }

    fn tell_denials_to(&mut self, control: &mut Control) {
        while control.has_room() && !self.denials.is_empty() {
            control.notify(self.denials.take(tsc()));
        }
    }

    /// Begins to count failures of PINs. Without a table that it can join the card goes on as before: it judges no PIN
    /// whose failure it cannot count.
    fn begin_to_count(&mut self, key: &CountingKey, descriptors: Vec<OwnedFd>) {
        let table = descriptors.into_iter().next().and_then(|table| FailureView::join(table.as_fd()).ok());
        if let Some(table) = table {
            self.begin_counting(key, table);
        }
    }

    /// Joins a new queue. Descriptors: request memory, reply memory and, if the client waits on events, the card's end
    /// of the completion socket.
    fn attach(&mut self, grant: Grant, slots: u32, descriptors: Vec<OwnedFd>) -> CardNotice {
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
        match self.unserved(&grant, grant_bytes) {
            None => {
                self.begin_queue(joined, grant, grant_bytes);
                CardNotice::Attached { queue }
            }
            Some(why) => {
                // The client may have the queue already: dropping it here tells the client that the queue has ended.
                drop(joined);
                rejected(why)
            }
        }
    }

    /// Why a queue with this grant, which takes this many bytes in a message, is refused; `None` if it is not.
    fn unserved(&self, grant: &Grant, grant_bytes: usize) -> Option<String> {
        let told = || self.queues.iter().map(|attached| attached.grant_bytes).sum::<usize>();
        if !matches!(self.life.state(), CardState::Ready | CardState::Quiescing) {
            Some(format!("the card is {:?}", self.life.state()))
        } else if self.queues.len() >= QUEUES_PER_CARD_MAX {
            Some(format!("the card has {QUEUES_PER_CARD_MAX} queues, the most it may"))
        } else if !self.has_room_for_queue() {
            Some("the card's secret memory is full".to_owned())
        } else if grant.domain >= self.start.domains {
            Some(format!("the card has {} domains, not domain {}", self.start.domains, grant.domain))
        } else if grant.account as usize >= TENANTS_MAX {
            Some(format!("account {} is none of the {TENANTS_MAX} that there are", grant.account))
        } else if self.queues.iter().any(|attached| attached.grant.queue == grant.queue) {
            Some(format!("queue {} is attached already", grant.queue))
        } else if told().saturating_add(grant_bytes) > GRANTS_BYTES_MAX {
            Some("the card could not tell a later daemon of any more queues".to_owned())
        } else {
            None
        }
    }
}
