//! The pool routines. The allocations are in [`super::blocks`].

use nt_processor::cpu::thread;
use nt_processor::memory::{GuestPtr, Opaque};
use nt_verifier::routine::{Call, DISPATCH, Ignored, routines};
use nt_verifier::verify::{self, Breach, Rule, Wdm};
use windows_constants::memory::{
    POOL_FLAG_NON_PAGED, POOL_FLAG_NON_PAGED_EXECUTE, POOL_FLAG_PAGED, POOL_FLAG_RAISE_ON_FAILURE,
    POOL_FLAG_UNINITIALIZED, POOL_QUOTA_FAIL_INSTEAD_OF_RAISE, POOL_RAISE_IF_ALLOCATION_FAILURE,
};

use super::blocks::text;
use super::kind::{EXECUTABLE, Kind};
use super::paging;
use crate::{Kernel, kernel, lock};

/// The kinds of pool: a caller names one.
const KINDS: u64 = POOL_FLAG_NON_PAGED | POOL_FLAG_NON_PAGED_EXECUTE | POOL_FLAG_PAGED;
/// The tag of memory that was allocated without one.
const NO_TAG: u32 = u32::from_le_bytes(*b"None");

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), fails_with_zero]
    #[raises(flags & POOL_FLAG_RAISE_ON_FAILURE != 0)]
    fn ExAllocatePool2(&call, flags: u64, size: u64, tag: u32) -> Option<GuestPtr<u8>> {
        allocate_with_flags(call, flags, size, tag)
    }

    #[irql(DISPATCH), fails_with_zero]
    #[raises(flags & POOL_FLAG_RAISE_ON_FAILURE != 0)]
    fn ExAllocatePool3(
        &call,
        flags: u64,
        size: u64,
        tag: u32,
        _parameters: Ignored<GuestPtr<Opaque>>,
        _count: Ignored<u32>,
    ) -> Option<GuestPtr<u8>> {
        allocate_with_flags(call, flags, size, tag)
    }

    #[irql(DISPATCH), fails_with_zero]
    #[raises(kind & POOL_RAISE_IF_ALLOCATION_FAILURE != 0)]
    fn ExAllocatePool(&call, kind: i32, size: u64) -> Option<GuestPtr<u8>> {
        allocate_by_type(call, kind, size, NO_TAG, false)
    }

    #[irql(DISPATCH), fails_with_zero]
    #[raises(kind & POOL_RAISE_IF_ALLOCATION_FAILURE != 0)]
    fn ExAllocatePoolWithTag(&call, kind: i32, size: u64, tag: u32) -> Option<GuestPtr<u8>> {
        allocate_by_type(call, kind, size, tag, false)
    }

    #[irql(DISPATCH), fails_with_zero]
    #[raises(kind & POOL_RAISE_IF_ALLOCATION_FAILURE != 0)]
    fn ExAllocatePoolZero(&call, kind: i32, size: u64, tag: u32) -> Option<GuestPtr<u8>> {
        allocate_by_type(call, kind, size, tag, true)
    }

    #[irql(DISPATCH), fails_with_zero]
    #[raises(kind & POOL_RAISE_IF_ALLOCATION_FAILURE != 0)]
    fn ExAllocatePoolUninitialized(&call, kind: i32, size: u64, tag: u32) -> Option<GuestPtr<u8>> {
        allocate_by_type(call, kind, size, tag, false)
    }

    #[irql(DISPATCH), fails_with_zero]
    #[raises(kind & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE == 0)]
    fn ExAllocatePoolWithQuotaTag(&call, kind: i32, size: u64, tag: u32) -> Option<GuestPtr<u8>> {
        allocate_by_type(call, kind, size, tag, false)
    }

    #[irql(DISPATCH), fails_with_zero]
    #[raises(kind & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE == 0)]
    fn ExAllocatePoolWithQuota(&call, kind: i32, size: u64) -> Option<GuestPtr<u8>> {
        allocate_by_type(call, kind, size, NO_TAG, false)
    }

    #[irql(DISPATCH), fails_with_zero]
    #[raises(kind & POOL_RAISE_IF_ALLOCATION_FAILURE != 0)]
    fn ExAllocatePoolWithTagPriority(
        &call,
        kind: i32,
        size: u64,
        tag: u32,
        _priority: Ignored<i32>,
    ) -> Option<GuestPtr<u8>> {
        allocate_by_type(call, kind, size, tag, false)
    }

    #[irql(DISPATCH), fails_with_zero]
    fn MmAllocateContiguousMemorySpecifyCache(
        &call,
        size: u64,
        _lowest: Ignored<i64>,
        _highest: Ignored<i64>,
        _boundary: Ignored<i64>,
        _cache: Ignored<i32>,
    ) -> Option<GuestPtr<u8>> {
        allocate_special(call, size, *b"MmCo")
    }

    #[irql(DISPATCH), fails_with_zero]
    fn MmAllocateContiguousMemorySpecifyCacheNode(
        &call,
        size: u64,
        _lowest: Ignored<i64>,
        _highest: Ignored<i64>,
        _boundary: Ignored<i64>,
        _cache: Ignored<i32>,
        _node: Ignored<u32>,
    ) -> Option<GuestPtr<u8>> {
        allocate_special(call, size, *b"MmCo")
    }

    #[irql(DISPATCH), fails_with_zero]
    fn MmAllocateContiguousNodeMemory(
        &call,
        size: u64,
        _lowest: Ignored<i64>,
        _highest: Ignored<i64>,
        _boundary: Ignored<i64>,
        protect: u32,
        _node: Ignored<u32>,
    ) -> Option<GuestPtr<u8>> {
        let kind = Kind::non_paged(protect & EXECUTABLE != 0);
        lock(&kernel().pool).allocate_as(kind, size, *b"MmCo", call.from).map(GuestPtr::new)
    }

    #[irql(DISPATCH)]
    fn MmFreeContiguousMemorySpecifyCache(memory: GuestPtr<u8>, _size: Ignored<u64>, _cache: Ignored<i32>) {
        free(memory.address(), None);
    }

    #[irql(DISPATCH)]
    fn ExFreePool(memory: GuestPtr<u8>) {
        free(memory.address(), None);
    }

    #[irql(DISPATCH)]
    fn ExFreePoolWithTag(memory: GuestPtr<u8>, tag: u32) {
        free(memory.address(), Some(tag));
    }

    #[irql(DISPATCH)]
    fn ExFreePool2(memory: GuestPtr<u8>, tag: u32, _parameters: Ignored<GuestPtr<Opaque>>, _count: Ignored<u32>) {
        free(memory.address(), Some(tag));
    }

    #[irql(DISPATCH), fails_with_zero]
    fn MmAllocateContiguousMemory(&call, size: u64, _highest: Ignored<i64>) -> Option<GuestPtr<u8>> {
        allocate_special(call, size, *b"MmCo")
    }

    #[irql(DISPATCH)]
    fn MmFreeContiguousMemory(memory: GuestPtr<u8>) {
        free(memory.address(), None);
    }

    #[irql(DISPATCH), fails_with_zero]
    fn MmAllocateNonCachedMemory(&call, size: u64) -> Option<GuestPtr<u8>> {
        allocate_special(call, size, *b"MmNc")
    }

    #[irql(DISPATCH)]
    fn MmFreeNonCachedMemory(memory: GuestPtr<u8>, _size: Ignored<u64>) {
        free(memory.address(), None);
    }
}

fn allocate_with_flags(call: &Call, flags: u64, size: u64, tag: u32) -> Option<GuestPtr<u8>> {
    if size == 0 || flags & KINDS == 0 || tag == 0 {
        let tag = text(tag.to_le_bytes());
        verify::find(Rule::BadArgument, format_args!("invalid argument: flags {flags:#x}, size {size}, tag {tag}"));
        return None;
    }
    let kind = if flags & POOL_FLAG_PAGED != 0 {
        Kind::Paged
    } else {
        Kind::non_paged(flags & POOL_FLAG_NON_PAGED_EXECUTE != 0)
    };
    allocate(call, kind, size, tag, flags & POOL_FLAG_UNINITIALIZED == 0)
}

/// Allocates from a pool of this `POOL_TYPE`.
fn allocate_by_type(call: &Call, kind: i32, size: u64, tag: u32, zero: bool) -> Option<GuestPtr<u8>> {
    allocate(call, Kind::from_type(kind.cast_unsigned()), size, tag, zero)
}

fn allocate(call: &Call, kind: Kind, size: u64, tag: u32, zero: bool) -> Option<GuestPtr<u8>> {
    let irql = thread::irql();
    if kind == Kind::Paged && irql >= DISPATCH {
        verify::find(Rule::IrqlTooHigh, format_args!("uses paged pool at IRQL {irql}, allowed up to 1"));
    }
    let (mut pool, tag) = (lock(&kernel().pool), tag.to_le_bytes());
    let memory = if zero {
        pool.allocate_zeroed(kind, size, tag, call.from)
    } else {
        pool.allocate_as(kind, size, tag, call.from)
    };
    memory.map(GuestPtr::new)
}

/// Allocates memory that drivers can execute: Microsoft's code analysis
/// (C30029) names routines of this kind for it.
fn allocate_special(call: &Call, size: u64, tag: [u8; 4]) -> Option<GuestPtr<u8>> {
    lock(&kernel().pool).allocate_as(Kind::Executable, size, tag, call.from).map(GuestPtr::new)
}

/// Frees pool of the driver.
pub fn free(address: u64, tag: Option<u32>) {
    let Kernel { pool, scheduler, .. } = kernel();
    let irql = thread::irql();
    if irql >= DISPATCH && paging::is_pool(address) {
        let names = [Wdm::IrqlExFree1, Wdm::IrqlExFree2, Wdm::IrqlExFree3];
        let breach = Breach::from(Rule::IrqlTooHigh).named_all(&names);
        verify::find(breach, format_args!("frees paged pool at IRQL {irql}, allowed up to 1"));
    }
    let range = lock(pool).range(address);
    if let Some((start, end)) = range {
        let is_inside = |address: u64| address >= start && address < end;
        let armed = scheduler.look(|state| {
            state.timers.iter().any(|timer| timer.signals.is_some_and(|object| is_inside(object.address())))
        });
        if armed {
            verify::find(Rule::TimerLeak, format_args!("frees memory that contains a set timer"));
            scheduler.change(|state| state.timers.retain(|timer| !is_inside(timer.key)));
        }
    }
    let from = thread::site().map_or(0, |site| site.from);
    lock(pool).free(address, tag, from, false);
}
