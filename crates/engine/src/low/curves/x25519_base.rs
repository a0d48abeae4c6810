//! X25519 of the base point: public values, from a table of its multiples ([`Table`]) on edwards25519.
//!
//! A scalar is 2^254 plus 8 times the sum of 36 signed digits, so its multiple is 36 additions of entries and no
//! doubling: 259 products instead of the ladder's 2,550. Points are (X : Y : Z : T) with x = X/Z, y = Y/Z and T = XY/Z.
//! Additions are those of Hışıl, Wong, Carter and Dawson (Twisted Edwards curves revisited, 2008, 3.1). They are
//! correct for any two points of the curve, so no scalar is a special case:
//!
//! ```text
//! A = (Y - X)(y - x)     E = B - A     X3 = E F
//! B = (Y + X)(y + x)     F = 2Z - C    Y3 = G H
//! C = T 2dxy             G = 2Z + C    Z3 = F G
//!                        H = B + A     T3 = E H
//! ```
//!
//! For the opposite of an entry, y + x and y - x are exchanged, and F and G. u is (Z + Y)/(Z - Y) (RFC 7748, 4.1).
//!
//! The inversion takes as long as all additions, since its squares wait for each other. Therefore the denominators of
//! up to [`QUOTIENTS_MAX`] times eight scalars are multiplied, inverted once, and separated again.
//!
//! Tried and dropped: a ladder from the lowest bit on with the base point's doublings precomputed, which needs no
//! lookup but five times as many products.

use super::vector::{Digits, Vector, each_digit, load, store};
use super::windows::{Choice, WINDOW, bits, look_up};
use super::x25519::{add, invert, multiply, subtract, swap, widen};
use super::x25519_table::{Table, WINDOWS, digits};
use super::{DIGITS, Entry, Extended, Fraction, Number, Secret};

/// At most this many fractions per lane share one inversion.
pub(crate) const QUOTIENTS_MAX: usize = 8;

/// 2d = -2 * 121665/121666.
const TWICE_D: [u64; DIGITS] = {
    let mut twice =
        digits([0x5203_6cee_2b6f_fe73, 0x8cc7_4079_7779_e898, 0x0070_0a4d_4141_d8ab, 0x75eb_4dca_1359_78a3]);
    // Digits up to 2^52 are valid factors.
    let mut at = 0;
    while at < DIGITS {
        twice[at] *= 2;
        at += 1;
    }
    twice
};

/// The coordinates of points in registers.
type Coordinates<V> = [Digits<V>; 4];

#[inline(always)]
fn load_point<V: Vector>(point: &Extended) -> Coordinates<V> {
    [load(point), load(&point[DIGITS..]), load(&point[2 * DIGITS..]), load(&point[3 * DIGITS..])]
}

#[inline(always)]
fn store_point<V: Vector>(coordinates: &Coordinates<V>, point: &mut Extended) {
    store(&coordinates[0], point);
    store(&coordinates[1], &mut point[DIGITS..]);
    store(&coordinates[2], &mut point[2 * DIGITS..]);
    store(&coordinates[3], &mut point[3 * DIGITS..]);
}

/// The sum of a point and an entry (y + x, y - x and 2dxy), or the entry's opposite.
#[inline(always)]
fn add_entry<V: Vector>(
    point: &Coordinates<V>,
    is_negative: V::Mask,
    [sum, difference, product]: [Digits<V>; 3],
) -> Coordinates<V> {
    let [x, y, z, t] = point;
    let (mut sum, mut difference) = (sum, difference);
    swap::<V>(is_negative, &mut sum, &mut difference);
    let a = multiply(&subtract(y, x), &difference);
    let b = multiply(&add(y, x), &sum);
    let c = multiply(t, &product);
    let mut twice_z = *z;
    each_digit!(i, twice_z[i] = z[i].add(z[i]));
    let (mut f, mut g) = (subtract(&twice_z, &c), add(&twice_z, &c));
    swap::<V>(is_negative, &mut f, &mut g);
    let (e, h) = (subtract(&b, &a), add(&b, &a));
    [multiply(&e, &f), multiply(&g, &h), multiply(&f, &g), multiply(&e, &h)]
}

/// See [`super::add_entry_to`].
#[inline(always)]
pub(super) fn add_entry_to<V: Vector>(point: &mut Extended, entry: &Entry) {
    let entry = [load(entry), load(&entry[DIGITS..]), load(&entry[2 * DIGITS..])];
    let none = V::all(0).has(V::all(0));
    store_point(&add_entry::<V>(&load_point(point), none, entry), point);
}

/// See [`super::entry_of`].
#[inline(always)]
pub(super) fn entry_of<V: Vector>(point: &Extended, entry: &mut Entry) {
    let [x, y, z, _] = load_point::<V>(point);
    let z_inverse = invert(&z);
    let (x, y) = (multiply(&x, &z_inverse), multiply(&y, &z_inverse));
    let mut twice_d = x;
    each_digit!(i, twice_d[i] = V::all(TWICE_D[i]));
    store(&add(&y, &x), entry);
    store(&subtract(&y, &x), &mut entry[DIGITS..]);
    store(&multiply(&multiply(&x, &y), &twice_d), &mut entry[2 * DIGITS..]);
}

/// See [`super::base_fraction`].
#[inline(always)]
pub(super) fn base_fraction<V: Vector>(table: &Table, scalar: &Number, fraction: &mut Fraction) {
    let mut point = Secret::<{ 4 * DIGITS }>::zero();
    let point = &mut point.0;
    for (row, digit) in point.iter_mut().zip(table.start()) {
        V::all(*digit).store(row);
    }
    for (at, window) in table.windows().iter().enumerate() {
        // Bit 3 is the lowest bit of the scalar's eighth; bit 2 below it is zero. Bit 254 is in the sum's start.
        let mut bits = bits::<V>(scalar, at * WINDOW + 2);
        if at == WINDOWS - 1 {
            bits = bits.and(V::all(127));
        }
        let choice = Choice::new(bits);
        let index = choice.index();
        let is_taken = choice.size.has(V::all(127));
        let [mut sum, mut difference, mut product] =
            [look_up(&window[0], index), look_up(&window[1], index), look_up(&window[2], index)];
        // The neutral point if nothing is added: y = 1 and x = 0.
        each_digit!(i, {
            let one = V::all(u64::from(i == 0));
            sum[i] = V::choose(is_taken, sum[i], one);
            difference[i] = V::choose(is_taken, difference[i], one);
            product[i] = V::choose(is_taken, product[i], V::all(0));
        });
        let entry = [sum, difference, product];
        store_point(&add_entry::<V>(&load_point(point), choice.is_negative, entry), point);
    }
    let [_, y, z, _] = load_point::<V>(point);
    store(&add(&z, &y), fraction);
    store(&subtract(&z, &y), &mut fraction[DIGITS..]);
}

/// See [`super::quotients`]. No denominator is zero: the scalars are multiples of 8 below 2^255, which is less than 8
/// times the order of the base point.
#[inline(always)]
pub(super) fn quotients<V: Vector>(fractions: &mut [Secret<{ 2 * DIGITS }>]) {
    // Products of the first denominators: of none, of one, and so on.
    let mut products: [Secret<DIGITS>; QUOTIENTS_MAX] = std::array::from_fn(|_| Secret::zero());
    let mut product = one::<V>();
    for (fraction, before) in fractions.iter().zip(&mut products) {
        store(&product, &mut before.0);
        product = multiply(&product, &load(&fraction.0[DIGITS..]));
    }
    let mut inverse = invert(&product);
    for (fraction, before) in fractions.iter_mut().zip(&products).rev() {
        let own = multiply(&inverse, &load(&before.0));
        inverse = multiply(&inverse, &load(&fraction.0[DIGITS..]));
        let quotient = multiply(&own, &load(&fraction.0));
        let [out, _] = fraction.0.as_chunks_mut::<DIGITS>().0 else { return };
        widen(&quotient, out);
    }
}

#[inline(always)]
fn one<V: Vector>() -> Digits<V> {
    let mut one = [V::all(0); DIGITS];
    one[0] = V::all(1);
    one
}

const _: () = assert!(WINDOW * WINDOWS == 252);
