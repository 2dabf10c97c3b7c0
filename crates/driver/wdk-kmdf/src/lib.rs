//! A small safe layer over the Kernel-Mode Driver Framework (KMDF).
//!
//! KMDF uses handles and C callbacks. This crate stores a value of a type that the driver defines in the context of
//! each device, and turns callbacks into trait methods. Apart from `DriverEntry`, a driver that uses it is safe Rust.
//!
//! | purpose | types |
//! |---|---|
//! | the driver object, its parameters in the registry | [`Driver`], [`create_driver`], [`Parameters`] |
//! | a device, its `PnP` and power callbacks, its interface | [`Device`], [`DeviceInit`], [`DeviceHandle`] |
//! | the context of a device | [`Context`], [`context!`] |
//! | control requests | [`ControlEvents`], [`Request`] |
//! | timers and work items | [`Timer`], [`TimerEvents`], [`WorkItem`], [`WorkItemEvents`] |
//! | data that several processors modify | [`SpinLock`] |
//!
//! # Why it is sound
//!
//! Handles do not outlive the objects that they refer to:
//!
//! - A [`DeviceHandle`] is valid until the callback that creates the device returns.
//! - Timers and work items are part of the device's context, which is checked when they are created. They clear their
//!   handle when the framework deletes them.
//! - A [`Request`] is consumed when it is completed, and cancelled if it is dropped.
//!
//! A device's context can be accessed only by reference and only during callbacks.
//!
//! This crate does not cover all of KMDF. For anything else, call `wdk_sys` directly.
//!
//! # Examples
//!
//! `docs/kmdf.md` has a complete driver, and `driver-sample` another one. Together with the template of `cargo driver new`
//! they use every public item. Examples in this documentation could not be compiled without a driver kit.
#![no_std]

mod context;
mod deferred;
mod device;
mod driver;
mod lock;
mod queue;
mod registry;
mod request;
mod timer;
mod work_item;

use core::mem::size_of;

use wdk_etw::NtStatus;
use wdk_sys::{NTSTATUS, ULONG};

pub use context::{Context, ContextInfo};
pub use device::{Device, DeviceHandle, DeviceInit};
pub use driver::{Driver, DriverHandle, create_driver};
pub use lock::{SpinLock, SpinLockGuard};
pub use queue::ControlEvents;
pub use registry::{Parameters, wide};
pub use request::Request;
pub use timer::{Timer, TimerEvents};
pub use work_item::{WorkItem, WorkItemEvents};

/// Converts a status to a `Result`.
fn check(status: NTSTATUS) -> Result<(), NtStatus> {
    NtStatus::from_signed(status).ok()
}

/// Converts a result to the status that a callback returns to the framework.
fn status_of(result: Result<(), NtStatus>) -> NTSTATUS {
    result.err().unwrap_or(NtStatus::Success).as_signed()
}

/// Returns the `Size` field of a configuration structure.
const fn size_field<T>() -> ULONG {
    #[expect(clippy::cast_possible_truncation, reason = "configuration structures have a few dozen bytes")]
    let size = size_of::<T>() as ULONG;
    size
}
