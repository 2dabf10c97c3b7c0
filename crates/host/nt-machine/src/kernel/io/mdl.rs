//! Memory descriptor lists. All memory is in one address space, so mapping and locking only set flags.

use etw_types::NtStatus;

use crate::kernel::pool::{self, Kind, PAGE_EXECUTE, paging};
use crate::kernel::{kernel, lock};
use crate::layout::{IRP, MDL};
use crate::memory::{Fault, GuestPtr, PAGE};
use crate::routine::{APC, Call, DISPATCH, Outcome, Routine, done, fail, fixed, routine};
use crate::verify::{self, Rule};

/// `MDL_MAPPED_TO_SYSTEM_VA`, `MDL_PAGES_LOCKED`, `MDL_SOURCE_IS_NONPAGED_POOL`, `MDL_PARTIAL`.
const MAPPED_TO_SYSTEM: u16 = 1;
const LOCKED: u16 = 2;
const NON_PAGED: u16 = 4;
const PARTIAL: u16 = 0x10;
/// `MdlMappingNoExecute`, a flag of the priority of a mapping.
const MAPPING_NO_EXECUTE: u32 = 0x4000_0000;

/// The maximum number of lists of one IRP.
pub(super) const MOST_LISTS: u32 = 64;
/// The pool tag of lists that drivers allocate.
pub(super) const TAG: [u8; 4] = *b"Mdl ";

pub(super) const ROUTINES: &[Routine] = &[
    routine!("IoAllocateMdl", DISPATCH, allocate).fails_with_zero(),
    routine!("IoFreeMdl", DISPATCH, |call| pool::free(call.arg(0), None)),
    routine!("MmBuildMdlForNonPagedPool", DISPATCH, |call| map(call.ptr(0), NON_PAGED | MAPPED_TO_SYSTEM)),
    routine!("MmProbeAndLockPages", DISPATCH, |call| map(call.ptr(0), LOCKED).map(drop)),
    routine!("MmUnlockPages", DISPATCH, |call| {
        call.ptr::<MDL>(0).MdlFlags().change(|flags| flags & !LOCKED).map(drop)
    }),
    // The sixth argument is a priority with flags.
    routine!("MmMapLockedPagesSpecifyCache", DISPATCH, |call| {
        let address = map(call.ptr(0), MAPPED_TO_SYSTEM)?;
        if call.u32(5) & MAPPING_NO_EXECUTE == 0 {
            lock(&kernel().pool).make_executable(address.address());
        }
        done(address)
    })
    .fails_with_zero(),
    routine!("MmMapLockedPages", DISPATCH, |call| {
        let address = map(call.ptr(0), MAPPED_TO_SYSTEM)?;
        lock(&kernel().pool).make_executable(address.address());
        done(address)
    }),
    // Arguments: address, list.
    routine!("MmUnmapLockedPages", DISPATCH, |call| {
        call.ptr::<MDL>(1).MdlFlags().change(|flags| flags & !MAPPED_TO_SYSTEM).map(drop)
    }),
    routine!("IoBuildPartialMdl", DISPATCH, build_partial),
    routine!("MmSizeOfMdl", DISPATCH, |call| size(call.ptr(0), call.arg(1))),
    routine!("MmAllocatePagesForMdlEx", DISPATCH, allocate_pages).fails_with_zero(),
    routine!("MmAllocatePagesForMdl", DISPATCH, allocate_pages).fails_with_zero(),
    // Arguments: list, protection. The pages become executable; they stay writable in any case.
    routine!("MmProtectMdlSystemAddress", APC, |call| {
        if call.u32(1) & PAGE_EXECUTE != 0 {
            lock(&kernel().pool).make_executable(start(call.ptr(0))?.address());
        }
        done(())
    }),
    // Arguments: list, number of bytes to skip at its start.
    routine!("MmAdvanceMdl", DISPATCH, |call| {
        let (list, skip) = (call.ptr::<MDL>(0), call.u32(1));
        let Some(left) = list.ByteCount().read()?.checked_sub(skip) else { return fail(NtStatus::InvalidParameter) };
        let begin = start(list)?.at(skip.into());
        set(list, begin, left)?;
        list.MappedSystemVa().write(begin)?;
        done(())
    }),
    routine!("MmFreePagesFromMdl", DISPATCH, |call| {
        let list = call.ptr::<MDL>(0);
        lock(&kernel().pool).free_object(start(list)?.address());
        list.MdlFlags().write(0)?;
        done(())
    }),
    routine!("MmMapIoSpace", APC, |call| map_device(Kind::Executable, call.arg(1))).fails_with_zero(),
    // The third argument is the protection.
    routine!("MmMapIoSpaceEx", APC, |call| {
        map_device(Kind::non_paged(call.u32(2) & PAGE_EXECUTE != 0), call.arg(1))
    })
    .fails_with_zero(),
    routine!("MmUnmapIoSpace", APC, |call| lock(&kernel().pool).free_object(call.arg(0))),
    routine!("MmGetPhysicalAddress", DISPATCH, |call| call.arg(0)).fixed(),
    // The handle of a section is an address inside it.
    routine!("MmLockPagableDataSection", APC, |call| {
        paging::lock_section(call.arg(0), true);
        call.arg(0)
    }),
    routine!("MmLockPagableSectionByHandle", APC, |call| paging::lock_section(call.arg(0), true)),
    routine!("MmUnlockPagableImageSection", APC, |call| paging::lock_section(call.arg(0), false)),
    // Only sections with a pageable flag are pageable here, never the whole driver.
    routine!("MmPageEntireDriver", APC, |call| call.arg(0)).fixed(),
    fixed("MmResetDriverPaging", APC, 0),
    fixed("MmQuerySystemSize", DISPATCH, 2),
];

/// Allocates a list and its pages. Arguments: lowest address, highest address, skip, number of bytes.
fn allocate_pages(call: &Call) -> Outcome<Option<GuestPtr<MDL>>> {
    let Some(size) = call.arg(3).checked_next_multiple_of(PAGE) else { return done(None) };
    let pages = GuestPtr::new(lock(&kernel().pool).object(size));
    let Some(list) = allocate_list(pages, size, call.from).filter(|_| !pages.is_null()) else { return done(None) };
    list.zero()?;
    set(list, pages, size as u32)?;
    list.MdlFlags().write(LOCKED)?;
    done(Some(list))
}

/// Maps memory of a device.
fn map_device(kind: Kind, size: u64) -> u64 {
    lock(&kernel().pool).object_as(kind, *b"MmIo", size)
}

/// Returns the size of a list, including its page numbers.
fn size(address: GuestPtr<u8>, length: u64) -> u64 {
    let pages = (address.address() % PAGE).wrapping_add(length).div_ceil(PAGE);
    (size_of::<MDL>() as u64).saturating_add(pages * 8)
}

fn allocate_list(address: GuestPtr<u8>, length: u64, from: u64) -> Option<GuestPtr<MDL>> {
    lock(&kernel().pool).allocate(size(address, length), TAG, false, from).map(GuestPtr::new)
}

/// Arguments: address, length, secondary, charge, IRP. A secondary list is the last one of the IRP.
fn allocate(call: &Call) -> Outcome<Option<GuestPtr<MDL>>> {
    let (address, length) = (call.ptr(0), call.u32(1));
    let Some(list) = allocate_list(address, length.into(), call.from) else { return Ok(None) };
    list.zero()?;
    set(list, address, length)?;
    if let Some(irp) = call.ptr::<IRP>(4).non_null() {
        let mut place = irp.MdlAddress();
        for _ in 0..MOST_LISTS {
            let Some(before) = place.read()?.non_null().filter(|_| call.is(2)) else { break };
            place = before.Next();
        }
        place.write(list)?;
    }
    Ok(Some(list))
}

/// Arguments: source, target, address, length.
fn build_partial(call: &Call) -> Outcome {
    let (source, target, address) = (call.ptr::<MDL>(0), call.ptr::<MDL>(1), call.arg(2));
    let begin = start(source)?.address();
    let end = begin.wrapping_add(source.ByteCount().read()?.into());
    let length = match call.u32(3) {
        0 => end.saturating_sub(address) as u32,
        length => length,
    };
    if address < begin || address.saturating_add(length.into()) > end {
        verify::find(Rule::BadArgument, format_args!("the partial range is not inside the source MDL"));
    }
    set(target, call.ptr(2), length)?;
    let flags = source.MdlFlags().read()? & (NON_PAGED | LOCKED | MAPPED_TO_SYSTEM);
    target.MdlFlags().write(flags | PARTIAL)?;
    target.MappedSystemVa().write(call.ptr(2))?;
    Ok(())
}

/// Creates a list for nonpaged memory, which is mapped.
pub(crate) fn new(address: GuestPtr<u8>, length: u32) -> Outcome<GuestPtr<MDL>> {
    let list = describe(address, length)?;
    map(list, NON_PAGED | MAPPED_TO_SYSTEM)?;
    Ok(list)
}

/// Creates a list for memory that is not mapped yet.
pub(crate) fn describe(address: GuestPtr<u8>, length: u32) -> Outcome<GuestPtr<MDL>> {
    let list = lock(&kernel().pool).try_new_objects::<u8>(size(address, length.into()))?.cast();
    set(list, address, length)?;
    Ok(list)
}

/// Stores the address and the length in a list.
fn set(list: GuestPtr<MDL>, address: GuestPtr<u8>, length: u32) -> Result<(), Fault> {
    let offset = address.address() % PAGE;
    list.Size().write(size_of::<MDL>() as u16)?;
    list.StartVa().write(address.before(offset))?;
    list.ByteCount().write(length)?;
    list.ByteOffset().write(offset as u32)
}

/// Returns the start of the memory that a list describes.
fn start(list: GuestPtr<MDL>) -> Result<GuestPtr<u8>, Fault> {
    Ok(list.StartVa().read()?.at(list.ByteOffset().read()?.into()))
}

fn map(list: GuestPtr<MDL>, flag: u16) -> Result<GuestPtr<u8>, Fault> {
    list.MdlFlags().change(|flags| flags | flag)?;
    let address = start(list)?;
    list.MappedSystemVa().write(address)?;
    Ok(address)
}
