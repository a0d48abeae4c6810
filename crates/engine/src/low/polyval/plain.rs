//! POLYVAL on 64-bit words; the time depends only on lengths.

use super::Block;

/// See [`super::absorb`].
pub(super) fn absorb(key: &Block, sum: &mut Block, blocks: &[Block]) {
    let key = words(key);
    let mut value = words(sum);
    for block in blocks {
        let block = words(block);
        value = dot([value[0] ^ block[0], value[1] ^ block[1]], key);
    }
    for (half, word) in sum.as_chunks_mut::<8>().0.iter_mut().zip(value) {
        *half = word.to_le_bytes();
    }
}

fn words(block: &Block) -> [u64; 2] {
    let whole = u128::from_le_bytes(*block);
    [whole as u64, (whole >> 64) as u64]
}

fn dot([a0, a1]: [u64; 2], [b0, b1]: [u64; 2]) -> [u64; 2] {
    let (low, high) = (product(a0, b0), product(a1, b1));
    // Karatsuba: one more product gives the middle term.
    let both = product(a0 ^ a1, b0 ^ b1);
    let middle = [both[0] ^ low[0] ^ high[0], both[1] ^ low[1] ^ high[1]];
    let [v0, mut v1, mut v2, mut v3] = [low[0], low[1] ^ middle[0], high[0] ^ middle[1], high[1]];
    v2 ^= v0 ^ (v0 >> 1) ^ (v0 >> 2) ^ (v0 >> 7);
    v1 ^= (v0 << 63) ^ (v0 << 62) ^ (v0 << 57);
    v3 ^= v1 ^ (v1 >> 1) ^ (v1 >> 2) ^ (v1 >> 7);
    v2 ^= (v1 << 63) ^ (v1 << 62) ^ (v1 << 57);
    [v2, v3]
}

/// The 127-bit product without carries: its low word, and its high word, which is the low word of the reversed factors.
fn product(a: u64, b: u64) -> [u64; 2] {
    [low_product(a, b), low_product(a.reverse_bits(), b.reverse_bits()).reverse_bits() >> 1]
}

/// The low word of the product, by ordinary multiplications of every fourth bit (T. Pornin, BearSSL, "Constant-Time
/// GHASH"). At most 16 products are added in one place, and only in the highest, so no carry reaches the next bit in
/// use.
fn low_product(a: u64, b: u64) -> u64 {
    const EVERY_FOURTH: u64 = 0x1111_1111_1111_1111;
    let parts = |word: u64| [0, 1, 2, 3].map(|at| word & (EVERY_FOURTH << at));
    let (a, b) = (parts(a), parts(b));
    let mut out = 0;
    for place in 0..4 {
        let mut sum = 0;
        for at in 0..4 {
            sum ^= a[at].wrapping_mul(b[(4 + place - at) % 4]);
        }
        out |= sum & (EVERY_FOURTH << place);
    }
    out
}
