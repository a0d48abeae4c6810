//! See `fuzz_targets::outer_datagram`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::outer_datagram(data));
