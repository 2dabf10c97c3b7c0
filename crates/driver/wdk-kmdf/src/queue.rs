//! The queue that delivers control requests.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_IO_QUEUE_DISPATCH_TYPE, _WDF_TRI_STATE, ULONG, WDF_IO_QUEUE_CONFIG, WDF_NO_OBJECT_ATTRIBUTES, WDFQUEUE,
    WDFREQUEST, call_unsafe_wdf_function_binding,
};

use crate::context;
use crate::{Device, DeviceHandle, Request, check, size_field};

/// The callbacks of a queue.
pub trait ControlEvents: Device {
    /// `EvtIoDeviceControl`: receives a request and its control code. Completing the request consumes it.
    fn device_control(&self, request: Request, code: u32);
}

impl<T: ControlEvents> DeviceHandle<'_, T> {
    /// Creates the device's default queue. It delivers one request at a time and is power-managed: it stops and starts
    /// with the device.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfIoQueueCreate`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_queue(&self) -> Result<(), NtStatus> {
        let mut config = WDF_IO_QUEUE_CONFIG {
            Size: size_field::<WDF_IO_QUEUE_CONFIG>(),
            DispatchType: _WDF_IO_QUEUE_DISPATCH_TYPE::WdfIoQueueDispatchSequential,
            PowerManaged: _WDF_TRI_STATE::WdfUseDefault,
            DefaultQueue: 1,
            EvtIoDeviceControl: Some(device_control::<T>),
            ..WDF_IO_QUEUE_CONFIG::default()
        };
        // SAFETY: the device is alive, the configuration outlives the call, and the handle of the queue is optional.
        check(unsafe {
            call_unsafe_wdf_function_binding!(
                WdfIoQueueCreate,
                self.raw(),
                ptr::from_mut(&mut config),
                WDF_NO_OBJECT_ATTRIBUTES,
                ptr::null_mut()
            )
        })
    }
}

unsafe extern "C" fn device_control<T: ControlEvents>(
    queue: WDFQUEUE,
    request: WDFREQUEST,
    output_length: usize,
    input_length: usize,
    code: ULONG,
) {
    // SAFETY: the framework passes a queue of this driver.
    let device = unsafe { call_unsafe_wdf_function_binding!(WdfIoQueueGetDevice, queue) };
    // SAFETY: the framework passes ownership of the request until it is completed, its control code, and the lengths of
    // its buffers.
    let request = unsafe { Request::from_raw(request, code, input_length, output_length) };
    // SAFETY: the device of the queue is alive. If its context has another type, the framework finds none of this type.
    match unsafe { context::get::<T>(device.cast()) } {
        Some(context) => context.device_control(request, code),
        None => request.complete(NtStatus::DeviceNotReady, 0),
    }
}
