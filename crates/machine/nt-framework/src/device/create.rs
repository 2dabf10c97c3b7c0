//! The creation of devices.

use etw_types::NtStatus;
use nt_kernel::io::device as wdm;
use nt_kernel::kernel;
use nt_processor::layout::WDF_OBJECT_ATTRIBUTES;
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, fail, functions};
use nt_verifier::verify::{self, Kmdf, Rule};
use windows_constants::device::{DO_BUFFERED_IO, DO_DIRECT_IO, FILE_DEVICE_SECURE_OPEN};

use crate::Handle;
use crate::children::{child_list, enumerate};
use crate::device::filter;
use crate::device::init::{self, IO_CLEANUP, Init, Use};
use crate::device::{self, Device, Phase, with_device};
use crate::object::attributes::{Attributes, Options};
use crate::object::kind::Farewell;
use crate::object::life;
use crate::object::{self, created};
use crate::pnp::{self, policy};
use crate::state::{Origin, Past, with};

functions! { pub(crate) FUNCTIONS;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[on_failure(note_failure(init))]
    fn WdfDeviceCreate(
        &call,
        init: GuestPtr<Handle>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created(create_device(call, init, attributes), place)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitFree(init: Handle) {
        let origin = init::used_as(init, Use::Free, |init| init.origin());
        with(|framework| framework.remember(init, Past::FreedInit(origin)));
        life::delete(init);
    }
}

/// Notes in the init structure that no device was created from it.
fn note_failure(init: GuestPtr<Handle>) {
    if let Ok(handle) = init.read() {
        with(|framework| framework.get_mut(handle).map(|init: &mut Init| init.create_failed = true));
    }
}

/// Reports an init structure from which no device should be created.
fn check(init: &Init) {
    policy::check_callbacks(init);
    let rule = match init.origin() {
        Origin::Control => Kmdf::InitFreeDeviceCreate,
        Origin::Child => Kmdf::PdoInitFreeDeviceCreate,
        _ => return,
    };
    if init.failed {
        let what = format_args!("creates a device although its initialisation failed: call WdfDeviceInitFree");
        verify::find(Rule::FrameworkMisuse.named(rule), what);
    }
}

/// Creates the device that the init structure at `place` describes.
fn create_device(call: &Call, place: GuestPtr<Handle>, attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>) -> Outcome<Handle> {
    let attributes = Attributes::read(attributes, Options::CONSTRAINTS)?;
    let handle = place.read()?;
    let init = init::used_as(handle, Use::Create, |init| init.clone());
    check(&init);
    if !init.name.is_empty() && device::any(|device| device.init.name.eq_ignore_ascii_case(&init.name)) {
        return fail(NtStatus::ObjectNameCollision);
    }
    let driver = nt_kernel::lock(&kernel().io).driver;
    let wdm = wdm::new_device(driver, 0)?;
    wdm.Flags().write(if init.direct { DO_DIRECT_IO } else { DO_BUFFERED_IO })?;
    wdm.Characteristics().write(init.characteristics | FILE_DEVICE_SECURE_OPEN)?;
    if !init.preprocess.is_empty() {
        // One more stack location, in which the preprocess callback can set a completion routine.
        wdm.StackSize().change(|size| size + 1)?;
    }
    // A device on a physical device is started next.
    let waits = !init.control && init.parent.is_null();
    let mut device = Device::new(init, wdm);
    device.phase = waits.then_some(Phase::Start);
    device.forward = device.init.filter.then_some(filter::forward);
    device.idle.adjust = Some(pnp::adjust);
    device.scan = Some(enumerate::scan);
    if !device.init.parent.is_null() {
        device.init.physical = wdm;
    }
    let device = object::create_with(call.from, &attributes, None, device)?;
    filter::inherit_io_type(device)?;
    child_list::device_created(device, call.from)?;
    let can_clean_up = object::lookup(device, |object| object.farewells.iter().any(Farewell::is_set));
    let (origin, cleans_up) = with_device(device, |device| {
        let in_io_cleanup = device.init.callbacks.get(IO_CLEANUP).is_some_and(|callback| !callback.is_null());
        (device.init.origin(), can_clean_up || in_io_cleanup)
    });
    with(|framework| {
        framework.remember(handle, Past::UsedInit(origin));
        framework.last_init = Some(origin);
        framework.cleans_up |= cleans_up;
    });
    // The framework owns the init structure now, so the driver's pointer to it becomes NULL.
    life::delete(handle);
    place.write(Handle::NULL)?;
    Ok(device)
}
