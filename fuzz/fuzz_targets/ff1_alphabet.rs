//! See `fuzz_targets::ff1_alphabet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::ff1_alphabet(data));
