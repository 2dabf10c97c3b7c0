//! Interrupts: connects service routines, and calls them when the test raises an interrupt.
//!
//! The service routine runs on the thread that serves the test, so it does not interrupt driver code on that thread.
//! Other threads continue to run meanwhile, and the locks between the threads are real.

use std::sync::Arc;
use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{
    DEVICE_OBJECT, INTERRUPT_OBJECT, IO_CONNECT_INTERRUPT_PARAMETERS, IO_DISCONNECT_INTERRUPT_PARAMETERS,
    IO_INTERRUPT_MESSAGE_INFO, IO_INTERRUPT_MESSAGE_INFO_ENTRY,
};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque, OrStop as _};
use nt_verifier::routine::{ANY, Ignored, Irql, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::locks::LockKind;
use nt_verifier::verify::{self, Rule};
use windows_constants::plug_play::{
    CONNECT_FULLY_SPECIFIED, CONNECT_FULLY_SPECIFIED_GROUP, CONNECT_LINE_BASED, CONNECT_MESSAGE_BASED,
};

use super::resources::{self, DEVICE_IRQL, Interrupt};
use crate::io::device::stack;
use crate::io::request::Io;
use crate::pool::Pool;
use crate::sync::{irql, spinlock};
use crate::{Kernel, call_back, kernel, lock};

/// The name of the registration: a driver must disconnect its interrupts before it is unloaded.
const WHAT: &str = "connected interrupt";

type Object = GuestPtr<INTERRUPT_OBJECT>;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoConnectInterruptEx(&call, params: GuestPtr<IO_CONNECT_INTERRUPT_PARAMETERS>) -> Outcome {
        connect_ex(params, call.from)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoConnectInterrupt(
        &call,
        place: Out<Object>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
        lock: GuestPtr<u64>,
        vector: u32,
        _irql: Ignored<Irql>,
        irql: Irql,
        _mode: Ignored<i32>,
        _share: Ignored<bool>,
        _processors: Ignored<u64>,
        _floating: Ignored<bool>,
    ) -> Outcome {
        let Some(interrupt) = resources::interrupts().into_iter().find(|known| known.vector == vector) else {
            return fail(NtStatus::InvalidParameter);
        };
        let service = Service { routine, context: context.address(), lock, irql: irql.0 };
        // The driver gives no device, and only one line has this vector.
        let object = new_object(service)?;
        connect(object, GuestPtr::NULL, interrupt, false, call.from);
        place.set(object)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn IoDisconnectInterrupt(object: Object) {
        let Kernel { io, pool, .. } = kernel();
        disconnect_driver(io, pool, object);
    }

    #[irql(PASSIVE)]
    fn IoDisconnectInterruptEx(params: GuestPtr<IO_DISCONNECT_INTERRUPT_PARAMETERS>) -> Result<(), Fault> {
        let Kernel { io, pool, .. } = kernel();
        let context = params.ConnectionContext().read()?;
        if params.Version().read()? != CONNECT_MESSAGE_BASED {
            disconnect_driver(io, pool, context.cast());
            return Ok(());
        }
        let table = context.cast::<IO_INTERRUPT_MESSAGE_INFO>();
        for entry in
            table.after::<IO_INTERRUPT_MESSAGE_INFO_ENTRY>().array(table.MessageCount().read()?.into()).places()
        {
            disconnect_driver(io, pool, entry.InterruptObject().read()?);
        }
        lock(pool).free_object(table.address());
        Ok(())
    }

    #[irql(ANY)]
    fn KeSynchronizeExecution(
        interrupt: Object,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Result<bool, Fault> {
        locked(interrupt, |irql| call_back("SynchCritSection", irql, routine, &[context.address()]) as u8 != 0)
    }

    #[irql(ANY), keeps]
    fn KeAcquireInterruptSpinLock(&call, interrupt: Object) -> Result<Irql, Fault> {
        acquire(LockKind::Spin, interrupt, call.from).map(Irql)
    }

    #[irql(ANY)]
    fn KeReleaseInterruptSpinLock(interrupt: Object, old: Irql) -> Result<(), Fault> {
        release(LockKind::Spin, interrupt, old.0)
    }

    #[irql(ANY), fixed]
    fn IoReportInterruptActive(_params: Ignored<GuestPtr<Opaque>>) {}

    #[irql(ANY), fixed]
    fn IoReportInterruptInactive(_params: Ignored<GuestPtr<Opaque>>) {}
}

/// A service routine that is connected to an interrupt.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// The driver's `ServiceRoutine`.
    pub routine: GuestPtr<Code>,
    /// Its context.
    pub context: u64,
    /// The driver's lock; NULL if the interrupt object has its own.
    pub lock: GuestPtr<u64>,
    /// The IRQL at which the routine runs.
    pub irql: u8,
}

/// An object that is connected to an interrupt.
#[derive(Clone)]
struct Connected {
    object: Object,
    /// The physical device; NULL for every device.
    device: GuestPtr<DEVICE_OBJECT>,
    number: u32,
    serve: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// The connected objects, in the order in which they were connected.
#[derive(Default)]
pub struct Interrupts {
    connected: Vec<Connected>,
}

/// Creates an interrupt object that is not connected yet.
pub fn new_object(service: Service) -> Outcome<Object> {
    let object: Object = lock(&kernel().pool).try_new_object()?;
    object.ServiceRoutine().write(service.routine)?;
    object.ServiceContext().write(service.context)?;
    object.Lock().write(service.lock.non_null().unwrap_or(object.OwnLock()))?;
    object.SynchronizeIrql().write(service.irql.max(DEVICE_IRQL))?;
    Ok(object)
}

/// Connects an object to an interrupt of a device. `serve` returns whether it handled the interrupt.
pub fn listen(
    object: Object,
    device: GuestPtr<DEVICE_OBJECT>,
    interrupt: Interrupt,
    serve: impl Fn() -> bool + Send + Sync + 'static,
) {
    let connected = Connected { object, device, number: interrupt.number, serve: Arc::new(serve) };
    lock(&kernel().interrupts).connected.push(connected);
}

/// Connects a service routine of the driver.
fn connect(object: Object, device: GuestPtr<DEVICE_OBJECT>, interrupt: Interrupt, by_message: bool, from: u64) {
    let message = interrupt.message.filter(|_| by_message);
    listen(object, device, interrupt, move || {
        let serve = |irql: u8| {
            let routine = object.ServiceRoutine().read()?;
            let context = object.ServiceContext().read()?;
            let mut arguments = vec![object.address(), context];
            arguments.extend(message.map(u64::from));
            Ok::<bool, Fault>(call_back("interrupt service routine", irql, routine, &arguments) as u8 != 0)
        };
        locked(object, |irql| serve(irql).or_stop()).or_stop()
    });
    lock(&kernel().io).register(WHAT, object.address(), from);
}

/// Disconnects an object. Returns whether it was connected.
pub fn disconnect(object: Object) -> bool {
    let connected = &mut lock(&kernel().interrupts).connected;
    let before = connected.len();
    connected.retain(|known| known.object != object);
    connected.len() != before
}

fn disconnect_driver(io: &Mutex<Io>, pool: &Mutex<Pool>, object: Object) {
    if disconnect(object) {
        lock(io).forget(WHAT, object.address());
        lock(pool).free_object(object.address());
    } else {
        verify::find(Rule::BadArgument, format_args!("{object:#x} is not a connected interrupt"));
    }
}

/// Disconnects all objects after the driver was unloaded.
pub fn forget() {
    lock(&kernel().interrupts).connected.clear();
}

/// Runs `body` at the IRQL of an interrupt and under its lock.
pub fn locked<R>(object: Object, body: impl FnOnce(u8) -> R) -> Result<R, Fault> {
    let old = acquire(LockKind::Spin, object, thread::site().map_or(0, |site| site.from))?;
    let result = body(thread::irql());
    release(LockKind::Spin, object, old)?;
    Ok(result)
}

/// Raises the IRQL to the IRQL of an interrupt and acquires its lock. Returns the previous IRQL.
pub fn acquire(kind: LockKind, object: Object, from: u64) -> Result<u8, Fault> {
    let wanted = object.SynchronizeIrql().read()?;
    let old = irql::raise(wanted);
    spinlock::acquire_as(kind, object.Lock().read()?, from)?;
    Ok(old)
}

/// Releases the lock of an interrupt and lowers the IRQL to `old`.
pub fn release(kind: LockKind, object: Object, old: u8) -> Result<(), Fault> {
    spinlock::release_as(kind, object.Lock().read()?)?;
    irql::lower(old);
    Ok(())
}

/// Raises an interrupt of a device: calls the connected service routines until one handles the interrupt. Returns
/// whether one did, or `None` if none is connected.
pub fn raise(device: GuestPtr<DEVICE_OBJECT>, number: u32) -> Option<bool> {
    let connected = lock(&kernel().interrupts).connected.clone();
    let of_device = |known: &&Connected| known.number == number && (known.device.is_null() || known.device == device);
    let connected: Vec<&Connected> = connected.iter().filter(of_device).collect();
    if connected.is_empty() {
        return None;
    }
    Some(connected.into_iter().any(|known| (known.serve)()))
}

fn connect_ex(params: GuestPtr<IO_CONNECT_INTERRUPT_PARAMETERS>, from: u64) -> Outcome {
    let version = params.Version().read()?;
    let device = params.PhysicalDeviceObject().read()?;
    if !matches!(version, CONNECT_FULLY_SPECIFIED..=CONNECT_FULLY_SPECIFIED_GROUP)
        || !stack::physical().contains(&device)
    {
        return fail(NtStatus::InvalidParameter);
    }
    let service = Service {
        routine: params.ServiceRoutine().read()?,
        context: params.ServiceContext().read()?,
        lock: params.SpinLock().read()?,
        irql: params.SynchronizeIrql().read()?,
    };
    if service.routine.is_null() {
        return fail(NtStatus::InvalidParameter);
    }
    let all = resources::interrupts();
    let line = all.iter().find(|interrupt| interrupt.message.is_none()).copied();
    let messages: Vec<Interrupt> = all.iter().filter(|interrupt| interrupt.message.is_some()).copied().collect();
    let (interrupt, service) = match version {
        CONNECT_MESSAGE_BASED if !messages.is_empty() => {
            let table = connect_messages(device, service, &messages, from)?;
            params.InterruptObject().read()?.cast().write(table)?;
            return done(());
        }
        // The device has no messages. The fallback routine is connected to its line, and the version reports that.
        CONNECT_MESSAGE_BASED => {
            let fallback = params.FallBackServiceRoutine().read()?;
            if fallback.is_null() || line.is_none() {
                return fail(NtStatus::NotFound);
            }
            params.Version().write(CONNECT_LINE_BASED)?;
            (line, Service { routine: fallback, ..service })
        }
        CONNECT_LINE_BASED => (line.or(messages.first().copied()), service),
        _ => {
            let vector = params.Vector().read()?;
            (all.iter().find(|interrupt| interrupt.vector == vector).copied(), service)
        }
    };
    let Some(interrupt) = interrupt else { return fail(NtStatus::NotFound) };
    let object = new_object(service)?;
    connect(object, device, interrupt, false, from);
    params.InterruptObject().read()?.cast().write(object)?;
    done(())
}

/// Connects all messages of a device. Returns the table of them, for the driver.
fn connect_messages(
    device: GuestPtr<DEVICE_OBJECT>,
    service: Service,
    messages: &[Interrupt],
    from: u64,
) -> Outcome<GuestPtr<IO_INTERRUPT_MESSAGE_INFO>> {
    let size = size_of::<IO_INTERRUPT_MESSAGE_INFO>() + size_of::<IO_INTERRUPT_MESSAGE_INFO_ENTRY>() * messages.len();
    let memory: GuestPtr<u8> = lock(&kernel().pool).try_new_objects(size as u64)?;
    let table = memory.cast::<IO_INTERRUPT_MESSAGE_INFO>();
    table.UnifiedIrql().write(service.irql.max(DEVICE_IRQL))?;
    table.MessageCount().write(messages.len() as u32)?;
    let entries = table.after::<IO_INTERRUPT_MESSAGE_INFO_ENTRY>().array(messages.len() as u64);
    for (interrupt, entry) in messages.iter().zip(entries.places()) {
        let object = new_object(service)?;
        connect(object, device, *interrupt, true, from);
        entry.TargetProcessorSet().write(1)?;
        entry.InterruptObject().write(object)?;
        entry.Vector().write(interrupt.vector)?;
        entry.Irql().write(DEVICE_IRQL)?;
        // Latched.
        entry.Mode().write(1)?;
    }
    done(table)
}
