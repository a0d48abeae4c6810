//! What an observer computes from a card's samples, whatever stands in them.

use link::{RowSamples, SAMPLE_NS_MAX, Samples, SamplesView};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Rows that one input looks at, at the most: reading a row brings two pages into being.
const ROWS_MAX: usize = 24;

/// Samples filled with runs of the input - three bytes of offset in words of 8, one of length, then the run -
/// copied before and after half of the runs, and compared.
pub fn samples(data: &[u8]) {
    let fd = Samples::create(1).expect("a memory");
    let reader = Samples::read_only(fd.as_fd()).expect("a descriptor");
    let view = SamplesView::join(reader.as_fd()).expect("fresh samples join");
    let memory = File::from(fd);
    let (first, second) = data.split_at(data.len() / 2);
    let mut sum = RowSamples::default();
    for half in [first, second] {
        scribble(&memory, half);
        for row in view.rows().into_iter().take(ROWS_MAX) {
            let Some(now) = view.read(row) else { continue };
            look_at(&now);
            look_at(&now.since(&sum));
            sum.merge(&now);
            look_at(&sum);
        }
    }
    // A head that is another's is refused, not read.
    let _ = SamplesView::join(reader.as_fd());
}

fn look_at(samples: &RowSamples) {
    for times in [&samples.queue, &samples.service] {
        let quantiles = [0.0, 0.5, 0.99, 1.0].map(|share| times.quantile_ns(share));
        assert!(quantiles.is_sorted(), "{quantiles:?}");
        assert_eq!(quantiles[0].is_some(), times.count() != 0);
        assert!(quantiles[3] <= times.longest_ns() && times.longest_ns() <= Some(SAMPLE_NS_MAX));
        let below: Vec<u64> = (0..40).map(|bits| times.below_power(bits)).collect();
        assert!(below.is_sorted() && below.last() <= Some(&times.count()));
    }
}

/// Writes runs into a memory.
pub(crate) fn scribble(memory: &File, mut data: &[u8]) {
    let words = memory.metadata().expect("a size").len() / 8;
    while let [low, middle, high, length, rest @ ..] = data {
        let word = u64::from(u32::from_le_bytes([*low, *middle, *high, 0])) % words;
        let (run, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        let room = ((words - word) * 8) as usize;
        memory.write_all_at(&run[..run.len().min(room)], word * 8).expect("within the sealed memory");
        data = rest;
    }
}
