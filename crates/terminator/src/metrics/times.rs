//! Durations, counted in fixed buckets: four for each doubling from 8 us to 16.8 s.

use super::Counter;
use std::time::Duration;

/// log2 of the first bucket's end, and of the last but one's, in microseconds.
const FIRST_BITS: u32 = 3;
const LAST_BITS: u32 = 24;
/// log2 of the number of buckets for each doubling.
const PARTS_BITS: u32 = 2;
const PARTS: usize = 1 << PARTS_BITS;
const BUCKETS: usize = 2 + (LAST_BITS - FIRST_BITS) as usize * PARTS;

/// Durations that a single thread counts.
#[derive(Debug)]
pub(crate) struct Times {
    buckets: [Counter; BUCKETS],
    micros: Counter,
}

impl Default for Times {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| Counter::default()), micros: Counter::default() }
    }
}

impl Times {
    pub(crate) fn add(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.buckets[bucket(micros)].add(1);
        self.micros.add(micros);
    }
}

fn bucket(micros: u64) -> usize {
    if micros < 1 << FIRST_BITS {
        return 0;
    }
    let bits = micros.ilog2();
    if bits >= LAST_BITS {
        return BUCKETS - 1;
    }
    let part = (micros >> (bits - PARTS_BITS)) as usize & (PARTS - 1);
    1 + (bits - FIRST_BITS) as usize * PARTS + part
}

/// End of a bucket in microseconds; not for the last bucket, which has no end.
fn edge(bucket: usize) -> u64 {
    let Some(from_first) = bucket.checked_sub(1) else { return 1 << FIRST_BITS };
    let base = 1_u64 << (FIRST_BITS as usize + from_first / PARTS);
    base + base / PARTS as u64 * (from_first % PARTS + 1) as u64
}

/// Durations of several threads, added up.
#[derive(Clone, Debug)]
pub(crate) struct TimesRead {
    buckets: [u64; BUCKETS],
    micros: u64,
}

impl Default for TimesRead {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], micros: 0 }
    }
}

impl TimesRead {
    pub(crate) fn add(&mut self, times: &Times) {
        for (sum, more) in self.buckets.iter_mut().zip(&times.buckets) {
            *sum += more.read();
        }
        self.micros = self.micros.wrapping_add(times.micros.read());
    }

    pub(crate) fn add_read(&mut self, other: &Self) {
        for (sum, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *sum += more;
        }
        self.micros = self.micros.wrapping_add(other.micros);
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.micros as f64 / 1e6
    }

    /// For each doubling, its upper end in seconds, and how many durations are shorter.
    pub(crate) fn doublings(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut below = 0;
        self.buckets[..BUCKETS - 1].iter().enumerate().filter_map(move |(at, count)| {
            below += count;
            (at % PARTS == 0).then_some((edge(at) as f64 / 1e6, below))
        })
    }

    /// The quantile at `share`, 0 to 1, in microseconds, as exact as the buckets. `None` if no duration was counted.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        let rank = (share * self.count() as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (at, &count) in self.buckets.iter().enumerate() {
            if count > 0 && below + count >= rank {
                let from = if at == 0 { 0 } else { edge(at - 1) };
                let width = if at == BUCKETS - 1 { 0 } else { edge(at) - from };
                return Some(from + width * (rank - below) / count);
            }
            below += count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_below_the_edge_of_its_bucket() {
        let mut last = 0;
        for micros in (0..1 << 14).chain([(1 << 24) - 1, 1 << 24, u64::MAX]) {
            let at = bucket(micros);
            assert!(at >= last && at < BUCKETS, "{micros}");
            assert!(at == BUCKETS - 1 || micros < edge(at), "{micros}");
            assert!(at == 0 || micros >= edge(at - 1), "{micros}");
            last = at;
        }
        assert_eq!(edge(BUCKETS - 2), 1 << LAST_BITS);
    }

    #[test]
    fn shares_are_where_the_times_are() {
        let times = Times::default();
        assert_eq!(TimesRead::default().quantile(0.5), None);
        for _ in 0..99 {
            times.add(Duration::from_micros(100));
        }
        times.add(Duration::from_secs(100));
        let mut read = TimesRead::default();
        read.add(&times);
        assert!((96..=112).contains(&read.quantile(0.5).unwrap()));
        assert!((96..=112).contains(&read.quantile(0.99).unwrap()));
        assert_eq!(read.quantile(1.0), Some(1 << LAST_BITS));
        let doublings: Vec<_> = read.doublings().collect();
        assert_eq!(doublings.len(), (LAST_BITS - FIRST_BITS) as usize + 1);
        assert_eq!(doublings[3], (64e-6, 0));
        assert_eq!(doublings[4], (128e-6, 99));
        assert_eq!(doublings.last(), Some(&(16.777_216, 99)));
        assert_eq!(read.count(), 100);
    }
}
