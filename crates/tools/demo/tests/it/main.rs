//! The integration tests of `demo`, one module for each subject, linked once.
#![cfg(test)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod demo;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod page;
