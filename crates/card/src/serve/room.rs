//! The secret memory that a pass may take: a request that does not fit waits for the next pass; one that can never fit
//! is refused.
//!
//! The arena never grows ([`confine::arena`]), and a program whose allocation fails aborts. So a card takes a request
//! only if the most memory that it can need is free in one piece. Prepared keys, which can be prepared again, are
//! evicted first.

use super::Server;
use crate::attached::Attached;
use cca::Batch;
use confine::arena::{self, COPIES, REQUEST_BYTES};
use wire::bounds::{BATCH_BYTES_MAX, BATCH_MAX, BULK_BYTES_MAX, INLINE_BYTES_MAX, KEYS_MAX, TOKEN_BYTES_MAX};

/// Upper bound of the memory that the largest pass takes, in bytes.
const PASS_BYTES_MAX: usize =
    COPIES * (BATCH_BYTES_MAX + BULK_BYTES_MAX) + BATCH_MAX * REQUEST_BYTES + KEPT_BACK_BYTES;
/// Memory kept back from every pass, in bytes: for tokens behind references, whose length is known only once they are
/// there, for orders, for what the kernel brings meanwhile, and for the rows of keys that are wrapped side by side.
const KEPT_BACK_BYTES: usize = 2 * KEYS_MAX * TOKEN_BYTES_MAX + KEY_WRAP_BYTES;
/// Memory that the engine's key wrap takes for its lanes, in bytes.
const KEY_WRAP_BYTES: usize = 16 << 10;

/// Memory that a pass may take now, in bytes.
pub fn of_pass() -> usize {
    arena::room(PASS_BYTES_MAX).saturating_sub(KEPT_BACK_BYTES)
}

/// Upper bound of the memory that a request with a payload of this length takes, in bytes.
pub fn needed(payload_bytes: usize) -> usize {
    REQUEST_BYTES + COPIES * payload_bytes
}

/// The longest payload, in bytes, of a request that may take `room` bytes of memory.
pub fn payload_max(room: usize) -> usize {
    room.saturating_sub(REQUEST_BYTES) / COPIES
}

/// Memory that the search for a key takes, in bytes: for its sieve, candidates, powers of a base, numbers of a key that
/// is made, and its request.
const SEARCH_BYTES: usize = 256 << 10;

/// Whether there is room for one more search, with some left for requests.
pub fn has_room_for_search() -> bool {
    let bytes = SEARCH_BYTES + KEPT_BACK_BYTES + needed(INLINE_BYTES_MAX);
    arena::room(bytes) == bytes
}

impl Server {
    /// Whether there is room for one more queue, with some left for requests.
    pub fn has_room_for_queue(&self) -> bool {
        // A list that grows is copied.
        let grown =
            if self.queues.len() == self.queues.capacity() { 2 * self.queues.len().max(4) } else { 0 };
        let bytes = grown * size_of::<Attached>() + KEPT_BACK_BYTES + needed(INLINE_BYTES_MAX);
        arena::room(bytes) == bytes
    }

    /// Whether the request that waits in this slot may join a pass with `room` bytes left. If it needs more, it waits
    /// for the next pass, unless it is the first of this one. For a first request, prepared keys are forgotten if that
    /// can help.
    pub(super) fn has_room(&mut self, index: usize, slot: u32, room: &mut usize) -> bool {
        // The length that it claims is good enough for this choice; taking it keeps to the room.
        let (_, payload_bytes) = self.queues[index].queue.peek(slot);
        let needed = needed((payload_bytes as usize).min(BULK_BYTES_MAX));
        if needed <= *room {
            return true;
        }
        if !self.collecting.taken.is_empty() {
            return false;
        }
        if self.collecting.emptied.is_none_or(|emptied| needed <= emptied) {
            self.processor.forget_contexts();
            // The batch keeps buffers of earlier requests.
            self.collecting.batch = Batch::new();
            *room = of_pass();
            self.collecting.emptied = Some(*room);
        }
        true
    }
}
