//! The integration tests of `xtask`, one module for each subject, linked once.
#![cfg(test)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod new;
mod package;
mod verbs;
