//! Buses and physical memory. The buses have no devices, and the physical address of memory is its virtual address.

use etw_types::NtStatus;

use crate::kernel::ex::object;
use crate::kernel::{kernel, lock, shared_data};
use crate::layout::{CONFIGURATION_INFORMATION, OBJECT_ATTRIBUTES};
use crate::memory::{GuestPtr, PAGE};
use crate::routine::{ANY, APC, DISPATCH, NO_RESOURCES, PASSIVE, Routine, done, fail, fixed, routine};

/// `PCIConfiguration`, and `PCI_INVALID_VENDORID`, which a read returns if the slot has no device.
const PCI: u32 = 4;
const NO_DEVICE: [u8; 2] = [0xFF; 2];
/// The start and the size of the only range of physical memory. It begins at the second page of the address space. A
/// range of zeros ends the list.
const MEMORY: [u64; 4] = [PAGE, shared_data::PHYSICAL_PAGES as u64 * PAGE, 0, 0];
/// The address types of `MmCopyMemory`.
const PHYSICAL: u32 = 1;
const VIRTUAL: u32 = 2;
const PHYSICAL_MEMORY: &str = r"\Device\PhysicalMemory";

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: type of data, bus, slot, buffer, offset, length. Returns the number of bytes.
    routine!("HalGetBusDataByOffset", DISPATCH, |call| {
        if call.u32(0) != PCI || call.u32(5) < 2 {
            return done(0_u32);
        }
        call.ptr(3).write_all(&NO_DEVICE)?;
        done(2)
    }),
    routine!("HalGetBusData", DISPATCH, |call| {
        if call.u32(0) != PCI || call.u32(4) < 2 {
            return done(0_u32);
        }
        call.ptr(3).write_all(&NO_DEVICE)?;
        done(2)
    }),
    // Drivers count their devices in this structure. All counts start at 0, because there are no other drivers.
    routine!("IoGetConfigurationInformation", PASSIVE, |_| {
        let known = lock(&kernel().io).configuration;
        if !known.is_null() {
            return done(known);
        }
        let made = lock(&kernel().pool).new_objects::<CONFIGURATION_INFORMATION>(1);
        made.Version().write(size_of::<CONFIGURATION_INFORMATION>() as u32)?;
        lock(&kernel().io).configuration = made;
        done(made)
    }),
    fixed("HalSetBusDataByOffset", DISPATCH, 0),
    fixed("HalSetBusData", DISPATCH, 0),
    // Arguments: type of the bus, number of the bus, address, place for the address space, place for the translation.
    routine!("HalTranslateBusAddress", DISPATCH, |call| {
        call.ptr(4).write(call.arg(2))?;
        done(true)
    }),
    routine!("MmGetVirtualForPhysical", DISPATCH, |call| call.arg(0)).fixed(),
    // The driver must free the list.
    routine!("MmGetPhysicalMemoryRanges", PASSIVE, |call| {
        let memory = lock(&kernel().pool).allocate(size_of_val(&MEMORY) as u64, *b"MmPh", false, call.from);
        let Some(ranges) = memory.map(GuestPtr::<u64>::new) else { return done(GuestPtr::NULL) };
        ranges.write_all(&MEMORY)?;
        done(ranges)
    })
    .fails_with_zero(),
    // Arguments: target, source, number of bytes, type of address, place for the number of copied bytes.
    routine!("MmCopyMemory", APC, |call| {
        call.ptr(4).write(0_u64)?;
        if !matches!(call.u32(3), PHYSICAL | VIRTUAL) {
            return fail(NtStatus::InvalidParameter);
        }
        match call.ptr::<u8>(1).array(call.arg(2)).read() {
            Ok(bytes) => {
                call.ptr(0).write_all(&bytes)?;
                call.ptr(4).write(bytes.len() as u64)?;
                done(())
            }
            Err(_) => fail(NtStatus::AccessViolation),
        }
    }),
    fixed("MmIsDriverVerifying", DISPATCH, 0),
    // Arguments: place for the handle, access, attributes.
    routine!("ZwOpenSection", PASSIVE, |call| {
        let name = call.ptr::<OBJECT_ATTRIBUTES>(2).ObjectName().read()?.text()?;
        if !name.eq_ignore_ascii_case(PHYSICAL_MEMORY) {
            return fail(NtStatus::ObjectNameNotFound);
        }
        call.ptr(0).write(object::open("section", 0, call.from)?)?;
        done(())
    })
    .fails(NtStatus::ObjectNameNotFound),
    // Arguments: section, process, place of the address, zero bits, bytes to commit, place of the offset, place of the
    // size.
    routine!("ZwMapViewOfSection", PASSIVE, |call| {
        if object::of_kind(call.kernel_handle(0), "section").is_none() {
            return fail(NtStatus::InvalidHandle);
        }
        let size = call.ptr::<u64>(6).read()?.max(PAGE);
        let Some(view) = Some(lock(&kernel().pool).object(size)).filter(|view| *view != 0) else {
            return fail(NO_RESOURCES);
        };
        call.ptr(2).write(view)?;
        call.ptr(6).write(size.next_multiple_of(PAGE))?;
        done(())
    })
    .fails(NO_RESOURCES),
    // Arguments: process, address.
    routine!("ZwUnmapViewOfSection", PASSIVE, |call| lock(&kernel().pool).free_object(call.arg(1))),
    // Arguments: process, place of the address, zero bits or place of the size, place of the size.
    routine!("ZwAllocateVirtualMemory", PASSIVE, |call| {
        let size = call.ptr::<u64>(3).read()?.next_multiple_of(PAGE);
        let Some(memory) = Some(lock(&kernel().pool).object(size)).filter(|memory| *memory != 0) else {
            return fail(NtStatus::NoMemory);
        };
        call.ptr(1).write(memory)?;
        call.ptr(3).write(size)?;
        done(())
    })
    .fails(NtStatus::NoMemory),
    routine!("ZwFreeVirtualMemory", PASSIVE, |call| {
        lock(&kernel().pool).free_object(call.ptr::<u64>(1).read()?);
        done(())
    }),
    fixed("KeFlushIoBuffers", ANY, 0),
];
