//! Memory descriptor lists. All memory is in the same address space here, so that mapping is remembering.

use super::routine::{APC, Call, DISPATCH, Routine, routine};
use super::{kernel, lock, pool};
use crate::memory::{PAGE, guest};

/// Offsets in `MDL`: next at 0, size at 8, flags at 10, address at 0x18, page at 0x20, count at 0x28, offset at 0x2C.
const FLAGS: u64 = 0x0A;
const MAPPED: u64 = 0x18;
const START: u64 = 0x20;
const COUNT: u64 = 0x28;
const OFFSET: u64 = 0x2C;
/// `MDL_MAPPED_TO_SYSTEM_VA | MDL_PAGES_LOCKED | MDL_SOURCE_IS_NONPAGED_POOL`.
const MAPPED_TO_SYSTEM: u16 = 1;
const LOCKED: u16 = 2;
const NON_PAGED: u16 = 4;

pub(super) const ROUTINES: &[Routine] = &[
    routine("IoAllocateMdl", DISPATCH, allocate).fails_with_zero(),
    routine("IoFreeMdl", DISPATCH, |call| {
        pool::free(call.arg(0), None);
        0
    }),
    routine("MmBuildMdlForNonPagedPool", DISPATCH, |call| map(call.arg(0), NON_PAGED | MAPPED_TO_SYSTEM)),
    routine("MmProbeAndLockPages", DISPATCH, |call| {
        map(call.arg(0), LOCKED);
        0
    }),
    routine("MmUnlockPages", DISPATCH, |call| {
        let flags: u16 = guest::read(call.arg(0) + FLAGS);
        guest::write(call.arg(0) + FLAGS, flags & !LOCKED);
        0
    }),
    routine("MmMapLockedPagesSpecifyCache", DISPATCH, |call| map(call.arg(0), MAPPED_TO_SYSTEM)).fails_with_zero(),
    routine("MmMapLockedPages", DISPATCH, |call| map(call.arg(0), MAPPED_TO_SYSTEM)),
    routine("MmUnmapLockedPages", DISPATCH, |_| 0),
    routine("MmMapIoSpace", APC, |call| lock(&kernel().pool).object(call.arg(1))).fails_with_zero(),
    routine("MmMapIoSpaceEx", APC, |call| lock(&kernel().pool).object(call.arg(1))).fails_with_zero(),
    routine("MmUnmapIoSpace", APC, |call| {
        lock(&kernel().pool).free_object(call.arg(0));
        0
    }),
    routine("MmGetPhysicalAddress", DISPATCH, |call| call.arg(0)),
    routine("MmLockPagableDataSection", APC, |call| call.arg(0)),
    routine("MmLockPagableSectionByHandle", APC, |_| 0),
    routine("MmUnlockPagableImageSection", APC, |_| 0),
    routine("MmPageEntireDriver", APC, |call| call.arg(0)),
    routine("MmResetDriverPaging", APC, |_| 0),
    routine("MmQuerySystemSize", DISPATCH, |_| 2),
];

/// Arguments: address, length, secondary, charge, IRP.
fn allocate(call: &Call) -> u64 {
    let (address, length) = (call.arg(0), call.u32(1));
    let pages = (address % PAGE + u64::from(length)).div_ceil(PAGE);
    let mdl = lock(&kernel().pool).allocate(0x30 + pages * 8, *b"Mdl ", false, call.from).unwrap_or_default();
    if mdl == 0 {
        return 0;
    }
    guest::fill(mdl, 0, 0x30);
    describe(mdl, address, length);
    if let irp @ 1.. = call.arg(4) {
        guest::write(irp + 8, mdl);
    }
    mdl
}

/// Fills in an MDL.
pub(crate) fn describe(mdl: u64, address: u64, length: u32) {
    guest::write(mdl + 8, 0x30_u16);
    guest::write(mdl + START, address & !(PAGE - 1));
    guest::write(mdl + COUNT, length);
    guest::write(mdl + OFFSET, (address % PAGE) as u32);
}

fn map(mdl: u64, flag: u16) -> u64 {
    let flags: u16 = guest::read(mdl + FLAGS);
    guest::write(mdl + FLAGS, flags | flag);
    let address = guest::read::<u64>(mdl + START) + u64::from(guest::read::<u32>(mdl + OFFSET));
    guest::write(mdl + MAPPED, address);
    address
}
