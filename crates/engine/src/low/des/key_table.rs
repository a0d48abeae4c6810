//! Keys of many lanes, kept between passes.

use super::{BLOCK_BYTES, Block};
use crate::low::wipe_bytes;

/// Keys of many lanes, in columns of one part each, as the kernels take them. Wiped when dropped, and before new keys
/// are set.
#[derive(Default)]
pub(crate) struct KeyTable {
    parts: Vec<Block>,
    lanes: usize,
}

impl KeyTable {
    /// Makes room for this many columns of one part for each lane, filled with zeros. Earlier keys are wiped. The
    /// memory is kept if it suffices, so a table that is used repeatedly allocates nothing.
    pub(crate) fn reset(&mut self, columns: usize, lanes: usize) {
        self.wipe();
        let blocks = columns * lanes;
        if self.parts.capacity() < blocks {
            // Not grown in place, since moved keys would also remain at the old place.
            self.parts = Vec::with_capacity(blocks);
        }
        self.parts.clear();
        self.parts.resize(blocks, [0; BLOCK_BYTES]);
        self.lanes = lanes;
    }

    /// The number of lanes in each column.
    #[inline]
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// `count` columns from number `first` on, in a row.
    #[inline]
    pub(crate) fn columns(&self, first: usize, count: usize) -> &[Block] {
        &self.parts[first * self.lanes..][..count * self.lanes]
    }

    /// As [`KeyTable::columns`], for writing.
    #[inline]
    pub(crate) fn columns_mut(&mut self, first: usize, count: usize) -> &mut [Block] {
        &mut self.parts[first * self.lanes..][..count * self.lanes]
    }

    /// Overwrites all keys with zeros and empties the table.
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
