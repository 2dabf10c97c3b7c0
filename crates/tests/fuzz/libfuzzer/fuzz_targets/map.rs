//! libFuzzer's entry to the target `pdb`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| etw_fuzz::run("map", bytes));
