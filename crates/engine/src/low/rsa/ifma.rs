//! Almost-Montgomery multiplication and squaring of eight lanes with AVX-512 IFMA.
//!
//! Montgomery (Mathematics of Computation 44, 1985) with R = 2^(52 * digits), column by column (product scanning: Koc,
//! Acar, Kaliski, IEEE Micro 16, 1996), and without the last subtraction (Gueron, "Efficient software implementations
//! of modular exponentiation", 2012). If n < R / 4 and both factors are below 2n, the result is below (4n^2 + R n) / R
//! < 2n again. So it is if one factor is below n and the other any number of the digits' length: below (R n + R n) / R.
//!
//! Columns are computed in strips of five. A strip sums the digit products in its five columns, first of the factors
//! and then of quotient * n. In the lower half of the strips, its digits of the quotient are then found one after the
//! other. In the upper half, the strip is carried and is a block of the result.
//!
//! ```text
//! block I of a times block J of b, digit products a_i * b_j, by column i + j:
//!
//!     strip I + J:     0   1   2   3   4
//!     strip I + J + 1:                     5   6   7   8   9        (hi of column 8 is column 9)
//!     lo of a_0 * b    b0  b1  b2  b3  b4 |                  "low":  15 lo and 10 hi
//!     lo of a_1 * b        b0  b1  b2  b3 | b4
//!     lo of a_2 * b            b0  b1  b2 | b3  b4
//!     lo of a_3 * b                b0  b1 | b2  b3  b4
//!     lo of a_4 * b                    b0 | b1  b2  b3  b4   "high": 10 lo and 15 hi
//! ```
//!
//! "High" of (I, J - 1) and "low" of (I, J) fall into the same strip and form a *whole* pair. Each digit of block I is
//! multiplied by five neighbouring digits of b, 50 multiplications from 15 loads. `lo[c]` sums low halves and `hi[c]`
//! high halves of column c: ten sums a chain, in registers over the whole strip.
//!
//! Bounds: a column has at most `digits` low and `digits` high halves of the product (a square has half as many,
//! doubled), and as many of quotient * n, each below 2^52. A digit of a number to be reduced and the carry are added. 4
//! * 80 + 1 of 2^52 are below 2^60.4, and a carry below 2^9. 4,095 halves would fit 64 bits.
//!
//! 1. Squares take each pair of blocks once and double the sums, then add the five squares of digits in the strip. A
//!    block with itself is one half pair. 3 k^2 + k multiplications instead of 4 k^2.
//! 2. The digit of the quotient makes its column a multiple of 2^52, so the lowest product is not computed. Its carry
//!    is (sum + 2^52 - 1) >> 52, known before the digit is. A reduction takes 2 k^2.
//! 3. Each digit of the quotient waits for the one before (about 10 cycles), so two chains go through each strip
//!    together: one strip of p and one of q in one loop, with 20 sums in registers.
//! 4. A single chain has registers to spare. So product and reduction get separate sums, and wait less for themselves
//!    (squares of 20 digits: 711 instead of 757 cycles).
//! 5. Parts of the selection of the next factor stand between the sums of a strip, where ports are free.
//!
//! Port limit: two vpmadd52 each cycle. Measured in cycles, with the limit in parentheses:
//!
//! ```text
//! digits              10          20            40            80
//! square              -           711 (610)     2610 (2420)   10190 (9640)
//! two squares         360 (310)   1300 (1220)   5020 (4840)   as two
//! two multiplications 450 (400)   1675 (1600)   -             27050 (25600), as two
//! ```
//!
//! Tried and dropped:
//! - Row by row (operand scanning) with the columns as accumulators: does not fit 32 registers above 20 digits.
//! - Blocks of 5 x 5 with 18 sums for ten columns (the upper five go over to the next): half the loads, but
//!   nearly twice the additions: two squares of 20 digits 1377 instead of 1326.
//! - Strips unrolled for 10 and 20 digits, by constants: fewer instructions, yet 1540 instead of 1326, since
//!   the compiler orders the multiplications of a long block by registers and not by waits.
//! - Keeping the block of b that two neighbouring pairs share in registers: as many moves as loads saved.
//! - The chains in turn instead of together, strip by strip: 1326 instead of 1300.
//! - One level of Karatsuba at 20 digits, by the difference of the halves: squares of 10 digits unrolled in
//!   registers reach the limit (55 cycles), but the difference and the sum of the three take 28 and 59 more,
//!   and a reduction that no product runs beside takes 897 instead of 800: two squares 1350 to 1375, two
//!   multiplications 1656. With the choice of factors in one piece, a pass of RSA-2048 took a sixth longer.
//!   One chain's products between the strips of the other's reduction: 1375 and 1680.
//! - The quotient's digits of the two chains one chain after the other, to fill the waits of one with the
//!   sums of the other: the same.
//! - Sums of each chain in an array of arrays: the compiler keeps those in memory, three times slower. Hence
//!   the macro, which gives each a name.

use super::ifma_chain::{Block, Chain, Digits, digits, load, store};
use super::{BLOCK, DIGIT_MASK};
use std::arch::x86_64::*;

/// Adds products to the sums of a strip: a whole pair, its low or high half, or half of a block's square, with each
/// product of different digits once.
macro_rules! add {
    (whole $lo:expr, $hi:expr, $a:expr, $high:expr, $low:expr) => {{
        let (a, high, low): (&Block, &Block, &Block) = ($a, $high, $low);
        for i in 0..BLOCK {
            let a = load(&a[i]);
            for c in 0..BLOCK {
                let b = if c < i { &high[BLOCK + c - i] } else { &low[c - i] };
                $lo[c] = _mm512_madd52lo_epu64($lo[c], a, load(b));
                let b = if c <= i { &high[BLOCK + c - i - 1] } else { &low[c - i - 1] };
                $hi[c] = _mm512_madd52hi_epu64($hi[c], a, load(b));
            }
        }
    }};
    (low $lo:expr, $hi:expr, $a:expr, $low:expr) => {{
        let (a, low): (&Block, &Block) = ($a, $low);
        for i in 0..BLOCK {
            let a = load(&a[i]);
            for c in i..BLOCK {
                $lo[c] = _mm512_madd52lo_epu64($lo[c], a, load(&low[c - i]));
                if c > i {
                    $hi[c] = _mm512_madd52hi_epu64($hi[c], a, load(&low[c - i - 1]));
                }
            }
        }
    }};
    (high $lo:expr, $hi:expr, $a:expr, $high:expr) => {{
        let (a, high): (&Block, &Block) = ($a, $high);
        for i in 0..BLOCK {
            let a = load(&a[i]);
            for c in 0..=i {
                if c < i {
                    $lo[c] = _mm512_madd52lo_epu64($lo[c], a, load(&high[BLOCK + c - i]));
                }
                $hi[c] = _mm512_madd52hi_epu64($hi[c], a, load(&high[BLOCK + c - i - 1]));
            }
        }
    }};
    (low_half $lo:expr, $hi:expr, $a:ident) => {
        for i in 0..BLOCK {
            for j in i + 1..BLOCK {
                if i + j < BLOCK {
                    $lo[i + j] = _mm512_madd52lo_epu64($lo[i + j], $a[i], $a[j]);
                }
                if i + j + 1 < BLOCK {
                    $hi[i + j + 1] = _mm512_madd52hi_epu64($hi[i + j + 1], $a[i], $a[j]);
                }
            }
        }
    };
    (high_half $lo:expr, $hi:expr, $a:ident) => {
        for i in 0..BLOCK {
            for j in i + 1..BLOCK {
                if i + j >= BLOCK {
                    $lo[i + j - BLOCK] = _mm512_madd52lo_epu64($lo[i + j - BLOCK], $a[i], $a[j]);
                }
                if i + j + 1 >= BLOCK {
                    $hi[i + j + 1 - BLOCK] = _mm512_madd52hi_epu64($hi[i + j + 1 - BLOCK], $a[i], $a[j]);
                }
            }
        }
    };
}

/// The strips of one or of two chains. One macro serves both, since sums stay in registers only if each has a name of
/// its own.
macro_rules! strips {
    ($chains:literal: $multiply:ident, $square:ident, $reduce:ident, $($k:literal $lo:ident $hi:ident $carry:ident),*) => {
        #[target_feature(enable = "avx512f,avx512ifma")]
        fn $multiply(chains: &mut [Chain; $chains], at: usize) {
            let blocks = chains[0].n.len();
            let zero = _mm512_setzero_si512();
            $(
                let mut $lo = [chains[$k].carry, zero, zero, zero, zero];
                let mut $hi = [zero; BLOCK];
            )*
            if at < blocks {
                strips!(whole at, [$(chains[$k].x),*], [$(chains[$k].factor),*], $($k $lo $hi),*);
                $(add!(low $lo, $hi, &chains[$k].x[at], &chains[$k].factor[0]);)*
            } else {
                let first = at - blocks;
                $(add!(high $lo, $hi, &chains[$k].x[first], &chains[$k].factor[blocks - 1]);)*
                strips!(whole blocks - 1 - first, [$(chains[$k].x[first + 1..]),*], [$(chains[$k].factor[first..]),*], $($k $lo $hi),*);
            }
            strips!(reduce $chains chains, blocks, at, $($k $lo $hi $carry),*);
        }

        #[target_feature(enable = "avx512f,avx512ifma")]
        fn $square(chains: &mut [Chain; $chains], at: usize) {
            let blocks = chains[0].n.len();
            let zero = _mm512_setzero_si512();
            $(
                let mut $lo = [zero; BLOCK];
                let mut $hi = [zero; BLOCK];
            )*
            let last = at.min(blocks - 1);
            let first = at - last;
            let middle = at / 2;
            let is_last = at + 1 == 2 * blocks;
            if at >= blocks && !is_last {
                $(add!(high $lo, $hi, &chains[$k].x[first - 1], &chains[$k].x[last]);)*
            }
            let count = middle.saturating_sub(first);
            strips!(whole count, [$(chains[$k].x[middle - count..]),*], [$(chains[$k].x[last - count..]),*], $($k $lo $hi),*);
            if at % 2 == 0 {
                $(
                    let a = digits(&chains[$k].x[middle]);
                    add!(low_half $lo, $hi, a);
                    double(&mut $lo, &mut $hi, chains[$k].carry);
                    $lo[0] = _mm512_madd52lo_epu64($lo[0], a[0], a[0]);
                    $hi[1] = _mm512_madd52hi_epu64($hi[1], a[0], a[0]);
                    $lo[2] = _mm512_madd52lo_epu64($lo[2], a[1], a[1]);
                    $hi[3] = _mm512_madd52hi_epu64($hi[3], a[1], a[1]);
                    $lo[4] = _mm512_madd52lo_epu64($lo[4], a[2], a[2]);
                )*
            } else {
                $(
                    if !is_last {
                        add!(low $lo, $hi, &chains[$k].x[middle], &chains[$k].x[middle + 1]);
                    }
                    let a = digits(&chains[$k].x[middle]);
                    add!(high_half $lo, $hi, a);
                    double(&mut $lo, &mut $hi, chains[$k].carry);
                    $hi[0] = _mm512_madd52hi_epu64($hi[0], a[2], a[2]);
                    $lo[1] = _mm512_madd52lo_epu64($lo[1], a[3], a[3]);
                    $hi[2] = _mm512_madd52hi_epu64($hi[2], a[3], a[3]);
                    $lo[3] = _mm512_madd52lo_epu64($lo[3], a[4], a[4]);
                    $hi[4] = _mm512_madd52hi_epu64($hi[4], a[4], a[4]);
                )*
            }
            chains[0].select_part();
            strips!(reduce $chains chains, blocks, at, $($k $lo $hi $carry),*);
        }

        #[target_feature(enable = "avx512f,avx512ifma")]
        fn $reduce(chains: &mut [Chain; $chains], at: usize) {
            let blocks = chains[0].n.len();
            $(
                let mut $lo = digits(&chains[$k].x[at]);
                let mut $hi = [_mm512_setzero_si512(); BLOCK];
                $lo[0] = _mm512_add_epi64($lo[0], chains[$k].carry);
            )*
            strips!(reduce $chains chains, blocks, at, $($k $lo $hi $carry),*);
        }
    };
    // Whole pairs: a[i] is multiplied by the blocks `count - 1 - i` and `count - i` of b.
    (whole $count:expr, [$($a:expr),*], [$($b:expr),*], $($k:literal $lo:ident $hi:ident),*) => {
        let count = $count;
        let (a, b) = ([$(&$a[..count]),*], [$(&$b[..=count]),*]);
        for i in 0..count {
            $(add!(whole $lo, $hi, &a[$k][i], &b[$k][count - 1 - i], &b[$k][count - i]);)*
        }
    };
    // Adds quotient * n. The result is the quotient's next block, or a block of the result.
    (reduce $count:literal $chains:ident, $blocks:ident, $at:ident, $($k:literal $lo:ident $hi:ident $carry:ident),*) => {
        $(
            let (product_lo, product_hi) = ($lo, $hi);
            if $count == 1 {
                ($lo, $hi) = ([_mm512_setzero_si512(); BLOCK], [_mm512_setzero_si512(); BLOCK]);
            }
            let $carry = (product_lo, product_hi);
        )*
        let mask = _mm512_set1_epi64(DIGIT_MASK as i64);
        if $at < $blocks {
            strips!(whole $at, [$($chains[$k].quotient),*], [$($chains[$k].n),*], $($k $lo $hi),*);
            if let Some(chain) = $chains.get_mut(1) { chain.select_part(); }
            $(
                if $count == 1 {
                    for c in 0..BLOCK {
                        $lo[c] = _mm512_add_epi64($lo[c], $carry.0[c]);
                        $hi[c] = _mm512_add_epi64($hi[c], $carry.1[c]);
                    }
                }
            )*
            for i in 0..BLOCK {
                $(
                    let n = &$chains[$k].n[0];
                    let sum = _mm512_add_epi64($lo[i], $hi[i]);
                    let m = _mm512_madd52lo_epu64(_mm512_setzero_si512(), sum, $chains[$k].k0);
                    store(&mut $chains[$k].quotient[$at][i], m);
                    let carry = _mm512_srli_epi64::<52>(_mm512_add_epi64(sum, mask));
                    if i + 1 == BLOCK {
                        $chains[$k].carry = carry;
                    } else {
                        $hi[i + 1] = _mm512_madd52hi_epu64(_mm512_add_epi64($hi[i + 1], carry), m, load(&n[0]));
                    }
                    for j in i + 1..BLOCK {
                        $lo[j] = _mm512_madd52lo_epu64($lo[j], m, load(&n[j - i]));
                        if j > i + 1 {
                            $hi[j] = _mm512_madd52hi_epu64($hi[j], m, load(&n[j - i - 1]));
                        }
                    }
                )*
            }
        } else {
            let first = $at - $blocks;
            $(add!(high $lo, $hi, &$chains[$k].quotient[first], &$chains[$k].n[$blocks - 1]);)*
            strips!(whole $blocks - 1 - first, [$($chains[$k].quotient[first + 1..]),*], [$($chains[$k].n[first..]),*], $($k $lo $hi),*);
            if let Some(chain) = $chains.get_mut(1) { chain.select_part(); }
            $(
                if $count == 1 {
                    for c in 0..BLOCK {
                        $lo[c] = _mm512_add_epi64($lo[c], $carry.0[c]);
                        $hi[c] = _mm512_add_epi64($hi[c], $carry.1[c]);
                    }
                }
            )*
            $(let mut $carry = _mm512_setzero_si512();)*
            for i in 0..BLOCK {
                $(
                    let sum = _mm512_add_epi64(_mm512_add_epi64($lo[i], $hi[i]), $carry);
                    store(&mut $chains[$k].x[first][i], _mm512_and_si512(sum, mask));
                    $carry = _mm512_srli_epi64::<52>(sum);
                )*
            }
            $($chains[$k].carry = $carry;)*
        }
    };
}

strips!(1: multiply_strip, square_strip, reduce_strip, 0 lo hi carry);
strips!(2: multiply_strips, square_strips, reduce_strips, 0 lo0 hi0 carry0, 1 lo1 hi1 carry1);

/// Doubles the sums, and adds the carry of the strip before.
#[inline]
#[target_feature(enable = "avx512f")]
fn double(lo: &mut Digits, hi: &mut Digits, carry: __m512i) {
    for c in 0..BLOCK {
        lo[c] = _mm512_add_epi64(lo[c], lo[c]);
        hi[c] = _mm512_add_epi64(hi[c], hi[c]);
    }
    lo[0] = _mm512_add_epi64(lo[0], carry);
}

/// Runs all strips of one or of two chains.
macro_rules! run {
    ($chains:ident, $single:ident, $pair:ident) => {
        for at in 0..2 * $chains[0].n.len() {
            match &mut *$chains {
                [chain] => $single(std::array::from_mut(chain), at),
                chains => $pair(chains.first_chunk_mut().expect("one or two chains"), at),
            }
        }
    };
}

/// x = x^2 / R in each chain; also runs a part of each selection.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square(chains: &mut [Chain]) {
    run!(chains, square_strip, square_strips)
}

/// x = x * factor / R in each chain.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply(chains: &mut [Chain]) {
    run!(chains, multiply_strip, multiply_strips)
}

/// x = x / R in each chain; x has twice the length before.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce(chains: &mut [Chain]) {
    run!(chains, reduce_strip, reduce_strips)
}
