//! Exercises a driver package on a Windows machine, step by step, and keeps what happened as evidence.
//!
//! [`Exercise`] has the order of the steps and what a failure means. It runs the package's scripts through a [`Target`]: [`Local`]
//! is this machine, and `cargo driver deploy` reaches another one over SSH. A step that fails never stops the steps that clean up.
//! The [`Plan`] comes from the driver's Cargo.toml; [`expect`] runs it in `nt-host`, for the trace to compare with.
//!
//! Nothing here knows PowerShell or SSH, and nothing decides by the words that a script prints.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod classes;
mod evidence;
mod exercise;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod expect;
mod local;
pub mod page;
mod plan;
mod target;
pub mod trace;

pub use evidence::{ClassStatus, Compared, Evidence, Machine, Outcome, Status, Step, StepResult};
pub use exercise::{Exercise, Options, Progress};
pub use local::{CLIENT, Local, POWERSHELL, REQUESTS};
pub use plan::Plan;
pub use target::{Lost, Ran, Target};
