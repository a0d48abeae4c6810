//! See `fuzz_targets::tr31_block`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::tr31_block(data));
