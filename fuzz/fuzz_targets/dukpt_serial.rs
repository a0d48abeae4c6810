//! See `fuzz_targets::dukpt_serial`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::dukpt_serial(data));
