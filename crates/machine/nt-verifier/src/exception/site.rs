//! Finds the code of the driver that a fault belongs to.

use nt_processor::cpu::thread;
use nt_processor::image;
use nt_processor::memory::GuestPtr;
use pe_image::unwind::Registers;

use super::interrupted::Context;
use crate::verify::At;

/// The driver's code that a fault belongs to.
#[derive(Clone, Copy, Debug)]
pub struct FaultSite {
    /// The routine that the driver is calling.
    pub routine: Option<&'static str>,
    /// Where in the driver it is.
    pub address: At,
}

/// Returns the faulting instruction if it is the driver's; otherwise the call that the driver is making; otherwise the
/// innermost return address into the driver.
pub(super) fn site_of(context: &Context<'_>) -> FaultSite {
    if image::contains(context.rip()) {
        return FaultSite { routine: None, address: At::Code(context.rip()) };
    }
    if thread::site().is_some() {
        return site_without_context();
    }
    let address = return_address(context).map_or(0, |(_, address)| address);
    FaultSite { routine: None, address: At::Call(address) }
}

/// Returns the call that the driver is making.
pub(super) fn site_without_context() -> FaultSite {
    let site = thread::site();
    FaultSite { routine: site.map(|site| site.routine), address: At::Call(site.map_or(0, |site| site.from)) }
}

/// Returns the registers at which the walk along the driver's calls starts: at the faulting instruction or at the
/// innermost return address, as in [`site_of`]. Returns `None` if the driver is calling a routine.
pub(super) fn start_of_walk(context: &Context<'_>) -> Option<Registers> {
    let mut registers = context.all();
    if image::contains(registers.rip) {
        return Some(registers);
    }
    if thread::site().is_some() {
        return None;
    }
    let (place, address) = return_address(context)?;
    registers.rip = address;
    registers.set_rsp(place + 8);
    Some(registers)
}

/// Returns the innermost return address into the driver: its place on the stack and its value.
fn return_address(context: &Context<'_>) -> Option<(u64, u64)> {
    let stack = thread::stack()?;
    let top = context.rsp().max(stack.low()) & !7;
    let words = (top..stack.high()).step_by(8).take(64);
    words
        .filter_map(|place| Some((place, GuestPtr::<u64>::new(place).read().ok()?)))
        .find(|(_, word)| image::contains(*word))
}
