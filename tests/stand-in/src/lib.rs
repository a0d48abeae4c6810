//! What stands in for a card where a test plays its part: its end of queues and, in a process that a daemon starts, its
//! end of the control channel. What is answered, and which orders are obeyed, is the test's.
#![forbid(unsafe_code)]

use link::{CardParts, CardQueue, Channel, Doorbell, Listener, Samples, StatusPage};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::os::fd::{AsFd, OwnedFd};
use wire::code;
use wire::control::{CardOrder, CardStart};
use wire::frame::{BULK_NONE, Outcome, ReplyHeader};
use wire::registers::{HeldRegisters, RegisterSet};

/// The header of a reply that says only that the verb ran. The queue sets place, length and the number of the request.
pub const ANSWERED: ReplyHeader = ReplyHeader {
    outcome: Outcome::Answered,
    codes: code::OK,
    payload_bytes: 0,
    sequence: 0,
    bulk: BULK_NONE,
    batch_fill: 1,
    start_tsc: 0,
    end_tsc: 0,
};

/// The slots of [`CardQueue::pending`], from the first.
pub fn slots(pending: u64) -> impl Iterator<Item = u32> {
    (0..u64::BITS).filter(move |slot| pending >> slot & 1 == 1)
}

/// Descriptor 3, on which the daemon gives a card its end of the control channel; duplicated, since no value owns it.
pub fn inherited() -> Option<OwnedFd> {
    let own = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    pidfd_getfd(own, 3, PidfdGetfdFlags::empty()).ok()
}

/// What a card's process has once its daemon has started it.
pub struct Started {
    /// The first order.
    pub start: CardStart,
    /// Its doorbell.
    pub doorbell: Doorbell,
    /// Where a later daemon connects.
    pub listener: Listener,
    /// Its status page, as memory.
    pub page: OwnedFd,
    /// Its status page.
    pub status: StatusPage,
    /// Its samples, as memory.
    pub samples: OwnedFd,
    /// What came behind: its end to the keeper.
    pub more: Vec<OwnedFd>,
    /// Key table and accounts, which nothing here reads.
    _held: [OwnedFd; 2],
}

impl Started {
    /// Takes the first order of a control channel, and says in the samples that the card holds all registers of the
    /// first domain: without them it is asked nothing. None where the order is another, or lacks a descriptor.
    pub fn take(channel: &Channel) -> Option<Self> {
        let Ok((CardOrder::Start(start), descriptors)) = channel.recv::<CardOrder>() else { return None };
        let mut descriptors = descriptors.into_iter();
        let doorbell = Doorbell::from_fd(descriptors.next()?).ok()?;
        let listener = Listener::from_fd(descriptors.next()?).ok()?;
        let page = descriptors.next()?;
        let status = StatusPage::join(page.as_fd()).ok()?;
        let held = [descriptors.next()?, descriptors.next()?];
        let samples = descriptors.next()?;
        let all = HeldRegisters::NONE.with(0, RegisterSet::ALL);
        Samples::join(samples.as_fd()).ok()?.set_registers(all);
        let more = descriptors.collect();
        Some(Self { start, doorbell, listener, page, status, samples, more, _held: held })
    }
}

/// The card's end of a queue that it was told to serve, which says that it holds all registers. None where the
/// descriptors are no queue's.
pub fn attached(queue: u64, slots: u32, descriptors: Vec<OwnedFd>) -> Option<CardQueue> {
    let mut descriptors = descriptors.into_iter();
    let (request, reply) = (descriptors.next()?, descriptors.next()?);
    let parts = CardParts { request, reply, completion: descriptors.next(), slots, queue };
    let joined = CardQueue::join(parts).ok()?;
    joined.set_registers(RegisterSet::ALL);
    Some(joined)
}
