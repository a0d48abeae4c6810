//! See `fuzz_targets::openpgp_seipd2`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::openpgp_seipd2(data));
