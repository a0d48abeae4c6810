//! The client's end of a queue: claims slots, submits requests, waits for replies.
//!
//! Any thread may claim any free slot; which slots and bulk blocks are free is known to this
//! process only. What the card writes is a claim as well: a reply is taken only where its reply
//! word and its header carry the sequence of the request, and it is copied once before it is read.
//!
//! ```text
//! free --claim--> Slot --submit--> InFlight --try_reply, wait--> free
//!   ^--------------drop-------------'  |
//!   ^--next claim, once the card answered-- drop before the reply (abandoned)
//! ```

pub(crate) mod any;

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::RecvFlags;

use wire::bounds::{BULK_BLOCKS, BULK_BYTES_MAX, INLINE_BYTES_MAX, LIVENESS_WAIT_NS};
use wire::control::PollMode;
use wire::frame::{BULK_NONE, FrameError, ReplyHeader, RequestHeader};

use crate::card::header_bytes;
use crate::clock::{ns_to_tsc, tsc, tsc_to_ns};
use crate::doorbell::{self, current_processor};
use crate::error::{LinkError, Violation};
use crate::memory::{Access, JoinError, Mapping};
use crate::process::{PidFd, timespec};
use crate::protocol;
use crate::queue::Layout;
use crate::status::StatusView;
use crate::world;

/// How long a waiter looks for its reply before it sleeps, where it may spin at all, in
/// nanoseconds: about what sleeping and being woken costs.
pub const CLIENT_SPIN_NS: u64 = 10_000;
/// Passes longer than this are slept through by clients, and after one a card does not wait for its
/// clients awake, in nanoseconds: what spinning would save is little beside them, and the processor
/// may be wanted, not least by the client or by another card.
pub const PASS_SPIN_MAX_NS: u64 = 32_768;
/// Waits in a row that spun in vain before a queue stops spinning, but for one wait in [`SPIN_RETRY`].
const SPIN_MISSES_MAX: u32 = 4;
/// See [`SPIN_MISSES_MAX`].
const SPIN_RETRY: u32 = 16;
const CLIENT_SPIN: Duration = Duration::from_nanos(CLIENT_SPIN_NS);
const LIVENESS_WAIT: Duration = Duration::from_nanos(LIVENESS_WAIT_NS);
const ALL_BLOCKS: u64 = u64::MAX >> (64 - BULK_BLOCKS);

/// What the daemon hands to a client for one queue.
#[derive(Debug)]
pub struct ClientParts {
    /// Memory that the client writes.
    pub request: OwnedFd,
    /// Memory that the card writes; read-only here.
    pub reply: OwnedFd,
    /// Connected end of the card's doorbell.
    pub doorbell: OwnedFd,
    /// The card's status page, for reading.
    pub status: OwnedFd,
    /// The card's process.
    pub pidfd: OwnedFd,
    /// The client's end of the completion socket, where the queue has one.
    pub completion: Option<OwnedFd>,
    /// Slots of the queue.
    pub slots: u32,
    /// Number of the queue.
    pub queue: u64,
    /// Generation of the card's process that the queue was made for.
    pub generation: u64,
}

/// The client's end of a queue; clones are the same queue. The memory is unmapped when the last
/// clone, [`Slot`] and [`InFlight`] of it is gone.
#[derive(Clone, Debug)]
pub struct ClientQueue {
    inner: Arc<Inner>,
}

/// A claimed slot, given back when it is dropped.
#[derive(Debug)]
pub struct Slot {
    /// Taken out when the slot goes into flight.
    inner: Option<Arc<Inner>>,
    slot: u32,
}

/// A request that was submitted. Dropped before its reply was collected, its slot stays in use
/// until the card has answered.
#[derive(Debug)]
#[must_use = "the reply must be collected"]
pub struct InFlight {
    inner: Arc<Inner>,
    slot: u32,
    sequence: u64,
    bulk: u32,
    /// Whether the card was awake when it was submitted.
    awake: bool,
    armed: Cell<bool>,
    collected: Cell<bool>,
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

    /// Whether [`ClientQueue::try_reply`] would now return something else than "not yet": a reply, or
    /// an error. One load, for a look at many requests in turn.
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
    // First what every request writes.
    free: Line<AtomicU64>,
    blocks: Line<AtomicU64>,
    /// Sequence of the last request of each slot; touched by the slot's owner only.
    sequences: Box<[AtomicU64]>,
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
    doorbell: OwnedFd,
    pidfd: PidFd,
    completion: Option<OwnedFd>,
}

/// A value on a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Line<T>(T);

impl ClientQueue {
    /// Maps the memories of a queue. Their descriptors are closed.
    ///
    /// # Errors
    /// [`JoinError`] where the parts are not of this queue, or the card's process is of another
    /// generation by now.
    pub fn join(parts: ClientParts) -> Result<Self, JoinError> {
        let layout = Layout::new(parts.slots, parts.queue)?;
        let status = StatusView::join(parts.status.as_fd())?;
        if status.generation() != parts.generation {
            return Err(JoinError::Generation { found: status.generation() });
        }
        let inner = Inner {
            free: Line(AtomicU64::new(layout.mask())),
            blocks: Line(AtomicU64::new(ALL_BLOCKS)),
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
            completion: parts.completion,
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

    /// Generation of the card's process.
    pub fn generation(&self) -> u64 {
        self.inner.generation
    }

    /// The card's status page.
    pub fn status(&self) -> &StatusView {
        &self.inner.status
    }

    /// The card's process.
    pub fn pidfd(&self) -> &PidFd {
        &self.inner.pidfd
    }

    /// Slots in use: claimed, in flight, or abandoned and not answered yet.
    pub fn slots_used(&self) -> u32 {
        self.inner.layout.slots - self.inner.free.0.load(Ordering::Relaxed).count_ones()
    }

    /// Whether the card's process has ended, or the card has ended the queue: either way nothing more is
    /// answered. One system call, until it has.
    pub fn is_dead(&self) -> bool {
        self.inner.is_dead()
    }

    /// Whether the queue can be used, as far as is known without a system call.
    ///
    /// # Errors
    /// [`LinkError::Forked`], [`LinkError::Violation`] or [`LinkError::Dead`].
    pub fn check(&self) -> Result<(), LinkError> {
        self.inner.check()
    }

    /// Claims a free slot.
    ///
    /// # Errors
    /// [`LinkError::Full`], or as [`ClientQueue::check`].
    pub fn claim(&self) -> Result<Slot, LinkError> {
        self.inner.check()?;
        let slot = match self.inner.take_free() {
            Some(slot) => slot,
            None => {
                self.inner.reap();
                self.inner.take_free().ok_or(LinkError::Full)?
            }
        };
        Ok(Slot { inner: Some(Arc::clone(&self.inner)), slot })
    }

    /// Claims a free slot, waiting for one until the deadline; `None` is for ever.
    ///
    /// # Errors
    /// [`LinkError::TimedOut`], or as [`ClientQueue::check`].
    pub fn claim_until(&self, deadline: Option<Instant>) -> Result<Slot, LinkError> {
        match self.claim() {
            Err(LinkError::Full) => {}
            other => return other,
        }
        let inner = &*self.inner;
        let mut guard = inner.claim_lock.lock().unwrap_or_else(PoisonError::into_inner);
        inner.claimers.fetch_add(1, Ordering::SeqCst);
        let mut liveness = Liveness::new();
        let claimed = loop {
            match self.claim() {
                Err(LinkError::Full) => {}
                other => break other,
            }
            let Some(span) = span_until(deadline) else { break Err(LinkError::TimedOut) };
            (guard, _) = inner.slot_freed.wait_timeout(guard, span).unwrap_or_else(PoisonError::into_inner);
            if liveness.is_due() && inner.is_dead() {
                break Err(LinkError::Dead);
            }
        };
        inner.claimers.fetch_sub(1, Ordering::SeqCst);
        claimed
    }

    /// Submits a request whose reply is no longer than the request or fits inline
    /// ([`INLINE_BYTES_MAX`] bytes). See [`ClientQueue::submit_with_room`].
    ///
    /// # Errors
    /// As [`ClientQueue::submit_with_room`].
    pub fn submit(&self, slot: Slot, verb: u16, payload: &[u8]) -> Result<InFlight, LinkError> {
        self.submit_with_room(slot, verb, payload, payload.len())
    }

    /// Submits a request and leaves room for a reply payload of up to `reply_bytes_max` bytes. The
    /// payload is copied; the card is rung where it sleeps. A bulk block is taken where either does
    /// not fit inline; then there is room for [`BULK_BYTES_MAX`] bytes both ways.
    ///
    /// # Errors
    /// [`LinkError::TooLong`], [`LinkError::BulkFull`], or as [`ClientQueue::check`]; nothing was
    /// submitted, and the slot is free again.
    #[inline]
    pub fn submit_with_room(
        &self,
        slot: Slot,
        verb: u16,
        payload: &[u8],
        reply_bytes_max: usize,
    ) -> Result<InFlight, LinkError> {
        self.submit_as(slot, verb, payload, reply_bytes_max, false)
    }

    /// As [`ClientQueue::submit_with_room`], for a request that is to share no batch with others: a
    /// card died with it, and it may be the cause.
    ///
    /// # Errors
    /// As [`ClientQueue::submit_with_room`].
    pub fn submit_alone(
        &self,
        slot: Slot,
        verb: u16,
        payload: &[u8],
        reply_bytes_max: usize,
    ) -> Result<InFlight, LinkError> {
        self.submit_as(slot, verb, payload, reply_bytes_max, true)
    }

    fn submit_as(
        &self,
        mut slot: Slot,
        verb: u16,
        payload: &[u8],
        reply_bytes_max: usize,
        alone: bool,
    ) -> Result<InFlight, LinkError> {
        let inner = &*self.inner;
        inner.check()?;
        if !slot.inner.as_ref().is_some_and(|owner| Arc::ptr_eq(owner, &self.inner)) {
            return Err(LinkError::NotInFlight);
        }
        inner.request.will_write(inner.layout.submission());
        inner.request.will_write(inner.layout.header(slot.slot));
        inner.request.will_write(inner.layout.inline(slot.slot));
        let longest = payload.len().max(reply_bytes_max);
        if longest > BULK_BYTES_MAX {
            return Err(LinkError::TooLong { bytes: longest });
        }
        let bulk = if longest > INLINE_BYTES_MAX { inner.take_block()? } else { BULK_NONE };
        let index = slot.slot;
        let offset = match payload.len() {
            0..=INLINE_BYTES_MAX => inner.layout.inline(index),
            _ => inner.layout.bulk(bulk),
        };
        inner.request.copy_from_private(offset, payload);
        // Unique within the queue, and never that of the slot's last reply.
        let sequence = inner.sequences[index as usize].load(Ordering::Relaxed).wrapping_add(64);
        inner.sequences[index as usize].store(sequence, Ordering::Relaxed);
        let header =
            RequestHeader { verb, payload_bytes: payload.len() as u32, sequence, bulk, queued_tsc: tsc() };
        inner.request.copy_from_private(inner.layout.header(index), &header.to_bytes());
        let processor = current_processor().map_or(0, |number| u64::from(number) + 1);
        if inner.request.load(inner.layout.processor()) != processor {
            inner.request.store(inner.layout.processor(), processor);
        }
        let (wishes, bit) = (inner.request.writable(inner.layout.alone()), 1 << index);
        if alone {
            wishes.fetch_or(bit, Ordering::Relaxed);
        } else if wishes.load(Ordering::Relaxed) & bit != 0 {
            // Of the request that had the slot before.
            wishes.fetch_and(!bit, Ordering::Relaxed);
        }
        world::step("submit");
        protocol::submit(inner.request.writable(inner.layout.submission()), 1 << index);
        world::step("submitted");
        let asleep = protocol::must_ring(inner.status.asleep());
        if asleep {
            doorbell::ring(inner.doorbell.as_fd());
        }
        Ok(InFlight {
            inner: slot.inner.take().unwrap_or_else(|| Arc::clone(&self.inner)),
            slot: index,
            sequence,
            bulk,
            awake: !asleep,
            armed: Cell::new(false),
            collected: Cell::new(false),
        })
    }

    /// Collects the reply where it is there: replaces the content of `payload` and frees the slot.
    /// No system call.
    ///
    /// # Errors
    /// [`LinkError::Violation`], [`LinkError::Forked`], [`LinkError::NotInFlight`]. A dead card
    /// is not noticed here: what it answered before it died is collected.
    pub fn try_reply(
        &self,
        request: &InFlight,
        payload: &mut Vec<u8>,
    ) -> Result<Option<ReplyHeader>, LinkError> {
        let inner = &*self.inner;
        if !inner.request.is_present() {
            return Err(LinkError::Forked);
        }
        if request.collected.get() || !Arc::ptr_eq(&request.inner, &self.inner) {
            return Err(LinkError::NotInFlight);
        }
        if !inner.is_answered(request)? {
            return Ok(None);
        }
        let reply = inner.copy_reply(request, payload).map_err(|violation| inner.break_off(violation))?;
        if request.armed.get() {
            let events = inner.request.writable(inner.layout.events());
            protocol::announce_done(events, 1 << request.slot);
        }
        request.collected.set(true);
        inner.release(request.slot, request.bulk);
        Ok(Some(reply))
    }

    /// Waits as `mode` says for the reply, until the deadline; `None` is for ever.
    ///
    /// # Errors
    /// [`LinkError::Dead`] where the card ended without a reply, [`LinkError::TimedOut`], or as
    /// [`ClientQueue::try_reply`].
    pub fn wait(
        &self,
        request: &InFlight,
        mode: PollMode,
        deadline: Option<Instant>,
        payload: &mut Vec<u8>,
    ) -> Result<ReplyHeader, LinkError> {
        // A timer looks when it ticks, and not before.
        if !matches!(mode, PollMode::Every { .. })
            && let Some(reply) = self.try_reply(request, payload)?
        {
            return Ok(reply);
        }
        let inner = &*self.inner;
        match mode {
            PollMode::Spin => {
                // Most answers come before the clock need be asked for what is left.
                if !inner.spin(request, CLIENT_SPIN)? {
                    let bound = span_of(deadline).unwrap_or(Duration::MAX);
                    inner.spin(request, bound)?;
                }
            }
            PollMode::Adaptive => {
                if let Some(bound) = inner.spin_bound(request).filter(|_| inner.spinning_pays()) {
                    let bound = bound.min(span_of(deadline).unwrap_or(Duration::MAX));
                    let seen = inner.spin(request, bound)?;
                    inner.learn(seen);
                }
            }
            PollMode::Sleep => {}
            PollMode::Every { interval_us } => {
                let interval = Duration::from_micros(u64::from(interval_us.max(1)));
                inner.look_every(request, interval, deadline)?;
            }
        }
        if let Some(reply) = self.try_reply(request, payload)? {
            return Ok(reply);
        }
        inner.sleep(request, deadline)?;
        // The card may have answered before it died, or before the deadline was noticed.
        match self.try_reply(request, payload)? {
            Some(reply) => Ok(reply),
            None if inner.is_dead() => Err(LinkError::Dead),
            None => Err(LinkError::TimedOut),
        }
    }

    /// Whether the card has taken a request, or had when it died: false means that nothing of it ran,
    /// and nothing will once the card is dead. A claim of the card's.
    pub fn was_taken(&self, request: &InFlight) -> bool {
        let inner = &*self.inner;
        if !inner.request.is_present() || !Arc::ptr_eq(&request.inner, &self.inner) {
            return true;
        }
        let submitted = inner.request.load(inner.layout.submission());
        let taken = inner.reply.load(inner.layout.taken());
        world::taken((submitted ^ taken) & (1 << request.slot) == 0)
    }

    /// The socket that becomes readable when a request is answered that was given to
    /// [`ClientQueue::arm`]. `None` where the queue was made without one.
    pub fn completion_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.completion.as_ref().map(AsFd::as_fd)
    }

    /// Asks for the completion socket to become readable once this request is answered. True where
    /// it is answered already; then the socket may stay quiet.
    ///
    /// # Errors
    /// [`LinkError::NoCompletion`], or as [`ClientQueue::try_reply`].
    pub fn arm(&self, request: &InFlight) -> Result<bool, LinkError> {
        let inner = &*self.inner;
        if inner.completion.is_none() {
            return Err(LinkError::NoCompletion);
        }
        if !inner.request.is_present() {
            return Err(LinkError::Forked);
        }
        if request.collected.get() || !Arc::ptr_eq(&request.inner, &self.inner) {
            return Err(LinkError::NotInFlight);
        }
        request.armed.set(true);
        protocol::announce_wait(inner.request.writable(inner.layout.events()), 1 << request.slot);
        inner.is_answered(request)
    }

    /// Empties the completion socket. To be called when it is readable and before the replies are
    /// looked for, so that none is missed.
    pub fn drain_completions(&self) {
        let Some(completion) = &self.inner.completion else { return };
        let mut bytes = [0; 64];
        for _ in 0..=self.inner.layout.slots {
            if !matches!(rustix::net::recv(completion, &mut bytes, RecvFlags::DONTWAIT), Ok((count, _)) if count > 0)
            {
                return;
            }
        }
    }
}

impl Inner {
    #[inline]
    fn check(&self) -> Result<(), LinkError> {
        if !self.request.is_present() {
            return Err(LinkError::Forked);
        }
        if self.is_broken.load(Ordering::Acquire)
            && let Some(violation) = *self.broken.lock().unwrap_or_else(PoisonError::into_inner)
        {
            return Err(LinkError::Violation(violation));
        }
        if self.dead.load(Ordering::Relaxed) { Err(LinkError::Dead) } else { Ok(()) }
    }

    fn is_dead(&self) -> bool {
        if self.dead.load(Ordering::Relaxed) {
            return true;
        }
        let ended = self.reply.load(self.layout.ended()) != 0;
        fence(Ordering::Acquire);
        let dead = ended || self.pidfd.is_dead();
        if dead {
            self.dead.store(true, Ordering::Relaxed);
        }
        dead
    }

    fn break_off(&self, violation: Violation) -> LinkError {
        let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *broken.get_or_insert(violation);
        self.is_broken.store(true, Ordering::Release);
        LinkError::Violation(first)
    }

    fn take_free(&self) -> Option<u32> {
        lowest_bit(&self.free.0)
    }

    fn take_block(&self) -> Result<u32, LinkError> {
        lowest_bit(&self.blocks.0).map_or_else(
            || {
                self.reap();
                lowest_bit(&self.blocks.0).ok_or(LinkError::BulkFull)
            },
            Ok,
        )
    }

    /// Gives back a slot, and the block that was lent with it.
    fn release(&self, slot: u32, bulk: u32) {
        if bulk != BULK_NONE {
            self.blocks.0.fetch_or(1 << bulk, Ordering::Release);
        }
        self.free.0.fetch_or(1 << slot, Ordering::SeqCst);
        // In a child of fork the lock may be held for ever by a thread that is not there.
        if self.claimers.load(Ordering::SeqCst) > 0 && self.request.is_present() {
            drop(self.claim_lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.slot_freed.notify_one();
        }
    }

    /// Frees the slots of abandoned requests that were answered since.
    fn reap(&self) {
        let mut left = self.abandoned.load(Ordering::Acquire);
        while left != 0 {
            let slot = left.trailing_zeros();
            let bit = 1 << slot;
            left &= !bit;
            let word = protocol::look(self.reply.word(self.layout.reply_word(slot)));
            let sequence = self.sequences[slot as usize].load(Ordering::Relaxed);
            // Of several threads here, the one that clears the bit frees the slot.
            if word == sequence && self.abandoned.fetch_and(!bit, Ordering::AcqRel) & bit != 0 {
                let bulk = self.abandoned_blocks[slot as usize].load(Ordering::Relaxed);
                self.release(slot, bulk);
            }
        }
    }

    fn is_answered(&self, request: &InFlight) -> Result<bool, LinkError> {
        let found = protocol::look(self.reply.word(self.layout.reply_word(request.slot)));
        if found == request.sequence {
            return Ok(true);
        }
        // Before the reply, the word is that of the slot's last one, or 0.
        let last = request.sequence.wrapping_sub(64);
        if found == last || (found == 0 && last < 64) {
            return Ok(false);
        }
        Err(self.break_off(Violation::Sequence { expected: request.sequence, found }))
    }

    fn copy_reply(&self, request: &InFlight, payload: &mut Vec<u8>) -> Result<ReplyHeader, Violation> {
        payload.clear();
        let header = ReplyHeader::from_bytes(&header_bytes(&self.reply, self.layout.header(request.slot)))?;
        if header.sequence != request.sequence {
            return Err(Violation::Sequence { expected: request.sequence, found: header.sequence });
        }
        let bytes = header.payload_bytes as usize;
        let (offset, bulk) = match bytes {
            0..=INLINE_BYTES_MAX => (self.layout.inline(request.slot), BULK_NONE),
            _ if request.bulk != BULK_NONE && bytes <= BULK_BYTES_MAX => {
                (self.layout.bulk(request.bulk), request.bulk)
            }
            _ => return Err(FrameError::PayloadLength(header.payload_bytes).into()),
        };
        if header.bulk != bulk {
            return Err(FrameError::Bulk(header.bulk).into());
        }
        self.reply.copy_to_private(offset, bytes, payload);
        Ok(header)
    }

    /// How long to look for the reply before sleeping: some passes of the card and what sleeping
    /// costs. `None` where the card was asleep at the submission and is still, runs on this
    /// processor, or makes long passes.
    fn spin_bound(&self, request: &InFlight) -> Option<Duration> {
        let pass_ns = self.status.pass_ns();
        let spins = pass_ns <= PASS_SPIN_MAX_NS
            && (request.awake || !self.status.is_asleep())
            && self.card_is_elsewhere();
        spins.then(|| Duration::from_nanos(CLIENT_SPIN_NS + 2 * pass_ns))
    }

    /// Whether the last waits that spun did so with success; if not, one wait in [`SPIN_RETRY`] may.
    fn spinning_pays(&self) -> bool {
        let misses = self.spin_misses.load(Ordering::Relaxed);
        misses < SPIN_MISSES_MAX || {
            self.spin_misses.store(misses.wrapping_add(1).max(SPIN_MISSES_MAX), Ordering::Relaxed);
            misses.is_multiple_of(SPIN_RETRY)
        }
    }

    fn learn(&self, seen: bool) {
        if seen {
            self.spin_misses.store(0, Ordering::Relaxed);
        } else {
            let misses = self.spin_misses.load(Ordering::Relaxed);
            self.spin_misses.store(misses.wrapping_add(1).max(1), Ordering::Relaxed);
        }
    }

    fn card_is_elsewhere(&self) -> bool {
        match (self.status.processor(), current_processor()) {
            (Some(card), Some(here)) => card != here,
            _ => false,
        }
    }

    /// Looks for the reply without sleeping; true where it is there. Gives up after `bound`, or
    /// when the card is found dead.
    fn spin(&self, request: &InFlight, bound: Duration) -> Result<bool, LinkError> {
        let begin = tsc();
        let bound = ns_to_tsc(u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX));
        let liveness = ns_to_tsc(LIVENESS_WAIT_NS);
        let mut next_look = liveness;
        loop {
            if self.is_answered(request)? {
                return Ok(true);
            }
            let spent = tsc().wrapping_sub(begin);
            if spent >= bound {
                return Ok(false);
            }
            if spent >= next_look {
                next_look = spent.saturating_add(liveness);
                if self.is_dead() {
                    return Ok(false);
                }
            }
            // Asked to spin on the card's own processor: at least let it run. Looked at now and then only.
            if spent & 0x3F == 0 && !self.card_is_elsewhere() {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    fn look_every(
        &self,
        request: &InFlight,
        interval: Duration,
        deadline: Option<Instant>,
    ) -> Result<(), LinkError> {
        let mut liveness = Liveness::new();
        loop {
            let tick = until_tick(interval);
            world::sleep(span_of(deadline).map_or(tick, |left| left.min(tick)));
            let is_late = span_of(deadline).is_some_and(|left| left.is_zero());
            if self.is_answered(request)? || is_late || (liveness.is_due() && self.is_dead()) {
                return Ok(());
            }
        }
    }

    /// Sleeps until the reply is there, the card is dead, or the deadline has passed.
    fn sleep(&self, request: &InFlight, deadline: Option<Instant>) -> Result<(), LinkError> {
        let waiting = self.request.writable(self.layout.waiting());
        let bit = 1 << request.slot;
        let word = self.layout.reply_word(request.slot);
        let mut liveness = Liveness::new();
        protocol::announce_wait(waiting, bit);
        world::step("announce wait");
        let slept = loop {
            let before = protocol::look(self.reply.word(word));
            match self.is_answered(request) {
                Ok(false) => {}
                Ok(true) => break Ok(()),
                Err(error) => break Err(error),
            }
            let Some(span) = span_until(deadline) else { break Ok(()) };
            // Returns at once where the word has changed since; whatever woke us, look again.
            world::futex_wait(self.reply.futex(word), before as u32, &timespec(span));
            if liveness.is_due() && self.is_dead() {
                break Ok(());
            }
        };
        protocol::announce_done(waiting, bit);
        slept
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(inner) = &self.inner {
            inner.release(self.slot, BULK_NONE);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if !self.collected.get() {
            let slot = self.slot as usize;
            self.inner.abandoned_blocks[slot].store(self.bulk, Ordering::Relaxed);
            self.inner.abandoned.fetch_or(1 << slot, Ordering::Release);
        }
    }
}

/// How long it is until the timer of [`PollMode::Every`] with this interval ticks again. The ticks are those of
/// the time-stamp counter, the same for all threads.
pub fn until_tick(interval: Duration) -> Duration {
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(interval_ns - tsc_to_ns(tsc()) % interval_ns)
}

/// Takes the lowest bit that is set.
fn lowest_bit(bits: &AtomicU64) -> Option<u32> {
    let mut seen = bits.load(Ordering::Relaxed);
    while seen != 0 {
        let lowest = seen & seen.wrapping_neg();
        match bits.compare_exchange_weak(seen, seen & !lowest, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Some(lowest.trailing_zeros()),
            Err(now) => seen = now,
        }
    }
    None
}

/// When to look at the pidfd again: by the clock, so that a process with a busy interval timer, whose
/// every sleep is cut short, notices a death as well.
struct Liveness {
    next: Instant,
}

impl Liveness {
    fn new() -> Self {
        Self { next: world::now() + LIVENESS_WAIT }
    }

    fn is_due(&mut self) -> bool {
        let now = world::now();
        let due = now >= self.next;
        if due {
            self.next = now + LIVENESS_WAIT;
        }
        due
    }
}

/// What is left until the deadline; `None` where there is none.
fn span_of(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|deadline| deadline.saturating_duration_since(world::now()))
}

/// How long to sleep before looking again: until the deadline, and no longer than [`LIVENESS_WAIT`].
/// `None` after the deadline.
fn span_until(deadline: Option<Instant>) -> Option<Duration> {
    match span_of(deadline) {
        Some(Duration::ZERO) => None,
        Some(left) => Some(left.min(LIVENESS_WAIT)),
        None => Some(LIVENESS_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doorbell::Doorbell;
    use crate::queue::QueueMemory;
    use crate::status::StatusPage;
    use wire::Codes;
    use wire::bounds::HEADER_BYTES;
    use wire::frame::Outcome;

    /// A client, and a card that writes what it likes.
    struct Hostile {
        client: ClientQueue,
        reply: Mapping,
        layout: Layout,
        status: StatusPage,
    }

    impl Hostile {
        fn new() -> Self {
            let memory = QueueMemory::create(4, 9).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let bell = folder.path().join("bell");
            let _doorbell = Doorbell::bind(&bell).unwrap();
            let status = StatusPage::create(3).unwrap();
            let [request, reply] = memory.for_client().unwrap();
            let client = ClientQueue::join(ClientParts {
                request,
                reply,
                doorbell: Doorbell::connect(&bell).unwrap(),
                status: StatusPage::read_only(status.as_fd()).unwrap(),
                pidfd: PidFd::open(std::process::id()).unwrap().into_fd(),
                completion: None,
                slots: 4,
                queue: 9,
                generation: 3,
            })
            .unwrap();
            let layout = Layout::new(4, 9).unwrap();
            let [_, reply] = memory.for_card().unwrap();
            let reply = layout.map_reply(reply.as_fd(), Access::Write).unwrap();
            let status = StatusPage::join(status.as_fd()).unwrap();
            Self { client, reply, layout, status }
        }

        fn answer(&self, slot: u32, header: &ReplyHeader, word: u64) {
            let bytes = header.to_bytes();
            self.reply.copy_from_private(self.layout.header(slot), &bytes[..HEADER_BYTES - 8]);
            protocol::publish(self.reply.writable(self.layout.reply_word(slot)), word);
        }
    }

    fn reply_to(request: &InFlight, payload_bytes: usize, bulk: u32) -> ReplyHeader {
        ReplyHeader {
            outcome: Outcome::Answered,
            codes: Codes::new(0, 0),
            payload_bytes: payload_bytes as u32,
            sequence: request.sequence,
            bulk,
            batch_fill: 1,
            start_tsc: 0,
            end_tsc: 0,
        }
    }

    #[test]
    fn a_reply_is_taken_only_where_it_may_lie() {
        let long = INLINE_BYTES_MAX + 1;
        let length = |bytes: usize| Err(FrameError::PayloadLength(bytes as u32).into());
        let block = |bulk| Err(FrameError::Bulk(bulk).into());
        // What the request made room for, and what the card says.
        for (room, bytes, bulk, expected) in [
            (0, INLINE_BYTES_MAX, BULK_NONE, Ok(())),
            (0, 1, 0, block(0)),
            (0, long, BULK_NONE, length(long)),
            (0, long, 0, length(long)),
            (long, 1, BULK_NONE, Ok(())),
            (long, long, 0, Ok(())),
            (long, BULK_BYTES_MAX, 0, Ok(())),
            (long, BULK_BYTES_MAX + 1, 0, length(BULK_BYTES_MAX + 1)),
            (long, long, 1, block(1)),
            (long, long, u32::MAX - 1, block(u32::MAX - 1)),
            (long, u32::MAX as usize, 0, length(u32::MAX as usize)),
        ] {
            let hostile = Hostile::new();
            let slot = hostile.client.claim().unwrap();
            let request = hostile.client.submit_with_room(slot, 1, b"", room).unwrap();
            hostile.answer(request.slot, &reply_to(&request, bytes, bulk), request.sequence);
            let mut payload = vec![1];
            let collected = hostile.client.try_reply(&request, &mut payload);
            let expected: Result<(), Violation> = expected;
            match expected {
                Ok(()) => assert_eq!(collected.unwrap().unwrap().payload_bytes as usize, payload.len()),
                Err(violation) => {
                    assert_eq!(collected, Err(LinkError::Violation(violation)), "{bytes} in {bulk}");
                    assert!(payload.is_empty());
                    // The queue is of no more use to anyone.
                    assert_eq!(hostile.client.claim().unwrap_err(), LinkError::Violation(violation));
                }
            }
        }
    }

    #[test]
    fn a_reply_to_another_request_is_refused() {
        for (word, sequence) in [(0, 1), (1, 0), (7, 7), (u64::MAX, 0)] {
            let hostile = Hostile::new();
            let request = hostile.client.submit(hostile.client.claim().unwrap(), 1, b"").unwrap();
            let mut header = reply_to(&request, 0, BULK_NONE);
            header.sequence += sequence;
            hostile.answer(request.slot, &header, request.sequence.wrapping_add(word));
            let error = hostile.client.try_reply(&request, &mut Vec::new()).unwrap_err();
            assert!(matches!(error, LinkError::Violation(Violation::Sequence { .. })), "{error}");
            let waited = hostile.client.wait(&request, PollMode::Sleep, None, &mut Vec::new());
            assert!(matches!(waited, Err(LinkError::Violation(_))));
        }
    }

    #[test]
    fn slots_and_requests_of_another_queue_are_refused() {
        let (one, other) = (Hostile::new(), Hostile::new());
        let slot = one.client.claim().unwrap();
        assert_eq!(other.client.submit(slot, 1, b"").unwrap_err(), LinkError::NotInFlight);
        assert_eq!(one.client.slots_used(), 0);
        let request = one.client.submit(one.client.claim().unwrap(), 1, b"").unwrap();
        assert_eq!(other.client.try_reply(&request, &mut Vec::new()), Err(LinkError::NotInFlight));
        assert_eq!(one.client.arm(&request), Err(LinkError::NoCompletion));
    }

    #[test]
    fn a_client_spins_for_cards_that_are_awake_elsewhere_and_make_short_passes() {
        let hostile = Hostile::new();
        let request = hostile.client.submit(hostile.client.claim().unwrap(), 1, b"").unwrap();
        let bound = || hostile.client.inner.spin_bound(&request);
        // No processor said yet.
        assert_eq!(bound(), None);
        // One that nobody runs on.
        hostile.status.set_processor(u32::MAX - 1);
        assert_eq!(bound(), Some(Duration::from_nanos(CLIENT_SPIN_NS)));
        hostile.status.set_pass(PASS_SPIN_MAX_NS);
        assert_eq!(bound(), Some(Duration::from_nanos(CLIENT_SPIN_NS + 2 * PASS_SPIN_MAX_NS)));
        hostile.status.set_pass(PASS_SPIN_MAX_NS + 1);
        assert_eq!(bound(), None);
    }

    #[test]
    fn a_timer_ticks_within_its_interval_and_at_multiples_of_it() {
        for interval in [1, 50_000, 10_000_000].map(Duration::from_nanos) {
            let before = Duration::from_nanos(tsc_to_ns(tsc()));
            let until = until_tick(interval);
            let after = Duration::from_nanos(tsc_to_ns(tsc()));
            assert!(!until.is_zero() && until <= interval);
            // A tick lies between the two readings, moved by what was left.
            let tick = |at: Duration| (at + until).as_nanos() / interval.as_nanos();
            assert!(
                (tick(before)..=tick(after)).contains(&(before.as_nanos() / interval.as_nanos() + 1))
                    || after - before > interval
            );
        }
    }

    #[test]
    fn the_first_of_several_answers_ends_the_spin() {
        let hostile = Hostile::new();
        hostile.status.set_processor(u32::MAX - 1);
        let requests =
            [(); 3].map(|()| hostile.client.submit(hostile.client.claim().unwrap(), 1, b"").unwrap());
        assert!(requests.iter().all(|request| !request.is_over()));
        assert!(!any::spin_until_any(requests.iter()));
        let answered = &requests[1];
        hostile.answer(answered.slot, &reply_to(answered, 0, BULK_NONE), answered.sequence);
        assert!(answered.is_over() && !requests[0].is_over());
        assert!(any::spin_until_any(requests.iter()));
        hostile.client.try_reply(answered, &mut Vec::new()).unwrap().unwrap();
        assert!(!any::spin_until_any(requests.iter()));
        // A word that belongs to no request is for the look to judge.
        hostile.answer(requests[2].slot, &reply_to(&requests[2], 0, BULK_NONE), 77);
        assert!(any::spin_until_any(requests.iter()) && requests[2].is_over());
    }

    #[test]
    fn a_card_of_another_generation_is_not_joined() {
        let memory = QueueMemory::create(4, 9).unwrap();
        let [request, reply] = memory.for_client().unwrap();
        let status = StatusPage::create(3).unwrap();
        let (doorbell, _) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let joined = ClientQueue::join(ClientParts {
            request,
            reply,
            doorbell: doorbell.into(),
            status: StatusPage::read_only(status.as_fd()).unwrap(),
            pidfd: PidFd::open(std::process::id()).unwrap().into_fd(),
            completion: None,
            slots: 4,
            queue: 9,
            generation: 2,
        });
        assert!(matches!(joined, Err(JoinError::Generation { found: 3 })));
    }
}
