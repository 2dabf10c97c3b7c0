//! A KMDF driver that traces itself with `wdk-etw`.
//!
//! It is root-enumerated, has no hardware, and has four control codes behind a device interface. It shows how to
//! instrument a driver:
//!
//! | file | what to copy from it |
//! |---|---|
//! | `events.rs` | the provider, its keywords, and one function for each event |
//! | `admin.rs`, `driver_sample.man` | events of a manifest for the event log |
//! | `driver.rs` | registering at the start, unregistering at the end |
//! | `device.rs` | `PnP` and power events; a timer that writes at `DISPATCH_LEVEL` |
//! | `queue.rs` | requests as activities with a start and a stop |
//! | `devices.rs` | state that a capture-state request can run down from any thread |
//!
//! `wdk-kmdf` wraps the framework's handles and callbacks, so apart from `DriverEntry` the rest is safe Rust.
#![no_std]

mod admin;
mod device;
mod devices;
mod driver;
mod events;
mod ioctl;
mod queue;

#[cfg(not(test))]
extern crate wdk_panic;

use wdk_alloc::WdkAllocator;

/// The allocator for `alloc`. This driver does not allocate, but a copy of it may. It then imports `ExAllocatePool2`,
/// so the oldest release that can load it is Windows 10 2004.
#[global_allocator]
static ALLOCATOR: WdkAllocator = WdkAllocator;
