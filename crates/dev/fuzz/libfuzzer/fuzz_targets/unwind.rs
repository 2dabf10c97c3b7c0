//! libFuzzer's entry point of the target `unwind`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| etw_fuzz::run("unwind", bytes));
