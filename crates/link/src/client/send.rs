//! Sending: free slots and bulk blocks, and writing a request into a slot.

use super::death::{Liveness, span_until};
use super::{ClientQueue, InFlight, Inner, Slot};
use crate::clock::tsc;
use crate::doorbell::{self, current_processor};
use crate::error::LinkError;
use crate::protocol;
use crate::slots;
use crate::world;
use std::cell::Cell;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;
use wire::bounds::{BULK_BYTES_MAX, INLINE_BYTES_MAX};
use wire::frame::{BULK_NONE, RequestHeader};

impl ClientQueue {
    /// Claims a free slot.
    ///
    /// # Errors
    /// [`LinkError::Full`], or as [`ClientQueue::check`].
    pub fn claim(&self) -> Result<Slot, LinkError> {
        self.inner.check()?;
        if self.inner.abandoned.load(Ordering::Relaxed) != 0 {
            self.inner.reap();
        }
        let slot = self.inner.take_free().ok_or(LinkError::Full)?;
        Ok(Slot { inner: Some(Arc::clone(&self.inner)), slot })
    }

    /// Claims a free slot, waiting for one until the deadline; `None` waits for ever.
    ///
    /// # Errors
    /// [`LinkError::TimedOut`], or as [`ClientQueue::check`].
    pub fn claim_until(&self, deadline: Option<Instant>) -> Result<Slot, LinkError> {
        match self.claim() {
            Err(LinkError::Full) => {}
            other => return other,
        }
        let inner = &*self.inner;
        let mut guard = world::lock(&inner.claim_lock);
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
    /// ([`INLINE_BYTES_MAX`] bytes). See [`ClientQueue::submit_request`].
    ///
    /// # Errors
    /// As [`ClientQueue::submit_request`].
    pub fn submit(&self, slot: Slot, verb: u16, payload: &[u8]) -> Result<InFlight, LinkError> {
        self.submit_with_room(slot, verb, payload, payload.len())
    }

    /// As [`ClientQueue::submit`], with room for a reply payload of up to `reply_bytes_max` bytes.
    ///
    /// # Errors
    /// As [`ClientQueue::submit_request`].
    #[inline]
    pub fn submit_with_room(
        &self,
        slot: Slot,
        verb: u16,
        payload: &[u8],
        reply_bytes_max: usize,
    ) -> Result<InFlight, LinkError> {
        self.submit_request(slot, &Request { verb, payload, reply_bytes_max, alone: false, secret: false })
    }

    /// Submits a request. The payload is copied, and a sleeping card is woken. If request or reply
    /// do not fit inline, a bulk block is taken, with room for [`BULK_BYTES_MAX`] bytes each way.
    ///
    /// # Errors
    /// [`LinkError::TooLong`], [`LinkError::BulkFull`], or as [`ClientQueue::check`]; nothing was
    /// submitted, and the slot is free again.
    #[inline]
    pub fn submit_request(&self, slot: Slot, request: &Request<'_>) -> Result<InFlight, LinkError> {
        let mut in_flight = self.write(slot, request)?;
        let inner = &*self.inner;
        world::step("submit");
        protocol::submit(inner.request.writable(inner.layout.submission()), 1 << in_flight.slot);
        world::step("submitted");
        in_flight.awake = !self.ring();
        Ok(in_flight)
    }

    /// Writes a request that [`ClientQueue::hand_over`] hands to the card later, with others. Until
    /// then the request is not in flight, and was not taken.
    ///
    /// # Errors
    /// As [`ClientQueue::submit_request`].
    #[inline]
    pub fn stage(&self, slot: Slot, request: &Request<'_>) -> Result<InFlight, LinkError> {
        let in_flight = self.write(slot, request)?;
        self.inner.staged.fetch_or(1 << in_flight.slot, Ordering::Relaxed);
        Ok(in_flight)
    }

    /// Hands all staged requests to the card at once; whether there were any. The card must be rung
    /// after that ([`ClientQueue::ring`]).
    #[inline]
    pub fn hand_over(&self) -> bool {
        let inner = &*self.inner;
        if inner.staged.load(Ordering::Relaxed) == 0 || !inner.request.is_present() {
            return false;
        }
        world::step("submit");
        let staged = inner.staged.swap(0, Ordering::Relaxed);
        protocol::submit(inner.request.writable(inner.layout.submission()), staged);
        world::step("submitted");
        true
    }

    /// Rings the card if it sleeps; whether it did. One ring serves all queues of the card in which
    /// requests were handed over.
    #[inline]
    pub fn ring(&self) -> bool {
        let rings = protocol::must_ring(self.inner.status.asleep()) && self.inner.request.is_present();
        if rings {
            doorbell::ring(self.inner.doorbell.as_fd());
        }
        rings
    }

    fn write(&self, mut slot: Slot, request: &Request<'_>) -> Result<InFlight, LinkError> {
        let inner = &*self.inner;
        inner.check()?;
        if !slot.inner.as_ref().is_some_and(|owner| Arc::ptr_eq(owner, &self.inner)) {
            return Err(LinkError::NotInFlight);
        }
        inner.request.will_write(inner.layout.submission());
        inner.request.will_write(inner.layout.header(slot.slot));
        inner.request.will_write(inner.layout.inline(slot.slot));
        let payload = request.payload;
        let longest = payload.len().max(request.reply_bytes_max);
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
        let secret_bytes = if request.secret { payload.len().max(1) as u32 } else { 0 };
        inner.secret_bytes[index as usize].store(secret_bytes, Ordering::Relaxed);
        // The sequence is unique within the queue, and never that of the slot's last reply.
        let sequence = inner.sequences[index as usize].load(Ordering::Relaxed).wrapping_add(64);
        inner.sequences[index as usize].store(sequence, Ordering::Relaxed);
        let header = RequestHeader {
            verb: request.verb,
            payload_bytes: payload.len() as u32,
            sequence,
            bulk,
            queued_tsc: tsc(),
        };
        inner.request.copy_from_private(inner.layout.header(index), &header.to_bytes());
        let processor = current_processor().map_or(0, |number| u64::from(number) + 1);
        if inner.request.load(inner.layout.processor()) != processor {
            inner.request.store(inner.layout.processor(), processor);
        }
        let (wishes, bit) = (inner.request.writable(inner.layout.alone()), 1 << index);
        if request.alone {
            wishes.fetch_or(bit, Ordering::Relaxed);
        } else if wishes.load(Ordering::Relaxed) & bit != 0 {
            // The bit is of the request that had the slot before.
            wishes.fetch_and(!bit, Ordering::Relaxed);
        }
        Ok(InFlight {
            inner: slot.inner.take().unwrap_or_else(|| Arc::clone(&self.inner)),
            slot: index,
            sequence,
            bulk,
            awake: false,
            collected: Cell::new(false),
        })
    }
}

/// A request to be written into a slot.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Number of the verb.
    pub verb: u16,
    /// The payload, copied.
    pub payload: &'a [u8],
    /// Room that the request needs for its reply payload, in bytes.
    pub reply_bytes_max: usize,
    /// Whether the request must have a batch of its own: a card died with it, and it may be the
    /// cause.
    pub alone: bool,
    /// Whether the request or its reply holds a secret: then neither stays in shared memory once
    /// the reply is collected.
    pub secret: bool,
}

impl Inner {
    fn take_free(&self) -> Option<u32> {
        slots::claim(&self.free.0)
    }

    fn take_block(&self) -> Result<u32, LinkError> {
        slots::claim(&self.blocks.0).map_or_else(
            || {
                self.reap();
                slots::claim(&self.blocks.0).ok_or(LinkError::BulkFull)
            },
            Ok,
        )
    }

    /// Releases a slot, and the block that was lent with it.
    pub(super) fn release(&self, slot: u32, bulk: u32) {
        let secret_bytes = &self.secret_bytes[slot as usize];
        if secret_bytes.load(Ordering::Relaxed) != 0 && self.request.is_present() {
            self.wipe(slot, bulk, secret_bytes.swap(0, Ordering::Relaxed) as usize);
        }
        if bulk != BULK_NONE {
            slots::give_back(&self.blocks.0, 1 << bulk);
        }
        slots::give_back(&self.free.0, 1 << slot);
        // In a child of fork, the lock may be held for ever by a thread that does not exist there.
        if self.claimers.load(Ordering::SeqCst) > 0 && self.request.is_present() {
            drop(world::lock(&self.claim_lock));
            self.slot_freed.notify_one();
        }
    }

    /// Wipes the request of a slot, and tells the card to wipe the reply.
    #[cold]
    fn wipe(&self, slot: u32, bulk: u32, bytes: usize) {
        let offset =
            if bytes <= INLINE_BYTES_MAX { self.layout.inline(slot) } else { self.layout.bulk(bulk) };
        self.request.wipe(offset, bytes);
        // As for a submission: a card that sleeps is rung.
        protocol::submit(self.request.writable(self.layout.released()), 1 << slot);
        world::step("released");
        if protocol::must_ring(self.status.asleep()) {
            doorbell::ring(self.doorbell.as_fd());
        }
    }

    /// Frees the slots of abandoned requests that have been answered.
    pub(super) fn reap(&self) {
        let mut left = self.abandoned.load(Ordering::Acquire);
        while left != 0 {
            let slot = left.trailing_zeros();
            let bit = 1 << slot;
            left &= !bit;
            let is_over = || {
                let answered = self.reply.word(self.layout.answered());
                let collected = self.collected.load(Ordering::Relaxed);
                let word = protocol::look(self.reply.word(self.layout.reply_word(slot)));
                let sequence = self.sequences[slot as usize].load(Ordering::Relaxed);
                protocol::pending(answered, collected) & bit != 0 && word == sequence
            };
            if slots::take_over(&self.abandoned, bit, is_over, || world::step("take over")) {
                self.collected.fetch_xor(bit, Ordering::Relaxed);
                let bulk = self.abandoned_blocks[slot as usize].load(Ordering::Relaxed);
                self.release(slot, bulk);
            }
        }
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
            slots::give_up(&self.inner.abandoned, 1 << slot);
        }
    }
}
