//! libFuzzer's entry point of the target `traits`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| etw_fuzz::run("traits", bytes));
