//! The integration tests of the bench.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![cfg(test)]

mod counting;
