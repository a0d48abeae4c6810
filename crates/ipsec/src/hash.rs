//! A hash for tables whose entries an administrator makes, or this end chose: no peer can bring entries that collide.

use std::hash::Hasher;

/// Mixes both addresses of a key and the rest of it, in products that do not wait for each other.
#[inline]
pub(crate) fn mixed(source: u128, destination: u128, rest: u64) -> u64 {
    let pair = |number: u128, first, second| fold(number as u64 ^ first, (number >> 64) as u64 ^ second);
    let addresses = pair(source, 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db)
        ^ pair(destination, 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3);
    addresses ^ fold(rest ^ 0x1d8e_4e27_c47d_124f, 0xeb44_acca_b455_d165)
}

/// The exclusive or of both halves of a product.
#[inline]
fn fold(first: u64, second: u64) -> u64 {
    let product = u128::from(first) * u128::from(second);
    (product >> 64) as u64 ^ product as u64
}

/// A hasher that mixes words.
#[derive(Default)]
pub(crate) struct Mix(u64);

impl Mix {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = fold(self.0.rotate_left(5) ^ word, 0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.mix(u64::from(*byte)));
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.mix(u64::from(number));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        self.mix(number as u64);
        self.mix((number >> 64) as u64);
    }

    #[inline]
    fn write_isize(&mut self, number: isize) {
        self.mix(number as u64);
    }
}
