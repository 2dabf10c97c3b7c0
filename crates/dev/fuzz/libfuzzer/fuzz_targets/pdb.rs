//! libFuzzer's entry point of the target `pdb`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| etw_fuzz::run("pdb", bytes));
