//! DES (FIPS 46-3) without lookup tables in memory, in forms that process many blocks at once.
//!
//! | form | lanes of a pass | instructions | best for |
//! |---|---|---|---|
//! | `rows_avx512` | 8, 16, 24 | AVX-512 | one stream, and few |
//! | `byte_sliced_avx512` | 64 | AVX-512 | some: a pass is short |
//! | `bit_sliced_avx512` | 512 | AVX-512 | many blocks |
//! | `rows_avx2` | any number up to 16 | AVX2 | one stream, and few, without AVX-512 |
//! | `bit_sliced_avx2` | 256 | AVX2 | many blocks without AVX-512 |
//! | `bit_sliced_portable` | 64 | 64-bit words | some blocks without AVX-512, all without vectors |
//!
//! The time of every form depends only on the number of passes (of lanes, for `rows_avx2`), not on keys and texts: no
//! branch and no address depends on these. A lane is a place in a pass: one block under a key of its own. A block is
//! eight bytes; bit 1 of the standard is the top bit of byte 0. Parity bits of keys are ignored.
//!
//! A *program* is the chain of single-DES operations that a block goes through: DES is one stage, triple DES three, the
//! last step of X9.19 two. The forms do not know what a program is for.
//!
//! Schedules, states and all staged text are wiped. Intermediate words that the compiler moves from registers to the
//! stack within a round are not. A process that must not leave these in memory needs a stack in secret memory.
//!
//! Times and cycles in these files are measured on AMD Zen 5 at 4.3 GHz unless another processor is named.

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

/// A block of DES.
pub(crate) type Block = [u8; 8];

/// Length of a block in bytes.
pub(crate) const BLOCK_BYTES: usize = size_of::<Block>();

/// Blocks of a [`Piece`]: a cache line.
pub(crate) const PIECE_BLOCKS: usize = 8;

/// Eight consecutive blocks of one stream, copied out of it: an incomplete line, a line with padding, or a line of
/// streams that end at different times. Other whole lines are not copied ([`lines`]).
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Piece(pub(crate) [Block; PIECE_BLOCKS]);

/// Overwrites pieces with zeros in a way that the compiler may not leave out.
pub(crate) fn wipe_pieces(pieces: &mut [Piece]) {
    let (start, bytes) = (pieces.as_mut_ptr().cast(), size_of_val(pieces));
    // SAFETY: the bytes of one exclusive slice of a type that is bytes without padding.
    super::wipe_bytes(unsafe { std::slice::from_raw_parts_mut(start, bytes) });
}

/// The bytes of a key of one to three parts; wiped when dropped.
#[repr(align(8))]
pub(crate) struct KeyBytes(pub(crate) [Block; KEYS_MAX]);

impl Drop for KeyBytes {
    /// Wipes with three stores, since keys are made for each request.
    #[inline]
    fn drop(&mut self) {
        let words: *mut [u64; KEYS_MAX] = std::ptr::from_mut(self).cast();
        // SAFETY: an exclusive reference to as many bytes, aligned for words. The store is volatile, so the
        // compiler may not leave it out.
        unsafe { words.write_volatile([0; KEYS_MAX]) }
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// The number of keys that a program can name.
pub(crate) const KEYS_MAX: usize = 3;

/// One single-DES operation: the index of its key, and its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stage {
    /// Index of the key, below [`KEYS_MAX`].
    pub(crate) key: usize,
    /// Whether the stage enciphers; else it deciphers.
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

/// A form of DES: a fixed number of lanes in one pass, each with a key of its own or all with the same.
pub(crate) trait Form: Sized {
    /// The number of lanes in one pass.
    const LANES: usize;
    /// Proof that the processor has the kernel's instructions.
    type Token: Copy;
    /// Schedules of up to [`KEYS_MAX`] keys for all lanes. Only schedules that were set may be read, and these are
    /// wiped when dropped.
    type Keys;

    /// Room for keys, without any. Costs nothing.
    fn empty_keys(token: Self::Token) -> Self::Keys;

    /// Sets a key per lane, at most [`Form::LANES`]; lanes beyond may have any key.
    fn set_keys(token: Self::Token, keys: &mut Self::Keys, index: usize, own: &[Block]);

    /// Sets the same key for every lane.
    fn set_key(token: Self::Token, keys: &mut Self::Keys, index: usize, key: &Block);

    /// Runs the program on one block per lane in place, at most [`Form::LANES`] blocks.
    fn blocks(token: Self::Token, keys: &Self::Keys, program: &[Stage], blocks: &mut [Block]);

    /// A MAC for each lane, at most [`Form::LANES`]. `chains` holds the blocks before the texts on entry, and on return
    /// the last chaining values after the last step.
    fn macs<T: Texts>(token: Self::Token, keys: &Self::Keys, macs: &Macs<'_, T>, chains: &mut [Block]);

    /// MDC-2, or MDC-4, of up to [`mdc::MDC_TEXTS_MAX`] texts side by side, in two lanes each. Takes as many blocks of
    /// each text as the shortest has. Each text has a state: the code before on entry, the code after on return.
    fn mdc(token: Self::Token, four: bool, states: &mut [Pair], texts: &[&[Block]]) {
        mdc::in_passes::<Self>(token, four, states, texts);
    }

    /// CBC of one stream per lane: lane `i` enciphers the first `count` blocks (1 to [`PIECE_BLOCKS`]) of `pieces[i]`
    /// in place. `chains[i]` is the block before on entry, and the last of the `count` ciphertext blocks on return.
    /// There are as many chains as pieces, at most [`Form::LANES`].
    fn cbc_encipher(
        token: Self::Token,
        keys: &Self::Keys,
        program: &[Stage],
        chains: &mut [Block],
        pieces: &mut [Piece],
        count: usize,
    );

    /// CBC of one stream per lane over `pieces` whole pieces of each, which are read and written in place. `chains[i]`
    /// is the block before on entry, and the last ciphertext block on return. There are as many chains as lanes, one to
    /// [`Form::LANES`]; each lane has at least `pieces` lines.
    fn cbc_lines<L: Lines + ?Sized>(
        token: Self::Token,
        keys: &Self::Keys,
        program: &[Stage],
        chains: &mut [Block],
        lines: &mut L,
        pieces: usize,
    );

    /// ECB of any number of whole blocks of one stream in place, all lanes under the same key.
    fn ecb(token: Self::Token, keys: &Self::Keys, program: &[Stage], data: &mut [u8]);

    /// CBC decipherment of any number of whole blocks of one stream in place, all lanes under the same key. `chain` is
    /// the block before on entry, and the last ciphertext block on return.
    fn cbc_decipher(
        token: Self::Token,
        keys: &Self::Keys,
        program: &[Stage],
        chain: &mut Block,
        data: &mut [u8],
    );

    /// CTR over one stream of any length in place, all lanes under the same key. The counter is the whole block,
    /// big-endian, and wraps; `counter` becomes the next unused value.
    fn ctr(token: Self::Token, keys: &Self::Keys, program: &[Stage], counter: &mut u64, data: &mut [u8]);
}
