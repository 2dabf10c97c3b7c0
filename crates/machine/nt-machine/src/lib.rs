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
#![expect(non_upper_case_globals, reason = "patterns with constants that have the names of Microsoft's headers")]
#![expect(clippy::struct_excessive_bools, reason = "states and switches that the imitated system has as well")]

mod cng;
mod config;
mod coverage;
mod cpu;
mod exception;
mod filter;
mod hardware;
mod hid;
mod image;
mod kernel;
mod layout;
mod loader;
mod machine;
mod memory;
mod part;
mod routine;
mod sorted;
mod verify;
mod wdf;
mod wfp;

pub use config::{
    BeforeEntry, Below, Config, DEBUG_OUTPUT, EPOCH, Failure, RegistryKey, RegistryValue, Resource, Time,
};
pub use coverage::{Callbacks, Coverage, Order, RecordedCall, RecordedPrint};
pub use filter::{FileOpen, FileRequest};
pub use hardware::{HardwareAccess, HardwareScript, Register};
pub use image::{ImageOffset, MOST_IMAGES};
pub use kernel::components::{component, is_modelled};
pub use kernel::ex::{KeyOperation, Notification, Notified, TargetEvent};
pub use kernel::io::wmi::{WmiOperation, WmiRequest};
pub use kernel::{Answer, IoRequest, RequestKind};
pub use loader::{ImageError, ImportName, Layout, notes, plan, plan_image};
pub use machine::{
    DeviceId, FileId, FilePort, Guest, Guests, Loaded, Machine, Role, RoutineInfo, Support, all_routines, can_fail,
    support,
};
pub use verify::{END_RUN, Findings, Gap, GapKind, MicrosoftRule, Printed, Record, Rule, RunEvent};
pub use wfp::{Connection, Delivered, LayerVerdict, Packet, Passage, Verdict};
pub use windows_releases::Release as Os;
