//! The Kernel-Mode Driver Framework with the functions of version 1.33. If the imitated Windows is older, the driver
//! can use only the functions of that Windows' framework.
//!
//! `loader` binds a driver to the framework and gives it a table of functions. All objects are in one map, in
//! `state`. Their handles are not addresses, so a driver that dereferences a handle faults. The map's lock must never be
//! held while driver code runs.
//!
//! No module imports one that imports it. At the bottom are the map, what objects have in common (`kind`, `object`) and
//! the data of devices, queues, requests, targets and child lists, which many modules use. The data of other kinds is
//! private to the module with their functions. `life` deletes an object of any kind through the trait `kind::Kind`.
//!
//! This is written from Microsoft's public documentation and headers of the framework. The order of events follows the
//! documentation. If the documentation leaves something open, as the order in which siblings are cleaned up, it is as in
//! Microsoft's public source of the framework (microsoft/Windows-Driver-Frameworks). Comments name its files relative to
//! `src/framework`.
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
    reason = "the interface is for the crates of this folder, and the errors are faults and statuses"
)]
#![expect(clippy::struct_excessive_bools, reason = "states and switches that the imitated system has as well")]
#![expect(non_upper_case_globals, reason = "patterns with constants that have the names of Microsoft's headers")]

mod children;
mod device;
mod driver;
mod functions;
mod interrupt;
mod locks;
mod memory;
mod misc;
mod object;
mod pnp;
mod queue;
mod registry;
mod request;
mod state;
mod structures;
mod sync;
mod target;
mod timer;
mod wmi;
mod work;

use nt_verifier::routine::Routine;

pub use children::enumerate::rebalance;
pub use device::file::{close, open, why_not_opened};
pub use device::{devices, find, names};
pub use driver::dispatches as has_driver;
pub use driver::library::{decommission, has_library};
pub use functions::functions;
pub use interrupt::source as interrupt_source;
pub use object::handle::Handle;
pub use object::life::report_leaks;
pub use pnp::add::{add_device, adds_devices};
pub use pnp::{remove_device, set_power};
pub use request::client::{Begun, Sent, begin, cancel_sent, finish};
pub use state::{Attached, attach};
pub use target::open::target_changed;
pub use wmi::request as request_wmi;

/// The routines with which the framework binds drivers, and those that it stores in the driver object.
pub const LOADER: &[Routine] = driver::loader::LOADER;

/// The routines for drivers that are libraries of the framework.
pub const LIBRARY: &[Routine] = driver::library::ROUTINES;
