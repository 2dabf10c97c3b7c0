//! Runs Windows kernel drivers natively in a Linux process, and finds their mistakes.
//!
//! [`NtHost`] loads the same `.sys` file that Windows would load, in a separate process, and provides its imports: the
//! kernel's routines, the Kernel-Mode Driver Framework, ETW. A verifier checks every call. So a driver can be tested
//! like any other program:
//!
//! ```no_run
//! use nt_host::{NtHost, Os, event};
//! use etw_types::{Guid, Level};
//!
//! let host = NtHost::builder().os(Os::Win10_22H2).driver("driver_sample.sys").start()?;
//! let trace = host.session("test")?.enable(Guid::from_name("WdkEtw.DriverSample"), Level::Verbose, !0)?;
//! let device = host.add_device()?;
//! let reply = device.ioctl(0x0022_E000, b"hello", 64)?;
//! assert_eq!(reply.output, b"hello");
//! host.unload()?.assert_clean();
//! trace.expect(event("Request").field("Status", 0)).in_order();
//! # Ok::<(), nt_host::Error>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | describe a run | [`Builder`]: Windows release, registry parameters, routines that fail or are missing |
//! | load, add devices, send requests | [`NtHost`], [`Device`], [`File`], [`PendingRequest`] |
//! | open, read, write, rename and delete files through a minifilter | [`Volume`], [`VolumeFile`], [`Port`] |
//! | check the driver's events | [`TraceSession`], [`Trace`]; [`event`] describes an expected event |
//! | see the driver's mistakes, and what was not exercised | [`Report`], [`Finding`], [`Gap`] |
//! | make every call fail once, and calls at random | [`Matrix`] |
//! | see the order and the IRQL of callbacks | [`Builder::record_callbacks`], [`Callback`] |
//! | see which lines of the driver ran | [`Builder::coverage`], [`LineCoverage`], [`Coverage`] |
//! | find mistakes with generated requests | [`Fuzz`], [`Harvest`] |
//! | send traffic through the callouts of a driver | [`NtHost::connect`], [`NtHost::send_packet`]; [`Passage`] has the verdicts |
//! | script ports and registers, and see what the driver did with them | [`Builder::register`], [`Builder::hardware`], [`NtHost::hardware_log`] |
//! | send requests with addresses of the client's memory | [`NtHost::client_memory`], [`ClientMemory`] |
//! | load and unload the driver while threads send requests | [`Storm`] |
//! | control sessions as a program on Windows does | [`NtHost::machine`] |
//!
//! The driver's code runs on the processor, not in an emulator, so a run takes milliseconds. It has the rights of the
//! process that it runs in. Use this to test drivers that you trust, not to examine suspicious ones.
//!
//! The crate `nt-machine` is the machine that the driver runs on. This crate has the process around it, the protocol
//! for that process, the API for tests, and the command.
//!
//! The imitation follows public documentation; it was not compared with Windows. The crate supports Linux on x86-64
//! only; on other targets it is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![expect(
    clippy::cast_possible_truncation,
    reason = "registers and stack slots have eight bytes, and a narrower argument is in the low ones"
)]

mod api;
mod child;
mod codec;
mod error;
mod fuzz;
mod report;
mod steps;
pub mod text;
mod wire;

pub use api::{
    Attempt, Broken, Builder, Callback, ClientMemory, Device, Difference, Expectation, File, FileOperation, Frameworks,
    HardwareLog, Matrix, Mistake, NtHost, PendingRequest, Port, Storm, Survey, Trace, TraceSession, Volume, VolumeFile,
    pci_header,
};
pub use error::Error;
pub use etw_etl::Event;
pub use etw_etl::expect::{Expected, event};
pub use fuzz::{Bug, Environment, Field, Fuzz, Grammar, Harvest, Input, Progress, RequestFormat, Watcher};
pub use nt_machine::{
    Answer, Below, Connection, Coverage, Delivered, Failure, FileOpen, FileRequest, Gap, GapKind, HardwareAccess,
    ImageError, ImportName, IoRequest, KeyOperation, LayerVerdict, Layout, MicrosoftRule, Notification, Notified, Os,
    Packet, Passage, Register, RegistryKey, RegistryValue, RequestKind, Resource, Rule, Support, TargetEvent, Verdict,
    WmiOperation, WmiRequest, plan, support,
};
pub use report::{Finding, LineCoverage, Location, Losses, Outcome, Report};
pub use steps::{FileStep, Form, Step};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
