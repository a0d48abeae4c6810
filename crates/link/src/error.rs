//! Errors between a client and a card, by the side that is at fault.

use wire::bounds::BULK_BYTES_MAX;
use wire::frame::FrameError;

/// Errors of calls on a client's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// The card's process has ended. Attach to another card, or to this one's next generation.
    Dead,
    /// The deadline passed. The request is still in flight: wait again, or drop it.
    TimedOut,
    /// This process is a child of the one that attached. Attach anew.
    Forked,
    /// The card broke the rules of the link. The queue is unusable: drop it.
    Violation(Violation),
    /// Every slot is in use. Wait for a reply, or with [`crate::ClientQueue::claim_until`].
    Full,
    /// Every bulk block is in use. Wait for the reply to a long request.
    BulkFull,
    /// The payload or the requested reply is longer than a bulk block: an error of the caller.
    TooLong {
        /// The length in bytes.
        bytes: usize,
    },
    /// The reply was collected before, or the request belongs to another queue: an error of the
    /// caller.
    NotInFlight,
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Dead => f.write_str("the card's process has ended"),
            Self::TimedOut => f.write_str("the card has not answered in time"),
            Self::Forked => f.write_str("the queue belongs to the parent of this process; attach anew"),
            Self::Violation(violation) => write!(f, "the card broke the rules of the link: {violation}"),
            Self::Full => f.write_str("every slot of the queue is in use"),
            Self::BulkFull => f.write_str("every bulk block of the queue is in use"),
            Self::TooLong { bytes } => {
                write!(f, "a payload of {bytes} bytes; a queue carries at most {BULK_BYTES_MAX}")
            }
            Self::NotInFlight => f.write_str("the request is not in flight on this queue"),
        }
    }
}

impl std::error::Error for LinkError {}

impl From<Violation> for LinkError {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

/// A rule of the link that the other side broke. A card ends the queue; a client gives it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The header of a frame is not valid.
    Frame(FrameError),
    /// The client handed over a slot whose request the card has not answered yet.
    SlotBusy {
        /// Number of the slot.
        slot: u32,
    },
    /// The slot is not handed over: the client took it back, or it does not exist.
    NotSubmitted {
        /// Number of the slot.
        slot: u32,
    },
    /// The client lent a bulk block that is lent to another of its requests already.
    BulkBusy {
        /// Number of the block.
        block: u32,
    },
    /// The card announced a reply in a slot that holds none.
    Unanswered {
        /// Number of the slot.
        slot: u32,
    },
    /// The reply is to a request that was not made.
    Sequence {
        /// The sequence of the request.
        expected: u64,
        /// The sequence in the reply.
        found: u64,
    },
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Frame(error) => error.fmt(f),
            Self::SlotBusy { slot } => write!(f, "slot {slot} was handed over again before its reply"),
            Self::NotSubmitted { slot } => write!(f, "slot {slot} is not handed over"),
            Self::BulkBusy { block } => write!(f, "bulk block {block} was lent twice"),
            Self::Unanswered { slot } => write!(f, "slot {slot} was said to be answered, and is not"),
            Self::Sequence { expected, found } => {
                write!(f, "a reply to request {found} where {expected} was asked")
            }
        }
    }
}

impl std::error::Error for Violation {}

impl From<FrameError> for Violation {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

/// Why a card cannot answer with this reply; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyError {
    /// The slot holds no taken request.
    NotTaken {
        /// Number of the slot.
        slot: u32,
    },
    /// The payload does not fit: answer without a payload.
    TooLong {
        /// Length of the payload in bytes.
        bytes: usize,
        /// The room that the request left for a reply, in bytes.
        room: usize,
    },
}

impl std::fmt::Display for ReplyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotTaken { slot } => write!(f, "slot {slot} holds no request that was taken"),
            Self::TooLong { bytes, room } => {
                write!(f, "a reply of {bytes} bytes where the client left room for {room}")
            }
        }
    }
}

impl std::error::Error for ReplyError {}
