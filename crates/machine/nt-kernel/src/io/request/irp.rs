//! Memory for IRPs.

use nt_processor::layout::{IO_STACK_LOCATION, IRP};
use nt_processor::memory::{Fault, GuestPtr};
use windows_constants::device::IO_TYPE_IRP;
use windows_constants::request::IRP_ALLOCATED_FIXED_SIZE;

use crate::{kernel, lock};

fn size(stack: u8) -> u64 {
    size_of::<IRP>() as u64 + u64::from(stack) * size_of::<IO_STACK_LOCATION>() as u64
}

/// Allocates an IRP with its stack locations. Returns `None` if there is not enough memory.
pub(super) fn new(stack: u8, from: u64) -> Result<Option<GuestPtr<IRP>>, Fault> {
    let memory = lock(&kernel().pool).allocate(size(stack), *b"Irp ", false, from);
    let Some(irp) = memory.map(GuestPtr::new) else { return Ok(None) };
    initialize(irp, stack)?;
    irp.AllocationFlags().write(IRP_ALLOCATED_FIXED_SIZE)?;
    Ok(Some(irp))
}

/// Initialises memory as an IRP that was not sent yet.
pub(super) fn initialize(irp: GuestPtr<IRP>, stack: u8) -> Result<(), Fault> {
    super::activity::end(irp);
    irp.cast::<u8>().array(size(stack)).fill(0)?;
    irp.Type().write(IO_TYPE_IRP)?;
    irp.Size().write(size(stack) as u16)?;
    irp.StackCount().write(stack)?;
    irp.CurrentLocation().write(stack.wrapping_add(1))?;
    irp.CurrentStackLocation().write(irp.after::<IO_STACK_LOCATION>().at(stack.into()))
}
