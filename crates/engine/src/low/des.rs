//! DES (FIPS 46-3) without tables in memory, in forms that work on many blocks at once.
//!
//! | form | lanes of a pass | instructions | what it is good for |
//! |---|---|---|---|
//! | `rows_avx512` | 8, 16, 24 | AVX-512 | one stream, and few |
//! | `byte_sliced_avx512` | 64 | AVX-512 | some: a pass is short |
//! | `bit_sliced_avx512` | 512 | AVX-512 | many blocks |
//! | `rows_avx2` | 16, as many as there are | AVX2 | one stream, and few, without AVX-512 |
//! | `bit_sliced_avx2` | 256 | AVX2 | many blocks without AVX-512 |
//! | `bit_sliced_portable` | 64 | 64-bit words | some blocks without AVX-512, all without vectors |
//!
//! Every form takes the time that its number of passes (or, of `rows_avx2`, of lanes) takes, whatever keys and texts
//! are: no branch and no address depends on them. A lane is a place of a pass: one block under a key of its own. A
//! block is eight bytes; bit 1 of the standard is the top bit of byte 0. Parity bits of keys are not looked at.
//!
//! A *program* is the chain of single-DES operations that a block goes through: DES is one stage, triple
//! DES three, the last step of X9.19 two. The forms know nothing of what a program means.
//!
//! Schedules, states and all text that is staged are wiped. What the compiler itself moves from registers to the stack
//! within a round, a few intermediate words, is not: a process that must not leave it in memory runs on a stack that
//! is kept secret.
//!
//! Times and cycles in these files are measured on AMD Zen 5 at 4.3 GHz, where no other processor is named.

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use super::absent::des::{
    bit_sliced_avx2, bit_sliced_avx512, byte_sliced_avx512, rows_avx2, rows_avx512,
};

mod bit_sliced;
#[cfg(target_arch = "x86_64")]
pub(crate) mod bit_sliced_avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod bit_sliced_avx512;
pub(crate) mod bit_sliced_portable;
mod bit_sliced_round;
mod bit_sliced_words;
mod circuits_binary;
mod circuits_ternary;
pub(crate) mod key_table;
pub(crate) mod lines;
#[cfg(target_arch = "x86_64")]
mod mac_lines;
pub(crate) mod macs;
pub(crate) mod mdc;
#[cfg(test)]
pub(crate) mod plain;
pub(crate) mod tables;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod transposition;

#[cfg(target_arch = "x86_64")]
pub(crate) mod byte_sliced_avx512;
#[cfg(target_arch = "x86_64")]
mod byte_sliced_keys;
#[cfg(target_arch = "x86_64")]
mod byte_sliced_layout;
#[cfg(target_arch = "x86_64")]
mod byte_sliced_rounds;
#[cfg(target_arch = "x86_64")]
mod byte_sliced_vector;
#[cfg(target_arch = "x86_64")]
pub(crate) mod rows_avx2;
#[cfg(target_arch = "x86_64")]
mod rows_avx2_keys;
#[cfg(target_arch = "x86_64")]
mod rows_avx2_layout;
#[cfg(target_arch = "x86_64")]
mod rows_avx2_rounds;
#[cfg(target_arch = "x86_64")]
mod rows_avx2_vector;
#[cfg(target_arch = "x86_64")]
pub(crate) mod rows_avx512;
#[cfg(target_arch = "x86_64")]
mod rows_keys;
#[cfg(target_arch = "x86_64")]
mod rows_layout;
#[cfg(target_arch = "x86_64")]
mod rows_rounds;
#[cfg(target_arch = "x86_64")]
mod rows_vector;

use lines::Lines;
use macs::{Macs, Texts};
use mdc::Pair;

/// One block.
pub(crate) type Block = [u8; 8];

/// Length of a block in bytes.
pub(crate) const BLOCK_BYTES: usize = size_of::<Block>();

/// Blocks of a [`Piece`]: a cache line.
pub(crate) const PIECE_BLOCKS: usize = 8;

/// Eight consecutive blocks of one stream, apart from it: what is not a whole line of it, padding with it, or one of
/// streams that end at different times. Whole lines stay where they are ([`lines`]).
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Piece(pub(crate) [Block; PIECE_BLOCKS]);

/// Overwrites pieces with zeros in a way that the compiler may not leave out.
pub(crate) fn wipe_pieces(pieces: &mut [Piece]) {
    let (start, bytes) = (pieces.as_mut_ptr().cast(), size_of_val(pieces));
    // SAFETY: the bytes of one exclusive slice of a type that is bytes without padding.
    super::wipe_bytes(unsafe { std::slice::from_raw_parts_mut(start, bytes) });
}

/// The bytes of a key of one to three parts; zero when dropped.
#[repr(align(8))]
pub(crate) struct KeyBytes(pub(crate) [Block; KEYS_MAX]);

impl Drop for KeyBytes {
    /// Three stores: keys come and go with each request.
    #[inline]
    fn drop(&mut self) {
        let words: *mut [u64; KEYS_MAX] = std::ptr::from_mut(self).cast();
        // SAFETY: an exclusive reference to as many bytes, aligned for words. The store is volatile, so the
        // compiler may not leave it out.
        unsafe { words.write_volatile([0; KEYS_MAX]) }
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// Keys that a program can name.
pub(crate) const KEYS_MAX: usize = 3;

/// One single-DES operation: under which of the prepared keys, which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stage {
    /// Index of the key, below [`KEYS_MAX`].
    pub(crate) key: usize,
    /// Enciphers, or deciphers.
    pub(crate) encipher: bool,
}

impl Stage {
    /// Enciphers under the key of this index.
    pub(crate) const fn encipher(key: usize) -> Stage {
        Stage { key, encipher: true }
    }

    /// Deciphers under the key of this index.
    pub(crate) const fn decipher(key: usize) -> Stage {
        Stage { key, encipher: false }
    }
}

/// A form of DES: so many lanes in one pass, each with a key of its own or all with the same.
pub(crate) trait Form: Sized {
    /// Lanes of a pass.
    const LANES: usize;
    /// What enters the kernel.
    type Token: Copy;
    /// Schedules of up to [`KEYS_MAX`] keys for all lanes. Only what was set may be read; what was set is
    /// wiped when it is dropped.
    type Keys;

    /// No keys yet. Costs nothing.
    fn empty_keys(token: Self::Token) -> Self::Keys;

    /// A key per lane, at most [`Form::LANES`]; lanes beyond may have any.
    fn set_keys(token: Self::Token, keys: &mut Self::Keys, index: usize, own: &[Block]);

    /// The same key in every lane.
    fn set_key(token: Self::Token, keys: &mut Self::Keys, index: usize, key: &Block);

    /// One block per lane in place, at most [`Form::LANES`].
    fn blocks(token: Self::Token, keys: &Self::Keys, program: &[Stage], blocks: &mut [Block]);

    /// A MAC for each lane, at most [`Form::LANES`]: `chains` go in as the blocks before the texts and come out as
    /// their last chaining values, through the last step.
    fn macs<T: Texts>(token: Self::Token, keys: &Self::Keys, macs: &Macs<'_, T>, chains: &mut [Block]);

    /// MDC-2, or MDC-4, of up to [`mdc::MDC_TEXTS_MAX`] texts side by side, in two lanes each: as many blocks of each
    /// as the shortest has. As many states as texts, which go in as the codes before and come out as those after.
    fn mdc(token: Self::Token, four: bool, states: &mut [Pair], texts: &[&[Block]]) {
        mdc::in_passes::<Self>(token, four, states, texts);
    }

    /// CBC of one stream per lane: lane `i` enciphers the first `count` blocks (1 to [`PIECE_BLOCKS`]) of
    /// `pieces[i]` in place. `chains[i]` goes in as the block before and comes out as the last of the
    /// `count` blocks of ciphertext. As many chains as pieces, at most [`Form::LANES`].
    fn cbc_encipher(
        token: Self::Token,
        keys: &Self::Keys,
        program: &[Stage],
        chains: &mut [Block],
        pieces: &mut [Piece],
        count: usize,
    );

    /// CBC of one stream per lane over so many whole pieces of each, which are read and written where they lie.
    /// `chains[i]` goes in as the block before and comes out as the last block of ciphertext. As many chains as
    /// lines have lanes, one to [`Form::LANES`]; each lane has so many lines.
    fn cbc_lines<L: Lines + ?Sized>(
        token: Self::Token,
        keys: &Self::Keys,
        program: &[Stage],
        chains: &mut [Block],
        lines: &mut L,
        pieces: usize,
    );

    /// Any number of whole blocks of one stream in place, all lanes under the same key.
    fn ecb(token: Self::Token, keys: &Self::Keys, program: &[Stage], data: &mut [u8]);

    /// CBC decipherment of any number of whole blocks of one stream in place, all lanes under the same key;
    /// `chain` goes in as the block before and comes out as the last block of ciphertext.
    fn cbc_decipher(
        token: Self::Token,
        keys: &Self::Keys,
        program: &[Stage],
        chain: &mut Block,
        data: &mut [u8],
    );

    /// CTR over one stream of any length in place, all lanes under the same key. The whole block counts,
    /// big-endian, and wraps; `counter` comes out as the next unused value.
    fn ctr(token: Self::Token, keys: &Self::Keys, program: &[Stage], counter: &mut u64, data: &mut [u8]);
}
