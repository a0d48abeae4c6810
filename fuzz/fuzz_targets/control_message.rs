//! See `fuzz_targets::control_message`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::control_message(data));
