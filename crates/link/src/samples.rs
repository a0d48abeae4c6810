//! A card's measurements of its work, for each tenant and each verb: counts, and how long requests
//! waited and were served.
//!
//! [`Samples`] is the card's end, [`SamplesView`] anyone else's, mapped read-only. One thread
//! writes, with relaxed loads and stores and no lock; a reader copies the words that it wants and
//! computes from the copy. A copy is not a snapshot: a request may be counted in one word and not
//! yet in another. Counts, sums and longest times never decrease, so the next copy has what this
//! copy lacks. The content is the card's claim: reading any content is harmless, and no time
//! computed from it leaves the range of its histogram.
//!
//! ```text
//! page 0       head       0 magic, 8 version, 16 generation, 24 master-key registers held,
//!                         64 accounts in use (one bit each), 192 verbs in use (one bit each),
//!                         512 lanes of each verb's kernel (16 bits each, by slot of the verb table)
//! page 1 + 2r  row r      accounts 0 to TENANTS_MAX - 1, then verbs by their slot of the verb table
//!
//! row          first page                                   second page
//! (8192)       0 requests, refused, batches, fill sum,      4096 service times: 482 words,
//!                busy ns, bytes in, bytes out, answers           as the buckets of the first page
//!                with return codes 4, 8, 12, 16
//!              96 queue times: sum ns, longest ns
//!              112 service times: sum ns, longest ns
//!              128 queue times: 482 words, one a bucket
//! last page    roster     0 queues that the running pass holds requests of, 8 their numbers ([`Roster`])
//! ```
//! The memory is sparse: a row takes its two pages at its first request. A reader skips rows
//! whose bit is not set, since reading a page allocates it as writing does.

mod histogram;
mod roster;

use crate::head::Head;
use crate::memory::{self, Access, Inherit, JoinError, Mapping, PAGE_BYTES, invalid};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use wire::bounds::{TENANTS_MAX, VERB_SLOTS};
use wire::registers::HeldRegisters;

pub use histogram::{BUCKETS, Histogram, SAMPLE_NS_MAX, bucket};
pub use roster::{ROSTER_MAX, Roster};

const HEAD: Head = Head::new(*b"cryptRC\0", 6);
const REGISTERS: usize = 24;
const IN_USE: usize = 64;
const LANES: usize = 512;
/// Numbers of lanes in one word.
const LANES_PER_WORD: usize = 4;

const ROWS: usize = TENANTS_MAX + VERB_SLOTS;
const ROW_BYTES: usize = 2 * PAGE_BYTES;
const ROSTER: usize = PAGE_BYTES + ROWS * ROW_BYTES;
const SAMPLES_BYTES: usize = ROSTER + PAGE_BYTES;

const TOTALS: usize = 96;
const TOTALS_STRIDE: usize = 16;
const QUEUE_BUCKETS: usize = 128;
const SERVICE_BUCKETS: usize = PAGE_BYTES;

const _: () = assert!(TENANTS_MAX.is_multiple_of(64) && IN_USE + ROWS.div_ceil(64) * 8 <= LANES);
const _: () = assert!(VERB_SLOTS.is_multiple_of(LANES_PER_WORD) && LANES + 2 * VERB_SLOTS <= PAGE_BYTES);
const _: () = assert!(TOTALS + 2 * TOTALS_STRIDE <= QUEUE_BUCKETS);
const _: () = assert!(QUEUE_BUCKETS + BUCKETS * 8 <= SERVICE_BUCKETS);
const _: () = assert!(SERVICE_BUCKETS + BUCKETS * 8 <= ROW_BYTES);

/// The subject of a row of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SampleSubject {
    /// A tenant, by its account, below [`TENANTS_MAX`].
    Account(u32),
    /// A verb, by its slot in the verb table, below [`VERB_SLOTS`].
    Verb(u32),
}

impl SampleSubject {
    fn index(self) -> Option<usize> {
        match self {
            Self::Account(account) => Some(account as usize).filter(|account| *account < TENANTS_MAX),
            Self::Verb(verb) => Some(TENANTS_MAX + verb as usize).filter(|_| (verb as usize) < VERB_SLOTS),
        }
    }

    fn of_index(index: usize) -> Self {
        match index.checked_sub(TENANTS_MAX) {
            None => Self::Account(index as u32),
            Some(verb) => Self::Verb(verb as u32),
        }
    }
}

/// The kind of time that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// From the client's submission to the start of the pass. The time of submission is the
    /// client's claim.
    Queue,
    /// From the start of the pass to its end: every request of a batch takes as long as the batch.
    Service,
}

impl Span {
    const fn totals(self) -> usize {
        TOTALS + self as usize * TOTALS_STRIDE
    }

    const fn buckets(self) -> usize {
        match self {
            Self::Queue => QUEUE_BUCKETS,
            Self::Service => SERVICE_BUCKETS,
        }
    }
}

/// The counts of a row since the card's process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests answered by a pass.
    pub requests: u64,
    /// Requests refused before they ran; counted for accounts only.
    pub refused: u64,
    /// Batches that held a request of the account or verb.
    pub batches: u64,
    /// Sum of the numbers of requests in these batches, with requests of others.
    pub fill_sum: u64,
    /// Share of the time spent on batches, by estimated cost, in nanoseconds.
    pub busy_ns: u64,
    /// Payload bytes of requests.
    pub bytes_in: u64,
    /// Payload bytes of replies.
    pub bytes_out: u64,
    /// Requests answered with return code 4, 8, 12 and 16 each; all others were answered with return code 0.
    pub failed: [u64; FAILING_CODES.len()],
}

/// CCA's return codes except 0: done with a remark, not done, not possible now, failed by an error
/// of the processor.
pub const FAILING_CODES: [i32; 4] = [4, 8, 12, 16];

const COUNTS: usize = 7 + FAILING_CODES.len();

const _: () = assert!(COUNTS * 8 <= TOTALS);

impl Counts {
    fn words(self) -> [u64; COUNTS] {
        let Self { requests, refused, batches, fill_sum, busy_ns, bytes_in, bytes_out, failed } = self;
        let [remarked, not_done, not_now, broken] = failed;
        [
            requests, refused, batches, fill_sum, busy_ns, bytes_in, bytes_out, remarked, not_done, not_now,
            broken,
        ]
    }

    /// Counts the return code of an answer; a code that CCA does not have counts as 16.
    #[inline]
    pub fn note_code(&mut self, return_code: i32) {
        if return_code != 0 {
            let last = FAILING_CODES.len() - 1;
            let at = FAILING_CODES.iter().position(|code| *code == return_code);
            self.failed[at.unwrap_or(last)] += 1;
        }
    }

    /// Number of answers for each return code: 0, 4, 8, 12, 16.
    pub fn answers(&self) -> [(i32, u64); 1 + FAILING_CODES.len()] {
        let failed = self.failed.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
        std::array::from_fn(|at| match at.checked_sub(1) {
            None => (0, self.requests.saturating_sub(failed)),
            Some(at) => (FAILING_CODES[at], self.failed[at]),
        })
    }

    fn of_words(words: [u64; COUNTS]) -> Self {
        let [
            requests,
            refused,
            batches,
            fill_sum,
            busy_ns,
            bytes_in,
            bytes_out,
            remarked,
            not_done,
            not_now,
            broken,
        ] = words;
        let failed = [remarked, not_done, not_now, broken];
        Self { requests, refused, batches, fill_sum, busy_ns, bytes_in, bytes_out, failed }
    }

    /// The counts since an earlier copy of the same row.
    pub fn since(&self, before: &Self) -> Self {
        let (now, before) = (self.words(), before.words());
        Self::of_words(std::array::from_fn(|at| now[at].saturating_sub(before[at])))
    }

    /// Adds the counts of another row.
    pub fn merge(&mut self, other: &Self) {
        let (mine, other) = (self.words(), other.words());
        *self = Self::of_words(std::array::from_fn(|at| mine[at].saturating_add(other[at])));
    }
}

/// The card's end of its samples.
#[derive(Debug)]
pub struct Samples {
    mapping: Mapping,
}

impl Samples {
    /// Makes the samples of a card's process of this generation, as the daemon does. The descriptor
    /// is the card's, for writing.
    ///
    /// # Errors
    /// Of the system calls.
    pub fn create(generation: u64) -> io::Result<OwnedFd> {
        let fd = memory::create_sealed("cryptand samples", SAMPLES_BYTES)?;
        let mapping =
            Mapping::sealed(fd.as_fd(), SAMPLES_BYTES, Access::Write, Inherit::Shared).map_err(invalid)?;
        HEAD.begin(&mapping, generation);
        Ok(fd)
    }

    /// A descriptor of the same memory for readers.
    ///
    /// # Errors
    /// No descriptor is left, or no `/proc`.
    pub fn read_only(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        memory::read_only(fd)
    }

    /// Joins the samples as the card.
    ///
    /// # Errors
    /// [`JoinError`] if the descriptor is not such a memory, open for writing.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        Ok(Self { mapping: map(fd, Access::Write)? })
    }

    /// Publishes in which master-key registers the card holds a current key.
    pub fn set_registers(&self, held: HeldRegisters) {
        self.mapping.store(REGISTERS, held.bits());
    }

    /// Publishes how many requests the kernel of each verb takes side by side, by slot of the verb table: 1 for a
    /// kernel that takes one at a time.
    pub fn set_lanes(&self, of: impl Fn(usize) -> u16) {
        for word in 0..VERB_SLOTS / LANES_PER_WORD {
            let lanes = (0..LANES_PER_WORD).fold(0, |lanes, at| {
                let of_slot = u64::from(of(word * LANES_PER_WORD + at));
                lanes | of_slot << (16 * at)
            });
            self.mapping.store(LANES + word * 8, lanes);
        }
    }

    /// A row to write to, which is in use from now on; `None` if it does not exist.
    #[inline]
    pub fn row(&self, row: SampleSubject) -> Option<RowWriter<'_>> {
        let index = row.index()?;
        let (word, bit) = in_use(index);
        let seen = self.mapping.load(word);
        if seen & bit == 0 {
            self.mapping.store(word, seen | bit);
        }
        Some(RowWriter { mapping: &self.mapping, base: base(index) })
    }
}

/// One row of the card's samples.
#[derive(Clone, Copy, Debug)]
pub struct RowWriter<'a> {
    mapping: &'a Mapping,
    base: usize,
}

impl RowWriter<'_> {
    /// Adds these counts to those of the row.
    #[inline]
    pub fn count(self, counts: &Counts) {
        for (at, count) in counts.words().into_iter().enumerate() {
            // Most answers are complete, and most rows refuse nothing: the words of zero counts are
            // not touched.
            if count != 0 {
                self.add(at * 8, count);
            }
        }
    }

    /// Adds times to one bucket, by its number: see [`bucket`]. Does not add to the sum:
    /// [`RowWriter::add_times`] does that, once for many.
    ///
    /// # Panics
    /// If the bucket is not below [`BUCKETS`].
    #[inline]
    pub fn add_to_bucket(self, span: Span, bucket: usize, times: u64) {
        assert!(bucket < BUCKETS, "a bucket of the histogram");
        self.add(span.buckets() + bucket * 8, times);
    }

    /// Adds to the sum of times, and keeps the longest time.
    #[inline]
    pub fn add_times(self, span: Span, sum_ns: u64, longest_ns: u64) {
        self.add(span.totals(), sum_ns);
        let longest = self.base + span.totals() + 8;
        if self.mapping.load(longest) < longest_ns {
            self.mapping.store(longest, longest_ns);
        }
    }

    #[inline]
    fn add(self, offset: usize, count: u64) {
        let offset = self.base + offset;
        self.mapping.store(offset, self.mapping.load(offset).wrapping_add(count));
    }
}

/// A private copy of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSamples {
    /// The counts of the row.
    pub counts: Counts,
    /// Times that requests waited.
    pub queue: Histogram,
    /// Times of the passes that answered requests.
    pub service: Histogram,
}

impl RowSamples {
    /// The samples since an earlier copy of the same row.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            counts: self.counts.since(&before.counts),
            queue: self.queue.since(&before.queue),
            service: self.service.since(&before.service),
        }
    }

    /// Adds another row's samples. Batches that held requests of both are then counted twice.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.queue.merge(&other.queue);
        self.service.merge(&other.service);
    }
}

/// Anyone's view of a card's samples.
#[derive(Debug)]
pub struct SamplesView {
    mapping: Mapping,
}

impl SamplesView {
    /// Joins the samples as a reader.
    ///
    /// # Errors
    /// [`JoinError`] if the descriptor is not such a memory.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        Ok(Self { mapping: map(fd, Access::Read)? })
    }

    /// Generation of the card's process.
    pub fn generation(&self) -> u64 {
        Head::generation(&self.mapping)
    }

    /// The master-key registers in which the card claims to hold a current key.
    pub fn registers(&self) -> HeldRegisters {
        HeldRegisters::from_bits(self.mapping.load(REGISTERS))
    }

    /// How many requests the kernel of the verb with this slot of the verb table takes side by side, as the card
    /// claims: at least 1.
    pub fn lanes(&self, slot: usize) -> u16 {
        if slot >= VERB_SLOTS {
            return 1;
        }
        let word = self.mapping.load(LANES + slot / LANES_PER_WORD * 8);
        ((word >> (16 * (slot % LANES_PER_WORD))) as u16).max(1)
    }

    /// The rows that have been written, accounts first, each in ascending order.
    pub fn rows(&self) -> Vec<SampleSubject> {
        let mut rows = Vec::new();
        for word in 0..ROWS / 64 {
            let mut bits = self.mapping.load(IN_USE + word * 8);
            while bits != 0 {
                rows.push(SampleSubject::of_index(word * 64 + bits.trailing_zeros() as usize));
                bits &= bits - 1;
            }
        }
        rows
    }

    /// A copy of a row; `None` if it was never written or does not exist.
    pub fn read(&self, row: SampleSubject) -> Option<RowSamples> {
        let index = row.index()?;
        let (word, bit) = in_use(index);
        if self.mapping.load(word) & bit == 0 {
            return None;
        }
        let base = base(index);
        let counts = std::array::from_fn(|at| self.mapping.load(base + at * 8));
        Some(RowSamples {
            counts: Counts::of_words(counts),
            queue: self.histogram(base, Span::Queue),
            service: self.histogram(base, Span::Service),
        })
    }

    fn histogram(&self, base: usize, span: Span) -> Histogram {
        // A time in the sum may not be in a bucket yet, and hardly the other way round: readers
        // count the buckets.
        let sum_ns = self.mapping.load(base + span.totals());
        let longest_ns = self.mapping.load(base + span.totals() + 8);
        let words = (0..BUCKETS).map(|at| self.mapping.load(base + span.buckets() + at * 8));
        Histogram::of_claims(words.collect(), sum_ns, longest_ns)
    }
}

fn base(index: usize) -> usize {
    PAGE_BYTES + index * ROW_BYTES
}

/// Offset of the word and the bit that say whether a row is in use.
fn in_use(index: usize) -> (usize, u64) {
    (IN_USE + index / 64 * 8, 1 << (index % 64))
}

fn map(fd: BorrowedFd<'_>, access: Access) -> Result<Mapping, JoinError> {
    // A child of fork keeps the mapping, as that of the status page: nothing in it is private, and
    // reading it does no harm.
    let mapping = Mapping::sealed(fd, SAMPLES_BYTES, access, Inherit::Shared)?;
    HEAD.check(&mapping)?;
    Ok(mapping)
}

#[cfg(test)]
mod tests;
