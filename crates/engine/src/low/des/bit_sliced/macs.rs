//! MACs of a pass of texts of one length.
//!
//! Tried and dropped, no gain with 512 lanes: lines turned as they are read, without the copy; the sum of two states in vectors.

use std::slice;

use super::super::bit_sliced_words::{Merge, Word, Words};
use super::super::macs::{Macs, Texts};
use super::super::{BLOCK_BYTES, Block, PIECE_BLOCKS, wipe_pieces};
use super::{Keys, State, flattened, load, run};
use crate::low::wipe_bytes;

/// For at most a pass of chaining values. Each line is copied: to be turned in place, it needs a place.
pub(super) fn macs<W: Word, T: Texts>(
    token: W::Token,
    keys: &Keys<W>,
    macs: &Macs<'_, T>,
    chains: &mut [Block],
) {
    let (mut state, mut text) = (State::<W>::new(token), State::<W>::new(token));
    load(token, chains.as_flattened(), state.halves());
    let mut pieces = W::no_pieces();
    let pieces = pieces.as_mut();
    for line in 0..macs.lines() {
        for (lane, piece) in pieces[..chains.len()].iter_mut().enumerate() {
            macs.copy(lane, line, piece);
        }
        W::turn(token, pieces);
        for index in 0..macs.count(line) {
            let rows = &flattened(pieces)[index * W::BLOCKS..];
            text.is_swapped = state.is_swapped;
            W::load(token, rows, PIECE_BLOCKS * W::BLOCKS, false, text.halves());
            add(&mut state.words, &mut text.words);
            run(token, keys, macs.program, [&mut state]);
        }
    }
    // Turned, they lie all over.
    wipe_pieces(pieces);
    run(token, keys, macs.last, [&mut state]);
    let mut pass = W::no_pass();
    let pass = pass.as_mut();
    W::store(token, state.halves(), pass, W::BLOCKS, Merge::Put);
    chains.copy_from_slice(&pass[..chains.len()]);
    wipe_bytes(pass.as_flattened_mut());
}

/// Adds all words of a state to those of another.
fn add<W: Word>(state: &mut Words<W, 64>, text: &mut Words<W, 64>) {
    for (state, text) in bits(state).iter_mut().zip(bits(text)) {
        *state ^= *text;
    }
}

/// Words of any width as 64 bits each.
fn bits<W: Word>(words: &mut Words<W, 64>) -> &mut [u64] {
    const { assert!(size_of::<W>() == W::BLOCKS * BLOCK_BYTES) }
    // SAFETY: the same memory, exclusively borrowed and aligned for more; a word is plain bits without padding, as `Word`
    // promises.
    unsafe { slice::from_raw_parts_mut(words.0.as_mut_ptr().cast(), 64 * W::BLOCKS) }
}
