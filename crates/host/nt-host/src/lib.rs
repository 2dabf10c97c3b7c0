//! Runs Windows kernel drivers natively in a Linux process, and finds what they do wrong.
//!
//! [`NtHost`] loads the very `.sys` file that Windows would load, in a process of its own, and gives it what it imports:
//! the kernel's routines, the Kernel-Mode Driver Framework, ETW. A verifier watches all of it. So a driver is tested
//! like any other program:
//!
//! ```no_run
//! use nt_host::{NtHost, Os, event};
//! use etw_types::{Guid, Level};
//!
//! let host = NtHost::builder().os(Os::Win10_22H2).driver("driver_sample.sys").start()?;
//! let trace = host.session("test")?.enable(Guid::from_name("WdkEtw.DriverSample"), Level::Verbose, !0)?;
//! let device = host.add_device()?;
//! let answer = device.ioctl(0x0022_E000, b"hello", 64)?;
//! assert_eq!(answer.output, b"hello");
//! host.unload()?.assert_clean();
//! trace.expect(event("Request").field("Status", 0)).in_order();
//! # Ok::<(), nt_host::Error>(())
//! ```
//!
//! The driver's code runs on the processor, not in an emulator: a run takes milliseconds. It has the rights of the
//! process that it runs in, so this is for drivers that are tested and not for drivers that are suspected.
//!
//! What the driver runs on is the crate `nt-machine`; this one is the process around it, what is said to that process, and
//! the tests' and the command's side.
//!
//! What is imitated follows public documentation; nothing of it was compared with a run on Windows. For Linux on x86-64;
//! elsewhere the crate is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(
    clippy::cast_possible_truncation,
    reason = "registers and stack slots have eight bytes, and a narrower argument is in the low ones"
)]
#![expect(clippy::struct_excessive_bools, reason = "states and switches that the imitated system has as well")]

mod api;
mod child;
#[cfg(feature = "cli")]
pub mod cli;
mod error;
mod report;
mod wire;

pub use api::{
    Broken, Builder, Device, Expectation, File, Matrix, NtHost, PendingRequest, Storm, Survey, Trace, TraceSession,
};
pub use error::Error;
pub use etw_etl::Event;
pub use etw_etl::expect::{Expected, event};
pub use nt_machine::{
    Answer, Below, Failure, ImageError, ImportName, KeyOperation, Known, Layout, Notification, Os, RegistryValue,
    RequestKind, Resource, Rule, Told, WmiOperation, WmiRequest, known, plan,
};
pub use report::{Finding, Losses, Place, Report};

/// The README's example, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
