//! Batches: the packets that one look at a socket or a TUN brings are sealed or opened together, whatever SAs they are
//! for.
//!
//! ```text
//! seal:  laid out ─► side by side by SA ─► charged and numbered, a run of an SA at once ─► enciphered, authenticated ─► described
//! open:  looked up, lengths, window ─► side by side by SA ─► authenticated, deciphered ─► window moved ─► laid out
//! ```
//!
//! 1. Packets of an SA keep their order. Those of all SAs are in the same calls of the engine: a call for each AEAD,
//!    one for all ciphers, one for all MACs.
//! 2. A fault of a packet takes that packet out of the batch and touches no other.
//! 3. Opening decides by SPI, length and window before anything is computed. A number that comes twice in one batch is
//!    authenticated twice, and the window takes only the first.

mod crypto;
mod open;
mod seal;

pub use open::{OpenItem, Opened};
pub use seal::{SealItem, Sealed};

use crate::reason::Reason;
use crate::sa::Sa;

/// The outcome of sealing or opening a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketOutcome<T> {
    /// The packet has not been sealed, opened or dropped yet.
    Waiting,
    /// The packet was sealed or opened, with this result.
    Done(T),
    /// The packet was dropped. The content of its frame has no meaning.
    Dropped(Reason),
}

impl<T> PacketOutcome<T> {
    /// Whether the packet was sealed or opened.
    pub fn is_done(&self) -> bool {
        matches!(self, PacketOutcome::Done(_))
    }

    /// The result, if the packet was sealed or opened.
    pub fn done(&self) -> Option<&T> {
        match self {
            PacketOutcome::Done(done) => Some(done),
            _ => None,
        }
    }

    /// Why the packet was dropped, if it was.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            PacketOutcome::Dropped(reason) => Some(*reason),
            _ => None,
        }
    }
}

/// A packet between the steps of a batch.
pub(crate) struct Work<'w, 't, I> {
    sa: &'t Sa,
    item: &'w mut I,
    /// Whole sequence number of the packet.
    number: u64,
    /// Bytes that are charged for sealing.
    bytes: u64,
    /// Whether the packet is still in the batch.
    good: bool,
    scratch: Scratch,
}

/// The fields besides the packet that the engine reads or compares.
#[derive(Clone, Copy, Default)]
struct Scratch {
    nonce: [u8; 12],
    aad: [u8; 12],
    icv: [u8; crate::suite::ICV_BYTES_MAX],
}

/// An item with a packet of ESP.
pub(crate) trait HasPacket {
    /// The packet, from its SPI to its ICV.
    fn packet(&mut self) -> &mut [u8];
}

impl<'w, 't, I> Work<'w, 't, I> {
    fn new(sa: &'t Sa, item: &'w mut I, number: u64) -> Work<'w, 't, I> {
        Work { sa, item, number, bytes: 0, good: true, scratch: Scratch::default() }
    }
}

/// Has the keys of the next packet fetched into the cache, unless they are those of the packet before: they come while
/// others are looked at.
#[inline]
fn fetch_keys<I>(works: &[Work<'_, '_, I>], sa: &Sa) {
    if works.last().is_none_or(|last| !std::ptr::eq(last.sa, sa)) {
        sa.keys.prefetch();
    }
}

/// Brings packets of one kind of suite side by side, and within them those of one SA, in their order. So the engine
/// sees texts under one key as neighbours.
fn bring_together<I>(works: &mut [Work<'_, '_, I>]) {
    let place = |work: &Work<'_, '_, I>| (crypto::Kind::of(work.sa), std::ptr::from_ref(work.sa).addr());
    if !works.is_sorted_by_key(place) {
        works.sort_by_key(place);
    }
}

/// Splits packets into the runs of one SA.
fn runs<'r, 'w, 't, I>(works: &'r mut [Work<'w, 't, I>]) -> impl Iterator<Item = &'r mut [Work<'w, 't, I>]> {
    works.chunk_by_mut(|first, second| std::ptr::eq(first.sa, second.sa))
}
