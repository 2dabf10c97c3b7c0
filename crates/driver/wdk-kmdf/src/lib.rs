//! A small safe layer over the kernel-mode driver framework (KMDF).
//!
//! The framework speaks in handles and C callbacks. This crate keeps a value of the driver's own type behind each device, and turns
//! callbacks into methods of traits. A driver on top of it is safe Rust, but for `DriverEntry`.
//!
//! | what | here |
//! |---|---|
//! | the driver object, its parameters in the registry | [`Driver`], [`create_driver`], [`Parameters`] |
//! | a device, its `PnP` and power callbacks, its interface | [`Device`], [`DeviceInit`], [`DeviceHandle`] |
//! | the value behind a device | [`Context`], [`context!`] |
//! | control requests | [`ControlEvents`], [`Request`] |
//! | timers and work items | [`Timer`], [`TimerEvents`], [`WorkItem`], [`WorkItemEvents`] |
//! | data that several processors change | [`SpinLock`] |
//!
//! # Why it is sound
//!
//! Handles do not outlive what they stand for: a [`DeviceHandle`] ends with the callback in which the device is made; timers and work
//! items are part of the device's own value, which is checked when they are created, and forget their handle when the framework
//! deletes them; a [`Request`] is completed by being consumed, and cancelled if it is dropped. A device's value is seen only by
//! reference, during callbacks.
//!
//! It is no attempt at a general binding: what is missing here is a call of `wdk_sys` away.
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

/// Success or the status as an error.
fn check(status: NTSTATUS) -> Result<(), NtStatus> {
    NtStatus::from_signed(status).ok()
}

/// What a callback returns to the framework.
fn answer(result: Result<(), NtStatus>) -> NTSTATUS {
    result.err().unwrap_or(NtStatus::Success).as_signed()
}

/// The `Size` of a configuration structure.
const fn size_field<T>() -> ULONG {
    #[expect(clippy::cast_possible_truncation, reason = "configuration structures have a few dozen bytes")]
    let size = size_of::<T>() as ULONG;
    size
}
