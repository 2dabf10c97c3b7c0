//! Lookaside lists.
//!
//! Drivers take from and give to a list with code of their own headers, which looks into it: the head of a singly linked
//! list, how many entries it may keep, and the routines that make and free one. Here it keeps none, so that each entry is
//! an allocation of its own, with all that is checked about allocations.

use super::routine::{APC, Call, DISPATCH, NO_RESOURCES, Routine, routine};
use super::{kernel, lock, pool};
use crate::memory::guest;

/// Offsets in `GENERAL_LOOKASIDE`, which has 0x80 bytes.
const TYPE: u64 = 0x24;
const TAG: u64 = 0x28;
const SIZE: u64 = 0x2C;
const ALLOCATE: u64 = 0x30;
const FREE: u64 = 0x38;
const LENGTH: u64 = 0x80;
/// `PagedPool`, and the bits of a pool type that say which pool.
const PAGED: u32 = 1;

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: list, allocate, free, flags, size, tag, depth.
    routine("ExInitializeNPagedLookasideList", DISPATCH, |call| {
        initialize(call, 0x200, (call.u32(4), call.u32(5)), "ExAllocatePoolWithTag")
    }),
    routine("ExInitializePagedLookasideList", APC, |call| {
        initialize(call, PAGED, (call.u32(4), call.u32(5)), "ExAllocatePoolWithTag")
    }),
    // Arguments: list, allocate, free, pool type, flags, size, tag, depth. Its allocate routine also gets the list.
    routine("ExInitializeLookasideListEx", DISPATCH, |call| {
        initialize(call, call.u32(3), (call.u32(5), call.u32(6)), "ExAllocatePoolWithTag")
    })
    .fails(NO_RESOURCES),
    routine("ExDeleteNPagedLookasideList", DISPATCH, delete),
    routine("ExDeletePagedLookasideList", APC, delete),
    routine("ExDeleteLookasideListEx", DISPATCH, delete),
    routine("ExFlushLookasideListEx", DISPATCH, |_| 0),
    routine("ExAllocateFromNPagedLookasideList", DISPATCH, allocate).fails_with_zero(),
    routine("ExAllocateFromPagedLookasideList", APC, allocate).fails_with_zero(),
    routine("ExAllocateFromLookasideListEx", DISPATCH, allocate).fails_with_zero(),
    routine("ExFreeToNPagedLookasideList", DISPATCH, free),
    routine("ExFreeToPagedLookasideList", APC, free),
    routine("ExFreeToLookasideListEx", DISPATCH, free),
];

fn initialize(call: &Call, kind: u32, (size, tag): (u32, u32), default: &str) -> u64 {
    let list = call.arg(0);
    let address = |given: u64, name: &str| match given {
        0 => kernel().table.address(name).unwrap_or_default(),
        given => given,
    };
    guest::fill(list, 0, LENGTH);
    guest::write(list + TYPE, kind);
    guest::write(list + TAG, tag);
    guest::write(list + SIZE, size);
    guest::write(list + ALLOCATE, address(call.arg(1), default));
    guest::write(list + FREE, address(call.arg(2), "ExFreePool"));
    lock(&kernel().io).register("lookaside list", list, call.from);
    0
}

fn delete(call: &Call) -> u64 {
    lock(&kernel().io).forget("lookaside list", call.arg(0));
    0
}

fn allocate(call: &Call) -> u64 {
    let list = call.arg(0);
    let (size, tag, kind): (u32, u32, u32) =
        (guest::read(list + SIZE), guest::read(list + TAG), guest::read(list + TYPE));
    let own = kernel().table.address("ExAllocatePoolWithTag").unwrap_or_default();
    let routine: u64 = guest::read(list + ALLOCATE);
    if routine != own {
        let irql = crate::cpu::thread::irql();
        let arguments = [kind.into(), size.into(), tag.into(), list];
        return super::call_back("lookaside allocation", irql, routine, &arguments);
    }
    let memory = lock(&kernel().pool).allocate(size.into(), tag.to_le_bytes(), kind & PAGED != 0, call.from);
    memory.unwrap_or_default()
}

fn free(call: &Call) -> u64 {
    let own = kernel().table.address("ExFreePool").unwrap_or_default();
    let routine: u64 = guest::read(call.arg(0) + FREE);
    if routine != own {
        let irql = crate::cpu::thread::irql();
        return super::call_back("lookaside release", irql, routine, &[call.arg(1), call.arg(0)]);
    }
    pool::free(call.arg(1), None);
    0
}
