//! Loads lines of texts into vectors, for MACs of many texts of one length.

use super::byte_sliced_vector::{load, transpose_quads};
use super::macs::{LINE_BYTES, MARK, Macs, Texts};
use super::{BLOCK_BYTES, Block, PIECE_BLOCKS};
use std::arch::x86_64::*;
use std::ops::Range;

/// Loads one block per lane, up to eight; zeros in the other lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load_lanes(blocks: &[Block]) -> __m512i {
    // SAFETY: the mask has a bit for each block of the slice that is in the first eight; no other is read.
    unsafe { _mm512_maskz_loadu_epi64(first(blocks.len()), blocks.as_ptr().cast()) }
}

/// Stores one block per lane, up to eight.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store_lanes(blocks: &mut [Block], vector: __m512i) {
    // SAFETY: the mask has a bit for each block of the slice that is in the first eight; no other is written.
    unsafe { _mm512_mask_storeu_epi64(blocks.as_mut_ptr().cast(), first(blocks.len()), vector) }
}

/// A mask with a bit for each of the first lanes, up to eight.
#[inline]
fn first(lanes: usize) -> __mmask8 {
    ((1_u16 << lanes.min(8)) - 1) as u8
}

/// Loads a line of each of up to eight lanes as vectors of first blocks, of second blocks, and so on. Includes CMAC's
/// mark and subkeys.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn lines_of_lanes<T: Texts>(
    macs: &Macs<'_, T>,
    lanes: Range<usize>,
    line: usize,
) -> [__m512i; PIECE_BLOCKS] {
    let mut lines = [_mm512_setzero_si512(); PIECE_BLOCKS];
    if macs.is_whole(line) {
        for (vector, lane) in lines.iter_mut().zip(lanes.clone()) {
            *vector = load(macs.texts.line(lane, line * LINE_BYTES));
        }
    } else {
        for (vector, lane) in lines.iter_mut().zip(lanes.clone()) {
            *vector = marked_line(macs, lane, line);
        }
    }
    let mut rows = transpose_quads(lines);
    if let Some(ends) = macs.ends(line) {
        let last = &mut rows[macs.count(line) - 1];
        *last = _mm512_xor_si512(*last, load_lanes(&ends[lanes]));
    }
    rows
}

/// The line of one lane with its blocks in order. Includes CMAC's mark and subkey.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn line_of_lane<T: Texts>(macs: &Macs<'_, T>, lane: usize, line: usize) -> __m512i {
    let vector = marked_line(macs, lane, line);
    let Some(ends) = macs.ends(line) else { return vector };
    let end = _mm512_maskz_set1_epi64(1 << (macs.count(line) - 1), i64::from_ne_bytes(ends[lane]));
    _mm512_xor_si512(vector, end)
}

/// The text of a line, followed by zeros, with CMAC's mark at the end of the text.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn marked_line<T: Texts>(macs: &Macs<'_, T>, lane: usize, line: usize) -> __m512i {
    let text = macs.line(lane, line);
    let bytes = text.len().min(LINE_BYTES);
    let mask = if bytes == LINE_BYTES { u64::MAX } else { (1 << bytes) - 1 };
    // SAFETY: the mask has a bit for each byte of the slice that is in the first line; no other is read.
    let vector = unsafe { _mm512_maskz_loadu_epi8(mask, text.as_ptr().cast()) };
    let Some(at) = macs.mark(line) else { return vector };
    _mm512_or_si512(vector, _mm512_maskz_set1_epi8(1 << at, MARK.cast_signed()))
}

const _: () = assert!(LINE_BYTES == PIECE_BLOCKS * BLOCK_BYTES && LINE_BYTES == size_of::<__m512i>());
