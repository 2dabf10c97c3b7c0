//! Processes and threads by ID and object. The driver's own threads are in the system process; while a thread begins a request of a
//! client, it is in the client's process.

use std::cell::Cell;

use etw_types::NtStatus;
use nt_processor::cpu::stack::Stack;
use nt_processor::cpu::thread;
use nt_processor::layout::{CLIENT_ID, THREAD};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque, OrStop as _};
use nt_verifier::routine::{ANY, APC, DISPATCH, Ignored, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::processor::ALL_PROCESSOR_GROUPS;

use super::thread::Threads;
use crate::ex::handle::KernelHandle;
use crate::ex::{object, raise};
use crate::{call_back, kernel, lock};

/// The ID of the system process.
pub const SYSTEM: u64 = 4;
/// The ID of the process of clients that name no other one.
pub const CLIENT: u64 = 0x1000;
const CLIENT_IMAGE: &str = r"\Device\HarddiskVolume1\client.exe";
/// The affinity mask of the processors in the only group.
const PROCESSORS: u64 = 3;

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn PsGetCurrentProcessId() -> KernelHandle {
        KernelHandle::new(current_id())
    }

    #[irql(ANY)]
    fn PsGetProcessId(process: GuestPtr<THREAD>) -> KernelHandle {
        KernelHandle::new(process_id(process))
    }

    #[irql(ANY)]
    fn IoGetCurrentProcess() -> GuestPtr<THREAD> {
        current()
    }

    #[irql(ANY)]
    fn PsGetCurrentProcess() -> GuestPtr<THREAD> {
        current()
    }

    #[irql(ANY)]
    fn PsGetThreadProcess(thread: GuestPtr<Opaque>) -> GuestPtr<THREAD> {
        of_thread(thread)
    }

    #[irql(ANY)]
    fn IoThreadToProcess(thread: GuestPtr<Opaque>) -> GuestPtr<THREAD> {
        of_thread(thread)
    }

    #[irql(ANY)]
    fn PsGetThreadProcessId(thread: GuestPtr<Opaque>) -> KernelHandle {
        KernelHandle::new(process_id(of_thread(thread)))
    }

    #[irql(ANY)]
    fn PsGetCurrentThreadProcessId() -> KernelHandle {
        KernelHandle::new(current_id())
    }

    #[irql(ANY)]
    fn PsGetCurrentThreadId() -> KernelHandle {
        KernelHandle::new(thread_id())
    }

    #[irql(ANY)]
    fn PsGetThreadId(thread: GuestPtr<Opaque>) -> KernelHandle {
        let ended = || lock(&kernel().threads).ended.get(&thread.address()).copied();
        KernelHandle::new(thread::number_of(thread).or_else(ended).map_or(0, id))
    }

    #[irql(ANY)]
    fn PsIsSystemThread(thread: GuestPtr<Opaque>) -> bool {
        is_system_thread(thread)
    }

    #[irql(ANY)]
    fn PsIsSystemProcess(wanted: GuestPtr<THREAD>) -> bool {
        wanted == process()
    }

    #[irql(ANY), fixed]
    fn PsIsThreadTerminating(_thread: Ignored<GuestPtr<THREAD>>) -> bool {
        false
    }

    /// The name follows the object.
    #[irql(ANY)]
    fn PsGetProcessImageFileName(process: GuestPtr<THREAD>) -> GuestPtr<u8> {
        process.after()
    }

    #[irql(ANY), fixed]
    fn PsGetProcessPeb(_process: Ignored<GuestPtr<THREAD>>) -> GuestPtr<Opaque> {
        GuestPtr::NULL
    }

    #[irql(ANY), fixed]
    fn PsGetProcessWow64Process(_process: Ignored<GuestPtr<THREAD>>) -> GuestPtr<Opaque> {
        GuestPtr::NULL
    }

    #[irql(ANY), fixed]
    fn PsGetProcessInheritedFromUniqueProcessId(_process: Ignored<GuestPtr<THREAD>>) -> KernelHandle {
        KernelHandle::default()
    }

    #[irql(ANY), fixed]
    fn PsGetProcessCreateTimeQuadPart(_process: Ignored<GuestPtr<THREAD>>) -> i64 {
        0
    }

    /// The system process is protected, and clients are not.
    #[irql(ANY)]
    fn PsIsProtectedProcess(wanted: GuestPtr<THREAD>) -> bool {
        wanted == process()
    }

    #[irql(ANY), fixed]
    fn PsGetThreadTeb(_thread: Ignored<GuestPtr<THREAD>>) -> GuestPtr<Opaque> {
        GuestPtr::NULL
    }

    #[irql(DISPATCH)]
    fn IoIsSystemThread(thread: GuestPtr<Opaque>) -> bool {
        is_system_thread(thread)
    }

    #[irql(ANY), fixed]
    fn PsGetProcessExitStatus(_process: Ignored<GuestPtr<THREAD>>) -> NtStatus {
        NtStatus::Pending
    }

    #[irql(ANY), fixed]
    fn PsGetProcessSessionId(_process: Ignored<GuestPtr<THREAD>>) -> u32 {
        0
    }

    #[irql(ANY), fixed]
    fn PsGetCurrentProcessSessionId() -> u32 {
        0
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidCid)]
    fn ZwOpenThread(
        &call,
        handle: Out<KernelHandle>,
        _access: Ignored<u32>,
        _attributes: Ignored<GuestPtr<Opaque>>,
        client: GuestPtr<CLIENT_ID>,
    ) -> Outcome {
        let Some(found) = by_thread_id(client.UniqueThread().read()?) else { return fail(NtStatus::InvalidCid) };
        handle.set(object::open("thread", found.address(), call.from)?)?;
        done(())
    }

    #[irql(APC), fails(NtStatus::InvalidCid)]
    fn PsLookupThreadByThreadId(&call, id: KernelHandle, thread: Out<GuestPtr<Opaque>>) -> Outcome {
        let Some(found) = by_thread_id(id.as_int()) else { return fail(NtStatus::InvalidCid) };
        object::reference(found.address(), call.from);
        thread.set(found)?;
        done(())
    }

    #[irql(APC), fails(NtStatus::InvalidCid)]
    fn PsLookupProcessByProcessId(&call, id: KernelHandle, process: Out<GuestPtr<THREAD>>) -> Outcome {
        let Some(found) = by_id(id.as_int()) else { return fail(NtStatus::InvalidCid) };
        object::reference(found.address(), call.from);
        process.set(found)?;
        done(())
    }

    /// Addresses are those of the only address space, so a thread need not change the process.
    #[irql(APC), fixed]
    fn KeStackAttachProcess(_process: Ignored<GuestPtr<THREAD>>, _state: Ignored<GuestPtr<Opaque>>) {}

    #[irql(APC), fixed]
    fn KeUnstackDetachProcess(_state: Ignored<GuestPtr<Opaque>>) {}

    #[irql(APC), fixed]
    fn KeAttachProcess(_process: Ignored<GuestPtr<THREAD>>) {}

    #[irql(APC), fixed]
    fn KeDetachProcess() {}

    #[irql(DISPATCH)]
    fn IoGetStackLimits(low: Out<u64>, high: Out<u64>) -> Result<(), Fault> {
        let (lowest, end) = thread::stack().map_or((0, 0), |stack| (stack.low(), stack.high()));
        low.set(lowest)?;
        high.set(end)
    }

    #[irql(DISPATCH)]
    fn IoGetRemainingStackSize(&call) -> u64 {
        thread::stack().map_or(0, |stack| call.slots().address().saturating_sub(stack.low()))
    }

    #[irql(APC)]
    fn IoGetInitialStack() -> GuestPtr<Opaque> {
        thread::stack().map_or(GuestPtr::NULL, |stack| GuestPtr::new(stack.high()))
    }

    #[irql(DISPATCH)]
    fn IoWithinStackLimits(start: u64, size: u64) -> u32 {
        let is_inside =
            |stack: Stack| start >= stack.low() && start.checked_add(size).is_some_and(|end| end <= stack.high());
        thread::stack().is_some_and(is_inside).into()
    }

    #[irql(DISPATCH), fails(NtStatus::NoMemory)]
    fn KeExpandKernelStackAndCallout(
        routine: GuestPtr<Code>,
        parameter: GuestPtr<Opaque>,
        _size: Ignored<u64>,
    ) -> NtStatus {
        expanded(routine, parameter)
    }

    #[irql(DISPATCH), fails(NtStatus::NoMemory)]
    fn KeExpandKernelStackAndCalloutEx(
        routine: GuestPtr<Code>,
        parameter: GuestPtr<Opaque>,
        _size: Ignored<u64>,
        _wait: Ignored<bool>,
        _context: Ignored<GuestPtr<Opaque>>,
    ) -> NtStatus {
        expanded(routine, parameter)
    }

    #[irql(DISPATCH)]
    fn KeSetSystemAffinityThreadEx(affinity: u64) -> u64 {
        set_affinity(affinity)
    }

    #[irql(DISPATCH)]
    fn KeSetSystemAffinityThread(affinity: u64) {
        set_affinity(affinity);
    }

    #[irql(DISPATCH)]
    fn KeRevertToUserAffinityThreadEx(affinity: u64) {
        revert_affinity(affinity);
    }

    #[irql(APC)]
    fn KeRevertToUserAffinityThread() {
        revert_affinity(0);
    }

    /// Both parameters point to a `GROUP_AFFINITY`: mask, group.
    #[irql(DISPATCH)]
    fn KeSetSystemGroupAffinityThread(affinity: GuestPtr<[u64; 2]>, previous: Out<[u64; 2]>) -> Result<(), Fault> {
        let [new, _] = affinity.read()?;
        previous.set_if_wanted([set_affinity(new), 0])
    }

    #[irql(DISPATCH)]
    fn KeRevertToUserGroupAffinityThread(previous: GuestPtr<[u64; 2]>) -> Result<(), Fault> {
        let [old, _] = previous.read()?;
        revert_affinity(old);
        Ok(())
    }

    /// Returns the previous affinity, which is that of the process at first.
    #[irql(APC)]
    fn KeSetAffinityThread(thread: GuestPtr<THREAD>, affinity: u64) -> u64 {
        lock(&kernel().threads).set_affinity(thread.address(), affinity)
    }

    #[irql(ANY)]
    fn KeQueryGroupAffinity(group: u16) -> u64 {
        if group == 0 { PROCESSORS } else { 0 }
    }

    #[irql(ANY), fixed]
    fn KeQueryHighestNodeNumber() -> u16 {
        0
    }

    #[irql(ANY), fixed]
    fn KeGetCurrentNodeNumber() -> u16 {
        0
    }

    #[irql(ANY), fixed]
    fn KeGetRecommendedSharedDataAlignment() -> u32 {
        64
    }

    /// `processor` is a `PROCESSOR_NUMBER`: group, number, reserved.
    #[irql(ANY)]
    fn KeGetProcessorNumberFromIndex(index: u32, processor: Out<u32>) -> Outcome {
        if index >= PROCESSORS.count_ones() {
            return fail(NtStatus::InvalidParameter);
        }
        processor.set(index << 16)?;
        done(())
    }

    #[irql(ANY)]
    fn KeGetProcessorIndexFromNumber(processor: GuestPtr<u32>) -> Result<u32, Fault> {
        let number = processor.read()? >> 16 & 0xFF;
        Ok(if number < PROCESSORS.count_ones() { number } else { u32::MAX })
    }

    #[irql(ANY)]
    fn KeQueryActiveProcessorCountEx(group: u16) -> u32 {
        processors(group)
    }

    #[irql(ANY)]
    fn KeQueryMaximumProcessorCountEx(group: u16) -> u32 {
        processors(group)
    }
}

thread_local! {
    /// The affinity that was set for this thread; 0 if none was.
    static AFFINITY: Cell<u64> = const { Cell::new(0) };
    /// Whether this thread has a system affinity, also if it is 0.
    static IS_AFFINE: Cell<bool> = const { Cell::new(false) };
}

/// Sets the affinity of the current thread, which then runs on the first of these processors. Returns the previous one.
fn set_affinity(affinity: u64) -> u64 {
    let affinity = affinity & PROCESSORS;
    thread::set_processor(if affinity == 0 { 0 } else { affinity.trailing_zeros() });
    IS_AFFINE.set(true);
    AFFINITY.replace(affinity)
}

/// Restores the affinity of the current thread. Has no effect on a thread without a system affinity.
fn revert_affinity(affinity: u64) {
    if IS_AFFINE.get() {
        set_affinity(affinity);
        IS_AFFINE.set(affinity != 0);
    }
}

impl Threads {
    fn set_affinity(&mut self, thread: u64, affinity: u64) -> u64 {
        self.affinities.insert(thread, affinity & PROCESSORS).unwrap_or(PROCESSORS)
    }
}

/// Returns the number of processors of a group.
fn processors(group: u16) -> u32 {
    if matches!(group, 0 | ALL_PROCESSOR_GROUPS) { PROCESSORS.count_ones() } else { 0 }
}

thread_local! {
    /// The process that this thread is in.
    static CURRENT: Cell<u64> = const { Cell::new(SYSTEM) };
}

/// Runs `body` in the process of a client, which is created unless it exists: what a client does reaches the driver on the client's thread.
pub fn in_client<R>(id: u64, body: impl FnOnce() -> R) -> R {
    if by_id(id).is_none() {
        raise::new_process(id, CLIENT_IMAGE).or_stop();
    }
    let outer = CURRENT.replace(id);
    let result = body();
    CURRENT.set(outer);
    result
}

/// Returns whether this thread is that of a client.
pub(crate) fn is_client() -> bool {
    CURRENT.get() != SYSTEM
}

/// Returns the ID of the process that this thread is in.
pub fn current_id() -> u64 {
    CURRENT.get()
}

/// Returns the process that this thread is in.
pub fn current() -> GuestPtr<THREAD> {
    by_id(current_id()).unwrap_or_else(process)
}

/// Returns the process of a thread. Only the current thread can be that of a client.
fn of_thread(wanted: GuestPtr<Opaque>) -> GuestPtr<THREAD> {
    if wanted == thread::object() { current() } else { process() }
}

/// Returns whether a thread is a system thread: all but one that runs a dispatch routine for a program. Only the current thread
/// can be asked about; others are the driver's own, as a rule.
fn is_system_thread(wanted: GuestPtr<Opaque>) -> bool {
    wanted != thread::object() || !is_client()
}

/// Returns the object of the system process.
pub fn process() -> GuestPtr<THREAD> {
    kernel().table.variables().process()
}

/// Returns the object of the process with this ID.
pub fn by_id(id: u64) -> Option<GuestPtr<THREAD>> {
    if id == SYSTEM { Some(process()) } else { lock(&kernel().threads).processes.get(&id).map(|known| known.0) }
}

/// Returns the ID of a process.
pub fn process_id(wanted: GuestPtr<THREAD>) -> u64 {
    let threads = lock(&kernel().threads);
    let other = threads.processes.iter().find(|(_, (object, _))| *object == wanted).map(|(number, _)| *number);
    if wanted == process() { SYSTEM } else { other.unwrap_or_default() }
}

/// Returns the path of the image that a process was created from. The system process has only a name.
pub fn image(id: u64) -> String {
    lock(&kernel().threads).processes.get(&id).map_or("System".to_owned(), |known| known.1.clone())
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
fn expanded(routine: GuestPtr<Code>, parameter: GuestPtr<Opaque>) -> NtStatus {
    call_back("callout", thread::irql(), routine, &[parameter.address()]);
    NtStatus::Success
}
