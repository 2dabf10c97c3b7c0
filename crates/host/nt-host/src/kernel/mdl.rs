//! Memory descriptor lists. All memory is in the same address space here, so that mapping is remembering.

use super::routine::{APC, Call, DISPATCH, Routine, routine};
use super::{kernel, lock, paging, pool};
use crate::memory::{PAGE, guest};
use crate::verify::{self, Rule};

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
/// `MDL_PARTIAL`.
const PARTIAL: u16 = 0x10;

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
    // Arguments: address, list.
    routine("MmUnmapLockedPages", DISPATCH, |call| {
        let flags: u16 = guest::read(call.arg(1) + FLAGS);
        guest::write(call.arg(1) + FLAGS, flags & !MAPPED_TO_SYSTEM);
        0
    }),
    // Arguments: source, target, address, length.
    routine("IoBuildPartialMdl", DISPATCH, |call| {
        let (source, target) = (call.arg(0), call.arg(1));
        let begin = guest::read::<u64>(source + START) + u64::from(guest::read::<u32>(source + OFFSET));
        let end = begin + u64::from(guest::read::<u32>(source + COUNT));
        let length = match call.u32(3) {
            0 => end.saturating_sub(call.arg(2)) as u32,
            length => length,
        };
        if call.arg(2) < begin || call.arg(2) + u64::from(length) > end {
            verify::find(Rule::BadArgument, format_args!("the part is not inside of the list"));
        }
        describe(target, call.arg(2), length);
        let flags: u16 = guest::read(source + FLAGS);
        guest::write(target + FLAGS, flags & (NON_PAGED | LOCKED | MAPPED_TO_SYSTEM) | PARTIAL);
        guest::write(target + MAPPED, call.arg(2));
        0
    }),
    routine("MmSizeOfMdl", DISPATCH, |call| 0x30 + (call.arg(0) % PAGE + call.arg(1)).div_ceil(PAGE) * 8),
    // Arguments: lowest, highest, skip, bytes, cache type, flags. The pages are the list's own.
    routine("MmAllocatePagesForMdlEx", DISPATCH, |call| {
        let size = call.arg(3).next_multiple_of(PAGE);
        let pages = lock(&kernel().pool).object(size);
        let mdl = lock(&kernel().pool).allocate(0x30 + size / PAGE * 8, *b"Mdl ", false, call.from).unwrap_or_default();
        if pages == 0 || mdl == 0 {
            return 0;
        }
        guest::fill(mdl, 0, 0x30);
        describe(mdl, pages, size as u32);
        guest::write(mdl + FLAGS, LOCKED);
        mdl
    })
    .fails_with_zero(),
    routine("MmFreePagesFromMdl", DISPATCH, |call| {
        let mdl = call.arg(0);
        let pages = guest::read::<u64>(mdl + START) + u64::from(guest::read::<u32>(mdl + OFFSET));
        lock(&kernel().pool).free_object(pages);
        guest::write(mdl + FLAGS, 0_u16);
        0
    }),
    routine("MmMapIoSpace", APC, |call| lock(&kernel().pool).object(call.arg(1))).fails_with_zero(),
    routine("MmMapIoSpaceEx", APC, |call| lock(&kernel().pool).object(call.arg(1))).fails_with_zero(),
    routine("MmUnmapIoSpace", APC, |call| {
        lock(&kernel().pool).free_object(call.arg(0));
        0
    }),
    routine("MmGetPhysicalAddress", DISPATCH, |call| call.arg(0)).fixed(),
    // The handle of a section is an address inside of it.
    routine("MmLockPagableDataSection", APC, |call| {
        paging::lock_section(call.arg(0), true);
        call.arg(0)
    }),
    routine("MmLockPagableSectionByHandle", APC, |call| paging::lock_section(call.arg(0), true).into()),
    routine("MmUnlockPagableImageSection", APC, |call| paging::lock_section(call.arg(0), false).into()),
    // Sections that may be paged out are those that say so; a whole driver is never paged out here.
    routine("MmPageEntireDriver", APC, |call| call.arg(0)).fixed(),
    routine("MmResetDriverPaging", APC, |_| 0).fixed(),
    routine("MmQuerySystemSize", DISPATCH, |_| 2).fixed(),
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

/// A list of the host's for memory that is there: locked and mapped.
pub(crate) fn new(address: u64, length: u32) -> u64 {
    let pages = (address % PAGE + u64::from(length)).div_ceil(PAGE);
    let mdl = lock(&kernel().pool).object(0x30 + pages * 8);
    describe(mdl, address, length);
    map(mdl, NON_PAGED | MAPPED_TO_SYSTEM);
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
