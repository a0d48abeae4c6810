//! What a target does, drawn from its input.

use seeded::Random;

/// Choices out of the input while it lasts, then out of a generator seeded by all of it.
pub struct Choices<'a> {
    rest: &'a [u8],
    random: Random,
}

impl<'a> Choices<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        // FNV-1a, so that each bit of the input changes every key and text.
        let state = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| {
            (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Choices { rest: data, random: Random(state) }
    }

    pub fn byte(&mut self) -> u8 {
        if let Some((first, rest)) = self.rest.split_first() {
            self.rest = rest;
            return *first;
        }
        self.random.number() as u8
    }

    /// Below the bound, which is at most 65,536.
    pub fn below(&mut self, bound: usize) -> usize {
        let low = usize::from(self.byte());
        if bound <= 256 { low % bound } else { (low | usize::from(self.byte()) << 8) % bound }
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        self.random.bytes(count)
    }
}
