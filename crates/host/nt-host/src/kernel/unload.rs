//! Loading and unloading a driver, and what must be gone afterwards.

use std::io as std_io;

use etw_types::NtStatus;

use super::devices::{self, UNLOAD};
use super::routine::PASSIVE;
use super::{call_back, images, kernel, lock};
use crate::cpu::{switch, walk};
use crate::loader::{ImportName, Layout, Mapped};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// `STATUS_DRIVER_ENTRYPOINT_NOT_FOUND`: an import that this Windows does not have.
pub(crate) const ENTRY_NOT_FOUND: NtStatus = NtStatus::from_int(0xC000_0263);
/// What Windows' loader replaces: the value that a linker puts into the security cookie.
const COOKIE_MASK: u64 = 0x0000_FFFF_FFFF_FFFF;

/// `STATUS_INVALID_IMAGE_FORMAT`
const INVALID_IMAGE: NtStatus = NtStatus::from_int(0xC000_007B);

/// Why this Windows does not even map the driver.
fn refused(layout: &Layout) -> Option<(NtStatus, String)> {
    let (os, needed) = (kernel().config.os, layout.subsystem_version);
    let nt = os.nt_version();
    if needed > (nt.major, nt.minor) {
        return Some((INVALID_IMAGE, format!("it needs {}.{}, {os} is {nt}", needed.0, needed.1)));
    }
    layout.imports.iter().find_map(|import| match &import.name {
        ImportName::Name(name) if kernel().table.is_hidden(name) => {
            let hidden = || format!("{name}, which the driver imports, is hidden");
            Some((ENTRY_NOT_FOUND, os.lacks(name).unwrap_or_else(hidden)))
        }
        _ => None,
    })
}

/// Maps the driver and calls its entry point. Returns its status. If this Windows does not load the driver, the reason is
/// in [`Kernel::refusal`](super::Kernel::refusal).
pub(crate) fn load(layout: &Layout) -> std_io::Result<NtStatus> {
    let table = &kernel().table;
    *lock(&kernel().refusal) = None;
    if let Some((status, reason)) = refused(layout) {
        *lock(&kernel().refusal) = Some(reason);
        return Ok(status);
    }
    let address = |routine: unsafe extern "C" fn()| (routine as *const ()).expose_provenance() as u64;
    let cookie = kernel().scheduler.system_time().wrapping_mul(0x9E37_79B9_7F4A_7C15) & COOKIE_MASK | 1 << 40;
    let mapped = Mapped::new(layout, cookie, address(switch::guard_check), address(switch::guard_dispatch), |index| {
        layout.imports.get(index).map_or(0, |import| table.import(&import.name.to_string()))
    })?;
    let region = mapped.region();
    walk::use_tables(layout);
    images::loaded(mapped.clone());
    let config = &kernel().config;
    let path = super::registry_keys::service(config);
    let (driver, registry) = devices::new_driver(region.base, region.size as u32, mapped.entry(), &config.name, &path);
    let status = call_back("DriverEntry", PASSIVE, mapped.entry(), &[driver, registry]) as u32;
    let status = NtStatus::from_int(status);
    if status.is_success() {
        super::registrations::reinitialize(driver);
        mapped.discard();
    } else {
        gone();
    }
    Ok(status)
}

/// Calls the driver's unload routine and looks at what is left.
pub(crate) fn unload() {
    // Windows unloads a driver once its devices are gone.
    super::plug::remove_all();
    let driver = lock(&kernel().io).driver;
    match guest::read::<u64>(driver + UNLOAD) {
        0 => verify::find_at(Rule::ObjectLeak, None, 0, format_args!("the driver has no unload routine")),
        routine => {
            call_back("DriverUnload", PASSIVE, routine, &[driver]);
        }
    }
    gone();
}

/// The driver is gone: whatever is left of it is a leak.
fn gone() {
    let kernel = kernel();
    kernel.scheduler.settle();
    super::threads::report_leaks();
    let (timers, deferred) = kernel.scheduler.change(|state| {
        let timers: Vec<u64> = state.timers.drain(..).map(|timer| timer.from).collect();
        (timers, state.deferred.drain(..).count() + state.work.drain(..).count())
    });
    for from in timers {
        verify::find_at(Rule::TimerLeak, Some("KeSetTimer"), from, format_args!("a timer is still set"));
    }
    if deferred != 0 {
        verify::find_at(Rule::TimerLeak, None, 0, format_args!("{deferred} deferred calls or work items are queued"));
    }
    let held = {
        let mut locks = lock(&kernel.locks);
        locks.forget_order();
        locks.take_held()
    };
    for from in held {
        verify::find_at(Rule::LockLeak, None, from, format_args!("a lock is still held"));
    }
    super::etw::report_leaks();
    crate::wdf::report_leaks();
    lock(&kernel.io).report_leaks();
    super::registrations::forget();
    lock(&kernel.objects).report_leaks();
    lock(&kernel.pool).report_leaks();
    images::unload();
}
