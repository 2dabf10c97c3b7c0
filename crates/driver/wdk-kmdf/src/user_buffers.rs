//! The buffers of `METHOD_NEITHER` requests: addresses in the client's process.
//!
//! They are valid only in the client's thread, where the framework calls `EvtIoInCallerContext`. There the layer probes and locks
//! them, before the request goes to its queue. Later, the driver copies from and to the locked pages.

use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};

use wdk_etw::NtStatus;
use wdk_sys::{PWDFDEVICE_INIT, WDFDEVICE, WDFMEMORY, WDFREQUEST};

use crate::call::wdf;
use crate::{Request, RequestKind, check, context};

/// The context of a request whose buffers were locked. The request owns the memory objects; they are null for an empty buffer.
#[derive(Clone, Copy)]
struct Locked {
    input: WDFMEMORY,
    output: WDFMEMORY,
}

/// Makes a device lock the buffers of its `METHOD_NEITHER` requests.
///
/// # Safety
///
/// The device must not have been created.
pub(crate) unsafe fn set_callback(init: PWDFDEVICE_INIT) {
    // SAFETY: guaranteed by the caller.
    unsafe { wdf!(WdfDeviceInitSetIoInCallerContextCallback, init, Some(in_caller_context)) };
}

/// Returns the address of the locked input.
pub(crate) fn input(request: &Request) -> Result<NonNull<u8>, NtStatus> {
    address(locked(request)?.input)
}

/// Returns the address of the locked output.
pub(crate) fn output(request: &Request) -> Result<NonNull<u8>, NtStatus> {
    address(locked(request)?.output)
}

/// Returns what was locked. Without [`set_callback`], nothing was.
fn locked(request: &Request) -> Result<Locked, NtStatus> {
    // SAFETY: the driver owns the request; only this module gives requests of clients a context of this crate.
    unsafe { context::get_checked::<Locked>(request.raw().cast()) }.copied().ok_or(NtStatus::InvalidDeviceRequest)
}

fn address(memory: WDFMEMORY) -> Result<NonNull<u8>, NtStatus> {
    if memory.is_null() {
        return Err(NtStatus::BufferTooSmall);
    }
    // SAFETY: the memory object lives as long as its request; the size is an optional output.
    let start = unsafe { wdf!(WdfMemoryGetBuffer, memory, ptr::null_mut()) };
    NonNull::new(start.cast()).ok_or(NtStatus::InsufficientResources)
}

/// `EvtIoInCallerContext`.
unsafe extern "C" fn in_caller_context(device: WDFDEVICE, raw: WDFREQUEST) {
    // SAFETY: the framework passes ownership of the request. Only control requests are looked at here.
    let request = unsafe { Request::with_parameters(raw, false) };
    // A driver that sends such a request passes what the two drivers have agreed on, not buffers of a process.
    let is_from_program = matches!(request.kind, RequestKind::Control(_)) && !request.is_from_kernel();
    let result = if request.has_user_buffers() && is_from_program { lock(&request) } else { Ok(()) };
    let result = result.and_then(|()| {
        // SAFETY: the driver owns the request, which came to this device.
        check(unsafe { wdf!(WdfDeviceEnqueueRequest, device, raw) })
    });
    match result {
        // A queue has the request now, or has already delivered it.
        Ok(()) => {
            let _ = ManuallyDrop::new(request);
        }
        Err(status) => request.complete(status),
    }
}

/// Probes and locks both buffers of a request. Runs in the client's thread.
fn lock(request: &Request) -> Result<(), NtStatus> {
    let raw = request.raw();
    let mut input: WDFMEMORY = ptr::null_mut();
    let mut output: WDFMEMORY = ptr::null_mut();
    let mut start: *mut c_void = ptr::null_mut();
    let length = request.input_length();
    if length != 0 {
        let place = ptr::from_mut(&mut start);
        // SAFETY: the driver owns the request; the length is an optional output.
        check(unsafe { wdf!(WdfRequestRetrieveUnsafeUserInputBuffer, raw, length, place, ptr::null_mut()) })?;
        // SAFETY: the framework checks the address, and that this is the client's thread.
        check(unsafe { wdf!(WdfRequestProbeAndLockUserBufferForRead, raw, start, length, ptr::from_mut(&mut input)) })?;
    }
    let length = request.output_length();
    if length != 0 {
        let place = ptr::from_mut(&mut start);
        // SAFETY: as above.
        check(unsafe { wdf!(WdfRequestRetrieveUnsafeUserOutputBuffer, raw, length, place, ptr::null_mut()) })?;
        // SAFETY: as above.
        check(unsafe {
            wdf!(WdfRequestProbeAndLockUserBufferForWrite, raw, start, length, ptr::from_mut(&mut output))
        })?;
    }
    let mut attributes = context::attributes::<Locked>(ptr::null_mut(), None);
    // SAFETY: the driver owns the request, and the attributes outlive the call; the address is optional.
    check(unsafe { wdf!(WdfObjectAllocateContext, raw.cast(), ptr::from_mut(&mut attributes), ptr::null_mut()) })?;
    // SAFETY: the context was just allocated for this type.
    unsafe { context::fill(raw.cast(), Locked { input, output }) };
    Ok(())
}
