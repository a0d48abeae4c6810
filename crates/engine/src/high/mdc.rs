//! Modification detection codes: the 128-bit hashes MDC-2 (ISO/IEC 10118-2) and MDC-4, built from DES. Texts are whole
//! blocks; one call takes many independent texts.
//!
//! ```text
//! step(K, L, a, b):  F = a xor e[K with bits 1, 2 = 10](a)    G = b xor e[L with bits 1, 2 = 01](b)
//!                    K', L' = left half of F and right of G, left half of G and right of F
//! MDC-2 of a block t:  K', L' = step(K, L, t, t)
//! MDC-4:               K', L' = step(step(K, L, t, t), L, K)
//! ```
//! Each step needs the result of the one before and fills two lanes of a DES pass, so a single text leaves the other
//! lanes empty. Therefore up to four texts of one hash share a kernel of their own with AVX-512; at lower levels, many
//! texts share the passes of each step. A text may be secret: its bytes are only keys and blocks of the constant-time
//! kernels.

use crate::error::HashError;
use crate::low::cpu::Cpu;
use crate::low::des::mdc::{self, MDC_TEXTS_MAX, Pair};
use crate::low::des::{BLOCK_BYTES, Block};
use crate::low::{wipe_bytes, wipe_deep_stack, wipe_stack};
use crate::mid::des::{DesKey, Program, forms};

/// Length of a code, and of the state between blocks, in bytes.
pub const MDC_BYTES: usize = 2 * BLOCK_BYTES;

/// The initial state of a text without a key.
pub const MDC_START: [u8; MDC_BYTES] =
    [0x52, 0x52, 0x52, 0x52, 0x52, 0x52, 0x52, 0x52, 0x25, 0x25, 0x25, 0x25, 0x25, 0x25, 0x25, 0x25];

/// The variants, by the encipherments per block of text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MdcAlgorithm {
    /// Two encipherments per block.
    Mdc2,
    /// Four encipherments per block.
    Mdc4,
}

/// One text of a batch, or a part of one.
#[derive(Debug)]
pub struct MdcItem<'a> {
    /// The variant to compute: MDC-2 or MDC-4.
    pub algorithm: MdcAlgorithm,
    /// On entry [`MDC_START`], a key, or the state after the part before; on return the code of the text so far.
    pub state: [u8; MDC_BYTES],
    /// The text: whole blocks of eight bytes.
    pub data: &'a [u8],
    /// [`HashError::NotOnBlock`] if the text is not whole blocks; the state is then unchanged.
    pub result: Result<(), HashError>,
}

impl<'a> MdcItem<'a> {
    /// A request for a whole text without a key.
    pub fn new(algorithm: MdcAlgorithm, data: &'a [u8]) -> MdcItem<'a> {
        MdcItem { algorithm, state: MDC_START, data, result: Ok(()) }
    }
}

/// A text whose code is being computed.
struct Running<'a> {
    four: bool,
    blocks: &'a [Block],
    state: Pair,
    /// The state before the first step of a block of MDC-4.
    before: Pair,
    /// Whether the second step of that block comes next.
    is_between: bool,
}

impl Running<'_> {
    /// The blocks that the next step enciphers; `None` at the end of the text.
    fn inputs(&self) -> Option<Pair> {
        if self.is_between {
            return Some(mdc::crossed(self.before));
        }
        self.blocks.first().map(|block| [*block, *block])
    }

    /// Takes the enciphered blocks of a step.
    fn advance(&mut self, inputs: &Pair, outputs: &[Block]) {
        if !self.is_between {
            self.before = self.state;
        }
        self.state = mdc::after(inputs, outputs);
        self.is_between = self.four && !self.is_between;
        if !self.is_between {
            self.blocks = &self.blocks[1..];
        }
    }
}

/// Runs every request: step by step while many texts are left, then the rest text by text.
pub(crate) fn batch(cpu: Cpu, items: &mut [MdcItem<'_>]) {
    run(cpu, items);
    // Few texts stay in registers: a short one takes less time than wiping the stack that passes of all lanes reach.
    let stays_in_registers = cpu.avx512.is_some() && items.len() <= forms::mdc_texts(cpu);
    if stays_in_registers { wipe_stack() } else { wipe_deep_stack() }
}

/// Not inlined, so that its leftovers on the stack lie where [`batch`] wipes.
#[inline(never)]
fn run(cpu: Cpu, items: &mut [MdcItem<'_>]) {
    let mut running = Vec::with_capacity(items.len());
    for item in &mut *items {
        let (blocks, rest) = item.data.as_chunks::<BLOCK_BYTES>();
        item.result =
            if rest.is_empty() { Ok(()) } else { Err(HashError::NotOnBlock { block_bytes: BLOCK_BYTES }) };
        let (state, _) = item.state.as_chunks::<BLOCK_BYTES>();
        let blocks = if rest.is_empty() { blocks } else { &[] };
        let four = item.algorithm == MdcAlgorithm::Mdc4;
        running.push(Running {
            four,
            blocks,
            state: [state[0], state[1]],
            before: [[0; BLOCK_BYTES]; 2],
            is_between: false,
        });
    }
    many(cpu, &mut running);
    for four in [false, true] {
        few(cpu, four, &mut running);
    }
    for (item, text) in items.iter_mut().zip(&mut running) {
        item.state.copy_from_slice(text.state.as_flattened());
        wipe_bytes(text.state.as_flattened_mut());
        wipe_bytes(text.before.as_flattened_mut());
    }
}

/// Runs one step of all texts at a time, until so few texts are left that [`few`] is faster.
fn many(cpu: Cpu, running: &mut [Running<'_>]) {
    let (mut keys, mut blocks) = (Vec::new(), Vec::new());
    loop {
        let is_between = running.iter().all(|text| !text.is_between);
        let left = running.iter().filter(|text| !text.blocks.is_empty()).count();
        if is_between && left <= forms::mdc_texts(cpu) {
            return;
        }
        keys.clear();
        blocks.clear();
        keys.reserve_exact(2 * left);
        blocks.reserve_exact(2 * left);
        for text in &*running {
            let Some(inputs) = text.inputs() else { continue };
            let mut both = mdc::keys(&text.state);
            keys.extend(both.iter().filter_map(|key| DesKey::new(key)));
            wipe_bytes(both.as_flattened_mut());
            blocks.extend(inputs);
        }
        forms::own_blocks(cpu, Program::DES, |index| &keys[index], &mut blocks);
        let mut outputs = blocks.chunks_exact(2);
        for text in &mut *running {
            let Some(inputs) = text.inputs() else { continue };
            if let Some(outputs) = outputs.next() {
                text.advance(&inputs, outputs);
            }
        }
        wipe_bytes(blocks.as_flattened_mut());
    }
}

/// Runs the texts of one hash in groups of up to [`MDC_TEXTS_MAX`], each group until its shortest text ends.
fn few(cpu: Cpu, four: bool, running: &mut [Running<'_>]) {
    let is_left = |text: &Running<'_>| text.four == four && !text.blocks.is_empty();
    let mut states = [[[0; BLOCK_BYTES]; 2]; MDC_TEXTS_MAX];
    let mut first = 0;
    while let Some(skipped) = running[first..].iter().position(is_left) {
        first += skipped;
        let mut texts: [&[Block]; MDC_TEXTS_MAX] = [&[]; MDC_TEXTS_MAX];
        let (mut taken, mut count) = (0, usize::MAX);
        for text in running[first..].iter().filter(|text| is_left(text)).take(MDC_TEXTS_MAX) {
            (states[taken], texts[taken]) = (text.state, text.blocks);
            count = count.min(text.blocks.len());
            taken += 1;
        }
        forms::mdc(cpu, four, &mut states[..taken], &texts[..taken]);
        for (text, state) in running[first..].iter_mut().filter(|text| is_left(text)).zip(&states[..taken]) {
            (text.state, text.blocks) = (*state, &text.blocks[count..]);
        }
    }
    wipe_bytes(states.as_flattened_mut().as_flattened_mut());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low::des::plain::des;

    /// The same computation with the plain form of DES, one text at a time.
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
    fn one_text_and_few_of_every_length() {
        let text = |at: usize, blocks: usize| -> Vec<u8> {
            (0..8 * blocks).map(|byte| (byte * byte + 7 * at + blocks) as u8).collect()
        };
        let state = |at: usize| std::array::from_fn(|byte| (at * 89 + byte * 23) as u8);
        for cpu in [Cpu::PORTABLE, Cpu::up_to_avx2(), Cpu::up_to_avx512()] {
            for count in 1..=9 {
                for blocks in 0..=17 {
                    for algorithm in [MdcAlgorithm::Mdc2, MdcAlgorithm::Mdc4] {
                        // All texts of one length, then each a block longer than the one before.
                        for longer in [0, 1] {
                            let texts: Vec<_> = (0..count).map(|at| text(at, blocks + longer * at)).collect();
                            let mut items: Vec<_> = texts
                                .iter()
                                .enumerate()
                                .map(|(at, text)| MdcItem {
                                    state: state(at),
                                    ..MdcItem::new(algorithm, text)
                                })
                                .collect();
                            batch(cpu, &mut items);
                            for (at, item) in items.iter().enumerate() {
                                let expected = plain(algorithm, state(at), &texts[at]);
                                assert_eq!(item.state, expected, "{algorithm:?} {count} {at} {blocks}");
                            }
                        }
                    }
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
