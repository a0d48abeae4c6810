//! Modification detection codes: the hashes MDC-2 (ISO/IEC 10118-2) and MDC-4 of 128 bits, made of DES. Whole blocks of text, many
//! independent texts in one call.
//!
//! ```text
//! step(K, L, a, b):  F = a xor e[K with bits 1, 2 = 10](a)    G = b xor e[L with bits 1, 2 = 01](b)
//!                    K', L' = left half of F and right of G, left half of G and right of F
//! MDC-2 of a block t:  K', L' = step(K, L, t, t)
//! MDC-4:               K', L' = step(step(K, L, t, t), L, K)
//! ```
//! Each step waits for the one before it, and takes two lanes of a pass of DES: one text alone leaves the others of them empty.
//! A text may be secret; its bytes are keys and blocks of the constant-time kernels, and nothing else.

use crate::error::HashError;
use crate::low::cpu::Cpu;
use crate::low::des::{BLOCK_BYTES, Block};
use crate::low::wipe_bytes;
use crate::mid::des::{DesKey, Program, forms};

/// Length of a code, and of the state between blocks, in bytes.
pub const MDC_BYTES: usize = 2 * BLOCK_BYTES;

/// What a text begins from where it has no key of its own.
pub const MDC_START: [u8; MDC_BYTES] =
    [0x52, 0x52, 0x52, 0x52, 0x52, 0x52, 0x52, 0x52, 0x25, 0x25, 0x25, 0x25, 0x25, 0x25, 0x25, 0x25];

/// Encipherments of each block of text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MdcAlgorithm {
    /// Two.
    Mdc2,
    /// Four.
    Mdc4,
}

/// One text of a batch, or a part of one.
#[derive(Debug)]
pub struct MdcItem<'a> {
    /// The hash.
    pub algorithm: MdcAlgorithm,
    /// On entry [`MDC_START`], a key, or what the part before left; on return the code of the text so far.
    pub state: [u8; MDC_BYTES],
    /// Whole blocks of eight bytes.
    pub data: &'a [u8],
    /// [`HashError::NotOnBlock`] where they are not whole: the state is as it was.
    pub result: Result<(), HashError>,
}

impl<'a> MdcItem<'a> {
    /// A text without a key.
    pub fn new(algorithm: MdcAlgorithm, data: &'a [u8]) -> MdcItem<'a> {
        MdcItem { algorithm, state: MDC_START, data, result: Ok(()) }
    }
}

/// A text on its way.
struct Running<'a> {
    four: bool,
    blocks: &'a [Block],
    keys: [Block; 2],
    /// The keys before the first step of a block of MDC-4, while its second is to be done.
    crossed: Option<[Block; 2]>,
}

impl Running<'_> {
    /// What the next step enciphers; none at the end.
    fn inputs(&self) -> Option<[Block; 2]> {
        match self.crossed {
            Some([left, right]) => Some([right, left]),
            None => self.blocks.first().map(|block| [*block, *block]),
        }
    }

    /// Takes what a step enciphered.
    fn advance(&mut self, inputs: [Block; 2], outputs: &[Block]) {
        let before = self.keys;
        for (side, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            for (index, (plain, enciphered)) in input.iter().zip(output).enumerate() {
                let to = if index < BLOCK_BYTES / 2 { side } else { 1 - side };
                self.keys[to][index] = plain ^ enciphered;
            }
        }
        if self.four && self.crossed.is_none() {
            self.crossed = Some(before);
        } else {
            self.crossed = None;
            self.blocks = &self.blocks[1..];
        }
    }
}

/// All of them, step by step side by side.
pub(crate) fn batch(cpu: Cpu, items: &mut [MdcItem<'_>]) {
    let mut running = Vec::with_capacity(items.len());
    for item in &mut *items {
        let (blocks, rest) = item.data.as_chunks::<BLOCK_BYTES>();
        item.result =
            if rest.is_empty() { Ok(()) } else { Err(HashError::NotOnBlock { block_bytes: BLOCK_BYTES }) };
        let (keys, _) = item.state.as_chunks::<BLOCK_BYTES>();
        let blocks = if rest.is_empty() { blocks } else { &[] };
        let four = item.algorithm == MdcAlgorithm::Mdc4;
        running.push(Running { four, blocks, keys: [keys[0], keys[1]], crossed: None });
    }
    let (mut keys, mut blocks) = (Vec::new(), Vec::new());
    keys.reserve_exact(2 * running.len());
    blocks.reserve_exact(2 * running.len());
    loop {
        keys.clear();
        blocks.clear();
        for text in &running {
            let Some(inputs) = text.inputs() else { continue };
            keys.extend(text.keys.iter().zip(KEY_BITS).filter_map(|(key, bits)| des_key(key, bits)));
            blocks.extend(inputs);
        }
        if blocks.is_empty() {
            break;
        }
        forms::own_blocks(cpu, Program::DES, |index| &keys[index], &mut blocks);
        let mut outputs = blocks.chunks_exact(2);
        for text in &mut running {
            let Some(inputs) = text.inputs() else { continue };
            if let Some(outputs) = outputs.next() {
                text.advance(inputs, outputs);
            }
        }
        wipe_bytes(blocks.as_flattened_mut());
    }
    for (item, text) in items.iter_mut().zip(&mut running) {
        item.state.copy_from_slice(text.keys.as_flattened());
        wipe_bytes(text.keys.as_flattened_mut());
    }
}

/// Bits 1 and 2 of the left and the right key, which keep the two apart and neither weak.
const KEY_BITS: [u8; 2] = [0x40, 0x20];

fn des_key(key: &Block, bits: u8) -> Option<DesKey> {
    let mut key = *key;
    key[0] = key[0] & 0x9F | bits;
    let prepared = DesKey::new(&key);
    wipe_bytes(&mut key);
    prepared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low::des::plain::des;

    /// The same with the plain form of DES, a text at a time.
    fn plain(algorithm: MdcAlgorithm, mut state: [u8; 16], text: &[u8]) -> [u8; 16] {
        let step = |state: [u8; 16], a: [u8; 8], b: [u8; 8]| {
            let (mut left, mut right) = ([0; 8], [0; 8]);
            left.copy_from_slice(&state[..8]);
            right.copy_from_slice(&state[8..]);
            left[0] = left[0] & 0b1001_1111 | 0b0100_0000;
            right[0] = right[0] & 0b1001_1111 | 0b0010_0000;
            let mixed = |key, text: [u8; 8]| {
                (u64::from_be_bytes(des(&key, true, text)) ^ u64::from_be_bytes(text)).to_be_bytes()
            };
            let (f, g) = (mixed(left, a), mixed(right, b));
            let mut out = [0; 16];
            out[..4].copy_from_slice(&f[..4]);
            out[4..8].copy_from_slice(&g[4..]);
            out[8..12].copy_from_slice(&g[..4]);
            out[12..].copy_from_slice(&f[4..]);
            out
        };
        for block in text.as_chunks::<8>().0 {
            let before = state;
            state = step(state, *block, *block);
            if algorithm == MdcAlgorithm::Mdc4 {
                let (mut left, mut right) = ([0; 8], [0; 8]);
                left.copy_from_slice(&before[..8]);
                right.copy_from_slice(&before[8..]);
                state = step(state, right, left);
            }
        }
        state
    }

    #[test]
    fn batches_of_any_composition_are_what_each_text_is_alone() {
        for cpu in [Cpu::PORTABLE, Cpu::up_to_avx2(), Cpu::up_to_avx512()] {
            for texts in [1, 2, 5, 33, 70, 300] {
                let data: Vec<Vec<u8>> = (0..texts)
                    .map(|text| (0..text * 13 % 7 * 8).map(|at| (text * 31 + at * 7) as u8).collect())
                    .collect();
                let algorithm = |at: usize| [MdcAlgorithm::Mdc2, MdcAlgorithm::Mdc4][at * 5 % 3 % 2];
                let start = |at: usize| if at % 4 == 3 { [at as u8; 16] } else { MDC_START };
                let mut items: Vec<_> = data
                    .iter()
                    .enumerate()
                    .map(|(at, data)| MdcItem { state: start(at), ..MdcItem::new(algorithm(at), data) })
                    .collect();
                batch(cpu, &mut items);
                for (at, item) in items.iter().enumerate() {
                    assert_eq!(item.result, Ok(()));
                    assert_eq!(item.state, plain(algorithm(at), start(at), &data[at]), "{texts} {at}");
                }
            }
        }
    }

    #[test]
    fn a_text_that_is_not_whole_blocks_disturbs_no_other() {
        let text = [7; 23];
        let both = [MdcAlgorithm::Mdc4, MdcAlgorithm::Mdc2];
        let mut items = [MdcItem::new(both[0], &text), MdcItem::new(both[1], &text[..16])];
        batch(Cpu::PORTABLE, &mut items);
        assert_eq!(items[0].result, Err(HashError::NotOnBlock { block_bytes: 8 }));
        assert_eq!((items[0].state, items[1].result), (MDC_START, Ok(())));
        assert_eq!(items[1].state, plain(both[1], MDC_START, &text[..16]));
    }
}
