//! GCM (SP 800-38D) of texts of up to some KiB, with nonces of 96 bits: counters and hash in one pass, and as few
//! reductions as there can be.
//!
//! GHASH is POLYVAL of byte-reversed blocks under a hash key doubled once (RFC 8452, appendix A), so products are
//! reduced as in `low::polyval`. Each block is multiplied by its own power of the hash key. The 256-bit products of up
//! to 36 blocks are added before one reduction:
//!
//! ```text
//! blocks of the cipher    E(0)  E(1)  E(2)  E(3) | E(4)  E(5) ..      of nonce || counter
//! blocks of the hash      A'    A     C1    C2   | C3    C4   ..  CL
//! under the powers        H^L+3                                   H^2     and the lengths under H
//! ```
//!
//! 1. Counters begin at 0, which is not used: two XORs of the nonce with constants in memory give the counters of a
//!    pass of 32 blocks. E(1), which hides the tag, is enciphered with the first text.
//! 2. The two places before the text take the last two blocks of additional data (A, and A' if there are two), so up to
//!    32 bytes of it cost nothing. Earlier blocks of longer data are hashed before, and their sum is added to A'.
//! 3. The sums begin with the product of the lengths, which is known long before the text.
//! 4. A pass is compiled for each possible number of vectors, so that all of them stay in registers and only the last
//!    one is masked.
//! 5. While a text is enciphered, the ciphertext of the pass before is hashed beside the rounds of the cipher; a text
//!    of one pass is hashed in two halves. So both units are busy. A text to decipher is its own ciphertext, and hashed
//!    at once.
//! 6. A batch is one text after the other. No text waits for the one before, and the processor looks far enough ahead
//!    to begin the next text while the sums of this one are brought to 128 bits.
//!
//! Limits on Intel: in addition to the 10 instructions of AES-128, a vector of 64 bytes takes four products and five
//! others on the same two ports. The maximum is 64 bytes in 10 cycles, 26.6 GB/s at 4.16 GHz; with products every other
//! cycle (AMD Zen 5), 64 bytes in 8. On Intel a text of 64 bytes takes 49 cycles in a batch and 148 alone, 256 bytes
//! 80, 512 bytes 142, 1,424 bytes 331 and 4 KiB 815, which is 79 % of that.
//!
//! Tried and dropped: the head of the text under a mask (the next load from the same 64 bytes waits until a masked
//! store is done: 13 ns a text); the last pass in two parts as well (315 cycles for 1 KiB instead of 252); each pass
//! enciphered as a whole before the one before is hashed (the scheduler fills with rounds that wait for each other:
//! 1,050 cycles for 4 KiB); pieces passed to a hash that runs one text behind the cipher (92 cycles for 256 bytes, but
//! 58 for 64 and slower when alone); texts moved by value through the kernel (25 cycles, for pointers stored as words
//! and read as vectors).

use super::{Block, RoundKeys};
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::{Avx512, Cpu};
use crate::low::{polyval, wipe, wipe_block};

/// The number of blocks in one pass.
pub(super) const PASS_BLOCKS: usize = 32;
/// Powers of the hash key: one for each block of a pass, four for the vector before the first, and one for the lengths.
pub(super) const POWERS: usize = PASS_BLOCKS + 4 + 1;
/// Entries of the table: the powers, then zeros up to the end of the last vector that is read.
pub(in crate::low) const ENTRIES: usize = POWERS + 3;

/// At most this many bytes of text in one request: the library is faster for texts somewhat longer.
pub(crate) const TEXT_BYTES_MAX: usize = 4096;
/// Length of the nonce in bytes.
pub(crate) const NONCE_BYTES: usize = 12;

/// Powers of the hash key, the highest first, then zeros; wiped when dropped.
pub(crate) struct GcmTable {
    pub(super) powers: [Block; ENTRIES],
}

impl GcmTable {
    /// A table of zeros, to be filled in place.
    pub(crate) const fn empty() -> GcmTable {
        GcmTable { powers: [[0; 16]; ENTRIES] }
    }
}

impl Drop for GcmTable {
    fn drop(&mut self) {
        // SAFETY: blocks are plain bytes.
        unsafe { wipe(&mut self.powers) }
    }
}

/// The GCM kernel on 512-bit vectors.
#[derive(Clone, Copy)]
pub(crate) struct GcmKernel(Avx512);

impl GcmKernel {
    /// `None` if only the library can do GCM here.
    #[inline]
    pub(crate) fn choose(cpu: Cpu) -> Option<GcmKernel> {
        if !crate::low::aws_lc::internal::aes_hardware() {
            return None;
        }
        cpu.avx512.map(GcmKernel)
    }

    /// Fills the table for a key. The schedule must be for enciphering.
    pub(crate) fn fill(self, schedule: &AesSchedule, table: &mut GcmTable) {
        let mut key = [0; 16];
        schedule.ecb(true, &mut key);
        key.reverse();
        polyval::double(&mut key);
        super::ghash_wide::powers(self.0, &key, &mut table.powers);
        wipe_block(&mut key);
    }

    /// Enciphers every text in place and writes its tag.
    #[inline]
    pub(crate) fn seal<'a>(self, texts: impl Iterator<Item = GcmText<'a>>) {
        super::gcm_vaes::seal(self.0, texts);
    }

    /// Deciphers a text in place and writes the expected tag. The caller compares the tag, and wipes the text if it is
    /// wrong.
    #[inline]
    pub(crate) fn open(self, text: GcmText<'_>) {
        super::gcm_vaes::open(self.0, text);
    }
}

/// One text of a batch.
pub(crate) struct GcmText<'a> {
    /// The round keys of an enciphering schedule.
    pub(crate) keys: RoundKeys<'a>,
    /// The powers of the hash key of the same key.
    pub(crate) table: &'a GcmTable,
    pub(crate) nonce: &'a [u8; NONCE_BYTES],
    /// Additional data: authenticated but not enciphered.
    pub(crate) aad: &'a [u8],
    /// The text, of at most [`TEXT_BYTES_MAX`] bytes.
    pub(crate) data: &'a mut [u8],
    /// Receives the tag.
    pub(crate) tag: &'a mut Block,
}

#[cfg(test)]
mod tests {
    use super::*;
    use seeded::Random;
    use std::mem::MaybeUninit;

    fn schedule(key: &[u8]) -> AesSchedule {
        let mut schedule = AesSchedule::empty();
        assert!(schedule.set_encipher(key));
        schedule
    }

    fn absorb(key: &Block, sum: &mut Block, bytes: &[u8]) {
        for part in bytes.chunks(16) {
            let mut block = [0; 16];
            block[..part.len()].copy_from_slice(part);
            block.reverse();
            polyval::absorb(Cpu::PORTABLE, key, sum, &[block]);
        }
    }

    /// SP 800-38D, 7.1, block by block: the text under the key stream, and the tag of the ciphertext `cipher`.
    fn plainly(
        schedule: &AesSchedule,
        nonce: &[u8],
        aad: &[u8],
        text: &[u8],
        is_cipher: bool,
    ) -> (Vec<u8>, Block) {
        let stream = |counter: u32| {
            let mut block: Block = [nonce, &counter.to_be_bytes()].concat().try_into().unwrap();
            schedule.ecb(true, &mut block);
            block
        };
        let mut out = text.to_vec();
        for (part, counter) in out.chunks_mut(16).zip(2..) {
            part.iter_mut().zip(stream(counter)).for_each(|(byte, key)| *byte ^= key);
        }
        let (mut key, mut sum) = ([0; 16], [0; 16]);
        schedule.ecb(true, &mut key);
        key.reverse();
        polyval::double(&mut key);
        absorb(&key, &mut sum, aad);
        absorb(&key, &mut sum, if is_cipher { text } else { &out });
        let lengths = [8 * aad.len() as u64, 8 * text.len() as u64].map(u64::to_be_bytes);
        absorb(&key, &mut sum, lengths.as_flattened());
        sum.reverse();
        sum.iter_mut().zip(stream(1)).for_each(|(byte, key)| *byte ^= key);
        (out, sum)
    }

    /// Every text length up to some passes, and additional data up to some blocks and beyond a pass. Nothing around the
    /// text is touched, at any alignment.
    #[test]
    fn every_length_agrees_with_the_plain_form() {
        let Some(kernel) = GcmKernel::choose(Cpu::up_to_avx512()) else { return };
        let mut random = Random(38);
        for key_bytes in [16, 24, 32] {
            let schedule = schedule(&random.bytes(key_bytes));
            let mut table = GcmTable::empty();
            kernel.fill(&schedule, &mut table);
            let keys = schedule.round_keys().unwrap();
            for bytes in (0..2101).chain([TEXT_BYTES_MAX - 1, TEXT_BYTES_MAX]) {
                let aad_bytes = if bytes % 8 == 0 { random.below(1200) } else { bytes % 65 };
                let (nonce, aad, text) = (random.array(), random.bytes(aad_bytes), random.bytes(bytes));
                let from = random.below(64);
                let place = [vec![0xa5; from], text.clone(), vec![0xa5; 64]].concat();
                let is_untouched = |place: &[u8]| {
                    place[..from].iter().chain(&place[from + bytes..]).all(|byte| *byte == 0xa5)
                };
                let (mut sealed, mut opened, mut tag) = (place.clone(), place, [0; 16]);
                let data = &mut sealed[from..from + bytes];
                let item = GcmText { keys, table: &table, nonce: &nonce, aad: &aad, data, tag: &mut tag };
                kernel.seal(std::iter::once(item));
                let expected = plainly(&schedule, &nonce, &aad, &text, false);
                assert!(sealed[from..from + bytes] == expected.0, "{bytes} bytes");
                assert_eq!(tag, expected.1, "{bytes} bytes, {aad_bytes} beside them");
                let data = &mut opened[from..from + bytes];
                kernel.open(GcmText { keys, table: &table, nonce: &nonce, aad: &aad, data, tag: &mut tag });
                let expected = plainly(&schedule, &nonce, &aad, &text, true);
                assert!(opened[from..from + bytes] == expected.0, "{bytes} bytes");
                assert_eq!(tag, expected.1, "{bytes} bytes, {aad_bytes} beside them, opened");
                assert!(is_untouched(&sealed) && is_untouched(&opened), "{bytes} bytes");
            }
        }
    }

    /// The table holds the powers of the hash key, then zeros.
    #[test]
    fn powers_are_products() {
        let Some(kernel) = GcmKernel::choose(Cpu::up_to_avx512()) else { return };
        for seed in 1..50 {
            let schedule = schedule(&Random(seed).bytes(16));
            let mut table = GcmTable::empty();
            kernel.fill(&schedule, &mut table);
            let (powers, zeros) = table.powers.split_at(POWERS);
            assert!(zeros.iter().all(|block| *block == [0; 16]));
            for pair in powers.windows(2) {
                let mut power = pair[1];
                polyval::absorb(Cpu::PORTABLE, &powers[POWERS - 1], &mut power, &[[0; 16]]);
                assert_eq!(power, pair[0]);
            }
        }
    }

    /// The powers are zeros once the table is dropped.
    #[test]
    fn tables_are_wiped() {
        let Some(kernel) = GcmKernel::choose(Cpu::up_to_avx512()) else { return };
        let mut place = MaybeUninit::new(GcmTable::empty());
        // SAFETY: written by the line above.
        let table = unsafe { place.assume_init_mut() };
        kernel.fill(&schedule(&[0xa5; 32]), table);
        let powers: *const [Block] = &table.powers;
        // SAFETY: blocks inside `place`, which is not given up before the test ends.
        let ones = || unsafe { &*powers }.as_flattened().iter().filter(|byte| **byte != 0).count();
        assert!(ones() > 16 * POWERS / 2);
        // SAFETY: the value is initialised and not used after this.
        unsafe { place.assume_init_drop() };
        assert_eq!(ones(), 0);
    }
}
