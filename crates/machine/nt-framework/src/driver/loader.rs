//! Binds a driver to the framework by the rules of the imitated Windows.

use etw_types::NtStatus;
use nt_kernel::io::device::FRAMEWORK_DISPATCH;
use nt_kernel::kernel;
use nt_processor::image;
use nt_processor::layout::{
    DEVICE_OBJECT, DRIVER_OBJECT, IRP, KDPC, UNICODE_STRING, WDF_BIND_INFO, WDF_BIND_INFO2, WDF_DRIVER_GLOBALS,
};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, Ignored, Outcome, PASSIVE, fail, routines};
use nt_verifier::verify::{self, Rule};

use crate::driver::library;
use crate::driver::{FRAMEWORK_ADD_DEVICE, FRAMEWORK_DPC, FRAMEWORK_UNLOAD};
use crate::state::{Bound, Functions, with};
use crate::{Handle, structures};

const COMPONENT: &str = "KmdfLibrary";

// The routines of WDFLDR.SYS, and those that the framework stores in the driver object.
routines! { pub(crate) LOADER;
    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn WdfVersionBind(
        &call,
        driver: GuestPtr<DRIVER_OBJECT>,
        registry_path: GuestPtr<UNICODE_STRING>,
        info: GuestPtr<WDF_BIND_INFO>,
        globals: GuestPtr<GuestPtr<WDF_DRIVER_GLOBALS>>,
    ) -> Outcome {
        bind(call.from, driver, registry_path, info, globals)
    }

    #[irql(PASSIVE)]
    fn WdfVersionUnbind(
        _registry_path: Ignored<GuestPtr<UNICODE_STRING>>,
        info: GuestPtr<WDF_BIND_INFO>,
        globals: GuestPtr<WDF_DRIVER_GLOBALS>,
    ) -> NtStatus {
        if !library::unbind(info, globals.cast()) {
            unbind();
        }
        NtStatus::Success
    }

    #[irql(PASSIVE), named(FRAMEWORK_UNLOAD)]
    fn unload(_driver: Ignored<GuestPtr<DRIVER_OBJECT>>) {
        crate::driver::unload();
    }

    #[irql(PASSIVE), named(FRAMEWORK_ADD_DEVICE)]
    fn add_device(_driver: Ignored<GuestPtr<DRIVER_OBJECT>>, physical: GuestPtr<DEVICE_OBJECT>) -> Outcome {
        crate::pnp::add::add(physical)
    }

    #[irql(DISPATCH), named(FRAMEWORK_DPC)]
    fn dpc(
        _dpc: Ignored<GuestPtr<KDPC>>,
        object: Handle,
        _argument1: Ignored<GuestPtr<Opaque>>,
        _argument2: Ignored<GuestPtr<Opaque>>,
    ) {
        crate::work::run_dpc(object);
    }

    #[irql(DISPATCH), named(FRAMEWORK_DISPATCH)]
    fn dispatch(device: GuestPtr<DEVICE_OBJECT>, irp: GuestPtr<IRP>) -> Outcome<NtStatus> {
        crate::queue::dispatch::receive(device, irp)
    }
}

fn bind(
    from: u64,
    driver: GuestPtr<DRIVER_OBJECT>,
    registry_path: GuestPtr<UNICODE_STRING>,
    place: GuestPtr<WDF_BIND_INFO>,
    place_of_globals: GuestPtr<GuestPtr<WDF_DRIVER_GLOBALS>>,
) -> Outcome {
    let size = place.Size().read()? as usize;
    let extended = size == size_of::<WDF_BIND_INFO2>();
    if !(extended || size == size_of::<WDF_BIND_INFO>()) || place_of_globals.is_null() {
        verify::find(
            Rule::BadArgument,
            format_args!("invalid WDF_BIND_INFO: size {size:#x}, or no address for the globals"),
        );
        return fail(NtStatus::InvalidParameter);
    }
    if !image::is_other(from) {
        verify::framework_bound();
    }
    let info = place.read()?;
    if info.Component.text()? != COMPONENT {
        return fail(NtStatus::ObjectNameNotFound);
    }
    if library::bind(from, driver, registry_path, place, place_of_globals.cast())? {
        return Ok(());
    }
    let extension = extended.then(|| place.cast::<WDF_BIND_INFO2>().read()).transpose()?;
    let client = library::client(place)?;
    let os = kernel().config.os;
    let binding = match os.kmdf().bind(client) {
        Ok(binding) => binding,
        Err(refusal) => {
            *nt_kernel::lock(&kernel().refusal) = Some(refusal.explain(client, os));
            return fail(NtStatus::InvalidParameter);
        }
    };
    let globals = nt_kernel::lock(&kernel().pool).new_object();
    let table = if binding.copies_table {
        fill(info.FuncTable.cast(), binding.functions)?;
        None
    } else {
        // The table also has the functions that this framework version lacks, so that a call of one is a finding with
        // its name.
        let functions = kernel().table.framework_functions();
        let table: Functions = nt_kernel::lock(&kernel().pool).new_objects(functions.into());
        fill(table, functions)?;
        info.FuncTable.write(table)?;
        Some(table)
    };
    let mut structures = None;
    if let Some(extension) = extension {
        let sizes: Vec<u64> = structures::sizes(os.kmdf()).collect();
        let copy: GuestPtr<u64> = nt_kernel::lock(&kernel().pool).new_objects(sizes.len() as u64);
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

/// Stores the first `functions` functions of the framework in a table.
fn fill(table: Functions, functions: u32) -> Result<(), Fault> {
    let all: Vec<_> = (0..functions).map(|index| GuestPtr::new(kernel().table.framework(index))).collect();
    table.write_all(&all)
}

fn unbind() {
    // The driver object still exists if `DriverEntry` failed after it created the object. It is documented that the
    // framework then deletes the object without calling `EvtDriverUnload`.
    crate::driver::delete();
    crate::object::life::report_leaks();
    let bound = with(|framework| framework.bound.take());
    if let Some(bound) = bound {
        let mut pool = nt_kernel::lock(&kernel().pool);
        let tables = [bound.table.map(GuestPtr::address), bound.structures.map(GuestPtr::address)];
        for memory in tables.into_iter().flatten().chain([bound.globals.address()]) {
            pool.free_object(memory);
        }
    }
}
