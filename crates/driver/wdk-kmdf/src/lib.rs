//! A safe layer over the Kernel-Mode Driver Framework (KMDF).
//!
//! KMDF uses handles and C callbacks. This crate stores a value of a type that the driver defines in the context of
//! each device, and turns callbacks into trait methods. Apart from `DriverEntry`, a driver that uses it is safe Rust.
//!
//! | purpose | types |
//! |---|---|
//! | the driver object | [`Driver`], [`DriverHandle`], [`create_driver`] |
//! | a device, its `PnP` and power callbacks, its settings | [`Device`], [`WakeEvents`], [`DeviceInit`], [`DeviceBuilder`], [`DeviceHandle`], [`DeviceRef`], [`PowerReference`] |
//! | the devices on a bus | [`ChildInit`], [`ChildDevice`], [`ChildList`], [`ChildListEvents`], [`PdoInit`] |
//! | a device without hardware | [`ControlInit`], [`ControlDevice`] |
//! | queues and requests | [`QueueEvents`], [`IoDefaultEvents`], [`Queue`], [`QueueConfig`], [`Request`], [`Output`], [`PendingRequest`] |
//! | files that clients open | [`FileEvents`], [`FileHandle`] |
//! | the device below, and others | [`IoTarget`], [`RemoteTarget`], [`SendEvents`], [`OwnRequest`], [`OwnRequestEvents`] |
//! | timers and work items | [`Timer`], [`TimerEvents`], [`WorkItem`], [`WorkItemEvents`] |
//! | interrupts | [`Interrupt`], [`InterruptEvents`], [`Resources`], [`Resource`] |
//! | data that several processors modify | [`SpinLock`], [`WaitLock`] |
//! | memory, text, buffers as values | [`Memory`], [`UnicodeString`], [`Pod`], [`pod!`] |
//! | the registry | [`RegistryKey`] |
//! | data for management (WMI) | [`WmiBlock`], [`WmiEvents`], [`WmiMethod`] |
//! | `PASSIVE_LEVEL` | [`Passive`] |
//!
//! # Why it is sound
//!
//! - A device's value can be accessed only by reference. It is dropped when the framework destroys the device.
//! - A [`DeviceHandle`] is valid until the callback that gets it returns. A [`DeviceRef`] is counted.
//! - While a callback runs, its device exists: a callback that could delete its own device has a reference to it, and a request of
//!   the driver's own has one while a target has the request.
//! - Timers, work items and queues are counted references. The device owns the framework's objects; when it deletes them, the
//!   references turn into ones that do nothing.
//! - A [`Request`] is consumed when it is completed or given away, and cancelled if it is dropped. Completing it reports the bytes
//!   that were written, no more.
//! - A spin lock is held while a closure runs, so locks are released in the reverse order.
//!
//! For what this crate does not cover, every type has a method `raw` that returns the framework's handle, for `wdk_sys`.
//!
//! # Examples
//!
//! `docs/kmdf.md` has a complete driver and a table from the framework's functions to those of this crate; the folder `drivers`
//! of this crate has more. Examples in this documentation could not be compiled without a driver kit.
#![no_std]

mod buffers;
mod bus;
mod call;
mod child;
mod child_list;
mod context;
mod control;
mod device;
mod driver;
mod file;
mod handle;
mod init;
mod interrupt;
mod io_default;
mod io_type;
mod irql;
mod lifetime;
mod lock;
mod memory;
mod output;
mod own_request;
mod pending;
mod pod;
mod power;
mod power_reference;
mod queue;
mod queue_config;
mod registry;
mod request;
mod resources;
mod send;
mod string;
mod target;
mod text;
mod timer;
mod user_buffers;
mod wmi;
mod work_item;

use core::mem::{align_of, offset_of, size_of};
use core::ptr;
use core::time::Duration;

use wdk_etw::{Guid, NtStatus};
use wdk_sys::{GUID, NTSTATUS, ULONG};

pub use bus::{ChildDevice, ChildInit, PdoInit};
pub use child_list::{ChildList, ChildListEvents};
pub use control::{ControlDevice, ControlInit};
pub use device::Device;
pub use driver::{Driver, DriverHandle, create_driver};
pub use file::{FileEvents, FileHandle};
pub use handle::{DeviceHandle, DeviceProperty, DeviceRef};
pub use init::{DeviceBuilder, DeviceInit};
pub use interrupt::{Deferred, Interrupt, InterruptEvents, Isr};
pub use io_default::IoDefaultEvents;
pub use io_type::IoType;
pub use irql::Passive;
pub use lock::{SpinLock, WaitLock};
pub use memory::Memory;
pub use output::Output;
pub use own_request::{Completion, Operation, OwnRequest, OwnRequestEvents};
pub use pending::{PendingRequest, StoppedRequest};
pub use pod::Pod;
pub use power::{PowerState, WakeEvents};
pub use power_reference::PowerReference;
pub use queue::{Dispatch, Queue, QueueEvents};
pub use queue_config::QueueConfig;
pub use registry::{Access, RegistryKey};
pub use request::{Request, RequestKind};
pub use resources::{Resource, Resources};
pub use send::SendEvents;
pub use string::UnicodeString;
pub use target::{IoTarget, RemoteTarget};
pub use text::wide;
pub use timer::{Timer, TimerEvents};
pub use wmi::{WmiBlock, WmiEvents, WmiMethod};
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

/// Returns a relative time: negative, in units of 100 ns.
fn relative_time(delay: Duration) -> i64 {
    -i64::try_from(delay.as_nanos() / 100).unwrap_or(i64::MAX)
}

const _: () = {
    assert!(size_of::<Guid>() == size_of::<GUID>());
    assert!(align_of::<Guid>() == align_of::<GUID>());
    assert!(offset_of!(Guid, data2) == offset_of!(GUID, Data2));
    assert!(offset_of!(Guid, data3) == offset_of!(GUID, Data3));
    assert!(offset_of!(Guid, data1) == offset_of!(GUID, Data1));
    assert!(offset_of!(Guid, data4) == offset_of!(GUID, Data4));
};

/// Returns the same GUID with the type of `wdk_sys`.
const fn guid(guid: &Guid) -> &GUID {
    // SAFETY: both types have the same layout, and all bytes are valid for both.
    unsafe { &*ptr::from_ref(guid).cast() }
}
