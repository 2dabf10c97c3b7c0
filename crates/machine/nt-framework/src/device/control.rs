//! Control devices, and what a Plug and Play driver must do with them.

use nt_verifier::routine::{DISPATCH, functions};
use nt_verifier::verify::{self, Kmdf, Rule};

use crate::device::{Device, with_device};
use crate::object::life;
use crate::object::lookup;
use crate::state::with;
use crate::{Handle, queue};

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfControlFinishInitializing(device: Handle) {
        if !with_device(device, |device| device.init.control) {
            // As in Microsoft's kmdf/src/core/fxcontroldeviceapi.cpp, this has no effect.
            let what = format_args!("the device is not a control device: create it from WdfControlDeviceInitAllocate");
            return verify::find(Rule::FrameworkMisuse.named(Kmdf::ControlDeviceInitAllocate), what);
        }
        with_device(device, |device| device.in_d0 = true);
        queue::state::start_all(device);
    }
}

/// Deletes a control device that the driver has deleted while clients had it open.
pub(crate) fn closed(handle: Handle) {
    let is_over = with(|framework| {
        let device: Option<&mut Device> = framework.get_mut(handle);
        device.is_some_and(|device| device.goes_when_closed && device.opened == 0)
    });
    if is_over {
        life::delete(handle);
    }
}

/// Returns the control devices, with the addresses of the calls that created them.
fn all(is_wanted: impl Fn(&Device) -> bool) -> Vec<(Handle, u64)> {
    let found: Vec<Handle> = with(|framework| {
        let wanted = framework.all::<Device>().filter(|(_, device)| device.init.control && is_wanted(device));
        wanted.map(|(handle, _)| handle).collect()
    });
    found.into_iter().map(|handle| (handle, lookup(handle, |object| object.from))).collect()
}

/// Called when `EvtDriverDeviceAdd` has returned: reports control devices whose initialisation is not finished. `before`
/// are the devices that existed when it was called.
pub(crate) fn report_unfinished(before: &[Handle]) {
    for (device, from) in all(|device| !device.in_d0) {
        let rule = if before.contains(&device) {
            Kmdf::CtlDeviceFinishInitDrEntry
        } else {
            Kmdf::CtlDeviceFinishInitDeviceAdd
        };
        let what = format_args!("does not call WdfControlFinishInitializing before EvtDriverDeviceAdd returns");
        verify::find_at(Rule::FrameworkMisuse.named(rule), Some("WdfDeviceCreate"), from, what);
    }
}

/// Called before a driver is unloaded: reports the control devices that a Plug and Play driver did not delete when its
/// last device was removed. Windows does not unload a driver that has devices.
pub(crate) fn report_left() {
    let (is_over, cleans_up) = with(|framework| (framework.is_pnp && framework.has_added, framework.cleans_up));
    if !is_over {
        return;
    }
    for (_, from) in all(|_| true) {
        let breach = Rule::ObjectLeak.named(Kmdf::ControlDeviceDeleted);
        let breach = if cleans_up { breach } else { breach.named(Kmdf::Cleanup4CtlDeviceRegistered) };
        let what = format_args!("does not delete a control device, so Windows would not unload the driver");
        verify::find_at(breach, Some("WdfDeviceCreate"), from, what);
    }
}
