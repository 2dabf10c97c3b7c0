//! The driver object.

pub(crate) mod library;
pub(crate) mod loader;

use etw_types::NtStatus;
use nt_kernel::io::device::FRAMEWORK_DISPATCH;
use nt_kernel::{call_back, kernel};
use nt_processor::cpu::thread;
use nt_processor::layout::{
    DRIVER_OBJECT, UNICODE_STRING, WDF_DRIVER_CONFIG, WDF_DRIVER_VERSION_AVAILABLE_PARAMS, WDF_OBJECT_ATTRIBUTES,
};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{ANY, Call, DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, fail, functions};
use nt_verifier::verify::{self, Kmdf, Rule};
use windows_constants::framework::{
    WdfDriverInitCompanion, WdfDriverInitNoDispatchOverride, WdfDriverInitNonPnpDriver,
};

use crate::device::{control, init};
use crate::object::attributes::{Attributes, Options};
use crate::object::kind::Kind;
use crate::object::life;
use crate::object::{self, created_if_wanted};
use crate::state::with;
use crate::{Handle, structures};

/// The routines that the framework stores in the driver object and in DPCs. No driver can import them, because no export can have
/// these names.
pub(super) const FRAMEWORK_UNLOAD: &str = "(framework unload)";
pub(super) const FRAMEWORK_DPC: &str = "(framework DPC)";
pub(super) const FRAMEWORK_ADD_DEVICE: &str = "(framework add device)";

functions! { pub(super) FUNCTIONS;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfDriverCreate(
        &call,
        driver: GuestPtr<DRIVER_OBJECT>,
        registry_path: GuestPtr<UNICODE_STRING>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        config: GuestPtr<WDF_DRIVER_CONFIG>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created_if_wanted(create_driver(call, driver, registry_path, attributes, config), place)
    }

    #[irql(PASSIVE)]
    fn WdfDriverGetRegistryPath(driver: Handle) -> GuestPtr<u16> {
        with_driver(driver, |driver| driver.registry_path)
    }

    #[irql(DISPATCH)]
    fn WdfDriverWdmGetDriverObject(driver: Handle) -> GuestPtr<DRIVER_OBJECT> {
        with_driver(driver, |driver| driver.object)
    }

    #[irql(ANY)]
    fn WdfWdmDriverGetWdfDriverHandle(_driver: Ignored<GuestPtr<DRIVER_OBJECT>>) -> Handle {
        with(|framework| framework.driver())
    }

    /// A miniport calls this at unload, because the framework does not change the dispatch table of a miniport driver.
    #[irql(DISPATCH)]
    fn WdfDriverMiniportUnload(driver: Handle) {
        object::needs_driver(driver);
        unload();
    }

    /// No version of the framework for the kernel supports this (`shared/core/fxdriverapi.cpp`).
    #[irql(PASSIVE), fixed]
    fn WdfDriverRegisterTraceInfo(
        _driver: Ignored<GuestPtr<DRIVER_OBJECT>>,
        _callback: Ignored<GuestPtr<Code>>,
        _context: Ignored<GuestPtr<Opaque>>,
    ) -> NtStatus {
        NtStatus::NotSupported
    }

    #[irql(PASSIVE)]
    fn WdfDriverIsVersionAvailable(
        driver: Handle,
        wanted: GuestPtr<WDF_DRIVER_VERSION_AVAILABLE_PARAMS>,
    ) -> Result<bool, Fault> {
        object::needs_driver(driver);
        let wanted = wanted.read()?;
        Ok(wanted.MajorVersion == 1 && wanted.MinorVersion <= kernel().config.os.kmdf().minor)
    }

    #[irql(ANY), fixed]
    fn WdfDriverErrorReportApiMissing(
        _driver: Ignored<Handle>,
        _extension: Ignored<GuestPtr<u16>>,
        _index: Ignored<u32>,
        _must_exist: Ignored<bool>,
    ) -> NtStatus {
        NtStatus::NotSupported
    }
}

/// The data of the driver object.
#[derive(Clone, Copy, Debug)]
struct Driver {
    object: GuestPtr<DRIVER_OBJECT>,
    registry_path: GuestPtr<u16>,
    device_add: GuestPtr<Code>,
    unload: GuestPtr<Code>,
    /// The framework handles the driver's IRPs.
    dispatches: bool,
}

impl Kind for Driver {
    fn name(&self) -> &'static str {
        "driver"
    }

    fn is_kept(&self) -> bool {
        true
    }
}

fn with_driver<R>(handle: Handle, look: impl FnOnce(&Driver) -> R) -> R {
    object::part(handle, |driver: &mut Driver| look(driver))
}

fn create_driver(
    call: &Call,
    driver: GuestPtr<DRIVER_OBJECT>,
    path: GuestPtr<UNICODE_STRING>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    config: GuestPtr<WDF_DRIVER_CONFIG>,
) -> Outcome<Handle> {
    structures::DRIVER_CONFIG.check(config)?;
    if thread::callback() != Some("DriverEntry") {
        let what = format_args!("calls WdfDriverCreate outside of DriverEntry");
        verify::find(Rule::FrameworkMisuse.named(Kmdf::DriverCreate), what);
    }
    if with(|framework| framework.driver()).non_null().is_some() {
        verify::find(Rule::FrameworkMisuse, format_args!("calls WdfDriverCreate a second time"));
        return fail(NtStatus::InvalidParameter);
    }
    let flags = config.DriverInitFlags().read()?;
    if flags & !(WdfDriverInitNonPnpDriver | WdfDriverInitNoDispatchOverride | WdfDriverInitCompanion) != 0 {
        return fail(NtStatus::InvalidParameter);
    }
    let attributes = Attributes::read(attributes, Options::CONSTRAINTS)?;
    let path = path.units()?;
    let registry_path: GuestPtr<u16> = nt_kernel::lock(&kernel().pool).new_objects(path.len() as u64 + 1);
    registry_path.write_all(&path)?;
    let config = config.read()?;
    let dispatches = flags & WdfDriverInitNoDispatchOverride == 0;
    // Without the framework's dispatch routines, the callbacks in the configuration have no effect.
    let (device_add, unload) =
        if dispatches { (config.EvtDriverDeviceAdd, config.EvtDriverUnload) } else { (GuestPtr::NULL, GuestPtr::NULL) };
    let data = Driver { object: driver, registry_path, device_add, unload, dispatches };
    let handle = object::create_with(call.from, &attributes, Some(Handle::NULL), data)?;
    let displaces =
        flags & (WdfDriverInitNonPnpDriver | WdfDriverInitNoDispatchOverride) == 0 || !config.EvtDriverUnload.is_null();
    with(|framework| {
        framework.driver_created(handle, displaces);
        framework.is_pnp = !config.EvtDriverDeviceAdd.is_null();
    });
    if dispatches {
        take_over(driver, flags & WdfDriverInitNonPnpDriver == 0, !unload.is_null())?;
    }
    Ok(handle)
}

/// Stores the framework's routines in the driver object, as Microsoft's framework does (core/fxdriver.cpp). Only a Plug
/// and Play driver has `AddDevice`. Other drivers can be unloaded only if they have `EvtDriverUnload`.
fn take_over(driver: GuestPtr<DRIVER_OBJECT>, is_pnp: bool, has_unload: bool) -> Result<(), Fault> {
    let add_device = if is_pnp { framework_routine(FRAMEWORK_ADD_DEVICE) } else { GuestPtr::NULL };
    let unload = if is_pnp || has_unload { framework_routine(FRAMEWORK_UNLOAD) } else { GuestPtr::NULL };
    driver.DriverExtension().read()?.AddDevice().write(add_device)?;
    driver.DriverUnload().write(unload)?;
    driver.MajorFunction().write([framework_routine(FRAMEWORK_DISPATCH); 28])
}

/// Returns the address of a routine that the framework stores in objects of the kernel.
pub(super) fn framework_routine(name: &str) -> GuestPtr<Code> {
    GuestPtr::new(kernel().table.address(name).unwrap_or_default())
}

/// Returns whether a routine is the framework's `AddDevice`.
pub(super) fn is_add_device(routine: GuestPtr<Code>) -> bool {
    routine == framework_routine(FRAMEWORK_ADD_DEVICE)
}

/// Returns whether the framework handles the driver's IRPs. A driver that is only bound, or that has called
/// `WdfDriverCreate` with `WdfDriverInitNoDispatchOverride`, handles them itself.
pub fn dispatches() -> bool {
    let handle = with(|framework| framework.driver());
    !handle.is_null() && with_driver(handle, |driver| driver.dispatches)
}

/// Returns the dispatch routine that the driver has stored in place of the framework's, or NULL.
pub(super) fn own_dispatch_routine(major: u8) -> Result<GuestPtr<Code>, Fault> {
    let handle = with(|framework| framework.driver());
    if !dispatches() {
        return Ok(GuestPtr::NULL);
    }
    let routines = with_driver(handle, |driver| driver.object).MajorFunction();
    let own = routines.element(major.into()).map_or(Ok(GuestPtr::NULL), GuestPtr::read)?;
    Ok(if own == framework_routine(FRAMEWORK_DISPATCH) { GuestPtr::NULL } else { own })
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
    control::report_left();
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
    init::report_left();
    life::report_accumulated(handle);
    life::delete(handle);
    with(|framework| framework.driver_gone());
    nt_kernel::lock(&kernel().pool).free_object(path.address());
}
