//! Elliptic curves P-224, P-256, P-384 and P-521 (SP 800-186), secp256k1 (SEC 2), brainpoolP256r1 and brainpoolP384r1
//! (RFC 5639): keys, ECDSA (FIPS 186-5) and ECDH (SP 800-56A).
//!
//! The library has no Brainpool curves. It computes on them with its constant-time code for any prime field, which
//! secp256k1 uses too.

use super::bignum::{Bignum, Scratch, checked, clear_errors, to_bytes};
use aws_lc_sys as lc;
use std::ptr;
use std::sync::OnceLock;

/// The curves that this module supports.
#[derive(Clone, Copy)]
pub(crate) enum Group {
    P224,
    P256,
    P384,
    P521,
    Secp256k1,
    BrainpoolP256r1,
    BrainpoolP384r1,
}

impl Group {
    /// The library's object for the curve, which lives as long as the process.
    fn object(self) -> *const lc::EC_GROUP {
        static BRAINPOOL_P256: OnceLock<CurveObject> = OnceLock::new();
        static BRAINPOOL_P384: OnceLock<CurveObject> = OnceLock::new();
        let by_number = |number: i32| {
            // SAFETY: takes a number; null where the library does not know it, which the callers' numbers are.
            unsafe { lc::EC_GROUP_new_by_curve_name(number) }.cast_const()
        };
        match self {
            Group::P224 => by_number(lc::NID_secp224r1),
            Group::P256 => by_number(lc::NID_X9_62_prime256v1),
            Group::P384 => by_number(lc::NID_secp384r1),
            Group::P521 => by_number(lc::NID_secp521r1),
            Group::Secp256k1 => by_number(lc::NID_secp256k1),
            Group::BrainpoolP256r1 => BRAINPOOL_P256.get_or_init(|| CurveObject::new(&BRAINPOOL_P256R1)).0,
            Group::BrainpoolP384r1 => BRAINPOOL_P384.get_or_init(|| CurveObject::new(&BRAINPOOL_P384R1)).0,
        }
    }
}

/// The domain parameters of a curve y^2 = x^3 + ax + b over a prime field, with a cofactor of one: big-endian, all of
/// one length.
struct Parameters<const BYTES: usize> {
    p: [u8; BYTES],
    a: [u8; BYTES],
    b: [u8; BYTES],
    x: [u8; BYTES],
    y: [u8; BYTES],
    order: [u8; BYTES],
}

/// A curve without a number in the library. Never freed.
struct CurveObject(*const lc::EC_GROUP);

// SAFETY: tied to no thread; only read after it was made.
unsafe impl Send for CurveObject {}
// SAFETY: as for Send; keys copy it.
unsafe impl Sync for CurveObject {}

impl CurveObject {
    fn new<const BYTES: usize>(parameters: &Parameters<BYTES>) -> CurveObject {
        let Parameters { p, a, b, x, y, order } = parameters;
        let [p, a, b, x, y, order] = [p, a, b, x, y, order].map(|number| Bignum::from_bytes(number));
        let (one, scratch) = (Bignum::from_bytes(&[1]), Scratch::new());
        // SAFETY: live numbers, which the library copies; the result is checked.
        let group = unsafe { lc::EC_GROUP_new_curve_GFp(p.0, a.0, b.0, scratch.0) };
        assert!(!group.is_null(), "no memory for a curve");
        let generator = Point::new(group);
        // SAFETY: live objects of one group, which is not shared yet.
        let made = unsafe {
            lc::EC_POINT_set_affine_coordinates_GFp(group, generator.0, x.0, y.0, scratch.0) == 1
                && lc::EC_GROUP_set_generator(group, generator.0, order.0, one.0) == 1
        };
        assert!(made, "the constants of a curve are not those of a curve, or there is no memory");
        CurveObject(group)
    }
}

/// A public key, with or without its private part; wiped when dropped.
pub(crate) struct EcKey(*mut lc::EC_KEY);

// SAFETY: owned by this value alone, never changed after it was made, tied to no thread.
unsafe impl Send for EcKey {}
// SAFETY: as for Send; signing and deriving take the key as const.
unsafe impl Sync for EcKey {}

impl EcKey {
    fn empty(curve: Group) -> EcKey {
        // SAFETY: takes no arguments; the result is checked.
        let key = unsafe { lc::EC_KEY_new() };
        assert!(!key.is_null(), "no memory for an elliptic-curve key");
        let key = EcKey(key);
        // SAFETY: a live key without a group, and a live group.
        let set = unsafe { lc::EC_KEY_set_group(key.0, curve.object()) };
        assert!(set == 1, "no memory for an elliptic-curve key");
        key
    }

    fn group(&self) -> *const lc::EC_GROUP {
        // SAFETY: the key lives and was made with its group, which lives as long as the key.
        unsafe { lc::EC_KEY_get0_group(self.0) }
    }

    /// Generates a key pair; `None` only if the library fails internally.
    pub(crate) fn generate(curve: Group) -> Option<EcKey> {
        let key = EcKey::empty(curve);
        // SAFETY: a live key with a group, changed before it is shared.
        let made = unsafe { lc::EC_KEY_generate_key(key.0) };
        checked(made == 1, key)
    }

    /// The key of a big-endian private scalar. `None` unless 0 < scalar < order.
    pub(crate) fn from_private(curve: Group, scalar: &[u8]) -> Option<EcKey> {
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

    /// The key of an encoded public point (SEC 1: uncompressed or compressed). `None` unless it is on the curve.
    pub(crate) fn from_public(curve: Group, encoded: &[u8]) -> Option<EcKey> {
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

    /// Signs a digest; r and s go big-endian into the two halves of `out`. False only if there is no private part or
    /// the library fails internally.
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

    /// Writes the x coordinate of the private scalar times the peer's point over the whole slice, which must be as long
    /// as the field. False if the peer's point is not a key of this curve or there is no private part.
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
        // SAFETY: the callers pass a live group; the result is checked.
        let point = unsafe { lc::EC_POINT_new(group) };
        assert!(!point.is_null(), "no memory for a point");
        Point(point)
    }

    /// Decodes a point; `None` unless the bytes encode a point of the curve other than infinity.
    fn decode(group: *const lc::EC_GROUP, encoded: &[u8]) -> Option<Point> {
        let point = Point::new(group);
        // SAFETY: live objects of one group; pointer and length come from one slice.
        let decoded = unsafe {
            lc::EC_POINT_oct2point(group, point.0, encoded.as_ptr(), encoded.len(), ptr::null_mut()) == 1
                && lc::EC_POINT_is_at_infinity(group, point.0) == 0
        };
        checked(decoded, point)
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        // SAFETY: made by `EC_POINT_new` and owned by this value alone; points may be secret products.
        unsafe { lc::EC_POINT_clear_free(self.0) }
    }
}

/// brainpoolP256r1 (RFC 5639, 3.4).
const BRAINPOOL_P256R1: Parameters<32> = Parameters {
    p: [
        0xa9, 0xfb, 0x57, 0xdb, 0xa1, 0xee, 0xa9, 0xbc, 0x3e, 0x66, 0x0a, 0x90, 0x9d, 0x83, 0x8d, 0x72, 0x6e,
        0x3b, 0xf6, 0x23, 0xd5, 0x26, 0x20, 0x28, 0x20, 0x13, 0x48, 0x1d, 0x1f, 0x6e, 0x53, 0x77,
    ],
    a: [
        0x7d, 0x5a, 0x09, 0x75, 0xfc, 0x2c, 0x30, 0x57, 0xee, 0xf6, 0x75, 0x30, 0x41, 0x7a, 0xff, 0xe7, 0xfb,
        0x80, 0x55, 0xc1, 0x26, 0xdc, 0x5c, 0x6c, 0xe9, 0x4a, 0x4b, 0x44, 0xf3, 0x30, 0xb5, 0xd9,
    ],
    b: [
        0x26, 0xdc, 0x5c, 0x6c, 0xe9, 0x4a, 0x4b, 0x44, 0xf3, 0x30, 0xb5, 0xd9, 0xbb, 0xd7, 0x7c, 0xbf, 0x95,
        0x84, 0x16, 0x29, 0x5c, 0xf7, 0xe1, 0xce, 0x6b, 0xcc, 0xdc, 0x18, 0xff, 0x8c, 0x07, 0xb6,
    ],
    x: [
        0x8b, 0xd2, 0xae, 0xb9, 0xcb, 0x7e, 0x57, 0xcb, 0x2c, 0x4b, 0x48, 0x2f, 0xfc, 0x81, 0xb7, 0xaf, 0xb9,
        0xde, 0x27, 0xe1, 0xe3, 0xbd, 0x23, 0xc2, 0x3a, 0x44, 0x53, 0xbd, 0x9a, 0xce, 0x32, 0x62,
    ],
    y: [
        0x54, 0x7e, 0xf8, 0x35, 0xc3, 0xda, 0xc4, 0xfd, 0x97, 0xf8, 0x46, 0x1a, 0x14, 0x61, 0x1d, 0xc9, 0xc2,
        0x77, 0x45, 0x13, 0x2d, 0xed, 0x8e, 0x54, 0x5c, 0x1d, 0x54, 0xc7, 0x2f, 0x04, 0x69, 0x97,
    ],
    order: [
        0xa9, 0xfb, 0x57, 0xdb, 0xa1, 0xee, 0xa9, 0xbc, 0x3e, 0x66, 0x0a, 0x90, 0x9d, 0x83, 0x8d, 0x71, 0x8c,
        0x39, 0x7a, 0xa3, 0xb5, 0x61, 0xa6, 0xf7, 0x90, 0x1e, 0x0e, 0x82, 0x97, 0x48, 0x56, 0xa7,
    ],
};

/// brainpoolP384r1 (RFC 5639, 3.6).
const BRAINPOOL_P384R1: Parameters<48> = Parameters {
    p: [
        0x8c, 0xb9, 0x1e, 0x82, 0xa3, 0x38, 0x6d, 0x28, 0x0f, 0x5d, 0x6f, 0x7e, 0x50, 0xe6, 0x41, 0xdf, 0x15,
        0x2f, 0x71, 0x09, 0xed, 0x54, 0x56, 0xb4, 0x12, 0xb1, 0xda, 0x19, 0x7f, 0xb7, 0x11, 0x23, 0xac, 0xd3,
        0xa7, 0x29, 0x90, 0x1d, 0x1a, 0x71, 0x87, 0x47, 0x00, 0x13, 0x31, 0x07, 0xec, 0x53,
    ],
    a: [
        0x7b, 0xc3, 0x82, 0xc6, 0x3d, 0x8c, 0x15, 0x0c, 0x3c, 0x72, 0x08, 0x0a, 0xce, 0x05, 0xaf, 0xa0, 0xc2,
        0xbe, 0xa2, 0x8e, 0x4f, 0xb2, 0x27, 0x87, 0x13, 0x91, 0x65, 0xef, 0xba, 0x91, 0xf9, 0x0f, 0x8a, 0xa5,
        0x81, 0x4a, 0x50, 0x3a, 0xd4, 0xeb, 0x04, 0xa8, 0xc7, 0xdd, 0x22, 0xce, 0x28, 0x26,
    ],
    b: [
        0x04, 0xa8, 0xc7, 0xdd, 0x22, 0xce, 0x28, 0x26, 0x8b, 0x39, 0xb5, 0x54, 0x16, 0xf0, 0x44, 0x7c, 0x2f,
        0xb7, 0x7d, 0xe1, 0x07, 0xdc, 0xd2, 0xa6, 0x2e, 0x88, 0x0e, 0xa5, 0x3e, 0xeb, 0x62, 0xd5, 0x7c, 0xb4,
        0x39, 0x02, 0x95, 0xdb, 0xc9, 0x94, 0x3a, 0xb7, 0x86, 0x96, 0xfa, 0x50, 0x4c, 0x11,
    ],
    x: [
        0x1d, 0x1c, 0x64, 0xf0, 0x68, 0xcf, 0x45, 0xff, 0xa2, 0xa6, 0x3a, 0x81, 0xb7, 0xc1, 0x3f, 0x6b, 0x88,
        0x47, 0xa3, 0xe7, 0x7e, 0xf1, 0x4f, 0xe3, 0xdb, 0x7f, 0xca, 0xfe, 0x0c, 0xbd, 0x10, 0xe8, 0xe8, 0x26,
        0xe0, 0x34, 0x36, 0xd6, 0x46, 0xaa, 0xef, 0x87, 0xb2, 0xe2, 0x47, 0xd4, 0xaf, 0x1e,
    ],
    y: [
        0x8a, 0xbe, 0x1d, 0x75, 0x20, 0xf9, 0xc2, 0xa4, 0x5c, 0xb1, 0xeb, 0x8e, 0x95, 0xcf, 0xd5, 0x52, 0x62,
        0xb7, 0x0b, 0x29, 0xfe, 0xec, 0x58, 0x64, 0xe1, 0x9c, 0x05, 0x4f, 0xf9, 0x91, 0x29, 0x28, 0x0e, 0x46,
        0x46, 0x21, 0x77, 0x91, 0x81, 0x11, 0x42, 0x82, 0x03, 0x41, 0x26, 0x3c, 0x53, 0x15,
    ],
    order: [
        0x8c, 0xb9, 0x1e, 0x82, 0xa3, 0x38, 0x6d, 0x28, 0x0f, 0x5d, 0x6f, 0x7e, 0x50, 0xe6, 0x41, 0xdf, 0x15,
        0x2f, 0x71, 0x09, 0xed, 0x54, 0x56, 0xb3, 0x1f, 0x16, 0x6e, 0x6c, 0xac, 0x04, 0x25, 0xa7, 0xcf, 0x3a,
        0xb6, 0xaf, 0x6b, 0x7f, 0xc3, 0x10, 0x3b, 0x88, 0x32, 0x02, 0xe9, 0x04, 0x65, 0x65,
    ],
};
