//! DES in the engine: keys as bytes, programs, and the division of a batch.
//!
//! ```text
//! batch ── 1,024 requests ─┬─ DES ──┬─ blocks that do not wait for each other: `texts`
//!          at a time       └─ TDES ─┴─ chained blocks, CBC encipherment and MACs: `streams`
//!                                                    └──── both: passes of a form, `forms`
//! ```
//!
//! 1. A key is kept as its bytes. The kernels make schedules for all lanes of a pass together, in one to two
//!    nanoseconds a lane and part: less time than fetching a schedule made before.
//! 2. Two-key triple DES uses its first part again as its third, so both kinds share passes. If all requests have two
//!    keys, the third part is not set up.
//! 3. DES and TDES never share a pass: a pass of TDES takes three times as long.
//! 4. Requests with an error are not in the table, so they disturb nothing.
//!
//! Bounds: the tables of a batch are on the stack, 16 KiB for 1,024 requests. A small table serves up to 64 requests,
//! so that these do not pay for clearing a thousand places. A pass has 4 KiB (64 lanes) or 32 KiB (512) of transposed
//! lines or pieces in addition to its keys, and 2 or 16 KiB for the places of texts. The deepest batch, CMACs in passes
//! of 512, takes less than 160 KiB of stack in all. Nothing is allocated; keys and text on the stack are wiped.
//!
//! Times in this file and those beside it are measured on AMD Zen 5 at 4.3 GHz.

pub(crate) mod columns;
pub(crate) mod forms;
pub(crate) mod streams;
mod texts;

use crate::algorithm::{CipherAlgorithm, CipherDirection, Mode};
use crate::low::cpu::Cpu;
use crate::low::des::lines::Line;
use crate::low::des::{BLOCK_BYTES, Block, KEYS_MAX, KeyBytes, PIECE_BLOCKS, Piece, Stage};
use crate::mid::cipher::CipherItem;
use std::{array, mem};
use streams::{LineWork, Streams};

/// A key of one to three parts of eight bytes; wiped when dropped.
pub(crate) struct DesKey(KeyBytes);

impl DesKey {
    /// A key of one, two or three parts; `None` for any other length. A missing third part is the first part.
    #[inline]
    pub(crate) fn new(key: &[u8]) -> Option<DesKey> {
        let parts = match key.as_chunks() {
            ([first], []) => [*first, [0; 8], [0; 8]],
            ([first, second], []) => [*first, *second, *first],
            ([first, second, third], []) => [*first, *second, *third],
            _ => return None,
        };
        Some(DesKey(KeyBytes(parts)))
    }

    #[inline]
    pub(crate) fn parts(&self) -> &[Block; KEYS_MAX] {
        &self.0.0
    }
}

/// The operations on a block, and the number of key parts that they use.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) stages: &'static [Stage],
    pub(crate) key_parts: usize,
}

const fn e(key: usize) -> Stage {
    Stage::encipher(key)
}

const fn d(key: usize) -> Stage {
    Stage::decipher(key)
}

impl Program {
    /// Single DES, enciphering.
    pub(crate) const DES: Program = Program { stages: &[e(0)], key_parts: 1 };
    /// The last step of X9.19 (ISO 9797-1, output transformation 3).
    pub(crate) const RETAIL: Program = Program { stages: &[d(1), e(0)], key_parts: 2 };

    /// The program for a group of requests; `two_keys` if none of them has a third part of its own.
    pub(crate) fn of(group: Group, two_keys: bool, encipher: bool) -> Program {
        let (stages, key_parts): (&'static [Stage], usize) = match (group, two_keys, encipher) {
            (Group::Des, _, true) => return Program::DES,
            (Group::Des, _, false) => (const { &[d(0)] }, 1),
            (Group::Tdes, true, true) => (const { &[e(0), d(1), e(0)] }, 2),
            (Group::Tdes, true, false) => (const { &[d(0), e(1), d(0)] }, 2),
            (Group::Tdes, false, true) => (const { &[e(0), d(1), e(2)] }, 3),
            (Group::Tdes, false, false) => (const { &[d(2), e(1), d(0)] }, 3),
        };
        Program { stages, key_parts }
    }
}

/// Requests that can share passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    Des,
    Tdes,
}

impl Group {
    pub(crate) const ALL: [Group; 2] = [Group::Des, Group::Tdes];

    /// The group of a cipher; `None` for AES.
    #[inline]
    pub(crate) fn of(algorithm: CipherAlgorithm) -> Option<Group> {
        match algorithm {
            CipherAlgorithm::Des => Some(Group::Des),
            CipherAlgorithm::Tdes2 | CipherAlgorithm::Tdes3 => Some(Group::Tdes),
            CipherAlgorithm::Aes128 | CipherAlgorithm::Aes192 | CipherAlgorithm::Aes256 => None,
        }
    }
}

/// A request in the table of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// The index of the request.
    pub(crate) item: u32,
    /// The number of blocks still to be done.
    pub(crate) left: usize,
    /// For `streams`: [`Program::RETAIL`] is still to be run on the last chaining value.
    pub(crate) wants_last_step: bool,
}

impl Entry {
    /// A request with `left` blocks to be done.
    #[inline]
    pub(crate) fn new(item: usize, left: usize) -> Entry {
        Entry { item: item as u32, left, wants_last_step: false }
    }

    /// An unused entry of a table.
    pub(crate) const NONE: Entry = Entry { item: 0, left: 0, wants_last_step: false };
}

/// The number of requests in one table.
pub(crate) const TABLE_ENTRIES: usize = 1024;
/// The small table serves up to this many requests.
pub(crate) const TABLE_ENTRIES_FEW: usize = 64;

/// Runs the DES requests of a batch that have no error; texts are whole blocks except in CTR.
pub(crate) fn batch(cpu: Cpu, mode: Mode, direction: CipherDirection, items: &mut [CipherItem<'_>]) {
    if items.len() <= TABLE_ENTRIES_FEW {
        batch_with_table::<TABLE_ENTRIES_FEW>(cpu, mode, direction, items);
    } else {
        batch_with_table::<TABLE_ENTRIES>(cpu, mode, direction, items);
    }
}

fn batch_with_table<const ENTRIES: usize>(
    cpu: Cpu,
    mode: Mode,
    direction: CipherDirection,
    items: &mut [CipherItem<'_>],
) {
    let encipher = direction == CipherDirection::Encipher || mode == Mode::Ctr;
    let mut table = [Entry::NONE; ENTRIES];
    for items in items.chunks_mut(ENTRIES) {
        for group in Group::ALL {
            let (mut entries, mut two_keys) = (0, true);
            for (index, item) in items.iter().enumerate() {
                let algorithm = item.key.algorithm();
                if Group::of(algorithm) == Some(group) && item.result.is_ok() && !item.data.is_empty() {
                    table[entries] = Entry::new(index, item.data.len().div_ceil(BLOCK_BYTES));
                    two_keys &= algorithm == CipherAlgorithm::Tdes2;
                    entries += 1;
                }
            }
            let queue = &mut table[..entries];
            let program = Program::of(group, two_keys, encipher);
            if queue.is_empty() {
                continue;
            }
            if mode == Mode::Cbc && encipher {
                streams::run(cpu, program, &mut CipherStreams(items), queue);
            } else {
                texts::run(cpu, mode, program, items, queue);
            }
        }
    }
}

/// Texts to encipher in CBC, in place.
struct CipherStreams<'r, 'a>(&'r mut [CipherItem<'a>]);

impl Streams for CipherStreams<'_, '_> {
    #[inline]
    fn key(&self, stream: usize) -> &DesKey {
        self.0[stream].key.des_key()
    }

    #[inline]
    fn chain(&mut self, stream: usize) -> &mut Block {
        first_half(&mut self.0[stream].chain)
    }

    #[inline]
    fn lines(&self, _: usize, left: usize) -> usize {
        left / PIECE_BLOCKS
    }

    #[inline]
    fn lend<const LANES: usize>(&mut self, queue: &[Entry], work: impl LineWork) {
        // Taken out of the requests for the duration of the call, since a queue's requests are in any order.
        let mut texts: [&mut [u8]; LANES] = array::from_fn(|_| Default::default());
        for (text, entry) in texts.iter_mut().zip(queue) {
            *text = mem::take(&mut self.0[entry.item as usize].data);
        }
        let mut lines: [&mut [Line]; LANES] = array::from_fn(|_| Default::default());
        for ((lines, text), entry) in lines.iter_mut().zip(&mut texts).zip(queue) {
            let first = text.len() - entry.left * BLOCK_BYTES;
            *lines = text[first..].as_chunks_mut().0;
        }
        work.run(&mut lines[..queue.len()]);
        for (text, entry) in texts.into_iter().zip(queue) {
            self.0[entry.item as usize].data = text;
        }
    }

    #[inline]
    fn load(&self, stream: usize, left: usize, piece: &mut Piece) {
        let data = &*self.0[stream].data;
        let text = &data[data.len() - left * BLOCK_BYTES..];
        let piece = piece.0.as_flattened_mut();
        match text.first_chunk::<PIECE_BYTES>() {
            Some(whole) => piece.copy_from_slice(whole),
            None => piece[..text.len()].copy_from_slice(text),
        }
    }

    #[inline]
    fn store(&mut self, stream: usize, left: usize, piece: &Piece, count: usize) {
        let data = &mut *self.0[stream].data;
        let first = data.len() - left * BLOCK_BYTES;
        let text = &mut data[first..];
        let piece = piece.0.as_flattened();
        match text.first_chunk_mut::<PIECE_BYTES>() {
            Some(whole) if count == PIECE_BLOCKS => whole.copy_from_slice(piece),
            _ => text[..count * BLOCK_BYTES].copy_from_slice(&piece[..count * BLOCK_BYTES]),
        }
    }
}

/// Doubles in GF(2^64) as in SP 800-38B, without a branch on the value.
pub(crate) fn doubled(value: Block) -> Block {
    let value = u64::from_be_bytes(value);
    (value << 1 ^ 0x1b & (value >> 63).wrapping_neg()).to_be_bytes()
}

/// The chaining value of a cipher with blocks of eight bytes: the first half.
#[inline]
pub(crate) fn first_half(chain: &mut [u8; 16]) -> &mut Block {
    let (first, _) = chain.split_first_chunk_mut().expect("8 <= 16");
    first
}

const PIECE_BYTES: usize = PIECE_BLOCKS * BLOCK_BYTES;
