//! Processes and threads by ID and object. The driver runs in one process: the system process.

use std::cell::Cell;

use etw_types::NtStatus;

use crate::cpu::thread;
use crate::kernel::ex::object;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::THREAD;
use crate::memory::{Code, GuestPtr, Opaque};
use crate::routine::{ANY, APC, Call, DISPATCH, Routine, done, fail, fixed, routine};

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
    routine!("PsGetThreadId", ANY, |call| thread::number_of(call.ptr(0)).map_or(0, id)),
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
    // Arguments: ID, pointer to the object.
    routine!("PsLookupThreadByThreadId", APC, |call| {
        let Some(found) = thread::by_number((call.arg(0) / 4) as u32).filter(|_| call.arg(0) % 4 == 0) else {
            return fail(NtStatus::InvalidCid);
        };
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
    // Arguments: routine, its argument, size of the stack in bytes.
    routine!("KeExpandKernelStackAndCallout", DISPATCH, expanded).fails(NtStatus::NoMemory),
    routine!("KeExpandKernelStackAndCalloutEx", DISPATCH, expanded).fails(NtStatus::NoMemory),
    routine!("KeSetSystemAffinityThreadEx", APC, |call| AFFINITY.replace(call.arg(0) & PROCESSORS)),
    routine!("KeSetSystemAffinityThread", APC, |call| AFFINITY.set(call.arg(0) & PROCESSORS)),
    routine!("KeRevertToUserAffinityThreadEx", APC, |call| AFFINITY.set(call.arg(0) & PROCESSORS)),
    routine!("KeRevertToUserAffinityThread", APC, |_| AFFINITY.set(0)),
    // Arguments: group affinity, pointer to the previous one.
    routine!("KeSetSystemGroupAffinityThread", APC, |call| {
        let new = call.ptr::<[u64; 2]>(0).read()?;
        let old = AFFINITY.replace(new[0] & PROCESSORS);
        call.ptr(1).write_if([old, 0])
    }),
    routine!("KeRevertToUserGroupAffinityThread", APC, |call| {
        AFFINITY.set(call.ptr::<[u64; 2]>(0).read()?[0] & PROCESSORS);
        done(())
    }),
    routine!("KeSetAffinityThread", APC, |call| AFFINITY.replace(call.arg(1) & PROCESSORS)),
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
