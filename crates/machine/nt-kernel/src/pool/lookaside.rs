//! Lookaside lists.
//!
//! Drivers allocate from and free to a list with inline functions of the headers, which access its members: the head of
//! a singly linked list, the number of entries it may keep, and the routines that allocate and free an entry. Inline
//! code keeps entries in the list, as on Windows. The routines here keep none, so that each entry is a separate
//! allocation with all the checks.

use nt_processor::cpu::thread;
use nt_processor::layout::GENERAL_LOOKASIDE;
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::routine::{APC, Call, DISPATCH, Ignored, NO_RESOURCES, Outcome, done, routines};
use windows_constants::memory::{
    EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE, EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL, NonPagedPool,
    POOL_QUOTA_FAIL_INSTEAD_OF_RAISE, POOL_RAISE_IF_ALLOCATION_FAILURE, PagedPool,
};

use super::free as free_pool;
use super::kind::Kind;
use crate::{call_back, kernel, lock};

/// The initial and the maximum number of entries that a list keeps.
const DEPTH: u16 = 4;
const MOST: u16 = 256;
/// The routines that a list without routines of its own uses.
const ALLOCATE: &str = "ExAllocatePoolWithTag";
const FREE: &str = "ExFreePool";

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH)]
    fn ExInitializeNPagedLookasideList(
        &call,
        list: GuestPtr<GENERAL_LOOKASIDE>,
        allocate: Option<GuestPtr<Code>>,
        free: Option<GuestPtr<Code>>,
        flags: u32,
        size: u64,
        tag: u32,
        _depth: Ignored<u16>,
    ) -> Result<(), Fault> {
        initialize(call, list, [allocate, free], NonPagedPool | flags, size, tag)
    }

    #[irql(APC)]
    fn ExInitializePagedLookasideList(
        &call,
        list: GuestPtr<GENERAL_LOOKASIDE>,
        allocate: Option<GuestPtr<Code>>,
        free: Option<GuestPtr<Code>>,
        flags: u32,
        size: u64,
        tag: u32,
        _depth: Ignored<u16>,
    ) -> Result<(), Fault> {
        initialize(call, list, [allocate, free], PagedPool | flags, size, tag)
    }

    /// The allocate routine also gets the list.
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn ExInitializeLookasideListEx(
        &call,
        list: GuestPtr<GENERAL_LOOKASIDE>,
        allocate: Option<GuestPtr<Code>>,
        free: Option<GuestPtr<Code>>,
        kind: i32,
        flags: u32,
        size: u64,
        tag: u32,
        _depth: Ignored<u16>,
    ) -> Outcome {
        // The page of `LOOKASIDE_LIST_EX`'s allocate routine says how the flags change its pool type.
        let more = match flags {
            EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL => POOL_RAISE_IF_ALLOCATION_FAILURE,
            EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE => POOL_QUOTA_FAIL_INSTEAD_OF_RAISE,
            _ => 0,
        };
        done(initialize(call, list, [allocate, free], (kind | more).cast_unsigned(), size, tag)?)
    }

    #[irql(DISPATCH)]
    fn ExDeleteNPagedLookasideList(list: GuestPtr<GENERAL_LOOKASIDE>) -> Result<(), Fault> {
        delete(list)
    }

    #[irql(APC)]
    fn ExDeletePagedLookasideList(list: GuestPtr<GENERAL_LOOKASIDE>) -> Result<(), Fault> {
        delete(list)
    }

    #[irql(DISPATCH)]
    fn ExDeleteLookasideListEx(list: GuestPtr<GENERAL_LOOKASIDE>) -> Result<(), Fault> {
        delete(list)
    }

    #[irql(DISPATCH), fixed]
    fn ExFlushLookasideListEx(_list: Ignored<GuestPtr<GENERAL_LOOKASIDE>>) {}

    #[irql(DISPATCH), fails_with_zero]
    #[raises(raises(list))]
    fn ExAllocateFromNPagedLookasideList(&call, list: GuestPtr<GENERAL_LOOKASIDE>) -> Result<GuestPtr<u8>, Fault> {
        allocate_entry(call, list)
    }

    #[irql(APC), fails_with_zero]
    #[raises(raises(list))]
    fn ExAllocateFromPagedLookasideList(&call, list: GuestPtr<GENERAL_LOOKASIDE>) -> Result<GuestPtr<u8>, Fault> {
        allocate_entry(call, list)
    }

    #[irql(DISPATCH), fails_with_zero]
    #[raises(raises(list))]
    fn ExAllocateFromLookasideListEx(&call, list: GuestPtr<GENERAL_LOOKASIDE>) -> Result<GuestPtr<u8>, Fault> {
        allocate_entry(call, list)
    }

    #[irql(DISPATCH)]
    fn ExFreeToNPagedLookasideList(list: GuestPtr<GENERAL_LOOKASIDE>, entry: GuestPtr<u8>) -> Result<(), Fault> {
        release(list, entry.address())
    }

    #[irql(APC)]
    fn ExFreeToPagedLookasideList(list: GuestPtr<GENERAL_LOOKASIDE>, entry: GuestPtr<u8>) -> Result<(), Fault> {
        release(list, entry.address())
    }

    #[irql(DISPATCH)]
    fn ExFreeToLookasideListEx(list: GuestPtr<GENERAL_LOOKASIDE>, entry: GuestPtr<u8>) -> Result<(), Fault> {
        release(list, entry.address())
    }
}

fn own(name: &str) -> GuestPtr<Code> {
    GuestPtr::new(kernel().table.address(name).unwrap_or_default())
}

/// Initialises a list with the driver's routines that allocate and free, or those of the kernel.
fn initialize(
    call: &Call,
    list: GuestPtr<GENERAL_LOOKASIDE>,
    [allocate, free]: [Option<GuestPtr<Code>>; 2],
    kind: u32,
    size: u64,
    tag: u32,
) -> Result<(), Fault> {
    list.zero()?;
    list.Depth().write(DEPTH)?;
    list.MaximumDepth().write(MOST)?;
    list.Type().write(kind)?;
    list.Tag().write(tag)?;
    list.Size().write(size as u32)?;
    list.Allocate().write(allocate.unwrap_or_else(|| own(ALLOCATE)))?;
    list.Free().write(free.unwrap_or_else(|| own(FREE)))?;
    lock(&kernel().io).register("lookaside list", list.address(), call.from);
    Ok(())
}

/// Frees the entries that the list keeps.
fn delete(list: GuestPtr<GENERAL_LOOKASIDE>) -> Result<(), Fault> {
    lock(&kernel().io).forget("lookaside list", list.address());
    let mut entry = list.ListHead().Next().read()?;
    list.ListHead().zero()?;
    while let Some(current) = entry.non_null() {
        entry = current.Next().read()?;
        release(list, current.address())?;
    }
    Ok(())
}

/// Returns whether a list raises an exception where it has no entry. A routine of the driver decides that itself.
fn raises(list: GuestPtr<GENERAL_LOOKASIDE>) -> bool {
    let kind = list.Type().read().unwrap_or_default();
    let is_own = list.Allocate().read().is_ok_and(|routine| routine == own(ALLOCATE));
    is_own && kind & POOL_RAISE_IF_ALLOCATION_FAILURE.cast_unsigned() != 0
}

fn allocate_entry(call: &Call, list: GuestPtr<GENERAL_LOOKASIDE>) -> Result<GuestPtr<u8>, Fault> {
    let size = list.Size().read()?;
    let tag = list.Tag().read()?;
    let kind = list.Type().read()?;
    let routine = list.Allocate().read()?;
    if routine != own(ALLOCATE) {
        let arguments = [kind.into(), size.into(), tag.into(), list.address()];
        return Ok(GuestPtr::new(call_back("lookaside allocation", thread::irql(), routine, &arguments)));
    }
    let memory = lock(&kernel().pool).allocate_as(Kind::from_type(kind), size.into(), tag.to_le_bytes(), call.from);
    Ok(memory.map(GuestPtr::new).unwrap_or_default())
}

/// Frees an entry with the list's routine.
fn release(list: GuestPtr<GENERAL_LOOKASIDE>, entry: u64) -> Result<(), Fault> {
    let routine = list.Free().read()?;
    if routine == own(FREE) {
        free_pool(entry, None);
    } else {
        call_back("lookaside release", thread::irql(), routine, &[entry, list.address()]);
    }
    Ok(())
}
