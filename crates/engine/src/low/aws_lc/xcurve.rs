//! X25519 (RFC 7748) and Ed25519 (RFC 8032).

use aws_lc_sys as lc;

/// X25519 of a private value and a peer's public value. False if the result is all zeros (RFC 7748, 6.1).
#[must_use]
pub(crate) fn x25519(private: &[u8; 32], public: &[u8; 32], shared: &mut [u8; 32]) -> bool {
    // SAFETY: three arrays of 32 bytes each.
    unsafe { lc::X25519(shared.as_mut_ptr(), private.as_ptr(), public.as_ptr()) == 1 }
}

/// The public value of an X25519 private value.
pub(crate) fn x25519_public(private: &[u8; 32]) -> [u8; 32] {
    let mut public = [0; 32];
    // SAFETY: two arrays of 32 bytes each.
    unsafe { lc::X25519_public_from_private(public.as_mut_ptr(), private.as_ptr()) };
    public
}

/// The public key of an Ed25519 seed, and the expanded private key (seed, then public key).
pub(crate) fn ed25519_from_seed(seed: &[u8; 32]) -> ([u8; 32], [u8; 64]) {
    let (mut public, mut private) = ([0; 32], [0; 64]);
    // SAFETY: arrays of 32, 64 and 32 bytes, as the function asks.
    unsafe { lc::ED25519_keypair_from_seed(public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr()) };
    (public, private)
}

/// An Ed25519 signature; `None` only if the library fails internally.
pub(crate) fn ed25519_sign(private: &[u8; 64], message: &[u8]) -> Option<[u8; 64]> {
    let mut signature = [0; 64];
    // SAFETY: a signature of 64 bytes, a private key of 64, and one slice with its length.
    let made = unsafe {
        lc::ED25519_sign(signature.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr())
    };
    (made == 1).then_some(signature)
}

/// Whether an Ed25519 signature is valid.
pub(crate) fn ed25519_verify(public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    // SAFETY: one slice with its length, a signature of 64 bytes and a public key of 32.
    let fits = unsafe {
        lc::ED25519_verify(message.as_ptr(), message.len(), signature.as_ptr(), public.as_ptr()) == 1
    };
    if !fits {
        super::bignum::clear_errors();
    }
    fits
}
