//! Exponentiation and multiplication modulo an odd number, with secrets in the exponent.

use super::bignum::{Bignum, Scratch, clear_errors, minus_one, to_bytes};
use aws_lc_sys as lc;
use std::ptr;

/// A modulus with its Montgomery constants.
pub(crate) struct PrimeModulus {
    modulus: Bignum,
    constants: *mut lc::BN_MONT_CTX,
}

// SAFETY: owned by this value alone and tied to no thread; after it is made it is only read.
unsafe impl Send for PrimeModulus {}
// SAFETY: as for Send.
unsafe impl Sync for PrimeModulus {}

impl PrimeModulus {
    /// None unless the modulus is odd and above one.
    pub(crate) fn new(modulus: &[u8]) -> Option<PrimeModulus> {
        let modulus = Bignum::from_bytes(modulus);
        let scratch = Scratch::new();
        // SAFETY: live numbers; the library refuses even and small moduli by a null pointer.
        let constants = unsafe { lc::BN_MONT_CTX_new_for_modulus(modulus.0, scratch.0) };
        if constants.is_null() {
            clear_errors();
            return None;
        }
        Some(PrimeModulus { modulus, constants })
    }

    /// `base^exponent`, over the whole of `out`; the time depends only on the lengths. False, with zeros in `out`,
    /// unless the base is below the modulus and the result fits.
    #[must_use]
    pub(crate) fn power(&self, base: &[u8], exponent: &[u8], out: &mut [u8]) -> bool {
        let (base, exponent) = (Bignum::from_bytes(base), Bignum::from_bytes(exponent));
        let (result, scratch) = (Bignum::new(), Scratch::new());
        // SAFETY: live, distinct objects; the constants are those of the modulus. The library checks the base.
        let done = unsafe {
            lc::BN_mod_exp_mont_consttime(
                result.0,
                base.0,
                exponent.0,
                self.modulus.0,
                scratch.0,
                self.constants,
            )
        };
        finish(done == 1, &result, out)
    }

    /// `a * b`, over the whole of `out`; the time depends only on the lengths. False, with zeros in `out`, unless both
    /// factors are below the modulus and the result fits.
    #[must_use]
    pub(crate) fn product(&self, a: &[u8], b: &[u8], out: &mut [u8]) -> bool {
        let (a, b) = (Bignum::from_bytes(a), Bignum::from_bytes(b));
        let (montgomery, result, scratch) = (Bignum::new(), Bignum::new(), Scratch::new());
        // SAFETY: live numbers, only read.
        let in_range =
            unsafe { lc::BN_ucmp(a.0, self.modulus.0) < 0 && lc::BN_ucmp(b.0, self.modulus.0) < 0 };
        // SAFETY: live, distinct objects; the constants are those of the modulus.
        let done = in_range
            && unsafe {
                lc::BN_to_montgomery(montgomery.0, a.0, self.constants, scratch.0) == 1
                    && lc::BN_mod_mul_montgomery(result.0, montgomery.0, b.0, self.constants, scratch.0) == 1
            };
        finish(done, &result, out)
    }

    /// `modulus - 1 - exponent`, over the whole of `out`; false if that is negative or does not fit.
    #[must_use]
    pub(crate) fn negated_exponent(&self, exponent: &[u8], out: &mut [u8]) -> bool {
        let (exponent, result) = (Bignum::from_bytes(exponent), Bignum::new());
        let Some(order) = minus_one(&self.modulus) else { return false };
        // SAFETY: live, distinct numbers; the library refuses a negative result.
        let done = unsafe { lc::BN_usub(result.0, order.0, exponent.0) };
        finish(done == 1, &result, out)
    }
}

fn finish(done: bool, result: &Bignum, out: &mut [u8]) -> bool {
    let written = done && to_bytes(result.0, out);
    if !written {
        clear_errors();
        crate::low::wipe_bytes(out);
    }
    written
}

impl Drop for PrimeModulus {
    fn drop(&mut self) {
        // SAFETY: made by `BN_MONT_CTX_new_for_modulus` and owned by this value alone.
        unsafe { lc::BN_MONT_CTX_free(self.constants) }
        self.constants = ptr::null_mut();
    }
}
