//! Key schedules of the byte-sliced form, for 64 keys at once (FIPS 46-3, the key schedule KS).
//!
//! PC1 gathers equal bits of the eight bytes of a key, which is a transposition of its 8x8 bits. So with keys
//! transposed like blocks, plane `j` is a byte of C or D. C and D have four planes each (half of one is shared). The
//! rotations and PC2 only select bits, so each vector of a round key is four GF(2) products and two XORs:
//!
//! ```text
//! 64 keys, 8 a vector -> bits transposed, 8x8 quad words transposed -> planes 1 to 7, 64 lanes each
//!                          C = 7 6 5 4      D = 1 2 3 4     (plane 0 is parity)
//! key r of target t = M0 C0 ^ M1 C1 ^ M2 C2 ^ M3 C3         128 times, matrices from the compiler
//! step r            = key r ^ key (r - 2)                   what the rounds add to a half, see there
//! ```
//!
//! Two products a cycle are the limit: 512 products, 256 cycles, about 60 ns for 64 keys; measured 76 to 80, with 144
//! vectors to store. Fewer keys cost the same. One key for all lanes takes an eighth of the products, one vector of
//! them for all targets.
//!
//! Dropped after counting: selecting the eight bits of each byte of a schedule with `vpshufbitqmb` (1,024 of them for
//! 64 keys at two a cycle are 512 cycles, and as many mask registers to store); windows of eight bits by
//! `vpmultishiftqb` (three windows for six bits, and masks in addition); matrices of the differences instead of the
//! last XOR (72 products for a target, not 64).

use super::byte_sliced_layout::{BOXES, Bytes, ROUND_KEYS, ROUND_KEYS_OF_ONE, ROUNDS};
use super::byte_sliced_rounds::{STEPS, Schedule};
use super::byte_sliced_vector::{linear, load, planes_of_blocks, transpose_quads, xor3};
use super::{Block, KEYS_MAX};
use crate::low::wipe;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Schedules of up to [`KEYS_MAX`] keys in 64 lanes. Schedules that were set are wiped when dropped.
pub(crate) struct ByteSlicedKeys {
    schedules: [MaybeUninit<Schedule>; KEYS_MAX],
    is_set: [bool; KEYS_MAX],
}

impl ByteSlicedKeys {
    /// Room for schedules; none of it is written.
    #[inline]
    pub(crate) fn empty() -> ByteSlicedKeys {
        ByteSlicedKeys { schedules: [MaybeUninit::uninit(); KEYS_MAX], is_set: [false; KEYS_MAX] }
    }

    /// The schedule at this index, which must have been set.
    #[inline]
    pub(crate) fn schedule(&self, index: usize) -> &Schedule {
        assert!(self.is_set[index], "a program names only keys that were set");
        // SAFETY: `set` wrote all of it before it raised the flag.
        unsafe { self.schedules[index].assume_init_ref() }
    }

    /// Sets the schedule at this index.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    pub(crate) fn set(&mut self, index: usize, keys: &[[Block; 8]; 8]) {
        write(&mut self.schedules[index], keys);
        self.is_set[index] = true;
    }

    /// Sets the schedule at this index to that of one key for all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    pub(crate) fn set_one(&mut self, index: usize, key: &Block) {
        write_one(&mut self.schedules[index], key);
        self.is_set[index] = true;
    }
}

impl Drop for ByteSlicedKeys {
    fn drop(&mut self) {
        for (schedule, is_set) in self.schedules.iter_mut().zip(self.is_set) {
            if is_set {
                // SAFETY: a schedule is vectors of plain integers.
                unsafe { wipe(schedule) }
            }
        }
    }
}

/// Writes a whole schedule.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn write(schedule: &mut MaybeUninit<Schedule>, keys: &[[Block; 8]; 8]) {
    let steps = steps_of(schedule);
    let mut groups = [_mm512_setzero_si512(); 8];
    for g in 0..8 {
        groups[g] = planes_of_blocks(load(keys[g].as_flattened().try_into().expect("eight blocks")));
    }
    let [_, p1, p2, p3, p4, p5, p6, p7] = transpose_quads(groups);
    for t in 0..BOXES {
        // Selected by a condition, not from an array, so that they stay in registers and no key is left on the stack.
        let [a, b, c, d] = if t < BOXES / 2 { [p7, p6, p5, p4] } else { [p1, p2, p3, p4] };
        let mut before = [_mm512_setzero_si512(); 2];
        for pair in 0..ROUNDS / 2 {
            for (odd, before) in before.iter_mut().enumerate() {
                let round = 2 * pair + odd;
                let [ma, mb, mc, md] = ROUND_KEYS[round][t];
                let three = xor3(linear(a, ma), linear(b, mb), linear(c, mc));
                let key = _mm512_xor_si512(three, linear(d, md));
                steps[round][t].write(_mm512_xor_si512(key, *before));
                *before = key;
            }
        }
        steps[ROUNDS][t].write(before[0]);
        steps[ROUNDS + 1][t].write(before[1]);
    }
}

/// Writes a whole schedule of one key for all lanes. Targets are quad words, so one vector of products serves all
/// eight.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn write_one(schedule: &mut MaybeUninit<Schedule>, key: &Block) {
    let steps = steps_of(schedule);
    let planes = planes_of_blocks(_mm512_set1_epi64(i64::from_ne_bytes(*key)));
    let of_halves =
        |c: i64, d: i64| _mm512_permutexvar_epi64(_mm512_setr_epi64(c, c, c, c, d, d, d, d), planes);
    let [a, b, c, d] = [of_halves(7, 1), of_halves(6, 2), of_halves(5, 3), of_halves(4, 4)];
    let product = |planes, matrices: &Bytes| _mm512_gf2p8affine_epi64_epi8::<0>(planes, load(&matrices.0));
    let mut before = [_mm512_setzero_si512(); 2];
    for round in 0..STEPS {
        // The last two steps remove the last two keys.
        let mut key = _mm512_setzero_si512();
        if let Some([ma, mb, mc, md]) = ROUND_KEYS_OF_ONE.get(round) {
            let three = xor3(product(a, ma), product(b, mb), product(c, mc));
            key = _mm512_xor_si512(three, product(d, md));
        }
        let step = _mm512_xor_si512(key, before[round % 2]);
        for (t, place) in steps[round].iter_mut().enumerate() {
            place.write(_mm512_permutexvar_epi64(_mm512_set1_epi64(t as i64), step));
        }
        before[round % 2] = key;
    }
}

/// The vectors of a schedule, for writing.
fn steps_of(schedule: &mut MaybeUninit<Schedule>) -> &mut [[MaybeUninit<__m512i>; BOXES]; STEPS] {
    // SAFETY: the schedule is STEPS times BOXES vectors in a row, exclusively borrowed; as vectors that may
    // be uninitialised they may be written at will.
    unsafe { &mut *schedule.as_mut_ptr().cast() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low::cpu::Cpu;

    /// One key for all lanes gives the same schedule as that key in each lane.
    #[test]
    fn one_key_is_the_same_in_all_lanes() {
        if Cpu::up_to_avx512().avx512.is_none() {
            return;
        }
        let mut random = seeded::Random(0x3166_2477);
        for _ in 0..100 {
            let key = random.array();
            let mut keys = ByteSlicedKeys::empty();
            // SAFETY: the processor has what they ask for.
            unsafe {
                keys.set(0, &[[key; 8]; 8]);
                keys.set_one(1, &key);
            }
            // SAFETY: vectors of integers may be looked at as words; both schedules were set.
            let words = |index| unsafe {
                *std::ptr::from_ref(keys.schedule(index)).cast::<[u64; STEPS * BOXES * 8]>()
            };
            assert!(words(0) == words(1));
        }
    }

    /// Schedules that were set are zero after the drop.
    #[test]
    fn schedules_are_wiped() {
        if Cpu::up_to_avx512().avx512.is_none() {
            return;
        }
        for set in 0..KEYS_MAX {
            let mut place = MaybeUninit::new(ByteSlicedKeys::empty());
            // SAFETY: written by the line above; the processor has what `set` asks for.
            unsafe { place.assume_init_mut().set(set, &[[[0xa5; 8]; 8]; 8]) };
            let schedule = place.as_ptr().cast::<u8>();
            // SAFETY: the schedules are at the start of the keys or after the flags, the offset is that of
            // the field; `set` wrote all bytes of this schedule, and vectors have no padding.
            let count = || unsafe {
                let offset = std::mem::offset_of!(ByteSlicedKeys, schedules) + set * size_of::<Schedule>();
                let bytes = std::slice::from_raw_parts(schedule.add(offset), size_of::<Schedule>());
                bytes.iter().filter(|byte| **byte != 0).count()
            };
            assert!(count() > size_of::<Schedule>() / 4);
            // SAFETY: the value is initialised and not used after this.
            unsafe { place.assume_init_drop() };
            assert_eq!(count(), 0);
        }
    }
}
