//! See `fuzz_targets::tls_settings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::tls_settings(data));
