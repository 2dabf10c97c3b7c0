//! Measures the cost of an event and compares it with other implementations: `cargo xtask bench`.
//!
//! This crate contains the measurements and their report. Nothing here is part of the tests: no test depends on a
//! number, and every number comes from a run. A row that cannot be measured on a machine is shown as skipped, with the
//! reason.

pub mod machine;
pub mod report;
pub mod stats;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod cli;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod part;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod step;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod tools;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod worker;
