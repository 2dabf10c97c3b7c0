//! The driver object.

use super::object::{self, Data, change, create, created};
use super::{Handle, life, loader, status, with};
use crate::kernel::devices::UNLOAD;
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::kernel::{self, call_back, kernel};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// `WDF_DRIVER_CONFIG`: device add at 8, unload at 16, flags at 24, pool tag at 28.
const CONFIG_SIZE: u32 = 32;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfDriverCreate", PASSIVE, create_driver).fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfDriverGetRegistryPath", PASSIVE, |call| with_driver(call.arg(1), |driver| driver.registry_path)),
    routine("WdfDriverWdmGetDriverObject", DISPATCH, |call| with_driver(call.arg(1), |driver| driver.object)),
    routine("WdfWdmDriverGetWdfDriverHandle", DISPATCH, |_| with(|framework| framework.driver())),
    routine("WdfDriverRegisterTraceInfo", PASSIVE, |_| status::SUCCESS).fixed(),
    routine("WdfDriverIsVersionAvailable", PASSIVE, |call| {
        let parameters = call.arg(2);
        let (major, minor): (u32, u32) = (guest::read(parameters + 4), guest::read(parameters + 8));
        u64::from(major == 1 && minor <= kernel().config.os.kmdf().minor)
    }),
    routine("WdfDriverErrorReportApiMissing", DISPATCH, |_| 0xC000_00BB).fixed(),
];

/// What a driver registered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driver {
    /// `DRIVER_OBJECT`.
    object: u64,
    registry_path: u64,
    device_add: u64,
    unload: u64,
}

fn with_driver<R>(handle: Handle, look: impl FnOnce(&Driver) -> R) -> R {
    let found = change(handle, |object| match &object.data {
        Data::Driver(driver) => Some(*driver),
        _ => None,
    });
    look(&found.unwrap_or_else(|| object::violation(handle)))
}

/// Arguments: driver object, registry path, attributes, configuration, place for the handle.
fn create_driver(call: &Call) -> u64 {
    let (driver, config) = (call.arg(1), call.arg(4));
    let size: u32 = guest::read(config);
    if size != CONFIG_SIZE {
        verify::find(Rule::BadArgument, format_args!("a driver configuration of {size} bytes"));
        return status::INFO_LENGTH_MISMATCH.into();
    }
    if with(|framework| framework.driver()) != 0 {
        verify::find(Rule::FrameworkMisuse, format_args!("the driver is created twice"));
        return status::INVALID_PARAMETER;
    }
    let path = guest::unicode(call.arg(2));
    let copy = kernel::lock(&kernel().pool).object(path.len() as u64 * 2 + 2);
    guest::put_units(copy, &path);
    let data = Driver {
        object: driver,
        registry_path: copy,
        device_add: guest::read(config + 8),
        unload: guest::read(config + 16),
    };
    let handle = match create(call, call.arg(3), Some(0), Data::Driver(data)) {
        Ok(handle) => handle,
        Err(status) => return status.into(),
    };
    with(|framework| framework.driver_created(handle));
    guest::write(driver + UNLOAD, kernel().table.address(loader::FRAMEWORK_UNLOAD).unwrap_or_default());
    created(Ok(handle), call.arg(5))
}

/// `EvtDriverDeviceAdd` of the driver.
pub(super) fn device_add() -> (Handle, u64) {
    let handle = with(|framework| framework.driver());
    if handle == 0 {
        return (0, 0);
    }
    (handle, with_driver(handle, |driver| driver.device_add))
}

/// The driver is unloaded: its callback, then everything that belongs to it.
pub(super) fn unload() {
    let handle = with(|framework| framework.driver());
    if handle == 0 {
        return;
    }
    let unload = with_driver(handle, |driver| driver.unload);
    if unload != 0 {
        call_back("EvtDriverUnload", PASSIVE, unload, &[handle]);
    }
    delete();
}

/// Deletes the driver and everything that belongs to it, if it is there.
pub(super) fn delete() {
    let handle = with(|framework| framework.driver());
    if handle == 0 || !object::exists(handle) {
        return;
    }
    let path = with_driver(handle, |driver| driver.registry_path);
    life::delete(handle);
    with(|framework| framework.driver_gone());
    kernel::lock(&kernel().pool).free_object(path);
}
