//! The routines for pool. What they allocate is in [`super::pool_blocks`].

use super::pool_blocks::text;
use super::routine::{Call, DISPATCH, Routine, routine};
use super::{kernel, lock};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// `POOL_FLAG_…`.
const UNINITIALIZED: u64 = 0x2;
const PAGED: u64 = 0x100;
const KINDS: u64 = 0x40 | 0x80 | PAGED;

pub(super) const ROUTINES: &[Routine] = &[
    routine("ExAllocatePool2", DISPATCH, |call| {
        let (flags, tag) = (call.arg(0), call.u32(2).to_le_bytes());
        allocate_with_flags(call, flags, call.arg(1), tag)
    })
    .fails_with_zero(),
    routine("ExAllocatePool3", DISPATCH, |call| {
        let (flags, tag) = (call.arg(0), call.u32(2).to_le_bytes());
        allocate_with_flags(call, flags, call.arg(1), tag)
    })
    .fails_with_zero(),
    routine("ExAllocatePool", DISPATCH, |call| old(call, *b"None", false)).fails_with_zero(),
    routine("ExAllocatePoolWithTag", DISPATCH, |call| old(call, call.u32(2).to_le_bytes(), false)).fails_with_zero(),
    routine("ExAllocatePoolZero", DISPATCH, |call| old(call, call.u32(2).to_le_bytes(), true)).fails_with_zero(),
    routine("ExAllocatePoolUninitialized", DISPATCH, |call| old(call, call.u32(2).to_le_bytes(), false))
        .fails_with_zero(),
    routine("ExAllocatePoolWithQuotaTag", DISPATCH, |call| old(call, call.u32(2).to_le_bytes(), false))
        .fails_with_zero(),
    routine("ExFreePool", DISPATCH, |call| {
        free(call.arg(0), None);
        0
    }),
    routine("ExFreePoolWithTag", DISPATCH, |call| {
        free(call.arg(0), Some(call.u32(1)));
        0
    }),
    routine("ExFreePool2", DISPATCH, |call| {
        free(call.arg(0), Some(call.u32(1)));
        0
    }),
    routine("MmAllocateContiguousMemory", DISPATCH, |call| {
        lock(&kernel().pool).allocate(call.arg(0), *b"MmCo", false, call.from).unwrap_or_default()
    })
    .fails_with_zero(),
    routine("MmFreeContiguousMemory", DISPATCH, |call| {
        free(call.arg(0), None);
        0
    }),
    routine("MmAllocateNonCachedMemory", DISPATCH, |call| {
        lock(&kernel().pool).allocate(call.arg(0), *b"MmNc", false, call.from).unwrap_or_default()
    })
    .fails_with_zero(),
    routine("MmFreeNonCachedMemory", DISPATCH, |call| {
        free(call.arg(0), None);
        0
    }),
];

fn allocate_with_flags(call: &Call, flags: u64, size: u64, tag: [u8; 4]) -> u64 {
    if size == 0 || flags & KINDS == 0 || tag == [0; 4] {
        verify::find(Rule::BadArgument, format_args!("flags {flags:#x}, size {size}, tag {}", text(tag)));
        return 0;
    }
    let address = allocate(call, size, tag, flags & PAGED != 0);
    if address != 0 && flags & UNINITIALIZED == 0 {
        guest::fill(address, 0, size);
    }
    address
}

fn old(call: &Call, tag: [u8; 4], zero: bool) -> u64 {
    let address = allocate(call, call.arg(1), tag, call.u32(0) & 1 != 0);
    if address != 0 && zero {
        guest::fill(address, 0, call.arg(1));
    }
    address
}

fn allocate(call: &Call, size: u64, tag: [u8; 4], paged: bool) -> u64 {
    let irql = crate::cpu::thread::irql();
    if paged && irql >= DISPATCH {
        verify::find(Rule::IrqlTooHigh, format_args!("paged pool at IRQL {irql}, allowed up to 1"));
    }
    lock(&kernel().pool).allocate(size, tag, paged, call.from).unwrap_or_default()
}

/// Frees pool of the driver.
pub(crate) fn free(address: u64, tag: Option<u32>) {
    let range = lock(&kernel().pool).range(address);
    if let Some((start, end)) = range {
        let armed = kernel().scheduler.look(|state| {
            state.timers.iter().any(|timer| timer.signals.is_some_and(|object| object >= start && object < end))
        });
        if armed {
            verify::find(Rule::TimerLeak, format_args!("memory is freed with a timer in it that is set"));
            kernel().scheduler.change(|state| state.timers.retain(|timer| timer.key < start || timer.key >= end));
        }
    }
    let from = crate::cpu::thread::site().map_or(0, |site| site.from);
    lock(&kernel().pool).free(address, tag, from, false);
}
