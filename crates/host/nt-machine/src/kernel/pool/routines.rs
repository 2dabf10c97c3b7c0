//! The pool routines. The allocations are in [`super::blocks`].

use super::blocks::text;
use super::kind::{Kind, PAGE_EXECUTE};
use crate::cpu::thread;
use crate::kernel::{kernel, lock};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{Call, DISPATCH, Routine, routine};
use crate::verify::{self, Rule};

/// `POOL_FLAG_…`.
const UNINITIALIZED: u64 = 0x2;
const EXECUTABLE: u64 = 0x80;
const PAGED: u64 = 0x100;
const KINDS: u64 = 0x40 | EXECUTABLE | PAGED;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("ExAllocatePool2", DISPATCH, allocate_with_flags).fails_with_zero(),
    routine!("ExAllocatePool3", DISPATCH, allocate_with_flags).fails_with_zero(),
    routine!("ExAllocatePool", DISPATCH, |call| allocate_by_type(call, *b"None", false)).fails_with_zero(),
    routine!("ExAllocatePoolWithTag", DISPATCH, |call| allocate_by_type(call, tag(call, 2), false)).fails_with_zero(),
    routine!("ExAllocatePoolZero", DISPATCH, |call| allocate_by_type(call, tag(call, 2), true)).fails_with_zero(),
    routine!("ExAllocatePoolUninitialized", DISPATCH, |call| allocate_by_type(call, tag(call, 2), false))
        .fails_with_zero(),
    routine!("ExAllocatePoolWithQuotaTag", DISPATCH, |call| allocate_by_type(call, tag(call, 2), false))
        .fails_with_zero(),
    routine!("ExAllocatePoolWithQuota", DISPATCH, |call| allocate_by_type(call, *b"None", false)).fails_with_zero(),
    // The fourth argument is a priority.
    routine!("ExAllocatePoolWithTagPriority", DISPATCH, |call| allocate_by_type(call, tag(call, 2), false))
        .fails_with_zero(),
    routine!("MmAllocateContiguousMemorySpecifyCache", DISPATCH, |call| allocate_special(call, *b"MmCo"))
        .fails_with_zero(),
    routine!("MmAllocateContiguousMemorySpecifyCacheNode", DISPATCH, |call| allocate_special(call, *b"MmCo"))
        .fails_with_zero(),
    // The fifth argument is the protection.
    routine!("MmAllocateContiguousNodeMemory", DISPATCH, |call| {
        let kind = Kind::non_paged(call.u32(4) & PAGE_EXECUTE != 0);
        lock(&kernel().pool).allocate_as(kind, call.arg(0), *b"MmCo", call.from).unwrap_or_default()
    })
    .fails_with_zero(),
    routine!("MmFreeContiguousMemorySpecifyCache", DISPATCH, |call| free(call.arg(0), None)),
    routine!("ExFreePool", DISPATCH, |call| free(call.arg(0), None)),
    routine!("ExFreePoolWithTag", DISPATCH, |call| free(call.arg(0), Some(call.u32(1)))),
    routine!("ExFreePool2", DISPATCH, |call| free(call.arg(0), Some(call.u32(1)))),
    routine!("MmAllocateContiguousMemory", DISPATCH, |call| allocate_special(call, *b"MmCo")).fails_with_zero(),
    routine!("MmFreeContiguousMemory", DISPATCH, |call| free(call.arg(0), None)),
    routine!("MmAllocateNonCachedMemory", DISPATCH, |call| allocate_special(call, *b"MmNc")).fails_with_zero(),
    routine!("MmFreeNonCachedMemory", DISPATCH, |call| free(call.arg(0), None)),
];

fn tag(call: &Call, index: u64) -> [u8; 4] {
    call.u32(index).to_le_bytes()
}

/// Arguments: flags, size, tag.
fn allocate_with_flags(call: &Call) -> Result<Option<GuestPtr<u8>>, Fault> {
    let (flags, size, tag) = (call.arg(0), call.arg(1), tag(call, 2));
    if size == 0 || flags & KINDS == 0 || tag == [0; 4] {
        let tag = text(tag);
        verify::find(Rule::BadArgument, format_args!("invalid argument: flags {flags:#x}, size {size}, tag {tag}"));
        return Ok(None);
    }
    let kind = if flags & PAGED != 0 { Kind::Paged } else { Kind::non_paged(flags & EXECUTABLE != 0) };
    allocate(call, tag, kind, flags & UNINITIALIZED == 0)
}

/// Arguments: pool type, size.
fn allocate_by_type(call: &Call, tag: [u8; 4], zero: bool) -> Result<Option<GuestPtr<u8>>, Fault> {
    allocate(call, tag, Kind::of_type(call.u32(0)), zero)
}

/// Allocates the number of bytes in the second argument.
fn allocate(call: &Call, tag: [u8; 4], kind: Kind, zero: bool) -> Result<Option<GuestPtr<u8>>, Fault> {
    let irql = thread::irql();
    if kind == Kind::Paged && irql >= DISPATCH {
        verify::find(Rule::IrqlTooHigh, format_args!("paged pool at IRQL {irql}, allowed up to 1"));
    }
    let memory = lock(&kernel().pool).allocate_as(kind, call.arg(1), tag, call.from).map(GuestPtr::<u8>::new);
    if let Some(memory) = memory.filter(|_| zero) {
        memory.array(call.arg(1)).fill(0)?;
    }
    Ok(memory)
}

/// Allocates the number of bytes in the first argument. Drivers can execute this memory: Microsoft's code analysis
/// (C30029) names routines of this kind for it.
fn allocate_special(call: &Call, tag: [u8; 4]) -> u64 {
    lock(&kernel().pool).allocate_as(Kind::Executable, call.arg(0), tag, call.from).unwrap_or_default()
}

/// Frees pool of the driver.
pub(crate) fn free(address: u64, tag: Option<u32>) {
    let range = lock(&kernel().pool).range(address);
    if let Some((start, end)) = range {
        let is_inside = |address: u64| address >= start && address < end;
        let armed = kernel().scheduler.look(|state| {
            state.timers.iter().any(|timer| timer.signals.is_some_and(|object| is_inside(object.address())))
        });
        if armed {
            verify::find(Rule::TimerLeak, format_args!("memory is freed while it contains a timer that is set"));
            kernel().scheduler.change(|state| state.timers.retain(|timer| !is_inside(timer.key)));
        }
    }
    let from = thread::site().map_or(0, |site| site.from);
    lock(&kernel().pool).free(address, tag, from, false);
}
