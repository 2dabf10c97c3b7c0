//! Lookaside lists.
//!
//! Drivers allocate from and free to a list with inline functions of the headers, which access its members: the head of
//! a singly linked list, the number of entries it may keep, and the routines that allocate and free an entry. Inline
//! code keeps entries in the list, as on Windows. The routines here keep none, so that each entry is a separate
//! allocation with all the checks.

use super::free as free_pool;
use super::kind::Kind;
use crate::cpu::thread;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::GENERAL_LOOKASIDE;
use crate::memory::{Code, GuestPtr};
use crate::routine::{APC, Call, DISPATCH, NO_RESOURCES, Outcome, Routine, fixed, routine};

/// `NonPagedPool`, `PagedPool`.
const NON_PAGED: u32 = 0;
const PAGED: u32 = 1;
/// The initial and the maximum number of entries that a list keeps.
const DEPTH: u16 = 4;
const MOST: u16 = 256;
/// The routines that a list without routines of its own uses.
const ALLOCATE: &str = "ExAllocatePoolWithTag";
const FREE: &str = "ExFreePool";

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: list, allocate, free, flags, size, tag, depth.
    routine!("ExInitializeNPagedLookasideList", DISPATCH, |call| initialize(call, NON_PAGED | call.u32(3), 4)),
    routine!("ExInitializePagedLookasideList", APC, |call| initialize(call, PAGED | call.u32(3), 4)),
    // Arguments: list, allocate, free, pool type, flags, size, tag, depth. The allocate routine also gets the list.
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

/// Initialises a list. `size` is the index of the argument with the size; the next one is the tag.
fn initialize(call: &Call, kind: u32, size: u64) -> Outcome {
    let list = call.ptr::<GENERAL_LOOKASIDE>(0);
    list.zero()?;
    list.Depth().write(DEPTH)?;
    list.MaximumDepth().write(MOST)?;
    list.Type().write(kind)?;
    list.Tag().write(call.u32(size + 1))?;
    list.Size().write(call.u32(size))?;
    list.Allocate().write(call.ptr(1).non_null().unwrap_or_else(|| own(ALLOCATE)))?;
    list.Free().write(call.ptr(2).non_null().unwrap_or_else(|| own(FREE)))?;
    lock(&kernel().io).register("lookaside list", list.address(), call.from);
    Ok(())
}

/// Frees the entries that the list keeps.
fn delete(call: &Call) -> Outcome {
    let list = call.ptr::<GENERAL_LOOKASIDE>(0);
    lock(&kernel().io).forget("lookaside list", list.address());
    let mut entry = list.ListHead().Next().read()?;
    list.ListHead().zero()?;
    while let Some(current) = entry.non_null() {
        entry = current.Next().read()?;
        release(list, current.address())?;
    }
    Ok(())
}

fn allocate(call: &Call) -> Outcome<u64> {
    let list = call.ptr::<GENERAL_LOOKASIDE>(0);
    let (size, tag, kind) = (list.Size().read()?, list.Tag().read()?, list.Type().read()?);
    let routine = list.Allocate().read()?;
    if routine != own(ALLOCATE) {
        let arguments = [kind.into(), size.into(), tag.into(), list.address()];
        return Ok(call_back("lookaside allocation", thread::irql(), routine, &arguments));
    }
    let memory = lock(&kernel().pool).allocate_as(Kind::of_type(kind), size.into(), tag.to_le_bytes(), call.from);
    Ok(memory.unwrap_or_default())
}

/// Arguments: list, entry.
fn free(call: &Call) -> Outcome {
    release(call.ptr(0), call.arg(1))
}

/// Frees an entry with the list's routine.
fn release(list: GuestPtr<GENERAL_LOOKASIDE>, entry: u64) -> Outcome {
    let routine = list.Free().read()?;
    if routine == own(FREE) {
        free_pool(entry, None);
    } else {
        call_back("lookaside release", thread::irql(), routine, &[entry, list.address()]);
    }
    Ok(())
}
