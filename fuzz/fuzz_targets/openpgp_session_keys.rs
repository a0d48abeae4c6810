//! See `fuzz_targets::openpgp_session_keys`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::openpgp_session_keys(data));
