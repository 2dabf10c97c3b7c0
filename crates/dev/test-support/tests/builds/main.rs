//! The tests of `test-support` that build drivers or programs, one module for each subject. `cargo xtask test` runs programs of this name
//! beside the others, because they mostly wait for compilers.
#![cfg(test)]

mod images;
mod symbols;
