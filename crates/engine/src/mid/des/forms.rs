//! The choice of the form of `low::des` for a job, and the lanes of a pass.
//!
//! ```text
//!            1 .. 8 .. 16 .. 24 | 25 .. 64 ........ 256 | 257 ......... 512 ......
//! AVX-512    rows, 8, 16 or 24  | byte-sliced, 64 lanes | bit-sliced, 512 lanes
//! AVX2       rows, 1 .. 16 | bit-sliced, 64 | from 65 on bit-sliced, 256 lanes a pass
//! portable   bit-sliced, 64 lanes a pass
//! ```
//!
//! 1. The choice depends only on the number of lanes: the time of a pass does not depend on keys or texts.
//! 2. A pass takes the same time however few of its lanes are filled. So a text that is not whole wide passes is split,
//!    and its rest runs in the narrow form if that is cheaper.
//! 3. Rows, in one to three vectors, wait less and move less data than a byte-sliced pass: down to half its time for up
//!    to eight lanes. Four vectors would take longer, and if their keys are made one at a time, even three.
//! 4. With AVX2, rows take time per filled lane: 0.33 us for a single block of TDES, and 0.23 a lane for more (Sapphire
//!    Rapids). A round of streams therefore ends when a third of them have ended, whether others wait or not, and the
//!    rest begins another round.
//! 5. Without AVX2 every form is bit-sliced. A single block of TDES costs a whole pass, 2.3 us, compared with 0.15 for
//!    code that reads tables: that is the price of constant time.
//!
//! Dropped: bit-sliced vectors of AVX2 for up to 64 lanes (a pass of 256 takes a sixth longer than one of 64 in words,
//! a single block of CBC twice as long); keeping the schedules of a key (9 KiB a part in the kernel's form: setting 64
//! keys takes 76 ns, fetching schedules from memory would take longer). `docs/understand/engine.md` lists the times of
//! the forms.

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

/// A job that any form can run.
pub(crate) trait Job {
    type Output;
    /// Runs the job. `LANES` is the form's number of lanes.
    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> Self::Output;
}

/// Runs a job in the form that is cheapest for this many lanes.
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

/// The number of requests that fills a batch: more would gain little.
pub(crate) fn lanes(cpu: Cpu) -> usize {
    match cpu {
        Cpu { avx512: Some(_), .. } => 64,
        Cpu { avx2: Some(_), .. } => 256,
        _ => 64,
    }
}

/// The forms of a level, by their numbers of lanes.
#[derive(Clone, Copy)]
pub(crate) struct Forms {
    /// The greatest number of lanes that a row form serves; 0 if there is none.
    pub(crate) rows_max: usize,
    /// Whether row forms take time per filled lane, rather than per pass.
    rows_by_lane: bool,
    /// The number of lanes of the form for few.
    pub(crate) narrow: usize,
    /// The number of lanes of the form for many.
    pub(crate) wide: usize,
    /// From this many lanes on the form for many is cheaper.
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

    /// A round in the form of `lanes` lanes ends when fewer streams than this are left, since another form is then
    /// cheaper.
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

    /// Whether the form of `lanes` lanes takes time per filled lane.
    pub(crate) fn is_by_lane(self, lanes: usize) -> bool {
        lanes < self.narrow && self.rows_by_lane
    }
}

/// The keys of a pass, in columns of one part each, as the kernels take them; wiped when dropped.
pub(crate) struct KeyColumns<const LANES: usize> {
    parts: [[Block; LANES]; KEYS_MAX],
    lanes: usize,
}

impl<const LANES: usize> KeyColumns<LANES> {
    /// Room for keys, without any.
    #[inline]
    pub(crate) fn new() -> KeyColumns<LANES> {
        KeyColumns { parts: [[[0; BLOCK_BYTES]; LANES]; KEYS_MAX], lanes: 0 }
    }

    /// Adds the key of the next lane, at most `LANES` keys.
    #[inline]
    pub(crate) fn push(&mut self, key: &DesKey) {
        for (column, part) in self.parts.iter_mut().zip(key.parts()) {
            column[self.lanes] = *part;
        }
        self.lanes += 1;
    }

    /// Sets a kernel's keys to the first `key_parts` parts of these keys.
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

/// Runs the program on one block for each key, in place.
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

/// Up to this many texts, calling [`mdc`] for them in groups is cheaper than passes of all of them.
pub(crate) fn mdc_texts(cpu: Cpu) -> usize {
    if cpu.avx512.is_some() { usize::MAX } else { 1 }
}

/// Hashes texts with MDC-2 or MDC-4 into `states`, as many blocks of each as the shortest has. Takes at most as many
/// texts as [`Form::mdc`].
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

/// Up to this many lanes the row form is cheaper than a byte-sliced pass.
const ROWS_LANES_MAX: usize = 24;

/// From this many lanes on the row form is not cheaper.
const ROWS_LANES_PAST: usize = ROWS_LANES_MAX + 1;

/// Up to this many lanes the row form of AVX2 is cheaper than a bit-sliced pass of 64 in words, on Sapphire Rapids. It
/// takes 0.22 to 0.24 us a lane, the pass 3.7 to 3.8 us (TDES-CBC, a block of each stream), so up to the 16th or 17th
/// lane. The same holds for blocks that do not wait for each other.
const ROWS_LANES_MAX_AVX2: usize = 16;

/// From this many lanes on a bit-sliced pass of 512 is cheaper than byte-sliced passes of 64. For TDES it takes 1.4 to
/// 1.8 us, depending on the filled lanes, and those 0.3 us each, so from the fifth of those on; at 320 streams both are
/// equal.
const WIDE_LANES_MIN: usize = 257;

/// As [`WIDE_LANES_MIN`], for AVX2: a pass of 256 takes a sixth longer than one of 64 in words.
const WIDE_LANES_MIN_AVX2: usize = 65;
