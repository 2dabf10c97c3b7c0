//! The configuration space.

use nt_processor::memory::{Fault, GuestPtr};

use crate::{kernel, lock};

/// The parts of the header that a driver cannot change: identifiers; revision and class; identifiers of the subsystem.
const READ_ONLY: [std::ops::Range<usize>; 3] = [0..4, 8..0xC, 0x2C..0x30];

/// The bytes of a device's configuration space, or nothing if there is no PCI device.
#[derive(Debug, Default)]
pub(crate) struct Space(Vec<u8>);

impl Space {
    pub(crate) fn new(bytes: Option<&Vec<u8>>) -> Self {
        Self(bytes.cloned().unwrap_or_default())
    }

    /// Returns the bytes from an offset on, at most `length`.
    fn part(&self, offset: u32, length: u32) -> &[u8] {
        let from = self.0.get(offset as usize..).unwrap_or_default();
        from.get(..length as usize).unwrap_or(from)
    }

    /// Writes bytes. Returns how many are inside of the space.
    fn change(&mut self, offset: u32, bytes: &[u8]) -> u32 {
        let places = self.0.iter_mut().enumerate().skip(offset as usize).zip(bytes);
        places.fold(0, |count, ((at, place), byte)| {
            if !READ_ONLY.iter().any(|range| range.contains(&at)) {
                *place = *byte;
            }
            count + 1
        })
    }

    fn number(&self, offset: u32) -> u16 {
        self.part(offset, 2).first_chunk().copied().map_or(0, u16::from_le_bytes)
    }
}

/// Returns whether the driver's devices are PCI devices.
pub(crate) fn is_present() -> bool {
    kernel().config.pci.is_some()
}

/// Returns the hardware identifier of the device, as Windows makes it from vendor, device, subsystem and revision.
pub(crate) fn ids() -> String {
    let space = lock(&kernel().pci);
    let [vendor, device, subsystem_vendor, subsystem] = [0, 2, 0x2C, 0x2E].map(|offset| space.number(offset));
    let revision = space.number(8) & 0xFF;
    let name = format!("PCI\\VEN_{vendor:04X}&DEV_{device:04X}");
    format!("{name}&SUBSYS_{subsystem:04X}{subsystem_vendor:04X}&REV_{revision:02X}\0{name}\0")
}

/// Stores a part of the space in the driver's memory. Returns the number of bytes.
pub(crate) fn read(buffer: GuestPtr<u8>, offset: u32, length: u32) -> Result<u32, Fault> {
    let bytes = lock(&kernel().pci).part(offset, length).to_vec();
    buffer.write_all(&bytes)?;
    Ok(bytes.len() as u32)
}

/// Changes a part of the space. Returns the number of bytes.
pub(crate) fn write(buffer: GuestPtr<u8>, offset: u32, length: u32) -> Result<u32, Fault> {
    // Nothing is longer than the space.
    let bytes = buffer.array(length.min(0x1000).into()).read()?;
    Ok(lock(&kernel().pci).change(offset, &bytes))
}

#[cfg(test)]
mod tests {
    use super::Space;

    #[test]
    fn reads_and_writes_end_with_the_space_and_identifiers_stay() {
        let mut space = Space::new(Some(&vec![0x11; 64]));
        assert_eq!(space.part(60, 8).len(), 4);
        assert_eq!(space.part(64, 1).len(), 0);
        assert_eq!(space.part(u32::MAX, 1).len(), 0);
        assert_eq!(space.change(0, &[0x22; 8]), 8);
        assert_eq!(space.part(0, 8), [0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x22, 0x22]);
        assert_eq!(space.change(62, &[0x33; 8]), 2);
        assert_eq!(space.change(64, &[1]), 0);
        assert_eq!(space.number(62), 0x3333);
    }
}
