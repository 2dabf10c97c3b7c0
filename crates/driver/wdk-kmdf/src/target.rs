//! I/O targets: the device below, and other devices.

use core::ops::Deref;
use core::ptr;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_IO_TARGET_OPEN_TYPE, _WDF_IO_TARGET_SENT_IO_ACTION, _WDF_MEMORY_DESCRIPTOR_TYPE, FILE_NON_DIRECTORY_FILE,
    FILE_OPEN, PWDF_MEMORY_DESCRIPTOR, WDF_IO_TARGET_OPEN_PARAMS, WDF_MEMORY_DESCRIPTOR, WDFIOTARGET,
};

use crate::call::wdf;
use crate::lifetime::{dereference, reference};
use crate::send::send_options;
use crate::text::unicode;
use crate::{Device, DeviceHandle, Passive, check, context, size_field};

/// A device that requests are sent to. The value keeps the framework's object; a target whose device is gone refuses requests.
#[derive(Debug)]
pub struct IoTarget {
    raw: WDFIOTARGET,
}

// SAFETY: the framework's functions for I/O targets can be called from any thread.
unsafe impl Send for IoTarget {}
// SAFETY: as above.
unsafe impl Sync for IoTarget {}

/// An I/O target that the driver opened by name. It is closed when its device is deleted, or before that by
/// [`close`](Self::close).
#[derive(Debug)]
pub struct RemoteTarget {
    target: IoTarget,
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Returns the device below this one. A control device has none.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn io_target(&self) -> Option<IoTarget> {
        // SAFETY: the device exists.
        let raw = unsafe { wdf!(WdfDeviceGetIoTarget, self.raw()) };
        // SAFETY: the target exists as long as its device.
        (!raw.is_null()).then(|| unsafe { IoTarget::new(raw) })
    }

    /// Opens another device by name, for example `\Device\Other`, with access rights such as `FILE_GENERIC_READ`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfIoTargetCreate` or `WdfIoTargetOpen`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn open_target(&self, name: &[u16], access: u32) -> Result<RemoteTarget, NtStatus> {
        let name = unicode(name)?;
        let mut attributes = context::attributes::<()>(ptr::null_mut(), None);
        let mut raw: WDFIOTARGET = ptr::null_mut();
        // SAFETY: the device exists, and all structures outlive the call.
        check(unsafe { wdf!(WdfIoTargetCreate, self.raw(), ptr::from_mut(&mut attributes), ptr::from_mut(&mut raw)) })?;
        let mut parameters = WDF_IO_TARGET_OPEN_PARAMS {
            Size: size_field::<WDF_IO_TARGET_OPEN_PARAMS>(),
            Type: _WDF_IO_TARGET_OPEN_TYPE::WdfIoTargetOpenByName,
            TargetDeviceName: name,
            DesiredAccess: access,
            CreateDisposition: FILE_OPEN,
            CreateOptions: FILE_NON_DIRECTORY_FILE,
            ..WDF_IO_TARGET_OPEN_PARAMS::default()
        };
        // SAFETY: the target was just created, and the parameters outlive the call.
        let opened = check(unsafe { wdf!(WdfIoTargetOpen, raw, ptr::from_mut(&mut parameters)) });
        if let Err(status) = opened {
            // SAFETY: this function created the target, and nothing else has its handle.
            unsafe { wdf!(WdfObjectDelete, raw.cast()) };
            return Err(status);
        }
        // SAFETY: the target exists.
        Ok(RemoteTarget { target: unsafe { IoTarget::new(raw) } })
    }
}

impl IoTarget {
    /// # Safety
    ///
    /// The target must exist.
    unsafe fn new(raw: WDFIOTARGET) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { reference(raw.cast()) };
        Self { raw }
    }

    /// Sends a control request and waits for it. Returns the number of bytes in `output`.
    ///
    /// # Errors
    ///
    /// Returns the status of the request: `STATUS_IO_TIMEOUT` if it was cancelled after the timeout.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn control(
        &self,
        _: Passive<'_>,
        code: u32,
        input: &[u8],
        output: &mut [u8],
        timeout: Option<Duration>,
    ) -> Result<usize, NtStatus> {
        let mut input = only_read(input)?;
        let mut output = buffer(output)?;
        let mut options = send_options(timeout);
        let mut written: u64 = 0;
        // SAFETY: this value keeps the target. The buffers outlive the call, which returns when the request is completed. The
        // input is only read.
        check(unsafe {
            wdf!(
                WdfIoTargetSendIoctlSynchronously,
                self.raw,
                ptr::null_mut(),
                code,
                place(&mut input),
                place(&mut output),
                ptr::from_mut(&mut options),
                ptr::from_mut(&mut written)
            )
        })?;
        Ok(usize::try_from(written).unwrap_or_default())
    }

    /// As [`control`](Self::control), for `IRP_MJ_INTERNAL_DEVICE_CONTROL`.
    ///
    /// # Errors
    ///
    /// As [`control`](Self::control).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn internal_control(
        &self,
        _: Passive<'_>,
        code: u32,
        input: &[u8],
        output: &mut [u8],
        timeout: Option<Duration>,
    ) -> Result<usize, NtStatus> {
        let mut input = only_read(input)?;
        let mut output = buffer(output)?;
        let mut options = send_options(timeout);
        let mut written: u64 = 0;
        // SAFETY: as in `control`.
        check(unsafe {
            wdf!(
                WdfIoTargetSendInternalIoctlSynchronously,
                self.raw,
                ptr::null_mut(),
                code,
                place(&mut input),
                place(&mut output),
                ptr::from_mut(&mut options),
                ptr::from_mut(&mut written)
            )
        })?;
        Ok(usize::try_from(written).unwrap_or_default())
    }

    /// Reads at an offset and waits. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// As [`control`](Self::control).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn read(
        &self,
        _: Passive<'_>,
        offset: i64,
        output: &mut [u8],
        timeout: Option<Duration>,
    ) -> Result<usize, NtStatus> {
        let mut output = buffer(output)?;
        let mut options = send_options(timeout);
        let mut offset = offset;
        let mut transferred: u64 = 0;
        // SAFETY: as in `control`.
        check(unsafe {
            wdf!(
                WdfIoTargetSendReadSynchronously,
                self.raw,
                ptr::null_mut(),
                place(&mut output),
                ptr::from_mut(&mut offset),
                ptr::from_mut(&mut options),
                ptr::from_mut(&mut transferred)
            )
        })?;
        Ok(usize::try_from(transferred).unwrap_or_default())
    }

    /// Writes at an offset and waits. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// As [`control`](Self::control).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn write(
        &self,
        _: Passive<'_>,
        offset: i64,
        input: &[u8],
        timeout: Option<Duration>,
    ) -> Result<usize, NtStatus> {
        let mut input = only_read(input)?;
        let mut options = send_options(timeout);
        let mut offset = offset;
        let mut transferred: u64 = 0;
        // SAFETY: as in `control`.
        check(unsafe {
            wdf!(
                WdfIoTargetSendWriteSynchronously,
                self.raw,
                ptr::null_mut(),
                place(&mut input),
                ptr::from_mut(&mut offset),
                ptr::from_mut(&mut options),
                ptr::from_mut(&mut transferred)
            )
        })?;
        Ok(usize::try_from(transferred).unwrap_or_default())
    }

    /// Sends requests again after [`stop`](Self::stop).
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfIoTargetStart`.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn start(&self) -> Result<(), NtStatus> {
        // SAFETY: this value keeps the target.
        check(unsafe { wdf!(WdfIoTargetStart, self.raw) })
    }

    /// Stops sending requests, and cancels those that were sent or waits for them.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn stop(&self, _: Passive<'_>, cancel: bool) {
        let action = if cancel {
            _WDF_IO_TARGET_SENT_IO_ACTION::WdfIoTargetCancelSentIo
        } else {
            _WDF_IO_TARGET_SENT_IO_ACTION::WdfIoTargetWaitForSentIoToComplete
        };
        // SAFETY: this value keeps the target.
        unsafe { wdf!(WdfIoTargetStop, self.raw, action) };
    }

    /// Returns the framework's handle, valid as long as this value.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFIOTARGET {
        self.raw
    }
}

impl RemoteTarget {
    /// Closes the target. Requests that were sent are cancelled, and no more can be sent.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn close(self, _: Passive<'_>) {
        // SAFETY: this value opened the target.
        unsafe { wdf!(WdfIoTargetClose, self.target.raw) };
    }
}

impl Deref for RemoteTarget {
    type Target = IoTarget;

    fn deref(&self) -> &IoTarget {
        &self.target
    }
}

impl Drop for IoTarget {
    fn drop(&mut self) {
        // SAFETY: this value has a reference since its creation.
        unsafe { dereference(self.raw.cast()) };
    }
}

/// Describes a buffer, or none if it is empty.
fn buffer(buffer: &mut [u8]) -> Result<Option<WDF_MEMORY_DESCRIPTOR>, NtStatus> {
    if buffer.is_empty() {
        return Ok(None);
    }
    let mut descriptor = WDF_MEMORY_DESCRIPTOR {
        Type: _WDF_MEMORY_DESCRIPTOR_TYPE::WdfMemoryDescriptorTypeBuffer,
        ..WDF_MEMORY_DESCRIPTOR::default()
    };
    descriptor.u.BufferType.Buffer = buffer.as_mut_ptr().cast();
    descriptor.u.BufferType.Length = u32::try_from(buffer.len()).map_err(|_| NtStatus::InvalidParameter)?;
    Ok(Some(descriptor))
}

/// Describes a buffer that the target only reads.
fn only_read(input: &[u8]) -> Result<Option<WDF_MEMORY_DESCRIPTOR>, NtStatus> {
    let mut descriptor = buffer(&mut [0])?.filter(|_| !input.is_empty());
    if let Some(descriptor) = &mut descriptor {
        descriptor.u.BufferType.Buffer = input.as_ptr().cast_mut().cast();
        descriptor.u.BufferType.Length = u32::try_from(input.len()).map_err(|_| NtStatus::InvalidParameter)?;
    }
    Ok(descriptor)
}

fn place(descriptor: &mut Option<WDF_MEMORY_DESCRIPTOR>) -> PWDF_MEMORY_DESCRIPTOR {
    descriptor.as_mut().map_or_else(ptr::null_mut, ptr::from_mut)
}
