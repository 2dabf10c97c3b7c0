//! libFuzzer's entry point of the target `record`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| etw_fuzz::run("record", bytes));
