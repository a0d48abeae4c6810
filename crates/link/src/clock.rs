//! The processor's time-stamp counter, and its rate.

use crate::world;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the counter is watched to learn its rate.
const CALIBRATION: Duration = Duration::from_millis(4);
/// Least rate that a process accepts from another process, in counts per second.
const TSC_HZ_MIN: u64 = 1_000_000;
/// Greatest rate that a process accepts from another process, in counts per second.
const TSC_HZ_MAX: u64 = 100_000_000_000;

/// The time-stamp counter of this processor; on machines without one, nanoseconds of the monotonic
/// clock. Not ordered against the instructions around it: a difference is exact to some tens of
/// cycles.
#[inline]
pub fn tsc() -> u64 {
    if let Some(tsc) = world::tsc() {
        return tsc;
    }
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        monotonic_ns()
    }
}

/// Counts of [`tsc`] in a microsecond. If no other process told the rate ([`tell_tsc_hz`]), the
/// first call measures it, to about one part in 10,000, which takes some 4 ms.
#[inline]
pub fn tsc_per_us() -> f64 {
    if let Some(rate) = world::tsc_per_us() {
        return rate;
    }
    match RATE.load(Ordering::Relaxed) {
        0 => learn_rate(),
        bits => f64::from_bits(bits),
    }
}

/// Counts of [`tsc`] in a second, to be told to other processes of this machine.
pub fn tsc_hz() -> u64 {
    (tsc_per_us() * 1e6) as u64
}

/// Takes the rate of [`tsc`] from a process that measured it on this machine. The rate only decides
/// how long this process waits and spins. An impossible rate is ignored, and so is any rate after
/// the first.
pub fn tell_tsc_hz(hz: u64) {
    let is_simulated = world::tsc_per_us().is_some();
    if !is_simulated && (TSC_HZ_MIN..=TSC_HZ_MAX).contains(&hz) {
        let rate = hz as f64 / 1e6;
        let _ = RATE.compare_exchange(0, rate.to_bits(), Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The rate as the bits of a floating-point number; 0 before it is known. Not a once-lock: if a
/// thread forks while another learns the rate, the child would wait for that thread for ever.
static RATE: AtomicU64 = AtomicU64::new(0);

#[cold]
fn learn_rate() -> f64 {
    let (begin, begin_tsc) = reading();
    world::sleep(CALIBRATION);
    let (end, end_tsc) = reading();
    let elapsed_us = end.duration_since(begin).as_secs_f64() * 1e6;
    let rate = (end_tsc.saturating_sub(begin_tsc) as f64 / elapsed_us).max(1.0);
    // If several threads learn the rate at the same time, the first one decides for all.
    match RATE.compare_exchange(0, rate.to_bits(), Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => rate,
        Err(decided) => f64::from_bits(decided),
    }
}

/// A span of [`tsc`] in nanoseconds.
pub fn tsc_to_ns(span: u64) -> u64 {
    (span as f64 * 1e3 / tsc_per_us()) as u64
}

/// A span of nanoseconds in counts of [`tsc`].
pub fn ns_to_tsc(span_ns: u64) -> u64 {
    (span_ns as f64 * tsc_per_us() / 1e3) as u64
}

/// The clock and the counter at one instant: of several tries, the one with the shortest time between
/// two readings of the counter, so that an interruption does not distort the rate.
fn reading() -> (Instant, u64) {
    let tries = std::iter::repeat_with(|| {
        let before = tsc();
        let now = world::now();
        let after = tsc();
        (after.wrapping_sub(before), now, before)
    });
    let best = tries.take(8).min_by_key(|(width, _, _)| *width);
    best.map(|(width, now, before)| (now, before + width / 2)).expect("eight tries")
}

#[cfg(not(target_arch = "x86_64"))]
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_convert_both_ways() {
        let span = ns_to_tsc(1_000_000_000);
        assert!((999_999_000..=1_000_001_000).contains(&tsc_to_ns(span)));
        assert!(tsc_per_us() >= 1.0);
    }

    #[test]
    fn a_rate_is_taken_once_and_only_where_it_can_be_one() {
        let known = tsc_hz();
        for told in [0, 1, u64::MAX, known * 2] {
            tell_tsc_hz(told);
            assert_eq!(tsc_hz(), known);
        }
    }
}
