//! SHA-512 (FIPS 180-4, 6.4) of many texts side by side, one in each 64-bit word of a vector. SHA-384 differs only in
//! its initial chaining value.
//!
//! Built like SHA-256: the same order of sums, vectors of half as many words, 80 rounds for a block of 128 bytes.
//! Nanoseconds a text for HMAC of 1,424 bytes, on AMD Zen 5 without instructions for SHA-512, where the library takes
//! 1,950:
//!
//! | texts | 2 | 3 | 4 | 8 | 47 |
//! |---|---|---|---|---|---|
//! | `wide_avx512`, 8 lanes | 1,240 | 840 | 640 | 330 | 330 |
//! | `wide_avx2`, 4 lanes | | 1,550 | 1,160 | 1,150 | 1,150 |

#[cfg(test)]
use super::plain;
use super::{Kernel, LaneState, Texts, shortest};
#[cfg(not(target_arch = "x86_64"))]
use crate::low::absent::sha::{wide_avx2, wide_avx512};
use crate::low::aws_lc::hash::compress_alone_wide;
use crate::low::cpu::{Avx2, Avx512, Cpu};
#[cfg(target_arch = "x86_64")]
use {super::wide_avx2, super::wide_avx512};

/// From this many texts on, each kernel is faster than the library, one text after another.
const AVX512_PAYS: usize = 2;
const AVX2_PAYS: usize = 3;

/// A kernel that the processor can run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sha512Lanes(Set);

#[derive(Clone, Copy, Debug)]
enum Set {
    Avx512(Avx512),
    Avx2(Avx2),
    #[cfg(test)]
    Plain,
}

impl Sha512Lanes {
    /// The fastest kernel for this many texts; `None` if hashing them one after another is faster.
    pub(crate) fn of(cpu: Cpu, texts: usize) -> Option<Sha512Lanes> {
        match cpu {
            Cpu { avx512: Some(token), .. } if texts >= AVX512_PAYS => Some(Sha512Lanes(Set::Avx512(token))),
            Cpu { avx512: None, avx2: Some(token), .. } if texts >= AVX2_PAYS => {
                Some(Sha512Lanes(Set::Avx2(token)))
            }
            _ => None,
        }
    }
}

impl Kernel<128> for Sha512Lanes {
    type Word = u64;

    fn for_texts(self, cpu: Cpu, texts: usize) -> Option<Sha512Lanes> {
        Sha512Lanes::of(cpu, texts)
    }

    fn lanes(self) -> usize {
        match self.0 {
            Set::Avx512(_) => 8,
            Set::Avx2(_) => 4,
            #[cfg(test)]
            Set::Plain => super::SHA_LANES_MAX,
        }
    }

    fn compress(self, state: &mut LaneState<u64>, texts: &Texts<'_, 128>) -> usize {
        let blocks = shortest(texts);
        // SAFETY: the tokens say that the processor has these instructions; every text has so many blocks.
        unsafe {
            match self.0 {
                Set::Avx512(token) => wide_avx512::sha512(token, state, texts, blocks),
                Set::Avx2(token) => wide_avx2::sha512(token, state, texts, blocks),
                #[cfg(test)]
                Set::Plain => plain::sha512(state, texts, blocks),
            }
        }
        blocks
    }

    fn compress_alone(self, words: &mut [u64; 8], blocks: &[[u8; 128]]) {
        compress_alone_wide(words, blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::super::SHA_LANES_MAX;
    use super::super::constants::{SHA384_START, SHA512_START};
    use super::*;

    /// Compares each kernel with the plain twin; the texts of the lanes differ in content and place in memory.
    #[test]
    fn every_lane_gets_what_the_plain_twin_gives() {
        let bytes: Vec<u8> = (0..40_000u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 19) as u8).collect();
        let kernels = [Sha512Lanes::of(Cpu::up_to_avx512(), 8), Sha512Lanes::of(Cpu::up_to_avx2(), 4)];
        for kernel in kernels.into_iter().flatten() {
            for blocks in [0, 1, 2, 3, 17] {
                // One text has exactly `blocks` blocks, the others have more.
                let texts: Texts<'_, 128> = std::array::from_fn(|lane| {
                    let more = (lane * 7 + blocks) % 16 % 5;
                    &bytes[lane * 1301..].as_chunks::<128>().0[..blocks + more]
                });
                assert_eq!(shortest(&texts), blocks);
                let mut state = LaneState::zero();
                for lane in 0..SHA_LANES_MAX {
                    state.set_lane(lane, &[0x0123_4567_89ab_cdef_u64.wrapping_mul(lane as u64 + 1); 8]);
                }
                let mut plain_state = LaneState(state.0);
                assert_eq!(Sha512Lanes(Set::Plain).compress(&mut plain_state, &texts), blocks);
                assert_eq!(kernel.compress(&mut state, &texts), blocks);
                for lane in 0..kernel.lanes() {
                    assert_eq!(state.lane(lane), plain_state.lane(lane), "{kernel:?} {lane}");
                }
            }
        }
    }

    /// Tests the twin itself, and the library's code for one text: FIPS 180-2, C.1 and D.1.
    #[test]
    fn the_plain_twin_gives_the_published_digests() {
        let mut block = [[0; 128]];
        block[0][..4].copy_from_slice(b"abc\x80");
        block[0][127] = 24;
        for (start, words) in [
            (&SHA512_START, [0xddaf35a193617aba, 0xcc417349ae204131, 0x12e6fa4e89a97ea2]),
            (&SHA384_START, [0xcb00753f45a35e8b, 0xb5a03d699ac65007, 0x272c32ab0eded163]),
        ] {
            let mut state = LaneState::zero();
            state.set_lane(15, start);
            Sha512Lanes(Set::Plain).compress(&mut state, &[&block; SHA_LANES_MAX]);
            assert_eq!(state.lane(15)[..3], words);
            let mut alone = *start;
            Sha512Lanes(Set::Plain).compress_alone(&mut alone, &block);
            assert_eq!(alone, state.lane(15));
        }
    }
}
