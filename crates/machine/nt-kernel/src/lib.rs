//! The kernel that a driver calls: its routines, grouped in families, and their state.
//!
//! Every routine is an entry of a table. A driver's call arrives in `dispatch`, which does what is common
//! to all routines (checks the IRQL, injects failures, stops if the run has ended) and then runs the routine on the
//! host's stack.
//!
//! The crate supports Linux on x86-64 only; on other targets it is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(
    clippy::cast_possible_truncation,
    reason = "registers and stack slots have eight bytes, and a narrower argument is in the low ones"
)]
#![expect(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "the interface is for the crates of this folder, and the errors are faults and statuses"
)]
#![expect(clippy::struct_excessive_bools, reason = "states and switches that the imitated system has as well")]
#![expect(non_upper_case_globals, reason = "patterns with constants that have the names of Microsoft's headers")]

mod case;
pub mod client_memory;
pub mod components;
pub mod config;
pub mod data;
pub mod etw;
pub mod ex;
pub mod io;
mod module;
pub(crate) mod pci;
pub mod pool;
mod random;
pub mod registry;
pub(crate) mod request_rules;
mod requests;
pub(crate) mod rtl;
mod shared_data;
pub mod sync;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etw_engine::{Engine, EngineOptions};
use nt_processor::cpu::handler::Restored;
use nt_processor::cpu::switch::{self, ALIGNMENT_CHECK, DIRECTION, FOREIGN_FS, MXCSR, Returned};
use nt_processor::cpu::thread::{self, Site};
use nt_processor::image;
use nt_processor::layer_state::{LayerState, lock_from_handler};
use nt_processor::layout::DEVICE_OBJECT;
use nt_processor::memory::{Code, GuestPtr, OrStop as _};
use nt_processor::sorted::SortedSet;
use nt_verifier::exception::{self, Hooks, fault};
use nt_verifier::routine::{Call, NO_RESOURCES, Routine};
use nt_verifier::verify::locks::LockKind;
use nt_verifier::verify::{self, At, Breach, Kmdf, Rule, Wdm};

use crate::config::Config;

pub use requests::{Answer, IoRequest, RequestKind};
pub use sync::dpc::serve as serve_deferred;
pub use table::{Entry, Table};

use ex::object;
use request_rules::RequestRules;
use sync::scheduler::Scheduler;

/// Returns the kernel's routines of all families.
pub fn routines() -> impl Iterator<Item = &'static Routine> {
    const FAMILIES: &[&[&[Routine]]] = &[
        etw::ROUTINES,
        ex::ROUTINES,
        pci::ROUTINES,
        pool::ROUTINES,
        registry::ROUTINES,
        rtl::ROUTINES,
        sync::ROUTINES,
    ];
    FAMILIES.iter().chain(io::ROUTINES).copied().flatten().copied().flatten()
}

/// All state that a driver's calls can change.
pub struct Kernel {
    /// The configuration of the run.
    pub config: Config,
    /// The engine that receives the driver's events.
    pub engine: Engine,
    /// The routines by number.
    pub table: Table,
    /// The allocations of pool.
    pub pool: Mutex<pool::Pool>,
    /// The pageable sections that are paged out.
    pub paging: pool::paging::Paging,
    /// Threads, timers, jobs and virtual time.
    pub scheduler: Scheduler,
    /// The thread objects.
    pub threads: Mutex<sync::thread::Threads>,
    /// Handles and references.
    pub objects: Mutex<object::Objects>,
    /// The callback objects.
    pub callbacks: Mutex<ex::Callbacks>,
    /// The notification routines of processes, threads, images, objects and the registry.
    pub notifications: Mutex<ex::Notifications>,
    /// The registrations for plug-and-play notifications.
    pub plug_play: Mutex<Vec<io::pnp::notification::Registered>>,
    /// Drivers, devices, links and IRPs.
    pub io: Mutex<io::request::Io>,
    /// The results of requests to the devices below.
    pub answers: io::device::below::Answers,
    /// The buffers of clients that change while the driver uses them.
    changing: exception::changing::Buffers,
    /// The memory of clients.
    pub client_memory: Mutex<client_memory::ClientMemory>,
    pub(crate) tables: Mutex<rtl::table::Tables>,
    /// The device interfaces.
    pub interfaces: Mutex<io::device::interface::Interfaces>,
    /// The connected interrupts.
    pub interrupts: Mutex<io::hardware::interrupt::Interrupts>,
    pub(crate) pci: Mutex<pci::Space>,
    /// The devices that are registered with the power framework.
    pub power: Mutex<Vec<io::pnp::power_framework::Managed>>,
    pub(crate) registrations: Mutex<io::registration::Registrations>,
    /// The registered providers.
    pub etw: Mutex<etw::Writers>,
    /// The locks that threads hold.
    pub locks: Mutex<verify::locks::Locks>,
    pub(crate) cancel_lock: io::request::cancel::CancelLock,
    /// The keys and values.
    pub registry: Mutex<registry::keys::Registry>,
    /// The registry values that the driver looked for and did not find, as `--registry` names them.
    pub missing_values: Mutex<SortedSet<String>>,
    /// Makes the clients of a device wait for their requests and close their files.
    pub close_clients: fn(GuestPtr<DEVICE_OBJECT>),
    /// The page that Windows shares with every process.
    pub(crate) shared_data: shared_data::SharedData,
    /// The reason why this Windows does not load the driver.
    pub refusal: Mutex<Option<String>>,
    /// Serialises operations that are a single instruction on a processor.
    pub(crate) slists: Mutex<()>,
    /// The last random number.
    pub(crate) random: AtomicU64,
}

static KERNEL: LayerState<Kernel> = LayerState::new();

const REQUEST_RULES: RequestRules = RequestRules {
    lock_released: io::request::rules::lock_released,
    sets_event: io::request::rules::sets_event,
    is_for_client: io::request::rules::is_for_client,
    is_for_user: io::request::rules::is_for_user,
};

/// The functions that fault handling calls in this layer.
const HOOKS: Hooks = Hooks {
    page_in: pool::paging::bring_in,
    explain: explain_address,
    is_beside_client_buffer,
    is_pool: |address| lock_from_handler(&kernel().pool).is_some_and(|pool| pool.range(address).is_some()),
    shared_data: || kernel().shared_data.refreshed(),
    change_irql: sync::irql::change_silently,
    page_table: || kernel().table.page_table(),
    endless_wait: io::request::dispatching::endless_wait,
};

/// The functions that the object manager calls above it.
const OBJECT_HOOKS: object::Hooks =
    object::Hooks { submit: sync::worker::submit_boxed, key_closed: registry::notify::closed };

/// Makes this the kernel of this process. Later calls have no effect.
pub fn attach(kernel: &'static Kernel) {
    if KERNEL.attach(kernel) {
        // The timestamps of events use the same clock as the driver.
        kernel.engine.set_clock(|| kernel.scheduler.now());
        exception::attach(&HOOKS, &kernel.changing);
        object::attach(&OBJECT_HOOKS);
        request_rules::attach(&REQUEST_RULES);
        switch::on_call(dispatch);
    }
}

/// Returns the kernel of this process.
#[inline]
pub fn kernel() -> &'static Kernel {
    KERNEL.get()
}

/// Locks a part of the kernel. Ignores poisoning, because a panic ends the process anyway.
pub fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kernel {
    /// Creates a kernel whose clients are closed with `close_clients`.
    pub fn new(config: Config, table: Table, close_clients: fn(GuestPtr<DEVICE_OBJECT>)) -> Self {
        // Information classes that were added after this Windows release are unknown to it.
        let os_build = config.os.build();
        let environment = Arc::new(etw::DriverView);
        let options = EngineOptions { record_calls: false, environment, os_build, ..EngineOptions::default() };
        let engine = Engine::with_options(options);
        engine.set_system_threads(true);
        Self {
            table,
            pool: Mutex::new(pool::Pool::new(config.memory)),
            paging: pool::paging::Paging::default(),
            scheduler: Scheduler::new(config.time),
            threads: Mutex::default(),
            objects: Mutex::default(),
            callbacks: Mutex::default(),
            notifications: Mutex::default(),
            plug_play: Mutex::default(),
            io: Mutex::default(),
            answers: io::device::below::Answers::default(),
            changing: exception::changing::Buffers::default(),
            client_memory: Mutex::default(),
            tables: Mutex::default(),
            interfaces: Mutex::default(),
            interrupts: Mutex::default(),
            power: Mutex::default(),
            pci: Mutex::new(pci::Space::new(config.pci.as_ref())),
            registrations: Mutex::default(),
            etw: Mutex::new(etw::Writers::new(&engine, config.trace_all)),
            locks: Mutex::default(),
            cancel_lock: io::request::cancel::CancelLock::default(),
            registry: Mutex::new(registry::keys::Registry::new(&config)),
            missing_values: Mutex::default(),
            close_clients,
            shared_data: shared_data::SharedData::new(&config),
            refusal: Mutex::default(),
            slists: Mutex::default(),
            random: AtomicU64::new(ex::SEED),
            engine,
            config,
        }
    }
}

/// Receives a driver's calls, on the host's stack. The arguments are the number of the routine, the address of its
/// arguments, the return address, and the driver's flags and floating-point control.
extern "sysv64" fn dispatch(index: u32, slots: u64, from: u64, flags: u32, mxcsr: u32) -> u64 {
    let call = || {
        check_state(index, from, flags, mxcsr);
        run(index, GuestPtr::new(slots), from)
    };
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => value,
        Err(_) => verify::stop(Rule::Host, None, from, format_args!("the host panicked in routine {index}")),
    }
}

/// Checks what the x64 calling convention requires of a caller. Compilers always comply; inline assembly may not.
fn check_state(index: u32, from: u64, flags: u32, mxcsr: u32) {
    report_state("called", flags, mxcsr, |detail| {
        verify::find_at(Rule::BadArgument, Some(kernel().table.entry(index).name), from, detail);
    });
}

/// Reports processor state that the driver must not change, at a call (`what` is "called") or a return.
fn report_state(what: &str, flags: u32, mxcsr: u32, report: impl Fn(std::fmt::Arguments<'_>)) {
    /// The bits of the floating-point control that no instruction changes implicitly.
    const CONTROL: u32 = 0xFFC0;
    if flags & DIRECTION != 0 {
        report(format_args!("{what} with the direction flag set"));
    }
    if flags & ALIGNMENT_CHECK != 0 {
        report(format_args!("{what} with the alignment check flag (EFLAGS.AC) set"));
    }
    if mxcsr & CONTROL != MXCSR {
        report(format_args!("{what} with MXCSR {mxcsr:#x}: except for the status bits, it must be {MXCSR:#x}"));
    }
    if let Some(place) = exception::processor::take_disabled() {
        report(format_args!("{what} with interrupts disabled, by cli at {}", image::describe(place)));
    }
    let fs = flags & FOREIGN_FS != 0;
    if let Some(register) = thread::take_restored().or(Restored { fs, gs: false }).register() {
        report(format_args!("{what} with another {register} base: a driver must not change this register"));
    }
}

fn run(index: u32, slots: GuestPtr<u64>, from: u64) -> u64 {
    if verify::is_stopped() {
        verify::park();
    }
    let kernel = kernel();
    let entry = kernel.table.entry(index);
    let outer = thread::enter(Site { routine: entry.name, from });
    if kernel.table.is_too_new(index) {
        let name = entry.name;
        let os = kernel.config.os;
        let detail =
            format_args!("{name} is not in KMDF {} of {os}: check WdfFunctionCount before the call", os.kmdf());
        verify::stop(Rule::FrameworkMisuse, Some(name), from, detail);
    }
    let Some(routine) = entry.routine else {
        let why = components::absence(kernel.table.module(index), entry.name);
        verify::stop(Rule::NotImplemented, Some(entry.name), from, format_args!("{why}"));
    };
    check_irql(routine, index, &Call::new(entry.name, slots, from));
    kernel.scheduler.pause();
    io::request::rules::calls(routine);
    let site = if routine.keeps { verify::calls::remember(from) } else { from };
    let call = Call::new(entry.name, slots, site);
    let value = match kernel.table.scripted(index, &call, &kernel.config) {
        Some(value) => value,
        None => match routine.run(&call) {
            Ok(value) => value,
            Err(fault) => fault::raise(fault, routine.leavable),
        },
    };
    routine.note_failure(&call, value);
    if routine.raises_for(&call, value) {
        // The call itself, and not the number that stands for it: the exception has its address.
        exception::raise_status(&Call::new(entry.name, slots, from), NO_RESOURCES).or_stop();
    }
    if verify::is_stopped() {
        verify::park();
    }
    if image::is_unloaded(from) {
        verify::stop(
            Rule::CallbackAfterUnload,
            Some(entry.name),
            from,
            format_args!("{} returns to an unloaded image", entry.name),
        );
    }
    thread::leave(outer);
    value
}

/// Checks that the driver may call a routine at this IRQL, with these arguments.
fn check_irql(routine: &Routine, index: u32, call: &Call) {
    let irql = thread::irql();
    let limit = routine.limit(call);
    if irql <= limit {
        return;
    }
    let breach = if kernel().table.is_framework(index) { framework_irql() } else { Rule::IrqlTooHigh.into() };
    let arguments = if limit < routine.irql { " with these arguments" } else { "" };
    verify::find(breach, format_args!("called at IRQL {irql}{arguments}, allowed up to {limit}"));
}

/// Returns the breach of a driver that calls a function of the framework at too high an IRQL. Microsoft's rules differ
/// only in the callbacks: whether their IRQL depends on the execution level of their object.
pub fn framework_irql() -> Breach {
    const WITH_LEVEL: [&str; 13] = [
        "EvtIoDefault",
        "EvtIoRead",
        "EvtIoWrite",
        "EvtIoDeviceControl",
        "EvtIoInternalDeviceControl",
        "EvtIoStop",
        "EvtIoResume",
        "EvtIoCanceledOnQueue",
        "EvtRequestCancel",
        "EvtTimerFunc",
        "EvtDeviceFileCreate",
        "EvtFileCleanup",
        "EvtFileClose",
    ];
    let depends = thread::callback().is_some_and(|callback| WITH_LEVEL.contains(&callback));
    Rule::IrqlTooHigh.named(if depends { Kmdf::KmdfIrql2 } else { Kmdf::KmdfIrql })
}

/// Calls a callback of the driver and checks the rules: it must return at the IRQL it was called at, and must not hold
/// a spin lock that it acquired.
pub fn call_back(what: &'static str, irql: u8, target: GuestPtr<Code>, arguments: &[u64]) -> u64 {
    let Kernel { locks, .. } = kernel();
    let target = target.address();
    if verify::is_stopped() {
        verify::park();
    }
    if image::is_unloaded(target) {
        verify::stop(
            Rule::CallbackAfterUnload,
            Some(what),
            At::Code(target),
            format_args!("{what} would run in an unloaded image"),
        );
    }
    let before = thread::set_irql(irql);
    sync::irql::page_out_at(irql);
    let held = lock(locks).held_by(thread::number());
    let regions = sync::irql::regions();
    let owned = sync::resource::owned().len();
    let Returned { value, flags, mxcsr } = thread::call_back(what, target, arguments);
    report_state("returned", flags, mxcsr, |detail| {
        verify::find_at(Rule::BadArgument, Some(what), At::Code(target), detail);
    });
    sync::thread::check_current(what, At::Code(target));
    let changed_by = thread::irql_changed_by();
    let after = thread::set_irql(before);
    // The caller may still hold a lock that a DPC needs, so this does not wait for them.
    sync::dpc::release(before);
    if after != irql {
        let place = at_or(changed_by, target);
        let is_dispatch = what == io::request::DISPATCH_ROUTINE;
        let names: &[Wdm] = if is_dispatch { &[Wdm::IrqlReturn] } else { &[] };
        let breach = Breach::from(Rule::IrqlChanged).named_all(names);
        verify::find_at(breach, Some(what), place, format_args!("called at IRQL {irql}, returned at {after}"));
    }
    let (still, taken) = {
        let locks = lock(locks);
        (locks.held_by(thread::number()), locks.newest_of(thread::number()))
    };
    if still > held {
        let (kind, from) = taken.unwrap_or((LockKind::Mutex, 0));
        let breach = kind.breach(Rule::LockLeak);
        verify::find_at(breach, Some(what), at_or(from, target), format_args!("returned with a lock held"));
    }
    report_regions(what, target, regions);
    if let Some(from) = sync::resource::owned().get(owned) {
        let breach = Rule::LockLeak.named(Wdm::ExclusiveResourceAccess);
        verify::find_at(breach, Some(what), at_or(*from, target), format_args!("returned with a resource held"));
    }
    value
}

/// Reports a region that a callback has entered and not left.
fn report_regions(what: &'static str, target: u64, before: [u32; 2]) {
    let names = [(Wdm::CriticalRegions, "critical"), (Wdm::GuardedRegions, "guarded")];
    for ((before, after), (name, kind)) in before.into_iter().zip(sync::irql::regions()).zip(names) {
        if after > before {
            let what_happened = format_args!("returned inside of a {kind} region");
            verify::find_at(Rule::LockLeak.named(name), Some(what), At::Code(target), what_happened);
        }
    }
}

/// Returns the call that caused a problem or, if it is unknown, the callback.
fn at_or(call: u64, callback: u64) -> At {
    if image::contains(call) { At::Call(call) } else { At::Code(callback) }
}

/// Explains the address of a fault. `executes` says whether the processor fetched an instruction there.
fn explain_address(address: u64, executes: bool) -> Option<(Breach, String)> {
    if image::is_unloaded(address) {
        return Some((Rule::CallbackAfterUnload.into(), format!("{address:#x} is in the unloaded image")));
    }
    let pool = lock_from_handler(&kernel().pool)?;
    pool.explain(address, executes)
}

fn is_beside_client_buffer(address: u64) -> bool {
    lock_from_handler(&kernel().pool).is_some_and(|pool| pool.is_beside_client_buffer(address))
}
