//! How cards keep a limit together, without a lock and whichever card dies.
//!
//! Each card has a cell of its own in a tenant's row, which says how many of the tenant's requests it
//! has in flight. To take one more it writes its cell first, and then reads all cells:
//!
//! ```text
//! card A                      card B
//! own cell := own + 1         own cell := own + 1
//! fence (SeqCst)              fence (SeqCst)
//! sum of all cells > limit?   sum of all cells > limit?
//!   own cell := own, later      own cell := own, later
//! ```
//! At least the card whose fence comes last sees the other's cell, so the limit is never exceeded.
//! Both may see each other and both wait, though one could have proceeded; they try again.
//!
//! The source is compiled against loom as well: `crates/link/loom`.

use crate::atomics::{AtomicU64, Ordering, fence};

/// At most this many tries of [`draw`] against cards that draw at the same time; one card succeeds
/// each time.
const DRAW_TRIES_MAX: usize = 64;

/// Card: takes one more request in flight, if all cells together stay within `limit`. `before`
/// requests are in flight now. Otherwise the own cell keeps its value.
#[inline]
pub fn enter<'a>(
    own: &AtomicU64,
    before: u64,
    others: impl Iterator<Item = &'a AtomicU64>,
    limit: u64,
) -> bool {
    own.store(before + 1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let sum = others.fold(before + 1, |sum, cell| sum.saturating_add(cell.load(Ordering::Relaxed)));
    if sum > limit {
        own.store(before, Ordering::Relaxed);
    }
    sum <= limit
}

/// Card: has `after` requests in flight now that others were answered.
#[inline]
pub fn leave(own: &AtomicU64, after: u64) {
    own.store(after, Ordering::Release);
}

/// Card: takes one request at the time `now` from a rate: one in each `interval`, and at once as
/// many more as fit into `burst`. Otherwise the time at which to try again.
///
/// The word is the time of the next request if all came evenly. The word is a claim: a time further
/// away than this rate can have put it counts as the furthest possible.
#[inline]
pub fn draw(next: &AtomicU64, now: u64, interval: u64, burst: u64) -> Result<(), u64> {
    let furthest = now.saturating_add(burst).saturating_add(interval);
    let mut found = next.load(Ordering::Relaxed);
    for _ in 0..DRAW_TRIES_MAX {
        let expected = found.clamp(now, furthest);
        let is_late = expected - now > burst;
        if is_late && expected == found {
            return Err(expected - burst);
        }
        let after = if is_late { expected } else { expected.saturating_add(interval) };
        match next.compare_exchange(found, after, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) if is_late => return Err(expected - burst),
            Ok(_) => return Ok(()),
            Err(other) => found = other,
        }
    }
    Err(now.saturating_add(interval))
}

/// Card: how many requests [`draw`] would give at the time `now` if no other card drew; otherwise
/// the time at which to try again. An `interval` of 0 is no rate.
#[inline]
pub fn drawable(next: &AtomicU64, now: u64, interval: u64, burst: u64) -> Result<u64, u64> {
    let furthest = now.saturating_add(burst).saturating_add(interval);
    let expected = next.load(Ordering::Relaxed).clamp(now, furthest);
    match burst.checked_sub(expected - now) {
        Some(left) => Ok(left.checked_div(interval).map_or(u64::MAX, |more| more.saturating_add(1))),
        None => Err(expected - burst),
    }
}
