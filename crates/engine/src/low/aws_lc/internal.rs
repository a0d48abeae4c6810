//! Symbols of the bound library that its headers do not publish: its count of forks, and on x86-64 the processor
//! features it decided to use and its pipelined AES-ECB.
//!
//! They carry the library's version in their names, so that taking another version of the library fails at
//! link time with the name of what has to be looked at again, and never silently.

#[cfg_attr(target_arch = "x86_64", path = "internal/x86_64.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "internal/others.rs")]
mod features;

pub(crate) use features::{aes_ecb_hardware, aes_hardware, feature_words};

unsafe extern "C" {
    #[link_name = "aws_lc_0_47_0_CRYPTO_get_fork_ube_generation"]
    fn CRYPTO_get_fork_ube_generation() -> u64;
}

/// A number that changes in the child of every fork (and, where the platform tells, in a restored virtual
/// machine). Zero means: this platform cannot tell, so nothing random may be kept.
pub(crate) fn fork_generation() -> u64 {
    // SAFETY: takes no arguments and is thread-safe.
    unsafe { CRYPTO_get_fork_ube_generation() }
}
