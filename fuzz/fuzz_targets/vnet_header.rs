//! See `fuzz_targets::vnet_header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::vnet_header(data));
