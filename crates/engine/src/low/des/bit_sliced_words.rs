//! What bit-sliced DES asks of a word, and how blocks come to words and back.

use super::super::wipe;
use super::bit_sliced_round::{SCHEDULE, WINDOW};
use super::lines::Lines;
use super::{BLOCK_BYTES, Block, PIECE_BLOCKS, Piece};
use std::array;
use std::mem::MaybeUninit;

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
/// Blocks lie in memory in 64 rows of [`Word::BLOCKS`], side by side or at a distance ([`Rows`]); block `i` of the pass
/// is number `i` in the order of rows.
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

    /// Slices 64 rows of blocks to the places of state bits. Each row of `before`, if there are any, is added to its
    /// own.
    fn load(token: Self::Token, rows: Rows<'_>, before: Option<Rows<'_>>, state: Halves<'_, Self>);

    /// Adds the words of another state to those of this one.
    fn add(token: Self::Token, state: Halves<'_, Self>, other: Halves<'_, Self>);

    /// The reverse of [`Word::load`]; row `r` goes to block `r * stride`. What it leaves of the state is of no use.
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

    /// Where blocks are that [`Word::turn_in`] has turned.
    const TURNED: Turned = Turned { row: PIECE_BLOCKS * Self::BLOCKS, block: Self::BLOCKS };

    /// Turns a piece of each lane into these, whose blocks are then in order as [`Word::TURNED`] says.
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

/// Where the blocks of turned pieces are.
#[derive(Clone, Copy)]
pub(crate) struct Turned {
    /// From a row to the next, in blocks.
    pub(super) row: usize,
    /// From a block of each lane to the next.
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

    /// The words of the bits of a byte of the block, the lowest weight first, as [`Halves::of_bit`] has them.
    #[inline(always)]
    pub(super) fn of_byte(&self, byte: usize) -> [&W; 8] {
        array::from_fn(|weight| {
            let half = if weight.is_multiple_of(2) { &*self.left } else { &*self.right };
            &half[8 * ((7 - weight) / 2) + 7 - byte]
        })
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
