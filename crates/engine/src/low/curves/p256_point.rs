//! Points of P-256 and multiples of its generator.
//!
//! Points are projective, x = X/Z and y = Y/Z. They are added by the complete formulas of Renes, Costello and Batina
//! (Complete addition formulas for prime order elliptic curves, 2016, algorithms 4 and 5). These are correct for any
//! two points, including equal ones, opposite ones and the neutral (0 : 1 : 0), so no scalar is a special case.
//!
//! With the names of [`add_products`], and coordinates below 1.5p before and after:
//!
//! ```text
//! A = X1 X2              W  = 3F - 3bC           X3 = D S  + E U'
//! B = Y1 Y2              S  = B + W              Y3 = S T  + V' U'
//! C = Z1 Z2              T  = B - W              Z3 = E T  + D V
//! D = X1 Y2 + X2 Y1      U' = 9C + 3A - 3bF
//! E = Y1 Z2 + Y2 Z1      V  = 3A - 3C
//! F = X1 Z2 + X2 Z1      V' = 3C - 3A
//! ```
//!
//! A sum of two products is reduced once, so adding an affine point takes fourteen products and ten reductions. That is
//! some 1,000 multiplications of digits; two a cycle give the minimum time.
//!
//! A multiple of the generator is the sum of one entry from each window of seven bits, with signs (Booth's digits, -64
//! to 64): 37 additions, no doubling. All entries of a window are loaded, and the lanes choose in registers. The value
//! of the digits is summed separately, from the index, sign and mask that were used, and the caller compares it with
//! the scalar. A digit that was disturbed gives another number, whereas its point would still be on the curve. A table
//! entry that has become another point of the curve is not detected by that.

use super::p256_field::{
    Prime, add, add_product, carry, choose, constant, least, multiple, multiply, multiply_add, multiply_two,
    no_products, reduced, settle, subtract, triple,
};
use super::p256_table::{Table, WINDOWS};
use super::vector::{Digits, Vector, load, store};
use super::windows::{Choice, WINDOW, bits, look_up};
use super::{DIGIT_BITS, DIGIT_MASK, DIGITS, Number, Point, Row, Secret, Step, step};

/// 1 in Montgomery form.
pub(super) const ONE: [u64; DIGITS] = [
    0x0000_0000_0000_0010,
    0x000f_0000_0000_0000,
    0x000f_ffff_ffff_ffff,
    0x000f_feff_ffff_ffff,
    0x0000_0000_000f_ffff,
];
/// -3b in Montgomery form.
const MINUS_3B: [u64; DIGITS] = [
    0x0006_1d98_2b1c_6606,
    0x000a_3673_6e4d_7629,
    0x0009_c737_bf92_fee9,
    0x0007_63ef_199d_fc1a,
    0x0000_b6fe_da65_26a2,
];

/// The coordinates of points in registers.
type Coordinates<V> = [Digits<V>; 3];

#[inline(always)]
fn load_point<V: Vector>(point: &Point) -> Coordinates<V> {
    [load(point), load(&point[DIGITS..]), load(&point[2 * DIGITS..])]
}

#[inline(always)]
fn store_point<V: Vector>(coordinates: &Coordinates<V>, point: &mut Point) {
    store(&coordinates[0], point);
    store(&coordinates[1], &mut point[DIGITS..]);
    store(&coordinates[2], &mut point[2 * DIGITS..]);
}

/// The sum of two points, from the products named in the text above.
#[inline(always)]
fn add_products<V: Vector>(
    a: &Digits<V>,
    b: &Digits<V>,
    c: &Digits<V>,
    d: &Digits<V>,
    e: &Digits<V>,
    f: &Digits<V>,
) -> Coordinates<V> {
    let minus_3b = constant(&MINUS_3B);
    let (three_a, three_c) = (triple(a), triple(c));
    let w = multiply_add(c, &minus_3b, &triple(f));
    let u = multiply_add(f, &minus_3b, &add(&triple(&three_c), &three_a));
    let s = carry(add(b, &w));
    let t = carry(subtract(&add(b, &multiple::<Prime, V>(2)), &w));
    let v = settle(subtract(&add(&three_a, &multiple::<Prime, V>(5)), &three_c));
    let minus_v = settle(subtract(&add(&three_c, &multiple::<Prime, V>(5)), &three_a));
    [
        multiply_two::<Prime, V>(d, &s, e, &u),
        multiply_two::<Prime, V>(&s, &t, &minus_v, &u),
        multiply_two::<Prime, V>(e, &t, d, &v),
    ]
}

/// The sum of a point and an affine point whose coordinates are at most p.
#[inline(always)]
fn add_affine<V: Vector>(point: &Coordinates<V>, x: &Digits<V>, y: &Digits<V>) -> Coordinates<V> {
    let [x1, y1, z1] = point;
    let a = multiply::<Prime, V>(x1, x);
    let b = multiply::<Prime, V>(y1, y);
    let d = multiply_two::<Prime, V>(x1, y, x, y1);
    let e = multiply_add(y, z1, y1);
    let f = multiply_add(x, z1, x1);
    add_products(&a, &b, z1, &d, &e, &f)
}

/// point = point + other.
#[inline(always)]
pub(super) fn add_to<V: Vector>(point: &mut Point, other: &Point) {
    let ([x1, y1, z1], [x2, y2, z2]) = (load_point::<V>(point), load_point::<V>(other));
    let a = multiply::<Prime, V>(&x1, &x2);
    let b = multiply::<Prime, V>(&y1, &y2);
    let c = multiply::<Prime, V>(&z1, &z2);
    let d = multiply_two::<Prime, V>(&x1, &y2, &x2, &y1);
    let e = multiply_two::<Prime, V>(&y1, &z2, &y2, &z1);
    let f = multiply_two::<Prime, V>(&x1, &z2, &x2, &z1);
    store_point(&add_products(&a, &b, &c, &d, &e, &f), point);
}

/// See [`super::base_multiple`].
#[inline(always)]
pub(super) fn base_multiple<V: Vector>(table: &Table, scalar: &Number, point: &mut Point, used: &mut Number) {
    // Each window needs the bit below it; below the lowest window that bit is zero.
    let mut doubled = Secret::<DIGITS>::zero();
    double(&load::<V>(scalar), &mut doubled.0);
    store_point(&[constant(&[0; DIGITS]), constant(&ONE), constant::<V>(&[0; DIGITS])], point);
    used.fill(Row::ZERO);
    for (at, window) in table.windows().iter().enumerate() {
        let choice = Choice::new(bits::<V>(&doubled.0, at * WINDOW));
        let (is_negative, size, index) = (choice.is_negative, choice.size, choice.index());
        let (x, y) = (look_up(&window[0], index), look_up(&window[1], index));
        let minus_y = carry(subtract(&multiple::<Prime, V>(1), &y));
        let y = choose(is_negative, &minus_y, &y);
        let before = load_point(point);
        let sum = add_affine(&before, &x, &y);
        let is_taken = size.has(V::all(DIGIT_MASK));
        let after = [
            choose(is_taken, &sum[0], &before[0]),
            choose(is_taken, &sum[1], &before[1]),
            choose(is_taken, &sum[2], &before[2]),
        ];
        store_point(&after, point);
        step(Step::Sum(at), point);
        // Computed from the index, sign and mask after they were used to choose the entry.
        let size = V::choose(is_taken, index.add(V::all(1)), V::all(0));
        let digit = V::choose(is_negative, V::all(0).sub(size), size);
        let row = &mut used[at * WINDOW / DIGIT_BITS];
        V::load(row).add(digit.shl_by(at * WINDOW % DIGIT_BITS)).store(row);
    }
    store(&carry(load::<V>(used)), used);
}

/// Twice a number below 2^259.
#[inline(always)]
fn double<V: Vector>(number: &Digits<V>, doubled: &mut [Row]) {
    store(&carry(add(number, number)), doubled);
}

/// x and y of a point in Montgomery form, below p, given 1/Z in Montgomery form; zeros for the neutral point.
#[inline(always)]
pub(super) fn affine<V: Vector>(point: &Point, z_inverse: &Number, x: &mut Number, y: &mut Number) {
    let [x1, y1, _] = load_point::<V>(point);
    let z = load(z_inverse);
    store(&least::<Prime, V>(&multiply::<Prime, V>(&x1, &z)), x);
    store(&least::<Prime, V>(&multiply::<Prime, V>(&y1, &z)), y);
}

/// y^2 - (x^3 - 3x + b), below p: zero exactly for the points of the curve.
#[inline(always)]
pub(super) fn distance_from_curve<V: Vector>(x: &Digits<V>, y: &Digits<V>) -> Digits<V> {
    /// b in Montgomery form.
    const B: [u64; DIGITS] = [
        0x000d_f622_9c4b_ddfd,
        0x000c_a884_3090_d89c,
        0x0002_12ed_6acf_005c,
        0x0008_3415_a220_abf7,
        0x0000_c300_61dd_4874,
    ];
    // y^2 + x * (-x^2) + 3x - b.
    let minus_x2 = carry(subtract(&multiple::<Prime, V>(2), &multiply::<Prime, V>(x, x)));
    let mut columns = no_products();
    add_product(&mut columns, y, y);
    add_product(&mut columns, x, &minus_x2);
    let products = reduced::<Prime, V>(&mut columns);
    let rest = subtract(&add(&triple(x), &multiple::<Prime, V>(1)), &constant(&B));
    least::<Prime, V>(&settle(add(&products, &rest)))
}

const _: () = assert!(WINDOW * WINDOWS > 256);
