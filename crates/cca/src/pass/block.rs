//! Single blocks of 8 bytes, each under its TDES key of two or three parts: what PIN verbs and derivations of keys ask
//! for, request by request, with nothing made for a block but its place in a column.

use super::{Kernel, Pass, Queue, Work};
use engine::{CipherAlgorithm, CipherDirection, Column, ColumnMut, Engine};
use wire::{Codes, code};
use zeroize::{Zeroize, Zeroizing};

/// Length of a block in bytes.
pub(crate) const BLOCK_BYTES: usize = 8;
/// Length of the longest key of a block in bytes.
const KEY_BYTES_MAX: usize = CipherAlgorithm::Tdes3.key_bytes();

/// A block on its way into or out of a cipher; wiped on drop.
pub(crate) type Block = Zeroizing<[u8; BLOCK_BYTES]>;

/// A block to encipher or decipher.
pub(crate) struct OneBlock {
    direction: CipherDirection,
    algorithm: CipherAlgorithm,
    /// The key, then zeros.
    key: [u8; KEY_BYTES_MAX],
    block: [u8; BLOCK_BYTES],
}

impl OneBlock {
    /// A block under a key of two or three parts; `None` for a key of another length.
    pub(crate) fn new(direction: CipherDirection, key: &[u8], block: &[u8; BLOCK_BYTES]) -> Option<Self> {
        let algorithm = [CipherAlgorithm::Tdes2, CipherAlgorithm::Tdes3]
            .into_iter()
            .find(|algorithm| algorithm.key_bytes() == key.len())?;
        let mut own = [0; KEY_BYTES_MAX];
        own[..key.len()].copy_from_slice(key);
        Some(Self { direction, algorithm, key: own, block: *block })
    }
}

impl Drop for OneBlock {
    fn drop(&mut self) {
        self.key.zeroize();
        self.block.zeroize();
    }
}

/// The enciphered or deciphered block.
pub(crate) type Answer = Result<Block, Codes>;

impl<'a> Work<'a> for OneBlock {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.block
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        for algorithm in [CipherAlgorithm::Tdes2, CipherAlgorithm::Tdes3] {
            let count = asked.iter().filter(|work| work.algorithm == algorithm).count();
            if count == 0 {
                continue;
            }
            let mut columns = Columns::new(algorithm, count);
            for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                let is_ours = |work: &Self| work.direction == direction && work.algorithm == algorithm;
                let ours = || asked.iter().enumerate().filter(move |(_, work)| is_ours(work));
                columns.clear();
                ours().for_each(|(_, work)| columns.push(&work.key[..algorithm.key_bytes()], &work.block));
                let done = columns.run(kernel.engine, direction);
                for ((at, _), block) in ours().zip(columns.blocks()) {
                    answers[at] = Some(done.map(|()| Block::new(*block)));
                }
            }
        }
    }
}

/// Blocks of 8 bytes and their keys, each one after the other; wiped on drop. Room for all of them is reserved at the
/// start: memory that grows would leave its old place behind unwiped.
pub(super) struct Columns {
    algorithm: CipherAlgorithm,
    keys: Zeroizing<Vec<u8>>,
    blocks: Zeroizing<Vec<u8>>,
}

impl Columns {
    /// Columns with room for at most `most` blocks, for DES or TDES.
    pub(super) fn new(algorithm: CipherAlgorithm, most: usize) -> Self {
        let room = |bytes: usize| Zeroizing::new(Vec::with_capacity(most * bytes));
        Self { algorithm, keys: room(algorithm.key_bytes()), blocks: room(BLOCK_BYTES) }
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.blocks.clear();
    }

    /// Adds a block and its key.
    pub(super) fn push(&mut self, key: &[u8], block: &[u8; BLOCK_BYTES]) {
        debug_assert!(self.blocks.len() + block.len() <= self.blocks.capacity(), "room for what comes");
        self.keys.extend_from_slice(key);
        self.blocks.extend_from_slice(block);
    }

    /// Enciphers or deciphers the blocks in place: a part of a construction that is not weak itself.
    pub(super) fn run(&mut self, engine: &Engine, direction: CipherDirection) -> Result<(), Codes> {
        let lanes = self.blocks.len() / BLOCK_BYTES;
        if lanes == 0 {
            return Ok(());
        }
        let keys = Column::contiguous(&self.keys, self.algorithm.key_bytes(), lanes);
        let blocks = ColumnMut::contiguous(&mut self.blocks, BLOCK_BYTES, lanes);
        let (Ok(keys), Ok(mut blocks)) = (keys, blocks) else { return Err(code::SELF_CHECK) };
        let done = engine.cipher_columns_internal(self.algorithm, direction, keys, &mut blocks);
        done.map_err(|_| code::SELF_CHECK)
    }

    /// The blocks, in the order in which they came.
    pub(super) fn blocks(&self) -> &[[u8; BLOCK_BYTES]] {
        self.blocks.as_chunks().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Options;

    /// Requests in any order of directions and lengths of keys get the answers that they would get one by one.
    #[test]
    fn blocks_of_both_directions_are_answered_at_their_places() {
        let engine = Engine::new(Options::default()).unwrap();
        let one = |number: u8, direction| {
            let key: [u8; 24] =
                std::array::from_fn(|at| number.wrapping_mul(29).wrapping_add((17 * at) as u8));
            let bytes = if number % 5 < 2 { 24 } else { 16 };
            OneBlock::new(direction, &key[..bytes], &[number; BLOCK_BYTES]).unwrap()
        };
        assert!(OneBlock::new(CipherDirection::Encipher, &[1; 8], &[0; 8]).is_none());
        let directions = [CipherDirection::Encipher, CipherDirection::Decipher];
        for count in [0, 1, 2, 7, 64, 131] {
            let mut asked: Vec<_> =
                (0..count).map(|number| one(number, directions[usize::from(number % 3 == 1)])).collect();
            let expected: Vec<Vec<u8>> = asked
                .iter()
                .map(|work| {
                    let mut text = work.block.to_vec();
                    let key = &work.key[..work.algorithm.key_bytes()];
                    let key = engine.cipher_key(work.algorithm, key).unwrap();
                    let item =
                        engine::CipherItem { key: &key, chain: [0; 16], data: &mut text, result: Ok(()) };
                    engine.cipher_batch(engine::Mode::Ecb, work.direction, &mut [item]);
                    text
                })
                .collect();
            let mut answers: Vec<_> = asked.iter().map(|_| None).collect();
            let mut found = None;
            let mut kernel = Kernel {
                engine: &engine,
                domains: &mut [],
                tokens: wire::control::TokenForms::default(),
                found: &mut found,
            };
            OneBlock::run(&mut kernel, &mut asked, &mut answers);
            let got: Vec<Vec<u8>> =
                answers.into_iter().map(|answer| answer.unwrap().unwrap().to_vec()).collect();
            assert_eq!(got, expected, "{count}");
        }
    }
}
