//! How the buffers of reads and writes are passed.

use wdk_sys::{DO_BUFFERED_IO, PDEVICE_OBJECT, WDFDEVICE};

use crate::call::wdf;

/// How the framework passes the buffers of reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoType {
    /// In a buffer of the system, which contains a copy (`WdfDeviceIoBuffered`).
    Buffered,
    /// In the client's own memory, which the client can change at any time (`WdfDeviceIoDirect`). A driver copies from and to
    /// it, and never has a reference to it.
    Direct,
}

/// The device object, whose flags say how the buffers of reads and writes are passed. The type's
/// [`IO_TYPE`](crate::Device::IO_TYPE) does not: the framework gives a filter the I/O type of the device below, when it is attached
/// and again when it starts (Microsoft's public framework source: `FxDevice::SetFilterIoType` in `shared/core/fxdevice.cpp`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceObject(PDEVICE_OBJECT);

// SAFETY: only the flags are read, which any thread may do.
unsafe impl Send for DeviceObject {}
// SAFETY: as above.
unsafe impl Sync for DeviceObject {}

impl DeviceObject {
    /// # Safety
    ///
    /// The device must exist.
    pub(crate) unsafe fn of(device: WDFDEVICE) -> Self {
        // SAFETY: guaranteed by the caller.
        Self(unsafe { wdf!(WdfDeviceWdmGetDeviceObject, device) })
    }

    /// Returns whether reads and writes use the client's own memory. Without the flag for buffered I/O, they do in one way or the
    /// other.
    ///
    /// # Safety
    ///
    /// The device must exist, as it does while the driver has one of its requests.
    pub(crate) unsafe fn is_direct(self) -> bool {
        // SAFETY: a device has its device object as long as it exists. The framework writes the flags when the device starts, so they
        // are read as they are now.
        let flags = unsafe { (&raw const (*self.0).Flags).read_volatile() };
        flags & DO_BUFFERED_IO == 0
    }
}
