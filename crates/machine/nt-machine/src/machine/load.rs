//! Loads and unloads images, and checks that nothing is left afterwards.

use std::io as std_io;

use etw_types::NtStatus;
use nt_kernel::config::BeforeEntry;
use nt_kernel::io::device::stack;
use nt_kernel::io::hardware::interrupt;
use nt_kernel::io::pnp::{notification, power_framework};
use nt_kernel::io::{device, modules, registration};
use nt_kernel::pool::paging;
use nt_kernel::registry::keys;
use nt_kernel::sync::scheduler::Timer;
use nt_kernel::sync::thread;
use nt_kernel::{Kernel, call_back, etw, kernel, lock};
use nt_processor::cpu::switch;
use nt_processor::image::{self, DRIVER, Leaving};
use nt_processor::layout::DRIVER_OBJECT;
use nt_processor::memory::GuestPtr;
use nt_processor::memory::OrStop as _;
use nt_verifier::exception::system_calls;
use nt_verifier::routine::PASSIVE;
use nt_verifier::verify::{self, GapKind, Rule, gap};

use super::guests::{Guest, Guests, INITIALIZE, Role};
use super::{Machine, layers, plug};
use crate::loader::{Import, Mapped};

/// The bits of the security cookie that the loader sets in place of the linker's default: the upper 16 bits are zero.
const COOKIE_MASK: u64 = 0x0000_FFFF_FFFF_FFFF;

/// An image that is loaded.
#[derive(Clone, Debug)]
pub(super) struct Resident {
    number: u32,
    name: String,
    mapped: Mapped,
    driver: GuestPtr<DRIVER_OBJECT>,
    exports: Vec<(String, u32)>,
    /// It was loaded as an export driver: it is unloaded with `DllUnload`.
    is_library: bool,
}

impl Resident {
    /// Returns the address of an exported symbol.
    fn export(&self, name: &str) -> Option<u64> {
        let (_, rva) = self.exports.iter().find(|(known, _)| known == name)?;
        Some(self.mapped.region().base + u64::from(*rva))
    }
}

/// Returns why this Windows does not even map an image.
fn refused(guest: &Guest) -> Option<(NtStatus, String)> {
    let Kernel { config, table, .. } = kernel();
    let os = config.os;
    let needed = guest.layout.subsystem_version;
    let nt = os.nt_version();
    let image = guest.described();
    if needed > (nt.major, nt.minor) {
        let reason = format!("{image} needs Windows version {}.{}, {os} has version {nt}", needed.0, needed.1);
        return Some((NtStatus::InvalidImageFormat, reason));
    }
    guest.layout.imports.iter().find_map(|import| {
        let name = import.name.to_string();
        if let Some(library) = exporter(import) {
            let reason = format!("{image} imports {name} from {}, which does not export it", library.name);
            return library.export(&name).is_none().then_some((NtStatus::DriverEntryPointNotFound, reason));
        }
        table.is_hidden(&name).then(|| {
            let hidden = || format!("{image} imports {name}, which is hidden");
            (NtStatus::DriverEntryPointNotFound, os.lacks(&name).unwrap_or_else(hidden))
        })
    })
}

/// Returns the loaded image that an import comes from.
fn exporter(import: &Import) -> Option<Resident> {
    lock(&layers().residents).iter().find(|resident| resident.name.eq_ignore_ascii_case(&import.module)).cloned()
}

/// Returns the address of an import: in a loaded image, or in the kernel.
fn resolve(import: &Import) -> u64 {
    let name = import.name.to_string();
    let exported = exporter(import).and_then(|library| library.export(&name));
    exported.unwrap_or_else(|| kernel().table.import(&import.module, &name))
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
    /// Maps the images and calls their entry points, the driver under test last.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory for an image.
    pub fn load(self, guests: &Guests) -> std_io::Result<Loaded> {
        *lock(&kernel().refusal) = None;
        gap::forget_notes();
        verify::calls::forget();
        stack::add_scripted_devices().or_stop();
        let loaded = load_all(guests);
        if !matches!(loaded, Ok(Loaded::Entered(status)) if status.is_success()) {
            unload_others();
        }
        if let Ok(Loaded::Refused(_, reason)) = &loaded {
            gap::add(GapKind::NotLoaded, reason.clone());
        } else if let Ok(Loaded::Entered(status)) = &loaded
            && !status.is_success()
        {
            gap::add(GapKind::NotLoaded, format!("DriverEntry returned {status}"));
        }
        loaded
    }

    /// Calls the driver's unload routine and reports leaks, then unloads the other images in reverse order. Returns
    /// `STATUS_INVALID_DEVICE_REQUEST` if the driver has no unload routine: Windows keeps such a driver loaded, so what
    /// it holds is not a leak.
    #[must_use]
    pub fn unload(self) -> NtStatus {
        let status = unload();
        if status.is_success() {
            unload_others();
        }
        status
    }
}

fn load_all(guests: &Guests) -> std_io::Result<Loaded> {
    for guest in guests.others() {
        if let Some((status, reason)) = refused(guest) {
            return Ok(Loaded::Refused(status, reason));
        }
        let is_library = guests.is_library(guest);
        let status = load(guest, is_library)?;
        if !status.is_success() {
            let entry = if is_library { INITIALIZE } else { "DriverEntry" };
            let reason = format!("{entry} of {} returned {status}", guest.name);
            return Ok(Loaded::Refused(status, reason));
        }
        // A loader that is a guest does not say whether a framework has registered.
        if guest.role == Role::Framework && !guests.has_loader() && !nt_framework::has_library() {
            let reason = format!("{} is not a framework: its DriverEntry did not call WdfRegisterLibrary", guest.name);
            return Ok(Loaded::Refused(NtStatus::InvalidImageFormat, reason));
        }
    }
    let driver = guests.driver();
    if let Some((status, reason)) = refused(driver) {
        return Ok(Loaded::Refused(status, reason));
    }
    if guests.has_loader() {
        verify::framework_bound();
    }
    let status = load(driver, false)?;
    // A framework that is too old refuses the driver while the driver's entry point runs.
    let refusal = lock(&kernel().refusal).take().or_else(|| guests.refusal().cloned());
    let refusal = refusal.filter(|_| !status.is_success());
    Ok(refusal.map_or(Loaded::Entered(status), |reason| Loaded::Refused(status, reason)))
}

/// Maps an image and calls its entry point, `DllInitialize` if it is loaded as an export driver. Returns the status.
fn load(guest: &Guest, is_library: bool) -> std_io::Result<NtStatus> {
    let Kernel { config, io, pool, registry, scheduler, .. } = kernel();
    let number = guest.number;
    let layout = &guest.layout;
    let address = |routine: unsafe extern "C" fn()| (routine as *const ()).expose_provenance() as u64;
    let cookie = scheduler.system_time().wrapping_mul(0x9E37_79B9_7F4A_7C15) & COOKIE_MASK | 1 << 40;
    let mapped = Mapped::new(layout, cookie, address(switch::guard_check), address(switch::guard_dispatch), |index| {
        layout.imports.get(index).map_or(0, resolve)
    })?;
    let region = mapped.region();
    let entry = GuestPtr::new(mapped.entry());
    paging::add_sections(mapped.pageable());
    image::loaded(number, &guest.name, guest.role == Role::Framework, region, layout);
    system_calls::forbid(region);
    if let Some(arena) = lock(pool).arena() {
        system_calls::forbid_pool(arena);
    }
    layers().verifier.findings().set_base(number, region.base);
    let service = guest.service();
    lock(registry).add_service(service);
    let made =
        device::new_driver(GuestPtr::new(region.base), region.size as u32, entry, service, &keys::service(service));
    let (driver, path) = made.or_stop();
    if number == DRIVER {
        lock(io).driver = driver;
        // The callbacks first: they copy instructions, which have no breakpoints yet.
        if let Some(callbacks) = &config.callbacks {
            callbacks.install(region.base)?;
        }
        if let Some(coverage) = &config.coverage {
            coverage.install(region.base);
        }
        if let Some(BeforeEntry(function)) = &config.before_entry {
            function(region.base);
        }
    }
    let name = guest.name.clone();
    let exports = layout.exports.clone();
    let resident = Resident { number, name, mapped: mapped.clone(), driver, exports, is_library };
    lock(&layers().residents).push(resident.clone());
    let initialize = if is_library { resident.export(INITIALIZE).map(GuestPtr::new) } else { None };
    let status = match initialize {
        Some(initialize) => call_back(INITIALIZE, PASSIVE, initialize, &[path.address()]),
        None => call_back("DriverEntry", PASSIVE, entry, &[driver.address(), path.address()]),
    };
    device::free_registry_path(path).or_stop();
    let status = NtStatus::from_int(status as u32);
    if status.is_success() {
        registration::reinitialize(driver);
        mapped.discard();
    } else {
        gone(&resident);
    }
    Ok(status)
}

/// Calls the driver's unload routine and reports what is left.
fn unload() -> NtStatus {
    // Windows unloads a driver after its devices have been removed.
    plug::remove_all();
    report_calls_that_did_not_fail();
    let driver = lock(&kernel().io).driver;
    let filtered = nt_filters::unload(driver);
    match filtered {
        // A minifilter without an unload callback stays loaded.
        Some((NtStatus::FltDoNotDetach, _)) => return NtStatus::InvalidDeviceRequest,
        Some((_, Some(refused))) => {
            let detail = format!("the minifilter refused to be unloaded with {refused}");
            gap::add_with(GapKind::NotRemoved, detail, Vec::new());
        }
        _ => {}
    }
    let routine = driver.DriverUnload().read().or_stop().non_null();
    if let Some(routine) = routine {
        call_back("DriverUnload", PASSIVE, routine, &[driver.address()]);
    } else if filtered.is_none() {
        // Only a Plug and Play driver must have an unload routine.
        if device::add_device_routine(driver).or_stop().is_some() {
            let detail = format_args!("has AddDevice but no unload routine");
            verify::find_at(Rule::ObjectLeak, None, 0, detail);
        }
        return NtStatus::InvalidDeviceRequest;
    }
    let resident = lock(&layers().residents).iter().find(|resident| resident.number == DRIVER).cloned();
    if let Some(resident) = resident {
        gone(&resident);
    }
    NtStatus::Success
}

/// Unloads the images that the driver needed, the last one first. An image without an unload routine goes as an export
/// driver does, which Windows unloads with the last driver that imports from it.
fn unload_others() {
    loop {
        let Some(resident) = lock(&layers().residents).last().cloned() else { return };
        nt_framework::decommission(resident.mapped.region());
        nt_filters::unload(resident.driver);
        if resident.is_library {
            if let Some(routine) = resident.export("DllUnload") {
                call_back("DllUnload", PASSIVE, GuestPtr::new(routine), &[]);
            }
        } else if let Some(routine) = resident.driver.DriverUnload().read().or_stop().non_null() {
            call_back("DriverUnload", PASSIVE, routine, &[resident.driver.address()]);
        }
        gone(&resident);
    }
}

/// Records the injected failures that did not happen, because the driver did not make the call.
fn report_calls_that_did_not_fail() {
    let Kernel { config, table, .. } = kernel();
    let calls = table.fallible_calls();
    for failure in &config.failures {
        let routine = &failure.routine;
        let count = calls.iter().find(|(name, _)| name == routine).map_or(0, |(_, count)| *count);
        if count < failure.call.unwrap_or(1) {
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            let detail = format!("{routine} did not fail: the driver called it {times}");
            gap::add_with(GapKind::NotFailed, detail, Vec::new());
        }
    }
}

/// Reports everything that an image left behind as a leak, and removes the image.
fn gone(resident: &Resident) {
    let kernel = kernel();
    let leaving = Leaving(resident.number);
    kernel.scheduler.settle();
    thread::report_leaks(leaving);
    let (timers, deferred) = kernel.scheduler.change(|state| {
        let own = |timer: &mut Timer| timer.from != 0 && leaving.owns(timer.from);
        let timers: Vec<u64> = state.timers.extract_if(.., own).map(|timer| timer.from).collect();
        if !leaving.is_last() {
            return (timers, 0);
        }
        state.timers.clear();
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
        locks.take_held(|from| leaving.owns(from))
    };
    for from in held {
        verify::find_at(Rule::LockLeak, None, from, format_args!("still holds a lock"));
    }
    etw::report_leaks(leaving);
    if resident.number == DRIVER {
        nt_framework::report_leaks();
    }
    nt_filters::report_leaks(leaving);
    nt_network::report_leaks(leaving);
    lock(&kernel.io).report_leaks(leaving);
    lock(&kernel.notifications).report_leaks(leaving);
    if leaving.is_last() {
        registration::forget();
        notification::forget();
        lock(&kernel.callbacks).forget();
        interrupt::forget();
        power_framework::forget();
        nt_crypto::forget();
        nt_hid::forget();
    }
    lock(&kernel.objects).report_leaks(leaving);
    lock(&kernel.pool).report_leaks(leaving);
    lock(&kernel.io).drivers.retain(|driver| *driver != resident.driver);
    // Fails only if the driver has overwritten its entry.
    let _ = modules::remove(resident.driver);
    lock(&layers().residents).retain(|known| known.number != resident.number);
    let region = resident.mapped.region();
    paging::remove_sections(region);
    resident.mapped.withdraw();
    image::unloaded(resident.number, region);
}
