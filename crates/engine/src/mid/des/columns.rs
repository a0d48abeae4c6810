//! DES over columns of equal requests: keys are set and blocks moved into lanes directly, without a queue.
//!
//! ```text
//! raw keys        part by part to a pass's lanes, gone with the pass
//! wrapped keys    [ key 0, part 0 | key 0, part 1 | key 1, part 0 | key 1, part 1 ]   a column of blocks each,
//!                 neighbours under the same key deciphered in one go, where they lie
//! then            passes over texts and blocks take their lanes' part of a column as it is
//! ```
//!
//! 1. Requests of one length begin and end together, so there is no queue, no entry and no sorting.
//! 2. The form is chosen by the number of lanes, as for any batch (`forms.rs`).
//! 3. If there are few unchained texts, their blocks go one by one into lanes, each with its key. Otherwise each text
//!    has a lane, whose keys are set once for all its blocks.

use super::forms::{self, Forms, Job};
use super::{DesKey, Group, Program};
use crate::algorithm::{CipherAlgorithm, CipherDirection, MacAlgorithm, Mode};
use crate::error::{ColumnError, KeyError};
use crate::low::cpu::Cpu;
use crate::low::des::key_table::KeyTable;
use crate::low::des::macs::{LINE_BYTES, Macs, Texts};
use crate::low::des::{BLOCK_BYTES, Block, Form, KEYS_MAX, PIECE_BLOCKS, Piece, Stage, wipe_pieces};
use crate::low::wipe_bytes;
use crate::mid::columns::{Column, ColumnMut, same_lanes};
use std::ops::Range;

/// DES keys of a batch of equal requests, one or several for each, kept between passes.
///
/// Keys from [`crate::Engine::unwrap_des_columns`] can only be used through [`DesColumns::key`]. They are wiped when
/// others replace them and when this value is dropped. The memory is kept, so a value that is used again allocates
/// nothing.
#[derive(Default)]
pub struct DesColumns {
    table: KeyTable,
    keys: Vec<(CipherAlgorithm, usize)>,
}

/// Wrapped keys from tokens, one for each request, enciphered in ECB.
#[derive(Clone, Copy)]
pub struct WrappedColumn<'a> {
    /// The algorithm of the wrapped keys: DES or TDES.
    pub algorithm: CipherAlgorithm,
    /// The wrapping keys of 16 or 24 bytes: one for each eight-byte part, since a master key is combined with another
    /// control vector for each, or one for all parts. Columns and parts whose wrapping keys are the same memory share
    /// passes.
    pub under: &'a [&'a [u8]],
    /// The wrapped keys, one for each request.
    pub keys: Column<'a>,
}

/// The keys of a batch of equal requests: raw keys in a [`Column`], or keys that [`DesColumns`] keeps.
#[derive(Clone, Copy)]
pub struct KeyColumn<'a>(pub(crate) Keys<'a>);

#[derive(Clone, Copy)]
pub(crate) enum Keys<'a> {
    Raw(Column<'a>),
    Kept { algorithm: CipherAlgorithm, table: &'a KeyTable, first: usize },
}

impl<'a> From<Column<'a>> for KeyColumn<'a> {
    #[inline]
    fn from(keys: Column<'a>) -> KeyColumn<'a> {
        KeyColumn(Keys::Raw(keys))
    }
}

impl DesColumns {
    /// An empty value, without keys.
    pub fn new() -> DesColumns {
        DesColumns::default()
    }

    /// The number of requests for which there are keys.
    pub fn lanes(&self) -> usize {
        self.table.lanes()
    }

    /// One of the keys of each request, numbered in the order in which they were given; `None` beyond the last.
    #[inline]
    pub fn key(&self, index: usize) -> Option<KeyColumn<'_>> {
        let (algorithm, first) = *self.keys.get(index)?;
        Some(KeyColumn(Keys::Kept { algorithm, table: &self.table, first }))
    }

    /// Wipes all keys; the memory is kept.
    pub fn clear(&mut self) {
        self.table.wipe();
        self.keys.clear();
    }
}

/// Shows no key.
impl std::fmt::Debug for DesColumns {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "DesColumns({} keys of {} requests)", self.keys.len(), self.lanes())
    }
}

impl KeyColumn<'_> {
    /// The number of requests.
    pub fn lanes(&self) -> usize {
        match self.0 {
            Keys::Raw(keys) => keys.lanes(),
            Keys::Kept { table, .. } => table.lanes(),
        }
    }

    /// Length of each key in bytes.
    pub fn bytes(&self) -> usize {
        match self.0 {
            Keys::Raw(keys) => keys.bytes(),
            Keys::Kept { algorithm, .. } => algorithm.key_bytes(),
        }
    }
}

impl Keys<'_> {
    /// Sets a kernel's keys to the first `key_parts` parts of the keys of these requests.
    #[inline]
    fn set<F: Form, const LANES: usize>(
        &self,
        token: F::Token,
        keys: &mut F::Keys,
        key_parts: usize,
        requests: Range<usize>,
    ) {
        match self {
            Keys::Kept { table, first, .. } => {
                for part in 0..key_parts {
                    F::set_keys(token, keys, part, &table.columns(first + part, 1)[requests.clone()]);
                }
            }
            Keys::Raw(column) => {
                let mut parts = [[0; BLOCK_BYTES]; LANES];
                let parts = &mut parts[..requests.len()];
                for part in 0..key_parts {
                    column.gather(requests.start, part * BLOCK_BYTES, parts);
                    F::set_keys(token, keys, part, parts);
                }
                wipe_bytes(parts.as_flattened_mut());
            }
        }
    }

    /// One part of a request's key.
    #[inline]
    fn part(&self, request: usize, part: usize) -> Block {
        match self {
            Keys::Kept { table, first, .. } => table.columns(first + part, 1)[request],
            Keys::Raw(column) => *column.part(request, part * BLOCK_BYTES),
        }
    }
}

/// Unwraps keys into the table; `columns` is empty after an error.
pub(crate) fn unwrap(
    cpu: Cpu,
    columns: &mut DesColumns,
    wrapped: &[WrappedColumn<'_>],
) -> Result<(), ColumnError> {
    columns.clear();
    let lanes = wrapped.first().map_or(0, |column| column.keys.lanes());
    let mut parts = 0;
    for column in wrapped {
        check_wrapped(column, lanes)?;
        parts += column.algorithm.key_bytes() / BLOCK_BYTES;
    }
    columns.table.reset(parts, lanes);
    let mut first = 0;
    for column in wrapped {
        columns.keys.push((column.algorithm, first));
        for part in 0..column.algorithm.key_bytes() / BLOCK_BYTES {
            column.keys.gather(0, part * BLOCK_BYTES, columns.table.columns_mut(first, 1));
            first += 1;
        }
    }
    // Neighbours under the same key are deciphered together. Only addresses are compared, since the keys are secret.
    let under = |at: usize| wrapped.iter().flat_map(under_each).nth(at);
    let mut from = 0;
    while let Some(key) = under(from) {
        let mut count = 1;
        while under(from + count).is_some_and(|next| std::ptr::eq(next, key)) {
            count += 1;
        }
        decipher_all(cpu, key, columns.table.columns_mut(from, count));
        from += count;
    }
    Ok(())
}

fn check_wrapped(column: &WrappedColumn<'_>, lanes: usize) -> Result<(), ColumnError> {
    let WrappedColumn { algorithm, under, keys } = *column;
    let wrong_length = KeyError::CipherKeyLength { algorithm, bytes: keys.bytes() };
    if Group::of(algorithm).is_none() {
        return Err(ColumnError::NotDes);
    }
    if keys.bytes() != algorithm.key_bytes() {
        return Err(ColumnError::Key(wrong_length));
    }
    same_lanes(keys.lanes(), lanes)?;
    let parts = algorithm.key_bytes() / BLOCK_BYTES;
    if under.len() != 1 && under.len() != parts {
        return Err(ColumnError::WrappingKeys { keys: under.len(), parts });
    }
    match under.iter().find(|key| !matches!(key.len(), 16 | 24)) {
        Some(key) => Err(ColumnError::WrappingKeyLength { bytes: key.len() }),
        None => Ok(()),
    }
}

/// The wrapping key of each part.
fn under_each<'a>(column: &WrappedColumn<'a>) -> impl Iterator<Item = &'a [u8]> {
    let parts = column.algorithm.key_bytes() / BLOCK_BYTES;
    let under = column.under;
    (0..parts).map(move |part| under[part.min(under.len() - 1)])
}

/// Deciphers any number of blocks under one TDES key, in place. Few blocks go to the kernel directly.
fn decipher_all(cpu: Cpu, key: &[u8], blocks: &mut [Block]) {
    let Some(key_parts) = DesKey::new(key) else { return };
    let (program, key) = (Program::of(Group::Tdes, key.len() == 2 * BLOCK_BYTES, false), &key_parts);
    if blocks.len() > Forms::of(cpu).rows_max {
        super::texts::ecb_alone(cpu, program, key, blocks.as_flattened_mut());
    } else {
        forms::in_fitting_form(cpu, blocks.len(), OneKey { program, key, blocks });
    }
}

/// Deciphers at most a pass of blocks under one key.
struct OneKey<'r> {
    program: Program,
    key: &'r DesKey,
    blocks: &'r mut [Block],
}

impl Job for OneKey<'_> {
    type Output = ();

    fn run<F: Form, const LANES: usize>(self, token: F::Token) {
        let mut keys = F::empty_keys(token);
        for (index, part) in self.key.parts()[..self.program.key_parts].iter().enumerate() {
            F::set_key(token, &mut keys, index, part);
        }
        F::blocks(token, &keys, self.program.stages, self.blocks);
    }
}

/// MACs of texts of one length, with zeros as first chaining value. All columns have the same number of requests.
pub(crate) fn macs(cpu: Cpu, algorithm: MacAlgorithm, keys: Keys<'_>, texts: Column<'_>, macs: &mut [Block]) {
    let blocks = texts.bytes().div_ceil(BLOCK_BYTES);
    let (program, last, is_cmac): (_, &[Stage], _) = match algorithm {
        MacAlgorithm::CmacTdes2 => (Program::of(Group::Tdes, true, true), &[], true),
        MacAlgorithm::CmacTdes3 => (Program::of(Group::Tdes, false, true), &[], true),
        MacAlgorithm::X919 => (Program::DES, Program::RETAIL.stages, false),
        _ => (Program::DES, &[], false),
    };
    let key_parts = if last.is_empty() { program.key_parts } else { Program::RETAIL.key_parts };
    let blocks = if is_cmac { blocks.max(1) } else { blocks };
    let mut first = 0;
    while first < macs.len() {
        let macs = &mut macs[first..];
        let lanes = macs.len();
        let pass = MacPass { program, last, key_parts, is_cmac, keys, texts, blocks, first, macs };
        first += forms::in_fitting_form(cpu, lanes, pass);
    }
}

struct MacPass<'a> {
    program: Program,
    last: &'static [Stage],
    key_parts: usize,
    is_cmac: bool,
    keys: Keys<'a>,
    texts: Column<'a>,
    blocks: usize,
    first: usize,
    macs: &'a mut [Block],
}

impl Job for MacPass<'_> {
    type Output = usize;

    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> usize {
        let lanes = self.macs.len().min(LANES);
        let macs = &mut self.macs[..lanes];
        let mut keys = F::empty_keys(token);
        self.keys.set::<F, LANES>(token, &mut keys, self.key_parts, self.first..self.first + lanes);
        let texts = Lanes { column: self.texts, first: self.first };
        macs.fill([0; BLOCK_BYTES]);
        let MacPass { program: Program { stages: program, .. }, last, blocks, .. } = self;
        let of = |ends| Macs { program, last, texts: &texts, blocks, ends };
        if self.is_cmac {
            let mut ends = [[0; BLOCK_BYTES]; LANES];
            let ends = &mut ends[..lanes];
            F::blocks(token, &keys, program, ends);
            let is_whole = self.texts.bytes() == blocks * BLOCK_BYTES;
            for end in &mut *ends {
                *end = super::doubled(*end);
                if !is_whole {
                    *end = super::doubled(*end);
                }
            }
            F::macs(token, &keys, &of(Some(ends)), macs);
            wipe_bytes(ends.as_flattened_mut());
        } else {
            F::macs(token, &keys, &of(None), macs);
        }
        lanes
    }
}

/// The texts of a pass.
struct Lanes<'a> {
    column: Column<'a>,
    first: usize,
}

impl Texts for Lanes<'_> {
    #[inline]
    fn bytes(&self) -> usize {
        self.column.bytes()
    }

    #[inline]
    fn text(&self, lane: usize) -> &[u8] {
        self.column.lane(self.first + lane)
    }

    #[inline]
    fn line(&self, lane: usize, at: usize) -> &[u8; LINE_BYTES] {
        self.column.part(self.first + lane, at)
    }
}

/// ECB or CBC of texts of one length, in place. All columns have the same number of requests. Each chaining value is
/// the block before its text on entry, and the text's last ciphertext block on return.
pub(crate) fn cipher(
    cpu: Cpu,
    algorithm: CipherAlgorithm,
    mode: Mode,
    direction: CipherDirection,
    keys: Keys<'_>,
    chains: &mut [Block],
    texts: &mut ColumnMut<'_>,
) {
    let encipher = direction == CipherDirection::Encipher;
    let Some(group) = Group::of(algorithm) else { return };
    let program = Program::of(group, algorithm == CipherAlgorithm::Tdes2, encipher);
    let blocks = texts.bytes() / BLOCK_BYTES;
    let lanes = texts.lanes();
    let is_chained = mode == Mode::Cbc;
    if blocks == 0 {
        return;
    }
    let mut done = 0;
    if is_chained && encipher {
        while done < lanes {
            let job = Chained { program, keys, chains: &mut chains[done..], texts, first: done };
            done += forms::in_fitting_form(cpu, lanes - done, job);
        }
    } else if blocks == 1 || lanes >= Forms::of(cpu).rows_max.max(1) {
        while done < lanes {
            let chains = if is_chained { Some(&mut chains[done..]) } else { None };
            let job = Side { program, keys, chains, texts, first: done };
            let left = lanes - done;
            let left = if left >= BLOCKS_WIDE_MIN { left.max(Forms::of(cpu).wide_min) } else { left };
            done += forms::in_fitting_form(cpu, left, job);
        }
    } else {
        let mut chains = if is_chained { Some(chains) } else { None };
        while done < lanes * blocks {
            let job = Each { program, keys, chains: chains.as_deref_mut(), texts, first: done };
            done += forms::in_fitting_form(cpu, lanes * blocks - done, job);
        }
    }
}

/// From this many texts on, a pass of the widest form is cheaper than several of another. With two keys to set for one
/// or a few blocks it takes 4.4 us on Emerald Rapids, a byte-sliced pass of 64 takes 1.2.
const BLOCKS_WIDE_MIN: usize = 193;

/// CBC enciphering, one lane for each text.
struct Chained<'r, 'a> {
    program: Program,
    keys: Keys<'r>,
    chains: &'r mut [Block],
    texts: &'r mut ColumnMut<'a>,
    first: usize,
}

impl Job for Chained<'_, '_> {
    type Output = usize;

    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> usize {
        let Chained { program, keys: own, chains, texts, first } = self;
        let lanes = chains.len().min(LANES);
        let chains = &mut chains[..lanes];
        let mut keys = F::empty_keys(token);
        own.set::<F, LANES>(token, &mut keys, program.key_parts, first..first + lanes);
        let mut pieces = [Piece([[0; BLOCK_BYTES]; PIECE_BLOCKS]); LANES];
        let pieces = &mut pieces[..lanes];
        let bytes = texts.bytes();
        for from in (0..bytes).step_by(PIECE_BLOCKS * BLOCK_BYTES) {
            let step = from..bytes.min(from + PIECE_BLOCKS * BLOCK_BYTES);
            for (lane, piece) in pieces.iter_mut().enumerate() {
                let text = &texts.lane(first + lane)[step.clone()];
                piece.0.as_flattened_mut()[..text.len()].copy_from_slice(text);
            }
            F::cbc_encipher(token, &keys, program.stages, chains, pieces, step.len() / BLOCK_BYTES);
            for (lane, piece) in pieces.iter().enumerate() {
                let text = &mut texts.lane(first + lane)[step.clone()];
                text.copy_from_slice(&piece.0.as_flattened()[..text.len()]);
            }
        }
        wipe_pieces(pieces);
        lanes
    }
}

/// A job for texts whose blocks do not depend on each other: one text in each lane.
struct Side<'r, 'a> {
    program: Program,
    keys: Keys<'r>,
    chains: Option<&'r mut [Block]>,
    texts: &'r mut ColumnMut<'a>,
    first: usize,
}

impl Job for Side<'_, '_> {
    type Output = usize;

    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> usize {
        let Side { program, keys: own, mut chains, texts, first } = self;
        let lanes = (texts.lanes() - first).min(LANES);
        let mut keys = F::empty_keys(token);
        own.set::<F, LANES>(token, &mut keys, program.key_parts, first..first + lanes);
        if let (Some(blocks), None) = (texts.side_by_side(first, lanes), &chains) {
            F::blocks(token, &keys, program.stages, blocks);
            return lanes;
        }
        let mut blocks = [[0; BLOCK_BYTES]; LANES];
        let blocks = &mut blocks[..lanes];
        for at in (0..texts.bytes()).step_by(BLOCK_BYTES) {
            texts.gather(first, at, blocks);
            F::blocks(token, &keys, program.stages, blocks);
            match &mut chains {
                None => texts.scatter(first, at, blocks),
                Some(chains) => {
                    for (lane, (block, chain)) in blocks.iter().zip(&mut **chains).enumerate() {
                        give(texts.lane(first + lane), at, *block, Some(chain));
                    }
                }
            }
        }
        wipe_bytes(blocks.as_flattened_mut());
        lanes
    }
}

/// As [`Side`], but one lane for each block: for few texts.
struct Each<'r, 'a> {
    program: Program,
    keys: Keys<'r>,
    chains: Option<&'r mut [Block]>,
    texts: &'r mut ColumnMut<'a>,
    /// The number of blocks done, counted over all texts in a row.
    first: usize,
}

impl Job for Each<'_, '_> {
    type Output = usize;

    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> usize {
        let Each { program, keys: own, mut chains, texts, first } = self;
        let each = texts.bytes() / BLOCK_BYTES;
        let lanes = (texts.lanes() * each - first).min(LANES);
        let place = |lane: usize| ((first + lane) / each, (first + lane) % each * BLOCK_BYTES);
        let mut keys = F::empty_keys(token);
        let mut blocks = [[0; BLOCK_BYTES]; LANES];
        let blocks = &mut blocks[..lanes];
        for part in 0..program.key_parts.min(KEYS_MAX) {
            for (lane, block) in blocks.iter_mut().enumerate() {
                *block = own.part(place(lane).0, part);
            }
            F::set_keys(token, &mut keys, part, blocks);
        }
        for (lane, block) in blocks.iter_mut().enumerate() {
            let (text, at) = place(lane);
            texts.gather(text, at, std::slice::from_mut(block));
        }
        F::blocks(token, &keys, program.stages, blocks);
        for (lane, block) in blocks.iter().enumerate() {
            let (text, at) = place(lane);
            let chain = chains.as_deref_mut().map(|chains| &mut chains[text]);
            give(texts.lane(text), at, *block, chain);
        }
        wipe_bytes(blocks.as_flattened_mut());
        lanes
    }
}

/// Stores a block in its place. For CBC, XORs the ciphertext before it, and keeps the block that it replaces as the
/// next one's.
#[inline]
fn give(text: &mut [u8], at: usize, block: Block, chain: Option<&mut Block>) {
    let place = &mut text[at..].as_chunks_mut().0[0];
    let before = match chain {
        Some(chain) => std::mem::replace(chain, *place),
        None => [0; BLOCK_BYTES],
    };
    *place = (u64::from_ne_bytes(block) ^ u64::from_ne_bytes(before)).to_ne_bytes();
}
