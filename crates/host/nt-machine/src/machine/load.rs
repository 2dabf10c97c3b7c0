//! Loads and unloads a driver, and checks that nothing is left afterwards.

use std::io as std_io;

use etw_types::NtStatus;

use super::{Machine, parts, plug};
use crate::cpu::switch;
use crate::exception::system_calls;
use crate::image;
use crate::kernel::io::{device, interrupt, plug_play, registration, stack};
use crate::kernel::pool::paging;
use crate::kernel::registry::keys;
use crate::kernel::sync::scheduler::Timer;
use crate::kernel::sync::thread;
use crate::kernel::{call_back, etw, kernel, lock};
use crate::loader::{ImportName, Layout, Mapped};
use crate::memory::GuestPtr;
use crate::memory::OrStop as _;
use crate::routine::PASSIVE;
use crate::verify::{self, GapKind, Rule, gap};
use crate::wdf;

/// The bits of the security cookie that the loader sets in place of the linker's default: the upper 16 bits are zero.
const COOKIE_MASK: u64 = 0x0000_FFFF_FFFF_FFFF;

/// Returns why this Windows does not even map the driver.
fn refused(layout: &Layout) -> Option<(NtStatus, String)> {
    let (os, needed) = (kernel().config.os, layout.subsystem_version);
    let nt = os.nt_version();
    if needed > (nt.major, nt.minor) {
        let reason = format!("the image needs Windows version {}.{}, {os} has version {nt}", needed.0, needed.1);
        return Some((NtStatus::InvalidImageFormat, reason));
    }
    layout.imports.iter().find_map(|import| match &import.name {
        ImportName::Name(name) if kernel().table.is_hidden(name) => {
            let hidden = || format!("the driver imports {name}, which is hidden");
            Some((NtStatus::DriverEntryPointNotFound, os.lacks(name).unwrap_or_else(hidden)))
        }
        _ => None,
    })
}

/// The result of loading a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The driver's entry point was called and returned this status.
    Entered(NtStatus),
    /// This Windows does not load the driver: the status and the reason.
    Refused(NtStatus, String),
}

impl Machine {
    /// Maps the driver and calls its entry point.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory for the image.
    pub fn load(self, layout: &Layout) -> std_io::Result<Loaded> {
        *lock(&kernel().refusal) = None;
        gap::forget_notes();
        if let Some((status, reason)) = refused(layout) {
            gap::add(GapKind::NotLoaded, reason.clone());
            return Ok(Loaded::Refused(status, reason));
        }
        let status = load(layout)?;
        // A framework that is too old refuses the driver while the driver's entry point runs.
        let refusal = lock(&kernel().refusal).take().filter(|_| !status.is_success());
        if !status.is_success() {
            gap::add(GapKind::NotLoaded, refusal.clone().unwrap_or_else(|| format!("DriverEntry returned {status}")));
        }
        Ok(refusal.map_or(Loaded::Entered(status), |reason| Loaded::Refused(status, reason)))
    }

    /// Calls the driver's unload routine and reports leaks. Returns `STATUS_INVALID_DEVICE_REQUEST` if the driver has
    /// no unload routine: Windows keeps such a driver loaded, so what it holds is not a leak.
    #[must_use]
    pub fn unload(self) -> NtStatus {
        unload()
    }
}

/// Maps the driver and calls its entry point. Returns the status of the entry point.
fn load(layout: &Layout) -> std_io::Result<NtStatus> {
    let table = &kernel().table;
    let address = |routine: unsafe extern "C" fn()| (routine as *const ()).expose_provenance() as u64;
    let cookie = kernel().scheduler.system_time().wrapping_mul(0x9E37_79B9_7F4A_7C15) & COOKIE_MASK | 1 << 40;
    let mapped = Mapped::new(layout, cookie, address(switch::guard_check), address(switch::guard_dispatch), |index| {
        layout.imports.get(index).map_or(0, |import| table.import(&import.module, &import.name.to_string()))
    })?;
    let (region, entry) = (mapped.region(), GuestPtr::new(mapped.entry()));
    paging::set_sections(mapped.pageable());
    verify::calls::forget();
    *lock(&parts().mapped) = Some(mapped.clone());
    image::loaded(region, layout);
    system_calls::forbid(region);
    if let Some(arena) = lock(&kernel().pool).arena() {
        system_calls::forbid_pool(arena);
    }
    parts().verifier.findings().set_base(region.base);
    let config = &kernel().config;
    let made =
        device::new_driver(GuestPtr::new(region.base), region.size as u32, entry, &config.name, &keys::service(config));
    let (driver, path) = made.or_stop();
    stack::add_scripted_devices().or_stop();
    let status = call_back("DriverEntry", PASSIVE, entry, &[driver.address(), path.address()]) as u32;
    let status = NtStatus::from_int(status);
    if status.is_success() {
        registration::reinitialize(driver);
        mapped.discard();
    } else {
        gone();
    }
    Ok(status)
}

/// Calls the driver's unload routine and reports what is left.
fn unload() -> NtStatus {
    // Windows unloads a driver after its devices have been removed.
    plug::remove_all();
    report_calls_that_did_not_fail();
    let driver = lock(&kernel().io).driver;
    let Some(routine) = driver.DriverUnload().read().or_stop().non_null() else {
        // Only a Plug and Play driver must have an unload routine.
        if device::add_device_routine(driver).or_stop().is_some() {
            let detail = format_args!("has AddDevice but no unload routine");
            verify::find_at(Rule::ObjectLeak, None, 0, detail);
        }
        return NtStatus::InvalidDeviceRequest;
    };
    call_back("DriverUnload", PASSIVE, routine, &[driver.address()]);
    gone();
    NtStatus::Success
}

/// Records the injected failures that did not happen, because the driver did not make the call.
fn report_calls_that_did_not_fail() {
    let calls = kernel().table.fallible_calls();
    for failure in &kernel().config.failures {
        let routine = &failure.routine;
        let count = calls.iter().find(|(name, _)| name == routine).map_or(0, |(_, count)| *count);
        if count < failure.call.unwrap_or(1) {
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            let detail = format!("{routine} did not fail: the driver called it {times}");
            gap::add_with(GapKind::NotFailed, detail, Vec::new());
        }
    }
}

/// Reports everything that the driver left behind as a leak, and removes its image.
fn gone() {
    let kernel = kernel();
    kernel.scheduler.settle();
    thread::report_leaks();
    let (timers, deferred) = kernel.scheduler.change(|state| {
        let own = |timer: &Timer| timer.from != 0;
        let timers: Vec<u64> = state.timers.drain(..).filter(own).map(|timer| timer.from).collect();
        (timers, state.deferred.drain(..).count() + state.work.drain(..).count())
    });
    for from in timers {
        verify::find_at(Rule::TimerLeak, Some("KeSetTimer"), from, format_args!("leaves a timer set"));
    }
    if deferred != 0 {
        verify::find_at(Rule::TimerLeak, None, 0, format_args!("leaves {deferred} DPCs or work items queued"));
    }
    let held = {
        let mut locks = lock(&kernel.locks);
        locks.forget_order();
        locks.take_held()
    };
    for from in held {
        verify::find_at(Rule::LockLeak, None, from, format_args!("still holds a lock"));
    }
    etw::report_leaks();
    wdf::report_leaks();
    lock(&kernel.io).report_leaks();
    lock(&kernel.notifications).report_leaks();
    registration::forget();
    plug_play::forget();
    lock(&kernel.callbacks).forget();
    interrupt::forget();
    lock(&kernel.objects).report_leaks();
    lock(&kernel.pool).report_leaks();
    let mapped = lock(&parts().mapped).take();
    if let Some(mapped) = mapped {
        paging::set_sections(Vec::new());
        mapped.withdraw();
        image::unloaded(mapped.region());
    }
}
