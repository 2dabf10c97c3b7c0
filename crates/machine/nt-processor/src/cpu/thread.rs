//! The state that a thread needs to run driver code: a stack, a block at the GS base, and a note of its current call.
//!
//! The block imitates the members of the processor control region that compiled drivers use, and holds the two stack
//! pointers in a separate part.

use std::arch::asm;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pe_image::unwind::Registers;
use windows_constants::object::ThreadObject;

use super::handler::{ARCH_SET_GS, HandlerStack, Restored, set_base};
use super::stack::Stack;
use super::switch::{MAX_ARGUMENTS, Returned, call_driver};
use crate::layer_state::{LayerState, lock_from_handler};
use crate::layout::{CROSSING, DISPATCHER_HEADER, PROCESSOR_BLOCK};
use crate::memory::{Fault, GuestPtr, Opaque, OrStop as _, Protection, Region};

/// The number of bytes reserved at the top of a stack. They hold a crossing without a caller.
const TOP: u64 = 128;

type Block = GuestPtr<PROCESSOR_BLOCK>;

/// A call that a driver made and that has not returned.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The routine.
    pub routine: &'static str,
    /// The address that it returns to.
    pub from: u64,
}

thread_local! {
    static BLOCK: Cell<Block> = const { Cell::new(GuestPtr::NULL) };
    static STACK: Cell<Option<Stack>> = const { Cell::new(None) };
    static HANDLER: Cell<Option<HandlerStack>> = const { Cell::new(None) };
    /// The segment registers that a signal handler restored and that no finding names yet.
    static RESTORED: Cell<Restored> = const { Cell::new(Restored { fs: false, gs: false }) };
    static SITE: Cell<Option<Site>> = const { Cell::new(None) };
    static FAULT: Cell<Option<Registers>> = const { Cell::new(None) };
    static CHANGED: Cell<u64> = const { Cell::new(0) };
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static PHASE: Arc<Phase> = Arc::default();
    /// The driver's innermost callback that this thread is running.
    static CALLBACK: Cell<Option<&'static str>> = const { Cell::new(None) };
    /// The number of a request, the jobs that this thread has run since it began, and the driver's last call in one of
    /// them that queued a job.
    static JOBS: Cell<(u64, u32, Option<Site>)> = const { Cell::new((0, 0, None)) };
    /// The waits of this thread's callback whose time has passed, and the driver's last call of one.
    static TIMEOUTS: Cell<(u32, Option<Site>)> = const { Cell::new((0, None)) };
}

/// The threads of a machine.
#[derive(Debug, Default)]
pub struct Threads {
    /// The number of threads so far.
    numbers: AtomicU32,
    /// Blocks and stacks of threads that have ended, for reuse.
    spare: Mutex<Vec<(Block, Stack, HandlerStack)>>,
    /// The objects of the attached threads, by thread number.
    objects: Mutex<BTreeMap<u32, GuestPtr<Opaque>>>,
    /// The Linux thread IDs of the attached threads, by thread number.
    system: Mutex<BTreeMap<u32, Native>>,
}

/// A thread of Linux. It may have run as another thread of the driver before.
#[derive(Clone, Debug)]
struct Native {
    id: i32,
    /// The processor time that it had used when it was attached.
    used: u64,
    phase: Arc<Phase>,
}

/// Which code a thread runs, for the thread that watches it: twice the number of changes, plus 1 in the driver.
#[derive(Debug, Default)]
struct Phase(AtomicU64);

impl Phase {
    /// Called by the thread itself when it enters or leaves the driver.
    fn begin(&self, is_driver: bool) {
        let changes = self.0.load(Ordering::Relaxed) | 1;
        self.0.store(changes.wrapping_add(1) | u64::from(is_driver), Ordering::Relaxed);
    }

    /// Returns the number of the phase, if it is one of the host.
    fn of_host(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|phase| phase & 1 == 0)
    }
}

static THREADS: LayerState<Threads> = LayerState::new();

/// Makes these the threads of this process.
pub fn attach_to(threads: &'static Threads) {
    THREADS.attach(threads);
}

/// The calling thread can run driver code until this is dropped.
#[derive(Debug)]
pub struct Attached(());

/// Reserves a number for a future thread.
pub fn reserve_number() -> u32 {
    THREADS.get().numbers.fetch_add(1, Ordering::Relaxed) + 1
}

/// Makes an object known as that of a thread which will have this number.
pub fn announce(number: u32, object: GuestPtr<Opaque>) {
    if let Ok(mut objects) = THREADS.get().objects.lock() {
        objects.insert(number, object);
    }
}

/// Forgets the object of a thread that has ended. Its ID leads nowhere afterwards.
pub fn withdraw(number: u32) {
    if let Ok(mut objects) = THREADS.get().objects.lock() {
        objects.remove(&number);
    }
}

/// Prepares the calling thread to run driver code.
pub fn attach() -> io::Result<Attached> {
    attach_as(reserve_number(), GuestPtr::NULL)
}

/// Prepares the calling thread to run driver code, with this number. If `object` is NULL, the thread gets an object of
/// its own.
pub fn attach_as(number: u32, object: GuestPtr<Opaque>) -> io::Result<Attached> {
    let threads = THREADS.get();
    let spare = threads.spare.lock().ok().and_then(|mut spare| spare.pop());
    let (block, stack, handler) = if let Some(spare) = spare {
        spare
    } else {
        let region = Region::new(size_of::<PROCESSOR_BLOCK>() as u64, Protection::ReadWrite, false)?;
        (Block::new(region.base), Stack::new()?, HandlerStack::new()?)
    };
    let top = GuestPtr::<CROSSING>::new(stack.high() - TOP);
    let object = object.non_null().unwrap_or_else(|| block.Thread().cast());
    prepare(block, object, top).or_stop();
    if !set_base(ARCH_SET_GS, block.address()) {
        return Err(io::Error::last_os_error());
    }
    handler.install(block.address())?;
    BLOCK.set(block);
    STACK.set(Some(stack));
    HANDLER.set(Some(handler));
    NUMBER.set(number);
    if let Ok(mut objects) = threads.objects.lock() {
        objects.insert(number, object);
    }
    if let Ok(mut system) = threads.system.lock() {
        // SAFETY: the call only returns a number.
        let id = unsafe { libc::gettid() };
        let phase = PHASE.with(Arc::clone);
        system.insert(number, Native { id, used: processor_time(id).unwrap_or_default(), phase });
    }
    Ok(Attached(()))
}

/// Fills in a block. The crossing at the top of the stack has no caller.
fn prepare(block: Block, object: GuestPtr<Opaque>, top: GuestPtr<CROSSING>) -> Result<(), Fault> {
    block.Thread().cast::<DISPATCHER_HEADER>().initialize(ThreadObject, 0)?;
    block.SelfPcr().write(block)?;
    block.CurrentPrcb().write(block.Prcb())?;
    block.CurrentThread().write(object)?;
    block.Irql().write(0)?;
    block.Number().write(0)?;
    block.HostThread().write(host_thread())?;
    top.Return().write(0)?;
    block.DriverStack().write(top.address())
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Ok(mut objects) = THREADS.get().objects.lock() {
            objects.remove(&NUMBER.get());
        }
        if let Ok(mut system) = THREADS.get().system.lock() {
            system.remove(&NUMBER.get());
        }
        if let (block, Some(stack), Some(handler)) =
            (BLOCK.replace(GuestPtr::NULL), STACK.replace(None), HANDLER.replace(None))
            && let Ok(mut spare) = THREADS.get().spare.lock()
        {
            handler.remove();
            spare.push((block, stack, handler));
        }
    }
}

/// Returns the FS base of the calling thread, which the C library stores there.
fn host_thread() -> u64 {
    let base: u64;
    // SAFETY: the first word at the FS base is its own address on x86-64.
    unsafe { asm!("mov {}, fs:[0]", out(reg) base, options(nostack, readonly, preserves_flags)) };
    base
}

/// Calls a routine of the driver on its stack. The thread must be attached.
pub fn call(target: u64, arguments: &[u64]) -> u64 {
    call_for_state(target, arguments).value
}

/// Like [`call`], and also returns the state in which the routine left the processor.
fn call_for_state(target: u64, arguments: &[u64]) -> Returned {
    let mut all = [0; MAX_ARGUMENTS];
    for (place, argument) in all.iter_mut().zip(arguments) {
        *place = *argument;
    }
    let site = SITE.replace(None);
    PHASE.with(|phase| phase.begin(true));
    // SAFETY: an attached thread has a block. If `target` is not code, the fault handler reports the mistake and does
    // not return here.
    let result = unsafe { call_driver(target, &raw const all) };
    PHASE.with(|phase| phase.begin(false));
    SITE.set(site);
    result
}

/// Like [`call`], for a callback with a name. Also returns the state in which it left the processor.
pub fn call_back(what: &'static str, target: u64, arguments: &[u64]) -> Returned {
    let outer = (CALLBACK.replace(Some(what)), TIMEOUTS.replace((0, None)));
    let result = call_for_state(target, arguments);
    CALLBACK.set(outer.0);
    TIMEOUTS.set(outer.1);
    result
}

/// Returns the driver's innermost callback that this thread is running.
#[inline]
pub fn callback() -> Option<&'static str> {
    CALLBACK.get()
}

/// Called when this thread, which runs DPCs or work items, takes a job during a request with this number.
pub fn take_job(request: u64) {
    let (before, count, queued) = JOBS.get();
    let (count, queued) = if before == request { (count.saturating_add(1), queued) } else { (1, None) };
    JOBS.set((request, count, queued));
}

/// Called when a DPC, a work item or a timer is queued. Only queueing by another job is of interest.
pub fn job_queued() {
    let (request, count, _) = JOBS.get();
    if count != 0 {
        JOBS.set((request, count, SITE.get()));
    }
}

/// Returns the driver's call that keeps this thread busy, because jobs queue themselves or each other again and again,
/// and how many of them have run.
pub fn repeating_call() -> Option<(Site, u32)> {
    /// More than a driver queues at a time, and less than what runs in a few milliseconds.
    const MANY: u32 = 1000;
    let (_, count, queued) = JOBS.get();
    queued.filter(|_| count >= MANY).map(|site| (site, count))
}

/// Called when a wait of this thread ends because its time is over.
pub fn wait_timed_out() {
    let (count, _) = TIMEOUTS.get();
    TIMEOUTS.set((count.saturating_add(1), SITE.get()));
}

/// Returns the driver's call that waited last, if the callback that this thread runs waits again and again, and how often it
/// has waited. Time is skipped, so such a thread looks busy.
pub fn repeating_wait() -> Option<(Site, u32)> {
    /// More than a driver that retries something.
    const MANY: u32 = 100;
    let (count, site) = TIMEOUTS.get();
    site.filter(|_| count >= MANY).map(|site| (site, count))
}

/// Returns the processor time of each thread since it was attached in nanoseconds, by Linux thread ID.
pub fn processor_times() -> BTreeMap<i32, u64> {
    let threads = THREADS.get().system.lock().map(|system| system.clone()).unwrap_or_default();
    let time = |thread: Native| Some((thread.id, processor_time(thread.id)?.saturating_sub(thread.used)));
    threads.into_values().filter_map(time).collect()
}

/// Returns the threads that run code of the host, by Linux thread ID, with a number that changes each time they enter or leave
/// the driver.
pub fn host_phases() -> BTreeMap<i32, u64> {
    let threads = THREADS.get().system.lock().map(|system| system.clone()).unwrap_or_default();
    threads.into_values().filter_map(|thread| Some((thread.id, thread.phase.of_host()?))).collect()
}

/// Returns whether an attached thread other than this one runs or could run.
pub fn can_one_run() -> bool {
    let threads = THREADS.get().system.lock().map(|system| system.clone()).unwrap_or_default();
    let mut others = threads.into_iter().filter(|(number, _)| *number != NUMBER.get());
    others.any(|(_, thread)| {
        let status = std::fs::read_to_string(format!("/proc/self/task/{}/stat", thread.id)).unwrap_or_default();
        // The name is in parentheses and may contain anything; the state follows it.
        status.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['R', 'D']))
    })
}

/// Returns the number of the thread with this Linux thread ID. Does not wait.
pub fn number_by_id(id: i32) -> Option<u32> {
    let system = lock_from_handler(&THREADS.get().system)?;
    system.iter().find(|(_, known)| known.id == id).map(|(number, _)| *number)
}

fn processor_time(thread: i32) -> Option<u64> {
    /// The low bits of a clock ID that is made from a thread ID: the thread's own time, as the scheduler measures it.
    const OF_THREAD: i32 = 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the time, and the call fails if the number is not the ID of a thread.
    let result = unsafe { libc::clock_gettime(!thread << 3 | OF_THREAD, &raw mut time) };
    (result == 0).then_some(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// Returns whether this thread can run driver code.
#[inline]
pub fn is_attached() -> bool {
    !BLOCK.get().is_null()
}

/// Returns this thread's block, if the thread is attached.
#[inline]
fn block() -> Option<Block> {
    BLOCK.get().non_null()
}

/// Returns the IRQL of this thread. Each thread acts as a processor of its own.
#[inline]
pub fn irql() -> u8 {
    block().map_or(0, |block| block.Irql().read().or_stop())
}

/// Changes the IRQL and returns the old one. Records which call of the driver changed it.
#[inline]
pub fn set_irql(irql: u8) -> u8 {
    CHANGED.set(SITE.get().map_or(0, |site| site.from));
    block().map_or(0, |block| block.Irql().change(|_| irql).or_stop())
}

/// Returns the return address of the call that last changed the IRQL, or 0 if it was not a call of the driver.
pub fn irql_changed_by() -> u64 {
    CHANGED.get()
}

/// Sets the number of the processor that this thread seems to run on.
pub fn set_processor(number: u32) {
    if let Some(block) = block() {
        block.Number().write(number).or_stop();
    }
}

/// Returns the number of the processor that this thread seems to run on.
pub fn processor() -> u32 {
    block().map_or(0, |block| block.Number().read().or_stop())
}

/// Returns the address of the current thread's object.
#[inline]
pub fn object() -> GuestPtr<Opaque> {
    block().map_or(GuestPtr::NULL, |block| block.CurrentThread().read().or_stop())
}

/// Returns where the driver's stack continues. In a routine, this is the crossing of its call.
pub fn driver_stack() -> u64 {
    block().map_or(0, |block| block.DriverStack().read().or_stop())
}

/// Sets where the driver's stack continues.
pub fn set_driver_stack(address: u64) {
    if let Some(block) = block() {
        block.DriverStack().write(address).or_stop();
    }
}

/// Returns where the host's stack continues.
pub(crate) fn host_stack() -> u64 {
    block().map_or(0, |block| block.HostStack().read().or_stop())
}

/// Returns the object of the thread with this number.
pub fn by_number(number: u32) -> Option<GuestPtr<Opaque>> {
    THREADS.get().objects.lock().ok()?.get(&number).copied()
}

/// Returns the number of the thread with this object.
pub fn number_of(object: GuestPtr<Opaque>) -> Option<u32> {
    let objects = THREADS.get().objects.lock().ok()?;
    objects.iter().find(|(_, known)| **known == object).map(|(number, _)| *number)
}

/// Returns the number of this thread, which no other thread has.
#[inline]
pub fn number() -> u32 {
    NUMBER.get()
}

/// Returns the call that the driver is making on this thread.
#[inline]
pub fn site() -> Option<Site> {
    SITE.get()
}

/// Records a call and returns the previous one.
#[inline]
pub fn enter(site: Site) -> Option<Site> {
    PHASE.with(|phase| phase.begin(false));
    SITE.replace(Some(site))
}

/// Restores the call that [`enter`] returned.
#[inline]
pub fn leave(outer: Option<Site>) {
    SITE.set(outer);
    PHASE.with(|phase| phase.begin(true));
}

/// Returns the registers of the fault that is being examined.
pub fn fault() -> Option<Registers> {
    FAULT.get()
}

/// Records the fault that is being examined, or `None` when that is done.
pub fn set_fault(registers: Option<&Registers>) {
    FAULT.set(registers.copied());
}

/// Records that a signal handler restored segment registers that the driver changed.
pub fn set_restored(restored: Restored) {
    RESTORED.set(RESTORED.get().or(restored));
}

/// Returns what was recorded with [`set_restored`] since the last call.
pub fn take_restored() -> Restored {
    RESTORED.take()
}

/// Returns this thread's driver stack.
pub fn stack() -> Option<Stack> {
    STACK.get()
}
