//! What bit-sliced DES asks of a word, and how blocks come to words and back.

use std::mem::MaybeUninit;

use super::super::wipe;
use super::bit_sliced_round::{SCHEDULE, WINDOW};
use super::{BLOCK_BYTES, Block, Piece};

/// A word of lanes that are added and multiplied.
pub(crate) trait Lanes: Copy {
    /// The sums.
    fn xor(self, other: Self) -> Self;
    /// The products.
    fn and(self, other: Self) -> Self;
    /// The same 64 bits again and again, in place of any word.
    fn like(self, bits: u64) -> Self;
}

/// A word with gates of three inputs.
pub(super) trait Ternary: Lanes {
    /// Bit `4a + 2b + c` of the function, in each lane.
    fn lut3<const FUNCTION: i32>(a: Self, b: Self, c: Self) -> Self;
}

/// A word with gates of two inputs.
pub(super) trait Binary: Lanes {
    /// Either.
    fn or(self, other: Self) -> Self;
    /// This without the other.
    fn and_not(self, other: Self) -> Self;
    /// The complement.
    fn not(self) -> Self;
}

/// What is done to states of words. All but the first function enter the kernel.
///
/// Blocks lie in memory in 64 rows of [`Word::BLOCKS`], side by side or at a distance; block `i` of the pass is
/// number `i` in the order of rows. Where rows are named by a slice and a stride, row `r` starts at block
/// `r * stride` of the slice.
///
/// # Safety
/// A word is plain bits without padding: every pattern is valid, and it owns nothing. [`Word::schedule`] and
/// [`Word::schedule_of_one`] write each word of the schedule: it is read as a whole afterwards.
pub(crate) unsafe trait Word: Lanes {
    /// What enters the kernel. A word is made with it only, so having a word proves it.
    type Token: Copy;
    /// One block per lane.
    type Pass: AsMut<[Block]>;
    /// A piece per lane.
    type Pieces: AsMut<[Piece]>;
    /// Blocks of a row.
    const BLOCKS: usize;

    /// The outputs of an S-box, counted from 0, added to bits of the left half. A part of [`Word::round`].
    fn s_box<const BOX: usize>(inputs: [Self; 6], left: [Self; 4]) -> [Self; 4];

    /// A pass of zeros.
    fn no_pass() -> Self::Pass;

    /// Pieces of zeros.
    fn no_pieces() -> Self::Pieces;

    /// Slices 64 rows of blocks to the places of state bits. Where they are chained, each row is the next after the
    /// one named, and that one is added to it.
    fn load(token: Self::Token, blocks: &[Block], stride: usize, is_chained: bool, state: Halves<'_, Self>);

    /// The reverse of [`Word::load`]. What it leaves of the state is of no use.
    fn store(token: Self::Token, state: Halves<'_, Self>, blocks: &mut [Block], stride: usize, merge: Merge);

    /// Slices consecutive counter blocks.
    fn count(token: Self::Token, first: u64, state: Halves<'_, Self>);

    /// The schedule of the keys that were loaded as blocks.
    fn schedule(token: Self::Token, state: Halves<'_, Self>, schedule: &mut [MaybeUninit<Self>; SCHEDULE]);

    /// The schedule of one key for all lanes.
    fn schedule_of_one(token: Self::Token, key: u64, schedule: &mut [MaybeUninit<Self>; SCHEDULE]);

    /// Adds f(right, key) to the left half.
    fn round(token: Self::Token, left: &mut [Self; 32], right: &[Self; 32], key: &[Self; WINDOW]);

    /// Exchanges lanes and blocks in each [`Word::BLOCKS`] pieces: their eight rows are then the first block of
    /// each, the second block of each, and so on.
    fn turn(token: Self::Token, pieces: &mut [Piece]);

    /// The reverse of [`Word::turn`].
    fn turn_back(token: Self::Token, pieces: &mut [Piece]);
}

/// The two halves of a state under their present names.
pub(crate) struct Halves<'a, W> {
    pub(super) left: &'a mut [W; 32],
    pub(super) right: &'a mut [W; 32],
}

impl<W> Halves<'_, W> {
    /// A word of the state by its place, the left half first.
    #[inline(always)]
    pub(super) fn at(&mut self, place: usize) -> &mut W {
        if place < 32 { &mut self.left[place] } else { &mut self.right[place - 32] }
    }

    /// The word of a bit of the block by its byte and weight. IP in one line: even weights go to the left
    /// half, odd ones to the right, eight words for each weight from the top, the last byte first.
    #[inline(always)]
    pub(super) fn of_bit(&mut self, byte: usize, weight: usize) -> &mut W {
        let half = if weight.is_multiple_of(2) { &mut *self.left } else { &mut *self.right };
        &mut half[8 * ((7 - weight) / 2) + 7 - byte]
    }
}

/// A block per lane, in vectors of its own.
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

/// Words with room for a pass; wiped when dropped.
pub(super) struct Words<W: Word, const COUNT: usize>(pub(super) [W; COUNT]);

impl<W: Word, const COUNT: usize> Words<W, COUNT> {
    /// All like this one.
    #[inline(always)]
    pub(super) fn new(word: W) -> Words<W, COUNT> {
        Words([word; COUNT])
    }

    /// Zeros.
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

/// What becomes of the bytes that blocks are stored over.
#[derive(Clone, Copy)]
pub(crate) enum Merge {
    /// Overwritten.
    Put,
    /// The blocks are added to them.
    Add,
    /// Each block is added to the block that was before it, the first one to this: CBC decipherment. Rows are
    /// side by side then, and stored from the last to the first.
    AddBefore(Block),
}
