//! See `fuzz_targets::card_queue`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::card_queue(data));
