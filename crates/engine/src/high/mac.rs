//! MACs from block ciphers: X9.9, X9.19 and CMAC, whole or in segments, many independent requests in one
//! call.
//!
//! - X9.9 (also FIPS 113, and ISO 9797-1 algorithm 1 with padding method 1): CBC under one DES key, the
//!   last block padded with zeros; the MAC is the last chaining value.
//! - X9.19 optional procedure (ISO 9797-1 algorithm 3, padding method 1): as X9.9 under the left key, then
//!   the last chaining value deciphered under the right key and enciphered under the left.
//! - CMAC (SP 800-38B): CBC with the last block XORed with one of two subkeys.

use crate::algorithm::MacAlgorithm;
use crate::error::{KeyError, MacError};
use crate::low::aes::Rounds;
use crate::low::aes::streams::LANES_MAX;
use crate::low::aws_lc::aes::{AES_BLOCK_BYTES, AesSchedule};
use crate::low::cpu::Cpu;
use crate::low::des::lines::Line;
use crate::low::des::{Block, PIECE_BLOCKS, Piece};
use crate::low::{wipe_block, wipe_bytes};
use crate::mid::aes;
use crate::mid::aes::streams::Stream;
use crate::mid::columns::Column;
use crate::mid::des::streams::{LineWork, Streams};
use crate::mid::des::{self, DesKey, Entry, Group, Program, TABLE_ENTRIES, TABLE_ENTRIES_FEW};
use std::fmt;

/// A MAC key; zero when dropped.
///
/// A DES key is kept in the value itself as bytes; moving the value may leave an unwiped copy at the old place. An AES
/// key is kept prepared, in one allocation that does not move.
pub struct MacKey {
    algorithm: MacAlgorithm,
    key: Key,
}

enum Key {
    Des(DesKey),
    Aes(Box<AesMac>),
}

struct AesMac {
    schedule: AesSchedule,
    /// The subkey for a whole last block, then the one for a partial last block.
    subkeys: [[u8; 16]; 2],
}

impl MacKey {
    /// Prepares a key of any algorithm, weak ones included: the callers check that. Fails only for a wrong length.
    #[inline]
    pub(crate) fn new(algorithm: MacAlgorithm, key: &[u8]) -> Result<MacKey, KeyError> {
        let wrong_length = KeyError::MacKeyLength { algorithm, bytes: key.len() };
        if key.len() != algorithm.key_bytes() {
            return Err(wrong_length);
        }
        let key = match group(algorithm) {
            Some(_) => Key::Des(DesKey::new(key).ok_or(wrong_length)?),
            None => Key::Aes(AesMac::new(key).ok_or(wrong_length)?),
        };
        Ok(MacKey { algorithm, key })
    }

    /// The algorithm for which the key was prepared.
    pub fn algorithm(&self) -> MacAlgorithm {
        self.algorithm
    }

    /// The DES key of a request that belongs to a DES group.
    #[inline]
    pub(crate) fn des_key(&self) -> &DesKey {
        match &self.key {
            Key::Des(key) => key,
            Key::Aes(_) => unreachable!("sorted by algorithm"),
        }
    }
}

impl AesMac {
    /// Prepares a key; `None` unless it has 16, 24 or 32 bytes.
    fn new(key: &[u8]) -> Option<Box<AesMac>> {
        let mut mac = Box::new(AesMac::empty());
        if mac.set(key) { Some(mac) } else { None }
    }

    /// A place for a key, without one.
    fn empty() -> AesMac {
        AesMac { schedule: AesSchedule::empty(), subkeys: [[0; 16]; 2] }
    }

    /// Prepares a key. False unless it has 16, 24 or 32 bytes.
    fn set(&mut self, key: &[u8]) -> bool {
        if !self.schedule.set_encipher(key) {
            return false;
        }
        let AesMac { schedule, subkeys: [whole, partial] } = self;
        *whole = [0; 16];
        schedule.ecb(true, whole);
        *whole = double_128(*whole);
        *partial = double_128(*whole);
        true
    }

    /// Continues the chain over a segment of a text. The MAC is the chaining value after the last segment.
    fn segment(&self, chain: &mut [u8; 16], text: &[u8], last: bool) {
        let (whole, block) = self.split(text, last);
        self.schedule.cbc_mac(chain, whole);
        if let Some(mut block) = block {
            for (byte, last) in chain.iter_mut().zip(&block) {
                *byte ^= last;
            }
            self.schedule.ecb(true, chain);
            wipe_block(&mut block);
        }
    }

    /// Splits a segment into whole blocks and, if it is the last, its last block, padded and XORed with its subkey.
    fn split<'a>(&self, text: &'a [u8], last: bool) -> (&'a [u8], Option<[u8; 16]>) {
        if !last {
            return (text, None);
        }
        let before = text.len().saturating_sub(1) / AES_BLOCK_BYTES * AES_BLOCK_BYTES;
        let (whole, rest) = text.split_at(before);
        let mut block = [0; AES_BLOCK_BYTES];
        block[..rest.len()].copy_from_slice(rest);
        let subkey = if rest.len() == AES_BLOCK_BYTES {
            &self.subkeys[0]
        } else {
            block[rest.len()] = 0x80;
            &self.subkeys[1]
        };
        for (byte, key_byte) in block.iter_mut().zip(subkey) {
            *byte ^= key_byte;
        }
        (whole, Some(block))
    }
}

impl Drop for AesMac {
    fn drop(&mut self) {
        self.subkeys.iter_mut().for_each(|subkey| wipe_bytes(subkey));
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "MacKey({})", self.algorithm)
    }
}

/// One request of a batch: a whole text, or one segment of it.
#[derive(Debug)]
pub struct MacItem<'a> {
    /// The key of this request; the keys of a batch may differ.
    pub key: &'a MacKey,
    /// Chaining value: zeros before the first segment; on return, the value for the next segment. Only the first bytes,
    /// one block, count.
    pub chain: [u8; 16],
    /// The text of this segment. All segments but the last are whole blocks; the last block of a CMAC text must be in
    /// the last segment.
    pub data: &'a [u8],
    /// Whether the text ends here. An empty last segment adds no block to X9.9 and X9.19.
    pub last: bool,
    /// The MAC: one block, then zeros. Zeros in full unless `last` is set and the request succeeded.
    pub mac: [u8; 16],
    /// The result of the request; after an error, `chain` is unchanged.
    pub result: Result<(), MacError>,
}

impl<'a> MacItem<'a> {
    /// A request over a whole text, not yet run.
    #[inline]
    pub fn new(key: &'a MacKey, data: &'a [u8]) -> MacItem<'a> {
        MacItem { key, chain: [0; 16], data, last: true, mac: [0; 16], result: Ok(()) }
    }
}

/// Runs every request; each gets its own result.
pub(crate) fn batch(cpu: Cpu, items: &mut [MacItem<'_>]) {
    let (mut has_des, mut has_aes) = (false, false);
    for item in items.iter_mut() {
        item.result = check(item);
        match item.key.key {
            Key::Des(_) => has_des = true,
            Key::Aes(_) => has_aes = true,
        }
    }
    if has_aes {
        batch_of_aes(cpu, items);
    }
    if has_des && items.len() <= TABLE_ENTRIES_FEW {
        batch_of_des::<TABLE_ENTRIES_FEW>(cpu, items);
    } else if has_des {
        batch_of_des::<TABLE_ENTRIES>(cpu, items);
    }
    for item in items {
        item.mac = [0; 16];
        if item.last && item.result.is_ok() {
            let bytes = item.key.algorithm.block_bytes();
            item.mac[..bytes].copy_from_slice(&item.chain[..bytes]);
        }
    }
}

fn check(item: &MacItem<'_>) -> Result<(), MacError> {
    let block_bytes = item.key.algorithm.block_bytes();
    let bytes = item.data.len();
    if !item.last && !bytes.is_multiple_of(block_bytes) {
        return Err(MacError::SegmentLength { bytes, block_bytes });
    }
    let is_begun = || item.chain[..block_bytes].iter().any(|byte| *byte != 0);
    if item.last && bytes == 0 && is_cmac(item.key.algorithm) && is_begun() {
        return Err(MacError::LastSegmentEmpty);
    }
    Ok(())
}

/// Runs the AES requests of a batch that have no error.
fn batch_of_aes(cpu: Cpu, items: &mut [MacItem<'_>]) {
    for item in cmac_streams(cpu, items) {
        if let (Key::Aes(mac), Ok(())) = (&item.key.key, item.result) {
            mac.segment(&mut item.chain, item.data, item.last);
        }
    }
}

/// Runs texts in lanes, those of one key length together. Returns the requests that are still to be done one by one, if
/// lanes do not serve them.
fn cmac_streams<'r, 'a>(cpu: Cpu, items: &'r mut [MacItem<'a>]) -> &'r mut [MacItem<'a>] {
    let bytes = items.iter().map(|item| item.data.len()).fold(0, usize::saturating_add);
    let Some(kernel) = aes::streams::choose(cpu, items.len(), bytes) else { return items };
    for rounds in Rounds::ALL {
        let streams = items.iter_mut().filter_map(|item| {
            let Key::Aes(mac) = &item.key.key else { return None };
            let keys = mac.schedule.round_keys()?;
            if keys.rounds() != rounds || item.result.is_err() {
                return None;
            }
            let (text, last) = mac.split(item.data, item.last);
            Some(Stream { keys, chain: &mut item.chain, text, last })
        });
        aes::streams::run(kernel, rounds, streams);
    }
    &mut []
}

/// CMACs with AES of whole texts of one length under keys of 16, 24 or 32 bytes, one key per text. Keys are prepared in
/// one place, for as many texts at a time as there are lanes.
pub(crate) fn aes_columns(cpu: Cpu, keys: Column<'_>, texts: Column<'_>, macs: &mut [[u8; 16]]) {
    let kernel = aes::streams::choose(cpu, keys.lanes(), keys.lanes().saturating_mul(texts.bytes()));
    let mut prepared: [AesMac; LANES_MAX] = std::array::from_fn(|_| AesMac::empty());
    let mut first = 0;
    for macs in macs.chunks_mut(LANES_MAX) {
        let prepared = &mut prepared[..macs.len()];
        for (mac, lane) in prepared.iter_mut().zip(first..) {
            // No key fails, since its length was checked before.
            let is_made = mac.set(keys.lane(lane));
            debug_assert!(is_made);
        }
        macs.fill([0; 16]);
        let rounds = prepared.first().and_then(|mac| Some(mac.schedule.round_keys()?.rounds()));
        let all = prepared.iter().zip(&mut *macs).zip(first..);
        match (kernel, rounds) {
            (Some(kernel), Some(rounds)) => {
                let streams = all.filter_map(|((mac, chain), lane)| {
                    let (text, last) = mac.split(texts.lane(lane), true);
                    Some(Stream { keys: mac.schedule.round_keys()?, chain, text, last })
                });
                aes::streams::run(kernel, rounds, streams);
            }
            _ => all.for_each(|((mac, chain), lane)| mac.segment(chain, texts.lane(lane), true)),
        }
        first += macs.len();
    }
}

/// Runs the DES requests of a batch that have no error.
fn batch_of_des<const ENTRIES: usize>(cpu: Cpu, items: &mut [MacItem<'_>]) {
    let mut table = [Entry::NONE; ENTRIES];
    for items in items.chunks_mut(ENTRIES) {
        for wanted in Group::ALL {
            let (mut entries, mut two_keys) = (0, true);
            for (index, item) in items.iter().enumerate() {
                let algorithm = item.key.algorithm;
                if group(algorithm) == Some(wanted) && item.result.is_ok() {
                    let wants_last_step = item.last && algorithm == MacAlgorithm::X919;
                    table[entries] = Entry { wants_last_step, ..Entry::new(index, blocks(item)) };
                    two_keys &= algorithm == MacAlgorithm::CmacTdes2;
                    entries += 1;
                }
            }
            let queue = &mut table[..entries];
            let program = Program::of(wanted, two_keys, true);
            if wanted == Group::Tdes && entries > 0 {
                cmacs::<ENTRIES>(cpu, program, items, queue);
            } else if entries > 0 {
                des::streams::run(cpu, program, &mut MacStreams { items, subkeys: &[] }, queue);
            }
        }
    }
}

fn cmacs<const ENTRIES: usize>(cpu: Cpu, program: Program, items: &mut [MacItem<'_>], queue: &mut [Entry]) {
    let mut subkeys = [[0; 8]; ENTRIES];
    cmac_subkeys(cpu, program, items, queue, &mut subkeys);
    des::streams::run(cpu, program, &mut MacStreams { items, subkeys: &subkeys }, queue);
    wipe_bytes(subkeys.as_flattened_mut());
}

/// The CMAC subkey of each request (SP 800-38B, 6.1: L = E(0), K1 = 2 L, K2 = 2 K1): K1 or K2, as its last block needs.
fn cmac_subkeys<const ENTRIES: usize>(
    cpu: Cpu,
    program: Program,
    items: &[MacItem<'_>],
    queue: &[Entry],
    subkeys: &mut [Block; ENTRIES],
) {
    let mut enciphered = [[0; 8]; ENTRIES];
    let enciphered = &mut enciphered[..queue.len()];
    let item = |index: usize| &items[queue[index].item as usize];
    des::forms::own_blocks(cpu, program, |index| item(index).key.des_key(), enciphered);
    for (entry, enciphered) in queue.iter().zip(&*enciphered) {
        let stream = entry.item as usize;
        let text = items[stream].data;
        let whole = des::doubled(*enciphered);
        let is_whole = !text.is_empty() && text.len().is_multiple_of(whole.len());
        subkeys[stream] = if is_whole { whole } else { des::doubled(whole) };
    }
    wipe_bytes(enciphered.as_flattened_mut());
}

/// The number of blocks of a request, with padding.
fn blocks(item: &MacItem<'_>) -> usize {
    let blocks = item.data.len().div_ceil(8);
    if is_cmac(item.key.algorithm) && item.last { blocks.max(1) } else { blocks }
}

/// Texts to authenticate; padding is added as they are read.
struct MacStreams<'r, 'a> {
    items: &'r mut [MacItem<'a>],
    /// Each text's subkey for the last block of its CMAC; empty for X9.9 and X9.19.
    subkeys: &'r [Block],
}

impl Streams for MacStreams<'_, '_> {
    #[inline]
    fn key(&self, stream: usize) -> &DesKey {
        self.items[stream].key.des_key()
    }

    #[inline]
    fn chain(&mut self, stream: usize) -> &mut Block {
        des::first_half(&mut self.items[stream].chain)
    }

    #[inline]
    fn lines(&self, stream: usize, left: usize) -> usize {
        let item = &self.items[stream];
        if item.last && is_cmac(item.key.algorithm) {
            // The last block is left out, since its subkey must be added.
            left.saturating_sub(1) / PIECE_BLOCKS
        } else {
            rest(item, left).len() / size_of::<Line>()
        }
    }

    #[inline]
    fn lend<const LANES: usize>(&mut self, queue: &[Entry], work: impl LineWork) {
        let mut lines: [&[Line]; LANES] = [&[]; LANES];
        for (lines, entry) in lines.iter_mut().zip(queue) {
            *lines = rest(&self.items[entry.item as usize], entry.left).as_chunks().0;
        }
        work.run(&mut lines[..queue.len()]);
    }

    #[inline]
    fn load(&self, stream: usize, left: usize, piece: &mut Piece) {
        let item = &self.items[stream];
        let text = rest(item, left);
        let bytes = piece.0.as_flattened_mut();
        match text.first_chunk::<64>() {
            Some(whole) => bytes.copy_from_slice(whole),
            None => {
                bytes[..text.len()].copy_from_slice(text);
                bytes[text.len()..].fill(0);
            }
        }
        if left <= piece.0.len() && item.last && is_cmac(item.key.algorithm) {
            if let Some(end) = piece.0[..left].as_flattened_mut().get_mut(text.len()) {
                *end = 0x80;
            }
            for (byte, key_byte) in piece.0[left - 1].iter_mut().zip(&self.subkeys[stream]) {
                *byte ^= key_byte;
            }
        }
    }

    #[inline]
    fn store(&mut self, _: usize, _: usize, _: &Piece, _: usize) {}
}

/// The rest of a text: its last `left` blocks, without padding.
#[inline]
fn rest<'a>(item: &MacItem<'a>, left: usize) -> &'a [u8] {
    &item.data[(blocks(item) - left) * 8..]
}

/// The DES group that computes a MAC; `None` for AES.
#[inline]
fn group(algorithm: MacAlgorithm) -> Option<Group> {
    match algorithm {
        MacAlgorithm::X99 | MacAlgorithm::X919 => Some(Group::Des),
        MacAlgorithm::CmacTdes2 | MacAlgorithm::CmacTdes3 => Some(Group::Tdes),
        MacAlgorithm::CmacAes128 | MacAlgorithm::CmacAes192 | MacAlgorithm::CmacAes256 => None,
    }
}

#[inline]
fn is_cmac(algorithm: MacAlgorithm) -> bool {
    !matches!(algorithm, MacAlgorithm::X99 | MacAlgorithm::X919)
}

/// Doubles in GF(2^128), without a branch on the value.
fn double_128(value: [u8; 16]) -> [u8; 16] {
    let value = u128::from_be_bytes(value);
    (value << 1 ^ 0x87 & (value >> 127).wrapping_neg()).to_be_bytes()
}
