//! Key schedules of the row form of AVX2 (FIPS 46-3, the key schedule KS).
//!
//! ```text
//! a key in all quad words
//!   round keys, four to a vector, one input of each target at a time   116   vpshufb, vpand, vpcmpeqb, vpand; vpor
//!   steps: differences of every other key                                8   vperm2i128, vpxor
//! ```
//!
//! PC1, rotations and PC2 together are one selection of bits for each round, so no round key waits for another. A
//! schedule is 144 bytes, one for each lane; a key that all lanes share has only one.

use super::byte_sliced_layout::ROUNDS;
use super::byte_sliced_rounds::STEPS;
use super::rows_avx2_layout::{Pick, ROUND_KEYS};
use super::rows_avx2_rounds::Steps;
use super::rows_avx2_vector::picked;
use super::{Block, KEYS_MAX};
use crate::low::wipe;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// The number of schedules set for one key index.
#[derive(Clone, Copy)]
enum Set {
    /// One schedule for each of this many lanes.
    Own(usize),
    /// One schedule for all lanes, stored for the first lane.
    One,
}

/// Schedules of up to [`KEYS_MAX`] keys. Schedules that were set are wiped when dropped.
pub(crate) struct RowKeys<const LANES: usize> {
    steps: [[MaybeUninit<Steps>; LANES]; KEYS_MAX],
    set: [Set; KEYS_MAX],
}

impl<const LANES: usize> RowKeys<LANES> {
    /// Room for schedules; none of it is written.
    #[inline]
    pub(crate) fn empty() -> RowKeys<LANES> {
        RowKeys { steps: [[MaybeUninit::uninit(); LANES]; KEYS_MAX], set: [Set::Own(0); KEYS_MAX] }
    }

    /// The schedule of a lane at this index, which must have been set.
    #[inline]
    pub(crate) fn steps(&self, index: usize, lane: usize) -> &Steps {
        let (place, set) = match self.set[index] {
            Set::One => (0, 1),
            Set::Own(set) => (lane, set),
        };
        assert!(place < set, "a program names only keys that were set");
        // SAFETY: `set_one` and `set_own` wrote all of each schedule that the mark counts before they set it.
        unsafe { self.steps[index][place].assume_init_ref() }
    }

    /// Sets the schedule at this index to that of one key for all lanes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn set_one(&mut self, index: usize, key: &Block) {
        self.wipe(index);
        write_schedule(key, &mut self.steps[index][0]);
        self.set[index] = Set::One;
    }

    /// Sets the schedule at this index to those of a key for each lane.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn set_own(&mut self, index: usize, own: &[Block]) {
        assert!(own.len() <= LANES);
        self.wipe(index);
        for (steps, key) in self.steps[index].iter_mut().zip(own) {
            write_schedule(key, steps);
        }
        self.set[index] = Set::Own(own.len());
    }

    /// Wipes the schedules that were set at this index.
    #[inline]
    fn wipe(&mut self, index: usize) {
        let set = match self.set[index] {
            Set::One => 1,
            Set::Own(set) => set,
        };
        for steps in &mut self.steps[index][..set] {
            // SAFETY: a schedule is plain integers.
            unsafe { wipe(steps) }
        }
        self.set[index] = Set::Own(0);
    }
}

impl<const LANES: usize> Drop for RowKeys<LANES> {
    #[inline]
    fn drop(&mut self) {
        for index in 0..KEYS_MAX {
            self.wipe(index);
        }
    }
}

/// Round keys of a vector.
const GROUP: usize = 4;

const _: () = assert!(STEPS == ROUNDS + 2 && ROUNDS == 4 * GROUP);

/// Writes all steps of a key.
#[inline]
#[target_feature(enable = "avx2")]
fn write_schedule(key: &Block, steps: &mut MaybeUninit<Steps>) {
    const HALVES_BETWEEN: i32 = 0x21;
    let bytes = _mm256_set1_epi64x(i64::from_le_bytes(*key));
    let to = steps.as_mut_ptr().cast::<u64>();
    let mut before = _mm256_setzero_si256();
    for (group, picks) in ROUND_KEYS.iter().enumerate() {
        let keys = round_keys(bytes, picks);
        // A half carried the key of two rounds before.
        let carried = _mm256_permute2x128_si256::<HALVES_BETWEEN>(before, keys);
        // SAFETY: a schedule is 18 words, exclusively borrowed, and this writes one of its first four groups of four;
        // the instruction asks for no alignment.
        unsafe { _mm256_storeu_si256(to.add(GROUP * group).cast(), _mm256_xor_si256(keys, carried)) }
        before = keys;
    }
    // SAFETY: the last two words.
    unsafe { _mm_storeu_si128(to.add(ROUNDS).cast(), _mm256_extracti128_si256::<1>(before)) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn round_keys(bytes: __m256i, picks: &[Pick; 6]) -> __m256i {
    picks.iter().fold(_mm256_setzero_si256(), |inputs, pick| _mm256_or_si256(inputs, picked(bytes, pick)))
}

#[cfg(test)]
mod tests {
    use super::super::plain;
    use super::super::rows_avx2_layout::inputs_as_row;
    use super::*;
    use crate::low::cpu::Cpu;
    use seeded::Random;

    /// The steps are differences of the standard's round keys, as rows, in order.
    #[test]
    fn steps_are_those_of_the_standard() {
        if Cpu::up_to_avx2().avx2.is_none() {
            return;
        }
        let mut random = Random(0x2236_0679);
        for _ in 0..1000 {
            let key = random.array();
            let mut keys = RowKeys::<1>::empty();
            // SAFETY: the processor has what it asks for.
            unsafe { keys.set_one(0, &key) };
            let steps = keys.steps(0, 0);
            let round_keys = plain::round_keys(&key).map(inputs_as_row);
            let mut carried = [0; 2];
            for (round, key) in round_keys.into_iter().enumerate() {
                assert_eq!(steps[round], key ^ carried[round % 2]);
                carried[round % 2] = key;
            }
            assert_eq!(steps[16..], carried);
        }
    }

    /// Schedules that were set are zero after the drop, and after other keys were set in their place.
    #[test]
    fn schedules_are_wiped() {
        if Cpu::up_to_avx2().avx2.is_none() {
            return;
        }
        const LANES: usize = 5;
        type Keys = RowKeys<LANES>;
        for index in 0..KEYS_MAX {
            for lanes in [1, LANES] {
                let mut place = MaybeUninit::new(Keys::empty());
                let set = |place: &mut MaybeUninit<Keys>, lanes| {
                    // SAFETY: initialised when it was made; the processor has what it asks for.
                    unsafe {
                        match lanes {
                            1 => place.assume_init_mut().set_one(index, &[0xa5; 8]),
                            _ => place.assume_init_mut().set_own(index, &[[0xa5; 8]; LANES][..lanes]),
                        }
                    }
                };
                let start = place.as_ptr().cast::<u8>();
                let offset =
                    std::mem::offset_of!(Keys, steps) + index * size_of::<[MaybeUninit<Steps>; LANES]>();
                // SAFETY: the bytes of so many schedules, which lie in the place; they are written whenever this is
                // called, and words have no padding.
                let count = |from: usize, lanes: usize| unsafe {
                    let first = start.add(offset + from * size_of::<Steps>());
                    let bytes = std::slice::from_raw_parts(first, lanes * size_of::<Steps>());
                    bytes.iter().filter(|byte| **byte != 0).count()
                };
                set(&mut place, lanes);
                assert!(count(0, lanes) > lanes * size_of::<Steps>() / 4);
                if lanes > 1 {
                    set(&mut place, 2);
                    assert_eq!(count(2, lanes - 2), 0);
                    set(&mut place, 1);
                    assert_eq!(count(1, lanes - 1), 0);
                }
                set(&mut place, lanes);
                // SAFETY: the value is initialised and not used after this.
                unsafe { place.assume_init_drop() };
                assert_eq!(count(0, lanes), 0);
            }
        }
    }
}
