//! libFuzzer's entry point of the target `compressed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| etw_fuzz::run("compressed", bytes));
