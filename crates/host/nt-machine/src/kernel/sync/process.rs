//! Processes and threads by ID and object. The driver runs in one process: the system process.

use std::cell::Cell;

use etw_types::NtStatus;

use super::thread::Threads;
use crate::cpu::stack::Stack;
use crate::cpu::thread;
use crate::kernel::ex::object;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::{CLIENT_ID, THREAD};
use crate::memory::{Code, GuestPtr, Opaque};
use crate::routine::{ANY, APC, Call, DISPATCH, PASSIVE, Routine, done, fail, fixed, routine};

/// The ID of the system process.
pub(crate) const SYSTEM: u64 = 4;
/// The affinity mask of the processors in the only group.
const PROCESSORS: u64 = 3;
/// `ALL_PROCESSOR_GROUPS`.
const ALL_GROUPS: u16 = 0xFFFF;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("PsGetCurrentProcessId", ANY, |_| SYSTEM),
    routine!("PsGetProcessId", ANY, |call| process_id(call.ptr(0))),
    routine!("IoGetCurrentProcess", ANY, |_| process()),
    routine!("PsGetCurrentProcess", ANY, |_| process()),
    routine!("PsGetThreadProcess", ANY, |_| process()),
    routine!("IoThreadToProcess", ANY, |_| process()),
    routine!("PsGetThreadProcessId", ANY, |_| SYSTEM),
    routine!("PsGetCurrentThreadProcessId", ANY, |_| SYSTEM),
    routine!("PsGetCurrentThreadId", ANY, |_| thread_id()),
    routine!("PsGetThreadId", ANY, |call| {
        let ended = || lock(&kernel().threads).ended.get(&call.arg(0)).copied();
        thread::number_of(call.ptr(0)).or_else(ended).map_or(0, id)
    }),
    routine!("PsIsSystemThread", ANY, |_| true),
    fixed("PsIsSystemProcess", ANY, 1),
    fixed("PsIsThreadTerminating", ANY, 0),
    routine!("PsGetProcessImageFileName", ANY, |_| process().after::<u8>()),
    fixed("PsGetProcessPeb", ANY, 0),
    fixed("PsGetProcessWow64Process", ANY, 0),
    fixed("PsGetProcessInheritedFromUniqueProcessId", ANY, 0),
    fixed("PsGetProcessCreateTimeQuadPart", ANY, 0),
    fixed("PsIsProtectedProcess", ANY, 1),
    fixed("PsGetThreadTeb", ANY, 0),
    fixed("IoIsSystemThread", DISPATCH, 1),
    fixed("PsGetProcessExitStatus", ANY, NtStatus::Pending.as_int() as u64),
    fixed("PsGetProcessSessionId", ANY, 0),
    fixed("PsGetCurrentProcessSessionId", ANY, 0),
    // Arguments: pointer to the handle, access, attributes, IDs of process and thread.
    routine!("ZwOpenThread", PASSIVE, |call| {
        let wanted = call.ptr::<CLIENT_ID>(3).UniqueThread().read()?;
        let Some(found) = by_thread_id(wanted) else { return fail(NtStatus::InvalidCid) };
        call.ptr(0).write(object::open("thread", found.address(), call.from)?)?;
        done(())
    })
    .fails(NtStatus::InvalidCid),
    // Arguments: ID, pointer to the object.
    routine!("PsLookupThreadByThreadId", APC, |call| {
        let Some(found) = by_thread_id(call.arg(0)) else { return fail(NtStatus::InvalidCid) };
        object::reference(found.address(), call.from);
        call.ptr(1).write(found)?;
        done(())
    })
    .fails(NtStatus::InvalidCid),
    routine!("PsLookupProcessByProcessId", APC, |call| {
        let Some(found) = by_id(call.arg(0)) else { return fail(NtStatus::InvalidCid) };
        object::reference(found.address(), call.from);
        call.ptr(1).write(found)?;
        done(())
    })
    .fails(NtStatus::InvalidCid),
    // Every thread is always in the only process.
    fixed("KeStackAttachProcess", APC, 0),
    fixed("KeUnstackDetachProcess", APC, 0),
    fixed("KeAttachProcess", APC, 0),
    fixed("KeDetachProcess", APC, 0),
    // Arguments: places for the lowest and the highest address.
    routine!("IoGetStackLimits", DISPATCH, |call| {
        let (low, high) = thread::stack().map_or((0, 0), |stack| (stack.low(), stack.high()));
        call.ptr(0).write(low)?;
        call.ptr(1).write(high)
    }),
    // The arguments lie on the stack.
    routine!("IoGetRemainingStackSize", DISPATCH, |call| {
        thread::stack().map_or(0, |stack| call.rest(0).address().saturating_sub(stack.low()))
    }),
    routine!("IoGetInitialStack", APC, |_| thread::stack().map_or(0, |stack| stack.high())),
    // Arguments: start, size.
    routine!("IoWithinStackLimits", DISPATCH, |call| {
        let is_inside = |stack: Stack| {
            call.arg(0) >= stack.low() && call.arg(0).checked_add(call.arg(1)).is_some_and(|end| end <= stack.high())
        };
        thread::stack().is_some_and(is_inside)
    }),
    // Arguments: routine, its argument, size of the stack in bytes.
    routine!("KeExpandKernelStackAndCallout", DISPATCH, expanded).fails(NtStatus::NoMemory),
    routine!("KeExpandKernelStackAndCalloutEx", DISPATCH, expanded).fails(NtStatus::NoMemory),
    routine!("KeSetSystemAffinityThreadEx", APC, |call| set_affinity(call.arg(0))),
    routine!("KeSetSystemAffinityThread", APC, |call| {
        set_affinity(call.arg(0));
    }),
    routine!("KeRevertToUserAffinityThreadEx", APC, |call| {
        set_affinity(call.arg(0));
    }),
    routine!("KeRevertToUserAffinityThread", APC, |_| {
        set_affinity(0);
    }),
    // Arguments: group affinity, pointer to the previous one.
    routine!("KeSetSystemGroupAffinityThread", APC, |call| {
        let new = call.ptr::<[u64; 2]>(0).read()?;
        let old = set_affinity(new[0]);
        call.ptr(1).write_if([old, 0])
    }),
    routine!("KeRevertToUserGroupAffinityThread", APC, |call| {
        set_affinity(call.ptr::<[u64; 2]>(0).read()?[0]);
        done(())
    }),
    // Arguments: thread, affinity. Returns the previous affinity, which is that of the process at first.
    routine!("KeSetAffinityThread", APC, |call| lock(&kernel().threads).set_affinity(call.arg(0), call.arg(1))),
    routine!("KeQueryGroupAffinity", ANY, |call| if call.u16(0) == 0 { PROCESSORS } else { 0 }),
    fixed("KeQueryHighestNodeNumber", ANY, 0),
    fixed("KeGetCurrentNodeNumber", ANY, 0),
    fixed("KeGetRecommendedSharedDataAlignment", ANY, 64),
    // Arguments: index, pointer to a `PROCESSOR_NUMBER`: group, number, reserved.
    routine!("KeGetProcessorNumberFromIndex", ANY, |call| {
        if call.u32(0) >= PROCESSORS.count_ones() {
            return fail(NtStatus::InvalidParameter);
        }
        call.ptr(1).write(call.u32(0) << 16)?;
        done(())
    }),
    routine!("KeGetProcessorIndexFromNumber", ANY, |call| {
        let number = call.ptr::<u32>(0).read()? >> 16 & 0xFF;
        done(if number < PROCESSORS.count_ones() { number } else { u32::MAX })
    }),
    routine!("KeQueryActiveProcessorCountEx", ANY, |call| processors(call.u16(0))),
    routine!("KeQueryMaximumProcessorCountEx", ANY, |call| processors(call.u16(0))),
];

thread_local! {
    /// The affinity that was set for this thread; 0 if none was.
    static AFFINITY: Cell<u64> = const { Cell::new(0) };
}

/// Sets the affinity of the current thread, which then runs on the first of these processors. Returns the previous one.
fn set_affinity(affinity: u64) -> u64 {
    let affinity = affinity & PROCESSORS;
    thread::set_processor(if affinity == 0 { 0 } else { affinity.trailing_zeros() });
    AFFINITY.replace(affinity)
}

impl Threads {
    fn set_affinity(&mut self, thread: u64, affinity: u64) -> u64 {
        self.affinities.insert(thread, affinity & PROCESSORS).unwrap_or(PROCESSORS)
    }
}

/// Returns the number of processors of a group.
fn processors(group: u16) -> u32 {
    if matches!(group, 0 | ALL_GROUPS) { PROCESSORS.count_ones() } else { 0 }
}

/// Returns the object of the system process.
pub(crate) fn process() -> GuestPtr<THREAD> {
    kernel().table.variables().process()
}

/// Returns the object of the process with this ID.
pub(crate) fn by_id(id: u64) -> Option<GuestPtr<THREAD>> {
    if id == SYSTEM { Some(process()) } else { lock(&kernel().threads).processes.get(&id).copied() }
}

/// Returns the ID of a process.
pub(crate) fn process_id(wanted: GuestPtr<THREAD>) -> u64 {
    let threads = lock(&kernel().threads);
    let other = threads.processes.iter().find(|(_, object)| **object == wanted).map(|(number, _)| *number);
    if wanted == process() { SYSTEM } else { other.unwrap_or_default() }
}

/// Returns the ID of the current thread.
pub(crate) fn thread_id() -> u64 {
    id(thread::number())
}

/// Returns the object of the thread with this ID.
fn by_thread_id(id: u64) -> Option<GuestPtr<Opaque>> {
    thread::by_number(u32::try_from(id / 4).ok()?).filter(|_| id.is_multiple_of(4))
}

/// Returns the Windows ID of a thread: a multiple of 4.
pub(super) fn id(number: u32) -> u64 {
    u64::from(number) * 4
}

/// Calls a routine that needs more stack. The stack already has its maximum size.
fn expanded(call: &Call) -> NtStatus {
    let (routine, argument): (GuestPtr<Code>, GuestPtr<Opaque>) = (call.ptr(0), call.ptr(1));
    call_back("callout", thread::irql(), routine, &[argument.address()]);
    NtStatus::Success
}
