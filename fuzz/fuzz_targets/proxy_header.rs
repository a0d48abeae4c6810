//! See `fuzz_targets::proxy_header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::proxy_header(data));
