//! SHA-1 and SHA-256 (FIPS 180-4) of many texts side by side, one in each 32-bit word of a vector, and SHA-512 in words
//! of 64 bits (`wide`).
//!
//! ```text
//! vector of word i:  [ stream 0 | stream 1 | stream 2 | ... | stream 15 ]     AVX2: 8
//!
//! block of each stream -> columns W(0)..W(15) -> 80 (SHA-1) or 64 rounds -> added to the chaining values
//! ```
//!
//! 1. The rounds are the standard's, with a vector for each word. With AVX-512 each function of three words is one
//!    `vpternlogd`, and each rotation one `vprold`. `avx512` explains how blocks become columns.
//! 2. The message schedule keeps sixteen vectors: W(t) replaces W(t - 16).
//! 3. A round waits for the one before it, so the order of its sums matters. Early values are added early, and the
//!    newest word last. For SHA-1, `a' = rotl5(a) + ((e + (W + K)) + f)` needs two operations after a. For SHA-256, `e'
//!    = ((d + (h + (W + K))) + Ch) + Sum1` needs three after e; d is then subtracted again in `a' = ((e' - d) + Maj) +
//!    Sum0`. `fixed` keeps the compiler from summing in another order.
//!
//! Bounds for a block of sixteen lanes, on a core (AMD Zen 5) measured at four vector operations a cycle, two
//! of them rotations, shifts or byte shuffles, each two cycles to its result:
//!
//! | | operations | at four a cycle | chain of the rounds | reached |
//! |---|---|---|---|---|
//! | SHA-1 | 853 | 213 cycles | 80 x 4 = 320 cycles | 380 cycles, 0.84 of the bound |
//! | SHA-256 | 1,784 | 446 cycles | 64 x 6 = 384 cycles | 650 cycles, 0.69 of the bound |
//!
//! Numbers of texts for each kernel, and its speed relative to the library's on one text (with SHA instructions):
//!
//! | | texts | SHA-1 | SHA-256 |
//! |---|---|---|---|
//! | `avx512` | from 7 (SHA-256: 8), best 16 | 5.3 | 3.3 |
//! | `ni`, four side by side | 3 and more | 2.4 | 1.7 |
//! | `ni`, two side by side | 2 | 1.8 | 1.4 |
//! | `avx2`, without SHA instructions | from 4 (SHA-256: 3), best 8 | 1.8 | 0.95 |
//!
//! Tried and dropped:
//! - Sums as the standard writes them: 0.91 of this for SHA-1, 0.78 for SHA-256; the compiler moves `+ K` to
//!   the end of the chain.
//! - The loading as a separate function that both hashes call: 0.98, the rounds begin only after it.
//! - Two sets of 16 lanes side by side, so that one set's chain fills the other's waits, for 32 texts and more. Intel's
//!   cores (Emerald Rapids) start two vector operations a cycle, and a result is ready in the next, so one set fills
//!   the ports: 853 operations are 427 cycles, its chain 160. There two sets' rounds run at 0.83 to 0.94 of the speed
//!   of one after the other (SHA-256: 0.74 to 0.97), since their 42 words do not fit in 32 registers. On Zen 5 a loop
//!   of the rounds alone ran at 1.33 (SHA-256: 0.98); no measurement there justifies the second kernel yet.
//! - AVX2 beside SHA instructions: without rotation and three-input logic it loses to four texts in `ni`, but
//!   without SHA instructions it is 2.6 (SHA-1) and 3.2 (SHA-256) times as fast as the library.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod constants;
#[cfg(target_arch = "x86_64")]
pub(in crate::low) mod ni;
#[cfg(test)]
mod plain;
#[cfg(target_arch = "x86_64")]
mod rounds;
mod wide;
#[cfg(target_arch = "x86_64")]
mod wide_avx2;
#[cfg(target_arch = "x86_64")]
mod wide_avx512;

#[cfg(not(target_arch = "x86_64"))]
use super::absent::sha::{avx2, avx512, ni};
use super::aws_lc::hash::{HashContext, compress_alone};
use super::cpu::{Avx2, Avx512, Cpu, Sha};
use super::wipe;
pub(crate) use wide::Sha512Lanes;

/// At most this many lanes in any kernel here.
pub(crate) const SHA_LANES_MAX: usize = 16;

/// From this many texts on, each kernel is faster than the next narrower one, as measured. The SHA instructions serve
/// fewer texts than the vectors, and the library, one text after another, fewer than those.
const SHA1_AVX512_PAYS: usize = 7;
const SHA256_AVX512_PAYS: usize = 8;
const SHA4_PAYS: usize = 3;
const SHA2_PAYS: usize = 2;
const SHA1_AVX2_PAYS: usize = 4;
const SHA256_AVX2_PAYS: usize = 3;

/// Chaining values of all lanes: row `i` holds word `i` of each lane. SHA-1 uses five rows; a kernel of fewer lanes
/// uses the front of each row. Wiped when dropped.
#[repr(C, align(64))]
pub(crate) struct LaneState<W: Word>([[W; SHA_LANES_MAX]; 8]);

/// The rest of each lane's text, in blocks.
pub(crate) type Texts<'a, const BLOCK: usize = 64> = [&'a [[u8; BLOCK]]; SHA_LANES_MAX];

/// A word of a hash. Any bits are valid for it, and it owns nothing.
pub(crate) trait Word: Copy + 'static {
    const ZERO: Self;
    /// Writes the word big-endian; `bytes` has the word's length.
    fn write(self, bytes: &mut [u8]);
    /// The chaining value of a hash with such words; `None` inside a block.
    fn chaining(context: &HashContext) -> Option<[Self; 8]>;
}

impl Word for u32 {
    const ZERO: u32 = 0;

    #[inline]
    fn write(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_be_bytes());
    }

    #[inline]
    fn chaining(context: &HashContext) -> Option<[u32; 8]> {
        context.chaining_words()
    }
}

impl Word for u64 {
    const ZERO: u64 = 0;

    #[inline]
    fn write(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_be_bytes());
    }

    #[inline]
    fn chaining(context: &HashContext) -> Option<[u64; 8]> {
        context.wide_chaining_words()
    }
}

/// A kernel that the processor can run, for blocks of `BLOCK` bytes.
pub(crate) trait Kernel<const BLOCK: usize>: Copy {
    type Word: Word;

    /// The fastest kernel of its family for this many texts; `None` if hashing them one after another is faster.
    fn for_texts(self, cpu: Cpu, texts: usize) -> Option<Self>;
    /// The number of lanes.
    fn lanes(self) -> usize;
    /// Compresses as many blocks in every lane as the shortest text has; returns that number.
    fn compress(self, state: &mut LaneState<Self::Word>, texts: &Texts<'_, BLOCK>) -> usize;
    /// Compresses the blocks of one text with the library.
    fn compress_alone(self, words: &mut [Self::Word; 8], blocks: &[[u8; BLOCK]]);
}

/// The number of blocks of the shortest text.
fn shortest<const BLOCK: usize>(texts: &Texts<'_, BLOCK>) -> usize {
    texts.iter().map(|text| text.len()).min().unwrap_or(0)
}

/// The 32-bit compression functions; SHA-224 has that of SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShaFamily {
    Sha1,
    Sha256,
}

/// A kernel for one hash family in lanes, which this processor can run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShaLanes {
    family: ShaFamily,
    set: Set,
}

#[derive(Clone, Copy, Debug)]
enum Set {
    Avx512(Avx512),
    Sha4(Sha),
    Sha2(Sha),
    Avx2(Avx2),
    #[cfg(test)]
    Plain,
}

impl<W: Word> LaneState<W> {
    pub(crate) const fn zero() -> LaneState<W> {
        LaneState([[W::ZERO; SHA_LANES_MAX]; 8])
    }

    /// The words of one lane.
    pub(crate) fn lane(&self, lane: usize) -> [W; 8] {
        self.0.each_ref().map(|row| row[lane])
    }

    /// Sets the words of one lane.
    pub(crate) fn set_lane(&mut self, lane: usize, words: &[W; 8]) {
        for (row, word) in self.0.iter_mut().zip(words) {
            row[lane] = *word;
        }
    }
}

impl<W: Word> Drop for LaneState<W> {
    fn drop(&mut self) {
        // SAFETY: plain words.
        unsafe { wipe(&mut self.0) }
    }
}

impl ShaLanes {
    /// The fastest kernel for this many texts; `None` if hashing them one after another is faster.
    pub(crate) fn of(cpu: Cpu, family: ShaFamily, texts: usize) -> Option<ShaLanes> {
        let (avx512_pays, avx2_pays) = match family {
            ShaFamily::Sha1 => (SHA1_AVX512_PAYS, SHA1_AVX2_PAYS),
            ShaFamily::Sha256 => (SHA256_AVX512_PAYS, SHA256_AVX2_PAYS),
        };
        let set = match cpu {
            Cpu { avx512: Some(token), .. } if texts >= avx512_pays => Set::Avx512(token),
            Cpu { sha: Some(token), .. } if texts >= SHA4_PAYS => Set::Sha4(token),
            Cpu { sha: Some(token), .. } if texts >= SHA2_PAYS => Set::Sha2(token),
            Cpu { sha: None, avx2: Some(token), .. } if texts >= avx2_pays => Set::Avx2(token),
            _ => return None,
        };
        Some(ShaLanes { family, set })
    }
}

impl Kernel<64> for ShaLanes {
    type Word = u32;

    fn for_texts(self, cpu: Cpu, texts: usize) -> Option<ShaLanes> {
        ShaLanes::of(cpu, self.family, texts)
    }

    fn lanes(self) -> usize {
        match self.set {
            Set::Avx512(_) => SHA_LANES_MAX,
            Set::Sha4(_) => 4,
            Set::Sha2(_) => 2,
            Set::Avx2(_) => 8,
            #[cfg(test)]
            Set::Plain => SHA_LANES_MAX,
        }
    }

    fn compress(self, state: &mut LaneState<u32>, texts: &Texts<'_>) -> usize {
        let blocks = shortest(texts);
        let is_sha1 = self.family == ShaFamily::Sha1;
        // SAFETY: the tokens say that the processor has these instructions; every text has so many blocks.
        unsafe {
            match self.set {
                Set::Avx512(token) if is_sha1 => avx512::sha1(token, state, texts, blocks),
                Set::Avx512(token) => avx512::sha256(token, state, texts, blocks),
                Set::Sha4(token) if is_sha1 => ni::sha1::<4>(token, state, texts, blocks),
                Set::Sha4(token) => ni::sha256::<4>(token, state, texts, blocks),
                Set::Sha2(token) if is_sha1 => ni::sha1::<2>(token, state, texts, blocks),
                Set::Sha2(token) => ni::sha256::<2>(token, state, texts, blocks),
                Set::Avx2(token) if is_sha1 => avx2::sha1(token, state, texts, blocks),
                Set::Avx2(token) => avx2::sha256(token, state, texts, blocks),
                #[cfg(test)]
                Set::Plain if is_sha1 => plain::sha1(state, texts, blocks),
                #[cfg(test)]
                Set::Plain => plain::sha256(state, texts, blocks),
            }
        }
        blocks
    }

    fn compress_alone(self, words: &mut [u32; 8], blocks: &[[u8; 64]]) {
        compress_alone(self.family, words, blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares each kernel with the plain twin; the texts of the lanes differ in content and place in memory.
    #[test]
    fn every_lane_gets_what_the_plain_twin_gives() {
        let bytes: Vec<u8> = (0..40_000u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 19) as u8).collect();
        for family in [ShaFamily::Sha1, ShaFamily::Sha256] {
            let avx2 = Cpu::up_to_avx2();
            let kernels = [
                ShaLanes::of(Cpu::up_to_avx512(), family, 16),
                ShaLanes::of(avx2, family, 4),
                ShaLanes::of(avx2, family, 2),
                ShaLanes::of(Cpu { sha: None, ..avx2 }, family, 8),
            ];
            for kernel in kernels.into_iter().flatten() {
                for blocks in [0, 1, 2, 3, 17] {
                    // One text has exactly `blocks` blocks, the others have more.
                    let texts: Texts<'_> = std::array::from_fn(|lane| {
                        let more = (lane * 7 + blocks) % 16 % 5;
                        &bytes[lane * 1301..].as_chunks::<64>().0[..blocks + more]
                    });
                    assert_eq!(texts.iter().map(|text| text.len()).min(), Some(blocks));
                    let mut state = LaneState::zero();
                    for lane in 0..SHA_LANES_MAX {
                        state.set_lane(lane, &[0x0123_4567u32.wrapping_mul(lane as u32 + 1); 8]);
                    }
                    let mut plain_state = LaneState(state.0);
                    let plain = ShaLanes { family, set: Set::Plain };
                    assert_eq!(plain.compress(&mut plain_state, &texts), blocks);
                    assert_eq!(kernel.compress(&mut state, &texts), blocks);
                    let words = if family == ShaFamily::Sha1 { 5 } else { 8 };
                    for lane in 0..kernel.lanes() {
                        assert_eq!(
                            state.lane(lane)[..words],
                            plain_state.lane(lane)[..words],
                            "{kernel:?} {lane}"
                        );
                    }
                }
            }
        }
    }

    /// Tests the twin itself: FIPS 180-2, A.1 and B.1.
    #[test]
    fn the_plain_twin_gives_the_published_digests() {
        let mut block = [[0; 64]];
        block[0][..4].copy_from_slice(b"abc\x80");
        block[0][63] = 24;
        let digest = |family, start| {
            let mut state = LaneState::zero();
            state.set_lane(15, start);
            ShaLanes { family, set: Set::Plain }.compress(&mut state, &[&block; SHA_LANES_MAX]);
            state.lane(15)
        };
        let sha1 = digest(ShaFamily::Sha1, &constants::SHA1_START);
        assert_eq!(sha1[..5], [0xa9993e36, 0x4706816a, 0xba3e2571, 0x7850c26c, 0x9cd0d89d]);
        let sha256 = digest(ShaFamily::Sha256, &constants::SHA256_START);
        assert_eq!(sha256[..4], [0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223]);
        assert_eq!(sha256[4..], [0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad]);
    }
}
