//! Pseudorandom numbers from a seed, so that a failure can be repeated. For tests and measurements, never for keys.
#![forbid(unsafe_code)]

/// SplitMix64 (Steele, Lea, Flood 2014), from a seed, which may be any.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    #[inline]
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below a bound.
    ///
    /// # Panics
    /// Where the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }

    /// One of several values.
    ///
    /// # Panics
    /// Where there is none.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// An array of bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.number() as u8)
    }

    /// So many arrays of bytes.
    pub fn arrays<const N: usize>(&mut self, count: usize) -> Vec<[u8; N]> {
        (0..count).map(|_| self.array()).collect()
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..count.div_ceil(8)).flat_map(|_| self.number().to_le_bytes()).collect();
        bytes.truncate(count);
        bytes
    }
}
