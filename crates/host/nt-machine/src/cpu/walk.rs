//! Walks the calls of the driver that led to the current point of a thread.
//!
//! A walk does not allocate or wait, so a signal handler can do it.

use super::crossing::{Crossing, word};
use super::thread;
use crate::image;
use pe_image::unwind::Registers;

/// The maximum number of frames of a walk: twice what the kernel part of an event's stack can hold.
const MOST: usize = 256;

/// Visits the addresses of the calls, starting at the given registers and innermost first, until the visitor returns
/// `false`. Frames of the host are left out: a driver's callback is followed by the driver's call that caused it.
pub(crate) fn walk(start: &Registers, mut visit: impl FnMut(u64) -> bool) {
    let (Some(functions), Some(stack)) = (image::functions(), thread::stack()) else { return };
    let mut registers = *start;
    for _ in 0..MOST {
        let Some(base) = image::base_of(registers.rip) else {
            // The host's own code: either it called the driver back from a call, or the walk is over.
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

/// Returns the driver's registers on this thread: in the call of a routine, or at a fault that is being examined.
pub(crate) fn here() -> Option<Registers> {
    thread::fault().or_else(|| Crossing::current().map(Crossing::registers))
}
