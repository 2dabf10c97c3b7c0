//! What a driver runs on: memory that it shares with the host, the structures in it, stacks, and crossings between host
//! and driver.
//!
//! ```text
//! │ cpu          threads, stacks, crossings, decoded instructions
//! │ image        addresses of the images
//! │ layout       Windows' structures, by name       coverage     which code has run
//! │ memory       GuestPtr, the only way to the driver's memory
//! │ part         the statics of the layers          sorted       maps and sets
//! ```
//!
//! The crate knows neither rules nor routines: a call of the driver goes to the function that the kernel has set with
//! [`cpu::switch::on_call`], and a fault to the handler of [`memory::on_unhandled`].
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

pub mod coverage;
pub mod cpu;
pub mod image;
pub mod layer_state;
pub mod layout;
pub mod memory;
pub mod sorted;
