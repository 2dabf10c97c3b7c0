//! System threads.

use std::collections::BTreeMap;
use std::thread as std_thread;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::image::Leaving;
use nt_processor::layout::{CLIENT_ID, DISPATCHER_HEADER, THREAD};
use nt_processor::memory::{Code, GuestPtr, Opaque, OrStop as _};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{ANY, APC, Call, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, fail, routines};
use nt_verifier::verify::{self, At, Rule};
use windows_constants::object::ThreadObject;

use super::dpc;
use super::event;
use super::process::{self, SYSTEM};
use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::{Kernel, call_back, kernel, lock};

/// The maximum number of system threads that run at the same time. Each has stacks in several ranges of memory, of which
/// Linux allows 65,530.
const MAX_THREADS: usize = 4000;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn PsCreateSystemThread(
        &call,
        handle: Out<KernelHandle>,
        _access: Ignored<u32>,
        _attributes: Ignored<GuestPtr<Opaque>>,
        _process: Ignored<KernelHandle>,
        client: Out<CLIENT_ID>,
        start: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Outcome {
        create(call, handle, client, start, context)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoCreateSystemThread(
        &call,
        _object: Ignored<GuestPtr<Opaque>>,
        handle: Out<KernelHandle>,
        _access: Ignored<u32>,
        _attributes: Ignored<GuestPtr<Opaque>>,
        _process: Ignored<KernelHandle>,
        client: Out<CLIENT_ID>,
        start: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Outcome {
        create(call, handle, client, start, context)
    }

    #[irql(APC)]
    fn PsTerminateSystemThread(&call, _status: Ignored<NtStatus>) -> NtStatus {
        terminate(call)
    }

    #[irql(ANY)]
    fn KeGetCurrentThread() -> GuestPtr<Opaque> {
        thread::object()
    }

    #[irql(ANY)]
    fn PsGetCurrentThread() -> GuestPtr<Opaque> {
        thread::object()
    }

    #[irql(DISPATCH), fixed]
    fn KeSetPriorityThread(_thread: Ignored<GuestPtr<THREAD>>, _priority: Ignored<i32>) -> i32 {
        8
    }

    #[irql(DISPATCH), fixed]
    fn KeQueryPriorityThread(_thread: Ignored<GuestPtr<THREAD>>) -> i32 {
        8
    }

    #[irql(DISPATCH), fixed]
    fn KeSetBasePriorityThread(_thread: Ignored<GuestPtr<THREAD>>, _increment: Ignored<i32>) -> i32 {
        0
    }

    #[irql(APC)]
    fn ZwYieldExecution() -> NtStatus {
        std_thread::yield_now();
        NtStatus::Success
    }
}

/// The driver's threads.
#[derive(Default)]
pub struct Threads {
    /// The objects of running threads, and the driver's code that created them.
    running: Vec<(GuestPtr<THREAD>, u64)>,
    /// Processes that a test invented, by ID, with the paths of their images.
    pub(crate) processes: SortedMap<u64, (GuestPtr<THREAD>, String)>,
    /// The numbers of threads that have ended, by their objects.
    pub(super) ended: BTreeMap<u64, u32>,
    /// The affinities that drivers set for threads, by their objects.
    pub(super) affinities: SortedMap<u64, u64>,
}

fn create(
    call: &Call,
    place: Out<KernelHandle>,
    client: Out<CLIENT_ID>,
    start: GuestPtr<Code>,
    context: GuestPtr<Opaque>,
) -> Outcome {
    let Kernel { pool, scheduler, threads, .. } = kernel();
    if lock(threads).running.len() >= MAX_THREADS {
        return fail(NO_RESOURCES);
    }
    let object: GuestPtr<THREAD> = lock(pool).try_new_object()?;
    object.Header().initialize(ThreadObject, 0)?;
    let handle = object::open("thread", object.address(), call.from)?;
    scheduler.begin();
    lock(threads).running.push((object, call.from));
    let number = thread::reserve_number();
    // Its ID leads to its object, even before it runs.
    thread::announce(number, object.cast());
    let body = move || run(number, object, start, context);
    let spawned = std_thread::Builder::new().name("system thread".into()).spawn(body);
    if let Err(error) = spawned {
        verify::refused_with("a thread", &error);
    }
    place.set(handle)?;
    client.set_if_wanted(CLIENT_ID { UniqueProcess: SYSTEM, UniqueThread: process::id(number) })?;
    Ok(())
}

fn run(number: u32, object: GuestPtr<THREAD>, start: GuestPtr<Code>, context: GuestPtr<Opaque>) {
    let attached = thread::attach_as(number, object.cast());
    let _attached = attached.unwrap_or_else(|error| verify::refused_with("a stack", &error));
    CURRENT.set(object);
    call_back("system thread", PASSIVE, start, &[context.address()]);
    finished(object, number);
}

thread_local! {
    static CURRENT: std::cell::Cell<GuestPtr<THREAD>> = const { std::cell::Cell::new(GuestPtr::NULL) };
}

fn finished(object: GuestPtr<THREAD>, number: u32) {
    let Kernel { scheduler, threads, .. } = kernel();
    {
        let mut threads = lock(threads);
        threads.running.retain(|(running, _)| *running != object);
        threads.ended.insert(object.address(), number);
    }
    thread::withdraw(number);
    dpc::release(PASSIVE);
    event::signal(object.Header(), 1).or_stop();
    scheduler.end();
}

/// Ends the calling thread: it never returns to the driver.
fn terminate(call: &Call) -> ! {
    let object = CURRENT.get();
    if object.is_null() {
        verify::stop(
            Rule::BadArgument,
            Some(call.name()),
            call.from,
            format_args!("ends a thread that the driver did not create"),
        );
    }
    check_current(call.name(), At::Call(call.from));
    finished(object, thread::number());
    // The thread and its stacks are kept, but nothing on them is needed any more.
    verify::park()
}

/// Reports a driver that has written to the object of the current thread, and repairs it: a driver has nothing to write there.
pub(crate) fn check_current(what: &str, at: At) {
    let object = thread::object().cast::<THREAD>();
    let Ok(THREAD { Header, Unused }) = object.read() else { return };
    let list = object.Header().WaitListHead();
    let is_intact = Header.Type == ThreadObject
        && Header.SignalState == 0
        && Header.WaitListHead.Flink == list
        && Header.WaitListHead.Blink == list
        && Unused.iter().all(|word| *word == 0);
    if is_intact {
        return;
    }
    let detail =
        format_args!("overwrites the object of the current thread (KTHREAD), which only the kernel may change");
    verify::find_at(Rule::AccessViolation, Some(what), at, detail);
    let unused = object.cast::<u64>().at((size_of::<DISPATCHER_HEADER>() / 8) as u64).array(Unused.len() as u64);
    unused.write(&Unused.map(|_| 0)).or_stop();
    object.Header().initialize(ThreadObject, 0).or_stop();
}

/// Reports threads of an image that are still running, and forgets them.
pub fn report_leaks(leaving: Leaving) {
    for (_, from) in lock(&kernel().threads).running.extract_if(.., |(_, from)| leaving.owns(*from)) {
        let what = format_args!("leaves a system thread running");
        verify::find_at(Rule::ThreadLeak, Some("PsCreateSystemThread"), from, what);
    }
}
