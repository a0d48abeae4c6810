//! The card's end of a queue: finds, takes and answers requests.
//!
//! Everything in the request memory is a claim. [`CardQueue::take`] copies a header once, checks
//! the copy, copies the payload that the checked copy describes, and never looks at the frame
//! again. The card keeps its own private record of which slots are taken and which blocks are lent.

use crate::doorbell::{self, current_processor};
use crate::error::{ReplyError, Violation};
use crate::memory::{Access, JoinError, Mapping};
use crate::protocol;
use crate::queue::{KNOWN, Layout};
use crate::world;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use wire::bounds::{BULK_BYTES_MAX, HEADER_BYTES, INLINE_BYTES_MAX};
use wire::frame::{BULK_NONE, FrameError, ReplyHeader, RequestHeader};
use wire::registers::RegisterSet;

/// The descriptors and numbers that the daemon hands to a card for one queue.
#[derive(Debug)]
pub struct CardParts {
    /// Memory that the client writes; the card maps it read-only.
    pub request: OwnedFd,
    /// Memory that the card writes.
    pub reply: OwnedFd,
    /// The cards' end of the client's completion socket, if the client is an event loop.
    pub completion: Option<OwnedFd>,
    /// Slots of the queue.
    pub slots: u32,
    /// Number of the queue.
    pub queue: u64,
}

/// A request that the card has taken and not answered.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    sequence: u64,
    bulk: u32,
    /// Length of the reply's payload in bytes, once the reply is put.
    reply_bytes: u32,
}

// SAFETY: the pointer is to a word of the mapping that the value owns.
unsafe impl Send for CardQueue {}

/// The card's end of a queue. Used by one thread; dropping it tells the client that the queue has ended, and
/// unmaps the memory.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct CardQueue {
    // What a sweep reads comes first, so that an idle queue costs one line here and one there.
    /// Points into `request`.
    submission: NonNull<AtomicU64>,
    /// The submission word as far as this side has followed it.
    taken: u64,
    mask: u64,
    /// Slots whose requests are taken and not answered.
    busy: u64,
    /// Bulk blocks that are lent to these requests.
    lent: u64,
    /// Slots answered since clients were last woken.
    published: u64,
    request: Mapping,
    reply: Mapping,
    layout: Layout,
    completion: Option<OwnedFd>,
    /// The sleep of the client's event loop that this side has last ended.
    told: u64,
    /// Slots whose replies are to be wiped once the client has them, and the release word as far as this side
    /// has followed it.
    secret: u64,
    released: u64,
    slots: Box<[Taken]>,
}

impl Drop for CardQueue {
    /// Tells the client that nothing more will be answered.
    fn drop(&mut self) {
        if world::is_killed() {
            return;
        }
        // Replies that were put are visible to a client that sees the end.
        fence(Ordering::Release);
        self.reply.store(self.layout.ended(), 1);
        protocol::must_wake(self.request.word(self.layout.waiting()), 0);
        self.tell();
    }
}

impl CardQueue {
    /// Maps the memories of a queue, and closes their descriptors. If a queue cannot be mapped, its
    /// client is told that it has ended: the client may have it already, and the daemon, which
    /// would tell it, may be gone.
    ///
    /// # Errors
    /// [`JoinError`] if the parts are not the memories of this queue, sealed and of this size, or
    /// cannot be mapped.
    pub fn join(parts: CardParts) -> Result<Self, JoinError> {
        let layout = Layout::of(parts.reply.as_fd(), parts.slots, parts.queue)?;
        let mapped = layout.map_request(parts.request.as_fd(), Access::Read).and_then(|request| {
            let reply = layout.map_reply(parts.reply.as_fd(), Access::Write)?;
            Ok((request, reply))
        });
        let (request, reply) = mapped.inspect_err(|_| {
            // If that fails too, the client waits for its answer as long as for any.
            let _ = layout.end(parts.reply.as_fd());
        })?;
        Ok(Self {
            submission: NonNull::from(request.word(layout.submission())),
            request,
            taken: 0,
            mask: layout.mask(),
            busy: 0,
            lent: 0,
            published: 0,
            reply,
            layout,
            completion: parts.completion,
            told: 0,
            secret: 0,
            released: 0,
            slots: vec![Taken::default(); parts.slots as usize].into_boxed_slice(),
        })
    }

    /// Number of the queue.
    pub fn queue(&self) -> u64 {
        self.layout.queue
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        self.layout.slots
    }

    /// Tells the client which registers of the queue's domain hold a current key.
    pub fn set_registers(&self, held: RegisterSet) {
        let word = KNOWN | held.bits();
        if self.reply.load(self.layout.registers()) != word {
            self.reply.store(self.layout.registers(), word);
        }
    }

    /// Slots handed over and not taken, one bit each: one load from the client's memory. A card
    /// with a thousand queues should read those that have long been idle only every few sweeps, and
    /// all of them before it sleeps.
    #[inline]
    pub fn pending(&self) -> u64 {
        // SAFETY: the word lies in `request`, which is mapped as long as `self` lives.
        protocol::pending(unsafe { self.submission.as_ref() }, self.taken) & self.mask
    }

    /// Prefetches the first cache lines of the requests in these slots, one bit each. Each line
    /// comes from the client's processor; fetched one by one, the lines would take as long as
    /// serving a short request.
    #[inline]
    pub fn will_take(&self, slots: u64) {
        let mut left = slots & self.mask;
        while left != 0 {
            let slot = left.trailing_zeros();
            self.request.will_read(self.layout.header(slot));
            self.request.will_read(self.layout.inline(slot));
            left &= left - 1;
        }
    }

    /// Whether the client wishes the request in a slot to have a batch of its own: a card died with
    /// the request, which may be the cause. The client pays for that.
    #[inline]
    pub fn is_alone(&self, slot: u32) -> bool {
        self.request.load(self.layout.alone()) & 1_u64.checked_shl(slot).unwrap_or(0) != 0
    }

    /// Verb and payload length in bytes that a waiting request claims, without taking it: good for
    /// choosing which to take. [`CardQueue::take`] may find other values.
    #[inline]
    pub fn peek(&self, slot: u32) -> (u16, u32) {
        let word = self.request.load(self.layout.header(slot % self.layout.slots));
        ((word >> 16) as u16, (word >> 32) as u32)
    }

    /// Slots taken and not answered, one bit each.
    pub fn busy(&self) -> u64 {
        self.busy
    }

    /// Whether the client last submitted from another processor than the calling thread's. If so,
    /// spinning here for its next request does not keep the client from making it. A hint of the
    /// client's; false if unknown.
    pub fn client_is_elsewhere(&self) -> bool {
        let claimed = self.request.load(self.layout.processor());
        claimed != 0 && current_processor().is_some_and(|here| claimed != u64::from(here) + 1)
    }

    /// Whether a thread of the client says that it sleeps until an answer comes, or that its event
    /// loop must be woken then. A hint of the client's.
    pub fn client_is_asleep(&self) -> bool {
        [self.layout.waiting(), self.layout.crowd(), self.layout.events()]
            .into_iter()
            .any(|word| self.request.load(word) != 0)
    }

    /// Takes the request in a slot that [`CardQueue::pending`] showed, and replaces the content of
    /// `payload` by a private copy of the request's payload. The verb is not checked.
    ///
    /// # Errors
    /// [`Violation`]: the client broke a rule. The queue should be ended, since the two sides no
    /// longer agree on its state.
    pub fn take(&mut self, slot: u32, payload: &mut Vec<u8>) -> Result<RequestHeader, Violation> {
        self.take_up_to(slot, payload, BULK_BYTES_MAX)
    }

    /// As [`CardQueue::take`], with room for this many bytes of payload: a longer payload is not
    /// copied, and the header gives its length.
    ///
    /// # Errors
    /// As [`CardQueue::take`].
    pub fn take_up_to(
        &mut self,
        slot: u32,
        payload: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<RequestHeader, Violation> {
        payload.clear();
        let bit = 1_u64.checked_shl(slot).unwrap_or(0);
        if self.pending() & bit == 0 {
            return Err(Violation::NotSubmitted { slot });
        }
        if self.busy & bit != 0 {
            return Err(Violation::SlotBusy { slot });
        }
        world::step("take");
        self.taken ^= bit;
        // Stored before the request can do anything to this process.
        self.reply.store(self.layout.taken(), self.taken);
        world::step("taken");
        self.reply.will_write(self.layout.header(slot));
        self.reply.will_write(self.layout.inline(slot));

        let header = RequestHeader::from_bytes(&header_bytes(&self.request, self.layout.header(slot)))?;
        let lends = header.bulk != BULK_NONE;
        if lends && header.bulk >= self.layout.blocks {
            return Err(FrameError::Bulk(header.bulk).into());
        }
        let block_bit = if lends { 1_u64 << header.bulk } else { 0 };
        if self.lent & block_bit != 0 {
            return Err(Violation::BulkBusy { block: header.bulk });
        }
        let bytes = header.payload_bytes as usize;
        let offset = match bytes {
            0..=INLINE_BYTES_MAX => self.layout.inline(slot),
            _ if lends && bytes <= BULK_BYTES_MAX => self.layout.bulk(header.bulk),
            _ => return Err(FrameError::PayloadLength(header.payload_bytes).into()),
        };
        if bytes <= bytes_max {
            self.request.copy_to_private(offset, bytes, payload);
        }
        if self.secret != 0 {
            // The client is done with the secret reply there, or it would not have used its slot or
            // block again.
            let reused =
                |taken: u32| taken == slot || (lends && self.slots[taken as usize].bulk == header.bulk);
            let reused =
                bits(self.secret).filter(|taken| reused(*taken)).fold(0, |all, slot| all | 1 << slot);
            self.wipe(reused);
        }
        self.busy |= bit;
        self.lent |= block_bit;
        self.slots[slot as usize] = Taken { sequence: header.sequence, bulk: header.bulk, reply_bytes: 0 };
        Ok(header)
    }

    /// Puts a taken request back into its slot, where it waits for another [`CardQueue::take`].
    pub fn put_back(&mut self, slot: u32) {
        if !self.is_busy(slot) {
            return;
        }
        let (bit, bulk) = (1_u64 << slot, self.slots[slot as usize].bulk);
        self.taken ^= bit;
        self.reply.store(self.layout.taken(), self.taken);
        self.busy &= !bit;
        if bulk != BULK_NONE {
            self.lent &= !(1_u64 << bulk);
        }
    }

    /// Longest reply payload that the request in a taken slot has room for, in bytes.
    pub fn room(&self, slot: u32) -> usize {
        match self.slots.get(slot as usize) {
            Some(taken) if self.is_busy(slot) && taken.bulk != BULK_NONE => BULK_BYTES_MAX,
            _ => INLINE_BYTES_MAX,
        }
    }

    /// Answers a taken request and wakes the thread that waits for it. See
    /// [`CardQueue::put_reply`].
    ///
    /// # Errors
    /// [`ReplyError`]; the request is then still taken.
    pub fn reply(&mut self, slot: u32, header: &ReplyHeader, payload: &[u8]) -> Result<(), ReplyError> {
        self.put_reply(slot, header, payload)?;
        self.wake();
        Ok(())
    }

    /// Answers a taken request; the fields `payload_bytes`, `sequence` and `bulk` of `header` are
    /// set here, whatever they hold. A client that looks finds the reply at once. A client that
    /// sleeps is woken by [`CardQueue::wake`], which must follow the last reply of a batch: a
    /// client that is woken by the first reply would take the processor, or sleep again, before the
    /// others are there.
    ///
    /// # Errors
    /// [`ReplyError`]; the request is then still taken.
    pub fn put_reply(&mut self, slot: u32, header: &ReplyHeader, payload: &[u8]) -> Result<(), ReplyError> {
        self.put(slot, header, payload, false)
    }

    /// As [`CardQueue::put_reply`], for a reply that holds a secret: once the client has collected it,
    /// [`CardQueue::wipe_released`] wipes it.
    ///
    /// # Errors
    /// As [`CardQueue::put_reply`].
    pub fn put_secret_reply(
        &mut self,
        slot: u32,
        header: &ReplyHeader,
        payload: &[u8],
    ) -> Result<(), ReplyError> {
        self.put(slot, header, payload, true)
    }

    fn put(
        &mut self,
        slot: u32,
        header: &ReplyHeader,
        payload: &[u8],
        secret: bool,
    ) -> Result<(), ReplyError> {
        if !self.is_busy(slot) {
            return Err(ReplyError::NotTaken { slot });
        }
        let room = self.room(slot);
        if payload.len() > room {
            return Err(ReplyError::TooLong { bytes: payload.len(), room });
        }
        let taken = self.slots[slot as usize];
        let inline = payload.len() <= INLINE_BYTES_MAX;
        let offset = if inline { self.layout.inline(slot) } else { self.layout.bulk(taken.bulk) };
        self.reply.copy_from_private(offset, payload);
        let mut header = ReplyHeader {
            payload_bytes: payload.len() as u32,
            sequence: taken.sequence,
            bulk: if inline { BULK_NONE } else { taken.bulk },
            ..*header
        };
        world::tamper(&mut header);
        // The last word of the header line is the reply word, which is stored after everything
        // else.
        self.reply.copy_from_private(self.layout.header(slot), &header.to_bytes()[..HEADER_BYTES - 8]);

        let bit = 1_u64 << slot;
        if secret && !payload.is_empty() {
            self.secret |= bit;
            self.slots[slot as usize].reply_bytes = payload.len() as u32;
            // The client's earlier bits of the release word for this slot do not concern this
            // reply.
            let word = self.request.load(self.layout.released());
            self.released = (self.released & !bit) | (word & bit);
        }
        self.busy &= !bit;
        if taken.bulk != BULK_NONE {
            self.lent &= !(1 << taken.bulk);
        }
        world::step("publish");
        protocol::publish(self.reply.writable(self.layout.reply_word(slot)), header.sequence);
        world::step("published");
        self.published |= bit;
        Ok(())
    }

    /// Wakes the threads that sleep on requests answered since the last call.
    pub fn wake(&mut self) {
        let published = std::mem::take(&mut self.published);
        if published == 0 {
            return;
        }
        world::step("wake");
        protocol::tell_answered(self.reply.writable(self.layout.answered()), published);
        protocol::end_round(self.reply.writable(self.layout.rounds()));
        let mut sleeping = protocol::must_wake(self.request.word(self.layout.waiting()), published);
        while sleeping != 0 {
            let word = self.layout.reply_word(sleeping.trailing_zeros());
            // One thread waits for one request; it is no error if that thread no longer sleeps.
            world::futex_wake(self.reply.futex(word));
            sleeping &= sleeping - 1;
        }
        // Threads with many requests in flight are woken once for all of these answers.
        if protocol::must_wake_crowd(self.request.word(self.layout.crowd())) {
            world::futex_wake_all(self.reply.futex(self.layout.rounds()));
        }
        self.tell();
    }

    /// Wakes the client's event loop; called after the fence of `must_wake`.
    fn tell(&mut self) {
        if let Some(completion) = &self.completion
            && protocol::must_tell(self.request.word(self.layout.events()), &mut self.told)
        {
            doorbell::ring(completion.as_fd());
        }
    }

    /// Whether the client has collected a reply that is to be wiped.
    #[inline]
    pub fn has_released(&self) -> bool {
        self.secret != 0 && self.released_now() != 0
    }

    /// Wipes the replies put with [`CardQueue::put_secret_reply`] that the client says it has
    /// collected.
    #[inline]
    pub fn wipe_released(&mut self) {
        if self.secret != 0 {
            self.wipe(self.released_now());
        }
    }

    fn released_now(&self) -> u64 {
        protocol::pending(self.request.word(self.layout.released()), self.released) & self.secret
    }

    /// Wipes the replies in these slots.
    fn wipe(&mut self, slots: u64) {
        for slot in bits(slots) {
            let Taken { bulk, reply_bytes, .. } = self.slots[slot as usize];
            let bytes = reply_bytes as usize;
            let inline = bytes <= INLINE_BYTES_MAX;
            let offset = if inline { self.layout.inline(slot) } else { self.layout.bulk(bulk) };
            self.reply.wipe(offset, bytes);
        }
        self.secret &= !slots;
        self.released ^= slots;
    }

    fn is_busy(&self, slot: u32) -> bool {
        self.busy & 1_u64.checked_shl(slot).unwrap_or(0) != 0
    }
}

/// Positions of the bits that are set, from the lowest.
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(lowest)
    })
}

/// A private copy of a header line.
pub(crate) fn header_bytes(mapping: &Mapping, offset: usize) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    for (at, word) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = mapping.load(offset + at * 8).to_le_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueMemory;
    use wire::Codes;
    use wire::bounds::BULK_BLOCKS;
    use wire::frame::{FRAME_VERSION, Outcome};

    /// A card, and a client that writes arbitrary bytes.
    struct Hostile {
        card: CardQueue,
        request: Mapping,
        layout: Layout,
    }

    impl Hostile {
        fn new() -> Self {
            let memory = QueueMemory::create(4, 9).unwrap();
            let [request, reply] = memory.for_card().unwrap();
            let parts = CardParts { request, reply, completion: None, slots: 4, queue: 9 };
            let layout = Layout::new(4, 9).unwrap();
            let [request, _] = memory.for_client().unwrap();
            let request = layout.map_request(request.as_fd(), Access::Write).unwrap();
            Self { card: CardQueue::join(parts).unwrap(), request, layout }
        }

        fn submit(&self, slot: u32, payload_bytes: u32, bulk: u32) {
            let header = RequestHeader { verb: 1, payload_bytes, sequence: 64, bulk, queued_tsc: 0 };
            self.request.copy_from_private(self.layout.header(slot), &header.to_bytes());
            self.toggle(1 << slot);
        }

        fn toggle(&self, bits: u64) {
            protocol::submit(self.request.writable(self.layout.submission()), bits);
        }

        fn take(&mut self, slot: u32) -> Result<RequestHeader, Violation> {
            let mut payload = vec![1];
            let taken = self.card.take(slot, &mut payload);
            assert_eq!(payload.len(), taken.map_or(0, |header| header.payload_bytes as usize));
            taken
        }
    }

    fn answered() -> ReplyHeader {
        ReplyHeader {
            outcome: Outcome::Answered,
            codes: Codes::new(0, 0),
            payload_bytes: u32::MAX,
            sequence: u64::MAX,
            bulk: 3,
            batch_fill: 1,
            start_tsc: 0,
            end_tsc: 0,
        }
    }

    #[test]
    fn a_queue_without_blocks_takes_what_fits_its_slots_and_nothing_that_names_a_block() {
        for (bulk, payload_bytes, is_taken) in [(BULK_NONE, INLINE_BYTES_MAX, true), (0, 8, false)] {
            let memory = QueueMemory::create_with(4, 0, 9).unwrap();
            let [request, reply] = memory.for_card().unwrap();
            let parts = CardParts { request, reply, completion: None, slots: 4, queue: 9 };
            let [written, _] = memory.for_client().unwrap();
            let layout = Layout { blocks: 0, ..Layout::new(4, 9).unwrap() };
            assert_eq!(memory.bytes(), 2 * layout.bytes() as u64);
            let request = layout.map_request(written.as_fd(), Access::Write).unwrap();
            let mut hostile = Hostile { card: CardQueue::join(parts).unwrap(), request, layout };
            hostile.submit(0, payload_bytes as u32, bulk);
            assert_eq!(hostile.card.take(0, &mut Vec::new()).is_ok(), is_taken, "block {bulk}");
        }
    }

    #[test]
    fn lengths_and_blocks_are_refused_beyond_their_bounds() {
        let inline = INLINE_BYTES_MAX as u32;
        let bulk = BULK_BYTES_MAX as u32;
        let last = BULK_BLOCKS as u32 - 1;
        let length = |bytes| Err(FrameError::PayloadLength(bytes).into());
        for (bytes, block, expected) in [
            (inline, BULK_NONE, Ok(())),
            (inline + 1, BULK_NONE, length(inline + 1)),
            (u32::MAX, BULK_NONE, length(u32::MAX)),
            (0, last, Ok(())),
            (bulk, last, Ok(())),
            (bulk + 1, last, length(bulk + 1)),
            (u32::MAX, 0, length(u32::MAX)),
            (0, last + 1, Err(FrameError::Bulk(last + 1).into())),
            (0, BULK_NONE - 1, Err(FrameError::Bulk(BULK_NONE - 1).into())),
        ] {
            let mut hostile = Hostile::new();
            hostile.submit(2, bytes, block);
            assert_eq!(hostile.take(2).map(|_| ()), expected, "{bytes} bytes, block {block}");
        }
    }

    #[test]
    fn what_a_request_claims_is_seen_before_it_is_taken() {
        let mut hostile = Hostile::new();
        hostile.submit(3, 77, BULK_NONE);
        assert_eq!(hostile.card.peek(3), (1, 77));
        assert_eq!(hostile.card.peek(u32::MAX), (1, 77), "within the queue's slots");
        hostile.submit(2, u32::MAX, 0);
        assert_eq!(hostile.card.peek(2), (1, u32::MAX));
        assert!(hostile.take(2).is_err());
        let header = hostile.take(3).unwrap();
        assert_eq!((header.verb, header.payload_bytes), (1, 77));
    }

    #[test]
    fn another_version_is_refused() {
        let mut hostile = Hostile::new();
        hostile.submit(0, 0, BULK_NONE);
        hostile.request.store(hostile.layout.header(0), u64::from(FRAME_VERSION) + 1);
        assert_eq!(hostile.take(0), Err(FrameError::Version(FRAME_VERSION + 1).into()));
    }

    #[test]
    fn a_slot_cannot_be_handed_over_twice_nor_taken_back() {
        let mut hostile = Hostile::new();
        hostile.submit(1, 0, BULK_NONE);
        hostile.take(1).unwrap();
        hostile.toggle(2);
        assert_eq!(hostile.card.pending(), 2);
        assert_eq!(hostile.take(1), Err(Violation::SlotBusy { slot: 1 }));

        hostile.toggle(2);
        assert_eq!(hostile.take(1), Err(Violation::NotSubmitted { slot: 1 }));
        // Bits of slots that do not exist.
        hostile.toggle(!0 << 4);
        for slot in [4, 63, 64, u32::MAX] {
            assert_eq!(hostile.take(slot), Err(Violation::NotSubmitted { slot }));
        }
        assert_eq!(hostile.card.pending(), 0);
    }

    #[test]
    fn a_block_cannot_be_lent_twice_until_it_came_back() {
        let mut hostile = Hostile::new();
        hostile.submit(0, 0, 5);
        hostile.take(0).unwrap();
        hostile.submit(1, 0, 5);
        assert_eq!(hostile.take(1), Err(Violation::BulkBusy { block: 5 }));
        hostile.card.reply(0, &answered(), &[]).unwrap();
        hostile.submit(2, 0, 5);
        hostile.take(2).unwrap();
    }

    #[test]
    fn what_changes_after_the_copy_has_no_effect() {
        let mut hostile = Hostile::new();
        hostile.submit(0, 8, 1);
        let taken = hostile.take(0).unwrap();
        hostile.submit(0, u32::MAX, 2);
        assert_eq!(hostile.card.room(0), BULK_BYTES_MAX);
        hostile.card.reply(0, &answered(), &vec![1; INLINE_BYTES_MAX + 1]).unwrap();
        let reply = &hostile.card.reply;
        let header = ReplyHeader::from_bytes(&header_bytes(reply, hostile.layout.header(0))).unwrap();
        assert_eq!((header.sequence, header.bulk), (taken.sequence, 1));
        assert_eq!(header.payload_bytes as usize, INLINE_BYTES_MAX + 1);
    }
}
