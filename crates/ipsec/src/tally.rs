//! Counts of what policies have decided: packets that each let pass, and packets that it dropped, by reason. Threads
//! share the counts, which stay when a policy is replaced in its place.

use crate::reason::Reason;
use std::sync::atomic::{AtomicU64, Ordering};

/// Packets of one flow that are decided about together, as those of a superpacket are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount {
    /// Number of packets.
    pub packets: u64,
    /// Length of all packets in bytes, headers of IP included.
    pub bytes: u64,
}

impl Amount {
    /// One packet of `bytes` bytes.
    pub fn one(bytes: usize) -> Amount {
        Amount { packets: 1, bytes: bytes as u64 }
    }
}

/// The reasons for which policies drop packets, in the order of the counts.
const REASONS: [Reason; 4] = [Reason::NoSa, Reason::Blocked, Reason::Template, Reason::Clear];

/// Counts of what a policy has decided since it was added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PolicyFigures {
    /// Packets that it let pass: to an SA, in, or in clear. Their further fate does not count here.
    pub packets: u64,
    /// Bytes of these packets: before they were sealed, or after they were opened.
    pub bytes: u64,
    dropped: [u64; REASONS.len()],
}

impl PolicyFigures {
    /// Each reason for which policies drop packets, with the number of packets that this policy dropped for it.
    pub fn drops(&self) -> impl Iterator<Item = (Reason, u64)> {
        REASONS.into_iter().zip(self.dropped)
    }
}

/// The counts of one policy, in a cache line of their own: threads write them, and the lines that they look up stay
/// unwritten.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Tally {
    packets: AtomicU64,
    bytes: AtomicU64,
    dropped: [AtomicU64; REASONS.len()],
}

impl Tally {
    /// Counts packets that were let pass, or dropped for a reason.
    #[inline]
    pub(crate) fn count(&self, dropped: Option<Reason>, amount: Amount) {
        let add = |count: &AtomicU64, more| {
            count.fetch_add(more, Ordering::Relaxed);
        };
        let Some(dropped) = dropped else {
            add(&self.packets, amount.packets);
            return add(&self.bytes, amount.bytes);
        };
        if let Some(at) = REASONS.iter().position(|reason| *reason == dropped) {
            add(&self.dropped[at], amount.packets);
        }
    }

    pub(crate) fn figures(&self) -> PolicyFigures {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        PolicyFigures {
            packets: read(&self.packets),
            bytes: read(&self.bytes),
            dropped: self.dropped.each_ref().map(read),
        }
    }
}
