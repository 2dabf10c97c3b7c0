//! System threads, and what threads and processes are called.

use std::sync::{Mutex, OnceLock};
use std::thread as std_thread;

use super::routine::{ANY, APC, Call, DISPATCH, PASSIVE, Routine, routine};
use super::{call_back, events, kernel, lock, objects};
use crate::cpu::thread;
use crate::memory::guest;
use crate::verify::{self, Rule};

/// Bytes of an imitated thread object: a dispatcher header, and nothing else that anybody looks at.
const SIZE: u64 = 0x100;
const THREAD: u8 = 6;
/// The system process.
pub(super) const SYSTEM: u64 = 4;
const NO_MEMORY: u64 = 0xC000_0017;

/// Threads of the driver that run: their objects, and who created them.
static RUNNING: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

pub(super) const ROUTINES: &[Routine] = &[
    routine("PsCreateSystemThread", PASSIVE, create).fails(0xC000_009A),
    routine("IoCreateSystemThread", PASSIVE, |call| {
        let shifted = Call::new(call.name(), call.rest(1), call.from);
        create(&shifted)
    })
    .fails(0xC000_009A),
    routine("PsTerminateSystemThread", APC, terminate),
    routine("KeGetCurrentThread", ANY, |_| thread::object()),
    routine("PsGetCurrentThread", ANY, |_| thread::object()),
    routine("PsGetCurrentThreadId", ANY, |_| thread_id()),
    routine("PsGetThreadId", ANY, |_| thread_id()),
    routine("PsGetCurrentProcessId", ANY, |_| SYSTEM),
    routine("PsGetProcessId", ANY, |_| SYSTEM),
    routine("IoGetCurrentProcess", ANY, |_| process()),
    routine("PsGetCurrentProcess", ANY, |_| process()),
    routine("PsIsSystemThread", ANY, |_| 1),
    routine("KeSetPriorityThread", DISPATCH, |_| 8).fixed(),
    routine("KeQueryPriorityThread", DISPATCH, |_| 8).fixed(),
    routine("KeSetBasePriorityThread", DISPATCH, |_| 0).fixed(),
    routine("ZwYieldExecution", APC, |_| {
        std_thread::yield_now();
        0
    }),
];

/// The object of the system's process, the only one.
pub(super) fn process() -> u64 {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    *PROCESS.get_or_init(|| lock(&kernel().pool).object(SIZE))
}

pub(super) fn thread_id() -> u64 {
    u64::from(thread::number()) * 4
}

/// Arguments: handle, access, attributes, process, client id, routine, context.
fn create(call: &Call) -> u64 {
    let (start, context) = (call.arg(5), call.arg(6));
    let object = lock(&kernel().pool).object(SIZE);
    events::initialize(object, THREAD, 0);
    kernel().scheduler.begin();
    lock(&RUNNING).push((object, call.from));
    let spawned = std_thread::Builder::new().name("system thread".into()).spawn(move || run(object, start, context));
    if spawned.is_err() {
        finished(object);
        return NO_MEMORY;
    }
    guest::write(call.arg(0), objects::open("thread", object, call.from));
    if let client_id @ 1.. = call.arg(4) {
        guest::write(client_id, SYSTEM);
        guest::write(client_id + 8, object);
    }
    0
}

fn run(object: u64, start: u64, context: u64) {
    if let Ok(_attached) = thread::attach() {
        CURRENT.set(object);
        call_back("system thread", PASSIVE, start, &[context]);
    }
    finished(object);
}

thread_local! {
    static CURRENT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

fn finished(object: u64) {
    lock(&RUNNING).retain(|(running, _)| *running != object);
    events::signal(object, 1);
    kernel().scheduler.end();
}

/// Ends the calling thread: it never gets back to the driver.
fn terminate(call: &Call) -> u64 {
    let object = CURRENT.get();
    if object == 0 {
        verify::stop(Rule::BadArgument, Some(call.name()), call.from, format_args!("not a thread of the driver"));
    }
    finished(object);
    // The thread's stacks stay as they are: nothing on them is needed any more.
    verify::park()
}

/// Reports threads that run, and forgets them.
pub(super) fn report_leaks() {
    for (_, from) in std::mem::take(&mut *lock(&RUNNING)) {
        let what = format_args!("a system thread still runs");
        verify::find_at(Rule::ThreadLeak, Some("PsCreateSystemThread"), from, what);
    }
}
