//! The two memories of a queue by their offsets, written and read through their descriptors.
//!
//! The offsets are those that the layout states; nothing here is checked, so that anything can be written anywhere
//! that a client may write, at any time.

use crate::PATIENCE;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Instant;

const LINE_BYTES: u64 = 64;
const PAGE_BYTES: u64 = 4096;
/// Slots are so long: a header, a payload of 4,544 bytes, and one line.
const SLOT_BYTES: u64 = LINE_BYTES + 4544 + LINE_BYTES;
/// The last word of a slot's header line in the reply memory.
const REPLY_WORD: u64 = LINE_BYTES - 8;

/// No bulk block is lent.
pub const NO_BLOCK: u32 = u32::MAX;
/// Longest payload that lies inside its slot, in bytes.
pub const INLINE_BYTES: u32 = 4544;
/// Bulk blocks of a queue.
pub const BLOCKS: u32 = 16;

/// A request's header as its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes 0 and 1.
    pub version: u16,
    /// Bytes 2 and 3: number of the verb.
    pub verb: u16,
    /// Bytes 4 to 7: length of the payload in bytes.
    pub payload_bytes: u32,
    /// Bytes 8 to 15.
    pub sequence: u64,
    /// Bytes 16 to 19: bulk block that is lent, or [`NO_BLOCK`].
    pub bulk: u32,
    /// Bytes 20 to 23, zero.
    pub zero: u32,
    /// Bytes 24 to 31: time-stamp counter when the request was queued.
    pub queued: u64,
    /// Bytes 32 to 63, zero.
    pub rest: u8,
}

impl Header {
    /// A true header of a request with this payload.
    pub fn new(verb: u16, payload_bytes: u32, sequence: u64) -> Self {
        Self { version: 1, verb, payload_bytes, sequence, bulk: NO_BLOCK, zero: 0, queued: 0, rest: 0 }
    }

    fn to_bytes(self) -> [u8; 64] {
        let mut bytes = [self.rest; 64];
        bytes[..2].copy_from_slice(&self.version.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.verb.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.bulk.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.zero.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.queued.to_le_bytes());
        bytes
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// It was answered, with this outcome, return code, reason code and length of the payload in bytes.
    Answered(u16, i32, i32, u32),
    /// The card has ended the queue.
    Ended,
}

/// A queue.
#[derive(Debug)]
pub struct Queue {
    request: File,
    reply: File,
    doorbell: OwnedFd,
    /// The status page of the card.
    pub status: OwnedFd,
    /// The card's process.
    pub process: OwnedFd,
    number: u64,
    submission: u64,
}

impl Queue {
    /// Of the descriptors that came with the queue of this number, in their order.
    ///
    /// # Panics
    /// With another number of descriptors.
    pub fn new(number: u64, descriptors: Vec<OwnedFd>) -> Self {
        let [request, reply, doorbell, status, process] = descriptors.try_into().expect("five descriptors");
        Self {
            request: request.into(),
            reply: reply.into(),
            doorbell,
            status,
            process,
            number,
            submission: 0,
        }
    }

    /// Offset of the line with the submission word: waiting mask, sleep of the loop, processor, mask of lonely
    /// requests, count of waiting threads and release word follow, 8 bytes each.
    pub fn line(&self) -> u64 {
        (1 + self.number % (PAGE_BYTES / LINE_BYTES - 3)) * LINE_BYTES
    }

    /// Offset of a slot.
    pub fn slot(slot: u32) -> u64 {
        PAGE_BYTES + u64::from(slot) * SLOT_BYTES
    }

    /// The memory that the card writes.
    pub fn reply_memory(&self) -> &File {
        &self.reply
    }

    /// The memory that the client writes.
    pub fn request_memory(&self) -> &File {
        &self.request
    }

    /// The client's end of the doorbell.
    pub fn doorbell(&self) -> BorrowedFd<'_> {
        self.doorbell.as_fd()
    }

    /// Writes to the request memory.
    ///
    /// # Panics
    /// Beyond its end.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        self.request.write_all_at(bytes, offset).expect("within the memory");
    }

    /// Writes a header and a payload into a slot, without handing it over.
    pub fn put(&self, slot: u32, header: Header, payload: &[u8]) {
        self.write(Self::slot(slot), &header.to_bytes());
        self.write(Self::slot(slot) + LINE_BYTES, payload);
    }

    /// Turns bits of the submission word over, and rings.
    pub fn toggle(&mut self, slots: u64) {
        self.submission ^= slots;
        self.write(self.line(), &self.submission.to_le_bytes());
        self.ring();
    }

    /// Rings the doorbell; a full one has been rung.
    pub fn ring(&self) {
        let _ = rustix::net::send(&self.doorbell, &[], rustix::net::SendFlags::DONTWAIT);
    }

    /// Hands a request over and waits for what becomes of it.
    ///
    /// # Panics
    /// If nothing does within [`PATIENCE`]: a card answers every request or ends its queue.
    pub fn call(&mut self, slot: u32, header: Header, payload: &[u8]) -> Became {
        self.put(slot, header, payload);
        self.toggle(1 << slot);
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(became) = self.became(slot, header.sequence) {
                return became;
            }
            assert!(Instant::now() < end, "neither answered nor ended: {header:?}");
            std::thread::yield_now();
        }
    }

    /// What became of the request of this sequence, as far as can be seen.
    pub fn became(&self, slot: u32, sequence: u64) -> Option<Became> {
        let mut line = [0; 64];
        self.reply.read_exact_at(&mut line, Self::slot(slot)).expect("within the memory");
        let word = |at: usize| u32::from_le_bytes(line[at..at + 4].try_into().expect("four bytes"));
        let replied = u64::from_le_bytes(line[REPLY_WORD as usize..].try_into().expect("eight bytes"));
        if replied == sequence {
            let outcome = u16::from_le_bytes([line[2], line[3]]);
            return Some(Became::Answered(outcome, word(24).cast_signed(), word(28).cast_signed(), word(4)));
        }
        self.is_ended().then_some(Became::Ended)
    }

    /// Whether the card serves the queue no more, or is gone.
    pub fn is_ended(&self) -> bool {
        let mut ended = [0; 8];
        self.reply.read_exact_at(&mut ended, self.line() + 8).expect("within the memory");
        let mut process = [PollFd::new(&self.process, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        ended != [0; 8] || rustix::event::poll(&mut process, Some(&now)).is_ok_and(|ready| ready > 0)
    }
}
