//! The steps of MDC-2 and MDC-4 (ISO/IEC 10118-2): the keys and inputs of each, and the state that follows.

use super::{BLOCK_BYTES, Block, Form, Stage};
use crate::low::wipe_bytes;

/// The left and the right block of a state or code, which are also the keys of a step.
pub(crate) type Pair = [Block; 2];

/// At most this many texts side by side in [`Form::mdc`].
pub(crate) const MDC_TEXTS_MAX: usize = 4;

/// The bits of a chaining value's first byte that go into the key.
pub(super) const KEY_MASK: u8 = 0x9f;

/// Bits 1 and 2 of the left and the right key: they make the keys different, and neither weak.
pub(super) const KEY_BITS: [u8; 2] = [0x40, 0x20];

/// The keys of a step.
pub(crate) fn keys(state: &Pair) -> Pair {
    let mut keys = *state;
    for (key, bits) in keys.iter_mut().zip(KEY_BITS) {
        key[0] = key[0] & KEY_MASK | bits;
    }
    keys
}

/// The inputs of the second step of an MDC-4 block: the state before the first step, with its halves exchanged.
pub(crate) fn crossed([left, right]: Pair) -> Pair {
    [right, left]
}

/// The state after a step: input XOR output of each side, with their right halves exchanged.
pub(crate) fn after(inputs: &Pair, outputs: &[Block]) -> Pair {
    let mut state = [[0; BLOCK_BYTES]; 2];
    for (side, (input, output)) in inputs.iter().zip(outputs).enumerate() {
        for (index, (plain, enciphered)) in input.iter().zip(output).enumerate() {
            let to = if index < BLOCK_BYTES / 2 { side } else { 1 - side };
            state[to][index] = plain ^ enciphered;
        }
    }
    state
}

/// [`Form::mdc`] for any form, by passes of blocks.
pub(super) fn in_passes<F: Form>(token: F::Token, four: bool, states: &mut [Pair], texts: &[&[Block]]) {
    let none = [[[0; BLOCK_BYTES]; 2]; MDC_TEXTS_MAX];
    let (mut own, mut inputs, mut blocks) = (none, none, none);
    let lanes = ..states.len();
    for index in 0..texts.iter().map(|text| text.len()).min().unwrap_or(0) {
        for (inputs, text) in inputs.iter_mut().zip(texts) {
            *inputs = [text[index]; 2];
        }
        for is_last in [!four, true] {
            for (own, state) in own.iter_mut().zip(&*states) {
                *own = keys(state);
            }
            let mut keys = F::empty_keys(token);
            F::set_keys(token, &mut keys, 0, own[lanes].as_flattened());
            blocks = inputs;
            F::blocks(token, &keys, &[Stage::encipher(0)], blocks[lanes].as_flattened_mut());
            for ((state, inputs), outputs) in states.iter_mut().zip(&mut inputs).zip(&blocks) {
                let before = *state;
                *state = after(inputs, outputs);
                *inputs = crossed(before);
            }
            if is_last {
                break;
            }
        }
    }
    for pairs in [&mut own, &mut inputs, &mut blocks] {
        wipe_bytes(pairs.as_flattened_mut().as_flattened_mut());
    }
}
