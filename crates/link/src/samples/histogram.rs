//! Times in buckets: sixteen to each doubling, from 64 ns to 69 s.
//!
//! A bucket is a sixteenth of its octave wide, so a time is known to a sixteenth of itself. Shorter times
//! than 64 ns share the first bucket, longer ones than 69 s the last. A quantile is reported as the
//! longest time of its bucket: never below the true value, and at most a sixteenth above it.

/// Sub-buckets of an octave, as a power of two.
const SUB_BITS: u32 = 4;
/// Times below 2^6 ns share the first bucket.
const LEAST_BITS: u32 = 6;
/// Times from 2^36 ns on share the last bucket.
const MOST_BITS: u32 = 36;

/// Number of buckets of a histogram: the first for shorter times, the last for longer times.
pub const BUCKETS: usize = (((MOST_BITS - LEAST_BITS) as usize) << SUB_BITS) + 2;
/// Longest time that is recorded, in nanoseconds: 18 minutes. Longer times count as this.
pub const SAMPLE_NS_MAX: u64 = (1 << 40) - 1;

/// The bucket of a time. No branch: a time that is too short or too long is brought into range
/// first.
#[inline]
pub fn bucket(ns: u64) -> usize {
    let ns = ns.clamp((1 << LEAST_BITS) - 1, 1 << MOST_BITS);
    let octave = 63 - ns.leading_zeros();
    let sub = (ns >> (octave - SUB_BITS)) & ((1 << SUB_BITS) - 1);
    // The last time below the first octave has number 15 of the octave before; it is moved to
    // bucket 0.
    (((octave + 1 - LEAST_BITS) << SUB_BITS) as usize + sub as usize) - ((1 << SUB_BITS) - 1)
}

/// The longest time of a bucket.
fn longest_of(bucket: usize) -> u64 {
    if bucket + 1 >= BUCKETS { SAMPLE_NS_MAX } else { shortest_of(bucket + 1) - 1 }
}

/// The shortest time of a bucket.
fn shortest_of(bucket: usize) -> u64 {
    let Some(at) = bucket.checked_sub(1) else { return 0 };
    let (octave, sub) = (at >> SUB_BITS, (at & ((1 << SUB_BITS) - 1)) as u64);
    (1 << SUB_BITS | sub) << (octave as u32 + LEAST_BITS - SUB_BITS)
}

/// Times, sorted into buckets. Made from a card's claims: any content gives times in range, in
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Counts of [`BUCKETS`] buckets.
    buckets: Box<[u64]>,
    sum_ns: u64,
    longest_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS].into(), sum_ns: 0, longest_ns: 0 }
    }
}

impl Histogram {
    /// A histogram of the words in a card's memory; a number of words other than [`BUCKETS`] is cut
    /// or filled up with zeros.
    pub(super) fn of_claims(mut words: Vec<u64>, sum_ns: u64, longest_ns: u64) -> Self {
        words.resize(BUCKETS, 0);
        Self { buckets: words.into(), sum_ns, longest_ns }
    }

    /// Adds one time.
    pub fn record(&mut self, ns: u64) {
        let ns = ns.min(SAMPLE_NS_MAX);
        let count = &mut self.buckets[bucket(ns)];
        *count = count.saturating_add(1);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// Number of times in the histogram.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    /// Sum of all times in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The time that this share of all times does not exceed, in nanoseconds: the shortest such
    /// time, rounded up to the end of its bucket, never beyond [`Histogram::longest_ns`]. `None` if
    /// there are no times.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let count = self.count();
        let longest_ns = self.longest_ns()?;
        let rank = ((count as f64 * share.clamp(0.0, 1.0)).ceil() as u64).clamp(1, count);
        let mut below: u64 = 0;
        let at = self.buckets.iter().position(|times| {
            below = below.saturating_add(*times);
            below >= rank
        });
        at.map(|bucket| longest_of(bucket).min(longest_ns))
    }

    /// The longest time in nanoseconds. In an interval, the longest time since the start if that
    /// time lies in the highest bucket of the interval; otherwise the end of that bucket. `None` if
    /// there are no times.
    pub fn longest_ns(&self) -> Option<u64> {
        let highest = self.buckets.iter().rposition(|times| *times != 0)?;
        Some(self.longest_ns.clamp(shortest_of(highest), longest_of(highest)))
    }

    /// Exact number of times below 2^`bits` ns: bounds are those of whole octaves. Times that are
    /// too long are never counted, times that are too short always.
    pub fn below_power(&self, bits: u32) -> u64 {
        let octaves = bits.clamp(LEAST_BITS, MOST_BITS) - LEAST_BITS;
        let end = 1 + ((octaves as usize) << SUB_BITS);
        self.buckets[..end].iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    /// The times that were added since an earlier copy.
    pub fn since(&self, before: &Self) -> Self {
        let pairs = self.buckets.iter().zip(&before.buckets);
        Self {
            buckets: pairs.map(|(now, before)| now.saturating_sub(*before)).collect(),
            sum_ns: self.sum_ns.saturating_sub(before.sum_ns),
            longest_ns: self.longest_ns,
        }
    }

    /// Adds all times of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (mine, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*others);
        }
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram as Reference;
    use proptest::prelude::*;

    #[test]
    fn every_bucket_begins_where_the_one_before_ends() {
        assert_eq!((BUCKETS, bucket(0), bucket(63), bucket(64)), (482, 0, 0, 1));
        assert_eq!((bucket((1 << 36) - 1), bucket(1 << 36), bucket(u64::MAX)), (480, 481, 481));
        for at in 0..BUCKETS {
            let (shortest, longest) = (shortest_of(at), longest_of(at));
            assert!(shortest <= longest);
            assert_eq!((bucket(shortest), bucket(longest)), (at, at));
            if at != 0 {
                assert_eq!(longest_of(at - 1) + 1, shortest);
            }
            if at != 0 && at != BUCKETS - 1 {
                assert!((longest - shortest) * 16 <= shortest, "bucket {at} is too wide");
            }
        }
    }

    #[test]
    fn octaves_are_counted_exactly() {
        let mut histogram = Histogram::default();
        for ns in [10, 63, 64, 1023, 1024, 1025, u64::MAX] {
            histogram.record(ns);
        }
        let below: Vec<_> = [0, 6, 7, 10, 11, 36, 99].map(|bits| histogram.below_power(bits)).into();
        assert_eq!(below, [2, 2, 3, 4, 6, 6, 6]);
        assert_eq!((histogram.count(), histogram.longest_ns()), (7, Some(SAMPLE_NS_MAX)));
    }

    #[test]
    fn the_longest_of_an_interval_is_in_its_highest_bucket() {
        let mut before = Histogram::default();
        before.record(1_000_000);
        let mut now = before.clone();
        now.record(5_000);
        let interval = now.since(&before);
        assert_eq!(interval.count(), 1);
        let longest = interval.longest_ns().unwrap();
        assert!((5_000..=5_000 + 5_000 / 16).contains(&longest));
        assert_eq!(interval.quantile_ns(0.5), Some(longest));
        now.record(2_000_000);
        assert_eq!(now.since(&before).longest_ns(), Some(2_000_000));
        assert_eq!(Histogram::default().quantile_ns(0.5), None);
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_reference(
            times in proptest::collection::vec((6..36_u32, any::<u64>()), 1..400),
            share in 0.0..=1.0_f64,
        ) {
            let mut histogram = Histogram::default();
            let mut reference = Reference::<u64>::new_with_bounds(1, SAMPLE_NS_MAX, 5).unwrap();
            for (bits, low) in times {
                let ns = 1 << bits | low & ((1 << bits) - 1);
                histogram.record(ns);
                reference.record(ns).unwrap();
            }
            prop_assert_eq!(histogram.count(), reference.len());
            // The reference is rounded as well, by less than one part in 100,000.
            let longest = reference.max();
            prop_assert!(histogram.longest_ns().unwrap().abs_diff(longest) <= longest / 100_000 + 1);
            for share in [share, 0.5, 0.99, 1.0] {
                let (ours, expected) = (histogram.quantile_ns(share).unwrap(), reference.value_at_quantile(share));
                prop_assert!(ours >= expected - expected / 100_000 - 1, "{share}: {ours} below {expected}");
                prop_assert!(ours <= expected + expected / 16, "{share}: {ours} far above {expected}");
            }
        }

        #[test]
        fn claims_give_times_in_order_and_in_range(
            words in proptest::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()], 0..=BUCKETS),
            sum_ns in any::<u64>(),
            longest_ns in any::<u64>(),
        ) {
            let claimed = Histogram::of_claims(words, sum_ns, longest_ns);
            let mut merged = claimed.clone();
            merged.merge(&claimed);
            for histogram in [&claimed, &merged, &claimed.since(&Histogram::default()), &claimed.since(&merged)] {
                let shares = [0.0, 0.5, 0.99, 1.0, f64::NAN, f64::INFINITY];
                let times: Vec<_> = shares.map(|share| histogram.quantile_ns(share)).into();
                prop_assert_eq!(times[0].is_some(), histogram.count() != 0);
                prop_assert!(times[0] <= times[1] && times[1] <= times[2] && times[2] <= times[3]);
                prop_assert!(times[3] <= histogram.longest_ns());
                prop_assert!(histogram.longest_ns() <= Some(SAMPLE_NS_MAX));
                prop_assert!(histogram.below_power(9) <= histogram.below_power(20));
            }
        }
    }
}
