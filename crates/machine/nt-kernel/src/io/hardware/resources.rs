//! The hardware resources of a device. The test or the command line defines them, and the driver receives them when the
//! device starts.

use nt_processor::layout::{
    CM_PARTIAL_RESOURCE_DESCRIPTOR, CM_RESOURCE_LIST, IO_RESOURCE_DESCRIPTOR, IO_RESOURCE_REQUIREMENTS_LIST,
};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::verify::gap;
use windows_constants::plug_play::{
    CM_RESOURCE_INTERRUPT_LATCHED, CM_RESOURCE_INTERRUPT_MESSAGE, CM_RESOURCE_INTERRUPT_MESSAGE_TOKEN,
    CM_RESOURCE_PORT_IO, CmResourceShareDeviceExclusive, CmResourceShareShared, CmResourceTypeInterrupt,
    CmResourceTypeMemory, CmResourceTypePort,
};

use crate::config::Resource;
use crate::{kernel, lock};

/// The IRQL of device interrupts and their first vector. On x64 the IRQL is the upper four bits of the vector.
pub const DEVICE_IRQL: u8 = 9;
const FIRST_VECTOR: u32 = 0x90;
/// The first interrupt line before translation.
const FIRST_LINE: u32 = 16;

/// An interrupt of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// The index of the interrupt in the device.
    pub number: u32,
    /// The message number of a message-signaled interrupt.
    pub message: Option<u32>,
    /// The interrupt vector.
    pub vector: u32,
}

/// Returns the interrupts of a device.
pub fn interrupts() -> Vec<Interrupt> {
    let messages = |resource: &Resource| match resource {
        Resource::LineInterrupt => vec![None],
        Resource::MessageInterrupts(count) => (0..*count).map(Some).collect(),
        Resource::Memory { .. } | Resource::Port { .. } => Vec::new(),
    };
    let all = kernel().config.resources.iter().flat_map(messages);
    (0..)
        .zip(all)
        .map(|(number, message)| Interrupt { number, message, vector: FIRST_VECTOR + (number & 15) })
        .collect()
}

/// Returns how an interrupt is shared: `ShareDisposition` of its descriptors.
pub const fn sharing(interrupt: Interrupt) -> u8 {
    if interrupt.message.is_some() { CmResourceShareDeviceExclusive } else { CmResourceShareShared }
}

/// Returns the descriptors of a device's resources, raw and translated.
pub fn descriptors() -> [Vec<CM_PARTIAL_RESOURCE_DESCRIPTOR>; 2] {
    let mut interrupts = interrupts().into_iter();
    let [mut raw, mut translated] = [Vec::new(), Vec::new()];
    for resource in &kernel().config.resources {
        let range = |kind: u8, flags: u16, start: u64, length: u32| CM_PARTIAL_RESOURCE_DESCRIPTOR {
            Type: kind,
            ShareDisposition: CmResourceShareDeviceExclusive,
            Flags: flags,
            u: [start as u32, (start >> 32) as u32, length, 0],
        };
        let count = match *resource {
            Resource::LineInterrupt => 1,
            Resource::MessageInterrupts(count) => count,
            Resource::Memory { start, length } => {
                raw.push(range(CmResourceTypeMemory, 0, start, length));
                translated.push(range(CmResourceTypeMemory, 0, start, length));
                0
            }
            Resource::Port { start, length } => {
                raw.push(range(CmResourceTypePort, CM_RESOURCE_PORT_IO, start, length));
                translated.push(range(CmResourceTypePort, CM_RESOURCE_PORT_IO, start, length));
                0
            }
        };
        for interrupt in interrupts.by_ref().take(count as usize) {
            let flags = if interrupt.message.is_some() {
                CM_RESOURCE_INTERRUPT_LATCHED | CM_RESOURCE_INTERRUPT_MESSAGE
            } else {
                0
            };
            let descriptor = |level: u32, vector: u32| CM_PARTIAL_RESOURCE_DESCRIPTOR {
                Type: CmResourceTypeInterrupt,
                ShareDisposition: sharing(interrupt),
                Flags: flags,
                u: [level, vector, 1, 0],
            };
            // The raw descriptor of a message has the number of messages, after the group.
            let (level, vector) = match interrupt.message {
                Some(_) => (1 << 16, interrupt.vector),
                None => (FIRST_LINE + interrupt.number, FIRST_LINE + interrupt.number),
            };
            raw.push(descriptor(level, vector));
            translated.push(descriptor(DEVICE_IRQL.into(), interrupt.vector));
        }
    }
    [raw, translated]
}

/// Returns the descriptors of what the device requires: exactly the resources that it gets.
pub fn required() -> Vec<IO_RESOURCE_DESCRIPTOR> {
    let range = |first: u64, last: u64, length: u32| [u64::from(length) | 1 << 32, first, last];
    let [raw, _] = descriptors();
    raw.into_iter()
        .map(|descriptor| {
            let [low, high, length, _] = descriptor.u;
            let start = u64::from(low) | u64::from(high) << 32;
            let u = match descriptor.Type {
                CmResourceTypeInterrupt => {
                    let is_message = descriptor.Flags & CM_RESOURCE_INTERRUPT_MESSAGE != 0;
                    let vector = u64::from(if is_message { CM_RESOURCE_INTERRUPT_MESSAGE_TOKEN } else { high });
                    [vector | vector << 32, 0, 0]
                }
                _ => range(start, start.saturating_add(u64::from(length).saturating_sub(1)), length),
            };
            let CM_PARTIAL_RESOURCE_DESCRIPTOR { Type, ShareDisposition, Flags, .. } = descriptor;
            IO_RESOURCE_DESCRIPTOR { Option: 0, Type, ShareDisposition, Spare1: 0, Flags, Spare2: 0, u }
        })
        .collect()
}

/// Creates the list of what the device requires, in memory that a driver can free. NULL if it requires nothing, or if there is
/// no memory. `owner` is the routine that is to blame if the memory leaks.
pub(in crate::io) fn requirements(owner: GuestPtr<Code>) -> Result<GuestPtr<IO_RESOURCE_REQUIREMENTS_LIST>, Fault> {
    let required = required();
    if required.is_empty() {
        return Ok(GuestPtr::NULL);
    }
    let size = size_of::<IO_RESOURCE_REQUIREMENTS_LIST>() + size_of_val(required.as_slice());
    let memory = lock(&kernel().pool).allocate(size as u64, *b"PpRr", true, owner.address());
    let Some(list) = memory.map(GuestPtr::<IO_RESOURCE_REQUIREMENTS_LIST>::new) else { return Ok(GuestPtr::NULL) };
    list.write(IO_RESOURCE_REQUIREMENTS_LIST {
        ListSize: size as u32,
        InterfaceType: 0,
        BusNumber: 0,
        SlotNumber: 0,
        Reserved: [0; 3],
        AlternativeLists: 1,
        Version: 1,
        Revision: 1,
        Count: required.len() as u32,
    })?;
    list.after::<IO_RESOURCE_DESCRIPTOR>().write_all(&required)?;
    Ok(list)
}

/// Notes that the device has no resources, which may be why it does not start.
pub fn note_if_none() {
    if kernel().config.resources.is_empty() {
        let example = "--resource line or --resource memory:0xFE000000:0x1000";
        gap::note(format!("the device has no hardware resources: add them with, for example, {example}"));
    }
}

/// Creates the resource lists for `IRP_MN_START_DEVICE`, raw and translated; NULL if the device has no resources.
pub(in crate::io) fn lists() -> Result<[GuestPtr<CM_RESOURCE_LIST>; 2], Fault> {
    let [raw, translated] = descriptors();
    Ok([list(&raw)?, list(&translated)?])
}

fn list(descriptors: &[CM_PARTIAL_RESOURCE_DESCRIPTOR]) -> Result<GuestPtr<CM_RESOURCE_LIST>, Fault> {
    if descriptors.is_empty() {
        return Ok(GuestPtr::NULL);
    }
    let size = size_of::<CM_RESOURCE_LIST>() + size_of_val(descriptors);
    let list = GuestPtr::<CM_RESOURCE_LIST>::new(lock(&kernel().pool).object(size as u64));
    list.Count().write(1)?;
    list.Version().write(1)?;
    list.Revision().write(1)?;
    list.PartialCount().write(descriptors.len() as u32)?;
    list.after::<CM_PARTIAL_RESOURCE_DESCRIPTOR>().write_all(descriptors)?;
    Ok(list)
}

/// Frees the resource lists after the driver has handled `IRP_MN_START_DEVICE`.
pub(in crate::io) fn free(lists: [GuestPtr<CM_RESOURCE_LIST>; 2]) {
    for list in lists.into_iter().filter_map(GuestPtr::non_null) {
        lock(&kernel().pool).free_object(list.address());
    }
}
