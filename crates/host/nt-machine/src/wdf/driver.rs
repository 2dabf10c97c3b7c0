//! The driver object.

use etw_types::NtStatus;

use super::object::{self, Data, create, created};
use super::{Handle, life, loader, structures, with};
use crate::kernel::{self, call_back, kernel};
use crate::layout::{DRIVER_OBJECT, UNICODE_STRING, WDF_DRIVER_CONFIG, WDF_DRIVER_VERSION_AVAILABLE_PARAMS};
use crate::memory::{Code, Fault, GuestPtr};
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

/// `WDF_DRIVER_INIT_FLAGS`.
const NON_PNP: u32 = 1;
const NO_DISPATCH_OVERRIDE: u32 = 2;
const COMPANION: u32 = 4;

/// The data of the driver object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driver {
    object: GuestPtr<DRIVER_OBJECT>,
    registry_path: GuestPtr<u16>,
    device_add: GuestPtr<Code>,
    unload: GuestPtr<Code>,
    /// The framework handles the driver's IRPs.
    dispatches: bool,
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
    let flags = config.DriverInitFlags().read()?;
    if flags & !(NON_PNP | NO_DISPATCH_OVERRIDE | COMPANION) != 0 {
        return fail(NtStatus::InvalidParameter);
    }
    let path = call.ptr::<UNICODE_STRING>(2).units()?;
    let registry_path: GuestPtr<u16> = kernel::lock(&kernel().pool).new_objects(path.len() as u64 + 1);
    registry_path.write_all(&path)?;
    let config = config.read()?;
    let dispatches = flags & NO_DISPATCH_OVERRIDE == 0;
    // Without the framework's dispatch routines, the callbacks in the configuration have no effect.
    let (device_add, unload) =
        if dispatches { (config.EvtDriverDeviceAdd, config.EvtDriverUnload) } else { (GuestPtr::NULL, GuestPtr::NULL) };
    let data = Driver { object: driver, registry_path, device_add, unload, dispatches };
    let handle = create(call, call.ptr(3), Some(Handle::NULL), Data::Driver(data))?;
    let displaces = flags & (NON_PNP | NO_DISPATCH_OVERRIDE) == 0 || !config.EvtDriverUnload.is_null();
    with(|framework| framework.driver_created(handle, displaces));
    if dispatches {
        take_over(driver, flags & NON_PNP == 0, !unload.is_null())?;
    }
    created(Ok(handle), call.ptr(5))
}

/// Stores the framework's routines in the driver object, as Microsoft's framework does (core/fxdriver.cpp). Only a Plug
/// and Play driver has `AddDevice`. Other drivers can be unloaded only if they have `EvtDriverUnload`.
fn take_over(driver: GuestPtr<DRIVER_OBJECT>, is_pnp: bool, has_unload: bool) -> Result<(), Fault> {
    let add_device = if is_pnp { framework_routine(loader::FRAMEWORK_ADD_DEVICE) } else { GuestPtr::NULL };
    let unload = if is_pnp || has_unload { framework_routine(loader::FRAMEWORK_UNLOAD) } else { GuestPtr::NULL };
    driver.DriverExtension().read()?.AddDevice().write(add_device)?;
    driver.DriverUnload().write(unload)?;
    driver.MajorFunction().write([framework_routine(loader::FRAMEWORK_DISPATCH); 28])
}

/// Returns the address of a routine that the framework stores in driver objects.
fn framework_routine(name: &str) -> GuestPtr<Code> {
    GuestPtr::new(kernel().table.address(name).unwrap_or_default())
}

/// Returns whether a routine is the framework's `AddDevice`.
pub(super) fn is_add_device(routine: GuestPtr<Code>) -> bool {
    routine == framework_routine(loader::FRAMEWORK_ADD_DEVICE)
}

/// Returns whether the framework handles the driver's IRPs.
pub(super) fn dispatches() -> bool {
    let handle = with(|framework| framework.driver());
    !handle.is_null() && with_driver(handle, |driver| driver.dispatches)
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
