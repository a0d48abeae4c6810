//! The operations that bit-sliced DES needs of a word, and the conversion of blocks to words and back.

use super::super::wipe;
use super::bit_sliced_round::{SCHEDULE, WINDOW};
use super::lines::Lines;
use super::{BLOCK_BYTES, Block, PIECE_BLOCKS, Piece};
use std::array;
use std::mem::MaybeUninit;

/// A word of one-bit lanes, which can be added and multiplied.
pub(crate) trait Lanes: Copy {
    /// The sum of each lane.
    fn xor(self, other: Self) -> Self;
    /// The product of each lane.
    fn and(self, other: Self) -> Self;
    /// A word that repeats these 64 bits; the value of `self` is ignored.
    fn like(self, bits: u64) -> Self;
}

/// A word with gates of three inputs.
pub(super) trait Ternary: Lanes {
    /// The gate FUNCTION in each lane: its bit `4a + 2b + c`.
    fn lut3<const FUNCTION: i32>(a: Self, b: Self, c: Self) -> Self;
}

/// A word with gates of two inputs.
pub(super) trait Binary: Lanes {
    /// a OR b in each lane.
    fn or(self, other: Self) -> Self;
    /// a AND NOT b in each lane.
    fn and_not(self, other: Self) -> Self;
    /// The complement of each lane.
    fn not(self) -> Self;
}

/// Operations on states of words. All but the first function enter the kernel.
///
/// Blocks are in memory in 64 rows of [`Word::BLOCKS`], side by side or at a distance ([`Rows`]). Block `i` of the pass
/// is number `i` in the order of rows.
///
/// # Safety
/// A word is plain bits without padding: every pattern is valid, and it owns nothing. [`Word::schedule`] and
/// [`Word::schedule_of_one`] write every word of the schedule, which is then read as a whole.
pub(crate) unsafe trait Word: Lanes {
    /// Proof that the processor has the kernel's instructions. A word is made only with it, so a word proves it too.
    type Token: Copy;
    /// Memory for one block per lane.
    type Pass: AsMut<[Block]>;
    /// Memory for one piece per lane.
    type Pieces: AsMut<[Piece]>;
    /// Blocks of a row.
    const BLOCKS: usize;

    /// The outputs of S-box `BOX`, counted from 0, added to bits of the left half. A part of [`Word::round`].
    fn s_box<const BOX: usize>(inputs: [Self; 6], left: [Self; 4]) -> [Self; 4];

    /// A pass of zeros.
    fn no_pass() -> Self::Pass;

    /// Pieces of zeros.
    fn no_pieces() -> Self::Pieces;

    /// Slices 64 rows of blocks into the state's words. If there are rows `before`, each is added to its row first.
    fn load(token: Self::Token, rows: Rows<'_>, before: Option<Rows<'_>>, state: Halves<'_, Self>);

    /// Adds the words of another state to those of this one.
    fn add(token: Self::Token, state: Halves<'_, Self>, other: Halves<'_, Self>);

    /// The reverse of [`Word::load`]: row `r` goes to block `r * stride`. The state is not usable afterwards.
    fn store(token: Self::Token, state: Halves<'_, Self>, blocks: &mut [Block], stride: usize, merge: Merge);

    /// Makes slices of consecutive counter blocks, of which `first` is the first.
    fn count(token: Self::Token, first: u64, state: Halves<'_, Self>);

    /// Makes the schedule of the keys that were loaded as blocks.
    fn schedule(token: Self::Token, state: Halves<'_, Self>, schedule: &mut [MaybeUninit<Self>; SCHEDULE]);

    /// Makes the schedule of one key for all lanes.
    fn schedule_of_one(token: Self::Token, key: u64, schedule: &mut [MaybeUninit<Self>; SCHEDULE]);

    /// Adds f(right, key) to the left half.
    fn round(token: Self::Token, left: &mut [Self; 32], right: &[Self; 32], key: &[Self; WINDOW]);

    /// Transposes lanes and blocks in each [`Word::BLOCKS`] pieces: their eight rows are then the first block of each,
    /// the second block of each, and so on.
    fn turn(token: Self::Token, pieces: &mut [Piece]);

    /// The reverse of [`Word::turn`].
    fn turn_back(token: Self::Token, pieces: &mut [Piece]);

    /// The layout of blocks that [`Word::turn_in`] has transposed.
    const TURNED: Turned = Turned { row: PIECE_BLOCKS * Self::BLOCKS, block: Self::BLOCKS };

    /// Transposes a piece of each lane into `pieces`, whose blocks then have the layout of [`Word::TURNED`].
    fn turn_in<L: Lines + ?Sized>(token: Self::Token, lines: &L, piece: usize, pieces: &mut [Piece]) {
        for (lane, copy) in pieces.iter_mut().enumerate() {
            copy.0.as_flattened_mut().copy_from_slice(lines.line(lane, piece));
        }
        Self::turn(token, pieces);
    }

    /// The reverse of [`Word::turn_in`].
    fn turn_out<L: Lines + ?Sized>(token: Self::Token, pieces: &mut [Piece], lines: &mut L, piece: usize) {
        Self::turn_back(token, pieces);
        for (lane, copy) in pieces.iter().enumerate() {
            if let Some(line) = lines.line_mut(lane, piece) {
                line.copy_from_slice(copy.0.as_flattened());
            }
        }
    }
}

/// 64 rows of [`Word::BLOCKS`] blocks: row `r` starts at block `r * stride`.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) stride: usize,
}

/// The layout of blocks in transposed pieces.
#[derive(Clone, Copy)]
pub(crate) struct Turned {
    /// The distance from a row to the next, in blocks.
    pub(super) row: usize,
    /// The distance from one block of each lane to the next block, in blocks.
    pub(super) block: usize,
}

/// The body of [`Word::add`].
#[inline(always)]
pub(super) fn add<W: Lanes>(state: Halves<'_, W>, other: Halves<'_, W>) {
    for (word, other) in state.left.iter_mut().zip(other.left) {
        *word = word.xor(*other);
    }
    for (word, other) in state.right.iter_mut().zip(other.right) {
        *word = word.xor(*other);
    }
}

/// The two halves of a state under their current names.
pub(crate) struct Halves<'a, W> {
    pub(super) left: &'a mut [W; 32],
    pub(super) right: &'a mut [W; 32],
}

impl<W> Halves<'_, W> {
    /// The word of the state at a place, counted from the left half on.
    #[inline(always)]
    pub(super) fn at(&mut self, place: usize) -> &mut W {
        if place < 32 { &mut self.left[place] } else { &mut self.right[place - 32] }
    }

    /// The words of the bits of one byte of the block, the lowest weight first, as in [`Halves::of_bit`].
    #[inline(always)]
    pub(super) fn of_byte(&self, byte: usize) -> [&W; 8] {
        array::from_fn(|weight| {
            let half = if weight.is_multiple_of(2) { &*self.left } else { &*self.right };
            &half[8 * ((7 - weight) / 2) + 7 - byte]
        })
    }

    /// The word for a bit of the block, by its byte and weight. This is IP in one line: even weights go to the left
    /// half, odd ones to the right. Each weight takes eight words, the highest weight and the last byte first.
    #[inline(always)]
    pub(super) fn of_bit(&mut self, byte: usize, weight: usize) -> &mut W {
        let half = if weight.is_multiple_of(2) { &mut *self.left } else { &mut *self.right };
        &mut half[8 * ((7 - weight) / 2) + 7 - byte]
    }
}

/// One block per lane, aligned as vectors are.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct PassBlocks<const LANES: usize>([Block; LANES]);

impl<const LANES: usize> PassBlocks<LANES> {
    pub(super) const ZERO: Self = PassBlocks([[0; BLOCK_BYTES]; LANES]);
}

impl<const LANES: usize> AsMut<[Block]> for PassBlocks<LANES> {
    fn as_mut(&mut self) -> &mut [Block] {
        &mut self.0
    }
}

/// Words in memory; wiped when dropped.
pub(super) struct Words<W: Word, const COUNT: usize>(pub(super) [W; COUNT]);

impl<W: Word, const COUNT: usize> Words<W, COUNT> {
    /// `COUNT` copies of a word.
    #[inline(always)]
    pub(super) fn new(word: W) -> Words<W, COUNT> {
        Words([word; COUNT])
    }

    /// Words of zeros.
    pub(super) fn zeros(_token: W::Token) -> Words<W, COUNT> {
        // SAFETY: zeros are valid, as `Word` promises; the token is there, which a word proves.
        Words(unsafe { MaybeUninit::zeroed().assume_init() })
    }
}

impl<W: Word, const COUNT: usize> Drop for Words<W, COUNT> {
    fn drop(&mut self) {
        // SAFETY: zeros are valid and words own nothing, as `Word` promises.
        unsafe { wipe(&mut self.0) }
    }
}

/// How stored blocks are combined with the bytes that are there.
#[derive(Clone, Copy)]
pub(crate) enum Merge {
    /// The bytes are overwritten.
    Put,
    /// The blocks are added to the bytes.
    Add,
    /// CBC decipherment: each block is added to the ciphertext block before it, the first one to this block. Rows are
    /// side by side then, and are stored from the last to the first.
    AddBefore(Block),
}
