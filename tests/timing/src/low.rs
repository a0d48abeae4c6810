//! What the engine's file of numbers takes from its module.

use zeroize::Zeroize;

pub(crate) fn wipe_bytes(bytes: &mut [u8]) {
    bytes.zeroize();
}

pub(crate) fn wipe_lanes(words: &mut [u64]) {
    words.zeroize();
}
