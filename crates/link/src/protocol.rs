//! The steps of the two protocols that hold between processes: how a slot goes to the card and
//! back, and how a side goes to sleep without losing a wake-up. Also the seqlock of the key table.
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
//! The fences are sequentially consistent. Of "flag stored, work read" and "work stored, flag read"
//! at least one side then sees the other's store, which release and acquire alone do not guarantee.
//!
//! Loads of words in memory mapped read-only are relaxed, with a fence after them if more is
//! needed: Rust guarantees only for relaxed loads that they do not write.

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

/// Card: the slots handed over and not yet taken. `taken` is the card's own copy of the submission
/// word, flipped bit by bit as it takes requests.
#[inline]
pub fn pending(submission: &AtomicU64, taken: u64) -> u64 {
    let word = submission.load(Ordering::Relaxed);
    fence(Ordering::Acquire);
    word ^ taken
}

/// Card: announces that it goes to sleep. It must look for work once more between this and
/// sleeping.
#[inline]
pub fn announce_sleep(asleep: &AtomicU64) {
    asleep.store(1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Card: announces that it is awake.
#[inline]
pub fn announce_awake(asleep: &AtomicU64) {
    asleep.store(0, Ordering::Relaxed);
}

/// Card: publishes a reply; its frame must be written before.
#[inline]
pub fn publish(reply: &AtomicU64, sequence: u64) {
    reply.store(sequence, Ordering::Release);
}

/// Card, after one [`publish`] or several: which of the slots `bits` a client may sleep on and must
/// be woken from.
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

/// Client: announces that it goes to sleep on a slot. It must [`look`] once more between this and
/// sleeping.
#[inline]
pub fn announce_wait(waiting: &AtomicU64, bit: u64) {
    waiting.fetch_or(bit, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Client: announces that it no longer sleeps on a slot.
#[inline]
pub fn announce_done(waiting: &AtomicU64, bit: u64) {
    waiting.fetch_and(!bit, Ordering::Relaxed);
}

/// Card, after one [`publish`] or several: counts them as one round. To be called before
/// [`must_wake`], whose fence serves the crowd as well.
#[inline]
pub fn end_round(rounds: &AtomicU64) {
    let round = rounds.load(Ordering::Relaxed).wrapping_add(1);
    rounds.store(round, Ordering::Release);
}

/// Card: announces which slots it has answered since the last announcement, one bit each. To be
/// called before [`must_wake`]. Only the card stores the word; a client follows it bit by bit, as
/// the card follows the submission word.
#[inline]
pub fn tell_answered(answered: &AtomicU64, bits: u64) {
    let word = answered.load(Ordering::Relaxed) ^ bits;
    answered.store(word, Ordering::Release);
}

/// Client, an event loop: announces that it goes to sleep; `sleep` numbers this sleep, and is not
/// 0. The loop must [`look`] once more for answers between this and sleeping.
#[inline]
pub fn arm(events: &AtomicU64, sleep: u64) {
    events.store(sleep, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Client, an event loop: announces that it is awake.
#[inline]
pub fn disarm(events: &AtomicU64) {
    events.store(0, Ordering::Relaxed);
}

/// Card, after [`must_wake`], whose fence serves the loop as well: whether the client's event loop
/// sleeps and was not woken from this sleep yet. `told` is the last sleep that it was woken from.
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

/// Client: announces that a thread goes to sleep until any of its requests is answered. The thread
/// must read the round with [`look`], and only then [`look`] at every one of its requests once
/// more, before it sleeps on that round.
#[inline]
pub fn join_crowd(crowd: &AtomicU64) {
    crowd.fetch_add(1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Client: announces that the thread no longer sleeps.
#[inline]
pub fn leave_crowd(crowd: &AtomicU64) {
    crowd.fetch_sub(1, Ordering::Relaxed);
}

/// Seqlock, the only writer: makes the generation odd; nobody accepts what is written until
/// [`end_write`].
#[inline]
pub fn begin_write(generation: &AtomicU64) -> u64 {
    let odd = generation.load(Ordering::Relaxed) | 1;
    generation.store(odd, Ordering::Relaxed);
    fence(Ordering::Release);
    odd
}

/// Seqlock, the only writer: makes the generation even and returns it: higher than all generations
/// before.
#[inline]
pub fn end_write(generation: &AtomicU64, odd: u64) -> u64 {
    let even = odd + 1;
    generation.store(even, Ordering::Release);
    even
}

/// Seqlock, a reader, after its copy: whether the generation is still the one before the copy, so
/// that the copy is not torn.
#[inline]
pub fn is_unchanged(generation: &AtomicU64, begun: u64) -> bool {
    fence(Ordering::Acquire);
    generation.load(Ordering::Relaxed) == begun
}
