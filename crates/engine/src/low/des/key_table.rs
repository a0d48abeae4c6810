//! Keys of many lanes between passes.

use super::{BLOCK_BYTES, Block};
use crate::low::wipe_bytes;

/// Keys of many lanes, part by part as the kernels take them; zero when dropped and when filled anew.
#[derive(Default)]
pub(crate) struct KeyTable {
    parts: Vec<Block>,
    lanes: usize,
}

impl KeyTable {
    /// Room for so many columns of a part for each of so many lanes: zeros. What was there is wiped; memory is kept if
    /// it suffices, so a table that is used again and again allocates nothing.
    pub(crate) fn reset(&mut self, columns: usize, lanes: usize) {
        self.wipe();
        let blocks = columns * lanes;
        if self.parts.capacity() < blocks {
            // Never grown in place: what is moved would stay where it was.
            self.parts = Vec::with_capacity(blocks);
        }
        self.parts.clear();
        self.parts.resize(blocks, [0; BLOCK_BYTES]);
        self.lanes = lanes;
    }

    /// Lanes of each column.
    #[inline]
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// So many columns from one on, one after the other.
    #[inline]
    pub(crate) fn columns(&self, first: usize, count: usize) -> &[Block] {
        &self.parts[first * self.lanes..][..count * self.lanes]
    }

    /// The same, to be filled.
    #[inline]
    pub(crate) fn columns_mut(&mut self, first: usize, count: usize) -> &mut [Block] {
        &mut self.parts[first * self.lanes..][..count * self.lanes]
    }

    /// Makes all of it zero, and empty.
    pub(crate) fn wipe(&mut self) {
        wipe_bytes(self.parts.as_flattened_mut());
        self.parts.clear();
        self.lanes = 0;
    }
}

impl Drop for KeyTable {
    fn drop(&mut self) {
        self.wipe();
    }
}
