//! The driver object.

use etw_types::NtStatus;

use super::object::{self, Data, create, created};
use super::{Handle, life, loader, structures, with};
use crate::kernel::{self, call_back, kernel};
use crate::layout::{DRIVER_OBJECT, UNICODE_STRING, WDF_DRIVER_CONFIG, WDF_DRIVER_VERSION_AVAILABLE_PARAMS};
use crate::memory::{Code, GuestPtr};
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, done, fail, fixed, routine};
use crate::verify::{self, Rule};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfDriverCreate", PASSIVE, create_driver).fails(NtStatus::InsufficientResources),
    routine!("WdfDriverGetRegistryPath", PASSIVE, |call| with_driver(call.handle(1), |driver| driver.registry_path)),
    routine!("WdfDriverWdmGetDriverObject", DISPATCH, |call| with_driver(call.handle(1), |driver| driver.object)),
    routine!("WdfWdmDriverGetWdfDriverHandle", DISPATCH, |_| with(|framework| framework.driver())),
    // A miniport calls this at unload, because the framework does not change the dispatch table of a miniport driver.
    routine!("WdfDriverMiniportUnload", PASSIVE, |_| unload()),
    routine!("WdfDriverRegisterTraceInfo", PASSIVE, |_| NtStatus::Success).fixed(),
    routine!("WdfDriverIsVersionAvailable", PASSIVE, |call| {
        let wanted = call.ptr::<WDF_DRIVER_VERSION_AVAILABLE_PARAMS>(2).read()?;
        done(wanted.MajorVersion == 1 && wanted.MinorVersion <= kernel().config.os.kmdf().minor)
    }),
    fixed("WdfDriverErrorReportApiMissing", DISPATCH, NtStatus::NotSupported.as_int() as u64),
];

/// The data of the driver object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driver {
    object: GuestPtr<DRIVER_OBJECT>,
    registry_path: GuestPtr<u16>,
    device_add: GuestPtr<Code>,
    unload: GuestPtr<Code>,
}

fn with_driver<R>(handle: Handle, look: impl FnOnce(&Driver) -> R) -> R {
    object::part(handle, |data| match data {
        Data::Driver(driver) => Some(look(driver)),
        _ => None,
    })
}

/// Arguments: driver object, registry path, attributes, configuration, place for the handle.
fn create_driver(call: &Call) -> Outcome {
    let (driver, config) = (call.ptr::<DRIVER_OBJECT>(1), call.ptr::<WDF_DRIVER_CONFIG>(4));
    structures::DRIVER_CONFIG.check(config)?;
    if with(|framework| framework.driver()).non_null().is_some() {
        verify::find(Rule::FrameworkMisuse, format_args!("WdfDriverCreate is called a second time"));
        return fail(NtStatus::InvalidParameter);
    }
    let path = call.ptr::<UNICODE_STRING>(2).units()?;
    let registry_path: GuestPtr<u16> = kernel::lock(&kernel().pool).new_objects(path.len() as u64 + 1);
    registry_path.write_all(&path)?;
    let config = config.read()?;
    let (device_add, unload) = (config.EvtDriverDeviceAdd, config.EvtDriverUnload);
    let data = Driver { object: driver, registry_path, device_add, unload };
    let handle = create(call, call.ptr(3), Some(Handle::NULL), Data::Driver(data))?;
    with(|framework| framework.driver_created(handle));
    let unload = kernel().table.address(loader::FRAMEWORK_UNLOAD).unwrap_or_default();
    driver.DriverUnload().write(GuestPtr::new(unload))?;
    created(Ok(handle), call.ptr(5))
}

/// Returns the driver and its `EvtDriverDeviceAdd`; both are NULL if the driver was not created.
pub(super) fn device_add() -> (Handle, GuestPtr<Code>) {
    let handle = with(|framework| framework.driver());
    if handle.is_null() {
        return (Handle::NULL, GuestPtr::NULL);
    }
    (handle, with_driver(handle, |driver| driver.device_add))
}

/// Unloads the driver: calls `EvtDriverUnload`, then deletes the driver object and its children.
pub(super) fn unload() {
    let handle = with(|framework| framework.driver());
    if handle.is_null() {
        return;
    }
    if let Some(unload) = with_driver(handle, |driver| driver.unload).non_null() {
        call_back("EvtDriverUnload", PASSIVE, unload, &[handle.as_int()]);
    }
    delete();
}

/// Deletes the driver object and its children, if the driver object exists.
pub(super) fn delete() {
    let handle = with(|framework| framework.driver());
    if handle.is_null() || !object::exists(handle) {
        return;
    }
    let path = with_driver(handle, |driver| driver.registry_path);
    life::delete(handle);
    with(|framework| framework.driver_gone());
    kernel::lock(&kernel().pool).free_object(path.address());
}
