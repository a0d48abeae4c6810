//! Converts numbers into and out of Montgomery form, and to the least remainder.

use super::ifma::{multiply, reduce};
use super::ifma_chain::{Chain, load, store};
use super::{BLOCK, DIGIT_MASK, Row};
use std::arch::x86_64::*;

/// x = base * R, below 2n, for any base with the moduli's number of digits.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn enter(chain: &mut Chain, base: &[Row]) {
    let blocks = chain.n.len();
    chain.x[..blocks].as_flattened_mut().copy_from_slice(base);
    chain.factor.copy_from_slice(chain.rr);
    multiply(std::slice::from_mut(chain));
}

/// x = R, below 2n.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn enter_one(chain: &mut Chain) {
    let blocks = chain.n.len();
    chain.x[..blocks].copy_from_slice(chain.rr);
    chain.x[blocks..].fill([Row::ZERO; BLOCK]);
    reduce(std::slice::from_mut(chain));
}

/// x = x / R, below n: leaves Montgomery form.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn leave(chains: &mut [Chain]) {
    for chain in &mut *chains {
        let blocks = chain.n.len();
        chain.x[blocks..].fill([Row::ZERO; BLOCK]);
    }
    reduce(chains);
    for chain in chains {
        subtract_once(chain);
    }
}

/// x = x - n in the lanes in which that is not negative.
#[target_feature(enable = "avx512f")]
pub(super) fn subtract_once(chain: &mut Chain) {
    let mask = _mm512_set1_epi64(DIGIT_MASK as i64);
    let x = chain.x[..chain.n.len()].as_flattened_mut();
    let n = chain.n.as_flattened();
    let mut borrow = _mm512_setzero_si512();
    for (x, n) in x.iter().zip(n) {
        borrow = _mm512_srai_epi64::<52>(_mm512_add_epi64(_mm512_sub_epi64(load(x), load(n)), borrow));
    }
    // All ones in the lanes in which x is below n.
    let keep = borrow;
    let mut borrow = _mm512_setzero_si512();
    for (x, n) in x.iter_mut().zip(n) {
        let n = _mm512_andnot_si512(keep, load(n));
        let difference = _mm512_add_epi64(_mm512_sub_epi64(load(x), n), borrow);
        store(x, _mm512_and_si512(difference, mask));
        borrow = _mm512_srai_epi64::<52>(difference);
    }
}

/// Writes x to `out`.
pub(super) fn put(chain: &Chain, out: &mut [Row]) {
    out.copy_from_slice(chain.x[..chain.n.len()].as_flattened());
}

/// x = 2 * x mod n in the lanes of the mask; x must be below n.
#[target_feature(enable = "avx512f")]
pub(super) fn double(chain: &mut Chain, lanes: u8) {
    let mask = _mm512_set1_epi64(DIGIT_MASK as i64);
    let mut carry = _mm512_setzero_si512();
    for row in chain.x[..chain.n.len()].as_flattened_mut() {
        let x = load(row);
        let sum = _mm512_add_epi64(_mm512_mask_add_epi64(x, lanes, x, x), carry);
        store(row, _mm512_and_si512(sum, mask));
        carry = _mm512_srli_epi64::<52>(sum);
    }
    subtract_once(chain);
}
