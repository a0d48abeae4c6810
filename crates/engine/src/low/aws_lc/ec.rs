//! Elliptic curves P-256, P-384 and P-521 (SP 800-186): keys, ECDSA (FIPS 186-5) and ECDH (SP 800-56A).

use std::ptr;

use aws_lc_sys as lc;

use super::bignum::{Bignum, clear_errors, to_bytes};

/// The curves, by the library's number.
#[derive(Clone, Copy)]
pub(crate) enum Nid {
    P256 = lc::NID_X9_62_prime256v1 as isize,
    P384 = lc::NID_secp384r1 as isize,
    P521 = lc::NID_secp521r1 as isize,
}

/// A public key, with or without its private part; wiped when dropped.
pub(crate) struct EcKey(*mut lc::EC_KEY);

// SAFETY: owned by this value alone, never changed after it was made, tied to no thread.
unsafe impl Send for EcKey {}
// SAFETY: as for Send; signing and deriving take the key as const.
unsafe impl Sync for EcKey {}

impl EcKey {
    fn empty(curve: Nid) -> EcKey {
        // SAFETY: the number is one that the library knows; the result is checked.
        let key = unsafe { lc::EC_KEY_new_by_curve_name(curve as std::ffi::c_int) };
        assert!(!key.is_null(), "no memory for an elliptic-curve key");
        EcKey(key)
    }

    fn group(&self) -> *const lc::EC_GROUP {
        // SAFETY: the key lives and was made with its group; groups are static.
        unsafe { lc::EC_KEY_get0_group(self.0) }
    }

    /// A new key pair; None only when the library fails inside.
    pub(crate) fn generate(curve: Nid) -> Option<EcKey> {
        let key = EcKey::empty(curve);
        // SAFETY: a live key with a group, changed before it is shared.
        let made = unsafe { lc::EC_KEY_generate_key(key.0) };
        checked(made == 1, key)
    }

    /// From a private scalar, big-endian. None unless 0 < scalar < order.
    pub(crate) fn from_private(curve: Nid, scalar: &[u8]) -> Option<EcKey> {
        let key = EcKey::empty(curve);
        let scalar = Bignum::from_bytes(scalar);
        let group = key.group();
        let point = Point::new(group);
        // SAFETY: live objects of one group; the functions copy what they are given.
        let made = unsafe {
            lc::EC_KEY_set_private_key(key.0, scalar.0) == 1
                && lc::EC_POINT_mul(group, point.0, scalar.0, ptr::null(), ptr::null(), ptr::null_mut()) == 1
                && lc::EC_KEY_set_public_key(key.0, point.0) == 1
                && lc::EC_KEY_check_key(key.0) == 1
        };
        checked(made, key)
    }

    /// From an encoded public point (SEC 1: uncompressed or compressed). None unless it is on the curve.
    pub(crate) fn from_public(curve: Nid, encoded: &[u8]) -> Option<EcKey> {
        let key = EcKey::empty(curve);
        let point = Point::decode(key.group(), encoded)?;
        // SAFETY: live objects of one group; the function copies the point.
        let made =
            unsafe { lc::EC_KEY_set_public_key(key.0, point.0) == 1 && lc::EC_KEY_check_key(key.0) == 1 };
        checked(made, key)
    }

    /// Writes the private scalar over the whole slice; false if there is none or it does not fit.
    #[must_use]
    pub(crate) fn private(&self, out: &mut [u8]) -> bool {
        // SAFETY: the key lives; the number belongs to it and is only read.
        to_bytes(unsafe { lc::EC_KEY_get0_private_key(self.0) }, out)
    }

    /// The public point, uncompressed (SEC 1, 2.3.3).
    pub(crate) fn public(&self) -> Option<Vec<u8>> {
        let mut encoded = vec![0; 133];
        // SAFETY: the key lives, its point belongs to its group, and the slice is given with its length,
        // which is enough for the largest curve here.
        let bytes = unsafe {
            lc::EC_POINT_point2oct(
                self.group(),
                lc::EC_KEY_get0_public_key(self.0),
                lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED,
                encoded.as_mut_ptr(),
                encoded.len(),
                ptr::null_mut(),
            )
        };
        encoded.truncate(bytes);
        (bytes != 0).then_some(encoded)
    }

    /// Signs a digest; r and s go big-endian into the two halves of `out`. False only when there is no
    /// private part or the library fails inside.
    #[must_use]
    pub(crate) fn sign(&self, digest: &[u8], out: &mut [u8]) -> bool {
        // SAFETY: pointer and length come from one slice; the key lives; the result is checked.
        let signature = unsafe { lc::ECDSA_do_sign(digest.as_ptr(), digest.len(), self.0) };
        if signature.is_null() {
            clear_errors();
            return false;
        }
        let (r_out, s_out) = out.split_at_mut(out.len() / 2);
        // SAFETY: the signature is live and owned here; its two numbers are only read, before it is freed
        // once.
        unsafe {
            let (mut r, mut s) = (ptr::null(), ptr::null());
            lc::ECDSA_SIG_get0(signature, &mut r, &mut s);
            let written = to_bytes(r, r_out) && to_bytes(s, s_out);
            lc::ECDSA_SIG_free(signature);
            written
        }
    }

    /// Whether r || s, two halves of equal length, is a signature of the digest.
    pub(crate) fn verify(&self, digest: &[u8], signature: &[u8]) -> bool {
        let (r, s) = signature.split_at(signature.len() / 2);
        let (r, s) = (Bignum::from_bytes(r), Bignum::from_bytes(s));
        // SAFETY: the signature is made and freed here. Setting it hands both numbers over, after which they
        // are not ours to free.
        let fits = unsafe {
            let parsed = lc::ECDSA_SIG_new();
            if parsed.is_null() {
                return false;
            }
            if lc::ECDSA_SIG_set0(parsed, r.0, s.0) == 1 {
                std::mem::forget((r, s));
            }
            let fits = lc::ECDSA_do_verify(digest.as_ptr(), digest.len(), parsed, self.0) == 1;
            lc::ECDSA_SIG_free(parsed);
            fits
        };
        if !fits {
            clear_errors();
        }
        fits
    }

    /// The x coordinate of private scalar times the peer's point, over the whole slice, which must be as
    /// long as the field. False if the peer's point is not a key of this curve or there is no private part.
    #[must_use]
    pub(crate) fn ecdh(&self, peer: &[u8], out: &mut [u8]) -> bool {
        let Some(peer) = Point::decode(self.group(), peer) else { return false };
        // SAFETY: both live, of one group; the slice is given with its length; no derivation function.
        let bytes = unsafe { lc::ECDH_compute_key(out.as_mut_ptr().cast(), out.len(), peer.0, self.0, None) };
        if bytes < 0 {
            clear_errors();
        }
        usize::try_from(bytes).is_ok_and(|bytes| bytes == out.len())
    }
}

impl Drop for EcKey {
    fn drop(&mut self) {
        // SAFETY: made by the library and owned by this value alone; the library wipes what it frees.
        unsafe { lc::EC_KEY_free(self.0) }
    }
}

struct Point(*mut lc::EC_POINT);

impl Point {
    fn new(group: *const lc::EC_GROUP) -> Point {
        // SAFETY: the callers pass the static group of a live key; the result is checked.
        let point = unsafe { lc::EC_POINT_new(group) };
        assert!(!point.is_null(), "no memory for a point");
        Point(point)
    }

    /// None unless the bytes encode a point of the curve other than infinity.
    fn decode(group: *const lc::EC_GROUP, encoded: &[u8]) -> Option<Point> {
        let point = Point::new(group);
        // SAFETY: live objects of one group; pointer and length come from one slice.
        let decoded = unsafe {
            lc::EC_POINT_oct2point(group, point.0, encoded.as_ptr(), encoded.len(), ptr::null_mut()) == 1
                && lc::EC_POINT_is_at_infinity(group, point.0) == 0
        };
        if !decoded {
            clear_errors();
        }
        decoded.then_some(point)
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        // SAFETY: made by `EC_POINT_new` and owned by this value alone; points may be secret products.
        unsafe { lc::EC_POINT_clear_free(self.0) }
    }
}

fn checked(made: bool, key: EcKey) -> Option<EcKey> {
    if !made {
        clear_errors();
    }
    made.then_some(key)
}
