//! The layout of IRPs and their stack locations, x64.

use super::{kernel, lock};
use crate::memory::guest;

/// Offsets in `IRP`.
pub(crate) mod irp {
    pub(crate) const MDL: u64 = 0x08;
    pub(crate) const SYSTEM_BUFFER: u64 = 0x18;
    pub(crate) const STATUS: u64 = 0x30;
    pub(crate) const INFORMATION: u64 = 0x38;
    pub(crate) const PENDING_RETURNED: u64 = 0x41;
    pub(crate) const STACK_COUNT: u64 = 0x42;
    pub(crate) const CURRENT_LOCATION: u64 = 0x43;
    pub(crate) const CANCEL: u64 = 0x44;
    pub(crate) const CANCEL_IRQL: u64 = 0x45;
    pub(crate) const USER_STATUS: u64 = 0x48;
    pub(crate) const USER_EVENT: u64 = 0x50;
    pub(crate) const CANCEL_ROUTINE: u64 = 0x68;
    pub(crate) const USER_BUFFER: u64 = 0x70;
    pub(crate) const CURRENT_STACK: u64 = 0xB8;
    pub(crate) const SIZE: u64 = 0xD0;
}

/// Offsets in `IO_STACK_LOCATION`.
pub(crate) mod location {
    pub(crate) const MAJOR: u64 = 0;
    pub(crate) const MINOR: u64 = 1;
    pub(crate) const CONTROL: u64 = 3;
    pub(crate) const PARAMETERS: u64 = 8;
    pub(crate) const DEVICE: u64 = 0x28;
    pub(crate) const FILE: u64 = 0x30;
    pub(crate) const COMPLETION: u64 = 0x38;
    pub(crate) const CONTEXT: u64 = 0x40;
    pub(crate) const SIZE: u64 = 0x48;
}

/// Memory for an IRP with its stack locations.
pub(super) fn new_irp(stack: u8, from: u64) -> u64 {
    let size = irp::SIZE + u64::from(stack) * location::SIZE;
    let memory = lock(&kernel().pool).allocate(size, *b"Irp ", false, from);
    let address = memory.unwrap_or_default();
    if address != 0 {
        initialize(address, stack);
    }
    address
}

/// Makes memory an IRP that nobody has sent.
pub(super) fn initialize(address: u64, stack: u8) {
    let size = irp::SIZE + u64::from(stack) * location::SIZE;
    guest::fill(address, 0, size);
    guest::write(address, 6_u16);
    guest::write(address + 2, size as u16);
    guest::write(address + irp::STACK_COUNT, stack);
    guest::write(address + irp::CURRENT_LOCATION, stack + 1);
    guest::write(address + irp::CURRENT_STACK, address + irp::SIZE + u64::from(stack) * location::SIZE);
}
