//! Sequence numbers: handed out in blocks to the threads that seal, and completed from the half that travels.

use crate::atomics::{AtomicU64, Ordering};
use std::ops::Range;

/// Share of the numbers from which on rekeying is asked for, in sixteenths.
const SOFT_SIXTEENTHS: u64 = 15;

/// The numbers of an outbound SA. No number is handed out twice; threads share them.
#[derive(Debug)]
pub struct Numbers {
    /// The last number that was handed out.
    last: AtomicU64,
    /// The last number whose packet was sent, as far as threads have reported it.
    sent: AtomicU64,
    end: u64,
}

impl Numbers {
    /// The numbers after `last`, which is 0 for a new SA: up to 2^32 - 1, or with extended sequence numbers to 2^64 - 2
    /// (RFC 4303, 3.3.3).
    pub fn after(last: u64, extended: bool) -> Numbers {
        Numbers::between(last, if extended { u64::MAX - 1 } else { u64::from(u32::MAX) })
    }

    /// The numbers after `last` and up to `end`, which is below `u64::MAX`.
    pub fn between(last: u64, end: u64) -> Numbers {
        Numbers { last: AtomicU64::new(last), sent: AtomicU64::new(last), end: end.min(u64::MAX - 1) }
    }

    /// The next `count` numbers, for a thread to use alone: fewer if fewer are left, none at the end.
    #[inline]
    pub fn take(&self, count: u64) -> Range<u64> {
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let next = last.saturating_add(count).min(self.end).max(last);
            if next == last {
                return 0..0;
            }
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return last + 1..next + 1,
                Err(now) => last = now,
            }
        }
    }

    /// Hands out no more numbers, whatever threads still hold the SA. Returns the last number that was handed out.
    pub fn close(&self) -> u64 {
        self.last.swap(self.end, Ordering::Relaxed)
    }

    /// Counts numbers up to this one as handed out.
    pub fn skip_to(&self, number: u64) {
        self.last.fetch_max(number.min(self.end), Ordering::Relaxed);
    }

    /// Whether the packets of all numbers before `first` were sent, so that packets from there on arrive in order. A
    /// thread that waits for this waits for others that seal; it must not wait for ever, since one of them may have
    /// ended.
    #[inline]
    pub fn is_turn(&self, first: u64) -> bool {
        self.sent.load(Ordering::Acquire).saturating_add(1) >= first
    }

    /// Notes that the packets of the numbers up to `last` were sent, or will not be.
    #[inline]
    pub fn sent(&self, last: u64) {
        self.sent.fetch_max(last, Ordering::Release);
    }

    /// The last number that was handed out; 0 before any.
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Whether the numbers handed out are near their end: it is time to rekey.
    pub fn is_soft(&self) -> bool {
        self.last() >= self.end / 16 * SOFT_SIXTEENTHS
    }

    /// Whether all numbers were handed out.
    pub fn is_at_end(&self) -> bool {
        self.last() >= self.end
    }
}

/// The whole number of a packet that shows its low 32 bits, by the window's highest number and its size (RFC 4303,
/// appendix A2.2): the number that is in the window or, if none is, ahead of it. `None` if it would lie before the
/// first or after the last number.
#[inline]
pub fn whole_number(top: u64, size: u32, low: u32) -> Option<u64> {
    let (top_high, top_low) = (top >> 32, top as u32);
    let bottom = top_low.wrapping_sub(size - 1);
    let high = if top_low >= size - 1 {
        // The window lies within one cycle of the low half.
        if low >= bottom { top_high } else { top_high + 1 }
    } else if low >= bottom {
        // Its lower part lies in the cycle before.
        top_high.checked_sub(1)?
    } else {
        top_high
    };
    (high <= u64::from(u32::MAX)).then_some(high << 32 | u64::from(low))
}
