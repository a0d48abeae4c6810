//! Collecting replies: how an event loop finds answered requests, and sleeps until there are some.

use super::{ClientQueue, InFlight, Inner};
use crate::card::header_bytes;
use crate::error::{LinkError, Violation};
use crate::protocol;
use crate::world;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::bounds::{BULK_BYTES_MAX, INLINE_BYTES_MAX};
use wire::frame::{BULK_NONE, FrameError, ReplyHeader};

/// How many replies are prefetched before they are collected.
const COLLECTED_AHEAD: usize = 2;

impl ClientQueue {
    /// Collects the reply if it is there: replaces the content of `payload` and frees the slot,
    /// without a system call.
    ///
    /// # Errors
    /// [`LinkError::Violation`], [`LinkError::Forked`], [`LinkError::NotInFlight`]. A dead card is
    /// not noticed here: answers from before its death are collected.
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
        request.collected.set(true);
        let before = inner.collected.fetch_xor(1 << request.slot, Ordering::Relaxed);
        inner.will_collect(before ^ (1 << request.slot), request.slot);
        inner.release(request.slot, request.bulk);
        Ok(Some(reply))
    }

    /// Whether the card has taken a request, or had when it died. False means that the request did
    /// not run, and will not run once the card is dead. This is the card's claim.
    pub fn was_taken(&self, request: &InFlight) -> bool {
        let inner = &*self.inner;
        if !inner.request.is_present() || !Arc::ptr_eq(&request.inner, &self.inner) {
            return true;
        }
        let submitted = inner.request.load(inner.layout.submission());
        let taken = inner.reply.load(inner.layout.taken());
        let not_taken = (submitted ^ taken) | inner.staged.load(Ordering::Relaxed);
        world::taken(not_taken & (1 << request.slot) == 0)
    }

    /// Number of requests that the card has not taken, among them those that were not handed over
    /// yet. Three loads; a claim of the card's.
    #[inline]
    pub fn waiting(&self) -> u32 {
        let inner = &*self.inner;
        if !inner.request.is_present() {
            return 0;
        }
        let submitted = inner.request.load(inner.layout.submission());
        let not_taken = submitted ^ inner.reply.load(inner.layout.taken());
        ((not_taken | inner.staged.load(Ordering::Relaxed)) & inner.layout.mask()).count_ones()
    }

    /// Those of these slots, one bit each, whose requests are answered and not collected. One load;
    /// for callers that collect the queue's replies only here. A claim of the card's, which
    /// [`ClientQueue::answer`] checks.
    #[inline]
    pub fn answered(&self, in_flight: u64) -> u64 {
        let inner = &*self.inner;
        if !inner.request.is_present() {
            return 0;
        }
        let answered = inner.reply.word(inner.layout.answered());
        protocol::pending(answered, inner.collected.load(Ordering::Relaxed)) & in_flight & inner.layout.mask()
    }

    /// The slots, one bit each, whose requests are answered and neither collected nor dropped. For
    /// callers that look for the answers to several requests of the queue at once; other threads may
    /// collect some meanwhile. A claim of the card's, which [`ClientQueue::try_reply`] checks.
    #[inline]
    pub fn uncollected(&self) -> u64 {
        self.answered(!self.inner.abandoned.load(Ordering::Relaxed))
    }

    /// Collects the reply to a request whose slot [`ClientQueue::answered`] named.
    ///
    /// # Errors
    /// As [`ClientQueue::try_reply`], and [`Violation::Unanswered`].
    pub fn answer(&self, request: &InFlight, payload: &mut Vec<u8>) -> Result<ReplyHeader, LinkError> {
        match self.try_reply(request, payload)? {
            Some(reply) => Ok(reply),
            None => Err(self.inner.break_off(Violation::Unanswered { slot: request.slot })),
        }
    }

    /// Announces that the event loop goes to sleep. `sleep` numbers this sleep: not 0, and not the
    /// number of the last one. Read [`ClientQueue::answered`] once more between this call and
    /// sleeping: from here on the card sends one datagram to the completion socket when it has
    /// answered.
    pub fn arm(&self, sleep: u64) {
        let inner = &*self.inner;
        if inner.request.is_present() {
            protocol::arm(inner.request.writable(inner.layout.events()), sleep);
            world::step("arm");
        }
    }

    /// Announces that the event loop is awake.
    pub fn disarm(&self) {
        let inner = &*self.inner;
        if inner.request.is_present() {
            protocol::disarm(inner.request.writable(inner.layout.events()));
        }
    }
}

impl Inner {
    pub(super) fn is_answered(&self, request: &InFlight) -> Result<bool, LinkError> {
        let found = protocol::look(self.reply.word(self.layout.reply_word(request.slot)));
        if found == request.sequence {
            return Ok(true);
        }
        // Before the reply, the word is that of the slot's last reply, or 0.
        let last = request.sequence.wrapping_sub(64);
        if found == last || (found == 0 && last < 64) {
            return Ok(false);
        }
        Err(self.break_off(Violation::Sequence { expected: request.sequence, found }))
    }

    /// Prefetches the cache lines needed next: the reply in the slot that is answered after this
    /// one, and the slot's request, which will be written anew. Each line comes from the card's
    /// processor; fetched one by one, the lines take longer than all else that a short request
    /// costs here. A slot whose card is writing its reply is left alone.
    #[inline]
    fn will_collect(&self, collected: u64, slot: u32) {
        let answered = protocol::pending(self.reply.word(self.layout.answered()), collected);
        let mut following = (answered & self.layout.mask()).rotate_right(slot + 1);
        for _ in 0..COLLECTED_AHEAD {
            if following == 0 {
                return;
            }
            let next = (following.trailing_zeros() + slot + 1) % u64::BITS;
            self.reply.will_read(self.layout.header(next));
            self.reply.will_read(self.layout.inline(next));
            self.request.will_write(self.layout.header(next));
            self.request.will_write(self.layout.inline(next));
            following &= following - 1;
        }
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
}
