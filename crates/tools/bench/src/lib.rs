//! Measures what an event costs, and beside it what it costs with others: `cargo xtask bench`.
//!
//! Owns the measurements and their report. Nothing here is part of the tests: a number decides no test, and every number
//! comes from a run. What cannot be measured on a machine is shown as skipped, with the reason.

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
