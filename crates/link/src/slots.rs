//! Which slots and blocks of a queue are free, in words of the client's process: any of its threads may claim one that
//! another gave back or gave up, also one that has ended since.
//!
//! ```text
//! free --claim--> owned by one thread --give_back--> free
//!                    | give_up, before the answer      ^
//!                    '---> given up --take_over--------'  by any thread, once the card has answered
//! ```
//!
//! Who claims a slot, or takes it over, sees all that its owners before wrote of it: nothing else passes between a
//! thread that ends and the next one in its share. As with [`super::protocol`], the source is also compiled for loom.

use super::atomics::{AtomicU64, Ordering};

/// Claims the lowest free slot, and returns its position; none if none is free.
#[inline]
pub fn claim(free: &AtomicU64) -> Option<u32> {
    let mut seen = free.load(Ordering::Relaxed);
    while seen != 0 {
        let lowest = seen & seen.wrapping_neg();
        match free.compare_exchange_weak(seen, seen & !lowest, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Some(lowest.trailing_zeros()),
            Err(now) => seen = now,
        }
    }
    None
}

/// Gives a slot back. Sequentially consistent, for those who then look whether a thread waits for a free one.
#[inline]
pub fn give_back(free: &AtomicU64, bit: u64) {
    free.fetch_or(bit, Ordering::SeqCst);
}

/// Gives up a slot whose request is not answered yet, or not collected.
#[inline]
pub fn give_up(abandoned: &AtomicU64, bit: u64) {
    abandoned.fetch_or(bit, Ordering::Release);
}

/// Takes over a slot that was given up and whose request is over, to give it back: of several threads one. `looked` is
/// called between the look and the exchange.
///
/// `is_over` is asked again once the slot is the caller's. Since it was asked first, another thread may have taken the
/// slot over, and its next owner given it up once more: with a request that the card still has.
#[inline]
pub fn take_over(abandoned: &AtomicU64, bit: u64, is_over: impl Fn() -> bool, looked: impl FnOnce()) -> bool {
    if !is_over() {
        return false;
    }
    looked();
    if abandoned.fetch_and(!bit, Ordering::AcqRel) & bit == 0 {
        return false;
    }
    let is_still_over = is_over();
    if !is_still_over {
        give_up(abandoned, bit);
    }
    is_still_over
}
