//! The hardware resources of a device, as the test or the command line says: what plug and play tells its driver when the
//! device starts.

use crate::config::Resource;
use crate::kernel::{kernel, lock};
use crate::layout::{CM_PARTIAL_RESOURCE_DESCRIPTOR, CM_RESOURCE_LIST};
use crate::memory::{Fault, GuestPtr};

/// `CmResourceType…`.
const PORT: u8 = 1;
const INTERRUPT: u8 = 2;
const MEMORY: u8 = 3;
/// `CmResourceShareDeviceExclusive`, `CmResourceShareShared`.
const EXCLUSIVE: u8 = 1;
const SHARED: u8 = 3;
/// `CM_RESOURCE_INTERRUPT_LATCHED`, `CM_RESOURCE_INTERRUPT_MESSAGE`, `CM_RESOURCE_PORT_IO`.
pub(crate) const LATCHED: u16 = 1;
pub(crate) const MESSAGE: u16 = 2;
const PORT_IO: u16 = 1;

/// The IRQL of devices' interrupts, and their vectors: on x64 the IRQL is the upper half of the vector.
pub(crate) const DEVICE_IRQL: u8 = 9;
const FIRST_VECTOR: u32 = 0x90;
/// What lines are before they are translated.
const FIRST_LINE: u32 = 16;

/// An interrupt of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interrupt {
    /// Which of the device's interrupts it is.
    pub(crate) number: u32,
    /// Its message, if it is signalled by one.
    pub(crate) message: Option<u32>,
    pub(crate) vector: u32,
}

/// The interrupts of a device.
pub(crate) fn interrupts() -> Vec<Interrupt> {
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

/// The descriptors of a device's resources, raw and translated.
pub(crate) fn descriptors() -> [Vec<CM_PARTIAL_RESOURCE_DESCRIPTOR>; 2] {
    let mut interrupts = interrupts().into_iter();
    let [mut raw, mut translated] = [Vec::new(), Vec::new()];
    for resource in &kernel().config.resources {
        let range = |kind: u8, flags: u16, start: u64, length: u32| CM_PARTIAL_RESOURCE_DESCRIPTOR {
            Type: kind,
            ShareDisposition: EXCLUSIVE,
            Flags: flags,
            u: [start as u32, (start >> 32) as u32, length, 0],
        };
        let count = match *resource {
            Resource::LineInterrupt => 1,
            Resource::MessageInterrupts(count) => count,
            Resource::Memory { start, length } => {
                raw.push(range(MEMORY, 0, start, length));
                translated.push(range(MEMORY, 0, start, length));
                0
            }
            Resource::Port { start, length } => {
                raw.push(range(PORT, PORT_IO, start, length));
                translated.push(range(PORT, PORT_IO, start, length));
                0
            }
        };
        for interrupt in interrupts.by_ref().take(count as usize) {
            let (flags, share) = if interrupt.message.is_some() { (LATCHED | MESSAGE, EXCLUSIVE) } else { (0, SHARED) };
            let descriptor = |level: u32, vector: u32| CM_PARTIAL_RESOURCE_DESCRIPTOR {
                Type: INTERRUPT,
                ShareDisposition: share,
                Flags: flags,
                u: [level, vector, 1, 0],
            };
            // Of a message the raw descriptor has the number of messages, behind the group.
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

/// The lists of a device's resources that `IRP_MN_START_DEVICE` carries, raw and translated; NULL if it has none.
pub(super) fn lists() -> Result<[GuestPtr<CM_RESOURCE_LIST>; 2], Fault> {
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

/// The driver has seen the lists: they go.
pub(super) fn free(lists: [GuestPtr<CM_RESOURCE_LIST>; 2]) {
    for list in lists.into_iter().filter_map(GuestPtr::non_null) {
        lock(&kernel().pool).free_object(list.address());
    }
}
