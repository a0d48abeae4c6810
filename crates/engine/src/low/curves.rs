//! Eight operations on curves at once: signatures by ECDSA with P-256, and X25519.
//!
//! Numbers are stored as in [`super::rsa`]: row `i` holds digit `i` of eight unrelated numbers, 52 bits each, five
//! rows. All lanes are always computed: a caller with fewer than eight requests fills the others with copies.
//!
//! Each function takes the token of its kernel. Without a token, tests run the plain twin: the same formulas on the
//! same digits, lane by lane (`plain.rs`). Other callers without a token use the library, and the twin, as much code as
//! the kernels, is not compiled. All functions are constant-time in all numbers: no secret affects a branch or an
//! address.
//!
//! Multiplications of digits in eight signatures, eight steps of the ladder, and eight public values:
//!
//! | | products, squares | multiplications of digits |
//! |---|---|---|
//! | multiple of P-256's generator | 37 additions of 14 products | 37 x 1,000 |
//! | 1/Z and 1/k, side by side since each waits for its own squares | 259 squares each, 39 and 62 products | 47,000 |
//! | a step of X25519 | 4 squares, 5 products, one by a small number | 533 |
//! | multiple of X25519's base point | 36 additions of 7 products | 36 x 470 |
//! | 1/z of X25519, which waits for its own squares | 254 squares, 11 products | 12,400 |
//!
//! Other operations are equally many. Both count on a core that executes two of all of them a cycle (Intel). Only the
//! multiplications count if it executes four a cycle, of which two may multiply (AMD).
//!
//! Tried and dropped:
//! - X25519 with lower and upper halves of products in columns of their own, doubled and added at the end: 1,600
//!   instructions a step instead of 1,215. Now upper halves are summed first, doubled in place, and lower halves added
//!   to them. The upper half of a folded column goes into a column before that is doubled.

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

/// The number of 52-bit digits of a number.
pub(crate) const DIGITS: usize = 5;
/// Eight numbers of up to 260 bits.
pub(crate) type Number = [Row; DIGITS];
/// Eight numbers of up to 520 bits.
pub(crate) type Wide = [Row; 2 * DIGITS];
/// Eight points of P-256 by projective coordinates X, Y and Z in Montgomery form.
pub(crate) type Point = [Row; 3 * DIGITS];
/// Eight points of edwards25519: X, Y, Z and T.
pub(crate) type Extended = [Row; 4 * DIGITS];
/// Eight points of edwards25519 in the form for additions: y + x, y - x and 2dxy.
pub(crate) type Entry = [Row; 3 * DIGITS];
/// Eight numerators, then eight denominators.
pub(crate) type Fraction = [Row; 2 * DIGITS];

/// Functions that call the token's kernel or, in tests without a token, the plain twin.
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
    /// X25519 (RFC 7748, 5) of scalars below 2^255, used unchanged, and u coordinates below 2^255. The result is below
    /// the prime; zero if the point has a small order.
    pub(crate) x25519::ladder as x25519(scalar: &Number, u: &Number, out: &mut Number);

    /// The u coordinate of a multiple of the base point, as a fraction. Scalars are as RFC 7748, 5, makes them:
    /// multiples of 8, 2^254 or more and below 2^255.
    pub(crate) x25519_base::base_fraction as base_fraction(
        table: &BaseTable, scalar: &Number, fraction: &mut Fraction
    );

    /// Divides the numerators of up to [`QUOTIENTS_MAX`] times eight fractions by their denominators. The quotients,
    /// below the prime and in digits of 52 bits, replace the numerators. If one denominator of a lane is zero, all
    /// quotients of that lane are zero.
    pub(crate) x25519_base::quotients as quotients(fractions: &mut [Secret<{ 2 * DIGITS }>]);

    /// point = point + entry.
    x25519_base::add_entry_to as add_entry_to(point: &mut Extended, entry: &Entry);

    /// Converts a point to the form for additions; its T is not used.
    x25519_base::entry_of as entry_of(point: &Extended, entry: &mut Entry);

    /// scalar * G, for any scalar below 2^256, and the number that the table's entries represent. That number equals
    /// the scalar unless the computation was disturbed.
    pub(crate) p256_point::base_multiple as base_multiple(
        table: &Table, scalar: &Number, point: &mut Point, used: &mut Number
    );

    /// 1/z modulo P-256's prime, z and result in Montgomery form, and 1/k modulo its order, with only the result in
    /// Montgomery form. The inverse of zero is zero. Both run side by side, since each mostly waits for its own
    /// results.
    pub(crate) p256_sign::inverses as inverses(
        z: &Number, k: &Number, z_inverse: &mut Number, k_inverse: &mut Number
    );

    /// Reduces a number of 512 bits modulo P-256's order.
    pub(crate) p256_sign::reduce_wide as reduce_wide(wide: &Wide, out: &mut Number);

    /// r of the signature: the point's x modulo the order, given 1/Z in Montgomery form.
    pub(crate) p256_sign::first_half as first_half(point: &Point, z_inverse: &Number, r: &mut Number);

    /// s of the signature: (digest + r d) / k modulo the order, given the result 1/k of [`inverses`]. The digest is any
    /// number of 256 bits.
    pub(crate) p256_sign::second_half as second_half(
        k_inverse: &Number, digest: &Number, r: &Number, d: &Number, s: &mut Number
    );

    /// Zero in the lanes of a correct signature. The point must be on the curve, r its x modulo the order, and s k =
    /// digest + r d with the k used for the point; neither r nor s may be zero. The request is digest and d, the
    /// signature r and s.
    pub(crate) p256_sign::faults as faults(
        point: &Point, z_inverse: &Number, used: &Number, request: [&Number; 2], signature: [&Number; 2],
        faults: &mut Row
    );

    /// Sets the faults of the lanes in which the point has not these coordinates, which are below 2^256 and not in
    /// Montgomery form. Other lanes keep their faults.
    pub(crate) p256_sign::is_other as is_other(point: &Point, place: [&Number; 2], faults: &mut Row);

    /// Sets the faults of the lanes in which the point has another x, or is the neutral point. Other lanes keep their
    /// faults.
    pub(crate) p256_sign::is_other_x as is_other_x(point: &Point, x: &Number, faults: &mut Row);

    /// point = point + other.
    p256_point::add_to as add_to(point: &mut Point, other: &Point);

    /// x and y in Montgomery form, below the prime, given 1/Z in Montgomery form.
    p256_point::affine as affine(point: &Point, z_inverse: &Number, x: &mut Number, y: &mut Number);
}

/// A place in a computation that a test may disturb.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The point after a window of [`base_multiple`], by the number of the window.
    Sum(usize),
    /// The numbers after a bit of [`x25519`], by the number of the bit.
    Ladder(usize),
}

/// Does nothing outside this crate's own tests.
#[cfg(not(test))]
#[inline(always)]
fn step(_: Step, _: &mut [Row]) {}

#[cfg(test)]
pub(crate) use tests::step;

#[cfg(test)]
pub(crate) mod tests;
