//! Binding a driver to the framework.

use etw_types::NtStatus;

use super::{Framework, with};
use crate::kernel::{self, kernel};
use crate::memory::guest;
use crate::routine::{Call, PASSIVE, Routine, routine};
use crate::verify::{self, Rule};

/// `WDF_BIND_INFO`: component at 8, version at 16, 20, 24, count of functions at 28, place for the table at 32.
const SIZES: [u32; 2] = [0x30, 0x58];
const COMPONENT: &str = "KmdfLibrary";
/// The version that is imitated: 1.33.
const MINOR: u32 = 33;

const OBJECT_NAME_NOT_FOUND: u64 = 0xC000_0034;
const REVISION_MISMATCH: u64 = 0xC000_0059;
const INVALID_PARAMETER: u64 = 0xC000_000D;

/// `WDF_DRIVER_GLOBALS`: driver at 0, `DisplaceDriverUnload` at 0x30.
const GLOBALS_SIZE: u64 = 0x38;
const DISPLACE_UNLOAD: u64 = 0x30;

/// The routines of WDFLDR.SYS, and what the framework puts into the driver object.
pub(crate) const LOADER: &[Routine] = &[
    routine!("WdfVersionBind", PASSIVE, bind).fails(NtStatus::ObjectNameNotFound),
    routine!("WdfVersionUnbind", PASSIVE, |_| unbind()),
    routine!(FRAMEWORK_UNLOAD, PASSIVE, |_| super::driver::unload()),
];

/// The unload routine that the framework gives a driver. No driver can import it: no export has such a name.
pub(super) const FRAMEWORK_UNLOAD: &str = "(framework unload)";

/// A driver that is bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) globals: u64,
    pub(super) table: u64,
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
    let functions = kernel().table.framework_functions();
    if major != 1 || minor > MINOR || count > functions {
        return REVISION_MISMATCH;
    }
    let (globals, table) = {
        let mut pool = kernel::lock(&kernel().pool);
        (pool.object(GLOBALS_SIZE), pool.object(u64::from(functions) * 8))
    };
    for index in 0..functions {
        guest::write(table + u64::from(index) * 8, kernel().table.framework(index));
    }
    guest::write(guest::read::<u64>(info + 32), table);
    guest::write(place, globals);
    with(|framework| framework.bound = Some(Bound { globals, table }));
    0
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
        pool.free_object(bound.table);
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
