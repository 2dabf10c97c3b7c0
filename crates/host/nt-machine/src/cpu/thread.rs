//! What a thread needs to run driver code: a stack, a block at the GS base, and a note of what it is doing.
//!
//! The block imitates the processor control region as far as compiled drivers look into it, and has the two stack
//! pointers in a part of its own.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::stack::Stack;
use super::switch::{MOST_ARGUMENTS, call_driver};
use crate::layout::{CROSSING, DISPATCHER_HEADER, PROCESSOR_BLOCK};
use crate::memory::{Fault, GuestPtr, Opaque, OrStop as _, Protection, Region};
use crate::part::Part;
use pe_image::unwind::Registers;

/// Bytes at the top of a stack that stay as they are: a crossing without a caller.
const TOP: u64 = 128;

/// `ThreadObject`.
const THREAD_OBJECT: u8 = 6;

type Block = GuestPtr<PROCESSOR_BLOCK>;

/// A call that a driver made and that has not returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// The routine.
    pub(crate) routine: &'static str,
    /// Where it returns to.
    pub(crate) from: u64,
}

thread_local! {
    static BLOCK: Cell<Block> = const { Cell::new(GuestPtr::NULL) };
    static STACK: Cell<Option<Stack>> = const { Cell::new(None) };
    static SITE: Cell<Option<Site>> = const { Cell::new(None) };
    static FAULT: Cell<Option<Registers>> = const { Cell::new(None) };
    static CHANGED: Cell<u64> = const { Cell::new(0) };
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    /// The innermost callback of the driver that this thread is in.
    static CALLBACK: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// The threads of a machine.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// How many there have been.
    numbers: AtomicU32,
    /// Stacks and blocks of threads that ended, for the next ones.
    spare: Mutex<Vec<(Block, Stack)>>,
    /// The objects of those that are there, by their numbers.
    objects: Mutex<BTreeMap<u32, GuestPtr<Opaque>>>,
    /// What the system calls those that are there.
    system: Mutex<BTreeMap<u32, i32>>,
}

static THREADS: Part<Threads> = Part::new();

/// Makes the threads of a machine those of this process.
pub(crate) fn attach_to(threads: &'static Threads) {
    THREADS.attach(threads);
}

/// Makes the calling thread one that can run driver code, until the result is dropped.
#[derive(Debug)]
pub(crate) struct Attached(());

/// A number for a thread to come.
pub(crate) fn reserve_number() -> u32 {
    THREADS.get().numbers.fetch_add(1, Ordering::Relaxed) + 1
}

/// Prepares the calling thread.
pub(crate) fn attach() -> io::Result<Attached> {
    attach_as(reserve_number(), GuestPtr::NULL)
}

/// Prepares the calling thread, which has a number and maybe an object.
pub(crate) fn attach_as(number: u32, object: GuestPtr<Opaque>) -> io::Result<Attached> {
    let threads = THREADS.get();
    let spare = threads.spare.lock().ok().and_then(|mut spare| spare.pop());
    let (block, stack) = if let Some(spare) = spare {
        spare
    } else {
        let region = Region::new(size_of::<PROCESSOR_BLOCK>() as u64, Protection::ReadWrite, false)?;
        (Block::new(region.base), Stack::new()?)
    };
    let top = GuestPtr::<CROSSING>::new(stack.high() - TOP);
    let object = object.non_null().unwrap_or_else(|| block.Thread().cast());
    prepare(block, object, top).or_stop();
    set_gs(block.address())?;
    super::stack::use_handler_stack()?;
    BLOCK.set(block);
    STACK.set(Some(stack));
    NUMBER.set(number);
    if let Ok(mut objects) = threads.objects.lock() {
        objects.insert(number, object);
    }
    if let Ok(mut system) = threads.system.lock() {
        // SAFETY: returns a number.
        system.insert(number, unsafe { libc::gettid() });
    }
    Ok(Attached(()))
}

/// Fills in a block; nobody called from the top of the stack.
fn prepare(block: Block, object: GuestPtr<Opaque>, top: GuestPtr<CROSSING>) -> Result<(), Fault> {
    block.Thread().cast::<DISPATCHER_HEADER>().initialize(THREAD_OBJECT, 0)?;
    block.SelfPcr().write(block)?;
    block.CurrentPrcb().write(block.Prcb())?;
    block.CurrentThread().write(object)?;
    block.Irql().write(0)?;
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
        if let (block, Some(stack)) = (BLOCK.replace(GuestPtr::NULL), STACK.replace(None))
            && let Ok(mut spare) = THREADS.get().spare.lock()
        {
            spare.push((block, stack));
        }
    }
}

fn set_gs(base: u64) -> io::Result<()> {
    const ARCH_SET_GS: i32 = 0x1001;
    // SAFETY: nothing in a Linux process uses GS on x86-64; the block lives as long as the process.
    let result = unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_GS, base) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Calls a routine of the driver on its stack. The thread is attached.
pub(crate) fn call(target: u64, arguments: &[u64]) -> u64 {
    let mut all = [0; MOST_ARGUMENTS];
    for (place, argument) in all.iter_mut().zip(arguments) {
        *place = *argument;
    }
    let site = SITE.replace(None);
    // SAFETY: attached threads have their block; where `target` is no code the fault handler names the mistake and does
    // not return here.
    let result = unsafe { call_driver(target, &raw const all) };
    SITE.set(site);
    result
}

/// The same, for a callback with a name.
pub(crate) fn call_back(what: &'static str, target: u64, arguments: &[u64]) -> u64 {
    let outer = CALLBACK.replace(Some(what));
    let result = call(target, arguments);
    CALLBACK.set(outer);
    result
}

/// The innermost callback of the driver that this thread is in.
pub(crate) fn callback() -> Option<&'static str> {
    CALLBACK.get()
}

/// The processor time that each thread that can run driver code has used, in nanoseconds, by what the system calls it.
pub(crate) fn processor_times() -> BTreeMap<i32, u64> {
    let threads = THREADS.get().system.lock().map(|system| system.clone()).unwrap_or_default();
    threads.into_values().filter_map(|thread| Some((thread, processor_time(thread)?))).collect()
}

fn processor_time(thread: i32) -> Option<u64> {
    /// What makes a clock of the number of a thread: its own time, as the scheduler counts it.
    const OF_THREAD: i32 = 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the time; a number that is no thread's is refused.
    let result = unsafe { libc::clock_gettime(!thread << 3 | OF_THREAD, &raw mut time) };
    (result == 0).then_some(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// Whether this thread can run driver code.
pub(crate) fn is_attached() -> bool {
    !BLOCK.get().is_null()
}

/// This thread's block, if it is attached.
fn block() -> Option<Block> {
    BLOCK.get().non_null()
}

/// The IRQL of this thread: each is a processor of its own.
pub(crate) fn irql() -> u8 {
    block().map_or(0, |block| block.Irql().read().or_stop())
}

/// Changes the IRQL and returns the old one. The call that asked for it is noted.
pub(crate) fn set_irql(irql: u8) -> u8 {
    CHANGED.set(SITE.get().map_or(0, |site| site.from));
    block().map_or(0, |block| block.Irql().change(|_| irql).or_stop())
}

/// Where the call returns to that changed the IRQL last; 0 if it was no call of the driver.
pub(crate) fn irql_changed_by() -> u64 {
    CHANGED.get()
}

/// The address that stands for the current thread.
pub(crate) fn object() -> GuestPtr<Opaque> {
    block().map_or(GuestPtr::NULL, |block| block.CurrentThread().read().or_stop())
}

/// Where the driver's stack continues: in a routine, the crossing of its call.
pub(crate) fn driver_stack() -> u64 {
    block().map_or(0, |block| block.DriverStack().read().or_stop())
}

/// Says where the driver's stack continues.
pub(crate) fn set_driver_stack(address: u64) {
    if let Some(block) = block() {
        block.DriverStack().write(address).or_stop();
    }
}

/// Where the host's stack continues.
pub(crate) fn host_stack() -> u64 {
    block().map_or(0, |block| block.HostStack().read().or_stop())
}

/// The object of the thread with a number.
pub(crate) fn by_number(number: u32) -> Option<GuestPtr<Opaque>> {
    THREADS.get().objects.lock().ok()?.get(&number).copied()
}

/// The number of the thread with an object.
pub(crate) fn number_of(object: GuestPtr<Opaque>) -> Option<u32> {
    let objects = THREADS.get().objects.lock().ok()?;
    objects.iter().find(|(_, known)| **known == object).map(|(number, _)| *number)
}

/// A number that no other thread has.
pub(crate) fn number() -> u32 {
    NUMBER.get()
}

/// The call that the driver is making on this thread.
pub(crate) fn site() -> Option<Site> {
    SITE.get()
}

/// Notes a call and returns the one before.
pub(crate) fn enter(site: Site) -> Option<Site> {
    SITE.replace(Some(site))
}

/// Takes a note back.
pub(crate) fn leave(outer: Option<Site>) {
    SITE.set(outer);
}

/// The registers of a fault that is being looked into.
pub(crate) fn fault() -> Option<Registers> {
    FAULT.get()
}

/// Notes a fault that is being looked into, or that it no longer is.
pub(crate) fn set_fault(registers: Option<&Registers>) {
    FAULT.set(registers.copied());
}

/// The driver's stack of this thread.
pub(crate) fn stack() -> Option<Stack> {
    STACK.get()
}
