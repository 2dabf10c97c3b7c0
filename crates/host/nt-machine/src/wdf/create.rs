//! The creation of devices.

use etw_types::NtStatus;

use super::device::{self, Device, Phase, with_device};
use super::object::{self, created};
use super::{Handle, child_list, filter, init, life, queue_state};
use crate::kernel::io::device as wdm;
use crate::kernel::{self, kernel};
use crate::layout::WDF_OBJECT_ATTRIBUTES;
use crate::memory::GuestPtr;
use crate::routine::{Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, fail, functions};

/// Flags of device objects: `DO_BUFFERED_IO`, `DO_DIRECT_IO`.
const BUFFERED_IO: u32 = 0x04;
const DIRECT_IO: u32 = 0x10;

functions! { pub(super) FUNCTIONS;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfDeviceCreate(
        &call,
        init: GuestPtr<Handle>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created(create_device(call, init, attributes), place)
    }

    #[irql(DISPATCH)]
    fn WdfControlFinishInitializing(device: Handle) {
        with_device(device, |device| device.in_d0 = true);
        queue_state::start_all(device);
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitFree(init: Handle) {
        life::delete(init);
    }
}

/// Creates the device that the init structure at `place` describes.
fn create_device(call: &Call, place: GuestPtr<Handle>, attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>) -> Outcome<Handle> {
    let handle = place.read()?;
    let mut init = init::with_init(handle, |init| init.clone());
    if !init.name.is_empty() && device::any(|device| device.init.name.eq_ignore_ascii_case(&init.name)) {
        return fail(NtStatus::ObjectNameCollision);
    }
    let driver = kernel::lock(&kernel().io).driver;
    let wdm = wdm::new_device(driver, 0)?;
    let mut flags = if init.direct { DIRECT_IO } else { BUFFERED_IO };
    if let Some(below) = init.physical.non_null().filter(|_| init.filter) {
        // As in `FxDevice::SetFilterIoType` (`shared/core/fxdevice.cpp`), a filter has the buffers of the device below.
        flags = below.Flags().read()? & (DIRECT_IO | BUFFERED_IO);
        init.direct = flags & BUFFERED_IO == 0;
    }
    wdm.Flags().write(flags)?;
    if !init.preprocess.is_empty() {
        // One more stack location, in which the preprocess callback can set a completion routine.
        wdm.StackSize().change(|size| size + 1)?;
    }
    // A device on a physical device is started next.
    let waits = !init.control && init.parent.is_null();
    let mut device = Device::new(init, wdm);
    device.phase = waits.then_some(Phase::Start);
    device.forward = device.init.filter.then_some(filter::forward);
    if !device.init.parent.is_null() {
        device.init.physical = wdm;
    }
    let device = object::create(call, attributes, None, device)?;
    child_list::device_created(device, call.from)?;
    // The framework owns the init structure now, so the driver's pointer to it becomes NULL.
    life::delete(handle);
    place.write(Handle::NULL)?;
    Ok(device)
}
