//! A filter: its buffers are those of the device below, whatever its own type says.

use wdk_etw::NtStatus;
use wdk_kmdf::{Device, DeviceInit, QueueConfig, QueueEvents, Request};
use wdk_sys::{DO_BUFFERED_IO, DO_DIRECT_IO, PDEVICE_OBJECT, call_unsafe_wdf_function_binding};

/// The device below the filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lower {
    /// It has buffered I/O.
    Buffered = 1,
    /// It has direct I/O.
    Direct = 2,
    /// It has direct I/O from the moment on that the filter is attached.
    DirectWhenStarted = 3,
}

impl Lower {
    pub(crate) fn from_int(kind: u32) -> Option<Self> {
        [Self::Buffered, Self::Direct, Self::DirectWhenStarted].into_iter().find(|lower| *lower as u32 == kind)
    }
}

/// Says nothing about its I/O type, which is therefore buffered.
struct Filter;

impl Device for Filter {}

/// Adds the filter. The driver plays the device below, too: it sets the flags of the physical device.
pub(crate) fn add(init: DeviceInit<'_>, lower: Lower) -> Result<(), NtStatus> {
    // SAFETY: the structure is that of `EvtDriverDeviceAdd`.
    let physical = unsafe { call_unsafe_wdf_function_binding!(WdfFdoInitWdmGetPhysicalDevice, init.raw()) };
    set_io(physical, lower == Lower::Direct);
    init.filter().create(|device| {
        device.create_queue(QueueConfig::parallel().default_queue())?;
        Ok(Filter)
    })?;
    set_io(physical, lower != Lower::Buffered);
    Ok(())
}

fn set_io(physical: PDEVICE_OBJECT, is_direct: bool) {
    // SAFETY: the physical device exists while its devices are added, and nothing else uses its flags then.
    let flags = unsafe { &mut (*physical).Flags };
    *flags = *flags & !(DO_BUFFERED_IO | DO_DIRECT_IO) | if is_direct { DO_DIRECT_IO } else { DO_BUFFERED_IO };
}

impl QueueEvents for Filter {
    /// Asks for a reference to the input.
    fn write(&self, request: Request) {
        let result = request.input().map(drop);
        request.finish(result);
    }

    /// Asks for a reference to the output.
    fn read(&self, mut request: Request) {
        let result = request.output().and_then(|mut output| output.value::<u32>().map(|value| *value = 7));
        request.finish(result);
    }
}
