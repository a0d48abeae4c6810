//! OCB over the library's ECB.

use super::Block;
use super::ocb::{OcbSums, OcbTable, xor};
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::wipe_bytes;

/// Blocks given to the library in one call.
const PASS: usize = 64;

/// See [`super::ocb::OcbKernel::encipher`].
pub(super) fn encipher(key: &AesSchedule, table: &OcbTable, offset: &Block, data: &mut [u8]) -> OcbSums {
    run(key, table, offset, data, true)
}

/// See [`super::ocb::OcbKernel::decipher`].
pub(super) fn decipher(key: &AesSchedule, table: &OcbTable, offset: &Block, data: &mut [u8]) -> OcbSums {
    run(key, table, offset, data, false)
}

fn run(key: &AesSchedule, table: &OcbTable, offset: &Block, data: &mut [u8], encipher: bool) -> OcbSums {
    let mut sums = OcbSums { offset: *offset, sum: [0; 16] };
    let mut offsets = [[0; 16]; PASS];
    let mut i = 0;
    for part in data.as_chunks_mut::<16>().0.chunks_mut(PASS) {
        for (block, offset) in part.iter_mut().zip(&mut offsets) {
            i += 1;
            sums.offset = xor(&sums.offset, table.l(i));
            *offset = sums.offset;
            if encipher {
                sums.sum = xor(&sums.sum, block);
            }
            *block = xor(block, offset);
        }
        key.ecb(encipher, part.as_flattened_mut());
        for (block, offset) in part.iter_mut().zip(&offsets) {
            *block = xor(block, offset);
            if !encipher {
                sums.sum = xor(&sums.sum, block);
            }
        }
    }
    wipe_bytes(offsets.as_flattened_mut());
    sums
}

/// See [`super::ocb::OcbKernel::hash`].
pub(super) fn hash(key: &AesSchedule, table: &OcbTable, data: &[u8]) -> OcbSums {
    let mut sums = OcbSums::default();
    let mut scratch = [[0; 16]; PASS];
    let mut i = 0;
    for part in data.as_chunks::<16>().0.chunks(PASS) {
        let scratch = &mut scratch[..part.len()];
        for (block, to) in part.iter().zip(&mut *scratch) {
            i += 1;
            sums.offset = xor(&sums.offset, table.l(i));
            *to = xor(block, &sums.offset);
        }
        key.ecb(true, scratch.as_flattened_mut());
        sums.sum = scratch.iter().fold(sums.sum, |sum, block| xor(&sum, block));
    }
    wipe_bytes(scratch.as_flattened_mut());
    sums
}
