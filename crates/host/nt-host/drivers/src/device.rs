//! A device whose requests all go to one routine, for drivers whose mistake is what they do with them.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::sys::{Dispatch, DriverObject, IoCreateDevice, IoDeleteDevice};

static DEVICE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// `IRP.IoStatus.Status`.
const STATUS: usize = 0x30;

/// Creates the device; returns the status of that.
///
/// # Safety
///
/// The kernel's driver object, in the driver's entry point.
pub unsafe fn create(driver: *mut DriverObject, dispatch: Dispatch) -> u32 {
    // SAFETY: the kernel's driver object, which is ours to fill in.
    unsafe { (*driver).major = [Some(dispatch); 28] };
    // SAFETY: the driver object is the kernel's, the device's place is there for ever.
    unsafe { IoCreateDevice(driver, 0, ptr::null(), 0x22, 0, 0, DEVICE.as_ptr()) }
}

/// Deletes the device, which was created.
pub fn delete() {
    // SAFETY: created when loaded.
    unsafe { IoDeleteDevice(DEVICE.load(Ordering::Relaxed)) };
}

/// Puts a status into a request.
///
/// # Safety
///
/// The request is the driver's: it was not completed.
pub unsafe fn set_status(irp: *mut c_void, status: u32) {
    // SAFETY: by this function's contract.
    unsafe { irp.wrapping_byte_add(STATUS).cast::<u32>().write(status) };
}
