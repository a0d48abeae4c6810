//! X25519 (RFC 7748, 5) of eight pairs: Montgomery's ladder over numbers modulo 2^255 - 19.
//!
//! A number is five digits of 51 bits, which may be slightly above 2^51 but are below 2^52. The multiplier splits
//! products at bit 52, so their upper halves count double. Digits from 255 bits on are added back, multiplied by 19.
//!
//! - Carries move by one place, all digits at once ([`carry`]). Digits are then below 2^51 + 2^10 after a product, and
//!   below 2^51 + 2^7 after a sum or difference of such numbers.
//! - Between its steps the ladder keeps its four numbers in memory, which is wiped.

use super::vector::{Digits, Vector, each_digit, load, store};
use super::{DIGIT_MASK, DIGITS, Number, Secret, Step, step};

/// Bits of a digit.
const BITS: u32 = 51;
/// The mask of a digit.
const MASK: u64 = (1 << BITS) - 1;
/// 2^255 modulo the prime.
const FOLD: u64 = 19;

/// Sums of products by digit.
type Columns<V> = [V; 2 * DIGITS];

/// Adds each digit's upper bits to the next digit.
#[inline(always)]
fn carry<V: Vector>(a: &Digits<V>) -> Digits<V> {
    let mask = V::all(MASK);
    let [a0, a1, a2, a3, a4] = *a;
    [
        a0.and(mask).add_low(a4.shr::<BITS>(), V::all(FOLD)),
        a1.and(mask).add(a0.shr::<BITS>()),
        a2.and(mask).add(a1.shr::<BITS>()),
        a3.and(mask).add(a2.shr::<BITS>()),
        a4.and(mask).add(a3.shr::<BITS>()),
    ]
}

/// First half of reducing a product's columns. The upper five columns are complete; the lower ones hold only upper
/// halves, not yet doubled. Adds the upper halves of 19 times the upper columns.
#[inline(always)]
fn fold_high<V: Vector>(columns: &mut Columns<V>) {
    let fold = V::all(FOLD);
    // A column can be some bits longer than the 52 bits that are multiplied.
    each_digit!(i, {
        if i < 4 {
            let above = columns[i + 5].shr::<52>();
            columns[(i + 1) % 5] = columns[(i + 1) % 5].add_high(columns[i + 5], fold).add_low(above, fold);
        }
    });
    // The highest column is below 2^52. The part of its product above 255 bits is folded once more.
    let above = V::all(0).add_high(columns[9], fold);
    columns[0] = columns[0].add_low(above, fold);
}

/// Second half: adds the lower halves, which completes the product.
#[inline(always)]
fn fold_low<V: Vector>(columns: &Columns<V>) -> Digits<V> {
    let [mut sum @ .., a, b, c, d, e] = *columns;
    let above = [a, b, c, d, e];
    each_digit!(i, sum[i] = sum[i].add_low(above[i], V::all(FOLD)));
    carry(&sum)
}

/// Doubles the lower or the upper half of the columns.
macro_rules! double {
    ($columns:ident, $first:literal) => {
        each_digit!(i, $columns[i + $first] = $columns[i + $first].add($columns[i + $first]))
    };
}

/// a * b. Upper halves count double, so they are summed first and doubled as columns, not as products.
#[inline(always)]
pub(super) fn multiply<V: Vector>(a: &Digits<V>, b: &Digits<V>) -> Digits<V> {
    let mut columns = [V::all(0); 2 * DIGITS];
    each_digit!(i, each_digit!(j, columns[i + j + 1] = columns[i + j + 1].add_high(a[i], b[j])));
    double!(columns, 5);
    each_digit!(i, {
        each_digit!(j, {
            if i + j >= 5 {
                columns[i + j] = columns[i + j].add_low(a[i], b[j]);
            }
        });
    });
    fold_high(&mut columns);
    double!(columns, 0);
    each_digit!(i, {
        each_digit!(j, {
            if i + j < 5 {
                columns[i + j] = columns[i + j].add_low(a[i], b[j]);
            }
        });
    });
    fold_low(&columns)
}

/// As [`multiply`], for a^2. Products of two different digits occur twice, so their lower halves are doubled with the
/// upper halves.
#[inline(always)]
fn square<V: Vector>(a: &Digits<V>) -> Digits<V> {
    let mut columns = [V::all(0); 2 * DIGITS];
    each_digit!(i, {
        each_digit!(j, {
            if j > i {
                columns[i + j + 1] = columns[i + j + 1].add_high(a[i], a[j]);
            }
        });
    });
    double!(columns, 0);
    double!(columns, 5);
    each_digit!(i, columns[2 * i + 1] = columns[2 * i + 1].add_high(a[i], a[i]));
    each_digit!(i, {
        each_digit!(j, {
            if j > i {
                columns[i + j] = columns[i + j].add_low(a[i], a[j]);
            }
        });
    });
    double!(columns, 5);
    each_digit!(i, {
        if 2 * i >= 5 {
            columns[2 * i] = columns[2 * i].add_low(a[i], a[i]);
        }
    });
    fold_high(&mut columns);
    double!(columns, 0);
    each_digit!(i, {
        if 2 * i < 5 {
            columns[2 * i] = columns[2 * i].add_low(a[i], a[i]);
        }
    });
    fold_low(&columns)
}

#[inline(always)]
pub(super) fn add<V: Vector>(a: &Digits<V>, b: &Digits<V>) -> Digits<V> {
    let mut sum = *a;
    each_digit!(i, sum[i] = sum[i].add(b[i]));
    carry(&sum)
}

#[inline(always)]
pub(super) fn subtract<V: Vector>(a: &Digits<V>, b: &Digits<V>) -> Digits<V> {
    // Adds four times the prime, digit by digit, so that no digit becomes negative.
    let (first, others) = (V::all(4 * (MASK + 1 - FOLD)), V::all(4 * MASK));
    let mut difference = *a;
    each_digit!(i, difference[i] = difference[i].add(if i == 0 { first } else { others }).sub(b[i]));
    carry(&difference)
}

/// b + 121665 a; 121665 is (486662 - 2) / 4.
#[inline(always)]
fn add_small_product<V: Vector>(a: &Digits<V>, b: &Digits<V>) -> Digits<V> {
    let factor = V::all(121_665);
    let mut sum = *b;
    each_digit!(i, sum[i] = sum[i].add_low(a[i], factor));
    each_digit!(i, {
        let above = V::all(0).add_high(a[i], factor);
        let above = above.add(above);
        if i < 4 {
            sum[(i + 1) % 5] = sum[(i + 1) % 5].add(above);
        } else {
            sum[0] = sum[0].add_low(above, V::all(FOLD));
        }
    });
    carry(&sum)
}

#[inline(always)]
pub(super) fn swap<V: Vector>(lanes: V::Mask, a: &mut Digits<V>, b: &mut Digits<V>) {
    each_digit!(i, {
        let was = a[i];
        a[i] = V::choose(lanes, b[i], was);
        b[i] = V::choose(lanes, was, b[i]);
    });
}

/// Converts a number below 2^255 from digits of 52 bits to digits of 51.
#[inline(always)]
fn narrow<V: Vector>(number: &Number) -> Digits<V> {
    let mask = V::all(MASK);
    let [a0, a1, a2, a3, a4] = load::<V>(number);
    [
        a0.and(mask),
        a0.shr::<51>().or(a1.shl::<1>()).and(mask),
        a1.shr::<50>().or(a2.shl::<2>()).and(mask),
        a2.shr::<49>().or(a3.shl::<3>()).and(mask),
        a3.shr::<48>().or(a4.shl::<4>()).and(mask),
    ]
}

/// The reverse of [`narrow`]: the least remainder in digits of 52 bits.
#[inline(always)]
pub(super) fn widen<V: Vector>(number: &Digits<V>, out: &mut Number) {
    let mask = V::all(MASK);
    let fold = V::all(FOLD);
    // Carries twice: all digits except perhaps the lowest are then below 2^51, and the number is below 2^255 + 19.
    let mut a = *number;
    for _ in 0..2 {
        each_digit!(i, {
            let above = a[i].shr::<BITS>();
            a[i] = a[i].and(mask);
            if i < 4 {
                a[(i + 1) % 5] = a[(i + 1) % 5].add(above);
            } else {
                a[0] = a[0].add_low(above, fold);
            }
        });
    }
    // The number is 2^255 - 19 or more exactly if adding 19 carries into bit 255.
    let mut above = fold;
    each_digit!(i, above = a[i].add(above).shr::<BITS>());
    a[0] = a[0].add_low(above, fold);
    each_digit!(i, {
        let above = a[i].shr::<BITS>();
        a[i] = a[i].and(mask);
        if i < 4 {
            a[(i + 1) % 5] = a[(i + 1) % 5].add(above);
        }
    });
    let wide = V::all(DIGIT_MASK);
    let digits = [
        a[0].or(a[1].shl::<51>()).and(wide),
        a[1].shr::<1>().or(a[2].shl::<50>()).and(wide),
        a[2].shr::<2>().or(a[3].shl::<49>()).and(wide),
        a[3].shr::<3>().or(a[4].shl::<48>()).and(wide),
        a[4].shr::<4>(),
    ];
    store(&digits, out);
}

/// Squares `count` times in a row.
#[inline(always)]
fn squares<V: Vector>(a: &Digits<V>, count: usize) -> Digits<V> {
    let mut power = *a;
    for _ in 0..count {
        power = square(&power);
    }
    power
}

/// 1/z as z^(2^255 - 21); zero for zero. `ones_n` holds z to the power 2^n - 1.
#[inline(always)]
pub(super) fn invert<V: Vector>(z: &Digits<V>) -> Digits<V> {
    let two = square(z);
    let nine = multiply(&squares(&two, 2), z);
    let eleven = multiply(&nine, &two);
    let ones_5 = multiply(&square(&eleven), &nine);
    let ones_10 = multiply(&squares(&ones_5, 5), &ones_5);
    let ones_20 = multiply(&squares(&ones_10, 10), &ones_10);
    let ones_40 = multiply(&squares(&ones_20, 20), &ones_20);
    let ones_50 = multiply(&squares(&ones_40, 10), &ones_10);
    let ones_100 = multiply(&squares(&ones_50, 50), &ones_50);
    let ones_200 = multiply(&squares(&ones_100, 100), &ones_100);
    let ones_250 = multiply(&squares(&ones_200, 50), &ones_50);
    multiply(&squares(&ones_250, 5), &eleven)
}

/// See [`super::x25519`].
#[inline(always)]
pub(super) fn ladder<V: Vector>(scalar: &Number, u: &Number, out: &mut Number) {
    const NUMBERS: usize = 4;
    let mut state = Secret::<{ NUMBERS * DIGITS }>::zero();
    let state = &mut state.0;
    let (one, zero) = (V::all(1), V::all(0));
    let u = narrow::<V>(u);
    // The state: x2, z2, x3, z3.
    one.store(&mut state[0]);
    store(&u, &mut state[2 * DIGITS..][..DIGITS]);
    one.store(&mut state[3 * DIGITS]);
    let mut swapped = zero;
    for bit in (0..255).rev() {
        let [x2, z2, x3, z3] = state.as_chunks_mut::<DIGITS>().0 else { return };
        let (mut a, mut b, mut c, mut d) = (load(x2), load(z2), load(x3), load(z3));
        let set = V::load(&scalar[bit / 52]).shr_by(bit % 52);
        let lanes = set.xor(swapped).has(one);
        swap::<V>(lanes, &mut a, &mut c);
        swap::<V>(lanes, &mut b, &mut d);
        swapped = set;
        let (sum_2, difference_2) = (add(&a, &b), subtract(&a, &b));
        let (sum_3, difference_3) = (add(&c, &d), subtract(&c, &d));
        let (aa, bb) = (square(&sum_2), square(&difference_2));
        let (da, cb) = (multiply(&difference_3, &sum_2), multiply(&sum_3, &difference_2));
        let e = subtract(&aa, &bb);
        store(&square(&add(&da, &cb)), x3);
        store(&multiply(&u, &square(&subtract(&da, &cb))), z3);
        store(&multiply(&aa, &bb), x2);
        store(&multiply(&e, &add_small_product(&e, &aa)), z2);
        step(Step::Ladder(bit), state);
    }
    let (mut x2, mut z2) = (load::<V>(&state[..DIGITS]), load::<V>(&state[DIGITS..][..DIGITS]));
    let (mut x3, mut z3) = (load(&state[2 * DIGITS..][..DIGITS]), load(&state[3 * DIGITS..][..DIGITS]));
    let lanes = swapped.has(one);
    swap::<V>(lanes, &mut x2, &mut x3);
    swap::<V>(lanes, &mut z2, &mut z3);
    widen(&multiply(&x2, &invert(&z2)), out);
}
