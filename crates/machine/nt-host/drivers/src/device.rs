//! A device whose requests all go to one routine, for drivers that mishandle requests.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::sys::{Dispatch, DriverObject, IoCreateDevice, IoDeleteDevice};

static DEVICE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// `IRP.IoStatus.Status`.
const STATUS: usize = 0x30;

/// Creates the device and returns the status of `IoCreateDevice`.
///
/// # Safety
///
/// `driver` must be the object that the kernel passed to `DriverEntry`, which must be running.
pub unsafe fn create(driver: *mut DriverObject, dispatch: Dispatch) -> u32 {
    // SAFETY: the kernel passed the driver object, whose fields the driver may set.
    unsafe { (*driver).major = [Some(dispatch); 28] };
    // SAFETY: the kernel passed the driver object, and `DEVICE` is a static.
    unsafe { IoCreateDevice(driver, 0, ptr::null(), 0x22, 0, 0, DEVICE.as_ptr()) }
}

/// Deletes the device. [`create`] must have succeeded.
pub fn delete() {
    // SAFETY: the device was created by `create`.
    unsafe { IoDeleteDevice(DEVICE.load(Ordering::Relaxed)) };
}

/// Sets the status of a request.
///
/// # Safety
///
/// The driver must own the request: it has not completed it.
pub unsafe fn set_status(irp: *mut c_void, status: u32) {
    // SAFETY: by this function's contract.
    unsafe { irp.wrapping_byte_add(STATUS).cast::<u32>().write(status) };
}
