//! The steps of the two protocols that hold between processes: a slot's way to the card and back,
//! and going to sleep without losing a wake-up. Also the seqlock of the key table.
//!
//! Nothing here knows where the words lie. The atomics come from `super::atomics`, so that the same
//! source is compiled against the standard library for use and against loom for the model check in
//! `crates/link/loom`, which explores every order that the memory model allows.
//!
//! ```text
//! client                                   card
//! write frame                              pending: read submission, acquire
//! submit: toggle own bit, release    --->  take: flip own taken bit, copy the frame once
//! must_ring: fence, read asleep            write reply
//!   asleep: send on the doorbell     <---  publish: store reply word, release
//! look: read reply word, acquire           must_wake: fence, read waiting
//!
//! going to sleep, both sides alike:  announce (store a flag), fence, LOOK AGAIN, sleep.
//! waking, both sides alike:          store the work, fence, read the flag, wake.
//! ```
//!
//! The fences are sequentially consistent: of "flag stored, work read" and "work stored, flag read"
//! at least one side then sees the other's store, which release and acquire alone do not give.
//!
//! Loads of words in memory mapped read-only are relaxed, with a fence after them where more is
//! needed: Rust promises only for relaxed loads that no write is made.

use super::atomics::{AtomicU64, Ordering, fence};

/// Client: hands a slot to the card; its frame must be written before.
#[inline]
pub fn submit(submission: &AtomicU64, bit: u64) {
    submission.fetch_xor(bit, Ordering::Release);
}

/// Client, after [`submit`]: whether the card may be asleep and must be rung.
#[inline]
pub fn must_ring(asleep: &AtomicU64) -> bool {
    fence(Ordering::SeqCst);
    asleep.load(Ordering::Relaxed) != 0
}

/// Card: the slots handed over and not yet taken, where `taken` is the card's own copy of the
/// submission word, flipped bit by bit as it takes.
#[inline]
pub fn pending(submission: &AtomicU64, taken: u64) -> u64 {
    let word = submission.load(Ordering::Relaxed);
    fence(Ordering::Acquire);
    word ^ taken
}

/// Card: says that it goes to sleep. It must look for work once more between this and sleeping.
#[inline]
pub fn announce_sleep(asleep: &AtomicU64) {
    asleep.store(1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Card: says that it is awake.
#[inline]
pub fn announce_awake(asleep: &AtomicU64) {
    asleep.store(0, Ordering::Relaxed);
}

/// Card: shows a reply; its frame must be written before.
#[inline]
pub fn publish(reply: &AtomicU64, sequence: u64) {
    reply.store(sequence, Ordering::Release);
}

/// Card, after one [`publish`] or several: of the slots `bits`, those on which someone may sleep and
/// must be woken.
#[inline]
pub fn must_wake(waiting: &AtomicU64, bits: u64) -> u64 {
    fence(Ordering::SeqCst);
    waiting.load(Ordering::Relaxed) & bits
}

/// Client: the sequence that the slot was last answered with; its reply may be read after this.
#[inline]
pub fn look(reply: &AtomicU64) -> u64 {
    let sequence = reply.load(Ordering::Relaxed);
    fence(Ordering::Acquire);
    sequence
}

/// Client: says that it goes to sleep on a slot. It must [`look`] once more between this and sleeping.
#[inline]
pub fn announce_wait(waiting: &AtomicU64, bit: u64) {
    waiting.fetch_or(bit, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Client: says that it no longer sleeps on a slot.
#[inline]
pub fn announce_done(waiting: &AtomicU64, bit: u64) {
    waiting.fetch_and(!bit, Ordering::Relaxed);
}

/// Card: after one [`publish`] or several, counts the round that they were; before [`must_wake`], whose fence
/// serves the crowd as well.
#[inline]
pub fn end_round(rounds: &AtomicU64) {
    let round = rounds.load(Ordering::Relaxed).wrapping_add(1);
    rounds.store(round, Ordering::Release);
}

/// Card: says which slots it has answered, one bit each, since it last said so; before [`must_wake`]. Of the
/// word only the card stores: what the client reads of it follows the submission word bit by bit.
#[inline]
pub fn tell_answered(answered: &AtomicU64, bits: u64) {
    let word = answered.load(Ordering::Relaxed) ^ bits;
    answered.store(word, Ordering::Release);
}

/// Client, an event loop: says that it goes to sleep, for the time of this number, which is not 0. It must
/// [`look`] at what is answered once more between this and sleeping.
#[inline]
pub fn arm(events: &AtomicU64, sleep: u64) {
    events.store(sleep, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Client, an event loop: says that it is awake.
#[inline]
pub fn disarm(events: &AtomicU64) {
    events.store(0, Ordering::Relaxed);
}

/// Card, after [`must_wake`], whose fence serves the loop as well: whether the client's event loop sleeps and was
/// not told yet; `told` is the sleep of which it was told last. One sleep is told of once.
#[inline]
pub fn must_tell(events: &AtomicU64, told: &mut u64) -> bool {
    let sleep = events.load(Ordering::Relaxed);
    let is_untold = sleep != 0 && sleep != *told;
    if is_untold {
        *told = sleep;
    }
    is_untold
}

/// Card, after [`must_wake`]: whether some thread sleeps until the next round ends, and must be woken.
#[inline]
pub fn must_wake_crowd(crowd: &AtomicU64) -> bool {
    crowd.load(Ordering::Relaxed) != 0
}

/// Client: says that a thread goes to sleep until any of its requests is answered. It must read the round
/// with [`look`], and only then [`look`] at every one of its requests once more, before it sleeps on
/// that round.
#[inline]
pub fn join_crowd(crowd: &AtomicU64) {
    crowd.fetch_add(1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Client: says that the thread no longer sleeps.
#[inline]
pub fn leave_crowd(crowd: &AtomicU64) {
    crowd.fetch_sub(1, Ordering::Relaxed);
}

/// Seqlock, the only writer: makes the generation odd; what is written next is not read by anyone.
#[inline]
pub fn begin_write(generation: &AtomicU64) -> u64 {
    let odd = generation.load(Ordering::Relaxed) | 1;
    generation.store(odd, Ordering::Relaxed);
    fence(Ordering::Release);
    odd
}

/// Seqlock, the only writer: makes the generation even, and returns it: the next one after all before.
#[inline]
pub fn end_write(generation: &AtomicU64, odd: u64) -> u64 {
    let even = odd + 1;
    generation.store(even, Ordering::Release);
    even
}

/// Seqlock, a reader, after its copy: whether the generation is still the one it began with, so
/// that the copy is of one piece.
#[inline]
pub fn is_unchanged(generation: &AtomicU64, begun: u64) -> bool {
    fence(Ordering::Acquire);
    generation.load(Ordering::Relaxed) == begun
}
