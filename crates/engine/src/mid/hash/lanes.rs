//! SHA-1 and SHA-2 over many texts at once. Texts wait in a queue and take lanes as these become free; the bound
//! library computes the last few.
//!
//! ```text
//! lane 0   |--- text A ---|pad|------ text D ------|pad|
//! lane 1   |-------- text B --------|pad|- text E -|pad|
//! lane 2   |- text C -|pad|-------------- text F ----------|--- alone on the library ---|
//!          |__________|___|____|____ passes: as long as the shortest run of blocks among the lanes
//! ```
//!
//! 1. A text is two runs of blocks: its whole blocks in place, then the padded rest (FIPS 180-4, 5.1.1), one or two
//!    blocks built on the stack. Only the rest of the text is copied.
//! 2. A lane without a text repeats what another lane reads; its result is ignored.
//! 3. A pass costs the same however many lanes are in use. So once the queue is empty, the remaining texts move to
//!    narrower kernels as they become fewer, and the last to the library, with their chaining values.

use crate::low::cpu::Cpu;
use crate::low::sha::{Kernel, LaneState, SHA_LANES_MAX, Texts, Word};
use crate::low::{wipe_bytes, wipe_words};
use crate::mid::hash::HashState;

/// A text to be hashed in one lane.
pub(crate) struct LaneJob<'a, W: 'static> {
    /// The index of the request among those of the caller.
    pub(crate) index: usize,
    pub(crate) start: Start<'a, W>,
    pub(crate) text: &'a [u8],
    /// Length of the digest in bytes.
    pub(crate) digest_bytes: usize,
}

/// The initial state of a hash.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a, W: 'static> {
    /// The initial chaining value of the standard.
    Standard(&'static [W; 8]),
    /// For a hash over a hash, as in HMAC: two states, each after one block of key. They are as secret as the key, so a
    /// job only refers to them.
    Keyed { inner: &'a HashState, outer: &'a HashState },
}

/// The source of jobs, and the destination of digests.
pub(crate) trait LaneJobs<'a, W> {
    /// The next job; `None` after the last.
    fn next(&mut self) -> Option<LaneJob<'a, W>>;
    /// The place of a request's digest.
    fn digest(&mut self, index: usize) -> &mut [u8; 64];
}

/// Runs every job, first with a kernel that fits their number, and with narrower ones towards the end (see
/// [`Kernel::for_texts`]).
pub(crate) fn run<'a, K: Kernel<BLOCK>, const BLOCK: usize>(
    cpu: Cpu,
    kernel: K,
    jobs: &mut impl LaneJobs<'a, K::Word>,
) {
    let mut lanes = Lanes::new(kernel);
    for lane in 0..kernel.lanes() {
        lanes.refill(lane, jobs);
    }
    while lanes.live > 0 {
        if lanes.is_queue_empty {
            match kernel.for_texts(cpu, lanes.live) {
                Some(narrower) => lanes.narrow(narrower, jobs),
                None => break,
            }
        }
        lanes.pass(jobs);
    }
    for lane in 0..kernel.lanes() {
        lanes.end_alone(lane, jobs);
    }
}

/// The texts in the lanes of a kernel.
struct Lanes<'a, K: Kernel<BLOCK>, const BLOCK: usize> {
    kernel: K,
    state: LaneState<K::Word>,
    lanes: [Lane<'a, K::Word, BLOCK>; SHA_LANES_MAX],
    tails: Tails<BLOCK>,
    live: usize,
    is_queue_empty: bool,
}

struct Lane<'a, W: 'static, const BLOCK: usize> {
    job: Option<LaneJob<'a, W>>,
    /// The state with which the outer hash, over this lane's hash, begins.
    outer: Option<&'a HashState>,
    /// Whole blocks not yet hashed, in place.
    whole: &'a [[u8; BLOCK]],
    /// The number of blocks of the tail not yet hashed, the last ones.
    tail_blocks: usize,
}

/// The padded ends of all texts in lanes; wiped when dropped.
pub(super) struct Tails<const BLOCK: usize>(pub(super) [Tail<BLOCK>; SHA_LANES_MAX]);

/// One or two blocks; a single block is the second one.
pub(super) type Tail<const BLOCK: usize> = [[u8; BLOCK]; 2];

impl<'a, K: Kernel<BLOCK>, const BLOCK: usize> Lanes<'a, K, BLOCK> {
    fn new(kernel: K) -> Lanes<'a, K, BLOCK> {
        Lanes {
            kernel,
            state: LaneState::zero(),
            lanes: std::array::from_fn(|_| Lane { job: None, outer: None, whole: &[], tail_blocks: 0 }),
            tails: Tails([[[0; BLOCK]; 2]; SHA_LANES_MAX]),
            live: 0,
            is_queue_empty: false,
        }
    }

    /// Continues with a kernel of no more lanes; texts in lanes beyond wait for a free lane.
    fn narrow(&mut self, kernel: K, jobs: &mut impl LaneJobs<'a, K::Word>) {
        if kernel.lanes() < self.kernel.lanes() {
            self.kernel = kernel;
            for lane in 0..kernel.lanes() {
                if self.lanes[lane].job.is_none() {
                    self.refill(lane, jobs);
                }
            }
        }
    }

    /// Gives a free lane the next job, or a text that waits beyond the kernel's lanes, if there is one.
    fn refill(&mut self, lane: usize, jobs: &mut impl LaneJobs<'a, K::Word>) {
        if self.is_queue_empty {
            let beyond = self.kernel.lanes()..SHA_LANES_MAX;
            if let Some(from) = beyond.into_iter().find(|from| self.lanes[*from].job.is_some()) {
                self.state.set_lane(lane, &self.state.lane(from));
                self.tails.0[lane] = self.tails.0[from];
                self.lanes.swap(lane, from);
            }
            return;
        }
        let Some(job) = jobs.next() else {
            self.is_queue_empty = true;
            return self.refill(lane, jobs);
        };
        let (whole, rest) = job.text.as_chunks::<BLOCK>();
        let (start_bytes, outer) = match job.start {
            Start::Standard(words) => {
                self.state.set_lane(lane, words);
                (0, None)
            }
            Start::Keyed { inner, outer } => {
                set_lane(&mut self.state, lane, inner);
                (BLOCK as u64, Some(outer))
            }
        };
        let text_bytes = (job.text.len() as u64).wrapping_add(start_bytes);
        let tail_blocks = pad(&mut self.tails.0[lane], rest, text_bytes);
        self.lanes[lane] = Lane { job: Some(job), outer, whole, tail_blocks };
        self.live += 1;
    }

    /// Compresses as many blocks as the shortest run in a lane has. Then stores finished digests and refills their
    /// lanes.
    fn pass(&mut self, jobs: &mut impl LaneJobs<'a, K::Word>) {
        let lanes = &self.lanes[..self.kernel.lanes()];
        let Some(any) = lanes.iter().position(|lane| lane.job.is_some()) else { return };
        let mut texts: Texts<'_, BLOCK> = [lanes[any].run(&self.tails.0[any]); SHA_LANES_MAX];
        for ((text, lane), tail) in texts.iter_mut().zip(lanes).zip(&self.tails.0) {
            if lane.job.is_some() {
                *text = lane.run(tail);
            }
        }
        let blocks = self.kernel.compress(&mut self.state, &texts);
        for lane in 0..self.kernel.lanes() {
            let Lane { job: Some(_), whole, tail_blocks, .. } = &mut self.lanes[lane] else { continue };
            if whole.is_empty() {
                *tail_blocks -= blocks;
                if *tail_blocks == 0 {
                    self.end(lane, jobs);
                }
            } else {
                *whole = &whole[blocks..];
            }
        }
    }

    /// Ends a lane's hash after its last block: starts the outer hash, or stores the digest and starts the next job.
    fn end(&mut self, lane: usize, jobs: &mut impl LaneJobs<'a, K::Word>) {
        let Lane { job: Some(job), outer, tail_blocks, .. } = &mut self.lanes[lane] else { return };
        let mut words = self.state.lane(lane);
        if let Some(outer) = outer.take() {
            *tail_blocks = pad_digest(&mut self.tails.0[lane], &words, job.digest_bytes);
            set_lane(&mut self.state, lane, outer);
            wipe_words(&mut words);
            return;
        }
        write_digest(&words, job.digest_bytes, jobs.digest(job.index));
        wipe_words(&mut words);
        self.lanes[lane].job = None;
        self.live -= 1;
        self.refill(lane, jobs);
    }

    /// Computes the rest of a lane's text with the library.
    fn end_alone(&mut self, lane: usize, jobs: &mut impl LaneJobs<'a, K::Word>) {
        let Lane { job, outer, whole, tail_blocks } = &mut self.lanes[lane];
        let Some(job) = job.take() else { return };
        let kernel = self.kernel;
        let tail = &mut self.tails.0[lane];
        let mut words = self.state.lane(lane);
        kernel.compress_alone(&mut words, whole);
        kernel.compress_alone(&mut words, &tail[2 - *tail_blocks..]);
        if let Some(outer) = outer.and_then(HashState::chaining_words) {
            let blocks = pad_digest(tail, &words, job.digest_bytes);
            words = outer;
            kernel.compress_alone(&mut words, &tail[2 - blocks..]);
        }
        write_digest(&words, job.digest_bytes, jobs.digest(job.index));
        wipe_words(&mut words);
    }
}

impl<'a, W, const BLOCK: usize> Lane<'a, W, BLOCK> {
    /// The blocks that the lane can take next in one run.
    fn run<'t>(&self, tail: &'t Tail<BLOCK>) -> &'t [[u8; BLOCK]]
    where
        'a: 't,
    {
        if self.whole.is_empty() { &tail[2 - self.tail_blocks..] } else { self.whole }
    }
}

impl<const BLOCK: usize> Drop for Tails<BLOCK> {
    fn drop(&mut self) {
        wipe_bytes(self.0.as_flattened_mut().as_flattened_mut());
    }
}

/// Sets a lane to a state at a block boundary, such as one after a block of key.
fn set_lane<W: Word>(state: &mut LaneState<W>, lane: usize, from: &HashState) {
    if let Some(mut words) = from.chaining_words() {
        state.set_lane(lane, &words);
        wipe_words(&mut words);
    }
}

/// Pads the rest of a text of `text_bytes` bytes, less than a block; returns the number of blocks. The length in bits
/// takes an eighth of a block.
pub(super) fn pad<const BLOCK: usize>(tail: &mut Tail<BLOCK>, rest: &[u8], text_bytes: u64) -> usize {
    let blocks = if rest.len() < BLOCK - BLOCK / 8 { 1 } else { 2 };
    let bytes = tail[2 - blocks..].as_flattened_mut();
    let (text, padding) = bytes.split_at_mut(rest.len());
    text.copy_from_slice(rest);
    padding.fill(0);
    padding[0] = 0x80;
    tail[1][BLOCK - 8..].copy_from_slice(&text_bytes.wrapping_mul(8).to_be_bytes());
    blocks
}

/// Makes the one block of a digest, for the outer hash after one block of key. Returns 1.
pub(super) fn pad_digest<W: Word, const BLOCK: usize>(
    tail: &mut Tail<BLOCK>,
    words: &[W; 8],
    digest_bytes: usize,
) -> usize {
    let block = &mut tail[1];
    write_digest(words, digest_bytes, block);
    block[digest_bytes] = 0x80;
    block[BLOCK - 8..].copy_from_slice(&((BLOCK + digest_bytes) as u64).wrapping_mul(8).to_be_bytes());
    1
}

/// Writes the digest: the bytes of the digest length, big-endian, then zeros. It is written to its final place, since
/// words that were just stored one by one are slow to copy as a whole.
pub(super) fn write_digest<W: Word>(words: &[W; 8], digest_bytes: usize, digest: &mut [u8]) {
    let words = words.iter().take(digest_bytes / size_of::<W>()).copied().chain(std::iter::repeat(W::ZERO));
    for (bytes, word) in digest.chunks_exact_mut(size_of::<W>()).zip(words) {
        word.write(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::pad;
    use crate::HashAlgorithm;
    use crate::low::cpu::Cpu;
    use crate::mid::hash::{HashItem, batch, digest};

    /// With any instructions, and through any kernels that the texts pass as they become fewer.
    #[test]
    fn every_set_of_instructions_gives_what_one_text_alone_gets() {
        let bytes: Vec<u8> = (0..4000u32).map(|at| (at * 7 % 251) as u8).collect();
        let (avx2, avx512) = (Cpu::up_to_avx2(), Cpu::up_to_avx512());
        let cpus = [Cpu::PORTABLE, Cpu { sha: None, ..avx2 }, avx2, Cpu { sha: None, ..avx512 }, avx512];
        let algorithms = [
            HashAlgorithm::Sha1,
            HashAlgorithm::Sha224,
            HashAlgorithm::Sha256,
            HashAlgorithm::Sha384,
            HashAlgorithm::Sha512,
        ];
        for (cpu, algorithm) in cpus.into_iter().flat_map(|cpu| algorithms.map(|algorithm| (cpu, algorithm)))
        {
            for count in 0..40 {
                let text = |at: usize| &bytes[at..][..at * at * 31 % 3000];
                let mut items: Vec<_> = (0..count).map(|at| HashItem::new(text(at))).collect();
                batch(cpu, algorithm, &mut items);
                for (at, item) in items.iter().enumerate() {
                    assert_eq!(
                        item.digest,
                        digest(algorithm, &[text(at)]),
                        "{cpu:?} {algorithm} {at} of {count}"
                    );
                }
            }
        }
    }

    /// Texts of half a gibibyte and more, whose length in bits needs the upper word of the field.
    #[test]
    fn lengths_beyond_32_bits_are_padded_whole() {
        let mut tail = [[0xee; 64]; 2];
        for (bytes, rest) in
            [(1u64 << 29, 0), ((1 << 29) - 1, 63), ((1 << 32) + 55, 55), ((1 << 40) + 56, 56)]
        {
            let blocks = pad(&mut tail, &[7; 63][..rest], bytes);
            assert_eq!(blocks, 1 + usize::from(rest >= 56));
            let padded = tail[2 - blocks..].as_flattened();
            assert_eq!(padded[..=rest], [vec![7; rest], vec![0x80]].concat());
            let (zeros, length) = padded[rest + 1..].split_last_chunk::<8>().unwrap();
            assert!(zeros.iter().all(|byte| *byte == 0));
            assert_eq!(u64::from_be_bytes(*length), 8 * bytes);
        }
    }
}
