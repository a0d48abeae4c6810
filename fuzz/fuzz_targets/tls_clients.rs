//! See `fuzz_targets::tls_clients`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::tls_clients(data));
