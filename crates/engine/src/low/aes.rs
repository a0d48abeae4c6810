//! Kernels of AES (FIPS 197) on the processor's AES instructions: many streams at once, one stream in ECB, CBC and CTR,
//! key wrap, GCM, OCB and EAX.
//!
//! | what | `vaes` (four blocks an instruction) | `ni` (one block an instruction) | without either |
//! |---|---|---|---|
//! | CBC enciphering and CBC-MAC of many streams | 16 lanes | 8 lanes | the library, one stream after the other |
//! | key wrap of many keys | 16 lanes | 8 lanes | the library's ECB, one key after the other |
//! | ECB of one stream, CBC of one stream, deciphering | 32 blocks in flight | the library | the library |
//! | CTR of one stream | 32 blocks in flight | the library | the library |
//! | CFB of one stream, deciphering | 32 blocks in flight | `low::cfb` | `low::cfb` |
//! | GCM of texts up to some KiB | 36 blocks in flight | the library | the library |
//! | OCB | 32 blocks in flight | 8 blocks in flight | the library's ECB |
//! | EAX: CTR beside the chain of its MAC | as `ni` | both in flight | one after the other |
//!
//! # Round keys
//!
//! No kernel expands a key: all read the key schedule that the library has made for itself. With AES instructions it
//! holds the round keys in the processor's order and byte order; for deciphering in reverse, through the inverse of
//! MixColumns (FIPS 197, 5.3.5). Without AES instructions the library uses other forms, so [`RoundKeys`] exist only
//! with them; else the library does the work. A second schedule with the same bytes would cost as much again for each
//! key. A test expands keys by FIPS 197 and compares.
// Vectors stay in registers only in counted loops: the compiler did not unroll loops over zipped iterators.
#![allow(clippy::needless_range_loop)]

/// The three safe entry points of an OCB kernel, for a file that has `run` and `run_hash` under the features that the
/// token proves.
#[cfg(target_arch = "x86_64")]
macro_rules! ocb_doors {
    ($token:ty) => {
        /// See [`super::ocb::OcbKernel::encipher`].
        pub(super) fn encipher(
            _token: $token,
            keys: RoundKeys<'_>,
            table: &OcbTable,
            offset: &Block,
            data: &mut [u8],
        ) -> OcbSums {
            // SAFETY: the token proves every feature that the kernel is compiled for.
            unsafe {
                match keys.rounds() {
                    Rounds::Ten => run::<10, false>(keys, table, offset, data),
                    Rounds::Twelve => run::<12, false>(keys, table, offset, data),
                    Rounds::Fourteen => run::<14, false>(keys, table, offset, data),
                }
            }
        }

        /// See [`super::ocb::OcbKernel::decipher`].
        pub(super) fn decipher(
            _token: $token,
            keys: RoundKeys<'_>,
            table: &OcbTable,
            offset: &Block,
            data: &mut [u8],
        ) -> OcbSums {
            // SAFETY: the token proves every feature that the kernel is compiled for.
            unsafe {
                match keys.rounds() {
                    Rounds::Ten => run::<10, true>(keys, table, offset, data),
                    Rounds::Twelve => run::<12, true>(keys, table, offset, data),
                    Rounds::Fourteen => run::<14, true>(keys, table, offset, data),
                }
            }
        }

        /// See [`super::ocb::OcbKernel::hash`].
        pub(super) fn hash(_token: $token, keys: RoundKeys<'_>, table: &OcbTable, data: &[u8]) -> OcbSums {
            // SAFETY: the token proves every feature that the kernel is compiled for.
            unsafe {
                match keys.rounds() {
                    Rounds::Ten => run_hash::<10>(keys, table, data),
                    Rounds::Twelve => run_hash::<12>(keys, table, data),
                    Rounds::Fourteen => run_hash::<14>(keys, table, data),
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod blocks_vaes;
#[cfg(target_arch = "x86_64")]
pub(crate) mod cfb_vaes;
#[cfg(target_arch = "x86_64")]
mod ctr_vaes;
pub(crate) mod eax;
#[cfg(target_arch = "x86_64")]
mod eax_ni;
pub(crate) mod gcm;
#[cfg(target_arch = "x86_64")]
mod gcm_vaes;
#[cfg(target_arch = "x86_64")]
mod ghash_wide;
#[cfg(target_arch = "x86_64")]
mod ni;
pub(crate) mod ocb;
#[cfg(target_arch = "x86_64")]
mod ocb_ni;
mod ocb_portable;
#[cfg(target_arch = "x86_64")]
mod ocb_vaes;
pub(crate) mod streams;
#[cfg(target_arch = "x86_64")]
mod streams_ni;
#[cfg(target_arch = "x86_64")]
mod streams_vaes;
#[cfg(target_arch = "x86_64")]
mod vaes;
#[cfg(target_arch = "x86_64")]
mod vector;
pub(crate) mod wrap;
#[cfg(target_arch = "x86_64")]
mod wrap_ni;
#[cfg(target_arch = "x86_64")]
mod wrap_vaes;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use super::absent::aes::{
    blocks_vaes, cfb_vaes, ctr_vaes, eax_ni, gcm_vaes, ghash_wide, ocb_ni, ocb_vaes, streams_ni,
    streams_vaes, wrap_ni, wrap_vaes,
};
use super::aws_lc::aes::AesSchedule;
use super::cpu::Cpu;

/// From this many bytes of one stream on, ECB and deciphering CBC on 512-bit vectors are faster than the library's
/// eight blocks in flight. For less text, spreading the round keys costs more than it gains.
const WIDE_BYTES_MIN: usize = 256;

/// ECB over whole blocks, in the direction of the schedule.
#[inline]
pub(crate) fn ecb(cpu: Cpu, schedule: &AesSchedule, encipher: bool, data: &mut [u8]) {
    debug_assert!(data.len().is_multiple_of(size_of::<Block>()));
    match (cpu.avx512, schedule.round_keys()) {
        (Some(token), Some(keys)) if data.len() >= WIDE_BYTES_MIN => {
            blocks_vaes::ecb(token, keys, encipher, data);
        }
        _ => schedule.ecb(encipher, data),
    }
}

/// CBC over whole blocks, in the direction of the schedule; updates the chaining value `chain`.
#[inline]
pub(crate) fn cbc(cpu: Cpu, schedule: &AesSchedule, encipher: bool, chain: &mut Block, data: &mut [u8]) {
    debug_assert!(data.len().is_multiple_of(size_of::<Block>()));
    match (cpu.avx512, schedule.round_keys()) {
        (Some(token), Some(keys)) if !encipher && data.len() >= WIDE_BYTES_MIN => {
            blocks_vaes::cbc_decipher(token, keys, chain, data);
        }
        _ => schedule.cbc(encipher, chain, data),
    }
}

/// CTR with a big-endian counter of 128 bits, which starts at `counter`; that becomes the next unused value. The
/// schedule must be for enciphering.
#[inline]
pub(crate) fn ctr(cpu: Cpu, schedule: &AesSchedule, counter: &mut Block, data: &mut [u8]) {
    if let (Some(token), Some(keys)) = (cpu.avx512, schedule.round_keys()) {
        return ctr_vaes::ctr(token, keys, counter, data);
    }
    schedule.ctr(counter, data);
}

/// One block of AES.
pub(crate) type Block = [u8; 16];

/// At most this many round keys in one schedule: one before the first round, and one for each of 14 rounds.
pub(crate) const ROUND_KEYS_MAX: usize = 15;

/// The round keys of one schedule in the form of the AES instructions; keys after the last are zeros.
#[derive(Clone, Copy)]
pub(crate) struct RoundKeys<'a> {
    blocks: &'a [Block; ROUND_KEYS_MAX],
    rounds: Rounds,
}

/// The number of rounds for a key length (FIPS 197, table 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rounds {
    Ten,
    Twelve,
    Fourteen,
}

impl Rounds {
    /// All numbers of rounds, least first.
    pub(crate) const ALL: [Rounds; 3] = [Rounds::Ten, Rounds::Twelve, Rounds::Fourteen];

    /// The number of rounds as an integer.
    #[inline]
    pub(crate) const fn count(self) -> usize {
        match self {
            Rounds::Ten => 10,
            Rounds::Twelve => 12,
            Rounds::Fourteen => 14,
        }
    }
}

impl<'a> RoundKeys<'a> {
    /// Round keys in the processor's form. Only `aws_lc::aes` knows where these lie in a schedule.
    #[inline]
    pub(super) fn new(blocks: &'a [Block; ROUND_KEYS_MAX], rounds: Rounds) -> RoundKeys<'a> {
        RoundKeys { blocks, rounds }
    }

    /// The number of rounds of these keys.
    #[inline]
    pub(crate) fn rounds(self) -> Rounds {
        self.rounds
    }

    /// The cipher key of an enciphering schedule, which begins with it (FIPS 197, 5.2).
    pub(crate) fn key(self) -> &'a [u8] {
        &self.blocks.as_flattened()[..4 * (self.rounds.count() - 6)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low::aws_lc::aes::AesSchedule;

    fn double(byte: u8) -> u8 {
        (byte << 1) ^ ((byte >> 7) * 0x1b)
    }

    fn multiply(mut a: u8, mut b: u8) -> u8 {
        let mut product = 0;
        while b != 0 {
            product ^= (b & 1) * a;
            a = double(a);
            b >>= 1;
        }
        product
    }

    /// FIPS 197, 5.1.1: the inverse in GF(2^8), then the affine map.
    fn substitute(byte: u8) -> u8 {
        let inverse = (0..=255).find(|other| multiply(byte, *other) == 1).unwrap_or(0);
        (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn))
    }

    /// FIPS 197, 5.2.
    fn expand(key: &[u8]) -> Vec<Block> {
        let length = key.len() / 4;
        let mut words: Vec<[u8; 4]> = key.chunks(4).map(|word| word.try_into().unwrap()).collect();
        let mut constant = 1;
        while words.len() < 4 * (length + 7) {
            let mut word = words[words.len() - 1];
            if words.len().is_multiple_of(length) {
                word.rotate_left(1);
                word = word.map(substitute);
                word[0] ^= constant;
                constant = double(constant);
            } else if length == 8 && words.len() % length == 4 {
                word = word.map(substitute);
            }
            let before = words[words.len() - length];
            words.push([0, 1, 2, 3].map(|at| word[at] ^ before[at]));
        }
        words.chunks(4).map(|block| block.concat().try_into().unwrap()).collect()
    }

    /// FIPS 197, 5.3.3.
    fn unmix(block: Block) -> Block {
        let row = [14, 11, 13, 9];
        std::array::from_fn(|at| {
            (0..4).fold(0, |sum, k| sum ^ multiply(row[(k + 4 - at % 4) % 4], block[at / 4 * 4 + k]))
        })
    }

    /// The library's schedules hold the round keys of FIPS 197, in the order that the instructions need.
    #[test]
    fn round_keys_are_those_of_the_standard() {
        for key_bytes in [16, 24, 32] {
            for first in 0..20u8 {
                let key: Vec<u8> = (0..key_bytes).map(|at| (first ^ 0x5a).wrapping_mul(2 * at + 1)).collect();
                let mut expected = expand(&key);
                let mut schedule = AesSchedule::empty();
                assert!(schedule.round_keys().is_none());
                assert!(schedule.set_encipher(&key));
                let Some(keys) = schedule.round_keys() else { return };
                assert_eq!(keys.rounds().count() + 1, expected.len());
                assert_eq!(keys.blocks[..expected.len()], expected);
                assert_eq!(keys.key(), key);
                assert!(schedule.set_decipher(&key));
                expected.reverse();
                let last = expected.len() - 1;
                expected[1..last].iter_mut().for_each(|block| *block = unmix(*block));
                assert_eq!(schedule.round_keys().unwrap().blocks[..=last], expected);
            }
        }
    }
}
