//! The creation of devices.

use etw_types::NtStatus;

use super::device::{self, Device, Phase, with_device};
use super::object::{self, created};
use super::{Handle, child_list, init, life, queue_state};
use crate::kernel::io::device as wdm;
use crate::kernel::{self, kernel};
use crate::layout::WDF_OBJECT_ATTRIBUTES;
use crate::memory::GuestPtr;
use crate::routine::{Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, fail, functions};

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

    #[irql(PASSIVE)]
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
    let init = init::with_init(handle, |init| init.clone());
    if !init.name.is_empty() && device::any(|device| device.init.name.eq_ignore_ascii_case(&init.name)) {
        return fail(NtStatus::ObjectNameCollision);
    }
    let driver = kernel::lock(&kernel().io).driver;
    let wdm = wdm::new_device(driver, 0)?;
    // DO_DIRECT_IO, DO_BUFFERED_IO.
    wdm.Flags().write(if init.direct { 16 } else { 4 })?;
    if !init.preprocess.is_empty() {
        // One more stack location, in which the preprocess callback can set a completion routine.
        wdm.StackSize().change(|size| size + 1)?;
    }
    // A device on a physical device is started next.
    let waits = !init.control && init.parent.is_null();
    let mut device = Device::new(init, wdm);
    device.phase = waits.then_some(Phase::Start);
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
