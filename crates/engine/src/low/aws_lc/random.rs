//! Random bytes from the library's generator (CTR_DRBG with AES-256, SP 800-90A), seeded by the operating
//! system, with the processor's random numbers mixed in where it has them: `.cargo/config.toml` builds it so.

/// Fills the slice. The library ends the process if the machine has no entropy to give, so there is no
/// error to return.
pub(crate) fn fill(out: &mut [u8]) {
    // SAFETY: pointer and length come from one exclusive slice.
    let filled = unsafe { aws_lc_sys::RAND_bytes(out.as_mut_ptr(), out.len()) };
    assert_eq!(filled, 1, "the library's random generator failed, which it says it never does");
}
