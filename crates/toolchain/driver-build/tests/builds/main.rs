//! The tests of `driver-build` that build drivers, one module for each subject. `cargo xtask test` runs programs of this name beside
//! the others, because they mostly wait for compilers.
#![cfg(test)]

mod additions;
mod releases;
mod shapes;
mod wdk;
mod winreg;
