//! See `fuzz_targets::openpgp_packets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::openpgp_packets(data));
