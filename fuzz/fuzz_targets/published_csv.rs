//! See `fuzz_targets::published_csv`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::published_csv(data));
