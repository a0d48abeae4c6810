//! The wrapping function W of SP 800-38F (6.1, the six passes of RFC 3394, 2.2) and its inverse over many keys at once,
//! each under its own wrapping key.
//!
//! Every step enciphers one block that depends on the step before: a 256-bit key in a key token takes 54 AES blocks in
//! series. Keys are therefore laid side by side, each in a *lane*, all of the same length.
//!
//! ```text
//! rows[0]   A  .  A  .  A  .  A  .    left halves: the first semiblock of four lanes
//! rows[i]   . R_i . R_i . R_i . R_i   right halves: semiblock i of the four
//! a step    A R_i A R_i A R_i A R_i   enciphered: its left halves, XORed with the step's number, are the next A; all of it is rows[i]
//! ```
//!
//! The halves marked with a point are never read. So a step takes one load, one blend and one store in addition to AES.
//!
//! Limit, AES-256: 14 latencies of an AES instruction a step; four 512-bit vectors fill the idle time of one.

pub(crate) use super::streams::Kernel;
use super::streams::{LANES_MAX, LaneBlocks};
use super::{ROUND_KEYS_MAX, RoundKeys, Rounds};
use crate::low::{wipe, wipe_bytes};

/// Length of a semiblock in bytes.
pub(crate) const SEMIBLOCK: usize = 8;

/// Passes over the semiblocks.
pub(crate) const PASSES: usize = 6;

/// Wrapping keys and texts of all lanes; wiped when dropped.
pub(crate) struct Lanes {
    /// Round by round, so that the keys of four neighbouring lanes are one vector.
    pub(super) keys: [LaneBlocks; ROUND_KEYS_MAX],
    /// Semiblock by semiblock: the first in left halves, the others in right halves.
    pub(super) rows: Vec<LaneBlocks>,
    pub(super) rounds: Rounds,
}

impl Lanes {
    /// Idle lanes for wrapping keys of this many rounds and texts of this many semiblocks.
    pub(crate) fn new(rounds: Rounds, semiblocks: usize) -> Lanes {
        let idle = LaneBlocks([[0; 16]; LANES_MAX]);
        Lanes { keys: [idle; ROUND_KEYS_MAX], rows: vec![idle; semiblocks], rounds }
    }

    /// Puts a text into a lane. The text must have the lanes' number of semiblocks. The keys must have the lanes'
    /// number of rounds, and belong to the direction in which the lanes will run.
    #[inline]
    pub(crate) fn load(&mut self, lane: usize, keys: RoundKeys<'_>, text: &[u8]) {
        debug_assert_eq!(keys.rounds(), self.rounds);
        for (row, key) in self.keys[..=self.rounds.count()].iter_mut().zip(keys.blocks) {
            row.0[lane] = *key;
        }
        let (semiblocks, _) = text.as_chunks::<SEMIBLOCK>();
        debug_assert_eq!(semiblocks.len(), self.rows.len());
        for (at, (row, semiblock)) in self.rows.iter_mut().zip(semiblocks).enumerate() {
            *half(row, lane, at) = *semiblock;
        }
    }

    /// Copies the lane's result over the text.
    #[inline]
    pub(crate) fn store(&mut self, lane: usize, text: &mut [u8]) {
        let (semiblocks, _) = text.as_chunks_mut::<SEMIBLOCK>();
        for (at, (row, semiblock)) in self.rows.iter_mut().zip(semiblocks).enumerate() {
            *semiblock = *half(row, lane, at);
        }
    }

    /// Runs W, or its inverse, over the first `used` lanes.
    #[inline]
    pub(crate) fn run(&mut self, kernel: Kernel, encipher: bool, used: usize) {
        match kernel {
            Kernel::Vaes(token) => super::wrap_vaes::run(token, self, encipher, used),
            Kernel::Ni(token) => super::wrap_ni::run(token, self, encipher, used),
        }
    }
}

/// The safe entry point of a kernel, `run`, which calls the kernel's function `fill` for rounds and direction.
#[cfg(target_arch = "x86_64")]
macro_rules! door {
    ($token:ty, $features:literal) => {
        /// Runs W, or its inverse, over the first `used` lanes.
        #[inline]
        pub(super) fn run(_token: $token, lanes: &mut Lanes, encipher: bool, used: usize) {
            // SAFETY: the token proves every feature that the kernel is compiled for.
            unsafe { choose(lanes, encipher, used) }
        }

        #[target_feature(enable = $features)]
        fn choose(lanes: &mut Lanes, encipher: bool, used: usize) {
            use crate::low::aes::Rounds;
            match (lanes.rounds, encipher) {
                (Rounds::Ten, true) => fill::<10, true>(lanes, used),
                (Rounds::Twelve, true) => fill::<12, true>(lanes, used),
                (Rounds::Fourteen, true) => fill::<14, true>(lanes, used),
                (Rounds::Ten, false) => fill::<10, false>(lanes, used),
                (Rounds::Twelve, false) => fill::<12, false>(lanes, used),
                (Rounds::Fourteen, false) => fill::<14, false>(lanes, used),
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) use door;

/// The half of a lane's block that holds semiblock `at`.
#[inline]
fn half(row: &mut LaneBlocks, lane: usize, at: usize) -> &mut [u8; SEMIBLOCK] {
    let (halves, _) = row.0[lane].as_chunks_mut::<SEMIBLOCK>();
    &mut halves[usize::from(at != 0)]
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // SAFETY: blocks are plain bytes.
        unsafe { wipe(&mut self.keys) }
        for row in &mut self.rows {
            wipe_bytes(row.0.as_flattened_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low::aws_lc::aes::AesSchedule;
    use crate::low::cpu::Cpu;
    use std::mem::MaybeUninit;

    /// Keys and texts are zeros once the lanes are dropped.
    #[test]
    fn lanes_are_wiped() {
        for kernel in [Cpu::up_to_avx2(), Cpu::up_to_avx512()].into_iter().filter_map(Kernel::choose) {
            let mut schedule = AesSchedule::empty();
            assert!(schedule.set_encipher(&[0xa5; 32]));
            let mut place = MaybeUninit::new(Lanes::new(Rounds::Fourteen, 10));
            // SAFETY: written by the line above.
            let lanes = unsafe { place.assume_init_mut() };
            for lane in 0..kernel.lanes() {
                lanes.load(lane, schedule.round_keys().unwrap(), &[0x3c; 80]);
            }
            lanes.run(kernel, true, kernel.lanes());
            let mut text = [0; 80];
            lanes.store(0, &mut text);
            assert_ne!(text, [0x3c; 80]);
            let keys: *const [LaneBlocks; ROUND_KEYS_MAX] = &lanes.keys;
            // SAFETY: the value is initialised and not used after this.
            unsafe { place.assume_init_drop() };
            // SAFETY: arrays of bytes inside lanes that are not given up before the test ends.
            assert!(unsafe { &*keys }.iter().all(|row| row.0 == [[0; 16]; LANES_MAX]));
        }
    }
}
