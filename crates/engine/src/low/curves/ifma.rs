//! The kernels on 512-bit vectors, and their safe entry points.

use super::vector::Vector;
use super::{
    BaseTable, DIGITS, Entry, Extended, Fraction, Number, Point, Row, Secret, Table, Wide, p256_point,
    p256_sign, x25519, x25519_base,
};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;

/// Eight lanes in a register. Used only below the entry points, whose token proves the instructions.
#[derive(Clone, Copy)]
struct Lanes(__m512i);

/// Calls an instruction; used only by code below an entry point.
macro_rules! vector {
    ($instruction:ident $(::<$constant:ident>)? ($($argument:expr),*)) => {
        // SAFETY: `Lanes` is private to this file and named only in functions that ask for AVX-512 F and IFMA.
        unsafe { $instruction$(::<$constant>)?($($argument),*) }
    };
}

impl Vector for Lanes {
    type Mask = __mmask8;

    #[inline(always)]
    fn load(row: &Row) -> Lanes {
        // SAFETY: as in `vector!`; a row is 64 bytes, aligned so.
        Lanes(unsafe { _mm512_load_si512(row.0.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, row: &mut Row) {
        // SAFETY: as in `vector!`; a row is 64 bytes, aligned so.
        unsafe { _mm512_store_si512(row.0.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn all(number: u64) -> Lanes {
        Lanes(vector!(_mm512_set1_epi64(number.cast_signed())))
    }

    #[inline(always)]
    fn add(self, other: Lanes) -> Lanes {
        Lanes(vector!(_mm512_add_epi64(self.0, other.0)))
    }

    #[inline(always)]
    fn sub(self, other: Lanes) -> Lanes {
        Lanes(vector!(_mm512_sub_epi64(self.0, other.0)))
    }

    #[inline(always)]
    fn and(self, other: Lanes) -> Lanes {
        Lanes(vector!(_mm512_and_si512(self.0, other.0)))
    }

    #[inline(always)]
    fn or(self, other: Lanes) -> Lanes {
        Lanes(vector!(_mm512_or_si512(self.0, other.0)))
    }

    #[inline(always)]
    fn xor(self, other: Lanes) -> Lanes {
        Lanes(vector!(_mm512_xor_si512(self.0, other.0)))
    }

    #[inline(always)]
    fn shr<const BITS: u32>(self) -> Lanes {
        Lanes(vector!(_mm512_srli_epi64::<BITS>(self.0)))
    }

    #[inline(always)]
    fn sar<const BITS: u32>(self) -> Lanes {
        Lanes(vector!(_mm512_srai_epi64::<BITS>(self.0)))
    }

    #[inline(always)]
    fn shl<const BITS: u32>(self) -> Lanes {
        Lanes(vector!(_mm512_slli_epi64::<BITS>(self.0)))
    }

    #[inline(always)]
    fn shr_by(self, bits: usize) -> Lanes {
        Lanes(vector!(_mm512_srl_epi64(self.0, _mm_cvtsi64_si128(bits as i64))))
    }

    #[inline(always)]
    fn shl_by(self, bits: usize) -> Lanes {
        Lanes(vector!(_mm512_sll_epi64(self.0, _mm_cvtsi64_si128(bits as i64))))
    }

    #[inline(always)]
    fn add_low(self, a: Lanes, b: Lanes) -> Lanes {
        Lanes(vector!(_mm512_madd52lo_epu64(self.0, a.0, b.0)))
    }

    #[inline(always)]
    fn add_high(self, a: Lanes, b: Lanes) -> Lanes {
        Lanes(vector!(_mm512_madd52hi_epu64(self.0, a.0, b.0)))
    }

    #[inline(always)]
    fn has(self, bits: Lanes) -> __mmask8 {
        vector!(_mm512_test_epi64_mask(self.0, bits.0))
    }

    #[inline(always)]
    fn choose(lanes: __mmask8, with: Lanes, without: Lanes) -> Lanes {
        Lanes(vector!(_mm512_mask_blend_epi64(lanes, without.0, with.0)))
    }

    /// `vpermi2q` looks up one of sixteen entries in two registers.
    #[inline(always)]
    fn look_up(entries: &[Row; 8], index: Lanes) -> Lanes {
        let [a, b, c, d, e, f, g, h] = entries;
        let (fifth, sixth) = (index.has(Lanes::all(16)), index.has(Lanes::all(32)));
        let low = Lanes::choose(fifth, among(c, d, index), among(a, b, index));
        let high = Lanes::choose(fifth, among(g, h, index), among(e, f, index));
        Lanes::choose(sixth, high, low)
    }
}

/// Looks up one of sixteen entries in each lane.
#[inline(always)]
fn among(low: &Row, high: &Row, index: Lanes) -> Lanes {
    let (low, high) = (Lanes::load(low), Lanes::load(high));
    Lanes(vector!(_mm512_permutex2var_epi64(low.0, index.0, high.0)))
}

/// Entry points: a function that takes the token, and the kernel that it calls.
macro_rules! doors {
    ($($module:ident::$name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(
            /// See the function of `curves.rs` that calls it.
            pub(super) fn $name(token: Avx512, $($argument: $kind),*) {
                #[target_feature(enable = "avx512f,avx512ifma")]
                fn kernel($($argument: $kind),*) {
                    $module::$name::<Lanes>($($argument),*)
                }
                let _: Avx512 = token;
                // SAFETY: the token proves all features that the function asks for.
                unsafe { kernel($($argument),*) }
            }
        )*
    };
}

doors! {
    x25519::ladder(scalar: &Number, u: &Number, out: &mut Number);
    x25519_base::base_fraction(table: &BaseTable, scalar: &Number, fraction: &mut Fraction);
    x25519_base::quotients(fractions: &mut [Secret<{ 2 * DIGITS }>]);
    x25519_base::add_entry_to(point: &mut Extended, entry: &Entry);
    x25519_base::entry_of(point: &Extended, entry: &mut Entry);
    p256_point::base_multiple(table: &Table, scalar: &Number, point: &mut Point, used: &mut Number);
    p256_point::add_to(point: &mut Point, other: &Point);
    p256_point::affine(point: &Point, z_inverse: &Number, x: &mut Number, y: &mut Number);
    p256_sign::inverses(z: &Number, k: &Number, z_inverse: &mut Number, k_inverse: &mut Number);
    p256_sign::reduce_wide(wide: &Wide, out: &mut Number);
    p256_sign::first_half(point: &Point, z_inverse: &Number, r: &mut Number);
    p256_sign::second_half(k_inverse: &Number, digest: &Number, r: &Number, d: &Number, s: &mut Number);
    p256_sign::is_other(point: &Point, place: [&Number; 2], faults: &mut Row);
    p256_sign::is_other_x(point: &Point, x: &Number, faults: &mut Row);
    p256_sign::faults(
        point: &Point, z_inverse: &Number, used: &Number, request: [&Number; 2], signature: [&Number; 2],
        faults: &mut Row
    );
}
