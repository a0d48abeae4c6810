//! DSA signatures (FIPS 186-4, 4.6).

use super::bignum::{Bignum, clear_errors, to_bytes};
use aws_lc_sys as lc;
use std::mem;
use std::ptr;

/// A private key; wiped when dropped.
pub(crate) struct DsaObject(*mut lc::DSA);

// SAFETY: owned by this value alone; what the library changes in it later (constants) it guards with a lock of the
// object.
unsafe impl Send for DsaObject {}
// SAFETY: as for Send.
unsafe impl Sync for DsaObject {}

/// The numbers of a private key, big-endian.
pub(crate) struct DsaParts<'a> {
    pub(crate) p: &'a [u8],
    pub(crate) q: &'a [u8],
    pub(crate) g: &'a [u8],
    pub(crate) y: &'a [u8],
    pub(crate) x: &'a [u8],
}

impl DsaObject {
    /// Makes a key without checking the numbers: signing checks them.
    pub(crate) fn new(parts: &DsaParts<'_>) -> DsaObject {
        // SAFETY: takes no arguments; the result is checked.
        let key = unsafe { lc::DSA_new() };
        assert!(!key.is_null(), "no memory for a DSA key");
        let key = DsaObject(key);
        let DsaParts { p, q, g, y, x } = parts;
        let [p, q, g, y, x] = [p, q, g, y, x].map(|number| Bignum::from_bytes(number));
        // SAFETY: a live key of ours without numbers, and live numbers, which become the key's: they are not ours to
        // free afterwards. Both functions fail only where a number is missing.
        unsafe {
            assert!(lc::DSA_set0_pqg(key.0, p.0, q.0, g.0) == 1, "all numbers are there");
            assert!(lc::DSA_set0_key(key.0, y.0, x.0) == 1, "all numbers are there");
        }
        mem::forget([p, q, g, y, x]);
        key
    }

    /// Signs the first bytes of a digest, as many as the order has. r and s go big-endian into the two halves of `out`.
    /// False if the numbers are no valid key, or r or s does not fit.
    #[must_use]
    pub(crate) fn sign(&self, digest: &[u8], out: &mut [u8]) -> bool {
        // SAFETY: pointer and length come from one slice; the key lives; the result is checked.
        let signature = unsafe { lc::DSA_do_sign(digest.as_ptr(), digest.len(), self.0) };
        if signature.is_null() {
            clear_errors();
            return false;
        }
        let (r_out, s_out) = out.split_at_mut(out.len() / 2);
        // SAFETY: the signature is live and owned here; its two numbers are only read, before it is freed once.
        unsafe {
            let (mut r, mut s) = (ptr::null(), ptr::null());
            lc::DSA_SIG_get0(signature, &mut r, &mut s);
            let written = to_bytes(r, r_out) && to_bytes(s, s_out);
            lc::DSA_SIG_free(signature);
            written
        }
    }
}

impl Drop for DsaObject {
    fn drop(&mut self) {
        // SAFETY: made by `DSA_new` and owned by this value alone; the library wipes the numbers.
        unsafe { lc::DSA_free(self.0) }
    }
}
