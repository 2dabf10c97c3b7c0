//! Device interfaces and device properties.

use etw_types::{Guid, NtStatus};
use nt_processor::cpu::thread;
use nt_processor::layout::{DEVICE_OBJECT, GUID, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{APC, Call, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::gap;
use windows_constants::device::DEVICE_INTERFACE_INCLUDE_NONACTIVE;

use crate::ex::object;
use crate::io::device;
use crate::{Kernel, kernel, lock, pci};

/// A `DEVPROPKEY`.
type Key = [u8; 20];

/// The device interfaces and properties that drivers have set.
#[derive(Default)]
pub struct Interfaces {
    /// Whether each interface is enabled, by its symbolic link.
    enabled: SortedMap<String, bool>,
    /// The type and data of each property that the driver set.
    properties: SortedMap<Key, (u32, Vec<u8>)>,
}

routines! { pub(super) ROUTINES;
    /// `InterfaceReference` of a bus interface.
    #[irql(DISPATCH), named(pci::REFERENCE), keeps]
    fn reference(&call, context: GuestPtr<Opaque>) {
        object::reference(context.address(), call.from);
    }

    /// `InterfaceDereference` of a bus interface.
    #[irql(DISPATCH), named(pci::DEREFERENCE)]
    fn dereference(context: GuestPtr<Opaque>) {
        object::dereference(context.address());
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidDeviceRequest)]
    fn IoRegisterDeviceInterface(
        &call,
        _device: Ignored<GuestPtr<DEVICE_OBJECT>>,
        class: GuestPtr<GUID>,
        reference: Option<GuestPtr<UNICODE_STRING>>,
        link: GuestPtr<UNICODE_STRING>,
    ) -> Outcome {
        register(call, class.id()?, reference, link)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    #[undoes(!enable)]
    fn IoSetDeviceInterfaceState(link: GuestPtr<UNICODE_STRING>, enable: bool) -> Outcome {
        let link = link.text()?;
        let mut interfaces = lock(&kernel().interfaces);
        match interfaces.enabled.get_mut(&link) {
            Some(enabled) if *enabled && enable => fail(NtStatus::ObjectNameExists),
            Some(enabled) => {
                *enabled = enable;
                done(())
            }
            None => fail(NtStatus::ObjectNameNotFound),
        }
    }

    /// The driver frees the list of links.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoGetDeviceInterfaces(
        &call,
        class: GuestPtr<GUID>,
        _device: Ignored<GuestPtr<DEVICE_OBJECT>>,
        flags: u32,
        place: Out<GuestPtr<u16>>,
    ) -> Outcome {
        let Kernel { interfaces, pool, .. } = kernel();
        let class = format!("{{{}}}", class.id()?);
        let wanted = |(link, enabled): &(&String, &bool)| {
            (**enabled || flags & DEVICE_INTERFACE_INCLUDE_NONACTIVE != 0) && link.contains(&class)
        };
        let links: String = lock(interfaces)
            .enabled
            .iter()
            .filter(wanted)
            .map(|(link, _)| format!("{link}\0"))
            .chain(["\0".to_owned()])
            .collect();
        let units: Vec<u16> = links.encode_utf16().collect();
        let memory = lock(pool).allocate(units.len() as u64 * 2, *b"IfLs", true, call.from);
        let Some(list) = memory.map(GuestPtr::<u16>::new) else { return fail(NO_RESOURCES) };
        list.write_all(&units)?;
        place.set(list)?;
        done(())
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn IoGetDeviceProperty(
        device: GuestPtr<DEVICE_OBJECT>,
        number: i32,
        room: u32,
        buffer: GuestPtr<u8>,
        length: GuestPtr<u32>,
    ) -> Outcome {
        match property(device, number.cast_unsigned()) {
            Some(data) => store(&data, buffer, room, length),
            None => fail(NtStatus::ObjectNameNotFound),
        }
    }

    #[irql(APC), fails(NtStatus::ObjectNameNotFound)]
    fn IoGetDevicePropertyData(
        _device: Ignored<GuestPtr<DEVICE_OBJECT>>,
        key: GuestPtr<Key>,
        _language: Ignored<u32>,
        _flags: Ignored<u32>,
        room: u32,
        buffer: GuestPtr<u8>,
        length: GuestPtr<u32>,
        kind: Out<u32>,
    ) -> Outcome {
        let found = lock(&kernel().interfaces).properties.get(&key.read()?).cloned();
        let Some((known, data)) = found else { return fail(NtStatus::ObjectNameNotFound) };
        kind.set_if_wanted(known)?;
        store(&data, buffer, room, length)
    }

    #[irql(APC), fails(NO_RESOURCES)]
    #[undoes(data.is_none())]
    fn IoSetDevicePropertyData(
        _device: Ignored<GuestPtr<DEVICE_OBJECT>>,
        key: GuestPtr<Key>,
        _language: Ignored<u32>,
        _flags: Ignored<u32>,
        kind: u32,
        size: u32,
        data: Option<GuestPtr<u8>>,
    ) -> Outcome {
        let key = key.read()?;
        let data = data.map(|data| data.array(size.into()).read()).transpose()?;
        let properties = &mut lock(&kernel().interfaces).properties;
        match data {
            None => properties.remove(&key),
            Some(data) => properties.insert(key, (kind, data)),
        };
        done(())
    }
}

/// Returns the symbolic link of an interface. `reference` is its reference string, or empty.
pub fn link(class: Guid, reference: &str) -> String {
    let separator = if reference.is_empty() { "" } else { "\\" };
    format!("\\??\\ROOT#NTHOST#0000#{{{class}}}{separator}{reference}")
}

/// Registers an interface of this class. Its link is stored in `place`.
fn register(
    call: &Call,
    class: Guid,
    reference: Option<GuestPtr<UNICODE_STRING>>,
    place: GuestPtr<UNICODE_STRING>,
) -> Outcome {
    let Kernel { interfaces, pool, .. } = kernel();
    let text = link(class, &reference.map(GuestPtr::<UNICODE_STRING>::text).transpose()?.unwrap_or_default());
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let size = units.len() as u16 * 2;
    let memory = lock(pool).allocate(size.into(), *b"IfNm", true, call.from);
    let Some(buffer) = memory.map(GuestPtr::new) else { return fail(NO_RESOURCES) };
    buffer.write_all(&units)?;
    place.set(size - 2, size, buffer)?;
    lock(interfaces).enabled.get_or_insert_with(text, || false);
    Ok(())
}

/// Stores an interface of the bus, for the parameters of the query. Returns `false`, and notes it, if the bus does not have it.
pub fn of_bus(parameters: [u64; 4]) -> Result<bool, Fault> {
    let [of_type, size_and_version, place, _] = parameters;
    let of_type = GuestPtr::<GUID>::new(of_type).id()?;
    if of_type == pci::ID && pci::is_present() {
        let context = pci::provide(GuestPtr::new(place), size_and_version as u16)?;
        if let Some(context) = context {
            // The interface comes with a reference, which the driver must release.
            object::reference(context, thread::site().map_or(0, |site| site.from));
        }
        return Ok(context.is_some());
    }
    let advice = if of_type == pci::ID {
        " (BUS_INTERFACE_STANDARD): nt-host has it for PCI devices, see --pci"
    } else {
        ": nt-host's buses do not have it, and no option adds it"
    };
    gap::note(format!("the driver asked its bus for the interface {of_type}{advice}"));
    Ok(false)
}

/// Returns a property of a physical device of the host.
pub fn property(physical: GuestPtr<DEVICE_OBJECT>, number: u32) -> Option<Vec<u8>> {
    let text = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    match number {
        // DevicePropertyDeviceDescription and FriendlyName, HardwareID (a list), ClassName, Manufacturer.
        0 | 9 => Some(text("nt-host device")),
        1 if pci::is_present() => Some(text(&pci::ids())),
        1 => Some(text("ROOT\\NTHOST\0")),
        5 => Some(text("System")),
        8 => Some(text("nt-host")),
        // PhysicalDeviceObjectName, EnumeratorName.
        11 => device::name_of(physical).map(|name| text(&name)),
        15 => Some(text(if pci::is_present() { "PCI" } else { "ROOT" })),
        // LegacyBusType is PCIBus or PNPBus, BusNumber.
        13 => Some(if pci::is_present() { 5_u32 } else { 15 }.to_le_bytes().to_vec()),
        14 => Some(0_u32.to_le_bytes().to_vec()),
        _ => None,
    }
}

/// Stores the length of the data, and the data itself if the buffer has room for all of it.
pub fn store(data: &[u8], place: GuestPtr<u8>, room: u32, length: GuestPtr<u32>) -> Outcome {
    length.write_if(data.len() as u32)?;
    if (room as usize) < data.len() {
        return fail(NtStatus::BufferTooSmall);
    }
    place.write_all(data)?;
    Ok(())
}
