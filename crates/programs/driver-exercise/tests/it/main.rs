//! The integration tests of `driver-exercise`, one module for each subject, linked once.
#![cfg(test)]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod machine;
mod pages;
mod restart;
mod simulated;
mod workflows;
