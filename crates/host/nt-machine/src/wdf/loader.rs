//! Binds a driver to the framework by the rules of the imitated Windows.

use etw_types::NtStatus;
use windows_releases::Client;

use super::{Framework, Handle, library, structures, with};
use crate::kernel::{self, kernel};
use crate::layout::{WDF_BIND_INFO, WDF_BIND_INFO2, WDF_DRIVER_GLOBALS};
use crate::memory::{Code, Fault, GuestPtr, OrStop as _};
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, fail, routine};
use crate::verify::{self, Rule};

const COMPONENT: &str = "KmdfLibrary";

/// The routines of WDFLDR.SYS, and those that the framework stores in the driver object.
pub(crate) const LOADER: &[Routine] = &[
    routine!("WdfVersionBind", PASSIVE, bind).fails(NtStatus::ObjectNameNotFound),
    // Arguments: registry path, bind information, globals.
    routine!("WdfVersionUnbind", PASSIVE, |call| {
        if !library::unbind(call.ptr(1), call.ptr(2)) {
            unbind();
        }
    }),
    routine!(FRAMEWORK_UNLOAD, PASSIVE, |_| super::driver::unload()),
    // Arguments: driver, physical device.
    routine!(FRAMEWORK_ADD_DEVICE, PASSIVE, |call| super::device::add(call.ptr(1))),
    // Arguments: device, IRP.
    routine!(FRAMEWORK_DISPATCH, DISPATCH, |call| super::preprocess::receive(call.ptr(0), call.ptr(1))),
];

/// The routines that the framework stores in the driver object. No driver can import them, because no export can have
/// these names.
pub(super) const FRAMEWORK_UNLOAD: &str = "(framework unload)";
pub(super) const FRAMEWORK_ADD_DEVICE: &str = "(framework add device)";
pub(super) const FRAMEWORK_DISPATCH: &str = "(framework dispatch)";

type Functions = GuestPtr<GuestPtr<Code>>;

/// A bound driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    globals: GuestPtr<WDF_DRIVER_GLOBALS>,
    /// The table of functions; `None` if the functions were copied into the driver's table.
    table: Option<Functions>,
    /// The minor version that the driver was built for.
    minor: u32,
    /// The table of structure sizes, for a driver that binds with `WDF_BIND_INFO2`.
    structures: Option<GuestPtr<u64>>,
}

/// Arguments: driver object, registry path, bind information, place for the globals.
fn bind(call: &Call) -> Outcome {
    let (place, place_of_globals) = (call.ptr::<WDF_BIND_INFO>(2), call.ptr::<GuestPtr<WDF_DRIVER_GLOBALS>>(3));
    let size = place.Size().read()? as usize;
    let extended = size == size_of::<WDF_BIND_INFO2>();
    if !(extended || size == size_of::<WDF_BIND_INFO>()) || place_of_globals.is_null() {
        verify::find(
            Rule::BadArgument,
            format_args!("invalid WDF_BIND_INFO: size {size:#x}, or no address for the globals"),
        );
        return fail(NtStatus::InvalidParameter);
    }
    let info = place.read()?;
    if info.Component.text()? != COMPONENT {
        return fail(NtStatus::ObjectNameNotFound);
    }
    if library::bind(call.from, call.ptr(0), call.ptr(1), place, place_of_globals.cast())? {
        return Ok(());
    }
    let extension = extended.then(|| place.cast::<WDF_BIND_INFO2>().read()).transpose()?;
    let client = client(place)?;
    let os = kernel().config.os;
    let binding = match os.kmdf().bind(client) {
        Ok(binding) => binding,
        Err(refusal) => {
            *kernel::lock(&kernel().refusal) = Some(refusal.explain(client, os));
            return fail(NtStatus::InvalidParameter);
        }
    };
    let globals = kernel::lock(&kernel().pool).new_object();
    let table = if binding.copies_table {
        fill(info.FuncTable.cast(), binding.functions)?;
        None
    } else {
        // The table also has the functions that this framework version lacks, so that a call of one is a finding with
        // its name.
        let functions = kernel().table.framework_functions();
        let table: Functions = kernel::lock(&kernel().pool).new_objects(functions.into());
        fill(table, functions)?;
        info.FuncTable.write(table)?;
        Some(table)
    };
    let mut structures = None;
    if let Some(extension) = extension {
        let sizes: Vec<u64> = structures::sizes(os.kmdf()).collect();
        let copy: GuestPtr<u64> = kernel::lock(&kernel().pool).new_objects(sizes.len() as u64);
        copy.write_all(&sizes)?;
        extension.StructCount.write(sizes.len() as u32)?;
        extension.StructTable.write(copy)?;
        place.FuncCount().write(binding.functions)?;
        extension.ClientVersionHigher.write(binding.client_is_newer.into())?;
        extension.FuncCountPtr.write(binding.functions)?;
        structures = Some(copy);
    }
    place_of_globals.write(globals)?;
    with(|framework| framework.bound = Some(Bound { globals, table, minor: info.Minor, structures }));
    Ok(())
}

/// Returns what a driver says about the framework that it needs.
pub(super) fn client(place: GuestPtr<WDF_BIND_INFO>) -> Result<Client, Fault> {
    let info = place.read()?;
    let extension = place.cast::<WDF_BIND_INFO2>();
    let minimum = if info.Size as usize == size_of::<WDF_BIND_INFO2>() {
        Some(extension.MinimumVersionRequired().read()?.read()?)
    } else {
        None
    };
    Ok(Client { major: info.Major, minor: info.Minor, functions: info.FuncCount, minimum })
}

/// Stores the first `functions` functions of the framework in a table.
fn fill(table: Functions, functions: u32) -> Result<(), Fault> {
    let all: Vec<_> = (0..functions).map(|index| GuestPtr::new(kernel().table.framework(index))).collect();
    table.write_all(&all)
}

fn unbind() {
    // The driver object still exists if `DriverEntry` failed after it created the object. It is documented that the
    // framework then deletes the object without calling `EvtDriverUnload`.
    super::driver::delete();
    super::report_leaks();
    let bound = with(|framework| framework.bound.take());
    if let Some(bound) = bound {
        let mut pool = kernel::lock(&kernel().pool);
        let tables = [bound.table.map(GuestPtr::address), bound.structures.map(GuestPtr::address)];
        for memory in tables.into_iter().flatten().chain([bound.globals.address()]) {
            pool.free_object(memory);
        }
    }
}

impl Framework {
    /// Stores the handle of a new driver object in the globals. If `displaces` is set, the driver's entry stub replaces
    /// the unload routine with its own, which calls the framework.
    pub(super) fn driver_created(&self, driver: Handle, displaces: bool) {
        if let Some(bound) = self.bound {
            bound.globals.Driver().write(driver.as_int()).or_stop();
            bound.globals.DisplaceDriverUnload().write(displaces.into()).or_stop();
        }
    }

    /// Removes the handle of the deleted driver object from the globals.
    pub(super) fn driver_gone(&self) {
        if let Some(bound) = self.bound {
            bound.globals.Driver().write(0).or_stop();
        }
    }

    /// Returns the minor version of the framework that the driver was built for. It determines the sizes of the
    /// driver's structures.
    pub(super) fn client_minor(&self) -> u32 {
        self.bound.map_or(u32::MAX, |bound| bound.minor)
    }

    /// Returns the handle of the driver object, or NULL.
    pub(super) fn driver(&self) -> Handle {
        self.bound.map_or(Handle::NULL, |bound| Handle::new(bound.globals.Driver().read().or_stop()))
    }
}
