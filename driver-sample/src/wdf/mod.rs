//! The thin layer between the framework and this driver: all of its `unsafe` code about WDF is here.
//!
//! The framework speaks in handles and C callbacks. This layer keeps a context of the driver's own type behind each
//! device, and turns callbacks into methods of traits: [`DeviceEvents`], [`ControlEvents`] and [`TimerEvents`]. What is
//! above it is safe Rust.
//!
//! It is what this driver needs and no more, and no attempt at a general binding.

mod context;
mod device;
mod driver;
mod queue;
mod request;
mod timer;

use core::mem::size_of;

use wdk_etw::NtStatus;
use wdk_sys::{NTSTATUS, ULONG};

pub(crate) use context::{Context, ContextInfo, context};
pub(crate) use device::{DeviceEvents, DeviceHandle, DeviceInit};
pub(crate) use driver::{DriverEvents, create_driver};
pub(crate) use queue::{ControlEvents, create_queue};
pub(crate) use request::Request;
pub(crate) use timer::{Timer, TimerEvents};

/// Success or the status as an error.
fn check(status: NTSTATUS) -> Result<(), NtStatus> {
    NtStatus::from_signed(status).ok()
}

/// What a callback answers to the framework.
fn answer(result: Result<(), NtStatus>) -> NTSTATUS {
    result.err().unwrap_or(NtStatus::Success).as_signed()
}

/// The `Size` of a configuration structure.
const fn size_field<T>() -> ULONG {
    #[expect(clippy::cast_possible_truncation, reason = "configuration structures have a few dozen bytes")]
    let size = size_of::<T>() as ULONG;
    size
}
