//! Batches: what one look at a socket or a TUN brings is sealed or opened together, whatever SAs it is for.
//!
//! ```text
//! seal:  laid out ─► side by side by SA ─► charged and numbered, a run of an SA at once ─► enciphered, authenticated ─► described
//! open:  looked up, lengths, window ─► side by side by SA ─► authenticated, deciphered ─► window moved ─► laid out
//! ```
//!
//! 1. Packets of an SA keep their order. Those of all SAs are in the same calls of the engine: a call for each AEAD,
//!    one for all ciphers, one for all MACs.
//! 2. What is wrong with a packet takes it out of the batch and touches no other.
//! 3. Opening decides by SPI, length and window before anything is computed. Twice the same number in one batch is
//!    authenticated twice, and the window takes the first alone.

mod crypto;
mod open;
mod seal;

pub use open::{OpenItem, Opened};
pub use seal::{SealItem, Sealed};

use crate::reason::Reason;
use crate::sa::Sa;

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<T> {
    /// Nothing yet.
    Waiting,
    /// It was sealed or opened.
    Done(T),
    /// It was dropped. What its frame holds has no meaning.
    Dropped(Reason),
}

impl<T> Outcome<T> {
    /// Whether it was sealed or opened.
    pub fn is_done(&self) -> bool {
        matches!(self, Outcome::Done(_))
    }

    /// What was made of it.
    pub fn done(&self) -> Option<&T> {
        match self {
            Outcome::Done(done) => Some(done),
            _ => None,
        }
    }

    /// Why it was dropped.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Outcome::Dropped(reason) => Some(*reason),
            _ => None,
        }
    }
}

/// A packet between the steps of a batch.
pub(crate) struct Work<'w, 't, I> {
    sa: &'t Sa,
    item: &'w mut I,
    /// Its whole sequence number.
    number: u64,
    /// Sealing: bytes that are charged.
    bytes: u64,
    /// Whether it is still in the batch.
    good: bool,
    scratch: Scratch,
}

/// What the engine reads or compares beside the packet.
#[derive(Clone, Copy, Default)]
struct Scratch {
    nonce: [u8; 12],
    aad: [u8; 12],
    icv: [u8; crate::suite::ICV_BYTES_MAX],
}

/// What has a packet of ESP.
pub(crate) trait HasPacket {
    /// From SPI to ICV.
    fn packet(&mut self) -> &mut [u8];
}

impl<'w, 't, I> Work<'w, 't, I> {
    fn new(sa: &'t Sa, item: &'w mut I, number: u64) -> Work<'w, 't, I> {
        Work { sa, item, number, bytes: 0, good: true, scratch: Scratch::default() }
    }
}

/// Has the keys of the next packet fetched, unless they are those of the one before: they come while others are looked
/// at.
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

/// The runs of packets of one SA.
fn runs<'r, 'w, 't, I>(works: &'r mut [Work<'w, 't, I>]) -> impl Iterator<Item = &'r mut [Work<'w, 't, I>]> {
    works.chunk_by_mut(|first, second| std::ptr::eq(first.sa, second.sa))
}
