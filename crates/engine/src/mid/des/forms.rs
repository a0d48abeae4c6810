//! Which form of `low::des` does what, and the lanes of a pass.
//!
//! ```text
//!            1 .. 8 .. 16 .. 24 | 25 .. 64 ........ 256 | 257 ......... 512 ......
//! AVX-512    rows, 8, 16 or 24  | byte-sliced, 64 lanes | bit-sliced, 512 lanes
//! AVX2       rows, 1 .. 16 | bit-sliced, 64 | from 65 on bit-sliced, 256 lanes a pass
//! portable   bit-sliced, 64 lanes a pass
//! ```
//!
//! 1. The choice is by the number of lanes alone: nothing of what a pass takes depends on keys or texts.
//! 2. A pass takes the same time however few of its lanes are filled, so a text that is not whole wide
//!    passes is cut, and its rest runs in the narrow form where that is cheaper.
//! 3. Rows, in one to three vectors, wait less and carry less than a byte-sliced pass, down to half of its time for up
//!    to eight lanes. Four vectors take more time than it; their keys, made one at a time, do so from three on.
//! 4. With AVX2 rows take the time of the lanes that there are, 0.33 us for a block of TDES alone and 0.23 a lane for
//!    more (Sapphire Rapids), and so does a round of streams: it ends, and the streams left begin another, when a third
//!    of them has ended, whether others wait or not.
//! 5. Without AVX2 every form is bit-sliced. A single block of TDES costs a whole pass, 2.3 us, where code
//!    that reads tables takes 0.15: that is the price of constant time.
//!
//! Dropped: bit-sliced vectors of AVX2 for up to 64 lanes (a pass of 256 takes a sixth longer than one of 64 in words,
//! a single block of CBC twice as long); keeping the schedules of a key (9 KiB a part in the form of the
//! kernel: setting 64 keys takes 76 ns, fetching schedules from memory would take longer). Which form takes how long:
//! `docs/engine.md`.

use super::{DesKey, Program};
use crate::low::cpu::Cpu;
use crate::low::des::bit_sliced_portable::BitSliced64;
use crate::low::des::mdc::Pair;
use crate::low::des::{BLOCK_BYTES, Block, Form, KEYS_MAX};
use crate::low::des::{
    bit_sliced_avx2::BitSliced256,
    bit_sliced_avx512::BitSliced512,
    byte_sliced_avx512::ByteSliced,
    rows_avx2::RowsAvx2,
    rows_avx512::{Rows8, Rows16, Rows24},
};
use crate::low::wipe_bytes;

/// Work that any form can do.
pub(crate) trait Job {
    type Output;
    /// Does it. `LANES` is the form's.
    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> Self::Output;
}

/// Runs a job in the form that is cheapest for so many lanes.
pub(crate) fn in_fitting_form<J: Job>(cpu: Cpu, lanes: usize, job: J) -> J::Output {
    if let Some(token) = cpu.avx512 {
        return match lanes {
            0..=8 => job.run::<Rows8, 8>(token),
            9..=16 => job.run::<Rows16, 16>(token),
            17..=ROWS_LANES_MAX => job.run::<Rows24, 24>(token),
            ROWS_LANES_PAST..WIDE_LANES_MIN => job.run::<ByteSliced, 64>(token),
            _ => job.run::<BitSliced512, 512>(token),
        };
    }
    if let Some(token) = cpu.avx2 {
        if lanes <= ROWS_LANES_MAX_AVX2 {
            return job.run::<RowsAvx2, ROWS_LANES_MAX_AVX2>(token);
        }
        if lanes >= WIDE_LANES_MIN_AVX2 {
            return job.run::<BitSliced256, 256>(token);
        }
    }
    job.run::<BitSliced64, 64>(())
}

/// Requests that a batch would like: so many that more would gain little.
pub(crate) fn lanes(cpu: Cpu) -> usize {
    match cpu {
        Cpu { avx512: Some(_), .. } => 64,
        Cpu { avx2: Some(_), .. } => 256,
        _ => 64,
    }
}

/// The forms of a level by their lanes.
#[derive(Clone, Copy)]
pub(crate) struct Forms {
    /// Up to so many lanes there are forms for fewer than the narrow one's; 0 for none.
    pub(crate) rows_max: usize,
    /// Whether those take the time of the lanes that are filled, rather than of all.
    rows_by_lane: bool,
    /// Lanes of the form for few.
    pub(crate) narrow: usize,
    /// Lanes of the form for many.
    pub(crate) wide: usize,
    /// From so many lanes on the form for many is cheaper.
    pub(crate) wide_min: usize,
}

impl Forms {
    pub(crate) fn of(cpu: Cpu) -> Forms {
        match cpu {
            Cpu { avx512: Some(_), .. } => Forms {
                rows_max: ROWS_LANES_MAX,
                rows_by_lane: false,
                narrow: 64,
                wide: 512,
                wide_min: WIDE_LANES_MIN,
            },
            Cpu { avx2: Some(_), .. } => Forms {
                rows_max: ROWS_LANES_MAX_AVX2,
                rows_by_lane: true,
                narrow: 64,
                wide: 256,
                wide_min: WIDE_LANES_MIN_AVX2,
            },
            _ => Forms { rows_max: 0, rows_by_lane: false, narrow: 64, wide: 64, wide_min: 1 },
        }
    }

    /// With fewer streams than this a round in the form of so many lanes ends, since they are cheaper in another.
    pub(crate) fn lanes_min(self, lanes: usize) -> usize {
        if lanes > self.narrow {
            self.wide_min
        } else if lanes < self.narrow || self.rows_max == 0 {
            0
        } else if self.rows_by_lane {
            self.rows_max
        } else {
            ROWS_LANES + 1
        }
    }

    /// Whether the form of so many lanes takes the time of those that are filled.
    pub(crate) fn is_by_lane(self, lanes: usize) -> bool {
        lanes < self.narrow && self.rows_by_lane
    }
}

/// The keys of a pass, part by part as the kernels take them; zero when dropped.
pub(crate) struct KeyColumns<const LANES: usize> {
    parts: [[Block; LANES]; KEYS_MAX],
    lanes: usize,
}

impl<const LANES: usize> KeyColumns<LANES> {
    /// None yet.
    #[inline]
    pub(crate) fn new() -> KeyColumns<LANES> {
        KeyColumns { parts: [[[0; BLOCK_BYTES]; LANES]; KEYS_MAX], lanes: 0 }
    }

    /// The key of the next lane; `LANES` at most.
    #[inline]
    pub(crate) fn push(&mut self, key: &DesKey) {
        for (column, part) in self.parts.iter_mut().zip(key.parts()) {
            column[self.lanes] = *part;
        }
        self.lanes += 1;
    }

    /// Sets the keys of a kernel to the first parts of these.
    pub(crate) fn set<F: Form>(&self, token: F::Token, keys: &mut F::Keys, key_parts: usize) {
        for (index, column) in self.parts[..key_parts].iter().enumerate() {
            F::set_keys(token, keys, index, &column[..self.lanes]);
        }
    }
}

impl<const LANES: usize> Drop for KeyColumns<LANES> {
    fn drop(&mut self) {
        for column in &mut self.parts {
            wipe_bytes(column[..self.lanes].as_flattened_mut());
        }
    }
}

/// One block for each key, in place.
pub(crate) fn own_blocks<'k>(
    cpu: Cpu,
    program: Program,
    keys: impl Fn(usize) -> &'k DesKey,
    blocks: &mut [Block],
) {
    let mut done = 0;
    while done < blocks.len() {
        let blocks = &mut blocks[done..];
        let lanes = blocks.len();
        done += in_fitting_form(cpu, lanes, OwnBlocks { program, keys: |index| keys(done + index), blocks });
    }
}

struct OwnBlocks<'r, K> {
    program: Program,
    keys: K,
    blocks: &'r mut [Block],
}

impl<'k, K: Fn(usize) -> &'k DesKey> Job for OwnBlocks<'_, K> {
    type Output = usize;

    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> usize {
        let lanes = self.blocks.len().min(LANES);
        let mut columns = KeyColumns::<LANES>::new();
        for index in 0..lanes {
            columns.push((self.keys)(index));
        }
        let mut keys = F::empty_keys(token);
        columns.set::<F>(token, &mut keys, self.program.key_parts);
        F::blocks(token, &keys, self.program.stages, &mut self.blocks[..lanes]);
        lanes
    }
}

/// Texts up to which [`mdc`], of as many as it takes, one call after the other, is cheaper than passes of all of them.
pub(crate) fn mdc_texts(cpu: Cpu) -> usize {
    if cpu.avx512.is_some() { usize::MAX } else { 1 }
}

/// As many blocks of each text as the shortest has, into the states of MDC-2 or MDC-4; so many texts as [`Form::mdc`]
/// takes.
pub(crate) fn mdc(cpu: Cpu, four: bool, states: &mut [Pair], texts: &[&[Block]]) {
    in_fitting_form(cpu, 2 * texts.len(), Mdc { four, states, texts });
}

struct Mdc<'r> {
    four: bool,
    states: &'r mut [Pair],
    texts: &'r [&'r [Block]],
}

impl Job for Mdc<'_> {
    type Output = ();

    fn run<F: Form, const LANES: usize>(self, token: F::Token) {
        F::mdc(token, self.four, self.states, self.texts);
    }
}

/// Lanes of a vector of the row form.
const ROWS_LANES: usize = 8;

/// Lanes up to which the row form is cheaper than a byte-sliced pass.
const ROWS_LANES_MAX: usize = 24;

/// From so many on it is not.
const ROWS_LANES_PAST: usize = ROWS_LANES_MAX + 1;

/// Lanes up to which the row form of AVX2 is cheaper than a bit-sliced pass of 64 in words, on Sapphire Rapids: 0.22 to
/// 0.24 us a lane against 3.7 to 3.8 us (TDES-CBC, a block of each stream), so up to the 16th or 17th; of blocks that
/// do not wait for each other alike.
const ROWS_LANES_MAX_AVX2: usize = 16;

/// Lanes from which a bit-sliced pass of 512 is cheaper than byte-sliced passes of 64. TDES: 1.4 to 1.8 us, by
/// how many lanes are filled, against 0.3 us, so from the fifth of those on; at 320 streams both are equal.
const WIDE_LANES_MIN: usize = 257;

/// The same for AVX2: a pass of 256 takes a sixth longer than one of 64 in words.
const WIDE_LANES_MIN_AVX2: usize = 65;
