//! Random bytes from the library's generator (CTR_DRBG with AES-256, SP 800-90A). The operating system seeds it; the
//! processor's random numbers, if any, are mixed in: `.cargo/config.toml` builds it so.

/// Fills the slice. Returns no error: the library ends the process if the machine has no entropy.
pub(crate) fn fill(out: &mut [u8]) {
    // SAFETY: pointer and length come from one exclusive slice.
    let filled = unsafe { aws_lc_sys::RAND_bytes(out.as_mut_ptr(), out.len()) };
    assert_eq!(filled, 1, "the library's random generator failed, which it says it never does");
}
