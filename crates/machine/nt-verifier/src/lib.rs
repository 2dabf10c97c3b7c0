//! What is checked while a driver runs: rules and findings, how routines are declared, and faults.
//!
//! ```text
//! │ exception    signals and faults: handlers of the driver, or findings
//! │ hardware     ports and registers of a test
//! │ verify       rules, findings, gaps, locks
//! │ routine      what is known about a routine, and its declaration
//! ```
//!
//! The kernel above hands its part of fault handling down, as [`exception::Hooks`].
//!
//! The crate supports Linux on x86-64 only; on other targets it is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(
    clippy::cast_possible_truncation,
    reason = "registers and stack slots have eight bytes, and a narrower argument is in the low ones"
)]
#![expect(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "the interface is for the crates of this folder, and the errors are faults and statuses"
)]
#![expect(non_upper_case_globals, reason = "patterns with constants that have the names of Microsoft's headers")]

pub mod exception;
pub mod hardware;
pub mod routine;
pub mod verify;
