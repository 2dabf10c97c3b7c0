//! The machine that a driver runs on: processor state, memory, kernel routines, the framework, exceptions and rules.
//!
//! A process has one [`Machine`]. It maps the driver's image, resolves its imports, and calls the driver as Windows
//! would: entry point, devices, requests, unload. Each mistake that the driver makes becomes a [`Record`] in a
//! [`Findings`]. Its memory is shared, so the process that created it can still read the records after this process has
//! crashed.
//!
//! ```text
//! │ Machine      start, load, add_device, begin, finish, unload
//! │ filter       the filter manager        wfp         the filter engine
//! │ cng          hashes, keys, AES         hardware    ports and registers of a test
//! │ hid          the HID class driver
//! │ wdf          the framework             kernel      routines by families, scheduler
//! │ exception    signals, handlers         verify      rules, findings, locks
//! │ cpu          stacks, crossings         image       addresses of the images
//! │ loader       files in memory           routine     what is known about a routine
//! │ layout       structures by name        coverage    which code has run
//! │                                        memory      GuestPtr, the only way to the driver's memory
//! ```
//!
//! This crate knows nothing of other processes, file formats or command lines: those belong to `nt-host`, which is also
//! the crate that tests of a driver use. A fault in the driver ends the run of the whole process, so run a machine in a
//! child process.
//!
//! The crate supports Linux on x86-64 only; on other targets it is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(
    clippy::cast_possible_truncation,
    reason = "registers and stack slots have eight bytes, and a narrower argument is in the low ones"
)]

mod loader;
mod machine;

pub use loader::{ImageError, ImportName, Layout, notes, plan, plan_image};
pub use machine::{
    DeviceId, FileId, FilePort, Guest, Guests, Loaded, Machine, Role, RoutineInfo, Support, all_routines, can_fail,
    support,
};
pub use nt_filters::{FileOpen, FileRequest};
pub use nt_kernel::components::{component, is_modelled};
pub use nt_kernel::config::{
    BeforeEntry, Below, Config, DEBUG_OUTPUT, EPOCH, Failure, RegistryKey, RegistryValue, Resource, Time,
};
pub use nt_kernel::ex::{KeyOperation, Notification, Notified, TargetEvent};
pub use nt_kernel::io::wmi::{WmiOperation, WmiRequest};
pub use nt_kernel::{Answer, IoRequest, RequestKind};
pub use nt_network::{Connection, Delivered, LayerVerdict, Packet, Passage, Verdict};
pub use nt_processor::coverage::{Callbacks, Coverage, Order, RecordedCall, RecordedPrint};
pub use nt_processor::image::{ImageOffset, MAX_IMAGES};
pub use nt_verifier::hardware::{HardwareAccess, HardwareScript, Register};
pub use nt_verifier::verify::{END_RUN, Findings, Gap, GapKind, MicrosoftRule, Printed, Record, Rule, RunEvent};
pub use windows_releases::Release as Os;
