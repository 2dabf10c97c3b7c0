//! Memory descriptor lists. All memory is in one address space, so mapping and locking only set flags.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::layout::{IRP, MDL};
use nt_processor::memory::{Fault, GuestPtr, Opaque, PAGE, pages};
use nt_verifier::exception::changing;
use nt_verifier::hardware;
use nt_verifier::routine::{ANY, APC, Call, DISPATCH, Ignored, Outcome, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::memory::{
    MDL_MAPPED_TO_SYSTEM_VA, MDL_PAGES_LOCKED, MDL_PARTIAL, MDL_SOURCE_IS_NONPAGED_POOL, MdlMappingNoExecute, UserMode,
};

use crate::pool::EXECUTABLE;
use crate::pool::Pool;
use crate::pool::{self, Kind, paging};
use crate::{Kernel, kernel, lock};

/// The maximum number of lists of one IRP.
pub(super) const MAX_LISTS: u32 = 64;
/// The pool tag of lists that drivers allocate.
pub(super) const TAG: [u8; 4] = *b"Mdl ";

routines! { pub(super) ROUTINES;
    /// A secondary list is the last one of the IRP.
    #[irql(DISPATCH), fails_with_zero]
    fn IoAllocateMdl(
        &call,
        address: GuestPtr<u8>,
        length: u32,
        secondary: bool,
        _quota: Ignored<bool>,
        irp: Option<GuestPtr<IRP>>,
    ) -> Result<Option<GuestPtr<MDL>>, Fault> {
        let Kernel { pool, .. } = kernel();
        let Some(list) = allocate_list(pool, address, length.into(), call.from) else { return Ok(None) };
        list.zero()?;
        set(list, address, length)?;
        if let Some(irp) = irp {
            let mut place = irp.MdlAddress();
            for _ in 0..MAX_LISTS {
                let Some(before) = place.read()?.non_null().filter(|_| secondary) else { break };
                place = before.Next();
            }
            place.write(list)?;
        }
        Ok(Some(list))
    }

    #[irql(DISPATCH)]
    fn IoFreeMdl(list: GuestPtr<MDL>) {
        pool::free(list.address(), None);
    }

    #[irql(DISPATCH)]
    fn MmBuildMdlForNonPagedPool(list: GuestPtr<MDL>) -> Result<(), Fault> {
        map(list, MDL_SOURCE_IS_NONPAGED_POOL | MDL_MAPPED_TO_SYSTEM_VA).map(drop)
    }

    /// Memory that cannot be read raises an exception, for which a driver has a handler if a program chose the address.
    #[irql(DISPATCH), leavable]
    fn MmProbeAndLockPages(list: GuestPtr<MDL>, _mode: Ignored<i8>, _operation: Ignored<i32>) -> Result<(), Fault> {
        probe(start(list)?, list.ByteCount().read()?)?;
        map(list, MDL_PAGES_LOCKED).map(drop)
    }

    #[irql(DISPATCH)]
    fn MmUnlockPages(list: GuestPtr<MDL>) -> Result<(), Fault> {
        list.MdlFlags().change(|flags| flags & !MDL_PAGES_LOCKED).map(drop)
    }

    /// The priority has flags.
    #[irql(DISPATCH), fails_with_zero]
    #[raises(_mode == UserMode)]
    fn MmMapLockedPagesSpecifyCache(
        list: GuestPtr<MDL>,
        _mode: i8,
        _cache: Ignored<i32>,
        _address: Ignored<GuestPtr<Opaque>>,
        _bug_check: Ignored<u32>,
        priority: u32,
    ) -> Result<GuestPtr<u8>, Fault> {
        let address = map(list, MDL_MAPPED_TO_SYSTEM_VA)?;
        if priority & MdlMappingNoExecute == 0 {
            lock(&kernel().pool).make_executable(address.address());
        }
        Ok(address)
    }

    #[irql(DISPATCH)]
    fn MmMapLockedPages(list: GuestPtr<MDL>, _mode: Ignored<i8>) -> Result<GuestPtr<u8>, Fault> {
        let address = map(list, MDL_MAPPED_TO_SYSTEM_VA)?;
        lock(&kernel().pool).make_executable(address.address());
        Ok(address)
    }

    #[irql(DISPATCH)]
    fn MmUnmapLockedPages(_address: Ignored<GuestPtr<Opaque>>, list: GuestPtr<MDL>) -> Result<(), Fault> {
        list.MdlFlags().change(|flags| flags & !MDL_MAPPED_TO_SYSTEM_VA).map(drop)
    }

    #[irql(DISPATCH)]
    fn IoBuildPartialMdl(
        source: GuestPtr<MDL>,
        target: GuestPtr<MDL>,
        address: GuestPtr<u8>,
        length: u32,
    ) -> Result<(), Fault> {
        build_partial(source, target, address, length)
    }

    #[irql(ANY)]
    fn MmSizeOfMdl(address: GuestPtr<u8>, length: u64) -> u64 {
        size(address, length)
    }

    #[irql(DISPATCH), fails_with_zero]
    fn MmAllocatePagesForMdlEx(
        &call,
        _low: Ignored<i64>,
        _high: Ignored<i64>,
        _skip: Ignored<i64>,
        size: u64,
        _cache: Ignored<i32>,
        _flags: Ignored<u32>,
    ) -> Result<Option<GuestPtr<MDL>>, Fault> {
        allocate_pages(call, size)
    }

    #[irql(DISPATCH), fails_with_zero]
    fn MmAllocatePagesForMdl(
        &call,
        _low: Ignored<i64>,
        _high: Ignored<i64>,
        _skip: Ignored<i64>,
        size: u64,
    ) -> Result<Option<GuestPtr<MDL>>, Fault> {
        allocate_pages(call, size)
    }

    /// The pages become executable; they stay writable in any case.
    #[irql(DISPATCH)]
    fn MmProtectMdlSystemAddress(list: GuestPtr<MDL>, protect: u32) -> Outcome {
        if protect & EXECUTABLE != 0 {
            lock(&kernel().pool).make_executable(start(list)?.address());
        }
        done(())
    }

    #[irql(DISPATCH)]
    fn MmAdvanceMdl(list: GuestPtr<MDL>, skip: u32) -> Outcome {
        let Some(left) = list.ByteCount().read()?.checked_sub(skip) else { return fail(NtStatus::InvalidParameter) };
        let begin = start(list)?.at(skip.into());
        set(list, begin, left)?;
        list.MappedSystemVa().write(begin)?;
        done(())
    }

    #[irql(DISPATCH)]
    fn MmFreePagesFromMdl(list: GuestPtr<MDL>) -> Result<(), Fault> {
        lock(&kernel().pool).free_object(start(list)?.address());
        list.MdlFlags().write(0)
    }

    #[irql(DISPATCH), fails_with_zero]
    fn MmMapIoSpace(physical: i64, size: u64, _cache: Ignored<i32>) -> GuestPtr<u8> {
        map_device(Kind::Executable, physical, size)
    }

    #[irql(DISPATCH), fails_with_zero]
    fn MmMapIoSpaceEx(physical: i64, size: u64, protect: u32) -> GuestPtr<u8> {
        map_device(Kind::non_paged(protect & EXECUTABLE != 0), physical, size)
    }

    #[irql(DISPATCH)]
    fn MmUnmapIoSpace(address: GuestPtr<u8>, _size: Ignored<u64>) {
        let memory = hardware::unmap(address.address()).unwrap_or(address.address());
        lock(&kernel().pool).free_object(memory);
    }

    #[irql(ANY), fixed]
    fn MmGetPhysicalAddress(address: GuestPtr<Opaque>) -> i64 {
        address.address().cast_signed()
    }

    /// The handle of a section is an address inside it.
    #[irql(APC)]
    fn MmLockPagableDataSection(address: GuestPtr<Opaque>) -> GuestPtr<Opaque> {
        paging::lock_section(address.address(), true);
        address
    }

    #[irql(APC)]
    fn MmLockPagableSectionByHandle(section: GuestPtr<Opaque>) {
        paging::lock_section(section.address(), true);
    }

    #[irql(APC)]
    fn MmUnlockPagableImageSection(section: GuestPtr<Opaque>) {
        paging::lock_section(section.address(), false);
    }

    /// Only sections with a pageable flag are pageable here, never the whole driver.
    #[irql(APC), fixed]
    fn MmPageEntireDriver(address: GuestPtr<Opaque>) -> GuestPtr<Opaque> {
        address
    }

    #[irql(APC), fixed]
    fn MmResetDriverPaging(_address: Ignored<GuestPtr<Opaque>>) {}

    #[irql(ANY), fixed]
    fn MmQuerySystemSize() -> i32 {
        2
    }
}

/// Reads a byte of each page. A buffer that is to change after the driver's first read was not read by the driver then.
fn probe(start: GuestPtr<u8>, length: u32) -> Result<(), Fault> {
    let first = start.address();
    let addresses = pages(first, length.into()).map(|page| page.max(first));
    let mut unwatched = addresses.filter(|address| !changing::is_watched(*address));
    unwatched.try_for_each(|address| GuestPtr::<u8>::new(address).read().map(drop))
}

/// Allocates a list and its pages.
fn allocate_pages(call: &Call, size: u64) -> Result<Option<GuestPtr<MDL>>, Fault> {
    let Kernel { pool, .. } = kernel();
    let Some(size) = size.checked_next_multiple_of(PAGE) else { return Ok(None) };
    let pages = GuestPtr::new(lock(pool).object(size));
    let Some(list) = allocate_list(pool, pages, size, call.from).filter(|_| !pages.is_null()) else { return Ok(None) };
    list.zero()?;
    set(list, pages, size as u32)?;
    list.MdlFlags().write(MDL_PAGES_LOCKED)?;
    Ok(Some(list))
}

/// Maps memory of a device: plain memory, unless a test scripts it.
fn map_device(kind: Kind, physical: i64, size: u64) -> GuestPtr<u8> {
    let allocate = |size| lock(&kernel().pool).object_as(kind, *b"MmIo", size);
    let scripted = hardware::map(physical.cast_unsigned(), size, allocate);
    GuestPtr::new(scripted.unwrap_or_else(|| allocate(size)))
}

/// Returns the size of a list, including its page numbers.
fn size(address: GuestPtr<u8>, length: u64) -> u64 {
    let pages = (address.address() % PAGE).wrapping_add(length).div_ceil(PAGE);
    (size_of::<MDL>() as u64).saturating_add(pages * 8)
}

fn allocate_list(pool: &Mutex<Pool>, address: GuestPtr<u8>, length: u64, from: u64) -> Option<GuestPtr<MDL>> {
    lock(pool).allocate(size(address, length), TAG, false, from).map(GuestPtr::new)
}

/// Describes a part of the source's memory, from `place` on; the rest of it if the length is 0.
fn build_partial(source: GuestPtr<MDL>, target: GuestPtr<MDL>, place: GuestPtr<u8>, length: u32) -> Result<(), Fault> {
    let address = place.address();
    let begin = start(source)?.address();
    let end = begin.wrapping_add(source.ByteCount().read()?.into());
    let length = match length {
        0 => end.saturating_sub(address) as u32,
        length => length,
    };
    if address < begin || address.saturating_add(length.into()) > end {
        verify::find(Rule::BadArgument, format_args!("the partial range is not inside the source MDL"));
    }
    set(target, place, length)?;
    let flags = source.MdlFlags().read()? & (MDL_SOURCE_IS_NONPAGED_POOL | MDL_PAGES_LOCKED | MDL_MAPPED_TO_SYSTEM_VA);
    target.MdlFlags().write(flags | MDL_PARTIAL)?;
    target.MappedSystemVa().write(place)
}

/// Creates a list for nonpaged memory, which is mapped.
pub fn new(address: GuestPtr<u8>, length: u32) -> Outcome<GuestPtr<MDL>> {
    let list = describe(address, length)?;
    map(list, MDL_SOURCE_IS_NONPAGED_POOL | MDL_MAPPED_TO_SYSTEM_VA)?;
    Ok(list)
}

/// Creates a list for memory that is not mapped yet.
pub fn describe(address: GuestPtr<u8>, length: u32) -> Outcome<GuestPtr<MDL>> {
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
pub fn start(list: GuestPtr<MDL>) -> Result<GuestPtr<u8>, Fault> {
    Ok(list.StartVa().read()?.at(list.ByteOffset().read()?.into()))
}

fn map(list: GuestPtr<MDL>, flag: u16) -> Result<GuestPtr<u8>, Fault> {
    list.MdlFlags().change(|flags| flags | flag)?;
    let address = start(list)?;
    list.MappedSystemVa().write(address)?;
    Ok(address)
}
