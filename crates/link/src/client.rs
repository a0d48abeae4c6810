//! The client's end of a queue: claims slots, submits requests, waits for replies.
//!
//! Any thread may claim any free slot; only this process knows which slots and bulk blocks are
//! free. What the card writes is a claim as well. A reply is accepted only if its reply word and
//! its header carry the sequence of the request, and it is copied once before it is read.
//!
//! ```text
//! free --claim--> Slot --submit--> InFlight --try_reply, wait--> free
//!   ^--------------drop-------------'  |
//!   ^--next claim, once the card answered-- drop before the reply (abandoned)
//! ```

pub(crate) mod any;
mod collect;
mod death;
mod send;
#[cfg(test)]
mod tests;
mod wait;

pub use send::Request;
pub use wait::{CLIENT_SPIN_NS, PASS_SPIN_MAX_NS, until_tick};

use crate::error::{LinkError, Violation};
use crate::memory::{Access, JoinError, Mapping};
use crate::process::PidFd;
use crate::protocol;
use crate::queue::{KNOWN, Layout};
use crate::status::StatusView;
use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use wire::bounds::INLINE_BYTES_MAX;
use wire::frame::BULK_NONE;
use wire::registers::RegisterSet;

/// The descriptors and numbers that the daemon hands to a client for one queue.
#[derive(Debug)]
pub struct ClientParts {
    /// Memory that the client writes.
    pub request: OwnedFd,
    /// Memory that the card writes; the client maps it read-only.
    pub reply: OwnedFd,
    /// Connected end of the card's doorbell.
    pub doorbell: OwnedFd,
    /// The card's status page, for reading.
    pub status: OwnedFd,
    /// Descriptor of the card's process.
    pub pidfd: OwnedFd,
    /// Slots of the queue.
    pub slots: u32,
    /// Number of the queue.
    pub queue: u64,
    /// Generation of the card's process that the queue was made for.
    pub generation: u64,
}

/// The client's end of a queue; clones are the same queue. The memory is unmapped when the last
/// clone, [`Slot`] and [`InFlight`] of the queue is gone.
#[derive(Clone, Debug)]
pub struct ClientQueue {
    inner: Arc<Inner>,
}

/// A claimed slot, given back when it is dropped.
#[derive(Debug)]
pub struct Slot {
    /// None once the slot has gone into flight.
    inner: Option<Arc<Inner>>,
    slot: u32,
}

/// A request that was submitted. If it is dropped before its reply was collected, its slot stays in
/// use until the card has answered.
#[derive(Debug)]
#[must_use = "the reply must be collected"]
pub struct InFlight {
    inner: Arc<Inner>,
    slot: u32,
    sequence: u64,
    bulk: u32,
    /// Whether the card was awake when the request was submitted.
    awake: bool,
    collected: Cell<bool>,
}

impl Slot {
    /// Number of the slot.
    pub fn slot(&self) -> u32 {
        self.slot
    }
}

impl InFlight {
    /// Sequence of the request within its queue.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Slot of the request.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// Whether [`ClientQueue::try_reply`] would now return a reply or an error rather than "not
    /// yet". One load, for polling many requests in turn.
    #[inline]
    pub fn is_over(&self) -> bool {
        let inner = &*self.inner;
        !inner.request.is_present() || self.collected.get() || {
            let found = protocol::look(inner.reply.word(inner.layout.reply_word(self.slot)));
            let last = self.sequence.wrapping_sub(64);
            found != last && (found != 0 || last >= 64)
        }
    }
}

#[derive(Debug)]
struct Inner {
    // First the words that every request writes.
    free: Line<AtomicU64>,
    blocks: Line<AtomicU64>,
    /// Slots that are written and not handed over yet.
    staged: AtomicU64,
    /// The submission word as far as replies were collected.
    collected: AtomicU64,
    /// Sequence of the last request of each slot; touched by the slot's owner only.
    sequences: Box<[AtomicU64]>,
    /// Length in bytes of each slot's request payload, if it is to be wiped; else 0.
    secret_bytes: Box<[AtomicU32]>,
    /// Requests dropped before their reply, and the blocks lent to them.
    abandoned: AtomicU64,
    abandoned_blocks: Box<[AtomicU32]>,
    spin_misses: AtomicU32,
    dead: AtomicBool,
    broken: Mutex<Option<Violation>>,
    is_broken: AtomicBool,
    claimers: AtomicU32,
    claim_lock: Mutex<()>,
    slot_freed: Condvar,
    request: Mapping,
    reply: Mapping,
    layout: Layout,
    generation: u64,
    status: StatusView,
    // Not used in a child of fork, where `abandon` closes them.
    doorbell: OwnedFd,
    pidfd: PidFd,
    is_closed: AtomicBool,
}

/// A value on a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Line<T>(T);

impl ClientQueue {
    /// Maps the memories of a queue, and closes their descriptors.
    ///
    /// # Errors
    /// [`JoinError`] if the parts are not of this queue, or the card's process has another
    /// generation by now.
    pub fn join(parts: ClientParts) -> Result<Self, JoinError> {
        let layout = Layout::of(parts.request.as_fd(), parts.slots, parts.queue)?;
        let status = StatusView::join(parts.status.as_fd())?;
        if status.generation() != parts.generation {
            return Err(JoinError::Generation { found: status.generation() });
        }
        let inner = Inner {
            free: Line(AtomicU64::new(layout.mask())),
            blocks: Line(AtomicU64::new((1 << layout.blocks) - 1)),
            staged: AtomicU64::new(0),
            collected: AtomicU64::new(0),
            secret_bytes: (0..layout.slots).map(|_| AtomicU32::new(0)).collect(),
            sequences: (0..layout.slots).map(|slot| AtomicU64::new(u64::from(slot))).collect(),
            abandoned: AtomicU64::new(0),
            abandoned_blocks: (0..layout.slots).map(|_| AtomicU32::new(BULK_NONE)).collect(),
            spin_misses: AtomicU32::new(0),
            dead: AtomicBool::new(false),
            broken: Mutex::new(None),
            is_broken: AtomicBool::new(false),
            claimers: AtomicU32::new(0),
            claim_lock: Mutex::new(()),
            slot_freed: Condvar::new(),
            request: layout.map_request(parts.request.as_fd(), Access::Write)?,
            reply: layout.map_reply(parts.reply.as_fd(), Access::Read)?,
            layout,
            generation: parts.generation,
            status,
            doorbell: parts.doorbell,
            pidfd: PidFd::from_fd(parts.pidfd),
            is_closed: AtomicBool::new(false),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Number of the queue.
    pub fn queue(&self) -> u64 {
        self.inner.layout.queue
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        self.inner.layout.slots
    }

    /// Number of bulk blocks, for requests and replies that do not fit a slot; 0 in a queue for
    /// short ones only.
    pub fn blocks(&self) -> u32 {
        self.inner.layout.blocks
    }

    /// Generation of the card's process.
    pub fn generation(&self) -> u64 {
        self.inner.generation
    }

    /// The card's status page.
    pub fn status(&self) -> &StatusView {
        &self.inner.status
    }

    /// The registers of the queue's domain in which the card claims to hold a current key; none
    /// before the card has joined the queue. One load from a cache line that changes only when keys
    /// come and go.
    #[inline]
    pub fn registers(&self) -> Option<RegisterSet> {
        let inner = &*self.inner;
        let word = if inner.request.is_present() { inner.reply.load(inner.layout.registers()) } else { 0 };
        (word & KNOWN != 0).then(|| RegisterSet::from_bits(word))
    }

    /// Descriptor of the card's process; none in a child of fork.
    pub fn pidfd(&self) -> Option<&PidFd> {
        self.inner.pidfd()
    }

    /// In a child of fork: closes the child's copies of the parent's descriptors, also where threads that the child
    /// does not have hold the queue for ever. In the process that joined the queue it does nothing.
    pub fn abandon(self) {
        if self.inner.request.is_present() {
            return;
        }
        if let Err(shared) = Arc::try_unwrap(self.inner) {
            shared.close();
            // It is never dropped, so that nothing is closed twice.
            std::mem::forget(shared);
        }
    }

    /// Slots in use: claimed, in flight, or abandoned and not answered yet.
    pub fn slots_used(&self) -> u32 {
        self.inner.layout.slots - self.inner.free.0.load(Ordering::Relaxed).count_ones()
    }

    /// Whether a slot is free for a request or reply of this many bytes, and a bulk block if it
    /// needs one. Slots of abandoned requests that are answered are released where none is free.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        let inner = &*self.inner;
        let has_any = |bits: &Line<AtomicU64>| bits.0.load(Ordering::Relaxed) != 0;
        let has_room = || has_any(&inner.free) && (bytes <= INLINE_BYTES_MAX || has_any(&inner.blocks));
        has_room()
            || (inner.abandoned.load(Ordering::Relaxed) != 0 && inner.request.is_present() && {
                inner.reap();
                has_room()
            })
    }

    /// Whether the card's process has ended, or the card has ended the queue: either way nothing
    /// more is answered, and so it is in a child of fork. Takes one system call each time, until
    /// one of them is the case.
    pub fn is_dead(&self) -> bool {
        self.inner.is_dead()
    }

    /// Whether the card has ended the queue, or its process is already known to have ended. One
    /// load; the end of a process shows by its descriptor only.
    pub fn has_ended(&self) -> bool {
        let inner = &*self.inner;
        inner.dead.load(Ordering::Relaxed)
            || (inner.request.is_present() && inner.reply.load(inner.layout.ended()) != 0)
    }

    /// Whether the card was last seen on another processor than the calling thread's, and is awake.
    pub fn card_is_awake_elsewhere(&self) -> bool {
        self.inner.card_is_elsewhere() && !self.inner.status.is_asleep()
    }

    /// Whether the queue can be used, as far as is known without a system call.
    ///
    /// # Errors
    /// [`LinkError::Forked`], [`LinkError::Violation`] or [`LinkError::Dead`].
    pub fn check(&self) -> Result<(), LinkError> {
        self.inner.check()
    }
}
