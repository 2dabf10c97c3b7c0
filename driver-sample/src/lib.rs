//! A KMDF driver that traces itself with `wdk-etw`.
//!
//! It is root-enumerated, has no hardware, and offers four control codes behind a device interface. What it is about is
//! how a driver is instrumented:
//!
//! | file | what to copy from it |
//! |---|---|
//! | `events.rs` | the provider, its keywords, and one function for each event |
//! | `admin.rs`, `driver_sample.man` | events of a manifest for the event log |
//! | `driver.rs` | registering first thing, unregistering last thing |
//! | `device.rs` | `PnP` and power events; a timer that writes at `DISPATCH_LEVEL` |
//! | `queue.rs` | requests as activities with a start and a stop |
//! | `devices.rs` | state that a capture-state request can run down from any thread |
//!
//! The framework's handles and callbacks are behind `wdk-kmdf`, so the rest is safe Rust but for `DriverEntry`.
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

/// Where `alloc` would allocate. This driver does not, but a copy of it may. It then imports `ExAllocatePool2`, which Windows
/// has from 10 2004 on, and that becomes the oldest release that loads it.
#[global_allocator]
static ALLOCATOR: WdkAllocator = WdkAllocator;
