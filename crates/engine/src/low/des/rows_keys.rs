//! Key schedules of the row form, made in vectors: all rounds of one key in three (FIPS 46-3, the key schedule KS).
//!
//! ```text
//! a key in all quad words
//!   PC1: bits transposed                    1   C in the lower four quad words, D in the upper ones  vgf2p8affine
//!   28 bits, twice                          6   so that a rotation is an offset
//!   of eight rounds at a time, for the four windows of eight bits that cover C or D:
//!     the window at the offset of a round   8   quad word: target, byte: round                       vpmultishift
//!     PC2: the index of the target          8   a matrix for each quad word                          vgf2p8affine
//!     sums                                  4
//!   bytes transposed, indices to rows       4   quad word: round                                     vpermb, vgf2p8affine
//!   steps: differences of every other key   5                                                        valignq, vpxor
//! ```
//!
//! 36 instructions. If all lanes have the same key, the quad word of a step is broadcast as it is read. Eight different
//! keys are transposed by quad words, so that those of a step are one vector.

use super::byte_sliced_rounds::STEPS;
use super::byte_sliced_vector::{Scratch, load, transpose_quads, xor3};
use super::rows_layout::{BY_ROUND, HALVES_OF_KEYS, KEY_MATRICES, KEY_WINDOWS, KeyWindows, TO_ROWS};
use super::rows_rounds::{Half, everywhere, picked};
use super::{Block, KEYS_MAX};
use crate::low::wipe;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Lanes of a vector.
const GROUP: usize = 8;

/// The schedule of one key for all lanes: the value that each step adds to a half, then six zero quad words.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct OneSchedule(pub(crate) [u64; 3 * GROUP]);

/// A schedule with a key for each lane.
pub(crate) type OwnSchedule<const VECTORS: usize> = [Half<VECTORS>; STEPS];

/// A schedule, as it was set.
pub(crate) enum ScheduleRef<'k, const VECTORS: usize> {
    /// The schedule of one key for all lanes.
    One(&'k OneSchedule),
    /// The schedules of one key for each lane.
    Own(&'k OwnSchedule<VECTORS>),
}

/// The schedule that is set at an index.
#[derive(Clone, Copy)]
enum Set {
    Nothing,
    One,
    Own,
}

/// Schedules of up to [`KEYS_MAX`] keys. Schedules that were set are wiped when dropped.
pub(crate) struct RowKeys<const VECTORS: usize> {
    one: [MaybeUninit<OneSchedule>; KEYS_MAX],
    own: [MaybeUninit<OwnSchedule<VECTORS>>; KEYS_MAX],
    set: [Set; KEYS_MAX],
}

impl<const VECTORS: usize> RowKeys<VECTORS> {
    /// Room for schedules; none of it is written.
    #[inline]
    pub(crate) fn empty() -> RowKeys<VECTORS> {
        RowKeys {
            one: [MaybeUninit::uninit(); KEYS_MAX],
            own: [MaybeUninit::uninit(); KEYS_MAX],
            set: [Set::Nothing; KEYS_MAX],
        }
    }

    /// The schedule at this index, which must have been set.
    #[inline]
    pub(crate) fn schedule(&self, index: usize) -> ScheduleRef<'_, VECTORS> {
        match self.set[index] {
            Set::Nothing => panic!("a program names only keys that were set"),
            // SAFETY: `set_one` wrote all of it before it set the mark.
            Set::One => ScheduleRef::One(unsafe { self.one[index].assume_init_ref() }),
            // SAFETY: so did `set_own`.
            Set::Own => ScheduleRef::Own(unsafe { self.own[index].assume_init_ref() }),
        }
    }

    /// Sets the schedule at this index to that of one key for all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    pub(crate) fn set_one(&mut self, index: usize, key: &Block) {
        self.wipe(index);
        let steps = self.one[index].as_mut_ptr().cast::<[MaybeUninit<__m512i>; 3]>();
        // SAFETY: a schedule is three vectors in a row, aligned for them and exclusively borrowed; as vectors that may
        // be uninitialised they may be written at will.
        let steps = unsafe { &mut *steps };
        for (step, vector) in steps.iter_mut().zip(schedule(in_all(key))) {
            step.write(vector);
        }
        self.set[index] = Set::One;
    }

    /// Sets the schedule at this index to those of a key for each lane. Lanes without a key have steps of zeros.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    pub(crate) fn set_own(&mut self, index: usize, own: &[Block]) {
        assert!(own.len() <= GROUP * VECTORS);
        self.wipe(index);
        let steps = self.own[index].as_mut_ptr().cast::<[[MaybeUninit<__m512i>; VECTORS]; STEPS]>();
        // SAFETY: the same vectors, exclusively borrowed; as vectors that may be uninitialised they may be written at
        // will.
        let steps = unsafe { &mut *steps };
        let mut groups = own.chunks(GROUP);
        for vector in 0..VECTORS {
            let mut schedules = Scratch([[_mm512_setzero_si512(); GROUP]; 3]);
            for (lane, key) in groups.next().unwrap_or_default().iter().enumerate() {
                let [first, second, third] = schedule(in_all(key));
                schedules.0[0][lane] = first;
                schedules.0[1][lane] = second;
                schedules.0[2][lane] = third;
            }
            for (part, schedules) in schedules.0.iter().enumerate() {
                let by_step = transpose_quads(*schedules);
                for (step, lanes) in steps[GROUP * part..].iter_mut().zip(by_step) {
                    step[vector].write(lanes);
                }
            }
        }
        self.set[index] = Set::Own;
    }

    /// Wipes the schedule that was set at this index.
    #[inline]
    fn wipe(&mut self, index: usize) {
        match self.set[index] {
            Set::Nothing => (),
            // SAFETY: a schedule is plain integers.
            Set::One => unsafe { wipe(&mut self.one[index]) },
            // SAFETY: as above.
            Set::Own => unsafe { wipe(&mut self.own[index]) },
        }
        self.set[index] = Set::Nothing;
    }
}

impl<const VECTORS: usize> Drop for RowKeys<VECTORS> {
    #[inline]
    fn drop(&mut self) {
        for index in 0..KEYS_MAX {
            self.wipe(index);
        }
    }
}

/// Copies a key to all quad words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn in_all(key: &Block) -> __m512i {
    _mm512_set1_epi64(i64::from_ne_bytes(*key))
}

/// The steps of the schedule of a key that is in all quad words, one quad word each: eight, eight, then two and six
/// zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn schedule(key: __m512i) -> [__m512i; 3] {
    let halves = doubled(picked(load(&HALVES_OF_KEYS.0), key));
    let early = round_keys(halves, &KEY_WINDOWS[0]);
    let late = round_keys(halves, &KEY_WINDOWS[1]);
    let none = _mm512_setzero_si512();
    // A half carried the key of two rounds before.
    [
        _mm512_xor_si512(early, _mm512_alignr_epi64::<6>(early, none)),
        _mm512_xor_si512(late, _mm512_alignr_epi64::<6>(late, early)),
        _mm512_alignr_epi64::<6>(none, late),
    ]
}

/// The 28 bits of C or D, twice, from three bytes and half of the fourth: its lower half for C, its upper half for D.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn doubled(bytes: __m512i) -> __m512i {
    const SELECT: i32 = 0xca;
    let fours = _mm512_set_epi64(4, 4, 4, 4, 0, 0, 0, 0);
    let last = _mm512_and_si512(_mm512_srlv_epi64(bytes, fours), _mm512_set1_epi64(0x0f00_0000));
    let bits = _mm512_ternarylogic_epi64::<SELECT>(_mm512_set1_epi64(0x00ff_ffff), bytes, last);
    _mm512_or_si512(bits, _mm512_slli_epi64::<28>(bits))
}

/// The round keys of eight rounds as rows, one quad word each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn round_keys(halves: __m512i, windows: &KeyWindows) -> __m512i {
    let part = |window: usize| {
        let bits = _mm512_multishift_epi64_epi8(load(&windows[window].0), halves);
        _mm512_gf2p8affine_epi64_epi8::<0>(bits, load(&KEY_MATRICES[window].0))
    };
    let indices = _mm512_xor_si512(xor3(part(0), part(1), part(2)), part(3));
    picked(everywhere(TO_ROWS), _mm512_permutexvar_epi8(load(&BY_ROUND.0), indices))
}

#[cfg(test)]
mod tests {
    use super::super::plain;
    use super::super::rows_layout::inputs_as_rows;
    use super::*;
    use crate::low::cpu::Cpu;
    use seeded::Random;

    /// The steps are differences of the standard's round keys, as rows, in order.
    #[test]
    fn steps_are_those_of_the_standard() {
        if Cpu::up_to_avx512().avx512.is_none() {
            return;
        }
        let mut random = Random(0x2236_0679);
        for _ in 0..1000 {
            let key = random.array();
            let mut keys = RowKeys::<1>::empty();
            // SAFETY: the processor has what it asks for.
            unsafe { keys.set_one(0, &key) };
            let ScheduleRef::One(OneSchedule(steps)) = keys.schedule(0) else { panic!("one was set") };
            let round_keys = plain::round_keys(&key).map(inputs_as_rows);
            let mut carried = [0; 2];
            for (round, key) in round_keys.into_iter().enumerate() {
                assert_eq!(steps[round], key ^ carried[round % 2]);
                carried[round % 2] = key;
            }
            assert_eq!(steps[16..18], carried);
            assert_eq!(steps[18..], [0; 6]);
        }
    }

    /// Schedules that were set are zero after the drop, and after another kind of key was set in their place.
    #[test]
    fn schedules_are_wiped() {
        if Cpu::up_to_avx512().avx512.is_none() {
            return;
        }
        type Keys = RowKeys<2>;
        for index in 0..KEYS_MAX {
            for kind in [Set::One, Set::Own] {
                let mut place = MaybeUninit::new(Keys::empty());
                let set = |place: &mut MaybeUninit<Keys>, kind| {
                    // SAFETY: initialised when it was made; the processor has what it asks for.
                    unsafe {
                        match kind {
                            Set::One => place.assume_init_mut().set_one(index, &[0xa5; 8]),
                            _ => place.assume_init_mut().set_own(index, &[[0xa5; 8]; 16]),
                        }
                    }
                };
                let (offset, bytes) = match kind {
                    Set::One => {
                        let bytes = size_of::<OneSchedule>();
                        (std::mem::offset_of!(Keys, one) + index * bytes, bytes)
                    }
                    _ => {
                        let bytes = size_of::<OwnSchedule<2>>();
                        (std::mem::offset_of!(Keys, own) + index * bytes, bytes)
                    }
                };
                let start = place.as_ptr().cast::<u8>();
                // SAFETY: the bytes of the schedule, which lie in the place; they are written whenever this is called,
                // and vectors and words have no padding.
                let count = || unsafe {
                    let bytes = std::slice::from_raw_parts(start.add(offset), bytes);
                    bytes.iter().filter(|byte| **byte != 0).count()
                };
                set(&mut place, kind);
                assert!(count() > bytes / 4);
                set(&mut place, if matches!(kind, Set::One) { Set::Own } else { Set::One });
                assert_eq!(count(), 0);
                set(&mut place, kind);
                assert!(count() > bytes / 4);
                // SAFETY: the value is initialised and not used after this.
                unsafe { place.assume_init_drop() };
                assert_eq!(count(), 0);
            }
        }
    }
}
