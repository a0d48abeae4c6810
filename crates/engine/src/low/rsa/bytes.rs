//! Converts big-endian bytes to the digits of one lane and back.
//!
//! Digit `i` begins at bit 52 * i, half a byte off for odd `i`. So two digits are 13 bytes, and go through one 128-bit
//! word. The three conversions of eight operations take a thirtieth of a public operation, so nothing wider is needed.

use super::{DIGIT_BITS, DIGIT_MASK, LANES, Row};
use crate::low::wipe_bytes;

/// Length of two digits in bytes.
const PAIR_BYTES: usize = 13;

/// Puts a number of big-endian bytes into a lane; the lane's higher rows become zero. The number must fit the rows.
pub(crate) fn load_bytes(rows: &mut [Row], lane: usize, bytes: &[u8]) {
    let lane = lane % LANES;
    // Copies of constant length: for other lengths the compiler would make hundreds of calls.
    let (top, pieces) = bytes.as_rchunks::<PAIR_BYTES>();
    let mut top_window = [0; PAIR_BYTES];
    top_window[PAIR_BYTES - top.len()..].copy_from_slice(top);
    let mut pieces = pieces.iter().rev().chain(std::slice::from_ref(&top_window));
    for pair in rows.chunks_mut(2) {
        let mut window = [0; 16];
        if let Some(piece) = pieces.next() {
            window[16 - PAIR_BYTES..].copy_from_slice(piece);
        }
        let value = u128::from_be_bytes(window);
        pair[0].0[lane] = value as u64 & DIGIT_MASK;
        let high = (value >> DIGIT_BITS) as u64;
        match pair.get_mut(1) {
            Some(row) => row.0[lane] = high,
            None => debug_assert_eq!(high, 0),
        }
    }
    debug_assert!(pieces.all(|piece| *piece == [0; PAIR_BYTES]));
    wipe_bytes(&mut top_window);
}

/// Writes the number of a lane as big-endian bytes over the whole slice; false if it does not fit.
#[must_use]
pub(crate) fn store_bytes(rows: &[Row], lane: usize, bytes: &mut [u8]) -> bool {
    let lane = lane % LANES;
    let value = |pair: &[Row]| {
        let high = pair.get(1).map_or(0, |row| row.0[lane]);
        u128::from(high) << DIGIT_BITS | u128::from(pair[0].0[lane])
    };
    let (top, pieces) = bytes.as_rchunks_mut::<PAIR_BYTES>();
    let mut pairs = rows.chunks(2);
    for piece in pieces.iter_mut().rev() {
        let [_, _, _, kept @ ..] = pairs.next().map_or(0, value).to_be_bytes();
        *piece = kept;
    }
    let mut above = pairs.next().map_or(0, value);
    for byte in top.iter_mut().rev() {
        *byte = above as u8;
        above >>= 8;
    }
    pairs.fold(above, |above, pair| above | value(pair)) == 0
}

/// The lanes in which two numbers are equal, as a bit mask; constant-time.
pub(crate) fn equal_lanes(a: &[Row], b: &[Row]) -> u8 {
    let mut differences = [0; LANES];
    let mut add = |a: &Row, b: &Row| {
        for ((all, a), b) in differences.iter_mut().zip(&a.0).zip(&b.0) {
            *all |= a ^ b;
        }
    };
    a.iter().zip(b).for_each(|(a, b)| add(a, b));
    let longer = if a.len() > b.len() { &a[b.len()..] } else { &b[a.len()..] };
    longer.iter().for_each(|row| add(row, &Row::ZERO));
    // Below 2^63, so that the subtraction borrows only for zero.
    let is_zero = |all: u64| (((all >> 1 | all & 1).wrapping_sub(1)) >> 63) as u8;
    differences.iter().rev().fold(0, |mask, all| mask << 1 | is_zero(*all))
}
