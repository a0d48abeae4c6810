//! Collecting replies that are there, and being told of them by a socket.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::net::RecvFlags;

use wire::bounds::{BULK_BYTES_MAX, INLINE_BYTES_MAX};
use wire::frame::{BULK_NONE, FrameError, ReplyHeader};

use super::{ClientQueue, InFlight, Inner};
use crate::card::header_bytes;
use crate::error::{LinkError, Violation};
use crate::protocol;
use crate::world;

impl ClientQueue {
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
    pub(super) fn is_answered(&self, request: &InFlight) -> Result<bool, LinkError> {
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
}
