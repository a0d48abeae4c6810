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
    /// Room for so many columns of a part for each of so many lanes: zeros. What was there is wiped; memory is kept if it
    /// suffices, so a table that is used again and again allocates nothing.
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

/// Clear keys are nowhere on the stack once columns are done with.
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests {
    use std::arch::asm;
    use std::collections::HashSet;
    use std::hint::black_box;
    use std::mem::MaybeUninit;
    use std::thread;

    use seeded::Random;

    use super::super::plain;
    use super::super::{Block, Stage};
    use crate::{
        CipherAlgorithm, CipherDirection, Column, ColumnMut, DesColumns, Engine, Level, MacAlgorithm, Mode,
        Options, WrappedColumn,
    };

    /// More than a batch of DES takes.
    const STACK_BYTES: usize = 192 << 10;

    /// What lies below the frame of the caller, where the functions that it called had theirs.
    #[inline(never)]
    fn stack_below() -> Vec<u8> {
        let mut below = MaybeUninit::<[u8; STACK_BYTES]>::uninit();
        let mut copy = vec![0; STACK_BYTES];
        // SAFETY: so many bytes of the frame to as many of the vector; bytes may be copied whatever was written there.
        unsafe {
            asm!("rep movsb", inout("rcx") STACK_BYTES => _, inout("rsi") below.as_mut_ptr() => _,
                inout("rdi") copy.as_mut_ptr() => _, options(nostack, preserves_flags));
        }
        copy
    }

    /// How many of these blocks lie anywhere in it.
    fn found(stack: &[u8], blocks: &HashSet<Block>) -> usize {
        stack.windows(8).filter(|bytes| blocks.contains(*bytes)).count()
    }

    fn after(work: impl FnOnce() + Send + 'static, blocks: &HashSet<Block>) -> usize {
        // On a stack of its own, where nothing of the test was.
        let run = move || {
            black_box(work)();
            stack_below()
        };
        let thread = thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
        found(&thread.join().unwrap(), blocks)
    }

    #[inline(never)]
    fn leave(bytes: &[u8]) {
        let mut place = [0; 4096];
        black_box(&mut place)[2048..][..bytes.len()].copy_from_slice(bytes);
        black_box(&place);
    }

    #[test]
    fn the_search_finds_what_is_left() {
        let block = Random(1).array();
        let memory = block.to_vec();
        assert!(after(move || leave(&memory), &HashSet::from([block])) > 0);
    }

    #[test]
    fn no_clear_key_is_left_on_the_stack() {
        // Without optimization each copy of a value has a place of its own.
        if cfg!(debug_assertions) {
            return;
        }
        let mut random = Random(2);
        let best = Engine::new(Options::default()).unwrap().level();
        for level in Level::ALL.into_iter().filter(|level| *level <= best) {
            for lanes in [1, 7, 24, 40, 300, 600] {
                let over: [Block; 2] = [random.array(), random.array()];
                let tokens: Vec<Block> = random.arrays(2 * lanes);
                let program = [Stage::decipher(0), Stage::encipher(1), Stage::decipher(0)];
                let clear = |token: &Block| plain::block(&[over[0], over[1], over[0]], &program, *token);
                let clear: Vec<Block> = tokens.iter().map(clear).collect();
                let (over, tokens, raw) = (over.concat(), tokens.concat(), clear.concat());
                let kept: HashSet<Block> = clear.into_iter().collect();
                let mut texts = random.bytes(72 * lanes);
                let work = move || {
                    let engine = Engine::new(Options { limit: Some(level), ..Options::default() }).unwrap();
                    let [tokens, raw] =
                        [&tokens, &raw].map(|memory| Column::contiguous(memory, 16, lanes).unwrap());
                    let mut macs = vec![0; 8 * lanes];
                    let column = Column::contiguous(&texts, 72, lanes).unwrap();
                    engine.mac_columns(MacAlgorithm::X919, raw, column, &mut macs).unwrap();
                    engine.mac_columns(MacAlgorithm::CmacTdes2, raw, column, &mut macs).unwrap();
                    let tdes = CipherAlgorithm::Tdes2;
                    let mut keys = DesColumns::new();
                    let wrapped = [WrappedColumn { algorithm: tdes, under: &[&over], keys: tokens }];
                    engine.unwrap_des_columns(&mut keys, &wrapped).unwrap();
                    let key = keys.key(0).unwrap();
                    engine.mac_columns(MacAlgorithm::X919, key, column, &mut macs).unwrap();
                    let mut texts = ColumnMut::contiguous(&mut texts, 72, lanes).unwrap();
                    for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                        engine
                            .cipher_columns(tdes, Mode::Cbc, direction, key, &mut macs, &mut texts)
                            .unwrap();
                    }
                };
                assert_eq!(after(work, &kept), 0, "{level}, {lanes} requests");
            }
        }
    }
}
