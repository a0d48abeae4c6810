//! Eight operations on curves at once: signatures by ECDSA with P-256, and X25519.
//!
//! Numbers lie as in [`super::rsa`]: row `i` holds digit `i` of eight unrelated numbers, 52 bits each, five of them.
//! All lanes are always computed: a caller with fewer than eight requests fills the others with copies.
//!
//! Each function takes the token of its kernel. In tests it runs the plain twin when there is none: the same formulas
//! on the same digits, lane by lane (`plain.rs`). Elsewhere who has no token goes the library's way, and the twin,
//! which is as much code as the kernels, is left out. Constant time in all numbers: no secret steers a branch or an
//! address.
//!
//! Multiplications of digits in eight signatures, and in eight steps of the ladder, and public values:
//!
//! | | products, squares | multiplications of digits |
//! |---|---|---|
//! | multiple of P-256's generator | 37 additions of 14 products | 37 x 1,000 |
//! | 1/Z and 1/k, side by side since each waits for its own squares | 259 squares each, 39 and 62 products | 47,000 |
//! | a step of X25519 | 4 squares, 5 products, one by a small number | 533 |
//! | multiple of X25519's base point | 36 additions of 7 products | 36 x 470 |
//! | 1/z of X25519, which waits for its own squares | 254 squares, 11 products | 12,400 |
//!
//! Other operations are as many again. Where two of all of them are done a cycle (Intel) both count, where four are and
//! two of them multiply (AMD) the multiplications do.
//!
//! Tried and dropped:
//! - X25519 with lower and upper halves of products in columns of their own, doubled and added at the end: 1,600
//!   instructions a step in place of 1,215. Now upper halves are summed first, doubled where they lie, and lower halves
//!   added to them; a folded column's upper half goes into a column before that is doubled.

mod p256_field;
mod p256_point;
mod p256_sign;
mod p256_table;
#[cfg(test)]
mod plain;
mod vector;
mod windows;
mod x25519;
mod x25519_base;
mod x25519_table;

#[cfg(target_arch = "x86_64")]
mod ifma;

#[cfg(not(target_arch = "x86_64"))]
use super::absent::curves::ifma;
use super::cpu::Avx512;
pub(crate) use super::rsa::{DIGIT_BITS, DIGIT_MASK, LANES, Row, Secret, load_bytes, store_bytes};
pub(crate) use p256_table::Table;
#[cfg(test)]
use plain::Words;
pub(crate) use x25519_base::QUOTIENTS_MAX;
pub(crate) use x25519_table::Table as BaseTable;

/// Digits of a number.
pub(crate) const DIGITS: usize = 5;
/// Eight numbers of up to 260 bits.
pub(crate) type Number = [Row; DIGITS];
/// Eight numbers of up to 520 bits.
pub(crate) type Wide = [Row; 2 * DIGITS];
/// Eight points of P-256 by projective coordinates X, Y and Z in Montgomery form.
pub(crate) type Point = [Row; 3 * DIGITS];
/// Eight points of edwards25519: X, Y, Z and T.
pub(crate) type Extended = [Row; 4 * DIGITS];
/// Eight of its points as they are added: y + x, y - x and 2dxy.
pub(crate) type Entry = [Row; 3 * DIGITS];
/// Eight numerators, then eight denominators.
pub(crate) type Fraction = [Row; 2 * DIGITS];

/// Functions that choose: the kernel that the token admits to, else, in tests, its plain twin.
macro_rules! choices {
    ($($(#[$attribute:meta])* $seen:vis $module:ident::$kernel:ident as $name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(
            $(#[$attribute])*
            $seen fn $name(token: Option<Avx512>, $($argument: $kind),*) {
                match token {
                    Some(token) => ifma::$kernel(token, $($argument),*),
                    #[cfg(test)]
                    None => $module::$kernel::<Words>($($argument),*),
                    #[cfg(not(test))]
                    None => unreachable!("lanes without their kernel are for tests alone"),
                }
            }
        )*
    };
}

choices! {
    /// X25519 (RFC 7748, 5) of scalars below 2^255, as they are, and u coordinates below 2^255. The result is below the
    /// prime; zero where the point has a small order.
    pub(crate) x25519::ladder as x25519(scalar: &Number, u: &Number, out: &mut Number);

    /// u of the base point's multiple as a fraction, of scalars as RFC 7748, 5, makes them: multiples of 8, 2^254 or
    /// more and below 2^255.
    pub(crate) x25519_base::base_fraction as base_fraction(
        table: &BaseTable, scalar: &Number, fraction: &mut Fraction
    );

    /// Numerators by denominators of up to [`QUOTIENTS_MAX`] times eight fractions, below the prime, in digits of 52
    /// bits, in the numerators' place. All of a lane are zero if one of its denominators is.
    pub(crate) x25519_base::quotients as quotients(fractions: &mut [Secret<{ 2 * DIGITS }>]);

    /// point = point + entry.
    x25519_base::add_entry_to as add_entry_to(point: &mut Extended, entry: &Entry);

    /// The entry of a point, whose T is not looked at.
    x25519_base::entry_of as entry_of(point: &Extended, entry: &mut Entry);

    /// scalar * G, of any scalar below 2^256; and the number that the table's entries stood for, which is the scalar
    /// unless something went wrong.
    pub(crate) p256_point::base_multiple as base_multiple(
        table: &Table, scalar: &Number, point: &mut Point, used: &mut Number
    );

    /// 1/z modulo P-256's prime, in Montgomery form on both sides, and 1/k modulo its order, in Montgomery form where
    /// it comes out; zero for zero. Side by side, since each waits for itself most of the time.
    pub(crate) p256_sign::inverses as inverses(
        z: &Number, k: &Number, z_inverse: &mut Number, k_inverse: &mut Number
    );

    /// A number of 512 bits modulo P-256's order.
    pub(crate) p256_sign::reduce_wide as reduce_wide(wide: &Wide, out: &mut Number);

    /// r: the point's x modulo the order, given 1/Z in Montgomery form.
    pub(crate) p256_sign::first_half as first_half(point: &Point, z_inverse: &Number, r: &mut Number);

    /// s = (digest + r d) / k modulo the order, given 1/k as [`inverses`] makes it. The digest is any number of 256
    /// bits.
    pub(crate) p256_sign::second_half as second_half(
        k_inverse: &Number, digest: &Number, r: &Number, d: &Number, s: &mut Number
    );

    /// Zero in the lanes where the point lies on the curve, r is its x modulo the order, s k = digest + r d with the k
    /// that the point was made of, and neither r nor s is zero. The request is digest and d, the signature r and s.
    pub(crate) p256_sign::faults as faults(
        point: &Point, z_inverse: &Number, used: &Number, request: [&Number; 2], signature: [&Number; 2],
        faults: &mut Row
    );

    /// Not zero any more in the lanes where the point is another than the one of these coordinates, which are below
    /// 2^256 and not in Montgomery form.
    pub(crate) p256_sign::is_other as is_other(point: &Point, place: [&Number; 2], faults: &mut Row);

    /// Not zero any more in the lanes where the point's x is another, or the point is the neutral one.
    pub(crate) p256_sign::is_other_x as is_other_x(point: &Point, x: &Number, faults: &mut Row);

    /// point = point + other.
    p256_point::add_to as add_to(point: &mut Point, other: &Point);

    /// x and y in Montgomery form, below the prime, given 1/Z.
    p256_point::affine as affine(point: &Point, z_inverse: &Number, x: &mut Number, y: &mut Number);
}

/// Where a test may disturb a computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The point after a window of [`base_multiple`].
    Sum(usize),
    /// The numbers after a bit of [`x25519`].
    Ladder(usize),
}

/// Nothing, except in this crate's own tests.
#[cfg(not(test))]
#[inline(always)]
fn step(_: Step, _: &mut [Row]) {}

#[cfg(test)]
pub(crate) use tests::step;

#[cfg(test)]
pub(crate) mod tests;
