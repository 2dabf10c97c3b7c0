//! The tests of `xtask` that build drivers or programs, one module for each subject. `cargo xtask test` runs programs of this name
//! beside the others, because they mostly wait for compilers.
#![cfg(test)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod package;
mod verbs;
