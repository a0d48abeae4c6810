//! The memory of one queue: two sealed memories, and the layout that they share.
//!
//! Each direction has a memory of its own, so that each side gets a descriptor that cannot write
//! the other side's memory. Both memories have one layout:
//!
//! ```text
//! 0        head page: magic, version, slots, number of the queue; at a line that depends on the
//!          number: submission word, waiting mask, number of the event loop's sleep, processor of the
//!          client, mask of requests that share no batch, count of threads that wait for any of
//!          several requests, release word;
//!          in the reply memory, there: the submission word as far as the card has taken requests,
//!          whether it has ended the queue; a line further: count of the times that it answered some,
//!          and the submission word as far as it has answered; one more line further, written when keys come and
//!          go: the master-key registers of the queue's domain that the card holds
//! 4096     slots, 4672 bytes each: header (64), inline payload (up to INLINE_BYTES_MAX), one line
//! ..       none, or up to BULK_BLOCKS, blocks of BULK_BYTES_MAX, from a page border
//! ```
//!
//! - The card's words about answers are on another line than those about taken requests: a client that polls
//!   for answers does not slow down a card that takes requests.
//! - The line of the submission word moves through the page with the queue's number. A card sweeps
//!   the words of a thousand idle queues; at one page offset all of them would fall into one set of
//!   the processor's cache.
//! - A slot is an odd number of lines long for the same reason: at 4096 bytes apart the headers
//!   of all slots would share a set.
//! - In the reply memory the last word of a slot's header line is its reply word: the sequence of
//!   the request that was answered there. Header and word arrive with one line.
//! - The number of bulk blocks follows from the length of a memory, which nobody can change. A
//!   queue without blocks takes 0.6 MiB with both its memories, all pages touched; sixteen blocks
//!   are 36 MiB more. So a client gets a queue with blocks only when it has something long to send.
//!   Neither side needs a state "not yet there", as it would for blocks that are added later.
//! - A memory is sparse: its pages are allocated at their first use.
//!
//! # Where a payload lies
//! A request's or reply's payload of up to [`INLINE_BYTES_MAX`] bytes is always inline. A longer one
//! lies in a bulk block of the same memory, up to [`BULK_BYTES_MAX`] bytes.
//!
//! The client owns the blocks of both memories in pairs. A request header whose `bulk` is not
//! [`wire::frame::BULK_NONE`] lends block `bulk` of the request memory and block `bulk` of the
//! reply memory to this request until it is answered. This holds even if the request's own payload
//! is inline: then the block is there for a long reply. The card puts a long reply into the block
//! that the request lent, and names it in the reply header; for an inline reply that field is
//! `BULK_NONE`. If a reply is long and no block was lent, the card cannot answer with it
//! ([`crate::ReplyError::TooLong`]).

use crate::head::Head;
use crate::memory::{self, Access, Inherit, JoinError, Mapping, PAGE_BYTES, invalid};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use wire::bounds::{
    BULK_BLOCKS, BULK_BYTES_MAX, FRAME_BYTES, HEADER_BYTES, INLINE_BYTES_MAX, QUEUE_SLOTS_MAX,
};

/// Version of the layout above.
const LAYOUT_VERSION: u64 = 5;
const REQUEST_HEAD: Head = Head::new(*b"cryptRQ\0", LAYOUT_VERSION);
const REPLY_HEAD: Head = Head::new(*b"cryptRP\0", LAYOUT_VERSION);

/// Bit of the word of registers: the card has joined the queue and published the registers that it
/// holds.
pub(crate) const KNOWN: u64 = 1 << 63;

const SLOTS: usize = 16;
const QUEUE: usize = 24;

const SLOT_BYTES: usize = HEADER_BYTES + INLINE_BYTES_MAX + FRAME_BYTES;
/// Offset of the reply word within the header line of a slot in the reply memory.
const REPLY_WORD: usize = HEADER_BYTES - 8;

const _: () = assert!(SLOT_BYTES.is_multiple_of(FRAME_BYTES) && !SLOT_BYTES.is_multiple_of(2 * FRAME_BYTES));
const _: () = assert!(BULK_BYTES_MAX.is_multiple_of(PAGE_BYTES));

/// Offsets in the memories of a queue of this many slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) slots: u32,
    pub(crate) queue: u64,
    /// Number of bulk blocks of each memory.
    pub(crate) blocks: u32,
}

impl Layout {
    /// The layout with [`BULK_BLOCKS`] blocks.
    ///
    /// # Errors
    /// [`JoinError::Slots`] unless `slots` is a power of two up to [`QUEUE_SLOTS_MAX`].
    pub(crate) fn new(slots: u32, queue: u64) -> Result<Self, JoinError> {
        if slots.is_power_of_two() && slots as usize <= QUEUE_SLOTS_MAX {
            Ok(Self { slots, queue, blocks: BULK_BLOCKS as u32 })
        } else {
            Err(JoinError::Slots { found: u64::from(slots) })
        }
    }

    /// The layout of a memory of this descriptor's length.
    ///
    /// # Errors
    /// As [`Layout::new`]; [`JoinError::Size`] if no number of blocks makes this length.
    pub(crate) fn of(fd: BorrowedFd<'_>, slots: u32, queue: u64) -> Result<Self, JoinError> {
        let most = Self::new(slots, queue)?;
        let found = rustix::fs::fstat(fd).map_err(JoinError::system("fstat"))?.st_size as u64;
        let mut layouts = (0..=most.blocks).map(|blocks| Self { blocks, ..most });
        let size = JoinError::Size { expected: most.bytes() as u64, found };
        layouts.find(|layout| layout.bytes() as u64 == found).ok_or(size)
    }

    /// Length of either memory in bytes.
    pub(crate) fn bytes(self) -> usize {
        self.bulk(self.blocks)
    }

    /// Offset of the client's submission word.
    pub(crate) fn submission(self) -> usize {
        // Line 0 holds the head; the two lines at the end hold the second and third line of a
        // queue.
        const LINES: u64 = (PAGE_BYTES / FRAME_BYTES) as u64 - 3;
        (1 + (self.queue % LINES) as usize) * FRAME_BYTES
    }

    /// In the reply memory: the submission word as far as the card has taken requests, which shows
    /// a client what a dead card had taken.
    pub(crate) fn taken(self) -> usize {
        self.submission()
    }

    /// In the reply memory: not 0 once the card has ended the queue, though the card may live on.
    pub(crate) fn ended(self) -> usize {
        self.submission() + 8
    }

    /// Ends a queue by its reply memory, which is not mapped.
    pub(crate) fn end(self, reply: BorrowedFd<'_>) -> io::Result<()> {
        memory::write_at(reply, self.ended(), &1_u64.to_le_bytes())
    }

    /// Offset of the client's mask of slots that a thread sleeps on.
    pub(crate) fn waiting(self) -> usize {
        self.submission() + 8
    }

    /// Offset of the number of the sleep from which the completion socket is to wake the client's
    /// event loop; 0 while the loop is awake.
    pub(crate) fn events(self) -> usize {
        self.submission() + 16
    }

    /// Offset of the client's count of threads that sleep until any of several requests is
    /// answered.
    pub(crate) fn crowd(self) -> usize {
        self.submission() + 40
    }

    /// In the reply memory: how often the card has answered requests, one or several at once.
    pub(crate) fn rounds(self) -> usize {
        self.submission() + FRAME_BYTES
    }

    /// In the reply memory: the submission word as far as the card has answered.
    pub(crate) fn answered(self) -> usize {
        self.rounds() + 8
    }

    /// In the reply memory: a bit for each register of the queue's domain that the card holds, and
    /// [`KNOWN`] once the card has published them. On a line that is read for every request and
    /// hardly ever written.
    pub(crate) fn registers(self) -> usize {
        self.rounds() + FRAME_BYTES
    }

    /// Offset of a word with one bit for each slot, toggled by the client when it has collected a
    /// reply that the card is to wipe.
    pub(crate) fn released(self) -> usize {
        self.submission() + 48
    }

    /// Offset of the client's mask of slots whose request is to share no batch.
    pub(crate) fn alone(self) -> usize {
        self.submission() + 32
    }

    /// Offset of the processor that the client last submitted from, plus one.
    pub(crate) fn processor(self) -> usize {
        self.submission() + 24
    }

    /// Offset of a slot's header.
    pub(crate) fn header(self, slot: u32) -> usize {
        PAGE_BYTES + slot as usize * SLOT_BYTES
    }

    /// Offset of a slot's inline payload.
    pub(crate) fn inline(self, slot: u32) -> usize {
        self.header(slot) + HEADER_BYTES
    }

    /// Offset of a slot's reply word.
    pub(crate) fn reply_word(self, slot: u32) -> usize {
        self.header(slot) + REPLY_WORD
    }

    /// Offset of a bulk block.
    pub(crate) fn bulk(self, block: u32) -> usize {
        let slots_end = PAGE_BYTES + self.slots as usize * SLOT_BYTES;
        slots_end.next_multiple_of(PAGE_BYTES) + block as usize * BULK_BYTES_MAX
    }

    /// The bits of all slots.
    pub(crate) fn mask(self) -> u64 {
        u64::MAX >> (64 - self.slots)
    }

    /// The words at the beginning of either memory, in the order of their offsets.
    fn head(self, head: Head) -> [u8; 4 * 8] {
        let mut bytes = [0; 4 * 8];
        let own = [(SLOTS, self.slots.into()), (QUEUE, self.queue)];
        for (place, word) in head.words().into_iter().chain(own) {
            bytes[place..place + 8].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn check_head(self, mapping: &Mapping, head: Head) -> Result<(), JoinError> {
        let expect = |offset, expected, error: fn(u64) -> JoinError| match mapping.load(offset) {
            found if found == expected => Ok(()),
            found => Err(error(found)),
        };
        head.check(mapping)?;
        expect(SLOTS, u64::from(self.slots), |found| JoinError::Slots { found })?;
        expect(QUEUE, self.queue, |found| JoinError::Queue { found })
    }

    /// Maps the memory that the client writes. Its head shows a client that it got the right
    /// memory. A card does not read the head, which the client may have overwritten before.
    pub(crate) fn map_request(self, fd: BorrowedFd<'_>, access: Access) -> Result<Mapping, JoinError> {
        let mapping = Mapping::sealed(fd, self.bytes(), access, Inherit::Nothing)?;
        if access == Access::Write {
            self.check_head(&mapping, REQUEST_HEAD)?;
        }
        Ok(mapping)
    }

    /// Maps the memory that the card writes.
    pub(crate) fn map_reply(self, fd: BorrowedFd<'_>, access: Access) -> Result<Mapping, JoinError> {
        let mapping = Mapping::sealed(fd, self.bytes(), access, Inherit::Nothing)?;
        self.check_head(&mapping, REPLY_HEAD)?;
        Ok(mapping)
    }
}

/// The two memories of a queue, as the daemon makes them and hands them out. Dropping this value
/// closes the daemon's descriptors; the memory lives as long as anyone maps it or holds a
/// descriptor.
#[derive(Debug)]
pub struct QueueMemory {
    request: OwnedFd,
    reply: OwnedFd,
    layout: Layout,
}

impl QueueMemory {
    /// Makes the memories of queue number `queue` with `slots` slots, a power of two up to
    /// [`QUEUE_SLOTS_MAX`], and [`BULK_BLOCKS`] bulk blocks.
    ///
    /// # Errors
    /// `InvalidInput` for another number of slots; otherwise of the system calls, for instance if
    /// no descriptor or no memory is left.
    pub fn create(slots: u32, queue: u64) -> io::Result<Self> {
        Self::create_with(slots, BULK_BLOCKS as u32, queue)
    }

    /// As [`QueueMemory::create`], with this many bulk blocks in each direction.
    ///
    /// # Errors
    /// As [`QueueMemory::create`]; `InvalidInput` also for more than [`BULK_BLOCKS`].
    pub fn create_with(slots: u32, blocks: u32, queue: u64) -> io::Result<Self> {
        if blocks as usize > BULK_BLOCKS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let layout = Layout { blocks, ..Layout::new(slots, queue).map_err(invalid)? };
        let make = |name, head| {
            let fd = memory::create_sealed(name, layout.bytes())?;
            // Written rather than mapped: mapping would take as long as everything else here.
            memory::write_at(fd.as_fd(), 0, &layout.head(head))?;
            Ok::<_, io::Error>(fd)
        };
        Ok(Self {
            request: make("cryptand request", REQUEST_HEAD)?,
            reply: make("cryptand reply", REPLY_HEAD)?,
            layout,
        })
    }

    /// Length of both memories together in bytes: a process with their descriptors can pin this
    /// much, and no page more.
    pub fn bytes(&self) -> u64 {
        2 * self.layout.bytes() as u64
    }

    /// [`QueueMemory::bytes`] of memories that are not made yet.
    pub fn bytes_of(slots: u32, blocks: u32) -> u64 {
        2 * Layout { slots, blocks, queue: 0 }.bytes() as u64
    }

    /// The client's descriptors: request memory for writing, reply memory for reading only.
    ///
    /// # Errors
    /// No descriptor is left, or no `/proc`.
    pub fn for_client(&self) -> io::Result<[OwnedFd; 2]> {
        Ok([self.request.try_clone()?, memory::read_only(self.reply.as_fd())?])
    }

    /// Tells the client, as its card would, that nothing will be answered. For a card that could
    /// not map the queue.
    ///
    /// # Errors
    /// Of the system call.
    pub fn end(&self) -> io::Result<()> {
        self.layout.end(self.reply.as_fd())
    }

    /// The card's descriptors: request memory for reading only, reply memory for writing.
    ///
    /// # Errors
    /// As [`QueueMemory::for_client`].
    pub fn for_card(&self) -> io::Result<[OwnedFd; 2]> {
        Ok([memory::read_only(self.request.as_fd())?, self.reply.try_clone()?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps() {
        for slots in [1, 2, 64] {
            for queue in [0, 1, 62, 63, 1000, u64::MAX] {
                let layout = Layout::new(slots, queue).unwrap();
                assert!(layout.submission() >= FRAME_BYTES && layout.alone() + 8 <= PAGE_BYTES);
                assert!(layout.submission().is_multiple_of(FRAME_BYTES));
                let request = [
                    layout.submission(),
                    layout.waiting(),
                    layout.events(),
                    layout.processor(),
                    layout.alone(),
                    layout.crowd(),
                    layout.released(),
                ];
                let (taken, answered) =
                    ([layout.taken(), layout.ended()], [layout.rounds(), layout.answered()]);
                assert!(layout.answered() + 8 <= PAGE_BYTES);
                for words in [&request[..], &taken[..], &answered[..]] {
                    let distinct: std::collections::BTreeSet<_> = words.iter().collect();
                    assert_eq!(distinct.len(), words.len(), "{words:?}");
                    for word in words {
                        assert!(word.is_multiple_of(8) && *word > QUEUE);
                        assert_eq!(word / FRAME_BYTES, words[0] / FRAME_BYTES, "on one line");
                    }
                }
                assert_ne!(layout.taken() / FRAME_BYTES, layout.answered() / FRAME_BYTES);
                for slot in 0..slots {
                    assert!(layout.inline(slot) + INLINE_BYTES_MAX <= layout.header(slot + 1));
                }
                assert!(layout.inline(slots - 1) + INLINE_BYTES_MAX <= layout.bulk(0));
                let end = layout.bulk(BULK_BLOCKS as u32 - 1) + BULK_BYTES_MAX;
                assert_eq!(end, layout.bytes());
                assert_eq!(layout.mask().count_ones(), slots);
            }
        }
    }

    #[test]
    fn slots_are_a_power_of_two_within_the_bound() {
        for slots in [0, 3, 65, 128, u32::MAX] {
            assert!(matches!(Layout::new(slots, 1), Err(JoinError::Slots { .. })));
            assert_eq!(QueueMemory::create(slots, 1).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn descriptors_are_of_one_queue_one_direction_and_one_size() {
        let memory = QueueMemory::create(8, 5).unwrap();
        let ([written, seen], [request, reply]) = (memory.for_client().unwrap(), memory.for_card().unwrap());
        let layout = Layout::new(8, 5).unwrap();
        let map = |layout: Layout, fd: &OwnedFd| layout.map_request(fd.as_fd(), Access::Write);
        let own = map(layout, &written).unwrap();
        assert!(matches!(map(layout, &reply), Err(JoinError::Magic { .. })));
        assert!(matches!(map(Layout::new(8, 6).unwrap(), &written), Err(JoinError::Queue { found: 5 })));
        assert!(matches!(map(Layout::new(64, 5).unwrap(), &written), Err(JoinError::Size { .. })));
        assert!(layout.map_request(request.as_fd(), Access::Write).is_err());
        assert!(layout.map_reply(seen.as_fd(), Access::Write).is_err());
        // A client's write over its own head is no reason for a card not to take the queue and
        // watch it.
        own.store(crate::head::MAGIC, 0);
        layout.map_request(request.as_fd(), Access::Read).unwrap();
        let other = Layout::new(8, 6).unwrap().map_reply(reply.as_fd(), Access::Write);
        assert!(matches!(other, Err(JoinError::Queue { found: 5 })));
    }
}
