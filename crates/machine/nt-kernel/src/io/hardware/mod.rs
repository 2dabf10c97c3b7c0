//! Hardware: buses, physical memory, the resources of devices, and interrupts. The only device of a bus is the PCI device that
//! a test describes. The physical address of memory is its virtual address.

pub mod interrupt;
pub mod resources;

use etw_types::NtStatus;
use nt_processor::layout::{CONFIGURATION_INFORMATION, DRIVER_OBJECT, MDL, OBJECT_ATTRIBUTES};
use nt_processor::memory::{Fault, GuestPtr, Opaque, PAGE};
use nt_verifier::routine::{
    ANY, APC, DISPATCH, HAL, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, Routine, done, fail, routines,
};
use windows_constants::memory::{MM_COPY_MEMORY_PHYSICAL, MM_COPY_MEMORY_VIRTUAL};
use windows_constants::plug_play::{PCI_INVALID_VENDORID, PCIConfiguration};

use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::pool::Kind;
use crate::{Kernel, kernel, lock, pci, shared_data};

/// What a read returns if the slot has no device.
const NO_DEVICE: [u8; 2] = PCI_INVALID_VENDORID.to_le_bytes();
/// The start and the size of the only range of physical memory. It begins at the second page of the address space. A
/// range of zeros ends the list.
const MEMORY: [u64; 4] = [PAGE, shared_data::PHYSICAL_PAGES as u64 * PAGE, 0, 0];
/// The section that is the physical memory.
const PHYSICAL_MEMORY: &str = r"\Device\PhysicalMemory";
/// The tag of views of sections.
const VIEW: [u8; 4] = *b"View";

pub(super) const ROUTINES: &[&[Routine]] = &[OWN, interrupt::ROUTINES];

routines! { OWN;
    #[irql(DISPATCH), module(HAL)]
    fn HalGetBusDataByOffset(
        kind: i32,
        bus: u32,
        slot: u32,
        buffer: GuestPtr<u8>,
        offset: u32,
        length: u32,
    ) -> Result<u32, Fault> {
        bus_data(kind, (bus, slot), buffer, offset, length)
    }

    #[irql(DISPATCH), module(HAL)]
    fn HalGetBusData(
        kind: i32,
        bus: u32,
        slot: u32,
        buffer: GuestPtr<u8>,
        length: u32,
    ) -> Result<u32, Fault> {
        bus_data(kind, (bus, slot), buffer, 0, length)
    }

    /// Drivers count their devices in this structure. All counts start at 0, because there are no other drivers.
    #[irql(PASSIVE)]
    fn IoGetConfigurationInformation() -> Result<GuestPtr<CONFIGURATION_INFORMATION>, Fault> {
        let Kernel { io, pool, .. } = kernel();
        let known = lock(io).configuration;
        if !known.is_null() {
            return Ok(known);
        }
        let made = lock(pool).new_objects::<CONFIGURATION_INFORMATION>(1);
        made.Version().write(size_of::<CONFIGURATION_INFORMATION>() as u32)?;
        lock(io).configuration = made;
        Ok(made)
    }

    #[irql(DISPATCH), module(HAL)]
    fn HalSetBusDataByOffset(
        kind: i32,
        bus: u32,
        slot: u32,
        buffer: GuestPtr<u8>,
        offset: u32,
        length: u32,
    ) -> Result<u32, Fault> {
        if is_device(kind, (bus, slot)) { pci::write(buffer, offset, length) } else { Ok(0) }
    }

    #[irql(DISPATCH), module(HAL)]
    fn HalSetBusData(kind: i32, bus: u32, slot: u32, buffer: GuestPtr<u8>, length: u32) -> Result<u32, Fault> {
        if is_device(kind, (bus, slot)) { pci::write(buffer, 0, length) } else { Ok(0) }
    }

    #[irql(DISPATCH), module(HAL)]
    fn HalTranslateBusAddress(
        _interface: Ignored<i32>,
        _bus: Ignored<u32>,
        address: i64,
        _space: Ignored<GuestPtr<u32>>,
        translated: Out<i64>,
    ) -> Result<bool, Fault> {
        translated.set(address)?;
        Ok(true)
    }

    #[irql(DISPATCH), fixed]
    fn MmGetVirtualForPhysical(physical: i64) -> GuestPtr<Opaque> {
        GuestPtr::new(physical.cast_unsigned())
    }

    /// The driver must free the list.
    #[irql(PASSIVE), fails_with_zero]
    fn MmGetPhysicalMemoryRanges(&call) -> Result<Option<GuestPtr<u64>>, Fault> {
        let memory = lock(&kernel().pool).allocate(size_of_val(&MEMORY) as u64, *b"MmPh", false, call.from);
        let Some(ranges) = memory.map(GuestPtr::<u64>::new) else { return Ok(None) };
        ranges.write_all(&MEMORY)?;
        Ok(Some(ranges))
    }

    #[irql(APC)]
    fn MmCopyMemory(
        target: GuestPtr<u8>,
        source: GuestPtr<u8>,
        size: u64,
        flags: u32,
        copied: Out<u64>,
    ) -> Outcome {
        copied.set(0)?;
        if !matches!(flags, MM_COPY_MEMORY_PHYSICAL | MM_COPY_MEMORY_VIRTUAL) {
            return fail(NtStatus::InvalidParameter);
        }
        match source.array(size).read() {
            Ok(bytes) => {
                target.write_all(&bytes)?;
                copied.set(bytes.len() as u64)?;
                done(())
            }
            Err(_) => fail(NtStatus::AccessViolation),
        }
    }

    #[irql(DISPATCH), fixed]
    fn MmIsDriverVerifying(_driver: Ignored<GuestPtr<DRIVER_OBJECT>>) -> u32 {
        0
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn ZwOpenSection(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
    ) -> Outcome {
        let name = attributes.ObjectName().read()?.text()?;
        if !name.eq_ignore_ascii_case(PHYSICAL_MEMORY) {
            return fail(NtStatus::ObjectNameNotFound);
        }
        place.set(object::open("section", 0, call.from)?)?;
        done(())
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn ZwMapViewOfSection(
        section: KernelHandle,
        _process: Ignored<KernelHandle>,
        address: Out<u64>,
        _zero_bits: Ignored<u64>,
        _commit: Ignored<u64>,
        _offset: Ignored<GuestPtr<i64>>,
        size: GuestPtr<u64>,
        _inherit: Ignored<i32>,
        _allocation: Ignored<u32>,
        _protection: Ignored<u32>,
    ) -> Outcome {
        if object::of_kind(section, "section").is_none() {
            return fail(NtStatus::InvalidHandle);
        }
        let wanted = size.read()?.max(PAGE);
        let view = lock(&kernel().pool).object_as(Kind::NonPaged, VIEW, wanted);
        if view == 0 {
            return fail(NO_RESOURCES);
        }
        address.set(view)?;
        size.write(wanted.next_multiple_of(PAGE))?;
        done(())
    }

    /// The address may be anywhere in the view. Without a view there, the routine fails with this status: Wine's test
    /// `dlls/ntdll/tests/wow64.c` expects both of Windows.
    #[irql(PASSIVE)]
    fn ZwUnmapViewOfSection(_process: Ignored<KernelHandle>, address: GuestPtr<Opaque>) -> NtStatus {
        let mut pool = lock(&kernel().pool);
        let (start, end) = pool.range(address.address()).unwrap_or_default();
        if address.address() >= end || !pool.is_allocated(start, VIEW) {
            return NtStatus::NotMappedView;
        }
        pool.free_object(start);
        NtStatus::Success
    }

    #[irql(PASSIVE), fails(NtStatus::NoMemory)]
    fn ZwAllocateVirtualMemory(
        _process: Ignored<KernelHandle>,
        address: Out<u64>,
        _zero_bits: Ignored<u64>,
        size: GuestPtr<u64>,
        _allocation: Ignored<u32>,
        _protection: Ignored<u32>,
    ) -> Outcome {
        let wanted = size.read()?.next_multiple_of(PAGE);
        let Some(memory) = Some(lock(&kernel().pool).object(wanted)).filter(|memory| *memory != 0) else {
            return fail(NtStatus::NoMemory);
        };
        address.set(memory)?;
        size.write(wanted)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn ZwFreeVirtualMemory(
        _process: Ignored<KernelHandle>,
        address: GuestPtr<u64>,
        _size: Ignored<GuestPtr<u64>>,
        _kind: Ignored<u32>,
    ) -> Outcome {
        lock(&kernel().pool).free_object(address.read()?);
        done(())
    }

    #[irql(ANY), fixed]
    fn KeFlushIoBuffers(_list: Ignored<GuestPtr<MDL>>, _read: Ignored<bool>, _dma: Ignored<bool>) {}
}

/// Returns whether the device that the test describes is there: on the first bus, in the first slot.
fn is_device(kind: i32, place: (u32, u32)) -> bool {
    kind == PCIConfiguration && place == (0, 0) && pci::is_present()
}

/// Stores the data of a slot. Returns the number of bytes.
fn bus_data(kind: i32, place: (u32, u32), buffer: GuestPtr<u8>, offset: u32, length: u32) -> Result<u32, Fault> {
    if is_device(kind, place) {
        return pci::read(buffer, offset, length);
    }
    if kind != PCIConfiguration || length < 2 {
        return Ok(0);
    }
    buffer.write_all(&NO_DEVICE)?;
    Ok(2)
}
