//! See `fuzz_targets::xfrm_netlink`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::xfrm_netlink(data));
