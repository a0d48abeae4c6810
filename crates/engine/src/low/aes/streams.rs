//! CBC enciphering and CBC-MAC of many streams at once, each with its own key, chaining value and position in its text
//! (SP 800-38A, 6.2; the chain of SP 800-38B).
//!
//! A chain is serial: the next block starts when the one before is done, so one stream leaves an AES unit idle for most
//! of an instruction's latency. Streams are therefore laid side by side, each in a *lane*. The kernels take the state
//! of all lanes and advance every lane by the same number of blocks. The layer above decides which text is in which
//! lane, and what follows when it ends.
//!
//! A lane whose text is too short for the requested blocks reads zeros and writes nothing. That serves idle lanes (an
//! empty text) and the last block of a CMAC (XORed into the chaining value beforehand).
//!
//! On 512-bit vectors four lanes share a vector. A step takes four blocks of each lane, so text is read and written a
//! whole vector at a time, and transposed in registers:
//!
//! ```text
//! text of lane 4v     a0 a1 a2 a3          a0 b0 c0 d0   first block of four lanes
//! text of lane 4v+1   b0 b1 b2 b3   turn   a1 b1 c1 d1   second
//! text of lane 4v+2   c0 c1 c2 c3  <---->  a2 b2 c2 d2   third
//! text of lane 4v+3   d0 d1 d2 d3          a3 b3 c3 d3   fourth
//!
//! round key r         k0 k1 k2 k3   of lanes 4v .. 4v+3, laid so when a lane is loaded
//! ```
//!
//! 1. Round keys are operands in memory: 44 vectors of them (AES-128) exceed the registers, and each AES instruction
//!    loads one at no cost.
//! 2. While a step is enciphered, the next step's text is read, transposed and stored aside. The result of the step
//!    before, still in registers, is transposed and written. A quarter of both goes before every block. When text was
//!    read only at its use, it took as much time again as the chains.
//! 3. The first round key is added to the text when it is transposed. The sum of text and first key is part of the last
//!    round key of the block before. So the chain is AES instructions alone, and one XOR beside it gives the
//!    ciphertext.
//! 4. Every access to text is a slice with its length, checked once a vector: a predictable branch on public lengths,
//!    hidden behind the chains.
//!
//! Limits, AES-128, 16 streams: a chain takes 10 latencies of an AES instruction a block, 9.6 ns here, which would be
//! 26.6 GB/s; the AES units alone, two instructions on 512 bits a cycle, 55 GB/s. 16 texts of 4 KiB reach 20.4 GB/s if
//! each starts on a cache line (11.9 ns for 16 blocks). They reach 17-18 GB/s if most rows cross two lines, because of
//! the scheduler. Eight lanes of 128 bits: 8 GB/s.
//!
//! Where the core executes one such instruction a cycle (Intel, up to Emerald Rapids), 16 lanes are as many as it can
//! use. The unit alone would reach 26.6 GB/s at 4.16 GHz, the chains 35. CMAC is at 79 % of the first there.
//!
//! Tried and dropped: 32 lanes as eight vectors, with the staging of 2, on such a core (32 texts of 4 KiB: 7.7 GB/s
//! instead of 11.2, CMAC 10.8 instead of 14.5, run in turn: staging and keys fill twice the lines, and the unit was
//! busy before); forms of one and two vectors for up to eight texts, with the number of vectors as a parameter of all
//! this (two texts x1.4, but CMAC of 16 texts x0.89: four vectors were compiled otherwise); 32 lanes, and 16, without
//! the staging of 2 (9.6 and 11.8 GB/s); writing and reading of text at other places of a step (no difference, or
//! slower); the result stored aside as well (2 KiB more to clear and wipe a batch); rows shifted in registers so that
//! every store is one whole cache line (16 GB/s: it costs more than the crossings do); iterators zipped over the
//! vectors (not unrolled, with the vectors in memory: half the speed).

use super::{Block, ROUND_KEYS_MAX, RoundKeys, Rounds};
use crate::low::cpu::{Aes, Avx512, Cpu};
use crate::low::wipe;

/// At most this many lanes in any kernel: four vectors of four blocks.
pub(crate) const LANES_MAX: usize = 4 * VECTORS;

/// The number of 512-bit vectors that hold one block of each lane.
pub(super) const VECTORS: usize = 4;

/// The text of a lane: `&[u8]`, which a MAC reads, or `&mut [u8]`, which is enciphered in place.
pub(crate) trait LaneText: Default {
    /// Whether the chaining values are written over the text.
    const WRITES: bool;
    /// Length of the text in bytes.
    fn bytes(&self) -> usize;
    /// `N` bytes from `at` on; `None` if the text has fewer.
    fn part<const N: usize>(&self, at: usize) -> Option<&[u8; N]>;
    /// `N` bytes from `at` on, to be written; `None` if the text has fewer, or is only read.
    fn part_mut<const N: usize>(&mut self, at: usize) -> Option<&mut [u8; N]>;
    /// As `part`, with a length known at run time.
    fn slice(&self, at: usize, bytes: usize) -> Option<&[u8]>;
    /// As `part_mut`, with a length known at run time.
    fn slice_mut(&mut self, at: usize, bytes: usize) -> Option<&mut [u8]>;
}

impl LaneText for &[u8] {
    const WRITES: bool = false;
    #[inline(always)]
    fn bytes(&self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn part<const N: usize>(&self, at: usize) -> Option<&[u8; N]> {
        self.get(at..)?.first_chunk()
    }
    #[inline(always)]
    fn part_mut<const N: usize>(&mut self, _at: usize) -> Option<&mut [u8; N]> {
        None
    }
    #[inline(always)]
    fn slice(&self, at: usize, bytes: usize) -> Option<&[u8]> {
        self.get(at..)?.get(..bytes)
    }
    #[inline(always)]
    fn slice_mut(&mut self, _at: usize, _bytes: usize) -> Option<&mut [u8]> {
        None
    }
}

impl LaneText for &mut [u8] {
    const WRITES: bool = true;
    #[inline(always)]
    fn bytes(&self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn part<const N: usize>(&self, at: usize) -> Option<&[u8; N]> {
        self.get(at..)?.first_chunk()
    }
    #[inline(always)]
    fn part_mut<const N: usize>(&mut self, at: usize) -> Option<&mut [u8; N]> {
        self.get_mut(at..)?.first_chunk_mut()
    }
    #[inline(always)]
    fn slice(&self, at: usize, bytes: usize) -> Option<&[u8]> {
        self.get(at..)?.get(..bytes)
    }
    #[inline(always)]
    fn slice_mut(&mut self, at: usize, bytes: usize) -> Option<&mut [u8]> {
        self.get_mut(at..)?.get_mut(..bytes)
    }
}

/// One block of each lane. Four neighbouring blocks are one 512-bit vector.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct LaneBlocks(pub(super) [Block; LANES_MAX]);

impl LaneBlocks {
    /// The blocks of four neighbouring lanes, the `v`-th four.
    #[inline(always)]
    pub(super) fn vector(&self, v: usize) -> &[u8; 64] {
        self.0.as_flattened()[64 * v..].first_chunk().expect("four vectors")
    }

    /// As [`LaneBlocks::vector`], to be written.
    #[inline(always)]
    pub(super) fn vector_mut(&mut self, v: usize) -> &mut [u8; 64] {
        self.0.as_flattened_mut()[64 * v..].first_chunk_mut().expect("four vectors")
    }
}

/// Keys, chaining values and positions of all lanes; wiped when dropped.
pub(crate) struct Lanes<T> {
    /// Round by round, so that the keys of four neighbouring lanes are one vector.
    pub(super) keys: [LaneBlocks; ROUND_KEYS_MAX],
    pub(super) chains: LaneBlocks,
    pub(super) texts: [T; LANES_MAX],
    /// The position of each lane in its text, in bytes.
    pub(super) at: [usize; LANES_MAX],
    pub(super) rounds: Rounds,
    /// Four transposed blocks of text of each lane, twice: one half is enciphered while the other is filled.
    pub(super) input: [Staging; 2],
}

/// Four vectors for each four neighbouring lanes; each vector is one block of the four lanes.
pub(super) type Staging = [[Row; 4]; VECTORS];

/// One vector, aligned as vectors are.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Row(pub(super) [u8; 64]);

impl<T: LaneText> Lanes<T> {
    /// Idle lanes for keys of this many rounds.
    #[inline]
    pub(crate) fn new(rounds: Rounds) -> Lanes<T> {
        Lanes {
            keys: [LaneBlocks([[0; 16]; LANES_MAX]); ROUND_KEYS_MAX],
            chains: LaneBlocks([[0; 16]; LANES_MAX]),
            texts: std::array::from_fn(|_| T::default()),
            at: [0; LANES_MAX],
            rounds,
            input: [[[Row([0; 64]); 4]; VECTORS]; 2],
        }
    }

    /// Puts a text into a lane. The keys must have the number of rounds that the lanes were made for.
    #[inline]
    pub(crate) fn load(&mut self, lane: usize, keys: RoundKeys<'_>, chain: &Block, text: T) {
        debug_assert_eq!(keys.rounds(), self.rounds);
        for (row, key) in self.keys[..=self.rounds.count()].iter_mut().zip(keys.blocks) {
            row.0[lane] = *key;
        }
        self.chains.0[lane] = *chain;
        self.follow_with(lane, text);
    }

    /// Puts another text into a lane, which keeps key and chaining value.
    #[inline]
    pub(crate) fn follow_with(&mut self, lane: usize, text: T) {
        self.texts[lane] = text;
        self.at[lane] = 0;
    }

    /// The chaining value of a lane.
    #[inline]
    pub(crate) fn chain(&mut self, lane: usize) -> &mut Block {
        &mut self.chains.0[lane]
    }

    /// Moves a lane to another place; the first place becomes idle.
    #[inline]
    pub(crate) fn shift(&mut self, from: usize, to: usize) {
        for row in &mut self.keys[..=self.rounds.count()] {
            row.0[to] = row.0[from];
        }
        self.chains.0[to] = self.chains.0[from];
        self.texts[to] = std::mem::take(&mut self.texts[from]);
        self.at[to] = self.at[from];
    }

    /// Advances the first `used` lanes by `blocks` blocks each.
    #[inline]
    pub(crate) fn run(&mut self, kernel: Kernel, used: usize, blocks: usize) {
        match kernel {
            Kernel::Vaes(token) => super::streams_vaes::run(token, self, blocks),
            Kernel::Ni(token) => super::streams_ni::run(token, self, blocks),
        }
        for at in &mut self.at[..used] {
            *at = at.wrapping_add(16 * blocks);
        }
    }
}

impl<T> Drop for Lanes<T> {
    fn drop(&mut self) {
        let used = self.rounds.count() + 1;
        self.keys[..used].iter_mut().for_each(wipe_lanes);
        wipe_lanes(&mut self.chains);
        // SAFETY: rows are plain bytes.
        unsafe { wipe(&mut self.input) }
    }
}

#[inline]
fn wipe_lanes(blocks: &mut LaneBlocks) {
    // SAFETY: blocks are plain bytes.
    unsafe { wipe(blocks) }
}

/// The kernel for lanes of streams, and of keys to wrap.
#[derive(Clone, Copy)]
pub(crate) enum Kernel {
    /// Four blocks an instruction.
    Vaes(Avx512),
    /// One block an instruction.
    Ni(Aes),
}

impl Kernel {
    /// The best kernel; `None` if lanes would run one after the other, or if the library's schedules are no
    /// [`RoundKeys`].
    #[inline]
    pub(crate) fn choose(cpu: Cpu) -> Option<Kernel> {
        if !crate::low::aws_lc::internal::aes_hardware() {
            return None;
        }
        cpu.avx512.map(Kernel::Vaes).or(cpu.aes.map(Kernel::Ni))
    }

    /// The number of lanes that the kernel runs.
    #[inline]
    pub(crate) fn lanes(self) -> usize {
        match self {
            Kernel::Vaes(_) => super::streams_vaes::LANES,
            Kernel::Ni(_) => super::streams_ni::LANES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low::aws_lc::aes::AesSchedule;
    use std::mem::MaybeUninit;

    fn ones(parts: [*const [u8]; 3]) -> usize {
        let count = |part: *const [u8]| {
            // SAFETY: bytes without padding inside lanes that are not given up before the test ends.
            unsafe { &*part }.iter().filter(|byte| **byte != 0).count()
        };
        parts.map(count).iter().sum()
    }

    /// Keys, chaining values and staged text are zeros once the lanes are dropped.
    #[test]
    fn lanes_are_wiped() {
        for cpu in [Cpu::up_to_avx2(), Cpu::up_to_avx512()] {
            let Some(kernel) = Kernel::choose(cpu) else { continue };
            let mut schedule = AesSchedule::empty();
            assert!(schedule.set_encipher(&[0xa5; 32]));
            let mut texts = [[0x3c; 160]; LANES_MAX];
            let mut place = MaybeUninit::new(Lanes::<&mut [u8]>::new(Rounds::Fourteen));
            // SAFETY: written by the line above.
            let lanes = unsafe { place.assume_init_mut() };
            for (lane, text) in texts.iter_mut().enumerate().take(kernel.lanes()) {
                lanes.load(lane, schedule.round_keys().unwrap(), &[7; 16], text);
            }
            lanes.run(kernel, kernel.lanes(), 10);
            let parts = [bytes_of(&lanes.keys), bytes_of(&lanes.chains), bytes_of(&lanes.input)];
            assert!(ones(parts) > 15 * 16 * 7);
            // SAFETY: the value is initialised and not used after this.
            unsafe { place.assume_init_drop() };
            assert_eq!(ones(parts), 0);
        }
    }

    fn bytes_of<T>(value: &T) -> *const [u8] {
        std::ptr::slice_from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>())
    }
}
