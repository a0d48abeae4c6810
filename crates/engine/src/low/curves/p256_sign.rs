//! The computations of ECDSA with P-256 (FIPS 186-5, 6.4.1) other than on points: inverses, and numbers modulo the
//! order.

use super::p256_field::{
    Modulus, Order, Prime, add, carry, constant, enter, least, leave, multiple, multiply, reduced, settle,
    square, subtract,
};
use super::p256_point::distance_from_curve;
use super::vector::{Digits, Vector, each_digit, load, store};
use super::{DIGITS, Number, Point, Row, Secret, Wide};

/// Bits of an exponent per multiplication.
const WINDOW: usize = 4;
/// Powers of one base in the table.
const POWERS: usize = 1 << WINDOW;

/// p - 2, big-endian.
const PRIME_MINUS_2: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd,
];
/// n - 2, big-endian.
const ORDER_MINUS_2: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x4f,
];

/// A power in computation, for a public exponent that all lanes share.
struct Power<V, M> {
    now: Digits<V>,
    modulus: std::marker::PhantomData<M>,
}

impl<V: Vector, M: Modulus> Power<V, M> {
    /// Computes the powers 1 to 15 of the base.
    #[inline(always)]
    fn begin(base: &Digits<V>, powers: &mut [Row]) {
        store(base, &mut powers[DIGITS..]);
        for at in 2..POWERS {
            let next = if at % 2 == 0 {
                square::<M, V>(&load(&powers[at / 2 * DIGITS..]))
            } else {
                multiply::<M, V>(&load(&powers[(at - 1) * DIGITS..]), base)
            };
            store(&next, &mut powers[at * DIGITS..]);
        }
    }

    #[inline(always)]
    fn of(exponent: &[u8; 32], powers: &[Row]) -> Self {
        Power { now: load(&powers[digit(exponent, 0) * DIGITS..]), modulus: std::marker::PhantomData }
    }

    #[inline(always)]
    fn square(&mut self) {
        self.now = square::<M, V>(&self.now);
    }

    #[inline(always)]
    fn multiply(&mut self, digit: usize, powers: &[Row]) {
        if digit != 0 {
            self.now = multiply::<M, V>(&self.now, &load(&powers[digit * DIGITS..]));
        }
    }
}

/// The four bits number `at` of an exponent, counted from its highest bits.
#[inline(always)]
fn digit(exponent: &[u8; 32], at: usize) -> usize {
    usize::from(exponent[at / 2] >> (WINDOW * (1 - at % 2))) % POWERS
}

/// See [`super::inverses`].
#[inline(always)]
pub(super) fn inverses<V: Vector>(z: &Number, k: &Number, z_inverse: &mut Number, k_inverse: &mut Number) {
    let mut of_z = Secret::<{ POWERS * DIGITS }>::zero();
    let mut of_k = Secret::<{ POWERS * DIGITS }>::zero();
    Power::<V, Prime>::begin(&load(z), &mut of_z.0);
    Power::<V, Order>::begin(&enter::<Order, V>(&load(k)), &mut of_k.0);
    let mut z = Power::<V, Prime>::of(&PRIME_MINUS_2, &of_z.0);
    let mut k = Power::<V, Order>::of(&ORDER_MINUS_2, &of_k.0);
    for at in 1..2 * PRIME_MINUS_2.len() {
        for _ in 0..WINDOW {
            z.square();
            k.square();
        }
        z.multiply(digit(&PRIME_MINUS_2, at), &of_z.0);
        k.multiply(digit(&ORDER_MINUS_2, at), &of_k.0);
    }
    store(&z.now, z_inverse);
    store(&k.now, k_inverse);
}

/// See [`super::reduce_wide`].
#[inline(always)]
pub(super) fn reduce_wide<V: Vector>(wide: &Wide, out: &mut Number) {
    let mut columns = [V::all(0); 2 * DIGITS];
    each_digit!(i, columns[i] = V::load(&wide[i]));
    each_digit!(i, columns[DIGITS + i] = V::load(&wide[DIGITS + i]));
    let part = carry(reduced::<Order, V>(&mut columns));
    store(&least::<Order, V>(&enter::<Order, V>(&part)), out);
}

/// x modulo n of a point, given its X and 1/Z in Montgomery form.
#[inline(always)]
fn r_of<V: Vector>(x: &Digits<V>, z_inverse: &Digits<V>) -> Digits<V> {
    least::<Order, V>(&leave::<Prime, V>(&multiply::<Prime, V>(x, z_inverse)))
}

/// See [`super::first_half`].
#[inline(always)]
pub(super) fn first_half<V: Vector>(point: &Point, z_inverse: &Number, r: &mut Number) {
    store(&r_of::<V>(&load(point), &load(z_inverse)), r);
}

/// See [`super::second_half`].
#[inline(always)]
pub(super) fn second_half<V: Vector>(
    k_inverse: &Number,
    digest: &Number,
    r: &Number,
    d: &Number,
    s: &mut Number,
) {
    let rd = multiply::<Order, V>(&enter::<Order, V>(&load(r)), &load(d));
    let sum = carry(add(&rd, &load(digest)));
    store(&least::<Order, V>(&multiply::<Order, V>(&load(k_inverse), &sum)), s);
}

/// See [`super::faults`].
#[inline(always)]
pub(super) fn faults<V: Vector>(
    point: &Point,
    z_inverse: &Number,
    used: &Number,
    [digest, d]: [&Number; 2],
    [r, s]: [&Number; 2],
    faults: &mut Row,
) {
    let (r, s) = (load::<V>(r), load::<V>(s));
    let z = load(z_inverse);
    let (x, y) = (multiply::<Prime, V>(&load(point), &z), multiply::<Prime, V>(&load(&point[DIGITS..]), &z));
    let mut found = any(&distance_from_curve(&x, &y));
    let again = r_of(&load(point), &z);
    each_digit!(i, found = found.or(again[i].xor(r[i])));
    // s k - (digest + r d), with the scalar that was used for the point.
    let sk = multiply::<Order, V>(&enter::<Order, V>(&s), &load(used));
    let rd = multiply::<Order, V>(&r, &enter::<Order, V>(&load(d)));
    let right = add(&rd, &load(digest));
    let difference = carry(subtract(&add(&sk, &multiple::<Order, V>(4)), &right));
    let difference = multiply::<Order, V>(&difference, &constant(&Order::RADIX_SQUARE));
    found = found.or(any(&least::<Order, V>(&difference)));
    let zero = V::all(0);
    found = found.or(V::choose(any(&r).has(V::all(u64::MAX)), zero, V::all(1)));
    found = found.or(V::choose(any(&s).has(V::all(u64::MAX)), zero, V::all(1)));
    found.store(faults);
}

/// See [`super::is_other`].
#[inline(always)]
pub(super) fn is_other<V: Vector>(point: &Point, [x, y]: [&Number; 2], faults: &mut Row) {
    let z = load::<V>(&point[2 * DIGITS..]);
    let found = distance::<V>(&load(point), &z, x).or(distance(&load(&point[DIGITS..]), &z, y));
    found.or(V::load(faults)).store(faults);
}

/// See [`super::is_other_x`].
#[inline(always)]
pub(super) fn is_other_x<V: Vector>(point: &Point, x: &Number, faults: &mut Row) {
    let z = load::<V>(&point[2 * DIGITS..]);
    let found = distance::<V>(&load(point), &z, x);
    // The neutral point has X and Z zero, so that any x would fit.
    let is_neutral = V::choose(any(&least::<Prime, V>(&z)).has(V::all(u64::MAX)), V::all(0), V::all(1));
    found.or(is_neutral).or(V::load(faults)).store(faults);
}

/// Zero in the lanes in which the coordinate equals `number` times Z.
#[inline(always)]
fn distance<V: Vector>(coordinate: &Digits<V>, z: &Digits<V>, number: &Number) -> V {
    let product = multiply::<Prime, V>(&enter::<Prime, V>(&load(number)), z);
    let difference = subtract(&add(coordinate, &multiple::<Prime, V>(2)), &product);
    any(&least::<Prime, V>(&settle(difference)))
}

/// Zero in the lanes in which all digits are zero.
#[inline(always)]
fn any<V: Vector>(number: &Digits<V>) -> V {
    let mut any = number[0];
    each_digit!(i, any = any.or(number[i]));
    any
}
