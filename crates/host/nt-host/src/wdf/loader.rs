//! Binding a driver to the framework, as the one of the imitated Windows does.

use windows_releases::Client;

use super::{Framework, structures, with};
use crate::kernel::routine::{Call, PASSIVE, Routine, routine};
use crate::kernel::{self, kernel};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// `WDF_BIND_INFO`: component at 8, version at 16, 20, 24, count of functions at 28, place for the table at 32.
/// `WDF_BIND_INFO2` adds addresses of variables of the driver: the oldest version at 48, whether the driver is newer than
/// the framework at 56, the count of functions at 64, the count of structures at 72, the table of their sizes at 80.
const SIZES: [u32; 2] = [0x30, 0x58];
const COMPONENT: &str = "KmdfLibrary";

const OBJECT_NAME_NOT_FOUND: u64 = 0xC000_0034;
const INVALID_PARAMETER: u64 = 0xC000_000D;

/// `WDF_DRIVER_GLOBALS`: driver at 0, `DisplaceDriverUnload` at 0x30.
const GLOBALS_SIZE: u64 = 0x38;
const DISPLACE_UNLOAD: u64 = 0x30;

/// The routines of WDFLDR.SYS, and what the framework puts into the driver object.
pub(crate) const LOADER: &[Routine] = &[
    routine("WdfVersionBind", PASSIVE, bind).fails(0xC000_0034),
    routine("WdfVersionUnbind", PASSIVE, |_| {
        unbind();
        0
    }),
    routine(FRAMEWORK_UNLOAD, PASSIVE, |_| {
        super::driver::unload();
        0
    }),
];

/// The unload routine that the framework gives a driver. No driver can import it: no export has such a name.
pub(super) const FRAMEWORK_UNLOAD: &str = "(framework unload)";

/// A driver that is bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) globals: u64,
    /// None if the functions were copied into the driver's own table.
    pub(super) table: Option<u64>,
    /// The sizes of structures, for a driver that knows how to ask.
    pub(super) structures: Option<u64>,
}

/// Arguments: driver object, registry path, bind information, place for the globals.
fn bind(call: &Call) -> u64 {
    let (info, place) = (call.arg(2), call.arg(3));
    let size: u32 = guest::read(info);
    let component = String::from_utf16_lossy(&guest::terminated::<u16>(guest::read(info + 8)));
    let (major, minor, count): (u32, u32, u32) =
        (guest::read(info + 16), guest::read(info + 20), guest::read(info + 28));
    if !SIZES.contains(&size) || place == 0 {
        verify::find(Rule::BadArgument, format_args!("bind information of {size:#x} bytes"));
        return INVALID_PARAMETER;
    }
    if component != COMPONENT {
        return OBJECT_NAME_NOT_FOUND;
    }
    let extended = size == SIZES[1];
    let minimum = extended.then(|| guest::read(guest::read::<u64>(info + 48)));
    let client = Client { major, minor, functions: count, minimum };
    let os = kernel().config.os;
    let binding = match os.kmdf().bind(client) {
        Ok(binding) => binding,
        Err(refusal) => {
            *kernel::lock(&kernel().refusal) = Some(refusal.explain(client, os));
            return INVALID_PARAMETER;
        }
    };
    let place_of_table = guest::read::<u64>(info + 32);
    let mut pool = kernel::lock(&kernel().pool);
    let globals = pool.object(GLOBALS_SIZE);
    let table = if binding.copies_table {
        fill(place_of_table, binding.functions);
        None
    } else {
        // Functions that this framework lacks are there as well: a call of one is a finding with its name.
        let functions = kernel().table.framework_functions();
        let table = pool.object(u64::from(functions) * 8);
        fill(table, functions);
        guest::write(place_of_table, table);
        Some(table)
    };
    let sizes: Vec<u64> = structures::sizes(os.kmdf()).collect();
    let structures = extended.then(|| pool.object(sizes.len() as u64 * 8));
    drop(pool);
    if let Some(structures) = structures {
        for (place, size) in (structures..).step_by(8).zip(&sizes) {
            guest::write(place, *size);
        }
        guest::write(guest::read::<u64>(info + 72), sizes.len() as u32);
        guest::write(guest::read::<u64>(info + 80), structures);
        guest::write(info + 28, binding.functions);
        guest::write(guest::read::<u64>(info + 56), u8::from(binding.client_is_newer));
        guest::write(guest::read::<u64>(info + 64), binding.functions);
    }
    guest::write(place, globals);
    with(|framework| framework.bound = Some(Bound { globals, table, structures }));
    0
}

/// Puts the first functions of the framework into a table.
fn fill(table: u64, functions: u32) {
    for index in 0..functions {
        guest::write(table + u64::from(index) * 8, kernel().table.framework(index));
    }
}

fn unbind() {
    // An entry point that fails after it created the driver: documented is that the framework deletes it, without
    // calling its unload callback.
    super::driver::delete();
    super::report_leaks();
    let bound = with(|framework| framework.bound.take());
    if let Some(bound) = bound {
        let mut pool = kernel::lock(&kernel().pool);
        pool.free_object(bound.globals);
        for table in [bound.table, bound.structures].into_iter().flatten() {
            pool.free_object(table);
        }
    }
}

impl Framework {
    /// The driver was created: from now on its handle is in the globals, and the stub calls the framework at unload.
    pub(super) fn driver_created(&self, driver: u64) {
        if let Some(bound) = self.bound {
            guest::write(bound.globals, driver);
            guest::write(bound.globals + DISPLACE_UNLOAD, 1_u8);
        }
    }

    /// The driver was deleted.
    pub(super) fn driver_gone(&self) {
        if let Some(bound) = self.bound {
            guest::write(bound.globals, 0_u64);
        }
    }

    /// The handle of the driver.
    pub(super) fn driver(&self) -> u64 {
        self.bound.map_or(0, |bound| guest::read(bound.globals))
    }
}
