//! See `fuzz_targets::inner_packet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::inner_packet(data));
