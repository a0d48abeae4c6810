//! Random bytes from the library in blocks, for callers that need many small values.

use crate::low::aws_lc::{internal::fork_generation, random};
use crate::low::wipe_bytes;

/// The number of bytes drawn from the generator at a time.
const BLOCK_BYTES: usize = 1024;

/// A block of random bytes for one owner. Each piece is wiped when it is handed out, the rest when the block is
/// dropped.
///
/// A fork is detected: parent and child never hand out the same bytes. If the platform cannot detect forks, nothing is
/// kept and every call uses the generator.
pub struct RandomBlock {
    bytes: Box<[u8; BLOCK_BYTES]>,
    used: usize,
    generation: u64,
}

impl RandomBlock {
    pub(crate) fn new() -> RandomBlock {
        RandomBlock { bytes: Box::new([0; BLOCK_BYTES]), used: BLOCK_BYTES, generation: 0 }
    }

    /// Fills `out` with random bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        let generation = fork_generation();
        if generation == 0 || out.len() > BLOCK_BYTES / 4 {
            random::fill(out);
            return;
        }
        if generation != self.generation || BLOCK_BYTES - self.used < out.len() {
            random::fill(self.bytes.as_mut_slice());
            (self.used, self.generation) = (0, generation);
        }
        let piece = &mut self.bytes[self.used..self.used + out.len()];
        out.copy_from_slice(piece);
        wipe_bytes(piece);
        self.used += out.len();
    }
}

impl std::fmt::Debug for RandomBlock {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("RandomBlock")
    }
}

impl Drop for RandomBlock {
    fn drop(&mut self) {
        wipe_bytes(self.bytes.as_mut_slice());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_differ_and_are_wiped_as_they_are_handed_out() {
        let mut block = RandomBlock::new();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1000 {
            let mut piece = [0; 16];
            block.fill(&mut piece);
            assert!(seen.insert(piece));
            assert!(block.bytes[..block.used].iter().all(|byte| *byte == 0));
        }
    }

    /// If forks cannot be detected (in some emulators), there is no block that could be handed out twice.
    #[test]
    fn another_generation_discards_the_block() {
        let mut block = RandomBlock::new();
        block.fill(&mut [0; 8]);
        if fork_generation() == 0 {
            assert_eq!(*block.bytes, [0; BLOCK_BYTES]);
            return;
        }
        let left = *block.bytes;
        block.generation = block.generation.wrapping_add(1);
        let mut piece = [0; 8];
        block.fill(&mut piece);
        assert_ne!(piece, left[8..16]);
        assert_ne!(left[16..], block.bytes[16..]);
    }
}
