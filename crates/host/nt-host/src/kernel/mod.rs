//! The kernel that a driver finds: its routines by families, and the state behind them.
//!
//! Every routine is an entry of a table. A driver's call arrives in [`dispatch`], which checks what holds for all of them
//! (the IRQL, scripted failures, whether the run has ended) and then runs the routine on the host's stack.

mod bitmap;
mod bugcheck;
mod build_packets;
mod crt;
mod debug;
pub(crate) mod device_stack;
pub(crate) mod devices;
mod dpc;
mod environment;
pub(crate) mod etw;
mod event_data;
mod events;
mod executive;
mod files;
pub(crate) mod images;
pub(crate) mod interfaces;
pub(crate) mod io;

pub(crate) mod irql;
mod list;
mod lookaside;
mod lookup;
pub(crate) mod mdl;
mod memory;
mod misc;
pub(crate) mod objects;
mod own_timers;
mod packet;
mod packet_client;
pub(crate) mod paging;
pub(crate) mod plug;
mod plug_packets;
pub(crate) mod pool;
mod pool_blocks;
mod print;
mod registrations;
mod registry;
pub(crate) mod registry_keys;
mod registry_query;
mod resource;
pub(crate) mod routine;
pub(crate) mod scheduler;
mod scheduler_state;
mod shared_locks;
pub(crate) mod spinlock;
mod start_io;
mod strings;
mod table;
mod threads;
mod time;
pub(crate) mod unload;
mod work;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use etw_engine::{Engine, EngineOptions};

use crate::config::Config;
use crate::cpu::thread::{self, Site};
use crate::verify::{self, At, Rule};

pub(crate) use dpc::serve as serve_deferred;
pub(crate) use table::{Entry, Table, can_fail};
pub use table::{Known, known};
pub(crate) use work::submit;

use routine::Call;
use scheduler::Scheduler;

/// Everything that a driver's calls change.
pub(crate) struct Kernel {
    pub(crate) config: Config,
    pub(crate) engine: Engine,
    pub(crate) table: Table,
    pub(crate) pool: Mutex<pool_blocks::Pool>,
    pub(crate) scheduler: Scheduler,
    pub(crate) objects: Mutex<objects::Objects>,
    pub(crate) io: Mutex<io::Io>,
    pub(crate) etw: Mutex<etw::Writers>,
    pub(crate) locks: Mutex<verify::locks::Locks>,
    pub(crate) registry: Mutex<registry_keys::Registry>,
    pub(crate) framework: Mutex<crate::wdf::Framework>,
    /// Why this Windows does not load the driver.
    pub(crate) refusal: Mutex<Option<String>>,
}

static KERNEL: OnceLock<Kernel> = OnceLock::new();

/// Starts the kernel of this process.
pub(crate) fn start(config: Config) {
    if KERNEL.set(Kernel::new(config)).is_ok() {
        // Events carry the time that the driver sees.
        kernel().engine.set_clock(|| kernel().scheduler.now());
    }
}

/// The kernel of this process.
pub(crate) fn kernel() -> &'static Kernel {
    KERNEL.get_or_init(|| Kernel::new(Config::default()))
}

/// Locks a part of the kernel. A thread that panicked with it ends the process anyway.
pub(crate) fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kernel {
    fn new(config: Config) -> Self {
        // Information classes that came later than this Windows are unknown to it.
        let os_build = config.os.build();
        let environment = Arc::new(environment::Machine);
        let options = EngineOptions { record_calls: false, environment, os_build, ..EngineOptions::default() };
        let engine = Engine::with_options(options);
        engine.set_system_threads(true);
        Self {
            table: Table::new(&config),
            pool: Mutex::new(pool_blocks::Pool::new()),
            scheduler: Scheduler::new(config.real_time),
            objects: Mutex::default(),
            io: Mutex::default(),
            etw: Mutex::new(etw::Writers::new(&engine, config.trace_all)),
            locks: Mutex::default(),
            registry: Mutex::new(registry_keys::Registry::new(&config)),
            framework: Mutex::default(),
            refusal: Mutex::default(),
            engine,
            config,
        }
    }
}

/// Where a driver's calls arrive, on the host's stack: the number of the routine, its arguments, where it returns to.
pub(crate) extern "sysv64" fn dispatch(index: u32, slots: u64, from: u64) -> u64 {
    match catch_unwind(AssertUnwindSafe(|| run(index, slots, from))) {
        Ok(value) => value,
        Err(_) => verify::stop(Rule::Host, None, from, format_args!("the host panicked in routine {index}")),
    }
}

fn run(index: u32, slots: u64, from: u64) -> u64 {
    if verify::is_stopped() {
        verify::park();
    }
    let kernel = kernel();
    let entry = kernel.table.entry(index);
    let outer = thread::enter(Site { routine: entry.name, from });
    if kernel.table.is_too_new(index) {
        let (name, os) = (entry.name, kernel.config.os);
        let detail = format_args!("{name} is not in KMDF {} of {os}; WdfFunctionCount says what is", os.kmdf());
        verify::stop(Rule::FrameworkMisuse, Some(name), from, detail);
    }
    let Some(routine) = entry.routine else {
        verify::stop(Rule::NotImplemented, Some(entry.name), from, format_args!("{} is not in this host", entry.name));
    };
    let irql = thread::irql();
    if irql > routine.irql {
        let limit = routine.irql;
        verify::find(Rule::IrqlTooHigh, format_args!("called at IRQL {irql}, allowed up to {limit}"));
    }
    if routine.makes_something() {
        verify::calls::remember(from);
    }
    let scripted = kernel.table.scripted(index, &kernel.config);
    let value = scripted.unwrap_or_else(|| (routine.run)(&Call::new(entry.name, slots, from)));
    if verify::is_stopped() {
        verify::park();
    }
    if images::is_unloaded(from) {
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

/// Calls a callback of the driver and holds it to the rules: it returns at the IRQL it was called at, without a spin lock.
pub(crate) fn call_back(what: &'static str, irql: u8, target: u64, arguments: &[u64]) -> u64 {
    if verify::is_stopped() {
        verify::park();
    }
    if images::is_unloaded(target) {
        verify::stop(
            Rule::CallbackAfterUnload,
            Some(what),
            At::Code(target),
            format_args!("{what} is to run in an unloaded image"),
        );
    }
    let before = thread::set_irql(irql);
    irql::noticed(irql);
    let held = lock(&kernel().locks).held_by(thread::number());
    let value = thread::call(target, arguments);
    let changed_by = thread::irql_changed_by();
    let after = thread::set_irql(before);
    if after != irql {
        let place = at_or(changed_by, target);
        verify::find_at(
            Rule::IrqlChanged,
            Some(what),
            place,
            format_args!("called at IRQL {irql}, returned at {after}"),
        );
    }
    let (still, taken) = {
        let locks = lock(&kernel().locks);
        (locks.held_by(thread::number()), locks.newest_of(thread::number()))
    };
    if still > held {
        let place = at_or(taken.unwrap_or_default(), target);
        verify::find_at(Rule::LockLeak, Some(what), place, format_args!("returned with a spin lock held"));
    }
    value
}

/// The call that is to blame; where none is known, the callback.
fn at_or(call: u64, callback: u64) -> At {
    if images::contains(call) { At::Call(call) } else { At::Code(callback) }
}

/// What an address that faulted was.
pub(crate) fn explain_address(address: u64) -> Option<(Rule, String)> {
    if images::is_unloaded(address) {
        return Some((Rule::CallbackAfterUnload, format!("{address:#x} is in the unloaded image")));
    }
    if images::contains(address) {
        return Some((Rule::AccessViolation, images::explain(address)));
    }
    let pool = kernel().pool.try_lock().ok()?;
    pool.explain(address)
}
