//! MACs in one pass, of texts of one length.
//!
//! Tried and dropped, no gain with 512 lanes: lines transposed as they are read, without the copy; the sum of two
//! states in vectors.

use super::super::bit_sliced_words::{Merge, Rows, Word};
use super::super::macs::{Macs, Texts};
use super::super::{Block, PIECE_BLOCKS, wipe_pieces};
use super::{Keys, State, flattened, load, run};
use crate::low::wipe_bytes;

/// MACs for at most a pass of chaining values. Each line is copied, since it is transposed in place.
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
            let blocks = &flattened(pieces)[index * W::BLOCKS..];
            let rows = Rows { blocks, stride: PIECE_BLOCKS * W::BLOCKS };
            W::load(token, rows, None, text.halves());
            W::add(token, state.halves(), text.halves());
            run(token, keys, macs.program, [&mut state]);
        }
    }
    // Pieces are wiped whole: transposing spreads text over all of them.
    wipe_pieces(pieces);
    run(token, keys, macs.last, [&mut state]);
    let mut pass = W::no_pass();
    let pass = pass.as_mut();
    W::store(token, state.halves(), pass, W::BLOCKS, Merge::Put);
    chains.copy_from_slice(&pass[..chains.len()]);
    wipe_bytes(pass.as_flattened_mut());
}
