//! The calls that led to where a thread is, as far as they are the driver's.
//!
//! A walk allocates nothing and waits for nothing, so that a signal handler can do it.

use super::crossing::{Crossing, word};
use super::thread;
use crate::image;
use pe_image::unwind::Registers;

/// Most frames of a walk. Twice what the kernel's part of an event's stack can have.
const MOST: usize = 256;

/// Visits the addresses from some registers outwards, the innermost first, until the visitor has enough. What the host
/// itself called in between is left out: a driver's callback is followed by the driver's call that caused it.
pub(crate) fn walk(start: &Registers, mut visit: impl FnMut(u64) -> bool) {
    let (Some(functions), Some(stack)) = (image::functions(), thread::stack()) else { return };
    let mut registers = *start;
    for _ in 0..MOST {
        let Some(base) = image::base_of(registers.rip) else {
            // The host's own code: it called back for somebody, or the walk is over.
            let Some(behind) = Crossing::behind(registers.rsp()) else { return };
            registers = behind;
            continue;
        };
        let before = registers.rsp();
        if !visit(registers.rip) {
            return;
        }
        let unwound = functions.unwind(base, &mut registers, &mut |address| word(stack, address));
        if unwound.is_err() || registers.rsp() <= before {
            return;
        }
    }
}

/// Where the driver is on this thread: in a call of a routine, or at a fault that is being looked into.
pub(crate) fn here() -> Option<Registers> {
    thread::fault().or_else(|| Crossing::current().map(Crossing::registers))
}
