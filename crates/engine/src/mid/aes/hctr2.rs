//! HCTR2 with AES (P. Crowley, N. Huckleberry, E. Biggers, "Length-preserving encryption with HCTR2", 2021): a
//! tweakable cipher over messages of 16 bytes and more. In both directions, every bit of the result depends on every
//! bit of message, tweak and key.
//!
//! ```text
//! h = E(0)   L = E(1)                     numbers as little-endian blocks
//! M || N = message, M one block           H(X) = POLYVAL under h of the tweak's length, the tweak and X
//! MM = M xor H(N)   UU = E(MM)   S = MM xor UU xor L
//! V  = N xor E(S xor 1) E(S xor 2) ..     U = UU xor H(V)      result: U || V
//! ```
//! To decipher, only the block cipher of the first block is inverted. The first blocks of many messages under one key
//! are enciphered in one call, and so are the first blocks of their key streams.

use crate::algorithm::CipherDirection;
use crate::error::{CipherError, KeyError};
use crate::low::aes::ocb::xor;
use crate::low::aes::{self, Block};
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::Cpu;
use crate::low::{polyval, wipe_block, wipe_bytes};
use std::fmt;

/// Length of a block, and of the shortest message, in bytes.
const BLOCK_BYTES: usize = 16;
/// At most this many messages are processed at a time.
const WAVE: usize = 64;

/// An AES key prepared for HCTR2, in one allocation that does not move; wiped when dropped.
pub struct Hctr2Key {
    context: Box<Context>,
    key_bytes: usize,
}

struct Context {
    encipher: AesSchedule,
    decipher: AesSchedule,
    hash: Block,
    mask: Block,
}

impl Hctr2Key {
    pub(crate) fn new(key: &[u8]) -> Result<Hctr2Key, KeyError> {
        let mut context = Box::new(Context {
            encipher: AesSchedule::empty(),
            decipher: AesSchedule::empty(),
            hash: number(0),
            mask: number(1),
        });
        let Context { encipher, decipher, hash, mask } = &mut *context;
        if !(encipher.set_encipher(key) && decipher.set_decipher(key)) {
            return Err(KeyError::Hctr2KeyLength { bytes: key.len() });
        }
        encipher.ecb(true, hash);
        encipher.ecb(true, mask);
        Ok(Hctr2Key { context, key_bytes: key.len() })
    }

    /// Length of the key in bytes.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        wipe_block(&mut self.hash);
        wipe_block(&mut self.mask);
    }
}

impl fmt::Debug for Hctr2Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Hctr2Key(AES-{})", 8 * self.key_bytes)
    }
}

/// One message of a batch. The message is changed in place, and keeps its length.
#[derive(Debug)]
pub struct Hctr2Item<'a> {
    /// The key of this message; the keys of a batch may differ.
    pub key: &'a Hctr2Key,
    /// The data to which the message is bound, of any length.
    pub tweak: &'a [u8],
    /// The message, at least 16 bytes.
    pub data: &'a mut [u8],
    /// The result of the request; after an error, `data` is unchanged.
    pub result: Result<(), CipherError>,
}

impl<'a> Hctr2Item<'a> {
    /// A message not yet enciphered or deciphered.
    #[inline]
    pub fn new(key: &'a Hctr2Key, tweak: &'a [u8], data: &'a mut [u8]) -> Hctr2Item<'a> {
        Hctr2Item { key, tweak, data, result: Ok(()) }
    }

    /// Splits the message into its first block and the rest.
    #[inline]
    fn split(&mut self) -> Option<(&mut Block, &mut [u8])> {
        self.data.split_first_chunk_mut()
    }
}

/// Runs every message; each gets its own result.
pub(crate) fn batch(cpu: Cpu, direction: CipherDirection, items: &mut [Hctr2Item<'_>]) {
    let encipher = direction == CipherDirection::Encipher;
    for items in items.chunks_mut(WAVE) {
        run(cpu, encipher, items);
    }
}

fn run(cpu: Cpu, encipher: bool, items: &mut [Hctr2Item<'_>]) {
    // For each message: the hash of its tweak, the first block XORed with the hash, and the block to encipher.
    let mut tweaks = [[0; BLOCK_BYTES]; WAVE];
    let mut firsts = [[0; BLOCK_BYTES]; WAVE];
    let mut blocks = [[0; BLOCK_BYTES]; WAVE];
    for (at, item) in items.iter_mut().enumerate() {
        let (hash, tweak) = (&item.key.context.hash, item.tweak);
        let bytes = item.data.len();
        let Some((first, rest)) = item.split() else {
            item.result = Err(CipherError::MessageLength { bytes });
            continue;
        };
        tweaks[at] = hash_tweak(cpu, hash, tweak, rest.len());
        firsts[at] = xor(first, &hash_text(cpu, hash, &tweaks[at], rest));
        blocks[at] = firsts[at];
        item.result = Ok(());
    }

    by_key(items, &mut blocks, |context, blocks| {
        let schedule = if encipher { &context.encipher } else { &context.decipher };
        aes::ecb(cpu, schedule, encipher, blocks);
    });

    for ((item, first), block) in items.iter().zip(&mut firsts).zip(&mut blocks) {
        let start = xor(&xor(first, block), &item.key.context.mask);
        // The first block of the result, before its hash is added.
        *first = *block;
        *block = start;
    }
    let mut streams = blocks;
    for stream in &mut streams[..items.len()] {
        *stream = xor(stream, &number(1));
    }
    by_key(items, &mut streams, |context, blocks| aes::ecb(cpu, &context.encipher, true, blocks));

    for (at, item) in items.iter_mut().enumerate() {
        let context = &*item.key.context;
        let Some((first, rest)) = item.split() else { continue };
        let (near, far) = rest.split_at_mut(rest.len().min(BLOCK_BYTES));
        add(near, &streams[at]);
        for (block, index) in far.chunks_mut(BLOCK_BYTES).zip(2u128..) {
            let mut stream = xor(&blocks[at], &index.to_le_bytes());
            context.encipher.ecb(true, &mut stream);
            add(block, &stream);
            wipe_block(&mut stream);
        }
        *first = xor(&firsts[at], &hash_text(cpu, &context.hash, &tweaks[at], rest));
    }
    for secrets in [&mut tweaks, &mut firsts, &mut blocks, &mut streams] {
        wipe_bytes(secrets[..items.len()].as_flattened_mut());
    }
}

/// Runs `run` on the blocks of consecutive messages under one key.
fn by_key(items: &[Hctr2Item<'_>], blocks: &mut [Block; WAVE], mut run: impl FnMut(&Context, &mut [u8])) {
    let mut done = 0;
    for items in items.chunk_by(|one, next| std::ptr::eq(&*one.key.context, &*next.key.context)) {
        run(&items[0].key.context, blocks[done..done + items.len()].as_flattened_mut());
        done += items.len();
    }
}

/// Hashes the tweak's length, whether the text is whole blocks, and the tweak, padded with zeros to whole blocks.
fn hash_tweak(cpu: Cpu, key: &Block, tweak: &[u8], text_bytes: usize) -> Block {
    let mut sum = [0; BLOCK_BYTES];
    let is_partial = !text_bytes.is_multiple_of(BLOCK_BYTES);
    let length = number(16 * tweak.len() as u128 + if is_partial { 3 } else { 2 });
    polyval::absorb(cpu, key, &mut sum, &[length]);
    let (whole, rest) = tweak.as_chunks();
    polyval::absorb(cpu, key, &mut sum, whole);
    if !rest.is_empty() {
        let mut last = [0; BLOCK_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        polyval::absorb(cpu, key, &mut sum, &[last]);
    }
    sum
}

/// Continues the tweak's hash with a text. A text that is not whole blocks is padded with X'01' and zeros.
fn hash_text(cpu: Cpu, key: &Block, tweak: &Block, text: &[u8]) -> Block {
    let mut sum = *tweak;
    let (whole, rest) = text.as_chunks();
    polyval::absorb(cpu, key, &mut sum, whole);
    if !rest.is_empty() {
        let mut last = [0; BLOCK_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        last[rest.len()] = 1;
        polyval::absorb(cpu, key, &mut sum, &[last]);
        wipe_block(&mut last);
    }
    sum
}

fn add(text: &mut [u8], stream: &Block) {
    for (byte, stream) in text.iter_mut().zip(stream) {
        *byte ^= stream;
    }
}

const fn number(value: u128) -> Block {
    value.to_le_bytes()
}
