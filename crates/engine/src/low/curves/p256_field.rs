//! Numbers modulo the prime of P-256 and modulo the order of its group (SP 800-186, 3.2.1.3), in Montgomery form with
//! R = 2^260.
//!
//! ```text
//! p = 2^256 - 2^224 + 2^192 + 2^96 - 1
//! ```
//!
//! A number is five digits of 52 bits. R is 16 times the modulus, so a sum of products below 16 times the modulus
//! squared is reduced to below twice the modulus. Nothing is subtracted in between. Where bounds matter, they are given
//! as multiples of the modulus.
//!
//! - The lowest 96 bits of p are ones, so -1/p is 1 modulo 2^52, and the digit to cancel is itself the digit of the
//!   quotient. p's other digits are two powers of two and a difference of two.
//! - Products are summed by columns before they are reduced. A sum of two products costs one reduction, and a number
//!   added to a product needs no carry of its own ([`multiply_add`]).
//! - Factors must have digits below 2^52. Sums and differences are computed digit by digit, with signs, and then
//!   carried once ([`carry`]), or carried and reduced below p + 2^231 ([`settle`]): the bits from 256 on are removed,
//!   and their value modulo p is added, five shifts.

use super::vector::{Digits, Vector, each_digit};
use super::{DIGIT_MASK, DIGITS};

/// Sums of products by digit, not yet reduced.
pub(super) type Columns<V> = [V; 2 * DIGITS];

/// p, the prime.
pub(super) const PRIME: [u64; DIGITS] =
    [0x000f_ffff_ffff_ffff, 0x0000_0fff_ffff_ffff, 0, 0x0000_0010_0000_0000, 0x0000_ffff_ffff_0000];
/// n, the order.
pub(super) const ORDER: [u64; DIGITS] = [
    0x0009_cac2_fc63_2551,
    0x000a_da71_79e8_4f3b,
    0x000f_ffff_ffbc_e6fa,
    0x0000_000f_ffff_ffff,
    0x0000_ffff_ffff_0000,
];

/// The parts of the arithmetic that differ for p and n.
pub(super) trait Modulus {
    /// The modulus.
    const NUMBER: [u64; DIGITS];
    /// R^2 modulo the modulus.
    const RADIX_SQUARE: [u64; DIGITS];

    /// Adds the multiple of the modulus that makes the lower half of the columns zero. The upper half is the result,
    /// not yet carried.
    fn reduce<V: Vector>(columns: &mut Columns<V>);
}

/// Arithmetic modulo p.
pub(super) struct Prime;
/// Arithmetic modulo n.
pub(super) struct Order;

impl Modulus for Prime {
    const NUMBER: [u64; DIGITS] = PRIME;
    const RADIX_SQUARE: [u64; DIGITS] = [
        0x0000_0000_0000_0300,
        0x000f_ffff_fff0_0000,
        0x000f_fffe_ffff_fffb,
        0x000f_dfff_ffff_ffff,
        0x0000_0000_04ff_ffff,
    ];

    #[inline(always)]
    fn reduce<V: Vector>(columns: &mut Columns<V>) {
        let mask = V::all(DIGIT_MASK);
        // 2^96 and 2^192 as shifts within a digit, and 2^256 - 2^224.
        let (first, third, fourth) = (V::all(1 << 44), V::all(1 << 36), V::all(PRIME[4]));
        each_digit!(i, {
            let quotient = columns[i].and(mask);
            columns[i + 1] = columns[i + 1].add(columns[i].shr::<52>()).add_low(quotient, first);
            columns[i + 2] = columns[i + 2].add_high(quotient, first);
            columns[i + 3] = columns[i + 3].add_low(quotient, third);
            columns[i + 4] = columns[i + 4].add_high(quotient, third).add_low(quotient, fourth);
            columns[i + 5] = columns[i + 5].add_high(quotient, fourth);
        });
    }
}

impl Modulus for Order {
    const NUMBER: [u64; DIGITS] = ORDER;
    const RADIX_SQUARE: [u64; DIGITS] = [
        0x0005_cc0d_ea6d_c3ba,
        0x0001_92a0_67d8_a084,
        0x000b_ec59_6155_71bb,
        0x0001_fc24_5b23_92b6,
        0x0000_e12d_9559_d956,
    ];

    #[inline(always)]
    fn reduce<V: Vector>(columns: &mut Columns<V>) {
        /// -1/n modulo 2^52.
        const NEGATED_INVERSE: u64 = 0x0001_c8aa_ee00_bc4f;
        let zero = V::all(0);
        each_digit!(i, {
            let quotient = zero.add_low(columns[i], V::all(NEGATED_INVERSE));
            each_digit!(j, {
                columns[i + j] = columns[i + j].add_low(quotient, V::all(ORDER[j]));
                columns[i + j + 1] = columns[i + j + 1].add_high(quotient, V::all(ORDER[j]));
            });
            columns[i + 1] = columns[i + 1].add(columns[i].shr::<52>());
        });
    }
}

/// Columns without any product.
#[inline(always)]
pub(super) fn no_products<V: Vector>() -> Columns<V> {
    [V::all(0); 2 * DIGITS]
}

/// Adds a product to the columns.
#[inline(always)]
pub(super) fn add_product<V: Vector>(columns: &mut Columns<V>, a: &Digits<V>, b: &Digits<V>) {
    each_digit!(i, {
        each_digit!(j, {
            columns[i + j] = columns[i + j].add_low(a[i], b[j]);
            columns[i + j + 1] = columns[i + j + 1].add_high(a[i], b[j]);
        });
    });
}

/// The columns divided by R, not carried.
#[inline(always)]
pub(super) fn reduced<M: Modulus, V: Vector>(columns: &mut Columns<V>) -> Digits<V> {
    M::reduce(columns);
    let [_, _, _, _, _, upper @ ..] = *columns;
    upper
}

/// a * b / R, below twice the modulus if a * b is below 16 times its square.
#[inline(always)]
pub(super) fn multiply<M: Modulus, V: Vector>(a: &Digits<V>, b: &Digits<V>) -> Digits<V> {
    let mut columns = no_products();
    add_product(&mut columns, a, b);
    carry(reduced::<M, V>(&mut columns))
}

/// (a * b + c * d) / R, below twice the modulus if a * b + c * d is below 16 times its square.
#[inline(always)]
pub(super) fn multiply_two<M: Modulus, V: Vector>(
    a: &Digits<V>,
    b: &Digits<V>,
    c: &Digits<V>,
    d: &Digits<V>,
) -> Digits<V> {
    let mut columns = no_products();
    add_product(&mut columns, a, b);
    add_product(&mut columns, c, d);
    carry(reduced::<M, V>(&mut columns))
}

/// a * b / R + c modulo p, below p + 2^231. c may have any digits that leave room for another digit, and the sum of
/// both must not be negative.
#[inline(always)]
pub(super) fn multiply_add<V: Vector>(a: &Digits<V>, b: &Digits<V>, c: &Digits<V>) -> Digits<V> {
    let mut columns = no_products();
    add_product(&mut columns, a, b);
    settle(add(&reduced::<Prime, V>(&mut columns), c))
}

/// a^2 / R, with the bounds of [`multiply`].
#[inline(always)]
pub(super) fn square<M: Modulus, V: Vector>(a: &Digits<V>) -> Digits<V> {
    let mut columns: Columns<V> = no_products();
    // Products of two different digits of a occur twice.
    each_digit!(i, {
        each_digit!(j, {
            if j > i {
                columns[i + j] = columns[i + j].add_low(a[i], a[j]);
                columns[i + j + 1] = columns[i + j + 1].add_high(a[i], a[j]);
            }
        });
    });
    each_digit!(i, {
        columns[i] = columns[i].add(columns[i]);
        columns[i + 5] = columns[i + 5].add(columns[i + 5]);
    });
    each_digit!(i, {
        columns[2 * i] = columns[2 * i].add_low(a[i], a[i]);
        columns[2 * i + 1] = columns[2 * i + 1].add_high(a[i], a[i]);
    });
    carry(reduced::<M, V>(&mut columns))
}

/// a / R: leaves Montgomery form. The result is below the modulus if a is below R.
#[inline(always)]
pub(super) fn leave<M: Modulus, V: Vector>(a: &Digits<V>) -> Digits<V> {
    let mut columns = no_products();
    columns[..DIGITS].copy_from_slice(a);
    least::<M, V>(&reduced::<M, V>(&mut columns))
}

/// a * R: enters Montgomery form, from any number of five digits. The result is below twice the modulus.
#[inline(always)]
pub(super) fn enter<M: Modulus, V: Vector>(a: &Digits<V>) -> Digits<V> {
    multiply::<M, V>(a, &constant(&M::RADIX_SQUARE))
}

/// Carries digits: all are below 2^52 but the highest, which takes the rest. The number must not be negative, single
/// digits may be.
#[inline(always)]
pub(super) fn carry<V: Vector>(a: Digits<V>) -> Digits<V> {
    let mask = V::all(DIGIT_MASK);
    let [a0, a1, a2, a3, a4] = a;
    let a1 = a1.add(a0.sar::<52>());
    let a2 = a2.add(a1.sar::<52>());
    let a3 = a3.add(a2.sar::<52>());
    let a4 = a4.add(a3.sar::<52>());
    [a0.and(mask), a1.and(mask), a2.and(mask), a3.and(mask), a4]
}

/// As [`carry`], and reduces a number below 2^6 * p modulo p, to below p + 2^231.
#[inline(always)]
pub(super) fn settle<V: Vector>(a: Digits<V>) -> Digits<V> {
    let [a0, a1, a2, a3, a4] = a;
    let above = a4.sar::<48>();
    let a4 = a4.and(V::all((1 << 48) - 1)).add(above.shl::<16>());
    carry([a0.add(above), a1.sub(above.shl::<44>()), a2, a3.sub(above.shl::<36>()), a4])
}

/// The least remainder of a number below twice the modulus, whose digits may be uncarried.
#[inline(always)]
pub(super) fn least<M: Modulus, V: Vector>(a: &Digits<V>) -> Digits<V> {
    let less = carry(subtract(a, &constant(&M::NUMBER)));
    let is_below = less[4].has(V::all(1 << 63));
    choose(is_below, &carry(*a), &less)
}

/// a + b, digit by digit.
#[inline(always)]
pub(super) fn add<V: Vector>(a: &Digits<V>, b: &Digits<V>) -> Digits<V> {
    let mut sum = *a;
    each_digit!(i, sum[i] = sum[i].add(b[i]));
    sum
}

/// a - b, digit by digit.
#[inline(always)]
pub(super) fn subtract<V: Vector>(a: &Digits<V>, b: &Digits<V>) -> Digits<V> {
    let mut difference = *a;
    each_digit!(i, difference[i] = difference[i].sub(b[i]));
    difference
}

/// 3a, digit by digit.
#[inline(always)]
pub(super) fn triple<V: Vector>(a: &Digits<V>) -> Digits<V> {
    add(&add(a, a), a)
}

/// `times` times the modulus, digit by digit; added to a difference, it keeps that from becoming negative.
#[inline(always)]
pub(super) fn multiple<M: Modulus, V: Vector>(times: u64) -> Digits<V> {
    let mut multiple = constant(&M::NUMBER);
    each_digit!(i, multiple[i] = V::all(times * M::NUMBER[i]));
    multiple
}

/// The same number in every lane.
#[inline(always)]
pub(super) fn constant<V: Vector>(number: &[u64; DIGITS]) -> Digits<V> {
    let mut digits = [V::all(0); DIGITS];
    each_digit!(i, digits[i] = V::all(number[i]));
    digits
}

/// `with` in the chosen lanes, `without` in the others.
#[inline(always)]
pub(super) fn choose<V: Vector>(lanes: V::Mask, with: &Digits<V>, without: &Digits<V>) -> Digits<V> {
    let mut chosen = *without;
    each_digit!(i, chosen[i] = V::choose(lanes, with[i], without[i]));
    chosen
}
