//! See `fuzz_targets::tls_drive`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::tls_drive(data));
