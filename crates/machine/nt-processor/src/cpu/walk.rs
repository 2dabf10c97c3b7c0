//! Walks the calls of the driver that led to the current point of a thread.
//!
//! A walk does not allocate or wait, so a signal handler can do it.

use super::crossing::{Crossing, word};
use super::thread;
use crate::image;
use pe_image::unwind::Registers;

/// The maximum number of frames of a walk: twice what the kernel part of an event's stack can hold.
const MOST: usize = 256;

/// A call on the stack of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The address in the calling code.
    pub address: u64,
    /// Whether only calls between images lead from here to the start of the walk. Otherwise, the host called a routine
    /// of an image in between, such as a dispatch routine.
    pub is_direct: bool,
}

/// Visits the calls, starting at the given registers and innermost first, until the visitor returns `false`. Frames of
/// the host are left out: a driver's callback is followed by the driver's call that caused it.
pub fn walk(start: &Registers, mut visit: impl FnMut(Frame) -> bool) {
    let Some(stack) = thread::stack() else { return };
    let mut registers = *start;
    let mut is_direct = true;
    for _ in 0..MOST {
        let Some((base, functions)) = image::functions(registers.rip) else {
            // The host's own code: either it called the driver back from a call, or the walk is over.
            let Some(behind) = Crossing::behind(registers.rsp()) else { return };
            registers = behind;
            is_direct = false;
            continue;
        };
        let before = registers.rsp();
        if !visit(Frame { address: registers.rip, is_direct }) {
            return;
        }
        let unwound = functions.unwind(base, &mut registers, &mut |address| word(stack, address));
        if unwound.is_err() || registers.rsp() <= before {
            return;
        }
    }
}

/// Returns the driver's registers on this thread: in the call of a routine, or at a fault that is being examined.
pub fn here() -> Option<Registers> {
    thread::fault().or_else(|| Crossing::current().map(Crossing::registers))
}
