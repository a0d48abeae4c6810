//! Symbols of the bound library that its headers do not publish: its fork counter, and on x86-64 the processor features
//! that it uses and its pipelined AES-ECB.
//!
//! Their names contain the library's version. Another version therefore fails at link time, with the name of each
//! symbol to check again, and never silently.

#[cfg_attr(target_arch = "x86_64", path = "internal/x86_64.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "internal/others.rs")]
mod features;

pub(crate) use features::{aes_ecb_hardware, aes_hardware, feature_words};

unsafe extern "C" {
    #[link_name = "aws_lc_0_47_0_CRYPTO_get_fork_ube_generation"]
    fn CRYPTO_get_fork_ube_generation() -> u64;
}

/// A number that changes in the child of every fork (and, if the platform reports it, in a restored virtual machine).
/// Zero means that this platform cannot tell, so no random bytes may be kept.
pub(crate) fn fork_generation() -> u64 {
    // SAFETY: takes no arguments and is thread-safe.
    unsafe { CRYPTO_get_fork_ube_generation() }
}
