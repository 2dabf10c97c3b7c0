//! Windows' constants by their exact names: flags, codes, classes and members of enumerations that the kernel and its drivers
//! pass to each other on x64.
//!
//! Each module is one subject, and each group names the header that declares it. The type of a constant is that of the member
//! or parameter that holds it, so users need no conversions. Only constants that the workspace uses are here.
//!
//! Statuses are in `etw-types`, and so are the constants of event tracing sessions, because drivers use both.
//!
//! `crates/toolchain/wdk-kit/tests/builds/constants.rs` compares [`all`] with Microsoft's metadata and with Microsoft's bindings
//! of the driver kit. A constant that both lack, or that one of them has for other processors, is in a table there, with its
//! source.

#![no_std]
#![forbid(unsafe_code)]
#![allow(non_upper_case_globals, reason = "members of enumerations have the names of Microsoft's headers")]

#[macro_use]
mod constants;

pub mod cryptography;
pub mod device;
pub mod exception;
pub mod file;
pub mod filter_manager;
pub mod filtering_platform;
pub mod framework;
pub mod framework_states;
pub mod hid;
pub mod image;
pub mod memory;
pub mod object;
pub mod plug_play;
pub mod power;
pub mod processor;
pub mod registry;
pub mod request;
pub mod runtime_library;
pub mod security;
pub mod system;
pub mod tracing;
pub mod wmi;

pub use constants::Constant;

/// Returns all constants, in no particular order. Tests compare them with Microsoft's declarations.
pub fn all() -> impl Iterator<Item = Constant> {
    [
        cryptography::ALL,
        device::ALL,
        exception::ALL,
        file::ALL,
        filter_manager::ALL,
        filtering_platform::ALL,
        framework::ALL,
        framework_states::ALL,
        hid::ALL,
        image::ALL,
        memory::ALL,
        object::ALL,
        plug_play::ALL,
        power::ALL,
        processor::ALL,
        registry::ALL,
        request::ALL,
        runtime_library::ALL,
        security::ALL,
        system::ALL,
        tracing::ALL,
        wmi::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}
