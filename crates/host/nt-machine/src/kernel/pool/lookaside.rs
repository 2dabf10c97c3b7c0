//! Lookaside lists.
//!
//! Drivers take from and give to a list with code of their own headers, which looks into it: the head of a singly linked
//! list, how many entries it may keep, and the routines that make and free one. Here it keeps none, so that each entry is
//! an allocation of its own, with all that is checked about allocations.

use super::free as free_pool;
use crate::cpu::thread;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::GENERAL_LOOKASIDE;
use crate::memory::{Code, GuestPtr};
use crate::routine::{APC, Call, DISPATCH, NO_RESOURCES, Outcome, Routine, fixed, routine};

/// `PagedPool`, `NonPagedPoolNx`.
const PAGED: u32 = 1;
const NON_PAGED: u32 = 0x200;
/// What a list without routines of its own uses.
const ALLOCATE: &str = "ExAllocatePoolWithTag";
const FREE: &str = "ExFreePool";

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: list, allocate, free, flags, size, tag, depth.
    routine!("ExInitializeNPagedLookasideList", DISPATCH, |call| initialize(call, NON_PAGED, 4)),
    routine!("ExInitializePagedLookasideList", APC, |call| initialize(call, PAGED, 4)),
    // Arguments: list, allocate, free, pool type, flags, size, tag, depth. Its allocate routine also gets the list.
    routine!("ExInitializeLookasideListEx", DISPATCH, |call| initialize(call, call.u32(3), 5)).fails(NO_RESOURCES),
    routine!("ExDeleteNPagedLookasideList", DISPATCH, delete),
    routine!("ExDeletePagedLookasideList", APC, delete),
    routine!("ExDeleteLookasideListEx", DISPATCH, delete),
    fixed("ExFlushLookasideListEx", DISPATCH, 0),
    routine!("ExAllocateFromNPagedLookasideList", DISPATCH, allocate).fails_with_zero(),
    routine!("ExAllocateFromPagedLookasideList", APC, allocate).fails_with_zero(),
    routine!("ExAllocateFromLookasideListEx", DISPATCH, allocate).fails_with_zero(),
    routine!("ExFreeToNPagedLookasideList", DISPATCH, free),
    routine!("ExFreeToPagedLookasideList", APC, free),
    routine!("ExFreeToLookasideListEx", DISPATCH, free),
];

fn own(name: &str) -> GuestPtr<Code> {
    GuestPtr::new(kernel().table.address(name).unwrap_or_default())
}

/// Makes a list; the argument `size` is followed by the tag.
fn initialize(call: &Call, kind: u32, size: u64) -> Outcome {
    let list = call.ptr::<GENERAL_LOOKASIDE>(0);
    list.zero()?;
    list.Type().write(kind)?;
    list.Tag().write(call.u32(size + 1))?;
    list.Size().write(call.u32(size))?;
    list.Allocate().write(call.ptr(1).non_null().unwrap_or_else(|| own(ALLOCATE)))?;
    list.Free().write(call.ptr(2).non_null().unwrap_or_else(|| own(FREE)))?;
    lock(&kernel().io).register("lookaside list", list.address(), call.from);
    Ok(())
}

fn delete(call: &Call) {
    lock(&kernel().io).forget("lookaside list", call.arg(0));
}

fn allocate(call: &Call) -> Outcome<u64> {
    let list = call.ptr::<GENERAL_LOOKASIDE>(0);
    let (size, tag, kind) = (list.Size().read()?, list.Tag().read()?, list.Type().read()?);
    let routine = list.Allocate().read()?;
    if routine != own(ALLOCATE) {
        let arguments = [kind.into(), size.into(), tag.into(), list.address()];
        return Ok(call_back("lookaside allocation", thread::irql(), routine, &arguments));
    }
    let memory = lock(&kernel().pool).allocate(size.into(), tag.to_le_bytes(), kind & PAGED != 0, call.from);
    Ok(memory.unwrap_or_default())
}

/// Arguments: list, entry.
fn free(call: &Call) -> Outcome {
    let routine = call.ptr::<GENERAL_LOOKASIDE>(0).Free().read()?;
    if routine == own(FREE) {
        free_pool(call.arg(1), None);
    } else {
        call_back("lookaside release", thread::irql(), routine, &[call.arg(1), call.arg(0)]);
    }
    Ok(())
}
